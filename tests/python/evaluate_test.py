"""Scorecards: for every score a model that is good and one that is bad by construction."""

import json
import types
from pathlib import Path

import numpy as np
import pytest

import cycloid as cy

ROOT = Path(__file__).resolve().parents[2]
TRUTH = cy.systems.pendulum(dt=0.02)
X0 = np.random.default_rng(0).uniform(-1, 1, (12, 2))
QUICK = {"timing": False, "draws": 40}


class Told:
    """The truth with noise of a known size, and what it says about it."""

    def __init__(self, system, noise, std, width=1.0):
        self.system, self.noise, self.std_, self.width = system, noise, std, width
        self.rng = np.random.default_rng(1)

    def rollout(self, x0, controls):
        states = cy.rollout(self.system, x0, controls).states
        mean = states + self.noise * self.rng.normal(size=states.shape)
        return types.SimpleNamespace(mean=mean, std=np.full(states.shape, self.std_))

    def novelty(self, x, u, next):
        miss = np.linalg.norm(next - cy.step(self.system, x, u), axis=-1)
        return miss if self.width else np.sin(1e6 * x[:, 0])


def card(model, truth=TRUTH, x0=X0, controls=100, **more):
    return cy.evaluate(model, truth, x0, controls, **(QUICK | more))


DAMPED = cy.systems.pendulum(dt=0.02, damping=0.5)
LONG = cy.systems.pendulum(dt=0.02, length=1.5)

# score: (a model that is good, one that is bad)
PAIRS = {
    "one_step_error": (TRUTH.variant(dt=0.04), LONG),
    "error": (TRUTH.variant(dt=0.04), LONG),
    "spectrum_error": (TRUTH.variant(dt=0.04), LONG),
    "sinkhorn": (TRUTH.variant(dt=0.04), cy.systems.pendulum(dt=0.02, gravity=1.0)),
    "energy_drift": (TRUTH.variant(integrator="verlet"), DAMPED),
    "volume_drift": (TRUTH.variant(integrator="verlet"), cy.systems.pendulum(dt=0.02, damping=2)),
    "symplecticity": (
        TRUTH.variant(integrator="verlet"),
        cy.systems.pendulum(dt=0.02, damping=2),
    ),
    "time_reversal": (TRUTH.variant(integrator="verlet"), cy.systems.pendulum(dt=0.02, damping=1)),
    "gap_horizon": (TRUTH.variant(dt=0.04), cy.systems.pendulum(dt=0.02, length=1.06)),
    "gradient_cosine": (TRUTH.variant(dt=0.04), cy.systems.pendulum(dt=0.02, length=0.4)),
    "gradient_error": (TRUTH.variant(dt=0.04), LONG),
    "gradient_perturbed": (TRUTH.variant(dt=0.04), cy.systems.pendulum(dt=0.02, length=0.4)),
}


@pytest.mark.parametrize("score", PAIRS)
def test_a_good_model_scores_well_and_a_bad_one_does_not(score):
    good, bad = (card(m) for m in PAIRS[score])
    assert good.marks[score] == "good", good.scores[score]
    assert bad.marks[score] in ("fair", "poor"), bad.scores[score]
    assert score in bad.verdict and score not in good.verdict
    for c in (good, bad):
        low, high = c.interval[score]
        assert low <= c.scores[score] <= high


def test_valid_time_is_where_the_error_passes_and_shrinks_with_the_step():
    truth = cy.systems.lorenz(dt=0.005)
    x0 = cy.rollout(truth, np.random.default_rng(2).normal(size=(16, 3)) + [0, 0, 20], 1000).states
    x0 = x0[:, -1]
    fine, coarse = (card(truth.variant(dt=0.005 * k), truth, x0, 4000) for k in (2, 8))
    times = [c.scores["valid_time"] for c in (coarse, fine)]
    # RK4: errors differ by 4^4, and grow with the Lyapunov exponent 0.906.
    assert 2 < times[0] < times[1] < 20
    assert abs((times[1] - times[0]) - np.log(4**4) / 0.906) < 3
    states = cy.rollout(truth, x0, 4000).states[:, ::8]
    other = cy.rollout(truth.variant(dt=0.04), x0, 500).states
    rms = np.sqrt((((other - states) / states.std(axis=(0, 1))) ** 2).mean(axis=-1))
    assert times[0] == pytest.approx(np.median([0.04 * np.argmax(r > 0.4) for r in rms]))
    assert coarse.scores["sinkhorn"] < 0.6 and coarse.scores["error"] > 0.5
    assert card(truth, truth, x0, 400).scores["valid_time"] == pytest.approx(2.0)


