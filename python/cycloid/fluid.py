"""Fluids: Systems whose state lives at the nodes of a box, with gradients of the discrete step.

`spectral`: periodic boxes of one to three axes, by Fourier series: Navier–Stokes and eight other
equations. `own_spectral`: one of your own. docs/spectral.md has the laws.
`grid`: boxes with walls, inflow, outflow and obstacles, on a staggered grid. docs/grid_flow.md has
the laws.
`Outline`, `Airfoil`: obstacles by splines. `write_well`, `read_well`: HDF5 in the layout of The
Well.
`lattice`: the same boxes by the lattice Boltzmann method. docs/lattice.md has the laws.

>>> import cycloid as cy
>>> cy.fluid.spectral("burgers", shape=(64,), size=1.0, dt=1e-3, viscosity=0.01)
<System burgers: 64 states, 0 inputs, dt 1 ms>
"""

from __future__ import annotations

from cycloid._fluid_box import Box, Circle, Shape
from cycloid._fluid_grid import Concentration, GridFlow, Temperature, grid
from cycloid._fluid_lattice import LatticeFlow, lattice
from cycloid._fluid_outline import Airfoil, Outline
from cycloid._fluid_own import own_spectral
from cycloid._fluid_spectral import SpectralFlow, spectral
from cycloid._fluid_well import WellFile, read_well, write_well

__all__ = [
    "Airfoil",
    "Box",
    "Circle",
    "Concentration",
    "GridFlow",
    "LatticeFlow",
    "Outline",
    "Shape",
    "SpectralFlow",
    "Temperature",
    "WellFile",
    "grid",
    "lattice",
    "own_spectral",
    "read_well",
    "spectral",
    "write_well",
]
