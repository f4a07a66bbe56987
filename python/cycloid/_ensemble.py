"""Several members of one law, each with first weights and data of its own."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._identify import as_recordings
from cycloid._observe import observe
from cycloid._options import as_integer
from cycloid._rollout import rollout, step
from cycloid._system import System, check_system
from cycloid._train import Derivatives, Training, check_options, train


_USUAL = 0.9  # the share of the training data that is less strange than 1
_MOST_NEIGHBOURS = 2000


class EnsembleRollout:
    """Runs of all members: states of member i are members[i], (..., T + 1, n); mean and std over
    the members, (..., T + 1, n); times (T + 1,) [s]."""

    __slots__ = ("mean", "members", "std", "times")

    def __init__(self, members: np.ndarray, times: np.ndarray) -> None:
        self.members, self.times = members, times
        self.mean = members.mean(axis=0)
        self.std = members.std(axis=0, ddof=1) if len(members) > 1 else np.zeros_like(self.mean)

    def __repr__(self) -> str:
        return f"<EnsembleRollout: {len(self.members)} members, states {self.mean.shape}>"


class Ensemble:
    """What `ensemble` trained: runs, a Training of each member; systems, the trained Systems."""

    def __init__(self, runs: Sequence[Training], data: Any) -> None:
        self.runs = tuple(runs)
        """A Training of each member."""
        self.systems = tuple(r.system for r in runs)
        """The trained members."""
        x, u = _points(data)
        low, high = x.min(axis=0), x.max(axis=0)
        self._width = np.where(high - low < 1e-12, 1.0, high - low)
        self._familiar = _Familiar(_features(x, u, self.systems[0].input_size))
        self._usual = {"spread": 1.0, "distance": 1.0, "neighbour": 1.0, "residual": 1.0}
        self._noise = _residual_variance(self, data)
        usual = self.strangeness(x, u)
        usual["neighbour"] = self._familiar.among_themselves()
        if self._noise is not None:
            points = _transitions(data, self.systems[0].timestep)
            if points is not None:
                usual["residual"] = self.strangeness(*points)["residual"]
        for name, values in usual.items():
            self._usual[name] = float(np.quantile(values, _USUAL)) or 1.0

    def rollout(self, x0: Any, controls: Any, params: Any = None) -> EnsembleRollout:
        """Runs of all members from x0 (..., n) under controls (..., T, inputs), or an int T."""
        if params is not None:
            raise Error("the members have parameters of their own; leave params out")
        runs = [rollout(s, x0, controls) for s in self.systems]
        return EnsembleRollout(np.stack([r.states for r in runs]), runs[0].times)

    def novelty(self, x: Any, u: Any = None, next: Any = None) -> np.ndarray:
        """How strange states (..., n) are, with inputs u (..., m): larger is stranger, (...).

        The largest part of `strangeness`. Another mass or friction leaves states as they were: it
        shows only when next (..., n), the state one step later, is given; its residual then counts
        twice as much as where the state lies.
        """
        parts = self.strangeness(x, u, next)
        residual = parts.pop("residual", None)
        place = np.maximum.reduce(list(parts.values()))
        return place if residual is None else np.maximum(residual, 0.5 * place)

    def strangeness(self, x: Any, u: Any = None, next: Any = None) -> dict[str, np.ndarray]:
        """What `novelty` is made of, each (...), and 1 where nine tenths of the training data are
        below it: "spread", how far the members' rates lie apart; "distance", that of Mahalanobis of
        (x, u) from the training data; "neighbour", the distance from the nearest of them; and with
        next "residual", its distance from the members' mean step, in units of what they miss on
        the training data."""
        x = as_numbers(x, np.float64, "x")
        inputs = self.systems[0].input_size
        features = _features(x, u, inputs)
        parts = {
            "spread": self._spread(x, u),
            "distance": self._familiar.distance(features),
            "neighbour": self._familiar.nearest(features),
        }
        if next is not None:
            after = as_numbers(next, np.float64, "next")
            if after.shape != x.shape:
                raise Error(f"next must have the shape of x, {x.shape}; got {after.shape}")
            ahead = np.stack([np.asarray(step(s, x, u), np.float64) for s in self.systems])
            noise = 0.0 if self._noise is None else self._noise
            variance = noise + ahead.var(axis=0) + (1e-9 * self._width) ** 2
            miss = (after - ahead.mean(axis=0)) ** 2 / variance
            parts["residual"] = np.sqrt(miss.mean(axis=-1))
        return {name: part / self._usual[name] for name, part in parts.items()}

    def _spread(self, x: np.ndarray, u: Any) -> np.ndarray:
        """Of the members' rates, where they have such, else of their next states."""
        if "x_dot" in self.systems[0].observables:
            after = np.stack([observe(s, x, u, names=["x_dot"]).values for s in self.systems])
        else:
            after = np.stack([np.asarray(step(s, x, u), np.float64) for s in self.systems])
        apart = after.std(axis=0) / self._width
        return np.sqrt((apart**2).sum(axis=-1))

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"<Ensemble of {len(self.runs)}: {self.systems[0]!r}>"


def _points(data: Any) -> tuple[np.ndarray, np.ndarray | None]:
    if isinstance(data, Derivatives):
        return data.x, data.u
    recordings = as_recordings(data, "data")
    rows = np.concatenate([r.values for r in recordings])
    known = np.isfinite(rows).all(axis=1)
    u = None
    if recordings[0].controls is not None:
        u = np.concatenate([r.controls for r in recordings])[known]  # type: ignore[misc]
    return rows[known], u


def _features(x: np.ndarray, u: Any, inputs: int) -> np.ndarray:
    """States and inputs in one row."""
    if not inputs:
        return x
    given = np.zeros(inputs) if u is None else as_numbers(u, np.float64, "u")
    return np.concatenate([x, np.broadcast_to(given, (*x.shape[:-1], inputs))], axis=-1)


