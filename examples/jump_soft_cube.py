"""A soft cube learns to jump: the signal of its muscle, found by the gradient through contact.

The muscle pulls upright fibres together and lets go; the floor does the rest. Wanted is the middle
of the cube as high as can be after 0.4 s, for an activation between 0 and 1 at little effort.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

STEPS, EFFORT = 40, 2e-3
mesh = cy.soft.box((2, 2, 2), (0.1, 0.1, 0.1))
cube = cy.soft.solid(
    mesh, young=2e4, poisson=0.4, density=1000.0, damping=2e-3, floor=-1e-3, contact_width=2e-3,
    dt=0.01, inputs=("muscle:#0",), muscles=cy.soft.Muscle((0, 0, 1), 3e4),
)
start = cy.rollout(cube, cube.initial_state(), 100, save="last").states[-1].copy()
start[mesh.vertices.size :] = 0
heights = np.zeros(cube.state_size)
heights[2 : mesh.vertices.size : 3] = 1 / len(mesh.vertices)


def loss(signal):
    """Minus the height of the middle, with the effort, and its gradient."""
    run = cy.rollout(cube, start, signal[:, None], save="last")
    g = run.pullback(-heights[None])
    value = -heights @ run.states[-1] + EFFORT * np.mean(signal**2)
    return value, g.controls[:, 0] + 2 * EFFORT * signal / STEPS


first = np.where(np.arange(STEPS) < 12, 0.3, 0.0)  # pull, and let go
found = minimize(loss, first, jac=True, bounds=[(0, 1)] * STEPS, options={"maxiter": 25})
heights_of = [heights @ cy.rollout(cube, start, s[:, None], save="last").states[-1]
              for s in (0 * first, first, found.x)]
print("height of the middle: {:.3f} m at rest, {:.3f} m by a guess, {:.3f} m".format(*heights_of))
assert heights_of[2] > max(heights_of[:2]) + 0.03
