"""Rollouts and their gradients."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import (
    Shape,
    as_numbers,
    broadcast,
    check_memory,
    check_trailing,
    from_rows,
    to_rows,
)
from cycloid._core import Error
from cycloid._device_arrays import lies_there
from cycloid._device_rollout import DeviceTrajectory, step_there
from cycloid._gradient_mode import as_mode
from cycloid._options import (
    MOST_STEPS,
    as_integer,
    as_memory,
    as_names,
    as_real,
    as_save,
    as_threads,
    as_times,
    check_one_of,
    is_integer,
    kept_states,
    saved_states,
)
from cycloid._results import (
    Crowded,
    Events,
    Failure,
    Gradient,
    Report,
    SolverWarning,
    Unsolved,
)
from cycloid._system import System, check_system


class Batch:
    """The arguments of a call, checked and in rows, and the shapes that their gradients take.

    The rows may be the user's own memory: they go to the core, which copies them, and not further.
    """

    lead: Shape  # leading axes of the batch
    steps: int
    x0_shape: Shape
    controls_shape: Shape | None  # None for a number of steps
    params_shape: Shape | None  # of the vector; None for the defaults
    named_shapes: dict[str, Shape] | None  # of the values of a mapping
    rows: tuple[Any, Any, Any, int, Any]  # as the core takes them

    def __init__(self, system: System, x0: Any, controls: Any, params: Any, dtype: Any) -> None:
        self.system = system
        x0 = as_numbers(x0, dtype, "x0")
        check_trailing(x0, (system.state_size,), "x0", system._meaning)
        leads = {"x0": x0.shape[:-1]}
        self.x0_shape, self.controls_shape = x0.shape, None
        if is_integer(controls):
            self.steps, controls = as_integer(controls, "the number of steps", 1, MOST_STEPS), None
        else:
            controls = as_numbers(controls, dtype, "controls")
            check_trailing(
                controls, (-1, system.input_size), "controls", "or be a number of steps T"
            )
            self.controls_shape, self.steps = controls.shape, controls.shape[-2]
            leads["controls"] = controls.shape[:-2]
        params = self._take_params(params)
        if params is not None:
            leads["params"] = params.shape[:-1]
        self.lead = broadcast(leads)
        self.rows = self._rows(x0, controls, params)

    def _take_params(self, params: Any) -> np.ndarray | None:
        self.params_shape = self.named_shapes = None
        if params is None:
            return None
        registry = self.system.parameters
        if isinstance(params, Mapping):
            params, self.named_shapes = registry._packed(params)
        else:
            params = as_numbers(params, np.float64, "params")
            check_trailing(
                params,
                (registry.size,),
                "params",
                "one number per parameter, or be a mapping of names to values",
            )
        self.params_shape = params.shape
        return params

    def _rows(self, x0: Any, controls: Any, params: Any) -> tuple[Any, Any, Any, int, Any]:
        n = math.prod(self.lead)
        rows = to_rows(x0, self.lead, 1, "x0")
        if controls is not None:
            # A system without inputs takes none, but they may say how large the batch is.
            controls = (
                to_rows(controls, self.lead, 2, "controls") if self.system.input_size else None
            )
        if params is not None:
            params = to_rows(params, self.lead, 1, "params")
        if n > max(len(r) for r in (rows, controls, params) if r is not None):
            rows = np.repeat(rows, n, axis=0)
        return self.system._core, rows, controls, self.steps, params

    def params_bar(self, rows: np.ndarray) -> Any:
        """The gradient of the parameters, from its rows."""
        registry = self.system.parameters
        if self.params_shape is None:
            return from_rows(rows, (registry.size,), self.lead, 1)
        if self.named_shapes is None:
            return from_rows(rows, self.params_shape, self.lead, 1)
        bars: dict[str, np.ndarray] = {}
        if registry.size == 0:
            return bars
        rows = rows.reshape((-1, registry.size))
        for name, shape in self.named_shapes.items():
            p = registry.info(name)
            own = rows[:, p.offset : p.offset + p.size].reshape((len(rows), *p.shape))
            if len(rows) == 1:
                bars[name] = own.reshape(shape).copy()
            else:
                bars[name] = from_rows(own, shape, self.lead, len(p.shape))
        return bars


def as_report(report: dict[str, Any]) -> Report:
    """A report of the core."""
    for name, row in (("failed", Failure), ("unsolved", Unsolved), ("crowded", Crowded)):
        report[name] = [row(*values) for values in report[name]]
    return Report(**report)


class Trajectory:
    """A rollout, made by `rollout`. It keeps copies of what it was made from.

    states: (..., S, state_size), read-only. steps: (S,), which states these are; of states at given
    times, the steps that they lie in. times: (S,) [s], of the first environment where the time step
    varies. events: what happened on the way. report: what went wrong, and what was kept.
    """

    states: np.ndarray
    steps: np.ndarray
    times: np.ndarray
    events: Events
    report: Report

    def __init__(self, batch: Batch, core: Any) -> None:
        self._batch, self._core = batch, core
        self.steps, self.times = core.steps, core.times
        self.steps.flags.writeable = self.times.flags.writeable = False
        self.states = core.states.reshape((*batch.lead, self.steps.size, batch.system.state_size))
        events = core.events
        self.events = Events(
            events["environment"],
            events["step"],
            tuple(events["name"]),
            events["time"],
            np.array(events["grazing"], dtype=bool),
        )
        self.report = as_report(core.report)

    @property
    def system(self) -> System:
        """What was rolled out."""
        return self._batch.system

    @property
    def x0(self) -> np.ndarray:
        """The first state as it was given, (..., state_size); a fresh array."""
        rows = self._core.origin()["x0"]
        return self._as_given(rows, self._batch.x0_shape, (self.system.state_size,))

    @property
    def controls(self) -> np.ndarray:
        """The inputs of every step, (..., T, input_size), zeros where there were none; a fresh
        array.
        """
        batch, m = self._batch, self.system.input_size
        shape = batch.controls_shape or (batch.steps, m)
        rows = self._core.origin()["controls"]
        if not rows.size:
            return np.zeros(shape, self.system.dtype)
        return self._as_given(rows, shape, (batch.steps, m))

    @property
    def params(self) -> np.ndarray:
        """The parameters in use as a flat vector, (n,) or (..., n) where environments differ; a
        fresh array.

        >>> import cycloid as cy
        >>> run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 10, {"length": 0.5})
        >>> run.params
        array([0.5 , 1.  , 0.  , 9.81, 0.01])
        >>> run.x0, run.controls.shape
        (array([1., 0.]), (10, 1))
        """
        n = self.system.parameters.size
        return self._as_given(self._core.origin()["params"], (n,), (n,))

    def save(self, path: str | os.PathLike[str], *, seed: int | None = None) -> None:
        """Writes the run to a file, by convention "run.h5", which `open` reads: states, times,
        inputs, start and parameters, with units, the model itself, and the seed that drew what was
        random, if you say it. A file that is there is replaced as a whole, or not at all. The
        report, and gradient=, are not in it. Needs h5py: pip install cycloid[record].

        How the name ends says what is written: ".npz" has the same without h5py; ".csv" is a table
        of one environment, with columns t, states and inputs; ".mcap" (package mcap) has messages
        for tools that play recordings.

        Raises FileNotFoundError if the folder does not exist, Error if nothing can be written.
        """
        from cycloid._trajectory_file import save  # which knows this module

        save(self, path, seed)

    def resume(self, controls: Any, **options: Any) -> Trajectory:
        """The run that goes on from the last state, at its time and with the same parameters; it
        begins with that state. controls: (..., T, input_size) or a number of steps. options: as in
        `rollout`. The two together are, bit for bit, the run in one piece, where the law does not
        depend on time, the state has no quaternions and a step carries on nothing else; a start's
        quaternions are normalised again, and a robot's contact solver begins without its warm
        start: there they agree to its tolerance. A run that failed, and one of a
        `guarded` System, which counts its steps, cannot go on: that is an Error.

        >>> import cycloid as cy
        >>> run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 50)
        >>> more = run.resume(50)
        >>> bool((more.states[-1] == cy.rollout(run.system, [1.0, 0.0], 100).states[-1]).all())
        True
        """
        if int(self.steps[-1]) != self._batch.steps:
            raise Error("the last state of this run was not saved; it cannot go on from there")
        if hasattr(self.system, "_guarded"):
            raise Error("a run of a guarded System cannot go on: its comparisons begin anew")
        if self.report.failed:
            first = self.report.failed[0]
            raise Error(
                f"environment {first.environment} of this run failed at step {first.step}; it "
                "cannot go on from there"
            )
        start = self.states[..., -1, :]
        return rollout(
            self.system, start, controls, self.params, t0=float(self.times[-1]), **options
        )

    def _as_given(self, rows: np.ndarray, shape: Shape, tail: Shape) -> np.ndarray:
        """Rows of the core in the shape that the user gave, or spread over the batch."""
        if rows.size == math.prod(shape):
            return rows.reshape(shape)
        return rows.reshape((*self._batch.lead, *tail))

    def _repr_html_(self) -> str:
        from cycloid._view import notebook_page  # which knows this module

        return notebook_page(self)

    def pullback(
        self,
        states_bar: Any,
        *,
        wrt: Any = ("x0", "controls", "params"),
        failed: str = "raise",
        event_times_bar: Any = None,
        gradient: Any = None,
    ) -> Gradient:
        """The gradient of a loss, given its derivative with respect to `states`.

        states_bar: shaped like `states`, or broadcast to it. wrt: any of "x0", "controls",
        "params". failed: "raise" GradientError if an environment failed, has a step that is not
        solved, a grazing event or a gradient that is not finite, or "skip" it: its gradient is
        zero. event_times_bar: (E,), the loss's derivative with respect to `events.time`, or one
        number for all. gradient: "exact", FromDistance or Smoothed; None for the rollout's own.

        May be called again; the arrays are fresh.

        >>> import cycloid as cy
        >>> run = cy.rollout(cy.systems.projectile(), [0, 0, 0, 3, 0, 4], 100, save="last")
        >>> g = run.pullback([[1, 0, 0, 0, 0, 0]], wrt="x0")   # of the final x [m]
        >>> g
        <Gradient: x0 (6,)>
        >>> g.x0.round(12)
        array([1., 0., 0., 1., 0., 0.])
        """
        batch, system = self._batch, self.system
        wrt = as_names(wrt, "wrt")
        for name in wrt:
            check_one_of(name, ("x0", "controls", "params"), "wrt")
        check_one_of(failed, ("raise", "skip"), "failed")
        if "params" in wrt:
            for name in batch.named_shapes or ():
                system.parameters.check_differentiable(name)
        g = self._core.pullback(
            self._bar(states_bar),
            "x0" in wrt,
            "controls" in wrt,
            "params" in wrt,
            failed == "skip",
            event_times_bar=self._times_bar(event_times_bar),
            gradient=as_mode(gradient),
        )
        return self._gradient(g, wrt)

    def _gradient(self, g: dict[str, Any], wrt: Sequence[str]) -> Gradient:
        """The core's gradient in the shapes of what was given."""
        batch, system = self._batch, self.system
        x0 = x0_tangent = controls = params = None
        if "x0" in wrt:
            shape = batch.x0_shape
            x0 = from_rows(g["x0"], shape, batch.lead, 1)
            shape = (*shape[:-1], system.tangent_size)
            x0_tangent = from_rows(g["x0_tangent"], shape, batch.lead, 1)
        if "controls" in wrt:
            shape = batch.controls_shape or (batch.steps, system.input_size)
            controls = from_rows(g["controls"], shape, batch.lead, 2)
        if "params" in wrt:
            params = batch.params_bar(g["params"])
        variance = None if g["variance"] is None else self._gradient(g["variance"], wrt)
        return Gradient(
            x0, x0_tangent, controls, params, g["recomputed_steps"], g["drift"], variance
        )

    def pushforward(
        self, x0_tan: Any = None, controls_tan: Any = None, params_tan: Any = None
    ) -> np.ndarray:
        """The tangents of `states` (the directional derivative, jvp) in a direction of what the run
        was made from; shaped like `states`.

        x0_tan, controls_tan, params_tan: as x0, controls and params were given, or broadcast to the
        batch; None for zero; a mapping of params may name some, the others are zero. Tangents are
        in the coordinates of the arrays: of a quaternion four numbers, of which the part along it
        moves nothing. Computed in double, also for a float32 system. Raises GradientError where a
        step fails, and for a law in Python without a pushforward.

        >>> import cycloid as cy
        >>> run = cy.rollout(cy.systems.projectile(), [0, 0, 0, 3, 0, 4], 100, save="last")
        >>> run.pushforward(x0_tan=[0, 0, 0, 1, 0, 0]).round(12)
        array([[1., 0., 0., 1., 0., 0.]])
        """
        tangents = self._core.pushforward(*self._direction(x0_tan, controls_tan, params_tan))
        return tangents.reshape(self.states.shape).astype(self.system.dtype, copy=False)

    def hvp(
        self,
        states_bar: Any,
        x0_tan: Any = None,
        controls_tan: Any = None,
        params_tan: Any = None,
        *,
        wrt: Any = ("x0", "controls", "params"),
    ) -> Gradient:
        """The derivative of `pullback(states_bar)` in a direction of what the run was made from,
        states_bar held: the product of a Hessian with a vector, for a loss that is linear in the
        states.

        The direction is as in `pushforward`. Laws, robots and soft bodies have second derivatives;
        the substeps that dopri5 and sdirk4 choose are held, as in `pullback`. A law in Python, a
        law with events, heat and a flow raise GradientError. Each part of the result is the
        derivative of that part of the gradient as `pullback` returns it: x0 along x0 + e x0_tan as
        given, also where quaternions are not of length one.

        >>> import cycloid as cy
        >>> run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 100, save="last")
        >>> product = run.hvp([[1, 0]], x0_tan=[1.0, 0.0])    # d/dx0 of the gradient of the angle
        >>> product
        <Gradient: x0 (2,), controls (100, 1), params (5,)>
        >>> product.x0.round(4)
        array([0.3487, 0.1399])
        """
        wrt = as_names(wrt, "wrt")
        for name in wrt:
            check_one_of(name, ("x0", "controls", "params"), "wrt")
        if "params" in wrt:
            for name in self._batch.named_shapes or ():
                self.system.parameters.check_differentiable(name)
        bar = self._bar(states_bar).astype(np.float64, copy=False)
        direction = self._direction(x0_tan, controls_tan, params_tan)
        g = self._core.hvp(bar, None, *direction)
        for name in ("x0", "x0_tangent", "controls"):
            g[name] = g[name].astype(self.system.dtype, copy=False)
        return self._gradient(g, wrt)

    def _direction(self, x0_tan: Any, controls_tan: Any, params_tan: Any) -> tuple[Any, ...]:
        """Rows of tangents, as the core takes them."""
        batch, system = self._batch, self.system

        def rows(value: Any, tail: Shape, what: str, meaning: str) -> np.ndarray | None:
            if value is None or 0 in tail:
                return None
            array = as_numbers(value, np.float64, what)
            check_trailing(array, tail, what, meaning)
            own = array.shape[: array.ndim - len(tail)]
            if broadcast({what: own, "the run": batch.lead}) != batch.lead:
                raise Error(f"{what} has leading axes {own}; the run has {batch.lead}")
            return to_rows(array, batch.lead, len(tail), what)

        inputs = (batch.steps, system.input_size)
        return (
            rows(x0_tan, (system.state_size,), "x0_tan", "like x0"),
            rows(controls_tan, inputs, "controls_tan", "like controls"),
            rows(
                self._packed_tangents(params_tan),
                (system.parameters.size,),
                "params_tan",
                "one number per parameter, or be a mapping of names to tangents",
            ),
        )

    def _packed_tangents(self, params_tan: Any) -> Any:
        """A mapping as the flat vector, zero where nothing is named."""
        if not isinstance(params_tan, Mapping):
            return params_tan
        registry, parts, leads = self.system.parameters, [], {"the run": ()}
        for name, value in params_tan.items():
            p = registry.info(name)
            registry.check_differentiable(name)
            array = as_numbers(value, np.float64, f"the tangent of {name!r}")
            check_trailing(array, p.shape, f"the tangent of {name!r}", "like its value")
            lead = leads[name] = array.shape[: array.ndim - len(p.shape)]
            parts.append((p, array.reshape((*lead, p.size))))
        packed = np.zeros((*broadcast(leads), registry.size))
        for p, array in parts:
            packed[..., p.offset : p.offset + p.size] = array
        return packed

    def _bar(self, states_bar: Any) -> np.ndarray:
        bar = as_numbers(states_bar, self.system.dtype, "states_bar")
        if bar.shape == self.states.shape:
            return bar
        try:
            return np.ascontiguousarray(np.broadcast_to(bar, self.states.shape))
        except ValueError:
            raise Error(
                f"states_bar must be shaped like states, {self.states.shape}; got {bar.shape}"
            ) from None

    def _times_bar(self, event_times_bar: Any) -> np.ndarray | None:
        if event_times_bar is None:
            return None
        bar = as_numbers(event_times_bar, np.float64, "event_times_bar")
        if not len(self.events):
            if bar.shape == (0,):
                return None
            raise Error(
                "event_times_bar is given, but no event happened in this run, so that there is no "
                "time to differentiate: take more steps, or look at len(traj.events) before"
            )
        if bar.ndim > 1 or (bar.ndim == 1 and bar.size not in (1, len(self.events))):
            raise Error(
                f"event_times_bar must have one number for each event, shape "
                f"({len(self.events)},), or one for all; got an array of {bar.shape}"
            )
        return np.ascontiguousarray(np.broadcast_to(bar, (len(self.events),)))

    def __repr__(self) -> str:
        batch = self._batch
        lead = f", batch {batch.lead}" if batch.lead else ""
        wrong = "".join(
            f", {len(rows)} {name.upper()}"
            for name in ("failed", "unsolved", "crowded")
            if (rows := getattr(self.report, name))
        )
        n, grazing = len(self.events), int(np.sum(self.events.grazing))
        events = f", {n} event{'' if n == 1 else 's'}" if n else ""
        events += f" ({grazing} GRAZING)" if grazing else ""
        return (
            f"<Trajectory of {self.system.name}: {batch.steps} "
            f"step{'' if batch.steps == 1 else 's'}{lead}, "
            f"{self.steps.size} saved{events}{wrong}>"
        )


