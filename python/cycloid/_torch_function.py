"""Calls of the core as functions of torch.autograd, for PyTorch as it runs line by line.

`Forward` gives the result and a token of its tape; `Backward`, a function itself so that it can be
vmapped, takes it from there. Their derivatives are functions too: `Tangent`, of a result in a
direction, and `Bend`, of gradients in a direction. The rules of vmap hand the vmapped axis to the
core as one more leading axis of the batch.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import torch

from cycloid._arrays import Shape
from cycloid._calls import Call, bend, pull_back, push_forward
from cycloid._core import GradientError
from cycloid._torch_private import is_legacy_batched
from cycloid._torch_tapes import TAPES, no_tape


def refuse_second_derivatives(*_: Any) -> NoReturn:
    raise GradientError(
        "cycloid has first derivatives in a compiled function of torch, not second ones: take "
        "hessian, or a backward through create_graph=True, outside torch.compile"
    )


def refuse_third_derivatives(*_: Any) -> NoReturn:
    raise GradientError(
        "cycloid has first and second derivatives in torch: forward mode (jvp, jacfwd), reverse "
        "mode (grad, vjp, jacrev), and either of reverse mode (hessian); no derivatives of forward "
        "mode, and no third ones"
    )


def run_forward(call: Call, tensors: tuple[Any, ...], keep: bool) -> tuple[Any, torch.Tensor]:
    """The result, in memory of its own, and the token of its tape."""
    result, tape = call.forward(*map(_array, tensors), keep=keep)
    token = TAPES.put(tape, call.size(tape)) if keep else no_tape()
    return torch.from_numpy(result), token


def run_backward(
    call: Call,
    bar: torch.Tensor,
    tensors: tuple[Any, ...],
    token: torch.Tensor,
    wanted: tuple[bool, ...],
    shapes: tuple[Shape | None, ...],
) -> tuple[torch.Tensor, ...]:
    """The gradients that are wanted; see `pull_back`."""
    arrays = tuple(map(_array, tensors))
    bar_array = _array(bar.contiguous())
    return tuple(
        torch.from_numpy(g)
        for g in pull_back(call, TAPES.find(token), bar_array, arrays, wanted, shapes)
    )


def run_tangent(call: Call, tensors: tuple[Any, ...], tangents: tuple[Any, ...]) -> torch.Tensor:
    """The tangent of the result; see `push_forward`."""
    pushed = push_forward(call, tuple(map(_array, tensors)), tuple(map(_array, tangents)))
    return torch.from_numpy(pushed)


def run_bend(
    call: Call,
    bar: torch.Tensor,
    tensors: tuple[Any, ...],
    tangents: tuple[Any, ...],
    wanted: tuple[bool, ...],
    shapes: tuple[Shape | None, ...],
) -> tuple[torch.Tensor, ...]:
    """The tangents of the gradients that are wanted; see `bend`."""
    arrays, directions = tuple(map(_array, tensors)), tuple(map(_array, tangents))
    return tuple(
        torch.from_numpy(g)
        for g in bend(call, _array(bar.contiguous()), arrays, directions, wanted, shapes)
    )


def _array(tensor: torch.Tensor | None) -> Any:
    """The numbers of a tensor of the CPU: its own memory where it can be."""
    return None if tensor is None else tensor.numpy(force=True)


def axis_in_front(
    tensors: tuple[Any, ...], dims: tuple[int | None, ...], after: tuple[int, ...], rank: int
) -> list[Any]:
    """Tensors whose axis `dims`, if any, is the first of rank + 1 leading axes, before `after` axes
    of their own. Those without are as they were: they broadcast.
    """
    out = []
    for tensor, dim, n in zip(tensors, dims, after):
        if tensor is not None and dim is not None:
            tensor = tensor.movedim(dim, 0)
            new_axes = rank + n - (tensor.ndim - 1)
            tensor = tensor[(slice(None), *(None,) * new_axes)]
        out.append(tensor)
    return out


def leading_axes(
    tensors: tuple[Any, ...], dims: tuple[int | None, ...], after: tuple[int, ...]
) -> int:
    """The most leading axes of a tensor, the vmapped one not counted."""
    return max(
        t.ndim - (dim is not None) - n for t, dim, n in zip(tensors, dims, after) if t is not None
    )


def vmapped_backward(
    size: int,
    dims: tuple[int | None, ...],
    bar: torch.Tensor,
    tensors: tuple[Any, ...],
    call_axes: tuple[tuple[int, ...], int],
    shapes: tuple[Shape | None, ...],
) -> tuple[torch.Tensor, list[Any], tuple[Shape | None, ...]]:
    """The arguments of a backward with one more leading axis. dims: of the vmapped axis in bar and
    tensors. The gradients' shapes get it too, with ones behind it where they have fewer axes.
    """
    trailing, after = call_axes
    rank = bar.ndim - (dims[0] is not None) - after
    if dims[0] is None:
        bar = bar.expand(size, *bar.shape)
    else:
        bar = bar.movedim(dims[0], 0)
    tensors_in_front = axis_in_front(tensors, dims[1:], trailing, rank)
    more = tuple(
        None if shape is None else (size, *(1,) * (rank - (len(shape) - n)), *shape)
        for shape, n in zip(shapes, trailing)
    )
    return bar, tensors_in_front, more


@dataclass(frozen=True)
class Options:
    """What is no tensor."""

    call: Call
    keep: bool = True  # the tape
    wanted: tuple[bool, ...] = ()
    shapes: tuple[Shape | None, ...] = ()


class Forward(torch.autograd.Function):
    """x, u or None, p or None -> the result, a token."""

    @staticmethod
    def forward(x: Any, u: Any, p: Any, options: Options) -> Any:
        return run_forward(options.call, (x, u, p), options.keep)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, u, p, options = inputs
        token = output[1]
        ctx.mark_non_differentiable(token)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, u, p, token)
        ctx.save_for_forward(x, u, p)
        ctx.options = options

    @staticmethod
    def backward(ctx: Any, bar: Any, _: Any) -> Any:
        *tensors, token = ctx.saved_tensors
        wanted = tuple(ctx.needs_input_grad[:3])
        if bar is not None and is_legacy_batched(bar):
            raise GradientError(
                "is_grads_batched=True and jacobian(vectorize=True) are not supported by cycloid: "
                "use torch.func.jacrev, or vmap over torch.func.vjp"
            )
        if bar is None or not any(wanted):
            return None, None, None, None
        shapes = tuple(None if t is None else tuple(t.shape) for t in tensors)
        options = replace(ctx.options, wanted=wanted, shapes=shapes)
        gradients = iter(Backward.apply(bar, *tensors, token, options))
        return *(next(gradients) if want else None for want in wanted), None

    @staticmethod
    def vmap(info: Any, dims: Any, x: Any, u: Any, p: Any, options: Options) -> Any:
        tensors, trailing = (x, u, p), options.call.trailing
        rank = leading_axes(tensors, dims, trailing)
        tensors = axis_in_front(tensors, dims, trailing, rank)
        return Forward.apply(*tensors, options), (0, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        x, u, p = ctx.saved_tensors[:3]
        if all(t is None for t in tangents[:3]):
            return None, None
        return Tangent.apply(x, u, p, *tangents[:3], ctx.options), None


class Backward(torch.autograd.Function):
    """The result's cotangent, x, u, p and the token -> the gradients that are wanted."""

    @staticmethod
    def forward(bar: Any, x: Any, u: Any, p: Any, token: Any, options: Options) -> Any:
        o = options
        return run_backward(o.call, bar, (x, u, p), token, o.wanted, o.shapes)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        *tensors, ctx.options = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Of the gradients' cotangents, which are directions of x, u and p."""
        bar, x, u, p, _ = ctx.saved_tensors
        o = ctx.options
        directions = _placed(bars, o.wanted)
        needs = ctx.needs_input_grad
        if all(d is None for d in directions) or not any(needs[:4]):
            return (None,) * 6
        bar_bar = None
        if needs[0]:
            bar_bar = _summed(Tangent.apply(x, u, p, *directions, o), bar.shape)
        shapes = tuple(None if t is None else tuple(t.shape) for t in (x, u, p))
        wanted = tuple(needs[1:4])
        if not any(wanted):
            return bar_bar, None, None, None, None, None
        options = replace(o, wanted=wanted, shapes=shapes)
        found = iter(Bend.apply(bar, x, u, p, *directions, options))
        return bar_bar, *(next(found) if want else None for want in wanted), None, None

    @staticmethod
    def jvp(ctx: Any, bar_tan: Any, *tangents: Any) -> Any:
        bar, x, u, p, token = ctx.saved_tensors
        o, parts = ctx.options, []
        if bar_tan is not None:
            parts.append(Backward.apply(bar_tan, x, u, p, token, o))
        if any(t is not None for t in tangents[:3]):
            parts.append(Bend.apply(bar, x, u, p, *tangents[:3], o))
        if not parts:
            return (None,) * sum(o.wanted)
        return tuple(map(sum, zip(*parts)))

    @staticmethod
    def vmap(
        info: Any, dims: Any, bar: Any, x: Any, u: Any, p: Any, token: Any, options: Options
    ) -> Any:
        o = options
        axes = o.call.trailing, o.call.after
        bar, tensors, shapes = vmapped_backward(
            info.batch_size, dims[:4], bar, (x, u, p), axes, o.shapes
        )
        gradients = Backward.apply(bar, *tensors, token, replace(o, shapes=shapes))
        own = [s for s, want in zip(o.shapes, o.wanted) if want]
        out = tuple(g.reshape(info.batch_size, *s) for g, s in zip(gradients, own))
        return out, (0,) * len(out)


