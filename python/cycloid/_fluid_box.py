"""Boxes of flows: their sides, obstacles and cells, as `grid` and `lattice` share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._fluid_field import FieldFlow
from cycloid._options import as_integer, as_real, shown

SIDES = (("left", "right"), ("bottom", "top"), ("back", "front"))
_KINDS = ("periodic", "wall", "slip", "inflow", "outflow")


class Obstacle:
    """A solid body in a flow: a `Circle`, a `Box` or a `Shape`."""

    _kind: int
    _numbers: np.ndarray

    def _take_motion(self, moves: Any, turns: Any = False) -> None:
        for name, value in (("moves", moves), ("turns", turns)):
            if not isinstance(value, bool | np.bool_):
                raise TypeError(f"{name} is True or False; got {shown(value)}")
        self.moves = bool(moves)
        """Whether it goes through the grid with its velocity, an input."""
        self.turns = bool(turns)
        """Whether its shape turns with its angular velocity, an input."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def as_row(value: Any, what: str) -> np.ndarray:
    row = as_numbers(value, np.float64, what)
    if row.ndim != 1 or len(row) not in (2, 3) or not np.isfinite(row).all():
        raise ModelError(f"{what} has two or three finite numbers [m]; got {shown(value)}")
    return row


class Circle(Obstacle):
    """A disc, in three dimensions a ball: center (d) [m], radius [m]. moves: through the grid (of
    `grid` only), with the input "obstacle:#0.velocity" that each obstacle has.

    >>> Circle((0.2, 0.2), 0.05)
    <Circle at (0.2, 0.2), radius 0.05>
    """

    _kind = 0

    def __init__(self, center: Any, radius: float, *, moves: bool = False) -> None:
        self._take_motion(moves)
        self.center = as_row(center, "center")
        """(d) [m]"""
        self.radius = as_real(radius, "radius")
        """[m]"""
        if not (self.radius > 0 and np.isfinite(self.radius)):
            raise ModelError(f"the radius of a Circle is positive [m]; got {shown(radius)}")
        self._numbers = np.append(self.center, self.radius)

    def __repr__(self) -> str:
        return f"<Circle at {tuple(map(float, self.center))}, radius {self.radius}>"


class Box(Obstacle):
    """A rectangle or cuboid along the axes: center (d) [m], lengths of its sides `size` (d) [m];
    moves as for `Circle`. turns: in the plane, about its center, with the input
    "obstacle:#0.angular_velocity" that each box and disc has (without it the surface alone turns).

    >>> Box((1.0, 0.5), (0.2, 0.1))
    <Box at (1.0, 0.5), size (0.2, 0.1)>
    """

    _kind = 1

    def __init__(
        self, center: Any, size: Any, *, moves: bool = False, turns: bool = False
    ) -> None:
        self._take_motion(moves, turns)
        self.center = as_row(center, "center")
        """(d) [m]"""
        self.size = as_row(size, "size")
        """(d) [m]"""
        if self.size.shape != self.center.shape or not (self.size > 0).all():
            raise ModelError(
                f"the size of a Box has {len(self.center)} positive lengths [m]; got {shown(size)}"
            )
        self._numbers = np.append(self.center, self.size)

    def __repr__(self) -> str:
        return (
            f"<Box at {tuple(map(float, self.center))}, size {tuple(map(float, self.size))}>"
        )


class Shape(Obstacle):
    """Any body, by its signed distance [m] at the corners of cells, negative inside: an array of
    shape (nx + 1, ny + 1[, nz + 1]); moves as for `Circle`, turns as for `Box` about its pivot (2)
    [m], a parameter "obstacle:#0.pivot".

    >>> import numpy as np
    >>> x, y = np.meshgrid(np.linspace(0, 1, 17), np.linspace(0, 1, 17), indexing="ij")
    >>> Shape(np.hypot(x - 0.5, y - 0.5) - 0.2)
    <Shape (17, 17)>
    """

    _kind = 2

    def __init__(
        self, sdf: Any, *, moves: bool = False, turns: bool = False, pivot: Any = None
    ) -> None:
        self._take_motion(moves, turns)
        self.sdf = as_numbers(sdf, np.float64, "sdf")
        """Signed distances [m]."""
        if self.sdf.ndim not in (2, 3) or not np.isfinite(self.sdf).all():
            raise ModelError(
                f"sdf is a finite array with two or three axes; got shape {self.sdf.shape}"
            )
        self.pivot = None if pivot is None else as_row(pivot, "pivot")
        """About which it turns (2) [m]."""
        if self.turns != (self.pivot is not None):
            raise ModelError(
                "a Shape turns about its pivot: turns=True and pivot=(x, y) [m] belong together"
            )
        self._numbers = np.ascontiguousarray(self.sdf).ravel()
        if self.pivot is not None:
            if self.pivot.shape != (2,):
                raise ModelError(f"a pivot lies in the plane (2) [m]; got {shown(pivot)}")
            self._numbers = np.append(self._numbers, self.pivot)

    def __repr__(self) -> str:
        return f"<Shape {self.sdf.shape}>"


def check_inside(points: np.ndarray, size: Any, ring: Any, what: str) -> None:
    for a, length in enumerate(size):
        beyond = (points[:, a] < 0) | (points[:, a] > length)
        if not ring[a] and beyond.any():
            i = int(np.argmax(beyond))
            raise Error(
                f"{what}[{i}] lies outside the box: {float(points[i, a])} is not within "
                f"0 to {length} m along axis {a}"
            )


