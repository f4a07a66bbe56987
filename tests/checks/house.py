"""Checks the house rules that a machine can see.

Files and folders have names that say what they are; headers start with a comment, have #pragma once
and a test beside them (or a line with the reason in untested_headers.txt); no two headers share a
name, but for the rooms' registers of operators; lines have at most 100 columns; nothing is left for
later; no compiler flag that ties a program to one machine or breaks NaN; no path of a machine and
no package registry; in rooms whose functions run on a device
no function of <bit>, which its compiler turns into a constant (base/bits.h), and where functions
are marked for it, no std::copy or std::fill, which it drops (base/array_items.h).
"""

import fnmatch
import re
import sys
from pathlib import Path

from source_tree import Violation, files, main

MAX_COLUMNS = 100
UNTESTED = Path("tests/checks/untested_headers.txt")

CODE = "*.h *.hpp *.cpp *.cu *.cuh *.py *.ts *.js *.cmake CMakeLists.txt scripts/* .ci/run".split()
TEXT = CODE + "Makefile *.md *.txt *.json *.toml *.yml *.bib *.in".split()

VAGUE_NAMES = re.compile(r"(^|_)(utils?|common|helpers?|misc|stuff)(_|\.|$)")
CPP_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\.(h|cpp|cu|cuh)")

# One letter of each pattern stands in brackets, so that this file does not match itself.
FORBIDDEN = (
    (re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b"), "work left for later: do it, or open an issue"),
    (re.compile(r"march=nativ[e]"), "a build for one machine dies on another"),
    (re.compile(r"ffast-mat[h]|-Ofas[t]"), "breaks NaN masks and determinism"),
    (re.compile(r"(?<![\w.])/(home|roo[t]|Users|wor[k]|farm|mnt)/"), "a path of one machine"),
    (re.compile(r"(index-ur[l]|find-link[s]|trusted-hos[t])"), "packages are named, not located"),
)

# Each room's register of its operators is found by its name.
ROOM_HEADERS = ("operators.h",)

# Rooms whose functions run on a device too.
KERNEL_ROOMS = ("math", "geometry", "rigid", "device")
LOST_BITS = re.compile(r"std::(coun[t][lr]_(zero|one)|popcoun[t]|bit_widt[h])\b")
LOST_COPIES = re.compile(r"std::(cop[y](_n|_backward)?|fil[l](_n)?|memmov[e]|rotat[e])\(")
MARK = re.compile(r"\bCYCLOID_(HD|INLINE|NOINLINE|STAGE)\b")


class Excuses:
    """untested_headers.txt: which headers need no test beside them, and why. Stars are allowed."""

    def __init__(self, root: Path):
        self.root, self.reasons, self.used = root, {}, set()
        if (root / UNTESTED).exists():
            for number, line in enumerate((root / UNTESTED).read_text().splitlines(), 1):
                pattern, _, reason = line.partition("#")[0].partition(":")
                if pattern.strip():
                    self.reasons[pattern.strip()] = (number, reason.strip())

    def cover(self, header: Path) -> bool:
        covering = {p for p in self.reasons if fnmatch.fnmatch(str(header), p)}
        self.used |= covering
        return bool(covering)

    def violations(self):
        for pattern, (line, reason) in self.reasons.items():
            if pattern not in self.used:
                yield Violation(str(UNTESTED), line, f"{pattern} excuses nothing: remove the line")
            if not reason:
                yield Violation(str(UNTESTED), line, f"{pattern} is excused without a reason")
            for test in re.findall(r"[\w/]+\.(?:cpp|py)", reason):
                if not (self.root / test).exists():
                    yield Violation(str(UNTESTED), line, f"{test} does not exist")


def names(path: Path):
    for part in path.parts:
        if VAGUE_NAMES.search(part):
            yield Violation(str(path), 0, f"'{part}' does not say what is in it")
    if path.suffix in (".h", ".cpp", ".cu", ".cuh") and not CPP_NAME.fullmatch(path.name):
        yield Violation(str(path), 0, "file names are snake_case")


def shared_names(headers):
    seen = {}
    for path in headers:
        if path.name not in ROOM_HEADERS and seen.setdefault(path.name, path) != path:
            yield Violation(str(path), 0, f"has the name of {seen[path.name]}")


def header(path: Path, text: str):
    if not text.startswith("//"):
        yield Violation(str(path), 1, "a header starts with a comment that says what it is for")
    named = re.match(r"// ([\w/]+\.h)\b", text)
    if named and not str(path).endswith(named[1]):
        yield Violation(str(path), 1, f"the first comment speaks of {named[1]}")
    if not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield Violation(str(path), 0, "#pragma once is missing")


def lines(path: Path, text: str):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS and any(path.match(pattern) for pattern in CODE):
            yield Violation(str(path), number, f"{len(line)} columns; at most {MAX_COLUMNS}")
        for pattern, reason in FORBIDDEN:
            found = pattern.search(line)
            if found:
                yield Violation(str(path), number, f"'{found[0]}': {reason}")
        if path.parts[0] != "cycloid" or path.parts[1] not in KERNEL_ROOMS:
            continue
        lost = LOST_BITS.search(line)
        if lost:
            reason = "is a constant on a device: see base/bits.h"
            yield Violation(str(path), number, f"'{lost[0]}' {reason}")
        lost = LOST_COPIES.search(line)
        if lost and path.suffix == ".h" and MARK.search(text) and not path.stem.endswith("_test"):
            reason = "does nothing on a device: see base/array_items.h"
            yield Violation(str(path), number, f"'{lost[0][:-1]}' {reason}")


def violations(root: Path):
    excuses = Excuses(root)
    yield from shared_names(path for path in files(root) if path.suffix in (".h", ".cuh"))
    for path in files(root):
        yield from names(path)
        if not any(path.match(pattern) for pattern in TEXT):
            continue
        text = (root / path).read_text()
        yield from lines(path, text)
        if path.suffix in (".h", ".cuh"):
            yield from header(path, text)
            test = path.with_name(path.stem + "_test.cpp")
            is_part_of_a_test = "_test" in path.name
            if path.parts[0] == "cycloid" and not is_part_of_a_test and not (root / test).exists():
                if not excuses.cover(path):
                    message = f"no {test.name} beside it, and no reason in {UNTESTED}"
                    yield Violation(str(path), 0, message)
    yield from excuses.violations()


if __name__ == "__main__":
    sys.exit(main(__doc__, violations))
