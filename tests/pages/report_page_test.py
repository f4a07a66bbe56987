"""A report in a real browser: legible on a desk and on a phone, light and dark, without a script.

It is the page of `cy.verify`, with the longest names that it has.
"""

import re

import pytest

SCREENS = [{"width": 1120}, {"width": 1120, "dark": True}, {"width": 375, "dark": True}]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    cy = pytest.importorskip("cycloid")
    pendulum = cy.systems.pendulum(damping=0.1, dt=0.02)
    cost = cy.cost.Reach("angle", [1.0], weight=100) + cy.cost.Effort(1e-2)
    trust = cy.verify(cy.plan(pendulum, [0.0, 0.0], cost, 60))
    path = tmp_path_factory.mktemp("report") / "verify.html"
    trust.plot(path)
    return path, trust


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_a_report_is_whole_and_fits_the_screen(browser, report, screen):
    path, trust = report
    page = browser.open(path, **screen)
    assert page.errors == [] and page.requests == [path.as_uri()]
    text = page.evaluate("document.body.textContent")
    assert trust.verdict in text
    for name, share in trust.by_test.items():
        assert name in text and f"{100 * share:.0f} %" in text
    assert page.evaluate("document.querySelectorAll('script').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    outside = page.evaluate("""[...document.querySelectorAll('svg.plot text, td, th, p')]
        .filter(e => {
          const box = e.getBoundingClientRect();
          return box.width > 0 && (box.left < -1 || box.right > innerWidth + 1);
        }).filter(e => !e.closest('.table')).map(e => e.outerHTML)""")
    assert outside == []
    overlapping = page.evaluate("""[...document.querySelectorAll('svg.plot')].flatMap(svg => {
          const boxes = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect());
          return boxes.flatMap((a, i) => boxes.slice(0, i).filter(b =>
            Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3));
        }).length""")
    assert overlapping == 0
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(c) for c in re.findall(r"\d+", colour)[:3]) / 3
    assert brightness < 60 if screen.get("dark") else brightness > 200
