"""Terminals: progress and colours only where they belong, and Ctrl-C."""

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import time
from fcntl import ioctl
from termios import TIOCSWINSZ

import pytest

# Many seconds of work at least: these end by Ctrl-C alone.
ENDLESS = {
    "simulate": ["simulate", "pendulum", "--steps", "1e15", "--batch", "64"],
    "simulate one environment": ["simulate", "lorenz", "--steps", "1e15"],
    "gradcheck": ["gradcheck", "double_pendulum", "--steps", "8000", "--batch", "20"],
    "bench": ["bench", "pendulum", "--seconds", "1e9"],
    "linearise in bench": ["bench", "spring_chain", "--n", "400", "--steps", "1"],
    "linearise": ["linearise", "spring_chain", "--n", "3000"],
}
# The promise is a second; the rest is for a busy machine.
STOPS_WITHIN = 2.0


def interrupt(process: subprocess.Popen) -> float:
    """Sends Ctrl-C after a moment and returns how long the program took to end."""
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1.0)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    process.wait(timeout=60)
    return time.monotonic() - sent


@pytest.mark.parametrize("words", ENDLESS.values(), ids=ENDLESS.keys())
def test_ctrl_c_stops_within_a_second(program, words):
    process = program.start(*words, "--json")
    assert interrupt(process) < STOPS_WITHIN
    out, errors = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in errors
    assert json.loads(out)["kind"] == "interrupted"


def test_ctrl_c_leaves_what_was_written(program):
    process = program.start(*ENDLESS["simulate"], "--output", "motion.csv", "--every", 1000)
    assert interrupt(process) < STOPS_WITHIN
    out, errors = process.communicate()
    assert process.returncode == 130 and out == ""
    assert re.search(r"interrupted after \d+ of 1000000000000000 steps", errors)
    lines = (program.folder / "motion.csv").read_text().splitlines()
    assert len({line.count(",") for line in lines}) == 1 and len(lines) > 2


def under_terminal(program, *words, columns=100, until=None, on_stdout=True, **environment):
    """Runs the program on a terminal; returns its exit status and what it wrote there.

    With `until`, Ctrl-C follows as soon as this pattern was written. Without `on_stdout`, the
    terminal is standard error's alone, and what standard output received is returned as well.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    stdout = theirs if on_stdout else subprocess.PIPE
    process = program.start(
        *words, stdin=theirs, stdout=stdout, stderr=theirs, environment=environment
    )
    os.close(theirs)
    written = b""
    while True:
        ready, _, _ = select.select([ours], [], [], 60)
        assert ready, f"nothing comes any more after {written!r}"
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
        if until and re.search(until, written.decode(errors="ignore")):
            process.send_signal(signal.SIGINT)
            until = None
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    return (process.returncode, written.decode(), *([] if on_stdout else [out]))


def bar(cells: str) -> str:
    return rf"simulating pendulum  [{cells}]+ +\d+ %  [\d.]+ [kMG]? ?steps/s  [\d:]+ left"


def test_progress_is_shown_on_a_terminal(program):
    # Over a year left; the bar moves on, and is wiped in the end.
    two_bars = bar("█░") + r"\x1b\[K\r" + bar("█░")
    status, written = under_terminal(program, *ENDLESS["simulate"], until=two_bars)
    assert status == 130
    assert re.search(two_bars, written)
    assert re.search(r"\x1b\[K\r\x1b\[Kcycloid: interrupted after \d+ of 1\d+ steps", written)


def test_progress_counts_up_to_the_end(program):
    # Long enough to be drawn at least once, on any machine; most see some dozens of drawings.
    words = ["simulate", "double_pendulum", "--steps", 20000, "--batch", 400, "--threads", 1]
    status, written = under_terminal(program, *words)
    assert status == 0
    shares = [int(share) for share in re.findall(r"(\d+) %", written)]
    assert shares == sorted(shares) and all(0 <= share <= 100 for share in shares)


def test_progress_fits_a_narrow_terminal(program):
    drawn = r"\r(simulating[^\r\x1b]*)\x1b"
    _, written = under_terminal(program, *ENDLESS["simulate"], columns=30, until=drawn)
    assert max(map(len, re.findall(drawn, written))) < 30


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_tour_fits_the_terminal_and_shows_the_slide_bending(program, columns):
    status, written = under_terminal(program, "tour", "--report", "page.html", columns=columns)
    assert status == 0
    plain = re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", written)
    told = plain[plain.index("A football") :].split("The same with figures")[0]
    lines = [line for line in re.split(r"[\r\n]+", told) if not re.match(r"\d+  ", line)]
    assert max(map(len, lines)) <= columns
    assert len(re.findall(r"\x1b\[13A\x1b\[J", written)) > 20  # pictures drawn over each other
    for words in ("straight       1.00", "0.80562 s", "∘"):
        assert words in told


def test_progress_is_plain_where_the_locale_is(program):
    plain = bar("#-")
    status, _ = under_terminal(program, *ENDLESS["simulate"], until=plain, LC_ALL="C")
    assert status == 130


def test_progress_is_not_shown_elsewhere(program):
    process = program.start(*ENDLESS["simulate"])
    interrupt(process)
    out, errors = process.communicate()
    assert out == "" and re.fullmatch(r"cycloid: interrupted after .*\n", errors)


def test_progress_is_not_shown_on_a_dumb_terminal(program):
    words = ["bench", "pendulum", "--seconds", 1]
    status, written = under_terminal(program, *words, TERM="dumb")
    assert status == 0
    assert "measuring" not in written and "\x1b" not in written


def test_json_stays_alone_on_standard_output(program):
    words = ["bench", "pendulum", "--seconds", 1, "--json"]
    status, written, out = under_terminal(program, *words, on_stdout=False)
    assert status == 0 and json.loads(out)["rounds"] >= 5
    assert re.search(r"measuring pendulum  [█░]+ +\d+ %  [\d:]+ left", written)


COLOUR = "\x1b[32m"


def test_colours_are_for_terminals(program):
    assert COLOUR in under_terminal(program, "doctor")[1]
    assert COLOUR not in program.run("doctor").stdout


def test_colours_can_be_refused(program):
    assert COLOUR not in under_terminal(program, "doctor", NO_COLOR="1")[1]
    assert COLOUR not in under_terminal(program, "doctor", "--no-colour")[1]
    assert COLOUR not in under_terminal(program, "doctor", "--no-color")[1]
    assert COLOUR not in under_terminal(program, "doctor", TERM="dumb")[1]
    # An empty NO_COLOR does not count (no-color.org).
    assert COLOUR in under_terminal(program, "doctor", NO_COLOR="")[1]
