"""Gymnasium's MuJoCo environments, version 5, with our physics.

Observations, rewards, ends of episodes, infos and random starts are those that Gymnasium defines.
Where it reads MjData after mj_step, derived fields are one evaluation behind the state, and so they
are here (`lagging` in VectorEnv).
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from cycloid._robot import Robot
from cycloid._snapshot import Snapshot

Range = tuple[float, float]
Info = dict[str, np.ndarray]


@dataclasses.dataclass(kw_only=True)
class Task:
    """What one of Gymnasium's environments is, with its keywords as fields."""

    reset_noise_scale: float = 0.1
    xml_file: str
    frame_skip: int
    normal_velocities: ClassVar[bool] = False  # at the start: normal, or uniform like positions

    def bind(self, system: Robot) -> None:
        self._init = system.initial_state().astype(np.float64)
        self._nq, self._nv = system.nq, system.nv
        self._dt = system.timestep * self.frame_skip

    @property
    def sensors(self) -> tuple[str, ...]:
        """What is read besides the state."""
        return ()

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """A random start; the numbers are drawn in Gymnasium's order."""
        scale = self.reset_noise_scale
        qpos = rng.uniform(-scale, scale, self._nq)
        if self.normal_velocities:
            qvel = scale * rng.standard_normal(self._nv)
        else:
            qvel = rng.uniform(-scale, scale, self._nv)
        return self._init + np.concatenate([qpos, qvel])

    def info(self, at: Snapshot) -> Info:
        return {}

    def terminated(self, at: Snapshot) -> np.ndarray:
        return np.zeros(len(at), bool)


@dataclasses.dataclass(kw_only=True)
class Runner(Task):
    """A robot that is to go far in x, at little cost."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    exclude_current_positions_from_observation: bool = True
    velocity_limit: ClassVar[float] = np.inf  # of the observation

    def observation(self, at: Snapshot) -> np.ndarray:
        return np.concatenate(self._position_and_velocity(at, skipped=1), axis=1)

    def _position_and_velocity(self, at: Snapshot, skipped: int) -> list[np.ndarray]:
        limit = self.velocity_limit
        position = at["qpos"][:, skipped * bool(self.exclude_current_positions_from_observation) :]
        velocity = at["qvel"] if limit == np.inf else np.clip(at["qvel"], -limit, limit)
        return [position, velocity]

    def reward(self, before: Snapshot, actions: np.ndarray, after: Snapshot) -> Any:
        velocity = (after["qpos"][:, 0] - before["qpos"][:, 0]) / self._dt
        forward, cost = self.forward_reward_weight * velocity, self._control_cost(actions)
        info = {"x_velocity": velocity, "reward_forward": forward, "reward_ctrl": -cost}
        return forward - cost, info

    def _control_cost(self, actions: np.ndarray) -> np.ndarray:
        return self.ctrl_cost_weight * np.einsum("nu,nu->n", actions, actions)

    def info(self, at: Snapshot) -> Info:
        return {"x_position": at["qpos"][:, 0]}


@dataclasses.dataclass(kw_only=True)
class HalfCheetah(Runner):
    """Gymnasium's HalfCheetah-v5."""

    xml_file: str = "half_cheetah.xml"
    frame_skip: int = 5
    ctrl_cost_weight: float = 0.1
    normal_velocities: ClassVar[bool] = True


@dataclasses.dataclass(kw_only=True)
class FallingRunner(Runner):
    """... and that is not to fall."""

    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True

    def healthy(self, at: Snapshot) -> np.ndarray:
        raise NotImplementedError

    def terminated(self, at: Snapshot) -> np.ndarray:
        return ~self.healthy(at) & bool(self.terminate_when_unhealthy)

    def reward(self, before: Snapshot, actions: np.ndarray, after: Snapshot) -> Any:
        reward, info = super().reward(before, actions, after)
        survive = self.healthy(after) * float(self.healthy_reward)
        return reward + survive, {**info, "reward_survive": survive}


@dataclasses.dataclass(kw_only=True)
class Walker2d(FallingRunner):
    """Gymnasium's Walker2d-v5."""

    xml_file: str = "walker2d_v5.xml"
    frame_skip: int = 4
    healthy_z_range: Range = (0.8, 2.0)
    healthy_angle_range: Range = (-1.0, 1.0)
    reset_noise_scale: float = 5e-3
    velocity_limit: ClassVar[float] = 10.0

    def healthy(self, at: Snapshot) -> np.ndarray:
        height, angle = at["qpos"][:, 1], at["qpos"][:, 2]
        return _within(height, self.healthy_z_range) & _within(angle, self.healthy_angle_range)

    def info(self, at: Snapshot) -> Info:
        return {**super().info(at), "z_distance_from_origin": at["qpos"][:, 1] - self._init[1]}


