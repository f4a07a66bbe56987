"""A four-bar linkage that draws a straight line: lengths of crank, coupler and rocker and the pen's
place, such that half a turn of the crank moves the pen along it. The loop is an equality of the
model. Lengths are then rounded to millimetres, one by one, each time with the others found again.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

STEPS, SPEED = 250, 2 * np.pi  # of 2 ms: half a turn [rad/s]
system = cy.load("""<mujoco model="linkage"> <option gravity="0 0 0" integrator="implicitfast"/>
<default> <geom size="0.01" mass="0.1" contype="0" conaffinity="0"/> <joint axis="0 -1 0"/>
</default> <worldbody> <body name="rocker" pos="0.2 0 0"> <joint/> <geom/> </body>
  <body> <joint name="crank"/> <geom/> <body name="coupler" pos="0.1 0 0"> <joint/> <geom/>
    <site name="pen"/> </body> </body> </worldbody>
<actuator> <velocity joint="crank" kv="100"/> </actuator>
<equality> <connect name="loop" body1="coupler" body2="rocker" anchor="0.25 0 0" solref="0.005 1"
  solimp="0.999 0.9999 0.001"/> </equality> </mujoco>""")
line = np.linspace([0.4, 0.4], [0.0, 0.4], STEPS + 1)  # x and z [m]


def start(z):
    """Angles that close the loop, the crank turned by 90°, and their velocities."""
    far = np.hypot(0.2, z[0])  # from the crank's end to the rocker's foot
    a = np.arccos((z[1] ** 2 + far**2 - z[2] ** 2) / (2 * z[1] * far)) - np.arctan(5 * z[0])
    end = z[1] * np.array([np.cos(a), np.sin(a)]) + [-0.2, z[0]]
    return np.array([np.arctan2(end[1], end[0]), np.pi / 2, a - np.pi / 2, 0, SPEED, 0])


def shape(z):
    data = np.array(system.parameters["equality:loop.data"])
    data[[0, 3]] = z[1:3]
    pen = np.array([z[3], 0, z[4]])
    return {"body:coupler.pos": [z[0], 0, 0], "equality:loop.data": data, "site:pen.pos": pen}


def loss(z):
    """The mean squared distance from the line [cm²], and its gradient."""
    run = cy.rollout(system, start(z), np.full((STEPS, 1), SPEED), p := shape(z))
    pen = cy.observe(system, run.states, names=["site_xpos:pen"], params=p)
    miss = 100 * (pen.values[:, ::2] - line)
    at = pen.pullback(np.insert(200 * miss / len(miss), 1, 0, axis=1))
    g = run.pullback(at.x)
    by = {k: g.params[k] + at.params[k] for k in p}
    slope = [by["body:coupler.pos"][0], *by["equality:loop.data"][[0, 3]], *by["site:pen.pos"][::2]]
    starts = [start(z + e) - start(z - e) for e in 5e-7 * np.eye(5)]
    return np.sum(miss**2) / len(miss), slope + 1e6 * np.array(starts) @ g.x0


bounds = [(0.08, 0.12), (0.22, 0.3), (0.22, 0.3), (0.4, 0.6), (-0.05, 0.05)]
first = np.array([0.11, 0.26, 0.24, 0.47, 0.02])
best = made = minimize(loss, first, jac=True, bounds=bounds, method="L-BFGS-B")
for i in range(5):
    bounds[i] = (round(made.x[i], 3),) * 2
    made = minimize(loss, made.x, jac=True, bounds=bounds, method="L-BFGS-B")
for z in (first, best.x, made.x):
    print(f"{10 * np.sqrt(loss(z)[0]):.2f} mm off, with lengths of {1000 * z.round(5)} mm")
assert best.fun < 0.01 * loss(first)[0] and made.fun < 1.05 * best.fun
