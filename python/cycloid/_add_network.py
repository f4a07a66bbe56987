"""Systems with a learned residual inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from cycloid import _core
from cycloid._close_loop import closed
from cycloid._core import Error
from cycloid._options import as_names, check_one_of, shown
from cycloid._robot import Robot
from cycloid._system import System, check_system
from cycloid.networks import MLP

_PLACES = ("force", "acceleration", "rate", "next")
_TERMS = ("rate", "acceleration", "force")  # as the core counts them


def add_network(system: System, network: MLP, to: str, observe: Any = None) -> System:
    """The System with what the network gives added inside its step.

    The network sees [observation, inputs]: state blocks and observables by name, or the whole
    state, and then the inputs. Parameters are those of `system` and "residual.weight0" (out, in),
    "residual.bias0", …, shared by all environments; the network's normalisation is folded in.

    to: "next": its output (tangent_size) is added to the next state, for any System without events.
    "rate": to the rate of change of a closed-form law without events, in every stage of its
    integrator; "acceleration": to that of its velocities; "force": to its forces (those of its
    inputs). Of a robot "force" are generalised forces (nv) that act as qfrc_applied, and
    "acceleration" (nv) acts as the forces M(q) y that it takes: both are computed once per step, at
    its start, and contacts and limits see them as every other force.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum()
    >>> net = cy.networks.MLP((3, 16, 2), seed=0, output_scale=[1e-3, 1e-3])
    >>> hybrid = cy.add_network(pendulum, net, to="next")
    >>> hybrid
    <System pendulum with network: 2 states, 1 input, dt 10 ms>
    >>> x, u = np.array([1.0, 0.0]), np.array([0.5])
    >>> bool(np.allclose(cy.step(hybrid, x, u), cy.step(pendulum, x, u) + net([1.0, 0.0, 0.5])))
    True
    """
    check_system(system)
    if not isinstance(network, MLP):
        raise TypeError(f"expected a cycloid.networks.MLP; got {shown(network)}")
    check_one_of(to, _PLACES, "to")
    names = None if observe is None else list(as_names(observe, "observe"))
    given = (network._core, network.weights.astype(np.float64), names)
    if to == "next":
        return closed(system, _core.add_network_to_next(system._core, *given))
    if to in ("force", "acceleration") and isinstance(system, Robot):
        inputs = list(system.input_slices)
        if "qfrc_applied" not in inputs:
            inputs.append("qfrc_applied")
        open_ = system.input_size
        pushed = _core.make_robot(
            system._model,
            system.dtype.name,
            inputs,
            list(system.vary),
            system._contact,
            system._refine,
        )
        made = _core.add_network_to_robot(pushed, *given, open_, to == "acceleration")
        return closed(system, made)
    if to in _TERMS and system._recipe is not None:
        made = _core.add_network_to_law(*system._recipe, *given, _TERMS.index(to))
        return closed(system, made)
    raise Error(
        f'to="{to}" is for closed-form laws{"" if to == "rate" else " and robots"}; '
        f'got {system!r}; "next" is for any System without events'
    )