def _profile(
    given: Any, axis: int, shape: Sequence[int], size: Sequence[float], what: str
) -> np.ndarray:
    """Velocities (faces, d) of an inflow side."""
    d = len(shape)
    lines = [(np.arange(n) + 0.5) * s / n for n, s in zip(shape, size, strict=True)]
    along = np.meshgrid(*[line for a, line in enumerate(lines) if a != axis], indexing="ij")
    faces = along[0].size
    if callable(given):
        value = given(*along)
        if not isinstance(value, tuple | list | np.ndarray) or len(value) != d:
            raise ModelError(
                f"{what}: a profile returns {d} components, each over the side; got {shown(value)}"
            )
        components = [as_numbers(v, np.float64, what) for v in value]
        if any(v.shape not in ((), along[0].shape) for v in components):
            raise ModelError(
                f"{what}: components of a profile have the shape {along[0].shape} of the side; "
                f"got {[v.shape for v in components]}"
            )
        rows = [np.broadcast_to(v, along[0].shape).ravel() for v in components]
        given = np.stack(rows, axis=-1)
    row = as_numbers(given, np.float64, what)
    if row.shape not in ((d,), (faces, d)):
        raise ModelError(
            f"{what}: velocity has shape ({d},), or ({faces}, {d}) at the side's faces; "
            f"got {row.shape}"
        )
    if not np.isfinite(row).all():
        raise ModelError(f"{what}: velocity must be finite [m/s]")
    return np.ascontiguousarray(np.broadcast_to(row, (faces, d))).ravel()


def _side(
    given: Any, name: str, axis: int, shape: Sequence[int], size: Sequence[float]
) -> tuple[int, np.ndarray]:
    kind, velocity = (given, None) if isinstance(given, str) else (None, None)
    if kind is None:
        if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[0], str):
            raise ModelError(
                f'boundary "{name}" is "periodic", "wall", "slip", "outflow", ("wall", velocity) '
                f'or ("inflow", velocity); got {shown(given)}'
            )
        kind, velocity = given
    if kind not in _KINDS:
        raise ModelError(f'boundary "{name}": there is no "{kind}"; there are {", ".join(_KINDS)}')
    if kind == "inflow":
        if velocity is None:
            raise ModelError(f'boundary "{name}": an inflow needs its velocity: ("inflow", ...)')
        return 3, _profile(velocity, axis, shape, size, f"inflow:{name}")
    if velocity is None:
        return _KINDS.index(kind), np.empty(0)
    if kind != "wall":
        raise ModelError(f'boundary "{name}": "{kind}" takes no velocity')
    row = as_numbers(velocity, np.float64, f"wall:{name}")
    if row.shape != (len(shape),) or not np.isfinite(row).all():
        raise ModelError(
            f'boundary "{name}": the velocity of a wall has {len(shape)} finite numbers [m/s]; '
            f"got {shown(velocity)}"
        )
    return 1, row


@dataclass
class PlainBox:
    """What the core takes."""

    cells: tuple[int, ...]
    lengths: tuple[float, ...]
    ring: list[bool]
    sides: list[Any]
    obstacles: list[Any]
    probes: np.ndarray


def read_box(
    what: str, shape: Any, size: Any, boundary: Any, obstacles: Any, probes: Any
) -> PlainBox:
    """The user's box, checked."""
    cells = tuple(as_integer(n, f"{what}: shape", 1) for n in shape)
    sides_of = (size,) * len(cells) if np.ndim(size) == 0 else size
    lengths = tuple(as_real(s, f"{what}: size") for s in sides_of)
    if len(cells) not in (2, 3) or len(lengths) != len(cells):
        raise ModelError(f"a {what} has two or three axes; got shape {shape} and size {size}")
    known = [name for axis in SIDES[: len(cells)] for name in axis]
    given = dict(boundary or {})
    for name in given:
        if name not in known:
            raise ModelError(f'no side is called {shown(name)}; there are {", ".join(known)}')
    sides = [
        [_side(given.get(name, "periodic"), name, a, cells, lengths) for name in SIDES[a]]
        for a in range(len(cells))
    ]
    if isinstance(obstacles, Obstacle):
        obstacles = (obstacles,)
    for one in obstacles:
        if not isinstance(one, Obstacle):
            raise TypeError(f"an obstacle is a Circle, a Box or a Shape; got {shown(one)}")
    ring = [axis[0][0] == 0 and axis[1][0] == 0 for axis in sides]
    points = np.empty((0, len(cells)))
    if probes is not None:
        points = as_numbers(probes, np.float64, "probes")
        if points.ndim != 2 or points.shape[1] != len(cells) or not np.isfinite(points).all():
            raise ModelError(
                f"probes has shape (p, {len(cells)}), finite [m]; got {points.shape}"
            )
        check_inside(points, lengths, ring, "probes")
    plain = [
        (one._kind, np.ascontiguousarray(one._numbers), one.moves, one.turns)
        for one in obstacles
    ]
    return PlainBox(cells, lengths, ring, sides, plain, np.ascontiguousarray(points).ravel())


class BoxFlow(FieldFlow):
    """A flow in a box of cells."""

    def __init__(self, core: Any, box: PlainBox):
        super().__init__(core)
        self._shape, self._size, self._ring = box.cells, box.lengths, box.ring
        self._sides = [tuple(_KINDS[kind] for kind, _ in axis) for axis in box.sides]

    def _usual(self) -> tuple[str, ...]:
        return "velocity", "pressure"
