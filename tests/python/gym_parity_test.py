"""Gymnasium's MuJoCo environments, made by cycloid.gym.make, against Gymnasium's own.

Both start from the same seeds. Before every step ours is put into Gymnasium's state, so that what
is compared is one step, and not how fast errors grow in a motion with contacts; what is kept from
step to step besides the state is each one's own. Gymnasium's solver is made to converge: ours does.
"""

import os

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import cycloid.gym

TOLERANCE = 1e-6  # of every number; actions are float32, and Gymnasium sums their squares in that
LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))
STEPS = 1200 if LONG else 150
COUNT = 16 if LONG else 4

mujoco.set_mju_user_warning(lambda text: None)  # MuJoCo would write a file into this folder

NAMES = ["Ant", "HalfCheetah", "Hopper", "Humanoid", "InvertedDoublePendulum", "InvertedPendulum",
         "Walker2d"]  # fmt: skip

# Keywords away from their defaults, all that a name has.
OTHERS = {
    "Ant": {
        "forward_reward_weight": 2.0, "ctrl_cost_weight": 0.2, "contact_cost_weight": 1e-2,
        "healthy_reward": 0.5, "main_body": "aux_1", "healthy_z_range": (0.3, 0.9),
        "contact_force_range": (-0.5, 2.0), "reset_noise_scale": 0.05,
        "exclude_current_positions_from_observation": False, "frame_skip": 3,
    },
    "HalfCheetah": {
        "forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.2,
        "exclude_current_positions_from_observation": False, "frame_skip": 2,
    },
    "Hopper": {
        "forward_reward_weight": 0.5, "ctrl_cost_weight": 0.1, "healthy_reward": 2.0,
        "terminate_when_unhealthy": False, "healthy_state_range": (-3.0, 3.0),
        "healthy_z_range": (1.0, 1.3), "healthy_angle_range": (-0.1, 0.3),
        "reset_noise_scale": 0.02, "exclude_current_positions_from_observation": False,
    },
    "Humanoid": {
        "forward_reward_weight": 1.0, "ctrl_cost_weight": 0.2, "contact_cost_weight": 1e-4,
        "contact_cost_range": (0.5, 3.0), "healthy_reward": 1.0, "healthy_z_range": (1.1, 1.8),
        "reset_noise_scale": 0.3,  # some begin in contact
        "exclude_current_positions_from_observation": False, "include_cinert_in_observation": False,
        "include_qfrc_actuator_in_observation": False,
    },
    "InvertedDoublePendulum": {"healthy_reward": 3.0, "reset_noise_scale": 0.3, "frame_skip": 2},
    "InvertedPendulum": {"reset_noise_scale": 0.1, "frame_skip": 4},
    "Walker2d": {
        "xml_file": "walker2d.xml", "forward_reward_weight": 0.5, "ctrl_cost_weight": 0.1,
        "healthy_reward": 2.0, "healthy_z_range": (0.9, 1.5), "healthy_angle_range": (-0.5, 0.5),
        "reset_noise_scale": 0.02, "terminate_when_unhealthy": False,
    },
}  # fmt: skip


def gymnasiums(name, count, mode, **keywords):
    env = gymnasium.make_vec(
        f"{name}-v5", count, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode},
        **keywords,
    )  # fmt: skip
    for single in env.envs:
        option = single.unwrapped.model.opt
        option.solver = mujoco.mjtSolver.mjSOL_NEWTON
        option.tolerance, option.iterations = 0, 100
        option.ls_iterations, option.ls_tolerance = 100, 1e-10
    return env


def states_of(env):
    data = [single.unwrapped.data for single in env.envs]
    return np.array([np.concatenate([d.qpos, d.qvel]) for d in data])


def put_into(env, states):
    """... without a new measurement: what is measured stays one evaluation behind, as theirs."""
    now = env._now
    env._now = cycloid.gym.Snapshot(now._layout, states, now._values, now.fresh)


def compare(expected, got):
    """Everything that reset or step returns; infos with their masks."""
    if isinstance(expected, dict):
        assert expected.keys() == got.keys()
        for key in expected:
            compare(expected[key], got[key])
    elif isinstance(expected, tuple):
        assert len(expected) == len(got)
        for a, b in zip(expected, got):
            compare(a, b)
    elif expected.dtype == object:  # final_obs
        assert [a is None for a in expected] == [b is None for b in got]
        for a, b in zip(expected, got):
            if a is not None:
                compare(a, b)
    else:
        assert expected.shape == got.shape
        if expected.dtype == bool:
            np.testing.assert_array_equal(got, expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE)


def run_both(name, mode, steps=STEPS, **keywords):
    theirs = gymnasiums(name, COUNT, mode, **keywords)
    ours = cycloid.gym.make(name, COUNT, autoreset_mode=mode, **keywords)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    first = theirs.reset(seed=7), ours.reset(seed=7)
    np.testing.assert_array_equal(ours.states, states_of(theirs))  # the same random numbers
    compare(*first)
    draw = np.random.default_rng(1)
    low, high = theirs.action_space.low, theirs.action_space.high
    episodes = 0
    for _ in range(steps):
        # Beyond the range too: controls are clamped, and cost what they were.
        actions = (1.2 * draw.uniform(low, high)).astype(np.float32)
        put_into(ours, states_of(theirs))
        expected, got = theirs.step(actions), ours.step(actions)
        compare(expected, got)
        assert got[0].dtype == np.float64
        episodes += int((got[2] | got[3]).sum())
    return episodes


@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_gymnasiums(name):
    episodes = run_both(name, AutoresetMode.NEXT_STEP)
    assert episodes > 0 or name == "HalfCheetah" or (name == "Ant" and not LONG)


@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_gymnasiums_with_other_keywords(name):
    keywords = OTHERS[name] | {"max_episode_steps": 40}
    run_both(name, AutoresetMode.SAME_STEP, STEPS // 2, **keywords)


def test_a_free_run_stays_with_gymnasiums():
    """Without contacts errors grow slowly: nothing needs to be put right on the way."""
    theirs = gymnasiums("InvertedDoublePendulum", 3, "NextStep")
    ours = cycloid.gym.make("InvertedDoublePendulum", 3)
    compare(theirs.reset(seed=[5, 3, 8]), ours.reset(seed=[5, 3, 8]))
    for t in range(60):
        actions = np.full((3, 1), 0.1 * np.sin(t), np.float32)
        compare(theirs.step(actions), ours.step(actions))
    assert ours.np_random_seed == (5, 3, 8)
