"""What PyTorch adds: 4096 humanoids in contact through cycloid.torch and through NumPy, and the
first gradient of a process.

    python bench/race_torch.py

prints one JSON object. Both paths take turns on one thread, and the best of each counts. They have
the same loss, the sum of squares of all states, and the same gradients, by x0 and controls; the
operations of the loss are each library's own.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np
import race_contact
import race_robots
import torch

import cycloid as cy
import cycloid.torch as cyt

ROBOT = "dm_control/humanoid"
BATCH = 4096  # times race_robots.STEPS steps
PROCESSES = 7

FIRST_GRADIENT = """
import sys, torch
import cycloid as cy, cycloid.torch as cyt
system = cy.load(sys.argv[1])
x = torch.tensor(system.initial_state(), requires_grad=True)
cyt.rollout(system, x, 10)[-1].sum().backward()
assert x.grad.any()
"""


def seconds_of_a_process(script):
    """From the start of a process to its end, the median."""
    times = []
    for _ in range(PROCESSES):
        start = time.perf_counter()
        command = [sys.executable, "-c", script, str(race_robots.models.MODELS[ROBOT])]
        subprocess.run(command, check=True)
        times.append(time.perf_counter() - start)
    return sorted(times)[PROCESSES // 2]


def paths():
    """Forward and backward through NumPy and through PyTorch; the latter also without the loss."""
    model = race_contact.mujoco_model(ROBOT)
    contacts = race_contact.Contacts(model)
    states, controls = race_robots.start_states(model, ROBOT, BATCH, race_contact.RUN, contacts)
    system = cy.from_mujoco(model, dtype="float32")
    x, u = states.astype("float32"), controls.astype("float32")
    tensors = [torch.tensor(array, requires_grad=True) for array in (x, u)]
    bar = torch.ones(BATCH, u.shape[1] + 1, system.state_size)

    def numpy_path():
        run = cy.rollout(system, x, u, threads=1)
        np.square(run.states).sum()
        return run.pullback(2 * run.states, wrt=("x0", "controls"), failed="skip")

    def torch_path():
        out = cyt.rollout(system, *tensors, threads=1, failed="skip")
        return torch.autograd.grad(out.square().sum(), tensors)

    def numpy_calls():
        run = cy.rollout(system, x, u, threads=1)
        return run.pullback(bar.numpy(), wrt=("x0", "controls"), failed="skip")

    def torch_calls():
        out = cyt.rollout(system, *tensors, threads=1, failed="skip")
        return torch.autograd.grad(out, tensors, bar)

    g, (x_bar, u_bar) = numpy_path(), torch_path()
    assert np.array_equal(g.x0, x_bar.numpy()) and np.array_equal(g.controls, u_bar.numpy())
    return numpy_path, torch_path, numpy_calls, torch_calls


def measure():
    """All figures. Held to: ratio 1.15, first gradient 3 s."""
    by_numpy, by_torch, numpy_calls, torch_calls = race_robots.best(*paths(), turns=5)
    return {
        "numpy_s": by_numpy,
        "torch_s": by_torch,
        "ratio": by_torch / by_numpy,
        "ratio_without_loss": torch_calls / numpy_calls,
        "first_gradient_s": seconds_of_a_process(FIRST_GRADIENT),
        "import_torch_s": seconds_of_a_process("import torch"),
    }


if __name__ == "__main__":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    json.dump(measure(), sys.stdout, indent=1)
    print()
