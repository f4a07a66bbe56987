"""Models of several Systems that know where they have not been."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._familiar import Familiar, features
from cycloid._identify import as_recordings
from cycloid._observe import observe
from cycloid._options import as_names, as_text
from cycloid._rollout import rollout, step
from cycloid._system import System, check_system
from cycloid._train import Derivatives

_USUAL = 0.9  # the share of the training data that is less strange than 1
_LEAST_RESIDUAL = 1e-6  # of the length of a step, below which a residual is rounding


class EnsembleRollout:
    """Runs of all members: states of member i are members[i], (..., T + 1, n), or None where
    moments were carried instead; mean and std, (..., T + 1, n); times (T + 1,) [s]; covariance
    (..., T + 1, tangents, tangents), of moments only."""

    __slots__ = ("covariance", "mean", "members", "std", "times")

    def __init__(self, members: np.ndarray, times: np.ndarray) -> None:
        self.members: np.ndarray | None = members
        self.times, self.covariance = times, None
        self.mean = members.mean(axis=0)
        self.std = members.std(axis=0, ddof=1) if len(members) > 1 else np.zeros_like(self.mean)

    @classmethod
    def of_moments(
        cls, mean: np.ndarray, std: np.ndarray, covariance: np.ndarray, times: np.ndarray
    ) -> EnsembleRollout:
        made = cls.__new__(cls)
        made.mean, made.std, made.covariance = mean, std, covariance
        made.members, made.times = None, times
        return made

    def __repr__(self) -> str:
        what = "moments" if self.members is None else f"{len(self.members)} members"
        return f"<EnsembleRollout: {what}, states {self.mean.shape}>"


class Members:
    """Systems that stand for what is not known; the first has the numbers that training found."""

    kind = "members"

    def __init__(self, systems: Sequence[System]) -> None:
        self.systems = tuple(systems)
        """The members."""
        self._physics: System | None = None
        self._conserved: tuple[str, ...] = ()
        self._usual: dict[str, float] = {}
        self._noise: np.ndarray | None = None

    def _look_at(self, data: Any) -> None:
        """Remembers where the data were, and how strange they look."""
        x, u = points(data)
        self._width = _widths(x)
        self._familiar = Familiar(features(x, u, self.systems[0].input_size))
        self._after = transitions(data, self.systems[0].timestep)
        self._points = (x, u)
        self._noise = self._residual_variance(data)
        usual = self.strangeness(x, u)
        usual["neighbour"] = self._familiar.among_themselves()
        if self._noise is not None and self._after is not None:
            usual["residual"] = self.strangeness(*self._after)["residual"]
        self._usual = {name: _usual(values) for name, values in usual.items()}

    def watch(self, physics: System | None = None, conserved: Any = ()) -> Members:
        """Adds parts to `strangeness`: "physics", what a classical solver's own step misses, and
        "conserved", the change of its observables of these names ("energy") over a step. Both are
        of `next` where it is given, else of the model's own step: then they need no truth. Without
        a solver, conserved quantities are those of the model. Returns the model.

        Known from the training data: what is usual there is 1. A model from a file has this where
        it watched the same before it was saved; else that is an Error.
        """
        if physics is not None:
            check_system(physics)
            if physics.state_size != self.systems[0].state_size:
                raise Error(
                    f"physics must have {self.systems[0].state_size} states; "
                    f"got {physics.state_size}"
                )
        names = tuple(as_text(n) for n in as_names(conserved, "conserved"))
        shown = (physics or self.systems[0]).observables
        for name in names:
            if name not in shown:
                raise Error(f"conserved: no observable is called {name!r}; there are {shown}")
        loaded = getattr(self, "_points", None) is None
        for part, asked in (("physics", physics is not None), ("conserved", bool(names))):
            if loaded and asked and part not in self._usual:
                raise Error(
                    f"watch: this model was saved before it watched {part!r}, so that what is "
                    "usual on its training data is not known; call watch before save"
                )
        self._physics, self._conserved = physics, names
        if loaded:
            return self  # what is usual was saved
        own = self._physical(*self._points, None)
        self._usual |= {f"{name} of itself": _usual(part) for name, part in own.items()}
        seen = own if self._after is None else self._physical(*self._after)
        self._usual |= {name: _usual(part) for name, part in seen.items()}
        return self

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
        told = [parts.pop(name) for name in ("residual", "physics", "conserved") if name in parts]
        place = np.maximum.reduce(list(parts.values()))
        return np.maximum.reduce([*told, place if next is None else 0.5 * place])

    def strangeness(self, x: Any, u: Any = None, next: Any = None) -> dict[str, np.ndarray]:
        """What `novelty` is made of, each (...), and 1 where nine tenths of the training data are
        below it: "spread", how far the members' rates lie apart; "distance", that of Mahalanobis of
        (x, u) from the training data; "neighbour", the distance from the nearest of them; with
        next "residual", its distance from the members' mean step, in units of what they miss on
        the training data; and "physics" and "conserved" after `watch`."""
        x = as_numbers(x, np.float64, "x")
        inputs = self.systems[0].input_size
        seen = features(x, u, inputs)
        parts = {
            "spread": self._spread(x, u),
            "distance": self._familiar.distance(seen),
            "neighbour": self._familiar.nearest(seen),
        }
        after = None
        if next is not None:
            after = as_numbers(next, np.float64, "next")
            if after.shape != x.shape:
                raise Error(f"next must have the shape of x, {x.shape}; got {after.shape}")
            ahead = self._ahead(x, u)
            miss = (after - ahead.mean(axis=0)) ** 2 / self._variance(x, u, ahead)
            parts["residual"] = np.sqrt(miss.mean(axis=-1))
        own = {} if next is not None else {"physics": " of itself", "conserved": " of itself"}
        parts |= self._physical(x, u, after)
        return {
            name: part / self._usual.get(name + own.get(name, ""), 1.0)
            for name, part in parts.items()
        }

    def _ahead(self, x: np.ndarray, u: Any) -> np.ndarray:
        return np.stack([np.asarray(step(s, x, u), np.float64) for s in self.systems])

    def _variance(self, x: np.ndarray, u: Any, ahead: np.ndarray) -> np.ndarray:
        """Of one step ahead, by number."""
        noise = 0.0 if self._noise is None else self._noise
        return noise + ahead.var(axis=0) + (1e-9 * self._width) ** 2

    def _physical(self, x: np.ndarray, u: Any, after: np.ndarray | None) -> dict[str, np.ndarray]:
        """Residuals of the solver's step and of conserved quantities over it."""
        parts: dict[str, np.ndarray] = {}
        if self._physics is None and not self._conserved:
            return parts
        if after is None:
            after = self._ahead(x, u).mean(axis=0)
        if self._physics is not None:
            solved = _solved(self._physics, x, u, self.systems[0].timestep)
            miss = np.abs(after - solved) + _LEAST_RESIDUAL * np.abs(solved - x)
            parts["physics"] = np.sqrt(((miss / self._width) ** 2).mean(axis=-1))
        if self._conserved:
            shown = self._physics or self.systems[0]
            before, later = (
                observe(shown, state, u, names=list(self._conserved)).values for state in (x, after)
            )
            parts["conserved"] = np.sqrt(((later - before) ** 2).mean(axis=-1))
        return parts

    def _spread(self, x: np.ndarray, u: Any) -> np.ndarray:
        """Of the members' rates, where they have such, else of their next states."""
        if "x_dot" in self.systems[0].observables:
            after = np.stack([observe(s, x, u, names=["x_dot"]).values for s in self.systems])
        else:
            after = self._ahead(x, u)
        apart = after.std(axis=0) / self._width
        return np.sqrt((apart**2).sum(axis=-1))

    def _residual_variance(self, data: Any) -> np.ndarray | None:
        """Mean square of what the members' mean step misses on the training data, by number."""
        dt = self.systems[0].timestep
        if isinstance(data, Derivatives):
            if "x_dot" not in self.systems[0].observables:
                return None
            rates = [observe(s, data.x, data.u, names=["x_dot"]).values for s in self.systems]
            return ((dt * (data.x_dot - np.mean(rates, axis=0))) ** 2).mean(axis=0)
        if self._after is None:
            return None
        x, u, after = self._after
        return ((after - self._ahead(x, u).mean(axis=0)) ** 2).mean(axis=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file, which `cycloid.learn.load` reads. A solver that is watched is
        not in it: call `watch` again."""
        names = sorted(self._usual)
        arrays = {
            "width": self._width,
            "usual": np.array([self._usual[n] for n in names]),
            **self._familiar.arrays(),
            **self._saved(),
        }
        if self._noise is not None:
            arrays["noise"] = self._noise
        system = self.systems[0]
        _core.save_law(
            os.fspath(path),
            system._core,
            np.array(system.parameters.default),
            None,
            {name: np.ascontiguousarray(a, np.float64) for name, a in arrays.items()},
            {"kind": self.kind, "usual": ",".join(names)},
        )

    def _saved(self) -> dict[str, np.ndarray]:
        """Arrays of its own; `_of_saved` makes it again from them."""
        flat = [np.array(s.parameters.default) for s in self.systems]
        return {"members": np.stack(flat)}

    def _restore(self, arrays: dict[str, np.ndarray], texts: dict[str, str]) -> None:
        self._width, self._noise = arrays["width"], arrays.get("noise")
        for rows in (self._width, self._noise):
            if rows is not None and rows.shape != (self.systems[0].state_size,):
                n = self.systems[0].state_size
                raise Error(f"width and noise must have {n} numbers; got {rows.shape}")
        self._familiar = Familiar.of_arrays(arrays)
        self._usual = dict(zip(texts["usual"].split(","), arrays["usual"].tolist()))

    def __len__(self) -> int:
        return len(self.systems)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.systems)}: {self.systems[0]!r}>"


def _usual(values: np.ndarray) -> float:
    return float(np.quantile(values, _USUAL)) or 1.0


def _widths(x: np.ndarray) -> np.ndarray:
    wide = x.max(axis=0) - x.min(axis=0)
    return np.where(wide < 1e-12, 1.0, wide)


def _solved(system: System, x: np.ndarray, u: Any, dt: float) -> np.ndarray:
    """A solver's state after dt, in one or several of its steps."""
    count = max(1, round(dt / system.timestep))
    if abs(count * system.timestep - dt) > 1e-6 * dt:
        raise Error(f"physics has steps of {system.timestep} s, which do not divide {dt} s")
    if count == 1:
        return np.asarray(step(system, x, u), np.float64)
    held: Any = count
    if u is not None and system.input_size:
        given = as_numbers(u, np.float64, "u")[..., None, :]
        held = np.broadcast_to(given, (*given.shape[:-2], count, system.input_size))
    return np.asarray(rollout(system, x, held, save="last").states[..., -1, :], np.float64)


def points(data: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """States, and inputs where there are such, of derivatives or recordings."""
    if isinstance(data, Derivatives):
        return data.x, data.u
    recordings = as_recordings(data, "data")
    rows = np.concatenate([r.values for r in recordings])
    known = np.isfinite(rows).all(axis=1)
    u = None
    if recordings[0].controls is not None:
        u = np.concatenate([r.controls for r in recordings])[known]  # type: ignore[misc]
    return rows[known], u


def transitions(data: Any, dt: float) -> tuple[Any, Any, Any] | None:
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
