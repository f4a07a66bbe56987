"""How much of an optimum survives when the same world is computed otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._identify import Fit
from cycloid._options import as_integer, as_real, as_threads
from cycloid._plan import Plan
from cycloid._system import System


class Trust:
    """What `verify` found.

    survives: the least over the tests of the share of the gain that is left, 0 to 1. by_test:
    {name: share}. exploits: names of the signs that the run lives on weaknesses of the simulator,
    "energy from nothing", "deep penetration", "interpenetration at speed", "force beyond limits";
    details: {name: sentence}. ok: at least half survives, and there is no such sign. verdict: the
    same in one line. costs: {test: (at the start, of the result)}, with "as it was found".
    """

    def __init__(self, core: Any, title: str) -> None:
        self._core, self._title = core, title
        self.survives: float = core.survives
        self.by_test: dict[str, float] = {t[0]: t[1] for t in core.tests}
        self.costs: dict[str, tuple[float, float]] = {"as it was found": core.costs}
        self.costs |= {t[0]: (t[2], t[3]) for t in core.tests}
        self.exploits: tuple[str, ...] = tuple(e[0] for e in core.exploits)
        self.details: dict[str, str] = dict(core.exploits)
        self.ok: bool = core.ok
        self.verdict: str = core.verdict

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes a page that says and shows it, such as "verify.html"."""
        self._core.write(os.fspath(path), self._title)

    def __repr__(self) -> str:
        return f"<Trust: {self.verdict}>"


def verify(
    result: Any,
    *,
    delay: int = 1,
    noise: float = 0.02,
    draws: int = 8,
    std: Mapping[str, Any] | None = None,
    spread: float = 0.05,
    steps: int | None = None,
    starts: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Trust:
    """Runs an optimum again in worlds that ought to give the same answer, and says how much of its
    gain is left: with half and quarter steps, another integrator, softer and harder contacts,
    parameters drawn within their uncertainty, and inputs that come late or noisy. Tests that the
    system cannot vary are left out.

    result: a Plan, which runs with its gains, a Fit, or a Policy of `train_policy`, which sees what
    is. Of a plan, the gain is what it costs less than zero inputs; of a fit, what its squared error
    on held_out (where there is none, on what was fitted) is less than that of the first guess; of a
    policy, what it earns more than zero inputs, from drawn starts.

    delay: of inputs, in steps. noise: of inputs, a standard deviation in units of their range (1
    where there is none). draws: of noise and of parameters. std: {name: standard deviation} of
    parameters; None: `spread` of the value for masses, friction and damping of a robot and all
    positive numbers of a law; of a fit its covariance. steps, starts: of a policy, how long it is
    run (None: an episode, 250 at most) and from how many starts (8).

    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(damping=0.1, dt=0.02)
    >>> cost = cy.cost.Reach("angle", [1.0], weight=100) + cy.cost.Effort(1e-2)
    >>> trust = cy.verify(cy.plan(pendulum, [0.0, 0.0], cost, 80))
    >>> trust.ok, trust.exploits
    (True, ())
    """
    options: dict[str, Any] = {
        "delay": as_integer(delay, "delay", 0, 10**6),
        "noise": as_real(noise, "noise"),
        "draws": as_integer(draws, "draws", 1, 10**6),
        "spread": as_real(spread, "spread"),
        "seed": as_integer(seed, "seed", 0, 2**63),
    }
    for name in ("noise", "spread"):
        if not options[name] >= 0:
            raise Error(f"{name} must not be negative; got {options[name]}")
    if isinstance(result, Plan | Fit) and not (steps is None and starts is None):
        raise Error("steps and starts are of a policy: a plan has its horizon, a fit its data")
    if isinstance(result, Plan):
        options["threads"] = as_threads(threads, result.system._threads)
        return _of_plan(result, options | {"std": _std(result.system, std), "parameters": []})
    if isinstance(result, Fit):
        options["threads"] = as_threads(threads, result.system._threads)
        return _of_fit(result, options | {"std": _std(result.system, std)})
    from cycloid._train_policy import Policy

    if isinstance(result, Policy):
        return _of_policy(result, steps, starts, std, options, threads)
    raise TypeError(f"verify takes a Plan, a Fit or a Policy; got {type(result).__name__}")


def _std(system: System, std: Mapping[str, Any] | None) -> dict[str, list[float]]:
    if std is None:
        return {}
    if not isinstance(std, Mapping):
        raise TypeError(f"std must map names to numbers; got {type(std).__name__}")
    out = {}
    for name, value in std.items():
        shape = system.parameters.info(name).shape
        numbers = as_numbers(value, np.float64, f"std of {name!r}")
        if numbers.shape not in ((), shape):
            raise Error(f"std of {name!r} must be a number or of shape {shape}")
        out[name] = np.broadcast_to(numbers, shape).ravel().tolist()
    return out


def _of_plan(plan: Plan, options: dict[str, Any]) -> Trust:
    objective, system = plan.objective, plan.system
    if objective is None:
        raise Error("verify: this plan was loaded without its cost; give it to Plan.load")
    shapes = plan.states.shape, plan.controls.shape

    def cost(world: Any, states: np.ndarray, controls: np.ndarray) -> float:
        return float(
            objective.value(
                system._like(world), states.reshape(shapes[0]), controls.reshape(shapes[1])
            )
        )

    def flat(array: Any) -> np.ndarray:
        return np.ascontiguousarray(np.zeros(0) if array is None else array, np.float64).ravel()

    low, high = (None, None) if plan.bounds is None else plan.bounds
    params = plan.params
    if isinstance(params, Mapping):
        params = system.parameters.pack(params)
    core = _core.verify_plan(
        system._core,
        x0=flat(plan.x0),
        controls=flat(plan.controls),
        states=flat(plan.states),
        gains=flat(plan.gains),
        low=flat(low),
        high=flat(high),
        params=flat(params),
        t0=float(plan.t0),
        cost=cost,
        **options,
    )
    return Trust(core, f"A plan of {system.name}, doubted")


def _of_policy(
    policy: Any, steps: Any, starts: Any, std: Any, options: dict[str, Any], threads: Any
) -> Trust:
    from cycloid._verify_policy import verify_policy

    physics = policy.task.physics
    options["threads"] = as_threads(threads, physics._threads)
    core = verify_policy(
        policy,
        None if steps is None else as_integer(steps, "steps", 1, 10**7),
        None if starts is None else as_integer(starts, "starts", 1, 10**6),
        options | {"std": _std(physics, std), "parameters": []},
    )
    return Trust(core, f"A policy of {physics.name}, doubted")


def _of_fit(fit: Fit, options: dict[str, Any]) -> Trust:
    recordings = fit.held_out_recordings or fit.recordings
    core = _core.verify_fit(
        fit.system._core,
        fit._core,
        [r._rows for r in recordings],
        fit.guess,
        fit._options,
        **options,
    )
    return Trust(core, f"A fit of {fit.system.name}, doubted")
