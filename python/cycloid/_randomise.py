"""Parameters drawn at random, a value for each environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers, check_memory
from cycloid._options import as_integer, as_text, shown
from cycloid._system import System, check_system


@dataclass(frozen=True)
class LogNormal:
    """A factor around one: default · exp(s N), N standard normal.

    s: deviation of the logarithm, one number or one for each number of the parameter; 0.1 means
    about ten percent. Signs stay, and zeros stay zero. An inertia has one factor for all six
    numbers, so that it stays that of a real body.
    """

    s: Any


@dataclass(frozen=True)
class Normal:
    """A shift around zero: default + s N, N standard normal.

    s: deviation in the parameter's unit, one number or one for each number of the parameter.
    """

    s: Any


@dataclass(frozen=True)
class Uniform:
    """Values between two ends, whatever the default is.

    a, b: lower and upper end in the parameter's unit, each one number or one for each number of
    the parameter.
    """

    a: Any
    b: Any


def randomise(
    system: System, spreads: Mapping[str, Any], batch: int, seed: int
) -> dict[str, np.ndarray]:
    """Parameters that differ between environments: {name: (batch, *shape)}, in the units of
    `system.parameters.units`, to be given as params to `rollout` and every other function. The
    gradient then comes back by environment.

    spreads: of each name its law: `LogNormal(s)`, `Normal(s)` or `Uniform(a, b)`. The names must
    be in `vary` of the system. The numbers of one parameter are drawn independently.

    Values lie within the constraints of `system.parameters.constraints`: masses and dampings are
    not negative, inertias are positive definite and no principal moment is above the sum of the
    other two. A value that does not is drawn again, all its numbers together, until it does; after
    a hundred thousand draws in vain ParameterError is raised. Where a parameter has no constraint,
    such as a friction or a size, the law is all there is.

    seed, name and environment decide about a value: it does not depend on the other names, on
    their order or on `batch`.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> system = cy.systems.pendulum(vary=("mass", "length"))
    >>> params = cy.randomise(
    ...     system, {"mass": cy.LogNormal(0.1), "length": cy.Uniform(0.5, 1.5)}, batch=4, seed=0)
    >>> {name: value.shape for name, value in params.items()}
    {'mass': (4,), 'length': (4,)}
    >>> run = cy.rollout(system, [1.0, 0.0], 100, params, save="last")
    >>> run.pullback([[1.0, 0.0]]).params["length"].shape       # of each last angle, by its length
    (4,)
    >>> cy.randomise(system, {"gravity": cy.Normal(0.1)}, 4, 0)
    Traceback (most recent call last):
    cycloid.ParameterError: parameter "gravity": it may not differ between environments: name it \
in vary when the system is made
    """
    check_system(system)
    if not isinstance(spreads, Mapping):
        raise TypeError(f"expected a mapping of names to laws; got {type(spreads).__name__}")
    number = as_integer(batch, "batch", 1, 2**32)
    key = as_integer(seed, "seed", 0, 2**64 - 1)
    infos = {name: system.parameters.info(name) for name in spreads}
    for name, p in infos.items():
        check_memory(8 * p.size * number, f"parameter {name!r}")
    laws = [(as_text(name), *_law(name, law)) for name, law in spreads.items()]
    drawn = _core.randomise(system._core, laws, number, key)
    return {name: drawn[name].reshape((number, *p.shape)) for name, p in infos.items()}


def _law(name: str, law: Any) -> tuple[str, list[float], list[float]]:
    """A law as the core takes it."""
    if isinstance(law, Uniform):
        return "Uniform", _numbers(law.a, name, "a"), _numbers(law.b, name, "b")
    if isinstance(law, (LogNormal, Normal)):
        return type(law).__name__, _numbers(law.s, name, "s"), []
    raise TypeError(
        f"parameter {name!r}: expected LogNormal(s), Normal(s) or Uniform(a, b); got {shown(law)}"
    )


def _numbers(value: Any, name: str, what: str) -> list[float]:
    return as_numbers(value, np.float64, f"parameter {name!r}: {what}").ravel().tolist()
