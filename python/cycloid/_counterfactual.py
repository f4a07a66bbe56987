"""What would have happened: a recording's run again, with something changed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._estimate import estimate
from cycloid._identify import Fit, _state_columns
from cycloid._members import Members
from cycloid._options import as_integer, as_names, as_text, shown
from cycloid._recording import Recording
from cycloid._rollout import Trajectory, rollout
from cycloid._system import System

_SLACK = 1e-6  # of a step
_DIFFERENCE = 1e-5  # of a start's numbers
_MOST_STATES = 200  # whose starts are drawn
_AFTER = 1e-7  # of a step: right after an event


class Counterfactual:
    """The run with the change: states (S, n) at times (S,) [s]; low, high (S, n): 95 % of the runs
    with parameters and starts drawn as the fit allows, or of an ensemble's members; factual (S, n):
    the run without the change; effect (S, n): the difference; draws (k, S, n) and factual_draws."""

    def __init__(
        self, times: np.ndarray, states: np.ndarray, factual: np.ndarray, draws: Any, home: Any
    ) -> None:
        self.times, self.states, self.factual = times, states, factual
        self.draws, self.factual_draws = draws, home
        self.low, self.high = np.quantile(draws, [0.025, 0.975], axis=0)
        self.low, self.high = np.minimum(self.low, states), np.maximum(self.high, states)
        self.effect = states - factual

    def __repr__(self) -> str:
        most = float(np.abs(self.effect).max())
        return f"<Counterfactual: states {self.states.shape}, largest effect {most:.3g}>"


class Intervention(NamedTuple):
    """A change and what it does to the outcome: the mean over draws, and 95 % of them."""

    name: str
    effect: float
    low: float
    high: float


class _Happening(NamedTuple):
    """Something that sets blocks of the state: right after an event, or at a time [s]."""

    label: str
    event: str | None
    number: int
    time: float
    blocks: Mapping[str, Any]


class _World:
    """A System with its uncertainty, and the run of a recording in it."""

    def __init__(self, fit: Any, recording: Recording, draws: int, seed: int) -> None:
        if not isinstance(recording, Recording):
            raise TypeError(f"expected a Recording; got {type(recording).__name__}")
        self.recording = recording
        self.vector: np.ndarray | None = None
        if isinstance(fit, Fit):
            self.systems, self.vector = [fit.system], np.array(fit.vector)
            self.start = np.array(fit._start(recording), np.float64)
            self.vectors = _drawn(fit, draws, seed)
        elif isinstance(fit, Members):
            if len(fit.systems) < 2:
                raise Error(
                    f"counterfactual: a {type(fit).__name__} has one law, with noise that is new "
                    "in every step, and no members whose runs would make intervals: take an "
                    "ensemble, laplace or dropout, or its .system alone"
                )
            self.systems, self.vectors = list(fit.systems), []
            self.start = _first_state(recording)
        elif isinstance(fit, System):
            self.systems, self.vectors = [fit], []
            self.start = _first_state(recording)
        else:
            raise TypeError(f"expected a Fit, an Ensemble or a System; got {type(fit).__name__}")
        self.system = self.systems[0]
        times = recording.times
        self.step = self.system.timestep
        self.steps = max(1, math.ceil((times[-1] - times[0]) / self.step - _SLACK))
        self.times = np.minimum(times, times[0] + self.steps * self.step)
        self.controls = self._held()
        self.starts = self._drawn_starts(seed) if self.vectors and recording.x0 is None else []

    def _drawn_starts(self, seed: int) -> list[np.ndarray]:
        """Where the run may have begun, for each draw p of the parameters: with h what was measured
        as a run shows it, J its derivative by the start and W the inverse squares of sigma,

            x0 + P0 J' W (h(p_fit) - h(p)) + noise of covariance P0,    P0 = (J' W J)⁻¹

        None where a state has quaternions, or was not measured; J by central differences."""
        n, r = self.system.state_size, self.recording
        columns = np.array(_state_columns(self.system, r))
        measured = np.flatnonzero(columns >= 0)
        if self.system.tangent_size != n or not len(measured) or n > _MOST_STATES:
            return []

        def run(start: np.ndarray, vector: Any) -> Trajectory:
            how = {"times": self.times, "t0": self.times[0], "memory": 1}
            return rollout(self.system, start, self.controls, vector, **how)

        step = _DIFFERENCE * np.diag(np.maximum(1.0, np.abs(self.start)))
        rows = np.concatenate([self.start[None], self.start + step, self.start - step])
        states = np.asarray(run(rows, self.vector).states, np.float64)
        tangents = (states[1 : n + 1] - states[n + 1 :]) / (2 * np.diag(step)[:, None, None])
        values = r.values[:, columns[measured]]
        shown = states[0][:, measured]
        sigma = np.sqrt(np.nanmean((values - shown) ** 2, axis=0)) + 1e-300
        if r.sigma is not None:
            sigma = np.broadcast_to(r.sigma, r.values.shape[1])[columns[measured]]
        weight = np.isfinite(values) / sigma
        slopes = (tangents[:, :, measured] * weight).reshape(n, -1)
        size, axes = np.linalg.eigh(slopes @ slopes.T)
        known = size > 1e-12 * size.max()
        root = axes[:, known] / np.sqrt(size[known])
        draw = np.random.default_rng([seed, 1])
        starts = []
        for vector in self.vectors:
            off = shown - run(self.start, vector).states[:, measured]
            shift = root @ (root.T @ (slopes @ (off * weight).ravel()))
            starts.append(self.start + shift + root @ draw.normal(size=known.sum()))
        return starts

    def _held(self) -> np.ndarray:
        m, r = self.system.input_size, self.recording
        if r.controls is None:
            return np.zeros((self.steps, m))
        at = r.times[0] + np.arange(self.steps) * self.step
        row = np.searchsorted(r.times, at + _SLACK * self.step, side="right") - 1
        return np.array(r.controls[np.clip(row, 0, len(r.times) - 2)], np.float64)

    def changed(
        self, change: Mapping[str, Any]
    ) -> tuple[np.ndarray, np.ndarray, dict[str, Any], list[_Happening]]:
        """Start, controls, parameters by name and happenings, with the change."""
        if not isinstance(change, Mapping):
            raise TypeError(f"change must map names to values; got {type(change).__name__}")
        start, controls, params = self.start.copy(), self.controls.copy(), {}
        happenings = []
        for key, value in change.items():
            name = as_text(key)
            if name.startswith(("event:", "at:")):
                happenings.append(self._happening(name, value))
            elif name in self.system.input_slices:
                own = controls[:, self.system.input_slices[name]]
                numbers = as_numbers(value, np.float64, f"change of {name!r}")
                if numbers.shape[:1] == (len(self.recording.times),) and numbers.ndim == 2:
                    numbers = _resampled(self, numbers)
                try:
                    own[...] = numbers
                except ValueError:
                    raise Error(
                        f"change of {name!r} must be a number, {own.shape[1]} numbers, or a row "
                        f"for each of {len(self.recording.times)} samples; got {numbers.shape}"
                    ) from None
            elif name in self.system.state_slices:
                self._set(start, name, value)
            else:
                self.system.parameters.info(_component(name)[0])  # the nearest name
                params[name] = value
        return start, controls, params, happenings

    def _set(self, state: np.ndarray, name: str, value: Any) -> None:
        where = self.system.state_slices[name]
        numbers = as_numbers(value, np.float64, f"change of {name!r}")
        if numbers.shape not in ((), state[where].shape):
            raise Error(f"change of {name!r} must have shape {state[where].shape}")
        state[where] = numbers

    def _happening(self, name: str, blocks: Any) -> _Happening:
        if not isinstance(blocks, Mapping) or not blocks:
            raise Error(f"{name!r} maps blocks of the state to values; got {shown(blocks)}")
        for block in blocks:
            if block not in self.system.state_slices:
                known = ", ".join(self.system.state_slices)
                raise Error(f"{name!r}: no state block is called {block!r}; there are {known}")
        kind, _, rest = name.partition(":")
        if kind == "at":
            try:
                time = float(rest)
            except ValueError:
                raise Error(f'{name!r} must be "at:" and a time [s], such as "at:0.5"') from None
            if not self.times[0] <= time < self.times[-1]:
                span = f"{self.times[0]} s to {self.times[-1]} s"
                raise Error(f"{name!r} is not within the recording, {span}")
            return _Happening(name, None, 0, time, blocks)
        event, _, number = rest.partition("#")
        if not (number or "0").isdigit():
            raise Error(f'{name!r} must be "event:NAME" or "event:NAME#1", counted from 0')
        return _Happening(name, event, int(number or 0), math.nan, blocks)

    def runs(self, change: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """The run (S, n), and those of draws or members (k, S, n)."""
        start, controls, params, happenings = self.changed(change)

        def run(
            system: System, vector: Any, x0: np.ndarray = start, strict: bool = False
        ) -> np.ndarray:
            registry = system.parameters
            base = registry.default if vector is None else vector
            given = registry.pack(_with_change(dict(registry.unpack(base)), params))
            return self._run(system, x0, controls, given, happenings, strict)

        if len(self.systems) > 1:
            members = np.stack([run(s, None) for s in self.systems])
            return members.mean(axis=0), members
        middle = run(self.system, self.vector, strict=True)
        touched = _touched(self, change)
        starts = [np.where(touched, start, x) for x in self.starts] or [start] * len(self.vectors)
        drawn = [run(self.system, v, x) for v, x in zip(self.vectors, starts)]
        return middle, np.stack(drawn) if drawn else middle[None]


    def _run(
        self,
        system: System,
        start: np.ndarray,
        controls: np.ndarray,
        params: np.ndarray,
        happenings: list[_Happening],
        strict: bool,
    ) -> np.ndarray:
        """States at the recording's times; strict: an event that does not happen is an error."""
        out = np.empty((len(self.times), system.state_size))
        pending, seen, x, t, filled = list(happenings), [], start, self.times[0], 0
        while True:
            times = self.times[filled:]
            steps = max(1, math.ceil((self.times[-1] - t) / self.step - _SLACK))
            at = (t - self.times[0]) / self.step + np.arange(steps)
            rows = controls[np.clip(np.floor(at + _SLACK).astype(int), 0, len(controls) - 1)]
            go = {"t0": t, "memory": 1}
            trajectory = rollout(
                system, x, rows, params, times=np.minimum(times, t + steps * self.step), **go
            )
            if trajectory.report.failed:
                raise Error("counterfactual: a run with the change is not finite")
            out[filled:] = trajectory.states
            events = list(zip(trajectory.events.name, trajectory.events.time.tolist()))
            found = [(h, _time_of(h, seen, events)) for h in pending]
            comes = [(time, k) for k, (_, time) in enumerate(found) if time is not None]
            if not comes:
                if pending and strict:
                    raise Error(f"{pending[0].label!r}: that does not happen in this run")
                return out
            time, k = min(comes)
            after = min(time + _AFTER * self.step, t + steps * self.step)
            x = np.array(
                rollout(system, x, rows, params, times=[max(after, t)], **go).states[0], np.float64
            )
            for block, value in pending.pop(k).blocks.items():
                self._set(x, block, value)
            seen += [e for e in events if e[1] <= time]
            t, filled = after, int(np.searchsorted(self.times, time, side="left"))
            if filled == len(self.times) or t >= self.times[-1]:
                return out
            while filled < len(self.times) and self.times[filled] < t:
                out[filled] = x
                filled += 1


