"""The examples in Python: each fits on one screen, and fails when its own result is wrong."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
PATIENCE = 300  # [s]; a busy machine may be slow


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_its_check_holds(path):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "OMP_NUM_THREADS": "1",  # what they do is small
    }
    command = [sys.executable, "-B", path]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_says_what_it_is_and_checks_itself(path):
    text = path.read_text()
    assert len(text.splitlines()) < 60
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert any(isinstance(node, (ast.Assert, ast.Raise)) for node in ast.walk(tree))


def test_there_are_examples():
    assert {"policy_torch", "sysid_torch"} <= {path.stem for path in EXAMPLES}