class _Familiar:
    """Where training data were: their mean and covariance, and some of the points themselves."""

    def __init__(self, points: np.ndarray) -> None:
        self._mean = points.mean(axis=0)
        spread = points.std(axis=0)
        self._scale = np.where(spread > 1e-12, spread, 1.0)
        z = (points - self._mean) / self._scale
        covariance = z.T @ z / len(z) + 1e-6 * np.eye(z.shape[1])
        self._root = np.linalg.inv(np.linalg.cholesky(covariance))
        pick = np.random.default_rng(0).permutation(len(z))[:_MOST_NEIGHBOURS]
        self._points = z[pick] @ self._root.T

    def _white(self, points: np.ndarray) -> np.ndarray:
        z = (points.reshape(-1, points.shape[-1]) - self._mean) / self._scale
        return z @ self._root.T

    def distance(self, points: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self._white(points), axis=1).reshape(points.shape[:-1])

    def nearest(self, points: np.ndarray) -> np.ndarray:
        z = self._white(points)
        found = np.empty(len(z))
        for begin in range(0, len(z), 1024):
            found[begin : begin + 1024] = self._squares(z[begin : begin + 1024]).min(axis=1)
        return np.sqrt(found).reshape(points.shape[:-1])

    def among_themselves(self) -> np.ndarray:
        squares = self._squares(self._points)
        np.fill_diagonal(squares, np.inf)
        return np.sqrt(squares.min(axis=1)) if len(squares) > 1 else np.ones(1)

    def _squares(self, z: np.ndarray) -> np.ndarray:
        own = (z**2).sum(axis=1)[:, None] + (self._points**2).sum(axis=1)
        return np.maximum(0.0, own - 2 * z @ self._points.T)


def _transitions(data: Any, dt: float) -> tuple[Any, Any, Any] | None:
    """Points, inputs and what came one step later, where the data have that."""
    if isinstance(data, Derivatives):
        return None
    x, u, after = [], [], []
    for r in as_recordings(data, "data"):
        whole = np.isfinite(r.values).all(axis=1)
        apart = np.abs(np.diff(r.times) - dt) < 1e-6 * dt
        at = np.flatnonzero(whole[:-1] & whole[1:] & apart)
        x.append(r.values[at])
        after.append(r.values[at + 1])
        if r.controls is not None:
            u.append(r.controls[at])
    if not sum(map(len, x)):
        return None
    return np.concatenate(x), np.concatenate(u) if u else None, np.concatenate(after)


def _residual_variance(many: Ensemble, data: Any) -> np.ndarray | None:
    """Mean square of what the members' mean step misses on the training data, by number."""
    dt = many.systems[0].timestep
    if isinstance(data, Derivatives):
        if "x_dot" not in many.systems[0].observables:
            return None
        rates = [observe(s, data.x, data.u, names=["x_dot"]).values for s in many.systems]
        return ((dt * (data.x_dot - np.mean(rates, axis=0))) ** 2).mean(axis=0)
    points = _transitions(data, dt)
    if points is None:
        return None
    x, u, after = points
    ahead = np.mean([np.asarray(step(s, x, u), np.float64) for s in many.systems], axis=0)
    return ((after - ahead) ** 2).mean(axis=0)


def _resampled(data: Any, rng: np.random.Generator) -> Any:
    """Rows, or recordings, drawn with replacement; of fewer than four recordings all are taken."""
    if isinstance(data, Derivatives):
        pick = rng.integers(0, len(data), size=len(data))
        return Derivatives(data.x[pick], data.x_dot[pick], None if data.u is None else data.u[pick])
    recordings = as_recordings(data, "data")
    if len(recordings) < 4:
        return recordings
    return [recordings[i] for i in rng.integers(0, len(recordings), size=len(recordings))]


def _reseeded(law: System, seed: int) -> System:
    """The same learned law with other first weights; another System as it is."""
    core = _core.reseeded(law._core, seed)
    if core is None:
        return law
    made = System(core)
    made._threads = law._threads
    return made


def ensemble(
    law: System,
    data: Any,
    members: int = 5,
    *,
    seed: int = 0,
    resample: bool = True,
    **training: Any,
) -> Ensemble:
    """Trains several members of a law side by side, each with its own first weights and its own
    rows or recordings, drawn with replacement from the data.

    data and keywords as `train` takes them; resample=False gives all members the same data.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> data = cy.learn.Derivatives(x, x[:, ::-1] * [1, -1])
    >>> law = cy.learn.neural_ode(2, hidden=(16,), dt=0.1)
    >>> many = cy.learn.ensemble(law, data, members=3, steps=100, learning_rate=1e-2)
    >>> many.rollout([0.5, 0.0], 10)
    <EnsembleRollout: 3 members, states (11, 2)>
    >>> bool(many.novelty([3.0, 3.0]) > many.novelty([0.1, 0.1]))
    True
    """
    check_system(law)
    members = as_integer(members, "members", 1, 10_000)
    seed = as_integer(seed, "seed", 0, 2**62)
    check_options(training)
    if training.get("resume") is not None:
        raise Error("the members of an ensemble are not resumed; train them one by one")
    given = {"progress": False, **training, "threads": 1}

    def one(k: int) -> Training:
        rng = np.random.default_rng([seed, k])
        own = _resampled(data, rng) if resample else data
        return train(_reseeded(law, seed + k), own, seed=seed + k, **given)

    workers = training.get("threads") or _core.default_threads()
    with ThreadPoolExecutor(max_workers=min(workers, members)) as pool:
        return Ensemble(list(pool.map(one, range(members))), data)
