"""The run that belongs to a recording, for a page on which a fit or a training is watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cycloid._recording import Recording
from cycloid._rollout import Trajectory, rollout
from cycloid._system import System

_MOST_STEPS = 2000


def motion_of(system: System, recording: Recording) -> Callable[[np.ndarray], Trajectory]:
    """A function from all parameters to the run over the recording's time, at most 2000 steps: from
    its start where that is known, else from the system's own, with the inputs that were recorded.

    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum()
    >>> run = cy.rollout(pendulum, [1.0, 0.0], 50)
    >>> motion = motion_of(pendulum, cy.Recording(run.times, run.states))
    >>> bool((motion(pendulum.parameters.default).states == run.states).all())
    True
    """
    times = recording.times
    steps = round(float(times[-1] - times[0]) / system.timestep)
    steps = min(max(steps, 1), _MOST_STEPS)
    start = _start(system, recording)
    controls: Any = steps
    if recording.controls is not None and system.input_size:
        at = times[0] + system.timestep * np.arange(steps)
        row = np.searchsorted(times, at + 1e-9, side="right") - 1
        controls = np.nan_to_num(recording.controls[row.clip(0, len(times) - 1)])
    return lambda params: rollout(system, start, controls, params, t0=float(times[0]))


def _start(system: System, recording: Recording) -> np.ndarray:
    if recording.x0 is not None:
        return np.asarray(recording.x0, float)
    whole = recording.values.shape[1] == system.state_size and recording.names is None
    rows = recording.values[np.isfinite(recording.values).all(axis=1)] if whole else ()
    return rows[0] if len(rows) else system.initial_state()
