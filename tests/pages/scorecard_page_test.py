"""Scorecards in a real browser: two models side by side, on a desk and on a phone."""

import types

import numpy as np
import pytest

SCREENS = [{"width": 1120}, {"width": 1120, "dark": True}, {"width": 375, "dark": True}]


@pytest.fixture(scope="module")
def page_of_two(tmp_path_factory):
    cy = pytest.importorskip("cycloid")
    truth = cy.systems.pendulum(dt=0.02)

    class Stated:
        name = "noisy"

        def rollout(self, x0, controls):
            states = cy.rollout(truth, x0, controls).states
            noise = np.random.default_rng(0).normal(size=states.shape)
            return types.SimpleNamespace(mean=states + 0.1 * noise, std=0 * states + 0.05)

    x0 = np.random.default_rng(1).uniform(-1, 1, (8, 2))
    damped = cy.systems.pendulum(dt=0.02, damping=0.3)
    cards = [cy.evaluate(m, truth, x0, 100, timing=False, draws=40) for m in (damped, Stated())]
    path = tmp_path_factory.mktemp("card") / "card.html"
    cards[0].plot(path, beside=cards[1])
    return path, cards


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_a_page_of_two_cards_is_whole_and_fits_the_screen(browser, page_of_two, screen):
    path, cards = page_of_two
    page = browser.open(path, **screen)
    assert page.errors == [] and page.requests == [path.as_uri()]
    text = page.evaluate("document.body.textContent")
    for card in cards:
        assert card.verdict in text
        for name in card.scores:
            assert name in text
    for plot in ("error", "coverage", "gradient_cosine"):
        lines = f"document.querySelectorAll('#{plot} path').length"
        assert page.evaluate(lines) >= 1, plot
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
