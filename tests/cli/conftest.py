"""What the tests of the program `cycloid` need: a way to run it.

The program is CYCLOID_BINARY, or build/cycloid of this repository.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

BINARY = Path(
    os.environ.get("CYCLOID_BINARY", Path(__file__).resolve().parents[2] / "build" / "cycloid")
)
# Long enough for a busy machine; a test that needs it has failed.
PATIENCE = 120


class Program:
    """The program in a folder of its own."""

    def __init__(self, folder: Path):
        assert BINARY.is_file(), f"{BINARY} is not there: make build, or set CYCLOID_BINARY"
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("CYCLOID_") and name not in ("NO_COLOR", "TERM")
        } | {"TERM": "xterm", "LC_ALL": "C.UTF-8"}

    def start(self, *words, **options) -> subprocess.Popen:
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        environment = self.environment | settings.pop("environment", {})
        return subprocess.Popen(
            [BINARY, *map(str, words)], cwd=self.folder, env=environment, **settings
        )

    def run(self, *words, **options) -> subprocess.CompletedProcess:
        process = self.start(*words, **options)
        out, errors = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(words, process.returncode, out, errors)

    def answer(self, *words, status: int = 0, **options) -> dict:
        """The JSON object of a command, which is all that standard output may hold."""
        done = self.run(*words, "--json", **options)
        assert done.returncode == status, done.stderr
        assert done.stdout.endswith("}\n") and done.stdout.count("\n") == 1
        answer = json.loads(done.stdout, parse_constant=reject)
        assert isinstance(answer, dict)
        return answer


def reject(token: str):
    raise AssertionError(f"{token} is not JSON")


@pytest.fixture
def program(tmp_path) -> Program:
    return Program(tmp_path)
