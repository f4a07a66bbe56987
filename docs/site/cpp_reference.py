"""Reference pages of the C++ core, from its headers: what a header says of itself, then every
declaration with the comment above it.

Shown are the headers that cycloid/cycloid.h includes, each room's first one, and those for models.
A declaration at the level of a namespace is shown without its body, a type as it stands.
"""

import re
from pathlib import Path

MORE = ("io/load.h", "io/builder.h", "system/law.h", "system/system.h", "system/stepper.h",
        "base/base.h", "math/scalar.h", "network/mlp.h", "model/model.h", "model/model_file.h",
        "geometry/geometry.h", "record/recording.h", "record/run_recorder.h",
        "fluid/fluid.h")  # fmt: skip


def shown_headers(root: Path) -> list[Path]:
    """Relative to cycloid/, sorted by room."""
    umbrella = (root / "cycloid" / "cycloid.h").read_text()
    named = set(re.findall(r'#include "cycloid/([\w/]+\.h)"', umbrella)) | set(MORE)
    return [Path(name) for name in sorted(named) if (root / "cycloid" / name).exists()]


def comment_text(lines: list[str]) -> str:
    """Comment lines as Markdown: indented ones are code, as are those that end with a number of
    an equation; others are joined to paragraphs."""
    out, code, text = [], [], []

    def flush():
        if text:
            out.append(escaped(" ".join(text)))
            text.clear()
        if code:
            out.append("```text\n" + "\n".join(code) + "\n```")
            code.clear()

    for line in lines:
        body = re.sub(r"^\s*//\s?", "", line).rstrip()
        if not body:
            flush()
        elif body.startswith("  "):
            if text:
                flush()
            code.append(body)
        else:
            if code:
                flush()
            text.append(body)
    flush()
    return "\n\n".join(out)


def escaped(text: str) -> str:
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        p if p.startswith("`") else re.sub(r"([*_<>#|\[\]])", r"\\\1", p) for p in pieces
    )


def split_header(text: str) -> tuple[list[str], list[tuple[list[str], str]]]:
    """The first comment, and (comment, declaration) pairs at the level of a namespace."""
    lines = text.splitlines()
    first = []
    while lines and lines[0].startswith("//"):
        first.append(lines.pop(0))
    pairs, comment, at = [], [], 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("//"):
            comment.append(line)
            at += 1
        elif re.match(r"(#|namespace|}|$|using namespace|extern template)", line):
            hidden = re.match(r"namespace (detail|\w*_detail)\b", line)
            at = skip_block(lines, at) if hidden else at + 1
            comment = []
        else:
            end = end_of_declaration(lines, at)
            pairs.append((comment, without_body(lines[at:end])))
            comment, at = [], end
    return first, pairs


def skip_block(lines: list[str], at: int) -> int:
    depth = 0
    while at < len(lines):
        depth += lines[at].count("{") - lines[at].count("}")
        at += 1
        if depth <= 0:
            break
    return at


def end_of_declaration(lines: list[str], at: int) -> int:
    """After the line on which braces and parentheses are closed and ; or } ends it."""
    depth = 0
    while at < len(lines):
        bare = re.sub(r'//.*|"(\\.|[^"])*"', "", lines[at])
        depth += sum(bare.count(c) for c in "{(") - sum(bare.count(c) for c in "})")
        at += 1
        if depth <= 0 and bare.rstrip().endswith((";", "}")):
            break
    return at


def without_body(lines: list[str]) -> str:
    """Types and constants as they stand; of a function what comes before its body."""
    text = "\n".join(lines)
    if re.match(r"(template\s*<[^{;]*>\s*)?(struct|class|enum|union|using|concept)\b", text):
        return text
    if re.search(r"^\S.*\)[^;{]*\{", text, re.MULTILINE | re.DOTALL) and "(" in text:
        return text[: body_start(text)].rstrip() + ";"
    return text


def body_start(text: str) -> int:
    """Where the body of a function begins: the first brace outside of parentheses."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "{" and depth == 0:
            return i
    return len(text)


def room_page(root: Path, room: str, headers: list[Path]) -> str:
    lines = [f"# Room {room}", ""]
    for header in headers:
        first, pairs = split_header((root / "cycloid" / header).read_text())
        lines += [f"## {header.name} {{#{anchor(header)}}}", "",
                  f'`#include "cycloid/{header}"`', "", comment_text(first), ""]
        for comment, declaration in pairs:
            lines += [comment_text(comment), "", "```cpp", declaration, "```", ""]
    return "\n".join(lines)


def anchor(header: Path) -> str:
    return header.name.replace(".", "-").replace("_", "-")


def pages(root: Path) -> dict[str, str]:
    """{path in the site: Markdown}"""
    rooms: dict[str, list[Path]] = {}
    for header in shown_headers(root):
        rooms.setdefault(header.parts[0], []).append(header)
    return {f"reference/cpp/{room}.md": room_page(root, room, own) for room, own in rooms.items()}
