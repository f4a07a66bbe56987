"""Flows on staggered grids: boxes with walls, inflow, outflow and obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._observe import observe
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, shown
from cycloid._system import System

_SIDES = (("left", "right"), ("bottom", "top"), ("back", "front"))
_KINDS = ("periodic", "wall", "slip", "inflow", "outflow")


class Obstacle:
    """A solid body in a flow: a `Circle`, a `Box` or a `Shape`."""

    _kind: int
    _numbers: np.ndarray

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def _row(value: Any, what: str) -> np.ndarray:
    row = as_numbers(value, np.float64, what)
    if row.ndim != 1 or len(row) not in (2, 3) or not np.isfinite(row).all():
        raise ModelError(f"{what} has two or three finite numbers [m]; got {shown(value)}")
    return row


class Circle(Obstacle):
    """A disc, in three dimensions a ball: center (d) [m], radius [m].

    >>> Circle((0.2, 0.2), 0.05)
    <Circle at (0.2, 0.2), radius 0.05>
    """

    _kind = 0

    def __init__(self, center: Any, radius: float) -> None:
        self.center = _row(center, "center")
        """(d) [m]"""
        self.radius = as_real(radius, "radius")
        """[m]"""
        if not (self.radius > 0 and np.isfinite(self.radius)):
            raise ModelError(f"the radius of a Circle is positive [m]; got {shown(radius)}")
        self._numbers = np.append(self.center, self.radius)

    def __repr__(self) -> str:
        return f"<Circle at {tuple(map(float, self.center))}, radius {self.radius}>"


class Box(Obstacle):
    """A rectangle or cuboid along the axes: center (d) [m], lengths of its sides `size` (d) [m].

    >>> Box((1.0, 0.5), (0.2, 0.1))
    <Box at (1.0, 0.5), size (0.2, 0.1)>
    """

    _kind = 1

    def __init__(self, center: Any, size: Any) -> None:
        self.center = _row(center, "center")
        """(d) [m]"""
        self.size = _row(size, "size")
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
    shape (nx + 1, ny + 1[, nz + 1]).

    >>> import numpy as np
    >>> x, y = np.meshgrid(np.linspace(0, 1, 17), np.linspace(0, 1, 17), indexing="ij")
    >>> Shape(np.hypot(x - 0.5, y - 0.5) - 0.2)
    <Shape (17, 17)>
    """

    _kind = 2

    def __init__(self, sdf: Any) -> None:
        self.sdf = as_numbers(sdf, np.float64, "sdf")
        """Signed distances [m]."""
        if self.sdf.ndim not in (2, 3) or not np.isfinite(self.sdf).all():
            raise ModelError(
                f"sdf is a finite array with two or three axes; got shape {self.sdf.shape}"
            )
        self._numbers = np.ascontiguousarray(self.sdf).ravel()

    def __repr__(self) -> str:
        return f"<Shape {self.sdf.shape}>"


