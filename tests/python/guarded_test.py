"""A fast model under guard: the bound it keeps, what it costs, and its gradient."""

import os

import numpy as np
import pytest
from conformance import conform

import cycloid as cy

LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))
TRUTH = cy.systems.double_pendulum(damping=(0.3, 0.3), dt=0.01)
MODELS = {
    "euler": TRUTH.variant(integrator="euler"),
    "coarse": TRUTH.variant(dt=0.04),
    "wrong": cy.systems.double_pendulum(damping=(0.3, 0.3), lengths=(1.05, 1.0), dt=0.01),
}


def starts(runs, seed=0, guard=True):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.uniform(-1.5, 1.5, (runs, 2)), rng.uniform(-1, 1, (runs, 2))], axis=1)
    return np.concatenate([x, np.zeros((runs, 8))], axis=1) if guard else x


@pytest.mark.parametrize("name", MODELS)
def test_the_bound_is_kept_with_few_classical_steps(name):
    model, bound = MODELS[name], 0.05
    safe = cy.guarded(model, TRUTH, bound=bound)
    ratio = round(safe.timestep / TRUTH.timestep)
    x0 = starts(200)
    exact = cy.rollout(TRUTH, x0[:, :4], 1000).states[:, ::ratio]
    run = cy.rollout(safe, x0, 1000 // ratio)
    off = np.linalg.norm(run.states[..., :4] - exact, axis=-1).max(axis=1)
    alone = cy.rollout(model, x0[:, :4], 1000 // ratio).states
    assert (off < bound).mean() >= 0.95
    assert run.report.counters["classical_steps"] / ratio <= 1 / 3
    assert run.report.counters["comparisons"] * ratio == run.report.counters["classical_steps"]
    if name != "coarse":
        assert (np.linalg.norm(alone - exact, axis=-1).max(axis=1) < bound).mean() < 0.5


def test_a_tighter_bound_costs_more():
    shares = []
    for bound in (0.2, 0.02):
        run = cy.rollout(cy.guarded(MODELS["euler"], TRUTH, bound=bound), starts(8), 500)
        shares.append(run.report.counters["classical_steps"])
    assert shares[0] < shares[1]


@pytest.mark.parametrize("name", MODELS)
def test_a_guarded_system_conforms(name):
    safe = cy.guarded(MODELS[name], TRUTH, bound=0.05, every=3)
    rng = np.random.default_rng(1)
    x0 = starts(5) + np.concatenate([np.zeros((5, 4)), 1e-3 * rng.normal(size=(5, 8))], axis=1)
    conform(safe, x0, rng.normal(size=(5, 7, 2)), failed="a pendulum stays finite")


def test_the_gradient_is_that_of_what_was_run():
    safe = cy.guarded(MODELS["wrong"], TRUTH, bound=0.05)
    check = cy.check_gradient(safe, starts(2), 60)
    assert check.ok, check.by_block
    assert "params.model.lengths" in check.by_block and "params.lengths" in check.by_block


def test_a_learned_law_is_guarded_and_observed():
    law = cy.learn.neural_ode(4, inputs=2, hidden=(8,), dt=0.01, seed=0)
    safe = cy.guarded(law, TRUTH, bound=0.1)
    x0 = starts(3)
    run = cy.rollout(safe, x0, 300)
    exact = cy.rollout(TRUTH, x0[:, :4], 300).states
    assert np.linalg.norm(run.states[..., :4] - exact, axis=-1).max() < 0.1
    assert run.report.counters["classical_steps"] < 1
    seen = cy.observe(safe, x0, names=["energy"])
    assert np.allclose(seen.values, cy.observe(TRUTH, x0[:, :4], names=["energy"]).values)
    g = seen.pullback(np.ones_like(seen.values))
    assert g.params.shape == safe.parameters.default.shape and np.isfinite(g.x).all()


def test_a_model_that_fails_leaves_the_truth_at_work():
    def step(x, u, p, t, dt):
        return np.where(t[:, None] > 0.5, np.nan, x)

    truth = cy.systems.pendulum(dt=0.01)
    broken = cy.own_law(step, states={"x": 2}, dt=0.01)
    run = cy.rollout(cy.guarded(broken, truth, bound=0.1), [1.0, 0, 0, 0, 0, 0], 200)
    exact = cy.rollout(truth, [1.0, 0.0], 200).states
    assert not run.report.failed and np.linalg.norm(run.states[:, :2] - exact, axis=-1).max() < 0.1
    assert run.report.counters["alarms"] >= 0.7


def test_a_guarded_system_is_evaluated():
    safe = cy.guarded(MODELS["euler"], TRUTH, bound=0.05)
    card = cy.evaluate(safe, TRUTH, starts(6, guard=False), 300, timing=False, draws=20)
    assert card.marks["error"] == "good" and card.scores["gradient_cosine"] > 0.9


def test_fresh_seeds_keep_the_bound_too():
    # Options were chosen on seed 0.
    kept, shares = [], []
    for seed in (1, 2) if not LONG else range(1, 9):
        for name, model in MODELS.items():
            safe = cy.guarded(model, TRUTH, bound=0.05)
            ratio = round(safe.timestep / TRUTH.timestep)
            x0 = starts(100 if not LONG else 200, seed)
            exact = cy.rollout(TRUTH, x0[:, :4], 1000).states[:, ::ratio]
            run = cy.rollout(safe, x0, 1000 // ratio)
            off = np.abs(run.states[..., :4] - exact).max(axis=(1, 2))
            kept.append((off < 0.05).mean())
            shares.append(run.report.counters["classical_steps"] / ratio)
    assert min(kept) >= 0.95 and max(shares) <= 1 / 3, (kept, shares)


def test_the_report_says_when_and_why():
    safe = cy.guarded(MODELS["euler"], TRUTH, bound=0.05)
    run = cy.rollout(safe, starts(3), 400)
    report = cy.guard_report(run)
    assert report.share == pytest.approx(run.report.counters["classical_steps"])
    first = [e for e in report if e.environment == 1]
    assert first[0].step == 0 and first[0].reason == "start"
    assert {e.reason for e in first[1:]} <= {"estimate", "budget"}
    assert all(e.bound == 0.05 and e.time == pytest.approx(0.01 * e.step) for e in report)
    # The guard's state changes in just these steps.
    moved = np.any(np.diff(run.states[1, :, 4:], axis=0) != 0, axis=1)
    assert np.flatnonzero(moved).tolist() == [e.step for e in first]
    assert "estimate asked" in report.text(1) and "estimate" in repr(report)
    spent = cy.rollout(cy.guarded(MODELS["coarse"], TRUTH, bound=0.002), starts(2), 400)
    assert "budget" in cy.guard_report(spent).reasons
    turns = cy.guard_report(cy.rollout(cy.guarded(TRUTH, TRUTH, bound=1, every=4), starts(1), 9))
    assert [e.step for e in turns] == [0, 4, 8] and turns[1].reason == "schedule"
    with pytest.raises(cy.Error, match="guarded"):
        cy.guard_report(cy.rollout(TRUTH, starts(1, guard=False), 5))


TOP = """<mujoco><option timestep="{dt}" integrator="{how}"/><worldbody><body pos="0 0 1">
  <freejoint/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.2 0.25"/>
  <geom type="sphere" size=".05" contype="0" conaffinity="0" mass="0"/></body>
  </worldbody></mujoco>"""


def test_states_with_quaternions_are_guarded():
    truth = cy.load(TOP.format(dt=0.005, how="RK4"), inputs=("qfrc_applied",))
    model = cy.load(TOP.format(dt=0.005, how="Euler"), inputs=("qfrc_applied",))
    safe = cy.guarded(model, truth, bound=0.03, horizon=2.0)
    assert safe.state_size == 13 + 2 * 12 and safe.tangent_size == 36
    rng = np.random.default_rng(0)
    x0 = np.zeros((4, 37))
    x0[:, 2:7] = [1.0, 0.9, 0.1, 0.3, -0.2]
    x0[:, 7:13] = 2 * rng.normal(size=(4, 6))
    run = cy.rollout(safe, x0, 400)
    exact, alone = (cy.rollout(s, x0[:, :13], 400).states for s in (truth, model))
    off, raw = (np.abs(s[..., :13] - exact).max() for s in (run.states, alone))
    assert off < 0.03 < raw
    assert run.report.counters["classical_steps"] < 0.5
    assert np.allclose(np.linalg.norm(run.states[..., 3:7], axis=-1), 1)
    check = cy.check_gradient(safe, x0[:2], 0.1 * rng.normal(size=(2, 30, 6)))
    assert check.ok, check.by_block


def test_a_guarded_robot_conforms():
    truth = cy.load(TOP.format(dt=0.005, how="RK4"), inputs=("qfrc_applied",))
    model = cy.load(TOP.format(dt=0.01, how="Euler"), inputs=("qfrc_applied",))
    safe = cy.guarded(model, truth, bound=0.05, every=3)
    rng = np.random.default_rng(1)
    x0 = np.concatenate([rng.normal(size=(5, 13)), 1e-3 * rng.normal(size=(5, 24))], axis=1)
    conform(safe, x0, rng.normal(size=(5, 6, 6)), quaternions=(3,), failed="a top stays finite")


def test_systems_with_events_are_guarded():
    truth = cy.systems.bouncing_ball(dt=0.01)
    model = truth.variant(integrator="euler")
    safe = cy.guarded(model, truth, bound=0.1, most=16)
    x0 = np.zeros((3, 6))
    x0[:, 0], x0[:, 1] = [1.0, 1.3, 0.7], [0.0, 0.5, -0.4]
    run, exact = cy.rollout(safe, x0, 150), cy.rollout(truth, x0[:, :2], 150)
    # An impact a little later: both are at the same place before and after it.
    assert np.abs(run.states[..., 0] - exact.states[..., 0]).max() < 0.1
    assert run.events.name == exact.events.name
    assert np.abs(run.events.time - exact.events.time).max() < 0.01
    report = cy.guard_report(run)
    assert report.reasons["event"] >= len(run.events) and report.share < 0.7
    check = cy.check_gradient(safe, x0, 60)
    assert check.ok, check.by_block


def test_a_guarded_ball_conforms():
    truth = cy.systems.bouncing_ball(dt=0.01)
    safe = cy.guarded(truth.variant(integrator="euler"), truth, bound=0.1, every=3)
    rng = np.random.default_rng(0)
    heights, speeds = rng.uniform(0.05, 0.3, (5, 1)), rng.uniform(-1, 0, (5, 1))
    x0 = np.concatenate([heights, speeds, 1e-4 * rng.normal(size=(5, 4))], axis=1)
    assert len(cy.rollout(safe, x0, 25).events) == 4
    conform(safe, x0, np.zeros((5, 25, 0)), failed="a ball stays finite")


@pytest.mark.parametrize("name", ["bead_on_curve", "stick_slip", "rimless_wheel"])
def test_events_of_other_laws_come_as_without_a_guard(name):
    law = getattr(cy.systems, name)()
    safe = cy.guarded(law, law, bound=0.1)
    start = np.concatenate([law.initial_state(), np.zeros(2 * law.tangent_size)])
    run, alone = cy.rollout(safe, start, 60), cy.rollout(law, start[: law.state_size], 60)
    assert run.events.name == alone.events.name and not run.report.failed
    assert np.allclose(run.states[:, : law.state_size], alone.states, atol=1e-12)


@pytest.mark.parametrize(
    "keywords, words",
    [
        ({"bound": 0.0}, "bound"),
        ({"bound": 0.1, "horizon": 0.0}, "horizon"),
        ({"bound": 0.1, "every": 0}, "every"),
    ],
)
def test_bad_options_are_refused(keywords, words):
    with pytest.raises(cy.Error, match=words):
        cy.guarded(TRUTH, TRUTH, **keywords)


def test_worlds_that_do_not_fit_are_refused():
    with pytest.raises(cy.ModelError, match="divide"):
        cy.guarded(TRUTH.variant(dt=0.015), TRUTH, bound=0.1)
    with pytest.raises(cy.ModelError, match="states"):
        cy.guarded(cy.systems.pendulum(), TRUTH, bound=0.1)
