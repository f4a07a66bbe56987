"""`cycloid.gym.VectorEnv(..., device=)`: tensors that stay on a device, here this machine."""

import inspect

import gymnasium
import numpy as np
import pytest

import cycloid as cy
import cycloid.gym

torch = pytest.importorskip("torch")

POLE = """<mujoco model="pole"> <option timestep="0.01"/> <worldbody>
  <body> <joint name="slide" type="slide" axis="1 0 0"/> <geom size="0.1" mass="1"/>
    <body> <joint name="hinge" axis="0 1 0"/> <geom size="0.05" pos="0 0 0.5" mass="0.1"/> </body>
  </body> </worldbody>
  <actuator> <motor joint="slide" ctrlrange="-2 2" ctrllimited="true"/> </actuator> </mujoco>"""


def functions(xp):
    """A task, in NumPy's or torch's words."""
    return {
        "observation": lambda at: xp.concatenate((xp.cos(at["qpos"]), at["qvel"]), 1),
        "reward": lambda before, u, after: 1 - after["qpos"][:, 1] ** 2 - 0.1 * u[:, 0] ** 2,
        "terminated": lambda at: abs(at["qpos"][:, 1]) > 0.18,
        "info": lambda at: {"place": at["qpos"][:, 0]},
        "frame_skip": 3,
        "max_episode_steps": 7,
        "reset": [0.0, 0.1, 0.0, 0.0],
    }


def both(n=5):
    systems = [cy.load(POLE, device=d) for d in ("cpu", "host")]
    here = cycloid.gym.VectorEnv(systems[0], n, autoreset_mode="SameStep", **functions(np))
    there = cycloid.gym.VectorEnv(systems[1], n, device="host", **functions(torch))
    return here, there


def test_episodes_on_a_device_are_those_of_the_cpu():
    here, there = both()
    assert isinstance(there, cycloid.gym.TensorEnv)
    assert there.single_action_space == here.single_action_space
    seen, _ = here.reset(seed=0)
    also, _ = there.reset(seed=0)
    np.testing.assert_array_equal(also.numpy(), seen)
    rng = np.random.default_rng(1)
    ends = cuts = 0
    for _ in range(24):
        u = rng.uniform(-2, 2, (5, 1)) * (np.arange(5)[:, None] > 0)  # the first lasts
        u[1:] *= 4
        a, b = here.step(u), there.step(torch.from_numpy(u))
        assert all(isinstance(part, torch.Tensor) for part in b[:4])
        for one, other in zip(a[:4], b[:4], strict=True):
            np.testing.assert_allclose(other.numpy(), one, rtol=1e-9, atol=1e-12)
        done = a[2] | a[3]
        np.testing.assert_array_equal(b[4]["_final_obs"].numpy(), done)
        for i in np.flatnonzero(done):
            np.testing.assert_allclose(b[4]["final_obs"][i].numpy(), a[4]["final_obs"][i])
        ends, cuts = ends + a[2].sum(), cuts + a[3].sum()
    assert ends > 0 and cuts > 0
    np.testing.assert_allclose(there.states.numpy(), here.states, rtol=1e-9, atol=1e-12)


