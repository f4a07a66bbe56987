"""What physics keeps is kept, and lanes agree with scalars, on robots that people use."""

import models
import mujoco
import numpy as np
import pytest

import cycloid as cy

SENSORS = {
    "linear": mujoco.mjtSensor.mjSENS_SUBTREELINVEL,
    "angular": mujoco.mjtSensor.mjSENS_SUBTREEANGMOM,
    "kinetic": mujoco.mjtSensor.mjSENS_E_KINETIC,
}


def in_flight(name, integrator="RK4", timestep=None):
    """The robot alone in space, with sensors of what it keeps; nothing holds or brakes it."""
    spec = mujoco.MjSpec.from_file(str(models.MODELS[name]))
    for sensor in spec.sensors:
        spec.delete(sensor)
    for label, kind in SENSORS.items():
        about = dict(objtype=mujoco.mjtObj.mjOBJ_BODY, objname="world")
        spec.add_sensor(name=label, type=kind, **({} if label == "kinetic" else about))
    model = spec.compile()
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        | mujoco.mjtDisableBit.mjDSBL_SPRING
        | mujoco.mjtDisableBit.mjDSBL_DAMPER
        | mujoco.mjtDisableBit.mjDSBL_GRAVITY
        | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    )
    model.opt.density = model.opt.viscosity = 0
    model.dof_armature = 0  # a rotor's inertia is not part of the bodies' momentum
    model.opt.integrator = getattr(mujoco.mjtIntegrator, "mjINT_" + integrator.upper())
    model.opt.timestep = timestep or model.opt.timestep
    return model, cy.from_mujoco(model)


def tumbling(model, robot, rows=4):
    """States in motion."""
    draw = np.random.default_rng(2)
    x = np.tile(robot.initial_state(), (rows, 1))
    for row in x:
        mujoco.mj_integratePos(model, row[: model.nq], 0.3 * draw.normal(size=model.nv), 1)
    x[:, model.nq : model.nq + model.nv] = draw.normal(size=(rows, model.nv))
    return x


def is_free(model):
    """Whether all that moves flies."""
    moving = np.flatnonzero(model.body_weldid)
    roots = {b for b in moving if model.body_parentid[b] == 0}
    free = model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
    return roots == set(free)


@pytest.mark.parametrize("name", ["dm_control/humanoid", "gymnasium/ant"])
def test_momentum_and_energy_stand_still_at_every_instant(name):
    """Their rates along the robot's own motion: gradient times (velocity, acceleration)."""
    model, robot = in_flight(name)
    assert is_free(model)
    x = tumbling(model, robot)
    motion = np.concatenate([x[:, model.nq :], cy.forward(robot, x).qacc], axis=1)
    seen = cy.observe(robot, x)
    for i in range(seen.values.shape[1]):
        bar = np.zeros(seen.values.shape[1])
        bar[i] = 1
        terms = seen.pullback(bar).x_tangent * motion  # they cancel
        assert (np.abs(terms.sum(axis=1)) <= 1e-12 * np.abs(terms).sum(axis=1)).all(), seen.names[i]
        assert (np.abs(terms).sum(axis=1) > 1e-2).all()
    assert np.abs(seen.values).min() > 1e-6


@pytest.mark.parametrize("integrator, order", [("Euler", 1), ("implicitfast", 1), ("RK4", 4)])
def test_a_flight_keeps_momentum_and_energy_at_the_integrators_order(integrator, order):
    drift = []
    for halvings in (0, 1):
        steps = 20 * 2**halvings
        model, robot = in_flight("dm_control/humanoid", integrator, 0.08 / steps)
        x = tumbling(model, robot)
        end = cy.rollout(robot, x, steps, save="last").states[:, 0]
        before, after = cy.observe(robot, x), cy.observe(robot, end)
        drift.append([np.abs(after[s] - before[s]).max(axis=-1) for s in ("angular", "kinetic")])
    ratio = np.array(drift[0]) / np.array(drift[1])
    # A halved step leaves 2^-order of the error; the next order is not yet small.
    assert (ratio > 0.7 * 2**order).all(), ratio


REAL = ("dm_control/humanoid", "dm_control/quadruped", "dm_control/fish",
        "urdf/panda_description/panda")


@pytest.mark.parametrize("name", REAL)
def test_lanes_equal_scalars(name):
    """A lone environment is stepped in scalars, two and more in lanes."""
    model = models.in_mujoco(models.MODELS[name])
    robot = cy.from_mujoco(model)
    x = tumbling(model, robot, rows=9)
    u = 0.3 * np.random.default_rng(1).normal(size=(9, robot.nu))
    together = cy.step(robot, x, u)
    lin = cy.linearise(robot, x, u)
    run = cy.rollout(robot, x, u[:, None], save="last")
    assert run.report.lanes > 1
    bar = np.random.default_rng(2).normal(size=run.states.shape)
    g = run.pullback(bar, wrt=("x0", "controls"))

    def close(a, b):
        return np.abs(a - b).max(initial=0) <= 1e-12 * max(np.abs(b).max(initial=0), 1)

    for i in range(9):
        assert close(cy.step(robot, x[i], u[i]), together[i])
        A, B = cy.linearise(robot, x[i], u[i])
        assert close(A, lin[0][i]) and close(B, lin[1][i])
        alone = cy.rollout(robot, x[i], u[i][None], save="last")
        assert alone.report.lanes == 1
        h = alone.pullback(bar[i])
        assert close(h.x0, g.x0[i]) and close(h.controls, g.controls[i])
