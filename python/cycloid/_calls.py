"""Calls of the core that a framework's graph makes: forward with a tape, and backward from it.

A call is everything but the arrays. Arrays are C-contiguous, in the call's precisions: the state x
(..., state_size), the inputs u with `trailing[1]` axes of their own or None, the parameters p
(..., n) in double or None. Leading axes broadcast.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from cycloid._arrays import Shape, from_rows
from cycloid._core import GradientError
from cycloid._observe import Observation, observe
from cycloid._results import SolverWarning
from cycloid._rollout import Batch, Trajectory, roll_out
from cycloid._system import System

Arrays = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]  # x, u, p
Wanted = tuple[bool, ...]  # whether the gradients of x, u and p are

# Without a gradient, a run keeps as little as it can, where it is left to it.
_LEFT_TO_US, _LEAST = ("auto", "all", "sqrt"), ("checkpoints", 1)


@dataclass(frozen=True)
class RolloutCall:
    """`rollout`, or with `single` the one step of `step`."""

    system: System
    steps: int
    """Where there are no inputs."""
    save: tuple[str, list[int]]
    memory: tuple[str, int]
    threads: int
    skip: bool
    """Environments without a gradient have the gradient zero, and a step that fails is frozen."""
    t0: float
    single: bool
    times: list[float]
    """At which states are saved, in place of `save`; empty: none."""

    trailing = (1, 2, 1)  # axes of x, u and p after the leading ones
    after = 2  # ... and of the result
    sums_params = False  # always, where p is shared

    def forward(self, x: Any, u: Any, p: Any, keep: bool) -> tuple[np.ndarray, Trajectory]:
        """The states, in memory of their own, and the tape: if not `keep`, a small one."""
        memory = self.memory if keep or self.memory[0] not in _LEFT_TO_US else _LEAST
        run = self._run(x, u, p, memory)
        warning = run._core.step_warning(self.skip) if self.single else ""
        if warning:
            warnings.warn(warning, SolverWarning, stacklevel=2)
        return run._core.own_states().reshape(run.states.shape), run

    def taped(self, x: Any, u: Any, p: Any) -> Trajectory:
        """The tape of a call that was made before."""
        return self._run(x, u, p, self.memory)

    def _run(self, x: Any, u: Any, p: Any, memory: tuple[str, int]) -> Trajectory:
        batch = Batch(self.system, x, self.steps if u is None else u, p, self.system.dtype)
        return roll_out(batch, self.save, memory, self.threads, self.t0, self.times)

    def rows(self, tape: Trajectory, bar: np.ndarray, wanted: Wanted, each: bool) -> list[Any]:
        """The gradients in rows; `each`: of every environment, though arrays were shared."""
        g = tape._core.pullback(bar, *wanted, self.skip, each)
        return [g["x0"], g["controls"], g["params"]]

    @staticmethod
    def size(tape: Trajectory) -> int:
        """What a tape takes [bytes], about."""
        return tape.report.tape_bytes + tape.states.nbytes


@dataclass(frozen=True)
class ObserveCall:
    """`observe`."""

    system: System
    names: list[str] | None
    t: float

    trailing = (1, 1, 1)
    after = 1
    sums_params = True

    def forward(self, x: Any, u: Any, p: Any, keep: bool) -> tuple[np.ndarray, Observation]:
        seen = self.taped(x, u, p)
        return seen.values.copy(), seen

    def taped(self, x: Any, u: Any, p: Any) -> Observation:
        return observe(self.system, x, u, self.names, p, t=self.t)

    def rows(self, tape: Observation, bar: np.ndarray, wanted: Wanted, each: bool) -> list[Any]:
        g = tape._core.pullback(bar.astype(np.float64))
        dtype = self.system.dtype
        return [g["x"].astype(dtype), g["controls"].astype(dtype), g["params"]]

    @staticmethod
    def size(tape: Observation) -> int:
        n = tape._batch.system.state_size + tape._batch.system.input_size
        return 8 * (n + tape.values.shape[-1]) * max(1, tape.values[..., 0].size)


Call = RolloutCall | ObserveCall


def pull_back(
    call: Call,
    tape: Any,
    bar: np.ndarray,
    arrays: Arrays,
    wanted: Wanted,
    shapes: tuple[Shape | None, ...],
) -> list[np.ndarray]:
    """The gradients that are wanted, of x, u and p, in this order, given that of the result.

    shapes: what each gradient is summed to; it may have leading axes that its array had not. Where
    there is no tape, or `bar` has more leading axes than it, the forward call is made again: every
    cotangent has environments of its own.
    """
    lead = bar.shape[: bar.ndim - call.after]
    if tape is None or tape._batch.lead != lead:
        tape = call.taped(*_for_all(call, arrays, lead))
    each = any(
        want and array is not None and _rows(array.shape, n) < _rows(shape, n)
        for array, want, shape, n in zip(arrays, wanted, shapes, call.trailing)
    )
    if each and wanted[2] and call.sums_params:
        x, u, p = arrays
        own = np.broadcast_to(p, lead + p.shape[-1:])
        tape = call.taped(np.broadcast_to(x, lead + x.shape[-1:]), u, own)
    rows = call.rows(tape, bar, wanted, each)
    return [
        from_rows(r, shape, lead, n)
        for r, want, shape, n in zip(rows, wanted, shapes, call.trailing)
        if want and shape is not None
    ]


def push_forward(call: Call, arrays: Arrays, tangents: Arrays) -> np.ndarray:
    """The tangent of the result in a direction: tangents of x, u and p, None for zero, which may
    have leading axes that their arrays have not.
    """
    _check_second(call, "forward mode (jvp, jacfwd)")
    run = call.taped(*_for_all(call, arrays, _lead(call, (*arrays, *tangents))))
    return run.pushforward(*tangents)


def bend(
    call: Call,
    bar: np.ndarray,
    arrays: Arrays,
    tangents: Arrays,
    wanted: Wanted,
    shapes: tuple[Shape | None, ...],
) -> list[np.ndarray]:
    """The derivatives of the gradients of `pull_back` in a direction, `bar` held."""
    _check_second(call, "second derivatives")
    lead = _lead(call, (*arrays, *tangents))
    lead = np.broadcast_shapes(lead, bar.shape[: bar.ndim - call.after])
    run = call.taped(*_for_all(call, arrays, lead))
    bar = np.broadcast_to(bar, run.states.shape).astype(np.float64)
    product = run._core.hvp(np.ascontiguousarray(bar), None, *run._direction(*tangents), True)
    dtypes = (call.system.dtype, call.system.dtype, np.float64)
    rows = [product[name].astype(t) for name, t in zip(("x0", "controls", "params"), dtypes)]
    return [
        from_rows(r, shape, lead, n)
        for r, want, shape, n in zip(rows, wanted, shapes, call.trailing)
        if want and shape is not None
    ]


def _check_second(call: Call, what: str) -> None:
    if not isinstance(call, RolloutCall):
        raise GradientError(
            f"cycloid has no {what} of observe: use reverse mode (grad, vjp, jacrev)"
        )


def _lead(call: Call, arrays: tuple[np.ndarray | None, ...]) -> Shape:
    """The leading axes of all, three and three."""
    trailing = call.trailing * 2
    leads = [a.shape[: a.ndim - n] for a, n in zip(arrays, trailing) if a is not None]
    return np.broadcast_shapes(*leads)


def _rows(shape: Any, trailing: int) -> int:
    return math.prod(shape[: len(shape) - trailing])


def _for_all(call: Call, arrays: Arrays, lead: Shape) -> Arrays:
    """The arrays with these leading axes together."""
    leads = [a.shape[: a.ndim - n] for a, n in zip(arrays, call.trailing) if a is not None]
    if np.broadcast_shapes(*leads) == lead:
        return arrays
    x, u, p = arrays
    return np.broadcast_to(x, lead + x.shape[-1:]), u, p
