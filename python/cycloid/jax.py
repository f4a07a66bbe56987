"""Rollouts, steps and observations as functions of JAX arrays, for jit, grad and vmap.

>>> import jax
>>> import cycloid as cy
>>> import cycloid.jax as cyj
>>> system = cy.systems.pendulum(length=0.5)
>>> def last_angle(x0, params):
...     return cyj.rollout(system, x0, 200, params, save="last")[-1, 0]
>>> gradient = jax.jit(jax.grad(last_angle, argnums=1))
>>> gradient(jax.numpy.array([1.0, 0.0]), {"length": 0.5})["length"].round(2)   # [rad/m]
Array(7.54, dtype=float32, weak_type=True)

Arrays have the precision of the system, or float32 where JAX has no other (without jax_enable_x64);
the system computes in its own. Work is done on the CPU. Reverse mode only: grad, vjp, jacrev.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._extras import missing

try:
    import jax
    import jax.numpy as jnp
    from jax.custom_batching import custom_vmap
    from jax.custom_derivatives import SymbolicZero
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise missing("jax", "jax") from None

from cycloid._arrays import Shape, broadcast, check_memory, check_trailing
from cycloid._core import GradientError, ParameterError
from cycloid._observe import observer_of
from cycloid._options import (
    MOST_STEPS,
    as_integer,
    as_memory,
    as_real,
    as_save,
    as_threads,
    check_one_of,
    is_integer,
    kept_states,
)
from cycloid._robot import Robot
from cycloid._system import System, check_system

__all__ = ["observe", "rollout", "step"]

for _name, _handler in _core.xla_handlers.items():
    jax.ffi.register_ffi_target(_name, _handler, platform="cpu")
    for _other in ("CUDA", "ROCM"):
        jax.ffi.register_ffi_target(_name, _core.xla_refusal, platform=_other)


def rollout(
    system: System,
    x0: Any,
    controls: Any,
    params: Any = None,
    *,
    save: Any = "all",
    memory: Any = "auto",
    threads: int | None = None,
    t0: float = 0.0,
    failed: str = "raise",
) -> jax.Array:
    """The saved states (..., S, state_size) of T steps, differentiable in x0, controls and params.

    x0: (..., state_size). controls: (..., T, input_size), or an int T for zero inputs. params: None
    for the defaults, a flat vector (..., n), or {name: value}; leading axes broadcast. save, memory,
    threads and t0 [s] are those of `cycloid.rollout`, and fixed when a function is traced.

    An environment that goes non-finite stays at its last finite state. failed: whether its gradient
    "raise"s an error, or "skip"s it: zero. Errors of numbers that are only known when a compiled
    function runs, such as a NaN in x0, are a jax.errors.JaxRuntimeError with cycloid's text.

    >>> import jax
    >>> import cycloid as cy
    >>> import cycloid.jax as cyj
    >>> system = cy.systems.projectile()
    >>> def final_height(x0):
    ...     return cyj.rollout(system, x0, 100, save="last")[-1, 2]
    >>> x0 = jax.numpy.array([[0, 0, 0, 3, 0, 4.0], [0, 0, 0, 3, 0, 5.0]])
    >>> jax.vmap(jax.grad(final_height))(x0)[:, 5].round(3)      # d height / d upward speed [s]
    Array([1., 1.], dtype=float32)
    """
    check_system(system)
    x0 = _as_array(x0, _edge(system), "x0")
    check_trailing(x0, (system.state_size,), "x0", system._meaning)
    if is_integer(controls):
        steps, controls = as_integer(controls, "the number of steps", 1, MOST_STEPS), None
    else:
        controls = _as_array(controls, _edge(system), "controls")
        check_trailing(controls, (-1, system.input_size), "controls", "or be a number of steps T")
        steps = controls.shape[-2]
    return _run(system, x0, controls, steps, params, save, memory, threads, t0, failed, False)


def step(
    system: System,
    x: Any,
    u: Any = None,
    params: Any = None,
    *,
    t: float = 0.0,
    failed: str = "raise",
) -> jax.Array:
    """One time step: the next state (..., state_size) of x (..., state_size) under the inputs u
    (..., input_size), None for zero, at time t [s]; differentiable in x, u and params.

    failed: "raise" an error when a next state is not finite, or "skip": it stays where it is, and
    its gradient is zero.

    >>> import jax
    >>> import cycloid as cy
    >>> import cycloid.jax as cyj
    >>> system = cy.systems.projectile(dt=0.5)
    >>> def fall(x, _):
    ...     x = cyj.step(system, x)
    ...     return x, x[2]
    >>> _, heights = jax.lax.scan(fall, jax.numpy.zeros(6), length=4)
    >>> heights[-1].round(1)                                      # [m]
    Array(-19.6, dtype=float32)
    """
    check_system(system)
    x = _as_array(x, _edge(system), "x0")
    check_trailing(x, (system.state_size,), "x0", system._meaning)
    if u is not None:
        u = _as_array(u, _edge(system), "u")
        check_trailing(u, (system.input_size,), "u", "the inputs of one step")
        u = u[..., None, :]
    states = _run(system, x, u, 1, params, "last", "all", None, t, failed, failed == "raise")
    return states[..., 0, :]


def observe(
    system: Robot,
    x: Any,
    u: Any = None,
    names: str | Sequence[str] | None = None,
    params: Any = None,
    *,
    t: float = 0.0,
) -> jax.Array:
    """What the sensors of a robot show at the state x (..., state_size) under the inputs u
    (..., input_size), None for zero: (..., n), differentiable in x, u and params.

    names: of the sensors, None for all that are supported, as in `cycloid.observe`, whose result
    has the names of the n numbers. t: the time that a clock shows [s].

    >>> import jax
    >>> import cycloid as cy
    >>> import cycloid.jax as cyj
    >>> robot = cy.load('''<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
    ...     <geom size="0.1" pos="0 0 -2"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
    ...     <sensor> <velocimeter name="speed" site="bob"/> </sensor> </mujoco>''')
    >>> jax.jacrev(partial(cyj.observe, robot))(jax.numpy.zeros(2))[0].round(6)   # of x [m/s]
    Array([ 0., -2.], dtype=float32)
    """
    observer = observer_of(system, names)
    x = _as_array(x, _edge(system), "x")
    check_trailing(x, (system.state_size,), "x", system._meaning)
    leads = {"x": x.shape[:-1]}
    if u is not None:
        u = _as_array(u, _edge(system), "u")
        check_trailing(u, (system.input_size,), "u", "the inputs of one step")
        leads["u"] = u.shape[:-1]
    params, columns, lacks, lead = _as_params(system, params)
    leads["params"] = lead
    call = _Call(
        target="cycloid_observe",
        lead=broadcast(leads),
        tail=(observer.size,),
        dtype=_edge(system).name,
        each=True,
        second=(system.input_size,),
        columns=columns,
        lacks=lacks,
        attributes=(
            ("system", _handle(system, observer)),
            ("t", _as_time(t, "t")),
        ),
    )
    return _apply(call, x, u, params)


# ---- from a call of the user to arrays in rows -------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """What XLA calls, all but the arrays: it tells compiled functions apart."""

    target: str
    lead: Shape  # leading axes of the batch
    tail: Shape  # of the values of one environment
    dtype: str  # of the values
    each: bool  # whether states and inputs come in one row per environment, never in one for all
    second: Shape  # of the second argument of one environment
    columns: tuple[int, ...]  # where the parameters that are given lie among all; empty: everywhere
    lacks: tuple[str, ...]  # why each of the named parameters has no gradient; empty: it has
    attributes: tuple[tuple[str, Any], ...]
    forward: tuple[tuple[str, Any], ...] = ()  # ... of the forward call alone
    backward: tuple[tuple[str, Any], ...] = ()  # ... of the pullback alone


def _edge(system: System) -> np.dtype:
    """The precision of JAX arrays for this system."""
    check_system(system)
    return jax.dtypes.canonicalize_dtype(system.dtype)


def _as_array(value: Any, dtype: Any, what: str) -> jax.Array:
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{what} must be an array of numbers: {error}") from None
    kinds = (jnp.floating, jnp.integer, jnp.bool_)
    if not any(jnp.issubdtype(array.dtype, kind) for kind in kinds):
        raise TypeError(f"{what} must be numbers; got {array.dtype}")
    return array.astype(dtype)


def _as_time(t: Any, what: str) -> float:
    if isinstance(t, jax.core.Tracer):
        raise TypeError(f"{what} must be a plain number, fixed when the function is traced")
    return as_real(t, what)


def _as_params(
    system: System, params: Any
) -> tuple[tuple[jax.Array, ...], tuple[int, ...], tuple[str, ...], Shape]:
    """The parameters that are given, each (..., its numbers); their places, why they have no
    gradient, and their leading axes.
    """
    registry, dtype = system.parameters, jax.dtypes.canonicalize_dtype(np.float64)
    if params is None or (isinstance(params, Mapping) and not params):
        return (), (), (), ()
    if not isinstance(params, Mapping):
        array = _as_array(params, dtype, "params")
        meaning = "one number per parameter, or be a mapping of names to values"
        check_trailing(array, (registry.size,), "params", meaning)
        return (array,), (), ("",), array.shape[:-1]
    arrays, columns, lacks, leads = [], [], [], {}
    for name, value in params.items():
        p = registry.info(name)
        array = _as_array(value, dtype, f"parameter {name!r}")
        check_trailing(array, p.shape, f"parameter {name!r}", "leading axes for a batch")
        leads[name] = array.shape[: array.ndim - len(p.shape)]
        arrays.append(array.reshape((*leads[name], p.size)))
        columns += range(p.offset, p.offset + p.size)
        lacks.append(p.not_differentiable and f"parameter {name!r}: {p.not_differentiable}")
    return tuple(arrays), tuple(columns), tuple(lacks), broadcast(leads)


_handles: weakref.WeakKeyDictionary[System, dict[Any, int]] = weakref.WeakKeyDictionary()


def _handle(system: System, core: Any) -> int:
    """A number by which the handlers find the core's system or observer while `system` lives."""
    handles = _handles.setdefault(system, {})
    if core not in handles:
        handles[core] = _core.shelve(core)
        weakref.finalize(system, _core.unshelve, handles[core])
    return handles[core]


