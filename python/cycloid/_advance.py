"""Many environments a few steps ahead, with what is observed there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import check_memory
from cycloid._core import Error
from cycloid._device_arrays import lies_there
from cycloid._device_rollout import advance_there
from cycloid._observe import Layout, eyes_of
from cycloid._options import MOST_STEPS, as_integer, as_names, as_real, as_threads
from cycloid._results import Report
from cycloid._rollout import as_report, one_step
from cycloid._system import System, check_system


class Advanced:
    """Environments after some steps, made by `advance`.

    states: (..., state_size). values: (..., n), what was asked for by name, with names and slices
    as in an Observation; next["cvel"] has one name's numbers in their own shape. report: as that of
    a rollout; environments count along the flattened batch.
    """

    states: np.ndarray
    values: np.ndarray
    names: tuple[str, ...]
    slices: dict[str, slice]
    report: Report

    def __init__(
        self, states: np.ndarray, values: np.ndarray, layout: Layout, report: Report
    ) -> None:
        self.states, self.values, self.report, self._layout = states, values, report, layout
        self.names, self.slices = layout.names, dict(layout.slices)

    def __getitem__(self, name: str) -> np.ndarray:
        """The numbers of one name: (..., size) of a sensor, (..., nbody, 6) of "cvel"."""
        return self._layout.take(self.values, name)

    def __repr__(self) -> str:
        lead = self.states.shape[:-1]
        wrong = f", {len(self.report.failed)} FAILED" if self.report.failed else ""
        return f"<Advanced: batch {lead}, {len(self.names)} numbers observed{wrong}>"


_NOTHING = Layout((), {}, {})


def advance(
    system: System,
    x: Any,
    u: Any = None,
    steps: int = 1,
    names: str | Sequence[str] = (),
    params: Any = None,
    *,
    lagging: bool = False,
    threads: int | None = None,
    t0: float = 0.0,
) -> Advanced:
    """The states (..., state_size) after `steps` steps from x (..., state_size) under the inputs u
    (..., input_size), which are held, None for zero; and what `names` show there. For learners: in
    one pass, in the precision of the system, and without a gradient.

    names: of what is observed, as in `observe`. With lagging=True a robot's have the meaning that
    MuJoCo's mjData gives them after mj_step: sensors and derived fields are those of the state
    before the last step, and qpos, qvel and act those of the new state. Under RK4, derived fields
    are those of its fourth stage, and qacc is the mean of the stages. Without, all are those of the
    new state. params, threads, t0: as in `rollout`.

    An environment that fails stands still at its last finite state and is in the report. Arrays on
    the System's device give states there, without names.

    >>> import cycloid as cy
    >>> robot = cy.load('''<mujoco> <worldbody> <body name="bob"> <joint axis="0 1 0"/>
    ...     <geom size="0.1" pos="0 0 -2"/> </body> </worldbody> </mujoco>''')
    >>> next = cy.advance(robot, [[0.1, 0.0], [0.2, 0.0]], steps=5, names=["qpos", "xipos:bob"])
    >>> next
    <Advanced: batch (2,), 4 numbers observed>
    >>> next.states.shape, next["xipos:bob"].round(2).tolist()
    ((2, 2), [[-0.2, 0.0, -1.99], [-0.4, 0.0, -1.96]])
    """
    check_system(system)
    chosen = as_names(names, "names")
    if lies_there(system, x) or lies_there(system, u):
        if chosen:
            raise Error("names: what lies on a device is observed there, of the states alone")
        count = as_integer(steps, "steps", 1, MOST_STEPS)
        states, said = advance_there(system, x, u, count, params, as_real(t0, "t0"))
        return Advanced(states, np.zeros((*states.shape[:-1], 0)), _NOTHING, said)
    batch = one_step(system, x, u, params)
    observer, layout = eyes_of(system, chosen) if chosen else (None, _NOTHING)
    n = math.prod(batch.lead)
    size = len(layout.names)
    check_memory(system.dtype.itemsize * n * (system.state_size + size), "the results")
    core, rows, controls, _, parameters = batch.rows
    states, values, report = getattr(_core, f"advance_{system._precision}")(
        core,
        rows,
        controls,
        as_integer(steps, "steps", 1, MOST_STEPS),
        parameters,
        observer,
        bool(lagging),
        as_threads(threads, system._threads),
        as_real(t0, "t0"),
    )
    return Advanced(
        states.reshape((*batch.lead, system.state_size)),
        values.reshape((*batch.lead, size)),
        layout,
        as_report(report),
    )
