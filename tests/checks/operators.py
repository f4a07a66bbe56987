"""Checks that the register of operators is complete and true.

Each function X_pullback in a header of cycloid/<room>/ is in cycloid/<room>/operators.h as
differentiable("X"); a member function's name is "Struct::X". Functions that only dispatch
(virtual, override) need no entry. Each entry differentiable("X") has its pullback in a header of
the room, and each not_differentiable("X", "reason") has a reason and no pullback.

That each differentiable operator is also tested is seen at run time, by tests/support/main.cpp.
"""

import re
import sys
from pathlib import Path
from typing import Iterator

from source_tree import Violation, bare_code, files, line_of, main, without_comments

_CLASS = re.compile(r"\b(?:struct|class|union)\s+(?:alignas\s*\([^)]*\)\s*)?(\w+)[^()=]*$")
_NAMESPACE = re.compile(r"\bnamespace\b[^;=]*$|\bextern\s*$")
_TEMPLATE = re.compile(r"\btemplate\s*<[^{};()]*>")  # its arguments may have defaults
_PULLBACK = re.compile(r"\b(\w+)_pullback\s*\(")
_DISPATCHES = re.compile(r"\bvirtual\b|\boverride\b|\bfinal\b|=\s*0\s*$|=\s*delete\s*$")
_ENTRY = re.compile(
    r'\b(differentiable|not_differentiable)\s*\(\s*"([^"]*)"((?:\s*,\s*(?:"[^"]*"\s*)+)?)\)'
)


def pullbacks(source: str) -> Iterator[tuple[str, int]]:
    """The operators that have a pullback in a header's text, each with its line."""
    text = bare_code(source)
    scopes: list[str | None] = []  # "" a namespace, "Name" a class, None a body: not looked into
    start = 0
    for match in re.finditer(r"[{};]", text):
        chunk, where = text[start : match.start()], start
        start = match.end()
        declares = None not in scopes
        if declares and match[0] in "{;":
            found = _PULLBACK.search(chunk)
            before = _TEMPLATE.sub("", chunk[: found.start()]) if found else ""
            if found and "=" not in before and not _DISPATCHES.search(chunk):
                struct = scopes[-1] + "::" if scopes and scopes[-1] else ""
                yield struct + found[1], line_of(text, where + found.start())
        if match[0] == "{":
            named = re.sub(r"\btemplate\s*<[^{};]*?>\s*(?=struct|class|union)", "", chunk)
            class_name = _CLASS.search(named)
            if not declares:
                scopes.append(None)
            elif _NAMESPACE.search(chunk):
                scopes.append("")
            else:
                scopes.append(class_name[1] if class_name else None)
        elif match[0] == "}" and scopes:
            scopes.pop()


def register(path: Path) -> dict[str, tuple[bool, str, int]]:
    """The entries of an operators.h: name -> (differentiable, reason, line)."""
    if not path.exists():
        return {}
    text = without_comments(path.read_text())
    return {
        entry[2]: (
            entry[1] == "differentiable",
            "".join(re.findall(r'"([^"]*)"', entry[3])).strip(),
            line_of(text, entry.start()),
        )
        for entry in _ENTRY.finditer(text)
    }


def violations(root: Path):
    rooms: dict[str, list[Path]] = {}
    for path in files(root, "*.h"):
        if path.parts[0] == "cycloid" and len(path.parts) > 2:
            rooms.setdefault(path.parts[1], []).append(path)
    for room, headers in rooms.items():
        where = Path("cycloid", room, "operators.h")
        entries = register(root / where)
        found = set()
        for path in headers:
            if path == where or path.name.endswith("_test.h"):
                continue
            for name, line in pullbacks((root / path).read_text()):
                found.add(name)
                if name not in entries:
                    advice = f'add differentiable("{name}") to {where}'
                    yield Violation(str(path), line, f"{name}_pullback is unregistered: {advice}")
        for name, (differentiable, reason, line) in entries.items():
            if differentiable and name not in found:
                yield Violation(str(where), line, f"no header of {room} has {name}_pullback")
            if not differentiable and not reason:
                yield Violation(str(where), line, f"{name}: not_differentiable needs a reason")
            if not differentiable and name in found:
                yield Violation(str(where), line, f"{name} has a pullback: it is differentiable")


if __name__ == "__main__":
    sys.exit(main(__doc__, violations))
