"""Inverse dynamics, and the gradients of accelerations, mass matrices and forces."""

import models
import mujoco
import numpy as np
import pytest
from differences import by_differences
from robot_zoo_test import random_point, state, zoo

import cycloid as cy


def error(got, expected):
    assert got.shape == expected.shape
    return np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-3)


def zoo_point(rows=2):
    model, system = zoo("Euler")
    random = np.random.default_rng(3)
    points = [random_point(model, random) for _ in range(rows)]
    return model, system, np.array([state(d) for d, _ in points]), np.array([u for _, u in points])


def test_inverse_dynamics_is_mujocos_without_passive_forces():
    # Bodies, joints, actuators with inertia, a free body, mocap; MuJoCo's own inverse is meant for
    # models whose tendons have none.
    model, _, x, u = zoo_point(5)
    model.tendon_armature[:] = 0
    model.actuator_armature[model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON] = 0
    system = cy.from_mujoco(model, inputs=("mocap_pos", "mocap_quat"))
    mocap = u[:, -7 * model.nmocap :]
    qacc = np.random.default_rng(1).normal(size=(5, model.nv))
    found = cy.inverse_dynamics(system, x, qacc, u=mocap).tau
    for row, data in enumerate(mujoco.MjData(model) for _ in range(5)):
        data.qpos, data.qvel, data.act = np.split(x[row], [model.nq, model.nq + model.nv])
        data.mocap_pos, data.mocap_quat = mocap[row, :3], mocap[row, 3:]
        data.qacc = qacc[row]
        mujoco.mj_inverse(model, data)
        assert error(found[row], data.qfrc_inverse + data.qfrc_passive) <= 1e-12


def test_inverse_dynamics_gives_back_what_forward_had():
    model, system, x, u = zoo_point()
    f = cy.forward(system, x, u)
    tau = cy.inverse_dynamics(system, x, f.qacc, u=u).tau
    expected = np.einsum("bij,bj->bi", f.mass_matrix, f.qacc) + f.bias
    assert error(tau, expected) <= 1e-12
    at_rest = cy.inverse_dynamics(system, x, np.zeros(system.nv), u=u).tau
    assert error(at_rest, f.bias) <= 1e-13


# Numbers of order 100 and their fifth derivatives: differences keep 8 digits (differences.py).
TOLERANCE = 1e-7
NAMES = ("body:cart.mass", "body:ball.com", "joint:swing.axis", "joint:rail.armature",
         "body:tip.quat", "site:cart.pos", "option.gravity", "actuator:swing.gear")


def check_gradient(run, x, u, params, g):
    """run(x, u, params): a loss."""
    assert error(g.x, by_differences(lambda v: run(v, u, params), x)) <= TOLERANCE
    assert np.abs(g.x).max() > 1e-2
    assert error(g.controls, by_differences(lambda v: run(x, v, params), u)) <= TOLERANCE
    assert set(g.params) == set(params)
    for name, value in params.items():
        got = by_differences(lambda v: run(x, u, params | {name: v}), value)
        assert error(g.params[name], got) <= TOLERANCE, name
        assert np.abs(got).max() > 1e-3, name


@pytest.mark.parametrize("part", ["qacc", "mass_matrix", "bias"])
def test_the_gradient_of_forward_equals_differences(part):
    _, system, x, u = zoo_point()
    params = {n: system.parameters.unpack(system.parameters.default)[n] for n in NAMES}
    if part == "mass_matrix":
        del params["option.gravity"]
    if part == "bias":
        del params["joint:rail.armature"], params["actuator:swing.gear"]
    f = cy.forward(system, x, u, params)
    weights = np.random.default_rng(4).normal(size=getattr(f, part).shape)

    def loss(x, u, params):
        return float((weights * getattr(cy.forward(system, x, u, params), part)).sum())

    check_gradient(loss, x, u, params, f.pullback(**{part: weights}))


def test_the_gradient_of_inverse_dynamics_equals_differences():
    _, system, x, u = zoo_point()
    params = {n: system.parameters.unpack(system.parameters.default)[n] for n in NAMES}
    qacc, weights = np.random.default_rng(5).normal(size=(2, 2, system.nv))

    def loss(x, u, params, qacc=qacc):
        found = cy.inverse_dynamics(system, x, qacc, params, u=u)
        return float((weights * found.tau).sum())

    g = cy.inverse_dynamics(system, x, qacc, params, u=u).pullback(weights)
    check_gradient(loss, x, u, params, g)
    assert error(g.qacc, by_differences(lambda v: loss(x, u, params, v), qacc)) <= TOLERANCE
    assert g.x_tangent.shape == (2, system.tangent_size)


