"""How far to believe a model: one scorecard for any model against any truth."""

from __future__ import annotations

import math
import html
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers, check_trailing, to_rows
from cycloid._core import Error
from cycloid._identify import as_recordings
from cycloid._options import as_integer, as_real, as_text, as_threads, shown
from cycloid._recording import Recording
from cycloid._rollout import Batch
from cycloid._system import System, check_system
from cycloid.cost import Cost


class Scorecard:
    """What `evaluate` found.

    scores: {name: value}; those that do not apply are absent. interval: {name: (low, high)}, 95 %,
    by the bootstrap over runs. marks: {name: "good", "fair", "poor", or "plain" where a number is
    neither}. verdict: in plain words. curves: {name: (x, y)}, "error" over time [s], "coverage"
    over the stated level, "gradient_cosine" over the horizon [s]. notes: what was left out.
    """

    def __init__(self, core: Any) -> None:
        self._core = core
        self.scores: dict[str, float] = {s[0]: s[1] for s in core.scores}
        self.interval: dict[str, tuple[float, float]] = {s[0]: (s[2], s[3]) for s in core.scores}
        self.marks: dict[str, str] = {s[0]: s[4] for s in core.scores}
        self.curves: dict[str, tuple[np.ndarray, np.ndarray]] = core.curves
        self.notes: tuple[str, ...] = tuple(core.notes)
        self.verdict: str = core.verdict
        self.model: str = core.model
        self.truth: str = core.truth

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes JSON, as docs/scorecard.schema.json describes it."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._core.json + "\n")

    def plot(self, path: str | os.PathLike[str], beside: Scorecard | None = None) -> None:
        """Writes a page with the verdict, plots and all scores; `beside`: with a second card."""
        _core.write_scorecards(self._with(beside), os.fspath(path))

    def table(self, beside: Scorecard | None = None) -> str:
        """All scores with their intervals as text; `beside`: with a second card."""
        return str(_core.scorecard_table(self._with(beside)))

    def _with(self, beside: Scorecard | None) -> list[Any]:
        if beside is None:
            return [self._core]
        if not isinstance(beside, Scorecard):
            raise TypeError(f"beside must be a Scorecard; got {type(beside).__name__}")
        return [self._core, beside._core]

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(self.verdict)}</b></p><pre>{html.escape(self.table())}</pre>"

    def __repr__(self) -> str:
        return f"<Scorecard of {self.model} against {self.truth}: {self.verdict}>\n{self.table()}"


def evaluate(
    model: Any,
    truth: Any,
    x0: Any = None,
    controls: Any = None,
    *,
    shifts: Mapping[str, System] | None = None,
    larger: Any = None,
    cost: Cost | None = None,
    training_seconds: float | None = None,
    seed: int = 0,
    draws: int = 200,
    plan_starts: int = 4,
    timing: bool = True,
    threads: int | None = None,
) -> Scorecard:
    """Judges a model against the truth: accuracy, physics that is kept, generalisation, gradients,
    stated uncertainty, plans, cost. docs/trust.md defines every score.

    model: a System, or any object whose rollout(x0, controls) gives .mean and .std (..., T + 1, n),
    such as an ensemble; .std may be None. truth: a System, or one or several recordings, with which
    x0 and controls are left out. x0 (..., n) starts, controls (..., T, inputs) or a number of the
    truth's steps. A model whose step is a multiple or a whole fraction of the truth's sees the same
    inputs, and is compared where both have states.

    shifts: {name: truth with other parameters}; a model that has these parameters is told, and its
    novelty(x, u, next), where it has one, should find them strange. larger: (model, truth) or
    (model, truth, x0) of a larger world. cost: of plans, made in the model and run in the truth,
    from the first `plan_starts` starts. training_seconds: what the model took [s]. draws: of the
    bootstrap. timing=False leaves out seconds_per_step, speedup and break_even_runs, the scores
    that differ from one time to the next.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> truth = cy.systems.pendulum()
    >>> damped = cy.systems.pendulum(damping=0.2)
    >>> x0 = np.random.default_rng(0).uniform(-1, 1, (8, 2))
    >>> card = cy.evaluate(damped, truth, x0, 300, timing=False)
    >>> bool(card.scores["energy_drift"] > 0.2), card.marks["energy_drift"]
    (True, 'poor')
    >>> good = cy.evaluate(truth.variant(dt=0.02), truth, x0, 300, timing=False)
    >>> good.verdict.split(":")[0], bool(good.scores["error"] < 1e-5)
    ('trustworthy in accuracy, physics, generalisation, gradients', True)
    """
    options: dict[str, Any] = {
        "seed": as_integer(seed, "seed", 0, 2**62),
        "draws": as_integer(draws, "draws", 1, 10**6),
        "plan_starts": as_integer(plan_starts, "plan_starts", 1, 10**6),
        "timing": bool(timing),
    }
    if training_seconds is not None:
        options["training_seconds"] = as_real(training_seconds, "training_seconds")
        if options["training_seconds"] < 0:
            raise Error(f"training_seconds must not be negative; got {training_seconds}")
    if not isinstance(truth, System):
        return _against_recordings(model, truth, x0, controls, options, threads)
    if x0 is None or controls is None:
        raise Error("evaluate: give x0 and controls, or a number of steps, with a System as truth")
    options["threads"] = as_threads(threads, truth._threads)
    batch = Batch(truth, x0, controls, None, np.float64)
    _, rows, u, steps, _ = batch.rows
    runs = math.prod(batch.lead)
    rows = np.ascontiguousarray(np.broadcast_to(rows, (runs, truth.state_size)))
    if u is not None and not np.any(u):
        u = None
    options["shifts"] = _shifts(shifts)
    if larger is not None:
        options["larger"] = _larger(larger, model, rows, options["seed"])
    if cost is not None and not isinstance(cost, Cost):
        raise TypeError(f"cost must be made of cycloid.cost; got {type(cost).__name__}")
    return Scorecard(
        _core.evaluate(
            _given(model, truth.state_size, truth.input_size),
            truth._core,
            rows,
            u,
            steps,
            None if cost is None else cost._core(),
            options,
        )
    )


