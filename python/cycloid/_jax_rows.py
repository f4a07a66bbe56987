"""Operators on rows as JAX sees them: their gradients, and what vmap makes of them.

A Call with three arrays is one call of a handler of the core (python/src/jax.h). The gradient is a
custom_vjp: what the forward call kept is found again by a token among the residuals, and the
pullback computes the cotangents that are asked for and no others. vmap makes more rows of one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from cycloid._arrays import Shape
from cycloid._core import GradientError, ParameterError


@dataclass(frozen=True)
class Call:
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


def new_operator() -> Callable[[Call, Any, Any, tuple[Any, ...]], jax.Array]:
    """`apply`, compiled; what is compiled goes with the function."""

    @partial(jax.jit, static_argnums=0, inline=True)
    def operator(call: Call, x: Any, second: Any, params: tuple[Any, ...]) -> jax.Array:
        return apply(call, x, second, params)

    return operator


def apply(call: Call, x: Any, second: Any, params: tuple[Any, ...]) -> jax.Array:
    """The values (*lead, *tail). second: inputs, or None. params: parts of a parameter vector."""
    rows = math.prod(call.lead)
    if second is not None:
        second = _to_rows(second, call.lead, len(call.second), call.each)
    x = _to_rows(x, call.lead, 1, call.each)
    params = tuple(_to_rows(p, call.lead, 1, False) for p in params)
    given = params if second is None else (second, *params)
    if len(x) < rows and not any(_counts(a.shape[1:]) and len(a) == rows for a in given):
        x = jnp.repeat(x, rows, axis=0)
    return _rows(call, x, second, params).reshape(call.lead + call.tail)


def _to_rows(array: Any, lead: Shape, trailing: int, each: bool) -> Any:
    """One row for all, or one per environment of the batch `lead`."""
    own, tail = array.shape[: array.ndim - trailing], array.shape[array.ndim - trailing :]
    if math.prod(own) == 1 and not each:
        return array.reshape((1, *tail))
    return jnp.broadcast_to(array, lead + tail).reshape((math.prod(lead), *tail))


def _counts(tail: Shape) -> bool:
    """Whether the core sees how many rows there are: it does not where they have no numbers, as the
    inputs of a law without inputs.
    """
    return 0 not in tail


_X, _SECOND, _PARAMS = 1, 2, 4  # bits of wrt


@partial(jax.tree_util.register_dataclass, data_fields=(), meta_fields=("wrt",))
@dataclass(frozen=True)
class _Wrt:
    """With respect to what a gradient is asked for, among residuals."""

    wrt: int


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rows(call: Call, x: Any, second: Any, params: tuple[Any, ...]) -> jax.Array:
    """The values (rows, *tail) of arguments in rows."""
    return _call_forward(call, 0, _operands(call, x, second, params))[0]


def _rows_forward(call: Call, x: Any, second: Any, params: tuple[Any, ...]) -> tuple[Any, Any]:
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


def _rows_backward(call: Call, kept: Any, bar: Any) -> tuple[Any, Any, Any]:
    static, token, x, second, params = kept
    if isinstance(bar, SymbolicZero):
        return None, None, None
    operands = _operands(call, x, second, params)
    bars = _backward(call, static.wrt, token, bar[None], *operands)
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


def _operands(call: Call, x: Any, second: Any, params: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """The three arrays that the core takes; without rows where nothing was given."""
    if second is None:
        second = jnp.zeros((0, *call.second), x.dtype)
    if not params:
        return x, second, jnp.zeros((0, 0), x.dtype)
    rows = max(len(p) for p in params)
    parts = [jnp.broadcast_to(p, (rows, p.shape[1])) for p in params]
    return x, second, jnp.concatenate(parts, axis=1)


def _row(numbers: tuple[Any, ...]) -> np.ndarray:
    real = any(isinstance(number, float) for number in numbers)
    return np.array(numbers, dtype=np.float64 if real else np.int64)


def _attributes(call: Call, **more: int) -> dict[str, Any]:
    kinds = {int: np.int64, float: np.float64, str: str, tuple: _row}
    named = {**dict(call.attributes), "columns": call.columns, **more}
    return {name: kinds[type(value)](value) for name, value in named.items()}


def _call_forward(call: Call, wrt: int, operands: Sequence[Any]) -> tuple[jax.Array, jax.Array]:
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
        values, token = _call_forward(call, wrt, _merged(call, wrt, size, batched, operands))
        return (values.reshape((size, rows, *call.tail)), token), (True, False)

    return run(*operands)


def _call_backward(
    call: Call, wrt: int, token: Any, operands: Sequence[Any], bar: Any
) -> Sequence[Any]:
    """Cotangents (P, rows, ...) of the operands, given those of the values (P, rows, *tail)."""

    @custom_vmap
    def run(token: Any, bar: Any, *operands: Any) -> Any:
        bars = [
            jax.ShapeDtypeStruct((len(bar), len(o) if wrt & bit else 0, *o.shape[1:]), o.dtype)
            for o, bit in zip(operands, (_X, _SECOND, _PARAMS))
        ]
        attributes = _attributes(call, wrt=wrt)
        target = f"{call.target}_pullback"
        return jax.ffi.ffi_call(target, bars)(token, *operands, bar, **attributes)

    @run.def_vmap
    def _(size: int, batched: list[bool], token: Any, bar: Any, *operands: Any) -> Any:
        token_batched, bar_batched, *batched = batched
        if token_batched:  # copies
            token = token[0]
        if not bar_batched:
            bar = jnp.broadcast_to(bar, (size, *bar.shape))
        count, rows = bar.shape[1:3]
        if any(batched):
            bar = jnp.moveaxis(bar, 0, 1).reshape((count, size * rows, *call.tail))
            merged = _merged(call, wrt, size, batched, operands)
            bars = _call_backward(call, wrt, token, merged, bar)
            own = map(_row_count, operands, batched)
            bars = [_split(b, size, rows, n) for b, n in zip(bars, own)]
        else:  # several pullbacks of one run
            bar = bar.reshape((size * count, rows, *call.tail))
            bars = _call_backward(call, wrt, token, operands, bar)
            bars = [b.reshape((size, count, *b.shape[1:])) for b in bars]
        return bars, [True] * len(bars)

    return run(token, bar, *operands)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _forward(call: Call, wrt: int, *operands: Any) -> tuple[jax.Array, jax.Array]:
    return _call_forward(call, wrt, operands)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _backward(call: Call, wrt: int, token: Any, bar: Any, *operands: Any) -> Sequence[Any]:
    return _call_backward(call, wrt, token, operands, bar)


@_forward.defjvp
@_backward.defjvp
def _no_second_derivatives(*_: Any) -> Any:
    raise GradientError(
        "cycloid has no second derivatives in JAX; for curvature take the Gauss-Newton "
        "approximation from jax.jacrev, or differences of gradients"
    )


def _row_count(array: Any, batched: bool) -> int:
    return array.shape[1 if batched else 0]


def _merged(
    call: Call, wrt: int, size: int, batched: Sequence[bool], operands: Sequence[Any]
) -> list[Any]:
    """Operands whose rows are those of `size` calls, one after another. What has one row for all
    keeps it, unless each call wants a gradient of its own, or nothing else counts the calls.
    """
    counts = list(map(_row_count, operands, batched))
    rows = max(counts)
    each = (call.each or wrt & _X, call.each or wrt & _SECOND, wrt & _PARAMS)
    spread = [n > 0 and (b or own or n > 1) for n, b, own in zip(counts, batched, each)]
    tails = [o.shape[2 if b else 1 :] for o, b in zip(operands, batched)]
    spread[0] |= not any(s and _counts(tail) for s, tail in zip(spread, tails))
    merged = []
    for o, is_batched, is_spread, tail in zip(operands, batched, spread, tails):
        if is_spread:
            o = o if is_batched else o[None]
            o = jnp.broadcast_to(o, (size, rows, *tail)).reshape((size * rows, *tail))
        elif is_batched:  # without rows
            o = o[0]
        merged.append(o)
    return merged


def _split(bars: Any, size: int, rows: int, own: int) -> Any:
    """(P, size * rows, ...) as (size, P, own, ...), summed where one row was for all; without rows
    where no gradient was asked for.
    """
    if not bars.shape[1]:
        return jnp.zeros((size, *bars.shape), bars.dtype)
    bars = bars.reshape((len(bars), size, rows, *bars.shape[2:]))
    if own < rows:
        bars = bars.sum(axis=2, keepdims=True)
    return jnp.moveaxis(bars, 1, 0)
