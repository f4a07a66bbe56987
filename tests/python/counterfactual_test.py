"""What would have happened: changes of parameters, inputs and starts, with intervals."""

import numpy as np
import pytest

import cycloid as cy

TRUTH = {"length": 0.8, "damping": 0.15}


def pendulum(**own):
    return cy.systems.pendulum(dt=0.01, **(TRUTH | own))


def recorded(u=None, noise=0.01, seed=0, steps=200):
    rng = np.random.default_rng(seed)
    u = np.zeros((steps, 1)) if u is None else u
    run = cy.rollout(pendulum(), [1.0, 0.0], u)
    seen = run.states + noise * rng.normal(size=run.states.shape)
    return cy.Recording(run.times, seen, np.concatenate([u, u[-1:]]))


@pytest.fixture(scope="module")
def fit():
    guess = cy.systems.pendulum(dt=0.01, length=1.0, damping=0.1)
    return cy.identify(guess, recorded(), ["length", "damping"])


CHANGES = {
    "parameter": ({"gravity": 5.0}, {"gravity": 5.0}, [1.0, 0.0], 0.0),
    "input": ({"torque": 0.7}, {}, [1.0, 0.0], 0.7),
    "start": ({"angular_velocity": 2.0}, {}, [1.0, 2.0], 0.0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_does_what_it_would_have_done_in_the_truth(fit, name):
    change, own, x0, torque = CHANGES[name]
    cf = cy.counterfactual(fit, fit.recordings[0], change)
    truth = cy.rollout(pendulum(**own), x0, np.full((200, 1), torque)).states
    assert np.abs(cf.states - truth).max() < 0.05 < np.abs(cf.effect).max()
    assert np.array_equal(cf.times, fit.recordings[0].times)
    assert (cf.low <= cf.states).all() and (cf.states <= cf.high).all()
    again = cy.counterfactual(fit, fit.recordings[0], change)
    assert np.array_equal(cf.low, again.low)


def test_intervals_hold_the_truth_as_often_as_they_say():
    guess = cy.systems.pendulum(dt=0.01, length=1.0, damping=0.1)
    truth = cy.rollout(pendulum(gravity=5.0), [1.0, 0.0], 200).states
    inside = []
    for seed in range(20):
        recording = recorded(noise=0.05, seed=seed)
        recording = cy.Recording(recording.times, recording.values, x0=[1.0, 0.0])
        own = cy.identify(guess, recording, ["length", "damping"], x0="known")
        cf = cy.counterfactual(own, recording, {"gravity": 5.0}, draws=100)
        inside.append(((cf.low <= truth) & (truth <= cf.high))[1:].mean())
    assert 0.85 < np.mean(inside) < 1.0


def test_a_changed_parameter_is_not_drawn(fit):
    both = cy.counterfactual(fit, fit.recordings[0], {"length": 0.8, "damping": 0.15})
    assert np.allclose(both.low, both.high)
    free = cy.counterfactual(fit, fit.recordings[0], {})
    assert (free.high - free.low).max() > 1e-4 and np.allclose(free.effect, 0)


def test_noise_that_acted_is_inferred_and_acts_again():
    rng = np.random.default_rng(5)
    push = np.repeat(rng.normal(size=(10, 1)), 20, axis=0)  # nobody wrote it down
    run = cy.rollout(pendulum(), [1.0, 0.0], push)
    recording = cy.Recording(run.times, run.states, sigma=1e-3, x0=[1.0, 0.0])
    truth = cy.rollout(pendulum(damping=1.0), [1.0, 0.0], push).states
    blind = cy.counterfactual(pendulum(), recording, {"damping": 1.0})
    seeing = cy.counterfactual(pendulum(), recording, {"damping": 1.0}, forces="torque")
    assert np.abs(seeing.states - truth).max() < 0.2 * np.abs(blind.states - truth).max()
    with pytest.raises(cy.Error, match="forces"):
        cy.counterfactual(pendulum(), recording, {}, forces="push")


def test_inputs_may_be_changed_sample_by_sample(fit):
    u = np.sin(np.arange(201) / 20)[:, None]
    cf = cy.counterfactual(fit, fit.recordings[0], {"torque": u})
    truth = cy.rollout(pendulum(), [1.0, 0.0], u[:-1]).states
    assert np.abs(cf.states - truth).max() < 0.05


def test_interventions_are_ranked_by_what_they_do(fit):
    changes = {
        "mass": {"mass": 2.0},
        "gravity": {"gravity": 4.0},
        "push": {"torque": 0.01},
    }
    ranked = cy.rank_interventions(fit, fit.recordings[0], changes, lambda x: x[-1, 0])
    assert [i.name for i in ranked] == ["gravity", "mass", "push"]
    assert all(i.low <= i.effect <= i.high for i in ranked)
    with pytest.raises(cy.Error, match="changes"):
        cy.rank_interventions(fit, fit.recordings[0], {}, lambda x: x[-1, 0])


def test_what_makes_no_sense_is_refused(fit):
    recording = fit.recordings[0]
    with pytest.raises(cy.ParameterError, match="length"):
        cy.counterfactual(fit, recording, {"lenght": 1.0})
    with pytest.raises(cy.Error, match="torque"):
        cy.counterfactual(fit, recording, {"torque": np.zeros(7)})
    with pytest.raises(TypeError, match="Fit"):
        cy.counterfactual(3, recording, {})
    with pytest.raises(TypeError, match="Recording"):
        cy.counterfactual(fit, 3, {})