class Tangent(torch.autograd.Function):
    """x, u, p and their tangents, None for zero -> the tangent of the result."""

    @staticmethod
    def forward(x: Any, u: Any, p: Any, dx: Any, du: Any, dp: Any, options: Options) -> Any:
        return run_tangent(options.call, (x, u, p), (dx, du, dp))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        *tensors, ctx.options = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, bar: Any) -> Any:
        """Of the result's tangent, by the pullback; by x, u and p it is a second derivative."""
        x, u, p, *directions = ctx.saved_tensors
        if bar is None:
            return (None,) * 7
        shapes = tuple(None if t is None else tuple(t.shape) for t in (x, u, p))
        wanted, moved = tuple(ctx.needs_input_grad[:3]), tuple(ctx.needs_input_grad[3:6])
        by_point = by_direction = (None,) * 3
        if any(wanted):
            options = replace(ctx.options, wanted=wanted, shapes=shapes)
            by_point = _placed(Bend.apply(bar, x, u, p, *directions, options), wanted)
        if any(moved):
            of = tuple(None if d is None else tuple(d.shape) for d in directions)
            options = replace(ctx.options, wanted=moved, shapes=of)
            by_direction = _placed(Backward.apply(bar, x, u, p, no_tape(), options), moved)
        return *by_point, *by_direction, None

    jvp = staticmethod(refuse_third_derivatives)

    @staticmethod
    def vmap(info: Any, dims: Any, *inputs: Any) -> Any:
        *tensors, options = inputs
        trailing = options.call.trailing * 2
        rank = leading_axes(tuple(tensors), dims, trailing)
        return Tangent.apply(*axis_in_front(tuple(tensors), dims, trailing, rank), options), 0


