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
the system computes in its own. Rollouts and steps have reverse and forward mode (grad, vjp, jacrev;
jvp, jacfwd, linearize) and second derivatives (hessian, jvp or grad of grad); observations reverse
mode.

Work is done on the CPU, unless JAX computes on an NVIDIA card: there rollouts and steps of Systems
with device="cuda" read and write JAX's arrays where they lie, on XLA's stream, in reverse mode,
with the System's precision for x0 and controls.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._extras import needed

with needed("jax"):
    import jax
    import jax.numpy as jnp

from cycloid._arrays import Shape, broadcast, check_trailing
from cycloid._jax_rows import Call, new_operator
from cycloid._gradient_mode import with_mode
from cycloid._observe import observer_of
from cycloid._options import (
    MOST_STEPS,
    NO_GRADIENT_OF_TIMES,
    as_integer,
    as_real,
    as_run_options,
    as_times,
    is_integer,
    saved_states,
)
from cycloid._rollout import check_room
from cycloid._system import System, check_system

__all__ = ["observe", "rollout", "step"]

for _name, _handler in _core.xla_handlers.items():
    _card = _core.xla_card_handlers.get(_name, _core.xla_card_refusal)
    for _platform, _own in (("cpu", _handler), ("CUDA", _card), ("ROCM", _core.xla_refusal)):
        jax.ffi.register_ffi_target(_name, _own, platform=_platform)


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
) -> jax.Array:
    """The saved states (..., S, state_size) of T steps, differentiable in x0, controls and params.

    x0: (..., state_size). controls: (..., T, input_size), or an int T for zero inputs. params: None
    for the defaults, a flat vector (..., n), or {name: value}; leading axes broadcast. save,
    memory, threads, t0, times [s] and gradient are those of `cycloid.rollout`, and fixed when a
    function is traced.

    An environment that goes non-finite stays at its last finite state. failed: whether its gradient
    "raise"s an error, or "skip"s it: zero. What only the numbers show when a compiled function
    runs, such as a NaN in x0, JAX raises with cycloid's text, as JaxRuntimeError or ValueError.

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
    system = with_mode(system, gradient)
    x0 = _as_array(x0, _edge(system), "x0")
    check_trailing(x0, (system.state_size,), "x0", system._meaning)
    if is_integer(controls):
        steps, controls = as_integer(controls, "the number of steps", 1, MOST_STEPS), None
    else:
        controls = _as_array(controls, _edge(system), "controls")
        check_trailing(controls, (-1, system.input_size), "controls", "or be a number of steps T")
        steps = controls.shape[-2]
    return _run(system, x0, controls, steps, params, save, memory, threads, t0, failed, times)


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
    its gradient is zero. Warns with SolverWarning as `cycloid.step` does.

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
    t = _as_time(t, "t")
    x = _as_array(x, _edge(system), "x")
    check_trailing(x, (system.state_size,), "x", system._meaning)
    if u is not None:
        u = _as_array(u, _edge(system), "u")
        check_trailing(u, (system.input_size,), "u", "the inputs of one step")
    return _run(system, x, u, 1, params, "last", "all", None, t, failed, single=True)


def observe(
    system: System,
    x: Any,
    u: Any = None,
    names: str | Sequence[str] | None = None,
    params: Any = None,
    *,
    t: float = 0.0,
) -> jax.Array:
    """What a System shows at the state x (..., state_size) under the inputs u (..., input_size),
    None for zero: (..., n), differentiable in x, u and params.

    names: of what is observed, None for what is usual, as in `cycloid.observe`, whose result has
    the names of the n numbers. t: the time [s].

    >>> import jax
    >>> import cycloid as cy
    >>> import cycloid.jax as cyj
    >>> robot = cy.load('''<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
    ...     <geom size="0.1" pos="0 0 -2"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
    ...     <sensor> <velocimeter name="speed" site="bob"/> </sensor> </mujoco>''')
    >>> jax.jacrev(lambda x: cyj.observe(robot, x))(jax.numpy.zeros(2))[0].round(6)
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
    call = Call(
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
            ("threads", system._threads),
        ),
    )
    return _operator(system)(call, x, u, params)


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
_operators: weakref.WeakKeyDictionary[System, Any] = weakref.WeakKeyDictionary()


def _handle(system: System, core: Any) -> int:
    """A number by which the handlers find the core's system or observer while `system` lives."""
    handles = _handles.setdefault(system, {})
    if core not in handles:
        handles[core] = _core.shelve(core)
        weakref.finalize(system, _core.unshelve, handles[core])
    return handles[core]


def _operator(system: System) -> Any:
    """What is compiled for a system goes with it."""
    if system not in _operators:
        _operators[system] = new_operator()
    return _operators[system]


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
    times: Any = None,
    single: bool = False,
) -> jax.Array:
    """single: one step, without an axis for steps in inputs and states; it must not fail, unless
    failed="skip".
    """
    if any(isinstance(t, jax.core.Tracer) for t in jax.tree.leaves(times)):
        raise TypeError(NO_GRADIENT_OF_TIMES + ", and are fixed when the function is traced")
    times = tuple(as_times(times, save))
    save, memory, threads, skip = as_run_options(save, memory, threads, system._threads, failed)
    flat = params is not None and not isinstance(params, Mapping)
    given = ("option.timestep",) if flat else tuple(params or ())
    params, columns, lacks, params_lead = _as_params(system, params)
    inputs = (system.input_size,) if single else (steps, system.input_size)
    first, second = ("x", "u") if single else ("x0", "controls")
    leads = {first: x0.shape[:-1], "params": params_lead}
    if controls is not None:
        leads[second] = controls.shape[: controls.ndim - len(inputs)]
    lead = broadcast(leads)
    _core.check_run_options(save, memory, steps)
    t0 = _as_time(t0, "t0")
    if "option.timestep" not in given:
        _core.check_times(times, t0, steps, system.timestep)
    saved = len(times) or saved_states(save, steps)
    check_room(system, lead, steps, saved, memory)
    call = Call(
        target="cycloid_rollout",
        lead=lead,
        tail=(system.state_size,) if single else (saved, system.state_size),
        dtype=_edge(system).name,
        each=system.device != "cpu",  # kernels of a card read a row of each environment's own
        second=inputs,
        columns=columns,
        lacks=lacks,
        attributes=(
            ("system", _handle(system, system._core)),
            ("steps", steps),
            ("save", save[0]),
            ("save_steps", tuple(save[1])),
            ("memory", memory[0]),
            ("memory_value", memory[1]),
            ("threads", threads),
            ("t0", t0),
            ("times", times),
            ("skip", int(skip)),
        ),
        forward=(("single", int(single)),),
    )
    return _operator(system)(call, x0, controls, params)
