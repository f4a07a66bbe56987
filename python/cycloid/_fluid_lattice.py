"""Flows by the lattice Boltzmann method: boxes with walls, inflow, outflow and obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._fluid_box import BoxFlow, Obstacle, check_inside, read_box
from cycloid._observe import observe
from cycloid._options import as_names, as_precision, as_real, as_text, shown

# Directions and weights in the order of a state; opposite ones lie side by side.
_PLANE = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1))
_SPACE = (
    (0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1),
    (1, 1, 0), (-1, -1, 0), (1, -1, 0), (-1, 1, 0), (1, 0, 1), (-1, 0, -1), (1, 0, -1),
    (-1, 0, 1), (0, 1, 1), (0, -1, -1), (0, 1, -1), (0, -1, 1),
)  # fmt: skip
_COLLISIONS = ("bgk", "trt", "mrt")
_WEIGHTS = {2: (4 / 9, 1 / 9, 1 / 36), 3: (1 / 3, 1 / 18, 1 / 36)}


class LatticeFlow(BoxFlow):
    """A flow on a lattice, made by `cycloid.fluid.lattice`.

    A state holds populations less their weights: direction by direction (`directions`), each over
    the nodes, which are the centres of cells, in C order. Fluid at rest is a row of zeros.
    """

    @property
    def directions(self) -> np.ndarray:
        """(q, d): to which neighbour each population goes."""
        return np.array(_PLANE if len(self._shape) == 2 else _SPACE)

    @property
    def weights(self) -> np.ndarray:
        """(q)"""
        return np.array(_WEIGHTS[len(self._shape)])[np.abs(self.directions).sum(-1)]

    def _node_values(self, given: Any, what: str, count: int) -> np.ndarray:
        values = given(*np.moveaxis(self.points, -1, 0)) if callable(given) else given
        if not isinstance(values, tuple | list | np.ndarray) or len(values) != count:
            raise Error(f"{what} has {count} components; got {shown(values)}")
        parts = []
        for a, value in enumerate(values):
            part = as_numbers(value, np.float64, what)
            if part.shape not in ((), self._shape):
                raise Error(
                    f"component {a} of {what} is one number or of shape {self._shape}; "
                    f"got {part.shape}"
                )
            if not np.isfinite(part).all():
                where = tuple(map(int, np.argwhere(~np.isfinite(part))[0]))
                raise Error(f"component {a} of {what} is not finite at node {where}")
            parts.append(np.broadcast_to(part, self._shape))
        return np.stack(parts, axis=-1)

    def state(self, velocity: Any = None, *, pressure: Any = None) -> np.ndarray:
        """A state (state_size,): at rest, or with the given velocity [m/s] and pressure [Pa], and
        the viscous stresses of that velocity by central differences.

        velocity: a function f(x, y[, z]) -> components, evaluated at the nodes, or one array per
        component; pressure: a function, a number or an array over the nodes.

        >>> import numpy as np
        >>> import cycloid as cy
        >>> flow = cy.fluid.lattice((8, 8), viscosity=0.1)
        >>> x = flow.state(velocity=lambda x, y: (0.1 + 0 * x, 0 * y))
        >>> flow.velocity(x, [[3.2, 4.0]]).round(12)
        array([[0.1, 0. ]])
        """
        d = len(self._shape)
        speed = self.spacing[0] / self.timestep
        density = float(self.parameters.unpack(self.parameters.default)["density"])
        u = np.zeros((*self._shape, d))
        if velocity is not None:
            u = self._node_values(velocity, "velocity", d) / speed
        delta = np.zeros(self._shape)
        if pressure is not None:
            given = pressure(*np.moveaxis(self.points, -1, 0)) if callable(pressure) else pressure
            delta = self._node_values([given], "pressure", 1)[..., 0] * 3 / (density * speed**2)
        along = np.moveaxis(u @ self.directions.T, -1, 0)
        square = (u * u).sum(-1)
        weights = self.weights.reshape(-1, *(1,) * d)
        row = weights * (delta + 3 * along + 4.5 * along**2 - 1.5 * square)
        return (row + weights * self._stresses(u)).ravel().astype(self.dtype)

    def _stresses(self, u: np.ndarray) -> np.ndarray:
        """What viscous stress adds to populations over weights: -3 τ c·(∇u) c, u of the lattice."""
        d = len(self._shape)
        slopes = np.empty((*self._shape, d, d))
        for a in range(d):
            slopes[..., a, :] = np.gradient(u, axis=a)
            if self._ring[a]:
                slopes[..., a, :] = (np.roll(u, -1, a) - np.roll(u, 1, a)) / 2
        slopes -= np.trace(slopes, axis1=-2, axis2=-1)[..., None, None] * np.eye(d) / d
        viscosity = float(self.parameters.unpack(self.parameters.default)["viscosity"])
        relaxation = 3 * viscosity * self.timestep / self.spacing[0] ** 2 + 0.5
        c = self.directions
        return -3 * relaxation * np.moveaxis(np.einsum("...ab,qa,qb->...q", slopes, c, c), -1, 0)

    def field(self, x: Any, name: str = "velocity", params: Any = None) -> np.ndarray:
        """A field over the nodes: "velocity" (..., *shape, d), "pressure" (..., *shape) or
        "vorticity" (..., *shape[, 3]).

        >>> import cycloid as cy
        >>> flow = cy.fluid.lattice((4, 4), viscosity=0.1)
        >>> flow.field(flow.state(), "pressure").shape
        (4, 4)
        """
        return observe(self, x, names=as_text(name), params=params)[name]

    def _between(self, field: np.ndarray, points: Any, open_nodes: Any = None) -> np.ndarray:
        d = len(self._shape)
        where = as_numbers(points, np.float64, "points")
        if where.ndim < 1 or where.shape[-1] != d or not np.isfinite(where).all():
            raise Error(f"points has shape (p, {d}), finite [m]; got {where.shape}")
        check_inside(where.reshape(-1, d), self._size, self._ring, "points")
        s = where / np.array(self.spacing) - 0.5
        low = np.floor(s).astype(int)
        for a, n in enumerate(self._shape):
            if not self._ring[a]:
                low[..., a] = np.clip(low[..., a], 0, n - 2)
        part = s - low
        total: Any = 0.0
        share: Any = 0.0
        for corner in np.ndindex(*(2,) * d):
            weight = np.prod(np.where(corner, part, 1 - part), axis=-1)
            place = tuple(((low + np.array(corner)) % self._shape)[..., a] for a in range(d))
            values = field[place]
            if open_nodes is not None:
                weight = np.where(open_nodes[place], weight, 0.0)
            share = share + weight
            more = (1,) * (values.ndim - weight.ndim)
            total = total + weight.reshape(weight.shape + more) * values
        return total if open_nodes is None else total / np.where(share == 0, 1.0, share)

    def _one_state(self, x: Any) -> np.ndarray:
        row = as_numbers(x, self.dtype, "x")
        if row.shape != (self.state_size,):
            raise Error(f"a state has {self.state_size} numbers; got shape {row.shape}")
        return row

    def velocity(self, x: Any, points: Any, params: Any = None) -> np.ndarray:
        """Velocity (p, d) [m/s] of the state x at points (p, d) [m], linear between nodes."""
        return self._between(self.field(self._one_state(x), "velocity", params), points)

    def pressure(self, x: Any, points: Any, params: Any = None) -> np.ndarray:
        """Pressure (p) [Pa] of the state x at points (p, d) [m], linear between nodes of the
        fluid."""
        pressure = self.field(self._one_state(x), "pressure", params)
        # Inside obstacles it is zero; fluid at rest is zero everywhere.
        return self._between(pressure, points, pressure != 0)


def lattice(
    shape: Sequence[int],
    size: Sequence[float] | float | None = None,
    viscosity: float = 0.01,
    density: float = 1.0,
    boundary: Mapping[str, Any] | None = None,
    obstacles: Sequence[Obstacle] | Obstacle = (),
    dt: float | None = None,
    inputs: Sequence[str] = (),
    *,
    collision: str = "bgk",
    probes: Any = None,
    dtype: Any = "float64",
) -> LatticeFlow:
    """Flow by the lattice Boltzmann method, D2Q9 or D3Q19: docs/lattice.md has the laws.

    shape: cells (nx, ny[, nz]), cubes; size: of the box [m]; without it cells
    measure 1 m and dt is 1 s: the units of the lattice. viscosity: kinematic [m²/s]; density
    [kg/m³]; dt [s]. boundary, obstacles, probes, inputs and parameters: as
    `cycloid.fluid.grid` has them. collision: "bgk", one rate of relaxation, "trt", one more
    for odd parts, which puts flat walls where they are at any viscosity, or "mrt", several, for
    small viscosities.

    Velocities must stay below 0.4 h / dt (a start beyond raises Error with the allowed step), and
    errors of compressibility grow with their square: 0.1 h / dt is a good choice. Observables:
    velocity (*shape, d), pressure, vorticity, kinetic_energy, enstrophy, drag:#0, lift:#0 (the
    fluid's force on an obstacle), probe (p, d), probe_pressure (p).

    >>> import cycloid as cy
    >>> channel = cy.fluid.lattice((16, 12), viscosity=0.05, collision="trt", inputs=("force",),
    ...                            boundary={"bottom": "wall", "top": "wall"})
    >>> channel
    <System lattice: 1728 states, 2 inputs, dt 1000 ms>
    >>> run = cy.rollout(channel, channel.state(), [[1e-5, 0.0]] * 50, save="last")
    >>> bool(channel.field(run.states[-1])[8, 6, 0] > 4e-4)
    True
    """
    if size is None:
        size = tuple(float(n) for n in shape)
        dt = 1.0 if dt is None else dt
    elif dt is None:
        raise ModelError("lattice: a box of given size needs its time step: dt=... [s]")
    if collision not in _COLLISIONS:
        raise ModelError(f'collision is "bgk", "trt" or "mrt"; got {shown(collision)}')
    box = read_box("lattice", shape, size, boundary, obstacles, probes)
    core = _core.make_lattice_flow(
        list(box.cells),
        list(box.lengths),
        as_real(viscosity, "viscosity"),
        as_real(density, "density"),
        as_real(dt, "dt"),
        _COLLISIONS.index(collision),
        box.sides,
        box.obstacles,
        [as_text(n) for n in as_names(inputs, "inputs")],
        box.probes,
        as_precision(dtype),
    )
    return LatticeFlow(core, box)
