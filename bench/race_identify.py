"""Identification: ours, SciPy's least_squares with finite differences on MuJoCo's steps, and
mujoco.sysid.

    python bench/race_identify.py

prints one JSON object. An arm with seven joints, servos and noisy angles and rates; unknown are
seven masses and three dampings, the start is known. All begin at the same guess and see the same
residuals; steps are those that were simulated. They take turns; "seconds" are processor time on one
thread each, "wall_seconds" those that passed, ours on all cores. mujoco.sysid (its own optimiser,
its own finite differences) is raced where its packages are installed (make setup TIER=bench).
"""

import contextlib
import copy
import io
import json
import sys
import time

import mujoco
import numpy as np
from scipy.optimize import least_squares

import cycloid as cy

STEPS, EVERY = 600, 4
SIGMA = np.repeat([2e-4, 2e-3], 7)
NAMES = [f"body:l{i}.mass" for i in range(7)] + [f"joint:j{i}.damping" for i in (1, 3, 5)]


def xml(sensors=False):
    """Axes z and y in turn, links of 0.25 m."""
    body = ""
    for i in range(7):
        body += (
            f'<body name="l{i}" pos="0 0 {0.25 if i else 0.1}">'
            f'<joint name="j{i}" axis="{"0 0 1" if i % 2 == 0 else "0 1 0"}" damping="0.5"'
            ' armature="0.02"/>'
            f'<geom type="capsule" size="{0.05 - 0.004 * i}" fromto="0 0 0 0.02 0.01 0.25"'
            ' density="1500"/>'
        )
    servos = "".join(f'<position joint="j{i}" kp="60" kv="4"/>' for i in range(7))
    senses = "".join(f'<joint{kind} joint="j{i}"/>' for kind in ("pos", "vel") for i in range(7))
    return (
        '<mujoco><option timestep="0.004" integrator="implicitfast"/>'
        '<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{body}{'</body>' * 7}</worldbody><actuator>{servos}</actuator>"
        + (f"<sensor>{senses}</sensor></mujoco>" if sensors else "</mujoco>")
    )


def compiled(text):
    """MuJoCo's model without the shortcuts that masses of another size would break."""
    model = mujoco.MjModel.from_xml_string(text)
    model.body_sameframe[:] = 0
    model.body_simple[:] = 0
    model.dof_simplenum[:] = 0
    return model


