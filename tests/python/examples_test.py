"""Every examples/*.py runs, and finds at its end that its result is right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PATIENCE = 400  # of a busy machine [s]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_its_result_is_right(path, tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-B", str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_checks_its_result(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= 60
    assert any(line.lstrip().startswith("assert ") for line in lines[-10:])


def test_there_are_examples():
    assert EXAMPLES
