"""A disc that nobody sees, found by velocities at twelve points of the flow behind it.

A channel at Reynolds number 20. Known are the inflow and the velocities at the probes at three
times; unknown are the disc's centre, its radius and the viscosity. The gradient of the misfit goes
back through the flow to where the wall lies.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

TRUTH = {
    "obstacle:#0.center": np.array([0.52, 0.55]),
    "obstacle:#0.radius": np.array(0.12),
    "viscosity": np.array(0.012),
}
GUESS, SCALE = np.array([0.60, 0.45, 0.16, 0.02]), np.array([0.1, 0.1, 0.05, 0.01])
STEPS = [50, 100, 150]

probes = [[x, y] for x in (0.8, 1.1, 1.5) for y in (0.2, 0.4, 0.6, 0.8)]
sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "slip", "top": "slip"}
guess = [cy.fluid.Circle(GUESS[:2], GUESS[2])]
flow = cy.fluid.grid((64, 32), (2.0, 1.0), boundary=sides, obstacles=guess, dt=0.01, probes=probes)
start = flow.state(velocity=lambda x, y: (1 + 0 * x, 0 * y))


def look(params):
    run = cy.rollout(flow, start, STEPS[-1], params, save=STEPS)
    return run, cy.observe(flow, run.states, names="probe", params=params)


measured = look(TRUTH)[1].values


def misfit(z):
    """And its gradient, by z = (numbers - GUESS) / SCALE."""
    p = GUESS + SCALE * z
    params = dict(zip(TRUTH, (p[:2], p[2], p[3]), strict=True))
    run, seen = look(params)
    difference = seen.values - measured
    direct = seen.pullback(difference)
    through = run.pullback(direct.x).params
    bar = np.hstack([through[name] + direct.params[name] for name in TRUTH])
    return 0.5 * np.sum(difference**2), SCALE * bar


found = minimize(misfit, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-6})
numbers, truth = GUESS + SCALE * found.x, np.hstack(list(TRUTH.values()))
print(f"{found.nfev} flows: found {np.round(numbers, 5)}, true {truth}")
assert np.abs(numbers - truth).max() < 1e-3
