"""Training of Systems on derivatives and recordings."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._identify import as_recordings
from cycloid._live import Live
from cycloid._observe import observe
from cycloid._options import as_integer, as_names, as_real, as_text, as_threads, check_one_of
from cycloid._options import shown
from cycloid._progress import Progress
from cycloid._recorded_motion import motion_of
from cycloid._recording import Recording
from cycloid._rollout import rollout
from cycloid._system import System, check_system

_METHODS = ("adam", "adamw", "lbfgs", "gauss_newton")
_SCHEDULES = ("constant", "cosine", "linear", "exponential")
_COLUMNS = ("step", "loss", "validation", "rate", "seconds")
_MOST = 2**62


class Derivatives:
    """States with their rates of change, to train a learned law on.

    x (N, n), x_dot (N, n) [1/s], u (N, inputs) or None: zeros.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> cy.learn.Derivatives(np.zeros((10, 2)), np.zeros((10, 2)))
    <Derivatives: 10 rows of 2 numbers>
    """

    __slots__ = ("u", "x", "x_dot")

    def __init__(self, x: Any, x_dot: Any, u: Any = None) -> None:
        self.x = _rows(x, "x")
        """(N, n)"""
        self.x_dot = _rows(x_dot, "x_dot")
        """(N, n)"""
        self.u = None if u is None else _rows(u, "u")
        """(N, inputs), or None."""
        if self.x.shape != self.x_dot.shape:
            raise Error(f"x_dot must have the shape of x, {self.x.shape}; got {self.x_dot.shape}")
        if self.u is not None and len(self.u) != len(self.x):
            raise Error(f"u must have a row for each of {len(self.x)} of x; got {len(self.u)}")

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"<Derivatives: {len(self.x)} rows of {self.x.shape[1]} numbers>"


class Transitions:
    """What came one step later, for a law with a noise that is trained too (`gaussian`)."""

    __slots__ = ("next", "noise", "score", "u", "x")

    def __init__(self, x: Any, u: Any, after: Any, noise: Any, score: str) -> None:
        self.x, self.next = np.ascontiguousarray(x), np.ascontiguousarray(after)
        self.u = None if u is None else np.ascontiguousarray(u)
        self.noise, self.score = noise, score


def _rows(value: Any, what: str) -> np.ndarray:
    rows = as_numbers(value, np.float64, what)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise Error(f"{what} must have shape (N, numbers), one row at least; got {rows.shape}")
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        i, j = bad[0]
        raise Error(f"{what} must be finite; got {rows[i, j]} in row {i}, column {j}")
    return np.ascontiguousarray(rows)


class Energy:
    """A term of the loss: weight x mean square of E(x_t) - E(x_0) along the predicted runs, with
    the System's observable "energy".

    >>> import cycloid as cy
    >>> cy.learn.Energy(0.1)
    Energy(0.1)
    """

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = as_real(weight, "weight")

    def _as_core(self, system: System) -> tuple[Any, ...]:
        if "energy" not in system.observables:
            raise Error(f'{system!r} has no observable "energy"')
        return ("energy", self.weight)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight:g})"


class Smoothness(Energy):
    """A term of the loss: weight x mean square of x_{t+1} - 2 x_t + x_{t-1} along the predicted
    runs.

    >>> import cycloid as cy
    >>> cy.learn.Smoothness(1e-3)
    Smoothness(0.001)
    """

    def _as_core(self, system: System) -> tuple[Any, ...]:
        return ("smooth", self.weight)


class SmallResidual(Energy):
    """A term of the loss: weight x mean square of what the network of `add_network` moves the next
    state by, along the predicted runs, over `scale`: so that physics, whose parameters stay free,
    explains what it can.

    >>> import cycloid as cy
    >>> cy.learn.SmallResidual(0.1)
    SmallResidual(0.1)
    """

    def _as_core(self, system: System) -> tuple[Any, ...]:
        return ("residual", self.weight)


class Term:
    """A term of the loss of your own: weight x f(states, controls), with f giving the value and its
    derivative by the states; states (B, T + 1, n) are the predicted runs, controls (B, T, inputs).

    >>> import cycloid as cy
    >>> size = cy.learn.Term(lambda x, u: ((x**2).mean(), 2 * x / x.size), weight=0.1)
    """

    def __init__(self, function: Callable[..., Any], weight: float = 1.0) -> None:
        if not callable(function):
            raise TypeError(f"a term is a function of states and controls; got {shown(function)}")
        self.function, self.weight = function, as_real(weight, "weight")

    def _as_core(self, system: System) -> tuple[Any, ...]:
        n, m = system.state_size, system.input_size

        def call(states: np.ndarray, controls: np.ndarray, batch: int, steps: int) -> Any:
            x = states.reshape((batch, steps + 1, n))
            value, bar = self.function(x, controls.reshape((batch, steps, m)))
            bar = np.ascontiguousarray(as_numbers(bar, np.float64, "a term's states_bar"))
            if bar.shape != x.shape:
                raise Error(f"a term's states_bar must have shape {x.shape}; got {bar.shape}")
            return float(value), bar

        return ("function", self.weight, call)


class Conserved(Term):
    """A term of the loss: weight x mean square of what an observable of `system` changes along the
    predicted runs: a momentum, a sensor, a block of the state. Its parameters are the defaults,
    its inputs zero.

    >>> import cycloid as cy
    >>> cy.learn.Conserved(cy.systems.kepler(), "energy", 0.1)
    Conserved('energy', 0.1)
    """

    def __init__(self, system: System, name: str, weight: float = 1.0) -> None:
        check_system(system)
        self.system, self.name = system, as_text(name)
        super().__init__(self._value, weight)

    def _off(self, seen: np.ndarray) -> np.ndarray:
        return seen - seen[:, :1]

    def _back(self, off_bar: np.ndarray) -> np.ndarray:
        bar = off_bar.copy()
        bar[:, 0] -= off_bar.sum(axis=1)
        return bar

    def _value(self, x: np.ndarray, u: np.ndarray) -> tuple[float, np.ndarray]:
        seen = observe(self.system, x, names=[self.name])
        off = self._off(seen.values)
        back = seen.pullback(self._back(2 * off / off.size)).x
        return float((off**2).mean()), back

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.weight:g})"


class Violation(Conserved):
    """A term of the loss: weight x mean square of an observable of `system` that should be zero
    along the predicted runs: a constraint.

    >>> import cycloid as cy
    >>> cy.learn.Violation(cy.systems.pendulum(), "angle")
    Violation('angle', 1)
    """

    def _off(self, seen: np.ndarray) -> np.ndarray:
        return seen

    def _back(self, off_bar: np.ndarray) -> np.ndarray:
        return off_bar


class PhysicsResidual(Term):
    """A term of the loss: weight x mean square of what the predicted runs miss of the steps of
    another System with the same state and inputs: physics that is believed to hold nearly.

    >>> import cycloid as cy
    >>> cy.learn.PhysicsResidual(cy.systems.pendulum(), 0.01)
    PhysicsResidual(<System pendulum: 2 states, 1 input, dt 10 ms>, 0.01)
    """

    def __init__(self, system: System, weight: float = 1.0) -> None:
        check_system(system)
        self.system = system
        super().__init__(self._value, weight)

    def _as_core(self, system: System) -> tuple[Any, ...]:
        if not np.isclose(self.system.timestep, system.timestep, rtol=1e-9, atol=0):
            raise Error(
                f"PhysicsResidual: {self.system!r} must have the time step of what is trained, "
                f"{system.timestep:g} s"
            )
        return super()._as_core(system)

    def _value(self, x: np.ndarray, u: np.ndarray) -> tuple[float, np.ndarray]:
        n, m = self.system.state_size, self.system.input_size
        if x.shape[-1] != n or u.shape[-1] != m:
            raise Error(
                f"PhysicsResidual: {self.system!r} must have the states and inputs of what is "
                f"trained, {x.shape[-1]} and {u.shape[-1]}"
            )
        rows = x[:, :-1].reshape((-1, n))
        run = rollout(self.system, rows, u.reshape((-1, 1, m)) if m else 1)
        off = x[:, 1:] - np.asarray(run.states[:, 1], np.float64).reshape(x[:, 1:].shape)
        off_bar = 2 * off / off.size
        bar = np.zeros_like(x)
        bar[:, 1:] += off_bar
        back = np.zeros_like(run.states)
        back[:, 1] = -off_bar.reshape((-1, n))
        bar[:, :-1] += run.pullback(back, wrt=("x0",)).x0.reshape(x[:, :-1].shape)
        return float((off**2).mean()), bar

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.system!r}, {self.weight:g})"


class Training:
    """What `train` did.

    system: the System with the learned values as its defaults. params: {name: array} of what was
    trained. history: arrays "step", "loss", "validation" (NaN where nothing is held back), "rate",
    "seconds". steps, seconds; ended: before all steps were made, and message says why.
    """

    def __init__(
        self, system: System, names: Sequence[str], core: tuple[Any, ...], shooting: bool
    ) -> None:
        flat, history, self.ended, self.message, self._state, self._own = core
        self._shooting = shooting
        self._base, self._flat = system, flat
        self.system = with_parameters(system, flat)
        """The System, with learned values as defaults."""
        self.params = {name: self.system.parameters[name] for name in names}
        """{name: array}"""
        rows = history.reshape((-1, len(_COLUMNS)))
        self.history = {name: rows[:, i].copy() for i, name in enumerate(_COLUMNS)}
        """{"step", "loss", "validation", "rate", "seconds"}, each (lines,)."""

    @property
    def starts(self) -> np.ndarray:
        """(windows, n): where windows begin, of multiple shooting; empty otherwise."""
        return (self._own if self._shooting else self._own[:0]).reshape(
            (-1, self.system.state_size)
        )

    @property
    def steps(self) -> int:
        """Steps that were made since the first run's start."""
        return self._state.step

    @property
    def seconds(self) -> float:
        """Time that all of them took [s]."""
        return self._state.seconds

    @property
    def loss(self) -> float:
        """The last loss in the history; NaN where there is none."""
        return float(self.history["loss"][-1]) if len(self.history["loss"]) else math.nan

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file: parameters by name, the law's recipe, and where the training
        stands, for `load` and for train(resume=path)."""
        _core.save_law(os.fspath(path), self._base._core, self._flat, self._state, {}, {})

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes a page with the losses, as HTML."""
        title = f"Training of {self.system._core.name}"
        _core.write_train_page(self._state, title, self.message, os.fspath(path))

    def __repr__(self) -> str:
        held = self.history["validation"]
        seen = held[np.isfinite(held)]
        more = f", held back {seen[-1]:.4g}" if len(seen) else ""
        return (
            f"<Training: {self.steps} steps in {self.seconds:.1f} s, loss {self.loss:.4g}{more}: "
            f"{self.message.split(';')[0]}>"
        )


