"""Rollouts of arrays that lie on the device of their System (_device_arrays.py)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import Shape, as_numbers, broadcast, check_trailing, from_rows
from cycloid._core import Error
from cycloid._device_arrays import DeviceArray, Framework, View, lies_there, to_host, view_of
from cycloid._options import (
    MOST_STEPS,
    as_integer,
    as_names,
    check_one_of,
    is_integer,
    saved_states,
)
from cycloid._results import Gradient, Report, SolverWarning
from cycloid._system import System


class DeviceTrajectory:
    """A rollout of arrays on the System's device, made by `rollout`.

    It reads x0 and controls where they lie, also in `pullback`: leave them as they are until then.

    states: (..., S, state_size), an array of the framework that x0 came from, on the device. steps,
    times: (S,), as of a Trajectory. report: what went wrong, and what was kept.
    """

    states: Any
    steps: np.ndarray
    times: np.ndarray
    report: Report

    def __init__(
        self,
        system: System,
        x0: Any,
        controls: Any,
        params: Any,
        save: tuple[str, list[int]],
        memory: tuple[str, int],
        t0: float,
        *,
        held: bool = False,
        tape: bool = True,
    ) -> None:
        from cycloid._rollout import as_report  # which knows this module

        self.system, dtype = system, system.dtype
        given = controls[1] if held else controls
        self._maker = Framework(system, x0 if lies_there(system, x0) else given)
        x0, self._x0_shape = shaped(system, x0, (system.state_size,), "x0", system._meaning)
        leads = {"x0": self._x0_shape[:-1]}
        self._controls_shape: Shape | None = None
        steps = controls
        if not held and is_integer(controls):
            steps, controls = as_integer(controls, "the number of steps", 1, MOST_STEPS), None
        elif held:
            steps, controls = controls
        if controls is not None:
            tail = (system.input_size,) if held else (-1, system.input_size)
            controls, shape = shaped(system, controls, tail, "controls", "or be a number of steps")
            self._controls_shape = shape
            leads["controls"] = shape[: len(shape) - len(tail)]
            steps = steps if held else shape[-2]
        self._take_params(params)
        if self._params is not None:
            leads["params"] = self._params.shape[:-1]
        self._lead, self._steps, self._held = broadcast(leads), steps, held
        n = math.prod(self._lead)
        # Views keep the arrays alive, and unchanged if nobody changes them.
        self._views, count = rows_there(
            system, self._maker, self._lead, x0, controls, 1 if held else 2
        )
        params = param_rows(self._params, self._lead)
        made = DeviceArray(system, (n, saved_states(save, steps), system.state_size), dtype)
        self._core = getattr(_core, f"device_rollout_{system._precision}")(
            system._core, n, steps, self._views[0].address,
            self._views[1].address if count else 0, made._address, count,
            params,
            *save, *memory, t0, 0, held, tape,
        )  # fmt: skip
        self.steps, self.times = self._core.steps, self._core.times
        self.report = as_report(self._core.report)
        self._made = made
        self.states = self._maker.give(made, (*self._lead, len(self.steps), system.state_size))

    def _take_params(self, params: Any) -> None:
        self._params, self._named_shapes = packed_params(self.system, params)
        named = params if isinstance(params, Mapping) else {"": params}
        there = {k: v for k, v in named.items() if lies_there(self.system, v)}
        self._params_from = {k: Framework(self.system, v) for k, v in there.items()}
        self._dtypes = {k: view_of(self.system, v, k).dtype for k, v in there.items()}

    def pullback(
        self,
        states_bar: Any,
        *,
        wrt: Any = ("x0", "controls", "params"),
        failed: str = "raise",
    ) -> Gradient:
        """The gradient of a loss, given its derivative with respect to `states`, an array shaped
        like them, on the device or not. wrt, failed: as in `Trajectory.pullback`. x0 and controls
        come as arrays of the framework, on the device; parameters go through this machine, and come
        as they were given: NumPy arrays, or in the framework and dtype of what lay there. There is
        no x0_tangent.
        """
        system, dtype, lead = self.system, self.system.dtype, self._lead
        wrt = as_names(wrt, "wrt")
        for name in wrt:
            check_one_of(name, ("x0", "controls", "params"), "wrt")
        check_one_of(failed, ("raise", "skip"), "failed")
        if "params" in wrt:
            for name in self._named_shapes or ():
                system.parameters.check_differentiable(name)
        n, shape = math.prod(lead), tuple(self.states.shape)
        if lies_there(system, states_bar):
            given = view_of(system, states_bar, "states_bar").shape
        else:
            states_bar = as_numbers(states_bar, dtype, "states_bar")
            given = states_bar.shape
        if given != shape:
            raise Error(f"states_bar must be shaped like states, {shape}; got {given}")
        bar = self._maker.rows(states_bar, lead, 2, dtype, "states_bar")
        view = view_of(system, bar, "states_bar")
        x_bar = DeviceArray(system, (n, system.state_size), dtype) if "x0" in wrt else None
        u_bar = None
        if "controls" in wrt:
            u_bar = DeviceArray(system, (n, self._steps, system.input_size), dtype)
        p_bar = self._core.pullback(
            view.address, 0 if x_bar is None else x_bar._address,
            u_bar._address if u_bar is not None and u_bar.size else 0,
            "params" in wrt, failed == "skip", 0,
        )  # fmt: skip
        x0 = controls = None
        if x_bar is not None:
            x0 = self._maker.summed(x_bar, self._x0_shape, lead, 1)
        if u_bar is not None:
            controls = self._controls_bar(u_bar)
        params = self._params_bar(p_bar) if "params" in wrt else None
        return Gradient(x0, None, controls, params, 0, 0.0)

    def _controls_bar(self, made: DeviceArray) -> Any:
        system, shape = self.system, self._controls_shape
        if self._held:
            raise Error("inputs that are held have no gradient here")
        if shape is None:
            shape = (self._steps, system.input_size)
        return self._maker.summed(made, shape, self._lead, 2)

    def _params_bar(self, rows: np.ndarray) -> Any:
        registry, lead, shapes = self.system.parameters, self._lead, self._named_shapes
        if self._params is None:
            return from_rows(rows, (registry.size,), lead, 1)
        if shapes is None:
            return self._back("", from_rows(rows, self._params.shape, lead, 1))
        rows, bars = rows.reshape((-1, registry.size)), {}
        for name, shape in shapes.items():
            p = registry.info(name)
            own = rows[:, p.offset : p.offset + p.size].reshape((len(rows), *p.shape))
            one = len(rows) == 1
            bar = own.reshape(shape).copy() if one else from_rows(own, shape, lead, len(p.shape))
            bars[name] = self._back(name, bar)
        return bars

    def _back(self, name: str, bar: np.ndarray) -> Any:
        """To where the parameter came from."""
        maker = self._params_from.get(name)
        if maker is None:
            return bar
        made = DeviceArray.of(self.system, bar.astype(self._dtypes[name]))
        return maker.give(made, bar.shape)

    def __repr__(self) -> str:
        lead = f", batch {self._lead}" if self._lead else ""
        wrong = "".join(
            f", {len(rows)} {name.upper()}"
            for name in ("failed", "unsolved", "crowded")
            if (rows := getattr(self.report, name))
        )
        return (
            f"<DeviceTrajectory of {self.system.name} on {self.system.device}: {self._steps} "
            f"step{'' if self._steps == 1 else 's'}{lead}, {len(self.steps)} saved{wrong}>"
        )


def packed_params(system: System, params: Any) -> tuple[np.ndarray | None, Any]:
    """Parameters on this machine, packed, and the shapes of those that were named."""
    if params is None:
        return None, None
    registry = system.parameters
    if isinstance(params, Mapping):
        there = {k for k, v in params.items() if lies_there(system, v)}
        return registry._packed(
            {k: to_host(system, v, k) if k in there else v for k, v in params.items()}
        )
    if lies_there(system, params):
        params = to_host(system, params, "params")
    params = as_numbers(params, np.float64, "params")
    check_trailing(params, (registry.size,), "params", "one number per parameter")
    return params, None


def param_rows(params: np.ndarray | None, lead: Shape) -> np.ndarray | None:
    """One row for all, or one for each environment."""
    if params is None:
        return None
    if math.prod(params.shape[:-1]) > 1:
        params = np.broadcast_to(params, (*lead, params.shape[-1]))
    return np.ascontiguousarray(params).reshape((-1, params.shape[-1]))


def rows_there(
    system: System, maker: Framework, lead: Shape, x0: Any, controls: Any, trailing: int
) -> tuple[list[View], int]:
    """Where rows of x0 and of controls, arrays that know their shape or None, lie on the device,
    and how many rows of controls there are."""
    n, dtype = math.prod(lead), system.dtype
    rows = maker.rows(x0, lead, 1, dtype, "x0")
    if math.prod(view_of(system, rows, "x0").shape[:-1]) != n:
        rows = maker.repeated(rows, n, dtype)
    views = [_readable(system, rows, "x0")]
    if controls is None or not system.input_size:
        return views, 0
    inputs = maker.rows(controls, lead, trailing, dtype, "controls")
    views.append(_readable(system, inputs, "controls"))
    return views, 1 if math.prod(views[1].shape[:-trailing]) == 1 else n


def arrays_of_step(
    system: System, x: Any, u: Any, params: Any
) -> tuple[Framework, list[View], int, np.ndarray | None, Shape]:
    """The arrays of one step there: their framework, x's and u's places with the number of u's rows
    (rows_there), the parameters' rows, and the leading shape of all."""
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
    return maker, views, count, param_rows(packed, lead), lead


