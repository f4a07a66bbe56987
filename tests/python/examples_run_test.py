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
    assert any(map(may_fail, last_statements(tree)))


def last_statements(tree):
    """The check, and a line that says what it found: of the main block, where there is one."""
    body = tree.body
    while isinstance(body[-1], ast.If):
        body = body[-1].body
    return body[-2:]


def may_fail(statement):
    return any(isinstance(node, (ast.Assert, ast.Raise)) for node in ast.walk(statement))


@pytest.mark.parametrize(
    "text, checks",
    [
        ("x = 1\nassert x", True),
        ("x = 1\nassert x\nprint(x)", True),
        ("def main():\n  return 1\nif __name__ == '__main__':\n  x = main()\n  assert x", True),
        ("if bad:\n  raise SystemExit('bad')", True),
        ("x = 1\nassert x\ny = x\nprint(y)", False),
        ("def f(x):\n  assert x\ny = f(1)\nprint(y)", False),
    ],
)
def test_a_check_is_looked_for_at_the_end(text, checks):
    assert any(map(may_fail, last_statements(ast.parse(text)))) == checks


def test_there_are_examples():
    wanted = {"policy_torch", "ppo_hopper", "push_box_jax", "sysid_torch"}
    assert wanted <= {path.stem for path in EXAMPLES}
