"""The links of a swimmer and the beat of its joints, for the longest way in six seconds: a gradient
with respect to geometry, through mass, inertia and joints at once. Then the lengths are rounded to
bars of every 20 mm, which the workshop has, and the beat is found again for those.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

TOTAL, WIDTH, HEIGHT, BAR, NAMES = 0.6, 0.03, 0.05, 0.02, ("head", "trunk", "tail")  # [m]
b = cy.Builder("swimmer", timestep=0.01, integrator="implicitfast", density=1000, gravity="0 0 0")
link = b.body("head").joint("x", type="slide", axis="1 0 0").joint("y", type="slide", axis="0 1 0")
link.joint("turn", axis="0 0 1")
for name in NAMES:
    if name != "head":
        link = b.body(name, parent=link, pos="-0.2 0 0").joint(name, axis="0 0 1", damping=0.05)
        b.actuator(f"{name}_servo", type="position", joint=name, kp=2)
    link.geom(type="box", pos="-0.1 0 0", size=(0.1, WIDTH / 2, HEIGHT / 2), density=1000)
system = b.build()
clock = 6 * system.timestep * np.arange(600)  # [rad]


def shape(lengths):
    """What lengths mean: masses, centres, inertias, and where the next joint is."""
    p = {f"body:{name}.pos": np.array([-L, 0, 0]) for name, L in zip(NAMES[1:], lengths)}
    for name, L in zip(NAMES, lengths):
        sides = [WIDTH**2 + HEIGHT**2, L**2 + HEIGHT**2, L**2 + WIDTH**2, 0, 0, 0]
        p[f"body:{name}.mass"] = mass = 1000 * WIDTH * HEIGHT * L
        p[f"body:{name}.com"] = np.array([-L / 2, 0, 0])
        p[f"body:{name}.inertia"] = mass / 12 * np.array(sides)
    return p


def loss(z):
    """Minus the way [m], and its gradient by three lengths [m], angle and delay [rad]."""
    beat = np.sin(np.stack([clock, clock - z[4]], axis=-1))
    run = cy.rollout(system, np.zeros(10), z[3] * beat, shape(z[:3]), save="last")
    g = run.pullback(np.eye(10)[:1])
    pairs = [(shape(z[:3] + e), shape(z[:3] - e)) for e in 1e-5 * np.eye(3)]  # of polynomials
    slope = [sum(np.sum(g.params[k] * (a[k] - b[k])) for k in a) / 2e-5 for a, b in pairs]
    slope += [np.sum(g.controls * beat), -z[3] * g.controls[:, 1] @ np.cos(clock - z[4])]
    return -run.states[0, 0], -np.array(slope)


def find(lengths, ends):
    """The best beat, and lengths within their ends that add up to TOTAL."""
    sums = [{"type": "eq", "fun": lambda z: sum(z[:3]) - TOTAL}] * int(ends[0][0] < ends[0][1])
    rules = {"bounds": [*ends, (0, 0.8), (-np.pi, np.pi)], "constraints": sums}
    return minimize(loss, [*lengths, 0.5, 1.5], jac=True, method="SLSQP", **rules)


equal = find([TOTAL / 3] * 3, [(TOTAL / 3, TOTAL / 3)] * 3)
best = find([TOTAL / 3] * 3, [(0.08, 0.4)] * 3)
bars = BAR * np.round(best.x[:3] / BAR)
made = find(bars, list(zip(bars, bars)))
ways = [-run.fun for run in (equal, best, made)]
print("equal, best and made [m]:", np.round(ways, 3), "links [m]:", best.x[:3].round(3), bars)
assert ways[1] > 1.1 * ways[0] and ways[2] > 0.98 * ways[1]
