"""Makes the site: python docs/site/build.py [TARGET], build/docs if left out.

Pages of docs/ are taken as they are, the reference is made from the sources, tables are computed by
the package (`make build`), and links that leave
docs/ are led to what the site has of their targets: a header to its place in the reference, an
example to its page, a document of the root to its copy. Warnings of MkDocs are errors.
"""

import logging
import os
import re
import shutil
import sys
from pathlib import Path

import cpp_reference
import python_reference
import tables

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
DOCUMENTS = ("ARCHITECTURE", "NOTATION", "CONTRIBUTING", "CHANGELOG")

_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"(?:[-*] |\d+\. )")


def place_of(target: Path, headers: set[Path]) -> str | None:
    """Where the site has a file of the tree, relative to its root; None: nowhere."""
    if not target.is_relative_to(ROOT):
        return None
    path = target.relative_to(ROOT)
    if path.parts[:1] == ("docs",) and target.is_file() and path.suffix != ".bib":
        return str(path.relative_to("docs"))
    if path.parts[:1] == ("examples",) and path.suffix in (".py", ".cpp"):
        return f"examples/{path.stem}.md"
    if path.suffix == ".md" and path.stem in DOCUMENTS:
        return f"project/{path.stem.lower()}.md"
    if path.parts[:1] == ("cycloid",) and Path(*path.parts[1:]) in headers:
        header = Path(*path.parts[1:])
        return f"reference/cpp/{header.parts[0]}.md#{cpp_reference.anchor(header)}"
    return None


def linked(text: str, source: Path, page: str, headers: set[Path]) -> str:
    """Markdown of `source` for the place `page` of the site."""

    def one(match: re.Match) -> str:
        mark, shown, address = match.groups()
        if re.match(r"[a-z]+:|#", address):
            return match[0]
        name, _, heading = address.partition("#")
        place = place_of((source.parent / name).resolve(), headers)
        if place is None:
            return shown
        there = os.path.relpath(place.partition("#")[0], os.path.dirname(page) or ".")
        heading = heading or place.partition("#")[2]
        return f"{mark}[{shown}]({there}{'#' + heading if heading else ''})"

    out, last = [], 0
    for code in _CODE.finditer(text):
        out += [_LINK.sub(one, text[last : code.start()]), code[0]]
        last = code.end()
    return "".join(out) + _LINK.sub(one, text[last:])


def with_lists(text: str) -> str:
    """A list may follow its paragraph without an empty line, as on other sites."""
    out, fenced, before = [], False, ""
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        in_list = _ITEM.match(before) or before.startswith("  ")
        if not fenced and _ITEM.match(line) and before.strip() and not in_list:
            out.append("")
        out.append(line)
        before = line
    return "\n".join(out) + "\n"


def example_pages() -> dict[str, str]:
    pages = {}
    for path in sorted((ROOT / "examples").iterdir()):
        language = {".py": "python", ".cpp": "cpp"}.get(path.suffix)
        if language:
            text = f"# {path.name}\n\n```{language}\n{path.read_text()}```\n"
            pages[f"examples/{path.stem}.md"] = text
    return pages


def site_pages() -> dict[str, str]:
    """{path in the site: Markdown}"""
    headers = set(cpp_reference.shown_headers(ROOT))
    pages = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = str(path.relative_to(ROOT / "docs"))
        pages[page] = with_lists(linked(path.read_text(), path, page, headers))
    for name in DOCUMENTS:
        page, path = f"project/{name.lower()}.md", ROOT / f"{name}.md"
        pages[page] = with_lists(linked(path.read_text(), path, page, headers))
    pages |= tables.pages()
    return pages | example_pages() | python_reference.pages(ROOT) | cpp_reference.pages(ROOT)


def reference_nav(pages: dict[str, str]) -> str:
    """The last lines of mkdocs.yml: what is made from the sources."""

    def group(title, prefix, order=sorted):
        rows = [f"          - {page}" for page in order(p for p in pages if p.startswith(prefix))]
        return [f"      - {title}:", *rows]

    lines = ["  - Reference:"]
    lines += group("Python", "reference/python/", list) + group("C++", "reference/cpp/")
    lines += group("Examples", "examples/") + group("Project", "project/")
    return "\n".join(lines)


def write_sources(source: Path, pages: dict[str, str]) -> None:
    shutil.rmtree(source, ignore_errors=True)
    for name, text in pages.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in (".png", ".svg", ".gif", ".json", ".py"):
            place = source / path.relative_to(ROOT / "docs")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    (source / "assets").mkdir()
    for name in ("style.css", "iframe-worker.js"):
        shutil.copy(HERE / name, source / "assets" / name)


def build(target: Path) -> None:
    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config

    pages = site_pages()
    source = target.with_name(target.name + "_source")
    write_sources(source, pages)
    settings = (HERE / "mkdocs.yml").read_text()
    for name, value in (("source", source), ("target", target), ("reference", "")):
        settings = settings.replace("{" + name + "}", str(value) or reference_nav(pages))
    file = source.with_suffix(".yml")
    file.write_text(settings)
    config = load_config(str(file), strict=True)
    mkdocs_build(config)


if __name__ == "__main__":
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # of the theme, about a release that is not used here
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "docs").resolve()
    logging.basicConfig(level=logging.WARNING, format="docs: %(message)s")
    build(target)
    print(f"docs: {target / 'index.html'}")
