"""Soft bodies: solids of tetrahedra or hexahedra whose time step is a minimisation, and whose
gradient is one more solve with the matrix that the step has factored anyway.

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

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, shown
from cycloid._system import System

__all__ = ["Equilibrium", "EquilibriumGradient", "Mesh", "box", "equilibrium", "solid"]

_MOST = 2**25


class Mesh:
    """Vertices (n, 3) [m] and cells (m, k) in VTK's order: k = 4 is a tetrahedron, 8 a hexahedron,
    10 a quadratic tetrahedron (corners, then the edges 01 12 02 03 13 23).

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
        if nodes.shape[1] == 3:
            raise ModelError("triangles make cloth, which is not there yet; a solid has k 4, 8, 10")
        if nodes.size and (nodes.max() >= 2**31 or nodes.min() < -(2**31)):
            raise ModelError(f"cells name vertices 0 to {len(points) - 1}; got {nodes.max()}")
        self._core = _core.make_soft_mesh(
            points.ravel(),
            np.ascontiguousarray(nodes, np.int32).ravel(),
            nodes.shape[1],
            bool(parts),
        )

    @classmethod
    def _of(cls, core: Any) -> Mesh:
        mesh = cls.__new__(cls)
        mesh._core = core
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
        """ "tet", "hex" or "tet10"."""
        return self._core.element

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
) -> System:
    """A deformable body.

    material: "linear", "corotated", "stvk", "neo_hookean" (stable), "neo_hookean_log" or
    "mooney_rivlin", whose share of C01 is `mooney`. young [Pa], poisson and density [kg/m³]: one
    number, or one per cell; they are the small-strain numbers of every material. damping [s] is
    Kelvin and Voigt's, drag [1/s] a force -drag·mass·velocity; mass (n): point masses [kg].

    pinned: vertices, or a mask (n, 3) of single numbers. They stand at their rest vertex plus the
    input "pinned" (one displacement [m] for each, in the order of the state). inputs may also have
    "force" (3 n) [N]. integrator: "implicit_euler", "newmark" or "bdf2".

    Parameters: young, poisson, density, damping, drag, gravity, mass, vertices, and mooney where it
    acts. Observables: energy, elastic_energy, kinetic_energy, reaction, stress, volume,
    centre_of_mass and "vertex:#7".

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
    for value, what in ((material, "material"), (integrator, "integrator")):
        if not isinstance(value, str):
            raise TypeError(f"{what} must be a name; got {shown(value)}")
    if floor is not None or as_real(friction, "friction") != 0:
        raise ModelError("soft bodies do not touch anything yet: floor and friction are not there")
    if formulation != "standard":
        raise ModelError(f'formulation: "standard" is all that is there; got {shown(formulation)}')
    if as_precision(dtype) != "float64":
        raise ModelError(f'soft bodies compute in "float64" alone; got {shown(dtype)}')
    weight = as_numbers(gravity, np.float64, "gravity")
    if weight.shape != (3,):
        raise Error(f"gravity has three numbers [m/s²]; got an array of shape {weight.shape}")
    n = len(mesh.vertices)
    points = as_numbers(() if mass is None else mass, np.float64, "mass")
    if points.ndim != 1:
        raise Error(f"mass has one number per vertex ({n},); got an array of shape {points.shape}")
    return System(
        _core.make_solid(
            mesh._core,
            as_text(material),
            _row(young, "young"),
            _row(poisson, "poisson"),
            _row(density, "density"),
            as_real(damping, "damping"),
            as_real(drag, "drag"),
            as_real(mooney, "mooney"),
            points,
            _held(pinned, n),
            weight,
            [as_text(name) for name in as_names(inputs, "inputs")],
            as_real(dt, "dt"),
            as_text(integrator),
        )
    )


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

    def pullback(self, state_bar: Any) -> EquilibriumGradient:
        """The gradient with respect to params and controls. GradientError where it did not
        converge, or where the body is about to give way.
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
        return f"<Equilibrium: {self.iterations} iterations in {self.load_steps} load steps{end}>"


def equilibrium(
    system: System, x0: Any = None, u: Any = None, params: Any = None, *, threads: int | None = None
) -> Equilibrium:
    """The place of rest of a soft body under gravity and constant inputs u.

    x0: where the search starts; None: the rest shape, and the loads come in steps where they cannot
    come at once. A body that something leaves free to move as a whole is a ModelError that names
    the motions.

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
    core = _core.soft_equilibrium(system._core, start, controls, vector, count)
    return Equilibrium(core, unpack)