def _run(
    system: System,
    x0: jax.Array,
    controls: jax.Array | None,
    steps: int,
    params: Any,
    save: Any,
    memory: Any,
    threads: Any,
    t0: Any,
    failed: str,
    check: bool,
) -> jax.Array:
    check_one_of(failed, ("raise", "skip"), "failed")
    params, columns, lacks, params_lead = _as_params(system, params)
    leads = {"x0": x0.shape[:-1], "params": params_lead}
    if controls is not None:
        leads["controls"] = controls.shape[:-2]
    lead = broadcast(leads)
    save, saved = as_save(save, steps)
    memory = as_memory(memory)
    _core.check_run_options(save, memory, steps)
    numbers = system.state_size * math.prod(lead) * system.dtype.itemsize
    check_memory(saved * numbers, "the saved states", '; save="last" keeps only the last')
    kept = kept_states(memory, steps)
    check_memory(kept * numbers, "what memory= keeps", '; memory="auto" keeps less')
    call = _Call(
        target="cycloid_rollout",
        lead=lead,
        tail=(saved, system.state_size),
        dtype=_edge(system).name,
        each=False,
        second=(steps, system.input_size),
        columns=columns,
        lacks=lacks,
        attributes=(
            ("system", _handle(system, system._core)),
            ("steps", steps),
            ("save", save[0]),
            ("save_steps", tuple(save[1])),
            ("memory", memory[0]),
            ("memory_value", memory[1]),
            ("threads", as_threads(threads, system._threads)),
            ("t0", _as_time(t0, "t0")),
        ),
        forward=(("check", int(check)),),
        backward=(("skip", int(failed == "skip")),),
    )
    return _apply(call, x0, controls, params)


