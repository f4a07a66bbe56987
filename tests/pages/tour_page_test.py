"""The page of `cycloid tour` in a real browser: complete, true to its numbers, legible, on its own.

CYCLOID_COMMAND names the program (default build/cycloid). CYCLOID_SCREENSHOTS names a folder that
receives pictures.
"""

import json
import math
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("CYCLOID_COMMAND", ROOT / "build" / "cycloid"))

FIGURES = """aim-side aim-top aim-miss fit-recording fit-ellipse fit-length fit-damping
trust-orbit trust-growth trust-forecast trust-within trust-beyond
slide-bending slide-time slide-race swing-angle swing-force""".split()

SCREENS = {
    "desktop_light": {"width": 1120},
    "desktop_dark": {"width": 1120, "dark": True},
    "phone_light": {"width": 375},
    "phone_dark": {"width": 375, "dark": True},
}


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """The page's path and the JSON that the same run printed."""
    assert COMMAND.exists(), f"{COMMAND} is not built: make build"
    path = tmp_path_factory.mktemp("tour") / "tour.html"
    done = subprocess.run(
        [COMMAND, "tour", "--report", path, "--seed", "3", "--json"],
        capture_output=True,
        timeout=300,
        check=True,
    )
    return path, json.loads(done.stdout)


@pytest.fixture(scope="module", params=SCREENS)
def screen(request, browser, tour):
    page = browser.open(tour[0], **SCREENS[request.param])
    folder = os.environ.get("CYCLOID_SCREENSHOTS")
    if folder:
        page.screenshot(Path(folder, f"tour_{request.param}.png"))
    return page


def look_up(result, key):
    for part in key.split("."):
        result = result[int(part)] if isinstance(result, list) else result[part]
    return result


def parsed(shown):
    """The number that a text shows, and half a unit of its last digit."""
    text = shown.replace("−", "-").strip()
    power = re.fullmatch(r"(-?\d) × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*)", text)
    if power:
        digits = power[2].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        unit = 10.0 ** int(digits or 1)
        return float(power[1]) * unit, 0.5 * unit
    number = re.fullmatch(r"-?(\d+)(?:\.(\d+))?", text)
    assert number, f"not a number: {shown!r}"
    if number[2] is not None:
        return float(text), 0.5 * 10.0 ** -len(number[2])
    zeros = len(text) - len(text.rstrip("0"))  # 11100 may have three significant digits
    return float(text), 0.5 * 10.0 ** (zeros if len(number[1]) > 3 else 0)


def test_the_reader_of_numbers_is_not_lenient():
    assert parsed("−6.30") == (-6.3, pytest.approx(0.005))
    assert parsed("4 × 10⁻¹¹") == (pytest.approx(4e-11), pytest.approx(5e-12))
    assert parsed("250") == (250, 0.5)
    with pytest.raises(AssertionError):
        parsed("nan")


def test_nothing_goes_wrong_and_nothing_is_fetched(screen, tour):
    assert screen.errors == []
    assert screen.requests == [tour[0].as_uri()]
    addresses = screen.evaluate(
        "[...document.querySelectorAll('[src],[href]')]"
        ".map(e => e.getAttribute('src') || e.getAttribute('href'))"
    )
    assert [a for a in addresses if not a.startswith(("#", "data:"))] == []


def test_every_figure_is_there_with_finite_paths(screen):
    found = screen.evaluate(
        "[...document.querySelectorAll('svg.plot')].map(s => ({id: s.id, label: s.ariaLabel,"
        " paths: [...s.querySelectorAll('path')].map(p => p.getAttribute('d')),"
        " rest: [...s.querySelectorAll('text,circle')].map(e => e.outerHTML).join()}))"
    )
    assert {figure["id"] for figure in found} >= set(FIGURES)
    for figure in found:
        assert figure["label"], figure["id"]
        drawn = [d for d in figure["paths"] if d]
        assert len(drawn) >= 4, figure["id"]  # grid, axis and at least two of its own
        for d in drawn:
            assert re.fullmatch(r"(?:[MLHVhZ]|-?\d+(?:\.\d+)?|\s)+", d), (figure["id"], d[:200])
        assert not re.search(r"nan|inf", figure["rest"], re.IGNORECASE), figure["id"]
        assert not re.search(r"-0\b(?!\.)", figure["rest"]), figure["id"]


def test_every_number_in_the_text_is_the_number_of_the_result(screen, tour):
    _, result = tour
    assert json.loads(screen.evaluate("document.getElementById('result').textContent")) == result
    numbers = screen.evaluate(
        "[...document.querySelectorAll('data[data-key]')].map(d => ({key: d.dataset.key,"
        " scale: Number(d.dataset.scale), value: Number(d.value), shown: d.textContent}))"
    )
    assert len(numbers) > 50
    for number in numbers:
        exact = look_up(result, number["key"])
        assert number["value"] == exact, number
        value, half_unit = parsed(number["shown"])
        assert math.isclose(
            value, exact * number["scale"], rel_tol=1e-12, abs_tol=1.001 * half_unit
        ), number
    assert "{{" not in screen.evaluate("document.body.textContent")


