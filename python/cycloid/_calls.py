"""Calls of the core that a framework's graph makes: forward with a tape, and backward from it.

A call is everything but the arrays. Arrays are C-contiguous, in the call's precisions: the state x
(..., state_size), the inputs u with `trailing[1]` axes of their own or None, the parameters p
(..., n) in double or None. Leading axes broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import Shape, from_rows
from cycloid._observe import Observation, observe
from cycloid._rollout import Batch, Trajectory, roll_out, step
from cycloid._system import System

Arrays = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]  # x, u, p

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
    t0: float
    skip: bool
    """Environments without a gradient have the gradient zero, and a step that fails is frozen."""
    single: bool

    trailing = (1, 2, 1)  # axes of x, u and p after the leading ones
    after = 2  # ... and of the result

    def forward(self, x: Any, u: Any, p: Any, keep: bool) -> tuple[np.ndarray, Trajectory]:
        """The states, and the tape: if not `keep`, a small one."""
        batch = Batch(self.system, x, self.steps if u is None else u, p, self.system.dtype)
        memory = self.memory if keep or self.memory[0] not in _LEFT_TO_US else _LEAST
        run = roll_out(batch, self.save, memory, self.threads, self.t0)
        report = run.report
        if self.single and ((report.failed and not self.skip) or report.unsolved or report.crowded):
            self._say_what_went_wrong(x, u, p)
        return run.states, run

    def _say_what_went_wrong(self, x: Any, u: Any, p: Any) -> None:
        """As `step` does: raises, or warns."""
        try:
            step(self.system, x, None if u is None else u[..., 0, :], p, t=self.t0)
        except _core.Error:
            if not self.skip:
                raise

    def rows(self, tape: Trajectory, bar: np.ndarray, wanted: tuple[bool, ...]) -> list[Any]:
        """The gradients in rows."""
        g = tape._core.pullback(bar, *wanted, self.skip)
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

    def forward(self, x: Any, u: Any, p: Any, keep: bool) -> tuple[np.ndarray, Observation]:
        seen = observe(self.system, x, u, self.names, p, t=self.t)
        return seen.values, seen

    def rows(self, tape: Observation, bar: np.ndarray, wanted: tuple[bool, ...]) -> list[Any]:
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
    wanted: tuple[bool, ...],
    shapes: tuple[Shape | None, ...],
) -> list[np.ndarray]:
    """The gradients that are wanted, of x, u and p, in this order, given that of the result.

    shapes: what each gradient is summed to. They, and the leading axes of `bar`, may have more than
    the arrays of the forward call, which is then made again: an environment of its own for every
    cotangent, and for every gradient of an array that environments shared. So it is where there is
    no tape.
    """
    lead = bar.shape[: bar.ndim - call.after]
    given, same = _of_their_own(call, lead, arrays, wanted, shapes)
    if tape is None or not same or tape._batch.lead != lead:
        tape = call.forward(*given, keep=True)[1]
    rows = call.rows(tape, bar, wanted)
    return [
        from_rows(r, shape, lead, n)
        for r, want, shape, n in zip(rows, wanted, shapes, call.trailing)
        if want and shape is not None
    ]


def _of_their_own(
    call: Call, lead: Shape, arrays: Arrays, wanted: tuple[bool, ...], shapes: Any
) -> tuple[list[Any], bool]:
    """The arrays with rows enough for these gradients, and whether they are as they were."""
    given: list[Any] = list(arrays)
    for i, (array, want, shape) in enumerate(zip(arrays, wanted, shapes)):
        if want and array is not None and array.shape != shape:
            given[i] = np.broadcast_to(array, shape)
    leads = [a.shape[: a.ndim - n] for a, n in zip(given, call.trailing) if a is not None]
    if np.broadcast_shapes(*leads) != lead:
        given[0] = np.broadcast_to(given[0], lead + given[0].shape[-1:])
    return given, all(a is b for a, b in zip(arrays, given))
