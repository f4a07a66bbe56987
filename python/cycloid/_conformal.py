"""Split conformal intervals around whole trajectories of any model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._identify import as_recordings
from cycloid._options import as_integer, as_real
from cycloid._rollout import rollout
from cycloid._system import System

_SCALE_SHARE = 0.2  # of the calibration runs, for the shape of the band
_LEAST_SCALE = 1e-3  # of the largest of a number's scales over the steps


class ConformalRollout:
    """A band: low, mean and high, (..., T + 1, n). The first state is known and has no width."""

    __slots__ = ("high", "low", "mean")

    def __init__(self, mean: np.ndarray, reach: np.ndarray) -> None:
        self.mean, self.low, self.high = mean, mean - reach, mean + reach

    def contains(self, states: Any) -> np.ndarray:
        """Whether whole trajectories (..., T + 1, n) lie inside, (...)."""
        x = np.asarray(states, np.float64)
        inside = (x >= self.low) & (x <= self.high) | np.isnan(x)
        return inside[..., 1:, :].all(axis=(-2, -1))

    def __repr__(self) -> str:
        return f"<ConformalRollout: {self.mean.shape}>"


class Coverage:
    """How often bands held: share of `runs` whole trajectories, with the 95 % interval (low, high)
    that binomial chance allows around it; holds: whether the level is not above it; verdict."""

    __slots__ = ("high", "holds", "level", "low", "runs", "share", "verdict")

    def __init__(self, inside: np.ndarray, level: float) -> None:
        self.runs, self.level = int(inside.size), level
        self.share = float(inside.mean())
        # Wilson's interval
        z, n = 1.959963984540054, self.runs
        middle = (self.share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(self.share * (1 - self.share) / n + (z / n / 2) ** 2)
        self.low, self.high = middle - half, middle + half
        self.holds = self.high >= level
        said = "the guarantee holds" if self.holds else "the shift breaks the guarantee"
        self.verdict = f"{said}: {self.share:.1%} of {n} runs inside, {level:.0%} were promised"

    def __repr__(self) -> str:
        return f"<Coverage: {self.verdict}>"


class Conformal:
    """A model with bands around its trajectories, which `conformal` calibrated.

    model; level; scores: of the calibration runs, sorted, the largest error over steps and numbers
    in units of scale (T + 1, n).
    """

    def __init__(self, model: Any, level: float, scale: np.ndarray, scores: np.ndarray) -> None:
        self.model, self.level = model, level
        self.scale = scale
        """Of errors by step and number; of a model with a spread of its own, in its units."""
        self.scores = np.sort(scores)
        self._missing = 1 - level  # the share that may be outside; adapted by update

    @property
    def steps(self) -> int:
        """The longest run that has a band."""
        return len(self.scale) - 1

    def rollout(self, x0: Any, controls: Any) -> ConformalRollout:
        """The band of runs from x0 (..., n) under controls (..., T, inputs), or an int T, of at
        most as many steps as those it was calibrated on."""
        mean, std = _forecast(self.model, x0, controls)
        steps = mean.shape[-2] - 1
        if steps > self.steps:
            raise Error(f"the bands were calibrated on {self.steps} steps; got {steps}")
        return ConformalRollout(mean, self._factor() * _widths(self.scale[: steps + 1], std))

    def coverage(self, truth: Any, x0: Any = None, controls: Any = None) -> Coverage:
        """How many runs of `truth` lie inside their bands, and whether that is what was promised:
        in distribution it is, under a shift it need not be. Arguments as in `conformal`."""
        starts, given, states = _truth_runs(truth, x0, controls)
        band = self.rollout(starts, given)
        return Coverage(band.contains(states), self.level)

    def update(self, x0: Any, controls: Any, states: Any, rate: float = 0.02) -> bool:
        """Adaptive conformal inference: after a run was seen, bands become a little narrower, or,
        where it was outside, wider by `rate`, so that the level is kept over time under a drift
        too. Of several runs, each counts. Returns whether all were inside."""
        rate = as_real(rate, "rate")
        inside = self.rollout(x0, controls).contains(states)
        self._missing += rate * float(np.sum((1 - self.level) - ~inside))
        return bool(np.all(inside))

    def _factor(self) -> float:
        """The quantile of the scores that exchangeable runs stay below with the level."""
        n = len(self.scores)
        if self._missing <= 0:  # adapted beyond what was seen: past the largest
            return float(self.scores[-1] * (1 - 10 * self._missing))
        place = math.ceil((n + 1) * (1 - self._missing) - 1e-9)
        return float(self.scores[min(max(place, 1), n) - 1])

    def __repr__(self) -> str:
        return (
            f"<Conformal: {self.level:.0%} bands of {self.steps} steps from "
            f"{len(self.scores)} runs, factor {self._factor():.3g}>"
        )


def conformal(
    model: Any,
    truth: Any,
    x0: Any = None,
    steps: Any = None,
    level: float = 0.9,
    *,
    seed: int = 0,
) -> Conformal:
    """Bands around a model's trajectories in which whole runs of the truth lie with probability
    `level`: split conformal prediction, guaranteed for runs that are exchangeable with those that
    it is calibrated on.

    model: a System, or an object whose rollout(x0, controls) gives .mean and .std. truth: a System,
    with starts x0 (runs, n) and steps, a number or controls (runs, T, inputs); or recordings of
    whole states at equal times, and nothing else. A fifth of the runs, chosen by seed, gives the
    band its shape over steps and numbers, the others its width: the quantile of the largest error
    in units of that shape. With m of them, the level must be at most m / (m + 1).

    >>> import numpy as np
    >>> import cycloid as cy
    >>> truth = cy.systems.pendulum(dt=0.05)
    >>> rough = cy.systems.pendulum(dt=0.05, length=1.05)
    >>> draw = np.random.default_rng(0)
    >>> safe = cy.learn.conformal(rough, truth, draw.uniform(-1, 1, (200, 2)), 40)
    >>> x0 = draw.uniform(-1, 1, (500, 2))
    >>> band, runs = safe.rollout(x0, 40), cy.rollout(truth, x0, 40).states
    >>> bool(0.82 < band.contains(runs).mean() < 0.97)
    True
    >>> safe.coverage(cy.systems.pendulum(dt=0.05, length=0.8), x0, 40).holds
    False
    """
    level = as_real(level, "level")
    if not 0 < level < 1:
        raise Error(f"level must lie between 0 and 1; got {level}")
    starts, controls, states = _truth_runs(truth, x0, steps)
    mean, std = _forecast(model, starts, controls)
    if mean.shape != states.shape:
        raise Error(f"the model's runs have shape {mean.shape}, the truth's {states.shape}")
    runs = len(states)
    order = np.random.default_rng(as_integer(seed, "seed", 0)).permutation(runs)
    shaping = max(1, round(_SCALE_SHARE * runs))
    rest = runs - shaping
    if math.ceil((rest + 1) * level - 1e-9) > rest:
        need = math.ceil(math.ceil(level / (1 - level) - 1e-9) / (1 - _SCALE_SHARE)) + 1
        raise Error(f"a level of {level} needs at least {need} runs; got {runs}")
    error = np.abs(states - mean)
    if not np.isfinite(mean).all():
        raise Error("a run of the model is not finite; it has no band")
    if std is not None:
        error = error / _widths(np.ones(std.shape[-2:]), std)
    # NaN: what was not measured
    first, others = error[order[:shaping]], error[order[shaping:]]
    scale = np.sqrt(np.nanmean(first**2, axis=0))
    top = np.nanmax(scale, axis=0)
    scale = np.maximum(scale, np.where(top > 0, _LEAST_SCALE * top, 1.0))
    scale[0] = 0
    scores = np.nanmax((others[:, 1:] / scale[1:]).reshape(rest, -1), axis=1)
    return Conformal(model, level, scale, scores)


def _widths(scale: np.ndarray, std: np.ndarray | None) -> np.ndarray:
    """The shape of the band; a spread of zero has the least that others have in this number."""
    if std is None:
        return scale
    top = std.max(axis=-2, keepdims=True)
    return scale * np.maximum(std, np.where(top > 0, _LEAST_SCALE * top, 1.0))


def _forecast(model: Any, x0: Any, controls: Any) -> tuple[np.ndarray, np.ndarray | None]:
    if isinstance(model, System):
        if model.input_size == 0 and np.ndim(controls):
            controls = np.shape(controls)[-2]
        start = as_numbers(x0, np.float64, "x0")
        n = start.shape[-1]
        if "guard" in model.state_slices:  # which begins with zeros
            n = min(n, model.state_slices["guard"].start)
            guard = np.zeros((*start.shape[:-1], model.state_size - n))
            start = np.concatenate([start[..., :n], guard], axis=-1)
        run = rollout(model, start, controls)
        states = np.array(run.states[..., :n], np.float64)
        for failure in run.report.failed:
            states.reshape(-1, *states.shape[-2:])[failure.environment, failure.step + 1 :] = np.nan
        return states, None
    if not callable(getattr(model, "rollout", None)):
        raise TypeError(
            "model must be a System or have rollout(x0, controls) with .mean and .std; "
            f"got {type(model).__name__}"
        )
    run = model.rollout(x0, controls)
    std = getattr(run, "std", None)
    mean = as_numbers(run.mean, np.float64, "the model's mean")
    return mean, None if std is None else as_numbers(std, np.float64, "the model's std")


def _truth_runs(truth: Any, x0: Any, controls: Any) -> tuple[np.ndarray, Any, np.ndarray]:
    """Starts (runs, n), controls or a number of steps, states (runs, T + 1, n)."""
    if isinstance(truth, System):
        if x0 is None or controls is None:
            raise Error("conformal: give x0 and steps with a System as truth")
        starts = np.atleast_2d(as_numbers(x0, np.float64, "x0"))
        run = rollout(truth, starts, controls)
        if run.report.failed:
            raise Error("conformal: a run of the truth fails; give other starts or fewer steps")
        states = np.array(run.states, np.float64)
        return np.broadcast_to(starts, (len(states), starts.shape[-1])), controls, states
    if x0 is not None or controls is not None:
        raise Error("conformal: recordings bring their starts and inputs; leave x0 and steps out")
    recordings = as_recordings(truth, "truth")
    lengths = {len(r.times) for r in recordings}
    if len(lengths) != 1 or any(r.names for r in recordings):
        raise Error("conformal: recordings must be of whole states, and equally long")
    states = np.stack([np.asarray(r.values, np.float64) for r in recordings])
    starts = np.stack([s[0] if r.x0 is None else r.x0 for s, r in zip(states, recordings)])
    if not np.isfinite(starts).all():
        raise Error("conformal: a recording has no complete first row; give Recording.x0")
    steps = lengths.pop() - 1
    if any(r.controls is None for r in recordings):
        return starts, steps, states
    return starts, np.stack([r.controls[:-1] for r in recordings]), states
