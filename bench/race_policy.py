"""Half-cheetahs learn to run: `train_policy`, through the physics, against PPO.

    python bench/race_policy.py [--seeds 0 1 2] [--ppo-steps 500000] [--steps 500000] [--out F.json]
    python bench/race_policy.py --picture F.json docs/pictures/race_policy.svg

PPO is that of Stable-Baselines3 on Gymnasium's HalfCheetah-v5 (`cycloid.gym`, so that both run on
the same physics): an action for five steps of 0.01 s, observations and rewards normalised, 32
environments. `train_policy` has an input for each step of 0.01 s, 64 environments, windows of 32
steps. A step is 0.01 s of one cheetah for both. Returns are those of Gymnasium's episodes, 50 s:
the sum over its thousand steps of mean velocity less a tenth of the inputs' squares. Of a training
by `train_policy` the mean reward of a window is shown, noise included, times a thousand; where it
ends, twenty episodes without noise are run. Times are of a wall clock, and CPU time beside it.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

import cycloid as cy

PER_ACTION, EPISODE = 5, 1000  # of HalfCheetah-v5


def learn_by_ppo(seed, steps):
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

    import cycloid.gym

    torch.set_num_threads(1)  # the networks are small
    begun, cpu = time.perf_counter(), time.process_time()
    curve = []

    class Returns(BaseCallback):
        def _on_rollout_end(self):
            ended = [e["r"] for e in self.model.ep_info_buffer or ()]
            if ended:
                point = (PER_ACTION * self.num_timesteps, float(np.mean(ended[-32:])))
                curve.append((*point, time.perf_counter() - begun, time.process_time() - cpu))

        def _on_step(self):
            return True

    runners = cycloid.gym.make("HalfCheetah", 32, dtype="float32", autoreset_mode="SameStep")
    env = VecNormalize(VecMonitor(cycloid.gym.StableBaselines(runners)), gamma=0.99)
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=512, n_epochs=10, learning_rate=3e-4,
                seed=seed, device="cpu")  # fmt: skip
    model.learn(steps, callback=Returns())
    return curve


def run_fast(x, u):
    """Forward velocity less a tenth of the inputs' squares."""
    along = np.zeros_like(x)
    along[..., 9] = 1
    return x[..., 9] - 0.1 * (u**2).sum(-1), along, -0.2 * u


def starts_of(robot):
    first = np.array(robot.initial_state(), float)

    def starts(rng, n):  # as Gymnasium draws them
        x = np.tile(first, (n, 1))
        x[:, :9] += rng.uniform(-0.1, 0.1, (n, 9))
        x[:, 9:] += 0.1 * rng.normal(size=(n, 9))
        return x

    return starts


def learn_through_physics(seed, steps):
    import gymnasium

    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    robot = cy.load(assets / "half_cheetah.xml", dtype="float32")
    starts = starts_of(robot)
    cpu = time.process_time()
    net = cy.networks.MLP((17, 64, 64, 6), seed=seed)
    policy = cy.learn.train_policy(
        *(robot, net, run_fast, starts),
        observe=["qpos[1:]", "qvel"],
        steps=steps,
        horizon=32,
        episode=400,
        clip="tanh",
        noise=0.1,
        environments=64,
        seed=seed,
    )
    cpu = time.process_time() - cpu
    h = policy.history
    seconds = h["seconds"]
    curve = [
        (int(n), EPISODE * float(r), float(s), cpu * float(s) / float(seconds[-1]))
        for n, r, s in zip(h["steps"], h["return"], seconds)
    ]
    return curve, returns_of(policy, robot, starts), policy


def returns_of(policy, robot, starts, episodes=20):
    """Of whole episodes, an input for each step; and of others with half the time step."""
    x, out = starts(np.random.default_rng(99), episodes), {}
    loops = {"as trained": policy.system, "half the step": policy.system.variant(dt=0.005)}
    for name, loop in loops.items():
        steps = round(EPISODE * PER_ACTION * 0.01 / loop.timestep)
        run = cy.rollout(loop, x, steps).states.astype(float)
        y = policy.network(np.delete(run[:, :-1], 0, axis=-1), policy.weights)
        effort = (np.tanh(y) ** 2).sum(-1).mean(1)
        gone = (run[:, -1, 0] - run[:, 0, 0]) / (EPISODE * PER_ACTION * 0.01)
        out[name] = (EPISODE * (gone - 0.1 * effort)).tolist()
    return out


