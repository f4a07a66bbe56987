"""Adaptive integration: ours against SciPy's RK45 and diffrax's Dopri5, on one CPU thread.

    python bench/race_time.py

prints one JSON object. All three are the pair of Dormand and Prince at rtol = atol = 1e-8, over the
same time, of one and of 256 environments, which have substeps of their own in all of them. The loss
is the sum of the last states, its gradient that by the initial states and parameters: of diffrax
through its recorded substeps (RecursiveCheckpointAdjoint). diffrax's compile time is apart. SciPy
has no gradient, and takes one environment at a time. The best of several calls counts; the losses
and gradients have to agree, as far as two right ones do (APART).
"""

import json
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax

jax.config.update("jax_enable_x64", True)
import diffrax
import jax.numpy as jnp
import numpy as np
import scipy
from scipy.integrate import solve_ivp

import cycloid as cy

TOLERANCE = 1e-8
BATCH = 256
CALLS = 7


def lorenz(t, y, p, xp):
    return xp.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])


def kepler(t, y, p, xp):
    w = p[0] / (y[0] ** 2 + y[1] ** 2) ** 1.5
    return xp.stack([y[2], y[3], -w * y[0], -w * y[1]])


# Law, time [s], parameters, the first initial state and how the others differ from it.
CASES = {
    "lorenz": (lorenz, 5.0, [10.0, 28.0, 8 / 3], [1.0, 1.0, 20.0], [0.02, 0.01, 0.02]),
    "kepler": (kepler, 20.0, [1.0], [1.0, 0.0, 0.0, 1.2], [0.0, 0.0, 0.0, -0.002]),
}

# How far losses (per environment) and gradients (relative to the largest number) may be apart.
# Every substep is off by up to 1e-8 of states of some tens, and there are hundreds. Two right runs
# part from there by e^(0.9 T) = 90 on Lorenz's attractor, by the square of time on orbits; and
# gradients, which hold substeps that differ between the two, by more than states (docs/time.md).
# Measured over 256 environments: 1.4e-5 and 6.4e-4; 6.5e-7 and 6.9e-5.
APART = {"lorenz": (1e-4, 1e-3), "kepler": (1e-5, 2e-4)}


def best(call):
    """Seconds of the first call and of the fastest one, and what it gave."""
    times = []
    for _ in range(CALLS + 1):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:]), result


def ours(name, starts, end):
    settings = {"dt": end, "integrator": "dopri5", "rtol": TOLERANCE, "atol": TOLERANCE}
    system = getattr(cy.systems, name)(**settings)
    bar = np.ones((*starts.shape[:-1], 1, starts.shape[-1]))

    def forward():
        return cy.rollout(system, starts, 1, save="last", threads=1)

    def gradient():
        g = forward().pullback(bar)
        return g.x0, g.params[:-1]  # without the time step

    _, seconds, run = best(forward)
    _, both, (x0, params) = best(gradient)
    figures = {"forward": seconds, "forward_backward": both, "substeps": run.report.substeps}
    return figures, (run.states.sum(), x0, params)


def diffraxs(law, starts, end, p):
    term = diffrax.ODETerm(lambda t, y, args: law(t, y, args, jnp))
    control = diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE)

    def final(y0, p):
        solution = diffrax.diffeqsolve(
            term, diffrax.Dopri5(), t0=0.0, t1=end, dt0=None, y0=y0, args=p,
            adjoint=diffrax.RecursiveCheckpointAdjoint(), max_steps=4096,
            saveat=diffrax.SaveAt(t1=True), stepsize_controller=control,
        )
        return jnp.sum(solution.ys)

    def loss(y0, p):
        return jnp.sum(jax.vmap(final, in_axes=(0, None))(y0, p)) if y0.ndim == 2 else final(y0, p)

    forward, both = jax.jit(loss), jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    y0, p = jnp.array(starts), jnp.array(p)
    first, seconds, _ = best(lambda: jax.block_until_ready(forward(y0, p)))
    first_both, seconds_both, (value, (x0, params)) = best(
        lambda: jax.block_until_ready(both(y0, p))
    )
    figures = {"forward": seconds, "forward_backward": seconds_both,
               "compile_s": first - seconds, "gradient_compile_s": first_both - seconds_both}
    return figures, (float(value), np.array(x0), np.array(params))


def scipys(law, starts, end, p):
    def all_environments():
        return [
            solve_ivp(lambda t, y: law(t, y, p, np), (0, end), y0, method="RK45", rtol=TOLERANCE,
                      atol=TOLERANCE).y[:, -1]
            for y0 in np.atleast_2d(starts)
        ]

    start = time.perf_counter()
    states = all_environments()
    return {"forward": time.perf_counter() - start}, np.sum(states)


def apart(a, b):
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def main():
    results = {"diffrax": diffrax.__version__, "scipy": scipy.__version__, "cases": {}}
    for name, (law, end, p, first, spread) in CASES.items():
        for batch in (1, BATCH):
            starts = np.array(first) + np.arange(batch)[:, None] * np.array(spread)
            starts = starts[0] if batch == 1 else starts
            mine, (value, x0, params) = ours(name, starts, end)
            theirs, (their_value, their_x0, their_params) = diffraxs(law, starts, end, p)
            scipy_s, scipy_value = scipys(law, starts, end, p)
            values = np.array([value, their_value, scipy_value]) / batch
            agreement = {"losses": float(np.ptp(values)), "x0": apart(x0, their_x0),
                         "params": apart(params, their_params)}
            losses, gradients = APART[name]
            assert agreement["losses"] < losses, agreement
            assert max(agreement["x0"], agreement["params"]) < gradients, agreement
            results["cases"][f"{name}/{batch}"] = {
                "ours": mine, "diffrax": theirs, "scipy": scipy_s, "agreement": agreement,
                "scipy x": scipy_s["forward"] / mine["forward"],
                "diffrax x": theirs["forward"] / mine["forward"],
                "diffrax's gradient x": theirs["forward_backward"] / mine["forward_backward"],
            }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
