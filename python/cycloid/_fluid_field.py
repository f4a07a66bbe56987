"""What flows in boxes have in common: points with fields on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._options import as_names, shown
from cycloid._system import System
from cycloid._vtk import write_image


def divides_steps(substeps: str | None) -> bool:
    """Whether steps that are too large are divided.

    >>> divides_steps("auto"), divides_steps(None)
    (True, False)
    """
    if substeps is not None and not (isinstance(substeps, str) and substeps == "auto"):
        raise ModelError(f'substeps is None or "auto"; got {shown(substeps)}')
    return substeps is not None


class FieldFlow(System):
    """A System whose fields live at points of a box, `shape` of them along its axes."""

    _shape: tuple[int, ...]
    _size: tuple[float, ...]
    _part = 0.5  # where in its cell a point lies: centres, or 0 for nodes i L/n
    _ring: Sequence[bool]  # which axes are periodic

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells or nodes along each axis."""
        return self._shape

    @property
    def size(self) -> tuple[float, ...]:
        """Lengths of the box [m]."""
        return self._size

    @property
    def spacing(self) -> tuple[float, ...]:
        """Of the points [m]."""
        return tuple(length / n for length, n in zip(self._size, self._shape, strict=True))

    @property
    def points(self) -> np.ndarray:
        """Where fields live (*shape, d) [m], a fresh array: centres of cells, or nodes."""
        pairs = zip(self._shape, self.spacing, strict=True)
        lines = [(np.arange(n) + self._part) * h for n, h in pairs]
        return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)

    def field(self, x: Any, name: str) -> np.ndarray:
        """A field over the points; each kind of flow says which it has."""
        raise NotImplementedError

    def _usual(self) -> tuple[str, ...]:
        """Fields of a file where none are named."""
        return tuple(self.state_slices)

    def save_vtk(self, path: Any, x: Any, names: Sequence[str] | str | None = None) -> None:
        """Writes fields of one state x (state_size,) as VTK image data (.vti), for ParaView. names:
        as `field` takes them; None: velocity and pressure, of a spectral flow the blocks of the
        state.
        """
        row = as_numbers(x, np.float64, "x")
        if row.shape != (self.state_size,):
            raise Error(f"a file holds one state ({self.state_size},); got {row.shape}")
        wanted = self._usual() if names is None else as_names(names, "names")
        write_image(path, self.spacing, {name: self.field(row, name) for name in wanted})
