"""Fits by gradients alone, and in base parameters."""

import numpy as np
import pytest
from identify_arm_test import arm, motion  # noqa: F401

import cycloid as cy
from cycloid import _base_parameters as base


@pytest.fixture(scope="module")
def swing():
    run = cy.rollout(cy.systems.pendulum(length=0.7, damping=0.1), [1.0, 0.0], 300)
    noise = 0.01 * np.random.default_rng(0).normal(size=run.states.shape)
    return cy.Recording(run.times, run.states + noise, sigma=0.01)


@pytest.mark.parametrize("method, iterations, off", [("lbfgs", 100, 0.01), ("adam", 1500, 0.2)])
def test_gradients_find_the_minimum_of_levenberg_and_marquardt(swing, method, iterations, off):
    system, names = cy.systems.pendulum(), ["length", "damping"]
    jacobian = cy.identify(system, swing, names)
    fit = cy.identify(system, swing, names, method=method, iterations=iterations)
    assert fit.converged
    for name in names:
        assert fit.params[name] == pytest.approx(jacobian.params[name], abs=off * fit.std[name])
        assert fit.std[name] == pytest.approx(jacobian.std[name], rel=0.01)


def test_gradients_take_sensors_bounds_priors_and_unknown_noise(swing):
    system = cy.systems.pendulum()
    hidden = np.where(np.arange(len(swing))[:, None] % 3 == 0, np.nan, swing.values)
    recording = cy.Recording(swing.times, 1.1 * hidden[:, 0] + 0.2, names=["angle"])
    asked = {
        "params": ["length", "output:angle.offset", "output:angle.gain"],
        "bounds": {"length": (0.3, 1.5)},
        "priors": {"output:angle.gain": (1.1, 0.01)},
    }
    fits = [
        cy.identify(system, recording, **asked, method=m, at={"damping": 0.1}, iterations=300)
        for m in ("lm", "lbfgs")
    ]
    for name, value in fits[0].params.items():
        assert fits[1].params[name] == pytest.approx(value, abs=0.05 * fits[0].std[name])
    assert fits[1].sigma["angle"] == pytest.approx(fits[0].sigma["angle"], rel=0.02)


def test_a_field_of_unknowns_by_its_gradient():
    shape = (24, 24)  # 576 numbers: too many for a Jacobian
    truth = np.ones(shape)
    truth[6:14, 8:18] = 3
    system = cy.systems.heat(shape, truth, 0.1)
    x0 = np.random.default_rng(1).normal(size=system.state_size)
    run = cy.rollout(system, x0, 8)
    recording = cy.Recording(run.times, run.states, sigma=1e-3, x0=x0)
    guess = cy.systems.heat(shape, np.full(shape, 1.5), 0.1)
    fit = cy.identify(guess, recording, ["conductivity"], x0="known", iterations=150)
    assert fit.cost < 1e-5 * fit.history[0]
    found = np.reshape(fit.params["conductivity"], shape)
    assert np.abs(found - truth).mean() < 0.03
    assert np.isnan(fit.std["conductivity"]).all() and fit.covariance.size == 0


def test_what_gradients_are_not_made_for(swing):
    system = cy.systems.pendulum()
    with pytest.raises(cy.Error, match='method="lm"'):
        cy.identify(system, swing, ["length"], method="lbfgs", shooting=0.5)
    with pytest.raises(cy.Error, match='method="lm"'):
        delay = ["length", "output:angle.delay"]
        one = cy.Recording(swing.times, swing.values[:, 0], names=["angle"])
        cy.identify(system, one, delay, method="adam")
    with pytest.raises(cy.Error, match="method"):
        cy.identify(system, swing, ["length"], method="newton")


def test_base_parameters_of_a_double_pendulum_are_those_of_the_textbook():
    # Two links in a plane that moves vertically: I1 + m2 l², m1 c1 + m2 l, I2, m2 c2.
    robot = cy.load(
        """<mujoco><worldbody><body name="a"><joint axis="0 1 0"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.02"/>
        <body name="b" pos="0 0 -0.4"><joint axis="0 1 0"/>
        <inertial pos="0.1 0 -0.2" mass="0.5" diaginertia="0.01 0.01 0.01"/>
        </body></body></worldbody></mujoco>"""
    )
    found = base.combinations(robot, robot.parameters.default, ["a", "b"])
    assert {c.name: c.factors for c in found} == {
        "base:a.inertia_o[1]": {"a.inertia_o[1]": 1.0, "b.mass": pytest.approx(0.16)},
        "base:a.moment[0]": {"a.moment[0]": 1.0},
        "base:a.moment[2]": {"a.moment[2]": 1.0, "b.mass": pytest.approx(-0.4)},
        "base:b.inertia_o[1]": {"b.inertia_o[1]": 1.0},
        "base:b.moment[0]": {"b.moment[0]": 1.0},
        "base:b.moment[2]": {"b.moment[2]": 1.0},
    }
    assert str(found[0]).startswith("a.inertia_o[1] + 0.16 b.mass")


def test_slopes_of_linear_numbers_are_those_of_differences():
    rng = np.random.default_rng(0)
    z = np.concatenate([[1.3], rng.normal(size=9)])

    def numbers(z):
        return base.linear_numbers(z[0], z[1:4], z[4:])

    for k in range(10):
        step = 1e-6 * np.eye(10)[k]
        slope = (numbers(z + step) - numbers(z - step)) / 2e-6
        assert base.linear_slopes(z[0], z[1:4])[:, k] == pytest.approx(slope, abs=1e-8)


def test_an_arm_in_base_parameters_has_nothing_weak(motion, tmp_path):  # noqa: F811
    system, times, states, controls = motion
    sigma = np.repeat((2e-4, 2e-3), 7)
    values = states + sigma * np.random.default_rng(0).normal(size=states.shape)
    recording = cy.Recording(times, values, controls, sigma=sigma)
    guess = {f"body:l{i}.mass": 1.1 * system.parameters[f"body:l{i}.mass"] for i in range(7)}
    fit = cy.identify(system, recording, guess, reparametrise="base")
    assert fit.converged and fit.weak == () and len(fit.names) == 43  # an axis that is vertical
    truth = {}
    for i in range(7):
        p = [np.asarray(system.parameters[n]) for n in base.inertial_names(f"l{i}")]
        own = base.linear_numbers(float(p[0]), p[1], p[2])
        truth |= {f"l{i}.{n}": v for n, v in zip(base._NUMBERS, own)}
    found = base.combinations(system, fit.vector, [f"l{i}" for i in range(7)])
    off = [
        (fit.params[c.name] - sum(f * truth[n] for n, f in c.factors.items())) / fit.std[c.name]
        for c in found
    ]
    assert np.abs(off).max() < 4 and np.mean(np.abs(off) < 1.96) > 0.85
    assert fit.combinations["base:l1.inertia_o[3]"] == "l1.inertia_o[3]"
    fit.save(tmp_path / "arm.fit")
    again = cy.Fit.load(tmp_path / "arm.fit", system)
    assert again.params == fit.params and "base:l0" in again.report()


def test_base_parameters_are_asked_of_bodies(motion):  # noqa: F811
    system, times, states, controls = motion
    recording = cy.Recording(times, states, controls, sigma=1e-3)
    with pytest.raises(cy.ParameterError, match="inertial"):
        cy.identify(system, recording, ["joint:j0.damping"], reparametrise="base")
    with pytest.raises(cy.ParameterError, match="whole"):
        cy.identify(system, recording, ["body:l2.com[2]"], reparametrise="base")
    assert arm().nv == 7
