"""Parameters of a System from recordings of the real thing, with error bars."""

from __future__ import annotations

import html
import json
import math
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._base_parameters import base_numbers, bodies_of, inertial_names
from cycloid._core import Error, ParameterError
from cycloid._live import Live
from cycloid._options import as_integer, as_real, as_text, as_threads, check_one_of
from cycloid._progress import Progress
from cycloid._recorded_motion import motion_of
from cycloid._recording import Recording, from_rows
from cycloid._rollout import Trajectory, rollout
from cycloid._system import System, check_system

_NORMAL_95 = 1.959963984540054
_ARRAYS = (
    "values", "std", "covariance", "information_root", "flat", "x0", "history", "theta", "starts"
)  # fmt: skip
_SLACK = 1e-6  # of a step: times that count as its beginning


class Tie:
    """Parameters of equal values, made by `tie`."""

    patterns: tuple[str, ...]

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns

    def __repr__(self) -> str:
        return f"tie({', '.join(map(repr, self.patterns))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tie) and other.patterns == self.patterns

    def __hash__(self) -> int:
        return hash(self.patterns)


def tie(*patterns: str) -> Tie:
    """Parameters that have equal values, accepted wherever parameters are named. A `*` stands for
    the same text in all patterns: tie("body:left_*.mass", "body:right_*.mass") ties each pair.

    >>> import cycloid as cy
    >>> cy.tie("body:left_*.mass", "body:right_*.mass")
    tie('body:left_*.mass', 'body:right_*.mass')
    """
    if len(patterns) < 2 or not all(isinstance(p, str) for p in patterns):
        raise TypeError("tie takes two names or patterns at least")
    return Tie(tuple(as_text(p) for p in patterns))


Request = tuple[list[str], list[float]]


def as_requests(params: Any) -> list[Request]:
    """Names, ties, or a mapping of these to first guesses, as the core takes them."""
    if isinstance(params, (str, Tie)):
        params = (params,)
    guesses = params if isinstance(params, Mapping) else dict.fromkeys(_names(params))
    requests = []
    for name, guess in guesses.items():
        if not isinstance(name, (str, Tie)):
            raise TypeError(f"params must be names; got {name!r}")
        names = list(name.patterns) if isinstance(name, Tie) else [as_text(name)]
        numbers = [] if guess is None else as_numbers(guess, np.float64, f"the guess of {name!r}")
        requests.append((names, np.ravel(numbers).tolist()))
    return requests


def _names(params: Any) -> list[Any]:
    try:
        names = list(params)
    except TypeError:
        raise TypeError(f"params must be names; got {type(params).__name__}") from None
    seen = set()
    for name in names:
        if not isinstance(name, (str, Tie)):
            raise TypeError(f"params must be names; got {name!r}")
        if name in seen:
            raise ParameterError(f"{name!r} is among the unknowns twice")
        seen.add(name)
    return names