class GridFlow(System):
    """A flow on a staggered grid, made by `cycloid.fluid.grid`.

    A state is the components of velocity one after another, each at its faces in C order: of the
    component along an axis with n cells there are n + 1 faces, those on the sides included, or n
    where the axis is periodic.
    """

    def __init__(self, core: Any, shape: tuple[int, ...], size: tuple[float, ...], ring: Any):
        super().__init__(core)
        self._shape, self._size, self._ring = shape, size, ring

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return self._shape

    @property
    def size(self) -> tuple[float, ...]:
        """Of the box [m]."""
        return self._size

    @property
    def spacing(self) -> tuple[float, ...]:
        """Of the cells [m]."""
        return tuple(length / n for length, n in zip(self._size, self._shape, strict=True))

    @property
    def points(self) -> np.ndarray:
        """Centres of the cells (*shape, d) [m]."""
        return self._points_of(None)

    def faces(self, axis: int) -> np.ndarray:
        """Where the component along an axis lives (*faces, d) [m]; their shape is that of the
        component in a state.

        >>> import cycloid as cy
        >>> flow = cy.fluid.grid((4, 3), (4.0, 3.0), dt=0.1, boundary={"left": "wall",
        ...                                                           "right": "wall"})
        >>> flow.faces(0).shape, flow.faces(1).shape
        ((5, 3, 2), (4, 3, 2))
        """
        return self._points_of(as_integer(axis, "axis", 0, len(self._shape) - 1))

    def _counts(self, component: int) -> tuple[int, ...]:
        return tuple(
            n + (a == component and not self._ring[a]) for a, n in enumerate(self._shape)
        )

    def _points_of(self, component: int | None) -> np.ndarray:
        counts = self._shape if component is None else self._counts(component)
        lines = [
            (np.arange(n) + (0.0 if a == component else 0.5)) * h
            for a, (n, h) in enumerate(zip(counts, self.spacing, strict=True))
        ]
        return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)

    def _components(self, x: Any) -> list[np.ndarray]:
        row = as_numbers(x, np.float64, "x")
        if row.ndim < 1 or row.shape[-1] != self.state_size:
            raise Error(f"a state has {self.state_size} numbers; got shape {row.shape}")
        parts, at = [], 0
        for a in range(len(self._shape)):
            counts = self._counts(a)
            n = int(np.prod(counts))
            parts.append(row[..., at : at + n].reshape(*row.shape[:-1], *counts))
            at += n
        return parts

    def state(self, velocity: Any = None) -> np.ndarray:
        """A state (state_size,): at rest, or with the given velocity [m/s].

        velocity: a function f(x, y[, z]) -> components, evaluated where each component lives, or
        one array per component, each of the shape of its faces. It is taken as it is: a step
        projects it, so that the first state after it has no divergence.

        >>> import numpy as np
        >>> import cycloid as cy
        >>> flow = cy.fluid.grid((8, 8), (2 * np.pi, 2 * np.pi), viscosity=0.01, dt=0.01)
        >>> x = flow.state(velocity=lambda x, y: (np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)))
        >>> x.shape
        (128,)
        """
        d = len(self._shape)
        if velocity is None:
            return np.zeros(self.state_size, self.dtype)
        if not callable(velocity) and len(velocity) != d:
            raise Error(f"velocity has {d} components; got {len(velocity)}")
        parts = []
        for a in range(d):
            counts = self._counts(a)
            if callable(velocity):
                values = velocity(*np.moveaxis(self._points_of(a), -1, 0))
                if not isinstance(values, tuple | list | np.ndarray) or len(values) != d:
                    raise Error(f"velocity must return {d} components; got {shown(values)}")
                part = as_numbers(values[a], np.float64, "velocity")
            else:
                part = as_numbers(velocity[a], np.float64, "velocity")
            try:
                part = np.broadcast_to(part, counts)
            except ValueError:
                raise Error(
                    f"component {a} of velocity lives at faces of shape {counts}; got {part.shape}"
                ) from None
            if not np.isfinite(part).all():
                where = np.argwhere(~np.isfinite(part))[0]
                raise Error(
                    f"component {a} of velocity is not finite at face {tuple(map(int, where))}"
                )
            parts.append(part.ravel())
        return np.concatenate(parts).astype(self.dtype)

    def field(self, x: Any, name: str = "velocity", params: Any = None) -> np.ndarray:
        """A field at the centres of cells: "velocity" (..., *shape, d), the mean of both faces, or
        an observable over cells: "pressure" (..., *shape), "vorticity" (..., *shape[, 3]).

        >>> import cycloid as cy
        >>> flow = cy.fluid.grid((4, 4), (1.0, 1.0), dt=0.1)
        >>> flow.field(flow.state(), "pressure").shape
        (4, 4)
        """
        if as_text(name) != "velocity":
            seen = observe(self, x, names=name, params=params)
            return seen[name]
        out = []
        for a, part in enumerate(self._components(x)):
            axis = part.ndim - len(self._shape) + a
            low = np.take(part, np.arange(self._shape[a]), axis)
            high = np.take(part, np.arange(1, self._shape[a] + 1), axis, mode="wrap")
            out.append((low + high) / 2)
        return np.stack(out, axis=-1)

    def _probe(self, x: Any, points: Any, params: Any, pressure: bool) -> np.ndarray:
        d = len(self._shape)
        row, where = as_numbers(x, np.float64, "x"), as_numbers(points, np.float64, "points")
        if row.shape != (self.state_size,):
            raise Error(f"a state has {self.state_size} numbers; got shape {row.shape}")
        if where.ndim < 1 or where.shape[-1] != d or not np.isfinite(where).all():
            raise Error(f"points has shape (p, {d}), finite [m]; got {where.shape}")
        _check_inside(where.reshape(-1, d), self._size, self._ring, "points")
        vector = self.parameters.default if params is None else params
        if isinstance(vector, Mapping):
            vector = self.parameters.pack(vector)
        values = _core.grid_probe(
            self._core,
            np.ascontiguousarray(row),
            np.ascontiguousarray(vector, np.float64),
            np.ascontiguousarray(where).ravel(),
            pressure,
        )
        return values.reshape(where.shape[:-1] if pressure else where.shape)

    def velocity(self, x: Any, points: Any, params: Any = None) -> np.ndarray:
        """Velocity (p, d) [m/s] of the state x at points (p, d) [m], linear between faces.

        >>> import cycloid as cy
        >>> flow = cy.fluid.grid((4, 4), (1.0, 1.0), dt=0.1)
        >>> x = flow.state(velocity=lambda x, y: (1.0, 0 * y))
        >>> flow.velocity(x, [[0.3, 0.6]])
        array([[1., 0.]])
        """
        return self._probe(x, points, params, False)

    def pressure(self, x: Any, points: Any, params: Any = None) -> np.ndarray:
        """Pressure (p) [Pa] of the state x at points (p, d) [m], linear between cells."""
        return self._probe(x, points, params, True)