@dataclasses.dataclass(kw_only=True)
class Hopper(Walker2d):
    """Gymnasium's Hopper-v5."""

    xml_file: str = "hopper.xml"
    healthy_state_range: Range = (-100.0, 100.0)
    healthy_z_range: Range = (0.7, float("inf"))
    healthy_angle_range: Range = (-0.2, 0.2)

    def healthy(self, at: Snapshot) -> np.ndarray:
        return super().healthy(at) & _within(at.states[:, 2:], self.healthy_state_range).all(axis=1)


@dataclasses.dataclass(kw_only=True)
class SpatialRunner(FallingRunner):
    """A robot in space, with a price on contact forces."""

    frame_skip: int = 5
    contact_cost_weight: float
    healthy_z_range: Range
    include_cfrc_ext_in_observation: bool = True

    def _place(self, at: Snapshot) -> np.ndarray:
        """(n, 2): x and y of what is to go far [m]."""
        raise NotImplementedError

    def _contact_forces(self, at: Snapshot) -> np.ndarray:
        """(n, bodies, 6). Gymnasium computes them in steps only: they begin at zero."""
        forces = at["cfrc_ext"]
        if at.fresh.any():
            forces = np.where(at.fresh[:, None, None], 0, forces)
        return forces

    def _contact_cost(self, at: Snapshot) -> np.ndarray:
        forces = self._contact_forces(at)
        return self.contact_cost_weight * np.einsum("nbk,nbk->n", forces, forces)

    def reward(self, before: Snapshot, actions: np.ndarray, after: Snapshot) -> Any:
        velocity = (self._place(after) - self._place(before)) / self._dt
        forward = self.forward_reward_weight * velocity[:, 0]
        survive = self.healthy(after) * float(self.healthy_reward)
        control, contact = self._control_cost(actions), self._contact_cost(after)
        return forward + survive - (control + contact), {
            "x_velocity": velocity[:, 0],
            "y_velocity": velocity[:, 1],
            "reward_forward": forward,
            "reward_ctrl": -control,
            "reward_contact": -contact,
            "reward_survive": survive,
        }

    def info(self, at: Snapshot) -> Info:
        x, y = at["qpos"][:, 0], at["qpos"][:, 1]
        return {"x_position": x, "y_position": y, "distance_from_origin": np.sqrt(x * x + y * y)}


@dataclasses.dataclass(kw_only=True)
class Ant(SpatialRunner):
    """Gymnasium's Ant-v5."""

    xml_file: str = "ant.xml"
    ctrl_cost_weight: float = 0.5
    contact_cost_weight: float = 5e-4
    main_body: int | str = 1
    healthy_z_range: Range = (0.2, 1.0)
    contact_force_range: Range = (-1.0, 1.0)
    normal_velocities: ClassVar[bool] = True

    @property
    def sensors(self) -> tuple[str, ...]:
        return self._body, "cfrc_ext"

    @property
    def _body(self) -> str:
        main = self.main_body
        return f"xpos:{main}" if isinstance(main, str) else f"xpos:#{main}"

    def _place(self, at: Snapshot) -> np.ndarray:
        return at[self._body][..., :2].reshape((len(at), 2))

    def _contact_forces(self, at: Snapshot) -> np.ndarray:
        return np.clip(super()._contact_forces(at), *self.contact_force_range)

    def healthy(self, at: Snapshot) -> np.ndarray:
        low, high = self.healthy_z_range
        return (low <= at["qpos"][:, 2]) & (at["qpos"][:, 2] <= high)

    def observation(self, at: Snapshot) -> np.ndarray:
        parts = self._position_and_velocity(at, skipped=2)
        if self.include_cfrc_ext_in_observation:
            parts.append(_without_first(self._contact_forces(at)))
        return np.concatenate(parts, axis=1)


