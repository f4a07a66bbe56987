"""One environment, for what takes no batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from cycloid._core import Error
from cycloid._options import shown
from cycloid._vector_env import AutoresetMode, VectorEnv, gymnasium


class SingleEnv(gymnasium.Env):
    """The only environment of a `VectorEnv`, as a gymnasium.Env: for checks, wrappers and trainers
    that take no batches. It must reset nothing by itself: autoreset_mode="Disabled".

    >>> import numpy as np
    >>> import cycloid as cy
    >>> import cycloid.gym
    >>> env = cycloid.gym.SingleEnv(cycloid.gym.VectorEnv(
    ...     cy.systems.pendulum(), 1, autoreset_mode="Disabled",
    ...     reward=lambda before, actions, after: -after.states[:, 0] ** 2))
    >>> env.reset(seed=0)
    (array([1., 0.]), {})
    >>> observation, reward, terminated, truncated, info = env.step([0.0])
    >>> round(reward, 4), terminated
    (-0.9992, False)

    `gymnasium.make("cycloid/Ant-v5")` makes one of Gymnasium's.
    """

    def __init__(self, env: VectorEnv) -> None:
        if not isinstance(env, VectorEnv):
            raise TypeError(f"expected a cycloid.gym.VectorEnv; got {shown(env)}")
        mode = env.metadata["autoreset_mode"]
        if env.num_envs != 1 or mode != AutoresetMode.DISABLED:
            raise Error(
                'expected a VectorEnv with num_envs=1 and autoreset_mode="Disabled"; this one has '
                f"num_envs={env.num_envs} and {mode}"
            )
        self.env = env
        self.metadata = {"render_modes": []}
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode: observation (k,) and info."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._np_random = self.env._np_random
        return observations[0], _first(infos)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Takes an action (input_size,)."""
        out = self.env.step(np.asarray(action)[None])
        observation, reward, terminated, truncated = (part[0] for part in out[:4])
        return observation, float(reward), bool(terminated), bool(truncated), _first(out[4])

    def render(self) -> None:
        """Raises: there are no pictures."""
        self.env.render()

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()


def _first(infos: dict[str, Any]) -> dict[str, Any]:
    return {key: value[0] for key, value in infos.items() if f"_{key}" in infos}
