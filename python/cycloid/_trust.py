"""Jacobians of a step, and how far to trust a gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import check_memory
from cycloid._core import Error
from cycloid._options import as_integer, as_names, as_real, check_one_of
from cycloid._results import Diagnosis, GradientCheck, Linearisation
from cycloid._rollout import Batch, Trajectory, one_step
from cycloid._system import System, check_system


def linearise(
    system: System, x: Any, u: Any = None, params: Any = None, *, wrt: Any = None, t: float = 0.0
) -> Any:
    """The Jacobians of one step at x (..., state_size), u (..., input_size) and time t [s], in
    tangent coordinates: (A, B), or with `wrt`, any of "x", "u" and "params", an object with .A
    (..., tangent_size, tangent_size), .B (..., tangent_size, input_size), .P (..., tangent_size, n)
    and .next (..., state_size).

    >>> import cycloid as cy
    >>> system = cy.systems.pendulum(integrator="euler")
    >>> A, B = cy.linearise(system, [0.0, 0.0], [0.0])
    >>> A.round(12)
    array([[ 1.    ,  0.01  ],
           [-0.0981,  1.    ]])
    >>> cy.linearise(system, np.zeros((8, 2)), wrt=("x", "params"))
    <Linearisation: A (8, 2, 2), P (8, 2, 5), next (8, 2)>
    """
    batch = one_step(system, x, u, params)
    names = ("x", "u") if wrt is None else as_names(wrt, "wrt")
    for name in names:
        check_one_of(name, ("x", "u", "params"), "wrt")
    if "params" in names:
        for name in batch.named_shapes or ():
            system.parameters.check_differentiable(name)
    lead, nt = batch.lead, system.tangent_size
    columns = nt + system.input_size + system.parameters.size
    size = math.prod(lead) * nt * columns * system.dtype.itemsize
    check_memory(size, "the Jacobians")
    next_rows, a, b, p = getattr(_core, f"linearise_{system._precision}")(
        *batch.rows, "params" in names, as_real(t, "t"), system._threads
    )
    A = a.reshape((*lead, nt, nt)) if "x" in names else None
    B = b.reshape((*lead, nt, system.input_size)) if "u" in names else None
    P = p.reshape((*lead, nt, system.parameters.size)) if "params" in names else None
    if wrt is None:
        return A, B
    return Linearisation(A, B, P, next_rows.reshape((*lead, system.state_size)))


def check_gradient(
    system: System,
    x0: Any,
    controls: Any,
    params: Any = None,
    *,
    tolerance: float | None = None,
    numbers_per_block: int = 24,
    seed: int = 0,
    t0: float = 0.0,
) -> GradientCheck:
    """Holds the gradient of a rollout to central differences, block by block. The loss is a random
    weighting of all states.

    x0, controls, params, t0: as in `rollout`. tolerance: of the relative error; None for 1e-6 in
    float64 and 1e-3 in float32. numbers_per_block: of larger blocks as many are sampled. The
    differences of an adaptive integrator are those of runs with the same substeps.

    >>> import cycloid as cy
    >>> check = cy.check_gradient(cy.systems.kepler(), [1, 0, 0, 1.1], 50)
    >>> check.ok, sorted(check.by_block)
    (True, ['params.mu', 'params.option.timestep', 'x0.position', 'x0.velocity'])
    """
    check_system(system)
    tolerance = 0.0 if tolerance is None else as_real(tolerance, "tolerance")
    if tolerance < 0:
        raise Error(f"tolerance must not be negative; got {tolerance}")
    batch = Batch(system, x0, controls, params, np.float64)
    result = _core.check_gradient(
        *batch.rows,
        tolerance,
        as_integer(numbers_per_block, "numbers_per_block", 1, 2**31 - 1),
        as_integer(seed, "seed", 0),
        as_real(t0, "t0"),
        system._threads,
    )
    return GradientCheck(**result)


def diagnose(trajectory: Trajectory, states_bar: Any) -> Diagnosis:
    """How far the gradient of a rollout can be trusted: whether the cotangent grows, vanishes or
    stops being finite on its way back from the last state that the loss looks at.

    states_bar: as in `Trajectory.pullback`.

    >>> import cycloid as cy
    >>> run = cy.rollout(cy.systems.lorenz(), [1, 1, 20], 5000, save="last")
    >>> d = cy.diagnose(run, [[1, 0, 0]])
    >>> d.verdict, d.reliable, bool(0.8 < d.lyapunov < 1.0)
    ('chaotic', False, True)
    """
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"expected a Trajectory from rollout; got {type(trajectory).__name__}")
    d = trajectory._core.diagnose(trajectory._bar(states_bar))
    lead = trajectory._batch.lead
    d["growth"] = d["growth"].reshape((*lead, -1))
    d["lyapunov"] = d["lyapunov"].reshape(lead)
    return Diagnosis(**d)
