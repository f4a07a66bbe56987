"""Soft bodies: solids of tetrahedra or hexahedra, cloth and rods, whose time step is a minimisation
and whose gradient is one more solve with the matrix that the step has factored anyway.

The state of a body of n vertices is [positions (3 n) [m], velocities (3 n) [m/s]], vertex by
vertex. docs/soft.md has the laws.

>>> import numpy as np
>>> import cycloid as cy
>>> mesh = cy.soft.box(cells=(4, 1, 1), size=(0.4, 0.1, 0.1))
>>> left = np.flatnonzero(mesh.vertices[:, 0] == 0)
>>> beam = cy.soft.solid(mesh, young=1e5, pinned=left, dt=0.02)
>>> beam
<System solid: 120 states, 0 inputs, dt 20 ms>
>>> run = cy.rollout(beam, beam.initial_state(), 10)
>>> bool(run.states[-1, 3 * 4 + 2] < 0)              # the free end sinks
True
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._mesh_files import read_mesh, write_vtu
from cycloid._observe import observe
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, shown
from cycloid._robot import encoded_paths, find_library, model_source, warn_user
from cycloid._system import System

__all__ = [
    "Box",
    "Capsule",
    "Equilibrium",
    "EquilibriumGradient",
    "Mesh",
    "Muscle",
    "Plane",
    "Pressure",
    "Sphere",
    "Spring",
    "Traction",
    "box",
    "cloth",
    "equilibrium",
    "flexes",
    "read",
    "rod",
    "sheet",
    "solid",
    "write",
]

_MOST = 2**25


class _Triangles:
    """What the core's mesh is to cells, to triangles."""

    nodes, element = 3, "triangle"

    def __init__(self, points: np.ndarray, triangles: np.ndarray) -> None:
        self._points, self._triangles = points.copy(), triangles.copy()

    def vertices(self) -> np.ndarray:
        return self._points.copy()

    def cells(self) -> np.ndarray:
        return self._triangles.copy()


class Mesh:
    """Vertices (n, 3) [m] and cells (m, k) in VTK's order: k = 4 is a tetrahedron, 8 a hexahedron,
    10 a quadratic tetrahedron (corners, then the edges 01 12 02 03 13 23), and 3 a triangle of
    cloth.

    Cells that are turned inside out or have no volume, vertices that belong to none, indices out of
    range, and parts that do not touch are ModelErrors, which say where; parts=True allows the last.

    >>> Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    <Mesh: 1 tet, 4 vertices>
    >>> Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1, 3]])
    Traceback (most recent call last):
    cycloid.ModelError: cell 0 near (0.25, 0.25, 0.25) is turned inside out or has no volume \
(least -0.16666666666666666 m³ at a point of integration); its nodes must be in VTK's order
    """

    def __init__(self, vertices: Any, cells: Any, *, parts: bool = False) -> None:
        points = as_numbers(vertices, np.float64, "vertices")
        nodes = np.asarray(cells)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ModelError(f"vertices must have shape (n, 3); got {points.shape}")
        if nodes.ndim != 2 or nodes.dtype.kind not in "iu":
            raise ModelError(
                f"cells must be an integer array (m, k); got {nodes.dtype} of shape {nodes.shape}"
            )
        if nodes.size and (nodes.max() >= 2**31 or nodes.min() < -(2**31)):
            raise ModelError(f"cells name vertices 0 to {len(points) - 1}; got {nodes.max()}")
        self._parts = bool(parts)
        if nodes.shape[1] == 3:
            self._core = _Triangles(points, np.ascontiguousarray(nodes, np.int32))
            cloth(self)  # looks at them
            return
        self._core = _core.make_soft_mesh(
            points.ravel(),
            np.ascontiguousarray(nodes, np.int32).ravel(),
            nodes.shape[1],
            bool(parts),
        )

    @classmethod
    def _of(cls, core: Any) -> Mesh:
        mesh = cls.__new__(cls)
        mesh._core, mesh._parts = core, False
        return mesh

    @property
    def vertices(self) -> np.ndarray:
        """(n, 3) [m], a copy."""
        return self._core.vertices().reshape(-1, 3)

    @property
    def cells(self) -> np.ndarray:
        """(m, k), a copy."""
        return self._core.cells().reshape(-1, self._core.nodes)

    @property
    def element(self) -> str:
        """ "tet", "hex", "tet10" or "triangle"."""
        return self._core.element

    def surface(self) -> np.ndarray:
        """The faces (k, 3), (k, 4) or (k, 6) of a solid that belong to one cell alone, seen from
        outside with their corners counter-clockwise; of quadratic tetrahedra the nodes of the
        edges follow. Of triangles: themselves.

        >>> box((2, 1, 1)).surface().shape
        (10, 4)
        """
        if self.element == "triangle":
            return self.cells
        nodes, each = _core.soft_surface(self._core)
        return nodes.reshape(-1, each)

    def __repr__(self) -> str:
        return f"<Mesh: {len(self.cells)} {self.element}, {len(self.vertices)} vertices>"


