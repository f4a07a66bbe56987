"""Jacobians of one step of arrays that lie on the device of their System (_device_arrays.py)."""

from __future__ import annotations

import math
from typing import Any

from cycloid import _core
from cycloid._arrays import broadcast
from cycloid._device_arrays import DeviceArray, Framework, lies_there
from cycloid._device_rollout import packed_params, param_rows, rows_there, shaped
from cycloid._system import System


def linearise_there(
    system: System, x: Any, u: Any, params: Any, t: float
) -> tuple[Any, Any, Any]:
    """A, B and the state after the step, of the framework that x or u came from."""
    maker = Framework(system, x if lies_there(system, x) else u)
    x, x_shape = shaped(system, x, (system.state_size,), "x", system._meaning)
    leads = {"x": x_shape[:-1]}
    if u is not None:
        u, u_shape = shaped(system, u, (system.input_size,), "u", "the inputs of one step")
        leads["u"] = u_shape[:-1]
    packed, _ = packed_params(system, params)
    if packed is not None:
        leads["params"] = packed.shape[:-1]
    lead = broadcast(leads)
    views, count = rows_there(system, maker, lead, x, u, 1)
    nt, n = system.tangent_size, math.prod(lead)
    tails = {"A": (nt, nt), "B": (nt, system.input_size), "next": (system.state_size,)}
    made = {k: DeviceArray(system, (n, *tail), system.dtype) for k, tail in tails.items()}
    getattr(_core, f"device_linearise_{system._precision}")(
        system._core, n, views[0].address, views[1].address if count else 0, count,
        param_rows(packed, lead), made["next"]._address, made["A"]._address,
        made["B"]._address if system.input_size else 0, t, 0,
    )  # fmt: skip
    A, B, after = (maker.give(made[k], (*lead, *tails[k])) for k in ("A", "B", "next"))
    return A, B, after
