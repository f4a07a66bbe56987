"""A law written in Python as functions of arrays, as a System."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import Shape, as_numbers
from cycloid._core import Error, GradientError, ModelError, ParameterError
from cycloid._options import as_integer, as_names, as_real, as_text
from cycloid._system import System

_TIMESTEP = "option.timestep"
_MOST_NUMBERS = 10_000_000


def own_law(
    step: Callable[..., Any],
    pullback: Callable[..., Any] | None = None,
    *,
    states: Mapping[str, int],
    inputs: Mapping[str, int] | None = None,
    parameters: Mapping[str, Any] | None = None,
    dt: float = 0.01,
    vary: Sequence[str] = (),
    shared: Sequence[str] = (),
    initial_state: Any = None,
    differentiate_dt: bool = False,
    observables: Mapping[str, Any] | None = None,
    name: str = "own_law",
    pushforward: Callable[..., Any] | None = None,
) -> System:
    """A System from functions of arrays, vectorised over B environments:

        step(x, u, p, t, dt) -> x_next
        pullback(x, u, p, t, dt, x_next_bar) -> (x_bar, u_bar, p_bar)
        pushforward(x, u, p, t, dt, x_tan, u_tan, p_tan) -> x_next_tan

    x, x_next, their cotangents and tangents (B, n); u and u_bar (B, m); t (B,) [s]; dt [s]; p and
    p_bar {name: (B, *shape)}. The arrays are theirs to change. The pullback returns the cotangents
    of one step, of everything, or a plain 0 for all of a part; without it the system has no
    gradient. The pushforward returns the derivative of x_next in a direction, or a plain 0; without
    it `Trajectory.pushforward` and the `matvec` of `linearise(form="operator")` raise
    GradientError. Second derivatives (`Trajectory.hvp`) of such a law there are none.

    states, inputs: {block: size}. parameters: {name: default value}. initial_state: (n,), zeros if
    not given. With differentiate_dt=True the time step is a parameter too: dt has shape (B,), the
    pullback returns dt_bar (B,) as a fourth part, and the pushforward takes dt_tan (B,) as its last
    argument.

    shared: names of parameters that are arrays which all environments share, such as a field or the
    weights of a network. They reach the functions once, without the batch axis and read-only; their
    cotangent comes back in that shape, summed over the rows. They may be large: an array is copied
    once for a run, not for every environment. Environments may still differ in one that is named in
    vary too; each then comes alone, B = 1.

    observables: {name: (value, pullback)}, what `observe` shows besides the blocks of the state:

        value(x, u, p, t) -> y
        pullback(x, u, p, t, y_bar) -> (x_bar, u_bar, p_bar)

    y and y_bar (B, k), or (B,) or (B, *shape); the other arrays as above, also where the time step
    is a parameter, on which y does not depend. A value alone, or with None, has no gradient. It is
    called once here, with the initial state, for its shape.

    Rows are independent environments, and the functions give the same result for the same row every
    time. A lone environment comes as B = 1, several in groups of B = 128, the last one filled up
    with copies. The functions run on the calling thread, unless a rollout is given `threads`.
    What they raise leaves the rollout as it is.

    >>> import cycloid as cy
    >>> def step(x, u, p, t, dt):
    ...     return x * (1 - p["rate"] * dt)[:, None]
    >>> def pullback(x, u, p, t, dt, bar):
    ...     return bar * (1 - p["rate"] * dt)[:, None], u, {"rate": -(bar * x).sum(axis=1) * dt}
    >>> system = cy.own_law(step, pullback, states={"x": 1}, parameters={"rate": 0.5}, name="decay")
    >>> system
    <System decay: 1 state, 0 inputs, dt 10 ms>
    >>> cy.check_gradient(system, [1.0], 20).ok
    True
    >>> square = lambda x, u, p, t: x**2, lambda x, u, p, t, bar: (2 * x * bar, 0, {"rate": 0})
    >>> system = cy.own_law(step, states={"x": 1}, parameters={"rate": 0.5},
    ...                     observables={"square": square})
    >>> cy.observe(system, [3.0], names="square").pullback([1.0]).x
    array([6.])
    """
    functions = (step, "step"), (pullback, "pullback"), (pushforward, "pushforward")
    for function, what in functions:
        if not callable(function) and (function is not None or what == "step"):
            raise TypeError(f"{what} must be a function; got {type(function).__name__}")
    dt = as_real(dt, "dt")
    if dt <= 0:
        raise Error(f"the time step dt must be positive [s]; got {dt}")
    state_blocks = _blocks(states, "states")
    input_blocks = _blocks({} if inputs is None else inputs, "inputs")
    n, m = (sum(size for _, size in blocks) for blocks in (state_blocks, input_blocks))
    if n == 0:
        raise ModelError("states: a law needs at least one, such as {'x': 1}")
    arrays = as_names(shared, "shared")
    shapes, values = _defaults({} if parameters is None else parameters)
    for key in arrays:
        if key not in shapes:
            known = _core.did_you_mean(as_text(key), list(shapes))
            raise ParameterError(f"shared: no parameter is called {key!r}{known}")
    of_all = {key: values[key] for key in shapes if key in arrays}
    own = {key: shape for key, shape in shapes.items() if key not in arrays}
    values = np.concatenate([values[key].ravel() for key in own] or [np.zeros(0)])
    start = _initial_state(initial_state, n)
    law = _Law(step, pullback, pushforward, n, m, own, None if differentiate_dt else dt)
    law.shared = {key: array.shape for key, array in of_all.items()}
    law.sights = _sights({} if observables is None else observables, dict(state_blocks))
    defaults = np.array([[*values, dt] if differentiate_dt else values])
    flat = tuple(array.ravel() for array in of_all.values())
    for sight in law.sights:
        sight.shape = law.shape_of(flat, sight, np.array([start]), np.zeros((1, m)), defaults)
    core = _core.make_python_law(
        as_text(name),
        state_blocks,
        input_blocks,
        [(key, list(shape)) for key, shape in own.items()],
        values,
        [(key, list(array.shape)) for key, array in of_all.items()],
        np.concatenate(flat or (np.zeros(0),)),
        dt,
        [as_text(v) for v in as_names(vary, "vary")],
        start,
        bool(differentiate_dt),
        _weakly(law.step),
        _weakly(law.pullback),
        _weakly(law.pushforward),
        [(sight.name, list(sight.shape)) for sight in law.sights],
        _weakly(law.observe),
        _weakly(law.observe_pullback),
    )
    system = System(core)
    system._law = law  # the core refers to it weakly, so that cycles through it can be collected
    system._threads = 1  # Python runs on one at a time, and the user's functions on their own
    return system


def _blocks(blocks: Any, what: str) -> list[tuple[str, int]]:
    if not isinstance(blocks, Mapping):
        raise TypeError(f"{what} must map names to sizes; got {type(blocks).__name__}")
    sized = [
        (as_text(name), as_integer(size, f"{what}: the size of {name!r}", 1, _MOST_NUMBERS))
        for name, size in blocks.items()
    ]
    if sum(size for _, size in sized) > _MOST_NUMBERS:
        raise Error(f"{what}: at most {_MOST_NUMBERS} numbers")
    return sized


def _defaults(parameters: Any) -> tuple[dict[str, Shape], dict[str, np.ndarray]]:
    """Shapes and values by name."""
    if not isinstance(parameters, Mapping):
        raise TypeError(f"parameters must map names to values; got {type(parameters).__name__}")
    shapes: dict[str, Shape] = {}
    values: dict[str, np.ndarray] = {}
    for name, value in parameters.items():
        array = as_numbers(value, np.float64, f"parameter {name!r}")
        if name == _TIMESTEP:
            raise Error(f"{_TIMESTEP!r} is the time step: give dt and differentiate_dt=True")
        if array.size == 0:
            raise Error(f"parameter {name!r} has no numbers; its shape is {array.shape}")
        shapes[as_text(name)] = array.shape
        values[as_text(name)] = np.ascontiguousarray(array)
    if sum(v.size for v in values.values()) > _MOST_NUMBERS or len(shapes) < len(parameters):
        raise Error(f"parameters: at most {_MOST_NUMBERS} numbers, and every name once")
    return shapes, values


def _initial_state(given: Any, n: int) -> list[float]:
    state = np.zeros(n) if given is None else as_numbers(given, np.float64, "initial_state")
    if state.shape != (n,):
        raise Error(f"initial_state must have shape ({n},), one per state; got {state.shape}")
    if not np.isfinite(state).all():
        raise Error("initial_state must be finite")
    return state.tolist()


def _weakly(method: Any) -> Callable[..., Any]:
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> Any:
        function = reference()
        assert function is not None, "a System outlives its calls"
        return function(*arguments)

    return call


class _Sight:
    """What goes by one name: a function of the state, and its pullback."""

    shape: Shape  # of its numbers in one environment

    def __init__(self, name: str, value: Any, pullback: Any) -> None:
        self.name, self.value, self.pullback = name, value, pullback


def _sights(observables: Any, blocks: Mapping[str, int]) -> list[_Sight]:
    if not isinstance(observables, Mapping):
        raise TypeError(
            f"observables must map names to (value, pullback); got {type(observables).__name__}"
        )
    sights = []
    for name, given in observables.items():
        value, pullback = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        if not callable(value) or not (pullback is None or callable(pullback)):
            raise TypeError(f"observables: {name!r} must be two functions, (value, pullback)")
        if as_text(name) in blocks or not name:
            raise ModelError(f"observables: {name!r} is a block of the state, or empty")
        sights.append(_Sight(as_text(name), value, pullback))
    return sights


class _Law:
    """Puts names on the parameters, and checks what the functions return."""

    def __init__(
        self,
        step: Any,
        pullback: Any,
        pushforward: Any,
        n: int,
        m: int,
        shapes: dict[str, Shape],
        dt: float | None,
    ) -> None:
        self._step, self._pullback, self._pushforward = step, pullback, pushforward
        self._n, self._m, self._shapes = n, m, shapes
        self._dt = dt  # None: the last parameter
        self.shared: dict[str, Shape] = {}
        self.sights: list[_Sight] = []
        self._parts = ("x_bar", "u_bar", "p_bar") + (("dt_bar",) if dt is None else ())

    def _named(self, p: np.ndarray) -> dict[str, np.ndarray]:
        out, at = {}, 0
        for name, shape in self._shapes.items():
            size = math.prod(shape)
            out[name] = p[:, at : at + size].reshape((len(p), *shape))
            at += size
        return out

    def _all(self, s: Any, p: np.ndarray) -> dict[str, np.ndarray]:
        """... and the arrays that rows share."""
        arrays = {key: a.reshape(shape) for (key, shape), a in zip(self.shared.items(), s)}
        return self._named(p) | arrays

    def step(self, s: Any, x: Any, u: Any, p: Any, t: Any) -> np.ndarray:
        dt = p[:, -1] if self._dt is None else self._dt
        shape = x.shape
        return _returned(self._step(x, u, self._all(s, p), t[:, 0], dt), shape, "step", "x_next")

    def pullback(self, s: Any, x: Any, u: Any, p: Any, t: Any, bar: Any) -> tuple[Any, ...]:
        if self._pullback is None:
            raise GradientError("this law was given without a pullback, so it has no gradient")
        dt = p[:, -1] if self._dt is None else self._dt
        bars = self._pullback(x, u, self._all(s, p), t[:, 0], dt, bar)
        return self._checked(bars, self._parts, p, len(x))

    def shape_of(self, s: Any, sight: _Sight, x: Any, u: Any, p: Any) -> Shape:
        """The shape of what is seen in one environment."""
        value = sight.value(x, u, self._all(s, p), np.zeros(1))
        y = as_numbers(value, np.float64, f"observable {sight.name!r}")
        if y.ndim == 0 or len(y) != 1 or y.size == 0:
            raise Error(
                f"observable {sight.name!r}: value must return numbers for each of B = 1 rows, "
                f"(1, k); got {y.shape}"
            )
        return y.shape[1:] or (1,)

    def observe(self, s: Any, i: int, x: Any, u: Any, p: Any, t: Any) -> np.ndarray:
        sight = self.sights[i]
        y = as_numbers(
            sight.value(x, u, self._all(s, p), t[:, 0]), np.float64, f"observable {sight.name!r}"
        )
        if y.shape != (len(x), *sight.shape) and y.shape != (len(x),):
            raise Error(
                f"observable {sight.name!r}: value must return {(len(x), *sight.shape)}, as it did "
                f"at first; got {y.shape}"
            )
        return np.ascontiguousarray(y.reshape((len(x), -1)))

    def observe_pullback(
        self, s: Any, i: int, x: Any, u: Any, p: Any, t: Any, bar: Any
    ) -> tuple[Any, ...]:
        sight = self.sights[i]
        if sight.pullback is None:
            raise GradientError(
                f"observable {sight.name!r} was given without a pullback, so it has no gradient"
            )
        shaped = bar.reshape((len(x), *sight.shape))
        bars = sight.pullback(x, u, self._all(s, p), t[:, 0], shaped)
        return self._checked(bars, self._parts[:3], p, len(x))

    def _checked(
        self, bars: Any, parts: tuple[str, ...], p: np.ndarray, rows: int
    ) -> tuple[Any, ...]:
        """What a pullback returned: cotangents of parameters in rows, and of shared arrays."""
        if not isinstance(bars, tuple) or len(bars) != len(parts):
            raise Error(
                f"pullback must return ({', '.join(parts)}); got {type(bars).__name__}"
                + (f" of {len(bars)}" if isinstance(bars, tuple) else "")
            )
        x_bar = _cotangent(bars[0], (rows, self._n), "x_bar")
        u_bar = _cotangent(bars[1], (rows, self._m), "u_bar")
        p_bar = np.zeros(p.shape)
        if len(parts) == 4:
            p_bar[:, -1] = _cotangent(bars[3], (rows,), "dt_bar")
        arrays = {key: np.zeros(shape) for key, shape in self.shared.items()}
        named = self._named(p_bar) | arrays
        given = {} if bars[2] is None and not named else bars[2]
        if not isinstance(given, Mapping) or set(given) != set(named):
            got = list(given) if isinstance(given, Mapping) else type(given).__name__
            raise Error(f"pullback must return p_bar for {list(named)}; got {got}")
        for name, value in given.items():
            named[name] += _cotangent(value, named[name].shape, f"p_bar[{name!r}]")
        return x_bar, u_bar, p_bar, tuple(array.ravel() for array in arrays.values())

    def pushforward(
        self, s: Any, x: Any, u: Any, p: Any, t: Any, s_tan: Any, x_tan: Any, u_tan: Any, p_tan: Any
    ) -> np.ndarray:
        if self._pushforward is None:
            raise GradientError(
                "this law was given without a pushforward, so it has no tangents: give "
                "own_law(..., pushforward=f) with f(x, u, p, t, dt, x_tan, u_tan, p_tan)"
            )
        dt, more = (p[:, -1], (p_tan[:, -1],)) if self._dt is None else (self._dt, ())
        shape = x.shape
        tangents = x_tan, u_tan, self._all(s_tan, p_tan), *more
        next_tan = self._pushforward(x, u, self._all(s, p), t[:, 0], dt, *tangents)
        return _cotangent(next_tan, shape, "x_next_tan", "pushforward")


def _returned(value: Any, shape: Shape, function: str, part: str) -> np.ndarray:
    array = as_numbers(value, np.float64, f"what {function} returns as {part}")
    if array.shape != shape:
        raise Error(f"{function} must return {part} of shape {shape}; got {array.shape}")
    return array


def _cotangent(value: Any, shape: Shape, part: str, function: str = "pullback") -> np.ndarray:
    if isinstance(value, (int, float)) and value == 0 or value is None and 0 in shape:
        return np.zeros(shape)
    return _returned(value, shape, function, part)
