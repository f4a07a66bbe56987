"""Environments as Stable-Baselines3 takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cycloid._core import Error
from cycloid._extras import missing
from cycloid._options import shown
from cycloid._vector_env import AutoresetMode, gymnasium

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    if (error.name or "").partition(".")[0] != "stable_baselines3":
        raise
    raise missing("stable_baselines3", '"stable-baselines3>=2.9"') from None

Indices = None | int | Iterable[int]


class StableBaselines(VecEnv):
    """A VecEnv for Stable-Baselines3, around a `VectorEnv` or another of Gymnasium's, which must
    reset what has ended within the step: autoreset_mode="SameStep".

    The info of an environment is empty but where an episode ends: then it has that of the last
    step, "terminal_observation", "TimeLimit.truncated", and "episode" within Gymnasium's
    RecordEpisodeStatistics. There is one batch, not a list of
    environments: an attribute or a method is the batch's.

    >>> import cycloid.gym
    >>> env = cycloid.gym.StableBaselines(
    ...     cycloid.gym.make("InvertedPendulum", 4, autoreset_mode="SameStep"))
    >>> env.reset().shape
    (4, 4)

    It goes to `stable_baselines3.PPO("MlpPolicy", env)`, within VecMonitor or VecNormalize where
    they are wanted.
    """

    def __init__(self, env: gymnasium.vector.VectorEnv) -> None:
        if not isinstance(env, gymnasium.vector.VectorEnv):
            raise TypeError(f"expected a gymnasium.vector.VectorEnv; got {shown(env)}")
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise Error(
                "Stable-Baselines3 expects environments that reset within the step: make them with "
                f'autoreset_mode="SameStep"; this one has {shown(mode)}'
            )
        self.env = env
        self._actions: Any = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> np.ndarray:
        """Observations (num_envs, k) of new episodes; the seed is that of `seed()`, once."""
        observations, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Keeps the actions (num_envs, inputs) for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Takes the step: observations, rewards, dones and a list of infos."""
        observations, rewards, terminated, truncated, infos = self.env.step(self._actions)
        dones = terminated | truncated
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        final = dict(infos.get("final_info", {}))
        if isinstance(infos.get("episode"), dict):  # of vector.RecordEpisodeStatistics
            final |= {key: infos[key] for key in ("episode", "_episode")}
        for i in np.flatnonzero(dones):
            each[i] = _info_of(final, i)
            each[i]["terminal_observation"] = infos["final_obs"][i]
            each[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, rewards.astype(np.float32), dones, each

    def close(self) -> None:
        """Closes the environments."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """The batch's attribute, once for each environment asked for."""
        value = getattr(self.env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Sets the batch's attribute; not that of some environments."""
        if indices is not None:
            raise Error(f"{attr_name!r} is the batch's: it cannot be set for some environments")
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls the batch's method once; its result for each environment asked for."""
        result = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Indices = None) -> list[bool]:
        """False for all: wrappers go around the batch."""
        return [False for _ in self._get_indices(indices)]


def _info_of(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """What infos say of environment i, where the mask `_key` says that they do."""
    return {
        key: _info_of(value, i) if isinstance(value, dict) else value[i]
        for key, value in infos.items()
        if not key.startswith("_") and (f"_{key}" not in infos or infos[f"_{key}"][i])
    }
