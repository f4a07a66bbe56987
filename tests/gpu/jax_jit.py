"""Compiled functions of JAX on the card, with Systems on the card: values and gradients against the
kernels on the host, work of XLA's before and behind, and times.

usage: jax_jit.py
"""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

import cycloid as cy
import cycloid.jax as cyj
from cycloid import _core

FAILED: list[str] = []


def model(name: str) -> str:
    return str(Path(gymnasium.__file__).parent / "envs/mujoco/assets" / name)


def judge(good: bool, words: str) -> None:
    print(f"{'ok' if good else 'FAILED':6} {words}", flush=True)
    if not good:
        FAILED.append(words)


def error(a, b) -> float:
    return float(np.abs(np.asarray(a) - b).max() / np.abs(b).max())


def starts(robot, batch: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    x = np.tile(robot.initial_state(), (batch, 1))
    return (x + 0.02 * rng.standard_normal(x.shape)).astype(robot.dtype)


def parity(name: str, batch: int, steps: int) -> None:
    there, here = (cy.load(model(name), dtype="float32", device=d) for d in ("cuda", "host"))
    x = starts(here, batch)
    rng = np.random.default_rng(2)
    u = rng.uniform(-0.4, 0.4, (batch, steps, here.input_size)).astype(np.float32)
    run = cy.rollout(here, x, u)
    bar = rng.standard_normal(run.states.shape).astype(np.float32)
    g = run.pullback(bar)

    @jax.jit
    def loss(x, u, params):
        x = x + jnp.zeros((batch, 4096)).sum(1, keepdims=True)  # XLA's own work, just before
        states = cyj.rollout(there, x, u, params)
        return (bar * states).sum(), states

    params = jnp.asarray(here.parameters.default, jnp.float32)
    (_, states), found = jax.value_and_grad(loss, (0, 1, 2), has_aux=True)(x, u, params)
    on_card = next(iter(states.devices())).platform == "gpu"
    rates = [error(states, run.states), error(found[0], g.x0), error(found[1], g.controls)]
    smooth = np.isfinite(g.params)
    rates.append(error(np.asarray(found[2])[smooth], g.params[smooth]))
    again = jax.grad(loss, has_aux=True)(x, u, params)[0]
    judge(
        on_card and all(r < 1e-3 for r in rates) and bool(jnp.array_equal(again, found[0])),
        f"{name}: {batch} environments, {steps} steps: states {rates[0]:.1e}, gradients of the "
        f"start {rates[1]:.1e}, inputs {rates[2]:.1e}, parameters {rates[3]:.1e}; the same bits",
    )


def scans() -> None:
    system, here = (cy.systems.pendulum(dtype="float32", device=d) for d in ("cuda", "host"))

    def cost(step, gain):
        def one(x, _):
            x = step(x, -gain * x[:, 1:])
            return x, (x**2).sum()

        x0 = jnp.array([[1.0, 0.0], [0.3, 0.2]])
        return jax.lax.scan(one, x0, length=50)[1].sum()

    found = jax.jit(jax.value_and_grad(lambda k: cost(lambda x, u: cyj.step(system, x, u), k)))(0.1)
    with jax.default_device(jax.devices("cpu")[0]):
        wanted = jax.value_and_grad(lambda k: cost(lambda x, u: cyj.step(here, x, u), k))(0.1)
    rates = [error(a, np.asarray(b)) for a, b in zip(found, wanted)]
    judge(
        all(r < 1e-5 for r in rates),
        f"a policy within a scan of 50 steps: {rates[0]:.1e}, {rates[1]:.1e}",
    )


def heat() -> None:
    with jax.enable_x64(True):
        k = np.exp(np.random.default_rng(0).normal(size=2500))
        cpu, card = (cy.systems.heat((50, 50), k, 0.5, 0.1, device=d) for d in ("cpu", "cuda"))
        x0 = np.random.default_rng(1).random(2500)
        run = cy.rollout(cpu, x0, 10, save="last")
        g = run.pullback(2 * run.states)
        end = lambda x, k: (cyj.rollout(card, x, 10, {"conductivity": k}, save="last") ** 2).sum()
        found = jax.jit(jax.grad(end, (0, 1)))(x0, k)
        rates = error(found[0], g.x0), error(found[1], g.params)
        judge(all(r < 1e-8 for r in rates), f"heat: gradients {rates[0]:.1e}, {rates[1]:.1e}")


def refusals() -> None:
    x = jnp.zeros((1, 2))
    for call, words in (
        (lambda: cyj.rollout(cy.systems.pendulum(dtype="float32"), x, 3), 'device="cuda"'),
        (lambda: cyj.rollout(cy.systems.pendulum(device="cuda"), x, 3), "jax_enable_x64"),
        (
            lambda: cyj.observe(
                cy.systems.pendulum(dtype="float32", device="cuda"), x, names="energy"
            ),
            "observe are the CPU's",
        ),
    ):
        try:
            call().block_until_ready()
            said = "nothing"
        except Exception as e:
            said = str(e)
        judge(words in said, f"refused: {said.splitlines()[0][:110]}")


def figures(name: str, batch: int, steps: int) -> None:
    robot = cy.load(model(name), dtype="float32", device="cuda")
    x = jnp.asarray(starts(robot, batch))
    u = jnp.zeros((batch, steps, robot.input_size), jnp.float32)
    roll = jax.jit(lambda x, u: cyj.rollout(robot, x, u, save="last"))
    end = lambda x, u: (cyj.rollout(robot, x, u, save="last") ** 2).sum()
    pull = jax.jit(jax.grad(end, (0, 1)))
    best = {}
    for what, call in (("forward", roll), ("both", pull)):
        times = []
        for _ in range(4):
            begun = time.perf_counter()
            jax.block_until_ready(call(x, u))
            times.append(time.perf_counter() - begun)
        best[what] = 1e-6 * batch * steps / min(times)
    print(
        f"figure {name}: {batch} environments, {steps} steps, under jit: forward "
        f"{best['forward']:.2f}, both {best['both']:.2f} million steps/s; kept {_core.kept_runs()}",
        flush=True,
    )


def main() -> int:
    print("jax", jax.__version__, jax.devices())
    for task in (
        lambda: parity("ant.xml", 48, 5),
        lambda: parity("inverted_pendulum.xml", 64, 10),
        scans,
        heat,
        refusals,
        lambda: figures("ant.xml", 8192, 16),
    ):
        try:
            task()
        except Exception:
            traceback.print_exc()
            FAILED.append("an error")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