SMALL = """<mujoco> <worldbody> <body name="b"> <joint name="hinge" axis="0 1 0"/> <geom size="0.1"
    pos="0 0 -2"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
    <actuator> <motor joint="hinge"/> </actuator> </mujoco>"""


def test_shapes_broadcast_and_gradients_are_summed():
    robot = cy.load(SMALL, vary="body:b.mass")
    x, qacc = np.ones((4, 1, 2)), np.arange(3.0).reshape(3, 1)
    params = {"body:b.mass": np.full((4, 1), 2.0), "option.gravity": [0.0, 0, -5]}
    found = cy.inverse_dynamics(robot, x, qacc, params)
    assert found.tau.shape == (4, 3, 1) and not found.tau.flags.writeable
    g = found.pullback(np.ones(1))
    assert g.x.shape == x.shape and g.qacc.shape == (3, 1) and g.controls.shape == (1,)
    assert g.params["body:b.mass"].shape == (4, 1) and g.params["option.gravity"].shape == (3,)
    one = cy.inverse_dynamics(robot, x[0, 0], qacc[1], params | {"body:b.mass": 2.0})
    alone = one.pullback(np.ones(1))
    assert np.allclose(g.qacc[1], 4 * alone.qacc, rtol=1e-13)
    f = cy.forward(robot, x, np.zeros((3, 1)))
    h = f.pullback(mass_matrix=1.0, bias=np.ones((3, 1)))
    assert h.x.shape == x.shape and h.controls.shape == (3, 1)
    assert np.allclose(cy.forward(robot, x[0, 0]).pullback(bias=[1.0]).x * 3, h.x[0, 0])


def test_a_batch_equals_its_rows():
    model = models.in_mujoco(models.MODELS["dm_control/humanoid"])
    robot = cy.from_mujoco(model)
    random = np.random.default_rng(8)
    x = robot.initial_state() + 0.2 * random.normal(size=(5, robot.state_size))
    qacc = random.normal(size=(5, robot.nv))
    together = cy.inverse_dynamics(robot, x, qacc)
    bars = together.pullback(np.ones(robot.nv))
    for i in range(5):
        alone = cy.inverse_dynamics(robot, x[i], qacc[i])
        assert np.array_equal(alone.tau, together.tau[i])
        assert np.array_equal(alone.pullback(np.ones(robot.nv)).x, bars.x[i])


def test_what_is_wrong_is_said():
    robot = cy.load(SMALL)
    f = cy.forward(robot, [0.3, 0.4])
    assert repr(f) == "<Forward: 1 degree of freedom>"
    found = cy.inverse_dynamics(robot, [[0.3, 0.4]], [0.0])
    assert repr(found) == "<InverseDynamics: 1 degree of freedom, batch (1,)>"
    with pytest.raises(cy.Error, match="shaped like qacc"):
        f.pullback(qacc=np.ones(3))
    with pytest.raises(cy.Error, match="finite"):
        f.pullback(bias=[np.nan])
    with pytest.raises(cy.Error, match="one acceleration per degree of freedom"):
        cy.inverse_dynamics(robot, [0.3, 0.4], [1.0, 2.0])
    with pytest.raises(cy.Error, match="finite"):
        cy.inverse_dynamics(robot, [0.3, 0.4], [np.inf])
    with pytest.raises(cy.Error, match="not made by load"):
        cy.inverse_dynamics(cy.systems.pendulum(), [0, 0], [0.0])
    assert not f.pullback().x.any()


def test_float32_rows_come_back_in_float32():
    robot = cy.load(SMALL, dtype="float32")
    found = cy.inverse_dynamics(robot, [0.3, 0.4], [1.0])
    g = found.pullback([1.0])
    assert found.tau.dtype == g.x.dtype == g.qacc.dtype == np.float32
    assert cy.forward(robot, [0.3, 0.4]).pullback(qacc=[1.0]).x.dtype == np.float32
