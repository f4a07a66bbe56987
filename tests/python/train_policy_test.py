"""Policies by analytic gradients: a cart-pole is balanced, the gradient is that of the loss."""

import numpy as np
import pytest
from models import MODELS

import cycloid as cy

CART_POLE = """<mujoco>
  <option timestep="0.02" integrator="Euler"><flag contact="disable"/></option>
  <worldbody><body name="cart">
    <joint name="slide" type="slide" axis="1 0 0" damping="0.1"/>
    <geom type="box" size="0.1 0.05 0.05" mass="1"/>
    <body name="pole">
      <joint name="hinge" type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.02" mass="0.1"/>
    </body>
  </body></worldbody>
  <actuator><motor joint="slide" ctrllimited="true" ctrlrange="-1 1" gear="10"/></actuator>
</mujoco>"""
WEIGHTS = np.array([0.3, 1.0, 0.02, 0.02])


def stay_up(x, u):
    """One for being up, less a weighted square of [position, angle, velocities] and effort."""
    r = 1 - (WEIGHTS * x**2).sum(-1) - 0.01 * (u**2).sum(-1)
    return r, -2 * WEIGHTS * x, -0.02 * u


def fallen(x):
    return (np.abs(x[..., 1]) > 1.0) | (np.abs(x[..., 0]) > 2.0)


def starts(rng, n):
    return rng.uniform(-1, 1, (n, 4)) * [0.5, 0.4, 0.3, 0.3]


def test_a_cart_pole_is_balanced_in_under_a_minute():
    system = cy.load(CART_POLE)
    net = cy.networks.MLP((4, 32, 32, 1), seed=0)
    policy = cy.learn.train_policy(
        *(system, net, stay_up, starts),
        steps=300_000,
        horizon=32,
        episode=256,
        done=fallen,
        clip="tanh",
        learning_rate=5e-3,
    )
    assert policy.history["seconds"][-1] < 60
    x = starts(np.random.default_rng(9), 50)
    run = cy.rollout(policy.system, x, 500)
    assert not fallen(run.states).any()
    assert np.abs(run.states[:, -1, 1]).max() < 0.05  # [rad]
    idle = cy.rollout(system, x, 500)
    assert fallen(idle.states).any(axis=1).mean() > 0.9


