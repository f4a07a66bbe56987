"""Fields of mjData that cy.observe and cy.advance show equal MuJoCo's, and have gradients."""

import contact_models as cm
import mujoco
import numpy as np
import pytest

import cycloid as cy

pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about some files

PLACED = [
    *"qpos qvel act ctrl xpos xipos xquat site_xpos".split(),
    *"subtree_com cinert cvel ten_length ten_velocity".split(),
]
FORCED = "actuator_force qfrc_actuator cfrc_ext qfrc_constraint qacc".split()
PLACED_TOLERANCE = 1e-10  # sums in another order
FORCED_TOLERANCE = 1e-8  # both solvers stop at about 1e-10 of the forces, which cancel in part
STATES = 50 if cm.LONG else 10  # of each model
# No constraint acts along their runs.
FREE = {f"dm_control/{n}" for n in "acrobot fish lqr pendulum point_mass swimmer".split()}
NAMES = [n for n in cm.PACKAGES if n not in cm.BY_ROUNDING]
if not cm.LONG:
    robots = "ant half_cheetah hopper humanoid inverted_double_pendulum walker2d_v5".split()
    others = "ball_in_cup finger humanoid stacker walker".split()
    NAMES = [f"gymnasium/{n}" for n in robots] + [f"dm_control/{n}" for n in others]


def observed(data, name):
    """A field of mjData as one row."""
    return getattr(data, name).ravel().copy()


