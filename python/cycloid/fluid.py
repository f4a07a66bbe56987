"""Fluids: flows whose gradients are exact for the discrete step."""

from __future__ import annotations

from cycloid._fluid_grid import Box, Circle, GridFlow, Shape, grid

__all__ = ["Box", "Circle", "GridFlow", "Shape", "grid"]
