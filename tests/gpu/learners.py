"""What learners ask of a card through the Python module: Jacobians of batches, and environments of
cycloid.gym whose tensors stay there, next to the CPU in double and to the kernels on the host.

usage: learners.py [cuda|host] [--ppo SECONDS]     host: the same without a card
       CYCLOID_GYM_ASSETS: the folder with Gymnasium's ant.xml and humanoid.xml, where it is not
       that of the package, or what models.py wrote; CYCLOID_CHECK_MODELS: more models whose
       Jacobians are compared
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import torch

import cycloid as cy

DEVICE = "host" if "host" in sys.argv else "cuda"
WHERE = "cuda" if DEVICE == "cuda" else "cpu"
FAILED: list[str] = []


def model(name: str) -> str:
    given = os.environ.get("CYCLOID_GYM_ASSETS")
    if given:
        saved = Path(given) / f"gym_{Path(name).stem}.cym"  # of models.py
        return str(saved if saved.exists() else Path(given) / name)
    import gymnasium

    return str(Path(gymnasium.__file__).parent / "envs/mujoco/assets" / name)


def visited(robot, n: int, steps: int) -> np.ndarray:
    """States on the way of a run under random inputs."""
    rng = np.random.default_rng(3)
    x = np.tile(robot.initial_state(), (n, 1)) + 0.02 * rng.standard_normal((n, robot.state_size))
    u = rng.uniform(-0.4, 0.4, (n, steps, robot.input_size))
    return cy.rollout(robot, x, u, save="last").states[:, 0]


def tail(found: np.ndarray, wanted: np.ndarray) -> float:
    """The 95th percentile of the environments' relative errors."""
    off = np.sqrt(((found - wanted) ** 2).sum((1, 2)))
    return float(np.quantile(off / np.sqrt((wanted**2).sum((1, 2))), 0.95))


def jacobians(path: str) -> None:
    name = Path(path).stem
    truth, near = cy.load(path), cy.load(path, dtype="float32", device=DEVICE)
    x = visited(truth, 256, 40)
    u = np.random.default_rng(4).uniform(-0.4, 0.4, (256, truth.input_size))
    wanted = cy.linearise(truth, x, u)
    rows = [torch.from_numpy(a.astype(np.float32)).to(WHERE) for a in (x, u)]
    found = cy.linearise(near, *rows)
    copied = cy.linearise(near, x.astype(np.float32), u.astype(np.float32))
    errors = [tail(a.cpu().numpy(), b) for a, b in zip(found, wanted)]
    print(f"{name}: A {errors[0]:.1e}, B {errors[1]:.1e} (95th percentile)", flush=True)
    assert all(a.is_cuda == (WHERE == "cuda") for a in found)
    assert max(errors) < 1e-3 and min(np.abs(b).max() for b in wanted) > 0
    assert max(tail(a.cpu().numpy(), b) for a, b in zip(found, copied)) < 1e-4


def observed(path: str) -> None:
    """Fields of mjData on the device next to those of the CPU in double."""
    names = ["qvel", "xpos", "xquat", "subtree_com", "qfrc_actuator"]
    truth, near = cy.load(path), cy.load(path, dtype="float32", device=DEVICE)
    x = visited(truth, 256, 40)
    u = np.random.default_rng(4).uniform(-0.4, 0.4, (256, truth.input_size))
    wanted = cy.observe(truth, x, u, names=names)
    rows = [torch.from_numpy(a.astype(np.float32)).to(WHERE) for a in (x, u)]
    found = cy.observe(near, *rows, names=names)
    off = {}  # of each field's largest number
    for name in names:
        there, here = found[name].cpu().numpy(), wanted[name]
        off[name] = float(np.abs(there - here).max() / np.abs(here).max())
    shown = ", ".join(f"{name} {v:.1e}" for name, v in off.items())
    print(f"{Path(path).stem}: fields of 256 environments: {shown}", flush=True)
    assert found.values.is_cuda == (WHERE == "cuda") and all(v < 1e-5 for v in off.values())


