"""Checks that includes follow the arrows between the rooms.

A room includes itself and rooms of earlier levels, all of which it reaches through the DEPENDS of
its cycloid_room() in CMakeLists.txt; and a third-party library is known to its own room only.
"""

import re
import sys
from pathlib import Path

from source_tree import Violation, files, line_of, main, without_comments

# The arrows, level by level. Rooms of one level do not know each other.
LEVELS = (
    ("base",),
    ("math", "page"),
    ("system", "model", "geometry", "network"),
    ("rigid", "soft", "fluid", "particle"),
    ("couple",),
    ("adjoint",),
    ("device",),
    ("record",),
    ("optimise",),
    ("learn",),
    ("evaluate",),
    ("io", "serve"),
)
NO_PLACE = "room '{}' has no place among the arrows: see LEVELS in include_arrows.py"
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}

# Everything at once, for those who stand outside the rooms.
UMBRELLA = "cycloid/cycloid.h"

# Third-party headers and the rooms or folders that may include them.
OWNERS = (
    (r"mujoco/", {"io"}),
    (r"hdf5|H5[A-Z]?\w*\.h|highfive/", {"record"}),
    (r"torch/|ATen/|c10/", {"learn"}),
    (r"Python\.h|nanobind/|pybind11/", {"python"}),
    (r"CLI/", {"cli"}),
    (r"benchmark/", {"bench"}),
    (r"doctest/", {"tests"}),
)

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
_ROOM = re.compile(r"^cycloid_room\((\w+)([^)]*)\)", re.MULTILINE)


def declared_reach(root: Path) -> dict[str, set[str]]:
    """For each cycloid_room() of CMakeLists.txt: the rooms it depends on, directly or not."""
    reach: dict[str, set[str]] = {}
    for match in _ROOM.finditer((root / "CMakeLists.txt").read_text()):
        depends = re.search(r"\bDEPENDS((?:\s+[a-z]\w*)*)", match[2])
        direct = depends[1].split() if depends else []
        reach[match[1]] = set(direct).union(*(reach.get(room, set()) for room in direct))
    return reach


def room_of(path: Path) -> str | None:
    return path.parts[1] if path.parts[0] == "cycloid" and len(path.parts) > 2 else None


def is_test(path: Path) -> bool:
    return path.parts[0] == "tests" or bool(re.search(r"_test(_isa)?\.(cpp|h)$", path.name))


def violations(root: Path):
    reach = declared_reach(root)
    for room, depends in reach.items():
        if room not in LEVEL:
            yield Violation("CMakeLists.txt", 0, NO_PLACE.format(room))
            continue
        for other in sorted(depends):
            if LEVEL.get(other, len(LEVELS)) >= LEVEL[room]:
                yield Violation(
                    "CMakeLists.txt", 0, f"{room} depends on {other} against the arrows"
                )

    for path in files(root, "*.h", "*.hpp", "*.cpp", "*.cu", "*.cuh"):
        text = without_comments((root / path).read_text())
        room = room_of(path)
        if room and room not in LEVEL:
            yield Violation(str(path), 0, NO_PLACE.format(room))
            continue
        for match in _INCLUDE.finditer(text):
            message = judge(path, room, match[1] == '"', match[2], reach)
            if message:
                yield Violation(str(path), line_of(text, match.start(2)), message)


def judge(path: Path, room: str | None, quoted: bool, header: str, reach: dict) -> str | None:
    """What is wrong with one include, or None."""
    if not quoted:
        owned = [owners for pattern, owners in OWNERS if re.match(pattern, header)]
        here = {room or path.parts[0]} | ({"tests"} if is_test(path) else set())
        if owned and not owned[0] & here:
            return f"<{header}> belongs to {' or '.join(sorted(owned[0]))}"
        return None
    if header.startswith("tests/support/"):
        return None if is_test(path) else f'"{header}" is for tests only'
    if header == UMBRELLA:
        return f'"{header}" is for users; a room takes the headers it needs' if room else None
    target = room_of(Path(header))
    if target is None:
        neighbour = "/" not in header or header.startswith(path.parts[0] + "/")
        if room is None and neighbour and path.parts[0] != "cycloid":
            return None
        return f'"{header}": write "cycloid/<room>/name.h", from the root'
    if target not in LEVEL:
        return NO_PLACE.format(target)
    if room is None or room == target:
        return None
    if LEVEL[target] >= LEVEL[room]:
        return f"{room} includes {target} against the arrows"
    if target not in reach.get(room, set()):
        return f"{room} includes {target}, which its cycloid_room() does not depend on"
    return None


if __name__ == "__main__":
    sys.exit(main(__doc__, violations))
