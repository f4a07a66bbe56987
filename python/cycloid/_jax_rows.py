"""Operators on rows as JAX sees them: their derivatives, and what vmap makes of them.

A Call with three arrays is one call of a handler of the core (python/src/jax.h). Primitives have
JAX's rules for it, and each rule is one of the others:

    run(z)          -> values, token     jvp: push(z; dz)
    push(z; dz)     -> J dz              transpose: pull;  jvp: push(z; ddz) + bow(z, dz; dz')
    bow(z, dz; dz') -> d(J dz)/dz dz'    transpose: bend; it is never called itself
    pull(z; bar)    -> J' bar            transpose: push;  jvp: pull(z; dbar) + bend(z, bar; dz)
    bend(z, bar; dz) -> d(J' bar)/dz dz  transpose: bend, since it is symmetric

z are the three arrays; wrt says by bits of which a gradient is asked for, and of which a run keeps
what it needs. So reverse mode is pull, forward mode is push, and a Hessian is bend in
either order. What a run kept is found again by its token; a pullback computes the cotangents that
are asked for and no others. vmap makes more rows of one call, or, of several directions of one run,
one call with several.
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
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

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
    params = tuple(
        _lacking.bind(p, reason=reason) if reason else p for p, reason in zip(params, call.lacks)
    )
    values, _ = _run.bind(*_operands(call, x, second, params), call=call, wrt=0)
    return values.reshape(call.lead + call.tail)


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


_BITS = (1, 2, 4)  # of wrt: x, second, params


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


# ---- what is called ----------------------------------------------------------------------------
#
# Operands: x, second, params, in rows. Stacks: P cotangents of the values (P, rows, *tail), or P
# directions of an operand (P, its rows, ...), with no rows for zero.


def _primitive(name: str, shapes: Any, compute: Any) -> Primitive:
    """shapes(*arrays, **static) -> (shape, dtype) of each result; compute(*arrays, **static)."""
    primitive = Primitive(f"cycloid_{name}")
    primitive.multiple_results = True

    def abstract(*arrays: Any, **static: Any) -> list[ShapedArray]:
        return [ShapedArray(shape, dtype) for shape, dtype in shapes(*arrays, **static)]

    def evaluate(*arrays: Any, **static: Any) -> Any:
        return jax.jit(lambda *given: primitive.bind(*given, **static))(*arrays)

    primitive.def_abstract_eval(abstract)
    primitive.def_impl(evaluate)
    mlir.register_lowering(primitive, mlir.lower_fun(compute, multiple_results=True))
    return primitive


def _ffi(target: str, shapes: Any, arrays: Any, attributes: Any) -> Any:
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    return jax.ffi.ffi_call(target, results)(*arrays, **attributes)


def _rows_of(operands: Sequence[Any]) -> int:
    return max(o.shape[0] for o in operands)


def _run_shapes(*operands: Any, call: Call, wrt: int) -> Any:
    return ((_rows_of(operands), *call.tail), np.dtype(call.dtype)), ((2,), np.dtype(np.uint32))


def _call_run(*operands: Any, call: Call, wrt: int) -> Any:
    attributes = _attributes(call, keep=int(wrt != 0), **dict(call.forward))
    return _ffi(call.target, _run_shapes(*operands, call=call, wrt=wrt), operands, attributes)


def _push_shapes(*arrays: Any, call: Call, wrt: int) -> Any:
    operands, directions = arrays[1:4], arrays[4:]
    return [((directions[0].shape[0], _rows_of(operands), *call.tail), np.dtype(call.dtype))]


def _call_push(*arrays: Any, call: Call, wrt: int) -> Any:
    if call.target != "cycloid_rollout":
        raise GradientError(
            "cycloid has no forward mode of observe in JAX (jvp, linearize, jacfwd): use grad, vjp "
            "or jacrev"
        )
    shapes = _push_shapes(*arrays, call=call, wrt=wrt)
    return _ffi(f"{call.target}_pushforward", shapes, arrays[1:], _attributes(call))


def _bar_shapes(count: int, operands: Sequence[Any], wrt: int) -> Any:
    return [
        ((count, o.shape[0] if wrt & bit else 0, *o.shape[1:]), o.dtype)
        for o, bit in zip(operands, _BITS)
    ]


def _pull_shapes(*arrays: Any, call: Call, wrt: int) -> Any:
    return _bar_shapes(arrays[4].shape[0], arrays[1:4], wrt)


def _call_pull(*arrays: Any, call: Call, wrt: int) -> Any:
    shapes = _pull_shapes(*arrays, call=call, wrt=wrt)
    return _ffi(f"{call.target}_pullback", shapes, arrays, _attributes(call, wrt=wrt))


def _bend_shapes(*arrays: Any, call: Call, wrt: int, along: int) -> Any:
    return _bar_shapes(arrays[3].shape[0], arrays[:3], wrt)


def _call_bend(*arrays: Any, call: Call, wrt: int, along: int) -> Any:
    if call.target != "cycloid_rollout":
        raise GradientError("cycloid has no second derivatives of observe in JAX")
    shapes = _bend_shapes(*arrays, call=call, wrt=wrt, along=along)
    return _ffi(f"{call.target}_hvp", shapes, arrays, _attributes(call, wrt=wrt))


def _bow_shapes(*arrays: Any, call: Call, wrt: int, along: int) -> Any:
    return [((arrays[3].shape[0], _rows_of(arrays[:3]), *call.tail), np.dtype(call.dtype))]


def _call_bow(*arrays: Any, call: Call, wrt: int, along: int) -> Any:
    raise GradientError(
        "cycloid has no forward-mode derivative of a forward-mode derivative in JAX (jvp of jvp, "
        "jacfwd of jacfwd): for second derivatives take jax.hessian, or jvp or grad of grad"
    )


_run = _primitive("run", _run_shapes, _call_run)  # operands -> values, token
_push = _primitive("push", _push_shapes, _call_push)  # token, operands, directions -> tangents
_pull = _primitive("pull", _pull_shapes, _call_pull)  # token, operands, bar -> bars
_bend = _primitive("bend", _bend_shapes, _call_bend)  # operands, bar, directions -> bars
_bow = _primitive("bow", _bow_shapes, _call_bow)  # operands, directions, directions -> tangents


# ---- derivatives -------------------------------------------------------------------------------


def _no_tangent(array: Any) -> Any:
    return ad.Zero(jax.typeof(array).to_tangent_aval())


def _directions(operands: Sequence[Any], tangents: Sequence[Any], count: int) -> tuple[int, Any]:
    """Which tangents there are, as bits, and the directions (P, rows, ...), P times the same."""
    wrt, directions = 0, []
    for o, tangent, bit in zip(operands, tangents, _BITS):
        if type(tangent) is ad.Zero or 0 in o.shape:
            directions.append(jnp.zeros((count, 0, *o.shape[1:]), o.dtype))
        else:
            wrt |= bit
            directions.append(jnp.broadcast_to(tangent, (count, *tangent.shape)))
    return wrt, directions


def _run_jvp(operands: Any, tangents: Any, *, call: Call, wrt: int) -> Any:
    along, directions = _directions(operands, tangents, 1)
    values, token = _run.bind(*operands, call=call, wrt=wrt | along)
    values_tan: Any = _no_tangent(values)
    if along:
        values_tan = _push.bind(token, *operands, *directions, call=call, wrt=along)[0][0]
    return [values, token], [values_tan, _no_tangent(token)]


def _push_transpose(bars: Any, *arrays: Any, call: Call, wrt: int) -> Any:
    given, directions = arrays[:4], arrays[4:]
    if type(bars[0]) is ad.Zero:
        return [None] * len(arrays)
    found = _pull.bind(*given, bars[0], call=call, wrt=wrt)
    wanted = map(ad.is_undefined_primal, directions)
    return [None] * 4 + [b if want else None for b, want in zip(found, wanted)]


def _push_jvp(arrays: Any, tangents: Any, *, call: Call, wrt: int) -> Any:
    operands, directions = arrays[1:4], arrays[4:]
    push = partial(_push.bind, *arrays[:4], call=call, wrt=wrt)
    values = push(*directions)
    moved = [_no_tangent(values[0])]
    if any(type(t) is not ad.Zero for t in tangents[4:]):
        pairs = zip(directions, tangents[4:])
        moved = push(*(jnp.zeros_like(d) if type(t) is ad.Zero else t for d, t in pairs))
    along, more = _directions(operands, tangents[1:4], directions[0].shape[0])
    if along:
        bent = _bow.bind(*operands, *directions, *more, call=call, wrt=wrt, along=along)
        moved = list(map(ad.add_tangents, moved, bent))
    return values, moved


def _bow_transpose(bars: Any, *arrays: Any, call: Call, wrt: int, along: int) -> Any:
    operands, directions, more = arrays[:3], arrays[3:6], arrays[6:]
    if type(bars[0]) is ad.Zero:
        return [None] * len(arrays)
    if any(map(ad.is_undefined_primal, directions)):
        raise _no_third_derivatives()
    found = _bend.bind(*operands, bars[0], *directions, call=call, wrt=along, along=wrt)
    wanted = map(ad.is_undefined_primal, more)
    return [None] * 6 + [b if want else None for b, want in zip(found, wanted)]


def _bow_jvp(arrays: Any, tangents: Any, *, call: Call, wrt: int, along: int) -> Any:
    raise _no_third_derivatives()


def _pull_transpose(bars: Any, *arrays: Any, call: Call, wrt: int) -> Any:
    token, *operands, bar = arrays
    along, directions = _cotangent_directions(bars, operands, wrt, bar.aval.shape[0])
    if not along:
        return [None] * 5
    return [None] * 4 + [_push.bind(token, *operands, *directions, call=call, wrt=along)[0]]


def _cotangent_directions(bars: Any, operands: Any, wrt: int, count: int) -> tuple[int, Any]:
    """The cotangents of bars (P, rows, ...) as directions of the operands."""
    along, directions = 0, []
    for b, o, bit in zip(bars, operands, _BITS):
        if type(b) is ad.Zero or not wrt & bit or 0 in o.shape:
            directions.append(jnp.zeros((count, 0, *o.shape[1:]), o.dtype))
        else:
            along |= bit
            directions.append(b)
    return along, directions


def _pull_jvp(arrays: Any, tangents: Any, *, call: Call, wrt: int) -> Any:
    token, *operands, bar = arrays
    bars = _pull.bind(*arrays, call=call, wrt=wrt)
    moved = [_no_tangent(b) for b in bars]
    if type(tangents[4]) is not ad.Zero:
        moved = _pull.bind(token, *operands, tangents[4], call=call, wrt=wrt)
    along, directions = _directions(operands, tangents[1:4], bar.shape[0])
    if along:
        bent = _bend.bind(*operands, bar, *directions, call=call, wrt=wrt, along=along)
        moved = list(map(ad.add_tangents, moved, bent))
    return bars, moved


def _bend_transpose(bars: Any, *arrays: Any, call: Call, wrt: int, along: int) -> Any:
    operands, bar, directions = arrays[:3], arrays[3], arrays[4:]
    if ad.is_undefined_primal(bar):
        raise _no_third_derivatives()
    ours, moved = _cotangent_directions(bars, operands, wrt, bar.shape[0])
    if not ours:
        return [None] * len(arrays)
    found = _bend.bind(*operands, bar, *moved, call=call, wrt=along, along=ours)
    wanted = map(ad.is_undefined_primal, directions)
    return [None] * 4 + [b if want else None for b, want in zip(found, wanted)]


def _bend_jvp(arrays: Any, tangents: Any, *, call: Call, wrt: int, along: int) -> Any:
    if any(type(t) is not ad.Zero for t in tangents[:3]):
        raise _no_third_derivatives()
    *operands, bar = arrays[:4]
    bend = partial(_bend.bind, *operands, call=call, wrt=wrt, along=along)
    bars = bend(bar, *arrays[4:])
    moved = [_no_tangent(b) for b in bars]
    if type(tangents[3]) is not ad.Zero:
        moved = bend(tangents[3], *arrays[4:])
    if any(type(t) is not ad.Zero for t in tangents[4:]):
        pairs = zip(arrays[4:], tangents[4:])
        directions = [jnp.zeros_like(d) if type(t) is ad.Zero else t for d, t in pairs]
        moved = list(map(ad.add_tangents, moved, bend(bar, *directions)))
    return bars, moved


def _no_third_derivatives() -> GradientError:
    return GradientError("cycloid has first and second derivatives in JAX, not third ones")


ad.primitive_jvps[_run] = _run_jvp
ad.primitive_jvps[_push] = _push_jvp
ad.primitive_jvps[_pull] = _pull_jvp
ad.primitive_jvps[_bend] = _bend_jvp
ad.primitive_jvps[_bow] = _bow_jvp
ad.primitive_transposes[_push] = _push_transpose
ad.primitive_transposes[_pull] = _pull_transpose
ad.primitive_transposes[_bend] = _bend_transpose
ad.primitive_transposes[_bow] = _bow_transpose


# ---- vmap --------------------------------------------------------------------------------------


def _in_front(arrays: Sequence[Any], dims: Sequence[Any]) -> tuple[int, list[Any], list[bool]]:
    """The size of the vmapped axis; arrays with it in front where they have it; whether they do."""
    out, batched, size = [], [], 0
    for array, dim in zip(arrays, dims):
        batched.append(dim is not None)
        if dim is not None:
            array = jnp.moveaxis(array, dim, 0)
            size = array.shape[0]
        out.append(array)
    return size, out, batched


def _run_vmap(operands: Any, dims: Any, *, call: Call, wrt: int) -> Any:
    size, operands, batched = _in_front(operands, dims)
    rows = max(map(_row_count, operands, batched))
    merged = _merged(call, wrt, size, batched, operands)
    values, token = _run.bind(*merged, call=call, wrt=wrt)
    return [values.reshape((size, rows, *call.tail)), token], [0, None]


def _vmapped(
    call: Call, wrt: int, size: int, operands: Any, ops_batched: Any, stacks: Any, batched: Any
) -> tuple[Any, Any, Any]:
    """Operands and stacks of one call instead of `size` ones, and how its results come apart:
    split(result, rows of one call's result).
    """
    stacks = [
        s if b else jnp.broadcast_to(s, (size, *s.shape)) for s, b in zip(stacks, batched)
    ]
    if not any(ops_batched):  # several directions of one run
        stacks = [s.reshape((size * s.shape[1], *s.shape[2:])) for s in stacks]
        split = lambda r, own: r.reshape((size, len(r) // size, *r.shape[1:]))
        return operands, stacks, split
    rows = max(map(_row_count, operands, ops_batched))
    merged = _merged(call, wrt, size, ops_batched, operands)

    def spread(stack: Any) -> Any:
        count, own, *tail = stack.shape[1:]
        if own == 0:
            return stack[0]
        stack = jnp.moveaxis(stack, 0, 1)
        full = jnp.broadcast_to(stack, (count, size, rows, *tail))
        return full.reshape((count, size * rows, *tail))

    return merged, [spread(s) for s in stacks], lambda result, own: _split(result, size, rows, own)


def _push_vmap(arrays: Any, dims: Any, *, call: Call, wrt: int) -> Any:
    size, (token, *rest), (token_batched, *batched) = _in_front(arrays, dims)
    token = token[0] if token_batched else token  # copies
    rows = max(map(_row_count, rest[:3], batched[:3]))
    operands, directions, split = _vmapped(
        call, wrt, size, rest[:3], batched[:3], rest[3:], batched[3:]
    )
    result = _push.bind(token, *operands, *directions, call=call, wrt=wrt)[0]
    return [split(result, rows)], [0]


def _pull_vmap(arrays: Any, dims: Any, *, call: Call, wrt: int) -> Any:
    size, (token, *rest), (token_batched, *batched) = _in_front(arrays, dims)
    token = token[0] if token_batched else token
    own = list(map(_row_count, rest[:3], batched[:3]))
    operands, (bar,), split = _vmapped(
        call, wrt, size, rest[:3], batched[:3], rest[3:], batched[3:]
    )
    bars = _pull.bind(token, *operands, bar, call=call, wrt=wrt)
    return list(map(split, bars, own)), [0] * 3


def _bend_vmap(arrays: Any, dims: Any, *, call: Call, wrt: int, along: int) -> Any:
    size, rest, batched = _in_front(arrays, dims)
    own = list(map(_row_count, rest[:3], batched[:3]))
    operands, stacks, split = _vmapped(
        call, wrt | along, size, rest[:3], batched[:3], rest[3:], batched[3:]
    )
    bars = _bend.bind(*operands, *stacks, call=call, wrt=wrt, along=along)
    return list(map(split, bars, own)), [0] * 3


def _bow_vmap(arrays: Any, dims: Any, *, call: Call, wrt: int, along: int) -> Any:
    size, rest, batched = _in_front(arrays, dims)
    rows = max(map(_row_count, rest[:3], batched[:3]))
    operands, stacks, split = _vmapped(
        call, wrt | along, size, rest[:3], batched[:3], rest[3:], batched[3:]
    )
    result = _bow.bind(*operands, *stacks, call=call, wrt=wrt, along=along)[0]
    return [split(result, rows)], [0]


batching.primitive_batchers[_bow] = _bow_vmap
batching.primitive_batchers[_run] = _run_vmap
batching.primitive_batchers[_push] = _push_vmap
batching.primitive_batchers[_pull] = _pull_vmap
batching.primitive_batchers[_bend] = _bend_vmap


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
    each = (call.each or wrt & 1, call.each or wrt & 2, wrt & 4)
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


# ---- parameters without a gradient -------------------------------------------------------------

_lacking = Primitive("cycloid_lacking")  # the same numbers; no derivative, for a reason
_lacking.def_impl(lambda p, *, reason: p)
_lacking.def_abstract_eval(lambda p, *, reason: p)
mlir.register_lowering(_lacking, mlir.lower_fun(lambda p, *, reason: p, multiple_results=False))
batching.primitive_batchers[_lacking] = lambda args, dims, *, reason: (
    _lacking.bind(args[0], reason=reason),
    dims[0],
)


def _lacking_jvp(primals: Any, tangents: Any, *, reason: str) -> Any:
    p = primals[0]
    if type(tangents[0]) is not ad.Zero:
        raise ParameterError(f"{reason}: it is not differentiated")
    return _lacking.bind(p, reason=reason), _no_tangent(p)


ad.primitive_jvps[_lacking] = _lacking_jvp