def test_an_environment_that_is_not_finite_ends_where_it_was():
    env = cycloid.gym.VectorEnv(
        cy.systems.lorenz(dt=10.0, device="host"), 3, device="host", frame_skip=20,
        reset=lambda generator, n: torch.tensor([[0.0, 0, 0], [1, 1, 1], [0, 0, 0]]),
        reward=lambda before, u, after: 1 + after.states[:, 0],
    )  # fmt: skip
    env.reset()
    seen, rewards, terminated, truncated, infos = env.step(torch.zeros((3, 0)))
    assert infos["diverged"].tolist() == terminated.tolist() == [False, True, False]
    assert rewards.tolist() == [1, 0, 1] and not truncated.any()
    assert infos["final_obs"][1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("xp, device", [(np, "cpu"), (torch, "host")])
@pytest.mark.parametrize("bad, words", [("state", "a state"), ("seen", "the observation")])
def test_a_start_within_a_step_that_is_not_finite_is_an_error_at_once(xp, device, bad, words):
    drawn = []

    def starts(generator, n):
        drawn.append(n)
        states = xp.full((n, 2), 0.5)
        if len(drawn) > 1 and bad == "state":
            states[-1, 0] = xp.nan
        return states

    def seen(at):
        angle = at["angle"]
        broken = len(drawn) > 1 and bad == "seen"
        return xp.where(angle == 0.5, xp.nan, angle) if broken else angle

    keywords = {"autoreset_mode": "SameStep"} if device == "cpu" else {"device": device}
    env = cycloid.gym.VectorEnv(
        cy.systems.pendulum(device=device), 3, max_episode_steps=2, reset=starts, observation=seen,
        **keywords,
    )  # fmt: skip
    env.reset(seed=0)
    actions = xp.zeros((3, 1))
    env.step(actions)  # what a device draws and does not take may be anything
    with pytest.raises(cy.Error, match=f"reset: {words}.* is not finite"):
        env.step(actions)


def test_sensors_are_measured_on_a_device():
    model = POLE.replace('<motor joint="slide"', '<motor name="motor" joint="slide"')
    model = model.replace("</body>\n", '<site name="tip" pos="0 0 0.5"/> </body>\n', 1)
    model = model.replace("</mujoco>", """<sensor> <actuatorfrc name="push" actuator="motor"/>
        <framepos name="tip" objtype="site" objname="tip"/> </sensor> </mujoco>""")
    envs = []
    for device, xp in (("cpu", np), ("host", torch)):
        keywords = {"autoreset_mode": "SameStep"} if device == "cpu" else {"device": device}
        envs.append(cycloid.gym.VectorEnv(
            cy.load(model, device=device), 3, sensors=["push"], observation=["tip", "qvel"],
            reward=lambda before, u, after: after["tip"][:, 0] + after["push"][:, 0],
            max_episode_steps=3, reset=[0.0, 0.1, 0.0, 0.0], **keywords,
        ))  # fmt: skip
    np.testing.assert_allclose(envs[1].reset(seed=0)[0].numpy(), envs[0].reset(seed=0)[0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        u = rng.uniform(-2, 2, (3, 1))
        here, there = envs[0].step(u), envs[1].step(torch.from_numpy(u))
        for a, b in zip(here[:4], there[:4], strict=True):
            np.testing.assert_allclose(b.numpy(), a, rtol=1e-9, atol=1e-12)


def test_starts_are_drawn_anew_from_the_seed():
    def env():
        return cycloid.gym.VectorEnv(
            cy.systems.pendulum(device="host", dtype="float32"), 4, device="host",
            max_episode_steps=1,
            reset=lambda generator, n: torch.rand((n, 2), generator=generator),
        )  # fmt: skip

    one, other = env(), env()
    first, _ = one.reset(seed=3)
    assert first.dtype == torch.float32
    torch.testing.assert_close(first, other.reset(seed=3)[0])
    second = one.step(torch.zeros((4, 1)))[0]
    assert not torch.equal(first, second)
    torch.testing.assert_close(second, other.step(torch.zeros((4, 1)))[0])


def test_what_a_device_does_not_do_is_refused():
    system = cy.systems.pendulum(device="host")
    for keywords, words in (
        ({"sensors": ["energy"]}, '"energy" of pendulum has no device form'),
        ({"autoreset_mode": "NextStep"}, "SameStep"),
        ({"lagging": True}, "the state after a step"),
    ):
        with pytest.raises(cy.Error, match=words):
            cycloid.gym.VectorEnv(system, 2, device="host", **keywords)
    with pytest.raises(TypeError, match="no keyword 'rewards'"):
        cycloid.gym.VectorEnv(system, 2, device="host", rewards=None)
    with pytest.raises(cy.Error, match='load it with device="host"'):
        cycloid.gym.VectorEnv(cy.systems.pendulum(), 2, device="host")
    with pytest.raises(cy.Error, match='did you mean "angle"'):
        cycloid.gym.VectorEnv(system, 2, device="host", observation=lambda at: at["angel"])


def test_wrong_spaces_and_functions_without_tensors_are_refused():
    system = cy.load(POLE, device="host")
    box = gymnasium.spaces.Box(-1, 1, (7,))
    for what in ("action_space", "observation_space"):
        with pytest.raises(cy.Error, match=f"{what} must be a gymnasium.spaces.Box of shape"):
            cycloid.gym.VectorEnv(system, 2, device="host", **{what: box})
    rows = cycloid.gym.VectorEnv(system, 2, device="host", reset=lambda g, n: np.zeros((n, 4)))
    with pytest.raises(cy.Error, match="reset must return a tensor"):
        rows.reset()
    paid = cycloid.gym.VectorEnv(system, 2, device="host", reward=lambda before, u, after: 0.0)
    paid.reset()
    with pytest.raises(cy.Error, match="reward must return a tensor"):
        paid.step(torch.zeros((2, 1), dtype=torch.float64))


def test_help_shows_how_an_environment_is_made():
    for kind in (cycloid.gym.VectorEnv, cycloid.gym.MujocoVectorEnv):
        assert "num_envs" in inspect.signature(kind).parameters
