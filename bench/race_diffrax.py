"""diffrax on the laws of bench/laws.cpp: 1000 fixed steps, loss and gradient, on one CPU thread.

Prints one JSON object: seconds per call after compilation, and the compile time apart. The same
tableau as ours (classical RK4, written as a diffrax solver) and diffrax's own Tsit5.
"""

import json
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = (
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax

jax.config.update("jax_enable_x64", True)
import diffrax
import jax.numpy as jnp
import numpy as np

STEPS, DT = 1000, 0.01


class Rk4(diffrax.AbstractERK):
    tableau = diffrax.ButcherTableau(
        c=np.array([0.5, 0.5, 1.0]),
        a_lower=(np.array([0.5]), np.array([0.0, 0.5]), np.array([0.0, 0.0, 1.0])),
        b_sol=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        b_error=np.zeros(4),
    )
    interpolation_cls = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms):
        return 4


def pendulum(t, y, p):
    length, mass, damping, gravity = p
    inertia = mass * length**2
    return jnp.array([y[1], -gravity / length * jnp.sin(y[0]) - damping / inertia * y[1]])


def double_pendulum(t, y, p):
    l1, l2, m1, m2, g = p
    th1, th2, w1, w2 = y
    d, m = th1 - th2, m1 + m2
    a, b, c = m * l1**2, m2 * l1 * l2, m2 * l2**2
    r1 = -b * jnp.sin(d) * w2**2 - m * g * l1 * jnp.sin(th1)
    r2 = b * jnp.sin(d) * w1**2 - m2 * g * l2 * jnp.sin(th2)
    e = b * jnp.cos(d)
    inv = 1 / (a * c - e * e)
    return jnp.array([w1, w2, (c * r1 - e * r2) * inv, (a * r2 - e * r1) * inv])


def loss_of(law, solver, adjoint):
    term = diffrax.ODETerm(law)

    def final(y0, p):
        solution = diffrax.diffeqsolve(
            term, solver, t0=0.0, t1=STEPS * DT, dt0=DT, y0=y0, args=p,
            adjoint=adjoint, max_steps=STEPS + 2, saveat=diffrax.SaveAt(t1=True),
            stepsize_controller=diffrax.ConstantStepSize(),
        )
        return jnp.sum(solution.ys)

    def loss(y0, p):
        return jnp.sum(jax.vmap(final, in_axes=(0, None))(y0, p)) if y0.ndim == 2 else final(y0, p)

    return loss


def measure(function, *args):
    start = time.perf_counter()
    jax.block_until_ready(function(*args))
    first = time.perf_counter() - start
    best = min(timed(function, *args) for _ in range(7))
    return {"compile_s": round(first - best, 3), "seconds": best}


def timed(function, *args):
    start = time.perf_counter()
    jax.block_until_ready(function(*args))
    return time.perf_counter() - start


def main():
    pendulum_p = (jnp.array(1.0), jnp.array(1.0), jnp.array(0.0), jnp.array(9.81))
    double_p = tuple(jnp.array(v) for v in (1.0, 1.0, 1.0, 1.0, 9.81))
    starts = jnp.array([[1.0 + 1e-3 * (e % 97), 0.0] for e in range(100)])
    cases = {
        "double_pendulum/1x1000": (double_pendulum, jnp.array([1.5, 1.0, 0.0, 0.0]), double_p),
        "pendulum/100x1000": (pendulum, starts, pendulum_p),
    }
    methods = {
        "rk4, checkpoints": (Rk4(), diffrax.RecursiveCheckpointAdjoint()),
        "rk4, backsolve": (Rk4(), diffrax.BacksolveAdjoint(solver=Rk4())),
        "tsit5, checkpoints": (diffrax.Tsit5(), diffrax.RecursiveCheckpointAdjoint()),
    }
    results = {"diffrax": diffrax.__version__, "jax": jax.__version__, "cases": {}}
    for case, (law, y0, p) in cases.items():
        for method, (solver, adjoint) in methods.items():
            loss = loss_of(law, solver, adjoint)
            gradient = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
            results["cases"][f"{case} {method}"] = {
                "forward": measure(jax.jit(loss), y0, p),
                "forward_backward": measure(gradient, y0, p),
            }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
