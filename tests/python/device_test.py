"""`device=`: the same calls, kernels of a card run on this machine, and what is refused by name."""

import cycloid as cy
import numpy as np
import pytest

BALL = """<mujoco model="ball"> <worldbody> <geom name="floor" type="plane" size="5 5 1"/>
  <body pos="0 0 0.12"> <freejoint/> <geom name="shell" size="0.1" mass="1"/> </body>
  </worldbody> </mujoco>"""


def run_of(system, x0):
    run = cy.rollout(system, x0, 30)
    g = run.pullback(np.ones_like(run.states))
    return run.states, g.x0, g.params


def test_a_law_on_a_device_is_the_law():
    x0 = np.array([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]])
    here = run_of(cy.systems.pendulum(), x0)
    there = run_of(cy.systems.pendulum(device="host"), x0)
    for a, b in zip(there, here, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_a_ball_that_lands_has_the_same_gradient_on_a_device():
    robots = [cy.load(BALL, device=device) for device in ("cpu", "host")]
    assert [robot.device for robot in robots] == ["cpu", "kernels on the host"]
    x0 = np.tile(robots[0].initial_state(), (3, 1))
    x0[:, 7:10] += [[0.1, 0, -1], [0, 0.2, -0.5], [0, 0, -2]]
    for here, there in zip(*(run_of(robot, x0) for robot in robots), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: cy.systems.heat((4, 4), 1.0, 0.1, device="host"), "heat has no device form"),
        (lambda: cy.systems.pendulum(integrator="euler", device="host"), "no device form"),
        (
            lambda: cy.load(BALL, gradient=cy.FromDistance(0.1), device="host"),
            "without gradients from a distance",
        ),
        (
            lambda: cy.load(BALL.replace('size="0.1"', 'type="ellipsoid" size="0.1 0.2 0.1"')
                            .replace('type="plane" size="5 5 1"', 'type="capsule" size="5 1"'),
                            device="host"),
            "contacts of a capsule .* with a ellipsoid",
        ),
    ],
)
def test_what_has_no_device_form_is_refused_by_name(make, words):
    with pytest.raises(cy.ModelError, match=words):
        make()


def test_devices_are_known_by_name():
    assert cy.devices()[0] == "cpu"
    with pytest.raises(cy.Error, match="device"):
        cy.systems.pendulum(device="gpu")
    if len(cy.devices()) == 1:
        with pytest.raises(cy.Error, match='device "cuda"'):
            cy.systems.pendulum(device="cuda")


def test_tensors_that_lie_on_the_device_have_the_gradient_of_those_that_are_copied():
    torch = pytest.importorskip("torch")
    import cycloid.torch as cyt
    from cycloid import _torch_device
    from cycloid._calls import RolloutCall

    pushed = BALL.replace("<freejoint/>", '<joint name="root" type="free"/>').replace(
        "</worldbody>",
        '</worldbody> <actuator> <motor joint="root" gear="0 0 1 0 0 0"/> </actuator>',
    )
    robot = cy.load(pushed, device="host", vary=["option.gravity"])
    gen = torch.Generator().manual_seed(3)
    start = torch.tensor(robot.initial_state()).expand(2, 3, -1)
    start = start + 0.05 * torch.randn(start.shape, generator=gen, dtype=start.dtype)
    force = torch.randn((3, 12, 1), generator=gen, dtype=start.dtype)
    params = torch.from_numpy(robot.parameters.default.copy()).expand(2, 1, -1).clone()
    weights = None
    results = []
    for there in (False, True):
        x, u, p = (t.clone().requires_grad_() for t in (start, force, params))
        if there:  # addresses of this machine: those of the kernels on it
            call = RolloutCall(robot, 0, ("every", [4]), ("auto", 0), 1, False, 0.0, False, [])
            states = _torch_device.roll_out(x, u, p, call)
        else:
            states = cyt.rollout(robot, x, u, p, save=4)
        if weights is None:
            weights = torch.randn(states.shape, generator=gen, dtype=states.dtype)
        (weights * states).sum().backward()
        results.append((states.detach(), x.grad, u.grad, p.grad))
    for name, here, there in zip(("states", "x0", "controls", "params"), *results, strict=True):
        assert here.shape == there.shape, name
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-11, err_msg=name)
        assert float(here.nan_to_num().abs().max()) > 0, name
