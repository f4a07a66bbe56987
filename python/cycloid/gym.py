"""Environments for Gymnasium's trainers: `VectorEnv` makes them of any System, and `make` has
Gymnasium's own MuJoCo environments.

>>> import cycloid.gym
>>> env = cycloid.gym.make("Hopper", 8)
>>> env
MujocoVectorEnv(cycloid/Hopper-v5, num_envs=8)
>>> observations, infos = env.reset(seed=0)             # as Gymnasium's own begins
>>> observations.shape, env.single_action_space
((8, 11), Box(-1.0, 1.0, (3,), float32))
>>> observations, rewards, terminated, truncated, infos = env.step(env.action_space.sample())

Importing this module registers them with Gymnasium too:

>>> import gymnasium
>>> gymnasium.make_vec("cycloid/Ant-v5", num_envs=4, ctrl_cost_weight=0.1)
MujocoVectorEnv(cycloid/Ant-v5, num_envs=4)
"""

from __future__ import annotations

import dataclasses
import functools
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cycloid import _core
from cycloid import _gymnasium_v5 as v5
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._options import as_integer, as_text, check_one_of, is_integer, shown
from cycloid._robot import load
from cycloid._single_env import SingleEnv
from cycloid._snapshot import Rows, Snapshot
from cycloid._vector_env import MOST_SEED, AutoresetMode, VectorEnv, gymnasium

if TYPE_CHECKING:  # these need other packages: __getattr__ below
    from cycloid._stable_baselines import StableBaselines as StableBaselines
    from cycloid._tensor_env import TensorEnv as TensorEnv, TensorSnapshot as TensorSnapshot

__all__ = [  # `import *` is to work without those packages
    "AutoresetMode",
    "MujocoVectorEnv",
    "SingleEnv",
    "Snapshot",
    "VectorEnv",
    "make",
]

_TASKS = {task.__name__: task for task in (
    v5.Ant, v5.HalfCheetah, v5.Hopper, v5.Humanoid, v5.InvertedDoublePendulum, v5.InvertedPendulum,
    v5.Walker2d,
)}  # fmt: skip
_ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"

# Gymnasium's keywords that matter to pictures only, and so to nothing here.
_DRAWING = (
    "default_camera_config", "width", "height", "camera_id", "camera_name", "max_geom",
    "visual_options",
)  # fmt: skip
_OURS = ("dtype", "threads", "autoreset_mode", "max_episode_steps", "render_mode")