def _readable(system: System, rows: Any, what: str) -> View:
    view, name = view_of(system, rows, what), system.dtype.name
    if view.dtype != name:  # of a framework without it
        raise Error(f"{what} holds {view.dtype}, and the System {name}: make it so there")
    return view


def shaped(system: System, value: Any, tail: Shape, what: str, meaning: str) -> tuple[Any, Shape]:
    """The array, and its shape; of this machine, as one of NumPy's."""
    if not lies_there(system, value):
        value = as_numbers(value, system.dtype, what)
        check_trailing(value, tail, what, meaning)
        return value, value.shape
    if hasattr(value, "shape"):
        check_trailing(value, tail, what, meaning)
        return value, tuple(int(d) for d in value.shape)
    view = view_of(system, value, what)
    check_trailing(np.broadcast_to(np.float32(0), view.shape), tail, what, meaning)
    return value, view.shape


def advance_there(
    system: System, x: Any, u: Any, steps: int, params: Any, t0: float = 0.0
) -> tuple[Any, Report]:
    """The states after some steps under inputs that are held, of arrays on the device."""
    controls = (steps, u)
    run = DeviceTrajectory(
        system, x, controls, params, ("last", []), ("all", 0), t0, held=True, tape=False
    )
    return run._maker.give(run._made, (*run._lead, system.state_size)), run.report


def step_there(system: System, x: Any, u: Any, params: Any, t: float) -> Any:
    """`step` of arrays on the device."""
    held = u is not None
    run = DeviceTrajectory(
        system, x, (1, u) if held else 1, params, ("last", []), ("all", 0), t, held=held, tape=False
    )
    warning = run._core.step_warning(False)
    if warning:
        warnings.warn(warning, SolverWarning, stacklevel=3)
    return run._maker.give(run._made, (*run._lead, system.state_size))