def with_parameters(system: System, flat: np.ndarray) -> System:
    """The System with other defaults."""
    made = System(_core.with_parameters(system._core, np.ascontiguousarray(flat, np.float64)))
    made._law, made._threads, made._picture = system, system._threads, system._picture
    if system._recipe is not None:  # what is made of it later has the new values too
        law, _, dt, *rest = system._recipe
        names = [n for n in made.parameters.names if n != "option.timestep"]
        values = {n: np.ravel(made.parameters[n]).tolist() for n in names}
        made._recipe = (law, values, dt, *rest)
    return made


def trained_names(system: System, params: Any) -> list[str]:
    """All parameters that a training moves."""
    names = [] if params is None else [as_text(n) for n in as_names(params, "params")]
    chosen = []
    for name in system.parameters.names:
        wanted = name != "option.timestep" and not system.parameters.info(name).not_differentiable
        if names:
            wanted = any(name == n or name.startswith(n + ".") for n in names)
        if wanted:
            chosen.append(name)
    return chosen


def per_state(value: Any, system: System, what: str, positive: bool) -> list[float]:
    """One number, or one per state; None: none."""
    if value is None:
        return []
    row = as_numbers(value, np.float64, what)
    if row.shape not in ((), (system.state_size,)):
        raise Error(
            f"{what} must be one number or one for each of {system.state_size} states; "
            f"got shape {row.shape}"
        )
    if not np.isfinite(row).all() or (row <= 0 if positive else row < 0).any():
        least = "positive" if positive else "zero or positive"
        raise Error(f"{what} must be {least}, and finite; got {row}")
    return np.broadcast_to(row, (system.state_size,)).tolist()


