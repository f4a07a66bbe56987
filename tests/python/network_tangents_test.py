"""Tangents and Hessian-vector products through networks: policies, residuals and learned laws,
against central differences of rollouts and of gradients."""

import numpy as np
import pytest
from forward_mode_test import check_directions
from models import MODELS

import cycloid as cy
from cycloid.networks import MLP


def weights(system, *names):
    return {name: system.parameters[name] for name in names}


@pytest.mark.parametrize("clip", ["tanh", None])
def test_a_policy_has_second_derivatives(clip):
    system = cy.systems.double_pendulum(damping=(0.1, 0.2))
    closed = cy.close_loop(system, MLP((4, 6, 5, 2), seed=1), clip=clip)
    x0 = np.random.default_rng(1).uniform(0.5, 1.0, size=(11, 4))  # more than the lanes of a pack
    params = weights(closed, "policy.weight0", "policy.bias1", "policy.weight2", "damping")
    check_directions(closed, x0, np.zeros((11, 12, 0)), params, 1e-7)


def test_noise_is_held_by_second_derivatives():
    closed = cy.close_loop(cy.systems.pendulum(), MLP((2, 6, 1), seed=1), noise=0.5, key=4)
    x0 = np.random.default_rng(1).uniform(0.5, 1.0, size=(3, 2))
    params = weights(closed, "policy.weight0", "policy.noise")
    check_directions(closed, x0, np.zeros((3, 12, 0)), params, 1e-7)


@pytest.mark.parametrize("to", ["rate", "acceleration", "force", "next"])
def test_a_residual_has_second_derivatives(to):
    system = cy.systems.double_pendulum(damping=(0.1, 0.2))
    net = MLP((6, 5, 4 if to in ("rate", "next") else 2), seed=2, activation="softplus")
    hybrid = cy.add_network(system, net, to=to)
    rng = np.random.default_rng(1)
    x0, u = rng.uniform(0.5, 1.0, size=(3, 4)), rng.normal(size=(3, 12, 2))
    params = weights(hybrid, "residual.weight0", "residual.bias1", "masses")
    check_directions(hybrid, x0, u, params, 1e-7)


@pytest.mark.parametrize("integrator", ["euler", "verlet", "implicit_midpoint", "rk4"])
def test_integrators_with_a_network_inside(integrator):
    system = cy.systems.pendulum(integrator=integrator, damping=0.1)
    hybrid = cy.add_network(system, MLP((3, 6, 1), seed=2), to="force")
    u = np.random.default_rng(1).normal(size=(12, 1))
    check_directions(hybrid, np.array([1.0, 0.3]), u, weights(hybrid, "residual.weight0"), 1e-7)


LEARNED = {
    "neural_ode": lambda: cy.learn.neural_ode(3, inputs=1, hidden=(6, 5), dt=0.05),
    "hamiltonian": lambda: cy.learn.hamiltonian(
        2, inputs=1, hidden=(6, 5), dissipation=True, angles=(0,), dt=0.05, input_matrix="network"
    ),
    "separable": lambda: cy.learn.hamiltonian(
        2, hidden=(6, 5), separable=True, dt=0.05, integrator="verlet"
    ),
    "lagrangian": lambda: cy.learn.lagrangian(2, hidden=(6, 5), angles=(1,), dt=0.05),
    "deep_lagrangian": lambda: cy.learn.deep_lagrangian(
        2, hidden=(6, 5), dissipation=True, angles=(0, 1), dt=0.05
    ),
    "constrained": lambda: cy.learn.constrained(
        [0.7, 1.3], [(2, 0, 0.9), (0, 1, 1.1)], [(-0.6, 1.5)], hidden=(6, 5), dt=0.05
    ),
}


@pytest.mark.parametrize("law", LEARNED)
def test_learned_laws_have_second_derivatives(law):
    system = LEARNED[law]()
    rng = np.random.default_rng(1)
    x0 = rng.uniform(0.2, 0.8, size=(10, system.state_size))
    u = rng.normal(size=(10, 6, system.input_size))
    names = [n for n in system.parameters.names if n.endswith(("weight0", "bias1", "weight2"))]
    check_directions(system, x0, u, weights(system, *names), 1e-7)


def test_environments_with_parameters_of_their_own_have_products_of_their_own():
    closed = cy.close_loop(cy.systems.pendulum(vary=("length",)), MLP((2, 4, 1), seed=1))
    rng = np.random.default_rng(3)
    x0, length = rng.normal(size=(3, 2)), np.array([0.8, 1.0, 1.3])
    v = rng.normal(size=closed.parameters["policy.weight0"].shape)
    named = weights(closed, "policy.weight0", "policy.weight1")
    run = cy.rollout(closed, x0, 10, {"length": length, **named})
    bar = rng.normal(size=run.states.shape)
    together = run.hvp(bar, params_tan={"policy.weight0": v})
    shared = 0.0
    for e in range(3):
        alone = cy.rollout(closed, x0[e], 10, {"length": length[e], **named})
        alone = alone.hvp(bar[e], params_tan={"policy.weight0": v})
        own = np.asarray(together.params["length"])[e]
        np.testing.assert_allclose(own, alone.params["length"], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(together.x0[e], alone.x0, rtol=1e-11, atol=1e-12)
        shared = shared + np.asarray(alone.params["policy.weight1"])
    # Of what all share there is one gradient, the sum of theirs.
    assert shared.shape == (1, 4) and np.abs(shared).min() > 1e-6
    np.testing.assert_allclose(together.params["policy.weight1"], shared, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("how", ["policy", "force", "acceleration"])
def test_robots_with_networks(how):
    robot = cy.load(MODELS["gymnasium/hopper"])
    n, m = robot.state_size, robot.input_size
    if how == "policy":
        system = cy.close_loop(robot, MLP((n, 6, m), seed=1), clip="tanh")
    else:
        system = cy.add_network(robot, MLP((n + m, 6, robot.nv), seed=1), to=how)
    rng = np.random.default_rng(4)
    x0 = robot.initial_state() + 0.01 * rng.normal(size=n)
    x0[1] += 0.5  # in the air, where nothing switches
    name = ("policy" if how == "policy" else "residual") + ".weight0"
    u = 0.1 * rng.normal(size=(5, system.input_size))
    check_directions(system, x0, u, weights(system, name), 1e-6)


def test_what_is_computed_for_a_network_has_none():
    closed = cy.close_loop(cy.systems.pendulum(), MLP((1, 4, 1)), observe="energy")
    run = cy.rollout(closed, [1.0, 0.0], 5)
    with pytest.raises(cy.GradientError, match="no second derivatives"):
        run.hvp(np.ones(run.states.shape), x0_tan=[1.0, 0.0])
