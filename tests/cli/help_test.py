"""--help: every command explains itself, with an example that works as it stands."""

import re
import shlex

import pytest

COMMANDS = [
    "tour",
    "simulate",
    "gradcheck",
    "linearise",
    "identify",
    "plan",
    "bench",
    "info",
    "doctor",
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


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_help_runs(program, command):
    words = example(program.run(command, "--help").stdout)
    assert words[0] == command
    if command == "identify":  # which says where its table may come from
        program.run("simulate", "pendulum", "--output", "run.csv")
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
