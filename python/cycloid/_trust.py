"""Jacobians of a step, and how far to trust a gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers, check_memory
from cycloid._core import Error
from cycloid._device_arrays import lies_there
from cycloid._device_linearise import linearise_there
from cycloid._extras import missing
from cycloid._options import as_integer, as_names, as_real, check_one_of
from cycloid._results import Diagnosis, GradientCheck, Linearisation
from cycloid._rollout import Batch, Trajectory, one_step
from cycloid._system import System, check_system


def linearise(
    system: System,
    x: Any,
    u: Any = None,
    params: Any = None,
    *,
    wrt: Any = None,
    t: float = 0.0,
    form: str = "dense",
) -> Any:
    """The Jacobians of one step at x (..., state_size), u (..., input_size) and time t [s], in
    tangent coordinates: (A, B), or with `wrt`, any of "x", "u" and "params", an object with .A
    (..., tangent_size, tangent_size), .B (..., tangent_size, input_size), .P (..., tangent_size, n)
    and .next (..., state_size).

    form: "dense" arrays; "sparse", matrices of SciPy (CSR); or "operator", objects with .shape,
    .matvec and .rmatvec that never form the matrix: SciPy's LinearOperator where there is SciPy.
    The last two take one x, not a batch, and give A and B only. A system that does not know which
    entries are zero gives "sparse" up to 2,000 states. Operators compute in double.

    Where x or u lies on the System's device, so do A, B and .next: arrays of the same framework.

    >>> import cycloid as cy
    >>> system = cy.systems.pendulum(integrator="euler")
    >>> A, B = cy.linearise(system, [0.0, 0.0], [0.0])
    >>> A.round(12)
    array([[ 1.    ,  0.01  ],
           [-0.0981,  1.    ]])
    >>> cy.linearise(system, np.zeros((8, 2)), wrt=("x", "params"))
    <Linearisation: A (8, 2, 2), P (8, 2, 5), next (8, 2)>
    >>> A, B = cy.linearise(system, [0.0, 0.0], [0.0], form="operator")
    >>> A.shape, A.matvec([0.0, 1.0]).round(12), B.rmatvec([0.0, 1.0]).round(12)
    ((2, 2), array([0.01, 1.  ]), array([0.01]))
    """
    check_one_of(form, ("dense", "sparse", "operator"), "form")
    names = ("x", "u") if wrt is None else as_names(wrt, "wrt")
    for name in names:
        check_one_of(name, ("x", "u", "params"), "wrt")
    check_system(system)
    if lies_there(system, x) or lies_there(system, u):
        if "params" in names or form != "dense":
            raise Error("x and u lie on a device, which gives dense A and B: pass NumPy arrays")
        A, B, after = linearise_there(system, x, u, params, as_real(t, "t"))
        if wrt is None:
            return A, B
        return Linearisation(A if "x" in names else None, B if "u" in names else None, None, after)
    batch = one_step(system, x, u, params)
    if "params" in names:
        for name in batch.named_shapes or ():
            system.parameters.check_differentiable(name)
    if form == "dense":
        A, B, P, after = _dense(batch, "params" in names, as_real(t, "t"))
    else:
        if "params" in names:
            raise Error(f'form="{form}" gives A and B; P, of wrt="params", is dense only')
        if batch.lead:
            raise Error(f'form="{form}" takes one x, not a batch; got leading axes {batch.lead}')
        make = _sparse if form == "sparse" else _operators
        A, B, after = make(batch, as_real(t, "t"))
        P = None
    if wrt is None:
        return A, B
    return Linearisation(
        A if "x" in names else None,
        B if "u" in names else None,
        P if "params" in names else None,
        after,
    )


def _dense(batch: Batch, with_params: bool, t: float) -> tuple[Any, ...]:
    system, lead = batch.system, batch.lead
    nt = system.tangent_size
    columns = nt + system.input_size + (system.parameters.size if with_params else 0)
    size = math.prod(lead) * nt * columns * system.dtype.itemsize
    check_memory(size, "the Jacobians", '; take form="sparse" or form="operator"')
    next_rows, a, b, p = getattr(_core, f"linearise_{system._precision}")(
        *batch.rows, with_params, t, system._threads
    )
    A, B = a.reshape((*lead, nt, nt)), b.reshape((*lead, nt, system.input_size))
    P = p.reshape((*lead, nt, system.parameters.size)) if with_params else None
    return A, B, P, next_rows.reshape((*lead, system.state_size))


def _sparse(batch: Batch, t: float) -> tuple[Any, ...]:
    try:
        from scipy.sparse import csr_array
    except ModuleNotFoundError:
        raise missing("scipy", "scipy") from None
    system = batch.system
    after, *parts = getattr(_core, f"sparse_linearise_{system._precision}")(
        *batch.rows, t, system._threads
    )
    A, B = (csr_array((v, columns, starts), shape=shape) for v, columns, starts, shape in parts)
    return A, B, after


def _operators(batch: Batch, t: float) -> tuple[Any, ...]:
    system = batch.system
    core, x, u, steps, params = batch.rows
    x, u = (None if rows is None else rows.astype(np.float64, copy=False) for rows in (x, u))
    step = _core.StepOperator(core, x, u, steps, params, t, system._threads)
    A = _operator(
        (system.tangent_size, system.tangent_size),
        lambda v: step.push(v, None),
        lambda v: step.pull(v)[0],
    )
    B = _operator(
        (system.tangent_size, system.input_size),
        lambda v: step.push(None, v),
        lambda v: step.pull(v)[1],
    )
    return A, B, step.next.astype(system.dtype, copy=False)


class StepMatrix:
    """A Jacobian of a step by its products: `matvec` of a vector, `rmatvec` with its transpose."""

    def __init__(self, shape: tuple[int, int], push: Any, pull: Any) -> None:
        self.shape, self.dtype, self._push, self._pull = shape, np.dtype(np.float64), push, pull

    def matvec(self, vector: Any) -> np.ndarray:
        """The product with a vector (columns,)."""
        return self._product(self._push, vector, self.shape[1])

    def rmatvec(self, vector: Any) -> np.ndarray:
        """The product of the transpose with a vector (rows,)."""
        return self._product(self._pull, vector, self.shape[0])

    def _product(self, apply: Any, vector: Any, size: int) -> np.ndarray:
        v = as_numbers(vector, np.float64, "the vector")
        if v.shape not in ((size,), (size, 1)):
            raise Error(f"the vector must have shape ({size},); got {v.shape}")
        rows = self.shape[0] if apply is self._push else self.shape[1]
        product = apply(v.reshape(-1)) if v.size else np.zeros(rows)
        return product.reshape(rows, *v.shape[1:])

    def __repr__(self) -> str:
        return f"<StepMatrix {self.shape[0]} x {self.shape[1]}>"


def _operator(shape: tuple[int, int], push: Any, pull: Any) -> Any:
    matrix = StepMatrix(shape, push, pull)
    try:
        from scipy.sparse.linalg import LinearOperator
    except ImportError:
        return matrix
    return LinearOperator(shape, matrix.matvec, matrix.rmatvec, dtype=matrix.dtype)


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