def box(
    cells: Sequence[int] = (1, 1, 1), size: Sequence[float] = (1, 1, 1), element: str = "hex"
) -> Mesh:
    """A box from the origin with cells along x, y and z. "tet" and "tet10" cut each brick into six
    around its diagonal. Vertices run along x first, then y, then z.

    >>> box((2, 1, 1), (0.2, 0.1, 0.1), element="tet10")
    <Mesh: 12 tet10, 45 vertices>
    """
    if len(tuple(cells)) != 3 or len(tuple(size)) != 3:
        raise Error(f"a box has three numbers of cells and three sizes; got {cells}, {size}")
    counts = [as_integer(n, "box: cells", 1, _MOST) for n in cells]
    lengths = [as_real(s, "box: size") for s in size]
    return Mesh._of(_core.soft_box(*counts, *lengths, as_text(element)))


def sheet(cells: Sequence[int] = (10, 10), size: Sequence[float] = (1, 1)) -> Mesh:
    """A flat cloth from the origin in the plane z = 0, with cells along x and y, each cut into two
    triangles. Vertices run along x first.

    >>> sheet((2, 1))
    <Mesh: 4 triangle, 6 vertices>
    """
    if len(tuple(cells)) != 2 or len(tuple(size)) != 2:
        raise Error(f"a sheet has two numbers of cells and two sizes; got {cells}, {size}")
    nx, ny = (as_integer(n, "sheet: cells", 1, _MOST) for n in cells)
    lx, ly = (as_real(s, "sheet: size") for s in size)
    x, y = np.meshgrid(np.linspace(0, lx, nx + 1), np.linspace(0, ly, ny + 1))
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    corner = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    a, b, c, d = corner, corner + 1, corner + nx + 2, corner + nx + 1
    triangles = np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], axis=1)
    return Mesh(points, triangles.reshape(-1, 3))


def _three(value: Any, what: str) -> np.ndarray:
    row = as_numbers(value, np.float64, what)
    if row.shape != (3,) or not np.isfinite(row).all():
        raise Error(f"{what} has three finite numbers; got {shown(value)}")
    return row


