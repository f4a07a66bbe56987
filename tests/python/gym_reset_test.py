"""Seeds, and states that are set, of cycloid.gym's environments."""

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import cycloid as cy
import cycloid.gym

NAME = "InvertedPendulum"


def pendulums(count=2, **keywords):
    return cycloid.gym.VectorEnv(cy.systems.pendulum(), count, **keywords)


@pytest.mark.parametrize("seed", [11, [11, 12, 13], [None, 7, None]])
def test_a_masked_reset_seeds_what_it_resets(seed):
    """As Gymnasium's SyncVectorEnv does: the others go on with their own generators."""
    ours = cycloid.gym.make(NAME, 3, autoreset_mode="Disabled")
    singles = [lambda: cycloid.gym._make_single(NAME)] * 3
    theirs = SyncVectorEnv(singles, autoreset_mode="Disabled")
    masks = [np.array([False, True, False]), np.array([True, False, True]), np.ones(3, bool)]
    for env in (ours, theirs):
        env.reset(seed=5)
    np.testing.assert_array_equal(ours.states[:2] != ours.states[2], np.ones((2, 4), bool))
    for mask, own in zip(masks, (seed, None, None)):
        got, expected = (
            env.reset(seed=own, options={"reset_mask": mask.copy()})[0] for env in (ours, theirs)
        )
        np.testing.assert_array_equal(got, expected)


def test_seeds_may_be_any_whole_numbers():
    env = cycloid.gym.make(NAME, 3)
    expected, _ = env.reset(seed=3)
    for seed in (np.int64(3), np.uint8(3), [np.int64(3), 4, np.int32(5)], np.array([3, 4, 5])):
        np.testing.assert_array_equal(env.reset(seed=seed)[0], expected)
    env.reset(seed=None)
    drawn = cycloid.gym.make(NAME, 3)
    first, _ = drawn.reset()  # by seeds from the operating system, of 128 bits
    np.testing.assert_array_equal(env.reset(seed=drawn.np_random_seed)[0], first)
    own = pendulums(reset=lambda rng, n: rng.normal(size=(n, 2)))
    np.testing.assert_array_equal(own.reset(seed=np.int64(3))[0], own.reset(seed=3)[0])


def test_seeds_that_are_none_are_refused():
    env = cycloid.gym.make(NAME, 2)
    for seed in ([1, 2, 3], np.zeros((2, 2), int), [[1], [2, 3]], {1, 2}, "ab", 0.5):
        with pytest.raises((cy.Error, TypeError), match="seed.* an int"):
            env.reset(seed=seed)
    with pytest.raises(cy.Error, match="seed must be at least 0; got -1"):
        env.reset(seed=[1, -1])
    env.reset()
    for seed in (-1, np.int64(-1)):
        with pytest.raises(cy.Error, match="seed must be at least 0"):
            pendulums().reset(seed=seed)
    with pytest.raises(TypeError, match="seed: expected None or an int.* one random generator"):
        pendulums().reset(seed=[1, 2])
    env.reset(seed=4)
    before = env.states
    with pytest.raises(TypeError, match="seed must be an int; got 'a'"):
        env.reset(seed=[9, "a"])  # and nothing is seeded
    env.reset()
    twin = cycloid.gym.make(NAME, 2)
    np.testing.assert_array_equal(twin.reset(seed=4)[0], before)
    np.testing.assert_array_equal(twin.reset()[0], env.states)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_states_that_are_set_are_where_the_next_step_begins(mode):
    env = pendulums(
        terminated=lambda at: at.states[:, 0] > 1, max_episode_steps=3, autoreset_mode=mode
    )
    env.reset()
    env.set_states([[2.0, 0], [0, 0]])
    assert env.step(np.zeros((2, 1)))[2].tolist() == [True, False]
    states = np.array([[0.5, 0.1], [0.3, 0]])
    env.set_states(states)
    expected = cy.rollout(env.system, states, 1, save="last").states[:, 0]
    np.testing.assert_array_equal(env.step(np.zeros((2, 1)))[0], expected)
    # The one that had ended has taken one step of its episode, the other two.
    assert env.step(np.zeros((2, 1)))[3].tolist() == [False, True]