@dataclasses.dataclass(kw_only=True)
class Humanoid(SpatialRunner):
    """Gymnasium's Humanoid-v5."""

    xml_file: str = "humanoid.xml"
    forward_reward_weight: float = 1.25
    ctrl_cost_weight: float = 0.1
    contact_cost_weight: float = 5e-7
    contact_cost_range: Range = (-np.inf, 10.0)
    healthy_reward: float = 5.0
    healthy_z_range: Range = (1.0, 2.0)
    reset_noise_scale: float = 1e-2
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True

    @property
    def sensors(self) -> tuple[str, ...]:
        # The centre of mass of the world's subtree is that of all bodies.
        shown = [name for name in ("cinert", "cvel", "qfrc_actuator") if self._includes(name)]
        return ("subtree_com:#0", "ten_length", "ten_velocity", "cfrc_ext", *shown)

    def _includes(self, name: str) -> bool:
        return bool(getattr(self, f"include_{name}_in_observation"))

    def _place(self, at: Snapshot) -> np.ndarray:
        return at["subtree_com:#0"].reshape((len(at), 3))[:, :2]

    def _contact_cost(self, at: Snapshot) -> np.ndarray:
        return np.clip(super()._contact_cost(at), *self.contact_cost_range)

    def healthy(self, at: Snapshot) -> np.ndarray:
        return _within(at["qpos"][:, 2], self.healthy_z_range)

    def observation(self, at: Snapshot) -> np.ndarray:
        parts = self._position_and_velocity(at, skipped=2)
        parts += [_without_first(at[n]) for n in ("cinert", "cvel") if self._includes(n)]
        if self.include_qfrc_actuator_in_observation:
            parts.append(at["qfrc_actuator"][:, 6:])
        if self.include_cfrc_ext_in_observation:
            parts.append(_without_first(self._contact_forces(at)))
        return np.concatenate(parts, axis=1)

    def info(self, at: Snapshot) -> Info:
        tendons = {"tendon_length": at["ten_length"], "tendon_velocity": at["ten_velocity"]}
        return {**super().info(at), **tendons}


@dataclasses.dataclass(kw_only=True)
class InvertedPendulum(Task):
    """Gymnasium's InvertedPendulum-v5."""

    xml_file: str = "inverted_pendulum.xml"
    frame_skip: int = 2
    reset_noise_scale: float = 0.01

    def observation(self, at: Snapshot) -> np.ndarray:
        return at.states

    def terminated(self, at: Snapshot) -> np.ndarray:
        return np.abs(at.states[:, 1]) > 0.2

    def reward(self, before: Snapshot, actions: np.ndarray, after: Snapshot) -> Any:
        survive = (~self.terminated(after)).astype(np.int64)
        return survive, {"reward_survive": survive}


@dataclasses.dataclass(kw_only=True)
class InvertedDoublePendulum(Task):
    """Gymnasium's InvertedDoublePendulum-v5."""

    xml_file: str = "inverted_double_pendulum.xml"
    frame_skip: int = 5
    healthy_reward: float = 10.0
    normal_velocities: ClassVar[bool] = True

    @property
    def sensors(self) -> tuple[str, ...]:
        return "site_xpos:#0", "qfrc_constraint"

    def _tip(self, at: Snapshot) -> np.ndarray:
        return at["site_xpos:#0"].reshape((len(at), 3))

    def observation(self, at: Snapshot) -> np.ndarray:
        qpos, qvel = at["qpos"], np.clip(at["qvel"], -10, 10)
        force = np.clip(at["qfrc_constraint"][:, :1], -10, 10)
        parts = [qpos[:, :1], np.sin(qpos[:, 1:]), np.cos(qpos[:, 1:]), qvel, force]
        return np.concatenate(parts, axis=1)

    def terminated(self, at: Snapshot) -> np.ndarray:
        return self._tip(at)[:, 2] <= 1

    def reward(self, before: Snapshot, actions: np.ndarray, after: Snapshot) -> Any:
        tip, qvel = self._tip(after), after["qvel"]
        distance = 0.01 * tip[:, 0] ** 2 + (tip[:, 2] - 2) ** 2
        velocity = 1e-3 * qvel[:, 1] ** 2 + 5e-3 * qvel[:, 2] ** 2
        survive = ~self.terminated(after) * float(self.healthy_reward)
        return survive - distance - velocity, {
            "reward_survive": survive,
            "distance_penalty": -distance,
            "velocity_penalty": -velocity,
        }


def _within(values: np.ndarray, bounds: Range) -> np.ndarray:
    return (bounds[0] < values) & (values < bounds[1])


def _without_first(values: np.ndarray) -> np.ndarray:
    """(n, k): of (n, bodies, ...) all but the world, flat."""
    return values[:, 1:].reshape((len(values), -1))
