"""Models of the systems in the folder of recordings, and fits of them.

    python tests/python/real_data.py [names]        prints the table of docs/identification.md

The folder is CYCLOID_DATA; it is not part of the project. Of each set the part that is there is
split again: what is fitted, and what is held out.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cycloid as cy

DATA = Path(os.environ.get("CYCLOID_DATA", Path(__file__).parents[3] / "shared" / "data"))


class Outcome(NamedTuple):
    """A fit, and how well it foretells what it has not seen."""

    fit: Any
    one_step: float
    """Root mean square error of the next sample, on what was held out."""
    free_run: float
    """... of a run over all that was held out."""
    unit: str
    in_pieces: float = float("nan")
    """... of runs over pieces of it, each from the start that fits it best."""


def pieces(recording: Any, length: float) -> list[Any]:
    """The recording in parts of so many seconds, each a recording."""
    t = recording.times - recording.times[0]
    out = []
    for k in range(max(1, int(t[-1] / length))):
        own = (t >= k * length) & (t < (k + 1) * length)
        controls = None if recording.controls is None else recording.controls[own]
        out.append(
            cy.Recording(
                recording.times[own], recording.values[own], controls, names=recording.names,
                sigma=recording.sigma,
            )
        )
    return out


def error_in_pieces(fit: Any, held: Any, length: float, column: int = 0) -> float:
    squares = [
        np.nanmean((fit.predict(r).states[:, column] - r.values[:, column]) ** 2)
        for r in pieces(held, length)
    ]
    return float(np.sqrt(np.mean(squares)))


def table(*path: str) -> dict[str, np.ndarray]:
    """Columns of a CSV by name."""
    file = DATA.joinpath(*path)
    names = file.open().readline().strip().split(",")
    columns = np.loadtxt(file, delimiter=",", skiprows=1, unpack=True)
    return dict(zip(names, columns))


def rk4_law(rate: Any, rate_pullback: Any, **more: Any) -> Any:
    """A law of x_dot = rate(x, u, p), by RK4. rate_pullback(x, u, p, bar) -> (x_bar, p_bar)."""

    def stages(x: Any, u: Any, p: Any, dt: float) -> tuple[list[Any], list[Any]]:
        points, slopes = [x], []
        for share in (0.5, 0.5, 1.0):
            slopes.append(rate(points[-1], u, p))
            points.append(x + share * dt * slopes[-1])
        slopes.append(rate(points[-1], u, p))
        return points, slopes

    def step(x: Any, u: Any, p: Any, t: Any, dt: float) -> Any:
        a, b, c, d = stages(x, u, p, dt)[1]
        return x + dt / 6 * (a + 2 * b + 2 * c + d)

    def pullback(x: Any, u: Any, p: Any, t: Any, dt: float, bar: Any) -> Any:
        points, _ = stages(x, u, p, dt)
        x_bar, p_bar, ahead = bar.copy(), {k: np.zeros_like(v) for k, v in p.items()}, 0.0
        for i, weight in ((3, 1 / 6), (2, 1 / 3), (1, 1 / 3), (0, 1 / 6)):
            own, by_p = rate_pullback(points[i], u, p, dt * weight * bar + ahead)
            x_bar += own
            for k, v in by_p.items():
                p_bar[k] += v
            ahead = (0.0, 0.5, 0.5, 1.0)[i] * dt * own
        return x_bar, 0, p_bar

    return cy.own_law(step, pullback, **more)


def errors(fit: Any, held: Any, column: int = 0) -> tuple[float, float]:
    """One sample ahead and over the whole recording, of a number of the state that was measured."""
    whole = fit.predict(held).states[:, column] - held.values[:, column]
    even = np.ptp(np.diff(held.times)) < 1e-6 * np.diff(held.times).mean()
    if not even:
        return float("nan"), float(np.sqrt(np.nanmean(whole**2)))
    ahead = fit.predict(held, horizon=1).states[:, 1, column] - held.values[1:, column]
    return float(np.sqrt(np.nanmean(ahead**2))), float(np.sqrt(np.nanmean(whole**2)))


def schmidt_lipson() -> Outcome:
    d = table("schmidt_lipson", "pendulum.csv")
    n = int(0.8 * len(d["t"]))
    values = np.stack([d["theta"], d["omega"]], 1)
    system = cy.systems.pendulum(dt=1 / 60)
    parts = [cy.Recording(d["t"][s], values[s]) for s in (slice(0, n), slice(n, None))]
    fit = cy.identify(system, parts[0], {"gravity": 1.3, "damping": 0.01}, held_out=parts[1])
    return Outcome(fit, *errors(fit, parts[1]), "rad")


PENDULUM = """<mujoco><option timestep="{dt}" integrator="implicitfast"/><worldbody>
  <body name="rod">
  <joint name="hinge" axis="0 1 0" damping="0.05" frictionloss="0.1"/>
  <inertial pos="0 0 -0.45" mass="0.676" diaginertia="0.02 0.01 0.02"/></body></worldbody>
  <actuator><motor joint="hinge"/></actuator></mujoco>"""


def dfki_simple_pendulum() -> Outcome:
    system = cy.load(PENDULUM.format(dt=0.002))
    records = []
    for name in ("pd_system_identification", "energy_shaping", "sac", "ddp"):
        d = table("dfki_simple_pendulum", f"{name}.csv")
        keep = d["t"] < 12
        values = np.stack([d["theta"], d["omega"]], 1)[keep]
        records.append(
            cy.Recording(d["t"][keep], values, d["torque"][keep, None], sigma=[0.02, 0.2])
        )
    # It balances upright now and then, where no run stays near for long: parts of a second.
    fit = cy.identify(
        system,
        [r for record in records[:3] for r in pieces(record, 1.0)],
        {"body:rod.com[2]": -0.45, "body:rod.inertia[1]": 0.01, "joint:hinge.damping": 0.05,
         "joint:hinge.frictionloss": 0.1},
        bounds={"joint:hinge.frictionloss": (0, 1)},
        held_out=records[3],
        loss="huber",
    )
    one, whole = errors(fit, records[3])
    return Outcome(fit, one, whole, "rad", error_in_pieces(fit, records[3], 1.0))


def dfki_simple_pendulum_whole() -> Outcome:
    """One recording in one piece, by segments that meet in the end: through dry friction."""
    system = cy.load(PENDULUM.format(dt=0.002))
    d = table("dfki_simple_pendulum", "pd_system_identification.csv")
    values = np.stack([d["theta"], d["omega"]], 1)
    recording = cy.Recording(d["t"], values, d["torque"][:, None], sigma=[0.02, 0.2])
    fit = cy.identify(
        system,
        recording,
        {"body:rod.com[2]": -0.45, "body:rod.inertia[1]": 0.01, "joint:hinge.damping": 0.05,
         "joint:hinge.frictionloss": 0.1},
        bounds={"joint:hinge.frictionloss": (0, 1)},
        shooting=0.5,
        loss="huber",
    )
    return Outcome(fit, *errors(fit, recording), "rad")


DOUBLE = """<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody>
  <body name="l1">
  <joint name="j1" axis="0 1 0" damping="0.001" frictionloss="0.1" armature="0.003"/>
  <inertial pos="0 0 -0.25" mass="0.6" diaginertia="0.02 0.01 0.02"/>
  <body name="l2" pos="0 0 {l1}">
  <joint name="j2" axis="0 1 0" damping="0.001" frictionloss="0.1" armature="0.003"/>
  <inertial pos="0 0 -0.18" mass="0.6" diaginertia="0.01 0.005 0.01"/></body></body></worldbody>
  <actuator><motor joint="j1"/><motor joint="j2"/></actuator></mujoco>"""


def dfki_double_pendulum() -> Outcome:
    system = cy.load(DOUBLE.format(l1=-0.3))
    records = []
    for name in ("A0_t00", "A0_t01", "A0_t02", "A0_t04"):
        d = table("dfki_double_pendulum", f"{name}.csv")
        keep = d["t"] < 8
        values = np.stack([d[k] for k in ("q1", "q2", "qd1", "qd2")], 1)[keep][::5]
        controls = np.stack([d["tau_meas1"], d["tau_meas2"]], 1)[keep][::5]
        sigma = [0.01] * 2 + [0.2] * 2
        records.append(cy.Recording(d["t"][keep][::5], values, controls, sigma=sigma))
    fit = cy.identify(
        system,
        [r for record in records[:3] for r in pieces(record, 0.5)],
        ["body:l1.com[2]", "body:l2.com[2]", "body:l1.inertia[1]", "body:l2.inertia[1]",
         "joint:j1.damping", "joint:j2.damping", "joint:j1.frictionloss",
         "joint:j2.frictionloss"],
        bounds={"joint:j1.frictionloss": (0, 1), "joint:j2.frictionloss": (0, 1)},
        held_out=pieces(records[3], 0.5),
        loss="huber",
        iterations=200,
    )
    one, whole = errors(fit, records[3], 1)
    return Outcome(fit, one, whole, "rad", error_in_pieces(fit, records[3], 0.5, 1))


EMPS = """<mujoco><option timestep="0.001" integrator="implicitfast" gravity="0 0 0"/><worldbody>
  <body name="load"><joint name="slide" type="slide" axis="1 0 0" damping="200" frictionloss="20"/>
  <geom type="box" size=".1 .1 .1" mass="95"/></body></worldbody>
  <actuator><general joint="slide" gainprm="35.15065" biastype="affine" biasprm="0 0 0"/></actuator>
  </mujoco>"""


def emps() -> Outcome:
    system = cy.load(EMPS)
    d = table("emps", "data_emps.csv")
    n = 16_000
    every = 10
    parts = [
        cy.Recording(d["t"][s], d["q_meas"][s], d["u_volt"][s, None], names="qpos", sigma=1e-3)
        for s in (slice(0, n), slice(n, None))
    ]
    hidden = parts[0].values.copy()
    hidden[np.arange(n) % every != 0] = np.nan
    open_part = cy.Recording(parts[0].times, hidden, parts[0].controls, names="qpos", sigma=1e-3)
    fit = cy.identify(
        system,
        open_part,
        {"body:load.mass": 80.0, "joint:slide.damping": 150.0, "joint:slide.frictionloss": 15.0,
         "actuator:#0.biasprm[0]": 0.0},
        held_out=parts[1],
    )
    return Outcome(fit, *errors(fit, parts[1]), "m")


def silverbox() -> Outcome:
    d = table("silverbox", "multisine_train.csv")
    h = 2**14 / 1e7
    t = np.arange(len(d["u_V"])) * h

    def rate(x: Any, u: Any, p: Any) -> Any:
        y, v = x[:, 0], x[:, 1]
        pull = p["gain"] * u[:, 0] - p["damping"] * v - p["stiffness"] * y - p["cubic"] * y**3
        return np.stack([v, pull], 1)

    def back(x: Any, u: Any, p: Any, bar: Any) -> Any:
        y, v, f = x[:, 0], x[:, 1], bar[:, 1]
        y_bar = -f * (p["stiffness"] + 3 * p["cubic"] * y**2)
        own = np.stack([y_bar, bar[:, 0] - p["damping"] * f], 1)
        return own, {"gain": f * u[:, 0], "damping": -f * v, "stiffness": -f * y,
                     "cubic": -f * y**3}

    w = (2 * np.pi * 69.9) ** 2
    system = rk4_law(
        rate, back, states={"y": 1, "v": 1}, inputs={"u": 1}, dt=h,
        parameters={"gain": w, "damping": 50.0, "stiffness": w, "cubic": w}, name="silverbox",
    )
    # What acts between samples is neither held nor straight: the mean of two samples is nearer.
    u = np.convolve(d["u_V"], [0.5, 0.5])[1:, None]
    n, m = 3000, 6000
    parts = [cy.Recording(t[s], d["y_V"][s], u[s], names="y") for s in (slice(0, n), slice(n, m))]
    fit = cy.identify(
        system, parts[0], ["gain", "damping", "stiffness", "cubic"], held_out=parts[1]
    )
    return Outcome(fit, *errors(fit, parts[1]), "V")


def cascaded_tanks() -> Outcome:
    d = table("cascaded_tanks", "estimation.csv")

    def root(x: Any) -> Any:
        return np.sqrt(np.maximum(x, 1e-3))

    def slope(x: Any) -> Any:
        return np.where(x > 1e-3, 0.5 / root(x), 0.0)

    def rate(x: Any, u: Any, p: Any) -> Any:
        a, b = x[:, 0], x[:, 1]
        over, low_over = np.maximum(a - p["rim"], 0), np.maximum(b - p["low_rim"], 0)
        upper = -p["k1"] * root(a) + p["k4"] * u[:, 0] - p["over"] * over
        lower = p["k2"] * root(a) - p["k3"] * root(b) + p["spill"] * over
        return np.stack([upper, lower - p["low_over"] * low_over], 1)

    def back(x: Any, u: Any, p: Any, bar: Any) -> Any:
        a, b, f, g = x[:, 0], x[:, 1], bar[:, 0], bar[:, 1]
        over, low_over = np.maximum(a - p["rim"], 0), np.maximum(b - p["low_rim"], 0)
        flow = (-p["over"] * f + p["spill"] * g) * (over > 0)
        low_flow = p["low_over"] * g * (low_over > 0)
        a_bar = (-p["k1"] * f + p["k2"] * g) * slope(a) + flow
        return np.stack([a_bar, -p["k3"] * g * slope(b) - low_flow], 1), {
            "k1": -f * root(a), "k2": g * root(a), "k3": -g * root(b), "k4": f * u[:, 0],
            "rim": -flow, "over": -f * over, "spill": g * over,
            "low_rim": low_flow, "low_over": -g * low_over,
        }

    start = {
        "k1": 0.05, "k2": 0.05, "k3": 0.05, "k4": 0.05, "rim": 9.0, "over": 0.1, "spill": 0.05,
        "low_rim": 9.9, "low_over": 0.5,
    }  # fmt: skip
    system = rk4_law(
        rate, back, states={"upper": 1, "lower": 1}, inputs={"pump": 1}, dt=2.0,
        parameters=start, name="tanks", initial_state=[5.0, 5.0],
    )
    n = 768
    parts = [
        cy.Recording(d["t"][s], d["y"][s], d["u"][s, None], names="lower")
        for s in (slice(0, n), slice(n, None))
    ]
    bounds = {k: (0.0, 1.0) for k in ("k1", "k2", "k3", "k4", "over", "spill", "low_over")}
    fit = cy.identify(
        system, parts[0], [*start, "output:lower.offset"], held_out=parts[1],
        bounds=bounds | {"rim": (4.0, 15.0), "low_rim": (8.0, 12.0)},
    )
    held = fit.held_out["lower"]
    one, _ = errors(fit, parts[1], 1) if parts[1].values.shape[1] > 1 else (float("nan"), held)
    return Outcome(fit, one, held, "V")


CUBE = """<mujoco><option timestep="{dt}" cone="elliptic" integrator="implicitfast"/><worldbody>
  <geom name="table" type="plane" size="2 2 .1" friction="{mu} 0.001 0.0001" solref="-40000 -100"/>
  <body name="cube"><freejoint/><geom name="cube" type="box" size=".0524 .0524 .0524" mass=".37"
   friction="{mu} 0.001 0.0001" solref="-40000 -100"/></body></worldbody></mujoco>"""


def contactnets_cube() -> Outcome:
    file = np.load(DATA / "contactnets_cube" / "tosses.npz")
    states, offsets, dt = file["states"], file["offsets"], float(file["dt"])
    system = cy.load(CUBE.format(dt=dt / 8, mu=0.2))

    def toss(i: int) -> Any:
        s = states[offsets[i] : offsets[i + 1]]
        row = np.concatenate([s[:, 4:7], s[:, 0:4], s[:, 10:13], s[:, 7:10]], 1)  # qpos, qvel
        sigma = [0.005] * 3 + [0.05] * 4 + [0.2] * 3 + [2.0] * 3
        return cy.Recording(np.arange(len(s)) * dt, row, sigma=sigma, x0=row[0])

    # A cube's landing is chaotic: runs of a fifth of a second, each from what was measured.
    fit = cy.identify(
        system,
        [r for i in range(24) for r in pieces(toss(i), 0.2)],
        [cy.tie("geom:cube.friction[0]", "geom:table.friction[0]"),
         cy.tie("geom:cube.solref[0]", "geom:table.solref[0]"),
         cy.tie("geom:cube.solref[1]", "geom:table.solref[1]")],
        x0="known",
        loss="cauchy",
        held_out=[toss(i) for i in range(300, 340)],
    )
    ahead, apart = [], []
    for r in fit.held_out_recordings:
        seen = fit.predict(r).states[:, :3] - r.values[:, :3]
        apart.append(np.linalg.norm(seen, axis=1).mean())
        step = fit.predict(r, horizon=1).states[:, 1, :3] - r.values[1:, :3]
        ahead.append(np.mean(np.sum(step**2, 1)))
    return Outcome(fit, float(np.sqrt(np.mean(ahead))), float(np.mean(apart)), "m")


def contactnets_cube_whole() -> Outcome:
    """One toss in one piece through its impacts, by segments that meet in the end."""
    file = np.load(DATA / "contactnets_cube" / "tosses.npz")
    states, offsets, dt = file["states"], file["offsets"], float(file["dt"])
    system = cy.load(CUBE.format(dt=dt / 8, mu=0.2))
    s = states[offsets[0] : offsets[1]]
    row = np.concatenate([s[:, 4:7], s[:, 0:4], s[:, 10:13], s[:, 7:10]], 1)
    sigma = [0.005] * 3 + [0.05] * 4 + [0.2] * 3 + [2.0] * 3
    recording = cy.Recording(np.arange(len(s)) * dt, row, sigma=sigma, x0=row[0])
    fit = cy.identify(
        system,
        recording,
        [cy.tie("geom:cube.friction[0]", "geom:table.friction[0]"),
         cy.tie("geom:cube.solref[0]", "geom:table.solref[0]"),
         cy.tie("geom:cube.solref[1]", "geom:table.solref[1]")],
        loss="cauchy",
        shooting=0.1,
    )
    return Outcome(fit, *errors(fit, recording), "m")


# Markers at the tip in the beam's own frame [m]; the frames from which each run moves, and what
# hangs at the tip [N].
TIP_MARKERS = np.array([[0, 0.015, 0.036], [0, -0.006, 0.024], [0, 0.036, 0.006]])
BEAM_RUNS = {"gravity": (71, 0.0), "load52": (43, 0.51012), "load101": (51, 1.00062)}


def silicone_beams(names: Sequence[str], dt: float = 0.005) -> tuple[Any, Any, list[int]]:
    """Beams of eth_soft_beam side by side, one for each run: 10 cm of Dragon Skin 10 along x,
    clamped at x = 0, with the run's weight at the upper edge of the tip. Returns the system and the
    vertices in the middle of the tips."""
    box = cy.soft.box((6, 2, 2), (0.1, 0.03, 0.03))
    n, g = len(box.vertices), 9.80709
    x = np.concatenate([box.vertices + [0, 0.1 * k, 0] for k in range(len(names))])
    mesh = cy.soft.Mesh(
        x, np.concatenate([box.cells + n * k for k in range(len(names))]), parts=True
    )
    edge = np.flatnonzero(np.isclose(box.vertices, [0.1, -1, 0.03]).sum(1) == 2)
    mass = np.zeros(len(x))
    for k, name in enumerate(names):
        mass[n * k + edge] = BEAM_RUNS[name][1] / g / len(edge)
    middle = np.flatnonzero(np.isclose(box.vertices, [0.1, 0.015, 0.015]).all(1))[0]
    system = cy.soft.solid(
        mesh, "neo_hookean", young=2e5, poisson=0.499, density=1070.0, damping=1e-3, mass=mass,
        pinned=np.flatnonzero(x[:, 0] == 0), gravity=(0, 0, -g), dt=dt, integrator="newmark",
        formulation="locking_free",
    )
    return system, x, [int(n * k + middle) for k in range(len(names))]


def tip_motion(name: str, seconds: float) -> np.ndarray:
    """How the middle of the tip moves from its release on [m]: along, across, up. Three markers
    stand off the tip; the rigid motion of their triangle tells where its middle is."""
    first = BEAM_RUNS[name][0]
    table = np.loadtxt(DATA / "eth_soft_beam" / f"beam_{name}_V2_a.csv", delimiter=",", skiprows=1)
    lab = table[:, 1:10].reshape(-1, 3, 3)
    markers = np.stack([lab[..., 2], -lab[..., 1], lab[..., 0]], -1)
    centre = TIP_MARKERS.mean(0)

    def middle(now: np.ndarray) -> np.ndarray:
        u, _, vt = np.linalg.svd((TIP_MARKERS - centre).T @ (now - now.mean(0)))
        turn = u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt
        return (np.array([0, 0.015, 0.015]) - centre) @ turn + now.mean(0)

    frames = markers[first : first + round(100 * seconds) + 1]
    start = middle(markers[: first - 10].mean(axis=0))
    return np.array([middle(f) for f in frames]) - start


def beam_recording(names: Sequence[str], seconds: float) -> tuple[Any, Any]:
    system, x, tips = silicone_beams(names)
    moved = [x[t] + tip_motion(name, seconds) for t, name in zip(tips, names, strict=True)]
    values = np.concatenate(moved, axis=1)
    return system, cy.Recording(
        0.01 * np.arange(len(values)), values, names=[f"vertex:#{t}" for t in tips], sigma=5e-4,
        x0=system.initial_state(),
    )


def eth_soft_beam(seconds: float = 0.6) -> Outcome:
    """Young's modulus and damping from two load cases; the third, the heaviest, is held out.
    free_run: how far the tip is off there; in_pieces: of the two; one_step: how far off it hangs
    there in the end, up and down."""
    system, recording = beam_recording(("gravity", "load52"), seconds)
    fit = cy.identify(system, recording, ["young", "damping"], x0="known")
    other, held = beam_recording(("load101",), seconds)

    def error(body: Any, r: Any) -> float:
        run = cy.rollout(body, r.x0, round(seconds / 0.005), dict(fit.params), save=2)
        seen = cy.observe(body, run.states, names=list(r.names)).values
        return float(np.sqrt(np.mean(np.sum((seen - r.values).reshape(len(seen), -1, 3) ** 2, -1))))

    _, x, tips = silicone_beams(("load101",))
    hangs = cy.soft.equilibrium(other, params=dict(fit.params)).state[3 * tips[0] + 2]
    drop = hangs - x[tips[0], 2] - tip_motion("load101", 4.2)[-100:, 2].mean()
    return Outcome(fit, abs(float(drop)), error(other, held), "m", error(system, recording))


FITS = {
    f.__name__: f
    for f in (schmidt_lipson, dfki_simple_pendulum, dfki_simple_pendulum_whole,
              dfki_double_pendulum, emps, silverbox,
              cascaded_tanks, contactnets_cube, contactnets_cube_whole, eth_soft_beam)
}


def main() -> None:
    for name in sys.argv[1:] or FITS:
        begin = time.monotonic()
        outcome = FITS[name]()
        print(f"== {name}: one step {outcome.one_step:.4g} {outcome.unit}, in pieces "
              f"{outcome.in_pieces:.4g} {outcome.unit}, free run {outcome.free_run:.4g} "
              f"{outcome.unit}, {time.monotonic() - begin:.1f} s")
        print(outcome.fit.report(), flush=True)


if __name__ == "__main__":
    main()
