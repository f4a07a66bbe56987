"""The documentation as a site: built from this tree, complete, and searched from a disk."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site") / "docs"
    command = [sys.executable, "-B", ROOT / "docs" / "site" / "build.py", target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr  # warnings are errors
    return target.resolve()


def test_the_site_opens_without_errors_and_asks_for_nothing_elsewhere(browser, site):
    for dark in (False, True):
        page = browser.open(site / "index.html", dark=dark)
        # The first choice is kept; ask again.
        page.evaluate("localStorage.clear()")
        page = browser.open(site / "index.html", dark=dark)
        assert page.errors == []
        assert all(address.startswith(site.as_uri()) for address in page.requests)
        scheme = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
        assert scheme == ("slate" if dark else "default")
        assert page.evaluate("document.querySelector('h1').textContent").startswith("Cycloid")


def found(page, words):
    page.evaluate(
        "document.querySelector('#__search').click();"
        "document.querySelector('[data-md-component=search-query]').focus()"
    )
    page.call("Input.insertText", text=words)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        # The page looks at what was typed when a key is released.
        page.evaluate(
            "document.querySelector('[data-md-component=search-query]')"
            ".dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}))"
        )
        links = page.evaluate(
            "[...document.querySelectorAll('.md-search-result__link')].map((a) => a.href)"
        )
        if links:
            return links
        time.sleep(0.2)
    return []


@pytest.mark.parametrize(
    "words, place",
    [
        ("pullback", "python"),
        ("von Mises", "viewer.html"),
        ("check_gradient", "reference/"),
    ],
)
def test_the_search_works_from_a_disk(browser, site, words, place):
    page = browser.open(site / "index.html")
    links = found(page, words)
    assert any(place in link for link in links), links
    assert page.errors == []


def test_no_page_is_wider_than_a_phone(browser, site):
    for name in ("index", "concepts", "coming_from", "rooms/soft", "parameters", "accuracy",
                 "reference/python/cycloid", "reference/cpp/adjoint"):  # fmt: skip
        page = browser.open(site / f"{name}.html", width=390, height=844)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, f"{name} is {wide} wide"
        assert page.errors == []


def test_the_reference_has_every_public_name(site):
    import cycloid as cy

    text = (site / "reference" / "python" / "cycloid.html").read_text()
    named = set(re.findall(r'<h2 id="([a-z_]+?)(?:_\d)?"', text))
    from_core = {"Error", "GradientError", "InternalError", "ModelError", "ParameterError"}
    modules = {"cost", "fluid", "learn", "networks", "soft", "systems"}
    wanted = {n.lower() for n in cy.__all__ if not n.startswith("__")} - modules
    assert wanted - named <= {name.lower() for name in from_core}
    header = (site / "reference" / "cpp" / "adjoint.html").read_text()
    assert "RolloutOptions" in header and "check_gradient" in header
    assert "namespace" not in re.sub(r"<[^>]+>", "", header.split("<article")[1])


def test_the_tables_are_computed_and_every_gradient_holds(site):
    accuracy = (site / "accuracy.html").read_text()
    errors = [float(e) for e in re.findall(r"<td>(\d\.\de[-+]\d\d)</td>", accuracy)]
    assert len(errors) >= 9 and max(errors) < 1e-6
    assert "not held" not in accuracy
    parameters = (site / "parameters.html").read_text()
    for name in ("body:N.inertia", "geom:N.friction", "obstacle:N.radius", "young", "viscosity"):
        assert f"<code>{name}</code>" in parameters