def jacobian_speed(path: str) -> None:
    robot = cy.load(path, dtype="float32", device=DEVICE)
    some = visited(cy.load(path), 256, 40).astype(np.float32)
    for n in (1024, 8192, 32768) if DEVICE == "cuda" else (64,):
        x = torch.from_numpy(np.resize(some, (n, robot.state_size))).to(WHERE)
        u = 0.4 * (2 * torch.rand((n, robot.input_size), device=WHERE) - 1)
        best = 1e9
        for _ in range(4):
            begun = time.perf_counter()
            cy.linearise(robot, x, u)
            best = min(best, time.perf_counter() - begun)
        print(f"{Path(path).stem}: {n} environments, Jacobians as tensors: {1e-6 * n / best:.3f} "
              "million per second", flush=True)  # fmt: skip


def ants(device: str, n: int):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
    import ppo_ant

    return ppo_ant.make_env(model("ant.xml"), device, n)


def environments() -> None:
    """The same actions from the same states, on the device and in the CPU's lanes."""
    there, here = ants(DEVICE, 64), ants("cpu", 64)
    seen, _ = there.reset(seed=0)
    here.reset(seed=0)
    also = here.set_states(there.states.cpu().numpy())
    assert np.abs(seen.cpu().numpy() - also).max() < 1e-6
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(4):
        u = rng.uniform(-1, 1, (64, 8)).astype(np.float32)
        a = there.step(torch.from_numpy(u).to(WHERE))
        b = here.step(u)
        assert all(part.is_cuda == (WHERE == "cuda") for part in a[:4])
        going = ~(b[2] | b[3])
        assert going.any() and (going == ~(a[2] | a[3]).cpu().numpy()).all()
        for one, other in zip(a[:2], b[:2]):
            off = np.abs(one.cpu().numpy() - other)[going].reshape(going.sum(), -1).max(1)
            worst = max(worst, float(np.quantile(off, 0.9)))
        here.set_states(there.states.cpu().numpy())
    print(f"ants: observations and rewards of 4 actions differ by {worst:.1e} (90 %)", flush=True)
    assert worst < 1e-2


def environment_speed() -> None:
    n = 8192 if DEVICE == "cuda" else 64
    env = ants(DEVICE, n)
    env.reset(seed=0)
    actions = 2 * torch.rand((n, 8), device=WHERE) - 1
    for _ in range(5):
        env.step(actions)
    begun, steps = time.perf_counter(), 50 if DEVICE == "cuda" else 5
    for _ in range(steps):
        env.step(actions)
    float(env.states.sum())
    took = time.perf_counter() - begun
    print(f"ants: {n} environments, {1e-6 * steps * n / took:.3f} million actions, "
          f"{5e-6 * steps * n / took:.2f} million time steps per second", flush=True)  # fmt: skip


def ppo(seconds: str) -> None:
    script = Path(__file__).resolve().parents[2] / "bench/ppo_ant.py"
    envs = "4096" if DEVICE == "cuda" else "16"
    done = subprocess.run(
        [sys.executable, str(script), "--device", DEVICE, "--envs", envs, "--seconds", seconds,
         "--model", model("ant.xml")],
        timeout=float(seconds) + 120,
    )  # fmt: skip
    assert done.returncode == 0


def attempt(what: str, function, *arguments) -> None:
    begun = time.perf_counter()
    try:
        function(*arguments)
    except Exception:
        traceback.print_exc()
        FAILED.append(what)
    print(f"  ({what}: {time.perf_counter() - begun:.1f} s)", flush=True)


print("devices:", cy.devices(), flush=True)
attempt("Jacobians of the ant", jacobians, model("ant.xml"))
attempt("Jacobians of the humanoid", jacobians, model("humanoid.xml"))
for more in os.environ.get("CYCLOID_CHECK_MODELS", "").split():
    attempt(f"Jacobians of {Path(more).stem}", jacobians, more)
attempt("fields of the humanoid", observed, model("humanoid.xml"))
attempt("speed of Jacobians", jacobian_speed, model("humanoid.xml"))
attempt("environments", environments)
attempt("speed of environments", environment_speed)
if "--ppo" in sys.argv:
    attempt("ppo", ppo, sys.argv[sys.argv.index("--ppo") + 1])
print("FAILED: " + ", ".join(FAILED) if FAILED else "all is well")
sys.exit(bool(FAILED))
