"""Physics, a network, and physics with a network inside, on recordings of real systems.

    python tests/python/learn_hybrids.py [names]       prints the table of docs/learn.md

Each is trained on the same windows of the same recordings and foretells a recording, or the end of
one, that none has seen: from every tenth sample on, `ahead` samples, root mean square error over
the standard deviation of each number. The physics is trained first; the hybrid begins there with a
residual of zero, and all of its numbers go on together.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from real_data import DOUBLE, EMPS, PENDULUM, rk4_law, table

import cycloid as cy
from cycloid._train import with_parameters


class Case(NamedTuple):
    """What is learned from, and what is foretold."""

    physics: Any
    params: list[str]
    place: str
    train: list[Any]
    held: list[Any]
    angles: tuple[int, ...]
    horizon: int
    ahead: int
    reach: float = 1e-2
    """Of a residual on the next state, in units of its deviation."""


def evenly(t: np.ndarray, rows: np.ndarray, u: np.ndarray, dt: float, until: float) -> Any:
    """A recording on a grid; inputs are means over its steps."""
    grid = np.arange(0, min(until, t[-1]), dt)
    values = np.stack([np.interp(grid, t, c) for c in rows.T], axis=1)
    fine = np.arange(0, len(grid) * 5) * dt / 5
    means = np.stack([np.interp(fine, t, c).reshape(-1, 5).mean(1) for c in u.T], axis=1)
    return cy.Recording(grid, values, means)


def dfki_simple_pendulum() -> Case:
    records = []
    for name in ("pd_system_identification", "energy_shaping", "sac", "ddp"):
        d = table("dfki_simple_pendulum", f"{name}.csv")
        rows = np.stack([d["theta"], d["omega"]], 1)
        records.append(evenly(d["t"], rows, d["torque"][:, None], 0.01, 12))
    names = ["body:rod.com", "body:rod.inertia", "joint:hinge.damping", "joint:hinge.frictionloss"]
    physics = cy.load(PENDULUM.format(dt=0.01))
    return Case(physics, names, "force", records[:3], records[3:], (0,), 10, 50)


def dfki_double_pendulum() -> Case:
    records = []
    for name in ("A0_t00", "A0_t01", "A0_t02", "A0_t04"):
        d = table("dfki_double_pendulum", f"{name}.csv")
        rows = np.stack([d[k] for k in ("q1", "q2", "qd1", "qd2")], 1)
        torques = np.stack([d["tau_meas1"], d["tau_meas2"]], 1)
        records.append(evenly(d["t"], rows, torques, 0.01, 10))
    names = [f"body:l{i}.{k}" for i in (1, 2) for k in ("com", "inertia")]
    names += [f"joint:j{i}.{k}" for i in (1, 2) for k in ("damping", "frictionloss")]
    physics = cy.load(DOUBLE.format(l1=-0.3).replace('"0.002"', '"0.01"'))
    return Case(physics, names, "force", records[:3], records[3:], (0, 1), 10, 30)


def emps() -> Case:
    d = table("emps", "data_emps.csv")
    q = np.convolve(d["q_meas"], np.ones(21) / 21, mode="same")
    rows = np.stack([q, np.gradient(q, d["t"])], 1)[20:-20]
    t, u = d["t"][20:-20] - d["t"][20], d["u_volt"][20:-20, None]
    whole = evenly(t, rows, u, 0.01, 1e9)
    cut = int(0.65 * len(whole))
    parts = [
        cy.Recording(whole.times[s], whole.values[s], whole.controls[s])
        for s in (slice(0, cut), slice(cut, None))
    ]
    names = ["body:load.mass", "joint:slide.damping", "joint:slide.frictionloss"]
    names += ["actuator:#0.biasprm"]
    physics = cy.load(EMPS.replace('"0.001"', '"0.01"'))
    return Case(physics, names, "force", parts[:1], parts[1:], (), 10, 50)


def silverbox() -> Case:
    d = table("silverbox", "multisine_train.csv")
    h = 2**14 / 1e7
    y = d["y_V"][:9000]
    v = np.gradient(y, h)
    u = np.convolve(d["u_V"], [0.5, 0.5])[1:9001, None]

    def rate(x: Any, u: Any, p: Any) -> Any:
        pull = p["gain"] * u[:, 0] - p["damping"] * x[:, 1] - p["stiffness"] * x[:, 0]
        return np.stack([x[:, 1], pull - p["cubic"] * x[:, 0] ** 3], 1)

    def back(x: Any, u: Any, p: Any, bar: Any) -> Any:
        y, f = x[:, 0], bar[:, 1]
        y_bar = -f * (p["stiffness"] + 3 * p["cubic"] * y**2)
        own = np.stack([y_bar, bar[:, 0] - p["damping"] * f], 1)
        by_p = {"gain": f * u[:, 0], "damping": -f * x[:, 1], "stiffness": -f * y}
        return own, {**by_p, "cubic": -f * y**3}

    w = (2 * np.pi * 69.9) ** 2
    physics = rk4_law(
        rate,
        back,
        states={"y": 1, "v": 1},
        inputs={"u": 1},
        dt=h,
        parameters={"gain": w, "damping": 50.0, "stiffness": w, "cubic": w},
        name="silverbox",
    )
    rows, times = np.stack([y, v], 1), np.arange(len(y)) * h
    parts = [
        cy.Recording(times[s], rows[s], u[s]) for s in (slice(2, 6000), slice(6000, 8990))
    ]
    names = ["gain", "damping", "stiffness", "cubic"]
    return Case(physics, names, "next", parts[:1], parts[1:], (), 5, 20)


def cascaded_tanks() -> Case:
    """Of two tanks the lower level y is measured. Its rate v tells what comes from the upper one,
    which so is no state of its own: with s = v + k3 sqrt(y), the flow between them, in units in
    which it is the root of the upper level,
      v_dot = (k4 u / s - k1) / 2 - k3 v / (2 sqrt(y)) - over (s² - rim)+ / (2 s).
    """
    d = table("cascaded_tanks", "estimation.csv")
    h = 4.0
    y = np.convolve(d["y"], [0.25, 0.5, 0.25], mode="same")
    rows = np.stack([y, np.gradient(y, h)], 1)
    # Of parameters of order one: so many volts and seconds.
    unit = {"k1": 1e-3, "k3": 1e-2, "k4": 1e-4, "over": 1e-2, "rim": 1e-2}

    def terms(x: Any, u: Any, p: Any) -> tuple[Any, ...]:
        k = {name: p[name] * factor for name, factor in unit.items()}
        q = np.sqrt(np.maximum(x[:, 0], 0.04))
        s = np.maximum(x[:, 1] + k["k3"] * q, 0.01)
        o = np.maximum(s**2 - k["rim"], 0)
        return k, q, s, o

    def rate(x: Any, u: Any, p: Any) -> Any:
        k, q, s, o = terms(x, u, p)
        pull = (k["k4"] * u[:, 0] / s - k["k1"]) / 2 - k["k3"] * x[:, 1] / (2 * q)
        return np.stack([x[:, 1], pull - k["over"] * o / (2 * s)], 1)

    def back(x: Any, u: Any, p: Any, bar: Any) -> Any:
        k, q, s, o = terms(x, u, p)
        v, f, full = x[:, 1], bar[:, 1], o > 0
        by_s = -k["k4"] * u[:, 0] / (2 * s**2) - k["over"] * (full - o / (2 * s**2))
        by_s = by_s * (s > 0.01)
        by_q = k["k3"] * v / (2 * q**2) + by_s * k["k3"]
        y_bar = f * by_q * (x[:, 0] > 0.04) / (2 * q)
        by_k = {
            "k1": -0.5 * f, "k4": f * u[:, 0] / (2 * s), "k3": f * (by_s * q - v / (2 * q)),
            "over": -f * o / (2 * s), "rim": f * k["over"] * full / (2 * s),
        }  # fmt: skip
        own = np.stack([y_bar, bar[:, 0] + f * (by_s - k["k3"] / (2 * q))], 1)
        return own, {name: unit[name] * b for name, b in by_k.items()}

    physics = rk4_law(
        rate,
        back,
        states={"y": 1, "v": 1},
        inputs={"pump": 1},
        dt=h,
        parameters={"k1": 3.5, "k3": 9.0, "k4": 2.8, "over": 7.5, "rim": 8.5},
        name="tanks",
    )
    u, times, cut = d["u"][:, None], np.arange(len(y)) * h, 700
    parts = [
        cy.Recording(times[s], rows[s], u[s]) for s in (slice(2, cut), slice(cut, len(y) - 2))
    ]
    return Case(physics, list(unit), "next", parts[:1], parts[1:], (), 15, 30, 5e-2)


def foretold(system: Any, case: Case, scale: np.ndarray) -> float:
    """Of the held recordings, `ahead` samples from every tenth."""
    squares = []
    for r in case.held:
        starts = np.arange(0, len(r) - case.ahead - 1, 10)
        u = np.stack([r.controls[i : i + case.ahead] for i in starts])
        run = cy.rollout(system, r.values[starts], u).states
        true = np.stack([r.values[i : i + case.ahead + 1] for i in starts])
        squares.append((((run - true) / scale) ** 2)[:, 1:].reshape(-1, len(scale)))
    return float(np.sqrt(np.nanmean(np.concatenate(squares))))


def compare(case: Case, steps: int = 500, seed: int = 0) -> dict[str, float]:
    """Errors of the three."""
    scale = np.concatenate([r.values for r in case.train]).std(axis=0)
    options: dict[str, Any] = {
        "scale": scale,
        "horizon": case.horizon,
        "grow_from": 1,
        "batch": 128,
        "schedule": "cosine",
        "seed": seed,
        "clip": 1.0,
        "validation": 0.3,  # the numbers that do best there are kept
        "weight_decay": 1e-4,
    }
    n, m = case.physics.state_size, case.physics.input_size
    dt = case.physics.timestep
    physics = cy.learn.train(
        *(case.physics, case.train), steps=steps, learning_rate=2e-2, params=case.params, **options
    ).system
    seen = np.concatenate([scale, np.concatenate([r.controls for r in case.train]).std(axis=0)])
    if case.place == "force":
        width, out = n // 2, 0.1 * np.concatenate([r.controls for r in case.train]).std()
        out = np.full(width, out * (35.0 if "slide" in case.params[1] else 1.0))
    else:
        width, out = n, case.reach * scale
    net = cy.networks.MLP(
        (n + m, 32, 32, width), seed=seed, input_scale=seen, output_scale=out, dtype="float64"
    )
    hybrid = cy.add_network(case.physics, net, to=case.place)
    found = {name: physics.parameters[name] for name in case.params}
    for last in ("residual.weight2", "residual.bias2"):  # at first the residual is zero
        found[last] = 0 * hybrid.parameters[last]
    hybrid = with_parameters(hybrid, hybrid.parameters.pack(found))
    hybrid = cy.learn.train(
        *(hybrid, case.train), steps=2 * steps, learning_rate=2e-3,
        params=[*case.params, "residual"], **options,
    ).system  # fmt: skip
    alone = cy.learn.neural_ode(n, m, hidden=(64, 64), angles=case.angles, dt=dt, seed=seed)
    network = cy.learn.train(
        *(alone, case.train), steps=4 * steps, learning_rate=5e-3, **options
    ).system
    return {
        "physics": foretold(physics, case, scale),
        "network": foretold(network, case, scale),
        "hybrid": foretold(hybrid, case, scale),
    }


CASES = {
    "dfki_simple_pendulum": dfki_simple_pendulum,
    "dfki_double_pendulum": dfki_double_pendulum,
    "emps": emps,
    "cascaded_tanks": cascaded_tanks,
    "silverbox": silverbox,
}


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        errors = compare(CASES[name]())
        print(name, "  ".join(f"{k} {v:.3g}" for k, v in errors.items()), flush=True)
