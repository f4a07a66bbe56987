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
        self._low, self._high = _range(data)
        self._usual = 1.0
        x, u = _points(data)
        spread = self._spread(x, u)
        self._usual = float(np.quantile(spread, 0.9)) or 1.0

    def rollout(self, x0: Any, controls: Any, params: Any = None) -> EnsembleRollout:
        """Runs of all members from x0 (..., n) under controls (..., T, inputs), or an int T."""
        if params is not None:
            raise Error("the members have parameters of their own; leave params out")
        runs = [rollout(s, x0, controls) for s in self.systems]
        return EnsembleRollout(np.stack([r.states for r in runs]), runs[0].times)

    def novelty(self, x: Any, u: Any = None, next: Any = None) -> np.ndarray:
        """How strange states (..., n) are, with inputs u (..., m): larger is stranger, (...).

        How far the members' next states lie apart, in units of what is usual on the training data,
        plus how far x lies outside the range of these data, in units of their width. next (..., n):
        what came afterwards; its distance from the members' mean counts too.
        """
        x = as_numbers(x, np.float64, "x")
        spread = self._spread(x, u)
        width = self._high - self._low
        outside = np.maximum(0, np.maximum(self._low - x, x - self._high)) / width
        strange = spread / self._usual + 10 * np.sqrt((outside**2).sum(axis=-1))
        if next is not None:
            after = as_numbers(next, np.float64, "next")
            ahead = np.stack([np.asarray(step(s, x, u), np.float64) for s in self.systems])
            miss = (after - ahead.mean(axis=0)) / width
            strange = strange + np.sqrt((miss**2).sum(axis=-1)) / self._usual
        return strange

    def _spread(self, x: np.ndarray, u: Any) -> np.ndarray:
        """Of the members' rates, where they have such, else of their next states."""
        if "x_dot" in self.systems[0].observables:
            after = np.stack([observe(s, x, u, names=["x_dot"]).values for s in self.systems])
        else:
            after = np.stack([np.asarray(step(s, x, u), np.float64) for s in self.systems])
        apart = after.std(axis=0) / np.maximum(self._high - self._low, 1e-300)
        return np.sqrt((apart**2).sum(axis=-1)) / self._usual

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


def _range(data: Any) -> tuple[np.ndarray, np.ndarray]:
    x, _ = _points(data)
    low, high = x.min(axis=0), x.max(axis=0)
    flat = high - low < 1e-12
    return low - 0.5 * flat, high + 0.5 * flat


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