def rollout(
    system: System,
    x0: Any,
    controls: Any,
    params: Any = None,
    *,
    save: Any = "all",
    memory: Any = "auto",
    threads: int | None = None,
    t0: float = 0.0,
    times: Any = None,
    gradient: Any = None,
) -> Trajectory:
    """Simulates T steps. Where x0 or controls lie on the device of the System, the result is a
    DeviceTrajectory: states, steps, times, report and pullback, on the device.

    x0: (..., state_size). controls: (..., T, input_size), or an int T for zero inputs. params: None
    for the defaults, a flat vector (..., n), or {name: value}; values may differ between
    environments for names in `system.vary`. Leading axes broadcast.

    save: "all" (states[0] is x0), "last", an int k (every k-th), or a list of steps (-1: the last).
    memory: what the gradient may keep: "auto", "all", "sqrt", an int (checkpoints), Truncate(k), a
    budget such as "64MB", or "reversible" (one state; integrators verlet and implicit_midpoint).
    The gradient is the same, bit for bit, but for Truncate, and for "reversible" up to its drift.
    threads: None for all that the machine offers. t0: time of the first state [s].
    times: (S,) [s], increasing, within the run: states at these times are saved, in place of save.
    gradient: what `pullback` differentiates, "exact", FromDistance or Smoothed; None for the
    system's own. The run is the same, bit for bit.

    >>> import cycloid as cy
    >>> system = cy.systems.pendulum(vary="length")
    >>> run = cy.rollout(system, [1.0, 0.0], 100, {"length": [0.5, 1.0, 2.0]}, save=50)
    >>> run
    <Trajectory of pendulum: 100 steps, batch (3,), 3 saved>
    >>> run.states.shape, run.times
    ((3, 3, 2), array([0. , 0.5, 1. ]))
    >>> ball = cy.systems.projectile()
    >>> cy.rollout(ball, [0, 0, 0, 3, 0, 4], 100, times=[0.25, 0.333]).states[:, 0]
    array([0.75 , 0.999])
    """
    check_system(system)
    if lies_there(system, x0) or lies_there(system, controls):
        if times is not None or as_mode(gradient) is not None:
            raise Error("arrays on a device: times= and gradient= are the CPU's; copy x0 there")
        saved, kept = as_save(save), as_memory(memory)
        there: Any = DeviceTrajectory(
            system, x0, controls, params, saved, kept, as_real(t0, "t0")
        )
        return there
    return roll_out(
        Batch(system, x0, controls, params, system.dtype),
        as_save(save),
        as_memory(memory),
        as_threads(threads, system._threads),
        as_real(t0, "t0"),
        as_times(times, save),
        as_mode(gradient),
    )