def _touched(world: _World, change: Mapping[str, Any]) -> np.ndarray:
    """Which numbers of the start the change sets."""
    mask = np.zeros(world.system.state_size, bool)
    for name in change:
        if name in world.system.state_slices and name not in world.system.input_slices:
            mask[world.system.state_slices[name]] = True
    return mask


def _time_of(happening: _Happening, seen: list[Any], events: list[Any]) -> float | None:
    """When it comes, among events of this run and of what went before."""
    if happening.event is None:
        return happening.time
    before = sum(name == happening.event for name, _ in seen)
    times = [time for name, time in events if name == happening.event]
    k = happening.number - before
    return times[k] if 0 <= k < len(times) else None


def _resampled(world: _World, rows: np.ndarray) -> np.ndarray:
    times = world.recording.times
    at = times[0] + np.arange(world.steps) * world.step
    row = np.searchsorted(times, at + _SLACK * world.step, side="right") - 1
    return rows[np.clip(row, 0, len(times) - 2)]


def _first_state(recording: Recording) -> np.ndarray:
    if recording.x0 is not None:
        return np.array(recording.x0, np.float64)
    if recording.names or not np.isfinite(recording.values[0]).all():
        raise Error("counterfactual: the recording has no whole first state; give Recording.x0")
    return np.array(recording.values[0], np.float64)


