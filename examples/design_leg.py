"""A spring-loaded leg: stiffness of its spring, mass of its shank and the moment of a push for the
highest hop after a fall, through impact and lift-off. The leg may give 12 cm. Then the spring comes
from a list of six, and the rest is found again.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

STEPS, PUSH, TRAVEL, G = 450, 80.0, 0.12, 9.81  # of 1 ms; [N], [m]
SPRINGS = np.array([700, 1000, 1500, 2200, 3300, 4700.0])  # that can be bought [N/m]
system = cy.load("""<mujoco model="leg"> <option timestep="0.001" integrator="implicitfast"/>
<worldbody> <geom type="plane" size="1 1 1" solref="0.01 1"/>
  <body name="trunk" pos="0 0 0.62"> <joint type="slide" axis="0 0 1"/>
    <geom size="0.1" mass="4" contype="0" conaffinity="0"/>
    <body name="shank" pos="0 0 -0.3"> <joint name="leg" type="slide" axis="0 0 1" damping="5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.3"/> </body> </body>
</worldbody> <actuator> <motor joint="leg" gear="-1"/> </actuator> </mujoco>""")
FALL = np.array([0.2, 0, 0, 0])  # [m]; the foot touches at 0
clock = system.timestep * np.arange(STEPS)


def leg(z):
    return {"joint:leg.stiffness": 1000 * z[0], "body:shank.mass": z[1]}


def loss(z):
    """Minus the height of the hop [cm] by stiffness [kN/m], mass [kg] and moment [0.1 s]."""
    bump = np.exp(-(((clock - 0.1 * z[2]) / 0.03) ** 2))
    run = cy.rollout(system, FALL, PUSH * bump[:, None], leg(z))
    x, bar = run.states, np.zeros_like(run.states)
    share = z[1] / (4 + z[1])  # of the shank in what flies on as a point
    up = (1 - share) * x[-1, 2] + share * (x[-1, 2] + x[-1, 3])
    height = x[-1, 0] + share * x[-1, 1] + up * abs(up) / (2 * G)
    deep = np.maximum(x[:, 1] - TRAVEL, 0)
    bar[-1] = [1, share, abs(up) / G, share * abs(up) / G]
    bar[:, 1] -= 200 * deep
    g = run.pullback(bar)
    by_share = (x[-1, 1] + abs(up) / G * x[-1, 3]) * 4 / (4 + z[1]) ** 2
    by_moment = g.controls[:, 0] @ (PUSH * bump * 0.2 * (clock - 0.1 * z[2]) / 0.03**2)
    slope = [1000 * g.params["joint:leg.stiffness"], g.params["body:shank.mass"] + by_share]
    return -100 * (height - 100 * np.sum(deep**2)), -100 * np.array([*slope, by_moment])


def find(start, springs=(0.7, 5.0)):
    bounds = [springs, (0.2, 0.6), (1.5, 4.0)]
    return minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")


first = np.array([4.0, 0.4, 3.0])
best = find(first)
k = SPRINGS[np.argmin(np.abs(np.log(SPRINGS / (1000 * best.x[0]))))] / 1000
made = find([k, *best.x[1:]], (k, k))
print("hop [cm], stiffness [kN/m], shank [kg], moment of the push [0.1 s]")
for z in (first, best.x, made.x):
    print(np.round([-loss(z)[0], *z], 3))
assert -best.fun > 1.1 * -loss(first)[0] and -made.fun > 0.98 * -best.fun
