"""A fast model under the eyes of the classical solver."""

from __future__ import annotations

from cycloid import _core
from cycloid._close_loop import closed
from cycloid._options import as_integer, as_real
from cycloid._system import System, check_system


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
    for more. Gradients are those of the steps that were taken. Parameters are the truth's, and the
    model's as "model.NAME" where they differ.

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