def core_data(system: System, data: Any) -> tuple[Any, ...]:
    """Recordings, or x, x_dot and u, as the core takes them."""
    if isinstance(data, Derivatives):
        for rows, n, what in ((data.x, system.state_size, "x"), (data.u, system.input_size, "u")):
            if rows is not None and rows.shape[1] != n:
                raise Error(f"{what} must have {n} columns for {system!r}; got {rows.shape[1]}")
        return (None, data.x, data.x_dot, data.u)
    if isinstance(data, Transitions):
        return (None, data.x, data.next, data.u)
    if not isinstance(data, (Recording, Sequence)):
        raise TypeError(
            f"data must be cycloid.learn.Derivatives or Recordings; got {type(data).__name__}"
        )
    recordings = as_recordings(data, "data")
    if not recordings:
        raise Error("data: expected one recording at least")
    return ([r._rows for r in recordings], None, None, None)


def train(
    law: System,
    data: Any,
    *,
    steps: int = 2000,
    batch: int | None = None,
    horizon: int = 1,
    grow_from: int | None = None,
    method: str = "adam",
    learning_rate: float = 1e-3,
    schedule: str = "constant",
    weight_decay: float = 0.0,
    clip: float | None = None,
    clip_each: float | None = None,
    shooting: float = 0.0,
    validation: float = 0.0,
    validate_every: int | None = None,
    patience: int | None = None,
    noise: Any = None,
    scale: Any = None,
    terms: Sequence[Any] = (),
    dropout: float = 0.0,
    params: Any = None,
    seed: int = 0,
    threads: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    callback: Callable[[int, float], Any] | None = None,
    live: bool | Live = False,
) -> Training:
    """Trains the parameters of a System on what was measured.

    data: `Derivatives` for a learned law, or one or several Recordings of whole states, for any
    System, with times that are multiples of its time step dt [s]. The loss is the mean square of
    the difference: of x_dot; or, from each measured sample, of the next `horizon` samples of the
    recording against the run from there. NaN in values was not measured.

    steps count from the first run's start. batch: rows or windows of a step, None: all.
    grow_from: the horizon begins there and grows over the first half of the steps. method: "adam"
    (weight decay in the gradient), "adamw" (apart from it), "lbfgs" or "gauss_newton" (all samples;
    steps are iterations; the latter is Levenberg-Marquardt, for up to 3000 numbers and losses
    without terms). schedule: of the learning rate, "constant", "cosine", "linear" (to zero) or
    "exponential" (to a hundredth). clip: longest gradient. clip_each: a window whose gradient by
    its first state is so many times longer than the median's is cut to that. shooting: multiple
    shooting; windows of `horizon` samples lie end to end and begin at states that are trained too,
    with this weight on the mean square of their gaps; `Training.starts` has them.
    validation: share that is held back (rows by chance, whole recordings, or the end of each);
    the best numbers there are the result, and `patience` looks without a better one end the run.
    noise: standard deviation that is added to x, or to the first state of a window. scale: of
    each state, by which differences are divided. terms: `Energy`, `Smoothness`, `Conserved`,
    `Violation`, `PhysicsResidual`, `SmallResidual`, `Term`. dropout: share of the networks' hidden
    units that each step leaves out by chance. params: names that are trained, or their beginnings
    ("residual"); None: all but the time step. resume: a file of `Training.save`, from which
    training goes on, bit for bit. Ctrl-C ends a training with what it has; `ended` and `message`
    say so. progress: a line on the
    terminal; callback(step, loss) is called now and then, False stops. live: as in `plan`:
    the run over the first recording, or from the first row.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> spring = cy.learn.Derivatives(x, x[:, ::-1] * [1, -1])      # q_dot = p, p_dot = -q
    >>> law = cy.learn.hamiltonian(1, hidden=(32, 32), dt=0.1)
    >>> run = cy.learn.train(law, spring, steps=300, learning_rate=1e-2)
    >>> bool(run.loss < 1e-2 * run.history["loss"][0])
    True
    >>> cy.rollout(run.system, [1.0, 0.0], 100).states.shape
    (101, 2)
    """
    check_system(law)
    check_one_of(method, _METHODS, "method")
    check_one_of(schedule, _SCHEDULES, "schedule")
    names = [] if params is None else [as_text(n) for n in as_names(params, "params")]
    options = {
        "steps": as_integer(steps, "steps", 0, _MOST),
        "batch": 0 if batch is None else as_integer(batch, "batch", 1, _MOST),
        "horizon": as_integer(horizon, "horizon", 1, 2**30),
        "first_horizon": 0 if grow_from is None else as_integer(grow_from, "grow_from", 1, 2**30),
        "method": _METHODS.index(method),
        "schedule": _SCHEDULES.index(schedule),
        "learning_rate": as_real(learning_rate, "learning_rate"),
        "weight_decay": as_real(weight_decay, "weight_decay"),
        "clip": 0.0 if clip is None else as_real(clip, "clip"),
        "clip_each": 0.0 if clip_each is None else as_real(clip_each, "clip_each"),
        "shooting": as_real(shooting, "shooting"),
        "validation": as_real(validation, "validation"),
        "validate_every": 0
        if validate_every is None
        else as_integer(validate_every, "validate_every", 1, _MOST),
        "patience": 0 if patience is None else as_integer(patience, "patience", 1, 2**30),
        "params": names,
        "seed": as_integer(seed, "seed", 0, 2**64 - 1),
        "scale": per_state(scale, law, "scale", True),
        "noise": per_state(noise, law, "noise", False),
        "terms": [_core_term(t, law) for t in terms],
        "dropout": as_real(dropout, "dropout"),
        "score": data.score if isinstance(data, Transitions) else "",
        "threads": as_threads(threads, law._threads),
    }
    if shooting and grow_from is not None:
        raise Error("windows that lie end to end have one horizon; leave out grow_from or shooting")
    state = None
    if resume is not None:
        _, state, *_ = _core.load_law(os.fspath(resume), law._core)
        if state is None:
            raise Error(f'"{os.fspath(resume)}" holds no training to resume')
    rows = core_data(law, data)
    motion = None if live is False else _motion(law, data)
    with Progress(
        "training", progress=progress, callback=callback, live=live, motion=motion
    ) as watcher:

        def watch(
            step: int, most: int, loss: float, held: float, seconds: float, numbers: Any
        ) -> bool:
            return watcher.watch(step, most, loss, seconds, 0, numbers)

        noise = data.noise if isinstance(data, Transitions) else None
        core = _core.train(law._core, *rows, options, state, watch, noise)
    done = Training(law, trained_names(law, params), core, bool(shooting))
    if motion is not None:
        watcher.end(lambda: motion(done.system.parameters.default))
    return done


