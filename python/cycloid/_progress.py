"""How far a long optimisation has come: one line on a terminal, a page on which it moves, and the
caller's callback.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np

from cycloid._core import Error
from cycloid._live import Live
from cycloid._options import shown

_FIRST_DRAWING, _BETWEEN_DRAWINGS = 0.3, 0.1  # [s]
_CELLS = 24
_BETWEEN_PICTURES = 0.5  # [s]
_LAST_LOOK = 0.5  # for pages to fetch the end [s]


def clock_time(seconds: float) -> str:
    """0:07, 12:30, 1:02:03"""
    s = round(min(max(seconds, 0.0), 359999.0))
    minutes = f"{s // 60 % 60}:{s % 60:02d}"
    return f"{s // 3600}:{minutes.zfill(5)}" if s >= 3600 else minutes


def as_page(live: Any) -> tuple[Any, bool]:
    """What a live= means: a page (True: one to be made; None: none), and whether it is ours.

    >>> as_page(False), as_page(True)
    ((None, False), (True, True))
    """
    if isinstance(live, Live):
        return live, False
    if not isinstance(live, bool):
        raise TypeError(f"live must be True, False or a page of view(live=True); got {shown(live)}")
    return (True, True) if live else (None, False)


class Progress:
    """Watches an optimisation for as long as a `with` block lasts; `watch` goes to the core.

    progress: True draws, False does not, None draws where standard error is a terminal. The time
    left is that of all iterations: convergence may come earlier. callback(iteration, cost) is
    called after each iteration; when it returns False, the optimisation ends with the best it has.
    live: True serves a page on which `motion(numbers)`, a Trajectory, is seen, and says where; or a
    `Live` that shows it.
    """

    def __init__(
        self,
        label: str,
        *,
        progress: bool | None = None,
        callback: Callable[[int, float], Any] | None = None,
        live: Any = False,
        motion: Callable[[np.ndarray], Any] | None = None,
    ) -> None:
        self._label = label
        self._draws = sys.stderr.isatty() if progress is None else bool(progress)
        self._callback = callback
        self._next_drawing = time.monotonic() + _FIRST_DRAWING
        self._drawn = False
        self._page, self._own_page = as_page(live)
        self._motion = motion
        self._next_picture = 0.0

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
        if error is not None:
            self._close()

    def say_verdict(self, verdict: Callable[[], str]) -> None:
        """Prints a line on the terminal in the end; elsewhere nothing is computed."""
        if self._draws:
            sys.stderr.write(f"{self._label}: {verdict()}\n")
            sys.stderr.flush()

    def watch(
        self,
        iteration: int,
        most: int,
        cost: float,
        seconds: float,
        steps: int,
        numbers: Callable[[], list[float]] | None = None,
    ) -> bool:
        """Called by the core after each iteration; False asks it to stop."""
        del steps
        if self._page is not None and numbers and time.monotonic() >= self._next_picture:
            self._picture(np.array(numbers()))
        if self._draws and time.monotonic() >= self._next_drawing:
            self._draw(iteration, most, cost, seconds)
        answer = None if self._callback is None else self._callback(iteration, cost)
        return not isinstance(answer, (bool, np.bool_)) or bool(answer)

    def end(self, result: Callable[[], Any]) -> None:
        """The result's motion on the page, which ends if it is ours. A motion that cannot be run or
        drawn is told on standard error: what was found is not lost by it."""
        if self._page is None:
            return
        try:
            self._show(result())
        except Error as error:
            sys.stderr.write(f"{self._label}: the result cannot be shown: {error}\n")
            sys.stderr.flush()
        self._close()

    def _picture(self, numbers: np.ndarray) -> None:
        if self._motion is not None and numbers.size:
            try:
                self._show(self._motion(numbers))
            except Error:  # a motion on the way that cannot be run or drawn ends nothing
                pass
        self._next_picture = time.monotonic() + _BETWEEN_PICTURES

    def _show(self, trajectory: Any) -> None:
        if self._page is True:
            from cycloid._view import view

            self._page = view(trajectory, live=True)
            sys.stderr.write(f"{self._label}: {self._page.address}\n")
            sys.stderr.flush()
        else:
            self._page.show(trajectory)

    def _close(self) -> None:
        if self._own_page and self._page not in (None, True):
            if self._page.clients:
                time.sleep(_LAST_LOOK)
            self._page.close()
        self._page = None

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
