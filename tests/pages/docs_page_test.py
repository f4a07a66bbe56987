"""The documentation as a site: built from this tree, complete, and searched from a disk."""

import html
import importlib
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
        ("self_contact", "soft.html"),
        ("rod twist", "soft.html"),
        ("fixed distances", "learn.html"),
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


# Members that programs rely on, by class; inherited ones too.
MEMBERS = {
    "System": "state_size tangent_size input_size state_slices input_slices initial_state "
    "parameters observables variant",
    "Robot": "nq nv na nu save",
    "Parameters": "names shapes units default pack unpack",
    "Trajectory": "states steps times report pullback pushforward hvp x0 controls params save",
    "Gradient": "x0 controls params x0_tangent variance",
    "Report": "failed unsolved counters memory tape_bytes advice",
    "Diagnosis": "growth lyapunov switch_fraction first_nonfinite reliable advice",
    "GradientCheck": "max_relative_error by_block ok",
    "Forward": "qacc mass_matrix bias body_pos body_quat site_pos energy contacts sensors",
    "Recording": "times values controls names sigma x0",
    "Fit": "params std names covariance interval whiteness x0 rms converged message weak steps "
    "seconds predict report plot",
    "Plan": "controls states cost gains iterations history converged message steps seconds",
    "Trust": "survives by_test exploits ok verdict plot",
    "Scorecard": "scores interval verdict save plot",
    "soft.Equilibrium": "state converged residual pullback",
    "soft.Mesh": "vertices cells",
    "networks.MLP": "weights activation seed dtype pullback gradient gradient_pullback",
    "learn.Ensemble": "rollout novelty",
    "learn.Training": "system params history save",
    "fluid.GridFlow": "state velocity points field pressure",
    "fluid.SpectralFlow": "state velocity points field pressure",
}


def text_of(path):
    return html.unescape(re.sub(r"<[^>]+>", "", path.read_text().split("<article")[1]))


def test_the_reference_has_every_public_name(site):
    folder = site / "reference" / "python"
    modules = {"cost", "fluid", "learn", "networks", "soft", "systems"}
    others = {"gym": {"AutoresetMode"}}  # of other packages
    for page in folder.glob("*.html"):
        name = "cycloid" if page.stem == "cycloid" else f"cycloid.{page.stem}"
        module = importlib.import_module(name)
        wanted = {n for n in module.__all__ if not n.startswith("__")} - modules
        named = set(re.findall(r"<h2[^>]*>(\w+)<", page.read_text()))
        assert wanted - named == others.get(page.stem, set()), name


@pytest.mark.parametrize("name", MEMBERS)
def test_the_reference_has_the_members_of(site, name):
    module, _, kind = name.rpartition(".")
    text = (site / "reference" / "python" / f"{module or 'cycloid'}.html").read_text()
    section = re.search(rf"<h2[^>]*>{kind}<.*?(?=<h2|\Z)", text, re.S)
    words = set(re.findall(r"\w+", html.unescape(re.sub(r"<[^>]+>", "", section[0]))))
    assert set(MEMBERS[name].split()) <= words


def test_the_reference_of_cpp_has_its_words(site):
    folder = site / "reference" / "cpp"
    text = " ".join(text_of(page) for page in folder.glob("*.html"))
    for name in ("load", "System", "rollout", "Trajectory", "pullback", "linearise", "forward",
                 "observe", "check_gradient", "diagnose", "RolloutOptions"):  # fmt: skip
        assert re.search(rf"\b{name}\(|(class|struct) {name}\b", text), name
    assert "namespace" not in text_of(folder / "adjoint.html")


def test_the_tables_are_computed_and_every_gradient_holds(site):
    accuracy = (site / "accuracy.html").read_text()
    errors = [float(e) for e in re.findall(r"<td>(\d\.\de[-+]\d\d)</td>", accuracy)]
    assert len(errors) >= 9 and max(errors) < 1e-6
    assert "not held" not in accuracy
    parameters = (site / "parameters.html").read_text()
    for name in ("body:N.inertia", "geom:N.friction", "obstacle:N.radius", "young", "viscosity"):
        assert f"<code>{name}</code>" in parameters
