"""Where training data were, and how far from there a state is."""

from __future__ import annotations

from typing import Any

import numpy as np

from cycloid._arrays import as_numbers

_MOST_NEIGHBOURS = 2000


def features(x: np.ndarray, u: Any, inputs: int) -> np.ndarray:
    """States and inputs in one row."""
    if not inputs:
        return x
    given = np.zeros(inputs) if u is None else as_numbers(u, np.float64, "u")
    return np.concatenate([x, np.broadcast_to(given, (*x.shape[:-1], inputs))], axis=-1)


class Familiar:
    """Where training data were: their mean and covariance, and some of the points themselves."""

    ARRAYS = ("_mean", "_scale", "_root", "_points")

    def __init__(self, points: np.ndarray) -> None:
        self._mean = points.mean(axis=0)
        spread = points.std(axis=0)
        self._scale = np.where(spread > 1e-12, spread, 1.0)
        z = (points - self._mean) / self._scale
        covariance = z.T @ z / len(z) + 1e-6 * np.eye(z.shape[1])
        self._root = np.linalg.inv(np.linalg.cholesky(covariance))
        pick = np.random.default_rng(0).permutation(len(z))[:_MOST_NEIGHBOURS]
        self._points = z[pick] @ self._root.T

    def _white(self, points: np.ndarray) -> np.ndarray:
        z = (points.reshape(-1, points.shape[-1]) - self._mean) / self._scale
        return z @ self._root.T

    def distance(self, points: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self._white(points), axis=1).reshape(points.shape[:-1])

    def nearest(self, points: np.ndarray) -> np.ndarray:
        z = self._white(points)
        found = np.empty(len(z))
        for begin in range(0, len(z), 1024):
            found[begin : begin + 1024] = self._squares(z[begin : begin + 1024]).min(axis=1)
        return np.sqrt(found).reshape(points.shape[:-1])

    def among_themselves(self) -> np.ndarray:
        squares = self._squares(self._points)
        np.fill_diagonal(squares, np.inf)
        return np.sqrt(squares.min(axis=1)) if len(squares) > 1 else np.ones(1)

    def _squares(self, z: np.ndarray) -> np.ndarray:
        own = (z**2).sum(axis=1)[:, None] + (self._points**2).sum(axis=1)
        return np.maximum(0.0, own - 2 * z @ self._points.T)

    def arrays(self) -> dict[str, np.ndarray]:
        """What `of_arrays` makes it again from."""
        return {f"familiar{name}": getattr(self, name) for name in self.ARRAYS}

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray]) -> Familiar:
        made = cls.__new__(cls)
        for name in cls.ARRAYS:
            setattr(made, name, arrays[f"familiar{name}"])
        return made
