"""Half-cheetahs learn to run: `train_policy`, through the physics, against PPO.

    python bench/race_policy.py [--seeds 11 12 13] [--ppo-steps 500000] [--steps 100000] [--out F]
    python bench/race_policy.py --picture F docs/pictures/race_policy.svg

Both learn Gymnasium's HalfCheetah-v5 (`cycloid.gym`): a step is an action, held for five time steps
of 0.01 s. PPO is that of Stable-Baselines3, observations and rewards normalised, 32 environments.
`train_policy` has 32 environments too, and windows of 8 steps; its numbers were chosen with the
seeds 0, 1 and 2. Returns are those of whole episodes, a thousand steps. Of PPO, those on the way
are of its own episodes, with noise; of `train_policy`, training stops ten times and sixteen
episodes are run without noise, which count neither as steps nor as time; in the end both are judged
so. What is to be reached is the better of PPO's two figures, the mean over seeds. Times are of a
wall clock, and CPU time beside it.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import cycloid as cy

EPISODE, JUDGED, FIRST_SEED = 1000, 16, 5000  # steps; episodes, and the seed of their starts
STOPS = 10


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
                point = (self.num_timesteps, float(np.mean(ended[-32:])))
                curve.append((*point, time.perf_counter() - begun, time.process_time() - cpu))

        def _on_step(self):
            return True

    runners = cycloid.gym.make("HalfCheetah", 32, dtype="float32", autoreset_mode="SameStep")
    env = VecNormalize(VecMonitor(cycloid.gym.StableBaselines(runners)), gamma=0.99)
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=512, n_epochs=10, learning_rate=3e-4,
                seed=seed, device="cpu")  # fmt: skip
    model.learn(steps, callback=Returns())
    act = lambda states, seen: model.predict(env.normalize_obs(seen), deterministic=True)[0]
    return curve, returns_of(act)


def learn_through_physics(seed, steps):
    """Curve, returns in the end, and the policy."""
    import cycloid.gym

    env = cycloid.gym.make("HalfCheetah", 1, dtype="float32")
    net = cy.networks.MLP((17, 64, 64, 6), seed=seed)
    size, curve, file = 32 * 8, [], None
    stops = np.linspace(0, steps // size, STOPS + 1).astype(int)[1:]
    wall = cpu = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for stop in stops:
            begun, begun_cpu = time.perf_counter(), time.process_time()
            policy = cy.learn.train_policy(
                *(env, net),
                steps=steps,
                horizon=8,
                environments=32,
                episode=400,
                discount=0.97,
                learning_rate=1e-3,
                clip="tanh",
                noise=0.1,
                seed=seed,
                resume=file,
                callback=lambda window, cost: window < stop,
            )
            wall, cpu = wall + time.perf_counter() - begun, cpu + time.process_time() - begun_cpu
            file = Path(folder, "policy.cyl")
            policy.save(file)
            returns = returns_of(lambda states, seen: policy(states))
            curve.append((policy.steps, float(np.mean(returns)), wall, cpu))
    return curve, returns, policy


def returns_of(act):
    """Of whole episodes, inputs given by act(states, observations)."""
    import cycloid.gym

    env = cycloid.gym.make("HalfCheetah", JUDGED, dtype="float32")
    seen, _ = env.reset(seed=FIRST_SEED)
    total = np.zeros(JUDGED)
    for _ in range(EPISODE):
        seen, r, *_ = env.step(act(env.states, seen))
        total += r
    return total.tolist()


def steps_to(curve, height):
    """Where a curve first reaches a height: (steps, seconds); None: never."""
    over = [c for c in curve if c[1] >= height]
    return (over[0][0], over[0][2]) if over else None


def tell(result):
    own = np.mean([np.mean([c[1] for c in r["curve"][-5:]]) for r in result["ppo"]])
    quiet = np.mean([np.mean(r["returns"]) for r in result["ppo"]])
    aim = float(max(own, quiet))
    seeds = len(result["ppo"])
    print(f"PPO ends at a return of {own:.0f}, without noise {quiet:.0f}, mean of {seeds} seeds")
    for r in result["ppo"]:
        n, _, wall, cpu = r["curve"][-1]
        mean = np.mean(r["returns"])
        print(f"  seed {r['seed']}: {mean:.0f} after {n:,d} steps, {wall:.0f} s ({cpu:.0f} s CPU)")
    print("train_policy")
    for r in result["ours"]:
        n, _, wall, cpu = r["curve"][-1]
        there = steps_to(r["curve"], aim)
        when = "never there" if there is None else f"there after {there[0]:,d}, {there[1]:.1f} s"
        print(
            f"  seed {r['seed']}: {when}; at the end {np.mean(r['returns']):.0f} after {n:,d} "
            f"steps, {wall:.0f} s ({cpu:.0f} s CPU); {r['verdict']}"
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
        points = (at(c[0], c[1]) for c in curve)
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
    parser.add_argument("--seeds", type=int, nargs="*", default=[11, 12, 13])
    parser.add_argument("--ppo-steps", type=int, default=500_000, help="0: leave it out")
    parser.add_argument("--steps", type=int, default=100_000, help="0: leave it out")
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
            curve, returns, policy = learn_through_physics(seed, words.steps)
            trust = cy.verify(policy)
            result["ours"].append(
                {"seed": seed, "curve": curve, "returns": returns, "verdict": trust.verdict}
                | {"by_test": trust.by_test}
            )
        if words.ppo_steps:
            curve, returns = learn_by_ppo(seed, words.ppo_steps)
            result["ppo"].append({"seed": seed, "curve": curve, "returns": returns})
        if words.out:
            Path(words.out).write_text(json.dumps(result))
    if result["ppo"] and result["ours"]:
        tell(result)


if __name__ == "__main__":
    main()