@partial(jax.jit, static_argnums=0, inline=True)
def _apply(call: _Call, x: Any, second: Any, params: tuple[Any, ...]) -> jax.Array:
    rows = math.prod(call.lead)
    if second is not None:
        second = _to_rows(second, call.lead, len(call.second), call.each)
    x = _to_rows(x, call.lead, 1, call.each)
    params = tuple(_to_rows(p, call.lead, 1, False) for p in params)
    counts = [len(x), *(len(p) for p in params)]
    # Inputs without numbers may say how large the batch is.
    if second is not None and 0 not in call.second:
        counts.append(len(second))
    if max(counts) < rows:
        x = jnp.repeat(x, rows, axis=0)
    return _rows(call, x, second, params).reshape(call.lead + call.tail)


def _to_rows(array: Any, lead: Shape, trailing: int, each: bool) -> Any:
    """One row for all, or one per environment of the batch `lead`."""
    own, tail = array.shape[: array.ndim - trailing], array.shape[array.ndim - trailing :]
    if math.prod(own) == 1 and not each:
        return array.reshape((1, *tail))
    return jnp.broadcast_to(array, lead + tail).reshape((math.prod(lead), *tail))


# ---- the gradient ------------------------------------------------------------------------------

_X, _SECOND, _PARAMS = 1, 2, 4  # bits of wrt


