"""Rollouts of tensors that lie on the card of their System: nothing but parameters goes through
the host, and work is on torch's current stream.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from cycloid import _core
from cycloid._calls import RolloutCall
from cycloid._core import Error
from cycloid._options import saved_states
from cycloid._results import SolverWarning


def roll_out(x: torch.Tensor, u: torch.Tensor | None, p: Any, call: RolloutCall) -> torch.Tensor:
    """The states (..., S, state_size). x and u: on one device, in the System's dtype; p: in double,
    wherever it is; None for zero inputs and default parameters.
    """
    if u is not None and u.device != x.device:
        raise Error(f"x0 is on {x.device} and controls on {u.device}: put both on one device")
    if call.system.device == "cpu":
        raise Error(f'x0 is on {x.device}: load the System with device="cuda", or pass x0.cpu()')
    if x.device.type == "cuda" and x.device.index != 0:
        raise Error(f"x0 is on {x.device}, and kernels run on cuda:0")
    if call.times:
        raise Error("states at times are the CPU's: pass x0.cpu()")
    _check(x, call.system.state_size, "x0")
    if u is not None:
        _check(u, call.system.input_size, "controls")
    return _OnDevice.apply(x, u, None if p is None else p.cpu(), call)


def _check(tensor: torch.Tensor, size: int, name: str) -> None:
    """Kernels read what they are given."""
    if tensor.ndim == 0 or tensor.shape[-1] != size:
        raise Error(f"{name} must have shape (..., {size}); got {tuple(tensor.shape)}")
    if not bool(torch.isfinite(tensor).all()):
        raise Error(f"{name} holds a number that is not finite")


class _OnDevice(torch.autograd.Function):
    """One rollout. Its gradient is not differentiable again, and has no rule of vmap."""

    @staticmethod
    def forward(ctx: Any, x: Any, u: Any, p: Any, call: RolloutCall) -> torch.Tensor:
        system, steps = call.system, call.steps if u is None else u.shape[-2]
        leads = [x.shape[:-1], () if u is None else u.shape[:-2], () if p is None else p.shape[:-1]]
        lead = torch.broadcast_shapes(*leads)
        rows = _rows(x, lead, 1)
        inputs = None if u is None or not system.input_size else _shared_rows(u, lead, 2)
        params = None if p is None else _shared_rows(p, lead, 1).numpy()
        batch, saved = math.prod(lead), saved_states(call.save, steps)
        states = torch.empty((*lead, saved, system.state_size), dtype=x.dtype, device=x.device)
        make = getattr(_core, f"device_rollout_{system._precision}")
        ctx.run = make(
            system._core, batch, steps, rows.data_ptr(), _address(inputs), states.data_ptr(),
            0 if inputs is None else math.prod(inputs.shape[:-2]), params, *call.save, *call.memory,
            call.t0, _stream(x),
        )  # fmt: skip
        warning = ctx.run.step_warning(call.skip) if call.single else ""
        if warning:
            warnings.warn(warning, SolverWarning, stacklevel=2)
        ctx.kept = rows, inputs  # the run reads them again in the backward pass
        ctx.call, ctx.lead = call, lead
        ctx.shapes = [None if t is None else t.shape for t in (x, u, p)]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, bar: torch.Tensor) -> tuple[Any, ...]:
        wants_x, wants_u, wants_p, _ = ctx.needs_input_grad
        bar, (rows, inputs), lead = bar.contiguous(), ctx.kept, ctx.lead
        x_bar = torch.empty_like(rows) if wants_x else None
        u_bar = None
        if wants_u and inputs is not None:
            u_bar = torch.empty((*lead, *inputs.shape[-2:]), dtype=bar.dtype, device=bar.device)
        p_bar = ctx.run.pullback(
            bar.data_ptr(), _address(x_bar), _address(u_bar), wants_p, ctx.call.skip, _stream(bar)
        )
        x_shape, u_shape, p_shape = ctx.shapes
        if wants_u and inputs is None:
            u_bar = torch.zeros(u_shape, dtype=bar.dtype, device=bar.device)
        return (
            x_bar.reshape(*lead, -1).sum_to_size(x_shape) if wants_x else None,
            u_bar.sum_to_size(u_shape) if wants_u else None,
            _of_parameters(p_bar, lead, p_shape) if wants_p else None,
            None,
        )


def _of_parameters(rows: Any, lead: Any, shape: Any) -> torch.Tensor:
    """From one row for all, which is their sum, or one for each environment."""
    values = torch.from_numpy(rows).reshape(-1, shape[-1])
    if values.shape[0] == 1:
        return values.reshape(shape)
    return values.reshape(*lead, shape[-1]).sum_to_size(shape)


def _rows(tensor: torch.Tensor, lead: Any, trailing: int) -> torch.Tensor:
    own = tensor.shape[tensor.ndim - trailing :]
    return _copy(tensor.detach().expand(*lead, *own).reshape(-1, *own))


def _shared_rows(tensor: torch.Tensor, lead: Any, trailing: int) -> torch.Tensor:
    """One row where all environments share it."""
    own = tensor.shape[tensor.ndim - trailing :]
    if math.prod(tensor.shape[: tensor.ndim - trailing]) == 1:
        return _copy(tensor.detach().reshape(1, *own))
    return _rows(tensor, lead, trailing)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """Of one's own: the user may change hers before the backward pass."""
    return tensor.clone(memory_format=torch.contiguous_format)


def _address(tensor: torch.Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _stream(tensor: torch.Tensor) -> int:
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else 0
