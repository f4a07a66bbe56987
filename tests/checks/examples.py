"""Checks that every examples/*.cpp is run by ctest, under the name example_<stem>.

examples.py --build BUILD_FOLDER [--ctest CTEST]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from source_tree import ROOT, Violation, report


def judge(root: Path, listing: dict):
    """The violations, given what `ctest --show-only=json-v1` prints."""
    tests = {test["name"] for test in listing["tests"]}
    for path in sorted((root / "examples").glob("*.cpp")):
        name = f"example_{path.stem}"
        if name not in tests:
            yield Violation(f"examples/{path.name}", 0, f"ctest has no test '{name}'")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--ctest", default="ctest")
    arguments = parser.parse_args()
    command = [arguments.ctest, "--test-dir", str(arguments.build), "--show-only=json-v1"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return report(judge(arguments.root, json.loads(listing)))


if __name__ == "__main__":
    sys.exit(main())
