"""What every check needs: the repository's files, C++ text without comments, one way to report.

A check is a function `violations(root) -> list[Violation]`; `main` turns it into a command.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Callable, Iterable, Iterator, NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_SKIPPED_FOLDERS = re.compile(r"\.git|\.venv|\.setup|\.cache|build.*|__pycache__|node_modules")


class Violation(NamedTuple):
    path: str
    line: int  # 0 where the whole file is meant
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


def files(root: Path, *patterns: str) -> list[Path]:
    """The files of the tree, as paths relative to root, whose names match one of the patterns."""

    def walk(folder: Path) -> Iterator[Path]:
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                if not _SKIPPED_FOLDERS.fullmatch(entry.name):
                    yield from walk(entry)
            elif not patterns or any(entry.match(pattern) for pattern in patterns):
                yield entry.relative_to(root)

    return list(walk(root))


_COMMENT = r"//[^\n]*|/\*.*?\*/"
_STRING = r'R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
_CHARACTER = r"(?<!\w)'(?:\\.|[^'\\\n])+'"  # not a digit separator
_TOKEN = re.compile(f"{_COMMENT}|{_STRING}|{_CHARACTER}", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def _blanks(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def without_comments(text: str) -> str:
    """C++ text whose comments are blanks; places and lines stay as they were."""

    def replace(token: re.Match) -> str:
        return _blanks(token) if token[0].startswith(("//", "/*")) else token[0]

    return _TOKEN.sub(replace, text)


def bare_code(text: str) -> str:
    """C++ text whose comments, literals and preprocessor lines are blanks."""
    return _DIRECTIVE.sub(_blanks, _TOKEN.sub(_blanks, text))


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def report(found: Iterable[Violation]) -> int:
    found = list(found)
    for violation in found:
        print(violation)
    if found:
        print(f"{len(found)} violation{'s' if len(found) > 1 else ''}", file=sys.stderr)
    return 1 if found else 0


def main(description: str, violations: Callable[[Path], Iterable[Violation]]) -> int:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="default: this repository")
    return report(violations(parser.parse_args().root))
