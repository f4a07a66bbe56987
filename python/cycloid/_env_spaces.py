"""Spaces of actions and observations: those that a user gives, or what follows from a System."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector.utils import batch_space

from cycloid._core import Error
from cycloid._options import shown
from cycloid._robot import Robot
from cycloid._system import System


def set_spaces(
    env: gymnasium.vector.VectorEnv,
    system: System,
    observed: int,
    action_space: Any,
    observation_space: Any,
) -> None:
    """Gives `env`, whose num_envs is known, its four spaces. observed: numbers of an observation.
    None: inputs of a robot within their control ranges, any observation of the system's dtype."""
    size = system.input_size
    if action_space is None:
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        if isinstance(system, Robot) and "ctrl" in system.input_slices:
            ctrl = system.input_slices["ctrl"]
            low[ctrl], high[ctrl] = system.control_range.T
        action_space = Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    if observation_space is None:
        observation_space = Box(-np.inf, np.inf, (observed,), system.dtype.type)
    for what, space, length in (
        ("action_space", action_space, size),
        ("observation_space", observation_space, observed),
    ):
        if not isinstance(space, Box) or space.shape != (length,):
            raise Error(
                f"{what} must be a gymnasium.spaces.Box of shape ({length},); got {shown(space)}"
            )
    env.single_action_space, env.single_observation_space = action_space, observation_space
    env.action_space = batch_space(action_space, env.num_envs)
    env.observation_space = batch_space(observation_space, env.num_envs)