class _Obstacle:
    """A rigid shape that soft bodies cannot enter."""

    _shape: int

    def __init__(self, position: Any, rotation: Any, size: Sequence[float]) -> None:
        self.position = _three(position, "position")
        """[m]"""
        self.rotation = _three(rotation, "rotation")
        """Rotation vector [rad]."""
        self.size = np.zeros(3)
        for i, s in enumerate(size):
            self.size[i] = as_real(s, f"{type(self).__name__}: size")
            if not self.size[i] > 0:
                raise ModelError(f"{type(self).__name__}: sizes are positive [m]; got {s}")

    def _row(self) -> dict[str, Any]:
        return {
            "shape": self._shape,
            "position": self.position,
            "rotation": self.rotation,
            "size": self.size,
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {tuple(float(p) for p in self.position)}>"


class Plane(_Obstacle):
    """The half space below a plane through `point` [m] with its normal.

    >>> Plane((0, 0, 0.1))
    <Plane at (0.0, 0.0, 0.1)>
    """

    _shape = 0

    def __init__(self, point: Any = (0, 0, 0), normal: Any = (0, 0, 1)) -> None:
        n = _three(normal, "normal")
        length = np.linalg.norm(n)
        if not length > 0:
            raise ModelError("the normal of a plane must not be zero")
        n = n / length
        axis, sine, cosine = np.array([-n[1], n[0], 0.0]), np.hypot(n[0], n[1]), n[2]
        axis = axis / sine if sine > 0 else np.array([1.0, 0.0, 0.0])
        super().__init__(point, np.arctan2(sine, cosine) * axis, ())


class Sphere(_Obstacle):
    """A sphere of radius [m] about `position` [m].

    >>> Sphere((0, 0, 0), 0.25)
    <Sphere at (0.0, 0.0, 0.0)>
    """

    _shape = 1

    def __init__(self, position: Any, radius: float) -> None:
        super().__init__(position, (0, 0, 0), (radius,))


class Capsule(_Obstacle):
    """A cylinder of radius and half length [m] with round ends, along its z axis, turned by a
    rotation vector [rad].

    >>> Capsule((0, 0, 0), 0.05, 0.5, rotation=(0, 1.5708, 0))
    <Capsule at (0.0, 0.0, 0.0)>
    """

    _shape = 2

    def __init__(
        self, position: Any, radius: float, half_length: float, rotation: Any = (0, 0, 0)
    ) -> None:
        super().__init__(position, rotation, (radius, half_length))


class Box(_Obstacle):
    """A box of half sides (3) [m], turned by a rotation vector [rad].

    >>> Box((0, 0, 0), (0.1, 0.1, 0.1))
    <Box at (0.0, 0.0, 0.0)>
    """

    _shape = 3

    def __init__(self, position: Any, half_sides: Any, rotation: Any = (0, 0, 0)) -> None:
        super().__init__(position, rotation, list(_three(half_sides, "half_sides")))


class _Load:
    _kind: int

    def __init__(self, nodes: Any, widths: tuple[int, ...], value: Any, points: Any) -> None:
        rows = np.asarray(nodes)
        if rows.dtype.kind not in "iu" or rows.ndim != len(widths[:1]) + (widths != (1,)):
            raise ModelError(f"{type(self).__name__}: {shown(nodes)} are no faces or vertices")
        each = 1 if widths == (1,) else rows.shape[1]
        if each not in widths:
            raise ModelError(
                f"{type(self).__name__}: a face has {widths} nodes, as mesh.surface() gives them; "
                f"got an array of shape {rows.shape}"
            )
        self._data = {
            "kind": self._kind,
            "nodes": np.ascontiguousarray(rows, np.int32).ravel(),
            "each": int(each),
            "value": np.atleast_1d(as_numbers(value, np.float64, "value")),
            "points": as_numbers(points, np.float64, "points").ravel(),
        }
        if not np.isfinite(self._data["value"]).all():
            raise Error(f"{type(self).__name__}: value must be finite; got {shown(value)}")

    def _row(self) -> dict[str, Any]:
        return self._data

    def __repr__(self) -> str:
        count = len(self._data["nodes"]) // self._data["each"]
        return f"<{type(self).__name__} on {count}: {self._data['value'].tolist()}>"


class Traction(_Load):
    """A force per area of the rest shape (3) [Pa] on faces, as mesh.surface() gives them. It keeps
    its direction. Parameter "load:#0.value".

    >>> Traction(box().surface()[:1], (0, 0, -100))
    <Traction on 1: [0.0, 0.0, -100.0]>
    """

    _kind = 0

    def __init__(self, faces: Any, vector: Any) -> None:
        super().__init__(faces, (3, 4, 6), _three(vector, "vector"), ())


class Pressure(_Load):
    """A pressure [Pa] on faces, against their normals as they are at the time. On the faces of
    mesh.surface() a positive one pushes inwards.

    >>> Pressure(box().surface(), 1e3)
    <Pressure on 6: [1000.0]>
    """

    _kind = 1

    def __init__(self, faces: Any, value: float) -> None:
        super().__init__(faces, (3, 4, 6), as_real(value, "value"), ())


class Spring(_Load):
    """Springs of one stiffness [N/m] from vertices (k) to points (k, 3) [m], at rest with no
    length. Parameter "load:#0.value": the stiffness.

    >>> Spring([0], [(0, 0, 1)], 50.0)
    <Spring on 1: [50.0]>
    """

    _kind = 2

    def __init__(self, vertices: Any, points: Any, stiffness: float) -> None:
        ends = as_numbers(points, np.float64, "points")
        if ends.shape != (np.asarray(vertices).size, 3) or not np.isfinite(ends).all():
            raise ModelError(
                f"springs from {np.asarray(vertices).size} vertices have as many finite points, "
                f"(k, 3); got an array of shape {ends.shape}"
            )
        if as_real(stiffness, "stiffness") < 0:
            raise ModelError(f"a spring's stiffness is not negative; got {stiffness}")
        super().__init__(vertices, (1,), stiffness, ends)


class Muscle:
    """Fibres along `direction`, (3) or one per cell (k, 3), of the rest shape, in some cells of a
    solid (None: in all). Under the activation, the input "muscle:#0", they pull with
    activation·strength [Pa]; along them the body is stiffer by `stiffness` [Pa]. Parameters
    "muscle:#0.strength" and "muscle:#0.stiffness".

    >>> Muscle((0, 0, 1), 2e4)
    <Muscle in all cells: 20000.0 Pa>
    """

    def __init__(
        self, direction: Any, strength: float, cells: Any = None, stiffness: float = 0.0
    ) -> None:
        rows = as_numbers(direction, np.float64, "direction")
        if rows.ndim not in (1, 2) or rows.shape[-1] != 3:
            raise ModelError(f"direction has shape (3,) or (cells, 3); got {rows.shape}")
        own = np.empty(0, np.int32) if cells is None else np.asarray(cells)
        if own.ndim != 1 or own.dtype.kind not in "iu" or (cells is not None and own.size == 0):
            raise ModelError(f"a muscle has a row of cells; got {shown(cells)}")
        self._data = {
            "cells": np.ascontiguousarray(own, np.int32),
            "direction": rows.ravel(),
            "strength": as_real(strength, "strength"),
            "stiffness": as_real(stiffness, "stiffness"),
        }

    def _row(self) -> dict[str, Any]:
        return self._data

    def __repr__(self) -> str:
        where = self._data["cells"].size or "all"
        return f"<Muscle in {where} cells: {self._data['strength']} Pa>"


def _held(pinned: Any, n: int) -> np.ndarray:
    """A mark for each number (3 n), from vertices or a mask."""
    held = np.zeros((n, 3), np.uint8)
    if pinned is None:
        return held.ravel()
    given = np.asarray(pinned)
    if given.dtype == bool or (given.ndim == 2 and given.shape == (n, 3)):
        if given.shape not in ((n,), (n, 3)):
            raise ModelError(f"a mask of pinned numbers has shape ({n}, 3); got {given.shape}")
        held[:] = given.reshape(n, -1) != 0
        return held.ravel()
    if given.size == 0:
        return held.ravel()
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ModelError(
            f"pinned takes vertex indices or a mask ({n}, 3); got {given.dtype} of {given.shape}"
        )
    if given.min() < 0 or given.max() >= n:
        wrong = given[(given < 0) | (given >= n)][0]
        raise ModelError(f"pinned has vertex {wrong}; there are vertices 0 to {n - 1}")
    held[given] = 1
    return held.ravel()


def _row(value: Any, what: str) -> np.ndarray:
    row = np.atleast_1d(as_numbers(value, np.float64, what))
    if row.ndim > 1:
        raise Error(f"{what} must be one number or one per cell; got an array of {row.shape}")
    return row


def _floor(floor: Any) -> list[dict[str, Any]]:
    if floor is None:
        return []
    if isinstance(floor, Plane):
        return [floor._row()]
    if isinstance(floor, (tuple, list)):
        if len(floor) != 2:
            raise ModelError(f"floor is a height, (point, normal) or a Plane; got {shown(floor)}")
        return [Plane(*floor)._row()]
    return [Plane((0, 0, as_real(floor, "floor")))._row()]


def _rows(given: Any, kind: type, what: str) -> list[dict[str, Any]]:
    items = [given] if isinstance(given, kind) else list(given)
    for item in items:
        if not isinstance(item, kind):
            raise TypeError(f"{what}: expected shapes of cycloid.soft; got {shown(item)}")
    return [item._row() for item in items]


def _common(n: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """What every soft body takes, as the core wants it. given: the arguments of `solid`, `cloth` or
    `rod` by name."""
    if as_precision(given["dtype"]) != "float64":
        raise ModelError(
            f'soft bodies compute in "float64" alone; got {shown(given["dtype"])}: their steps are '
            "solved to 1e-10 of the body's length, which single precision rounds away; arrays of "
            "float32 are taken and converted"
        )
    for what in ("integrator", "contact", "linear_solver"):
        if not isinstance(given[what], str):
            raise TypeError(f"{what} must be a name; got {shown(given[what])}")
    touches_itself = given["self_contact"]
    if not isinstance(touches_itself, (bool, np.bool_)):
        raise TypeError(f"self_contact is True or False; got {shown(touches_itself)}")
    weight = as_numbers(given["gravity"], np.float64, "gravity")
    if weight.shape != (3,):
        raise Error(f"gravity has three numbers [m/s²]; got an array of shape {weight.shape}")
    points = as_numbers(() if given["mass"] is None else given["mass"], np.float64, "mass")
    if points.ndim != 1:
        raise Error(f"mass has one number per vertex ({n},); got an array of shape {points.shape}")
    return {
        "damping": as_real(given["damping"], "damping"),
        "drag": as_real(given["drag"], "drag"),
        "mass": points,
        "held": _held(given["pinned"], n),
        "gravity": weight,
        "inputs": [as_text(name) for name in as_names(given["inputs"], "inputs")],
        "dt": as_real(given["dt"], "dt"),
        "integrator": as_text(given["integrator"]),
        "floor": _floor(given["floor"]),
        "obstacles": _rows(given["obstacles"], _Obstacle, "obstacles"),
        "contact": as_text(given["contact"]),
        **{
            name: 0.0 if given[name] is None else as_real(given[name], name)
            for name in ("contact_width", "contact_stiffness")
        },
        "friction": as_real(given["friction"], "friction"),
        "stiction": as_real(given["stiction"], "stiction"),
        "self_contact": bool(touches_itself),
        "linear_solver": as_text(given["linear_solver"]),
        "loads": _rows(given["loads"], _Load, "loads"),
    }


def read(path: Any, *, parts: bool = False) -> Mesh:
    """The mesh in a file: .msh (Gmsh, 2.2 and 4.1, ASCII), .vtk (ASCII), .vtu, .obj, .stl; other
    kinds through meshio, where it is installed.

    Tetrahedra or hexahedra make a solid, triangles cloth. Of a file with both the solid is taken;
    points that belong to no cell are left out. parts: as of `Mesh`.

    >>> read("nowhere.msh")
    Traceback (most recent call last):
    FileNotFoundError: no mesh at nowhere.msh
    """
    points, cells = read_mesh(path)
    try:
        return Mesh(points, cells, parts=parts)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def write(
    path: Any, mesh: Mesh, states: Any = None, *, times: Any = None, body: System | None = None
) -> list[Path]:
    """Writes a mesh, or a run, for ParaView; returns the files.

    path ends in .vtu: the mesh, at rest or in one state (state_size). It ends in .pvd: rows of
    states (S, state_size) at times (S) [s] (None: 0, 1, ...), one .vtu each beside it. Points have
    `displacement` [m] and `velocity` [m/s]; with body, a solid, cells have `stress` [Pa] (first
    Piola, nine numbers).

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> cube = box()
    >>> [file.name for file in write(folder / "cube.vtu", cube)]
    ['cube.vtu']
    >>> read(folder / "cube.vtu")
    <Mesh: 1 hex, 8 vertices>
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"what is written is a cycloid.soft.Mesh; got {shown(mesh)}")
    file, rest = Path(path), mesh.vertices
    if file.suffix not in (".vtu", ".pvd"):
        raise Error(f"a mesh is written as .vtu, a run as .pvd; got {file.name}")
    rows = np.zeros((1, 0)) if states is None else as_numbers(states, np.float64, "states")
    size = 2 * rest.size if body is None else body.state_size
    if states is not None and (rows.ndim > 2 or rows.shape[-1] != size):
        raise Error(f"states must have shape (S, {size}); got {rows.shape}")
    rows = np.atleast_2d(rows)
    if file.suffix == ".vtu" and len(rows) != 1:
        raise Error(f"a .vtu holds one state; {len(rows)} make a .pvd")
    when = np.arange(len(rows), dtype=float) if times is None else as_numbers(times, float, "times")
    if when.shape != (len(rows),):
        raise Error(f"times must have shape ({len(rows)},); got {when.shape}")
    stress = None
    if body is not None and states is not None and "stress" in body.observables:
        u = np.zeros((len(rows), body.input_size))
        stress = observe(body, rows, u, names=["stress"]).values.reshape(len(rows), -1, 9)
    written = []
    for k, row in enumerate(rows):
        one = file if file.suffix == ".vtu" else file.with_name(f"{file.stem}_{k:05d}.vtu")
        points, of_points, of_cells = rest, {}, {}
        if states is not None:
            points, velocity = row[: 2 * rest.size].reshape(2, -1, 3)
            of_points = {"displacement": points - rest, "velocity": velocity}
            of_cells = {} if stress is None else {"stress": stress[k]}
        write_vtu(one, mesh.element, points, mesh.cells, of_points, of_cells)
        written.append(one)
    if file.suffix == ".pvd":
        entries = [
            f'<DataSet timestep="{t!r}" file="{one.name}"/>'
            for t, one in zip(when.tolist(), written, strict=True)
        ]
        head = '<VTKFile type="Collection" version="1.0" byte_order="LittleEndian"><Collection>'
        file.write_text("\n".join(['<?xml version="1.0"?>', head, *entries,
                                   "</Collection></VTKFile>", ""]))
        written.insert(0, file)
    return written


def _pictured(core: Any, common: dict[str, Any], **what: Any) -> System:
    """A System that knows how it looks (`cycloid.view`)."""
    body = System(core)
    body._picture = "soft", what | {"around": [*common["floor"], *common["obstacles"]]}
    return body


def solid(
    mesh: Mesh,
    material: str = "neo_hookean",
    young: Any = 1e5,
    poisson: Any = 0.3,
    density: Any = 1000.0,
    damping: float = 0.0,
    pinned: Any = None,
    gravity: Sequence[float] = (0, 0, -9.81),
    inputs: Sequence[str] = (),
    floor: Any = None,
    friction: float = 0.0,
    dt: float = 0.01,
    integrator: str = "implicit_euler",
    dtype: Any = "float64",
    *,
    drag: float = 0.0,
    mass: Any = None,
    mooney: float = 0.5,
    formulation: str = "standard",
    yield_stress: float = 0.0,
    hardening: float = 0.0,
    muscles: Any = (),
    obstacles: Any = (),
    contact: str = "barrier",
    contact_width: float | None = None,
    contact_stiffness: float | None = None,
    stiction: float = 1e-3,
    self_contact: bool = False,
    loads: Any = (),
    linear_solver: str = "auto",
) -> System:
    """A deformable body.

    material: "linear", "corotated", "stvk", "neo_hookean" (stable), "neo_hookean_log",
    "mooney_rivlin", whose share of C01 is `mooney`, or "plastic", which flows above `yield_stress`
    [Pa] (von Mises) and hardens by `hardening` [Pa]; its state has a block "plastic". young [Pa],
    poisson and density [kg/m³]: one number, or one per cell; they are the small-strain numbers of
    every material. damping [s] is Kelvin and Voigt's, drag [1/s] a force -drag·mass·velocity; mass
    (n): point masses [kg]. formulation: "standard", or "locking_free": hexahedra with enhanced
    strains, which bend and keep their volume without locking, at two to three times the work.

    pinned: vertices, or a mask (n, 3) of single numbers. They stand at their rest vertex plus the
    input "pinned" (one displacement [m] for each, in the order of the state). inputs may also have
    "force" (3 n) [N]. integrator: "implicit_euler", "newmark" or "bdf2".

    floor: a height [m], (point, normal) or a `Plane`; obstacles: shapes of this module. contact:
    "barrier" keeps every vertex of the surface outside, from `contact_width` [m] on (None: 1e-3 of
    the body's length), "compliant" pushes back with `contact_stiffness` [N/m] (None: from the
    weight) and lets it sink in. friction: Coulomb's coefficient, below the speed `stiction` [m/s]
    it sticks. self_contact: the surface keeps away from itself by a barrier, in vertices, edges and
    faces (None of `contact_width` is then at most half the least distance of the rest shape).
    muscles: `Muscle`s, with inputs "muscle:#0", one number each. Inputs "floor" and
    "obstacle:#0" (6): a displacement [m] and a rotation vector [rad];
    "floor.velocity", "obstacle:#0.velocity" (6): velocity and spin of the surface. loads:
    `Traction`, `Pressure` and `Spring`. linear_solver: "direct", "iterative" (conjugate gradients,
    to 1e-12 in the gradient: less memory) or "auto", which is direct up to 100,000 numbers.

    Parameters: young, poisson, density, damping, drag, gravity, mass, vertices, and mooney,
    yield_stress, hardening, muscle:#0.strength, muscle:#0.stiffness, friction, contact.stiffness,
    contact.width, contact.stiction, floor.position, floor.rotation, obstacle:#0.position,
    .rotation, .size and load:#0.value where they act. Observables: energy, elastic_energy,
    kinetic_energy, potential_energy, reaction, stress, strain, volume, centre_of_mass and
    "vertex:#7".

    >>> import cycloid as cy
    >>> cube = solid(box(), "stvk", inputs=("force",))
    >>> cube.parameters.shapes["vertices"]
    (8, 3)
    >>> solid(box(), poisson=0.5)
    Traceback (most recent call last):
    cycloid.ParameterError: system "solid": poisson must be above -1 and below 0.5; got 0.5: \
matter that keeps its volume exactly; take 0.49
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"a solid is made of a cycloid.soft.Mesh; got {shown(mesh)}")
    if mesh.element == "triangle":
        raise ModelError("triangles make cloth: cycloid.soft.cloth; a solid has k 4, 8 or 10")
    if not isinstance(material, str):
        raise TypeError(f"material must be a name; got {shown(material)}")
    if not isinstance(formulation, str):
        raise TypeError(f"formulation must be a name; got {shown(formulation)}")
    common = _common(len(mesh.vertices), locals())
    return _pictured(
        _core.make_solid(
            mesh._core,
            as_text(material),
            _row(young, "young"),
            _row(poisson, "poisson"),
            _row(density, "density"),
            as_real(mooney, "mooney"),
            as_text(formulation),
            as_real(yield_stress, "yield_stress"),
            as_real(hardening, "hardening"),
            _rows(muscles, Muscle, "muscles"),
            common,
        ),
        common,
        count=len(mesh.vertices),
        faces=mesh.surface(),
        cells=mesh.cells,
    )


def cloth(
    mesh: Mesh,
    young: Any = 1e6,
    poisson: float = 0.3,
    thickness: float = 1e-3,
    density: float = 200.0,
    damping: float = 0.0,
    pinned: Any = None,
    gravity: Sequence[float] = (0, 0, -9.81),
    inputs: Sequence[str] = (),
    floor: Any = None,
    friction: float = 0.0,
    dt: float = 0.01,
    integrator: str = "implicit_euler",
    dtype: Any = "float64",
    *,
    drag: float = 0.0,
    mass: Any = None,
    shear: float = 0.0,
    warp: Any = (1, 0, 0),
    obstacles: Any = (),
    contact: str = "barrier",
    contact_width: float | None = None,
    contact_stiffness: float | None = None,
    stiction: float = 1e-3,
    self_contact: bool = False,
    loads: Any = (),
    linear_solver: str = "auto",
) -> System:
    """Cloth, or a thin shell: a mesh of triangles that stretch and bend.

    young [Pa], poisson, thickness [m] and density [kg/m³] (1 m² weighs density·thickness); the rest
    is as in `solid`. Woven cloth has two stiffnesses, young=(warp, weft), a modulus `shear` [Pa]
    and the direction of its `warp` in the rest shape; poisson is then the contraction of the weft
    under tension along the warp. Pinning all vertices of a triangle clamps its neighbours. It
    touches itself where self_contact says so, by its middle surface. Parameters: young (one, or
    two), poisson, shear, thickness, density, damping, ..., vertices.

    >>> towel = cloth(sheet((4, 4)), pinned=[0, 4])
    >>> towel
    <System cloth: 150 states, 0 inputs, dt 10 ms>
    >>> cloth(box())
    Traceback (most recent call last):
    cycloid.ModelError: cloth is made of triangles; got hex: cycloid.soft.solid takes those
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"a cloth is made of a cycloid.soft.Mesh; got {shown(mesh)}")
    if mesh.element != "triangle":
        raise ModelError(
            f"cloth is made of triangles; got {mesh.element}: cycloid.soft.solid takes those"
        )
    common = _common(len(mesh.vertices), locals())
    return _pictured(
        _core.make_cloth(
            mesh.vertices.ravel(),
            np.ascontiguousarray(mesh.cells, np.int32).ravel(),
            _row(young, "young"),
            as_real(poisson, "poisson"),
            as_real(shear, "shear"),
            _three(warp, "warp"),
            as_real(thickness, "thickness"),
            as_real(density, "density"),
            mesh._parts,
            common,
        ),
        common,
        count=len(mesh.vertices),
        faces=mesh.cells,
    )


def rod(
    points: Any,
    young: float = 1e7,
    radius: float = 1e-2,
    density: float = 1000.0,
    damping: float = 0.0,
    pinned: Any = None,
    gravity: Sequence[float] = (0, 0, -9.81),
    inputs: Sequence[str] = (),
    floor: Any = None,
    friction: float = 0.0,
    dt: float = 0.01,
    integrator: str = "implicit_euler",
    dtype: Any = "float64",
    *,
    poisson: float = 0.3,
    drag: float = 0.0,
    mass: Any = None,
    obstacles: Any = (),
    contact: str = "barrier",
    contact_width: float | None = None,
    contact_stiffness: float | None = None,
    stiction: float = 1e-3,
    self_contact: bool = False,
    loads: Any = (),
    linear_solver: str = "auto",
) -> System:
    """A rod of round section through points (n, 3) [m], which stretches, bends and twists.

    young [Pa], radius [m], density [kg/m³], poisson (for twist: G = young/2(1 + poisson)); the rest
    is as in `solid`. The points are its rest shape, straight or curved. The state has, after
    positions and velocities, the angle of each segment about its tangent [rad] (n - 1), zero at
    rest, and its rate [rad/s] (n - 1). Pinning two neighbouring points clamps the segment between
    them, its angle too; the input "twist" turns clamped segments about themselves [rad], one angle
    for each. self_contact: the surface of the rod keeps away from itself, by a barrier that begins
    at a gap of `contact_width` (None: a fifth of the radius); parts that are nearer to each other
    along the rod than half a turn around such a gap do not count. Parameters: young, radius,
    poisson, density, damping, ..., vertices.

    >>> import numpy as np
    >>> line = np.linspace((0, 0, 0), (1, 0, 0), 11)
    >>> rod(line, pinned=[0, 1])
    <System rod: 86 states, 0 inputs, dt 10 ms>
    """
    row = as_numbers(points, np.float64, "points")
    if row.ndim != 2 or row.shape[1] != 3:
        raise ModelError(f"points must have shape (n, 3); got {row.shape}")
    common = _common(len(row), locals())
    return _pictured(
        _core.make_rod(
            row.ravel(),
            as_real(young, "young"),
            as_real(radius, "radius"),
            as_real(density, "density"),
            as_real(poisson, "poisson"),
            common,
        ),
        common,
        count=len(row),
        radius=as_real(radius, "radius"),
    )


def flexes(
    path_or_xml: str | os.PathLike[str],
    *,
    dt: float | None = None,
    integrator: str = "implicit_euler",
    inputs: Sequence[str] = (),
    contact: str = "barrier",
    contact_width: float | None = None,
    contact_stiffness: float | None = None,
    stiction: float = 1e-3,
    self_contact: bool | None = None,
    linear_solver: str = "auto",
    search_paths: Sequence[str | os.PathLike[str]] = (),
) -> dict[str, System]:
    """The flexes of an MJCF file, or of XML text, as soft bodies by their names (docs/soft.md has
    the laws).

    Vertices start where they are at qpos0, with their bodies' masses; those without joints are
    pinned. Parameters: young, poisson and thickness, edge.stiffness, edge.damping,
    equality.stiffness and equality.damping where they act, and those of `solid`. Planes, spheres,
    capsules and boxes of bodies that stand still are obstacles, in the model's order, larger by the
    flex's radius. self_contact: None as the model says. dt: None for the model's time step. The
    rest is as in `solid`.

    Joints, controls, tendons and sensors besides flexes are left out, with a warning. ModelError,
    with the name of the element, for flexes whose law is not supported: interpolated ones (dof
    "trilinear", "quadratic"), elasticity of dim 1, plastic flow, vertices held by bodies that move.

    >>> import cycloid as cy
    >>> towel = cy.soft.flexes('''<mujoco> <worldbody>
    ...   <flexcomp name="towel" type="grid" dim="2" count="5 5 1" spacing=".1 .1 .1" mass="0.2">
    ...     <elasticity young="1e5" poisson="0.3" thickness="1e-3" elastic2d="both"/>
    ...     <contact selfcollide="none"/> <pin id="0 4"/> </flexcomp> </worldbody> </mujoco>''')
    >>> towel
    {'towel': <System towel: 150 states, 0 inputs, dt 2 ms>}
    """
    if self_contact is not None and not isinstance(self_contact, (bool, np.bool_)):
        raise TypeError(f"self_contact is True, False or None; got {shown(self_contact)}")
    wishes = {
        "dt": None if dt is None else as_real(dt, "dt"),
        "integrator": as_text(integrator),
        "inputs": [as_text(name) for name in as_names(inputs, "inputs")],
        "contact": as_text(contact),
        "contact_width": 0.0 if contact_width is None else as_real(contact_width, "contact_width"),
        "contact_stiffness": 0.0
        if contact_stiffness is None
        else as_real(contact_stiffness, "contact_stiffness"),
        "stiction": as_real(stiction, "stiction"),
        "self_contact": None if self_contact is None else bool(self_contact),
        "linear_solver": as_text(linear_solver),
    }
    find_library()
    made, messages = _core.load_flexes(
        model_source(path_or_xml), encoded_paths(search_paths), wishes
    )
    warn_user(messages)
    bodies = {}
    for name, core, count, faces, each, elements, around in made:
        shape = {} if each == 2 else {"faces": faces.reshape(-1, each)}
        if len(elements) != len(faces):
            shape["cells"] = elements.reshape(-1, 4)
        bodies[name] = _pictured(core, {"floor": [], "obstacles": around}, count=count, **shape)
    return bodies


class EquilibriumGradient:
    """What `Equilibrium.pullback` gives."""

    def __init__(self, params: Any, controls: np.ndarray) -> None:
        self.params = params
        """A dict for a dict; the flat vector (n,) where no params were given."""
        self.controls = controls
        """(input_size,)"""

    def __repr__(self) -> str:
        return f"<EquilibriumGradient: params, controls {self.controls.shape}>"


class Equilibrium:
    """A body at rest: `equilibrium` makes it."""

    def __init__(self, core: Any, unpack: Any) -> None:
        self._core, self._unpack = core, unpack
        self.state: np.ndarray = core.state()
        """(state_size,): positions, and velocities of zero."""
        self.converged: bool = core.converged
        self.residual: float = core.residual
        """The last step of the search over the body's length; 0 where it converged."""
        self.iterations: int = core.iterations
        self.load_steps: int = core.load_steps
        self.load: float = core.load
        """The share of the loads that acts: 1, but for points of a path."""
        self.stable: bool = core.stable
        """The stiffness is positive definite."""
        self.loads: np.ndarray = core.loads()
        """(k,): shares of the loads along the path; empty without an arc_length."""

    def point(self, k: int) -> Equilibrium:
        """Point k of the path, 0 to len(loads) - 1 or from the end, with a pullback of its own, at
        its share of the loads.
        """
        index = as_integer(k, "k", -len(self.loads))
        return Equilibrium(self._core.point(index + len(self.loads) * (index < 0)), self._unpack)

    @property
    def states(self) -> np.ndarray:
        """(k, state_size): the states along the path."""
        rows = [self._core.point(k).state() for k in range(len(self.loads))]
        return np.array(rows).reshape(len(rows), len(self.state))

    def pullback(self, state_bar: Any) -> EquilibriumGradient:
        """The gradient with respect to params and controls, at a constant share of the loads; also
        where the place is not stable. GradientError where it did not converge, or where the body is
        about to give way: the stiffness is singular.
        """
        bar = as_numbers(state_bar, np.float64, "state_bar")
        if bar.shape != self.state.shape:
            raise Error(f"state_bar must have shape {self.state.shape}; got {bar.shape}")
        if not np.isfinite(bar).all():
            raise Error("state_bar must be finite")
        params, controls = self._core.pullback(bar)
        return EquilibriumGradient(self._unpack(params), controls)

    def __repr__(self) -> str:
        end = "" if self.converged else f", not converged: residual {self.residual:.1e}"
        if self.converged and not self.stable:
            end += ", not stable"
        return f"<Equilibrium: {self.iterations} iterations in {self.load_steps} load steps{end}>"


def equilibrium(
    system: System,
    x0: Any = None,
    u: Any = None,
    params: Any = None,
    *,
    arc_length: float | None = None,
    steps: int = 400,
    threads: int | None = None,
) -> Equilibrium:
    """The place of rest of a soft body under gravity and constant inputs u.

    x0: where the search starts; None: the rest shape, and the loads come in steps where they cannot
    come at once. A body that something leaves free to move as a whole is a ModelError that names
    the motions.

    arc_length [m]: follow the path of rest from no load to the whole, through places at which the
    body gives way and the loads must fall for it to stay at rest. Each of at most `steps` steps is
    so long (the root of the mean square displacement of a vertex); `loads` and `states` have the
    path, `point(k)` a place of it. Without it, a body that gives way is found where it comes to
    rest after that.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> mesh = cy.soft.box((4, 1, 1), (0.4, 0.1, 0.1))
    >>> left = np.flatnonzero(mesh.vertices[:, 0] == 0)
    >>> rest = cy.soft.equilibrium(cy.soft.solid(mesh, pinned=left))
    >>> rest.converged
    True
    >>> cy.soft.equilibrium(cy.soft.solid(mesh, pinned=left[:1]))
    Traceback (most recent call last):
    cycloid.ModelError: nothing holds the body against rotation x, rotation y and rotation z: \
without inertia it has no place of rest; pin vertices
    """
    if not isinstance(system, System):
        raise TypeError(f"expected a System; got {shown(system)}")

    def numbers(value: Any, size: int, what: str) -> np.ndarray:
        if value is None:
            return np.empty(0)
        row = as_numbers(value, np.float64, what)
        if row.shape != (size,):
            raise Error(f"{what} must have shape ({size},); got {row.shape}")
        return row

    start = numbers(x0, system.state_size, "x0")
    controls = numbers(u, system.input_size, "u")
    if isinstance(params, Mapping):
        vector = system.parameters.pack(params)
        if vector.ndim != 1:
            raise Error("equilibrium takes one set of params, not a batch")
    else:
        vector = numbers(params, system.parameters.size, "params")

    def unpack(bar: np.ndarray) -> Any:
        if not isinstance(params, Mapping):
            return bar
        whole = system.parameters.unpack(bar)
        return {name: whole[name] for name in params}

    count = 0 if threads is None else as_integer(threads, "threads", 1)
    length = 0.0
    if arc_length is not None:
        if isinstance(arc_length, (bool, np.bool_)):
            raise TypeError(f"arc_length is a length [m]; got {shown(arc_length)}")
        length = as_real(arc_length, "arc_length")
        if not length > 0:
            raise Error(f"arc_length must be positive [m]; got {shown(arc_length)}")
    points = as_integer(steps, "steps", 1, 2**31 - 1)
    core = _core.soft_equilibrium(system._core, start, controls, vector, length, points, count)
    return Equilibrium(core, unpack)
