"""A million parameters through NumPy, PyTorch and JAX: seconds and bytes of a run and its gradient.

    python bench/large_parameters.py

prints one JSON object: {way: {"seconds", "bytes"}}. A law in Python shares an array of 10⁶ numbers
among 512 environments; 20 steps forward and back. "bytes" is how much the peak memory of the
process grew in the first call, over what was there before; one copy of the array is 8 MB. Each way
runs in a process of its own.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

NUMBERS, ENVIRONMENTS, STEPS = 1_000_000, 512, 20


def law():
    import cycloid as cy

    def step(x, u, p, t, dt):
        return x + dt * p["field"].mean() * np.cos(x)

    def pullback(x, u, p, t, dt, bar):
        mean = p["field"].mean()
        share = dt * np.sum(bar * np.cos(x)) / p["field"].size
        return bar * (1 - dt * mean * np.sin(x)), 0, {"field": np.full(p["field"].shape, share)}

    return cy.own_law(step, pullback, states={"x": 1}, parameters={"field": np.ones(NUMBERS)},
                      shared=("field",))


def by_numpy(system, x0, field):
    import cycloid as cy

    def call():
        run = cy.rollout(system, x0, STEPS, field, save="last")
        return run.pullback(np.ones_like(run.states), wrt="params").params
    return call


def by_torch(system, x0, field):
    import torch

    import cycloid.torch as cyt
    x0, field = torch.from_numpy(x0), torch.from_numpy(field).requires_grad_()

    def call():
        field.grad = None
        cyt.rollout(system, x0, STEPS, field, save="last").sum().backward()
        return field.grad.numpy()
    return call


def by_jax(system, x0, field):
    import jax

    import cycloid.jax as cyj
    jax.config.update("jax_enable_x64", True)
    gradient = jax.jit(jax.grad(lambda p: cyj.rollout(system, x0, STEPS, p, save="last").sum()))
    field = jax.numpy.asarray(field)
    return lambda: np.asarray(gradient(field))


def measure(way):
    system = law()
    call = {"numpy": by_numpy, "torch": by_torch, "jax": by_jax}[way](
        system, np.linspace(0, 1, ENVIRONMENTS)[:, None], np.ones(NUMBERS))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gradient = call()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert gradient.shape == (NUMBERS,) and np.all(gradient > 0)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return {"seconds": min(times), "bytes": 1024 * grown}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        print(json.dumps({
            way: json.loads(subprocess.run([sys.executable, __file__, way], check=True, text=True,
                                           stdout=subprocess.PIPE).stdout)
            for way in ("numpy", "torch", "jax")
        }))
