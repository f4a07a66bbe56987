"""Flows on staggered grids: boxes with walls, inflow, outflow and obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._fluid_box import SIDES, BoxFlow, Obstacle, as_row, check_inside, read_box
from cycloid._fluid_field import divides_steps
from cycloid._observe import observe
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, shown

_PRESSURES = ("auto", "direct", "multigrid")
_ADVECTIONS = ("central", "semi_lagrangian", "maccormack")
_VISCOUS = ("explicit", "implicit")


class _Scalar:
    """What a flow carries along and spreads."""

    _name: str

    def __init__(
        self,
        diffusivity: float,
        *,
        expansion: float = 0.0,
        gravity: Any = None,
        boundary: Mapping[str, float] | None = None,
    ) -> None:
        self.diffusivity = as_real(diffusivity, "diffusivity")
        """[m²/s]"""
        self.expansion = as_real(expansion, "expansion")
        """[1/K]; of a concentration [1]"""
        self.gravity = None if gravity is None else as_row(gravity, "gravity")
        """(d) [m/s²]"""
        self.boundary = dict(boundary or {})
        """Values of sides and obstacles."""

    def _plain(self, d: int, obstacles: int) -> tuple[Any, ...]:
        walls = [f"obstacle:#{i}" for i in range(obstacles)]
        known = [name for axis in SIDES[:d] for name in axis] + walls
        for name in self.boundary:
            if name not in known:
                raise ModelError(
                    f"no side or obstacle is called {shown(name)}; there are {', '.join(known)}"
                )

        def value(name: str) -> float | None:
            if name not in self.boundary:
                return None
            return as_real(self.boundary[name], f"{self._name}:{name}")

        sides = [[value(name) for name in axis] for axis in SIDES[:d]]
        return self.diffusivity, self.expansion, sides, [value(name) for name in walls]

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: diffusivity {self.diffusivity}, expansion {self.expansion}>"


class Temperature(_Scalar):
    """Heat in a flow, and buoyancy after Boussinesq, an acceleration -expansion T gravity.

    diffusivity [m²/s], expansion [1/K] (0: heat is carried along, and that is all), gravity (d)
    [m/s²]; boundary: temperatures [K] of sides ("left") and obstacles ("obstacle:#0"); those that
    are not named are insulated.

    >>> Temperature(1e-3, expansion=2e-4, gravity=(0, -9.81), boundary={"left": 20.0})
    <Temperature: diffusivity 0.001, expansion 0.0002>
    """

    _name = "temperature"


class Concentration(_Scalar):
    """What is dissolved in a flow: salt, smoke, a dye. As `Temperature`, with a buoyancy of its
    own, -expansion C gravity; a flow may have both (double diffusion).

    expansion [1] is negative where more of it makes the fluid heavier; gravity is one for both.

    >>> Concentration(1e-5, expansion=-0.02, gravity=(0, -9.81))
    <Concentration: diffusivity 1e-05, expansion -0.02>
    """

    _name = "concentration"


def _gravity(scalars: Sequence[_Scalar]) -> list[float]:
    """What both agree on; empty where neither has one."""
    given = [one.gravity for one in scalars if one.gravity is not None]
    if not given and any(one.expansion != 0 for one in scalars):
        raise ModelError("buoyancy needs gravity: Temperature(..., gravity=(0, -9.81))")
    if len(given) == 2 and not np.array_equal(*given):
        raise ModelError("temperature and concentration have one gravity; got two that differ")
    return [float(g) for g in given[0]] if given else []


class GridFlow(BoxFlow):
    """A flow on a staggered grid, made by `cycloid.fluid.grid`.

    A state is the components of velocity one after another, each at its faces in C order: of the
    component along an axis with n cells there are n + 1 faces, those on the sides included, or n
    where the axis is periodic. Temperature and concentration, where they are, follow at cell
    centres, and of each obstacle its displacement (d) [m] where it moves, its angle [rad] where it
    turns.
    """

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

    def _points_of(self, component: int) -> np.ndarray:
        counts = self._counts(component)
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

    def state(
        self, velocity: Any = None, *, temperature: Any = None, concentration: Any = None
    ) -> np.ndarray:
        """A state (state_size,): at rest, or with the given velocity [m/s]; temperature [K] and
        concentration: numbers, arrays over cells or functions of their centres, where the flow has
        them. Obstacles are where they were built.

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
            velocity = (0.0,) * d
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
        for name, given in (("temperature", temperature), ("concentration", concentration)):
            if name in self.state_slices:
                parts.append(self._cells(name, 0.0 if given is None else given))
            elif given is not None:
                raise Error(f"this flow has no {name}: cycloid.fluid.grid(..., {name}=...)")
        row = np.concatenate(parts)
        return np.append(row, np.zeros(self.state_size - len(row))).astype(self.dtype)

    def _cells(self, name: str, given: Any) -> np.ndarray:
        value = given(*np.moveaxis(self.points, -1, 0)) if callable(given) else given
        value = as_numbers(value, np.float64, name)
        if value.shape not in ((), self._shape) or not np.isfinite(value).all():
            raise Error(
                f"{name} is finite, one number or of shape {self._shape}; got {value.shape}"
            )
        return np.broadcast_to(value, self._shape).ravel()

    def field(self, x: Any, name: str = "velocity", params: Any = None) -> np.ndarray:
        """A field at the centres of cells: "velocity" (..., *shape, d), the mean of both faces, or
        an observable over cells: "pressure", "temperature", "concentration" (..., *shape),
        "vorticity" (..., *shape[, 3]).

        >>> import cycloid as cy
        >>> flow = cy.fluid.grid((4, 4), (1.0, 1.0), dt=0.1)
        >>> flow.field(flow.state(), "pressure").shape
        (4, 4)
        """
        if as_text(name) != "velocity":
            values = observe(self, x, names=name, params=params)[name]
            if name in ("temperature", "concentration"):
                return values.reshape(*values.shape[:-1], *self._shape)
            return values
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
        check_inside(where.reshape(-1, d), self._size, self._ring, "points")
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


