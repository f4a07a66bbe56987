"""Heat on a grid of 512 × 512 cells: 50 implicit steps and the gradient with respect to the
conductivity of every cell, 262,144 numbers, checked by the Taylor test.

    python heat.py [CELLS] [STEPS] [SLOPE]

Without a slope all steps share one sparse factor. With one (python heat.py 512 50 0.2) the matrix
changes in every step, and the memory plan says which factors are kept.
"""

import resource
import sys
import time

import numpy as np

import cycloid as cy

cells, steps = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((1, 512), (2, 50)))
slope = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
random = np.random.default_rng(0)
conductivity = np.exp(0.5 * random.normal(size=(cells, cells)))
grid = cy.systems.heat((cells, cells), conductivity, dt=0.5, slope=slope)

x, y = np.meshgrid(*[np.linspace(-1, 1, cells)] * 2, indexing="ij")
start = np.exp(-20 * (x**2 + (y - 0.3) ** 2)).ravel()  # a warm spot [K]
target = np.exp(-20 * (x**2 + (y + 0.3) ** 2)).ravel()


def run(k, threads=None):
    return cy.rollout(grid, start, steps, k, save="last", memory="1GB", threads=threads)


def loss(trajectory):
    return 0.5 * np.sum((trajectory.states[-1] - target) ** 2)


def gradient(k, threads=None):
    began = time.perf_counter()
    trajectory = run(k, threads=threads)
    forward = time.perf_counter()
    g = trajectory.pullback(trajectory.states - target, wrt="params").params
    seconds = f"forward {forward - began:.2f} s, gradient {time.perf_counter() - forward:.2f} s"
    print(f"{threads or 'all'} threads: {seconds}; kept: {trajectory.report.memory}")
    return trajectory, g


k = conductivity.ravel()
(_, alone), (trajectory, g) = gradient(k, threads=1), gradient(k)
print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")

# The error of the gradient's prediction falls as the square of the step, along the gradient itself.
direction = g / np.abs(g).max()
errors = []
for e in 0.04 * 0.5 ** np.arange(5):
    errors.append(loss(run(k + e * direction)) - loss(trajectory) - e * g @ direction)
slopes = np.log2(np.abs(np.divide(errors[:-1], errors[1:])))
print("Taylor test, slopes", slopes.round(3))
assert np.all(np.abs(slopes - 2) < 0.05) and np.array_equal(alone, g)
assert trajectory.report.tape_bytes <= 1e9