def at_states(name):
    """A model of MuJoCo's, with states and controls along a run, those with contacts first."""
    model, states, controls, rows = cm.run(name)
    at = np.flatnonzero(rows) if rows.any() else np.arange(len(rows))
    at = at[:: -(-len(at) // STATES)]
    return model, states[at], controls[at]


def fields_of_mujoco(model, state, control, names):
    """After mj_forward and mj_rnePostConstraint."""
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
    data.ctrl[:] = control
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    searched = cm.by_search(model, data.contact.geom).any()
    return {n: observed(data, n) for n in names}, searched


def left_by_mujoco(model, state, control, time, names):
    """A step of mj_step: the new state, fields as Gymnasium reads them, and sensors by name."""
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
    data.ctrl[:], data.time = control, time
    mujoco.mj_step(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    assert not cm.by_search(model, data.contact.geom).any()  # which ends at another point
    ends = zip(model.sensor_adr, model.sensor_adr + model.sensor_dim)
    sensors = {model.sensor(i).name or f"#{i}": slice(*at) for i, at in enumerate(ends)}
    shown = {n: data.sensordata[at].copy() for n, at in sensors.items() if n in names}
    return cm.state_of(data), shown | {n: observed(data, n) for n in names if n not in sensors}


def error(got, expected):
    """The largest difference over the largest reference, or over 1e-3."""
    scale = max(np.abs(expected).max(initial=0), 1e-3)
    return np.abs(got.ravel() - expected).max(initial=0) / scale


@pytest.mark.parametrize("name", NAMES)
def test_fields_equal_mujocos(name):
    model, states, controls = at_states(name)
    system = cy.from_mujoco(model)
    seen = cy.observe(system, states, controls, names=PLACED + FORCED)
    shapes = {n: getattr(mujoco.MjData(model), n).shape for n in PLACED + FORCED}
    forced, pushed = [], 0
    for i, (state, control) in enumerate(zip(states, controls)):
        expected, searched = fields_of_mujoco(model, state, control, PLACED + FORCED)
        for field in PLACED:
            assert seen[field][i].shape == shapes[field], field
            assert error(seen[field][i], expected[field]) < PLACED_TOLERANCE, field
        if not searched:
            forced.append(max(error(seen[field][i], expected[field]) for field in FORCED))
            pushed += np.abs(expected["qfrc_constraint"]).max(initial=0) > 1e-3
    assert cm.percentile(np.array(forced)) < FORCED_TOLERANCE
    assert bool(pushed) == (name not in FREE)


# Two free bodies and an arm, held together by welds and spatial tendons that do all they can.
TIED = """
<mujoco model="tied">
  <worldbody>
    <site name="wall" pos="0.3 0.2 1.4"/>
    <body name="shelf" pos="0.6 0 0.8"> <geom size="0.05" mass="2"/> <site name="shelf"/> </body>
    <body name="arm" pos="0 0 1"> <joint name="arm" axis="0 1 0.2"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/> <site name="elbow" pos="0.3 0 0"/>
      <body name="hand" pos="0.3 0 0"> <joint axis="0 0 1"/>
        <geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0"/> <site name="hand" pos="0.2 0.02 0"/>
      </body>
    </body>
    <body name="stone" pos="0.2 0.3 0.9"> <freejoint/> <geom type="box" size="0.1 0.05 0.08"/>
      <site name="stone" pos="0.05 0 0.08" euler="20 10 40"/> </body>
    <body name="brick" pos="0.2 -0.4 0.9"> <freejoint/> <geom type="box" size="0.07 0.05 0.03"/>
      <site name="brick" pos="0 0.05 0" euler="-30 20 15"/> </body>
  </worldbody>
  <tendon>
    <spatial name="band" stiffness="40" damping="3" springlength="0.1" frictionloss="0.3">
      <site site="wall"/> <site site="hand"/> <site site="stone"/> </spatial>
    <spatial name="line" limited="true" range="0 0.3" armature="0.4">
      <site site="shelf"/> <site site="elbow"/> <pulley divisor="2"/>
      <site site="elbow"/> <site site="brick"/> </spatial>
    <spatial name="rope" damping="1"> <site site="stone"/> <site site="brick"/> </spatial>
  </tendon>
  <actuator> <motor tendon="rope" gear="7"/> <position tendon="band" kp="9"/> </actuator>
  <equality>
    <weld body1="stone" body2="hand" torquescale="0.7"/>
    <weld site1="brick" site2="shelf" solref="0.05 1"/>
    <tendon tendon1="rope" tendon2="line" polycoef="0.1 0.4 0.3 0 0"/>
  </equality>
  <sensor> <force site="hand"/> <torque site="hand"/> <force site="stone"/> <torque site="brick"/>
    <torque site="shelf"/> <clock/> <jointpos joint="arm"/> <accelerometer site="hand"/>
    <framepos objtype="site" objname="stone"/> </sensor>
</mujoco>
"""


def tied_states():
    model = mujoco.MjModel.from_xml_string(TIED)
    model.opt.tolerance, model.opt.iterations = 0, 200
    draw, data, states = np.random.default_rng(3), mujoco.MjData(model), []
    for _ in range(5):
        data.qpos[:] = model.qpos0 + 0.1 * draw.normal(size=model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        data.qvel[:] = draw.normal(size=model.nv)
        states.append(cm.state_of(data))
    return model, np.array(states), draw.normal(size=(5, model.nu))


def test_welds_and_tendons_push_bodies_as_mujocos_do():
    model, states, controls = tied_states()
    system = cy.from_mujoco(model)
    data = mujoco.MjData(model)
    for state, control in zip(states, controls):
        data.qpos, data.qvel = np.split(state, [model.nq])
        data.ctrl = control
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        for name in ("cfrc_ext", "qfrc_constraint", "qacc"):
            seen = cy.observe(system, state, data.ctrl, name).values
            assert error(seen, observed(data, name)) < FORCED_TOLERANCE, name
        seen = cy.observe(system, state, data.ctrl)
        assert error(seen.values, data.sensordata) < FORCED_TOLERANCE


# Nothing here is left to MuJoCo's GJK and EPA, and its solver goes on until nothing changes: every
# sensor and every field is held to MuJoCo's at every state, one step from each, over which no
# difference grows. "" is TIED, without cfrc_ext: called after mj_step, mj_rnePostConstraint mixes
# the forces of welds with the new state.
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize("name", ["gymnasium/ant", "dm_control/finger", "dm_control/humanoid", ""])
def test_advance_leaves_behind_what_mj_step_does(name, integrator):
    model, states, controls = at_states(name) if name else tied_states()
    model = cm.copy.copy(model)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    system = cy.from_mujoco(model)
    sensors = list(cy.observe(system, states[0]).slices)
    forced = [n for n in FORCED if name or n != "cfrc_ext"]
    names = PLACED + sensors + forced
    after = cy.advance(system, states, controls, 1, names, lagging=True, t0=0.7)
    for i, (state, control) in enumerate(zip(states, controls)):
        last, expected = left_by_mujoco(model, state, control, 0.7, names)
        assert expected.keys() == set(names)
        errors = {n: error(after[n][i], expected[n]) for n in names}
        errors["state"] = error(after.states[i], last)
        worst = max(errors, key=errors.get)
        assert errors[worst] < FORCED_TOLERANCE, worst
    for alone in filter(None, (PLACED, forced, sensors)):
        seen = cy.advance(system, states, controls, 1, alone, lagging=True, t0=0.7)
        assert all((seen[n] == after[n]).all() for n in alone)


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_advance_leaves_behind_the_last_of_several_steps(integrator):
    model, states, controls = at_states("dm_control/humanoid")
    model = cm.copy.copy(model)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    system = cy.from_mujoco(model)
    names = [*cy.observe(system, states[0]).slices, *PLACED, *FORCED]
    whole = cy.advance(system, states, controls, 3, names, lagging=True)
    two = cy.advance(system, states, controls, 2).states
    last = cy.advance(system, two, controls, 1, names, lagging=True)
    # Others run side by side with it there, which rounds otherwise.
    for name in names:
        assert error(whole[name], last[name].ravel()) < 1e-10, name
    assert error(whole.states, last.states.ravel()) < 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_advance_is_a_rollout_with_what_is_observed_at_its_end(dtype):
    model, states, controls = at_states("gymnasium/ant")
    system = cy.from_mujoco(model, dtype=dtype)
    names = ["cfrc_ext", "qvel", "cinert:torso"]
    held = np.repeat(controls[:, None], 4, axis=1)
    run = cy.rollout(system, states, held, save="last")
    after = cy.advance(system, states, controls, 4, names)
    assert (after.states == run.states[:, 0]).all() and not after.report.failed
    seen = cy.observe(system, after.states, controls, names)
    # In single precision the solver stops at 1e-6 of the forces.
    limit = 1e-12 if dtype == "float64" else 1e-3
    for name in names:
        assert after[name].shape == seen[name].shape
        assert error(after[name], seen[name].ravel()) < limit, name
    for i in (0, 3):  # a lone one runs in the scalar type
        one = cy.advance(system, states[i], controls[i], 4, names)
        assert error(one.values, after.values[i]) < (1e-9 if dtype == "float64" else 1e-2)


def test_advance_broadcasts_and_takes_parameters_of_each_environment():
    model, states, controls = at_states("gymnasium/hopper")
    system = cy.from_mujoco(model, vary="body:torso.mass")
    mass = np.array([2.0, 3.0, 4.0])
    x, u = states[:5, None], controls[:1]
    after = cy.advance(system, x, u, 2, "xipos", {"body:torso.mass": mass}, threads=2)
    assert after.states.shape == (5, 3, system.state_size)
    assert after["xipos"].shape == (5, 3, model.nbody, 3)
    for i, m in enumerate(mass):
        own = cy.advance(system, states[:5], u, 2, "xipos", {"body:torso.mass": m})
        assert (after.states[:, i] == own.states).all()
        assert (after.values[:, i] == own.values).all()


def test_an_environment_that_fails_is_observed_where_it_stands():
    model, states, controls = at_states("gymnasium/ant")
    system = cy.from_mujoco(model)
    x = states.copy()
    x[4, model.nq :] = 1e200
    for lagging in (False, True):
        names = ["qvel", "xpos", "cfrc_ext", "qacc"]
        after = cy.advance(system, x, controls, 5, names, lagging=lagging)
        assert [f.environment for f in after.report.failed] == [4]
        assert np.allclose(after.states[4], x[4], rtol=1e-15)  # a quaternion is normalised on entry
        assert (after["qvel"][4] == x[4, model.nq :]).all()
        assert np.isfinite(after["xpos"]).all()
        others = np.delete(np.arange(len(x)), 4)
        alone = cy.advance(system, x[others], controls[others], 5, names, lagging=lagging)
        assert (after.values[others] == alone.values).all()


def test_advance_runs_any_system():
    law = cy.systems.pendulum(dtype="float32")
    after = cy.advance(law, np.ones((3, 2)), [0.5], 4)
    run = cy.rollout(law, np.ones((3, 2)), np.full((4, 1), 0.5), save="last")
    assert (after.states == run.states[:, 0]).all()
    assert after.values.shape == (3, 0) and after.names == ()
    with pytest.raises(cy.ModelError, match='no observable is called "qpos"'):
        cy.advance(law, np.ones((3, 2)), names="qpos")
    with pytest.raises(cy.Error, match="steps"):
        cy.advance(law, np.ones((3, 2)), steps=0)


def test_names_of_fields_and_their_errors():
    model = cm.in_mujoco("gymnasium/hopper")
    system = cy.from_mujoco(model)
    x = system.initial_state()
    seen = cy.observe(system, x, names=["qvel:rootz", "xpos:torso", "xquat:#1", "xpos"])
    assert seen.names[:4] == ("qvel:rootz", "xpos:torso[0]", "xpos:torso[1]", "xpos:torso[2]")
    assert seen.names[-1] == f"xpos[{model.nbody - 1}][2]"
    assert (seen["xpos:torso"] == seen["xpos"][1]).all()
    for name, said in {
        "xpoz": 'no sensor or field is called "xpoz"; did you mean "xpos"',
        "xpos:torsoo": 'no body is called "torsoo"; did you mean "torso"',
        "site_xpos:tip": "the model has none",
        "act:#0": "this actuator has none",
    }.items():
        with pytest.raises(cy.ModelError, match=said):
            cy.observe(system, x, names=name)


def test_fields_have_the_gradient_of_what_they_show():
    """In contact, by differences of states and controls."""
    model, states, controls = at_states("gymnasium/ant")
    system = cy.from_mujoco(model)
    x, u = states[5], controls[5]
    names = ["cinert", "cvel", "cfrc_ext", "qfrc_actuator", "qfrc_constraint", "subtree_com"]
    seen = cy.observe(system, x, u, names)
    weights = np.random.default_rng(1).normal(size=seen.values.shape)
    weights /= np.abs(seen.values) + 1
    g = seen.pullback(weights)

    def loss(state, control):
        return weights @ cy.observe(system, state, control, names).values

    # Forces bend where contacts begin to slide: small steps, of which rounding leaves six digits.
    for got, value, of in ((g.x, x, lambda s: loss(s, u)), (g.controls, u, lambda c: loss(x, c))):
        steps = 1e-6 * np.eye(len(value))
        expected = np.array([(of(value + h) - of(value - h)) / 2e-6 for h in steps])
        assert np.abs(expected).max() > 1e-3
        assert error(got, expected) < 1e-5
