"""Policies trained through the physics of environments of cycloid.gym, saved, resumed, doubted."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import cycloid as cy
import cycloid.gym
from cycloid._policy_task import as_task

TASKS = ("HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid", "InvertedDoublePendulum")


def trained(env, steps=20_480, **options):
    net = cy.networks.MLP((4, 32, 1), seed=0)
    given = {"horizon": 4, "environments": 128, "noise": 0.5, "order": "mix", **options}
    return cy.learn.train_policy(
        env, net, steps=steps, clip="tanh", learning_rate=1e-2, **given
    )


@pytest.fixture(scope="module")
def balanced():
    return trained(cycloid.gym.make("InvertedPendulum", 2), 150_000)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TASKS)
def test_rewards_are_those_of_the_environments_and_slopes_theirs(name):
    rng = np.random.default_rng(0)
    env = cycloid.gym.make(name, 3)
    task = as_task(env, None, None, None, None)
    x, u = task.starts(rng, 3), rng.uniform(-0.3, 0.3, (3, 4, task.system.input_size))
    states = np.asarray(cy.rollout(task.system, x, u).states)
    r, back = task.reward(task.system, states, u, None)
    env.reset(seed=0)
    env.set_states(x)
    given = np.stack([env.step(u[:, t])[1] for t in range(4)], axis=1)
    # Gymnasium's places in space and tips are one evaluation behind, and contacts have a price.
    assert np.abs(r - given).max() < (1e-9 if name in TASKS[:3] else 0.1)

    r_bar = rng.normal(size=r.shape)
    states_bar, u_bar = back(r_bar)
    along, along_u = rng.normal(size=states.shape), rng.normal(size=u.shape)

    def moved(s):
        there, _ = task.reward(task.system, states + s * along, u + s * along_u, None)
        return (there * r_bar).sum()

    slope = (moved(1e-6) - moved(-1e-6)) / 2e-6
    assert abs(slope) > 0.1
    assert (states_bar * along).sum() + (u_bar * along_u).sum() == pytest.approx(slope, rel=1e-6)


def test_a_pendulum_of_gymnasium_is_balanced_for_a_whole_episode(balanced):
    env = cycloid.gym.make("InvertedPendulum", 8)
    env.reset(seed=3)
    for _ in range(999):
        _, rewards, terminated, _, _ = env.step(balanced(env.states))
        assert not terminated.any() and (rewards == 1).all()
    # The loop holds an action for two time steps, as the environments do.
    assert balanced.system.timestep == pytest.approx(env.dt)
    x = np.array([[0.0, 0.01, 0.0, 0.0]])
    one = cy.rollout(balanced.task.physics, x, np.repeat(balanced(x)[:, None], 2, axis=1)).states
    assert np.allclose(cy.step(balanced.system, x), one[:, -1], rtol=1e-12, atol=1e-14)


def test_a_policy_is_doubted_by_verify(balanced, tmp_path):
    trust = cy.verify(balanced, steps=150)
    assert trust.ok and trust.survives > 0.9
    assert set(trust.by_test) >= {"half step", "other integrator", "parameters", "delay", "noise"}
    zero, found = trust.costs["as it was found"]
    assert found == -150 and zero > -50  # without inputs it falls
    trust.plot(tmp_path / "verify.html")
    assert "A policy of" in (tmp_path / "verify.html").read_text()
    assert cy.verify(balanced, steps=60, delay=12).by_test["delay"] < 0.5


def test_a_policy_runs_in_the_viewer_and_from_a_file(balanced, tmp_path):
    balanced.save(tmp_path / "policy.cyl")
    env = cycloid.gym.make("InvertedPendulum", 2)
    net = cy.networks.MLP((4, 32, 1), seed=9)
    loop = cy.close_loop(cy.hold(env.system, env.frame_skip), net, ["qpos", "qvel"], clip="tanh")
    again = cy.learn.load(tmp_path / "policy.cyl", loop)
    x = [0.0, 0.01, 0.0, 0.0]
    run = cy.rollout(again, x, 50)
    assert np.array_equal(run.states, cy.rollout(balanced.system, x, 50).states)
    page = cy.view(run, tmp_path / "run.html")
    assert "cart" in page.read_text()  # drawn as the robot that it is


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_training_goes_on_bit_for_bit(dtype, tmp_path):
    env = cycloid.gym.make("InvertedPendulum", 2, dtype=dtype)
    whole = trained(env, episode=20)
    part = trained(env, episode=20, callback=lambda window, cost: np.less(window, 15))
    assert part.interrupted and part.steps < whole.steps and not whole.interrupted
    part.save(tmp_path / "part.cyl")
    rest = trained(env, episode=20, resume=tmp_path / "part.cyl")
    assert np.array_equal(rest.weights, whole.weights)
    for name in ("return", "loss", "episode", "steps"):
        assert np.array_equal(rest.history[name], whole.history[name], equal_nan=True)
    with pytest.raises(cy.Error, match="environments"):
        trained(env, environments=64, resume=tmp_path / "part.cyl")
    balanced_law = cy.learn.neural_ode(4)
    cy.learn.train(balanced_law, cy.learn.Derivatives([[0.0] * 4], [[0.0] * 4]), steps=1).save(
        tmp_path / "law.cyl"
    )
    with pytest.raises(cy.Error):
        trained(env, resume=tmp_path / "law.cyl")


def test_an_interrupted_training_keeps_what_it_has(tmp_path):
    env = cycloid.gym.make("InvertedPendulum", 2)
    calls = []

    def randomise(rng, n):
        calls.append(rng.uniform())
        if len(calls) == 6:
            raise KeyboardInterrupt
        return {}

    part = trained(env, randomise=randomise)
    assert part.interrupted and len(part.history["steps"]) == 5
    part.save(tmp_path / "part.cyl")

    def go_on(rng, n):
        rng.uniform()
        return {}

    rest = trained(env, randomise=go_on, resume=tmp_path / "part.cyl")
    assert np.array_equal(rest.weights, trained(env, randomise=go_on).weights)


def test_environments_of_ones_own_need_a_reward_with_slopes():
    pendulum = cy.systems.pendulum(dt=0.01, damping=0.1)
    env = cycloid.gym.VectorEnv(
        pendulum,
        2,
        frame_skip=5,
        reward=lambda before, actions, after: -(after["angle"][:, 0] ** 2),
        terminated=lambda at: np.abs(at["angle"][:, 0]) > 2,
        reset=lambda rng, n: rng.uniform(-0.5, 0.5, (n, 2)),
        max_episode_steps=50,
    )
    net = cy.networks.MLP((2, 16, 1), seed=0)
    with pytest.raises(cy.Error, match="no slopes"):
        cy.learn.train_policy(env, net, steps=1000)

    def reward(x, u):
        off = x - [0.5, 0.0]
        return -(off**2).sum(-1), -2 * off, np.zeros_like(u)

    policy = cy.learn.train_policy(
        env, net, reward, steps=40_000, horizon=16, environments=32, learning_rate=1e-2
    )
    assert policy.history["return"][-1] > 0.5 * policy.history["return"][0]  # both are negative
    assert policy.system.timestep == pytest.approx(0.05)
    gym = pytest.importorskip("gymnasium")
    with pytest.raises(TypeError, match=r"cycloid\.gym"):
        cy.learn.train_policy(gym.make_vec("CartPole-v1", 2), net, steps=100)
    with pytest.raises(cy.Error, match="reward and x0"):
        cy.learn.train_policy(pendulum, net, steps=100)


def test_a_held_system_has_the_gradient_of_its_steps():
    held = cy.hold(cy.systems.double_pendulum(dt=0.02), 4)
    assert cy.check_gradient(held, [0.3, 0.2, 0.1, -0.2], 12).ok
    run = cy.rollout(held, [0.3, 0.2, 0.1, -0.2], 10)
    fine = cy.rollout(cy.systems.double_pendulum(dt=0.02), [0.3, 0.2, 0.1, -0.2], 40)
    assert np.array_equal(run.states, fine.states[::4]) and run.times[-1] == pytest.approx(0.8)
    A, _ = cy.linearise(held, [0.3, 0.2, 0.1, -0.2], None)
    assert np.allclose(A @ [1.0, 0, 0, 0], cy.rollout(held, [0.3, 0.2, 0.1, -0.2], 1).pushforward(
        x0_tan=[1.0, 0, 0, 0]
    )[-1])
