"""cycloid.gym.StableBaselines, and the example that learns with it."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from fresh_process import PATIENCE, run_script
from gymnasium.vector import SyncVectorEnv

import cycloid as cy
import cycloid.gym

ROOT = Path(__file__).resolve().parents[2]


def hoppers(**keywords):
    keywords |= {"autoreset_mode": "SameStep", "max_episode_steps": 20}
    return cycloid.gym.make("Hopper", 5, **keywords)


def test_it_hands_on_what_the_environments_return():
    env, twin = cycloid.gym.StableBaselines(hoppers()), hoppers()
    env.seed(3)
    np.testing.assert_array_equal(env.reset(), twin.reset(seed=3)[0])
    draw, cut, fallen = np.random.default_rng(0), 0, 0
    for _ in range(45):
        actions = draw.uniform(-1, 1, size=(5, 3)).astype(np.float32)
        observations, rewards, dones, each = env.step(actions)
        expected, expected_rewards, terminated, truncated, infos = twin.step(actions)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(rewards, expected_rewards.astype(np.float32))
        np.testing.assert_array_equal(dones, terminated | truncated)
        for i in range(5):
            if not dones[i]:
                assert each[i] == {}
                continue
            np.testing.assert_array_equal(each[i]["terminal_observation"], infos["final_obs"][i])
            assert each[i]["x_position"] == infos["final_info"]["x_position"][i]
            assert each[i]["TimeLimit.truncated"] == (truncated[i] and not terminated[i])
            cut, fallen = cut + each[i]["TimeLimit.truncated"], fallen + terminated[i]
    assert cut > 0 and fallen > 0


def test_attributes_are_the_batchs():
    env = cycloid.gym.StableBaselines(hoppers())
    assert env.get_attr("frame_skip", [0, 3]) == [4, 4] and env.num_envs == 5
    assert env.env_method("_check_open") == [None] * 5
    assert env.env_is_wrapped(object, 2) == [False]
    with pytest.raises(cy.Error, match="cannot be set for some"):
        env.set_attr("max_episode_steps", 3, [0])
    env.set_attr("max_episode_steps", 3)
    assert env.env.max_episode_steps == 3
    env.close()
    assert env.env.closed


def test_it_asks_for_resets_within_the_step():
    with pytest.raises(cy.Error, match='make them with autoreset_mode="SameStep"'):
        cycloid.gym.StableBaselines(cycloid.gym.make("Hopper", 2))
    with pytest.raises(TypeError, match="expected a gymnasium.vector.VectorEnv"):
        cycloid.gym.StableBaselines(3)


def of_gymnasium():
    return SyncVectorEnv(
        [lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))] * 3,
        autoreset_mode="SameStep",
    )


def of_ours():
    env = cycloid.gym.make("InvertedPendulum", 3, autoreset_mode="SameStep")
    return gymnasium.wrappers.vector.RecordEpisodeStatistics(env)


@pytest.mark.parametrize("make", [of_gymnasium, of_ours])
def test_it_hands_on_the_statistics_of_episodes(make):
    """Where Gymnasium's wrappers put them, for Stable-Baselines3's logger: info["episode"]."""
    env = cycloid.gym.StableBaselines(make())
    env.seed(0)
    env.action_space.seed(0)
    env.reset()
    returns, lengths, ended = np.zeros(3), np.zeros(3, int), 0
    for _ in range(60):
        _, rewards, dones, each = env.step([env.action_space.sample() for _ in range(3)])
        returns, lengths = returns + rewards, lengths + 1
        for i in range(3):
            assert ("episode" in each[i]) == dones[i]
        for i in np.flatnonzero(dones):
            episode = each[i]["episode"]
            assert set(episode) == {"r", "l", "t"}
            assert (episode["r"], episode["l"]) == (returns[i], lengths[i])
            returns[i], lengths[i], ended = 0, 0, ended + 1
    assert ended > 3


def test_without_stable_baselines_the_rest_of_the_module_is_there():
    script = run_script(
        """
        from cycloid.gym import *
        print(make("Hopper"))
        import cycloid.gym
        try:
            cycloid.gym.StableBaselines
        except ImportError as error:
            print(error)
        """,
        before="import sys; sys.modules['stable_baselines3'] = None",
    )
    out, errors = script.communicate(timeout=PATIENCE)
    assert "MujocoVectorEnv(cycloid/Hopper-v5, num_envs=1)" in out, errors
    assert 'not installed: pip install "stable-baselines3>=2.9"' in out


@pytest.mark.skipif(not os.environ.get("CYCLOID_LONG_TESTS"), reason="minutes: make test-long")
def test_the_example_goes_on_learning():
    script, steps = ROOT / "examples" / "ppo_hopper.py", "2000000"
    run = subprocess.run(
        [sys.executable, "-B", script, steps], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    last = float(run.stdout.split()[-4])
    assert last > 1000  # more than standing still for a whole episode
