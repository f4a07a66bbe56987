"""The page of the race: what is missed first, curves with their spread, on any screen."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import race_page  # noqa: E402


def row(what, ok, **more):
    return {"what": what, "measured": 3.21, "unit": "x", "held_to": ">= 4", "ok": ok} | more


def times(median):
    return {"median": median, "low": 0.9 * median, "high": 1.3 * median}


RESULTS = {
    "machine": {"cpu": "a processor", "cores": 2},
    "held_to": [row("reached <first>", True), row("not reached", False, spread=[3.0, 3.5])],
    "curves": {
        "batch": {
            "title": "Batch", "x": "environments", "unit": "µs per step",
            "notes": ["MJX: forward of a robot did not finish within 60 s"],
            "rows": [{"x": n, "forward": times(90 / n), "MuJoCo, forward": times(30)}
                     | ({"MJX, forward": times(400)} if n > 1 else {}) for n in (1, 8, 64)],
        }
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("race") / "race.html"
    file.write_text(race_page.page(RESULTS))
    return file


@pytest.mark.parametrize("width, dark", [(1120, False), (1120, True), (390, True)])
def test_the_page_shows_what_is_missed_first_and_fits(browser, path, width, dark):
    page = browser.open(path, width=width, dark=dark)
    assert page.errors == [] and page.requests == [path.as_uri()]
    words = page.evaluate("[...document.querySelectorAll('td:last-child')].map((d) => d.className)")
    assert words == ["missed", "missed", "met"]  # an aim, a peer that is faster, an aim
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text = page.evaluate("document.body.innerText")
    assert "reached <first>" in text and "(3 … 3.5)" in text and "1 of 2 aims are missed" in text
    assert "environments: 1; forward, ours / MuJoCo" in text and "slower" in text
    assert "MJX: forward of a robot did not finish within 60 s." in text
    assert text.index("Where a peer is faster") < text.index("What is reached")


def test_curves_go_down_where_the_numbers_do(browser, path):
    page = browser.open(path)
    lines = page.evaluate(
        "[...document.querySelectorAll('polyline')].map((l) => l.getAttribute('points'))"
    )
    heights = [[float(p.split(",")[1]) for p in line.split()] for line in lines]
    assert heights[0][0] < heights[0][1] < heights[0][2]  # the picture's y goes down
    assert heights[1][0] == heights[1][1] == heights[1][2]
    assert len(heights[2]) == 2  # a peer that was not raced everywhere
    assert page.evaluate("document.querySelectorAll('polygon').length") == 3


def test_series_can_be_told_apart_and_labels_do_not_touch(browser, tmp_path):
    names = ("forward", "forward and gradient", "linearise", "MuJoCo, forward", "MJX, forward")
    assert len({race_page.look(name) for name in names}) == len(names)
    rows = [{"x": n, "forward": times(n)} for n in (1, 4, 27, 32, 64)]
    curve = {"title": "Dofs", "x": "dofs", "unit": "µs", "rows": rows}
    file = tmp_path / "race.html"
    file.write_text(race_page.page(RESULTS | {"curves": {"dofs": curve}}))
    for width in (1120, 390):
        page = browser.open(file, width=width)
        ends = page.evaluate(
            "[...document.querySelectorAll('figure text')].filter((t) => /^[0-9]+$/.test("
            "t.textContent) && t.getAttribute('text-anchor') === 'middle')"
            ".map((t) => t.getBoundingClientRect()).map((r) => [r.left, r.right])"
        )
        assert len(ends) == 4  # 32 has no room beside 27
        assert all(a[1] < b[0] for a, b in zip(ends, ends[1:], strict=False))
