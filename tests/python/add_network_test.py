"""Systems with a network inside: residuals on rates, forces and next states."""

import models
import numpy as np
import pytest
from conformance import conform

import cycloid as cy
from cycloid.networks import MLP


def small(sizes, seed=1, scale=0.3):
    return MLP(sizes, seed=seed, output_scale=[scale] * sizes[-1], input_scale=[1.5] * sizes[0])


def rows(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_next_is_added_in_tangents():
    system = cy.systems.double_pendulum()
    net = small((6, 12, 4))
    hybrid = cy.add_network(system, net, to="next")
    x, u = rows(9, 4), rows(9, 2, seed=1)
    expected = cy.step(system, x, u) + net(np.hstack([x, u]))
    np.testing.assert_allclose(cy.step(hybrid, x, u), expected, rtol=1e-12, atol=1e-13)
    assert hybrid.parameters.shapes["residual.weight0"] == (12, 6)
    assert hybrid.input_size == 2


def runge_kutta(rate, x, u, h):
    k1 = rate(x, u)
    k2 = rate(x + h / 2 * k1, u)
    k3 = rate(x + h / 2 * k2, u)
    k4 = rate(x + h * k3, u)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@pytest.mark.parametrize("to", ["rate", "acceleration", "force"])
def test_a_term_of_a_law_acts_in_every_stage(to):
    h, mass, length = 0.1, 2.0, 0.7
    system = cy.systems.pendulum(mass=mass, length=length, damping=0.3, dt=h)
    net = small((3, 12, 2 if to == "rate" else 1), scale=1.0)
    hybrid = cy.add_network(system, net, to=to)

    def rate(x, u):
        y = net(np.hstack([x, u]))
        torque = u[..., 0] + (y[..., 0] if to == "force" else 0)
        pull = torque - 0.3 * x[..., 1] - mass * 9.81 * length * np.sin(x[..., 0])
        dx = np.stack([x[..., 1], pull / (mass * length**2)], -1)
        if to == "rate":
            dx = dx + y
        if to == "acceleration":
            dx[..., 1] += y[..., 0]
        return dx

    x, u = rows(9, 2), rows(9, 1, seed=1)
    expected = runge_kutta(rate, x, u, h)
    np.testing.assert_allclose(cy.step(hybrid, x, u), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("to", ["rate", "force", "next"])
def test_a_law_with_a_network_conforms(to, dtype):
    system = cy.systems.double_pendulum(damping=(0.1, 0.2), dtype=dtype)
    net = small((6, 5, 2 if to == "force" else 4))
    hybrid = cy.add_network(system, net, to=to)
    draw = np.random.default_rng(3)
    x = np.array([1.0, 0.7, 0.3, -0.2]) + 0.1 * draw.normal(size=(9, 4))
    conform(hybrid, x, draw.normal(size=(9, 5, 2)))


@pytest.mark.parametrize("integrator", ["dopri5", "implicit_midpoint", "verlet", "sdirk4"])
def test_gradients_go_through_every_integrator(integrator):
    system = cy.systems.spring_chain(2, damping=0.1, integrator=integrator, dt=0.05)
    net = small((6, 6, 2))
    hybrid = cy.add_network(system, net, to="force", observe=["positions", "velocities"])
    check = cy.check_gradient(hybrid, [0.5, -0.2, 0.1, 0.3], np.ones((10, 2)))
    assert check.ok, check
    assert "params.residual.weight1" in check.by_block


def test_a_network_pushes_a_robot():
    robot = cy.load(models.MODELS["dm_control/hopper"])
    n = robot.state_size + robot.input_size
    net = small((n, 16, robot.nv))
    hybrid = cy.add_network(robot, net, to="force")
    pushed = cy.load(models.MODELS["dm_control/hopper"], inputs=("ctrl", "qfrc_applied"))
    random = np.random.default_rng(2)
    x = robot.initial_state() + 0.02 * random.normal(size=(4, robot.state_size))
    u = 0.1 * random.normal(size=(4, robot.input_size))
    force = net(np.hstack([x, u]))
    expected = cy.step(pushed, x, np.hstack([u, force]))
    np.testing.assert_allclose(cy.step(hybrid, x, u), expected, rtol=1e-11, atol=1e-12)
    assert hybrid.input_size == robot.input_size
    both = cy.add_network(pushed, small((n + robot.nv, 16, robot.nv)), to="force")
    assert both.input_size == pushed.input_size
    controls = 0.1 * random.normal(size=(4, 10, robot.input_size))
    run = cy.rollout(hybrid, x, controls)
    bar = np.zeros_like(run.states)
    bar[:, -1] = random.normal(size=(4, robot.state_size))
    g = run.pullback(bar)
    p = hybrid.parameters.default
    direction = np.zeros_like(p)
    first = hybrid.parameters.info("residual.weight0").offset
    direction[first:] = random.normal(size=p.size - first)
    turn = random.normal(size=controls.shape)

    def value(e):
        return np.sum(bar * cy.rollout(hybrid, x, controls + e * turn, p + e * direction).states)

    e = 1e-7  # contacts open and close within larger steps
    expected = (value(e) - value(-e)) / (2 * e)
    assert abs(expected) > 1e-4
    assert g.params @ direction + np.sum(g.controls * turn) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["gymnasium/hopper", "gymnasium/ant"])
def test_an_acceleration_of_a_robot_is_the_force_that_its_mass_takes(name):
    robot = cy.load(models.MODELS[name])
    n, nv = robot.state_size + robot.input_size, robot.nv
    net = small((n, 8, nv), scale=2.0)
    hybrid = cy.add_network(robot, net, to="acceleration")
    assert hybrid.input_size == robot.input_size
    random = np.random.default_rng(2)
    x = robot.initial_state() + 0.02 * random.normal(size=(5, robot.state_size))
    x[2:, 2 if nv > 6 else 1] += 1.0  # some in the air
    u = 0.1 * random.normal(size=(5, robot.input_size))
    x = cy.step(robot, x, u)  # quaternions are unit
    y = net(np.hstack([x, u]))
    mass = cy.forward(robot, x, u).mass_matrix
    pushed = cy.load(models.MODELS[name], inputs=("ctrl", "qfrc_applied"))
    force = np.einsum("eij,ej->ei", mass, y)
    expected = cy.step(pushed, x, np.hstack([u, force]))
    np.testing.assert_allclose(cy.step(hybrid, x, u), expected, rtol=1e-9, atol=1e-10)
    # Free of contact and damping, it is what the velocity gains.
    gained = cy.step(hybrid, x, u) - cy.step(robot, x, u)
    assert np.abs(gained[:, -nv:]).max() > 1e-3


def test_a_robot_with_an_acceleration_conforms():
    robot = cy.load(models.MODELS["gymnasium/hopper"], vary=("body:torso.mass",))
    n = robot.state_size + robot.input_size
    hybrid = cy.add_network(robot, small((n, 5, robot.nv), scale=2.0), to="acceleration")
    draw = np.random.default_rng(3)
    x = robot.initial_state() + 0.01 * draw.normal(size=(9, robot.state_size))
    conform(hybrid, x, 0.1 * draw.normal(size=(9, 5, robot.input_size)))
    x[:, 1] += 0.5
    check = cy.check_gradient(hybrid, x[0], 0.1 * draw.normal(size=(10, robot.input_size)))
    assert check.ok, check
    assert {"params.residual.weight1", "params.body:torso.mass"} <= set(check.by_block)


def test_a_hybrid_can_be_closed_by_a_policy():
    hybrid = cy.add_network(cy.systems.pendulum(damping=0.1), small((3, 6, 1)), to="force")
    closed = cy.close_loop(hybrid, small((2, 6, 1), seed=2))
    assert {"residual.weight0", "policy.weight0"} <= set(closed.parameters.names)
    check = cy.check_gradient(closed, [0.7, 0.2], 20)
    assert check.ok, check


@pytest.mark.parametrize(
    "system, arguments, message",
    [
        (cy.systems.pendulum(), {"to": "frce"}, 'to: expected .* did you mean "force"'),
        (cy.systems.pendulum(), {"to": "rate"}, "must have 2 outputs .* it has 1"),
        (cy.systems.lorenz(), {"to": "force"}, "no velocities"),
        (cy.systems.kepler(), {"to": "force"}, "no forces among its inputs"),
        (cy.systems.bouncing_ball(), {"to": "next"}, "has events"),
        (cy.systems.heat((2, 2), np.ones((2, 2)), dt=0.1), {"to": "rate"}, "closed-form laws"),
        (cy.systems.pendulum(), {"to": "next", "observe": "angel"}, 'did you mean "angle"'),
    ],
)
def test_what_has_no_place_is_refused(system, arguments, message):
    with pytest.raises(cy.Error, match=message):
        cy.add_network(system, MLP((3, 4, 1)), **arguments)
