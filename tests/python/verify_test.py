"""Optima that live on the simulator are called out; honest ones pass."""

import cycloid as cy
import numpy as np
import pytest

BALL = """<mujoco model="ball">
<option timestep="{dt}" gravity="0 0 0"> <flag refsafe="disable"/> </option>
<worldbody> <geom name="floor" type="plane" size="1 1 1" solref="{solref}"/>
  <body name="ball" pos="0 0 0.3"> <joint name="z" type="slide" axis="0 0 1"/>
    <geom name="shell" type="sphere" size="0.1" mass="1" solref="{solref}"/> </body> </worldbody>
<actuator> <motor joint="z" ctrllimited="true" ctrlrange="-{force} {force}"/> </actuator>
</mujoco>"""

CART_POLE = """<mujoco model="cart_pole"> <option timestep="0.02" integrator="{integrator}"/>
<worldbody> <body name="cart"> <joint name="rail" type="slide" axis="1 0 0" damping="0.5"/>
  <geom type="box" size="0.1 0.05 0.05" mass="1" contype="0" conaffinity="0"/>
  <body name="pole"> <joint name="hinge" axis="0 1 0" damping="0.01"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="0.2"
      contype="0" conaffinity="0"/> </body> </body> </worldbody>
<actuator> <motor joint="rail" ctrllimited="true" ctrlrange="-8 8"/> </actuator> </mujoco>"""


def ball(dt, solref, force):
    return cy.load(BALL.format(dt=dt, solref=solref, force=force))


@pytest.fixture(scope="module")
def launched():
    """A ball that is thrown up by a contact much harder than its step allows. Its motor alone could
    lift it by less than half a metre."""
    system = ball(0.05, "0.02 1", 0.1)
    cost = cy.cost.Reach("qpos", [1.25], weight=1) + cy.cost.Effort(1e-6)
    start = np.where(np.arange(60) < 40, -0.1, 0.1)[:, None]
    return cy.plan(system, [0.0, 0.0], cost, 60, method="cem", start=start, iterations=5)


@pytest.fixture(scope="module")
def swung_up():
    system = cy.load(CART_POLE.format(integrator="implicitfast"))
    cost = cy.cost.Reach("state", [0, np.pi, 0, 0], weight=[20, 100, 1, 5]) + cy.cost.Effort(1e-3)
    return cy.plan(system, np.zeros(4), cost, 150)


def test_a_plan_that_lives_on_a_large_step_is_called_out(launched):
    assert launched.cost < 0.2  # it gets there, in its own world
    trust = cy.verify(launched)
    assert not trust.ok
    assert "energy from nothing" in trust.exploits
    assert trust.by_test["quarter step"] < 0.5 and trust.survives < 0.5
    assert trust.verdict.startswith("not to be trusted: ")
    assert "J appear" in trust.details["energy from nothing"]
    assert trust.survives == min(trust.by_test.values())


def test_a_plan_that_sinks_into_a_soft_floor_is_called_out():
    system = ball(0.005, "0.4 1", 2)
    cost = cy.cost.Reach("qpos", [-0.28], weight=100) + cy.cost.Effort(1e-6)
    plan = cy.plan(system, [0.0, 0.0], cost, 300)
    trust = cy.verify(plan)
    assert "deep penetration" in trust.exploits and not trust.ok
    assert trust.by_test["hard contact"] < trust.by_test["half step"]


def test_an_honest_swing_up_passes_every_test(swung_up, tmp_path):
    assert abs(swung_up.states[-1, 1] - np.pi) < 0.1
    trust = cy.verify(swung_up)
    assert trust.ok and trust.exploits == () and trust.survives > 0.8
    assert set(trust.by_test) >= {
        "half step",
        "quarter step",
        "other integrator",
        "parameters",
        "delay",
        "noise",
    }
    assert trust.costs["as it was found"][1] == pytest.approx(swung_up.cost, rel=1e-6)
    assert trust.verdict in repr(trust)
    trust.plot(tmp_path / "verify.html")
    html = (tmp_path / "verify.html").read_text()
    assert trust.verdict.replace('"', "&quot;") in html and "quarter step" in html


def test_the_same_seed_gives_the_same_answer_and_another_does_not(swung_up):
    first, again, other = (cy.verify(swung_up, seed=s, draws=3).costs for s in (1, 1, 2))
    assert first == again
    assert first["noise"] != other["noise"] and first["delay"] == other["delay"]


def test_shares_are_those_of_the_definition(swung_up):
    trust = cy.verify(swung_up)
    plan_cost = trust.costs["as it was found"][1]
    for name, share in trust.by_test.items():
        start, test = trust.costs[name]
        assert share == pytest.approx(np.clip((start - test) / (start - plan_cost), 0, 1))


def test_without_gains_an_unstable_plan_does_not_survive(swung_up):
    bare = cy.Plan.__new__(cy.Plan)
    bare.__dict__.update(swung_up.__dict__)
    bare.gains = np.zeros_like(swung_up.gains)
    assert cy.verify(bare).survives < cy.verify(swung_up).survives


def test_uncertainty_may_be_given(swung_up):
    certain = cy.verify(swung_up, std={"body:pole.mass": 0.0})
    assert certain.by_test["parameters"] == pytest.approx(1, abs=1e-6)
    with pytest.raises(cy.ParameterError, match="body:pole.mass"):
        cy.verify(swung_up, std={"body:pole.mas": 0.1})
    for bad in ({"noise": -1}, {"delay": -1}, {"draws": 0}, {"std": {"body:pole.mass": [1, 2]}}):
        with pytest.raises(cy.Error):
            cy.verify(swung_up, **bad)
    with pytest.raises(TypeError, match="a Plan, a Fit or a Policy"):
        cy.verify(swung_up.states)


def recorded(length, seed, steps=200):
    truth = cy.systems.pendulum(length=length, damping=0.1, dt=0.02)
    rng = np.random.default_rng(seed)
    torque = np.repeat(rng.normal(size=steps // 10), 10)[:, None]
    run = cy.rollout(truth, [0.5, 0.0], torque)
    values = run.states + 0.005 * rng.normal(size=run.states.shape)
    return cy.Recording(run.times, values, np.append(torque, [[0.0]], axis=0), sigma=0.005)


def test_a_fit_is_judged_on_what_was_held_out():
    system = cy.systems.pendulum(dt=0.02)
    fit = cy.identify(
        system, recorded(0.7, 0), ["length", "damping"], held_out=recorded(0.7, 1)
    )
    trust = cy.verify(fit)
    assert trust.ok and trust.survives > 0.9
    assert set(trust.by_test) >= {"half step", "other integrator", "parameters", "delay", "noise"}
    start, found = trust.costs["as it was found"]
    assert found < 1000 < start  # 402 numbers, in units of sigma
    wrong = cy.identify(
        system, recorded(0.7, 0), ["length", "damping"], held_out=recorded(0.95, 1)
    )
    assert cy.verify(wrong).costs["as it was found"][1] > 10 * found
