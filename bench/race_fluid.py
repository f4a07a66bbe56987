"""Periodic Navier–Stokes in the plane: ours against exponax, 100 steps on one core in float32.

    python bench/race_fluid.py

prints one JSON object. Both take ETDRK2 with the rule of two thirds, from the same flow; both sides
take turns, and the best of each counts. exponax computes the vorticity alone (one field, five
transforms per evaluation), ours the velocity with its mean (two fields, four). "gradient": loss and
gradient by the first field; "over_forward": of ours. The peer's compile time is apart. Final
vorticities have to agree.
"""

import json
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import exponax
import jax
import jax.numpy as jnp
import numpy as np

import cycloid as cy
from turns import best_of

STEPS, DT, VISCOSITY = 100, 0.01, 0.01
ROUNDS = {128: 8, 256: 4}
AGREE = 2e-3  # of vorticities in float32 after 100 steps, relative


def start_of(flow):
    return flow.state(velocity=lambda x, y: (
        0.6 * np.sin(x) * np.cos(y) + 0.1 * np.sin(3 * y),
        -0.6 * np.cos(x) * np.sin(y) + 0.1 * np.cos(2 * x)))


def race(n, rounds):
    flow = cy.fluid.spectral("navier_stokes", shape=(n, n), size=2 * np.pi, dt=DT,
                             viscosity=VISCOSITY, order=2, dtype="float32")
    x0 = start_of(flow)
    # Their vorticity has the other sign.
    omega0 = jnp.asarray(-flow.field(x0, "vorticity")[None].astype("float32"))
    stepper = exponax.stepper.NavierStokesVorticity(
        2, 2 * np.pi, n, DT, diffusivity=VISCOSITY, order=2)
    rollout = exponax.repeat(stepper, STEPS)
    forward = jax.jit(rollout)
    gradient = jax.jit(jax.value_and_grad(lambda w: 0.5 * jnp.sum(rollout(w) ** 2)))
    began = time.perf_counter()
    theirs = -np.asarray(forward(omega0))[0]
    jax.block_until_ready(gradient(omega0))
    compile_s = time.perf_counter() - began

    def run(**options):
        return cy.rollout(flow, x0, STEPS, save="last", threads=1, **options)

    def back():
        trajectory = run(memory="all")
        return trajectory.pullback(trajectory.states, wrt="x0")

    ours = flow.field(run().states[-1], "vorticity")
    apart = np.abs(ours - theirs).max() / np.abs(theirs).max()
    assert apart < AGREE, f"{n}: vorticities are {apart:.2g} apart"
    seconds = best_of(
        (run, lambda: jax.block_until_ready(forward(omega0)), back,
         lambda: jax.block_until_ready(gradient(omega0))), rounds)
    return {"forward_s": seconds[0], "exponax_forward_s": seconds[1],
            "forward": seconds[1] / seconds[0], "gradient_s": seconds[2],
            "exponax_gradient_s": seconds[3], "gradient": seconds[3] / seconds[2],
            "over_forward": seconds[2] / seconds[0], "exponax_compile_s": compile_s,
            "apart": float(apart)}


if __name__ == "__main__":
    print(json.dumps({str(n): race(n, rounds) for n, rounds in ROUNDS.items()}, indent=1))