def test_survival_counts_runs_that_leave_or_end():
    truth = cy.systems.spring_chain(2, dt=0.05)
    wild = cy.systems.spring_chain(2, dt=0.05, integrator="euler", stiffness=400.0)
    x0 = np.random.default_rng(0).normal(size=(6, 4))
    assert card(truth, truth, x0).scores["survival"] == 1
    lost = card(wild, truth, x0, 400)
    assert lost.scores["survival"] == 0 and lost.marks["survival"] == "poor"
    assert np.isfinite(lost.scores["error"])


def test_equivariance_asks_for_symmetries_that_the_truth_has():
    truth = cy.systems.kepler(dt=0.02)
    x0 = np.array([[1, 0, 0, 1.1], [0, 1.2, -0.9, 0.1], [-1, 0.2, 0, -1.0]])
    wind = np.array([0.1, 0.0])

    def step(x, u, p, t, dt):
        q, v = x[:, :2], x[:, 2:]
        a = -q / np.linalg.norm(q, axis=1, keepdims=True) ** 3 + wind
        return np.concatenate([q + dt * v, v + dt * a], axis=1)

    windy = cy.own_law(step=step, states={"position": 2, "velocity": 2}, dt=0.02)
    good = card(truth.variant(integrator="verlet"), truth, x0, 50)
    bad = card(windy, truth, x0, 50)
    assert good.marks["equivariance"] == "good" and bad.scores["equivariance"] > 1e-3
    # It has no pullback: what needs one is left out, with a note.
    assert "gradient_cosine" not in bad.scores and "volume_drift" not in bad.scores
    assert any("gradient" in note for note in bad.notes)


def test_momentum_and_divergence_are_those_that_the_truth_shows():
    def free(drag):
        def step(x, u, p, t, dt):
            return np.concatenate([x[:, :1] + dt * x[:, 1:], (1 - drag) * x[:, 1:]], axis=1)

        def value(x, u, p, t):
            return x[:, 1:]

        def back(x, u, p, t, bar):
            return np.concatenate([0 * bar, bar], axis=1), None, None

        shown = {"momentum": (value, back), "divergence": (value, back)}
        blocks = {"position": 1, "velocity": 1}
        return cy.own_law(step=step, states=blocks, dt=0.02, observables=shown)

    x0 = np.array([[0.0, 1.0], [0.5, -0.7]])
    good, bad, fast = (card(free(d), free(0.0), x0, 50) for d in (0.0, 0.01, -0.01))
    assert good.scores["momentum_drift"] == 0 and bad.marks["momentum_drift"] == "poor"
    assert bad.scores["momentum_drift"] == pytest.approx(1 - 0.99**50)
    assert good.scores["divergence"] == 0
    assert fast.scores["divergence"] == pytest.approx(0.85 * (1.01**50 - 1))


