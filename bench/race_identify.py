"""Identification: ours against SciPy's least_squares with finite differences on MuJoCo's rollouts.

    python bench/race_identify.py

prints one JSON object. An arm with seven joints, servos and noisy angles and rates; unknown are
seven masses and three dampings, the start is known. Both begin at the same guess and see the same
residuals; steps are those that were simulated.
"""

import json
import time

import mujoco
import numpy as np
from scipy.optimize import least_squares

import cycloid as cy

STEPS, EVERY = 600, 4
SIGMA = np.repeat([2e-4, 2e-3], 7)
NAMES = [f"body:l{i}.mass" for i in range(7)] + [f"joint:j{i}.damping" for i in (1, 3, 5)]


def xml():
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
    return (
        '<mujoco><option timestep="0.004" integrator="implicitfast"/>'
        '<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{body}{'</body>' * 7}</worldbody><actuator>{servos}</actuator></mujoco>"
    )


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
        self.model = mujoco.MjModel.from_xml_string(xml())
        self.model.body_sameframe[:] = 0
        self.model.body_simple[:] = 0
        self.model.dof_simplenum[:] = 0
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


def race():
    system = cy.load(xml())
    recording = recorded(system)
    guess = {n: 1.3 * system.parameters[n] for n in NAMES}
    cy.identify(system, recording, guess, x0="known", iterations=1)
    ours = []
    for _ in range(3):
        begin = time.perf_counter()
        fit = cy.identify(system, recording, guess, x0="known")
        ours.append(time.perf_counter() - begin)
    peer = Peer(recording)
    start = np.concatenate([np.ravel(v) for v in guess.values()])
    begin = time.perf_counter()
    other = least_squares(peer.residuals, start, method="lm", x_scale="jac", xtol=1e-10, ftol=1e-10)
    theirs = time.perf_counter() - begin
    found = np.concatenate([np.ravel(fit.params[n]) for n in NAMES])
    std = np.concatenate([np.ravel(fit.std[n]) for n in NAMES])
    k = len(found)
    return {
        "unknowns": k,
        "seconds": min(ours),
        "scipy_seconds": theirs,
        "faster": theirs / min(ours),
        "steps": fit.steps,
        "scipy_steps": peer.steps,
        "fewer_steps": peer.steps / fit.steps,
        "steps_held_to": (k + 1) / 3,
        "apart_in_std": float(np.max(np.abs(found - other.x) / std)),
        "cost": fit.cost,
        "scipy_cost": float(other.cost),
    }


if __name__ == "__main__":
    print(json.dumps(race()))