def as_ranges(given: Any, what: str) -> list[tuple[str, list[float], list[float]]]:
    """{name: (a, b)}, as the core takes it."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must map names to pairs; got {type(given).__name__}")
    out = []
    for name, pair in given.items():
        if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise Error(f"{what}: {name!r} must have a pair of numbers; got {pair!r}")
        names = name.patterns[:1] if isinstance(name, Tie) else (as_text(name),)
        numbers = [
            np.ravel(as_numbers(_unlimited(v, i, what), np.float64, f"{what} of {name!r}")).tolist()
            for i, v in enumerate(pair)
        ]
        out.append((names[0], numbers[0], numbers[1]))
    return out


def _unlimited(value: Any, i: int, what: str) -> Any:
    """None in bounds is no bound."""
    return (-math.inf, math.inf)[i] if value is None and what == "bounds" else value


def as_recordings(recordings: Any, what: str = "recordings") -> list[Recording]:
    """One recording, or several."""
    if isinstance(recordings, Recording):
        return [recordings]
    if not isinstance(recordings, Sequence):
        raise TypeError(f"{what} must be a Recording or several; got {type(recordings).__name__}")
    for r in recordings:
        if not isinstance(r, Recording):
            raise TypeError(f"{what} must be Recordings; got {type(r).__name__}")
    return list(recordings)


class Fit:
    """What `identify` found.

    params, std: {name: value}, {name: standard error}, inf where the data do not determine it.
    names: one per number, "body:l2.com[2]"; covariance (k, k) of these. interval: {name: (low,
    high)}, 95 %. whiteness: {output: p-value of Ljung and Box}, small where residuals are not
    white. rms: {output: root mean square of its residuals}. x0: (recordings, state_size). weak:
    sentences on what the data do not determine. converged, message, steps, seconds, iterations,
    cost, history. held_out: {output: rms} on recordings that were not fitted. sigma: {output:
    standard deviation in use}. combinations: {name: what it is made of} of base parameters.
    """

    system: System
    params: dict[str, Any]
    std: dict[str, Any]
    names: tuple[str, ...]
    covariance: np.ndarray
    interval: dict[str, tuple[Any, Any]]
    whiteness: dict[str, float]
    rms: dict[str, float]
    sigma: dict[str, float]
    x0: np.ndarray
    weak: tuple[str, ...]
    held_out: dict[str, float]

    def __init__(
        self,
        system: System,
        recordings: list[Recording],
        core: dict[str, Any],
        options: dict[str, Any],
        held_out: list[Recording],
        guess: np.ndarray,
    ) -> None:
        self.system, self.recordings = system, recordings
        self.held_out_recordings = held_out
        self._options, self._core = options, core
        self._verdict: str | None = None
        self.vector = core["flat"]
        """All parameters of the System, as `rollout` takes them."""
        self.weak = tuple(core["weak"])
        self.combinations: dict[str, str] = {}
        """Of base parameters: what each of them is made of."""
        self._take_numbers(core)
        self.guess = guess
        """The same before the fit."""
        self.x0 = core["x0"].reshape((len(recordings), system.state_size))
        self.rms = {o[0]: o[1] for o in core["outputs"]}
        self.sigma = {o[0]: o[2] for o in core["outputs"]}
        self.whiteness = {o[0]: o[3] for o in core["outputs"]}
        self.converged: bool = core["converged"]
        self.message: str = core["message"]
        self.cost: float = core["cost"]
        self.history = core["history"]
        self.iterations: int = core["iterations"]
        self.steps: int = core["steps"]
        self.seconds: float = core["seconds"]
        self.shown = [
            shown.reshape(r.values.shape) for shown, r in zip(core["shown"], recordings)
        ]
        """What each recording should show, like its values; NaN where it has nothing."""
        self.held_out = {}
        self._held_out_shown: list[np.ndarray] = []
        if held_out:
            self._hold_out(held_out)

    def _take_numbers(self, core: dict[str, Any]) -> None:
        """Names, values and errors: those of the core, or base parameters made of them."""
        self.names, self._values = tuple(core["names"]), core["values"]
        k, error = len(self.names), core["std"]
        size = k if core["covariance"].size else 0
        self.covariance = core["covariance"].reshape((size, size))
        shapes = core["parameters"]
        if self._options.get("reparametrise") == "base":
            root = core["information_root"].reshape((-1, k))
            base = base_numbers(self.system, self.vector, self.names, self._values, root)
            self.names, self._values, self.covariance, found = base
            self.combinations = {c.name: str(c) for c in found}
            error = np.sqrt(np.diagonal(self.covariance))
            shapes = [(name, i, 1, [], -1) for i, name in enumerate(self.names)]
            self.weak = tuple(
                f"{name} is not determined" for name, e in zip(self.names, error) if np.isinf(e)
            )
        self._errors = error
        self.params, self.std, self.interval = {}, {}, {}
        for name, place, size, shape, _ in shapes:
            own = slice(place, place + size)
            value, std = self._values[own].reshape(shape), error[own].reshape(shape)
            reach = _NORMAL_95 * std
            if not shape:
                value, std, reach = float(value[()]), float(std[()]), float(reach[()])
            self.params[name], self.std[name] = value, std
            self.interval[name] = (value - reach, value + reach)

    def _start_fit(self, recording: Recording) -> dict[str, Any]:
        """The start that fits a recording best, and what it then shows."""
        return _core.fit_start(
            self.system._core, self._core, recording._rows, self.vector.tolist(), self._options
        )

    def _hold_out(self, recordings: list[Recording]) -> None:
        squares: dict[str, float] = {}
        counts: dict[str, int] = {}
        for recording in recordings:
            core = self._start_fit(recording)
            self._held_out_shown.append(core["shown"][0].reshape(recording.values.shape))
            for name, rms, _, _, count in core["outputs"]:
                squares[name] = squares.get(name, 0.0) + rms**2 * count
                counts[name] = counts.get(name, 0) + count
        self.held_out = {n: math.sqrt(squares[n] / max(1, counts[n])) for n in squares}

    def predict(self, recording: Recording, *, horizon: int | None = None) -> Trajectory:
        """The run of the fitted system at the recording's times, from Recording.x0, else from the
        fitted state: the one that fits this recording best.

        horizon=k: k samples ahead from each measured one, in a batch of S - k runs whose states
        are those of the k + 1 samples. What was not measured of a state is that of the run above.
        The samples must be even.
        """
        if not isinstance(recording, Recording):
            raise TypeError(f"predict takes a Recording; got {type(recording).__name__}")
        times = recording.times
        controls = self._controls(recording, times[:1], times[-1] - times[0])[0]
        end = times[0] + len(controls) * self._step
        whole = rollout(
            self.system, self._start(recording), controls, self.vector,
            times=np.minimum(times, end), t0=times[0],
        )
        if horizon is None:
            return whole
        k = as_integer(horizon, "horizon", 1, len(times) - 1)
        between = np.diff(times)
        if np.ptp(between) > 1e-6 * between.mean():
            raise Error("predict(horizon=...) needs even samples; these are from "
                        f"{between.min():g} to {between.max():g} s apart")
        starts = whole.states[:-k].astype(np.float64)
        for i, column in enumerate(_state_columns(self.system, recording)):
            if column >= 0:
                measured = recording.values[: len(starts), column]
                starts[:, i] = np.where(np.isnan(measured), starts[:, i], measured)
        length = k * between.mean()
        controls = self._controls(recording, times[:-k], length)
        ahead = np.arange(k + 1) * between.mean()
        ahead = np.minimum(ahead, controls.shape[1] * self._step)
        return rollout(
            self.system, starts, controls, self.vector, times=times[0] + ahead, t0=times[0]
        )

    @property
    def _step(self) -> float:
        registry = self.system.parameters
        if "option.timestep" not in registry:
            return self.system.timestep
        return float(self.vector[registry.info("option.timestep").offset])

    def _start(self, recording: Recording) -> np.ndarray:
        if recording.x0 is not None:
            return recording.x0
        for fitted, x0 in zip(self.recordings, self.x0):
            if fitted is recording:
                return x0
        return self._start_fit(recording)["x0"]

    def _controls(self, recording: Recording, starts: Any, length: float) -> np.ndarray:
        """Inputs of the steps of runs from these times on, (len(starts), steps, input_size)."""
        h, m = self._step, self.system.input_size
        steps = max(1, math.ceil(length / h - _SLACK))
        if recording.controls is None:
            return np.zeros((len(starts), steps, m))
        at = np.asarray(starts)[:, None] + np.arange(steps) * h
        row = np.searchsorted(recording.times, at + _SLACK * h, side="right") - 1
        return recording.controls[np.clip(row, 0, len(recording.times) - 2)]

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
        """The fit in words: a table of the numbers, what is weak, residuals, held-out errors, and
        what `verify` says."""
        width = max(map(len, self.names), default=4)
        lines = [
            f"{self.system.name}: {len(self.recordings)} recording"
            f"{'s' * (len(self.recordings) != 1)}, "
            f"{'converged' if self.converged else 'NOT converged'} in {self.iterations} iterations,"
            f" {self.steps} steps, {self.seconds:.2f} s",
            self.message,
        ]
        for name, v, s in zip(self.names, self._values, self._errors):
            reach = _NORMAL_95 * s
            interval = f"[{v - reach:.6g}, {v + reach:.6g}]" if np.isfinite(s) else "not determined"
            lines.append(f"  {name:<{width}}  {v:12.6g}  ± {s:<10.3g} 95 %: {interval}")
        lines += [f"weak: {sentence}" for sentence in self.weak]
        for name, rms in self.rms.items():
            p = self.whiteness[name]
            white = "white" if p >= 0.05 else "not white"
            held = f", held out {self.held_out[name]:.4g}" if name in self.held_out else ""
            lines.append(f"{name}: rms {rms:.4g}{held}; residuals {white} (p = {p:.2g})")
        lines.append(self.verdict)
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes a page with the numbers, what was measured against the fit, and residuals."""
        pictures = [
            (f"{what} {i}", r._rows, np.ascontiguousarray(shown))
            for what, recordings, all_shown in (
                ("Recording", self.recordings, self.shown),
                ("Held out", self.held_out_recordings, self._held_out_shown),
            )
            for i, (r, shown) in enumerate(zip(recordings, all_shown))
        ]
        _core.write_fit_page(
            self.system._core, self._core, pictures, self._verdict or "", os.fspath(path)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fit and its recordings as JSON; `Fit.load` reads it, and
        `identify(..., resume=path)` goes on from it."""
        core = {
            key: [a.tolist() for a in value] if key in ("shown", "sigma")
            else value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in self._core.items()
        }
        state = {
            "schema": "cycloid.fit 1",
            "system": self.system.name,
            "fit": core,
            "options": self._options,
            "guess": self.guess.tolist(),
            "recordings": [_plain(r) for r in self.recordings],
            "held_out": [_plain(r) for r in self.held_out_recordings],
        }
        text = json.dumps(state)
        target = pathlib.Path(path)
        part = target.with_name(target.name + ".part")
        part.write_text(text)
        part.replace(target)

    @classmethod
    def load(cls, path: str | os.PathLike[str], system: System) -> Fit:
        """The fit that `save` wrote, of the same system."""
        check_system(system)
        state = _read(path)
        if state["system"] != system.name:
            raise Error(f'"{path}" is a fit of {state["system"]!r}, not of {system.name!r}')
        core = state["fit"]
        for key, value in core.items():
            if key in ("shown", "sigma"):
                core[key] = [np.array(a, float) for a in value]
            elif key in _ARRAYS:
                core[key] = np.array(value, float)
        recordings, held_out = (
            [from_rows(_rows(r)) for r in state[key]] for key in ("recordings", "held_out")
        )
        return cls(system, recordings, core, state["options"], held_out, np.array(state["guess"]))

    def _repr_html_(self) -> str:
        """In a notebook: a table of the numbers."""
        rows = []
        for name, v, e in zip(self.names, self._values, self._errors):
            error = f"± {e:.3g}" if np.isfinite(e) else "not determined"
            rows.append((html.escape(name), f"{v:.6g}", error))
        body = "".join(
            f"<tr><th style='text-align:left'>{n}</th><td>{v}</td><td>{e}</td></tr>"
            for n, v, e in rows
        )
        ended = "converged" if self.converged else "<b>not converged</b>"
        return (
            f"<p>{html.escape(self.system.name)}: {ended} in {self.iterations} iterations. "
            f"{html.escape(self.message)}</p><table>{body}</table>"
            + "".join(f"<p>{html.escape(text)}</p>" for text in self.weak)
        )

    def __repr__(self) -> str:
        found = ", ".join(
            f"{n} {v:.4g} ± {s:.2g}"
            for n, v, s in zip(self.names[:4], self._values, self._errors)
        )
        more = f", and {len(self.names) - 4} more" if len(self.names) > 4 else ""
        state = "" if self.converged else ", NOT converged"
        weak = f", {len(self.weak)} weak" if self.weak else ""
        return f"<Fit of {self.system.name}: {found}{more}{weak}{state}>"


def _plain(recording: Recording) -> list[Any]:
    return [v.tolist() if isinstance(v, np.ndarray) else v for v in recording._rows]


def _rows(plain: list[Any]) -> tuple[Any, ...]:
    return (*(np.array(a, float) for a in plain[:3]), *plain[3:])


def _read(path: Any) -> dict[str, Any]:
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(f'there is no file "{path}"')
    try:
        state = json.loads(pathlib.Path(path).read_text())
        if state["schema"] != "cycloid.fit 1":
            raise KeyError
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        raise Error(f'"{path}" is no fit that cycloid saved') from None
    return state


def _state_columns(system: System, recording: Recording) -> list[int]:
    return _core.recorded_outputs(system._core, recording._rows)[1]


def identify(
    system: System,
    recordings: Recording | Sequence[Recording],
    params: Any,
    *,
    x0: Any = "free",
    held_out: Recording | Sequence[Recording] | None = None,
    bounds: Mapping[Any, Any] | None = None,
    priors: Mapping[Any, Any] | None = None,
    loss: str = "squared",
    method: str = "auto",
    reparametrise: str | None = None,
    shooting: float | None = None,
    restarts: int = 0,
    seed: int = 0,
    iterations: int = 100,
    at: Any = None,
    resume: Any = None,
    threads: int | None = None,
    callback: Callable[[int, float], Any] | None = None,
    progress: bool | None = None,
    live: bool | Live = False,
) -> Fit:
    """Fits parameters of `system` to what was recorded.

    recordings: one or several. params: names, or {name: first guess}; one component is
    "option.gravity[2]"; `tie` makes several equal; "output:angle.offset", ".gain" and ".delay" [s]
    are the sensor's own. x0: "free": the states at the start are unknown; "known": they are
    Recording.x0, else its first complete row; or rows (recordings, state_size). held_out:
    recordings to judge the fit by.

    bounds: {name: (low, high)}. priors: {name: (mean, std)}. loss: "squared", "huber" (1.345) or
    "cauchy" (2.385), of residual / sigma. shooting: the length [s] of segments with starts of
    their own that meet in the end, for long or chaotic recordings. restarts: further starts, the
    best of a Sobol set, the same for a seed. iterations: at most, of each descent. at: values of
    other parameters, as `rollout` takes them. resume: a Fit or the path of one that was saved.

    method: "lm" (Levenberg and Marquardt, with the Jacobian), "lbfgs" or "adam" (the gradient
    alone, for unknowns by the thousand; no error bars beyond 400); "auto" takes the first for up to
    400 numbers. reparametrise: "base" gives the result in base parameters, the combinations of
    masses, first moments and inertias of the bodies named in params that a motion can show: params,
    std, names and covariance are theirs, and fit.combinations says what they are made of. All
    inertial numbers of these bodies are then unknown.

    callback(iteration, cost) is called after each; False stops. Ctrl-C stops too: what is returned
    is the best so far, not converged. progress: a line on the terminal, and in the end the verdict
    of `verify`; None: where there is one. live: as in `plan`: the run over the first recording.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> truth = cy.systems.pendulum(length=0.7, damping=0.1)
    >>> run = cy.rollout(truth, [1.0, 0.0], 300)
    >>> noise = 0.01 * np.random.default_rng(0).normal(size=run.states.shape)
    >>> recording = cy.Recording(run.times, run.states + noise, sigma=0.01)
    >>> fit = cy.identify(cy.systems.pendulum(), recording, ["length", "damping"])
    >>> fit.converged, round(fit.params["length"], 2), round(fit.params["damping"], 2)
    (True, 0.7, 0.1)
    >>> fit.weak
    ()
    """
    check_system(system)
    records = as_recordings(recordings)
    if not records:
        raise Error("identify: expected one recording at least")
    held = [] if held_out is None else as_recordings(held_out, "held_out")
    check_one_of(loss, ("squared", "huber", "cauchy"), "loss")
    check_one_of(method, ("auto", "lm", "lbfgs", "adam"), "method")
    requests = as_requests(params)
    if reparametrise is not None:
        check_one_of(reparametrise, ("base",), "reparametrise", "or None")
        requests = _whole_bodies(system, requests)
    known, rows = _starts(system, x0, len(records))
    options: dict[str, Any] = {
        "known": known,
        "x0": rows,
        "bounds": as_ranges(bounds, "bounds"),
        "priors": as_ranges(priors, "priors"),
        "parameters": _parameters(system, at),
        "loss": loss,
        "method": method,
        "reparametrise": reparametrise,
        "shooting": 0.0 if shooting is None else _segment(shooting),
        "restarts": as_integer(restarts, "restarts", 0, 10_000),
        "seed": as_integer(seed, "seed", 0, 2**63),
        "iterations": as_integer(iterations, "iterations", 1, 10**9),
        "theta": [],
        "starts": [],
        "threads": as_threads(threads, system._threads),
    }
    if resume is not None:
        before = resume._core if isinstance(resume, Fit) else _read(resume)["fit"]
        options |= {key: np.asarray(before[key]).tolist() for key in ("theta", "starts")}
    motion = None if live is False else motion_of(system, records[0])
    with Progress(
        "identify", progress=progress, callback=callback, live=live, motion=motion
    ) as shown:
        core = _core.identify(
            system._core, [r._rows for r in records], requests, options, shown.watch
        )
    guess = _guess(system, options["parameters"], requests)
    fit = Fit(system, records, core, options, held, guess)
    if motion is not None:
        shown.end(lambda: motion(fit.vector))
    shown.say_verdict(lambda: fit.verdict)
    return fit


def _whole_bodies(system: System, requests: list[Request]) -> list[Request]:
    """The requests with mass, centre and inertia of every body of which one is named."""
    named = [names[0] for names, _ in requests]
    if any(len(names) > 1 for names, _ in requests):
        raise ParameterError('reparametrise="base" takes no ties')
    inertial = [n for body in bodies_of(system, named) for n in inertial_names(body)]
    for name in named:
        if name.partition("[")[0] in inertial and name not in inertial:
            raise ParameterError(f'reparametrise="base" takes whole parameters; got {name!r}')
    return requests + [([name], []) for name in inertial if name not in named]


def _segment(shooting: Any) -> float:
    length = as_real(shooting, "shooting")
    if length <= 0:
        raise Error(f"shooting must be the length of a segment [s], or None; got {length}")
    return length


def _starts(system: System, x0: Any, count: int) -> tuple[bool, list[float]]:
    if isinstance(x0, str):
        check_one_of(x0, ("free", "known"), "x0", " or rows of states")
        return x0 == "known", []
    rows = as_numbers(x0, np.float64, "x0")
    if rows.ndim == 1:
        rows = rows[None]
    if rows.shape != (count, system.state_size):
        raise Error(
            f'x0 must be "free", "known" or rows of shape ({count}, {system.state_size}); '
            f"got {rows.shape}"
        )
    return True, rows.ravel().tolist()


def _parameters(system: System, at: Any) -> list[float]:
    if at is None:
        return []
    flat = system.parameters.pack(at) if isinstance(at, Mapping) else at
    row = as_numbers(flat, np.float64, "at")
    if row.shape != (system.parameters.size,):
        raise Error(
            f"at must have {system.parameters.size} numbers, one for each parameter; "
            f"got {row.shape}"
        )
    return row.tolist()


def _guess(system: System, at: list[float], requests: list[Request]) -> np.ndarray:
    """All parameters before the fit."""
    flat = np.array(at) if at else system.parameters.default.copy()
    for names, guess in requests:
        groups = [names] if len(names) == 1 else _core.tied_names(system._core, names)
        for group in groups:
            for name in group:
                _put(system, flat, name, guess, group[0])
    return flat


def places_of(system: System, name: str) -> slice:
    """Where a parameter, or one component of it, has its numbers in the flat vector."""
    if name in system.parameters:
        p = system.parameters.info(name)
        return slice(p.offset, p.offset + p.size)
    base, _, index = name.rstrip("]").rpartition("[")
    p = system.parameters.info(base)
    return slice(p.offset + int(index), p.offset + int(index) + 1)


def _put(system: System, flat: np.ndarray, name: str, guess: list[float], first: str) -> None:
    if not name.startswith("output:"):
        flat[places_of(system, name)] = guess if guess else flat[places_of(system, first)]
