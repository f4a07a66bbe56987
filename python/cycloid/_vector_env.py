"""A batch of environments for Gymnasium's trainers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._env_functions import EnvFunctions, Judged, observed_names
from cycloid._env_physics import EnvPhysics
from cycloid._extras import missing, needed
from cycloid._options import as_integer, as_names, is_integer, shown
from cycloid._snapshot import Rows, Snapshot, put, taken
from cycloid._system import System, check_system

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode

    from cycloid._env_spaces import set_spaces
except ImportError as error:
    if (error.name or "").partition(".")[0] != "gymnasium":
        raise
    raise missing("gymnasium", '"gymnasium>=1.4"') from None

MOST_SEED = 2**128 - 1  # as NumPy draws them from the operating system
_MOST_ENVIRONMENTS = 2**31


def _show_signature(cls: type) -> None:
    """Help and editors show how an environment is made by `__init__`, not `__new__`."""
    made = inspect.signature(cls.__init__)  # type: ignore[misc]
    setattr(cls, "__signature__", made.replace(parameters=[*made.parameters.values()][1:]))


class VectorEnv(gymnasium.vector.VectorEnv):
    """Environments of one System, stepped together: a gymnasium.vector.VectorEnv.

    An action is the system's input row, held for `frame_skip` time steps. The functions get whole
    batches, as a `Snapshot`: `at.states` is (n, state_size), `at["qpos"]` a block of it, and
    `at["name"]` a sensor or field of `sensors`; n is the number of environments in question.

    reward: of (before, actions, after), two snapshots and (n, input_size); returns (n,), or a pair
    of that and a dict of (n, ...) for infos; None for zero. observation: of a snapshot, (n, k); or
    names, whose numbers are put side by side; None for the state. terminated: of a snapshot, (n,)
    bool; None for never. reset: of (np_random, n), start states (n, state_size); or one state; None
    for the system's own. info: of a snapshot, a dict of (n, ...), at resets too.

    sensors: names as in `observe` that the functions use. lagging: their values after a step are
    those that mj_step leaves in MjData (`advance`), and not those at the new state. frame_skip:
    time steps per action. max_episode_steps: then an episode is truncated.
    autoreset_mode: Gymnasium's NEXT_STEP, SAME_STEP or DISABLED. action_space, observation_space:
    of one environment, gymnasium.spaces.Box; without, actions have the range of the robot's
    controls, where they are limited. params, threads: as in `rollout`.

    device: "cuda", of a System that runs there: states, observations and rewards are tensors of
    torch that stay on the card, and so are what functions get and return (`TensorEnv`).

    An environment whose physics or observation stops being finite is terminated with reward 0, and
    `infos["diverged"]` says so; its observation is the last finite one. Time begins at 0 in every
    step: a law that depends on time needs a clock in its state.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> import cycloid.gym
    >>> env = cycloid.gym.VectorEnv(
    ...     cy.systems.pendulum(), 16, frame_skip=5, max_episode_steps=200,
    ...     observation=lambda at: np.concatenate([np.cos(at["angle"]), np.sin(at["angle"]),
    ...                                            at["angular_velocity"]], axis=1),
    ...     reward=lambda before, actions, after: -np.cos(after["angle"][:, 0]),
    ...     reset=lambda rng, n: rng.uniform(-1, 1, size=(n, 2)))
    >>> env
    VectorEnv(num_envs=16)
    >>> observations, infos = env.reset(seed=0)
    >>> env.action_space.seed(0)
    0
    >>> observations, rewards, terminated, truncated, infos = env.step(np.zeros((16, 1)))
    >>> observations.shape, rewards.shape, bool(terminated.any())
    ((16, 3), (16,), False)
    """

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        if keywords.get("device") is None:
            return super().__new__(cls)
        with needed("torch"):
            from cycloid._tensor_env import TensorEnv

        return TensorEnv(*arguments, **keywords)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _show_signature(cls)

    def __init__(
        self,
        system: System,
        num_envs: int,
        *,
        reward: Callable[[Snapshot, np.ndarray, Snapshot], Any] | None = None,
        observation: Callable[[Snapshot], Any] | str | Sequence[str] | None = None,
        terminated: Callable[[Snapshot], Any] | None = None,
        reset: Any = None,
        info: Callable[[Snapshot], Mapping[str, Any]] | None = None,
        sensors: str | Sequence[str] = (),
        lagging: bool = False,
        frame_skip: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        action_space: Box | None = None,
        observation_space: Box | None = None,
        params: Any = None,
        threads: int | None = None,
        render_mode: None = None,
        device: str | None = None,  # else __new__ makes a TensorEnv
    ) -> None:
        check_system(system)
        if render_mode is not None:
            raise Error(f"render_mode: expected None; got {shown(render_mode)}: {_NO_PICTURES}")
        self.system = system
        self.num_envs = as_integer(num_envs, "num_envs", 1, _MOST_ENVIRONMENTS)
        self.max_episode_steps = max_episode_steps
        if max_episode_steps is not None:
            self.max_episode_steps = as_integer(max_episode_steps, "max_episode_steps", 1)
        self._mode = _as_mode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}

        shown_names = observed_names(observation)
        names = dict.fromkeys((*as_names(sensors, "sensors"), *shown_names))
        self._physics = EnvPhysics(
            system, self.num_envs, tuple(names), frame_skip=frame_skip, lagging=lagging,
            params=params, threads=threads,
        )  # fmt: skip
        self._functions = EnvFunctions(
            self._physics.begin(system.initial_state()[None], np.zeros(1, int)),
            reward=reward, observation=shown_names or observation, terminated=terminated, info=info,
        )  # fmt: skip
        self._reset = self._as_reset(reset)
        set_spaces(self, system, self._functions.observed, action_space, observation_space)

        self._now: Snapshot | None = None  # None before the first reset
        self._steps = np.zeros(self.num_envs, np.int64)  # of each episode
        self._done = np.zeros(self.num_envs, bool)

    @property
    def frame_skip(self) -> int:
        """Time steps per action."""
        return self._physics.frame_skip

    def _as_reset(self, reset: Any) -> Callable[[np.random.Generator, int], Any]:
        if callable(reset):
            return reset
        if reset is None:
            reset = self.system.initial_state()
        state = as_numbers(reset, self.system.dtype, "reset")
        if state.shape != (self.system.state_size,):
            raise Error(
                f"reset must be a function of (np_random, n) or a state of shape "
                f"({self.system.state_size},), {self.system._meaning}; got shape {state.shape}"
            )
        state = state.copy()
        return lambda rng, n: np.tile(state, (n, 1))

    # ---- resets -----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins new episodes: observations (num_envs, k) and infos.

        seed: of `np_random`, which draws the start states of all; None goes on with it.
        options: {"reset_mask": (num_envs,) bool} begins those only, and keeps the others as they
        are.
        """
        self._check_open()
        mask = self._as_mask(options)
        if mask is None or mask.all():
            rows = None
        elif self._now is None:
            raise gymnasium.error.ResetNeeded("the first reset must be of all environments")
        else:
            rows = np.flatnonzero(mask)
        self._seed(seed, rows)
        infos: dict[str, Any] = {}
        self._begin(rows, infos)
        return self._functions.observe(self._ready()), infos

    def _seed(self, seed: Any, rows: Rows) -> None:
        """Seeds what draws the starts of these environments."""
        if seed is not None:
            if not is_integer(seed):
                raise TypeError(
                    "seed: expected None or an int: one random generator draws the starts of all "
                    f"environments; those of cycloid.gym.make have one each; got {shown(seed)}"
                )
            seed = as_integer(seed, "seed", 0, MOST_SEED)
        super().reset(seed=seed)

    def _starts(self, rows: np.ndarray) -> Any:
        """Start states of these environments."""
        return self._reset(self.np_random, len(rows))

    def _as_mask(self, options: Any) -> np.ndarray | None:
        unknown = sorted(set(options or ()) - {"reset_mask"})
        if unknown:
            raise Error(f'options: expected "reset_mask"; got {shown(unknown[0])}')
        if not options:
            return None
        mask = np.asarray(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise Error(
                f'options["reset_mask"] must be an array of bool ({self.num_envs},) with at least '
                f"one True; got {shown(options['reset_mask'])}"
            )
        return mask

    def _begin(self, rows: Rows, infos: dict[str, Any]) -> np.ndarray:
        """Begins episodes in these environments, adds to infos, and returns their observations."""
        indices = np.arange(self.num_envs) if rows is None else rows
        states = self._as_states(self._starts(indices), len(indices), "reset")
        at = self._physics.begin(states, rows)
        observations = self._functions.observe(at)
        if not np.isfinite(observations).all():
            raise Error("reset: the observation of a start state is not finite")
        self._now = at if self._now is None else self._now.replaced(rows, at)
        self._steps[indices], self._done[indices] = 0, False
        put(infos, self._functions.info(at), rows, self.num_envs)
        return observations

    def _as_states(self, states: Any, count: int, what: str) -> np.ndarray:
        rows = as_numbers(states, self.system.dtype, what)
        if rows.shape != (count, self.system.state_size):
            raise Error(
                f"{what}: expected states of shape ({count}, {self.system.state_size}), "
                f"{self.system._meaning}; got {rows.shape}"
            )
        if not np.isfinite(rows).all():
            raise Error(f"{what}: a state is not finite")
        return rows.copy()

    @property
    def states(self) -> np.ndarray:
        """The states (num_envs, state_size), a copy."""
        return self._ready().states.copy()

    def set_states(self, states: Any) -> np.ndarray:
        """Puts the environments into these states (num_envs, state_size), as at the beginning of
        episodes, and returns the observations (num_envs, k). Steps are counted on; where an episode
        had ended, another begins.

        >>> import cycloid as cy
        >>> import cycloid.gym
        >>> env = cycloid.gym.make("InvertedPendulum", 2)
        >>> observations, infos = env.reset(seed=0)
        >>> env.set_states([[0, 0.1, 0, 0], [0, -0.1, 0, 0]])
        array([[ 0. ,  0.1,  0. ,  0. ],
               [ 0. , -0.1,  0. ,  0. ]])
        """
        self._ready()
        self._now = self._physics.begin(self._as_states(states, self.num_envs, "states"), None)
        self._steps[self._done] = 0
        self._done[:] = False
        return self._functions.observe(self._now)

    # ---- steps ------------------------------------------------------------------------------

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Takes an action (num_envs, input_size) in each environment: observations (num_envs, k),
        rewards, terminated and truncated (num_envs,), infos.
        """
        self._ready()
        actions = self._as_actions(actions)
        going, starting = None, np.flatnonzero(self._done)
        if starting.size:
            if self._mode == AutoresetMode.DISABLED:
                raise gymnasium.error.ResetNeeded(
                    f"environment {starting[0]} has ended: reset it, for example with "
                    'options={"reset_mask": terminated | truncated}'
                )
            going = np.flatnonzero(~self._done)
        judged, truncated = self._move(going, actions)
        observations, rewards, terminated, truncated = self._spread((*judged[:3], truncated), going)
        infos: dict[str, Any] = {}
        if starting.size:
            observations[starting] = self._begin(starting, infos)
        self._done = terminated | truncated
        if self._mode == AutoresetMode.SAME_STEP and self._done.any():
            self._begin_again(observations, judged.info, infos)
        else:
            put(infos, judged.info, going, self.num_envs)
        return observations, rewards, terminated, truncated, infos

    def _move(self, rows: Rows, actions: np.ndarray) -> tuple[Judged, np.ndarray]:
        """Steps these environments: what that is worth, and whether they are truncated."""
        now = self._ready()
        if rows is not None and not rows.size:  # all begin anew
            nothing = np.zeros(0)
            none = np.zeros((0, self._functions.observed), self.system.dtype)
            return Judged(none, nothing, nothing > 0, {}), nothing > 0
        before = now.take(rows)
        actions = actions if rows is None else actions[rows]
        after, failed = self._physics.move(before, actions, rows)
        judged = self._functions.judge(before, actions, after, failed)
        if "diverged" in judged.info:
            bad = np.flatnonzero(judged.info["diverged"])
            after = after.replaced(bad, before.take(bad))
        self._now = now.replaced(rows, after)
        indices = slice(None) if rows is None else rows
        self._steps[indices] += 1
        most = np.inf if self.max_episode_steps is None else self.max_episode_steps
        return judged, self._steps[indices] >= most

    def _spread(self, parts: Sequence[np.ndarray], rows: Rows) -> Sequence[np.ndarray]:
        """Values of some environments among zeros for the others."""
        if rows is None:
            return parts
        full = [np.zeros((self.num_envs, *part.shape[1:]), part.dtype) for part in parts]
        for whole, part in zip(full, parts):
            whole[rows] = part
        return full

    def _begin_again(
        self, observations: np.ndarray, info: dict[str, Any], infos: dict[str, Any]
    ) -> None:
        """Resets what has ended within the step (SAME_STEP)."""
        count, rows = self.num_envs, np.flatnonzero(self._done)
        final = np.full(count, None, dtype=object)
        for i in rows:
            final[i] = observations[i].copy()
        final_info: dict[str, Any] = {}
        put(final_info, taken(info, rows), rows, count)
        infos.update(final_obs=final, _final_obs=self._done.copy())
        infos.update(final_info=final_info, _final_info=self._done.copy())
        others = np.flatnonzero(~self._done)
        put(infos, taken(info, others), others, count)
        observations[rows] = self._begin(rows, infos)

    def _as_actions(self, actions: Any) -> np.ndarray:
        rows = as_numbers(actions, self.system.dtype, "actions")
        shape = (self.num_envs, self.system.input_size)
        if rows.shape != shape:
            raise Error(f"actions must have shape {shape}; got {rows.shape}")
        if not np.isfinite(rows).all():
            raise Error("an action is not finite; does the policy's network diverge?")
        return rows

    # ---- the rest ---------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environments are closed")

    def _ready(self) -> Snapshot:
        self._check_open()
        if self._now is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything else")
        return self._now

    def render(self) -> None:
        """Raises: there are no pictures."""
        raise Error(_NO_PICTURES)


_NO_PICTURES = (
    "cycloid draws no pictures; cycloid.state_to_mujoco brings a row of env.states to MuJoCo, "
    "which does"
)


def _as_mode(mode: Any) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(f'"{m.value}"' for m in AutoresetMode)
        raise Error(f"autoreset_mode: expected {known}; got {shown(mode)}") from None


_show_signature(VectorEnv)