def recorded(system):
    t = np.arange(STEPS // EVERY + 1) * EVERY * system.timestep
    rng = np.random.default_rng(7)
    controls = np.zeros((t.size, 7))
    for k in range(1, 4):
        phase, size = rng.uniform(0, 2 * np.pi, 7), rng.uniform(0.3, 0.6, 7)
        controls += size * np.sin(2 * np.pi * 0.6 * k * t[:, None] + phase) / np.sqrt(k)
    run = cy.rollout(system, system.initial_state(), np.repeat(controls[:-1], EVERY, axis=0))
    values = run.states[::EVERY] + SIGMA * rng.normal(size=(t.size, 14))
    return cy.Recording(t, values, controls, sigma=SIGMA, x0=system.initial_state())


class Peer:
    """Residuals by MuJoCo's own steps."""

    def __init__(self, recording):
        self.model = compiled(xml())
        self.data = mujoco.MjData(self.model)
        self.recording, self.steps = recording, 0

    def residuals(self, z):
        m, d, r = self.model, self.data, self.recording
        m.body_mass[1:8] = z[:7]
        m.dof_damping[[1, 3, 5]] = z[7:]
        mujoco.mj_resetData(m, d)
        seen = np.empty((len(r.times), 14))
        for i in range(len(r.times)):
            seen[i, :7], seen[i, 7:] = d.qpos, d.qvel
            if i + 1 < len(r.times):
                d.ctrl[:] = r.controls[i]
                mujoco.mj_step(m, d, EVERY)
        self.steps += STEPS
        return ((seen - r.values) / SIGMA).ravel()


class Sysid:
    """mujoco.sysid on the same recording: models are copies of one with the numbers put in."""

    def __init__(self, recording):
        from mujoco import sysid

        self.sysid, self.recording, self.steps = sysid, recording, 0
        self.model = compiled(xml(sensors=True))
        data = mujoco.MjData(self.model)
        t = np.arange(STEPS + 1) * self.model.opt.timestep  # the last row is not used
        rows = np.minimum(np.arange(STEPS + 1) // EVERY, STEPS // EVERY - 1)
        controls = sysid.TimeSeries(t, recording.controls[rows])
        seen = sysid.TimeSeries(recording.times, recording.values)
        start = sysid.create_initial_state(self.model, data.qpos, data.qvel, data.act)
        self.sequence = sysid.ModelSequences(
            "arm", mujoco.MjSpec.from_string(xml(sensors=True)), "run", start, controls, seen
        )

    def built(self, params, spec):
        z = params.as_vector()
        model = copy.copy(self.model)
        model.body_mass[1:8] = z[:7]
        model.dof_damping[[1, 3, 5]] = z[7:]
        self.steps += STEPS
        return model

    def residuals(self, params, predicted, measured, model, everything, *, state):
        wanted = self.recording.values[1:]
        apart = (state[EVERY - 1 :: EVERY, 1:15] - wanted) / SIGMA
        return apart.ravel(), measured, measured

    def fit(self, start):
        sysid = self.sysid
        params = sysid.ParameterDict()
        for name, value in zip(NAMES, start):
            params.add(sysid.Parameter(name, value, value / 10, 10 * value))
        residual = sysid.build_residual_fn(
            models_sequences=[self.sequence], build_model=self.built,
            modify_residual=self.residuals, resample_true=False, n_threads=1,
        )  # fmt: skip
        with contextlib.redirect_stdout(io.StringIO()):  # it tells its iterations
            found, _ = sysid.optimize(params, residual, verbose=False)
        return found.as_vector()


def clocked(run):
    """What it returns, seconds of the processor and of the clock."""
    wall, own = time.perf_counter(), time.process_time()
    out = run()
    return out, time.process_time() - own, time.perf_counter() - wall


def race(rounds=3):
    system = cy.load(xml())
    recording = recorded(system)
    guess = {n: 1.3 * system.parameters[n] for n in NAMES}
    start = np.concatenate([np.ravel(v) for v in guess.values()])
    peer = Peer(recording)
    try:
        sysid = Sysid(recording)
    except (ImportError, AttributeError) as error:
        print(f"bench: no race against mujoco.sysid: {error}", file=sys.stderr)
        sysid = None
    cy.identify(system, recording, guess, x0="known", iterations=1)
    spent = {"ours": [], "all cores": [], "scipy": [], "sysid": []}
    for _ in range(rounds):
        for _ in range(3):
            fit, *own = clocked(
                lambda: cy.identify(system, recording, guess, x0="known", threads=1)
            )
            spent["ours"].append(own)
            spent["all cores"].append(
                clocked(lambda: cy.identify(system, recording, guess, x0="known"))[1:]
            )
        peer.steps = 0
        other, *own = clocked(
            lambda: least_squares(
                peer.residuals, start, method="lm", x_scale="jac", xtol=1e-10, ftol=1e-10
            )
        )
        spent["scipy"].append(own)
        if sysid:
            sysid.steps = 0
            third, *own = clocked(lambda: sysid.fit(start))
            spent["sysid"].append(own)
    seconds = {name: np.min(each, axis=0) for name, each in spent.items() if each}
    found = np.concatenate([np.ravel(fit.params[n]) for n in NAMES])
    std = np.concatenate([np.ravel(fit.std[n]) for n in NAMES])
    k = len(found)
    out = {
        "unknowns": k,
        "seconds": seconds["ours"][0],
        "wall_seconds": seconds["all cores"][1],
        "scipy_seconds": seconds["scipy"][0],
        "faster": seconds["scipy"][0] / seconds["ours"][0],
        "faster_wall": seconds["scipy"][1] / seconds["all cores"][1],
        "steps": fit.steps,
        "scipy_steps": peer.steps,
        "fewer_steps": peer.steps / fit.steps,
        "steps_held_to": (k + 1) / 3,
        "apart_in_std": float(np.max(np.abs(found - other.x) / std)),
        "cost": fit.cost,
        "scipy_cost": float(other.cost),
    }
    if sysid:
        out |= {
            "sysid_seconds": seconds["sysid"][0],
            "faster_than_sysid": seconds["sysid"][0] / seconds["ours"][0],
            "sysid_steps": sysid.steps,
            "fewer_steps_than_sysid": sysid.steps / fit.steps,
            "sysid_apart_in_std": float(np.max(np.abs(found - third) / std)),
            "sysid_cost": 0.5 * float(np.sum(peer.residuals(third) ** 2)),
        }
    return out


if __name__ == "__main__":
    print(json.dumps(race()))
