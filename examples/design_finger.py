"""A gripper's finger grows where it helps: its shape, for the largest force at the tip.

A tendon (a muscle in the lower layer) bends the finger against an object that holds the tip still.
The height of the finger along its length is free, at the same volume of silicone; the gradient of
the force comes through the equilibrium, by the rest vertices.
"""

import numpy as np

import cycloid as cy

mesh = cy.soft.box((10, 1, 4), (0.1, 0.02, 0.02))
x, cells = mesh.vertices, mesh.cells
tip = np.isclose(x[:, 0], 0.1) & np.isclose(x[:, 2], 0)
low = np.flatnonzero(x[cells].mean(axis=1)[:, 2] < 0.005)
held = np.repeat(x[:, :1] == 0, 3, axis=1)
held[tip, 2] = True
finger = cy.soft.solid(
    mesh, young=1e5, poisson=0.4, pinned=held, gravity=(0, 0, 0),
    inputs=("muscle:#0",), muscles=cy.soft.Muscle((1, 0, 0), 2e4, cells=low),
)
along = x[:, 0] / 0.1
shapes = np.stack([np.cos(np.pi * k * along) for k in (1, 2, 3)], axis=1)  # none changes the volume


def grip(c):
    """How hard the tip presses down [N], and its gradient by c."""
    params = {"vertices": x * np.stack([np.ones(len(x))] * 2 + [1 + shapes @ c], axis=1)}
    rest = cy.soft.equilibrium(finger, u=[1.0], params=params)
    seen = cy.observe(finger, rest.state, [1.0], names="reaction", params=params)
    weigh = np.zeros(x.shape)
    weigh[tip, 2] = 1  # the object pushes the tip up
    direct = seen.pullback(weigh.ravel())
    through = rest.pullback(direct.x).params["vertices"] + direct.params["vertices"]
    return float(seen.values @ weigh.ravel()), (through[:, 2] * x[:, 2]) @ shapes


c, rate = np.zeros(3), 0.1
value, slope = grip(c)
first = value
for _ in range(12):
    new = c + rate * slope / np.linalg.norm(slope)
    found, new_slope = grip(new)
    if found > value and np.all(1 + shapes @ new > 0.3):
        c, value, slope, rate = new, found, new_slope, 1.2 * rate
    else:
        rate /= 2
print(f"force at the tip {first:.4f} N as a bar, {value:.4f} N with c = {np.round(c, 2)}")
assert value > 1.25 * first > 0