def _drawn(fit: Fit, draws: int, seed: int) -> list[np.ndarray]:
    """Parameter vectors from the fit's covariance; positive ones stay so, what is not determined
    stays where it is."""
    if fit.covariance.size == 0:
        raise Error('this fit has no covariance to draw from; identify with method="lm"')
    if fit.combinations:
        raise Error("a fit of base parameters has no draws of the system's own")
    places = [-1] * len(fit.names)
    positive = [False] * len(fit.names)
    for name, place, size, _, offset in fit._core["parameters"]:
        for k in range(size):
            places[place + k] = offset + k if offset >= 0 else -1
            if offset >= 0:
                positive[place + k] = _constraint(fit, name) == "positive"
    known = np.isfinite(np.diagonal(fit.covariance)) & (np.array(places) >= 0)
    at = np.flatnonzero(known)
    if not len(at):
        return []
    covariance = fit.covariance[np.ix_(at, at)]
    noise = np.random.default_rng(seed).multivariate_normal(
        np.zeros(len(at)), covariance, size=draws, method="eigh"
    )
    out = []
    for row in noise:
        vector = np.array(fit.vector)
        for i, d in zip(at, row):
            v = vector[places[i]]
            vector[places[i]] = v * math.exp(d / v) if positive[i] else v + d
        out.append(vector)
    return out


