"""cycloid.gym.VectorEnv: what Gymnasium's trainers, wrappers and checkers expect of it."""

import warnings

import gymnasium
import numpy as np
import pytest
from fresh_process import PATIENCE, run_script
from gymnasium.utils import env_checker
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import cycloid as cy
import cycloid.gym

MODES = list(AutoresetMode)


def angle_reward(before, actions, after):
    reward = after.states[:, 0] - before.states[:, 0]
    return reward, {"effort": np.abs(actions).sum(axis=1), "pair": after.states[:, :2].copy()}


def pendulums(count=4, system=None, **keywords):
    """Pendulums that are pushed, whose episodes end at an angle or after seven steps."""
    options = {
        "reward": angle_reward,
        "terminated": lambda at: at["angle"][:, 0] > 0.3,
        "reset": lambda rng, n: rng.uniform(-0.2, 0.2, size=(n, 2)),
        "info": lambda at: {"angle": at["angle"][:, 0]},
        "frame_skip": 5,
        "max_episode_steps": 7,
    }
    return cycloid.gym.VectorEnv(system or cy.systems.pendulum(), count, **(options | keywords))


def actions_of(env, steps, seed=0):
    draw = np.random.default_rng(seed)
    return 5 * draw.normal(size=(steps, env.num_envs, env.system.input_size)).astype(np.float32)


def test_shapes_spaces_and_metadata():
    for dtype in ("float64", "float32"):
        env = pendulums(system=cy.systems.pendulum(dtype=dtype))
        observations, infos = env.reset(seed=1)
        assert env.single_observation_space.dtype == observations.dtype == dtype
        assert env.single_action_space.dtype == np.float32
        assert env.observation_space.shape == observations.shape == (4, 2)
        assert env.action_space.shape == (4, 1)
        assert set(infos) == {"angle", "_angle"} and infos["_angle"].all()
        observations, rewards, terminated, truncated, infos = env.step(np.zeros((4, 1)))
        assert observations in env.observation_space
        assert rewards.dtype == np.float64 and terminated.dtype == truncated.dtype == bool
        assert rewards.shape == terminated.shape == truncated.shape == (4,)
        assert infos["pair"].shape == (4, 2)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_a_step_is_the_rollout_of_the_held_action():
    env = pendulums(max_episode_steps=None, terminated=None)
    states, _ = env.reset(seed=5)
    for actions in actions_of(env, 6):
        held = np.repeat(actions[:, None], env.frame_skip, axis=1)
        expected = cy.rollout(env.system, states, held, save="last").states[:, 0]
        states = env.step(actions)[0]
        np.testing.assert_array_equal(states, expected)
        np.testing.assert_array_equal(env.states, expected)


class Scripted:
    """Start states that do not depend on who asks: of environment i its own list."""

    def __init__(self, count):
        self.starts = np.random.default_rng(3).uniform(-0.2, 0.2, size=(count, 50, 2))


@pytest.mark.parametrize("mode", MODES)
def test_resets_and_infos_are_those_of_gymnasiums_own_vector_env(mode):
    """SyncVectorEnv around single environments is the oracle, for everything that is returned."""
    count, script, begun = 5, Scripted(5), np.zeros(5, int)

    class Batch(cycloid.gym.VectorEnv):
        def _starts(self, rows):
            begun[rows] += 1
            return script.starts[rows, begun[rows] - 1]

    keywords = {
        "reward": angle_reward,
        "terminated": lambda at: at["angle"][:, 0] > 0.3,
        "info": lambda at: {"angle": at["angle"][:, 0]},
        "frame_skip": 5,
        "max_episode_steps": 7,
    }
    ours = Batch(cy.systems.pendulum(), count, autoreset_mode=mode, **keywords)

    def single(i):
        own = iter(script.starts[i])
        env = cycloid.gym.VectorEnv(
            cy.systems.pendulum(), 1, autoreset_mode="Disabled",
            **keywords, reset=lambda rng, n: next(own)[None],
        )  # fmt: skip
        return cycloid.gym.SingleEnv(env)

    theirs = SyncVectorEnv(
        [lambda i=i: single(i) for i in range(count)], autoreset_mode=mode
    )
    ended = np.zeros(count, bool)
    check(theirs.reset(), ours.reset())
    for actions in actions_of(ours, 40, seed=4):
        if mode is AutoresetMode.DISABLED and ended.any():
            options = [{"reset_mask": ended.copy()} for _ in range(2)]
            check(theirs.reset(options=options[0]), ours.reset(options=options[1]))
        expected, got = theirs.step(actions), ours.step(actions)
        check(expected, got)
        ended = got[2] | got[3]
    assert begun.min() > 3  # many episodes, that ended in both ways and not all together