class MujocoVectorEnv(VectorEnv):
    """One of Gymnasium's MuJoCo environments, made by `make`. Every environment has a random
    generator of its own, and draws from it what Gymnasium's draws: equal seeds, equal starts.
    """

    def __init__(self, task: v5.Task, num_envs: int, dtype: Any, **keywords: Any) -> None:
        path = _model_path(task.xml_file)
        with warnings.catch_warnings():
            if path.parent == _ASSETS:  # whose models are as they are
                warnings.simplefilter("ignore")
            system = load(path, dtype=dtype)
        task.bind(system)
        self.task = task
        self._generators: list[Any] = []  # none before the first reset
        self._seeds: list[Any] = []
        super().__init__(
            system,
            num_envs,
            reward=task.reward,
            observation=task.observation,
            terminated=task.terminated,
            info=task.info,
            sensors=task.sensors,
            frame_skip=task.frame_skip,
            lagging=True,
            **keywords,
        )

    @property
    def dt(self) -> float:
        """Duration of a step [s]."""
        return self.system.timestep * self.frame_skip

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The random generators, one for each environment."""
        self._seed(None, None)
        return tuple(self._generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """Their seeds."""
        self._seed(None, None)
        return tuple(self._seeds)

    def _seed(self, seed: Any, rows: Rows) -> None:
        """None keeps the generators that there are; an int s gives environment i the seed s + i; or
        one each, of which None keeps its own. Environments that are not in `rows` keep theirs.
        """
        count = self.num_envs
        seeds = self._as_seeds(seed)
        if not self._generators:
            self._generators, self._seeds = [None] * count, [None] * count
        elif seed is None:
            return
        for i in range(count) if rows is None else rows:
            if seeds[i] is not None or self._generators[i] is None:
                self._generators[i], self._seeds[i] = gymnasium.utils.seeding.np_random(seeds[i])
        self._np_random = self._generators[0]  # what Gymnasium's checkers look at

    def _as_seeds(self, seed: Any) -> Sequence[int | None]:
        """One for each environment."""
        count = self.num_envs
        if isinstance(seed, np.ndarray):
            seed = seed.tolist()
        if seed is None:
            return [None] * count
        if is_integer(seed):
            first = as_integer(seed, "seed", 0, MOST_SEED)
            return range(first, first + count)
        if not isinstance(seed, Sequence) or len(seed) != count:
            raise Error(f"seed: expected None, an int or a list of {count}; got {shown(seed)}")
        return [s if s is None else as_integer(s, "seed", 0, MOST_SEED) for s in seed]

    def _starts(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self.task.start(self._generators[i]) for i in rows])

    def set_state(self, qpos: Any, qvel: Any) -> np.ndarray:
        """`set_states` with positions (num_envs, nq) and velocities (num_envs, nv)."""
        rows = [as_numbers(part, np.float64, n) for part, n in ((qpos, "qpos"), (qvel, "qvel"))]
        return self.set_states(np.concatenate(rows, axis=-1))


def make(name: str, num_envs: int = 1, **keywords: Any) -> MujocoVectorEnv:
    """One of Gymnasium's MuJoCo environments, version 5, `num_envs` at once: "Ant", "HalfCheetah",
    "Hopper", "Humanoid", "InvertedDoublePendulum", "InvertedPendulum" or "Walker2d".

    Keywords are those of Gymnasium's environment (weights, healthy ranges, xml_file, frame_skip,
    ...), and dtype, "float64" as there or "float32", which is faster; max_episode_steps, 1000;
    autoreset_mode, as in `VectorEnv`; threads, None for all that the machine offers.

    >>> import cycloid.gym
    >>> env = cycloid.gym.make("HalfCheetah", 64, forward_reward_weight=2.0, dtype="float32")
    >>> observations, infos = env.reset(seed=1)
    >>> observations.shape, observations.dtype
    ((64, 17), dtype('float32'))
    >>> cycloid.gym.make("HalfCheetah", ctrl_weight=1)
    Traceback (most recent call last):
    TypeError: HalfCheetah-v5 has no keyword 'ctrl_weight'; did you mean "ctrl_cost_weight"?
    """
    if isinstance(name, str):
        name = name.removeprefix("cycloid/").removesuffix("-v5")
    check_one_of(name, tuple(_TASKS), "name")
    count = as_integer(num_envs, "num_envs", 1)
    return gymnasium.make_vec(f"cycloid/{name}-v5", num_envs=count, **keywords)


def _make(name: str, num_envs: int = 1, dtype: Any = "float64", **keywords: Any) -> MujocoVectorEnv:
    """What Gymnasium calls to make the environments."""
    task = _TASKS[name]
    own = [field.name for field in dataclasses.fields(task)]
    for keyword in keywords:
        if keyword not in (*own, *_OURS, *_DRAWING):
            hint = _core.did_you_mean(as_text(keyword), [*own, *_OURS])
            raise TypeError(f"{name}-v5 has no keyword {keyword!r}{hint}")
    chosen = {k: keywords.pop(k) for k in own if k in keywords}
    ours = {k: v for k, v in keywords.items() if k in _OURS}
    return MujocoVectorEnv(task(**chosen), num_envs, dtype, **ours)


def _make_single(name: str, **keywords: Any) -> SingleEnv:
    return SingleEnv(_make(name, 1, autoreset_mode=AutoresetMode.DISABLED, **keywords))


def _model_path(xml_file: Any) -> Path:
    """As Gymnasium finds it: what does not begin with ".", "/" or "~" is one of its own files."""
    if not isinstance(xml_file, (str, os.PathLike)):
        raise TypeError(f"xml_file: expected a path; got {shown(xml_file)}")
    text = os.fspath(xml_file)
    path = Path(text).expanduser() if text[:1] in (".", "/", "~") else _ASSETS / text
    if not path.exists():
        raise FileNotFoundError(f"xml_file: {path} does not exist")
    return path


def __getattr__(name: str) -> Any:
    if name in ("TensorEnv", "TensorSnapshot"):  # these import torch
        from cycloid import _tensor_env

        return getattr(_tensor_env, name)
    if name == "StableBaselines":  # imports torch, and so only when asked for
        from cycloid._stable_baselines import StableBaselines

        return StableBaselines
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _register(name: str) -> None:
    """Gymnasium finds what makes an environment by the name of a function."""
    globals()[f"_make_{name}"] = functools.partial(_make, name)
    globals()[f"_make_single_{name}"] = functools.partial(_make_single, name)
    gymnasium.register(
        f"cycloid/{name}-v5",
        entry_point=f"cycloid.gym:_make_single_{name}",
        vector_entry_point=f"cycloid.gym:_make_{name}",
        max_episode_steps=1000,
        reward_threshold=gymnasium.spec(f"{name}-v5").reward_threshold,
    )


for _name in _TASKS:
    _register(_name)