def _component(name: str) -> tuple[str, int | None]:
    """The parameter of "option.gravity[2]", and which of its numbers."""
    found = re.fullmatch(r"(.+)\[(\d+)\]", name)
    return (found[1], int(found[2])) if found else (name, None)


def _constraint(fit: Fit, name: str) -> str:
    return fit.system.parameters.info(_component(name)[0]).constraint


def _with_change(values: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in change.items():
        whole, k = _component(name)
        if k is None:
            numbers = as_numbers(value, np.float64, f"change of {name!r}")
            shape = np.shape(values[whole])
            values[whole] = np.full(shape, numbers) if numbers.ndim == 0 else numbers
            continue
        numbers = np.array(values[whole], np.float64)
        if k >= numbers.size:
            raise Error(f"change: {whole!r} has {numbers.size} numbers, and no [{k}]")
        numbers.flat[k] = as_numbers(value, np.float64, f"change of {name!r}")
        values[whole] = numbers
    return values


def counterfactual(
    fit: Any,
    recording: Recording,
    change: Mapping[str, Any],
    *,
    forces: Any = (),
    draws: int = 64,
    seed: int = 0,
) -> Counterfactual:
    """The recording's run as it would have been with a change, with intervals.

    fit: a Fit of `identify`; its start of the recording is inferred, and intervals are those of
    parameters drawn from its covariance, less what is changed, and of starts that fit each draw
    (where no Recording.x0 is given, and states without quaternions were measured). An Ensemble
    gives the interval of its members; a System none. A Gaussian, whose noise is new in every step,
    is refused.

    change: {name: value} of parameters, of inputs (a number, one per input of the block, or a row
    per sample), or of blocks of the state at the start; one component is "option.gravity[2]". An
    event is changed by what it leaves behind: {"event:impact#1": {"velocity": 2.0}} sets a block of
    the state right after the second impact (#0 is the first, and may be left out); {"at:0.5":
    {"velocity": 2.0}} is an event that did not happen, at a time [s].
    forces: inputs through which an unknown noise acted; it is inferred from the recording by
    `estimate`, and acts again with the change.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> truth = cy.systems.pendulum(length=0.8, damping=0.1)
    >>> run = cy.rollout(truth, [1.0, 0.0], 200)
    >>> seen = run.states + 0.01 * np.random.default_rng(0).normal(size=run.states.shape)
    >>> recording = cy.Recording(run.times, seen)
    >>> fit = cy.identify(cy.systems.pendulum(damping=0.1), recording, ["length"])
    >>> cf = cy.counterfactual(fit, recording, {"damping": 1.0})
    >>> calm = cy.rollout(cy.systems.pendulum(length=0.8, damping=1.0), [1.0, 0.0], 200).states
    >>> bool(np.abs(cf.states - calm).max() < 0.05), bool((cf.low <= cf.high).all())
    (True, True)
    """
    world = _world(fit, recording, forces, draws, seed)
    states, runs = world.runs(change)
    factual, home = world.runs({})
    return Counterfactual(recording.times, states, factual, runs, home)


def _world(fit: Any, recording: Recording, forces: Any, draws: int, seed: int) -> _World:
    draws, seed = as_integer(draws, "draws", 1, 10**5), as_integer(seed, "seed", 0)
    world = _World(fit, recording, draws, seed)
    names = as_names(forces, "forces")
    if names:
        _add_noise(world, names)
    return world


def _add_noise(world: _World, names: tuple[str, ...]) -> None:
    """Forces that a recording asks for besides its inputs act in every run."""
    for name in names:
        if name not in world.system.input_slices:
            known = ", ".join(world.system.input_slices)
            raise Error(f"forces: no input is called {name!r}; there are {known}")
    system = world.system
    if world.vector is not None:
        system = system._like(_core_with(system, world.vector))
    found = estimate(system, world.recording, forces=names)
    rows = _resampled(world, np.asarray(found.forces, np.float64))
    column = 0
    for name in names:
        where = world.system.input_slices[name]
        width = where.stop - where.start
        world.controls[:, where] += rows[:, column : column + width]
        column += width
    world.start = np.array(found.states[0], np.float64)
    world.starts = []


def _core_with(system: System, vector: np.ndarray) -> Any:
    return _core.with_parameters(system._core, np.ascontiguousarray(vector, np.float64))


def rank_interventions(
    fit: Any,
    recording: Recording,
    changes: Mapping[str, Mapping[str, Any]],
    outcome: Callable[[np.ndarray], Any],
    *,
    forces: Any = (),
    draws: int = 64,
    seed: int = 0,
) -> list[Intervention]:
    """Changes in the order of what they would have done to the outcome, the largest effect first.

    changes: {label: change}, each as in `counterfactual`. outcome: a number of the states (S, n) of
    a run. The effect is outcome with the change less outcome without it, in the mean over draws of
    the parameters, each draw with and without.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(damping=0.1)
    >>> run = cy.rollout(pendulum, [1.0, 0.0], 200)
    >>> changes = {"heavier": {"mass": 2.0}, "longer": {"length": 2.0}}
    >>> last = lambda states: states[-1, 0]
    >>> recording = cy.Recording(run.times, run.states)
    >>> [i.name for i in cy.rank_interventions(pendulum, recording, changes, last)]
    ['longer', 'heavier']
    """
    if not isinstance(changes, Mapping) or not changes:
        raise Error("changes must map labels to changes; got none")
    world = _world(fit, recording, forces, draws, seed)
    home = np.array([float(outcome(states)) for states in world.runs({})[1]])
    found = []
    for name, change in changes.items():
        there = np.array([float(outcome(states)) for states in world.runs(change)[1]])
        effect = there - home
        low, high = np.quantile(effect, [0.025, 0.975])
        found.append(Intervention(str(name), float(effect.mean()), float(low), float(high)))
    return sorted(found, key=lambda i: -abs(i.effect))
