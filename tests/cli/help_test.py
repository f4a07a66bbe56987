"""--help: every command explains itself, with an example that works as it stands."""

import json
import math
import re
import shlex

import pytest

COMMANDS = [
    "tour",
    "simulate",
    "view",
    "gradcheck",
    "linearise",
    "identify",
    "plan",
    "train",
    "evaluate",
    "bench",
    "info",
    "doctor",
    "completion",
]


def example(text: str) -> list[str]:
    """The words of the example in a help text."""
    found = re.search(r"^Example:\n  (cycloid .+)$", text, re.MULTILINE)
    assert found, text
    return shlex.split(found[1])[1:]


def test_the_program_lists_its_commands(program):
    done = program.run("--help")
    assert done.returncode == 0 and done.stderr == ""
    listed = re.search(r"^Commands:\n((?:  .+\n)+)", done.stdout, re.MULTILINE)[1]
    assert [line.split()[0] for line in listed.splitlines()] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_documents_options_and_exit_statuses(program, command):
    done = program.run(command, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.count(f"Usage: cycloid {command}") == 1
    assert "--json" in done.stdout and "--no-colour" in done.stdout
    for status in ("0 success", "1 a check failed", "2 wrong usage", "3 internal", "130 interr"):
        assert status in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def learnable(program, **training) -> None:
    """A recording of a spring, and a file that says how to learn from it."""
    rows = [f"{0.1 * i:.1f},{math.cos(0.1 * i)},{-math.sin(0.1 * i)}" for i in range(60)]
    (program.folder / "run.csv").write_text("t,q,p\n" + "\n".join(rows) + "\n")
    config = {
        "law": {"kind": "hamiltonian", "n": 1, "hidden": [16, 16], "dt": 0.1},
        "data": ["run.csv"],
        "train": {"steps": 40, "learning_rate": 0.01, "horizon": 2, **training},
        "output": "model.cyl",
        "report": "train.html",
    }
    (program.folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_help_runs(program, command):
    words = example(program.run(command, "--help").stdout)
    assert words[0] == command
    if command == "identify":  # which says where its table may come from
        program.run("simulate", "pendulum", "--output", "run.csv")
    if command == "train":
        learnable(program)
    done = program.run(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_help_and_version_are_json_too(program):
    assert "Usage: cycloid simulate" in program.answer("simulate", "--help")["help"]
    version = program.run("--version").stdout.strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert program.answer("--version")["version"] == version


def test_without_a_command_the_help_is_the_error(program):
    done = program.run()
    assert done.returncode == 2 and done.stdout == ""
    assert "Commands:" in done.stderr