@partial(jax.tree_util.register_dataclass, data_fields=(), meta_fields=("wrt",))
@dataclass(frozen=True)
class _Wrt:
    """With respect to what a gradient is asked for, among residuals."""

    wrt: int


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rows(call: _Call, x: Any, second: Any, params: tuple[Any, ...]) -> jax.Array:
    """The values (rows, *tail) of arguments in rows."""
    return _forward(call, 0, *_operands(call, x, second, params))[0]


def _rows_forward(call: _Call, x: Any, second: Any, params: tuple[Any, ...]) -> tuple[Any, Any]:
    wrt = _X * x.perturbed
    if second is not None:
        wrt |= _SECOND * second.perturbed
    for p, lack in zip(params, call.lacks):
        if p.perturbed and lack:
            raise ParameterError(f"{lack}: it is not differentiated")
        wrt |= _PARAMS * p.perturbed
    x = x.value
    second = None if second is None else second.value
    params = tuple(p.value for p in params)
    values, token = _forward(call, wrt, *_operands(call, x, second, params))
    return values, (_Wrt(wrt), token, x, second, params)


def _rows_backward(call: _Call, kept: Any, bar: Any) -> tuple[Any, Any, Any]:
    static, token, x, second, params = kept
    if isinstance(bar, SymbolicZero):
        return None, None, None
    operands = _operands(call, x, second, params)
    bars = _backward(call, static.wrt, token, *operands, bar[None])
    x_bar = bars[0][0] if static.wrt & _X else None
    second_bar = bars[1][0] if static.wrt & _SECOND else None
    if not static.wrt & _PARAMS:
        return x_bar, second_bar, None
    params_bar, first = [], 0
    for p in params:
        part = bars[2][0][:, first : first + p.shape[1]]
        params_bar.append(part.sum(axis=0, keepdims=True) if len(p) < len(part) else part)
        first += p.shape[1]
    return x_bar, second_bar, tuple(params_bar)


_rows.defvjp(_rows_forward, _rows_backward, symbolic_zeros=True)


