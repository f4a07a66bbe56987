"""A policy of the ant by gradients through the physics over short horizons (after Xu et al. 2022,
"Accelerated policy learning with parallel differentiable simulation"), in plain PyTorch: actions
per second and the return over wall time, on a card with everything there, or on this machine.

usage: short_horizon_ant.py [--device cuda|cpu] [--envs N] [--seconds S] [--goal RETURN]

The task is that of ppo_ant.py. An iteration rolls each environment HORIZON actions on, of 5 time
steps each, and ascends Σ γᵏ r + γᴴ V, V the critic's mean; an environment that ends begins anew,
without V where it fell.
"""

from __future__ import annotations

import time

import ppo_ant
import torch
from torch import nn

import cycloid as cy
import cycloid.torch as cyt

HORIZON, SKIP, CRITIC_PASSES, PARTS = 16, 5, 8, 4
GAMMA, LAMBDA, RATE, CRITIC_RATE = 0.99, 0.95, 1e-3, 1e-3


class Ants:
    """Environments whose steps are differentiable."""

    def __init__(self, model: str, device: str, n: int) -> None:
        self.system = cy.load(model, dtype="float32", device=device)
        self.place = torch.device("cuda:0" if device == "cuda" else "cpu")
        self.init = torch.from_numpy(self.system.initial_state()).to(self.place)
        self.n, self.x = n, self.starts(n)
        self.count = torch.zeros(n, device=self.place)

    def starts(self, n: int) -> torch.Tensor:
        shift = 0.2 * torch.rand((n, len(self.init)), device=self.place) - 0.1
        shift[:, 15:] = 0.1 * torch.randn((n, 14), device=self.place)
        return self.init + shift

    def step(self, x: torch.Tensor, u: torch.Tensor):
        held = u[:, None].expand(self.n, SKIP, u.shape[1])
        after = cyt.rollout(self.system, x, held, save="last", failed="skip")[:, 0]
        z = after[:, 2]
        healthy = (z >= 0.2) & (z <= 1.0)
        velocity = (after[:, 0] - x[:, 0]) / (SKIP * self.system.timestep)
        return after, velocity + 1.0 * healthy - 0.5 * (u**2).sum(1), ~healthy


def seen_of(x: torch.Tensor) -> torch.Tensor:
    return x[:, 2:]


def roll(ants: Ants, policy: ppo_ant.Policy, episodes: ppo_ant.Episodes):
    """The loss of an iteration, and what the critic learns from: observations and targets."""
    x, rows = ants.x.detach(), []
    gain, discount = torch.zeros(ants.n, device=ants.place), torch.ones(ants.n, device=ants.place)
    loss = torch.zeros((), device=ants.place)
    policy.see(seen_of(x))
    for k in range(HORIZON):
        seen = seen_of(x)
        u = torch.tanh(policy.act(seen).rsample())
        after, rewards, fell = ants.step(x, u)
        ants.count += 1
        cut = (ants.count >= 1000) & ~fell
        done, last = fell | cut, k == HORIZON - 1
        gain = gain + discount * rewards
        discount = discount * GAMMA
        value = policy.worth(seen_of(after))
        ends = done if not last else torch.ones_like(done)
        loss = loss - (ends * (gain + discount * value * ~fell)).sum()
        episodes.add(rewards.detach(), done)
        rows.append((seen.detach(), rewards.detach(), value.detach() * ~fell, done.float()))
        begun = ants.starts(ants.n)
        x = torch.where(done[:, None], begun, after)
        gain, discount = gain * ~done, torch.where(done, torch.ones_like(discount), discount)
        ants.count.masked_fill_(done, 0)
    ants.x = x.detach()
    seen, rewards, following, done = (torch.stack(p) for p in zip(*rows))
    targets, target = torch.zeros_like(rewards), following[-1]
    for k in reversed(range(HORIZON)):
        mixed = (1 - LAMBDA) * following[k] + LAMBDA * target
        target = rewards[k] + GAMMA * torch.where(done[k] > 0, following[k], mixed)
        targets[k] = target
    return loss / (ants.n * HORIZON), seen.flatten(0, 1), targets.flatten()


def main() -> None:
    asked = ppo_ant.asked_for(("cuda", "cpu"), 1024)
    ants = Ants(asked.model or ppo_ant.ant_model(), asked.device, asked.envs)
    policy = ppo_ant.Policy(len(ants.init) - 2, 8).to(ants.place)
    actor = torch.optim.Adam([*policy.mean.parameters(), policy.log_std], RATE, (0.7, 0.95))
    critic = torch.optim.Adam(policy.value.parameters(), CRITIC_RATE, (0.7, 0.95))
    episodes = ppo_ant.Episodes(asked.envs, ants.place)
    begun, actions, iteration, mean = time.perf_counter(), 0, 0, float("nan")
    while time.perf_counter() - begun < asked.seconds and not mean >= asked.goal:
        loss, seen, targets = roll(ants, policy, episodes)
        actor.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_([*policy.mean.parameters(), policy.log_std], 1.0)
        if bool(torch.isfinite(norm)):
            actor.step()
        for _ in range(CRITIC_PASSES):
            for rows in torch.randperm(len(seen), device=seen.device).chunk(PARTS):
                critic.zero_grad()
                (policy.worth(seen[rows]) - targets[rows]).pow(2).mean().backward()
                critic.step()
        actions, iteration = actions + HORIZON * asked.envs, iteration + 1
        if iteration % 20 == 0:
            mean, took = episodes.take(), time.perf_counter() - begun
            print(f"{took:7.1f} s, {actions / 1e6:7.2f} million actions, {actions / took:8.0f} per "
                  f"second, return {mean:.0f}", flush=True)  # fmt: skip
    took = time.perf_counter() - begun
    print(f"short horizons on {asked.device}, {asked.envs} environments: "
          f"{SKIP * actions / took:.0f} time steps ({actions / took:.0f} actions) per second with "
          f"gradients, {took:.1f} s, last return {mean:.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