def check(expected, got):
    # A single environment runs in the scalar type and agrees to 1e-12 per step.
    def same(a, b):
        if isinstance(a, dict):
            assert a.keys() == b.keys()
            for key in a:
                same(a[key], b[key])
        elif a.dtype == object:
            assert [v is None for v in a] == [v is None for v in b]
            for v, w in zip(a, b):
                if v is not None:
                    same(v, w)
        else:
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a * 1.0, b * 1.0, rtol=1e-10, atol=1e-10)

    for a, b in zip(expected, got, strict=True):
        same(a, b)


def test_observations_by_name():
    env = pendulums(observation=("angular_velocity", "angle"), reward=None)
    first, _ = env.reset(seed=0)
    np.testing.assert_array_equal(first, env.states[:, ::-1])
    np.testing.assert_array_equal(env.step(np.zeros((4, 1)))[1], np.zeros(4))
    robot = cy.load(
        """<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0" damping="0.1"/>
        <geom size="0.1" pos="0 0 -1"/> <site name="bob" pos="0 0 -1"/> </body> </worldbody>
        <actuator> <motor joint="hinge" ctrlrange="-2 3"/> <motor joint="hinge"/> </actuator>
        <sensor> <framepos name="place" objtype="site" objname="bob"/> </sensor> </mujoco>"""
    )
    env = cycloid.gym.VectorEnv(
        robot, 3, observation=("qvel", "place"), sensors="place",
        reward=lambda before, actions, after: after["place"][:, 2] - before["place"][:, 2],
        reset=lambda rng, n: rng.normal(size=(n, 2)),
    )  # fmt: skip
    np.testing.assert_array_equal(env.single_action_space.low, np.float32([-2, -np.inf]))
    np.testing.assert_array_equal(env.single_action_space.high, np.float32([3, np.inf]))
    before, _ = env.reset(seed=0)
    after, rewards, *_ = env.step(np.ones((3, 2)))
    seen = cy.observe(robot, env.states, np.ones((3, 2)), names="place")
    np.testing.assert_allclose(after, np.concatenate([env.states[:, 1:], seen.values], axis=1),
                               rtol=1e-14)  # fmt: skip
    np.testing.assert_allclose(rewards, after[:, 3] - before[:, 3], rtol=1e-12)


def test_parameters_may_differ_between_environments():
    system = cy.systems.pendulum(vary="length")
    lengths = np.array([0.5, 1.0, 2.0, 4.0])
    env = pendulums(system=system, params={"length": lengths}, max_episode_steps=3)
    states, _ = env.reset(seed=2)
    for actions in actions_of(env, 8):
        held = np.repeat(actions[:, None], env.frame_skip, axis=1)
        expected = cy.rollout(system, states, held, {"length": lengths}, save="last").states[:, 0]
        going = ~env._done  # of the step before
        states = env.step(actions)[0]
        np.testing.assert_array_equal(states[going], expected[going])


@pytest.mark.parametrize("mode", MODES)
def test_an_environment_that_diverges_ends_and_says_so(mode):
    """The second planet starts in the centre of attraction: its rate of change is not finite."""

    def planets(starts):
        return cycloid.gym.VectorEnv(
            cy.systems.kepler(), 3, autoreset_mode=mode,
            reward=lambda before, actions, after: np.ones(len(after)),
            reset=lambda rng, n: starts[:n],
        )  # fmt: skip

    good = np.array([[1.0, 0, 0, 1.1], [1.0, 0, 0, 1.2], [1.0, 0, 0, 0.9]])
    bad = good.copy()
    bad[1] = 0
    env, untroubled = planets(bad), planets(good)
    env.reset(), untroubled.reset()
    out, expected = env.step(np.zeros((3, 0))), untroubled.step(np.zeros((3, 0)))
    observations, rewards, terminated, truncated, infos = out
    info = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
    np.testing.assert_array_equal(terminated, [False, True, False])
    assert info["diverged"][1] and (mode is AutoresetMode.SAME_STEP or info["diverged"].sum() == 1)
    np.testing.assert_array_equal(rewards, [1, 0, 1])
    assert np.isfinite(observations).all() and "diverged" not in expected[4]
    np.testing.assert_array_equal(observations[[0, 2]], expected[0][[0, 2]])
    if mode is AutoresetMode.DISABLED:  # it stays where it was finite
        only = np.array([True, False, False])
        assert np.isfinite(env.reset(options={"reset_mask": only})[0]).all()


