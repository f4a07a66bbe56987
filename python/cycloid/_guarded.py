"""A fast model under the eyes of the classical solver."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from cycloid import _core
from cycloid._close_loop import closed
from cycloid._options import as_integer, as_real
from cycloid._rollout import Trajectory
from cycloid._system import System, check_system

_WORDS = {
    "start": "nothing was known of the model's defect",
    "schedule": "it was the truth's turn",
    "estimate": "the estimate asked for a comparison",
    "budget": "the estimate has used up its share of the bound",
    "not finite": "the model's step is not finite",
    "event": "the model's step meets an event",
}


class Fallback(NamedTuple):
    """A step that the truth took in place of the model."""

    environment: int
    """In the flattened batch."""
    step: int
    time: float
    """Of the step's beginning [s]."""
    reason: str
    """"start", "schedule", "estimate", "budget", "not finite" or "event"."""
    missed: float
    """What the model, as corrected, missed in this step; 0 where nothing was compared."""
    allowed: float
    """What a step may miss."""
    estimate: float
    """The error that has been gathered, as the guard believes, after the step."""
    bound: float


class GuardReport(Sequence[Fallback]):
    """When and why a guarded run fell back to the truth: a Fallback for each such step.

    reasons: {reason: how many}; share: of all steps; environments, steps: of the run.
    """

    def __init__(self, entries: Sequence[Fallback], environments: int, steps: int) -> None:
        self._entries, self.environments, self.steps = tuple(entries), environments, steps
        self.reasons = dict(Counter(e.reason for e in entries))
        self.share = len(entries) / (environments * steps)

    @overload
    def __getitem__(self, index: int) -> Fallback: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Fallback, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Fallback]:
        return iter(self._entries)

    def text(self, environment: int = 0, most: int = 20) -> str:
        """The first fall-backs of an environment, in words."""
        own = [e for e in self._entries if e.environment == environment]
        lines = [
            f"{e.time:9.4g} s  step {e.step:<6} {_WORDS[e.reason]}"
            + (f": missed {e.missed:.2g}, allowed {e.allowed:.2g}" if e.missed else "")
            + f"; estimate {e.estimate:.2g} of {e.bound:g}"
            for e in own[:most]
        ]
        return "\n".join(lines + ([f"… {len(own) - most} more"] if len(own) > most else []))

    def __repr__(self) -> str:
        why = ", ".join(f"{n} {reason}" for reason, n in sorted(self.reasons.items()))
        return f"<GuardReport: the truth took {self.share:.1%} of the steps ({why})>"


def guard_report(trajectory: Trajectory) -> GuardReport:
    """When and why a run of a guarded System fell back to the truth: the run is made again.

    >>> import cycloid as cy
    >>> truth = cy.systems.pendulum(dt=0.01)
    >>> safe = cy.guarded(truth.variant(integrator="euler"), truth, bound=0.05)
    >>> report = cy.guard_report(cy.rollout(safe, [1.0, 0, 0, 0, 0, 0], 200))
    >>> report[0].reason, report[1].reason, report.share < 0.5
    ('start', 'estimate', True)
    """
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"expected a Trajectory from rollout; got {type(trajectory).__name__}")
    system = trajectory.system
    x0, u, params = (
        np.asarray(a, np.float64) for a in (trajectory.x0, trajectory.controls, trajectory.params)
    )
    lead = trajectory._batch.lead
    count, steps = math.prod(lead), trajectory._batch.steps

    def rows(values: np.ndarray, trailing: int) -> np.ndarray:
        tail = values.shape[values.ndim - trailing :]
        return np.ascontiguousarray(np.broadcast_to(values, (*lead, *tail)).reshape(count, *tail))

    found = _core.guard_log(
        system._core,
        rows(x0, 1),
        rows(u, 2) if system.input_size else None,
        rows(params, 1),
        *(steps, count, float(trajectory._core.origin()["t0"])),
    )
    return GuardReport([Fallback(*e) for e in found], count, steps)


def guarded(
    model: System,
    truth: System,
    *,
    bound: float,
    horizon: float = 10.0,
    share: float = 0.5,
    every: int | None = None,
    most: int = 64,
) -> System:
    """A System that runs `model`, compares it with `truth` now and then, and corrects it, so that
    the state stays within `bound` of the truth's, a Euclidean distance in units of the state.

    A comparison is a classical step, which is then the step that is taken. It measures the model's
    defect, which is subtracted from the steps that follow, and how wrong that would have been; from
    this and from how errors grow follows when to compare again. horizon [s]: over which the bound
    is to be kept. share: of the bound that the estimate may gather; the rest is for errors that
    grow later. every: comparisons so many steps apart instead. most: steps between them.

    A step is as long as the longer of the two steps, of which the other takes several. The state is
    the truth's, then the block "guard", zeros at the start. run.report.counters has, per step,
    "classical_steps" (of the truth's own), "comparisons", and "alarms", where the estimate asked
    for more; `guard_report` says when and why. Gradients are those of the steps that were taken.
    Parameters are the truth's, and the model's as "model.NAME" where they differ. States with
    quaternions are corrected in tangents; a step that meets an event is the truth's.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> truth = cy.systems.double_pendulum(damping=(0.3, 0.3), dt=0.01)
    >>> model = truth.variant(integrator="euler")
    >>> safe = cy.guarded(model, truth, bound=0.05)
    >>> x0 = np.concatenate([[1.0, 0.5, 0.0, 0.0], np.zeros(8)])
    >>> run = cy.rollout(safe, x0, 500)
    >>> exact = cy.rollout(truth, x0[:4], 500).states
    >>> off = np.linalg.norm(run.states[:, :4] - exact, axis=1)
    >>> bool(off.max() < 0.05), bool(run.report.counters["classical_steps"] < 1 / 3)
    (True, True)
    """
    check_system(model)
    check_system(truth)
    core = _core.guarded(
        model._core,
        truth._core,
        as_real(bound, "bound"),
        as_real(horizon, "horizon"),
        as_real(share, "share"),
        0 if every is None else as_integer(every, "every", 1, 10**6),
        as_integer(most, "most", 1, 10**6),
    )
    made = closed(truth, core)
    made._guarded = model  # lives as long
    return made
