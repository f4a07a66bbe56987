"""Arrays of torch, CuPy and JAX on the card through the Python module: results against the kernels
on the host, streams, errors, times.

usage: arrays.py [cuda|host]     host: the same without a card, with arrays of this machine
"""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from pathlib import Path

BEGUN = time.perf_counter()
import numpy as np

import cycloid as cy

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda"
FAILED: list[str] = []


def model(name: str) -> str:
    import gymnasium

    return str(Path(gymnasium.__file__).parent / "envs/mujoco/assets" / name)


def makers() -> dict:
    """By framework: from NumPy to an array on the device, and the address of one."""
    out = {}
    try:
        import torch

        where = "cuda" if DEVICE == "cuda" else "cpu"
        out["torch"] = (lambda a: torch.from_numpy(a.copy()).to(where), lambda a: a.data_ptr())
    except ImportError:
        pass
    try:
        import jax

        out["jax"] = (lambda a: jax.numpy.asarray(a), lambda a: a.unsafe_buffer_pointer())
    except ImportError:
        pass
    if DEVICE == "cuda":
        import cupy

        out["cupy"] = (cupy.asarray, lambda a: a.data.ptr)

        class Interface:
            def __init__(self, array):
                self.array = cupy.asarray(array)
                self.__cuda_array_interface__ = self.array.__cuda_array_interface__

        out["interface"] = (Interface, lambda a: a.array.data.ptr)
    return out


def host(value) -> np.ndarray:
    if hasattr(value, "get"):  # CuPy
        return value.get()
    return np.asarray(value.cpu() if hasattr(value, "cpu") else value)


def error(a, b) -> float:
    return float(np.abs(host(a) - b).max() / np.abs(b).max())


def parity(name: str, batch: int, steps: int) -> None:
    there, here = (cy.load(model(name), dtype="float32", device=d) for d in (DEVICE, "host"))
    rng = np.random.default_rng(1)
    x = np.tile(here.initial_state(), (batch, 1)) + 0.02 * rng.standard_normal(
        (batch, here.state_size)
    )
    x = x.astype(np.float32)
    u = rng.uniform(-0.4, 0.4, (batch, steps, here.input_size)).astype(np.float32)
    wanted = cy.rollout(here, x, u)
    bar = rng.standard_normal(wanted.states.shape).astype(np.float32)
    g0 = wanted.pullback(bar)
    numpy_run = cy.rollout(there, x, u)
    g1 = numpy_run.pullback(bar)
    print(f"{name} numpy: states {error(numpy_run.states, wanted.states):.1e}", flush=True)
    for framework, (make, address) in makers().items():
        given, inputs = make(x), make(u)
        run = cy.rollout(there, given, inputs)
        g = run.pullback(make(bar))
        shared = run._views[0].address == address(given) and (
            run._views[1].address == address(inputs)
        )
        step = cy.step(there, given, make(u[:, 0].copy()))
        errors = {
            "states": error(run.states, wanted.states),
            "states, numpy's": error(run.states, numpy_run.states),
            "x0": error(g.x0, g0.x0), "controls": error(g.controls, g0.controls),
            "controls, numpy's": error(g.controls, g1.controls),
            "params": error(g.params, g0.params), "step": error(step, wanted.states[:, 1]),
        }  # fmt: skip
        kind = [type(a).__module__.partition(".")[0] for a in (run.states, g.x0)]
        print(name, framework, "no copy" if shared else "COPIED", kind,
              {k: f"{v:.1e}" for k, v in errors.items()}, flush=True)  # fmt: skip
        assert shared and max(errors.values()) < 2e-3, (framework, errors)


def streams() -> None:
    """A start that another stream has yet to write."""
    import torch

    system = cy.systems.pendulum(device=DEVICE, dtype="float32")
    wanted = cy.rollout(system, np.full((4096, 2), 0.5, np.float32), 20).states
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        a = torch.ones((4096, 4096), device="cuda")
        x = torch.zeros((4096, 2), device="cuda")
        for _ in range(40):
            a = (a @ a).clamp(max=1.0)
        x += 0.5 * a[:, :2]
        run = cy.rollout(system, x, 20)
        total = run.states.double().sum()
    assert abs(float(total) / wanted.astype(float).sum() - 1) < 1e-5
    made = cy.rollout(system, x, 20).states
    del run, x, a
    assert error(made, wanted) < 1e-5
    print("streams: a start that another stream writes is waited for", flush=True)


def speed() -> None:
    import torch

    robot = cy.load(model("humanoid.xml"), dtype="float32", device=DEVICE)
    n, steps = (32768, 16) if DEVICE == "cuda" else (64, 16)
    where = "cuda" if DEVICE == "cuda" else "cpu"
    x = torch.from_numpy(np.tile(robot.initial_state(), (n, 1)).astype(np.float32)).to(where)
    x = x + 0.02 * torch.randn_like(x)
    u = 0.4 * (2 * torch.rand((n, steps, robot.input_size), device=where) - 1)
    bar = torch.ones((n, 1, robot.state_size), device=where)
    best = [1e9, 1e9]
    for _ in range(3):
        begun = time.perf_counter()
        run = cy.rollout(robot, x, u, save="last")
        half = time.perf_counter()
        run.pullback(bar)
        end = time.perf_counter()
        best = [min(best[0], half - begun), min(best[1], end - begun)]
    print(f"humanoid (Gymnasium), {n} environments, {steps} steps, torch through cy.rollout: "
          f"{n * steps / best[0] / 1e6:.2f} forward, {n * steps / best[1] / 1e6:.2f} both "
          "[million environment-steps per second]", flush=True)  # fmt: skip


LOST = """
import cycloid as cy
from cycloid import _core
s = cy.systems.pendulum(device="cuda", dtype="float32")
try:
    _core.device_rollout_float32(s._core, 4096, 5, 64, 0, 64, 0, None, "all", [], "all", 0, 0.0, 0)
except cy.Error as e:
    print("lost:", e)
"""
FULL = """
import numpy as np, torch, cycloid as cy
s = cy.systems.pendulum(device="cuda", dtype="float32")
x = torch.zeros((2000000, 2), device="cuda")
try:
    cy.rollout(s, x, 20000)
except cy.Error as e:
    print("full:", e)
print("after it:", cy.rollout(s, x[:2], 3).states.shape)
"""
FIRST = """
import time
t = time.perf_counter()
import numpy as np, cycloid as cy
r = cy.load(%r, dtype="float32", device=%r)
run = cy.rollout(r, np.tile(r.initial_state(), (1024, 1)), 8)
run.pullback(np.ones_like(run.states))
print(f"from import to the first gradient (1,024 ants, 8 steps): {time.perf_counter() - t:.2f} s")
"""


def told(text: str) -> None:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    print(done.stdout.strip() or done.stderr[-600:], flush=True)
    assert done.returncode == 0 and done.stdout


def attempt(what: str, function, *arguments) -> None:
    try:
        function(*arguments)
    except Exception:
        traceback.print_exc()
        FAILED.append(what)


print("devices:", cy.devices(), flush=True)
attempt("first gradient", told, FIRST % (model("ant.xml"), DEVICE))
attempt("ant", parity, "ant.xml", 48, 5)
attempt("humanoid", parity, "humanoid.xml", 16, 3)
if DEVICE == "cuda":
    attempt("streams", streams)
    attempt("full", told, FULL)
    attempt("lost", told, LOST)
attempt("speed", speed)
took = time.perf_counter() - BEGUN
print("FAILED: " + ", ".join(FAILED) if FAILED else f"all is well, {took:.0f} s")
sys.exit(bool(FAILED))
