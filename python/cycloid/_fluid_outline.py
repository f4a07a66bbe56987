"""Obstacles by their outline: closed splines through points, airfoils among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._core import ModelError
from cycloid._fluid_box import Shape
from cycloid._options import as_integer, as_real, shown

_PARTS = 12  # straight pieces between two points


def _weights(points: int) -> np.ndarray:
    """(pieces, points): the closed cubic spline through points, at places along it."""
    # Coefficients of cubic B-splines from points: (c[-1] + 4 c + c[1]) / 6 = p, a circulant.
    ring = np.zeros(points)
    ring[0], ring[1], ring[-1] = 4 / 6, 1 / 6, 1 / 6
    inverse = np.fft.ifft(1 / np.fft.fft(ring)).real
    solve = np.stack([np.roll(inverse, k) for k in range(points)], axis=1)
    t = np.arange(_PARTS) / _PARTS
    basis = np.stack(
        [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3], axis=1
    ) / 6  # fmt: skip
    spread = np.zeros((points * _PARTS, points))
    for k in range(points):
        for b in range(4):
            spread[k * _PARTS : (k + 1) * _PARTS, (k - 1 + b) % points] += basis[:, b]
    return spread @ solve


class Outline(Shape):
    """A body in the plane by its outline, a closed cubic spline through points (m, 2) [m], as
    signed distances on the grid of a flow of this `shape` and `size`.

    moves, turns and pivot are those of `Shape`. The parameter of the flow is obstacle:#k.sdf;
    `pullback` leads its gradient on to the points.

    >>> import numpy as np
    >>> angle = np.arange(16) * 2 * np.pi / 16
    >>> disc = Outline(0.5 + 0.2 * np.stack([np.cos(angle), np.sin(angle)], 1), (20, 20), (1, 1))
    >>> bool(abs(disc.sdf[10, 10] + 0.2) < 1e-3)
    True
    """

    def __init__(
        self,
        points: Any,
        shape: Sequence[int],
        size: Sequence[float] | float,
        *,
        moves: bool = False,
        turns: bool = False,
        pivot: Any = None,
    ) -> None:
        self.points = as_numbers(points, np.float64, "points")
        """(m, 2) [m]"""
        if self.points.ndim != 2 or self.points.shape[1] != 2 or len(self.points) < 4:
            raise ModelError(f"an outline has four points (m, 2) or more; got {self.points.shape}")
        if not np.isfinite(self.points).all():
            raise ModelError("points of an outline must be finite [m]")
        cells = [as_integer(n, "shape", 1) for n in shape]
        lengths = (size, size) if np.ndim(size) == 0 else size
        lines = [np.linspace(0, s, n + 1) for n, s in zip(cells, lengths, strict=True)]
        corners = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
        self._curve = _weights(len(self.points))
        super().__init__(self._distance(corners), moves=moves, turns=turns, pivot=pivot)

    def _distance(self, corners: np.ndarray) -> np.ndarray:
        low = self._curve @ self.points
        high = np.roll(low, -1, axis=0)
        along = high - low
        flat = corners.reshape(-1, 2)
        # Of every corner, the nearest piece and the part of it that lies before the nearest point.
        self._piece = np.empty(len(flat), int)
        self._part = np.empty(len(flat))
        inside = np.zeros(len(flat), bool)
        blocks = max(1, len(flat) * len(low) // 4_000_000)
        for block in np.array_split(np.arange(len(flat)), blocks):
            gap = flat[block, None] - low
            part = np.clip((gap * along).sum(-1) / (along**2).sum(-1), 0, 1)
            square = ((gap - part[..., None] * along) ** 2).sum(-1)
            nearest = square.argmin(-1)
            self._piece[block] = nearest
            self._part[block] = np.take_along_axis(part, nearest[:, None], 1)[:, 0]
            x, y = flat[block, :1], flat[block, 1:]
            crosses = (low[:, 1] > y) != (high[:, 1] > y)
            with np.errstate(divide="ignore", invalid="ignore"):
                where = low[:, 0] + (y - low[:, 1]) / along[:, 1] * along[:, 0]
            inside[block] = (crosses & (x < where)).sum(-1) % 2 == 1
        self._way = flat - (low[self._piece] + self._part[:, None] * along[self._piece])
        distance = np.hypot(*self._way.T)
        sign = np.where(inside, -1.0, 1.0)
        # d sdf / d(nearest point)
        self._way *= -(sign / np.maximum(distance, 1e-300))[:, None]
        return (sign * distance).reshape(corners.shape[:-1])

    def pullback(self, sdf_bar: Any) -> np.ndarray:
        """The gradient by the points (m, 2), from one by the signed distances."""
        bar = as_numbers(sdf_bar, np.float64, "sdf_bar")
        if bar.shape != self.sdf.shape:
            raise ModelError(f"sdf_bar has shape {self.sdf.shape}; got {bar.shape}")
        of_point = bar.reshape(-1, 1) * self._way
        curve_bar = np.zeros((len(self._curve), 2))
        np.add.at(curve_bar, self._piece, (1 - self._part)[:, None] * of_point)
        np.add.at(curve_bar, (self._piece + 1) % len(curve_bar), self._part[:, None] * of_point)
        return self._curve.T @ curve_bar


class Airfoil(Outline):
    """An airfoil of NACA's four digits as an `Outline`: its leading edge at `nose` (2) [m], chord
    [m], angle of attack [rad], nose up against a flow along x. One that turns does so about the
    quarter of its chord, unless a pivot is given.

    >>> wing = Airfoil("2412", (0.3, 0.5), 0.5, (60, 40), (1.5, 1.0), angle=0.1)
    >>> wing.points.shape
    (60, 2)
    """

    def __init__(
        self,
        digits: str,
        nose: Any,
        chord: float,
        shape: Sequence[int],
        size: Sequence[float] | float,
        *,
        angle: float = 0.0,
        points: int = 60,
        moves: bool = False,
        turns: bool = False,
        pivot: Any = None,
    ) -> None:
        if not isinstance(digits, str) or len(digits) != 4 or not digits.isdigit():
            raise ModelError(f'an airfoil has four digits, as "2412"; got {shown(digits)}')
        length = as_real(chord, "chord")
        camber, where, thick = int(digits[0]) / 100, int(digits[1]) / 10, int(digits[2:]) / 100
        if not (length > 0 and thick > 0) or (camber > 0) != (where > 0):
            raise ModelError(f"no airfoil has digits {digits} and a chord of {chord} m")
        turn = 2 * np.pi * (np.arange(as_integer(points, "points", 8)) + 0.5) / points
        s = 0.5 * (1 + np.cos(turn))  # from the trailing edge over the top to the nose and back
        half = 5 * thick * (
            0.2969 * np.sqrt(s) - 0.1260 * s - 0.3516 * s**2 + 0.2843 * s**3 - 0.1036 * s**4
        )
        line = np.zeros_like(s)
        if camber > 0:
            before = camber / where**2 * (2 * where * s - s**2)
            behind = camber / (1 - where) ** 2 * (1 - 2 * where + 2 * where * s - s**2)
            line = np.where(s < where, before, behind)
        y = line + np.where(turn < np.pi, half, -half)
        c, w = np.cos(as_real(angle, "angle")), np.sin(as_real(angle, "angle"))
        body = length * np.stack([c * s + w * y, -w * s + c * y], axis=1)
        start = as_numbers(nose, np.float64, "nose")
        if turns is True and pivot is None:
            pivot = start + 0.25 * length * np.array([c, -w])
        super().__init__(body + start, shape, size, moves=moves, turns=turns, pivot=pivot)
