"""What a pullback differentiates: the steps as they were taken, or a smoother thing nearby."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cycloid._options import as_integer, as_real, check_one_of, shown

if TYPE_CHECKING:
    from cycloid._system import System

Mode = tuple[Any, ...]  # as the core takes it

_SEEDS = 2**64 - 1
_SAMPLES = 2**31 - 1


@dataclass(frozen=True)
class FromDistance:
    """`gradient=FromDistance(width)`: on the way back, pairs of a robot's geoms that are up to
    `width` [m] apart act as if they touched, weighted (1 - distance / width)². The run itself is
    the same, bit for bit, and so is the gradient of pairs that touch or are further apart.
    """

    width: float


@dataclass(frozen=True)
class Smoothed:
    """`gradient=Smoothed(sigma, samples, seed)`: the gradient of the mean over Gaussian noise on
    the inputs, for losses with steps in them.

    sigma: standard deviation of the noise, in units of the width of an input's range (ctrlrange),
    and in the input's own unit where it has none; independent for every environment, step and
    input. samples: runs per environment, at least two. seed: of the noise, which is drawn once for
    each pullback. order: "first" averages the samples' exact gradients, "zeroth" weighs the noise
    by what the loss made of it, "mix" weighs the two by their variances and takes the zeroth where
    they differ by more than three standard errors.

    The gradient is that of <states_bar, mean states>, states_bar held. By x0 and params it is the
    mean of the samples' exact gradients. `g.variance` has the shapes of `g`: the variance of each
    number.

    >>> import cycloid as cy
    >>> import numpy as np
    >>> run = cy.rollout(cy.systems.pendulum(), [0.0, 0.0], np.zeros((20, 1)), save="last")
    >>> g = run.pullback([[1.0, 0.0]], gradient=cy.Smoothed(0.1, samples=64))
    >>> exact = run.pullback([[1.0, 0.0]])
    >>> bool(np.abs(g.controls - exact.controls).max() < 1e-4)
    True
    >>> g.variance.controls.shape
    (20, 1)
    """

    sigma: float
    samples: int = 64
    seed: int = 0
    order: str = "mix"


def as_mode(gradient: Any) -> Mode | None:
    """As the core takes it; None where nothing was said."""
    if gradient is None:
        return None
    if isinstance(gradient, str):
        others = ", cycloid.FromDistance(width) or cycloid.Smoothed(sigma, samples, seed)"
        check_one_of(gradient, ("exact",), "gradient", others)
        return ("exact",)
    if isinstance(gradient, FromDistance):
        return ("from_distance", as_real(gradient.width, "the width of FromDistance"))
    if isinstance(gradient, Smoothed):
        check_one_of(gradient.order, ("first", "zeroth", "mix"), "the order of Smoothed")
        return (
            "smoothed",
            as_real(gradient.sigma, "the sigma of Smoothed"),
            as_integer(gradient.samples, "the samples of Smoothed", 2, _SAMPLES),
            as_integer(gradient.seed, "the seed of Smoothed", 0, _SEEDS),
            gradient.order,
        )
    raise TypeError(
        'gradient must be "exact", cycloid.FromDistance(width) or cycloid.Smoothed(sigma, samples, '
        f"seed); got {shown(gradient)}"
    )


def with_mode(system: System, gradient: Any) -> System:
    """The system whose gradient this is by default: itself where nothing was said. Equal modes give
    one and the same.
    """
    mode = as_mode(gradient)
    return system if mode is None else system._with_gradient(mode)
