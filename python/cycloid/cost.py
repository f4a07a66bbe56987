"""What a trajectory costs, as a sum of terms, for `cycloid.plan` and `cycloid.MPC`.

>>> import cycloid as cy
>>> cost = cy.cost.Reach("angle", np.pi) + cy.cost.Effort(1e-3) + cy.cost.Smooth(1e-3)
>>> cost
<Cost: Reach("angle") at the end + Effort + Smooth>
>>> pendulum = cy.systems.pendulum()
>>> run = cy.rollout(pendulum, [0.0, 0.0], np.full((50, 1), 2.0))
>>> round(float(cost.value(pendulum, run.states, np.full((50, 1), 2.0))), 3)
8.835
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers, check_trailing, to_rows
from cycloid._core import Error
from cycloid._options import as_integer, as_text, check_one_of, shown
from cycloid._system import System, check_system

__all__ = ["Cost", "Effort", "Function", "Keep", "Reach", "Smooth"]


class Cost:
    """A sum of terms. Terms and costs add up with `+`; a number times a cost scales it."""

    terms: tuple[Any, ...]

    def __init__(self, terms: tuple[Any, ...]) -> None:
        self.terms = terms

    def __add__(self, other: Any) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost((*self.terms, *other.terms))

    def __radd__(self, other: Any) -> Cost:
        if isinstance(other, (int, float)) and other == 0:  # sum([...])
            return self
        return NotImplemented

    def __mul__(self, factor: Any) -> Cost:
        return Cost(tuple(term._scaled(as_weight(factor, "the factor")) for term in self.terms))

    __rmul__ = __mul__

    def value(self, system: System, states: Any, controls: Any, params: Any = None) -> Any:
        """The cost of states (..., T+1, state_size) and controls (..., T, input_size)."""
        values, _, _, lead = self._evaluate(system, states, controls, params, False)
        return values.reshape(lead)[()]

    def gradient(
        self, system: System, states: Any, controls: Any, params: Any = None
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """The cost, and its gradients with respect to states and controls, shaped like them."""
        values, states_bar, controls_bar, lead = self._evaluate(
            system, states, controls, params, True
        )
        T = np.shape(controls)[-2]
        return (
            values.reshape(lead)[()],
            states_bar.reshape((*lead, T + 1, system.state_size)),
            controls_bar.reshape((*lead, T, system.input_size)),
        )

    def _evaluate(
        self, system: System, states: Any, controls: Any, params: Any, with_gradient: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
        check_system(system)
        states = as_numbers(states, np.float64, "states")
        controls = as_numbers(controls, np.float64, "controls")
        check_trailing(states, (-1, system.state_size), "states", "one more than controls")
        check_trailing(controls, (-1, system.input_size), "controls", "one fewer than states")
        T = controls.shape[-2]
        if states.shape[-2] != T + 1:
            raise Error(f"{T} controls need {T + 1} states; got {states.shape[-2]}")
        lead = np.broadcast_shapes(states.shape[:-2], controls.shape[:-2])
        n = math.prod(lead)
        rows = [np.ascontiguousarray(to_rows(a, lead, 2, "it")) for a in (states, controls)]
        rows = [np.repeat(r, n, axis=0) if len(r) < n else r for r in rows]
        packed = None if params is None else flat_params(system, params)
        return (
            *_core.plan_cost(system._core, self._core(), T, *rows, n, packed, with_gradient),
            lead,
        )

    def _core(self) -> list[tuple[Any, ...]]:
        return [term._tuple() for term in self.terms]

    def __repr__(self) -> str:
        return f"<Cost: {' + '.join(term._words() for term in self.terms)}>"


class _Term(Cost):
    """A cost of one term."""

    def __init__(self) -> None:
        super().__init__((self,))

    def __repr__(self) -> str:
        return f"<{self._words()}>"

    def _words(self) -> str:
        return type(self).__name__

    def _tuple(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _scaled(self, factor: float) -> Any:
        raise NotImplementedError


class Reach(_Term):
    """weight · |y ⊖ target|², summed over the chosen steps.

    name: an observable, a block of the state, or "state"; one number of it as "xpos:tip[2]".
    target: its numbers, or one row for each chosen step. weight: a number, or one for each number
    of the difference: orientations (unit quaternions) differ by a rotation vector of three numbers
    [rad]. when: "end", "all" (0 to T), or step indices; negative ones count from the end. There is
    no factor of the time step.
    """

    def __init__(self, name: str, target: Any, weight: Any = 1.0, when: Any = "end") -> None:
        super().__init__()
        if not isinstance(name, str):
            raise TypeError(f"Reach: expected the name of what is to reach it; got {shown(name)}")
        self.name = name
        self.target = np.array(as_numbers(target, np.float64, f'Reach("{name}"): target'))
        self.weight = as_weight(weight, f'Reach("{name}"): weight')
        self.when = as_when(when)

    def _tuple(self) -> tuple[Any, ...]:
        target, weight = self.target.ravel().tolist(), np.ravel(self.weight).tolist()
        return ("reach", as_text(self.name), target, weight, self.when)

    def _scaled(self, factor: Any) -> Reach:
        when = self.when[1] if self.when[0] == "listed" else self.when[0]
        return Reach(self.name, self.target, self.weight * factor, when)

    def _words(self) -> str:
        return f'Reach("{self.name}") {_when_words(self.when)}'


class Effort(_Term):
    """weight · |u|², summed over all steps. weight: a number, or one for each input."""

    _kind = "effort"

    def __init__(self, weight: Any = 1.0) -> None:
        super().__init__()
        self.weight = as_weight(weight, f"{type(self).__name__}: weight")

    def _tuple(self) -> tuple[Any, ...]:
        return (self._kind, np.ravel(self.weight).tolist())

    def _scaled(self, factor: Any) -> Any:
        return type(self)(self.weight * factor)


class Smooth(Effort):
    """weight · |u[t+1] - u[t]|², summed over all steps."""

    _kind = "smooth"


class Function(_Term):
    """A cost of your own: f(states (..., T+1, n), controls (..., T, m)) -> (value (...),
    states_bar, controls_bar), the gradients shaped like what they belong to.

    For methods lbfgs, mppi and cem; the others need second derivatives. A function that returns
    its value alone, or None for gradients, is for mppi and cem; gradient=False says so beforehand.
    """

    def __init__(self, f: Callable[..., Any], *, gradient: bool = True, name: str = "") -> None:
        super().__init__()
        if not callable(f):
            raise TypeError(f"Function: expected a function; got {shown(f)}")
        self.f, self.has_gradient = f, bool(gradient)
        self.name = name or getattr(f, "__name__", type(f).__name__)

    def _tuple(self) -> tuple[Any, ...]:
        return ("function", as_text(self.name), self._call, self.has_gradient)

    def _call(self, states: np.ndarray, controls: np.ndarray, with_gradient: bool) -> Any:
        answer = self.f(states, controls)
        parts = answer if isinstance(answer, tuple) else (answer,)
        if len(parts) == 3 and (parts[1] is None or parts[2] is None):
            parts = parts[:1]
        if with_gradient and len(parts) == 1:
            raise Error(
                f"Function({self.name}) gives a value without a gradient; return (value, "
                'states_bar, controls_bar), or take method "mppi" or "cem"'
            )
        if len(parts) not in (1, 3):
            raise Error(
                f"Function({self.name}) must return (value, states_bar, controls_bar); "
                f"got {len(parts)} parts"
            )
        shapes = ((len(states),), states.shape, controls.shape)
        out = []
        for what, shape, part in zip(("value", "states_bar", "controls_bar"), shapes, parts):
            array = as_numbers(part, np.float64, f"Function({self.name}): {what}")
            try:
                out.append(np.ascontiguousarray(np.broadcast_to(array, shape)))
            except ValueError:
                raise Error(
                    f"Function({self.name}): {what} must have shape {shape}; got {array.shape}"
                ) from None
        return (*out, None, None)[:3]

    def _scaled(self, factor: Any) -> Function:
        def scaled(states: np.ndarray, controls: np.ndarray) -> Any:
            answer = self.f(states, controls)
            if isinstance(answer, tuple):
                return tuple(None if part is None else factor * np.asarray(part) for part in answer)
            return factor * np.asarray(answer)

        return Function(scaled, gradient=self.has_gradient, name=self.name)

    def _words(self) -> str:
        return f"Function({self.name})"


class Keep(_Term):
    """low ≤ y ≤ high at the chosen steps: a constraint, which adds nothing to the cost.

    name, when: as in Reach. low, high: numbers, or one for each number of y; None: no bound. Equal
    ones make an equation. Methods ilqr and multiple_shooting hold it, by an augmented Lagrangian.
    """

    def __init__(self, name: str, low: Any = None, high: Any = None, when: Any = "all") -> None:
        super().__init__()
        if not isinstance(name, str):
            raise TypeError(f"Keep: expected the name of what is kept; got {shown(name)}")
        if low is None and high is None:
            raise Error(f'Keep("{name}"): give low, high or both')
        self.name = name
        self.low = self._limit(low, -np.inf, "low")
        self.high = self._limit(high, np.inf, "high")
        self.when = as_when(when)

    def _limit(self, value: Any, none: float, what: str) -> np.ndarray:
        value = none if value is None else value
        return np.array(as_numbers(value, np.float64, f'Keep("{self.name}"): {what}'))

    def _tuple(self) -> tuple[Any, ...]:
        low, high = np.ravel(self.low).tolist(), np.ravel(self.high).tolist()
        return ("keep", as_text(self.name), low, high, self.when)

    def _scaled(self, factor: Any) -> Keep:
        del factor
        return self

    def _words(self) -> str:
        return f'Keep("{self.name}") {_when_words(self.when)}'


def as_weight(weight: Any, what: str) -> np.ndarray:
    array = np.array(as_numbers(weight, np.float64, what))
    if not np.isfinite(array).all() or (array < 0).any():
        raise Error(f"{what} must be finite and not negative; got {shown(weight)}")
    return array


def as_when(when: Any) -> tuple[str, list[int]]:
    """As the core takes it."""
    if isinstance(when, str):
        check_one_of(when, ("end", "all"), "when", " or step indices")
        return when, []
    indices = np.atleast_1d(np.asarray(when))
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise TypeError(f'when: expected "end", "all" or step indices; got {shown(when)}')
    return "listed", [as_integer(i, "when", -(2**40), 2**40) for i in indices.tolist()]


def _when_words(when: tuple[str, list[int]]) -> str:
    kind, steps = when
    if kind == "end":
        return "at the end"
    if kind == "all":
        return "at all steps"
    return f"at step {steps[0]}" if len(steps) == 1 else f"at {len(steps)} steps"


def as_cost(cost: Any) -> Cost:
    """Raises unless `cost` is one."""
    if isinstance(cost, Cost):
        return cost
    raise TypeError(
        "cost must be made of cycloid.cost terms, such as cy.cost.Reach(name, target) + "
        f"cy.cost.Effort(1e-3); got {shown(cost)}"
    )


def flat_params(system: System, params: Any) -> np.ndarray:
    """One row of parameters, for one environment."""
    from collections.abc import Mapping

    if isinstance(params, Mapping):
        params = system.parameters.pack(params)
    return np.ascontiguousarray(system.parameters._row(params))
