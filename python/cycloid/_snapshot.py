"""What the functions of an environment see, and how their answers become infos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import Shape
from cycloid._core import Error
from cycloid._options import as_names, as_text
from cycloid._system import System

Rows = np.ndarray | None  # indices of environments; None for all


class Snapshot:
    """Environments at one moment, as the functions of a `VectorEnv` see them. By name it has the
    blocks of the state and what was asked for with `sensors=`, where a sensor wins over a block of
    its name.

    states: (n, state_size). fresh: (n,) bool, where an episode begins here. All arrays are
    read-only: copy what is to be changed.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> import cycloid.gym
    >>> env = cycloid.gym.VectorEnv(cy.systems.pendulum(), 3,
    ...     reward=lambda before, actions, after: -after["angle"][:, 0] ** 2)
    >>> observations, infos = env.reset(seed=0)
    >>> env.step(np.zeros((3, 1)))[1].round(4)
    array([-0.9992, -0.9992, -0.9992])
    """

    def __init__(
        self, layout: Layout, states: np.ndarray, values: np.ndarray | None, fresh: np.ndarray
    ) -> None:
        self._layout, self._values = layout, values
        self.states, self.fresh = states, fresh
        for part in self._parts():
            part.flags.writeable = False

    def __getitem__(self, name: str) -> np.ndarray:
        """(n, ...): a block of the state, a sensor or a field, in its own shape."""
        place, shape, measured = self._layout.find(name)
        source = self._values if measured else self.states
        assert source is not None
        return source[:, place].reshape((len(source), *shape))

    def flat(self, names: Sequence[str]) -> np.ndarray:
        """(n, k): the numbers of these, side by side."""
        return np.concatenate([self[name].reshape((len(self), -1)) for name in names], axis=1)

    def __len__(self) -> int:
        return len(self.states)

    def take(self, rows: Rows) -> Snapshot:
        """These environments only; None for all."""
        if rows is None:
            return self
        values = None if self._values is None else self._values[rows]
        return Snapshot(self._layout, self.states[rows], values, self.fresh[rows])

    def replaced(self, rows: Rows, other: Snapshot) -> Snapshot:
        """This one with `other` in place of these environments."""
        if rows is None:
            return other
        merged = [np.copy(part) for part in self._parts()]
        for part, new in zip(merged, other._parts()):
            part[rows] = new
        states, fresh, *values = merged
        return Snapshot(self._layout, states, values[0] if values else None, fresh)

    def _parts(self) -> list[np.ndarray]:
        parts = [self.states, self.fresh, self._values]
        return [part for part in parts if part is not None]

    def shares(self, array: np.ndarray) -> bool:
        """Whether `array` may lie in the memory of this snapshot."""
        return any(np.may_share_memory(own, array) for own in self._parts())

    def __repr__(self) -> str:
        names = ", ".join(self._layout.names)
        return f"<Snapshot of {len(self)} environments: {names}>"


class Layout:
    """Where a snapshot has what: blocks of the state, and what is measured. Of a block and a sensor
    with one name, the sensor is meant where the name is asked for, as in `observe`.
    """

    def __init__(self, system: System, sensors: Any) -> None:
        blocks = system.state_slices
        self._places: dict[str, tuple[slice, Shape, bool]] = {
            name: (place, (place.stop - place.start,), False) for name, place in blocks.items()
        }
        # A block of the state is at hand, unless something else has its name.
        self.measured = tuple(
            name
            for name in as_names(sensors, "sensors")
            if name not in blocks or _core.is_computed(system._core, name)
        )

    def measure(self, shapes: Mapping[str, tuple[slice, Shape]]) -> None:
        """Takes note of where the values of the measured names lie."""
        for name, (place, shape) in shapes.items():
            self._places[name] = (place, shape, True)

    @property
    def names(self) -> tuple[str, ...]:
        """All that can be asked for."""
        return tuple(self._places)

    def find(self, name: str) -> tuple[slice, Shape, bool]:
        if name not in self._places:
            hint = _core.did_you_mean(as_text(name), list(self._places))
            raise Error(f'a snapshot has no "{as_text(name)}"{hint}; name it in sensors=')
        return self._places[name]


def put(infos: dict[str, Any], part: Mapping[str, Any], rows: Rows, count: int) -> None:
    """Adds values of the environments `rows` of `count` to infos, with Gymnasium's masks: `_key`
    says which environments have the key.
    """
    if rows is not None and not rows.size:
        return
    for key, value in part.items():
        value = np.asarray(value)
        if rows is None:
            infos[key], infos[f"_{key}"] = np.array(value), np.ones(count, bool)
            continue
        if key not in infos:
            infos[key] = np.zeros((count, *value.shape[1:]), value.dtype)
            infos[f"_{key}"] = np.zeros(count, bool)
        elif infos[key].shape[1:] != value.shape[1:]:
            raise Error(
                f'infos: "{as_text(key)}" has the shape {infos[key].shape[1:]} of some '
                f"environments, and {value.shape[1:]} of others, that begin or go on"
            )
        # Environments that begin may say an int, and others a float.
        infos[key] = infos[key].astype(np.result_type(infos[key], value), copy=False)
        infos[key][rows] = value
        infos[f"_{key}"][rows] = True


def taken(part: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    """The values of some environments only."""
    return {key: np.asarray(value)[rows] for key, value in part.items()}
