"""A throwing arm: lengths of upper arm and forearm, two torques and the moment of release for the
widest throw of a 200 g ball. The time step is a parameter like any other, and with it the moment at
which 100 steps are over. Then tubes come in steps of 50 mm, and the rest is found again.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

STEPS, TUBE, BALL, G = 100, 0.05, 0.2, 9.81
ARM = '<joint name="{}" axis="0 -1 0" damping="0.3"/> <geom size="0.02" mass="1"/>'
system = cy.load(f"""<mujoco model="thrower"> <option integrator="RK4"/> <worldbody>
  <body name="upper" pos="0 0 1"> {ARM.format("shoulder")}
    <body name="fore" pos="0.4 0 0"> {ARM.format("elbow")} <site name="hand"/> </body> </body>
</worldbody> <actuator> <motor joint="shoulder"/> <motor joint="elbow"/> </actuator>
<sensor> <framepos objtype="site" objname="hand"/> <framelinvel objtype="site" objname="hand"/>
</sensor> </mujoco>""")
START = np.array([-2.6, 1.2, 0, 0])  # swung back, the elbow bent [rad]


def arm(z):
    """What two lengths and a time mean: tubes of 1.5 kg/m, the ball at the end of the second."""
    p = {"body:fore.pos": np.array([z[0], 0, 0]), "option.timestep": z[4] / STEPS}
    for name, L, load in (("upper", z[0], 0.0), ("fore", z[1], BALL)):
        mass = 1.5 * L + load
        x = (0.75 * L**2 + load * L) / mass
        turn = 0.5 * L**3 + load * L**2 - mass * x**2 + 1e-4
        p |= {f"body:{name}.mass": mass, f"body:{name}.com": np.array([x, 0, 0])}
        p[f"body:{name}.inertia"] = np.array([1e-4, turn, turn, 0, 0, 0])
    return p | {"site:hand.pos": np.array([z[1], 0, 0])}


def loss(z):
    """Minus the width of the throw [m] by lengths [m], torques [10 N·m] and release [s]."""
    p = arm(z)
    run = cy.rollout(system, START, np.tile(10 * z[2:4], (STEPS, 1)), p, save="last")
    seen = cy.observe(system, run.states[0], params=p)
    x, _, height, vx, _, vz = seen.values
    t = (vz + (root := np.sqrt(vz**2 + 2 * G * height))) / G  # until it lands [s]
    at_end = seen.pullback([1, 0, vx / root, t, 0, vx * t / root])
    g = run.pullback(at_end.x[None])
    total = {k: g.params[k] + at_end.params[k] for k in p}
    pairs = [(arm(z + e), arm(z - e)) for e in 1e-5 * np.eye(5)]
    slope = [sum(np.sum(total[k] * (a[k] - b[k])) for k in p) / 2e-5 for a, b in pairs]
    return -(x + vx * t), -(np.array(slope) + [0, 0, *10 * g.controls.sum(axis=0), 0])


def find(start, tubes=((0.2, 0.6), (0.2, 0.6))):
    bounds = [*tubes, (-1.2, 1.2), (-0.4, 0.4), (0.15, 0.6)]
    return minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")


first = find([0.3, 0.3, 1, 0, 0.3], tubes=[(0.3, 0.3)] * 2)
best = find(first.x)
made = find(best.x, tubes=[(L, L) for L in TUBE * np.round(best.x[:2] / TUBE)])
print("width [m], tubes [m], torques [10 N·m], release [s]")
print(*(np.append(-run.fun, run.x).round(3) for run in (first, best, made)), sep="\n")
assert -best.fun > 1.03 * -first.fun and -made.fun > 0.995 * -best.fun