def test_a_hopper_is_balanced_in_under_a_minute():
    """Gymnasium's hopper, on one leg for 8 s: without a policy all fall."""
    system = cy.load(MODELS["gymnasium/hopper"], dtype="float32").variant(dt=0.008)
    upright = np.array(system.initial_state(), float)
    # Of [x, height, angle, three joints] and velocities.
    weights = np.array([0, 4, 10, 0.1, 0.1, 0.1, 0.1, 0.01, 0.05, 0.01, 0.01, 0.01])

    def stand(x, u):
        off = x - upright
        r = 1 - (weights * off**2).sum(-1) - 0.001 * (u**2).sum(-1)
        return r, -2 * weights * off, -0.002 * u

    def down(x):
        return (x[..., 1] < 0.9) | (np.abs(x[..., 2]) > 0.6)

    def near(rng, n):
        away = [0, 0.05, 0.05, 0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
        return upright + away * rng.uniform(-1, 1, (n, 12))

    net = cy.networks.MLP((12, 32, 32, 3), seed=0)
    policy = cy.learn.train_policy(
        *(system, net, stand, near),
        steps=200_000,
        episode=400,
        done=down,
        clip="tanh",
        learning_rate=5e-3,
    )
    x = near(np.random.default_rng(9), 50)
    assert not down(cy.rollout(policy.system, x, 1000).states).any()
    assert down(cy.rollout(system, x, 1000).states).any(axis=1).all()


def reach(x, u):
    off = x - [0.5, 0.0]
    return -(off**2).sum(-1), -2 * off, np.zeros_like(u)


def pendulum_policy(**options):
    pendulum = cy.systems.pendulum(dt=0.05, damping=0.1, vary=("length",))
    net = cy.networks.MLP((2, 16, 1), seed=0)
    given = {"steps": 20_000, "horizon": 16, "environments": 32, **options}
    start = options.pop("x0", lambda rng, n: rng.uniform(-0.5, 0.5, (n, 2)))
    given.pop("x0", None)
    return cy.learn.train_policy(pendulum, net, reach, start, **given)


def test_a_policy_is_the_same_for_the_same_seed_and_is_saved(tmp_path):
    a, b = pendulum_policy(), pendulum_policy()
    assert np.array_equal(a.weights, b.weights)
    assert a.history["return"][-1] > 0.5 * a.history["return"][0]  # both are negative
    a.save(tmp_path / "policy.cyl")
    net = cy.networks.MLP((2, 16, 1), seed=3)
    loop = cy.close_loop(cy.systems.pendulum(dt=0.05, damping=0.1, vary=("length",)), net)
    again = cy.learn.load(tmp_path / "policy.cyl", loop)
    x = [[0.1, 0.2], [0.3, -0.1]]
    assert np.array_equal(cy.rollout(again, x, 20).states, cy.rollout(a.system, x, 20).states)


def test_observations_and_randomised_worlds_are_trained_in():
    policy = pendulum_policy(
        observe=["angle", "angular_velocity"],
        randomise=lambda rng, n: {"length": rng.uniform(0.8, 1.2, n)},
        episode=64,
        steps=40_000,
        learning_rate=5e-3,
    )
    assert policy.history["return"][-5:].mean() > 0.6 * policy.history["return"][0]
    assert np.isfinite(policy.history["episode"]).any()


def test_the_first_move_goes_along_the_gradient_of_the_return():
    """One window, no value: the loss is the mean reward, whose slope is differenced."""
    pendulum = cy.systems.pendulum(dt=0.05, damping=0.1)
    net = cy.networks.MLP((2, 8, 1), seed=1)
    x0 = np.random.default_rng(1).uniform(-0.5, 0.5, (8, 2))

    def reward(x, u):
        r, x_bar, _ = reach(x, u)
        return r - 0.3 * (u**2).sum(-1), x_bar, -0.6 * u

    seen = []

    class Stop(Exception):
        pass

    from cycloid import _policy_training

    class Spy(_policy_training.Adam):
        def move(self, w, g, rate):
            seen.append((w.copy(), g.copy()))
            if len(seen) > 8:
                raise Stop
            return w

    old, _policy_training.Adam = _policy_training.Adam, Spy
    try:
        cy.learn.train_policy(
            *(pendulum, net, reward, lambda rng, n: x0),
            steps=80,
            horizon=10,
            environments=8,
            done=lambda x: np.broadcast_to(np.arange(10) == 9, x.shape[:-1]),
        )
    except Stop:
        pass
    finally:
        _policy_training.Adam = old
    weights, grad = seen[0]
    loop = cy.close_loop(pendulum, net)
    d = np.random.default_rng(2).normal(size=weights.size)

    def loss(s):
        w = weights + s * d
        flat = np.concatenate([loop.parameters.default[: -w.size], w])
        states = cy.rollout(loop, x0, 10, flat).states
        r = reward(states[:, 1:], net(states[:, :-1], w))[0]
        return -(0.99 ** np.arange(10) * r).sum() / 80

    slope = (8 * (loss(1e-3) - loss(-1e-3)) - (loss(2e-3) - loss(-2e-3))) / 12e-3
    assert abs(slope) > 1e-4 and np.linalg.norm(grad) < 0.99  # it was not cut
    assert grad @ d == pytest.approx(slope, rel=1e-7)


def test_what_makes_no_sense_is_named():
    pendulum = cy.systems.pendulum()
    net = cy.networks.MLP((2, 4, 1))
    x0 = np.zeros((1, 2))
    with pytest.raises(cy.Error, match="x_bar must have shape"):
        cy.learn.train_policy(pendulum, net, lambda x, u: (x[..., 0], 0 * u, u), x0, steps=100)
    with pytest.raises(cy.Error, match="r, x_bar, u_bar"):
        cy.learn.train_policy(pendulum, net, lambda x, u: x[..., 0], x0, steps=100)
    with pytest.raises(cy.Error, match="discount"):
        cy.learn.train_policy(pendulum, net, reach, x0, steps=100, discount=1.5)
    with pytest.raises(cy.Error, match="learning_rate must be positive"):
        cy.learn.train_policy(pendulum, net, reach, x0, steps=100, learning_rate=-1.0)
    with pytest.raises(cy.Error, match="done must give a bool for each state"):
        cy.learn.train_policy(
            pendulum, net, reach, x0, steps=100, done=lambda x: np.zeros(3, bool)
        )
    with pytest.raises(cy.Error, match="a start is not finite"):
        cy.learn.train_policy(pendulum, net, reach, [[np.nan, 0.0]], steps=100)
    with pytest.raises(cy.Error, match="inputs"):
        cy.learn.train_policy(pendulum, cy.networks.MLP((3, 4, 1)), reach, x0, steps=100)


def test_an_environment_with_a_huge_gradient_is_cut_to_ten_times_the_median():
    from cycloid._policy_training import _cut

    x0 = np.random.default_rng(0).uniform(-0.5, 0.5, (9, 2))
    run = cy.rollout(cy.systems.pendulum(dt=0.05), x0, 6)
    bar = np.ones_like(run.states)
    bar[4] *= 1e6
    lengths = lambda b: np.linalg.norm(run.pullback(b, wrt=("x0",)).x0_tangent, axis=-1)
    whole = lengths(bar)
    cut_bar, cut = _cut(run, bar, 10.0)
    others = np.arange(9) != 4
    assert np.array_equal(cut_bar[others], bar[others]) and (cut[others] == 0).all()
    assert lengths(cut_bar)[4] == pytest.approx(10 * np.median(whole))
    assert 1 - cut[4] == pytest.approx(10 * np.median(whole) / whole[4])
