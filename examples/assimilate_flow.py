"""A small weather model: which flow did the stations see?

Sixty stations in a box of two-dimensional turbulence report the wind. Strong-constraint 4D-Var
finds the vorticity at the beginning, 1,024 numbers, by L-BFGS on the gradient through the model.
"""

import numpy as np
from scipy.optimize import minimize

import cycloid as cy

n, steps, every = 32, 60, 10
random = np.random.default_rng(3)
stations = random.uniform(0, 2 * np.pi, size=(60, 2))
flow = cy.fluid.spectral(
    "navier_stokes", shape=(n, n), size=2 * np.pi, dt=0.03, viscosity=2e-3, probes=stations
)
k = np.fft.fftfreq(n, 1 / n)
kx, ky = k[:, None], k[None]
square = kx**2 + ky**2
likely = np.where((square > 0) & (square < 49), 1 / (1 + square / 4), 0)  # of the vorticity


def velocity(noise):
    """A flow from n × n independent numbers: smooth, without divergence."""
    psi = likely * np.fft.fft2(noise) / np.maximum(square, 1)
    return np.stack([np.fft.ifft2(1j * ky * psi).real, np.fft.ifft2(-1j * kx * psi).real])


def velocity_pullback(bar):
    u, v = np.fft.fft2(bar[0]), np.fft.fft2(bar[1])
    return np.fft.ifft2(likely / np.maximum(square, 1) * (-1j * ky * u + 1j * kx * v)).real


def forecast(noise):
    run = cy.rollout(flow, velocity(noise).ravel(), steps, save=every)
    return run, cy.observe(flow, run.states, names=("probe",))


truth, sigma = random.normal(size=(n, n)), 0.01  # sigma: of the stations' wind [m/s]
scale = 1 / np.abs(velocity(truth)).max()  # a fastest wind of 1 m/s
truth *= scale
reports = forecast(truth)[1].values + sigma * random.normal(size=(steps // every + 1, 120))


def cost(numbers):
    """Misfit to the reports in units of sigma, and the prior of the numbers; and its gradient."""
    run, seen = forecast(noise := numbers.reshape(n, n))
    misfit = (seen.values - reports) / sigma
    g = run.pullback(seen.pullback(misfit / sigma).x, wrt="x0").x0
    value = 0.5 * np.sum(misfit**2) + 0.5 * np.sum((noise / scale) ** 2)
    return value, (velocity_pullback(g.reshape(2, n, n)) + noise / scale**2).ravel()


found = minimize(cost, np.zeros(n * n), jac=True, method="L-BFGS-B", options={"maxiter": 120})
real = velocity(truth)
error = np.linalg.norm(velocity(found.x.reshape(n, n)) - real) / np.linalg.norm(real)
print(f"{found.nfev} runs there and back; the first wind is known to {100 * error:.1f} %")
assert error < 0.1