def _given(model: Any, states: int, inputs: int) -> tuple[Any, ...]:
    """A model as the core takes it."""
    novelty = getattr(model, "novelty", None)
    strange = _strange(novelty, states, inputs) if callable(novelty) else None
    if isinstance(model, System):
        return model.name, model._core, None, strange
    if not callable(getattr(model, "rollout", None)):
        raise TypeError(
            "model must be a System or have rollout(x0, controls) with .mean and .std; "
            f"got {type(model).__name__}"
        )
    name = getattr(model, "name", None)
    label = name if isinstance(name, str) else type(model).__name__.lower()
    return as_text(label), None, _forecast(model, states, inputs), strange


def _forecast(model: Any, states: int, inputs: int) -> Callable[..., Any]:
    def forecast(x0: np.ndarray, controls: np.ndarray, rows: int, steps: int) -> Any:
        idle = not inputs or not np.any(controls)
        given: Any = steps if idle else controls.reshape(rows, steps, inputs)
        run = model.rollout(x0.reshape(rows, states), given)
        mean = as_numbers(run.mean, np.float64, "the model's mean")
        std = getattr(run, "std", None)
        shape = (rows, steps + 1, states)
        if mean.shape != shape:
            raise Error(f"the model's mean must have shape {shape}; got {mean.shape}")
        if std is not None:
            std = as_numbers(std, np.float64, "the model's std")
            if std.shape != shape:
                raise Error(f"the model's std must have shape {shape}; got {std.shape}")
            if not (std >= 0).all():
                raise Error("the model's std must not be negative")
        return np.ascontiguousarray(mean), None if std is None else np.ascontiguousarray(std)

    return forecast


def _strange(novelty: Callable[..., Any], states: int, inputs: int) -> Callable[..., Any]:
    def strange(x: np.ndarray, u: np.ndarray, after: np.ndarray) -> np.ndarray:
        x = x.reshape(-1, states)
        given = u.reshape(len(x), inputs) if inputs and np.any(u) else None
        found = as_numbers(novelty(x, given, after.reshape(-1, states)), np.float64, "novelty")
        if found.shape != (len(x),):
            raise Error(f"novelty must have shape {(len(x),)}; got {found.shape}")
        return np.ascontiguousarray(found)

    return strange


def _shifts(shifts: Mapping[str, System] | None) -> list[tuple[str, Any]]:
    if shifts is None:
        return []
    if not isinstance(shifts, Mapping):
        raise TypeError(f"shifts must map names to Systems; got {type(shifts).__name__}")
    out = []
    for name, system in shifts.items():
        check_system(system)
        out.append((as_text(name), system._core))
    return out


def _larger(larger: Any, model: Any, x0: np.ndarray, seed: int) -> tuple[Any, ...]:
    if isinstance(larger, System):
        larger = (model, larger)
    if not isinstance(larger, Sequence) or len(larger) not in (2, 3):
        raise TypeError(f"larger must be (model, truth) or (model, truth, x0); got {shown(larger)}")
    own, truth = larger[:2]
    check_system(truth)
    if len(larger) == 3:
        rows = as_numbers(larger[2], np.float64, "larger: x0")
        check_trailing(rows, (truth.state_size,), "larger: x0", truth._meaning)
        rows = to_rows(rows, rows.shape[:-1], 1, "larger: x0")
    else:
        spread = float(np.std(x0)) if len(x0) > 1 else 0.1
        draw = np.random.default_rng(seed).normal(size=(len(x0), truth.state_size))
        rows = np.asarray(truth.initial_state(), np.float64) + spread * draw
    return _given(own, truth.state_size, truth.input_size), truth._core, rows.ravel().tolist()


def _against_recordings(
    model: Any, truth: Any, x0: Any, controls: Any, options: dict[str, Any], threads: Any
) -> Scorecard:
    if not isinstance(truth, (Recording, Sequence)):
        raise TypeError(f"truth must be a System or recordings; got {type(truth).__name__}")
    if x0 is not None or controls is not None:
        raise Error("evaluate: recordings bring their starts and inputs; leave x0 and controls out")
    recordings = as_recordings(truth, "truth")
    if not recordings:
        raise Error("evaluate: no recordings were given")
    first = recordings[0]
    if not isinstance(model, System) and first.names:
        raise Error("evaluate: recordings of named outputs need a System as the model")
    inputs = 0 if first.controls is None else np.atleast_2d(first.controls).shape[-1]
    options["threads"] = as_threads(threads, model._threads if isinstance(model, System) else 0)
    given = _given(model, first.values.shape[-1], inputs)
    return Scorecard(_core.evaluate_recordings(given, [r._rows for r in recordings], options))
