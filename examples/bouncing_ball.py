"""A ball's restitution and gravity, found from its heights at irregular times, some bounces long.

Gauss and Newton's method follows the derivative of every height, through all impacts before it
(docs/events.md): first of a short recording, which a wrong guess still resembles, then of longer
ones. The error bars are those of the noise.
"""

import numpy as np

import cycloid as cy

RESTITUTION, GRAVITY, NOISE = 0.82, 9.74, 0.002  # truth: [1], [m/s²], [m]
START, DURATION = [1.0, 0.5], 2.5  # height and velocity [m, m/s], [s]
system = cy.systems.bouncing_ball()


def fall(p, times):
    """A run with p = [restitution, gravity] to the last of these times, and its states there."""
    params = {"restitution": p[0], "gravity": p[1]}
    return cy.rollout(system, START, int(times[-1] / system.timestep) + 1, params, times=times)


def jacobian(run):
    """The derivative of every height by restitution and gravity: a pullback for each."""
    rows = []
    for i in range(len(run.times)):
        bar = np.zeros_like(run.states)
        bar[i, 0] = 1
        g = run.pullback(bar, wrt="params").params
        rows.append([g["restitution"], g["gravity"]])
    return np.array(rows)


random = np.random.default_rng(0)
times = np.sort(random.uniform(0, DURATION, 80))
truth = fall([RESTITUTION, GRAVITY], times)
measured = truth.states[:, 0] + NOISE * random.normal(size=len(times))

p, slopes = np.array([0.6, 9.0]), np.eye(2)
for seconds in (0.6, 1.0, 1.5, DURATION):
    used = times < seconds
    for _ in range(6):
        run = fall(p, times[used])
        slopes = jacobian(run)
        p = p + np.linalg.lstsq(slopes, measured[used] - run.states[:, 0], rcond=1e-6)[0]
bars = NOISE * np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)))
print(f"{len(truth.events)} impacts, {len(times)} heights with {1000 * NOISE:.0f} mm of noise")
print(f"restitution {p[0]:.5f} ± {bars[0]:.5f}  (truth {RESTITUTION})")
print(f"gravity     {p[1]:.5f} ± {bars[1]:.5f} m/s²  (truth {GRAVITY})")
assert np.all(np.abs(p - [RESTITUTION, GRAVITY]) < 3 * bars), "the truth is not within three bars"