def _motion(law: System, data: Any) -> Callable[[np.ndarray], Any]:
    if not isinstance(data, Derivatives | Transitions):
        return motion_of(law, as_recordings(data, "data")[0])
    return lambda params: rollout(law, data.x[0], 200, params)


def _core_term(term: Any, system: System) -> tuple[Any, ...]:
    if not isinstance(term, (Energy, Term)):
        raise TypeError(
            f"terms are cycloid.learn.Energy, Smoothness or Term; got {type(term).__name__}"
        )
    return term._as_core(system)


def load_parts(
    path: str | os.PathLike[str], system: System | None = None
) -> tuple[System, dict[str, np.ndarray], dict[str, str]]:
    """The System in a file, and what else belongs to it."""
    around = None if system is None else system._core
    core, _, arrays, texts = _core.load_law(os.fspath(path), around)
    made = System(core)
    if system is not None:
        made._law, made._threads, made._picture = system, system._threads, system._picture
    elif core.name == "constrained":
        made._picture = "points", _points_of(path)
    return made, {name: flat.reshape(shape) for name, (flat, shape) in arrays.items()}, texts


def _points_of(path: str | os.PathLike[str]) -> tuple[int, list[list[int]]]:
    """The dimension and the pairs of a law of points, from the head of its safetensors file."""
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]
    ends = [int(word) for word in head["distances"].split(",") if word]
    return int(head["dimension"]), [ends[k : k + 2] for k in range(0, len(ends), 2)]


def check_options(given: Mapping[str, Any]) -> None:
    """Raises TypeError on a keyword that `train` does not have."""
    known = set(train.__kwdefaults__ or {})
    for key in given:
        if key not in known:
            raise TypeError(f"train has no keyword {key!r}")
