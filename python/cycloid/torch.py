"""Cycloid in PyTorch: what goes in and comes out are tensors, and gradients flow through.

>>> import torch
>>> import cycloid as cy
>>> import cycloid.torch as cyt
>>> system = cy.systems.pendulum()
>>> length = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)      # [m]
>>> states = cyt.rollout(system, [1.0, 0.0], 200, {"length": length})
>>> states.shape
torch.Size([201, 2])
>>> states[-1, 0].backward()                                                # of the last angle
>>> round(length.grad.item(), 3)                                            # [rad/m]
7.535

A System on the CPU takes tensors of the CPU, one on a card (`device="cuda"`) also tensors of that
card, which never leave it. The system's dtype is that of the numbers; a tensor of another dtype is
converted, and its gradient comes back in its own. `torch.func.vmap`, `grad` and `jacrev` and
`torch.compile` work, and outside of it forward mode and second derivatives; of tensors on a card
first derivatives alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid._extras import needed

with needed("torch"):
    import torch

from cycloid import _torch_device, _torch_ops
from cycloid._arrays import as_numbers, broadcast, check_trailing
from cycloid._calls import ObserveCall, RolloutCall
from cycloid._core import Error
from cycloid._gradient_mode import with_mode
from cycloid._observe import observer_of
from cycloid._options import (
    NO_GRADIENT_OF_TIMES,
    as_names,
    as_real,
    as_run_options,
    as_text,
    as_times,
    is_integer,
)
from cycloid._results import Truncate
from cycloid._system import System, check_system, system_of
from cycloid._torch_function import Forward, Options
from cycloid._torch_private import constant, in_transform

__all__ = ["observe", "rollout", "step"]


_DTYPES = {"float32": torch.float32, "float64": torch.float64}


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
    times: Any = None,
    failed: str = "raise",
    gradient: Any = None,
) -> torch.Tensor:
    """Simulates T steps: the states (..., S, state_size), a tensor with a gradient.

    x0: (..., state_size). controls: (..., T, input_size), or an int T for zero inputs. params: None
    for the defaults, a flat vector (..., n), or {name: tensor}; values may differ between
    environments for names in `system.vary`. Leading axes broadcast.

    save, memory, threads, t0 [s], times [s]: as in `cycloid.rollout`; where PyTorch compiles, times
    is a list of numbers. failed: what a backward does where an environment failed, has a step that
    is not solved or a gradient that is not finite: "raise" GradientError, or "skip" it: its
    gradient is zero. gradient: as in `cycloid.rollout`.

    >>> import torch
    >>> import cycloid as cy
    >>> import cycloid.torch as cyt
    >>> system = cy.systems.projectile()
    >>> x0 = torch.tensor([0, 0, 0, 3.0, 0, 4.0], requires_grad=True)
    >>> states = cyt.rollout(system, x0, 100, save="last")
    >>> states[..., 0].sum().backward()                  # of the final x [m]
    >>> x0.grad
    tensor([1., 0., 0., 1., 0., 0.])
    """
    check_system(system)
    system = with_mode(system, gradient)
    x = _tensor(x0, system._precision, "x0", card=True)
    if isinstance(controls, torch.Tensor) or not is_integer(controls):
        u, steps = _tensor(controls, system._precision, "controls", card=True), 0
    else:
        u, steps = None, controls
    p = _flat(system, params)
    cut = memory.k if isinstance(memory, Truncate) else None  # a number, which Dynamo can keep
    memory = "auto" if cut is not None else memory
    options = _rollout_options(save, memory, cut, threads, system._threads, failed)
    when = _times(times, save), _time(t0, "t0")
    return _rolled_out(system, x, u, p, steps, options, *when, False)


def step(
    system: System,
    x: Any,
    u: Any = None,
    params: Any = None,
    *,
    t: float = 0.0,
    failed: str = "raise",
) -> torch.Tensor:
    """One time step: the next state (..., state_size) of x (..., state_size) under the inputs u
    (..., input_size), None for zero, at time t [s]; a tensor with a gradient. params as in
    `rollout`.

    failed: "raise" Error when a next state is not finite, and GradientError in the backward of a
    step that is not solved; or "skip" such environments: they stay where they are, and their
    gradient is zero. Warns with SolverWarning as `cycloid.step` does.

    >>> import torch
    >>> import cycloid as cy
    >>> import cycloid.torch as cyt
    >>> x = torch.tensor([0, 0, 0, 1.0, 0, 0])
    >>> cyt.step(cy.systems.projectile(dt=1.0, dtype="float32"), x)
    tensor([ 1.0000,  0.0000, -4.9050,  1.0000,  0.0000, -9.8100])
    """
    check_system(system)
    x = _tensor(x, system._precision, "x", card=True)
    if u is not None:
        u = _tensor(u, system._precision, "u", card=True)
        if not torch.compiler.is_compiling():
            check_trailing(u, (system.input_size,), "u", "the inputs of one step")
        u = u.unsqueeze(-2)
    p = _flat(system, params)
    options = _rollout_options("last", "all", None, None, system._threads, failed)
    return _rolled_out(system, x, u, p, 1, options, [], _time(t, "t"), True)[..., 0, :]


def observe(
    system: System,
    x: Any,
    u: Any = None,
    names: str | Sequence[str] | None = None,
    params: Any = None,
    *,
    t: float = 0.0,
) -> torch.Tensor:
    """What a System shows at the state x (..., state_size) under the inputs u (..., input_size),
    None for zero: a tensor (..., n) with a gradient, in the system's dtype.

    names: of what is observed, in this order; None for what is usual. params, t [s]: as in
    `cycloid.observe`, whose result also says which number is whose.

    >>> import torch
    >>> import cycloid as cy
    >>> import cycloid.torch as cyt
    >>> robot = cy.load('''<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
    ...     <geom size="0.1" pos="0 0 -2"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
    ...     <sensor> <velocimeter name="speed" site="bob"/> </sensor> </mujoco>''')
    >>> x = torch.zeros(2, requires_grad=True)
    >>> cyt.observe(robot, x, names="speed")[0].backward()
    >>> x.grad                                           # 2 m below the hinge
    tensor([ 0., -2.])
    """
    check_system(system)
    x = _tensor(x, system._precision, "x")
    if u is not None:
        u = _tensor(u, system._precision, "u")
    p = _flat(system, params)
    names, size = _observe_options(system._handle, names)
    t = _time(t, "t")
    keep = _needs_gradient(x, u, p)
    if torch.compiler.is_compiling():
        return _torch_ops.observe(x, u, p, keep, system._handle, size, names, t)[0]
    return Forward.apply(x, u, p, Options(ObserveCall(system, names, t), keep))[0]


def _rolled_out(
    system: System,
    x: Any,
    u: Any,
    p: Any,
    steps: Any,
    options: Any,
    times: Any,
    t: Any,
    single: bool,
) -> torch.Tensor:
    """By the operator that compiles, or by the function that torch.func transforms."""
    keep = _needs_gradient(x, u, p)
    if torch.compiler.is_compiling():
        if x.is_cuda or (u is not None and u.is_cuda):
            raise Error("tensors on a card are not compiled: call it outside torch.compile")
        options = *options, times, t, single
        return _torch_ops.rollout(x, u, p, keep, system._handle, steps, *options)[0]
    save, saved, memory, value, threads, skip = options
    kept = (memory, value)
    call = RolloutCall(system, steps, (save, saved), kept, threads, skip, t, single, times)
    if x.is_cuda or (u is not None and u.is_cuda):
        return _torch_device.roll_out(x, u, p, call)
    return Forward.apply(x, u, p, Options(call, keep))[0]


def _needs_gradient(*tensors: Any) -> bool:
    """Whether a backward may follow. Inside a transform of torch.func one always may."""
    if not torch.is_grad_enabled():
        return False
    if any(t is not None and t.requires_grad for t in tensors):
        return True
    return not torch.compiler.is_compiling() and in_transform()


@constant
def _rollout_options(
    save: Any, memory: Any, cut: Any, threads: Any, default_threads: int, failed: Any
) -> tuple[Any, ...]:
    """As the core takes them. cut: k of Truncate(k), in place of memory."""
    memory = memory if cut is None else Truncate(cut)
    save, memory, *rest = as_run_options(save, memory, threads, default_threads, failed)
    return *save, *memory, *rest


@constant
def _observe_options(handle: int, names: Any) -> tuple[Any, ...]:
    chosen = None if names is None else [as_text(n) for n in as_names(names, "names")]
    return chosen, observer_of(system_of(handle), names).size


def _times(times: Any, save: Any) -> Any:
    """As the core takes them. A graph looks at the numbers in a list; those of an array it would
    keep unseen.
    """
    if not torch.compiler.is_compiling() or times is None or save != "all" or len(times) == 0:
        if not all(map(_is_plain, times if isinstance(times, (list, tuple)) else [times])):
            raise TypeError(NO_GRADIENT_OF_TIMES)
        return as_times(times, save)
    if not isinstance(times, (list, tuple)) or not all(isinstance(t, (int, float)) for t in times):
        raise TypeError("times must be a list of numbers where PyTorch compiles: times.tolist()")
    return [1.0 * t for t in times]


def _is_plain(value: Any) -> bool:
    """Whether a tensor is neither differentiated nor one of a transform of torch.func, which has no
    memory.
    """
    if not isinstance(value, torch.Tensor):
        return True
    try:
        return value.data_ptr() is not None and not value.requires_grad
    except RuntimeError:
        return False


def _time(t: Any, what: str) -> Any:
    """One finite number. In a graph it may change from call to call: the operator looks at it."""
    return t if torch.compiler.is_compiling() else as_real(t, what)


def _tensor(value: Any, precision: str, what: str, card: bool = False) -> torch.Tensor:
    """A tensor of the CPU, or where `card` of one, in this precision, with the gradient of what was
    given.
    """
    if not isinstance(value, torch.Tensor):
        if not torch.compiler.is_compiling():
            return torch.from_numpy(as_numbers(value, precision, what).copy())
        own = isinstance(value, np.ndarray)  # a dtype of its own
        value = torch.as_tensor(value, dtype=None if own else _DTYPES[precision])
    if value.device.type != "cpu" and not (card and value.device.type == "cuda"):
        raise Error(
            f"{what} is on {value.device}, and cycloid computes on the CPU: pass {what}.cpu()"
        )
    if value.layout != torch.strided:
        raise Error(f"{what} is {value.layout}: pass {what}.to_dense()")
    if value.is_complex():
        raise TypeError(f"{what} must be real numbers; got {value.dtype}")
    return value.to(_DTYPES[precision])


def _flat(system: System, params: Any) -> torch.Tensor | None:
    """The parameters as a flat vector (..., n) in double."""
    if params is None:
        return None
    if not isinstance(params, Mapping):
        return _tensor(params, "float64", "params", card=True).cpu()
    registry = system.parameters
    given, leads = [], {}
    for name, value in params.items():
        entry, what = registry.info(name), f"parameter {name!r}"
        value = _tensor(value, "float64", what, card=True).cpu()
        check_trailing(value, entry.shape, what, "leading axes for a batch")
        if value.requires_grad and torch.is_grad_enabled():
            registry.check_differentiable(name)
        leads[name] = tuple(value.shape[: value.ndim - len(entry.shape)])
        given.append((entry.offset, entry.size, value.reshape((*leads[name], entry.size))))
    compiling = torch.compiler.is_compiling()
    lead = torch.broadcast_shapes(*leads.values()) if compiling else broadcast(leads or {"": ()})
    default, parts, at = _torch_ops.default_params(system._handle, registry._size), [], 0
    for offset, size, value in sorted(given, key=lambda part: part[0]):
        parts += [default[at:offset], value]
        at = offset + size
    parts.append(default[at:])
    return torch.cat([part.expand(*lead, part.shape[-1]) for part in parts], -1)
