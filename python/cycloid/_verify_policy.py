"""A policy run again in other worlds: what it costs there, and what zero inputs do."""

from __future__ import annotations

from typing import Any

import numpy as np

from cycloid import _core
from cycloid._advance import advance
from cycloid._rollout import rollout
from cycloid._system import System
from cycloid._train_policy import Policy

_STEPS, _STARTS = 250, 8
_SEED_OF_STARTS = 2**32


class PolicyJudge:
    """Costs of a policy: minus the mean over starts of its rewards up to an episode's end."""

    def __init__(
        self, policy: Policy, steps: int | None, starts: int | None, seed: int, threads: int | None
    ) -> None:
        self.policy, self.task, self.threads = policy, policy.task, threads
        length = policy._training.options.episode or _STEPS
        self.steps = min(length, _STEPS) if steps is None else steps
        rng = np.random.default_rng(_SEED_OF_STARTS + seed)
        self.x0 = self.task.starts(rng, _STARTS if starts is None else starts)
        low, high = policy._training.bounds.T
        self.width = np.where(np.isfinite(high - low), high - low, 1.0)  # as System::input_width

    def __call__(
        self, core: Any, substeps: int, delay: int, noise: float, seed: int
    ) -> tuple[float, float]:
        """In a world, with zero inputs and with the policy."""
        world = self.task.physics._like(core)
        rng = np.random.default_rng(seed)
        shape = (self.steps, len(self.x0), world.input_size)
        added = noise * self.width * rng.normal(size=shape) if noise > 0 else np.zeros(shape)
        return tuple(self._cost(world, substeps, delay, added, acts) for acts in (False, True))

    def run(self, world: System, substeps: int, delay: int, added: Any, acts: bool) -> Any:
        """States (E, T+1, n) and inputs as they came (E, T, m); and after how many steps each
        environment failed, T where it did not."""
        x, states, inputs, sent = self.x0, [self.x0], [], []
        failed = np.full(len(x), self.steps)
        count = substeps * self.task.held
        for t in range(self.steps):
            sent.append(self.policy(x, world) if acts else np.zeros_like(added[t]))
            late = sent[t - delay] if t >= delay else np.zeros_like(added[t])
            inputs.append(late + added[t])
            when = t * count * world.timestep
            out = advance(world, x, inputs[-1], count, t0=when, threads=self.threads)
            now = [f.environment for f in out.report.failed]
            failed[now] = np.minimum(failed[now], t)
            x = np.where((failed <= t)[:, None], x, out.states)
            states.append(x)
        rows = (np.stack(a, axis=1) for a in (states, inputs))
        return (*rows, failed)

    def _cost(self, world: System, substeps: int, delay: int, added: Any, acts: bool) -> float:
        states, u, failed = self.run(world, substeps, delay, added, acts)
        r, _ = self.task.reward(world, states, u, None)
        alive = self._alive(world, states)
        if (failed < alive.sum(axis=1)).any():  # what fails after an episode's end is not of it
            return float("inf")
        return -float((r * alive).sum(axis=1).mean())

    def _alive(self, world: System, states: Any) -> np.ndarray:
        """Steps up to an episode's end (E, T)."""
        ended = self.task.ended(world, states[:, 1:])
        before = np.concatenate([np.zeros((len(states), 1), bool), ended[:, :-1]], axis=1)
        return ~np.maximum.accumulate(before, axis=1)

    def example(self) -> tuple[np.ndarray, np.ndarray]:
        """Every time step of the first start's episode: states and inputs."""
        world = self.task.physics._like(self.task.physics._core.in_double())
        added = np.zeros((self.steps, len(self.x0), world.input_size))
        states, u, _ = self.run(world, 1, 0, added, True)
        length = int(self._alive(world, states)[0].sum())
        controls = np.repeat(u[0, :length], self.task.held, axis=0)
        return np.asarray(rollout(world, self.x0[0], controls).states), controls


def verify_policy(
    policy: Policy, steps: int | None, starts: int | None, options: dict[str, Any]
) -> Any:
    """What `_core` found about a policy."""
    judge = PolicyJudge(policy, steps, starts, options["seed"], options["threads"] or None)
    states, controls = (np.ascontiguousarray(a).ravel() for a in judge.example())
    physics = policy.task.physics._core
    return _core.verify_judged(physics, judge, states, controls, **options)
