"""What a policy is trained for: a System, a reward with its slopes, starts and ends of episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._close_loop import hold
from cycloid._core import Error
from cycloid._observe import observe as observe_states
from cycloid._options import as_names, shown
from cycloid._system import System, check_system

Back = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""r_bar (E, T) -> cotangents of states (E, T+1, n) and inputs (E, T, m)."""


class Sight:
    """What the policy sees of states (..., n), and the way back."""

    def __init__(self, system: System, names: Sequence[str] | None, params: Any = None) -> None:
        self.system, self.names, self.params = system, names, params

    def look(self, x: np.ndarray) -> np.ndarray:
        if self.names is None:
            return x
        self.seen = observe_states(self.system, x, names=list(self.names), params=self.params)
        return np.asarray(self.seen.values, np.float64)  # as training computes

    def back(self, o_bar: np.ndarray) -> np.ndarray:
        if self.names is None:
            return o_bar
        return self.seen.pullback(o_bar.astype(self.system.dtype)).x


class PolicyTask:
    """A System with a reward of what comes out of a step, as `train_policy` is given it.

    physics: the System that is simulated, `held` of whose steps make one of the policy's; `system`
    is the one whose step that is. observe: names, or None for the state. episode: steps, or None.
    """

    held = 1
    episode: int | None = None

    def __init__(
        self, system: System, reward: Any, x0: Any, done: Any, observe: Sequence[str] | None
    ) -> None:
        check_system(system)
        if not callable(reward):
            raise TypeError("reward must be a function of states and inputs")
        if done is not None and not callable(done):
            raise TypeError(f"done must be a function of states; got {shown(done)}")
        self.physics = self.system = system
        self.observe = observe
        self._reward, self._x0, self._done = reward, x0, done

    def starts(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n, state_size)"""
        drawn = self._x0(rng, n) if callable(self._x0) else _drawn_rows(self._x0, rng, n)
        rows = as_numbers(drawn, np.float64, "x0")
        if rows.shape != (n, self.system.state_size):
            raise Error(f"x0 must give shape ({n}, {self.system.state_size}); got {rows.shape}")
        if not np.isfinite(rows).all():
            raise Error("x0: a start is not finite")
        return rows

    def reward(
        self, system: System, states: np.ndarray, u: np.ndarray, params: Any
    ) -> tuple[np.ndarray, Back]:
        """r (E, T) of states (E, T+1, n) under u (E, T, m), and the way back."""
        r, x_bar, by_u = _called(self._reward, states[:, 1:], u)

        def back(r_bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            states_bar = np.zeros_like(states)
            states_bar[:, 1:] = r_bar[..., None] * x_bar
            return states_bar, r_bar[..., None] * by_u

        return r, back

    def ended(self, system: System, after: np.ndarray) -> np.ndarray:
        """(E, T) bool, of the states (E, T, n) after each step."""
        over = np.zeros(after.shape[:-1], bool)
        if self._done is not None:
            said = np.asarray(self._done(after))
            if said.shape not in ((), over.shape):
                raise Error(
                    f"done must give a bool for each state, shape {over.shape}; got {said.shape}"
                )
            over[:] = said
        return over


def _drawn_rows(x0: Any, rng: np.random.Generator, n: int) -> np.ndarray:
    rows = np.atleast_2d(as_numbers(x0, np.float64, "x0"))
    return rows[rng.integers(0, len(rows), n)]


def _called(reward: Callable[..., Any], x: np.ndarray, u: np.ndarray) -> tuple[Any, ...]:
    answer = reward(x, u)
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise Error("reward must give (r, x_bar, u_bar): its value and derivatives")
    r, x_bar, u_bar = (np.asarray(a, np.float64) for a in answer)
    for got, want, what in (
        (r, x.shape[:-1], "r"),
        (x_bar, x.shape, "x_bar"),
        (u_bar, u.shape, "u_bar"),
    ):
        if got.shape != want:
            raise Error(f"reward: {what} must have shape {want}; got {got.shape}")
        if not np.isfinite(got).all():
            raise Error(f"reward: {what} is not finite")
    return r, x_bar, u_bar


def as_task(given: Any, reward: Any, x0: Any, done: Any, observe: Any) -> PolicyTask:
    """Of a System with what belongs to it, or of environments of `cycloid.gym`."""
    names = None if observe is None else list(as_names(observe, "observe"))
    if isinstance(given, System):
        if reward is None or x0 is None:
            raise Error("a System needs a reward and x0; tasks of cycloid.gym have their own")
        return PolicyTask(given, reward, x0, done, names)
    # Gymnasium is not imported for those who have no use for it.
    if not hasattr(given, "single_action_space"):
        raise TypeError(
            "expected a cycloid System, or environments of cycloid.gym such as "
            f'cycloid.gym.make("Hopper", 64); got {type(given).__name__}'
        )
    from cycloid._gym_task import task_of

    return task_of(given, reward, x0, done, names)


def held_system(physics: System, steps: int) -> System:
    """The System whose step is `steps` of the physics'."""
    return physics if steps == 1 else hold(physics, steps)
