"""Fluids: periodic flows in Fourier series, whose gradients are exact for the discrete step."""

from __future__ import annotations

__all__: list[str] = []
