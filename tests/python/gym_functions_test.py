"""The functions of a cycloid.gym.VectorEnv: what they are given, and what they may return."""

import numpy as np
import pytest

import cycloid as cy
import cycloid.gym

PUSH = np.zeros((4, 1))
HINGE = """<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
    <geom size="0.1" pos="0 0 -1"/> </body> </worldbody> <sensor> {sensor} </sensor> </mujoco>"""


def pendulums(**keywords):
    return cycloid.gym.VectorEnv(cy.systems.pendulum(), 4, **keywords)


def test_what_functions_see_cannot_be_written():
    """An angle wrapped in place would else move the pendulum."""

    def wrapped(at):
        angle = at["angle"]
        angle[:] = np.arctan2(np.sin(angle), np.cos(angle))
        return angle

    with pytest.raises(ValueError, match="read-only"):
        pendulums(observation=wrapped)

    def reward(before, actions, after):
        for at in (before, after):
            for array in (at.states, at.fresh, at["angle"]):
                with pytest.raises(ValueError, match="read-only"):
                    array[:] = 1
        return np.zeros(len(after))

    env = pendulums(reward=reward)
    env.reset(seed=0)
    env.step(PUSH)
    env.reset(options={"reset_mask": np.array([True, False, False, True])})
    env.step(PUSH)


def test_sensors_that_functions_see_cannot_be_written():
    robot = cy.load(HINGE.format(sensor='<jointpos name="place" joint="hinge"/>'))

    def reward(before, actions, after):
        with pytest.raises(ValueError, match="read-only"):
            after["place"][:] = 1
        return np.zeros(len(after))

    env = cycloid.gym.VectorEnv(robot, 2, reward=reward, sensors="place")
    env.reset()
    env.step(np.zeros((2, 0)))


def last_of_two_generations(mode, info):
    """The infos of a step in which the second and third environments begin, and the others move."""
    env = pendulums(info=info, max_episode_steps=2, autoreset_mode=mode)
    env.reset()
    env.step(PUSH)
    env.reset(options={"reset_mask": np.array([True, False, False, True])})
    infos = env.step(PUSH)[4]
    return env.step(PUSH)[4] if mode == "NextStep" else infos


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("first, later", [(1, 0.5), (0.5, 1)])
def test_infos_keep_fractions_beside_whole_numbers(mode, first, later):
    """Environments that begin say an int in the same step in which the others say a float."""
    infos = last_of_two_generations(
        mode, lambda at: {"level": np.full(len(at), first if at.fresh.all() else later)}
    )
    np.testing.assert_array_equal(infos["level"], [later, first, first, later])
    assert infos["_level"].all()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_infos_of_a_wrong_shape_are_refused_by_name(mode):
    options = {"max_episode_steps": 1, "autoreset_mode": mode}
    zeros = np.zeros(4)
    for value, got in ((1.0, r"shape \(\)"), (np.zeros(3), r"shape \(3,\)"), ({}, r"shape \(\)")):
        with pytest.raises(cy.Error, match=r'info: "level" must be an array \(4, ...\).*' + got):
            pendulums(info=lambda at, value=value: {"level": value}, **options).reset()
        env = pendulums(reward=lambda *_, value=value: (zeros, {"cost": value}), **options)
        env.reset()
        with pytest.raises(cy.Error, match=r'reward: "cost" must be an array \(4, ...\).*' + got):
            env.step(PUSH)
    with pytest.raises(cy.Error, match='info: "level" must be an array'):
        pendulums(info=lambda at: {"level": [[1], [1, 2], 3, 4]}, **options).reset()
    with pytest.raises(TypeError, match="info must return a dict of arrays; got 3"):
        pendulums(info=lambda at: 3, **options).reset()
    for pair, got in (((zeros, zeros), "array"), ((zeros, {}, 1), "3 parts")):
        env = pendulums(reward=lambda *_, pair=pair: pair, **options)
        env.reset()
        with pytest.raises(TypeError, match=f"reward must return .* a dict of arrays; got {got}"):
            env.step(PUSH)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_infos_whose_shape_changes_are_refused_by_name(mode):
    with pytest.raises(cy.Error, match='infos: "level" has the shape .* of some environments'):
        last_of_two_generations(mode, lambda at: {"level": np.zeros((len(at), 2 + at.fresh.all()))})


def test_no_names_are_no_observation():
    with pytest.raises(cy.Error, match="observation: expected a function or at least one name"):
        pendulums(observation=())


def test_a_sensor_wins_over_a_block_of_its_name_as_in_observe():
    robot = cy.load(HINGE.format(sensor='<jointvel name="qpos" joint="hinge"/>'))
    seen = []
    keywords = {
        "reset": [0.3, 0.7],
        "reward": lambda before, actions, after: seen.append(before["qpos"]) or np.zeros(2),
    }
    expected = cy.observe(robot, np.tile([0.3, 0.7], (2, 1)), names="qpos").values
    for names in ({"sensors": "qpos"}, {"observation": "qpos"}):
        env = cycloid.gym.VectorEnv(robot, 2, **names, **keywords)
        first, _ = env.reset()
        env.step(np.zeros((2, 0)))
        np.testing.assert_array_equal(seen.pop(), expected)
        if "observation" in names:
            np.testing.assert_array_equal(first, expected)
    plain = cycloid.gym.VectorEnv(robot, 2, **keywords)  # asks for no sensor, and sees the state
    np.testing.assert_array_equal(plain.reset()[0], np.tile([0.3, 0.7], (2, 1)))
    plain.step(np.zeros((2, 0)))
    np.testing.assert_array_equal(seen.pop(), np.full((2, 1), 0.3))


@pytest.mark.parametrize("names", [{"sensors": ("energy", "angle")}, {"observation": "energy"}])
def test_what_a_law_shows_is_a_sensor_too(names):
    pendulum = cy.systems.pendulum(gravity=10.0)
    seen = []
    env = cycloid.gym.VectorEnv(
        pendulum, 2, reset=[0.3, 0.7], **names,
        reward=lambda before, actions, after: seen.append(after) or after["energy"][:, 0],
    )
    first, _ = env.reset()
    _, reward, *_ = env.step(np.ones((2, 1)))
    expected = cy.observe(pendulum, seen[0].states, names="energy").values
    np.testing.assert_allclose(reward, expected[:, 0], rtol=1e-14)
    np.testing.assert_array_equal(seen[0]["angle"], seen[0].states[:, :1])
    if "observation" in names:
        np.testing.assert_allclose(first, cy.observe(pendulum, [[0.3, 0.7]] * 2).values[:, 2:])


def test_the_sensors_of_a_closed_loop_are_seen():
    pendulum = cy.systems.pendulum()
    closed = cy.close_loop(pendulum, cy.LinearFeedback([[3.0, 1.0]], [0.0, 0.0], [0.0]))
    env = cycloid.gym.VectorEnv(closed, 2, observation="energy", reset=[0.3, 0.7])
    expected = cy.observe(pendulum, [[0.3, 0.7]] * 2, names="energy").values
    np.testing.assert_allclose(env.reset()[0], expected, rtol=1e-14)


def test_a_sensor_that_there_is_not_is_refused_with_the_nearest_name():
    message = 'no observable is called "enrgy"; did you mean "energy"'
    with pytest.raises(cy.ModelError, match=message):
        pendulums(sensors="enrgy")
