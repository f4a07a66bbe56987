"""Proximal policy optimisation of the ant, in plain PyTorch: environments per second and the return
over wall time, on a card with everything there, or on this machine's processors.

usage: ppo_ant.py [--device cuda|cpu|host] [--envs N] [--seconds S] [--goal RETURN] [--model XML]

The ant is Gymnasium's, with its reward and ends but for the price of contact forces, and without
these in what is seen: r = v_x + 1 - 0.5 |u|², while 0.2 <= z <= 1. Returns are means over the
episodes that ended during an iteration. --device host: the card's kernels on this machine, to try
the script where there is no card.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

import cycloid as cy
import cycloid.gym

HORIZON, EPOCHS, PARTS = 16, 4, 4  # steps of an iteration, passes over them, parts of a pass
GAMMA, LAMBDA, CLIP, RATE = 0.99, 0.95, 0.2, 3e-4


def ant_model() -> str:
    import gymnasium

    return str(Path(gymnasium.__file__).parent / "envs/mujoco/assets/ant.xml")


def make_env(model: str, device: str, n: int):
    system = cy.load(model, dtype="float32", device=device)
    start = torch.from_numpy(system.initial_state())
    xp = np if device == "cpu" else torch

    def healthy(at):
        z = at["qpos"][:, 2]
        return (z >= 0.2) & (z <= 1.0)

    def reward(before, actions, after):
        velocity = (after["qpos"][:, 0] - before["qpos"][:, 0]) / (5 * system.timestep)
        return velocity + 1.0 * healthy(after) - 0.5 * (actions**2).sum(1)

    def reset(generator, count):
        place = start.to(generator.device) if device != "cpu" else start.numpy()
        if device == "cpu":
            shift = generator.uniform(-0.1, 0.1, (count, len(start))).astype(np.float32)
            shift[:, 15:] = 0.1 * generator.standard_normal((count, 14))
        else:
            shape = (count, len(start))
            shift = torch.rand(shape, generator=generator, device=generator.device) * 0.2 - 0.1
            shift[:, 15:] = 0.1 * torch.randn(
                (count, 14), generator=generator, device=generator.device
            )
        return place + shift

    keywords = {} if device == "cpu" else {"device": device}
    return cycloid.gym.VectorEnv(
        system, n, frame_skip=5, max_episode_steps=1000, autoreset_mode="SameStep",
        observation=lambda at: xp.concatenate((at["qpos"][:, 2:], at["qvel"]), 1),
        reward=reward, terminated=lambda at: ~healthy(at), reset=reset, **keywords,
    )  # fmt: skip


class Tensors:
    """An environment of NumPy's arrays, as one of tensors."""

    def __init__(self, env):
        self.env, self.device = env, torch.device("cpu")

    def reset(self, seed):
        return torch.from_numpy(self.env.reset(seed=seed)[0]), {}

    def step(self, actions):
        seen, rewards, ended, cut, infos = self.env.step(actions.numpy())
        final = seen.copy()
        for i in np.flatnonzero(ended | cut):
            final[i] = infos["final_obs"][i]
        parts = (torch.from_numpy(np.asarray(p)) for p in (seen, rewards, ended, cut))
        return (*parts, {"final_obs": torch.from_numpy(final)})


class Policy(nn.Module):
    def __init__(self, seen: int, inputs: int) -> None:
        super().__init__()

        def layers(out: int) -> nn.Sequential:
            return nn.Sequential(
                nn.Linear(seen, 256), nn.ELU(), nn.Linear(256, 128), nn.ELU(), nn.Linear(128, out)
            )

        self.mean, self.value = layers(inputs), layers(1)
        with torch.no_grad():
            self.mean[-1].weight *= 0.1
        self.log_std = nn.Parameter(torch.full((inputs,), -0.7))
        self.register_buffer("place", torch.zeros(seen))
        self.register_buffer("spread", torch.ones(seen))
        self.register_buffer("count", torch.tensor(1e-4))

    def see(self, seen: torch.Tensor) -> None:
        """Takes note of how observations are spread."""
        n, mean, var = float(len(seen)), seen.mean(0), seen.var(0, unbiased=False)
        total = self.count + n
        off = mean - self.place
        self.spread.mul_(self.count / total).add_(n / total * (var + off**2 * self.count / total))
        self.place.add_(off * n / total)
        self.count.copy_(total)

    def scaled(self, seen: torch.Tensor) -> torch.Tensor:
        return ((seen - self.place) / (self.spread + 1e-6).sqrt()).clamp(-10, 10)

    def act(self, seen: torch.Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.mean(self.scaled(seen)), self.log_std.exp())

    def worth(self, seen: torch.Tensor) -> torch.Tensor:
        return self.value(self.scaled(seen))[:, 0]


