"""A sphere on a rigid plane, against Hertz.

His law is that of a half-space: at a depth of a hundredth of the radius a sphere that is held at
its middle is several percent stiffer. So what is meshed is the neighbourhood of the contact, six
times as wide as the patch, a quarter of it, and its far sides move as a half-space does under
Hertz's force at one point (Boussinesq), with the approach on top."""

import numpy as np

import cycloid as cy

YOUNG, POISSON, RADIUS, DEPTH = 1e6, 0.3, 0.1, 1e-3
FORCE, PATCH = 14.652015, 0.01  # [N], [m]


def grid(cell, uniform, side):
    """Even cells up to `uniform`, then wider and wider ones up to `side`."""
    x = list(np.arange(0, uniform + 0.5 * cell, cell))
    step = cell
    while x[-1] < side:
        step *= 1.35
        x.append(x[-1] + step)
    x = np.array(x)
    far = x > uniform + 0.5 * cell
    begin = x[~far][-1]
    x[far] = begin + (x[far] - begin) * (side - begin) / (x[-1] - begin)
    return x


def pressed(cell, half_space=True):
    """The force on the plane, and the radius of the patch."""
    x = grid(cell, 1.25 * PATCH, 6 * PATCH)
    n = len(x) - 1
    box = cy.soft.box((n, n, n), (1, 1, 1))
    place = np.rint(box.vertices * n).astype(int)
    X = x[place]
    low = RADIUS - np.sqrt(RADIUS**2 - X[:, 0] ** 2 - X[:, 1] ** 2)
    X[:, 2] = low + (x[-1] - low) * X[:, 2] / x[-1]
    held = place == [0, 0, -1]  # planes of symmetry
    far = (place == n).any(axis=1)
    held[far] = True
    u, r, across = np.zeros_like(X), np.linalg.norm(X, axis=1), np.hypot(X[:, 0], X[:, 1])
    if half_space:
        shear, z = YOUNG / 2 / (1 + POISSON), X[far, 2]
        R = r[far]
        out = z / R**3 - (1 - 2 * POISSON) / (R * (R + z))
        scale = FORCE / (4 * np.pi * shear)
        u[far, :2] = scale * out[:, None] * X[far, :2]
        u[far, 2] = scale * (z**2 / R**3 + 2 * (1 - POISSON) / R)
    u[:, 2] -= DEPTH
    body = cy.soft.solid(
        cy.soft.Mesh(X, box.cells), "linear", young=YOUNG, poisson=POISSON, pinned=held,
        gravity=(0, 0, 0), inputs=("pinned",), floor=0.0, contact="compliant",
        contact_stiffness=2e5 * (cell / 1.25e-3) ** 2,
    )
    rest = cy.soft.equilibrium(body, u=u[held])
    assert rest.converged
    seen = cy.observe(body, rest.state, u[held], names=["reaction"])
    y = rest.state[: X.size].reshape(-1, 3)
    touch = (place[:, 2] == 0) & (y[:, 2] < 0)
    return -4 * seen.values.reshape(-1, 3)[far, 2].sum(), across[touch].max()


def test_a_sphere_on_a_plane_is_as_stiff_as_hertz_says():
    force, patch = pressed(PATCH / 6)
    assert abs(force / FORCE - 1) < 0.03
    assert abs(patch - PATCH) < PATCH / 6  # one cell
    # What a far side that is held stiff makes of it: not Hertz's case.
    assert pressed(PATCH / 4, half_space=False)[0] > 1.1 * FORCE
