"""Types, as a user's checker sees them: the examples pass mypy and pyright in strict mode.

The settings are those of pyproject.toml. A call that no function of ours takes must be found, else
these tests could not fail.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
WRONG = """import cycloid as cy
system = cy.systems.pendulum(length=0.5)
cy.rollout(system, [1.0, 0.0], 200, safe="last")
cy.rollout(system, [1.0, 0.0], 200).stats
"""


def mypy(files):
    pytest.importorskip("mypy")
    return [sys.executable, "-m", "mypy", "--no-incremental", *files]


def pyright(files):
    # The pinned wheel has the program with it; Node.js, which runs it, must be there.
    pytest.importorskip("pyright")
    if not shutil.which("node"):
        pytest.skip("pyright needs Node.js")
    return [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *files]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_the_examples_pass_in_strict_mode_and_wrong_names_are_found(checker, tmp_path):
    program = tmp_path / "wrong.py"
    program.write_text(WRONG)
    done = subprocess.run(
        checker([*EXAMPLES, program]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    ours = [line for line in lines if "wrong.py" not in line]
    assert ours == [], "\n".join(ours)
    wrong = "".join(line for line in lines if "wrong.py" in line)
    assert '"safe"' in wrong and '"stats"' in wrong, done.stdout + done.stderr


def test_the_package_has_types():
    package = ROOT / "build" / "python" / "cycloid"
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
