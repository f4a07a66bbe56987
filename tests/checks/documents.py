"""Checks the documentation against the tree.

Links in *.md lead to a file, and to a heading of it where they name one; a citation in a comment
or a document (AuthorYear, as in Verlet1967) is a key of docs/references.bib, where keys are unique.
Every line of a C++ program shown in *.md stands in one of examples/*.cpp.
"""

import re
import sys
from pathlib import Path

from source_tree import Violation, files, line_of, main

BIBLIOGRAPHY = Path("docs/references.bib")

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_KEY = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:1[6-9]|20)\d\d\b")
_ENTRY = re.compile(r"^@\w+\{([^,\s]+),", re.MULTILINE)
_EXTERNAL = re.compile(r"[a-z]+:")


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, formed as GitHub does."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        found.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return found


def links(root: Path):
    for path in files(root, "*.md"):
        text = (root / path).read_text()
        prose = _FENCE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
        for match in _LINK.finditer(prose):
            address = match[1] or match[2]
            if _EXTERNAL.match(address):
                continue
            name, _, anchor = address.partition("#")
            target = (root / path).parent / name if name else root / path
            line = line_of(prose, match.start())
            if not target.exists():
                yield Violation(str(path), line, f"{address} leads nowhere")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                yield Violation(str(path), line, f"{name or path} has no heading '{anchor}'")


def citations(root: Path):
    bibliography = root / BIBLIOGRAPHY
    keys = _ENTRY.findall(bibliography.read_text()) if bibliography.exists() else []
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield Violation(str(BIBLIOGRAPHY), 0, f"{key} is there twice")
    for key in keys:
        if not _KEY.fullmatch(key):
            yield Violation(str(BIBLIOGRAPHY), 0, f"{key}: a key is AuthorYear")
    for path in files(root, "*.h", "*.cpp", "*.py", "*.md", "*.ts"):
        if path.parts[:2] == ("tests", "checks"):
            continue
        text = (root / path).read_text()
        for match in _KEY.finditer(text):
            if match[0] not in keys:
                message = f"{match[0]} is cited, but is no key of {BIBLIOGRAPHY}"
                yield Violation(str(path), line_of(text, match.start()), message)


def shown_programs(root: Path):
    examples = "\n".join((root / path).read_text() for path in files(root, "examples/*.cpp"))
    known = {line.strip() for line in examples.splitlines()}
    for path in files(root, "*.md"):
        text = (root / path).read_text()
        for block in re.finditer(r"^```cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for number, line in enumerate(block[1].splitlines()):
                if line.strip() and line.strip() not in known:
                    at = line_of(text, block.start(1)) + number
                    yield Violation(str(path), at, "this line stands in no program of examples/")


def violations(root: Path):
    yield from links(root)
    yield from citations(root)
    yield from shown_programs(root)


if __name__ == "__main__":
    sys.exit(main(__doc__, violations))
