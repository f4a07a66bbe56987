"""The command `cycloid` of the installed package.

`view` is carried out here; every other command by the program in C++ that comes with the package.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import cycloid as cy


# Of what goes wrong, as the program names it.
_KINDS = {
    FileNotFoundError: "file_not_found",
    cy.ModelError: "model",
    cy.ParameterError: "parameter",
    cy.GradientError: "gradient",
}
_RUNS = (".h5", ".hdf5", ".npz", ".mcap", ".bag")  # files of runs that hold their model


class _UsageError(cy.Error):
    """Words that make no sense."""


class _Words(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(message)


def main() -> int:
    """Runs the command on the command line; its exit status."""
    words = sys.argv[1:]
    if words == ["packages"]:  # for `cycloid doctor`
        print(json.dumps(_packages()))
        return 0
    if words[:1] != ["view"]:
        return _hand_over(words)
    as_json = "--json" in words
    try:
        answer = _view(words[1:])
    except KeyboardInterrupt:
        return 130
    except (cy.Error, OSError, TypeError, ImportError) as error:
        if isinstance(error, _UsageError):
            kind = "usage"
        else:
            kind = next((k for c, k in _KINDS.items() if isinstance(error, c)), "input")
        if as_json:
            print(json.dumps({"error": str(error), "kind": kind}))
        print(f"cycloid: {error}", file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps(answer))
    elif answer:
        print(f"{answer['output']}: {answer['system']}, {answer['frames']} frames")
        for note in answer.get("notes", ()):
            print(f"  note: {note}")
    return 0


def _hand_over(words: list[str]) -> int:
    """To the program: in the package, or beside it in a build."""
    here = Path(__file__).resolve().parent
    places = (here / "bin" / "cycloid", here.parent.parent / "cycloid")
    program = next((p for p in places if p.is_file() and os.access(p, os.X_OK)), None)
    if program is None:
        print(
            "cycloid: this package was built without its program (CLI11 and nlohmann-json were "
            "not there); `view` is all that it can do",
            file=sys.stderr,
        )
        return 2
    environment = os.environ | {"CYCLOID_PYTHON": sys.executable}
    spec = importlib.util.find_spec("mujoco")
    if spec and spec.submodule_search_locations and "CYCLOID_MUJOCO_LIBRARY" not in environment:
        environment["CYCLOID_MUJOCO_LIBRARY"] = list(spec.submodule_search_locations)[0]
    os.execve(program, ["cycloid", *words], environment)
    return 3


def _packages() -> dict[str, str | None]:
    """Versions of what parts of the package need, None where it is not there."""
    found: dict[str, str | None] = {"viewer": None}
    if Path(__file__).with_name("viewer.html").exists():
        found["viewer"] = cy.__version__
    for name in ("numpy", "mujoco-core", "h5py", "torch", "jax", "gymnasium"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _words() -> argparse.ArgumentParser:
    parser = _Words(prog="cycloid view", description="Writes a page on which a model moves.")
    parser.add_argument("model", help="a law, a robot's file, a learned law's or a run's")
    parser.add_argument("--steps", type=int, default=500, help="steps, with inputs of zero")
    parser.add_argument("-o", "--output", help="the page, such as run.html")
    parser.add_argument("--keyframe", help="of a robot: where it begins")
    parser.add_argument("--x", help="state at the start: 0.5,-1")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--title", help="of the page")
    parser.add_argument("--live", action="store_true", help="serve the page until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="the answer as one JSON object")
    return parser


def _numbers(text: str, what: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise _UsageError(f'{what}: expected numbers such as 0.5,-1; got "{text}"') from None


def _view(words: list[str]) -> dict[str, Any]:
    asked = _words().parse_args(words)
    if asked.steps < 1:
        raise _UsageError(f"--steps: expected a whole number, at least 1; got {asked.steps}")
    if asked.output is None and not asked.live:
        raise _UsageError("--output FILE is missing, such as run.html")
    values: dict[str, Any] = {}
    for setting in asked.set:
        name, equals, text = setting.partition("=")
        if not equals:
            raise _UsageError(f'--set: expected name=value; got "{setting}"')
        numbers = _numbers(text, f"--set {name}")
        values[name] = numbers[0] if len(numbers) == 1 else numbers
    if asked.model.endswith(".csv"):
        raise _UsageError(
            f'"{asked.model}" is a table, which does not hold its model: in Python, '
            "cycloid.open(path, system=...) reads it, and cycloid.view shows it"
        )
    if asked.model.endswith(_RUNS):
        for option in ("x", "set", "keyframe"):
            if getattr(asked, option):
                raise _UsageError(f"--{option}: a run that is opened was made with its own")
        run = cy.open(asked.model)
    else:
        run = _run(asked, values)
    if asked.live:
        _serve(run, asked)
        return {}
    path = cy.view(run, asked.output, title=asked.title)
    frames = int(run.steps.size)
    answer = {"output": str(path), "system": run.system.name, "frames": frames}
    shown = [f for f in run.report.failed if f.environment == 0]
    if shown:
        answer["notes"] = [f"the run stops at step {f.step}: {f.reason}" for f in shown]
    return answer


def _run(asked: argparse.Namespace, values: dict[str, Any]) -> cy.Trajectory:
    if asked.model in cy.systems.names:
        system: cy.System = cy.systems.make(asked.model, values)
        params = None
    elif asked.model.endswith(".cyl"):
        loaded = cy.learn.load(asked.model)
        if not isinstance(loaded, cy.System):
            raise cy.Error(
                f'"{asked.model}" holds a model with a spread ({type(loaded).__name__}), which has '
                "no picture: view shows laws"
            )
        system, params = loaded, values or None
    else:
        system, params = cy.load(asked.model), values or None
    start = system.initial_state(asked.keyframe)
    if asked.x is not None:
        start = _numbers(asked.x, "--x")
        if len(start) != system.state_size:
            n, names = system.state_size, ", ".join(system.state_slices)
            raise _UsageError(
                f'--x: a state of "{system.name}" has {n} number{"s" * (n != 1)} ({names}), '
                f"got {len(start)}"
            )
    return cy.rollout(system, start, asked.steps, params)


def _serve(run: cy.Trajectory, asked: argparse.Namespace) -> None:
    """The page, until Ctrl-C."""
    live = cy.view(run, live=True, title=asked.title)
    assert isinstance(live, cy.Live)
    with live:
        print(json.dumps({"address": live.address}) if asked.json else live.address, flush=True)
        while True:
            time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
