"""How costs grow: with the batch, the horizon, the degrees of freedom, contacts and cells.

    python bench/race_curves.py [--full]

prints one JSON object: {curve: {"x": name, "unit": unit, "rows": [{"x", series: {"median", "low",
"high"}}]}}. Times are microseconds per environment-step (of fields: nanoseconds per cell-step).
Every point is measured several times, ours and the peer's in turn; low and high are the least and
the most of these turns. Peers: MuJoCo's own rollout, on one thread, and where a point says so two;
Pinocchio's ABA and its derivatives, without contacts; MJX (race_mjx.py), in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import mujoco
import numpy as np
import race_contact
from mujoco import rollout as mujoco_rollout
from race_robots import models, start_states

import contact_extremes
import cycloid as cy

TURNS = 5
STEPS = 30
HUMANOID = "dm_control/humanoid"
BY_DOFS = ("dm_control/cartpole", "dm_control/cheetah", "gymnasium/ant", HUMANOID)
TALOS = "urdf/talos_data/talos_reduced"
FREE = ("urdf/double_pendulum_description/double_pendulum", "urdf/panda_description/panda",
        "urdf/baxter_description/baxter", TALOS)


def spread(seconds, count, scale=1e6):
    """The median of several turns and their ends, per thing."""
    each = np.array(seconds) * scale / count
    low, median, high = each.min(), np.median(each), each.max()
    return {"median": float(median), "low": float(low), "high": float(high)}


def turns(calls, times=TURNS):
    """Seconds of each call, turn by turn; the first turn warms up and is left out."""
    out = {name: [] for name in calls}
    for turn in range(times + 1):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            if turn:
                out[name].append(time.perf_counter() - begin)
    return out


class Robot:
    """A model in both engines, with states along MuJoCo's own run."""

    def __init__(self, name, model, count):
        self.model = model
        self.system = cy.from_mujoco(model, dtype="float32")
        self.states, self.controls = start_states(model, name, count)

    def calls(self, batch, steps, threads):
        rows = np.arange(batch) % len(self.states)
        x, u = self.states[rows], np.resize(self.controls[rows], (batch, steps, self.model.nu))
        x32, u32 = x.astype("float32"), u.astype("float32")
        few = min(batch, 64)
        full = np.zeros((few, 1 + x.shape[1]))
        full[:, 1:] = x[:few]
        data = [mujoco.MjData(self.model) for _ in range(max(1, threads))]
        pool = mujoco_rollout.Rollout(nthread=threads if threads > 1 else 0)

        def forward():
            return cy.rollout(self.system, x32, u32, save="last", memory="all", threads=threads)

        def both():
            run = forward()
            run.pullback(np.ones(run.states.shape, "float32"), failed="skip")

        def peer():
            pool.rollout(self.model, data, full, u[:few], nstep=steps)

        return {"forward": forward, "forward and gradient": both, "MuJoCo, forward": peer}, few

    def point(self, x, batch, steps, threads=1):
        calls, few = self.calls(batch, steps, threads)
        row = {"x": x}
        for name, seconds in turns(calls).items():
            count = (few if name.startswith("MuJoCo") else batch) * steps
            row[name] = spread(seconds, count)
        return row


def by_batch(robot, full):
    batches = (1, 4, 16, 64, 256, 1024) + ((4096, 16384) if full else ())
    one = {"x": "environments", "unit": "µs per step", "title": "Batch, humanoid in contact"}
    out = {"batch": one | {"rows": [robot.point(b, b, STEPS) for b in batches]}}
    two = one | {"title": "Batch, humanoid in contact, two threads"}
    out["batch, two threads"] = two | {
        "rows": [robot.point(b, b, STEPS, threads=2) for b in batches if b >= 16]
    }
    return out


def by_horizon(robot, full):
    horizons = (10, 30, 100, 300) + ((1000,) if full else ())
    rows = [robot.point(h, 64, h) for h in horizons]
    title = "Horizon, 64 humanoids in contact"
    return {"horizon": {"x": "steps", "unit": "µs per step", "title": title, "rows": rows}}


def by_dofs():
    rows = []
    for name in BY_DOFS:
        robot = Robot(name, race_contact.mujoco_model(name), 64)
        rows.append(robot.point(robot.model.nv, 256, STEPS) | {"label": name.rpartition("/")[2]})
    title = "Degrees of freedom, 256 robots"
    return {"dofs": {"x": "dofs", "unit": "µs per step", "title": title, "rows": rows}}


class Free:
    """A robot without contacts in ours and in Pinocchio: one step, and the derivatives of one."""

    def __init__(self, name):
        import pinocchio

        self.pin = pinocchio
        self.system = cy.load(models.MODELS[name], constraints=False, dtype="float32")
        self.exact = cy.load(models.MODELS[name], constraints=False)
        self.model = pinocchio.buildModelFromUrdf(str(models.MODELS[name]))
        self.data = self.model.createData()

    def calls(self, batch, threads):
        pin, model, nv = self.pin, self.model, self.model.nv
        x = np.tile(self.system.initial_state(), (batch, 1))
        x32, few = x.astype("float32"), x[: min(batch, 256)]
        u = np.zeros((len(few), self.exact.input_size))
        q = np.tile(pin.neutral(model)[:, None], batch)
        v, tau, a = np.full((nv, batch), 0.1), np.full((nv, batch), 0.2), np.zeros((nv, batch))
        pool = pin.ModelPool(model, threads)

        def forward():
            cy.rollout(self.system, x32, STEPS, save="last", threads=threads)

        def linearise():
            cy.linearise(self.exact, few, u)

        def derivatives():
            for _ in range(64):
                pin.computeABADerivatives(model, self.data, q[:, 0], v[:, 0], tau[:, 0])

        def aba():
            pin.abaInParallel(threads, pool, q, v, tau, a)

        return {"forward": (forward, batch * STEPS), "linearise": (linearise, len(few)),
                "Pinocchio, forward (ABA)": (aba, batch),
                "Pinocchio, linearise (ABA derivatives)": (derivatives, 64)}

    def point(self, x, batch, threads=1):
        calls = self.calls(batch, threads)
        seconds = turns({name: call for name, (call, _) in calls.items()})
        return {"x": x} | {name: spread(s, calls[name][1]) for name, s in seconds.items()}


