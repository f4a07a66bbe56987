"""Robots without constraints: ours against MuJoCo and Pinocchio, one thread, the same states.

    python bench/race_robots.py [PART OF A NAME ...]

prints one JSON object: {robot: {figure: number}}, times in microseconds per environment-step. Ours
and the peer take turns, and each time is the best of the turns, so that the ratios hold on a noisy
machine. Sensors are off on both sides; loading is not timed.
"""

import json
import os
import sys
import time
from pathlib import Path

import mujoco
import numpy as np
from mujoco import rollout as mujoco_rollout

import cycloid as cy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))
import models  # noqa: E402

ROBOTS = [
    "dm_control/humanoid", "dm_control/cheetah", "dm_control/cartpole", "dm_control/quadruped",
    "urdf/panda_description/panda", "urdf/talos_data/talos_reduced",
]
TURNS = 7
BATCH, STEPS = 1024, 50  # of the race in float32
LONG = 1000  # steps of one environment
LINEARISED = 256  # environments
CALLS = 20  # of a peer's function per turn


def best(*functions, turns=TURNS):
    """Seconds of each function, the best of turns that they take one after another."""
    seconds = [np.inf] * len(functions)
    for _ in range(turns):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            seconds[i] = min(seconds[i], time.perf_counter() - start)
    return seconds


def mujoco_model(name):
    model = models.in_mujoco(models.MODELS[name])
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
    return model


def start_states(model, name, count, steps=200, wanted=lambda state: True):
    """(count, state) along MuJoCo's own run with random controls, and controls (count, T, nu)."""
    controls = models.random_controls(model, name, steps=steps)
    states, good = models.run(model, controls)
    good &= [bool(wanted(state)) for state in states[:-1]]
    at = np.flatnonzero(good)[np.linspace(0, good.sum() - 1, count).astype(int)]
    draw = np.random.default_rng(1)
    return states[at], controls[draw.integers(0, len(controls), size=(count, STEPS))]


class Peer:
    """MuJoCo's rollout of the same states and controls on the calling thread."""

    def __init__(self, model):
        self.model, self.data = model, mujoco.MjData(model)
        self.pool = mujoco_rollout.Rollout(nthread=0)

    def run(self, states, controls):
        rows = np.zeros((len(states), 1 + states.shape[1]))
        rows[:, 1:] = states
        return lambda: self.pool.rollout(self.model, self.data, rows, controls,
                                         nstep=controls.shape[1])


def race(model, states, controls, constraints):
    """Figures of one robot, from (BATCH, state) and (BATCH, STEPS, nu)."""
    peer = Peer(model)
    out = {"nv": model.nv}

    lanes = cy.from_mujoco(model, dtype="float32", constraints=constraints)
    x, u = states.astype("float32"), controls.astype("float32")
    held = {}

    def forward():
        held["run"] = cy.rollout(lanes, x, u, save="last", memory="all", threads=1)

    bar = np.ones((BATCH, 1, lanes.state_size), "float32")

    def backward():
        held["run"].pullback(bar, failed="skip")

    few = 128
    ours, back, theirs = best(forward, backward, peer.run(states[:few], controls[:few]))
    count = BATCH * STEPS
    out["forward"], out["backward"] = ours / count * 1e6, back / count * 1e6
    out["mujoco"] = theirs / (few * STEPS) * 1e6
    out["forward x"] = out["mujoco"] / out["forward"]
    out["forward+backward x"] = out["mujoco"] / (out["forward"] + out["backward"])
    out["backward / forward"] = back / ours

    one = cy.from_mujoco(model, constraints=constraints)
    alone = np.resize(controls[0], (LONG, model.nu))
    ours, theirs = best(lambda: cy.rollout(one, states[0], alone, save="last", threads=1),
                        peer.run(states[:1], alone[None]))
    out["one in double"], out["one in double x"] = ours / LONG * 1e6, theirs / ours

    some, moved = states[:LINEARISED], controls[:LINEARISED, 0]
    A = np.zeros((2 * model.nv + model.na, 2 * model.nv + model.na))
    B = np.zeros((2 * model.nv + model.na, model.nu))

    def differences():
        data = peer.data
        for i in range(CALLS):
            data.qpos[:], data.qvel[:], data.act[:] = np.split(
                some[i], [model.nq, model.nq + model.nv])
            data.ctrl[:] = moved[i]
            mujoco.mjd_transitionFD(model, data, 1e-6, False, A, B, None, None)

    runge_kutta = model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4  # has no differences there
    ours, theirs = best(lambda: cy.linearise(one, some, moved),
                        (lambda: None) if runge_kutta else differences)
    out["linearise"] = ours / LINEARISED * 1e6
    if not runge_kutta:
        out["linearise x"] = theirs / CALLS / ours * LINEARISED
    return out


def race_robot(name):
    model = mujoco_model(name)
    out = race(model, *start_states(model, name, BATCH), constraints=False)
    if name.startswith("urdf/"):
        out["Pinocchio's ABA derivatives"] = aba_derivatives(name)
        out["linearise / Pinocchio"] = out["linearise"] / out["Pinocchio's ABA derivatives"]
    return out


def aba_derivatives(name):
    """Microseconds of one call of Pinocchio's computeABADerivatives."""
    import pinocchio

    model = pinocchio.buildModelFromUrdf(str(models.MODELS[name]))
    data = model.createData()
    q = pinocchio.neutral(model)
    v, tau = np.full(model.nv, 0.1), np.full(model.nv, 0.2)

    def calls():
        for _ in range(200):
            pinocchio.computeABADerivatives(model, data, q, v, tau)

    return best(calls)[0] / 200 * 1e6


def main(robots, measure, pinned=True):
    """Prints the figures of those robots that the command line names, or of all. pinned: to one
    processor.
    """
    if pinned:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    wanted = sys.argv[1:]
    names = [n for n in robots if not wanted or any(w in n for w in wanted)]
    results = {}
    for name in names:
        print(f"bench: {name} ...", file=sys.stderr, flush=True)
        results[name] = measure(name)
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(ROBOTS, race_robot)
