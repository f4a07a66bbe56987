"""Ctrl-C during long work: what was found so far is in the answer and in the files, status 130."""

import json
import signal
import time

import pytest

CONFIG = {
    "law": {"kind": "lagrangian", "n": 1, "dt": 0.01},
    "data": ["swing.csv"],
    "train": {"steps": 10**8, "horizon": 5},
    "output": "model.cyl",
}
PLAN = ["plan", "double_pendulum", "--target", "state=3.14159,3.14159,0,0", "--steps", 200]
PLAN += ["--method", "mppi", "--iterations", 10**6, "--low", -20, "--high", 20]
FIT = ["identify", "pendulum", "run.csv", "--params", "length", "--guess", "length=0.9"]
FIT += ["--method", "adam", "--iterations", 10**9]


@pytest.fixture
def measured(program):
    """The program, with tables of a pendulum's swing for a fit and for a training."""
    program.answer("simulate", "pendulum", "--steps", 400, "--output", "motion.csv")
    rows = (program.folder / "motion.csv").read_text().splitlines()[1:]
    rows = [row.split(",")[2:] for row in rows]
    for name, head in (("run.csv", "t,angle,angular_velocity"), ("swing.csv", "t,q,velocity")):
        text = "\n".join([head, *(",".join(row) for row in rows)])
        (program.folder / name).write_text(text + "\n")
    (program.folder / "config.json").write_text(json.dumps(CONFIG))
    return program


def interrupted(program, *words, after=2.0):
    """The JSON of a command that is sent Ctrl-C while it works."""
    process = program.start(*words, "--json")
    time.sleep(after)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    return json.loads(out)


def test_a_plan_ends_with_the_best_so_far(program):
    answer = interrupted(program, *PLAN, "--report", "plan.html")
    assert answer["cost"] < answer["history"][0] and len(answer["controls"]) == 200
    assert answer["verdict"].startswith("interrupted")
    assert "interrupted" in (program.folder / "plan.html").read_text()


def test_a_fit_ends_with_the_best_so_far(measured):
    answer = interrupted(measured, *FIT)
    assert answer["params"]["length"] == pytest.approx(1, rel=0.02)
    assert answer["verdict"].startswith("interrupted")


def test_a_training_is_written_and_goes_on(measured):
    answer = interrupted(measured, "train", "config.json")
    assert answer["steps"] > 0 and "--resume" in answer["message"]
    assert (measured.folder / "model.cyl").is_file()
    more = interrupted(measured, "train", "config.json", "--resume", "model.cyl")
    assert more["steps"] > answer["steps"]