class Bend(torch.autograd.Function):
    """The result's cotangent, x, u, p and their tangents -> those of the gradients."""

    @staticmethod
    def forward(
        bar: Any, x: Any, u: Any, p: Any, dx: Any, du: Any, dp: Any, options: Options
    ) -> Any:
        o = options
        return run_bend(o.call, bar, (x, u, p), (dx, du, dp), o.wanted, o.shapes)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)

    backward = staticmethod(refuse_third_derivatives)
    jvp = staticmethod(refuse_third_derivatives)

    @staticmethod
    def vmap(info: Any, dims: Any, bar: Any, *inputs: Any) -> Any:
        *tensors, o = inputs
        axes = o.call.trailing * 2, o.call.after
        bar, tensors, shapes = vmapped_backward(
            info.batch_size, dims[:7], bar, tuple(tensors), axes, (*o.shapes, None, None, None)
        )
        gradients = Bend.apply(bar, *tensors, replace(o, shapes=shapes[:3]))
        own = [s for s, want in zip(o.shapes, o.wanted) if want]
        out = tuple(g.reshape(info.batch_size, *s) for g, s in zip(gradients, own))
        return out, (0,) * len(out)


def _placed(gradients: Any, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
    """Those of x, u and p, None where they were not wanted."""
    given = iter(gradients)
    return tuple(next(given) if want else None for want in wanted)


def _summed(tensor: torch.Tensor, shape: Any) -> torch.Tensor:
    return tensor if tensor.shape == shape else tensor.sum_to_size(shape)


# PyTorch asks for these at every call, and making them takes a while.
Forward.forward.__signature__ = inspect.signature(Forward.forward)  # type: ignore[attr-defined]
Backward.forward.__signature__ = inspect.signature(Backward.forward)  # type: ignore[attr-defined]
Tangent.forward.__signature__ = inspect.signature(Tangent.forward)  # type: ignore[attr-defined]
Bend.forward.__signature__ = inspect.signature(Bend.forward)  # type: ignore[attr-defined]