def grid(
    shape: Sequence[int],
    size: Sequence[float] | float,
    viscosity: float = 1e-3,
    density: float = 1.0,
    boundary: Mapping[str, Any] | None = None,
    obstacles: Sequence[Obstacle] | Obstacle = (),
    dt: float = 0.01,
    inputs: Sequence[str] = (),
    *,
    probes: Any = None,
    lines: Any = None,
    temperature: Temperature | None = None,
    concentration: Concentration | None = None,
    pressure: str = "auto",
    advection: str = "central",
    viscous: str = "explicit",
    substeps: str | None = None,
    dtype: Any = "float64",
) -> GridFlow:
    """Incompressible flow in a box, on a staggered grid: docs/grid_flow.md has the laws.

    shape: cells (nx, ny[, nz]); size: of the box [m], one number for
    equal sides; viscosity: kinematic [m²/s]; density
    [kg/m³]; dt [s]. boundary: of "left", "right" (x), "bottom", "top" (y), "back", "front" (z),
    each "periodic" (where it is not named), "wall", "slip", ("wall", velocity (d)),
    ("inflow", velocity (d), (faces, d) or f(s) -> components at the side's faces) or "outflow".
    obstacles: `Circle`, `Box`, `Shape`. probes: points (p, d) [m]; lines: ends
    (m, 2, 2) [m] of lines in the plane, through which the flux is measured. temperature: a
    `Temperature`; concentration: a `Concentration`. pressure: "auto", by Fourier series in open
    boxes, else by a factor, and in space beyond 32³ cells by conjugate gradients; "direct" or
    "multigrid" choose one. advection: "central" differences with three stages, or along
    characteristics in one, stable at any Courant number: "semi_lagrangian", or "maccormack", of
    second order in space; both of first order in time. viscous: "explicit", or "implicit" after
    Crank and Nicolson: viscosity bounds no step, two stages of second order in time. substeps:
    "auto" divides a step that is too large for the flow into 2, 4, … 64 parts; how many there were
    is in report.counters["substeps"].

    inputs, added to what was built: "force" (d), a uniform acceleration [m/s²]; "inflow:left"
    (faces x d), "wall:top" (d), "obstacle:#0.velocity" (d) [m/s] of its surface, which stays in
    place unless the obstacle was built with moves=True; "obstacle:#0.angular_velocity" [rad/s]
    about its center, which turns the surface, and the shape too with turns=True.

    Parameters: viscosity, density, wall:top.velocity (d), inflow:left.velocity (faces, d),
    obstacle:#0.center (d), .radius, .size, .sdf, .pivot (d), .velocity, .angular_velocity;
    diffusivity, expansion, gravity, temperature:left, temperature:obstacle:#0 where there is
    temperature; concentration.diffusivity, .expansion, concentration:left. Observables:
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
    box = read_box("grid", shape, size, boundary, obstacles, probes)
    cells, lengths, ring = box.cells, box.lengths, box.ring
    if pressure not in _PRESSURES:
        raise ModelError(f'pressure is "auto", "direct" or "multigrid"; got {shown(pressure)}')
    if advection not in _ADVECTIONS:
        raise ModelError(f'advection is one of {", ".join(_ADVECTIONS)}; got {shown(advection)}')
    if viscous not in _VISCOUS:
        raise ModelError(f'viscous is "explicit" or "implicit"; got {shown(viscous)}')
    scalars: list[_Scalar] = []
    for given, kind in ((temperature, Temperature), (concentration, Concentration)):
        if given is None:
            continue
        if not isinstance(given, kind):
            raise TypeError(f"{kind._name} is a cycloid.fluid.{kind.__name__}; got {shown(given)}")
        scalars.append(given)
    ends = np.empty((0, 2, len(cells)))
    if lines is not None:
        ends = as_numbers(lines, np.float64, "lines")
        if ends.ndim != 3 or ends.shape[1:] != (2, 2) or not np.isfinite(ends).all():
            raise ModelError(f"lines has shape (m, 2, 2), finite [m]; got {ends.shape}")
        check_inside(ends.reshape(-1, 2), lengths, ring, "lines")
    core = _core.make_grid_flow(
        list(cells),
        list(lengths),
        as_real(viscosity, "viscosity"),
        as_real(density, "density"),
        as_real(dt, "dt"),
        box.sides,
        box.obstacles,
        [as_text(n) for n in as_names(inputs, "inputs")],
        box.probes,
        np.ascontiguousarray(ends).ravel(),
        [
            None if one is None else one._plain(len(cells), len(box.obstacles))
            for one in (temperature, concentration)
        ],
        _gravity(scalars),
        _PRESSURES.index(pressure),
        _ADVECTIONS.index(advection),
        viscous == "implicit",
        divides_steps(substeps),
        as_precision(dtype),
    )
    return GridFlow(core, box)
