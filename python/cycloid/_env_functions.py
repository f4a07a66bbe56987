"""The functions that say what an environment's task is, and what they must return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cycloid._core import Error
from cycloid._options import as_names, as_text, shown
from cycloid._snapshot import Snapshot

_REWARD = "an array (n,), or a pair of that and a dict of arrays"


class Judged(NamedTuple):
    """What a step is worth, of n environments."""

    observations: np.ndarray  # (n, k)
    rewards: np.ndarray  # (n,)
    terminated: np.ndarray  # (n,) bool
    info: dict[str, np.ndarray]  # of (n, ...)


def observed_names(observation: Any) -> tuple[str, ...]:
    """Of what an observation consists, where it is neither a function nor the state."""
    if observation is None or callable(observation):
        return ()
    names = as_names(observation, "observation")
    if not names:
        raise Error("observation: expected a function or at least one name; None for the state")
    return names


class EnvFunctions:
    """Reward, observation, end and infos of environments, by a user's functions of batches."""

    def __init__(
        self, at: Snapshot, *, reward: Any, observation: Any, terminated: Any, info: Any
    ) -> None:
        """at: of one environment, by which the length of an observation is found."""
        for name, function in {"reward": reward, "terminated": terminated, "info": info}.items():
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be a function of batches; got {shown(function)}")
        self._reward, self._terminated, self._info = reward, terminated, info
        self._observation: Callable[[Snapshot], Any] = observation
        if observation is None:
            self._observation = lambda at: at.states
        elif not callable(observation):
            self._observation = lambda at: at.flat(observation)
        row = np.asarray(self._observation(at))
        if row.ndim != 2 or len(row) != 1:
            raise Error(
                "observation must return an array (n, k), here of n = 1 environments; "
                f"got shape {row.shape}"
            )
        self.observed, self._dtype = row.shape[1], at.states.dtype

    def observe(self, at: Snapshot) -> np.ndarray:
        """Observations (n, k) that are nobody else's memory."""
        seen = np.asarray(self._observation(at), self._dtype)
        if seen.shape != (len(at), self.observed):
            wanted = (len(at), self.observed)
            raise Error(f"observation must return an array {wanted}; got shape {seen.shape}")
        return seen.copy() if not seen.flags.owndata or at.shares(seen) else seen

    def info(self, at: Snapshot) -> dict[str, np.ndarray]:
        """What infos say of a snapshot."""
        if self._info is None:
            return {}
        return self._batches(self._info(at), "info", "a dict of arrays", len(at))

    def judge(
        self, before: Snapshot, actions: np.ndarray, after: Snapshot, failed: np.ndarray
    ) -> Judged:
        """What a step is worth. An environment that failed, or whose observation or reward is not
        finite, ends where it was before, and infos say that it diverged.
        """
        rewards, extra = np.zeros(len(after)), {}
        if self._reward is not None:
            rewards = self._reward(before, actions, after)
        if isinstance(rewards, tuple):
            if len(rewards) != 2:
                raise TypeError(f"reward must return {_REWARD}; got {len(rewards)} parts")
            rewards, extra = rewards
            extra = self._batches(extra, "reward", _REWARD, len(after))
        rewards = self._each(rewards, np.float64, "reward", len(after))
        observations = self.observe(after)
        terminated = np.zeros(len(after), bool)
        if self._terminated is not None:
            terminated = self._each(self._terminated(after), bool, "terminated", len(after))
        info = self.info(after) | extra

        # A sum is finite only if its terms are.
        finite = np.isfinite(observations.sum(axis=1)) & np.isfinite(rewards)
        bad = failed | ~finite
        if bad.any():
            observations[bad] = self.observe(before.take(np.flatnonzero(bad)))
            rewards[bad], terminated[bad] = 0, True
            info["diverged"] = bad
        return Judged(observations, rewards, terminated, info)

    @staticmethod
    def _batches(part: Any, what: str, wanted: str, count: int) -> dict[str, np.ndarray]:
        if not isinstance(part, Mapping):
            raise TypeError(f"{what} must return {wanted}; got {shown(part)}")
        arrays = {}
        for key, value in part.items():
            try:
                array = np.asarray(value)
                got = f"shape {array.shape}"
            except ValueError:  # lists of several lengths
                array, got = np.zeros(()), shown(value)
            if array.shape[:1] != (count,):
                raise Error(
                    f'{what}: "{as_text(key)}" must be an array ({count}, ...), one row for each '
                    f"environment; got {got}"
                )
            arrays[key] = array
        return arrays

    @staticmethod
    def _each(values: Any, dtype: Any, what: str, count: int) -> np.ndarray:
        array = np.array(values, dtype)
        if array.shape != (count,):
            raise Error(f"{what} must return an array ({count},); got shape {array.shape}")
        return array
