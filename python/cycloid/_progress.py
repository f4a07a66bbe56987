"""How far a long optimisation has come: one line on a terminal, and the caller's callback."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

_FIRST_DRAWING, _BETWEEN_DRAWINGS = 0.3, 0.1  # [s]
_CELLS = 24


def clock_time(seconds: float) -> str:
    """0:07, 12:30, 1:02:03"""
    s = round(min(max(seconds, 0.0), 359999.0))
    minutes = f"{s // 60 % 60}:{s % 60:02d}"
    return f"{s // 3600}:{minutes.zfill(5)}" if s >= 3600 else minutes


class Progress:
    """Watches an optimisation for as long as a `with` block lasts; `watch` goes to the core.

    progress: True draws, False does not, None draws where standard error is a terminal. The time
    left is that of all iterations: convergence may come earlier. callback(iteration, cost) is
    called after each iteration; when it returns False, the optimisation ends with the best it has.
    """

    def __init__(
        self,
        label: str,
        *,
        progress: bool | None = None,
        callback: Callable[[int, float], Any] | None = None,
    ) -> None:
        self._label = label
        self._draws = sys.stderr.isatty() if progress is None else bool(progress)
        self._callback = callback
        self._next_drawing = time.monotonic() + _FIRST_DRAWING
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def say_verdict(self, verdict: Callable[[], str]) -> None:
        """Prints a line on the terminal in the end; elsewhere nothing is computed."""
        if self._draws:
            sys.stderr.write(f"{self._label}: {verdict()}\n")
            sys.stderr.flush()

    def watch(self, iteration: int, most: int, cost: float, seconds: float, steps: int) -> bool:
        """Called by the core after each iteration; False asks it to stop."""
        del steps
        if self._draws and time.monotonic() >= self._next_drawing:
            self._draw(iteration, most, cost, seconds)
        return self._callback is None or self._callback(iteration, cost) is not False

    def _draw(self, iteration: int, most: int, cost: float, seconds: float) -> None:
        self._next_drawing = time.monotonic() + _BETWEEN_DRAWINGS
        self._drawn = True
        line = f"{self._label}  iteration {iteration}  cost {cost:.6g}  {clock_time(seconds)}"
        if most > 0 and iteration > 0:
            share = min(1.0, iteration / most)
            full = int(share * _CELLS)
            bar = "█" * full + "░" * (_CELLS - full)
            left = clock_time(seconds * (1 / share - 1))
            line = f"{self._label}  {bar} {iteration}/{most}  cost {cost:.6g}  {left} left"
        columns = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r{line[: columns - 1]}\x1b[K")
        sys.stderr.flush()
