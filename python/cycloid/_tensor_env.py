"""A batch of environments whose states, observations and rewards stay on the device of their
System, as tensors of torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from cycloid import _core
from cycloid._core import Error
from cycloid._device_arrays import lies_there
from cycloid._device_observe import DeviceObservation, observe_there
from cycloid._device_rollout import advance_there
from cycloid._env_functions import observed_names
from cycloid._env_spaces import set_spaces
from cycloid._observe import eyes_of
from cycloid._options import as_integer, as_names, as_text, check_one_of, is_integer, shown
from cycloid._system import System, check_system

_CUDA = 2  # a card's memory, in DLPack's numbers


def _tensor_of(what: str, value: Any) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise Error(f"{what} must return a tensor; got {shown(value)}")
    return value


class TensorSnapshot:
    """Environments at one moment, as the functions of a `TensorEnv` see them. By name it has the
    blocks of the state, at["qpos"] is (n, nq), and what was asked for with `sensors=`, where a
    sensor wins over a block of its name.

    states: (n, state_size). fresh: (n,) bool, where an episode begins here. Tensors on the device,
    which are not to be changed.
    """

    def __init__(
        self,
        places: Mapping[str, slice],
        states: torch.Tensor,
        fresh: torch.Tensor,
        measured: DeviceObservation | None = None,
    ) -> None:
        self._places, self.states, self.fresh = places, states, fresh
        self._measured = measured

    def __getitem__(self, name: str) -> torch.Tensor:
        """(n, ...): a block of the state, a sensor or a field, in its own shape."""
        if self._measured and name in self._measured.slices:
            return self._measured[name]
        if name not in self._places:
            known = [*self._places, *(self._measured.slices if self._measured else ())]
            hint = _core.did_you_mean(as_text(name), known)
            raise Error(
                f'a snapshot on a device has no "{as_text(name)}"{hint}: it has blocks of the '
                "state and what sensors= names"
            )
        return self.states[:, self._places[name]]

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        return f"<TensorSnapshot of {len(self)} environments: {', '.join(self._places)}>"


class TensorEnv(gymnasium.vector.VectorEnv):
    """Environments of one System on a device, stepped together, with tensors of torch that stay
    there: what `VectorEnv(system, num_envs, device="cuda")` makes of a System that was loaded with
    device="cuda".

    reward, observation, terminated, info: as of `VectorEnv`, with a `TensorSnapshot` and tensors in
    the place of arrays; observation may also be names. sensors: of what is measured besides, as
    `cycloid.observe` shows it on a device. reset: of (generator,
    n), a torch.Generator of the device and a number, start states (n, state_size); or one state;
    None for the system's own. frame_skip, max_episode_steps, action_space, observation_space,
    params: as there.

    Environments that end are reset within the step (AutoresetMode.SAME_STEP): infos["final_obs"]
    (num_envs, k) has the observations of before, infos["_final_obs"] says whose. Start states are
    drawn for all in every step, and taken where an episode ended; one that is taken and not finite
    is an Error at once. What `info` says is of the end of the step. An environment whose physics,
    observation or reward is not finite is terminated at its last finite state with reward 0, and
    infos["diverged"] says so.

    >>> import torch
    >>> import cycloid as cy
    >>> import cycloid.gym
    >>> system = cy.systems.pendulum(device="host", dtype="float32")   # "cuda", where there is one
    >>> env = cycloid.gym.VectorEnv(
    ...     system, 16, device="host", frame_skip=5, max_episode_steps=200,
    ...     reward=lambda before, actions, after: -torch.cos(after["angle"][:, 0]),
    ...     reset=lambda generator, n: 2 * torch.rand((n, 2), generator=generator) - 1)
    >>> observations, infos = env.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = env.step(torch.zeros((16, 1)))
    >>> type(rewards).__name__, observations.shape, bool(terminated.any())
    ('Tensor', torch.Size([16, 2]), False)
    """

    def __init__(
        self,
        system: System,
        num_envs: int,
        *,
        device: str,
        reward: Callable[[TensorSnapshot, torch.Tensor, TensorSnapshot], Any] | None = None,
        observation: Callable[[TensorSnapshot], torch.Tensor] | str | Sequence[str] | None = None,
        terminated: Callable[[TensorSnapshot], torch.Tensor] | None = None,
        reset: Any = None,
        info: Callable[[TensorSnapshot], Mapping[str, torch.Tensor]] | None = None,
        sensors: str | Sequence[str] = (),
        frame_skip: int = 1,
        max_episode_steps: int | None = None,
        action_space: Box | None = None,
        observation_space: Box | None = None,
        params: Any = None,
        **others: Any,
    ) -> None:
        check_system(system)
        check_one_of(device, ("cuda", "host"), "device")
        _refuse(others)
        self.system, self.num_envs = system, as_integer(num_envs, "num_envs", 1)
        if system.device == "cpu":
            raise Error(f'the System runs on the CPU: load it with device="{device}"')
        on_card = _core.device_memory_kind(system._core) == _CUDA
        if on_card != (device == "cuda"):
            raise Error(f'device="{device}": the System runs on {system.device}')
        self.device = torch.device("cuda:0" if on_card else "cpu")
        self.dtype = torch.float32 if system.dtype == np.float32 else torch.float64
        self.frame_skip = as_integer(frame_skip, "frame_skip", 1)
        self.max_episode_steps = max_episode_steps
        if max_episode_steps is not None:
            self.max_episode_steps = as_integer(max_episode_steps, "max_episode_steps", 1)
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = None
        self._params = params
        self._reward, self._terminated, self._info = reward, terminated, info
        names = observed_names(observation)
        self._observation = observation if callable(observation) else _shown(names)
        self._places = system.state_slices
        asked = (*as_names(sensors, "sensors"), *(n for n in names if n not in self._places))
        self._sensors = tuple(dict.fromkeys(asked))
        self._init = self._tensor(system.initial_state())
        self._reset = reset if callable(reset) else self._as_start(reset)
        self.generator = torch.Generator(self.device)
        row = self._observation(self._snapshot(self._init[None], True))
        if row.ndim != 2 or len(row) != 1:
            raise Error(
                "observation must return a tensor (n, k), here of n = 1 environments; "
                f"got shape {tuple(row.shape)}"
            )
        self._observed = row.shape[1]
        set_spaces(self, system, self._observed, action_space, observation_space)
        self._now: TensorSnapshot | None = None  # before the first reset
        self._seen = torch.zeros(0)
        self._steps = torch.zeros(self.num_envs, dtype=torch.int64, device=self.device)

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.as_tensor(values, dtype=self.dtype, device=self.device)

    def _snapshot(
        self, states: torch.Tensor, fresh: Any, inputs: torch.Tensor | None = None
    ) -> TensorSnapshot:
        """fresh: of each, or of all."""
        if isinstance(fresh, bool):
            fresh = torch.full((len(states),), fresh, device=self.device)
        measured = None
        if self._sensors:
            observer, layout = eyes_of(self.system, self._sensors)
            measured = observe_there(
                self.system, states, inputs, observer, layout, self._params, 0.0
            )
        return TensorSnapshot(self._places, states, fresh, measured)

    def _as_start(self, reset: Any) -> Callable[[torch.Generator, int], torch.Tensor]:
        state = self._init if reset is None else self._tensor(reset)
        if state.shape != (self.system.state_size,):
            raise Error(
                f"reset must be a function of (generator, n) or a state of shape "
                f"({self.system.state_size},), {self.system._meaning}; "
                f"got shape {tuple(state.shape)}"
            )
        return lambda generator, n: state.expand(n, -1)

    # ---- resets -----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """Begins new episodes in all environments: observations (num_envs, k) and infos. seed: of
        `generator`, which draws the start states; None goes on with it."""
        self._check_open()
        if options:
            raise Error("options: environments on a device are reset all at once")
        if seed is not None:
            if not is_integer(seed):
                raise TypeError(f"seed: expected None or an int; got {shown(seed)}")
            self.generator.manual_seed(as_integer(seed, "seed", 0, 2**63 - 1))
        begun = self._snapshot(self._starts(), True)
        self._seen, self._now = self._observe_starts(begun), begun
        self._steps.zero_()
        return self._seen, {} if self._info is None else dict(self._info(self._now))

    def _starts(self) -> torch.Tensor:
        states = _tensor_of("reset", self._reset(self.generator, self.num_envs))
        wanted = (self.num_envs, self.system.state_size)
        if tuple(states.shape) != wanted:
            raise Error(f"reset: expected states of shape {wanted}; got {tuple(states.shape)}")
        return states.to(self.dtype)

    def _observe_starts(self, begun: TensorSnapshot) -> torch.Tensor:
        """Observes; refuses starts that are not finite. Asks the device."""
        seen = self._observe(begun)
        for numbers, what in (
            (begun.states, "a state"), (seen, "the observation of a start state"),
        ):  # fmt: skip
            if bool((begun.fresh & ~torch.isfinite(numbers).all(1)).any()):
                raise Error(f"reset: {what} is not finite")
        return seen

    # ---- steps ------------------------------------------------------------------------------

    def step(
        self, actions: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Takes an action (num_envs, input_size) in each environment: observations (num_envs, k),
        rewards, terminated and truncated (num_envs,), infos; tensors on the device.
        """
        before = self._ready()
        actions = self._as_actions(actions)
        states, failed = self._move(before, actions)
        after = self._snapshot(states, False, actions)
        rewards, extra = self._worth(before, actions, after)
        seen, terminated = self._observe(after), self._ends(after)
        infos = {**({} if self._info is None else self._info(after)), **extra}
        # A sum is finite only if its terms are.
        bad = failed | ~torch.isfinite(seen.sum(dim=1) + rewards)
        seen = torch.where(bad[:, None], self._seen, seen)
        states = torch.where(bad[:, None], before.states, states)
        rewards, terminated = rewards.masked_fill(bad, 0), terminated | bad
        steps, most = self._steps + 1, self.max_episode_steps
        truncated = torch.zeros_like(bad) if most is None else steps >= most
        done = terminated | truncated
        infos.update(diverged=bad, final_obs=seen, _final_obs=done)
        begun = self._snapshot(
            torch.where(done[:, None], self._starts(), states), done,
            actions.masked_fill(done[:, None], 0),
        )  # fmt: skip
        seen = torch.where(done[:, None], self._observe_starts(begun), seen)
        # Together, now that nothing can fail: an error leaves the environments where they were.
        self._steps, self._seen, self._now = steps.masked_fill(done, 0), seen, begun
        return self._seen, rewards, terminated, truncated, infos

    def _move(
        self, before: TensorSnapshot, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The states after a step, and which environments failed."""
        states, report = advance_there(
            self.system, before.states, actions, self.frame_skip, self._params
        )
        failed = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        if report.failed:
            failed[torch.tensor([f.environment for f in report.failed], device=self.device)] = True
        return states, failed

    def _observe(self, at: TensorSnapshot) -> torch.Tensor:
        seen = _tensor_of("observation", self._observation(at)).to(self.dtype)
        wanted = (len(at), self._observed)
        if tuple(seen.shape) != wanted:
            raise Error(f"observation must return a tensor {wanted}; got {tuple(seen.shape)}")
        return seen

    def _worth(
        self, before: TensorSnapshot, actions: torch.Tensor, after: TensorSnapshot
    ) -> tuple[torch.Tensor, Mapping[str, torch.Tensor]]:
        if self._reward is None:
            return torch.zeros(self.num_envs, dtype=self.dtype, device=self.device), {}
        rewards = self._reward(before, actions, after)
        rewards, extra = rewards if isinstance(rewards, tuple) else (rewards, {})
        return self._each(rewards, "reward").to(self.dtype), extra

    def _ends(self, after: TensorSnapshot) -> torch.Tensor:
        if self._terminated is None:
            return torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        return self._each(self._terminated(after), "terminated").to(torch.bool)

    def _each(self, values: Any, what: str) -> torch.Tensor:
        values = _tensor_of(what, values)
        if tuple(values.shape) != (self.num_envs,):
            raise Error(
                f"{what} must return a tensor ({self.num_envs},); got shape {tuple(values.shape)}"
            )
        return values

    def _as_actions(self, actions: Any) -> torch.Tensor:
        if not lies_there(self.system, actions):
            actions = self._tensor(np.asarray(actions))
        shape = (self.num_envs, self.system.input_size)
        if tuple(actions.shape) != shape:
            raise Error(f"actions must have shape {shape}; got {tuple(actions.shape)}")
        return actions.detach().to(self.dtype)

    # ---- the rest ---------------------------------------------------------------------------

    @property
    def states(self) -> torch.Tensor:
        """The states (num_envs, state_size), a copy."""
        return self._ready().states.clone()

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environments are closed")

    def _ready(self) -> TensorSnapshot:
        self._check_open()
        if self._now is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything else")
        return self._now


def _shown(names: Sequence[str]) -> Callable[[TensorSnapshot], torch.Tensor]:
    if not names:
        return lambda at: at.states
    return lambda at: torch.cat([at[name].reshape(len(at), -1) for name in names], dim=1)


def _refuse(others: Mapping[str, Any]) -> None:
    """Keywords of a `VectorEnv` that mean nothing here."""
    if others.pop("autoreset_mode", AutoresetMode.SAME_STEP) not in (
        AutoresetMode.SAME_STEP, AutoresetMode.SAME_STEP.value,
    ):  # fmt: skip
        raise Error('autoreset_mode: environments on a device know "SameStep"')
    for name, why in {
        "lagging": "a device sees the state after a step",
        "threads": "a device has its own",
        "render_mode": "there are no pictures",
    }.items():
        if others.pop(name, None):
            raise Error(f"{name}: {why}")
    for name in others:
        raise TypeError(f"a VectorEnv on a device has no keyword {name!r}")
