"""Public recipes of learned laws: data, training and score of each.

    python tests/python/learn_recipes.py [names] [--seeds 3]

prints the rows of the table of docs/learn.md. Recipes are those of the papers (docs/learn.md);
where one is changed, its docstring says how.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from real_data import DATA, table

import cycloid as cy

Score = dict[str, float]


def timed_training(law: Any, data: Any, score: Score, **options: Any) -> Any:
    """The trained law; its time goes into the score."""
    begin = time.process_time()
    run = cy.learn.train(law, data, **options)
    score["cpu seconds"] = time.process_time() - begin
    score["loss"] = run.loss
    return run.system


def spring_start(rng: Any) -> np.ndarray:
    """On a circle of radius U[0.1, 1]."""
    y = rng.uniform(-1, 1, 2)
    return y / np.hypot(*y) * rng.uniform(0.1, 1)


def spring_run(start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """H = q² + p²."""
    c, s = np.cos(2 * times), np.sin(2 * times)
    return np.stack([start[0] * c + start[1] * s, start[1] * c - start[0] * s], axis=-1)


def spring(seed: int = 0, hidden: tuple[int, ...] = (200, 200), steps: int = 2000) -> Score:
    """Greydanus et al.: 25 noisy runs of 30 points, mean square error of the energy."""
    rng = np.random.default_rng(seed)
    clean = np.concatenate(
        [spring_run(spring_start(rng), np.linspace(0, 3, 30)) for _ in range(25)]
    )
    rates = np.stack([2 * clean[:, 1], -2 * clean[:, 0]], axis=1)
    rows = cy.learn.Derivatives(clean + 0.1 * rng.normal(size=clean.shape), rates)
    law = cy.learn.hamiltonian(1, hidden=hidden, dt=0.02, seed=seed, dtype="float32")
    score: Score = {}
    learned = timed_training(law, rows, score, steps=steps, weight_decay=1e-4, threads=1)
    starts = np.stack([spring_start(rng) for _ in range(15)])
    run = cy.rollout(learned, starts, 1000, save=10)
    energy = (np.asarray(run.states, float) ** 2).sum(axis=-1)
    score["energy"] = float(((energy - energy[:, :1]) ** 2).mean())
    return score


def pendulum(seed: int = 0, hidden: tuple[int, ...] = (200, 200), steps: int = 2000) -> Score:
    """Greydanus et al.: H = 3 (1 - cos q) + p², noise 0.1; their "energy" is q² + p²."""
    rng = np.random.default_rng(seed)

    def rate(x: np.ndarray) -> np.ndarray:
        return np.stack([2 * x[..., 1], -3 * np.sin(x[..., 0])], axis=-1)

    def flow(x: np.ndarray, steps: int, dt: float) -> np.ndarray:
        out = [x]
        for _ in range(steps):
            a = rate(x)
            b = rate(x + dt / 2 * a)
            c = rate(x + dt / 2 * b)
            x = x + dt / 6 * (a + 2 * b + 2 * c + rate(x + dt * c))
            out.append(x)
        return np.stack(out, axis=-2)

    def starts(count: int) -> np.ndarray:
        y = rng.uniform(-1, 1, (count, 2))
        radius = rng.uniform(1.3, 2.3, (count, 1))
        return y / np.hypot(y[:, :1], y[:, 1:]) * radius

    clean = flow(starts(25), 440, 3 / 440)[:, ::10].reshape(-1, 2)
    rows = cy.learn.Derivatives(clean + 0.1 * rng.normal(size=clean.shape), rate(clean))
    law = cy.learn.hamiltonian(1, hidden=hidden, dt=0.02, seed=seed, dtype="float32")
    score: Score = {}
    learned = timed_training(law, rows, score, steps=steps, weight_decay=1e-4, threads=1)
    begin = starts(15)
    run = np.asarray(cy.rollout(learned, begin, 1000, save=10).states, float)
    true = flow(begin, 1000, 0.02)[:, ::10]
    score["energy"] = float((((run**2).sum(-1) - (true**2).sum(-1)) ** 2).mean())
    energy = 3 * (1 - np.cos(run[..., 0])) + run[..., 1] ** 2
    score["true energy"] = float(((energy - energy[:, :1]) ** 2).mean())
    return score


def bodies_rate(x: np.ndarray, count: int) -> np.ndarray:
    """Of `count` bodies of mass 1 in the plane, state [q (2 n), p (2 n)], G = 1."""
    q, p = np.split(x, 2, axis=-1)
    r = q.reshape((*q.shape[:-1], count, 2))
    away = r[..., :, None, :] - r[..., None, :, :]
    d2 = (away**2).sum(-1) + np.eye(count)
    force = -(away / (d2**1.5)[..., None]).sum(axis=-2)
    return np.concatenate([p, force.reshape(q.shape)], axis=-1)


def bodies_energy(x: np.ndarray, count: int) -> np.ndarray:
    q, p = np.split(x, 2, axis=-1)
    r = q.reshape((*q.shape[:-1], count, 2))
    pairs = [(i, j) for i in range(count) for j in range(i)]
    potential = sum(1 / np.sqrt(((r[..., i, :] - r[..., j, :]) ** 2).sum(-1)) for i, j in pairs)
    return (p**2).sum(-1) / 2 - potential


def bodies_flow(x: np.ndarray, count: int, seconds: float, points: int, sub: int) -> np.ndarray:
    """RK4 with `sub` steps between points."""
    dt, out = seconds / (points - 1) / sub, [x]
    for k in range((points - 1) * sub):
        a = bodies_rate(x, count)
        b = bodies_rate(x + dt / 2 * a, count)
        c = bodies_rate(x + dt / 2 * b, count)
        x = x + dt / 6 * (a + 2 * b + 2 * c + bodies_rate(x + dt * c, count))
        if (k + 1) % sub == 0:
            out.append(x)
    return np.stack(out, axis=-2)


def orbits(rng: Any, runs: int) -> np.ndarray:
    """Two bodies around each other, circular velocities x (1 + 0.05 N)."""
    r = rng.uniform(0.5, 1.5, runs)
    angle = rng.uniform(0, 2 * np.pi, runs)
    q = r[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    v = np.stack([-q[:, 1], q[:, 0]], axis=1) / r[:, None] ** 1.5 / 2
    v = v * (1 + 0.05 * rng.normal(size=(runs, 1)))
    return np.concatenate([q, -q, v, -v], axis=1)


def two_bodies(
    seed: int = 0,
    steps: int = 10_000,
    runs: int = 1000,
    hidden: tuple[int, ...] = (200, 200),
    schedule: str = "cosine",
) -> Score:
    """Greydanus et al., with a cosine schedule."""
    rng = np.random.default_rng(seed)
    x = bodies_flow(orbits(rng, runs), 2, 20, 50, 20).reshape(-1, 8)
    keep, held = x[: len(x) // 2], x[len(x) // 2 :]
    law = cy.learn.hamiltonian(4, hidden=hidden, dt=0.05, seed=seed, dtype="float32")
    score: Score = {}
    learned = timed_training(
        law,
        cy.learn.Derivatives(keep, bodies_rate(keep, 2)),
        score,
        steps=steps,
        batch=200,
        schedule=schedule,
        seed=seed,
        threads=1,
    )
    seen = cy.observe(learned, held, names=["x_dot"]).values
    score["test"] = float(((seen - bodies_rate(held, 2)) ** 2).mean())
    run = cy.rollout(learned, orbits(rng, 15), 500)
    energy = bodies_energy(np.asarray(run.states, float), 2)
    score["energy"] = float(((energy - energy[:, :1]) ** 2).mean())
    return score


def triangles(rng: Any, runs: int) -> np.ndarray:
    """Three bodies at the corners of a triangle, circular velocities x (1 +- 0.2 U)."""
    r, angle = rng.uniform(0.9, 1.2, runs), rng.uniform(0, 2 * np.pi, runs)
    turns = angle[:, None] + 2 * np.pi / 3 * np.arange(3)
    q = r[:, None, None] * np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    v = np.stack([-q[..., 1], q[..., 0]], axis=-1) / r[:, None, None] ** 1.5
    v = v * np.sqrt(np.sin(np.pi / 3) / (2 * np.cos(np.pi / 6) ** 2))
    v = v * (1 + 0.2 * rng.uniform(-1, 1, v.shape))
    return np.concatenate([q.reshape((runs, 6)), v.reshape((runs, 6))], axis=1)


def three_bodies(seed: int = 0, steps: int = 10_000, runs: int = 5000) -> Score:
    """Greydanus et al.; here V(q) + T(p), and a cosine schedule without weight decay. Gradients are
    cut to length 1: near collisions a few rows have rates of hundreds, which the others would have
    to follow. energy: along 100 runs of 5 s, with steps of 0.01 s."""
    rng = np.random.default_rng(seed)
    x = bodies_flow(triangles(rng, runs), 3, 5, 20, 20).reshape(-1, 12)
    keep, held = x[: len(x) * 4 // 5], x[len(x) * 4 // 5 :]
    law = cy.learn.hamiltonian(
        6, hidden=(200, 200), separable=True, dt=0.01, seed=seed, dtype="float32"
    )
    score: Score = {}
    learned = timed_training(
        *(law, cy.learn.Derivatives(keep, bodies_rate(keep, 3)), score),
        steps=steps,
        batch=600,
        learning_rate=3e-3,
        schedule="cosine",
        clip=1.0,
        seed=seed,
        threads=1,
    )
    seen = cy.observe(learned, held, names=["x_dot"]).values
    score["test"] = float(((seen - bodies_rate(held, 3)) ** 2).mean())
    run = cy.rollout(learned, triangles(rng, 100), 500, save=5)
    energy = bodies_energy(np.asarray(run.states, float), 3)
    score["energy"] = float(((energy - energy[:, :1]) ** 2).mean())
    return score


def real_pendulum(seed: int = 0, split: float = 0.8, steps: int = 1500) -> Score:
    """Greydanus et al. on the measured pendulum of Schmidt and Lipson, first 80 % to train on; here
    with a port-Hamiltonian law that is trained through its own flow over windows that grow.

    test: (flow(x, dt) - x)/dt against the data's forward differences. energy: of 2.4 (1 - cos q) +
    p² along one free run from the first sample of the rest, against that of the data."""
    data = table("schmidt_lipson", "pendulum.csv")
    x = np.stack([data["theta"], data["omega"]], axis=1)
    dt = 1 / 6  # in the file's unit of time; ten samples are missing
    at = np.rint((data["t"] - data["t"][0]) / dt).astype(int)
    cut = int(split * len(x))
    law = cy.learn.hamiltonian(
        1,
        hidden=(32, 32),
        side_hidden=(16,),
        dissipation=True,
        angles=(0,),
        dt=dt,
        seed=seed,
    )
    score: Score = {}
    learned = timed_training(
        law,
        cy.Recording(dt * at[:cut], x[:cut]),
        score,
        steps=steps,
        horizon=10,
        grow_from=1,
        batch=64,
        learning_rate=5e-3,
        schedule="cosine",
        weight_decay=1e-4,
        seed=seed,
    )
    rest, at = x[cut:], at[cut:] - at[cut]
    ahead = cy.rollout(learned, rest[:-1], 1, save="last").states[:, 0]
    next_to = np.diff(at) == 1
    score["test"] = float((((ahead - rest[1:])[next_to] / dt) ** 2).mean())
    free = cy.rollout(learned, rest[0], int(at[-1])).states[at]
    energy, true = (2.4 * (1 - np.cos(y[:, 0])) + y[:, 1] ** 2 for y in (free, rest))
    score["energy"] = float(((energy - true) ** 2).mean())
    score["error"] = float(np.sqrt(((free - rest) ** 2).mean()))
    return score


def swing(seed: int = 0, steps: int = 300, law: str = "lagrangian") -> Score:
    """A pendulum without friction: largest energy error after 20 s, over the largest energy."""
    truth = cy.systems.pendulum(dt=0.02)
    rng = np.random.default_rng(seed)
    x = np.stack([rng.uniform(-np.pi, np.pi, 1500), rng.uniform(-5, 5, 1500)], axis=1)
    rates = np.stack([x[:, 1], -9.81 * np.sin(x[:, 0])], axis=1)
    make = getattr(cy.learn, law)
    learned = make(1, 0, hidden=(32, 32), angles=(0,), dt=0.02, seed=seed)
    score: Score = {}
    trained = timed_training(
        *(learned, cy.learn.Derivatives(x, rates), score),
        steps=steps,
        method="lbfgs",
    )
    starts = np.stack([rng.uniform(-2, 2, 10), rng.uniform(-1, 1, 10)], axis=1)
    run = cy.rollout(trained, starts, 1000)
    energy = cy.observe(truth, run.states, names=["energy"]).values[..., 0]
    score["energy %"] = float(100 * np.abs(energy - energy[:, :1]).max() / (2 * 9.81))
    return score


def double_pendulum(seed: int = 0, steps: int = 10_000, law: str = "deep_lagrangian") -> Score:
    """Cranmer et al.: m = l = 1, g = 9.8; energy %: mean of |E(100 s) - E(0)| / 29.4 over 40 runs.
    Here with accelerations at states drawn where such pendulums go, and L-BFGS."""
    truth = cy.systems.double_pendulum(gravity=9.8, dt=0.01)
    rng = np.random.default_rng(seed)
    x = np.concatenate(
        [rng.uniform(-np.pi, np.pi, (4000, 2)), rng.uniform(-7, 7, (4000, 2))], axis=1
    )
    small = truth.variant(dt=1e-6, integrator="rk4")
    rates = (cy.step(small, x) - x) / 1e-6
    make = getattr(cy.learn, law)
    learned = make(2, 0, hidden=(64, 64), angles=(0, 1), dt=0.01, seed=seed)
    score: Score = {}
    trained = timed_training(
        *(learned, cy.learn.Derivatives(x, rates), score),
        steps=steps,
        method="lbfgs",
    )
    angles = rng.uniform(-np.pi / 2, np.pi / 2, (40, 2))
    starts = np.concatenate([angles, np.zeros((40, 2))], axis=1)
    run = cy.rollout(trained, starts, 10_000, save=100)
    energy = cy.observe(truth, run.states, names=["energy"]).values[..., 0]
    score["energy %"] = float(100 * np.abs(energy[:, -1] - energy[:, 0]).mean() / 29.4)
    return score


def rods(x: np.ndarray, rates: np.ndarray | None = None) -> np.ndarray:
    """Of angles and their rates [θ (2), ω (2)]: places and velocities of both masses, y upwards;
    with their accelerations in rates[..., 2:], rates of those."""
    s, c, w = np.sin(x[..., :2]), np.cos(x[..., :2]), x[..., 2:]
    place = np.stack([s, -c], axis=-1).cumsum(axis=-2)
    speed = (w[..., None] * np.stack([c, s], axis=-1)).cumsum(axis=-2)
    first, second = place, speed
    if rates is not None:
        turning = rates[..., 2:, None] * np.stack([c, s], axis=-1)
        inwards = (w**2)[..., None] * np.stack([-s, c], axis=-1)
        first, second = speed, (turning + inwards).cumsum(axis=-2)
    both = [part.reshape((*x.shape[:-1], 4)) for part in (first, second)]
    return np.concatenate(both, axis=-1)


def cartesian_pendulum(seed: int = 0, steps: int = 600, rows: int = 400) -> Score:
    """After Finzi et al.: a double pendulum in Cartesian coordinates, its distances known, the
    potential and the second mass learned, from accelerations at a few hundred states. energy %: as
    in double_pendulum; violation: the largest, of 1 m, along those runs of 100 s."""
    truth = cy.systems.double_pendulum(gravity=9.8, dt=0.01)
    rng = np.random.default_rng(seed)
    x = np.concatenate(
        [rng.uniform(-np.pi, np.pi, (rows, 2)), rng.uniform(-7, 7, (rows, 2))], axis=1
    )
    rates = (cy.step(truth.variant(dt=1e-6, integrator="rk4"), x) - x) / 1e-6
    law = cy.learn.constrained(
        *([1.0, 1.5], [(2, 0, 1.0), (0, 1, 1.0)], [(0.0, 0.0)]),
        hidden=(32, 32),
        stabilisation=5.0,
        seed=seed,
    )
    score: Score = {}
    trained = timed_training(
        *(law, cy.learn.Derivatives(rods(x), rods(x, rates)), score),
        steps=steps,
        method="lbfgs",
        params=["potential", "masses"],
    )
    angles = rng.uniform(-np.pi / 2, np.pi / 2, (40, 2))
    starts = rods(np.concatenate([angles, np.zeros((40, 2))], axis=1))
    run = cy.rollout(trained, starts, 10_000, save=100)
    y, v = run.states[..., 1:4:2], run.states[..., 4:]
    energy = 9.8 * y.sum(axis=-1) + (v**2).sum(axis=-1) / 2
    score["energy %"] = float(100 * np.abs(energy[:, -1] - energy[:, 0]).mean() / 29.4)
    off = cy.observe(trained, run.states, names=["violation"]).values
    score["violation"] = float(np.abs(off).max())
    masses = np.asarray(trained.parameters["masses"])
    score["ratio of masses"] = float(masses[1] / masses[0])
    return score


def symoden(seed: int = 0, points: int = 3, steps: int = 1000) -> Score:
    """Zhong et al.: a driven pendulum, H = 5 (1 - cos q) + 1.5 p², through RK4 over chunks of 2 to
    6 points; here the angle enters by sine and cosine. error: mean square over 20 steps."""
    rng = np.random.default_rng(seed)
    dt = 0.05

    def rate(x: np.ndarray, u: float) -> np.ndarray:
        return np.stack([3 * x[..., 1], -5 * np.sin(x[..., 0]) + u], axis=-1)

    def flow(x: np.ndarray, u: float, count: int) -> np.ndarray:
        out, h = [x], dt / 10
        for k in range(10 * count):
            a = rate(x, u)
            b = rate(x + h / 2 * a, u)
            c = rate(x + h / 2 * b, u)
            x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c, u))
            if (k + 1) % 10 == 0:
                out.append(x)
        return np.stack(out, axis=-2)

    recordings, held = [], []
    for k in range(50):
        start = rng.uniform(-np.pi, 2 * np.pi, 2)
        for u in (-2.0, -1.0, 0.0, 1.0, 2.0):
            rows = flow(start, u, 20)
            made = cy.Recording(dt * np.arange(21), rows, np.full((21, 1), u))
            (recordings if k < 25 else held).append(made)
    law = cy.learn.hamiltonian(
        1, inputs=1, hidden=(64, 64), angles=(0,), dt=dt, seed=seed, input_matrix="network"
    )
    score: Score = {}
    learned = timed_training(
        law,
        recordings,
        score,
        steps=steps,
        horizon=points - 1,
        batch=512,
        learning_rate=5e-3,
        schedule="cosine",
        seed=seed,
    )
    x0 = np.stack([r.values[0] for r in held])
    u = np.stack([r.controls[:-1] for r in held])
    run = cy.rollout(learned, x0, u).states
    true = np.stack([r.values for r in held])
    angle = np.remainder(run[..., 0] - true[..., 0] + np.pi, 2 * np.pi) - np.pi
    miss = np.stack([angle, run[..., 1] - true[..., 1]], axis=-1) ** 2
    score["test"] = float(miss[:, :points].mean())
    score["long"] = float(miss.mean())
    return score


ARM = """<mujoco><worldbody><body name="l1"><joint name="j1" axis="0 1 0"/>
  <inertial pos="0 0 -0.25" mass="1" diaginertia="0.02 0.02 0.02"/>
  <body name="l2" pos="0 0 -0.5"><joint name="j2" axis="0 1 0"/>
  <inertial pos="0 0 -0.25" mass="0.7" diaginertia="0.015 0.015 0.015"/></body></body></worldbody>
  </mujoco>"""


def torques(law: Any, x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Inverse dynamics of a law whose inputs are forces: accelerations are affine in them."""
    n = a.shape[-1]
    forces = np.concatenate([np.zeros((1, n)), np.eye(n)])[:, None, :]
    seen = cy.observe(law, x, np.broadcast_to(forces, (n + 1, *a.shape)), names=["x_dot"]).values
    inverse = np.moveaxis(seen[1:, :, n:] - seen[0, :, n:], 0, -1)  # M^-1
    return np.linalg.solve(inverse, (a - seen[0, :, n:])[..., None])[..., 0]


