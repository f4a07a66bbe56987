"""Smoke drifts to its target: which flow at the beginning carries it there?

A round cloud of smoke is carried by a flow in a closed box. The velocity at the beginning, some two
thousand numbers, is found by L-BFGS on the gradient through sixty steps; the first of them
projects it, so that any numbers will do.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

N, STEPS = 32, 60
walls: dict[str, str] = dict.fromkeys(("left", "right", "bottom", "top"), "wall")
flow = cy.fluid.grid(
    (N, N), (1.0, 1.0), viscosity=1e-3, dt=0.02, boundary=walls,
    temperature=cy.fluid.Temperature(2e-4),  # without expansion it is carried along, and no more
)  # fmt: skip
x, y = np.moveaxis(flow.points, -1, 0)


def cloud(cx, cy_, width):
    return np.exp(-((x - cx) ** 2 + (y - cy_) ** 2) / width**2)


smoke = cloud(0.3, 0.3, 0.12)
target = cloud(0.62, 0.66, 0.13)
faces = flow.state_size - N * N
rest = flow.state(temperature=smoke)


def miss(velocity):
    start = rest.copy()
    start[:faces] = velocity
    run = cy.rollout(flow, start, STEPS, save="last")
    gap = run.states[-1, faces:] - target.ravel()
    bar = np.zeros_like(run.states)
    bar[-1, faces:] = gap / np.sum(target**2)
    slope = run.pullback(bar, wrt="x0").x0[:faces]
    return 0.5 * np.sum(gap**2) / np.sum(target**2), slope


first = miss(np.zeros(faces))[0]
found = minimize(
    miss, np.zeros(faces), jac=True, method="L-BFGS-B", options={"maxiter": 60},
    bounds=[(-1.2, 1.2)] * faces,
)  # fmt: skip
print(f"miss {first:.4f} at rest, {found.fun:.4f} with the flow that was found")
assert found.fun < 0.25 * first
