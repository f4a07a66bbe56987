"""Calls of the core as functions of torch.autograd, for PyTorch as it runs line by line.

`Forward` gives the result and a token of its tape; `Backward`, a function itself so that it can be
vmapped, takes it from there. The rules of vmap hand the vmapped axis to the core as one more
leading axis of the batch.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import torch

from cycloid._arrays import Shape
from cycloid._calls import Call, pull_back
from cycloid._core import GradientError
from cycloid._torch_private import is_legacy_batched
from cycloid._torch_tapes import TAPES, no_tape


def refuse_second_derivatives(*_: Any) -> NoReturn:
    raise GradientError(
        "cycloid has first derivatives in torch, not second ones: a gradient of cyt.rollout, "
        "cyt.step or cyt.observe cannot be differentiated again (create_graph=True, hessian)"
    )


def refuse_forward_mode(*_: Any) -> NoReturn:
    raise GradientError(
        "cycloid has no forward mode in torch (jvp, jacfwd, dual tensors; hessian begins with it), "
        "nor second derivatives: use reverse mode (grad, vjp, jacrev), or cycloid.linearise for "
        "the Jacobian of a step"
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

    jvp = staticmethod(refuse_forward_mode)


class Backward(torch.autograd.Function):
    """The result's cotangent, x, u, p and the token -> the gradients that are wanted."""

    @staticmethod
    def forward(bar: Any, x: Any, u: Any, p: Any, token: Any, options: Options) -> Any:
        o = options
        return run_backward(o.call, bar, (x, u, p), token, o.wanted, o.shapes)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)

    backward = staticmethod(refuse_second_derivatives)
    jvp = staticmethod(refuse_forward_mode)

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


# PyTorch asks for these at every call, and making them takes a while.
Forward.forward.__signature__ = inspect.signature(Forward.forward)  # type: ignore[attr-defined]
Backward.forward.__signature__ = inspect.signature(Backward.forward)  # type: ignore[attr-defined]
