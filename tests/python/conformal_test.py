"""Bands around whole trajectories: how often they hold, and what breaks them."""

import types

import numpy as np
import pytest

import cycloid as cy

TRUTH = cy.systems.pendulum(dt=0.05, damping=0.1)
MODEL = cy.systems.pendulum(dt=0.05, damping=0.1, length=1.05)


def starts(rng, n):
    return rng.uniform(-1.2, 1.2, (n, 2))


def test_coverage_is_what_was_promised_in_the_mean_of_splits():
    shares = []
    for split in range(12):
        rng = np.random.default_rng(split)
        safe = cy.learn.conformal(MODEL, TRUTH, starts(rng, 600), 40, level=0.9, seed=split)
        x0 = starts(rng, 1000)
        shares.append(safe.rollout(x0, 40).contains(cy.rollout(TRUTH, x0, 40).states).mean())
    assert abs(np.mean(shares) - 0.9) < 0.01


def test_a_band_is_not_wider_than_the_errors_ask_for():
    rng = np.random.default_rng(3)
    safe = cy.learn.conformal(MODEL, TRUTH, starts(rng, 300), 40)
    x0 = starts(rng, 300)
    band, states = safe.rollout(x0, 40), cy.rollout(TRUTH, x0, 40).states
    error = np.abs(states - band.mean)
    assert np.allclose(band.low[:, 0], x0) and np.allclose(band.high[:, 0], x0)
    assert (band.high - band.low)[:, 1:].mean() < 12 * error.mean()
    shorter = safe.rollout(x0, 10)
    assert np.allclose(shorter.low, band.low[:, :11])
    with pytest.raises(cy.Error, match="40 steps"):
        safe.rollout(x0, 41)


def test_a_shift_breaks_the_guarantee_and_the_report_says_so():
    rng = np.random.default_rng(4)
    safe = cy.learn.conformal(MODEL, TRUTH, starts(rng, 300), 40)
    at_home = safe.coverage(TRUTH, starts(rng, 400), 40)
    shifted = safe.coverage(cy.systems.pendulum(dt=0.05, length=0.8), starts(rng, 400), 40)
    assert at_home.holds and at_home.low < 0.9 < at_home.high
    assert not shifted.holds and "breaks" in shifted.verdict and shifted.share < 0.5


def test_a_model_with_a_spread_of_its_own_gives_the_band_its_shape():
    class Stated:
        def rollout(self, x0, controls):
            mean = cy.rollout(MODEL, x0, controls).states
            std = 0.01 + 0.1 * np.abs(np.asarray(x0))[..., None, :] + 0 * mean
            return types.SimpleNamespace(mean=mean, std=std)

    rng = np.random.default_rng(5)
    safe = cy.learn.conformal(Stated(), TRUTH, starts(rng, 400), 40)
    x0 = starts(rng, 1000)
    band = safe.rollout(x0, 40)
    assert abs(band.contains(cy.rollout(TRUTH, x0, 40).states).mean() - 0.9) < 0.05
    width = (band.high - band.low)[:, 20, 0]
    assert np.corrcoef(width, np.abs(x0[:, 0]))[0, 1] > 0.99


def test_recordings_and_inputs():
    rng = np.random.default_rng(6)
    x0, u = starts(rng, 120), rng.normal(size=(120, 30, 1))
    run = cy.rollout(TRUTH, x0, u)
    held = np.concatenate([u, u[:, -1:]], axis=1)
    recordings = [cy.Recording(run.times, v, c) for v, c in zip(run.states, held)]
    safe = cy.learn.conformal(MODEL, recordings[:80])
    band = safe.rollout(x0[80:], u[80:])
    assert band.contains(run.states[80:]).mean() > 0.7
    assert safe.coverage(recordings[80:]).holds
    by_system = cy.learn.conformal(MODEL, TRUTH, x0[:80], u[:80])
    assert np.allclose(by_system.scores, safe.scores)


def test_adaptive_bands_keep_the_level_while_the_world_drifts():
    rng = np.random.default_rng(7)
    safe = cy.learn.conformal(MODEL, TRUTH, starts(rng, 200), 20)
    still = cy.learn.conformal(MODEL, TRUTH, starts(rng, 200), 20)
    inside, fixed = [], []
    for k in range(400):
        drifted = cy.systems.pendulum(dt=0.05, damping=0.1, length=1 - 0.1 * k / 400)
        x0 = starts(rng, 1)
        states = cy.rollout(drifted, x0, 20).states
        inside.append(safe.update(x0, 20, states, rate=0.05))
        fixed.append(bool(still.rollout(x0, 20).contains(states).all()))
    assert abs(np.mean(inside) - 0.9) < 0.03 and np.mean(fixed) < 0.8


def test_a_guarded_system_has_bands():
    rng = np.random.default_rng(8)
    safe = cy.guarded(TRUTH.variant(integrator="euler"), TRUTH, bound=0.05)
    bands = cy.learn.conformal(safe, TRUTH, starts(rng, 60), 20)
    x0 = starts(rng, 100)
    inside = bands.rollout(x0, 20).contains(cy.rollout(TRUTH, x0, 20).states)
    assert inside.mean() > 0.75


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: cy.learn.conformal(MODEL, TRUTH, np.zeros((5, 2)), 10), "runs"),
        (lambda: cy.learn.conformal(MODEL, TRUTH, np.zeros((50, 2)), 10, level=1.0), "level"),
        (lambda: cy.learn.conformal(MODEL, TRUTH), "x0"),
        (lambda: cy.learn.conformal(cy.systems.kepler(), TRUTH, np.zeros((50, 2)), 10), "shape"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(cy.Error, match=words):
        call()
    with pytest.raises(TypeError, match="rollout"):
        cy.learn.conformal(3, TRUTH, np.zeros((50, 2)), 10)
