"""Calls of the core as operators of torch.library, for PyTorch as it compiles.

An operator has no objects among its arguments, and its shapes follow from them alone: a System is
its handle, options are numbers and names. Each kind of call has two operators, such as
cycloid::rollout and cycloid::rollout_pullback, which has an empty tensor for every gradient that is
not wanted. What they do is in _torch_function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cycloid._calls import Call, ObserveCall, RolloutCall
from cycloid._options import as_real, saved_states
from cycloid._system import system_of
from cycloid._torch_function import (
    axis_in_front,
    leading_axes,
    refuse_second_derivatives,
    run_backward,
    run_forward,
    vmapped_backward,
)
from cycloid._torch_private import register_autograd

_LIBRARY = torch.library.Library("cycloid", "FRAGMENT")
_TENSORS = "Tensor x, Tensor? u, Tensor? p"
_THREE = "(Tensor, Tensor, Tensor)"
_GRADIENTS = "bool[] wanted, SymInt[] x_shape, SymInt[] u_shape, SymInt[] p_shape"


def _define(
    name: str,
    kind: type[RolloutCall] | type[ObserveCall],
    schema: str,
    make: Callable[..., Call],
    own_shape: Callable[..., tuple[Any, ...]],
) -> Any:
    """The two operators of one kind of call; the forward one.

    schema: of the options, from which `make` makes a call. own_shape(x, u, *options): of the
    result, after its leading axes. In one piece, since every part refers to the two operators.
    """
    forward = torch.library.custom_op(
        f"cycloid::{name}",
        lambda x, u, p, keep, *options: run_forward(make(*options), (x, u, p), keep),
        mutates_args=(),
        schema=f"({_TENSORS}, bool keep, {schema}) -> (Tensor, Tensor)",
    )
    backward = torch.library.custom_op(
        f"cycloid::{name}_pullback",
        lambda bar, x, u, p, token, wanted, xs, us, ps, *options: _filled(
            wanted,
            run_backward(make(*options), bar, (x, u, p), token, wanted, _shapes(u, p, xs, us, ps)),
        ),
        mutates_args=(),
        schema=f"(Tensor bar, {_TENSORS}, Tensor token, {_GRADIENTS}, {schema}) -> {_THREE}",
    )

    @forward.register_fake
    def _(x: Any, u: Any, p: Any, keep: bool, *options: Any) -> Any:
        leads = [t.shape[: t.ndim - n] for t, n in zip((x, u, p), kind.trailing) if t is not None]
        shape = (*torch.broadcast_shapes(*leads), *own_shape(x, u, *options))
        return x.new_empty(shape), x.new_empty((1,), dtype=torch.int64)

    @backward.register_fake
    def _(bar: Any, x: Any, u: Any, p: Any, token: Any, wanted: Any, *rest: Any) -> Any:
        dtypes = (x.dtype, x.dtype, torch.float64)
        wants = zip(wanted, rest[:3], dtypes)
        given = [x.new_empty(shape, dtype=dtype) for want, shape, dtype in wants if want]
        return _filled(wanted, given)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, u, p, _, *ctx.call_options = inputs
        ctx.save_for_backward(x, u, p, output[1])

    def pull_back(ctx: Any, bar: Any, _: Any) -> Any:
        *tensors, token = ctx.saved_tensors
        wanted = list(ctx.needs_input_grad[:3])
        shapes = [[] if t is None else t.shape for t in tensors]
        gradients = backward(bar, *tensors, token, wanted, *shapes, *ctx.call_options)
        rest = [None] * (1 + len(ctx.call_options))
        return *(g if want else None for g, want in zip(gradients, wanted)), *rest

    @forward.register_vmap
    def _(info: Any, dims: Any, x: Any, u: Any, p: Any, *rest: Any) -> Any:
        tensors = x, u, p
        rank = leading_axes(tensors, dims, kind.trailing)
        return forward(*axis_in_front(tensors, dims, kind.trailing, rank), *rest), (0, None)

    @backward.register_vmap
    def _(info: Any, dims: Any, bar: Any, x: Any, u: Any, p: Any, token: Any, *rest: Any) -> Any:
        wanted, xs, us, ps, *options = rest
        shapes, axes = _shapes(u, p, xs, us, ps), (kind.trailing, kind.after)
        bar, tensors, more = vmapped_backward(
            info.batch_size, dims[:4], bar, (x, u, p), axes, shapes
        )
        in_front = [[] if s is None else s for s in more]
        gradients = backward(bar, *tensors, token, wanted, *in_front, *options)
        own = zip(gradients, wanted, shapes)
        out = tuple(g.reshape(info.batch_size, *s) if want else g for g, want, s in own)
        return out, tuple(0 if want else None for want in wanted)

    register_autograd(_LIBRARY, forward, pull_back, setup_context)
    no_context = lambda ctx, inputs, output: None
    register_autograd(_LIBRARY, backward, refuse_second_derivatives, no_context)
    return forward


def _filled(wanted: Any, gradients: Any) -> tuple[torch.Tensor, ...]:
    """Three tensors: the gradients that are wanted, in their order, and empty ones."""
    given = iter(gradients)
    return tuple(next(given) if want else torch.empty(0) for want in wanted)


def _shapes(u: Any, p: Any, xs: Any, us: Any, ps: Any) -> tuple[Any, ...]:
    """Shapes as `pull_back` takes them: None for an argument that was not given."""
    return tuple(xs), None if u is None else tuple(us), None if p is None else tuple(ps)


def _rollout_call(
    system: int,
    steps: int,
    save: str,
    saved: list[int],
    memory: str,
    memory_value: int,
    threads: int,
    skip: bool,
    times: list[float],
    t0: float,
    single: bool,
) -> RolloutCall:
    kept, time = (memory, memory_value), as_real(t0, "t0")
    return RolloutCall(
        system_of(system), steps, (save, saved), kept, threads, skip, time, single, times
    )


def _states_shape(x: Any, u: Any, system: int, steps: int, save: str, *options: Any) -> Any:
    saved, _, _, _, _, times, *_ = options
    T = steps if u is None else u.shape[-2]
    return len(times) or saved_states((save, saved), T), x.shape[-1]


rollout = _define(
    "rollout",
    RolloutCall,
    "int system, SymInt steps, str save, int[] saved, str memory, int memory_value, int threads, "
    "bool skip, float[] times, float t0, bool single",
    _rollout_call,
    _states_shape,
)

observe = _define(
    "observe",
    ObserveCall,
    "int system, SymInt size, str[]? names, float t",
    lambda system, size, names, t: ObserveCall(system_of(system), names, as_real(t, "t")),
    lambda x, u, system, size, names, t: (size,),
)


@torch.library.custom_op(
    "cycloid::default_params", mutates_args=(), schema="(int system, SymInt size) -> Tensor"
)
def default_params(system: int, size: int) -> torch.Tensor:
    """The flat vector of default values."""
    return torch.from_numpy(system_of(system).parameters.default.copy())


@default_params.register_fake
def _(system: int, size: int) -> torch.Tensor:
    return torch.empty((size,), dtype=torch.float64)
