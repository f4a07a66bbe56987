"""Jacobians of steps in contact, against pullbacks row by row and MuJoCo's differences."""

import mujoco
import numpy as np
import pytest

import cycloid as cy
import models

# Of the models' own way into contact, every so-manieth state.
STEPS, FIRST, EVERY = 300, 100, 40


def without_terrain(path):
    """The model as MuJoCo has it, less the height field that we do not collide."""
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in [g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_HFIELD]:
        spec.delete(geom)
    return spec.compile()


def in_contact(name):
    """(MuJoCo's model, states and controls of a run of its own)."""
    model = without_terrain(models.MODELS[name])
    model.opt.tolerance, model.opt.iterations = 0, 200
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:  # of which MuJoCo has no differences
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
    controls = models.random_controls(model, name, STEPS)
    states, _ = models.run(model, controls)
    chosen = np.arange(FIRST, STEPS, EVERY)
    return model, states[chosen], controls[chosen]


def effect_of_contact(model, x, u):
    """How much the next states differ from those without constraints, relative."""
    held, free = (cy.from_mujoco(model, constraints=on) for on in (True, False))
    change = cy.step(held, x, u) - cy.step(free, x, u)
    return np.abs(change).max(axis=1)


@pytest.mark.parametrize(
    "name",
    ["dm_control/humanoid", "gymnasium/ant", "dm_control/cheetah", "dm_control/quadruped"],
)
def test_jacobians_in_contact_equal_pullbacks_row_by_row(name):
    model, x, u = in_contact(name)
    assert np.median(effect_of_contact(model, x, u)) > 1e-2
    system = cy.from_mujoco(model)
    A, B = cy.linearise(system, x, u)
    rows = cy.linearise(system, x, u, wrt=("x", "u", "params"))  # P has rows only as pullbacks
    # Both look at the same step; what is left is rounding times the condition of the solve.
    assert np.abs(A - rows.A).max() < 1e-10 * np.abs(rows.A).max()
    assert np.abs(B - rows.B).max() < 1e-10 * np.abs(rows.B).max()
    for k in range(len(x)):  # alone, in the scalar type
        one, _ = cy.linearise(system, x[k], u[k])
        assert np.abs(one - A[k]).max() < 1e-10 * np.abs(A[k]).max()
    # Neighbours and their number change no bit.
    A_turned, B_turned = cy.linearise(system, x[::-1], u[::-1])
    assert np.array_equal(A_turned[::-1], A) and np.array_equal(B_turned[::-1], B)
    A_two, B_two = cy.linearise(system, x[1:3], u[1:3])
    assert np.array_equal(A_two, A[1:3]) and np.array_equal(B_two, B[1:3])


def differences(model, x, u, eps):
    """mjd_transitionFD, centred."""
    data = mujoco.MjData(model)
    tangent = 2 * model.nv + model.na
    A, B = np.zeros((tangent, tangent)), np.zeros((tangent, model.nu))
    mujoco.mj_setState(model, data, x, mujoco.mjtState.mjSTATE_PHYSICS)
    data.ctrl[:] = u
    mujoco.mj_forward(model, data)
    mujoco.mjd_transitionFD(model, data, eps, True, A, B, None, None)
    return np.hstack([A, B])


@pytest.mark.parametrize("name", ["dm_control/humanoid", "gymnasium/ant", "dm_control/cheetah"])
def test_jacobians_in_contact_agree_with_mujocos_centred_differences(name):
    model, x, u = in_contact(name)
    A, B = cy.linearise(cy.from_mujoco(model), x, u)
    ours = np.concatenate([A, B], axis=2)
    errors = []
    for k in range(len(x)):
        fine, coarse = (differences(model, x[k], u[k], eps) for eps in (1e-7, 1e-6))
        size = np.abs(coarse).max()
        if np.abs(fine - coarse).max() > 1e-5 * size:
            continue  # a switch is nearer than the step of a difference
        errors.append(np.abs(ours[k] - coarse).max() / size)
    assert len(errors) >= 3
    assert np.median(errors) < 1e-6 and np.max(errors) < 1e-4
