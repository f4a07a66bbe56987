"""What the functions of cycloid return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Truncate:
    """`memory=Truncate(k)`: the gradient is cut every k steps, so that what happened in one window
    does not reach the one before.

    >>> import cycloid as cy
    >>> run = cy.rollout(cy.systems.lorenz(), [1, 1, 20], 10, memory=cy.Truncate(1))
    >>> run.report.memory
    'all 10 states; the gradient is cut every 1 step (240 B)'
    """

    k: int


class Failure(NamedTuple):
    """An environment that went non-finite, or whose events pile up: it stays at its state of `step`
    from there on."""

    environment: int
    """Its index in the flattened batch."""
    step: int
    """The step that failed; the state of this number is the last finite one."""
    stage: str
    """The part of the step, such as "rk4 stage 2", or "events"."""
    body: str
    """The block of the state, or the event."""
    reason: str


class Unsolved(NamedTuple):
    """An environment in which a solver stopped short of its tolerance: that of the constraints, or
    that of an implicit integrator. It goes on with the best that was found; a pullback through it
    raises GradientError, or leaves it out.
    """

    environment: int
    """Its index in the flattened batch."""
    step: int
    """The first step that is not solved."""
    residual: float
    """The largest of all such steps, scaled as the tolerance is: 1e-10 in float64, 1e-5 in float32;
    of an implicit integrator the last correction relative to the state, 1e-14 and 1e-5."""
    count: int
    """How many steps are not solved."""


class Crowded(NamedTuple):
    """An environment that had more contacts than there is room for (256). The first are kept, in
    MuJoCo's order; the gradient is that of the step so taken.
    """

    environment: int
    """Its index in the flattened batch."""
    step: int
    """The first such step."""
    count: int
    """In how many steps there were more contacts than there is room for."""


@dataclass(frozen=True, eq=False, repr=False)
class Events:
    """What happened on the way of a rollout, one environment after another, in the order of time.
    The times are outputs with a gradient: `traj.pullback(states_bar, event_times_bar=…)`.

    >>> import cycloid as cy
    >>> run = cy.rollout(cy.systems.bouncing_ball(), [1.0, 0.0], 130)
    >>> run.events
    <2 events: 2 impact>
    >>> run.events.time.round(6), run.events.name
    (array([0.451524, 1.173961]), ('impact', 'impact'))
    """

    environment: np.ndarray
    """(E,): indices in the flattened batch."""
    step: np.ndarray
    """(E,): the steps in which they happened."""
    name: tuple[str, ...]
    """(E,): which event of the system."""
    time: np.ndarray
    """(E,) [s]"""
    grazing: np.ndarray
    """(E,) bool: whether the state came to the event's surface so slowly that the derivative of the
    time does not exist. A pullback through such an environment raises GradientError, or skips it.
    """

    def __len__(self) -> int:
        return len(self.name)

    def __repr__(self) -> str:
        if not self.name:
            return "<0 events>"
        counts = {name: self.name.count(name) for name in dict.fromkeys(self.name)}
        kinds = ", ".join(f"{n} {name}" for name, n in counts.items())
        grazing = int(self.grazing.sum())
        kinds += f"; {grazing} GRAZING" if grazing else ""
        return f"<{len(self)} event{'' if len(self) == 1 else 's'}: {kinds}>"


class SolverWarning(UserWarning):
    """`step`, `observe` or `forward` could not do all that the model says: the solver stopped short
    of its tolerance, or there were more contacts than there is room for. `rollout` has this in its
    report instead.
    """


@dataclass(frozen=True, eq=False)
class Report:
    """What a rollout has to say about itself."""

    failed: list[Failure]
    """Environments that went non-finite or whose events pile up, in their order."""
    unsolved: list[Unsolved]
    """Environments in which a solver stopped short, in their order."""
    crowded: list[Crowded]
    """Environments that had more contacts than there is room for, in their order."""
    advice: str
    """What to try about these; empty where there are none."""
    counters: dict[str, float]
    """What the System counts in its steps, by name: means over environments and steps. Of a robot
    under constraints contacts, active_rows and crowded; of an adaptive integrator substeps and
    rejected_substeps."""
    contacts: float
    """Contacts that may have a force, mean over environments and steps."""
    substeps: int
    """Substeps that an adaptive integrator took, over all environments and steps; 0 of another."""
    rejected_substeps: int
    """... and those that it tried and did not take, because their error was above rtol and atol."""
    memory: str
    """What the adjoint keeps, in words."""
    tape_bytes: int
    """... and what that takes [bytes]."""
    lanes: int
    """Environments that are computed side by side."""
    instruction_set: str
    """"portable", "v3" (AVX2) or "v4" (AVX-512)."""


def _shape(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_shape(part)}" for name, part in value.items()) + "}"
    return str(np.shape(value))


@dataclass(frozen=True, eq=False, repr=False)
class Gradient:
    """The gradient of a loss: each part is shaped like what was given, summed over axes that were
    broadcast; None where it was not asked for.
    """

    x0: Any
    """In the coordinates of the states."""
    x0_tangent: Any
    """In tangent coordinates (..., tangent_size): the same numbers, but for quaternions."""
    controls: Any
    """(..., T, input_size); (T, input_size) where the controls were an int T."""
    params: Any
    """A dict for a dict; the flat vector (n,) where no params were given."""
    recomputed_steps: int
    """Steps that were run again on the way back, over all chunks of lanes."""
    drift: float
    """With memory="reversible": by how much stepping back missed the initial state, the largest of
    all environments, relative to the largest number of its state; else 0. The gradient is as far
    off."""
    variance: Gradient | None = None
    """Of an estimate from samples (`Smoothed`): the variance of each number, in the same shapes."""

    def __repr__(self) -> str:
        parts = {"x0": self.x0, "controls": self.controls, "params": self.params}
        shapes = [f"{name} {_shape(part)}" for name, part in parts.items() if part is not None]
        return f"<Gradient: {', '.join(shapes)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Linearisation:
    """The next state changes by A dx + B du + P dp, in tangent coordinates; None where a part was
    not asked for.
    """

    A: Any
    """(..., tangent_size, tangent_size)"""
    B: Any
    """(..., tangent_size, input_size)"""
    P: Any
    """(..., tangent_size, parameters)"""
    next: np.ndarray
    """The next state (..., state_size)."""

    def __repr__(self) -> str:
        parts = {"A": self.A, "B": self.B, "P": self.P, "next": self.next}
        shapes = [f"{name} {_shape(part)}" for name, part in parts.items() if part is not None]
        return f"<Linearisation: {', '.join(shapes)}>"


@dataclass(frozen=True, eq=False, repr=False)
class GradientCheck:
    """The verdict of `check_gradient`; printed, it is a table."""

    ok: bool
    """Whether every block agrees within the tolerance."""
    max_relative_error: float
    tolerance: float
    by_block: dict[str, float]
    """Relative error of each block: "x0.angle", "controls", "params.length"."""
    details: dict[str, dict[str, Any]]
    """Of each block also the differences' own noise, and the number that deviates most."""
    text: str
    """The table and the verdict in words."""

    def __repr__(self) -> str:
        return self.text.rstrip()


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The verdict of `diagnose`: how far the gradient of a rollout can be trusted."""

    growth: np.ndarray
    """(..., T): the cotangent's norm before a step over that after it."""
    lyapunov: np.ndarray
    """(...): the mean rate of that growth [1/s]; of a long run the largest Lyapunov exponent."""
    verdict: str
    """The gravest: "fine", "vanishing", "exploding", "chaotic" or "non_finite"."""
    verdicts: list[str]
    """... and that of every environment of the flattened batch."""
    switch_fraction: float
    """Share of the steps in which more or fewer rows of constraints are stiff than in the step
    before: contacts that begin, end or start to slip; 0 for smooth laws."""
    first_nonfinite: tuple[int, int, str, str] | None
    """(environment, step, block, "rollout" or "cotangent"), or None."""
    reliable: bool
    """Whether every environment is fine or vanishing, and every step solved."""
    horizon: float
    """Time over which a cotangent grows a thousandfold [s]; infinite if it does not."""
    advice: str

    def __repr__(self) -> str:
        return f"<Diagnosis {self.verdict}: {self.advice}>"
