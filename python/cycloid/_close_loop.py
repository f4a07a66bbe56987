"""Systems whose inputs are a function of their state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._options import as_integer, as_names, check_one_of, shown
from cycloid._system import System, check_system
from cycloid.networks import MLP

_CLIPS = ("hard", "tanh")


@dataclass(frozen=True, eq=False, repr=False)
class LinearFeedback:
    """u = command - gain · (x ⊖ target): the input that a linear controller gives.

    x ⊖ target is in tangent coordinates: a difference, and for unit quaternions the rotation vector
    from the target's orientation to that of x, in the target's axes [rad].
    """

    gain: Any
    """(input_size, tangent_size)"""
    target: Any
    """(state_size,); its quaternions may have any length but zero."""
    command: Any = None
    """(input_size,); None: zeros."""

    def __repr__(self) -> str:
        return f"<LinearFeedback: gain {np.shape(self.gain)}, target {np.shape(self.target)}>"


def close_loop(
    system: System,
    feedback: LinearFeedback | MLP,
    observe: Any = None,
    clip: str | None = "hard",
    *,
    noise: Any = None,
    key: int = 0,
) -> System:
    """The System in which every input is given by the feedback. It has no inputs of its own.

    The input is computed once per step, at its start, whatever the integrator. Parameters are those
    of `system` and "feedback.gain" (input_size, tangent_size), "feedback.target" (state_size,) and
    "feedback.command" (input_size,), which may differ between environments; the gradient is that of
    the whole loop.

    A network (cycloid.networks.MLP) gives inputs from what it observes: state blocks and
    observables by name, or the whole state. They are clipped to the system's bounds, `clip`: "hard"
    (with a zero gradient beyond), "tanh" (smoothly) or None. Its parameters are "policy.weight0"
    (out, in), "policy.bias0", …, shared by all environments; its normalisation is folded in.

    noise: standard deviation of normal numbers that are added to what the network gives, before it
    is clipped; one number, or one per input. They depend on `key`, the environment's row and the
    step, counted from t = 0, alone. Gradients hold them (reparametrisation). Parameters are
    "policy.noise" (input_size,) and "policy.key", which is not differentiated: params of rollout
    with another key draw others. Observables are those without noise.

    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(damping=0.1)
    >>> upright = cy.LinearFeedback(gain=[[30.0, 8.0]], target=[np.pi, 0.0], command=[0.0])
    >>> closed = cy.close_loop(pendulum, upright)
    >>> closed
    <System pendulum closed: 2 states, 0 inputs, dt 10 ms>
    >>> run = cy.rollout(closed, [np.pi - 0.3, 0.0], 400)
    >>> bool(abs(run.states[-1, 0] - np.pi) < 1e-3)
    True
    >>> run.pullback(np.ones_like(run.states)).params.shape == closed.parameters.default.shape
    True
    """
    check_system(system)
    if isinstance(feedback, MLP):
        names = None if observe is None else list(as_names(observe, "observe"))
        if clip is not None:
            check_one_of(clip, _CLIPS, "clip", " or None")
        core = _core.close_loop_by_network(
            *(system._core, feedback._core, feedback.weights.astype(np.float64), names),
            len(_CLIPS) if clip is None else _CLIPS.index(clip),
            *(_deviations(system, noise), as_integer(key, "key", 0, 2**24 - 1)),
        )
        return closed(system, core)
    if noise is not None:
        raise Error("noise is for networks; a linear feedback has none")
    if not isinstance(feedback, LinearFeedback):
        raise TypeError(
            f"expected a cycloid.LinearFeedback or a cycloid.networks.MLP; got {shown(feedback)}"
        )
    if observe is not None:
        raise Error("observe is for networks; a linear feedback sees the whole state")
    shapes = {
        "gain": (system.input_size, system.tangent_size),
        "target": (system.state_size,),
        "command": (system.input_size,),
    }
    arrays = {}
    for name, shape in shapes.items():
        value = getattr(feedback, name)
        if value is None and name == "command":
            value = np.zeros(shape)
        array = as_numbers(value, np.float64, f"feedback: {name}")
        if array.shape != shape:
            raise Error(f"feedback: {name} must have shape {shape}; got {array.shape}")
        if not np.isfinite(array).all():
            raise Error(f"feedback: {name} must be finite")
        arrays[name] = np.ascontiguousarray(array)
    return closed(system, _core.close_loop(system._core, *arrays.values()))


def hold(system: System, steps: int) -> System:
    """The System whose step is `steps` of the given one, under one input (a zero-order hold): a
    feedback that closes it acts for so long. Its parameters are the same, but for
    "option.timestep", which goes by "inner.timestep" and is not differentiated.

    >>> import cycloid as cy
    >>> cy.hold(cy.systems.pendulum(dt=0.01), 5)
    <System pendulum held: 2 states, 1 input, dt 50 ms>
    """
    check_system(system)
    return closed(system, _core.hold(system._core, as_integer(steps, "steps", 1, 10**6)))


def _deviations(system: System, noise: Any) -> list[float]:
    if noise is None:
        return []
    given = as_numbers(noise, np.float64, "noise")
    if given.shape not in ((), (system.input_size,)):
        raise Error(
            f"noise must be one number or one for each of {system.input_size} inputs; "
            f"got shape {given.shape}"
        )
    return np.broadcast_to(given, (system.input_size,)).tolist()


def closed(system: System, core: Any) -> System:
    """A System made of another, which lives as long."""
    made = System(core)
    made._law, made._threads = system, system._threads
    return made
