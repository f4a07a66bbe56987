"""Obstacles in the picture of a flow of two dimensions: flat bodies, in their place or moving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cycloid import _law_pictures

_GREY = (0.55, 0.58, 0.63, 1.0)


class FlowObstacles:
    """The obstacles of a flow.

    geoms, meshes: as the page takes them; those that move hang on bodies 0, 1, ... poses(states)
    gives the poses of these (k, bodies, 7), or is None where nothing moves.
    """

    def __init__(self, flow: Any, params: np.ndarray) -> None:
        self.geoms: list[_law_pictures.Parts] = []
        self.meshes: list[tuple[np.ndarray, np.ndarray]] = []
        self._thin = 0.002 * min(flow.size)
        # Of each body: its displacement and angle in the state, and the point that it turns about.
        self._moving: list[tuple[slice | None, slice | None, np.ndarray]] = []
        values, k = flow.parameters.unpack(params), 0
        while any(name.startswith(f"obstacle:#{k}.") for name in values):
            self._add(flow, f"obstacle:#{k}", values)
            k += 1

    def _add(self, flow: Any, own: str, values: dict[str, np.ndarray]) -> None:
        shape, size, place = "mesh", [0.0], np.zeros(2)
        mesh = None
        if f"{own}.radius" in values:
            shape, size = "cylinder", [float(values[f"{own}.radius"]), self._thin]
        elif f"{own}.size" in values:
            shape, size = "box", [*(values[f"{own}.size"] / 2), self._thin]
        else:
            vertex, triangles = filled(values[f"{own}.sdf"], flow.size)
            if not len(triangles):
                return
            place = vertex.mean(axis=0)
            mesh = np.column_stack([vertex - place, np.full(len(vertex), self._thin)]), triangles
        place = values.get(f"{own}.center", place)
        moves = flow.state_slices.get(f"{own}.displacement")
        turns = flow.state_slices.get(f"{own}.angle")
        body, at = -1, place
        if moves is not None or turns is not None:
            pivot = values.get(f"{own}.pivot", place)
            body, at = len(self._moving), place - pivot
            self._moving.append((moves, turns, pivot))
        geom = _law_pictures.geom(body, shape, size, _GREY, [*at, 0.0])
        if mesh is not None:
            geom |= {"mesh": len(self.meshes), "extent": float(np.abs(mesh[0]).max())}
            self.meshes.append(mesh)
        self.geoms.append(geom)

    @property
    def poses(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """From states (k, n) to poses (k, bodies, 7)."""
        if not self._moving:
            return None

        def at(states: np.ndarray) -> np.ndarray:
            out = np.zeros((len(states), len(self._moving), 7))
            out[..., 3] = 1
            for body, (moves, turns, pivot) in enumerate(self._moving):
                out[:, body, :2] = pivot if moves is None else pivot + states[:, moves]
                if turns is not None:
                    half = states[:, turns].ravel() / 2
                    out[:, body, 3], out[:, body, 6] = np.cos(half), np.sin(half)
            return out

        return at


def filled(sdf: np.ndarray, size: Any) -> tuple[np.ndarray, np.ndarray]:
    """The region sdf < 0 as vertices (n, 2) [m] and triangles (m, 3): each cell's part of it, by
    linear interpolation along the cell's sides. sdf: at the corners of cells.

    >>> import numpy as np
    >>> x, y = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21), indexing="ij")
    >>> vertex, triangles = filled(np.hypot(x - 0.5, y - 0.5) - 0.3, (1, 1))
    >>> a, b, c = np.moveaxis(vertex[triangles], 1, 0)
    >>> area = 0.5 * np.sum((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
    >>> bool(abs(area - np.pi * 0.09) < 2e-3)
    True
    """
    step = np.asarray(size, float) / (np.array(sdf.shape) - 1)
    inside = sdf < 0
    touched = inside[:-1, :-1] | inside[1:, :-1] | inside[1:, 1:] | inside[:-1, 1:]
    vertices: list[np.ndarray] = []
    triangles: list[tuple[int, int, int]] = []
    for i, j in np.argwhere(touched):
        corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        polygon = []
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            if inside[a]:
                polygon.append(np.array(a, float))
            if inside[a] != inside[b]:
                share = sdf[a] / (sdf[a] - sdf[b])
                polygon.append((1 - share) * np.array(a) + share * np.array(b))
        first = len(vertices)
        vertices += [step * p for p in polygon]
        triangles += [(first, first + k, first + k + 1) for k in range(1, len(polygon) - 1)]
    return np.array(vertices).reshape((-1, 2)), np.array(triangles, int).reshape((-1, 3))