def without_contacts(full):
    base = {"unit": "µs per step"}
    rows = []
    for name in FREE:
        robot = Free(name)
        rows.append(robot.point(robot.system.nv, 256) | {"label": name.rpartition("/")[2]})
    talos = Free(TALOS)
    batches = (1, 16, 256, 1024) + ((4096, 16384) if full else ())
    out = {"dofs, free": base | {"x": "dofs", "rows": rows,
                                 "title": "Degrees of freedom, 256 robots without contacts"}}
    for threads, word in ((1, ""), (2, ", two threads")):
        points = [talos.point(b, b, threads) for b in batches]
        title = f"Batch, Talos without contacts{word}"
        out[f"batch, free{word}"] = base | {"x": "environments", "title": title, "rows": points}
    return out


def towers(full):
    """Contacts, model, states and controls of boxes upon boxes."""
    for boxes in (1, 2, 4, 8) + ((16,) if full else ()):
        model = mujoco.MjModel.from_xml_string(contact_extremes.tower([1.0] * boxes))
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, 20)
        state = np.concatenate([data.qpos, data.qvel])[None]
        yield int(data.ncon), model, state, np.zeros((1, STEPS, model.nu))


def by_contacts(full):
    rows = []
    for contacts, model, states, controls in towers(full):
        robot = Robot.__new__(Robot)
        robot.model, robot.system = model, cy.from_mujoco(model, dtype="float32")
        robot.states, robot.controls = states, controls
        rows.append(robot.point(contacts, 64, STEPS))
    title = "Contacts, a tower of boxes, 64 of them"
    return {"contacts": {"x": "contacts", "unit": "µs per step", "title": title, "rows": rows}}


def by_cells(full):
    rows = []
    for n in (32, 64, 128) + ((256,) if full else ()):
        flow = cy.fluid.spectral("navier_stokes", shape=(n, n), size=2 * np.pi, dt=0.005,
                                 viscosity=0.01, dtype="float32")
        x = flow.state(velocity=lambda x, y: (np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)))

        def forward(flow=flow, x=x):
            return cy.rollout(flow, x, 20, save="last", memory="all", threads=1)

        def both(forward=forward):
            run = forward()
            run.pullback(np.ones(run.states.shape, "float32"))

        seconds = turns({"forward": forward, "forward and gradient": both}, 3)
        rows.append({"x": n * n} | {k: spread(s, 20 * n * n, 1e9) for k, s in seconds.items()})
    title = "Cells of a periodic flow"
    return {"cells": {"x": "cells", "unit": "ns per cell and step", "title": title, "rows": rows}}


def mjx_lines(threads, full, limit):
    """What race_mjx.py says, line by line, until `limit` seconds are over; then what was under way,
    as {"missing": text}.
    """
    command = [sys.executable, str(Path(__file__).with_name("race_mjx.py")), str(threads)]
    process = subprocess.Popen(command + ["--full"] * full, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(limit, process.kill)
    timer.start()
    begins, began = "its start", time.monotonic()
    for line in process.stdout:
        if not line.startswith("{"):
            continue  # MJX says there what it could not import
        point = json.loads(line)
        if "begins" in point:
            begins = point["begins"]
            print(f"bench: MJX, {begins} ...", file=sys.stderr, flush=True)
        else:
            yield point
    timer.cancel()
    if process.wait():
        late = time.monotonic() - began >= limit
        why = f"did not finish within {limit:.0f} s" if late else "failed"
        yield {"missing": f"MJX: {begins} {why}; what follows it was not raced"}


def add_mjx(curves, full, limit):
    """MJX's points join the curves. What it refuses, and what did not finish in its time, is said
    with the curve of degrees of freedom, with which it begins."""
    for threads in (1, 2) if full else (1,):
        said = curves["dofs" if threads == 1 else "batch, two threads"].setdefault("notes", [])
        for point in mjx_lines(threads, full, limit):
            if "curve" not in point:
                said.append(point.get("missing") or f"MJX refuses {point['refused']}")
                continue
            name, x = point.pop("curve"), point["x"]
            rows = {row["x"]: row for row in curves[name]["rows"]}
            seconds = point.pop("compile_s")
            if seconds > 10:
                what = next(key for key in point if key.startswith("MJX"))
                said.append(f"{what}, {curves[name]['x']} {x}: compiled in {seconds:.0f} s")
            rows.setdefault(x, {}).update(point)
            curves[name]["rows"] = [rows[key] for key in sorted(rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the largest batches and grids too")
    parser.add_argument("--mjx", type=float, default=600, metavar="SECONDS",
                        help="how long MJX may compile and run on each number of threads; 0: not")
    options = parser.parse_args()
    full = options.full
    robot = Robot(HUMANOID, race_contact.mujoco_model(HUMANOID), 64)
    curves = by_batch(robot, full) | by_horizon(robot, full) | by_dofs() | without_contacts(full)
    curves |= by_contacts(full) | by_cells(full)
    if options.mjx > 0:
        add_mjx(curves, full, options.mjx)
    print(json.dumps(curves, indent=1))


if __name__ == "__main__":
    main()
