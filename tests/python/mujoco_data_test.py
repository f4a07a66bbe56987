"""States and inputs go to MuJoCo's data and come back, one or many."""

import mujoco
import mujoco.batch
import numpy as np
import pytest

import cycloid as cy

XML = """
<mujoco>
  <worldbody>
    <body name="handle" mocap="true"/>
    <body pos="0 0 1"> <freejoint/> <geom size="0.1"/>
      <body> <joint name="hinge" axis="0 1 0"/> <geom size="0.05" pos="0 0 0.3"/> </body>
    </body>
  </worldbody>
  <actuator> <general joint="hinge" dyntype="filter" dynprm="0.1"/> <motor joint="hinge"/>
  </actuator>
</mujoco>"""
INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")
MODEL = mujoco.MjModel.from_xml_string(XML)


def random_data(seed):
    data, draw = mujoco.MjData(MODEL), np.random.default_rng(seed)
    for name in ("qpos", "qvel", "act", *INPUTS):
        getattr(data, name)[:] = draw.normal(size=getattr(data, name).shape)
    return data


def fields(data, names):
    return np.concatenate([np.ravel(getattr(data, name)) for name in names])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_are_the_fields_in_order(dtype):
    system = cy.from_mujoco(MODEL, dtype=dtype, inputs=INPUTS)
    data = [random_data(seed) for seed in range(3)]
    x, u = cy.state_from_mujoco(system, data), cy.input_from_mujoco(system, data)
    assert x.dtype == u.dtype == dtype
    for i, one in enumerate(data):
        np.testing.assert_array_equal(x[i], fields(one, ("qpos", "qvel", "act")).astype(dtype))
        np.testing.assert_array_equal(u[i], fields(one, INPUTS).astype(dtype))
        np.testing.assert_array_equal(cy.state_from_mujoco(system, one), x[i])
        np.testing.assert_array_equal(cy.input_from_mujoco(system, one), u[i])


def test_what_is_written_is_read_again():
    system = cy.from_mujoco(MODEL, inputs=("mocap_quat", "ctrl"))
    draw = np.random.default_rng(1)
    x, u = draw.normal(size=(4, system.state_size)), draw.normal(size=(4, system.input_size))
    single, several = mujoco.MjData(MODEL), [mujoco.MjData(MODEL) for _ in range(4)]
    batch = mujoco.batch.Batch(MODEL, 4, 1)
    for data, rows in ((single, 0), (several, slice(None)), (batch, slice(None))):
        cy.state_to_mujoco(system, x[rows], data)
        cy.input_to_mujoco(system, u[rows], data)
        np.testing.assert_array_equal(cy.state_from_mujoco(system, data), x[rows])
        np.testing.assert_array_equal(cy.input_from_mujoco(system, data), u[rows])
    np.testing.assert_array_equal(batch.bind("qpos"), x[:, : system.nq])
    for data in (several, batch):  # one for all
        cy.state_to_mujoco(system, x[2], data)
        np.testing.assert_array_equal(cy.state_from_mujoco(system, data), x[[2, 2, 2, 2]])
    assert single.time == 0 and not single.qfrc_applied.any() and not single.xfrc_applied.any()


def test_a_step_from_data_is_mujocos_step():
    model = mujoco.MjModel.from_xml_string(XML)
    model.opt.tolerance, model.opt.iterations = 0, 100
    system = cy.from_mujoco(model, inputs=INPUTS)
    data = random_data(5)
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    ours = cy.step(system, cy.state_from_mujoco(system, data), cy.input_from_mujoco(system, data))
    mujoco.mj_step(model, data)
    # As in the parity tests: two ways to round the same step.
    np.testing.assert_allclose(ours, cy.state_from_mujoco(system, data), rtol=1e-10, atol=1e-10)


def test_refusals_say_what_was_expected():
    system = cy.from_mujoco(MODEL)
    other = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(MODEL)
    with pytest.raises(cy.Error, match="another model: its qpos has 7 numbers.* 8"):
        cy.state_from_mujoco(system, mujoco.MjData(other))
    with pytest.raises(cy.Error, match="another model: its qpos"):
        cy.state_to_mujoco(system, system.initial_state(), mujoco.MjData(other))
    with pytest.raises(TypeError, match="expected a mujoco.MjData, a list.*got mujoco.*MjModel"):
        cy.state_from_mujoco(system, MODEL)
    for nothing in (None, [], [data, 3], "data"):
        with pytest.raises(TypeError, match="expected a mujoco.MjData"):
            cy.state_from_mujoco(system, nothing)
    with pytest.raises(TypeError, match="made by load or from_mujoco; got System"):
        cy.state_from_mujoco(cy.systems.pendulum(), data)
    with pytest.raises(cy.Error, match=r"x must have shape \(..., 16\), qpos, qvel, act"):
        cy.state_to_mujoco(system, [1.0, 2.0], data)
    with pytest.raises(cy.Error, match=r"u must have shape \(2, 2\), as there is data"):
        cy.input_to_mujoco(system, np.zeros((3, 2)), [data, data])
    with pytest.raises(cy.Error, match=r"x must have shape \(16,\)"):
        cy.state_to_mujoco(system, np.zeros((1, 16)), data)