def test_contacts_and_limits_of_robots():
    xml = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 0.3"><joint type="slide" axis="0 0 1" range="-0.25 0.4" limited="true"/>
      <geom type="sphere" size="0.1" solref="{}"/></body></worldbody></mujoco>"""
    truth, soft = (cy.load(xml.format(s)) for s in ("0.02 1", "0.2 1"))
    x0 = np.array([[0.1, 0.0], [0.2, -0.5]])
    good, bad = (card(m, truth, x0, 120) for m in (truth, soft))
    assert good.scores["penetration"] == 0 and bad.scores["penetration"] > 1e-2
    assert "energy_drift" in good.scores


def test_limits_of_joints():
    xml = """<mujoco><option timestep="0.005"/><worldbody><body pos="0 0 1">
      <joint axis="0 1 0" range="-20 20" limited="true" solreflimit="{}"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/></body></worldbody></mujoco>"""
    truth, soft = (cy.load(xml.format(s)) for s in ("0.02 1", "0.3 1"))
    x0 = np.array([[0.1, 2.0], [0.0, -3.0]])
    good, bad = (card(m, truth, x0, 120) for m in (truth, soft))
    assert good.scores["limit_violation"] == 0 and bad.scores["limit_violation"] > 1e-2


def test_gap_of_parameters_is_small_for_a_model_that_is_told():
    shifts = {"long": cy.systems.pendulum(dt=0.02, length=1.4)}
    told = card(TRUTH.variant(dt=0.04), shifts=shifts)
    blind = card(Told(TRUTH, 0.0, 0.1), shifts=shifts)
    assert told.marks["gap_parameters"] == "good" and blind.scores["gap_parameters"] > 0.3


def test_gap_of_size_takes_a_larger_world():
    small, large = (cy.systems.spring_chain(n, dt=0.05) for n in (2, 5))
    x0 = np.random.default_rng(0).normal(size=(6, 4))
    stiff = cy.systems.spring_chain(5, dt=0.05, stiffness=2.0)
    good = card(small, small, x0, larger=(large, large))
    bad = card(small, small, x0, larger=(stiff, large))
    assert abs(good.scores["gap_size"]) < 1e-9 and bad.marks["gap_size"] == "poor"
    with pytest.raises(TypeError, match="larger"):
        card(small, small, x0, larger=3)


def test_gradients_that_are_not_finite_are_counted():
    def step(x, u, p, t, dt):
        return x + dt * np.concatenate([x[:, 1:], -9.81 * np.sin(x[:, :1]) + u], axis=1)

    def back(x, u, p, t, dt, bar):
        x_bar = bar.copy()
        x_bar[:, 1] += dt * bar[:, 0]
        x_bar[:, 0] -= dt * 9.81 * np.cos(x[:, 0]) * bar[:, 1]
        x_bar[x[:, 0] > 0] = np.nan
        return x_bar, dt * bar[:, 1:], {}

    broken = cy.own_law(
        step,
        back,
        states={"angle": 1, "velocity": 1},
        inputs={"torque": 1},
        dt=0.02,
    )
    bad = card(broken, controls=20)
    times, shares = bad.curves["gradient_finite"]
    assert len(times) > 3 and shares.min() == pytest.approx(bad.scores["gradient_finite"])
    assert bad.scores["gradient_finite"] < 1 and bad.marks["gradient_finite"] == "poor"
    assert card(TRUTH).scores["gradient_finite"] == 1
    assert bad.scores["gradient_horizon"] < card(TRUTH, controls=20).scores["gradient_horizon"]


def test_a_gradient_that_is_not_that_of_the_model_is_found():
    def own(factor):
        def step(x, u, p, t, dt):
            return x + dt * np.concatenate([x[:, 1:], -9.81 * np.sin(x[:, :1]) + u], axis=1)

        def back(x, u, p, t, dt, bar):
            x_bar = bar.copy()
            x_bar[:, 1] += dt * bar[:, 0]
            x_bar[:, 0] -= factor * dt * 9.81 * np.cos(x[:, 0]) * bar[:, 1]
            return x_bar, dt * bar[:, 1:], {}

        blocks = {"angle": 1, "velocity": 1}
        return cy.own_law(step, back, states=blocks, inputs={"torque": 1}, dt=0.02)

    right, wrong = (card(own(f), controls=20) for f in (1.0, 0.5))
    assert right.marks["gradient_difference"] == "good"
    assert wrong.marks["gradient_difference"] == "poor" and wrong.scores["error"] < 0.1


def test_stated_noise_is_covered_and_understated_noise_is_not():
    right, bold = card(Told(TRUTH, 0.1, 0.1)), card(Told(TRUTH, 0.1, 0.02))
    for level in (50, 90, 95):
        assert abs(right.scores[f"coverage_{level}"] - level / 100) < 0.03
        assert right.marks[f"coverage_{level}"] == "good"
        assert bold.marks[f"coverage_{level}"] == "poor"
    assert right.marks["spread_skill"] == "good" and bold.marks["spread_skill"] == "poor"
    assert right.scores["crps"] < bold.scores["crps"]
    states = cy.rollout(TRUTH, X0, 100).states
    sigma = states.std(axis=(0, 1))
    assert right.scores["sharpness"] == pytest.approx((0.1 / sigma).mean())
    # A calibrated Gaussian's CRPS is σ/√π in the mean.
    assert right.scores["crps"] == pytest.approx((0.1 / sigma).mean() / np.sqrt(np.pi), rel=0.03)
    assert "coverage" in right.curves and "coverage" not in card(TRUTH).curves


def test_novelty_finds_shifted_runs_or_does_not():
    shifts = {"heavy": cy.systems.pendulum(dt=0.02, gravity=12.0)}
    sees, blind = (card(Told(TRUTH, 0, 0.1, w), shifts=shifts) for w in (1.0, 0.0))
    assert sees.scores["novelty_auroc"] == 1 and blind.marks["novelty_auroc"] == "poor"


def test_plans_of_a_wrong_model_cost_more_in_the_truth():
    cost = cy.cost.Reach("angle", [1.0], weight=100) + cy.cost.Effort(1e-2)
    good, bad = (card(m, cost=cost, plan_starts=2) for m in (TRUTH, LONG))
    assert good.scores["regret"] == 0 and good.marks["regret_share"] == "good"
    assert bad.scores["regret"] > 0 and bad.scores["regret_share"] > 0.05


def test_cost_of_steps_and_of_training():
    slow = TRUTH.variant(dt=0.001)
    c = card(slow, timing=True, training_seconds=10.0)
    assert c.scores["seconds_per_step"] > 0
    assert c.scores["speedup"] < 0.5 and c.scores["break_even_runs"] == np.inf
    fast = card(TRUTH.variant(dt=0.08), TRUTH.variant(dt=0.001, integrator="euler"), controls=1600)
    assert "speedup" not in fast.scores  # timing was left out
    timed = card(TRUTH.variant(dt=0.02), slow, controls=2000, timing=True, training_seconds=1.0)
    assert timed.scores["speedup"] > 0.3


def test_recordings_are_a_truth():
    run = cy.rollout(TRUTH, X0, 60)
    rng = np.random.default_rng(3)
    noisy = run.states + 0.01 * rng.normal(size=run.states.shape)
    recordings = [cy.Recording(run.times, v, x0=x) for v, x in zip(noisy, X0)]
    good, bad = (cy.evaluate(m, recordings) for m in (TRUTH, LONG))
    assert good.scores["error"] < 0.05 < 0.3 < bad.scores["error"]
    assert "gradient_cosine" not in good.scores and good.scores["survival"] == 1
    told = cy.evaluate(Told(TRUTH, 0.0, 0.01), recordings)
    assert abs(told.scores["coverage_90"] - 0.9) < 0.05
    with pytest.raises(cy.Error, match="leave x0"):
        cy.evaluate(TRUTH, recordings, X0, 60)


def test_a_card_is_saved_shown_and_stands_beside_another(tmp_path):
    schema = json.loads((ROOT / "docs" / "scorecard.schema.json").read_text())
    a, b = card(Told(TRUTH, 0.1, 0.1)), card(DAMPED)
    a.save(tmp_path / "card.json")
    saved = json.loads((tmp_path / "card.json").read_text())
    assert set(saved) == set(schema["required"])
    own = schema["properties"]["scores"]["additionalProperties"]
    for name, score in saved["scores"].items():
        assert set(score) == set(own["required"])
        assert score["mark"] in own["properties"]["mark"]["enum"]
        assert score["group"] in own["properties"]["group"]["enum"]
        assert score["value"] == pytest.approx(a.scores[name])
    for curve in saved["curves"].values():
        assert len(curve["x"]) == len(curve["y"]) > 1
    assert saved["verdict"] == a.verdict
    text = a.table(beside=b)
    assert text.count("–") > 3 and "energy_drift" in text
    assert "energy_drift" in repr(b) and b.verdict in repr(b)
    b.plot(tmp_path / "card.html", beside=a)
    page = (tmp_path / "card.html").read_text()
    assert page.count("<svg") >= 3 and "not to be trusted" in page


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: cy.evaluate(3, TRUTH, X0, 10), TypeError, "rollout"),
        (lambda: cy.evaluate(TRUTH, TRUTH), cy.Error, "x0"),
        (lambda: cy.evaluate(TRUTH, TRUTH, X0[:, :1], 10), cy.Error, "shape"),
        (lambda: cy.evaluate(TRUTH.variant(dt=0.03), TRUTH, X0, 10), cy.Error, "divide"),
        (lambda: cy.evaluate(cy.systems.lorenz(), TRUTH, X0, 10), cy.Error, "3 states"),
        (lambda: cy.evaluate(TRUTH, 3), TypeError, "recordings"),
        (lambda: cy.evaluate(TRUTH, TRUTH, X0, 10, shifts=[1]), TypeError, "shifts"),
        (lambda: cy.evaluate(TRUTH, TRUTH, X0, 10, training_seconds=-1), cy.Error, "negative"),
        (lambda: cy.evaluate(TRUTH, TRUTH, X0, 10, cost=3), TypeError, "cost"),
    ],
)
def test_what_makes_no_sense_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_error_of_the_model_itself_comes_through():
    class Broken:
        def rollout(self, x0, controls):
            raise RuntimeError("no weights")

    with pytest.raises(RuntimeError, match="no weights"):
        cy.evaluate(Broken(), TRUTH, X0, 10)
