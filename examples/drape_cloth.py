"""How stiff is a cloth? Its moduli along warp and weft, and its thickness, from a drape.

A woven napkin hangs from two corners and a point of its edge; the places of its vertices are seen,
with noise of half a millimetre. Three numbers are found by Gauss and Newton's method: each row of
the Jacobian is a pullback through the equilibrium.
"""

import numpy as np

import cycloid as cy

mesh = cy.soft.sheet((8, 8), (0.4, 0.4))
x = mesh.vertices
x[:, 2] += 0.002 * np.sin(40 * x[:, 0]) * x[:, 1]  # no napkin is flat
mesh = cy.soft.Mesh(x, mesh.cells)
napkin = cy.soft.cloth(
    mesh, young=(2e4, 2e4), poisson=0.2, shear=2e3, thickness=2e-3, density=100.0,
    pinned=[0, 8, 72],
)
truth = {"young": np.array([6e4, 1.5e4]), "thickness": 1.4e-3, "density": 100.0 * 2 / 1.4}
shape = cy.soft.equilibrium(napkin, params=truth).state[: x.size]
seen = shape + 5e-4 * np.random.default_rng(2).normal(size=x.size)


def drape(logs):
    """The shape, and its Jacobian by the logarithms of the three numbers."""
    h = np.exp(logs[2])
    params = {"young": np.exp(logs[:2]), "thickness": h, "density": 0.2 / h}  # 0.2 kg/m²
    rest = cy.soft.equilibrium(napkin, params=params)
    jacobian = np.zeros((x.size, 3))
    for i in range(x.size):
        g = rest.pullback(np.eye(1, 2 * x.size, i)[0]).params
        jacobian[i, :2] = g["young"] * params["young"]
        jacobian[i, 2] = g["thickness"] * h - g["density"] * params["density"]
    return rest.state[: x.size], jacobian


guess = np.log([2e4, 2e4, 2e-3])
damping = 1e-2
now, jacobian = drape(guess)
for _ in range(12):
    normal = jacobian.T @ jacobian
    new = guess + np.linalg.solve(normal + damping * np.diag(np.diag(normal)),
                                  jacobian.T @ (seen - now))
    found = drape(new)
    if np.linalg.norm(found[0] - seen) < np.linalg.norm(now - seen):
        guess, (now, jacobian), damping = new, found, damping / 10
    else:
        damping *= 10
warp, weft, thickness = np.exp(guess)
print(f"warp {warp:.0f} Pa, weft {weft:.0f} Pa, thickness {1e3 * thickness:.2f} mm")
assert np.abs(np.array([warp / 6e4, weft / 1.5e4, thickness / 1.4e-3]) - 1).max() < 0.01
