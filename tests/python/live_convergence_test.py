"""A page that is watched while a plan, a fit or a training converges."""

import http.client
import json
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

import cycloid as cy
from cycloid import _progress


@pytest.fixture(autouse=True)
def every_picture(monkeypatch):
    monkeypatch.setattr(_progress, "_BETWEEN_PICTURES", 0.0)


def page_of(system, start=(1.0, 0.0)):
    return cy.view(cy.rollout(system, start, 10), live=True)


def test_a_plan_is_seen_to_converge_and_is_the_same_plan():
    pendulum = cy.systems.pendulum(dt=0.02)
    cost = cy.cost.Reach("state", [np.pi, 0.0], 100) + cy.cost.Effort(1e-3)
    alone = cy.plan(pendulum, [0.0, 0.0], cost, 120)
    with page_of(pendulum) as page:
        seen = cy.plan(pendulum, [0.0, 0.0], cost, 120, live=page)
        assert page.version >= 5  # the first picture, some on the way, the end
        shown = page._scene
        assert not page._closed  # it is the caller's
    assert (seen.controls == alone.controls).all()
    assert shown["frames"] == 121


def test_a_fit_and_a_training_show_the_run_over_the_recording():
    truth = cy.systems.pendulum(length=0.7, damping=0.1)
    run = cy.rollout(truth, [1.0, 0.0], 200)
    recording = cy.Recording(run.times, run.states, sigma=0.01)
    model = cy.systems.pendulum(damping=0.1)
    with page_of(model) as page:
        fit = cy.identify(model, recording, {"length": 1.0}, live=page)
        assert page.version >= 3 and page._scene["frames"] == 201
    assert abs(fit.params["length"] - 0.7) < 1e-3
    law = cy.learn.neural_ode(2, hidden=(8,), dt=0.01)
    with page_of(law) as page:
        cy.learn.train(law, recording, steps=20, live=page)
        assert page.version >= 3 and page._scene["frames"] == 201


def test_live_true_serves_says_where_and_ends(capsys):
    pendulum = cy.systems.pendulum(dt=0.02)
    asked = []

    def look(iteration, cost):
        if asked:
            return
        said = capsys.readouterr().err
        if "http://127.0.0.1:" in said:
            address = urlsplit(said.split()[-1])
            connection = http.client.HTTPConnection(address.netloc, timeout=10)
            connection.request("GET", f"/scene?{address.query}")
            asked.append(json.loads(connection.getresponse().read())["frames"])

    cost = cy.cost.Reach("state", [np.pi, 0.0], 100) + cy.cost.Effort(1e-3)
    before = time.monotonic()
    cy.plan(pendulum, [0.0, 0.0], cost, 60, live=True, callback=look)
    assert asked == [61] and time.monotonic() - before < 60


def test_a_picture_that_fails_loses_nothing_that_was_found(monkeypatch, capsys):
    pendulum = cy.systems.pendulum(dt=0.02)
    cost = cy.cost.Reach("state", [np.pi, 0.0], 100) + cy.cost.Effort(1e-3)
    run = cy.rollout(pendulum, [1.0, 0.0], 50)
    recording = cy.Recording(run.times, run.states, sigma=0.01)
    law = cy.learn.neural_ode(2, hidden=(8,), dt=0.02)
    with page_of(pendulum) as page:
        monkeypatch.setattr(page, "_scene_of", lambda *_: (_ for _ in ()).throw(cy.Error("no")))
        assert cy.plan(pendulum, [0.0, 0.0], cost, 60, live=page).states.shape == (61, 2)
        assert cy.identify(pendulum, recording, ["length"], live=page).converged
        assert cy.learn.train(law, recording, steps=5, live=page).steps == 5
    assert capsys.readouterr().err.count("cannot be shown: no") == 3


@pytest.mark.parametrize("live", [False, True])
def test_a_training_on_nothing_is_a_clean_error(live):
    with pytest.raises(cy.Error, match="recording"):
        cy.learn.train(cy.learn.neural_ode(2, hidden=(8,), dt=0.02), [], live=live)


def test_what_is_no_page_is_refused():
    pendulum = cy.systems.pendulum()
    with pytest.raises(TypeError, match="live must be"):
        cy.plan(pendulum, [0.0, 0.0], cy.cost.Effort(1.0), 5, live="yes")