@pytest.mark.parametrize("dtype, speed", [("float64", 1e200), ("float32", 1e25)])
def test_a_robot_that_diverges_ends_and_begins_anew(dtype, speed):
    env, twin = (cycloid.gym.make("Ant", 3, dtype=dtype) for _ in range(2))
    for e in (env, twin):
        e.reset(seed=0)
    wild = env.states
    wild[1, env.system.nq :] = speed
    env.set_states(wild)
    twin.set_states(twin.states)
    actions = np.full((3, 8), 0.5, np.float32)
    observations, rewards, terminated, truncated, infos = env.step(actions)
    np.testing.assert_array_equal(terminated, [False, True, False])
    np.testing.assert_array_equal(infos["diverged"], [False, True, False])
    assert np.isfinite(observations).all() and rewards[1] == 0
    np.testing.assert_array_equal(observations[::2], twin.step(actions)[0][::2])
    observations, rewards, terminated, _, infos = env.step(actions)
    assert not terminated.any() and rewards[1] == 0 and "diverged" not in infos
    assert np.abs(observations[1]).max() < 5  # a start


def test_an_observation_that_is_not_finite_is_not_handed_out():
    def observation(at):
        with np.errstate(divide="ignore"):
            return 1 / np.where(at.states > 0.5, 0, 1.0)

    env = cycloid.gym.VectorEnv(
        cy.systems.pendulum(), 2, observation=observation, frame_skip=30, reset=[0.0, 0.0],
        reward=lambda before, actions, after: np.ones(len(after)),
    )  # fmt: skip
    env.reset()
    observations, rewards, terminated, _, infos = env.step(np.array([[0.0], [5.0]]))
    np.testing.assert_array_equal(observations, np.ones((2, 2)))
    np.testing.assert_array_equal(terminated, [False, True])
    np.testing.assert_array_equal(rewards, [1, 0])
    np.testing.assert_array_equal(infos["diverged"], [False, True])
    kept, _ = env.reset(options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(kept, np.ones((2, 2)))


def test_equal_seeds_make_equal_runs():
    def run(env, seed):
        out = [env.reset(seed=seed)[0]]
        for actions in actions_of(env, 12):
            out += env.step(actions)[:4]
        return np.concatenate([np.ravel(part) for part in out])

    for make in (pendulums, lambda: cycloid.gym.make("Hopper", 4)):
        first = run(make(), 3)
        env = make()
        np.testing.assert_array_equal(first, run(env, 3))
        np.testing.assert_array_equal(first, run(env, 3))
        assert (first != run(env, 4)).any()


def test_what_is_returned_is_the_users_own():
    env = pendulums(max_episode_steps=None, terminated=None)
    twin = pendulums(max_episode_steps=None, terminated=None)
    for e in (env, twin):
        e.reset(seed=0)
    for actions in actions_of(env, 3):
        kept, got = twin.step(actions), env.step(actions)
        np.testing.assert_array_equal(kept[0], got[0])
        got[0][:] = np.nan
        got[4]["pair"][:] = np.nan
        env.states[:] = np.nan


def test_gymnasiums_checkers_find_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(infinity|symmetric and normalized).*")
        for name in ("Hopper", "InvertedPendulum"):
            env_checker.check_env(gymnasium.make(f"cycloid/{name}-v5").unwrapped)
        for env in (pendulums(1), cycloid.gym.make("Hopper", 1)):
            env_checker.check_returned_data_not_reused(env)
        for env in (pendulums(), cycloid.gym.make("Hopper", 3)):
            env_checker.check_reset_seed_determinism(env)
            env_checker.check_reset_options(env)
            env_checker.check_reset_return_type(env)
            for space in (env.single_action_space, env.single_observation_space):
                env_checker.check_space_limit(space, "a")


@pytest.mark.parametrize("mode", MODES)
def test_gymnasiums_wrappers_work(mode):
    from gymnasium.wrappers import vector

    env = vector.RecordEpisodeStatistics(cycloid.gym.make("Hopper", 6, autoreset_mode=mode))
    if mode is AutoresetMode.NEXT_STEP:
        env = vector.NormalizeReward(vector.NormalizeObservation(env))
    bounds = np.float32(-2), np.float32(2)
    env = vector.DictInfoToList(vector.RescaleAction(env, *bounds))
    observations, _ = env.reset(seed=0)
    episodes, ended = 0, None
    draw = np.random.default_rng(0)
    for _ in range(60):
        if mode is AutoresetMode.DISABLED and ended is not None and ended.any():
            env.reset(options={"reset_mask": ended})
        actions = draw.uniform(-2, 2, size=(6, 3)).astype(np.float32)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert observations.shape == (6, 11) and np.isfinite(observations).all()
        assert len(infos) == 6
        ended = terminated | truncated
        episodes += int(ended.sum())
    assert episodes > 6
    recorder = env.env.env if mode is not AutoresetMode.NEXT_STEP else env.env.env.env.env
    assert len(recorder.return_queue) == episodes
    assert 5 < np.mean(recorder.length_queue) < 60


def test_made_by_gymnasium_it_has_a_spec():
    env = gymnasium.make_vec("cycloid/Walker2d-v5", num_envs=2, ctrl_cost_weight=0.5)
    assert env.spec.id == "cycloid/Walker2d-v5" and env.task.ctrl_cost_weight == 0.5
    assert env.max_episode_steps == 1000
    again = gymnasium.make_vec(env.spec)
    assert again.num_envs == 2 and again.task == env.task
    assert repr(env) == "MujocoVectorEnv(cycloid/Walker2d-v5, num_envs=2)"


def test_misuse_is_refused_and_says_what_to_do():
    env = pendulums()
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\)"):
        env.step(np.zeros((4, 1)))
    env.reset(seed=0)
    with pytest.raises(cy.Error, match=r"actions must have shape \(4, 1\); got \(4, 2\)"):
        env.step(np.zeros((4, 2)))
    with pytest.raises(cy.Error, match="an action is not finite"):
        env.step(np.full((4, 1), np.nan))
    with pytest.raises(cy.Error, match='expected "reset_mask"; got \'mask\''):
        env.reset(options={"mask": 1})
    with pytest.raises(cy.Error, match="with at least one True"):
        env.reset(options={"reset_mask": np.zeros(4, bool)})
    with pytest.raises(cy.Error, match="draws no pictures; cycloid.state_to_mujoco"):
        env.render()
    with pytest.raises(cy.Error, match="render_mode: expected None"):
        pendulums(render_mode="human")
    with pytest.raises(cy.Error, match='autoreset_mode: expected "NextStep"'):
        pendulums(autoreset_mode="never")
    with pytest.raises(cy.Error, match=r"reset: expected states of shape \(4, 2\), angle, angular"):
        pendulums(reset=lambda rng, n: np.zeros((n, 3))).reset()
    with pytest.raises(cy.Error, match="reset: a state is not finite"):
        pendulums(reset=lambda rng, n: np.full((n, 2), np.nan)).reset()
    with pytest.raises(cy.Error, match=r"reset must be a function .* or a state of shape \(2,\)"):
        pendulums(reset=[1.0])
    with pytest.raises(cy.Error, match=r"observation must return an array \(n, k\)"):
        pendulums(observation=lambda at: at.states[:, 0])
    with pytest.raises(cy.Error, match='no observable is called "angel"; did you mean "angle"'):
        pendulums(observation="angel")
    with pytest.raises(TypeError, match="terminated must be a function"):
        pendulums(terminated=0.3)
    with pytest.raises(cy.Error, match=r"action_space must be a gymnasium.*Box of shape \(1,"):
        pendulums(action_space=gymnasium.spaces.Box(-1, 1, (2,)))
    bad = pendulums(reward=lambda before, actions, after: 1.0)
    bad.reset()
    with pytest.raises(cy.Error, match=r"reward must return an array \(4,\); got shape \(\)"):
        bad.step(np.zeros((4, 1)))
    waiting = pendulums(autoreset_mode="Disabled", max_episode_steps=1)
    waiting.reset()
    waiting.step(np.zeros((4, 1)))
    with pytest.raises(gymnasium.error.ResetNeeded, match="environment 0 has ended"):
        waiting.step(np.zeros((4, 1)))
    env.close()
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.reset()
    with pytest.raises(TypeError, match="Hopper-v5 has no keyword 'ctrl_cost'.*ctrl_cost_weight"):
        cycloid.gym.make("Hopper", ctrl_cost=1)
    with pytest.raises(FileNotFoundError, match="nothing.xml does not exist"):
        cycloid.gym.make("Hopper", xml_file="nothing.xml")
    with pytest.raises(cy.Error, match="seed: expected None, an int or a list of 2"):
        cycloid.gym.make("Hopper", 2).reset(seed=[1, 2, 3])


def test_without_gymnasium_it_says_what_to_install():
    script = run_script(
        """
        try:
            import cycloid.gym
        except ImportError as error:
            print(error)
        """,
        before="import sys; sys.modules['gymnasium'] = None",
    )
    out, _ = script.communicate(timeout=PATIENCE)
    assert 'needs gymnasium, which is not installed: pip install "gymnasium>=1.4"' in out
