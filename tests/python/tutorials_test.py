"""Pages that are programs in pieces: every piece runs, in order, and what it asserts holds.

A page's pieces share their names, as in one file, and run in a folder of their own.
"""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(
    [DOCS / "quick_start.md", DOCS / "concepts.md"]
    + [page for folder in ("tutorials", "rooms") for page in (DOCS / folder).glob("*.md")]
)
WITHOUT_PROGRAM = {"index"}
ROOM = ("Law", "Picture", "Smallest program", "Limits")


def pieces(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def settings_of_jax():
    """A page may choose JAX's precision: for itself alone."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_runs_and_its_checks_hold(page, tmp_path, monkeypatch):
    parts = pieces(page)
    if page.stem in WITHOUT_PROGRAM:
        assert parts == []
        return
    assert parts and any("assert " in part for part in parts)
    if "torch" in page.stem:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page.stem}
    for number, part in enumerate(parts):
        # Line numbers of a failure are those of the piece.
        exec(compile(part, f"{page.name}, piece {number + 1}", "exec"), names)


@pytest.mark.parametrize("page", sorted((DOCS / "rooms").glob("*.md")), ids=lambda page: page.stem)
def test_a_room_tells_law_picture_program_and_limits_in_this_order(page):
    if page.stem not in WITHOUT_PROGRAM:
        assert tuple(re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)) == ROOM


def test_every_tutorial_and_room_is_listed():
    for folder in ("tutorials", "rooms"):
        text = (DOCS / folder / "index.md").read_text()
        for page in (DOCS / folder).glob("*.md"):
            assert page.stem in WITHOUT_PROGRAM or f"({page.name})" in text, page


def test_the_readme_is_short_and_shows_what_it_says():
    text = (DOCS.parent / "README.md").read_text()
    assert text.count("\n") <= 110 and len(text) <= 8000
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(pictures) >= 4 and any(name.endswith(".gif") for name in pictures)
    assert all((DOCS.parent / name).stat().st_size < 200_000 for name in pictures)
