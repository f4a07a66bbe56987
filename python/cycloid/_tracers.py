"""Tracers in the picture of a flow of two dimensions: points that drift with the fluid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

_MOST_PARTS = 16  # of the time from one saved state to the next
_STRIDE = 0.7  # of a cell, the longest way of one part


def drift(
    velocity: Callable[[int], np.ndarray],
    times: np.ndarray,
    size: Sequence[float],
    ring: Sequence[bool],
    count: int,
    offset: float = 0.5,
) -> np.ndarray:
    """Places (frames, count, 2) [m] of points that drift from random places in a box.

    velocity: of a frame (nx, ny, 2) [m/s], at (i + offset) cells; linear in between, in time too.
    Who leaves the box comes in again: where it would along a ring, at the other side where fluid
    enters there, else anywhere.

    >>> uniform = lambda k: np.ones((4, 4, 2))
    >>> at = drift(uniform, np.array([0.0, 0.25]), (1, 1), (True, True), 3)
    >>> np.allclose(np.mod(at[1] - at[0], 1), 0.25)
    True
    """
    box, around = np.asarray(size, float), np.asarray(ring, bool)
    chance = np.random.default_rng(0)
    at = chance.uniform(size=(count, 2)) * box
    out = [at.copy()]
    late = velocity(0)
    for k, duration in enumerate(np.diff(times)):
        early, late = late, velocity(k + 1)
        cell = (box / early.shape[:2]).min()
        fastest = max(np.abs(early).max(), np.abs(late).max())
        parts = int(np.clip(np.ceil(fastest * duration / (_STRIDE * cell)), 1, _MOST_PARTS))
        h = duration / parts
        for part in range(parts):
            share = (part + 0.5) / parts
            field = (1 - share) * early + share * late
            half = at + h / 2 * _between(field, at, box, around, offset)
            at = at + h * _between(field, half, box, around, offset)
            at = np.where(around, np.mod(at, box), at)
            lost = (at < 0) | (at > box)
            who = np.flatnonzero(lost.any(axis=1))
            if len(who):
                at[who] = _entries(field, at[who], lost[who], box, around, offset, chance)
        out.append(at.copy())
    return np.array(out)


def _entries(
    field: np.ndarray,
    at: np.ndarray,
    lost: np.ndarray,
    box: np.ndarray,
    around: np.ndarray,
    offset: float,
    chance: np.random.Generator,
) -> np.ndarray:
    """Where those who left at `at`, beyond the axes `lost`, come in: so the same number of them is
    everywhere.
    """
    anywhere = chance.uniform(size=at.shape) * box
    opposite = np.where(lost, np.mod(at, box), anywhere)
    outwards = np.where(at < 0, -1.0, 1.0)
    way = _between(field, opposite, box, around, offset) * outwards
    enters = np.all(~lost | (way > 0), axis=1, keepdims=True)
    return np.where(enters, opposite, anywhere)


def _between(
    field: np.ndarray, at: np.ndarray, box: np.ndarray, around: np.ndarray, offset: float
) -> np.ndarray:
    """The field (nx, ny, 2) at places (p, 2), bilinear; beyond its last points as there."""
    shape = np.array(field.shape[:2])
    s = at / box * shape - offset
    s = np.where(around, s, np.clip(s, 0, shape - 1))
    low = np.floor(s).astype(int)
    x, y = np.moveaxis(s - low, -1, 0)[..., None]
    i, j = np.moveaxis(low, -1, 0)
    i, j, right, above = (q % n for q, n in ((i, shape[0]), (j, shape[1]),
                                             (i + 1, shape[0]), (j + 1, shape[1])))  # fmt: skip
    # At the last point of an axis that is no ring, the next has no share.
    return (
        (1 - x) * (1 - y) * field[i, j]
        + x * (1 - y) * field[right, j]
        + (1 - x) * y * field[i, above]
        + x * y * field[right, above]
    )
