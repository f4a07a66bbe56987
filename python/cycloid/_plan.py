"""Plans: inputs that bring a System where it is wanted; and control by planning again and again."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._gradient_mode import as_mode
from cycloid._live import Live
from cycloid._options import as_integer, as_real, as_threads, check_one_of, shown
from cycloid._progress import Progress
from cycloid._rollout import rollout
from cycloid._system import System, check_system
from cycloid.cost import Cost, as_cost, flat_params

_MOST_STEPS = 10**7
_SEEDS = 2**64 - 1


class Plan:
    """What `plan` found.

    controls: (T, m). states: (T+1, n), those of a rollout of the controls, and cost is theirs.
    gains: (T, m, tangent_size), a feedback around it, u = controls[t] - gains[t] · (x ⊖ states[t]),
    as `control` computes it; zeros from methods that have none. iterations. history: the cost at
    the start and after each iteration. converged, message: how it ended, and what to try. steps:
    simulated ones. seconds. violation: the largest of the Keep terms.

    system, objective, x0, params, bounds, method: what it was made for.
    """

    controls: np.ndarray
    states: np.ndarray
    gains: np.ndarray
    cost: float
    history: np.ndarray
    iterations: int
    converged: bool
    message: str
    steps: int
    seconds: float
    violation: float
    status: str

    def __init__(self, problem: _Problem, found: dict[str, Any]) -> None:
        system, T = problem.system, problem.steps
        n, m, k = system.state_size, system.input_size, system.tangent_size
        self.system, self.objective, self.x0 = system, problem.cost, problem.x0
        self.params, self.method = found.get("params", problem.params), problem.options["method"]
        self._verdict: str | None = None
        self.bounds, self.t0 = problem.bounds, problem.options.get("t0", 0.0)
        self.controls = found["controls"].reshape((T, m))
        self.states = found["states"].reshape((T + 1, n))
        self.gains = found["gains"].reshape((T, m, k))
        self.history = found["history"]
        for name in ("cost", "iterations", "converged", "message", "steps", "seconds"):
            setattr(self, name, found[name])
        self.violation, self.status = found["violation"], found["status"]

    @property
    def times(self) -> np.ndarray:
        """Of the states [s], from 0."""
        h = self.system.timestep
        if self.params is not None:
            packed = flat_params(self.system, self.params)
            h = float(self.system.parameters.unpack(packed).get("option.timestep", h))
        return h * np.arange(len(self.states))

    def control(self, t: int, x: Any) -> np.ndarray:
        """The input of step t at the state x: controls[t] - gains[t] · (x ⊖ states[t]), within the
        bounds.
        """
        t = as_integer(t, "t", 0, len(self.controls) - 1)
        x = as_state(self.system, x, "x")
        d = difference(self.system, x, self.states[t])
        u = self.controls[t] - self.gains[t] @ d
        return u if self.bounds is None else np.clip(u, *self.bounds)

    def run(self, x0: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The plan with its feedback, from x0: states (T+1, n) and the controls that were used."""
        from cycloid._rollout import step

        states = [as_state(self.system, self.x0 if x0 is None else x0, "x0")]
        controls = []
        for t in range(len(self.controls)):
            controls.append(self.control(t, states[-1]))
            states.append(step(self.system, states[-1], controls[-1], self.params))
        return np.array(states), np.array(controls)

    @property
    def end_time(self) -> float:
        """Of the last state [s], from 0."""
        return float(self.times[-1])

    @property
    def verdict(self) -> str:
        """What `verify` says about it in one line; found when it is first asked for."""
        if self._verdict is None:
            from cycloid._verify import verify

            try:
                self._verdict = verify(self).verdict
            except Error as error:
                self._verdict = f"not verified: {error}"
        return self._verdict

    def report(self) -> str:
        """The plan in words: how it ended, where it leads, and whether it can be believed."""
        end = "converged" if self.converged else "NOT converged"
        lines = [
            f"{self.system.name}: {len(self.controls)} steps, {self.end_time:.4g} s, {end} in "
            f"{self.iterations} iterations, {self.steps} steps simulated, {self.seconds:.2f} s "
            f"({self.method})",
            self.message,
            f"cost: {self.history[0]:.6g} at the start, {self.cost:.6g} now",
        ]
        if self.violation > 0:
            lines.append(f"largest violation of a Keep: {self.violation:.3g}")
        if self.objective is not None:
            lines.append(self.verdict)
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes a page with inputs and states over time and the cost on the way, such as
        "plan.html"."""
        kept = {
            "controls": np.ascontiguousarray(self.controls).ravel(),
            "states": np.ascontiguousarray(self.states).ravel(),
            "history": np.ascontiguousarray(self.history),
            "cost": self.cost,
            "iterations": self.iterations,
            "steps": self.steps,
            "message": self.message,
        }
        low, high = ([], []) if self.bounds is None else (b.tolist() for b in self.bounds)
        step = float(self.times[1])
        verdict = self._verdict or ""
        _core.write_plan_page(
            self.system._core, kept, step, low, high, verdict, os.fspath(path)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes its numbers, from which `Plan.load` and `plan(..., start=)` go on. (.npz)"""
        with open(path, "wb") as file:
            np.savez(
                file,
                kind="cycloid plan",
                controls=self.controls,
                states=self.states,
                gains=self.gains,
                history=self.history,
                x0=self.x0,
                cost=self.cost,
                iterations=self.iterations,
                converged=self.converged,
                message=self.message,
                status=self.status,
                method=self.method,
                steps=self.steps,
                seconds=self.seconds,
                violation=self.violation,
                params=np.nan if self.params is None else flat_params(self.system, self.params),
                bounds=np.nan if self.bounds is None else np.stack(self.bounds),
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], system: System, cost: Cost | None = None) -> Plan:
        """A plan that was saved, of the System that it was made for."""
        check_system(system)
        try:
            with np.load(path, allow_pickle=False) as file:
                data = {name: file[name] for name in file.files}
        except (ValueError, EOFError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise Error(f"{os.fspath(path)} is no plan: {error}") from None
        if data.get("kind") != "cycloid plan":
            raise Error(f"{os.fspath(path)} is no plan that was saved")
        T, n = len(data["controls"]), data["states"].shape[-1]
        if n != system.state_size or data["controls"].shape[-1] != system.input_size:
            raise Error(
                f"the plan in {os.fspath(path)} has {n} states and "
                f"{data['controls'].shape[-1]} inputs; {system.name} has {system.state_size} and "
                f"{system.input_size}"
            )
        found: dict[str, Any] = {k: data[k] for k in ("controls", "states", "gains", "history")}
        for name in ("cost", "seconds", "violation"):
            found[name] = float(data[name])
        for name in ("iterations", "steps"):
            found[name] = int(data[name])
        found["converged"] = bool(data["converged"])
        for name in ("message", "status"):
            found[name] = str(data[name])
        problem = _Problem.__new__(_Problem)
        problem.system, problem.cost, problem.steps = system, cost, T
        problem.x0, problem.options = data["x0"], {"method": str(data["method"])}
        problem.params = None if data["params"].ndim == 0 else data["params"]
        problem.bounds = None if data["bounds"].ndim == 0 else tuple(data["bounds"])
        return cls(problem, found)

    def _repr_html_(self) -> str:
        """In a notebook: its motion, on a page."""
        from cycloid._view import notebook_page

        return f"<p>{html.escape(repr(self))}</p>" + notebook_page(self)

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return (
            f"<Plan: {len(self.controls)} steps, cost {self.cost:.6g}, {end} after "
            f"{self.iterations} iterations, {self.seconds:.2g} s ({self.method})>"
        )


class _Problem:
    """The arguments of a plan, checked, as the core takes them."""

    def __init__(
        self, system: System, cost: Any, steps: Any, bounds: Any, params: Any, given: dict[str, Any]
    ) -> None:
        check_system(system)
        self.system, self.cost = system, as_cost(cost)
        self.steps = as_integer(steps, "steps", 1, _MOST_STEPS)
        self.params = params
        self.x0: Any = None
        check_one_of(given["method"], _core.plan_methods(), "method")
        self.options: dict[str, Any] = {
            "method": given["method"],
            "iterations": as_integer(given["iterations"], "iterations", 0, 10**9),
            "seed": as_integer(given["seed"], "seed", 0, _SEEDS),
            "threads": as_threads(given["threads"], system._threads),
            "t0": as_real(given["t0"], "t0"),
            "gradient": as_mode(given["gradient"]),
        }
        limit = given["time_limit"]
        if limit is not None:
            self.options["time_limit"] = as_real(limit, "time_limit")
        for name in ("tolerance", "constraint_tolerance", "regularisation", "noise", "elite"):
            self.options[name] = as_real(given[name], name)
        self.options["temperature"] = as_real(given["temperature"], "temperature")
        self.options["samples"] = as_integer(given["samples"], "samples", 2, 10**7)
        self.options["knots"] = as_integer(given["knots"], "knots", 0, 10**7)
        check_one_of(given["hessian"], ("gauss_newton", "full"), "hessian")
        self.options["full_hessian"] = given["hessian"] == "full"
        check_one_of(given["regularise"], ("input", "state"), "regularise")
        self.options["regularise_state"] = given["regularise"] == "state"
        if params is not None:
            self.options["params"] = flat_params(system, params).tolist()
        self.bounds = self._bounds(bounds)
        if self.bounds is not None:
            low, high = self.bounds
            self.options["low"], self.options["high"] = low.tolist(), high.tolist()

    def _bounds(self, bounds: Any) -> tuple[np.ndarray, np.ndarray] | None:
        m = self.system.input_size
        if bounds is None:
            return None
        if isinstance(bounds, str):
            check_one_of(bounds, ("model",), "bounds", ", None or (low, high)")
            low, high = np.array(self.system._core.input_bounds()).reshape((m, 2)).T.copy()
            return (low, high) if np.isfinite(low).any() or np.isfinite(high).any() else None
        if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
            raise TypeError(f'bounds: expected "model", None or (low, high); got {shown(bounds)}')
        ends = []
        for what, end in zip(("low", "high"), bounds):
            array = as_numbers(end, np.float64, f"bounds: {what}")
            if array.shape not in ((), (m,)):
                raise Error(
                    f"bounds: {what} must be a number or one for each of {m} inputs; "
                    f"got shape {array.shape}"
                )
            if np.isnan(array).any():
                raise Error(f"bounds: {what} must not be NaN")
            ends.append(np.broadcast_to(array, (m,)).copy())
        return ends[0], ends[1]

    def take_start(self, start: Any) -> None:
        """Controls, a Plan, or (states, controls)."""
        if start is None:
            return
        states = None
        if isinstance(start, Plan):
            start, states = start.controls, start.states
        elif isinstance(start, tuple):
            if len(start) != 2:
                raise TypeError("start: expected controls, (states, controls) or a Plan")
            states, start = start
        controls = as_numbers(start, np.float64, "start")
        shape = (self.steps, self.system.input_size)
        if controls.shape != shape:
            raise Error(f"start must have shape {shape}, (steps, inputs); got {controls.shape}")
        self.options["start"] = controls.ravel().tolist()
        if states is not None:
            states = as_numbers(states, np.float64, "start: states")
            shape = (self.steps + 1, self.system.state_size)
            if states.shape != shape:
                raise Error(f"start: states must have shape {shape}; got {states.shape}")
            self.options["start_states"] = states.ravel().tolist()


def plan(
    system: System,
    x0: Any,
    cost: Cost,
    steps: int,
    *,
    method: str = "ilqr",
    start: Any = None,
    bounds: Any = "model",
    params: Any = None,
    iterations: int = 200,
    time_limit: float | None = None,
    seed: int = 0,
    tolerance: float = 1e-6,
    constraint_tolerance: float = 1e-4,
    hessian: str = "gauss_newton",
    regularise: str = "input",
    regularisation: float = 1e-6,
    gradient: Any = None,
    samples: int = 256,
    elite: float = 0.1,
    noise: float = 0.5,
    temperature: float = 0.1,
    knots: int = 0,
    t0: float = 0.0,
    free_time: tuple[float, float] | None = None,
    time_weight: float = 0.0,
    threads: int | None = None,
    progress: bool | None = None,
    callback: Callable[[int, float], Any] | None = None,
    live: bool | Live = False,
) -> Plan:
    """The controls (steps, input_size) that bring `system` from x0 along at least cost.

    cost: terms of `cycloid.cost`. method: "ilqr" (differential dynamic programming),
    "multiple_shooting", "lbfgs" (single shooting with the rollout's gradient), "mppi" or "cem"
    (noisy samples; no gradient). start: controls, a Plan to go on from, or (states, controls) for
    multiple_shooting; None: zeros. bounds: "model" (its ctrlrange), None, or (low, high), numbers
    or one per input. params: as in `rollout`, for one environment. time_limit [s]: the iteration
    that it ends in is finished. seed: of noise; the same seed gives the same plan.

    tolerance: on the decrease of the cost that is still to be expected, relative.
    constraint_tolerance: on Keep terms, in their units. hessian: "full" adds the curvature of the
    dynamics to ilqr. regularise: "input" or "state", where Levenberg's number acts. gradient: of
    contact, as in `load`; Smoothed linearises the mean over its noise. samples, elite, noise (in
    units of the bounds' half width), temperature, knots: of mppi and cem. t0: the time of x0 [s].

    free_time: (low, high) [s]: the end time is found too, in this interval, as the length of the
    steps ("option.timestep"); time_weight [1/s]: what a second costs. The step is in plan.params.

    progress: None draws a line on a terminal, and in the end prints the verdict of `verify` in one
    line. callback(iteration, cost) may return False to stop. Whatever ends it, Ctrl-C too, the best
    so far is returned, with converged=False. live: True serves a page on which the best motion so
    far is seen, and prints its address; or a page of `view(..., live=True)`.

    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(damping=0.1, dt=0.02)
    >>> cost = cy.cost.Reach("state", [np.pi, 0.0], weight=100) + cy.cost.Effort(1e-2)
    >>> swing = cy.plan(pendulum, [0.0, 0.0], cost, 120, bounds=(-12.0, 12.0))
    >>> swing.converged, bool(abs(swing.states[-1, 0] - np.pi) < 0.2)
    (True, True)
    >>> bool(np.abs(swing.controls).max() <= 12.0), swing.gains.shape
    (True, (120, 1, 2))
    """
    given = {k: v for k, v in locals().items() if k in _KEYWORDS}
    problem = _Problem(system, cost, steps, bounds, params, given)
    problem.x0 = np.array(as_state(system, x0, "x0"))
    problem.take_start(start)
    if free_time is not None:
        ends = as_numbers(free_time, np.float64, "free_time")
        if ends.shape != (2,):
            raise Error(f"free_time must be (low, high) [s]; got shape {ends.shape}")
        weight = as_real(time_weight, "time_weight")
        problem.options["free_time"] = (float(ends[0]), float(ends[1]), weight)
    elif time_weight != 0.0:
        raise Error("time_weight is what a second of free_time costs; give free_time=(low, high)")

    def motion(controls: np.ndarray) -> Any:
        rows = controls.reshape((problem.steps, -1))
        return rollout(system, problem.x0, rows, params, t0=t0)

    with Progress(
        "planning", progress=progress, callback=callback, live=live, motion=motion
    ) as watch:
        found = _core.plan(
            system._core,
            problem.x0,
            problem.cost._core(),
            problem.steps,
            problem.options,
            watch.watch,
        )
    made = Plan(problem, found)
    watch.end(lambda: made)
    watch.say_verdict(lambda: made.verdict)
    return made


_KEYWORDS = frozenset(
    (
        "method iterations time_limit seed tolerance constraint_tolerance hessian regularise "
        "regularisation gradient samples elite noise temperature knots t0 threads"
    ).split()
)
_DEFAULTS: dict[str, Any] = {
    k: v for k, v in (plan.__kwdefaults__ or {}).items() if k in _KEYWORDS
}


class MPC:
    """Control by planning again at every call, over a receding horizon.

    mpc(x) gives the input (input_size,) at the state x. Each call is `every` steps after the last:
    it starts from the last plan, shifted by as many, and improves it by `iterations` (the first
    call by `first_iterations`), or until time_limit [s] and one iteration more are over. Inputs are
    within the bounds. Between calls, mpc.feedback(x, k) gives input k of the plan at the state x,
    with its gains. mpc.plan: the latest. Other keywords: as in `plan`.

    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(dt=0.02)
    >>> cost = cy.cost.Reach("state", [np.pi, 0.0], when="all") + cy.cost.Effort(1e-2)
    >>> mpc = cy.MPC(pendulum, cost, horizon=40, bounds=(-20.0, 20.0))
    >>> x = np.array([np.pi - 0.3, 0.0])
    >>> for _ in range(100):
    ...     x = cy.step(pendulum, x, mpc(x))
    >>> bool(abs(x[0] - np.pi) < 0.1), mpc.calls
    (True, 100)
    """

    def __init__(
        self,
        system: System,
        cost: Cost,
        horizon: int,
        every: int = 1,
        time_limit: float | None = None,
        *,
        iterations: int = 5,
        first_iterations: int = 50,
        bounds: Any = "model",
        params: Any = None,
        start: Any = None,
        **keywords: Any,
    ) -> None:
        unknown = [k for k in keywords if k not in _KEYWORDS]
        if unknown:
            hint = _core.did_you_mean(unknown[0], sorted(_KEYWORDS))
            raise TypeError(f'MPC has no keyword "{unknown[0]}"{hint}')
        given = {**_DEFAULTS, **keywords, "iterations": iterations, "time_limit": time_limit}
        self._problem = _Problem(system, cost, horizon, bounds, params, given)
        self._problem.take_start(start)
        self._core = _core.Mpc(
            system._core,
            self._problem.cost._core(),
            self._problem.steps,
            as_integer(every, "every", 1),
            as_integer(first_iterations, "first_iterations", 0, 10**9),
            self._problem.options,
        )
        self.system, self.horizon, self.every = system, self._problem.steps, every

    def __call__(self, x: Any) -> np.ndarray:
        """The input at the state x."""
        x = as_state(self.system, x, "x")
        self._problem.x0 = np.array(x)
        return self._core.control(x)

    def feedback(self, x: Any, step: int) -> np.ndarray:
        """Input `step` of the latest plan, at the state x there, within the bounds."""
        step = as_integer(step, "step", 0, self.horizon - 1)
        return self._core.feedback(as_state(self.system, x, "x"), step)

    def reset(self) -> None:
        """Forgets the plan: the next call is the first."""
        self._core.reset()

    @property
    def calls(self) -> int:
        """How many there were."""
        return self._core.calls

    @property
    def plan(self) -> Plan:
        """The latest."""
        return Plan(self._problem, self._core.plan)

    def __repr__(self) -> str:
        return (
            f"<MPC: {self.system.name}, horizon {self.horizon}, every {self.every} "
            f"step{'s' * (self.every != 1)}, {self.calls} calls>"
        )


def as_state(system: System, x: Any, what: str) -> np.ndarray:
    """One state, in double."""
    row = as_numbers(x, np.float64, what)
    if row.shape != (system.state_size,):
        raise Error(
            f"{what} must have shape ({system.state_size},), {system._meaning}; got {row.shape}"
        )
    if not np.isfinite(row).all():
        bad = int(np.flatnonzero(~np.isfinite(row))[0])
        raise Error(f"{what} must be finite; number {bad} is {row[bad]}")
    return row


def difference(system: System, a: Any, b: Any) -> np.ndarray:
    """a ⊖ b of two states in tangent coordinates (tangent_size,): a difference, and for unit
    quaternions the rotation vector from b to a, in the axes of b [rad].

    >>> import cycloid as cy
    >>> cy.difference(cy.systems.pendulum(), [0.5, 0.25], [0.25, 0.0])
    array([0.25, 0.25])
    """
    a, b = as_state(system, a, "a"), as_state(system, b, "b")
    return _core.difference(system._core, a, b, 1)