def steps_to(curve, height, width=5):
    """Where the running mean of a curve first reaches a height: (steps, seconds); None: never."""
    values = np.array([c[1] for c in curve])
    smooth = np.convolve(values, np.ones(width) / width, "valid")
    over = np.flatnonzero(smooth >= height)
    return None if not len(over) else (curve[over[0] + width - 1][0], curve[over[0] + width - 1][2])


def tell(result):
    aim = float(np.mean([np.mean([c[1] for c in r["curve"][-5:]]) for r in result["ppo"]]))
    print(f"PPO ends at a return of {aim:.0f}, mean of {len(result['ppo'])} seeds")
    for r in result["ppo"]:
        n, _, wall, cpu = r["curve"][-1]
        mean = np.mean([c[1] for c in r["curve"][-5:]])
        print(f"  seed {r['seed']}: {mean:.0f} after {n:,d} steps, {wall:.0f} s ({cpu:.0f} s CPU)")
    print("train_policy")
    for r in result["ours"]:
        n, _, wall, cpu = r["curve"][-1]
        means = {name: np.mean(value) for name, value in r["returns"].items()}
        there = steps_to(r["curve"], aim)
        when = "never there" if there is None else f"there after {there[0]:,d}, {there[1]:.1f} s"
        print(
            f"  seed {r['seed']}: {when}; at the end {means['as trained']:.0f} (half the step: "
            f"{means['half the step']:.0f}) after {n:,d} steps, {wall:.0f} s ({cpu:.0f} s CPU)"
        )


def draw(result, path):
    """Curves of return against steps, as SVG."""
    width, height, left, bottom = 640, 360, 60, 40
    curves = [("PPO", "#8a8a8a", r["curve"]) for r in result["ppo"]]
    curves += [("train_policy", "#c0392b", r["curve"]) for r in result["ours"]]
    most = max(c[1] for _, _, curve in curves for c in curve)
    furthest = max(curve[-1][0] for _, _, curve in curves)
    at = lambda n, r: (
        left + (width - left - 15) * n / furthest,
        height - bottom - (height - bottom - 15) * max(r, 0) / most,
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for share in np.linspace(0, 1, 5):
        x, y = at(share * furthest, share * most)
        lines += [
            f'<line x1="{left}" x2="{width - 15}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share * most:.0f}</text>',
            f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">'
            f"{share * furthest / 1e6:.2f}</text>",
        ]
    for name, colour, curve in curves:
        smooth = np.convolve([c[1] for c in curve], np.ones(5) / 5, "valid")
        points = (at(c[0], r) for c, r in zip(curve[4:], smooth))
        path_of = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(f'<polyline points="{path_of}" fill="none" stroke="{colour}"/>')
    for k, (name, colour) in enumerate((("PPO", "#8a8a8a"), ("train_policy", "#c0392b"))):
        lines.append(f'<text x="{width - 130}" y="{200 + 18 * k}" fill="{colour}">{name}</text>')
    below = f'x="{(left + width) / 2}" y="{height - 6}" text-anchor="middle"'
    lines.append(f"<text {below}>millions of steps</text>")
    lines.append('<text x="12" y="12">return of an episode</text></svg>')
    Path(path).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--ppo-steps", type=int, default=500_000, help="actions; 0: leave it out")
    parser.add_argument("--steps", type=int, default=500_000, help="0: leave it out")
    parser.add_argument("--out", help="writes what was measured, as JSON")
    parser.add_argument("--picture", nargs=2, metavar=("JSON", "SVG"))
    words = parser.parse_args()
    if words.picture:
        result = json.loads(Path(words.picture[0]).read_text())
        tell(result)
        return draw(result, words.picture[1])
    warnings.simplefilter("ignore")
    result = {"ppo": [], "ours": []}
    for seed in words.seeds:
        if words.steps:
            curve, returns, _ = learn_through_physics(seed, words.steps)
            result["ours"].append({"seed": seed, "curve": curve, "returns": returns})
        if words.ppo_steps:
            curve = learn_by_ppo(seed, words.ppo_steps)
            result["ppo"].append({"seed": seed, "curve": curve})
        if words.out:
            Path(words.out).write_text(json.dumps(result))
    if result["ppo"] and result["ours"]:
        tell(result)


if __name__ == "__main__":
    main()
