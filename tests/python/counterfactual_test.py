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


def test_intervals_hold_the_truth_where_the_start_is_inferred_too():
    guess = cy.systems.pendulum(dt=0.01, length=1.0, damping=0.15)
    truth = cy.rollout(pendulum(gravity=5.0), [1.0, 0.0], 60).states
    inside, first = [], []
    for seed in range(20):
        recording = recorded(noise=0.05, seed=seed, steps=60)
        own = cy.identify(guess, recording, ["length"])
        cf = cy.counterfactual(own, recording, {"gravity": 5.0}, draws=100)
        held = (cf.low <= truth) & (truth <= cf.high)
        inside.append(held.mean())
        first.append(held[0].mean())
    assert 0.85 < np.mean(inside) < 1.0 and np.mean(first) > 0.8


def test_a_changed_parameter_is_not_drawn(fit):
    change = {"length": 0.8, "damping": 0.15, "angle": 1.0, "angular_velocity": 0.0}
    both = cy.counterfactual(fit, fit.recordings[0], change)
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


def test_a_column_that_was_never_measured_is_named(fit):
    whole = recorded()
    values = np.where([True, False], whole.values, np.nan)
    with pytest.raises(cy.Error, match='"angular_velocity" was never measured'):
        cy.counterfactual(fit, cy.Recording(whole.times, values), {"damping": 0.5}, draws=8)


def test_one_component_may_be_changed():
    flight = cy.systems.projectile(dt=0.02)
    run = cy.rollout(flight, [0, 0, 0, 1, 0, 5], 20)
    recording = cy.Recording(run.times, run.states)
    cf = cy.counterfactual(flight, recording, {"wind[1]": 3.0, "drag": 0.5})
    blown = cy.systems.projectile(dt=0.02, drag=0.5, wind=(0, 3.0, 0))
    assert np.allclose(cf.states, cy.rollout(blown, [0, 0, 0, 1, 0, 5], 20).states)
    with pytest.raises(cy.Error, match="no .7."):
        cy.counterfactual(flight, recording, {"wind[7]": 3.0})


def test_an_event_may_leave_something_else_behind():
    ball = cy.systems.bouncing_ball(dt=0.01, restitution=0.8)
    run = cy.rollout(ball, [1.0, 0.0], 200)
    recording = cy.Recording(run.times, run.states)
    # As if the first impact had been with restitution 0.5.
    first = run.events.time[0]
    speed = np.sqrt(2 * 9.81)
    cf = cy.counterfactual(ball, recording, {"event:impact": {"velocity": 0.5 * speed}})
    before = run.times < first
    assert np.allclose(cf.states[before], run.states[before], atol=1e-9)
    t = run.times - first
    flying = (t > 0) & (t < speed / 9.81)
    expected = 0.5 * speed * t - 9.81 / 2 * t**2
    assert np.abs(cf.states[flying, 0] - expected[flying]).max() < 1e-6
    second = cy.counterfactual(ball, recording, {"event:impact#1": {"velocity": 0.0 + 3.0}})
    untouched = run.times < run.events.time[1]
    assert np.allclose(second.states[untouched], run.states[untouched], atol=1e-9)
    assert np.abs(second.effect[~untouched]).max() > 0.1
    with pytest.raises(cy.Error, match="does not happen"):
        cy.counterfactual(ball, recording, {"event:impact#9": {"velocity": 1.0}})
    with pytest.raises(cy.Error, match="height"):
        cy.counterfactual(ball, recording, {"event:impact": {"speed": 1.0}})


def test_an_event_that_did_not_happen_may_be_added(fit):
    push = {"at:0.755": {"angular_velocity": 1.5}}
    cf = cy.counterfactual(fit, fit.recordings[0], push)
    truth = pendulum()
    start = cy.rollout(truth, [1.0, 0.0], 200, times=[0.755]).states[0]
    after = cy.rollout(truth, [start[0], 1.5], 200, times=np.arange(0.005, 1.2, 0.01)).states
    assert np.abs(cf.states[76:196] - after[:120]).max() < 0.05
    assert np.allclose(cf.effect[:75], 0) and np.abs(cf.effect[80:]).max() > 0.1
    assert (cf.low <= cf.states).all() and (cf.states <= cf.high).all()
    with pytest.raises(cy.Error, match="within"):
        cy.counterfactual(fit, fit.recordings[0], {"at:7": {"angle": 0.0}})


def test_one_number_is_enough_for_a_joint_of_a_robot():
    xml = """<mujoco><option timestep="0.01"/><worldbody><body name="b">
      <joint name="j" axis="0 1 0" damping="{}"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".03" contype="0" conaffinity="0"/>
      </body></worldbody></mujoco>"""
    robot = cy.load(xml.format(0.05))
    run = cy.rollout(robot, [1.0, 0.0], 100)
    recording = cy.Recording(run.times, run.states, sigma=1e-3)
    fit = cy.identify(robot, recording, {"joint:j.damping": 0.1})
    cf = cy.counterfactual(fit, recording, {"joint:j.damping": 0.5})
    truth = cy.rollout(cy.load(xml.format(0.5)), [1.0, 0.0], 100).states
    assert np.abs(cf.states - truth).max() < 1e-3 < np.abs(cf.effect).max()


def test_what_makes_no_sense_is_refused(fit):
    recording = fit.recordings[0]
    with pytest.raises(cy.ParameterError, match="length"):
        cy.counterfactual(fit, recording, {"lenght": 1.0})
    with pytest.raises(cy.Error, match="torque"):
        cy.counterfactual(fit, recording, {"torque": np.zeros(7)})
    with pytest.raises(cy.ParameterError, match="3"):
        cy.counterfactual(fit, recording, {3: 1.0})
    with pytest.raises(TypeError, match="Fit"):
        cy.counterfactual(3, recording, {})
    with pytest.raises(TypeError, match="Recording"):
        cy.counterfactual(fit, 3, {})
