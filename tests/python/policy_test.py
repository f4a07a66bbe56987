"""Systems whose inputs are given by a network."""

import models
import numpy as np
import pytest

import cycloid as cy
from cycloid.networks import MLP


def by_hand(system, net, x, steps, clip=lambda u: u):
    for _ in range(steps):
        x = cy.step(system, x, clip(net(x)))
    return x


@pytest.mark.parametrize("integrator", ["rk4", "verlet", "implicit_midpoint", "dopri5"])
def test_the_network_is_evaluated_once_per_step(integrator):
    system = cy.systems.double_pendulum(integrator=integrator)
    net = MLP((4, 16, 2), seed=1, input_shift=[0.1] * 4, input_scale=[2.0] * 4)
    closed = cy.close_loop(system, net)
    assert closed.input_size == 0
    x0 = np.random.default_rng(1).normal(size=(3, 4))
    run = cy.rollout(closed, x0, 20)
    for e in range(3):
        expected = by_hand(system, net, x0[e], 20)
        np.testing.assert_allclose(run.states[e, -1], expected, rtol=1e-11, atol=1e-12)


def test_parameters_are_the_layers_with_normalisation_folded_in():
    net = MLP((4, 16, 2), seed=1, input_scale=[2.0, 1.0, 1.0, 1.0], output_shift=[1.0, 0.0])
    closed = cy.close_loop(cy.systems.double_pendulum(), net)
    own = closed.parameters.unpack(closed.parameters.default)
    assert own["policy.weight0"].shape == (16, 4) and own["policy.bias1"].shape == (2,)
    arrays = net.unpack()
    np.testing.assert_allclose(own["policy.weight0"], arrays["weight0"] / [2.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(own["policy.bias1"], arrays["bias1"] + [1.0, 0.0])


def test_the_gradient_of_a_law_with_a_policy_is_that_of_the_whole_loop():
    system = cy.systems.double_pendulum(damping=(0.1, 0.2))
    net = MLP((5, 8, 8, 2), seed=2)
    closed = cy.close_loop(system, net, ["energy", "angles", "angular_velocities"])
    check = cy.check_gradient(closed, [0.3, -0.5, 0.2, 0.1], 30)
    assert check.ok, check
    assert {"params.policy.weight0", "params.policy.bias2", "params.gravity"} <= set(check.by_block)


CART = """<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
    <geom size="0.1" pos="0 0 -2" mass="1"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
    <actuator> <motor joint="hinge" ctrlrange="-0.2 0.4"/> </actuator>
    <sensor> <framepos name="place" objtype="site" objname="bob"/> </sensor> </mujoco>"""


@pytest.mark.parametrize("clip", ["hard", "tanh", None])
def test_inputs_are_clipped_to_the_actuators_ranges(clip):
    system = cy.load(CART)
    net = MLP((2, 8, 1), seed=3, output_scale=[3.0])
    closed = cy.close_loop(system, net, clip=clip)
    x = np.random.default_rng(0).normal(size=(64, 2))
    u = net(x)
    if clip == "hard":
        u = np.clip(u, -0.2, 0.4)
    if clip == "tanh":
        u = 0.1 + 0.3 * np.tanh((u - 0.1) / 0.3)
    assert (np.abs(net(x) - 0.1) > 0.3).any()
    np.testing.assert_allclose(cy.step(closed, x), cy.step(system, x, u), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_policy_sees_sensors(dtype):
    system = cy.load(CART, dtype=dtype)
    net = MLP((4, 8, 1), seed=3)
    closed = cy.close_loop(system, net, observe=["place", "qvel"], clip="tanh")
    x = np.random.default_rng(0).normal(size=(21, 2)).astype(dtype)
    seen = cy.observe(system, x, names=["place", "qvel"]).values
    u = 0.1 + 0.3 * np.tanh((net(seen) - 0.1) / 0.3)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    expected = cy.step(system, x, u.astype(dtype))
    np.testing.assert_allclose(cy.step(closed, x), expected, rtol=tolerance, atol=tolerance)
    if dtype == "float64":
        check = cy.check_gradient(closed, x[0], 20)
        assert check.ok, check


@pytest.mark.parametrize("name", ["dm_control/hopper", "gymnasium/ant"])
def test_a_robot_in_contact_can_have_a_policy(name):
    system = cy.load(models.MODELS[name])
    n, m = system.state_size, system.input_size
    net = MLP((n, 32, 32, m), seed=4, output_scale=[0.1] * m)
    closed = cy.close_loop(system, net, clip="tanh")
    random = np.random.default_rng(2)
    x0 = system.initial_state() + 0.02 * random.normal(size=(4, system.state_size))
    run = cy.rollout(closed, x0, 20)
    assert not run.report.failed and run.report.counters["contacts"] > 0
    bar = np.zeros_like(run.states)
    bar[:, -1] = random.normal(size=(4, system.state_size))
    g = run.pullback(bar)
    p = closed.parameters.default
    direction = np.zeros_like(p)
    first = closed.parameters.info("policy.weight0").offset
    direction[first:] = random.normal(size=p.size - first)

    def value(e):
        return np.sum(bar * cy.rollout(closed, x0, 20, p + e * direction).states)

    e = 1e-7  # contacts open and close within larger steps
    expected = (value(e) - value(-e)) / (2 * e)
    assert abs(expected) > 1e-4
    assert g.params @ direction == pytest.approx(expected, rel=1e-5)


def test_weights_are_shared_and_no_number_depends_on_threads():
    closed = cy.close_loop(cy.systems.pendulum(), MLP((2, 16, 1), seed=5))
    x0 = np.random.default_rng(3).normal(size=(37, 2))
    runs = [cy.rollout(closed, x0, 25, threads=n) for n in (1, 2)]
    assert np.array_equal(runs[0].states, runs[1].states)
    bar = np.random.default_rng(4).normal(size=runs[0].states.shape)
    g = [r.pullback(bar) for r in runs]
    assert np.array_equal(g[0].params, g[1].params) and np.array_equal(g[0].x0, g[1].x0)
    each = sum(cy.rollout(closed, x0[e], 25).pullback(bar[e]).params for e in range(37))
    np.testing.assert_allclose(g[0].params, each, rtol=1e-9, atol=1e-12)


def test_a_step_of_training_lowers_a_cost():
    system = cy.systems.pendulum(damping=0.1)
    closed = cy.close_loop(system, MLP((2, 16, 1), seed=1))
    x0 = np.random.default_rng(0).normal(size=(32, 2))
    p = closed.parameters.default
    first = closed.parameters.info("policy.weight0").offset
    costs = []
    for _ in range(30):
        run = cy.rollout(closed, x0, 60, p)
        costs.append(np.mean(run.states[:, -1] ** 2))
        bar = np.zeros_like(run.states)
        bar[:, -1] = 2 * run.states[:, -1] / run.states[:, -1].size
        p = p.copy()
        p[first:] -= 0.5 * run.pullback(bar).params[first:]
    assert costs[-1] < 0.7 * costs[0]


def test_linearise_is_that_of_the_loop():
    system = cy.systems.double_pendulum()
    net = MLP((4, 8, 2), seed=6)
    x = np.array([0.3, -0.5, 0.2, 0.1])
    a, b = cy.linearise(system, x, net(x))
    slope = np.stack([net.pullback(x, bar).x for bar in np.eye(2)])
    loop, none = cy.linearise(cy.close_loop(system, net), x, [])
    np.testing.assert_allclose(loop, a + b @ slope, rtol=1e-9, atol=1e-12)
    assert none.shape == (4, 0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"feedback": MLP((3, 4, 1))}, "must have 2 inputs .* it has 3"),
        ({"feedback": MLP((2, 4, 2))}, "must have 1 outputs .* it has 2"),
        ({"clip": "hrad"}, 'clip: expected "hard", "tanh" or None; got .hrad.; did you mean'),
        ({"observe": ["angel"]}, 'did you mean "angle"'),
        ({"observe": ["angle"]}, "must have 1 inputs"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(cy.Error, match=message):
        cy.close_loop(cy.systems.pendulum(), **{"feedback": MLP((2, 4, 1)), **arguments})
