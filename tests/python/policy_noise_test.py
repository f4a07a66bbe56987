"""Noise of policies: drawn by key, environment and step, held by gradients, used in training."""

import numpy as np
import pytest
from conformance import conform

import cycloid as cy
from cycloid.networks import MLP


def noisy(key=3, noise=0.4, dtype="float64", clip="hard"):
    pendulum = cy.systems.pendulum(damping=0.1, dtype=dtype)
    return cy.close_loop(pendulum, MLP((2, 8, 1), seed=1), noise=noise, key=key, clip=clip)


X = np.random.default_rng(0).normal(size=(37, 2))


def test_noise_depends_on_key_environment_and_step_alone():
    run = cy.rollout(noisy(), X, 30).states
    assert np.array_equal(cy.rollout(noisy(), X, 30, threads=1).states, run)
    np.testing.assert_allclose(cy.rollout(noisy(), X[:5], 30).states, run[:5], rtol=0, atol=1e-12)
    np.testing.assert_allclose(cy.rollout(noisy(), X[0], 30).states, run[0], rtol=0, atol=1e-12)
    assert np.abs(cy.rollout(noisy(key=4), X, 30).states - run)[:, 1:].max() > 1e-3
    moved = cy.rollout(noisy(), X, 30, {"policy.key": 4}).states
    np.testing.assert_array_equal(moved, cy.rollout(noisy(key=4), X, 30).states)
    same = cy.rollout(noisy(), np.tile(X[0], (4, 1)), 3).states  # one start, four environments
    assert len({row.tobytes() for row in same[:, -1]}) == 4


def test_a_run_that_goes_on_goes_on_with_its_noise():
    run = cy.rollout(noisy(), X, 30).states
    rest = cy.rollout(noisy(), run[:, 10], 20, t0=10 * 0.01).states
    np.testing.assert_allclose(rest, run[:, 10:], rtol=0, atol=1e-12)


def test_noise_is_what_it_says():
    """u = N(x) + sigma xi, with normal xi, one for each environment and step."""
    x, T = np.zeros((500, 2)), 4
    pendulum = cy.systems.pendulum(mass=1.0, length=1.0, gravity=0.0, dt=1e-3, integrator="euler")
    still = MLP((2, 4, 1), output_scale=[1e-12])
    loop = cy.close_loop(pendulum, still, noise=2.0, key=9)
    states = cy.rollout(loop, x, T).states
    xi = np.diff(states[..., 1], axis=1) / 1e-3 / 2.0
    assert abs(xi.mean()) < 4 / np.sqrt(xi.size)
    assert abs(xi.std() - 1) < 4 / np.sqrt(xi.size)
    across = np.corrcoef(xi.T)
    assert np.abs(across - np.eye(T)).max() < 0.2


@pytest.mark.parametrize("clip", ["tanh", None])
def test_gradients_hold_the_noise(clip):
    loop = noisy(clip=clip)
    check = cy.check_gradient(loop, [0.5, 0.2], 25)
    assert check.ok, check
    assert "params.policy.noise" in check.by_block
    g = cy.rollout(loop, X, 10).pullback(np.ones((37, 11, 2)))
    assert np.isnan(g.params[loop.parameters.info("policy.key").offset])  # never a silent zero


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_noisy_loop_conforms(dtype):
    by_place = "which environment it is decides on its noise"
    conform(noisy(dtype=dtype), X[:9], np.zeros((9, 5, 0)), lanes=by_place, batch=by_place)


def reach(x, u):
    off = x - [0.5, 0.0]
    return -(off**2).sum(-1), -2 * off, np.zeros_like(u)


def trained(**options):
    pendulum = cy.systems.pendulum(dt=0.05, damping=0.1)
    net = MLP((2, 16, 1), seed=0)
    start = lambda rng, n: rng.uniform(-0.5, 0.5, (n, 2))
    given = {"steps": 30_000, "horizon": 16, "environments": 32, "noise": 0.3, **options}
    return cy.learn.train_policy(pendulum, net, reach, start, **given)


@pytest.mark.parametrize("order", ["first", "mix"])
def test_policies_are_trained_with_noise(order):
    a, b = trained(order=order), trained(order=order)
    assert np.array_equal(a.weights, b.weights)
    assert a.history["return"][-5:].mean() > 0.6 * a.history["return"][0]  # both are negative
    share = a.history["first_order"]
    assert (share == 1).all() if order == "first" else (share[1:] > 0.5).mean() > 0.5
    assert "policy.noise" not in a.system.parameters.names


def test_the_score_function_is_the_gradient_on_average():
    """Along the gradient, the other estimate is as long, within its error, which is small enough
    to tell it from nothing, half and twice of it."""
    from cycloid import _policy_training

    seen = []

    def keep(first, first_half, zeroth, zeroth_half):
        seen.append((first, zeroth))
        return first, 1.0

    old, _policy_training._mixed = _policy_training._mixed, keep
    try:
        trained(
            order="mix", noise=1.0, environments=2000, steps=2000 * 4 * 40, horizon=4,
            learning_rate=1e-9,
        )
    finally:
        _policy_training._mixed = old
    along = np.array([zeroth @ first / (first @ first) for first, zeroth in seen])
    error = along.std() / np.sqrt(len(along))
    assert error < 0.1
    assert abs(along.mean() - 1) < 3 * error


@pytest.mark.parametrize(
    "options, message",
    [
        ({"noise": [0.1, 0.2]}, "one number or one for each of 1 inputs"),
        ({"noise": -0.1}, "noise must be zero or more"),
        ({"noise": np.nan}, "noise must be"),
        ({"noise": 0.1, "key": -1}, "key"),
        ({"noise": 0.1, "key": 2**24}, "key"),
    ],
)
def test_what_is_no_noise_is_refused(options, message):
    with pytest.raises(cy.Error, match=message):
        cy.close_loop(cy.systems.pendulum(), MLP((2, 4, 1)), **options)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"policy.key": -1}, "policy.key must be a whole number"),
        ({"policy.key": 2.5}, "policy.key must be a whole number"),
        ({"policy.key": 2**24}, "policy.key must be a whole number"),
        ({"policy.noise": [-0.1]}, "policy.noise must be zero or more"),
    ],
)
def test_a_key_or_noise_that_comes_by_params_is_checked_too(params, message):
    with pytest.raises(cy.ParameterError, match=message):
        cy.rollout(noisy(), X, 3, params)


def test_a_mix_without_noise_is_refused():
    with pytest.raises(cy.Error, match="needs noise"):
        trained(order="mix", noise=None)
    feedback = cy.LinearFeedback([[1.0, 1.0]], [0.0, 0.0])
    with pytest.raises(cy.Error, match="noise is for networks"):
        cy.close_loop(cy.systems.pendulum(), feedback, noise=0.1)
