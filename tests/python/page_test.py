"""Pages that the package writes: complete, escaped, and only where they may be written."""

import math

import pytest
from cycloid._core import Error, InternalError, Page, Plot, plot_range


def small_plot(name="one"):
    plot = Plot(name, "a plot").x_axis("t [s]", 0, 1).y_axis("y", 1e-3, 1, logarithmic=True)
    plot.line([0, 0.5, 1], [0.1, math.nan, 1], "c2").dots([0.2, 0.4], [0.5, 0.6], 2, "c1")
    return plot.vertical(0.5, "half").horizontal(0.1).note(0.2, 0.5, "here < there")


def test_a_page_holds_what_it_was_given_in_order(tmp_path):
    page = Page("A & B").lead("What.").section("First").sentence("a < b").verdict("Beware.")
    page.plot("Plot", small_plot(), "caption", [("c2", "line")], wide=True)
    page.table(["name", "value"], [["m", "1"], ["k", "2"]], heading="Numbers", note="done")
    html = page.html()
    assert "<title>A &amp; B" in html
    body = html[html.index("</style>") :]
    places = [
        body.index(part)
        for part in (
            "What.",
            "First",
            "a &lt; b",
            "Beware.",
            'id="one"',
            "caption",
            "Numbers",
            '<th scope="row">k',
            "done",
        )
    ]
    assert places == sorted(places)
    assert "nan" not in html and "<script" not in html
    path = tmp_path / "page.html"
    page.write(str(path))
    assert path.read_text() == html
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_drawn_or_written_is_refused(tmp_path):
    with pytest.raises(Error, match="folder that exists"):
        Page("t").write(str(tmp_path / "no" / "page.html"))
    with pytest.raises(InternalError):
        Page("t").plot("", small_plot()).plot("", small_plot())
    with pytest.raises(InternalError):
        Plot("p", "").x_axis("", 1, 1)
    low, high = plot_range([0.0, 10.0, math.nan])
    assert low == -0.5 and high == 10.5
