"""A disc that nobody sees, found by velocities at twelve points of the flow behind it.

A channel at Reynolds number 20. Known are the velocities at the probes at three times; unknown are
the disc's centre, its radius, the viscosity and the speed of the inflow. The gradient of the misfit
goes back through the flow to where the wall lies.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

ROWS = 32
# Centre (2) and radius of the disc [m], viscosity [m²/s], speed of the inflow [m/s].
TRUTH = np.array([0.52, 0.55, 0.12, 0.012, 1.0])
GUESS, SCALE = np.array([0.60, 0.45, 0.16, 0.02, 0.9]), np.array([0.1, 0.1, 0.05, 0.01, 0.1])
STEPS = [50, 100, 150]

probes = [[x, y] for x in (0.8, 1.1, 1.5) for y in (0.2, 0.4, 0.6, 0.8)]
sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "slip", "top": "slip"}
guess = [cy.fluid.Circle(GUESS[:2], GUESS[2])]
flow = cy.fluid.grid(
    (64, ROWS), (2.0, 1.0), boundary=sides, obstacles=guess, dt=0.01, probes=probes)
start = flow.state(velocity=lambda x, y: (1 + 0 * x, 0 * y))


def named(numbers):
    inflow = np.tile([numbers[4], 0.0], (ROWS, 1))
    return {"obstacle:#0.center": numbers[:2], "obstacle:#0.radius": numbers[2],
            "viscosity": numbers[3], "inflow:left.velocity": inflow}


def look(params):
    run = cy.rollout(flow, start, STEPS[-1], params, save=STEPS)
    return run, cy.observe(flow, run.states, names="probe", params=params)


measured = look(named(TRUTH))[1].values


def misfit(z):
    """And its gradient, by z = (numbers - GUESS) / SCALE."""
    params = named(GUESS + SCALE * z)
    run, seen = look(params)
    difference = seen.values - measured
    direct = seen.pullback(difference)
    through = run.pullback(direct.x).params
    bar = {name: through[name] + direct.params[name] for name in params}
    bar["inflow:left.velocity"] = bar["inflow:left.velocity"][:, 0].sum()
    return 0.5 * np.sum(difference**2), SCALE * np.hstack(list(bar.values()))


found = minimize(misfit, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-6})
numbers = GUESS + SCALE * found.x
print(f"{found.nfev} flows: found {np.round(numbers, 5)}, true {TRUTH}")
assert np.abs(numbers - TRUTH).max() < 1e-3
