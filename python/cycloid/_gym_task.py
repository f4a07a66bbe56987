"""Environments of `cycloid.gym` as tasks of a policy that is trained through the physics.

A step is an action, held for `frame_skip` time steps. Starts, rewards and ends are those of the
environments. Of Gymnasium's tasks the slopes of rewards are written here, by the same equations as
the rewards in _gymnasium_v5.py:
  r = w (p_x(x⁺) - p_x(x)) / dt - c |u|² + healthy(x⁺)        of runners, p_x their place        (1)
  r = 10 alive(x⁺) - 0.01 s_x² - (s_z - 2)² - v(x⁺)           of the double pendulum's tip s     (2)
  r = alive(x⁺)                                               of the pendulum                    (3)
healthy and alive are steps, whose slope is zero. What is observed and measured belongs to the state
itself, and not to the evaluation before it; contact forces are neither seen nor paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid import _gymnasium_v5 as v5
from cycloid._core import Error
from cycloid._observe import observe as observe_states
from cycloid._policy_task import Back, PolicyTask, held_system
from cycloid._snapshot import Snapshot
from cycloid._system import System
from cycloid._train import with_parameters
from cycloid._vector_env import VectorEnv


class EnvTask(PolicyTask):
    """A task of environments that somebody made: their physics, starts and ends, with a reward
    that has slopes."""

    def __init__(
        self, env: VectorEnv, reward: Any, x0: Any, done: Any, observe: Sequence[str] | None
    ) -> None:
        physics, params = env.system, env._physics._params
        if params is not None:
            if params.ndim > 1:
                raise Error("train_policy: give one row of params, or randomise; not one for each")
            physics = with_parameters(physics, params)
        super().__init__(physics, reward, x0, done, observe)
        self.env, self.held, self.episode = env, env.frame_skip, env.max_episode_steps
        self.system = held_system(physics, self.held)

    def starts(self, rng: np.random.Generator, n: int) -> np.ndarray:
        if self._x0 is not None:
            return super().starts(rng, n)
        return self.env._as_states(self._own_starts(rng, n), n, "reset").astype(np.float64)

    def _own_starts(self, rng: np.random.Generator, n: int) -> Any:
        return self.env._reset(rng, n)

    def ended(self, system: System, after: np.ndarray) -> np.ndarray:
        if self._done is not None:
            return super().ended(system, after)
        ends = self.env._functions._terminated
        if ends is None:
            return np.zeros(after.shape[:-1], bool)
        return np.asarray(ends(self.snapshot(system, after)), bool).reshape(after.shape[:-1])

    def snapshot(self, system: System, x: np.ndarray, measure: bool = True) -> Snapshot:
        """States (..., n) as the functions of environments see them."""
        rows = x.reshape((-1, x.shape[-1])).copy()
        layout = self.env._physics.layout
        values = None
        if layout.measured and measure:
            values = np.array(observe_states(system, rows, names=layout.measured).values)
        return Snapshot(layout, rows, values, np.zeros(len(rows), bool))


class GymnasiumTask(EnvTask):
    """One of Gymnasium's tasks, with its own reward."""

    def __init__(self, env: Any, x0: Any, done: Any, observe: Sequence[str] | None) -> None:
        super().__init__(env, _not_called, x0, done, observe or _seen(env.task))
        self.task = env.task

    def _own_starts(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.array([self.task.start(rng) for _ in range(n)])


class RunnerTask(GymnasiumTask):
    """(1)"""

    def _place(
        self, system: System, states: np.ndarray, params: Any
    ) -> tuple[np.ndarray, Any]:
        """p_x (E, T+1), and its pullback."""
        if not isinstance(self.task, v5.SpatialRunner):

            def back_to_first(p_bar: np.ndarray) -> np.ndarray:
                states_bar = np.zeros_like(states)
                states_bar[..., 0] = p_bar
                return states_bar

            return states[..., 0], back_to_first
        seen = observe_states(system, states, names=[self.task.sensors[0]], params=params)

        def back(p_bar: np.ndarray) -> np.ndarray:
            values_bar = np.zeros_like(seen.values)
            values_bar[..., 0] = p_bar
            return seen.pullback(values_bar).x

        return seen.values[..., 0], back

    def reward(
        self, system: System, states: np.ndarray, u: np.ndarray, params: Any
    ) -> tuple[np.ndarray, Back]:
        task, rate = self.task, self.task.forward_reward_weight / self.task._dt
        place, place_back = self._place(system, states, params)
        r = rate * np.diff(place, axis=1) - task.ctrl_cost_weight * (u**2).sum(-1)
        if isinstance(task, v5.FallingRunner):
            healthy = task.healthy(self.snapshot(system, states[:, 1:], measure=False))
            r = r + task.healthy_reward * healthy.reshape(r.shape)

        def back(r_bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            p_bar = np.zeros_like(place)
            p_bar[:, 1:] += rate * r_bar
            p_bar[:, :-1] -= rate * r_bar
            return place_back(p_bar), -2 * task.ctrl_cost_weight * u * r_bar[..., None]

        return r, back

    def ended(self, system: System, after: np.ndarray) -> np.ndarray:
        if self._done is not None:
            return super().ended(system, after)
        return self.task.terminated(self.snapshot(system, after, measure=False)).reshape(
            after.shape[:-1]
        )


class PendulumTask(GymnasiumTask):
    """(3)"""

    def reward(
        self, system: System, states: np.ndarray, u: np.ndarray, params: Any
    ) -> tuple[np.ndarray, Back]:
        r = (~self.ended(system, states[:, 1:])).astype(np.float64)
        return r, lambda r_bar: (np.zeros_like(states), np.zeros_like(u))


class DoublePendulumTask(GymnasiumTask):
    """(2)"""

    def reward(
        self, system: System, states: np.ndarray, u: np.ndarray, params: Any
    ) -> tuple[np.ndarray, Back]:
        seen = observe_states(system, states, names=["site_xpos:#0"], params=params)
        tip, v = seen.values[:, 1:], states[:, 1:, 4:6]
        alive = self.task.healthy_reward * ~self.ended(system, states[:, 1:])
        off = np.stack([0.1 * tip[..., 0], tip[..., 2] - 2], axis=-1)
        slow = np.array([1e-3, 5e-3])
        r = alive - (off**2).sum(-1) - (slow * v**2).sum(-1)

        def back(r_bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            tip_bar = np.zeros_like(seen.values)
            tip_bar[:, 1:, 0] = -0.2 * off[..., 0] * r_bar
            tip_bar[:, 1:, 2] = -2 * off[..., 1] * r_bar
            states_bar = np.array(seen.pullback(tip_bar).x)
            states_bar[:, 1:, 4:6] -= 2 * slow * v * r_bar[..., None]
            return states_bar, np.zeros_like(u)

        return r, back


def _not_called(x: np.ndarray, u: np.ndarray) -> Any:
    raise NotImplementedError


def _seen(task: v5.Task) -> list[str]:
    """What a policy of the task sees: its positions and velocities."""
    if isinstance(task, v5.Runner) and task.exclude_current_positions_from_observation:
        return [f"qpos[{2 if isinstance(task, v5.SpatialRunner) else 1}:]", "qvel"]
    return ["qpos", "qvel"]


def task_of(
    env: Any, reward: Any, x0: Any, done: Any, observe: Sequence[str] | None
) -> EnvTask:
    """The task of environments."""
    if not isinstance(env, VectorEnv):
        raise TypeError(
            "train_policy goes through the physics: it takes environments of cycloid.gym, and not "
            f"{type(env).__name__}"
        )
    if reward is not None:
        return EnvTask(env, reward, x0, done, observe)
    for kind, made in (
        (v5.Runner, RunnerTask),
        (v5.InvertedPendulum, PendulumTask),
        (v5.InvertedDoublePendulum, DoublePendulumTask),
    ):
        if isinstance(getattr(env, "task", None), kind):
            return made(env, x0, done, observe)
    raise Error(
        "the reward of these environments has no slopes: give train_policy a "
        "reward(x_after, u) -> (r, x_bar, u_bar)"
    )
