"""Observations of arrays that lie on the device of their System (_device_arrays.py)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cycloid import _core
from cycloid._core import Error
from cycloid._device_arrays import DeviceArray
from cycloid._device_rollout import arrays_of_step
from cycloid._system import System

if TYPE_CHECKING:
    from cycloid._observe import Layout


class DeviceObservation:
    """What arrays on the System's device show, made by `observe`.

    values: (..., n), an array of the framework that x or u came from, on the device, in the
    System's precision. names, slices: as of an Observation. It has no pullback.
    """

    values: Any
    names: tuple[str, ...]
    slices: dict[str, slice]

    def __init__(self, values: Any, layout: Layout) -> None:
        self.values, self._layout = values, layout
        self.names, self.slices = layout.names, dict(layout.slices)

    def pullback(self, values_bar: Any) -> Any:
        """Raises Error: gradients of observations are the CPU's."""
        raise Error("gradients of observations are the CPU's: observe NumPy arrays")

    def __getitem__(self, name: str) -> Any:
        """The numbers of one name, as of an Observation."""
        return self._layout.take(self.values, name)

    def __repr__(self) -> str:
        return f"<DeviceObservation: {len(self.slices)} names, {len(self.names)} numbers>"


def observe_there(
    system: System, x: Any, u: Any, observer: Any, layout: Layout, params: Any, t: float
) -> DeviceObservation:
    """`observe` of arrays on the device."""
    maker, views, count, rows, lead = arrays_of_step(system, x, u, params)
    n = math.prod(lead)
    made = DeviceArray(system, (n, observer.size), system.dtype)
    getattr(_core, f"device_observe_{system._precision}")(
        observer, n, views[0].address, views[1].address if count else 0, count,
        rows, made._address, t,
    )  # fmt: skip
    return DeviceObservation(maker.give(made, (*lead, observer.size)), layout)