class Episodes:
    """Returns of episodes that have ended, summed where the rewards lie."""

    def __init__(self, n: int, device: torch.device) -> None:
        self.running = torch.zeros(n, device=device)
        self.sum, self.count = torch.zeros((), device=device), torch.zeros((), device=device)

    def add(self, rewards: torch.Tensor, done: torch.Tensor) -> None:
        self.running += rewards
        self.sum += (self.running * done).sum()
        self.count += done.sum()
        self.running.masked_fill_(done, 0)

    def take(self) -> float:
        mean = float(self.sum / self.count) if float(self.count) > 0 else float("nan")
        self.sum.zero_(), self.count.zero_()
        return mean


@torch.no_grad()
def collect(env, policy: Policy, seen: torch.Tensor, episodes: Episodes):
    """An iteration's steps: what was seen and done, advantages and returns."""
    rows = []
    policy.see(seen)
    for _ in range(HORIZON):
        actions = policy.act(seen)
        chosen = actions.sample()
        after, rewards, ended, cut, infos = env.step(chosen.clamp(-1, 1))
        rewards, done = rewards.float(), ended | cut
        episodes.add(rewards, done)
        # Where an episode was cut, its last state goes on in the value.
        rewards = rewards + GAMMA * policy.worth(infos["final_obs"]) * (cut & ~ended)
        rows.append((seen, chosen, actions.log_prob(chosen).sum(-1), policy.worth(seen), rewards,
                     done.float()))  # fmt: skip
        seen = after
    parts = [torch.stack(p) for p in zip(*rows)]
    values, rewards, done = parts[3:]
    following = torch.cat((values[1:], policy.worth(seen)[None]))
    gains, gain = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for k in reversed(range(HORIZON)):
        error = rewards[k] + GAMMA * following[k] * (1 - done[k]) - values[k]
        gain = error + GAMMA * LAMBDA * (1 - done[k]) * gain
        gains[k] = gain
    flat = [p.flatten(0, 1) for p in (*parts[:3], gains, gains + values)]
    return flat, seen


def improve(policy: Policy, optimiser, data) -> None:
    seen, actions, log_old, gains, returns = data
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(seen), device=seen.device).chunk(PARTS):
            made = policy.act(seen[rows])
            ratio = (made.log_prob(actions[rows]).sum(-1) - log_old[rows]).exp()
            gain = gains[rows]
            surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            error = (policy.worth(seen[rows]) - returns[rows]).pow(2).mean()
            loss = -surrogate + 0.5 * error
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()


def asked_for(devices: tuple[str, ...], envs: int) -> argparse.Namespace:
    """What the command line asks for; torch has its seed then."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=devices)
    parser.add_argument("--envs", type=int, default=envs)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--goal", type=float, default=3000)
    parser.add_argument("--model", default=None)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    return asked


def main() -> None:
    asked = asked_for(("cuda", "cpu", "host"), 4096)
    env = make_env(asked.model or ant_model(), asked.device, asked.envs)
    if asked.device == "cpu":
        env = Tensors(env)
    seen, _ = env.reset(seed=asked.seed)
    policy = Policy(seen.shape[1], 8).to(env.device)
    optimiser = torch.optim.Adam(policy.parameters(), lr=RATE)
    episodes = Episodes(asked.envs, env.device)
    begun, physics, steps, iteration, mean = time.perf_counter(), 0.0, 0, 0, float("nan")
    while time.perf_counter() - begun < asked.seconds and not mean >= asked.goal:
        before = time.perf_counter()
        data, seen = collect(env, policy, seen, episodes)
        physics += time.perf_counter() - before
        improve(policy, optimiser, data)
        steps, iteration = steps + HORIZON * asked.envs, iteration + 1
        if iteration % 20 == 0:
            mean, took = episodes.take(), time.perf_counter() - begun
            print(f"{took:7.1f} s, {steps / 1e6:8.2f} million actions, {steps / took:9.0f} per "
                  f"second ({steps / physics:.0f} without learning), return {mean:.0f}",
                  flush=True)  # fmt: skip
    took = time.perf_counter() - begun
    print(f"ppo on {asked.device}, {asked.envs} environments: {5 * steps / took:.0f} time steps "
          f"({steps / took:.0f} actions) per second, {took:.1f} s, last return {mean:.0f}",
          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