def roll_out(
    batch: Batch,
    save: tuple[str, list[int]],
    memory: tuple[str, int],
    threads: int,
    t0: float,
    times: Sequence[float] = (),
    gradient: Any = None,
) -> Trajectory:
    """`rollout`, with the options as the core takes them."""
    system = batch.system
    saved = len(times) or saved_states(save, batch.steps)
    check_room(system, batch.lead, batch.steps, saved, memory)
    core = getattr(_core, f"rollout_{system._precision}")(
        *batch.rows, save, memory, threads, t0, list(times), gradient
    )
    del batch.rows  # the core has its copies
    return Trajectory(batch, core)


def check_room(
    system: System, lead: Shape, steps: int, saved: int, memory: tuple[str, int]
) -> None:
    """Raises when this machine cannot keep so many states."""
    n = system.state_size * math.prod(lead) * system.dtype.itemsize
    kept = kept_states(memory, steps)
    check_memory(saved * n, "the saved states", '; save="last" keeps only the last')
    check_memory(kept * n, "what memory= keeps", '; memory="auto" keeps less')


def one_step(system: Any, x: Any, u: Any, params: Any) -> Batch:
    """The arguments of a single step."""
    check_system(system)
    if u is None:
        return Batch(system, x, 1, params, system.dtype)
    u = as_numbers(u, system.dtype, "u")
    check_trailing(u, (system.input_size,), "u", "the inputs of one step")
    return Batch(system, x, u[..., None, :], params, system.dtype)


def step(
    system: System, x: Any, u: Any = None, params: Any = None, *, t: float = 0.0
) -> np.ndarray:
    """One time step: the next state (..., state_size) of x (..., state_size) under the inputs u
    (..., input_size), None for zero, at time t [s]. params as in `rollout`. Raises Error when the
    next state is not finite; warns with SolverWarning of what `rollout` has in its report as
    unsolved or crowded. Arrays on the System's device give one there.

    >>> import cycloid as cy
    >>> cy.step(cy.systems.projectile(dt=1.0), [0, 0, 0, 1, 0, 0]).round(12)
    array([ 1.   ,  0.   , -4.905,  1.   ,  0.   , -9.81 ])
    """
    check_system(system)
    if lies_there(system, x) or lies_there(system, u):
        return step_there(system, x, u, params, as_real(t, "t"))
    batch = one_step(system, x, u, params)
    result, warning = getattr(_core, f"step_{system._precision}")(
        *batch.rows, system._threads, as_real(t, "t")
    )
    if warning:
        warnings.warn(warning, SolverWarning, stacklevel=2)
    return result.reshape((*batch.lead, system.state_size))