def _operands(call: _Call, x: Any, second: Any, params: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """The three arrays that the core takes; without rows where nothing was given."""
    if second is None:
        second = jnp.zeros((0, *call.second), x.dtype)
    if not params:
        return x, second, jnp.zeros((0, 0), x.dtype)
    rows = max(len(p) for p in params)
    parts = [jnp.broadcast_to(p, (rows, p.shape[1])) for p in params]
    return x, second, jnp.concatenate(parts, axis=1)


# ---- calls of XLA, and what vmap makes of them: more rows of one call --------------------------


def _attributes(call: _Call, **more: int) -> dict[str, Any]:
    kinds = {int: np.int64, float: np.float64, str: str, tuple: partial(np.array, dtype=np.int64)}
    named = {**dict(call.attributes), "columns": call.columns, **more}
    return {name: kinds[type(value)](value) for name, value in named.items()}


def _forward(call: _Call, wrt: int, *operands: Any) -> tuple[jax.Array, jax.Array]:
    """Values (rows, *tail), and the token of what is kept for a pullback."""

    @custom_vmap
    def run(*operands: Any) -> Any:
        values = jax.ShapeDtypeStruct((max(map(len, operands)), *call.tail), call.dtype)
        token = jax.ShapeDtypeStruct((2,), np.uint32)
        attributes = _attributes(call, keep=int(wrt != 0), **dict(call.forward))
        return jax.ffi.ffi_call(call.target, (values, token))(*operands, **attributes)

    @run.def_vmap
    def _(size: int, batched: list[bool], *operands: Any) -> Any:
        rows = max(map(_row_count, operands, batched))
        merged = _merged(call, wrt, size, batched, operands)
        values, token = _forward(call, wrt, *merged)
        return (values.reshape((size, rows, *call.tail)), token), (True, False)

    return run(*operands)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _backward(call: _Call, wrt: int, token: Any, *operands_and_bar: Any) -> tuple[Any, ...]:
    """Cotangents (P, rows, ...) of the operands, given those of the values (P, rows, *tail)."""
    *operands, bar = operands_and_bar

    @custom_vmap
    def run(token: Any, *operands_and_bar: Any) -> Any:
        *operands, bar = operands_and_bar
        bars = [
            jax.ShapeDtypeStruct((len(bar), len(o) if wrt & bit else 0, *o.shape[1:]), o.dtype)
            for o, bit in zip(operands, (_X, _SECOND, _PARAMS))
        ]
        attributes = _attributes(call, wrt=wrt, **dict(call.backward))
        target = f"{call.target}_pullback"
        return jax.ffi.ffi_call(target, bars)(token, *operands, bar, **attributes)

    @run.def_vmap
    def _(size: int, batched: list[bool], token: Any, *operands_and_bar: Any) -> Any:
        *operands, bar = operands_and_bar
        _, *operands_batched, bar_batched = batched
        if batched[0]:  # copies
            token = token[0]
        if not bar_batched:
            bar = jnp.broadcast_to(bar, (size, *bar.shape))
        if not any(operands_batched):  # several pullbacks of one run
            bars = _backward(call, wrt, token, *operands, bar.reshape((-1, *bar.shape[2:])))
            return [b.reshape((size, -1, *b.shape[1:])) if b.size else b for b in bars], [
                bool(b.size) for b in bars
            ]
        count, rows = bar.shape[1:3]
        merged = _merged(call, wrt, size, operands_batched, operands)
        bar = jnp.moveaxis(bar, 0, 1).reshape((count, size * rows, *call.tail))
        bars = _backward(call, wrt, token, *merged, bar)
        own = map(_row_count, operands, operands_batched)
        return [_split(b, size, rows, n) for b, n in zip(bars, own)], [bool(b.size) for b in bars]

    return tuple(run(token, *operands, bar))


@_backward.defjvp
def _no_second_derivatives(*_: Any) -> Any:
    raise GradientError(
        "cycloid has no second derivatives in JAX; for curvature use a Gauss-Newton approximation "
        "from jax.jacrev, or differences of gradients"
    )


def _row_count(array: Any, batched: bool) -> int:
    return array.shape[1 if batched else 0]


def _merged(
    call: _Call, wrt: int, size: int, batched: Sequence[bool], operands: Sequence[Any]
) -> list[Any]:
    """Operands whose rows are those of `size` calls, one after another. What has one row for all
    keeps it, unless each call wants a gradient of its own.
    """
    rows = max(map(_row_count, operands, batched))
    each = (call.each or wrt & _X, call.each or wrt & _SECOND, wrt & _PARAMS)
    merged = []
    for o, is_batched, own in zip(operands, batched, each):
        count = _row_count(o, is_batched)
        if count == 0:
            o = o[0] if is_batched else o
        elif is_batched or own or count > 1:
            o = o if is_batched else o[None]
            o = jnp.broadcast_to(o, (size, rows, *o.shape[2:])).reshape((-1, *o.shape[2:]))
        merged.append(o)
    return merged


def _split(bar: Any, size: int, rows: int, own: int) -> Any:
    """(P, size * rows, ...) as (size, P, own, ...), summed where one row was for all."""
    if not bar.size:
        return bar
    bar = bar.reshape((len(bar), size, rows, *bar.shape[2:]))
    if own < rows:
        bar = bar.sum(axis=2, keepdims=True)
    return jnp.moveaxis(bar, 1, 0)
