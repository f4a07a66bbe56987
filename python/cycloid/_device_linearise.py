"""Jacobians of one step of arrays that lie on the device of their System (_device_arrays.py)."""

from __future__ import annotations

import math
from typing import Any

from cycloid import _core
from cycloid._device_arrays import DeviceArray
from cycloid._device_rollout import arrays_of_step
from cycloid._system import System


def linearise_there(
    system: System, x: Any, u: Any, params: Any, t: float
) -> tuple[Any, Any, Any]:
    """A, B and the state after the step, of the framework that x or u came from."""
    maker, views, count, rows, lead = arrays_of_step(system, x, u, params)
    nt, n = system.tangent_size, math.prod(lead)
    tails = {"A": (nt, nt), "B": (nt, system.input_size), "next": (system.state_size,)}
    made = {k: DeviceArray(system, (n, *tail), system.dtype) for k, tail in tails.items()}
    getattr(_core, f"device_linearise_{system._precision}")(
        system._core, n, views[0].address, views[1].address if count else 0, count,
        rows, made["next"]._address, made["A"]._address,
        made["B"]._address if system.input_size else 0, t, 0,
    )  # fmt: skip
    A, B, after = (maker.give(made[k], (*lead, *tails[k])) for k in ("A", "B", "next"))
    return A, B, after
