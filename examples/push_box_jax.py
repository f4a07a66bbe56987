"""Trajectory optimisation in JAX, through contact: a slider pushes a box, lets it go, and the box
slides on by itself until friction stops it on the goal. Adam finds the forces.

    python examples/push_box_jax.py
"""

import jax
import jax.numpy as jnp

import cycloid as cy
import cycloid.jax as cyj

MODEL = """
<mujoco model="push">
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="2 2 0.1" friction="0.3"/>
    <body name="slider" pos="-0.1 0 0.1">
      <joint name="slide" type="slide" axis="1 0 0" damping="2"/>
      <geom size="0.03" mass="0.5"/>
    </body>
    <body name="box" pos="0 0 0.1">
      <freejoint/>
      <geom type="box" size="0.05 0.05 0.1" mass="0.3" friction="0.3"/>
    </body>
  </worldbody>
  <actuator> <motor joint="slide" gear="10"/> </actuator>
</mujoco>"""

GOAL, STEPS = 0.6, 200  # [m], of 5 ms
system = cy.load(MODEL)
START = system.initial_state()
BOX, SPEED = 1, system.nq + 1  # in a state: where the box is along the track, how fast it moves


def loss(controls):
    states = cyj.rollout(system, START, controls, save="last")
    miss, speed = states[-1, BOX] - GOAL, states[-1, SPEED]
    return 100 * miss**2 + speed**2 + 1e-3 * (controls**2).mean(), states[-1]


@jax.jit
def adam(controls, mean, square, k):
    (value, last), g = jax.value_and_grad(loss, has_aux=True)(controls)
    mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g**2
    move = mean / (1 - 0.9**k) / (jnp.sqrt(square / (1 - 0.99**k)) + 1e-8)
    return controls - 0.02 * move, mean, square, value, last


controls = jnp.zeros((STEPS, 1)).at[:60].set(0.4)  # a push that reaches the box
mean = square = jnp.zeros_like(controls)
last = jnp.asarray(START)
for k in range(1, 201):
    controls, mean, square, value, last = adam(controls, mean, square, k)
    if k in (1, 10, 50, 100, 200):
        print(f"{k:4d}  loss {value:9.5f}  box at {last[BOX]:.3f} m, {last[SPEED]:+.3f} m/s")

assert abs(last[BOX] - GOAL) < 0.01 and abs(last[SPEED]) < 0.05, "the box missed its goal"
print(f"The box rests {1000 * (last[BOX] - GOAL):+.1f} mm from its goal.")
