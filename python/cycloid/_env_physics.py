"""How environments of one System move, and what is measured on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid._advance import advance
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._observe import observe
from cycloid._options import as_integer, as_threads
from cycloid._snapshot import Layout, Rows, Snapshot
from cycloid._system import System


class EnvPhysics:
    """Moves `count` environments, `frame_skip` time steps at once, and measures what `names` say.

    params: one row of parameters for all, or one each. lagging: see `advance`.
    """

    def __init__(
        self,
        system: System,
        count: int,
        names: Sequence[str],
        *,
        frame_skip: Any,
        lagging: Any,
        params: Any,
        threads: Any,
    ) -> None:
        self.system, self.count = system, count
        self.frame_skip = as_integer(frame_skip, "frame_skip", 1)
        self._lagging, self._threads = bool(lagging), threads
        as_threads(threads, 0)
        self._params = None if params is None else self._as_params(params)
        self.layout = Layout(system, names)
        if self.layout.measured:
            seen = observe(system, system.initial_state()[None], names=self.layout.measured)
            places = {name: (at, seen[name].shape[1:]) for name, at in seen.slices.items()}
            self.layout.measure(places)

    def _as_params(self, params: Any) -> np.ndarray:
        own, count = self.system.parameters, self.count
        flat = own.pack(params) if isinstance(params, Mapping) else params
        flat = as_numbers(flat, np.float64, "params")
        if flat.shape not in ((own.size,), (count, own.size)):
            raise Error(
                f"params must be a mapping, or have shape ({own.size},) or ({count}, {own.size}), "
                f"one row for each environment; got {flat.shape}"
            )
        return flat.copy()

    def _params_of(self, rows: Rows) -> np.ndarray | None:
        own = self._params
        return own if own is None or own.ndim == 1 or rows is None else own[rows]

    def begin(self, states: np.ndarray, rows: Rows) -> Snapshot:
        """The environments `rows` at the beginning of episodes, without inputs."""
        values = None
        if self.layout.measured:
            params = self._params_of(rows)
            values = observe(self.system, states, names=self.layout.measured, params=params).values
        return Snapshot(self.layout, states, values, np.ones(len(states), bool))

    def move(
        self, before: Snapshot, actions: np.ndarray, rows: Rows
    ) -> tuple[Snapshot, np.ndarray]:
        """The environments `rows` after a step, and which of them failed: (n,) bool."""
        out = advance(
            self.system,
            before.states,
            actions,
            self.frame_skip,
            names=self.layout.measured,
            params=self._params_of(rows),
            lagging=self._lagging,
            threads=self._threads,
        )
        failed = np.zeros(len(before), bool)
        failed[[failure.environment for failure in out.report.failed]] = True
        values = out.values if self.layout.measured else None
        return Snapshot(self.layout, out.states, values, np.zeros(len(before), bool)), failed
