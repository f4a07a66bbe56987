"""Masses of a symmetric robot from its motion: what is the same left and right is one unknown.

A torso hangs from a hinge and carries two arms of two links. Motors swing them; joint angles are
recorded with noise. `cy.tie` makes left and right equal by name, so that four masses are two
unknowns, with smaller error bars than if each were fitted alone.
"""

import numpy as np

import cycloid as cy


def side(name, y, swing):
    return f"""<body name="{name}_upper" pos="0 {y} -0.3">
      <joint name="{name}_shoulder" axis="0 1 0" damping="0.2"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 {swing} 0 -0.25" mass="1.2"/>
      <body name="{name}_lower" pos="{swing} 0 -0.25">
        <joint name="{name}_elbow" axis="0 1 0" damping="0.1"/>
        <geom type="capsule" size="0.025" fromto="0 0 0 0 0 -0.22" mass="0.7"/>
      </body></body>"""


motors = "".join(
    f'<motor joint="{s}_{j}" gear="2"/>' for s in ("left", "right") for j in ("shoulder", "elbow")
)
robot = cy.load(
    f"""<mujoco><option timestep="0.005" integrator="implicitfast"/>
    <default><geom contype="0" conaffinity="0"/></default><worldbody>
    <body name="torso"><joint name="hinge" axis="0 1 0" damping="0.5"/>
    <geom type="box" size="0.1 0.15 0.15" pos="0 0 -0.15" mass="5"/>
    {side("left", 0.2, 0.02)}{side("right", -0.2, -0.02)}
    </body></worldbody><actuator>{motors}</actuator></mujoco>"""
)

rng = np.random.default_rng(0)
t = np.arange(401) * robot.timestep
controls = np.sin(2 * np.pi * rng.uniform(0.5, 2, 4) * t[:, None] + rng.uniform(0, 6, 4))
run = cy.rollout(robot, robot.initial_state(), controls[:-1])
angles = run.states[:, : robot.nq] + 0.003 * rng.normal(size=(t.size, robot.nq))
recording = cy.Recording(t, angles, controls, names=["qpos"], sigma=0.003)

tied = {
    cy.tie("body:left_upper.mass", "body:right_upper.mass"): 1.0,
    cy.tie("body:left_lower.mass", "body:right_lower.mass"): 1.0,
}
alone = {f"body:{s}_{link}.mass": 1.0 for s in ("left", "right") for link in ("upper", "lower")}
fit, apart = (cy.identify(robot, recording, names) for names in (tied, alone))
print(fit.report())
for link, truth in (("upper", 1.2), ("lower", 0.7)):
    left, right = (f"body:{s}_{link}.mass" for s in ("left", "right"))
    assert fit.params[left] == fit.params[right]
    assert abs(fit.params[left] - truth) < 4 * fit.std[left]
    assert fit.std[left] < min(apart.std[left], apart.std[right])
    print(f"{link}: {fit.params[left]:.4f} ± {fit.std[left]:.4f} kg, left alone "
          f"{apart.params[left]:.4f} ± {apart.std[left]:.4f} kg")