def test_the_result_is_what_the_page_claims(tour):
    _, result = tour
    assert result["ok"] and result["aim"]["hit"] and result["fit"]["found"]
    assert result["trust"]["verdict"] == "chaotic"
    assert result["aim"]["gradient_ok"] and result["trust"]["gradient_ok"]


def test_nothing_is_cut_off_or_sticks_out(screen):
    wider = screen.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wider <= 0
    outside = screen.evaluate(
        """[...document.querySelectorAll('svg.plot text, figcaption, .panel p, td, th, li, output')]
        .filter(e => {
          const box = e.getBoundingClientRect();
          const around = e.closest('figure, .panel, .scrub') || document.body;
          const card = around.getBoundingClientRect();
          return box.width > 0 && (box.left < card.left - 1 || box.right > card.right + 1
                                   || box.top < card.top - 1 || box.bottom > card.bottom + 1);
        }).map(e => e.outerHTML)"""
    )
    assert outside == []


def test_no_two_labels_of_a_figure_overlap(screen):
    overlapping = screen.evaluate("""[...document.querySelectorAll('svg.plot')].flatMap(svg => {
          const texts = [...svg.querySelectorAll('text')]
            .map(t => ({text: t.textContent, box: t.getBoundingClientRect()}))
            .filter(t => t.box.width > 0);
          const found = [];
          for (let i = 0; i < texts.length; ++i) for (let j = 0; j < i; ++j) {
            const a = texts[i].box, b = texts[j].box;
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 1 && high > 3) found.push([svg.id, texts[i].text, texts[j].text]);
          }
          return found;
        })""")
    assert overlapping == []


def test_the_sliders_lead_through_the_corrections_and_the_time(browser, tour):
    page = browser.open(tour[0])
    corrections = tour[1]["aim"]["iterations"]

    def move(name, value):
        return page.evaluate(f"""(() => {{
              const box = document.querySelector('.scrub[data-for="{name}"]');
              const slider = box.querySelector('input');
              slider.value = {value};
              slider.dispatchEvent(new Event('input'));
              return box.querySelector('output').textContent;
            }})()""")

    assert move("aim", 0).startswith("First guess: ")
    assert move("aim", 2).startswith("Correction 2: ")
    now = page.evaluate(
        "[...document.querySelectorAll('#aim .iterate.now')].map(e => e.dataset.frame)"
    )
    assert now == ["2", "2"]  # from the side and from above
    later = page.evaluate("document.querySelectorAll('#aim-side .iterate.later').length")
    assert later == corrections - 2
    assert f"Correction {corrections} (the last)" in move("aim", corrections)

    short = "document.querySelector('#trust-orbit [data-orbit]').getAttribute('d').length"
    whole = page.evaluate(short)
    assert move("orbit", 100).startswith("After 2.0 s they are ")
    assert page.evaluate(short) < whole / 5

    slide = tour[1]["slide"]
    assert move("slide", 0).startswith(f"Straight: {slide['straight_time']:.5f} s, 25 % above")
    notes = page.evaluate("document.querySelectorAll('#slide-bending [data-note]').length")
    last = f"Correction {slide['iterations']} (the last): {slide['time']:.5f} s, "
    assert move("slide", notes - 1).startswith(last)
    # The cycloid lies on top of the slides, or the last one would hide it.
    assert page.evaluate("document.querySelector('#slide-bending .dashed:last-of-type') !== null")
    # ... and the straight one on top of the others, which nearly cover it.
    top = "[...document.querySelectorAll('#slide-bending .iterate')].at(-1).dataset.frame"
    assert page.evaluate(top) == "0"
    arrival = slide["straight_time"]
    assert move("race", 1000) == f"After {arrival + 0.01 - arrival % 0.01:.2f} s"
    assert page.errors == []


def test_play_moves_the_slider_and_stops(browser, tour):
    page = browser.open(tour[0])
    start = "document.querySelector('.scrub[data-for=\"aim\"] button').click()"
    label = "document.querySelector('.scrub[data-for=\"aim\"] button').textContent"
    page.evaluate(start)
    assert page.evaluate(label) == "Stop"
    assert (
        page.evaluate(
            """new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() =>
          resolve(Number(document.querySelector('.scrub[data-for="aim"] input').value)))))"""
        )
        < tour[1]["aim"]["iterations"]
    )
    page.evaluate(start)
    assert page.evaluate(label) == "Play"
    assert page.errors == []


def test_without_scripts_the_page_is_complete_and_shows_no_dead_controls(browser, tour):
    page = browser.open(tour[0], scripts=False)
    page.call("Emulation.setScriptExecutionDisabled", value=False)  # for the questions below
    assert page.evaluate("[...document.querySelectorAll('.scrub')].every(b => b.hidden)")
    assert page.evaluate("document.querySelectorAll('svg.plot').length") >= len(FIGURES)
    assert page.evaluate("document.querySelectorAll('#aim-side .iterate').length") == (
        tour[1]["aim"]["iterations"] + 1
    )


def test_light_and_dark_follow_the_reader(browser, tour):
    colour = "getComputedStyle(document.body).backgroundColor"

    def brightness(dark):
        page = browser.open(tour[0], dark=dark)
        return sum(int(c) for c in re.findall(r"\d+", page.evaluate(colour))[:3]) / 3

    assert brightness(dark=False) > 200
    assert brightness(dark=True) < 60
