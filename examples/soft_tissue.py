"""Where is the lump? Stiffness inside a block of tissue, from how its surface moves.

The block is held below and pulled sideways at its top, three times; the displacement of its surface
is seen, with noise. Young's modulus of every cell, 128 unknowns, is found with the gradient through
the equilibria, and a preference for even tissue. No shape of the lump is assumed.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

mesh = cy.soft.box((8, 4, 4), (0.08, 0.04, 0.04))
x, cells = mesh.vertices, mesh.cells
middle = x[cells].mean(axis=1)
lump = np.linalg.norm(middle - [0.055, 0.02, 0.025], axis=1) < 0.013
true = np.where(lump, 3e4, 1e4)
tissue = cy.soft.solid(
    mesh, young=np.full(len(cells), 1e4), poisson=0.4, pinned=np.flatnonzero(x[:, 2] == 0),
    gravity=(0, 0, 0), inputs=("force",),
)
seen = np.zeros(x.shape, bool)
seen[np.unique(mesh.surface())] = True
top = np.isclose(x[:, 2], 0.04)
pulls = [np.outer(top, f).ravel() for f in ((0.02, 0, 0), (0, 0.02, 0), (0, 0, 0.02))]
draw = np.random.default_rng(1)


def rests(young):
    return [cy.soft.equilibrium(tissue, u=u, params={"young": young}) for u in pulls]


measured = [r.state[: x.size] + 1e-6 * draw.normal(size=x.size) for r in rests(true)]
near = np.linalg.norm(middle[:, None] - middle, axis=2) < 0.011
uneven = np.diag(near.sum(1)) - near


def loss(logs):
    """Of the logarithms of the moduli, and its gradient."""
    young, bar = 1e4 * np.exp(logs), 2 * 1e-1 * uneven @ logs
    value = 1e-1 * logs @ uneven @ logs
    for rest, y in zip(rests(young), measured, strict=True):
        miss = np.where(seen.ravel(), rest.state[: x.size] - y, 0) / 1e-6
        value += 0.5 * miss @ miss
        g = rest.pullback(np.r_[miss / 1e-6, np.zeros(x.size)])
        bar += np.asarray(g.params["young"]) * young
    return value, bar


found = minimize(loss, np.zeros(len(cells)), jac=True, method="L-BFGS-B", options={"maxiter": 60})
young = 1e4 * np.exp(found.x)
print(f"lump {young[lump].mean():.0f} Pa (30000), around it {young[~lump].mean():.0f} Pa (10000)")
assert abs(young[~lump].mean() / 1e4 - 1) < 0.01 and abs(young[lump].mean() / 3e4 - 1) < 0.03
