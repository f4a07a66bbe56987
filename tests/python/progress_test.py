"""The line that a long optimisation draws, and how a callback stops it."""

import io
import sys

import pytest

from cycloid import _progress
from cycloid._progress import Progress, clock_time


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(_progress, "_FIRST_DRAWING", 0.0)
    monkeypatch.setattr(_progress, "_BETWEEN_DRAWINGS", 0.0)


def test_times_read_as_clocks():
    assert [clock_time(s) for s in (7, 750, 3723)] == ["0:07", "12:30", "1:02:03"]


def test_a_terminal_sees_cost_and_time_left_and_then_a_clean_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("fitting") as progress:
        assert progress.watch(10, 40, 2.5, 3.0, 1000)
        shown = sys.stderr.getvalue()
    assert "fitting" in shown and "10/40" in shown and "cost 2.5" in shown and "0:09 left" in shown
    assert sys.stderr.getvalue().endswith("\r\x1b[K")


def test_nothing_is_drawn_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Progress("fitting") as progress:
        progress.watch(10, 40, 2.5, 3.0, 1000)
    assert sys.stderr.getvalue() == ""


def test_a_callback_that_says_no_stops():
    seen = []
    with Progress("fitting", progress=False, callback=lambda i, c: seen.append((i, c))) as progress:
        assert progress.watch(1, 40, 2.5, 3.0, 1000)
    with Progress("fitting", progress=False, callback=lambda i, c: i < 2) as progress:
        assert [progress.watch(i, 40, 2.5, 3.0, 0) for i in (1, 2)] == [True, False]
    assert seen == [(1, 2.5)]