def delan(seed: int = 0, steps: int = 6000) -> Score:
    """Lutter et al.: two joints that follow curves like handwriting, torques by inverse dynamics,
    a quarter of the curves held out, softplus. Here the loss is on accelerations, and L-BFGS
    minimises it."""
    rng = np.random.default_rng(seed)
    arm = cy.load(ARM)
    t = np.linspace(0, 2, 100)
    rows, accelerations = [], []
    for _ in range(20):
        x, a = np.tile(rng.uniform(-1, 1, (1, 4)) * [1, 1, 0, 0], (100, 1)), np.zeros((100, 2))
        for joint in range(2):
            for _ in range(4):
                size, w, phase = rng.uniform(0, 0.4), rng.uniform(1, 8), rng.uniform(0, 6.3)
                x[:, joint] += size * np.sin(w * t + phase)
                x[:, 2 + joint] += size * w * np.cos(w * t + phase)
                a[:, joint] -= size * w * w * np.sin(w * t + phase)
        rows.append(x), accelerations.append(a)
    x, a = np.concatenate(rows), np.concatenate(accelerations)
    tau = cy.inverse_dynamics(arm, x, a).tau
    law = cy.learn.deep_lagrangian(
        2, hidden=(64, 64), activation="softplus", angles=(0, 1), seed=seed
    )
    score: Score = {}
    data = cy.learn.Derivatives(x[:1500], np.concatenate([x[:, 2:], a], 1)[:1500], tau[:1500])
    learned = timed_training(law, data, score, steps=steps, method="lbfgs")
    begin = time.process_time()
    found = torques(learned, x[1500:], a[1500:])
    score["us per sample"] = 1e6 * (time.process_time() - begin) / 500
    score["torque"] = float(((found - tau[1500:]) ** 2).mean())
    score["torque variance"] = float(tau[1500:].var())
    return score


RECIPES: dict[str, Any] = {
    "delan": delan,
    "spring": spring,
    "pendulum": pendulum,
    "two_bodies": two_bodies,
    "three_bodies": three_bodies,
    "swing": swing,
    "double_pendulum": double_pendulum,
    "cartesian_pendulum": cartesian_pendulum,
    "symoden": symoden,
}
if (DATA / "schmidt_lipson").exists():
    RECIPES["real_pendulum"] = real_pendulum


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(RECIPES))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for name in given.names:
        scores = [RECIPES[name](seed) for seed in range(given.seeds)]
        mean = {key: float(np.mean([s[key] for s in scores])) for key in scores[0]}
        print(name, "  ".join(f"{key} {value:.3g}" for key, value in mean.items()), flush=True)


if __name__ == "__main__":
    main()