def _check_inside(points: np.ndarray, size: Any, ring: Any, what: str) -> None:
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
        if isinstance(value, tuple | list):
            if len(value) != d:
                raise ModelError(f"{what}: a profile returns {d} components; got {len(value)}")
            value = np.stack([np.broadcast_to(np.asarray(v, float), along[0].shape) for v in value],
                             axis=-1)
        given = np.asarray(value, float).reshape(-1, d) if np.ndim(value) > 1 else value
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


def grid(
    shape: Sequence[int],
    size: Sequence[float],
    viscosity: float = 1e-3,
    density: float = 1.0,
    boundary: Mapping[str, Any] | None = None,
    obstacles: Sequence[Obstacle] = (),
    dt: float = 0.01,
    inputs: Sequence[str] = (),
    *,
    probes: Any = None,
    lines: Any = None,
    dtype: Any = "float64",
) -> GridFlow:
    """Incompressible flow in a box, on a staggered grid: docs/grid_flow.md has the laws.

    shape: cells (nx, ny[, nz]); size: of the box [m]; viscosity: kinematic [m²/s]; density
    [kg/m³]; dt [s]. boundary: of "left", "right" (x), "bottom", "top" (y), "back", "front" (z),
    each "periodic" (where it is not named), "wall", "slip", ("wall", velocity (d)),
    ("inflow", velocity (d), (faces, d) or f(s) -> components at the side's faces) or "outflow".
    obstacles: `Circle`, `Box`, `Shape`. probes: points (p, d) [m]; lines: ends
    (m, 2, 2) [m] of lines in the plane, through which the flux is measured.

    inputs, added to what was built: "force" (d), a uniform acceleration [m/s²]; "inflow:left"
    (faces x d), "wall:top" (d), "obstacle:#0.velocity" (d) [m/s] of its surface, which stays in
    place; "obstacle:#0.angular_velocity" [rad/s] about its center.

    Parameters: viscosity, density, wall:top.velocity (d), inflow:left.velocity (faces, d),
    obstacle:#0.center (d), .radius, .size, .sdf, .velocity, .angular_velocity. Observables:
    kinetic_energy, enstrophy, divergence (the largest), vorticity and pressure (cells), drag:#0,
    lift:#0 (the fluid's force on an obstacle), probe (p, d), probe_pressure (p), flux (m), from
    left to right of who walks along the line [m²/s]. A wall moves along itself: the component of
    its velocity across it does not act.

    A start whose time step is too large raises Error, with CFL and the allowed step; later it is
    in the report.

    >>> import cycloid as cy
    >>> cavity = cy.fluid.grid((16, 16), (1.0, 1.0), viscosity=0.01, dt=0.02, boundary={
    ...     "left": "wall", "right": "wall", "bottom": "wall", "top": ("wall", (1.0, 0.0))})
    >>> cavity
    <System grid: 544 states, 0 inputs, dt 20 ms>
    >>> run = cy.rollout(cavity, cavity.state(), 50, save="last")
    >>> float(cy.observe(cavity, run.states[-1], names="divergence").values[0]) < 1e-12
    True
    >>> cy.fluid.grid((8, 8), (1.0, 1.0), boundary={"left": ("inflow", (1.0, 0.0)),
    ...                                            "right": "wall"})
    Traceback (most recent call last):
    cycloid.ModelError: what flows in must flow out: a box with an "inflow" side needs an \
"outflow" side
    """
    cells = tuple(as_integer(n, "grid: shape", 1) for n in shape)
    lengths = tuple(as_real(s, "grid: size") for s in size)
    if len(cells) not in (2, 3) or len(lengths) != len(cells):
        raise ModelError(f"a grid has two or three axes; got shape {shape} and size {size}")
    known = [name for axis in _SIDES[: len(cells)] for name in axis]
    given = dict(boundary or {})
    for name in given:
        if name not in known:
            raise ModelError(f'no side is called {shown(name)}; there are {", ".join(known)}')
    sides = [
        [_side(given.get(name, "periodic"), name, a, cells, lengths) for name in _SIDES[a]]
        for a in range(len(cells))
    ]
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
        _check_inside(points, lengths, ring, "probes")
    ends = np.empty((0, 2, len(cells)))
    if lines is not None:
        ends = as_numbers(lines, np.float64, "lines")
        if ends.ndim != 3 or ends.shape[1:] != (2, 2) or not np.isfinite(ends).all():
            raise ModelError(f"lines has shape (m, 2, 2), finite [m]; got {ends.shape}")
        _check_inside(ends.reshape(-1, 2), lengths, ring, "lines")
    core = _core.make_grid_flow(
        list(cells),
        list(lengths),
        as_real(viscosity, "viscosity"),
        as_real(density, "density"),
        as_real(dt, "dt"),
        sides,
        [(one._kind, np.ascontiguousarray(one._numbers)) for one in obstacles],
        [as_text(n) for n in as_names(inputs, "inputs")],
        np.ascontiguousarray(points).ravel(),
        np.ascontiguousarray(ends).ravel(),
        as_precision(dtype),
    )
    return GridFlow(core, cells, lengths, ring)


