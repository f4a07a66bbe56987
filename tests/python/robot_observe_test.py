"""Sensors and derived quantities equal MuJoCo's; sensors have the gradient of what they show."""

import random

import models
import mujoco
import numpy as np
import pytest
from differences import by_differences

import cycloid as cy

# Sums in another order, and the mass matrix's condition where accelerations come in.
TOLERANCE = 1e-10
SITES = "ground post cart tip flyer head foot target".split()
FRAMES = [
    *[(kind, n) for kind in ("body", "xbody") for n in ("post", "cart", "tip", "flyer", "head")],
    *[("geom", n) for n in ("ground", "cart", "head")],
    *[("site", n) for n in SITES],
    *[("camera", n) for n in ("ground", "head")],
]
ACTUATORS = "servo motor filter integrator cable cable2 fix site_pair site ball free".split()


def sensors():
    """Every kind of sensor, at many places; references are drawn."""
    draw = random.Random(4)
    for kind in ("accelerometer", "velocimeter", "gyro", "magnetometer"):
        yield from (f'<{kind} site="{s}"/>' for s in SITES)
    for kind in ("jointpos", "jointvel", "jointactuatorfrc"):
        yield from (f'<{kind} joint="{j}"/>' for j in ("slide", "hinge", "wrist", "knee"))
    for kind in ("tendonpos", "tendonvel", "tendonactuatorfrc"):
        yield from (f'<{kind} tendon="{t}"/>' for t in ("fixed", "cable"))
    for kind in ("actuatorpos", "actuatorvel", "actuatorfrc"):
        yield from (f'<{kind} actuator="{a}"/>' for a in ACTUATORS)
    yield from ('<ballquat joint="ball"/>', '<ballangvel joint="ball"/>')
    for of in FRAMES:
        object = f'objtype="{of[0]}" objname="{of[1]}"'
        for kind in "pos quat xaxis yaxis zaxis linvel angvel linacc angacc".split():
            yield f"<frame{kind} {object}/>"
            if not kind.endswith("acc"):
                reference = draw.choice(FRAMES)
                yield f'<frame{kind} {object} reftype="{reference[0]}" refname="{reference[1]}"/>'
    for kind in ("subtreecom", "subtreelinvel", "subtreeangmom"):
        yield from (f'<{kind} body="{b}"/>' for b in ("world", "post", "cart", "flyer", "target"))
    for camera in ("above", "boom"):
        yield from (f'<camprojection site="{s}" camera="{camera}"/>' for s in SITES[:4])
    for of in FRAMES:
        object = f'objtype="{of[0]}" objname="{of[1]}"'
        yield from (f'<insidesite {object} site="{s}"/>' for s in ("roomy", "room"))
    yield from ("<clock/>", "<e_potential/>", "<e_kinetic/>", '<gyro site="head" cutoff="0.1"/>')


XML = f"""
<mujoco model="every sensor">
  <option timestep="0.004" density="1.1" viscosity="0.2" wind="0.3 -0.2 0.1"
          gravity="0.4 -0.3 -9.7" magnetic="0.2 -0.4 0.3"/>
  <compiler angle="radian"/>
  <worldbody>
    <site name="ground" pos="0.3 0.1 0.2" quat="0.9 0.1 0.2 0.3"/>
    <geom name="ground" size="0.1" pos="1 2 3"/>
    <camera name="ground" pos="0.5 0.4 0.3" quat="0.7 0.2 -0.1 0.4"/>
    <camera name="above" pos="0.5 0.4 6" quat="1 0.05 -0.04 0.2" resolution="32 24"/>
    <site name="room" type="box" size="0.8 0.6 0.7" quat="0.9 0.1 0.2 0.3"/>
    <site name="roomy" type="ellipsoid" size="2 1 1.5" pos="0.5 0 0"/>
    <body name="post" pos="0.5 -0.3 0.2" quat="0.8 0.1 0.3 -0.2">
      <geom type="box" size="0.1 0.2 0.05" pos="0.1 0.02 0.1"/> <site name="post" pos="0.1 0.1 0"/>
      <body name="cart" pos="0.1 0.2 0.3">
        <joint name="slide" type="slide" axis="1 0.3 0.2" stiffness="3" springref="0.1"
               damping="0.4" armature="0.1"/>
        <joint name="hinge" axis="0.2 1 -0.3" pos="0.02 0.1 0" stiffness="2 0.5 0.3"
               springref="-0.2" damping="0.1 0.05 0.02"/>
        <geom name="cart" type="capsule" size="0.05 0.2" pos="0.1 0 0.05" quat="0.9 0.3 0.1 0.1"/>
        <site name="cart" pos="0.1 0.05 0.02" quat="0.6 0.3 -0.4 0.2"/>
        <body name="tip" pos="0.3 0 0.1" gravcomp="0.4">
          <joint name="wrist" pos="0 0.1 0" armature="0.02" actuatorfrcrange="-0.8 0.8"/>
          <geom type="ellipsoid" size="0.1 0.05 0.07" pos="0.1 0.1 0"/>
          <site name="tip" pos="0.1 0.02 0.2" quat="0.3 0.3 -0.7 0.2"/>
        </body>
      </body>
    </body>
    <body name="flyer" pos="0 0 1">
      <freejoint name="free"/>
      <geom type="box" size="0.2 0.1 0.05" pos="0.05 0.02 0.01" quat="0.9 0.2 0.1 0.3"/>
      <site name="flyer" pos="0.1 0.05 0.02" quat="0.6 0.3 -0.4 0.2"/>
      <body name="head" pos="0.3 0.1 0" quat="0.9 0.1 -0.3 0.2">
        <joint name="ball" type="ball" pos="0.05 0.02 0.1" stiffness="2 0.4 0.3" damping="0.2"/>
        <geom name="head" type="capsule" size="0.05 0.1" pos="0 0.1 0.05"/>
        <site name="head" pos="0.02 0.05 0.12" quat="0.2 0.3 0.4 0.2"/>
        <camera name="head" pos="0.05 0.04 0.3" quat="0.7 0.2 -0.1 0.4"/>
        <camera name="boom" pos="0.05 0.04 7" quat="1 0.02 0.04 0.3" resolution="20 15"
                sensorsize="0.02 0.015" focal="0.03 0.025"/>
      </body>
      <body pos="-0.2 0 0"> <joint name="knee" axis="0 1 0.2"/> <site name="foot" pos="0 0 -0.3"/>
        <geom type="capsule" fromto="0 0 0 0 0.02 -0.3" size="0.04"/> </body>
    </body>
    <body name="target" mocap="true" pos="1 1 1" quat="0.8 0.2 0.2 0.1">
      <geom size="0.1" mass="0.3"/> <site name="target" pos="0.1 0.2 0.3" quat="0.4 0.5 0.6 0.1"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="fixed" stiffness="2 0.3 0.2" springlength="0.02 0.05" damping="0.2" armature="0.1">
      <joint joint="hinge" coef="0.5"/> <joint joint="knee" coef="-0.3"/> </fixed>
    <spatial name="cable" stiffness="3" springlength="0.3" damping="0.4 0.1 0.02" armature="0.2"
             actuatorfrclimited="true" actuatorfrcrange="-0.3 0.3"> <site site="tip"/>
      <site site="cart"/> <site site="head"/> <pulley divisor="2"/> <site site="flyer"/>
      <site site="foot"/> </spatial>
  </tendon>
  <actuator>
    <position name="servo" joint="hinge" kp="3" kv="0.3" gear="1.2"/>
    <motor name="motor" joint="knee" gear="0.7" ctrllimited="true" ctrlrange="-0.5 0.5"/>
    <general name="filter" joint="wrist" gear="2" gainprm="1.3" dyntype="filter" dynprm="0.1"/>
    <general name="integrator" joint="slide" dyntype="integrator" gainprm="2" biastype="affine"
             biasprm="0.1 -0.5 -0.2" actlimited="true" actrange="-1 1" actearly="true"/>
    <general name="cable" tendon="cable" gear="1.4" gaintype="affine" gainprm="0.8 0.1 0.1"
             armature="0.03"/>
    <motor name="cable2" tendon="cable"/> <motor name="fix" tendon="fixed" gear="0.5"/>
    <general name="site_pair" site="head" refsite="cart" gear="1 0.3 0.2 0.1 0.4 0.2" gainprm="1"
             biastype="affine" biasprm="0 -0.3 -0.1"/>
    <motor name="site" site="foot" gear="0.1 0.3 0.2 0.1 0.4 0.2"/>
    <general name="ball" joint="ball" gear="0.4 0.3 0.2" biastype="affine" biasprm="0 -0.3 -0.1"/>
    <motor name="free" joint="free" gear="0.4 0.3 0.2 0.1 0.2 0.3"/>
  </actuator>
  <sensor> {" ".join(sensors())} </sensor>
</mujoco>"""
INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")
TIME = 1.5


class Case:
    """Random states and inputs of a model, and what MuJoCo makes of them."""

    def __init__(self, model, rows=7, seed=1):
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        self.model, self.x, self.u, self.data = model, [], [], []
        rng = np.random.default_rng(seed)
        for _ in range(rows):
            d = mujoco.MjData(model)
            d.time = TIME
            mujoco.mj_integratePos(model, d.qpos, 0.4 * rng.normal(size=model.nv), 1)
            for array, scale in ((d.qvel, 1), (d.act, 0.3), (d.ctrl, 1), (d.qfrc_applied, 1)):
                array[:] = scale * rng.normal(size=array.shape)
            d.xfrc_applied[:] = rng.normal(size=d.xfrc_applied.shape)
            d.mocap_pos[:] += rng.normal(size=d.mocap_pos.shape)
            d.mocap_quat[:] += 0.3 * rng.normal(size=d.mocap_quat.shape)
            mujoco.mj_forward(model, d)
            self.x.append(np.concatenate([d.qpos, d.qvel, d.act]))
            self.u.append(np.concatenate([getattr(d, name).ravel() for name in INPUTS]))
            self.data.append(d)
        self.x, self.u = np.array(self.x), np.array(self.u)
        self.robot = cy.from_mujoco(model, constraints=False, inputs=INPUTS)

    def of(self, field):
        return np.array([getattr(d, field) for d in self.data])

    def mass_matrices(self):
        m, full = self.model, np.zeros((len(self.data), self.model.nv, self.model.nv))
        for k in range(m.nv):
            at = slice(m.M_rowadr[k], m.M_rowadr[k] + m.M_rownnz[k])
            columns = m.M_colind[at]
            full[:, k, columns] = full[:, columns, k] = self.of("M")[:, at]
        return full

    def sensor(self, name):
        i = int(name[1:]) if name.startswith("#") else self.model.sensor(name).id
        at = self.model.sensor_adr[i]
        return i, self.of("sensordata")[:, at : at + self.model.sensor_dim[i]]


def error(got, expected):
    assert got.shape == expected.shape
    scale = max(np.abs(expected).max(initial=0), 1e-3)
    return np.abs(got - expected).max(initial=0) / scale


def check_against_mujoco(case):
    """Returns the kinds of sensors that were compared."""
    f = cy.forward(case.robot, case.x, case.u, t=TIME)
    assert error(f.qacc, case.of("qacc")) <= TOLERANCE
    assert error(f.mass_matrix, case.mass_matrices()) <= TOLERANCE
    assert error(f.bias, case.of("qfrc_bias")) <= TOLERANCE
    assert error(f.body_pos, case.of("xpos")) <= TOLERANCE
    assert error(f.body_quat, case.of("xquat")) <= TOLERANCE
    assert error(f.site_pos, case.of("site_xpos")) <= TOLERANCE
    assert error(f.energy, case.of("energy")) <= TOLERANCE
    seen = cy.observe(case.robot, case.x, case.u, t=TIME)
    kinds = set()
    for name in seen.slices:
        i, expected = case.sensor(name)
        kind = mujoco.mjtSensor(case.model.sensor_type[i]).name
        assert error(seen[name], expected) <= TOLERANCE, (kind, name)
        assert np.array_equal(f.sensors[name], seen[name])
        kinds.add(kind)
    return kinds


def test_every_kind_of_sensor_equals_mujocos():
    case = Case(mujoco.MjModel.from_xml_string(XML))
    kinds = check_against_mujoco(case)
    assert len(kinds) == 32
    assert len(cy.observe(case.robot, case.x).slices) == case.model.nsensor


NAMES = ["dm_control/humanoid", "dm_control/quadruped", "gymnasium/ant", "dm_control/swimmer"]


@pytest.mark.parametrize("name", NAMES)
def test_what_follows_from_a_state_equals_mujocos(name):
    if name not in models.MODELS:
        pytest.skip("the package is not here")
    check_against_mujoco(Case(models.in_mujoco(models.MODELS[name])))


def test_the_gradient_equals_differences():
    case = Case(mujoco.MjModel.from_xml_string(XML), rows=2)
    robot, x, u = case.robot, case.x, case.u
    seen = cy.observe(robot, x, u)
    weights = np.random.default_rng(3).normal(size=seen.values.shape)
    for name, at in seen.slices.items():  # steps, whose derivative is zero
        if case.model.sensor_type[case.sensor(name)[0]] == mujoco.mjtSensor.mjSENS_INSIDESITE:
            weights[:, at] = 0
    mass = {"body:cart.mass": 1.3, "site:head.quat": [0.5, 0.4, -0.6, 0.2]}

    def loss(x, u, params):
        return float((weights * cy.observe(robot, x, u, params=params).values).sum())

    g = cy.observe(robot, x, u, params=mass).pullback(weights)
    # Accelerations of order 100 per unit of the least of inputs: differences keep 8 digits of them.
    assert error(g.x, by_differences(lambda v: loss(v, u, mass), x)) < 1e-7
    assert error(g.controls, by_differences(lambda v: loss(x, v, mass), u)) < 1e-7
    for name, value in mass.items():
        got = by_differences(lambda v: loss(x, u, mass | {name: v}), value)
        assert error(g.params[name], got) < 1e-7
        assert np.abs(got).max() > 1e-3
    assert g.x_tangent.shape == (2, robot.tangent_size)


SMALL = """<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/> <geom name="g" size="0.1"
    pos="0 0 -2"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
    <actuator> <motor joint="hinge"/> </actuator>
    <sensor> <jointpos name="angle" joint="hinge"/> <gyro name="turn" site="bob"/>
    <user name="far" dim="1"/> <accelerometer site="bob"/> </sensor> </mujoco>"""


def test_shapes_broadcast_and_gradients_are_summed():
    robot = cy.load(SMALL)
    x, u = np.ones((4, 1, 2)), np.zeros((3, 1))
    seen = cy.observe(robot, x, u, params={"option.gravity": [0, 0, -5]})
    assert seen.values.shape == (4, 3, 7) and not seen.values.flags.writeable
    g = seen.pullback(np.ones(7))
    assert g.x.shape == x.shape and g.controls.shape == u.shape
    assert set(g.params) == {"option.gravity"} and g.params["option.gravity"].shape == (3,)
    one = cy.observe(robot, x[0, 0], params={"option.gravity": [0, 0, -5]}).pullback(np.ones(7))
    assert one.controls.shape == (1,)
    assert np.allclose(g.x[0, 0], 3 * one.x, rtol=1e-13)
    assert np.allclose(g.params["option.gravity"], 12 * one.params["option.gravity"], rtol=1e-13)
    f = cy.forward(robot, x, u)
    assert f.mass_matrix.shape == (4, 3, 1, 1) and f.body_pos.shape == (4, 3, 2, 3)
    assert f.site_pos.shape == (4, 3, 1, 3) and f.sensors["turn"].shape == (4, 3, 3)


def test_names_choose_and_order():
    robot = cy.load(SMALL)
    seen = cy.observe(robot, [0.3, 0.4], names=["turn", "angle", "#3"])
    assert seen.names[:4] == ("turn[0]", "turn[1]", "turn[2]", "angle")
    assert seen["angle"] == pytest.approx([0.3]) and seen["turn"] == pytest.approx([0, 0.4, 0])
    assert repr(seen) == "<Observation: 3 names, 7 numbers>"
    with pytest.raises(cy.ModelError, match="far.*not supported"):
        cy.observe(robot, [0.3, 0.4], names="far")
    with pytest.raises(cy.ModelError, match='did you mean "angle"'):
        cy.observe(robot, [0.3, 0.4], names="angel")
    with pytest.raises(cy.Error, match="observed"):
        seen["far"]
    with pytest.raises(cy.Error, match="shaped like values"):
        seen.pullback(np.ones(3))
    with pytest.raises(cy.Error, match="finite"):
        cy.observe(robot, [np.nan, 0])
    with pytest.raises(cy.Error, match="no robot"):
        cy.forward(cy.systems.pendulum(), [0, 0])


def test_float32_rows_come_back_in_float32():
    robot = cy.load(SMALL, dtype="float32")
    seen = cy.observe(robot, [0.3, 0.4])
    g = seen.pullback(np.ones(7))
    assert seen.values.dtype == g.x.dtype == g.controls.dtype == np.float32
    assert cy.forward(robot, [0.3, 0.4]).qacc.dtype == np.float32
    double = cy.observe(cy.load(SMALL), np.float32([0.3, 0.4]))
    assert np.array_equal(seen.values, double.values.astype(np.float32))


LIMITED = """<mujoco> <worldbody> <body name="b"> <joint name="slide" type="slide" range="-0.3 0.4"
    margin="0.1"/> <geom size="0.1"/> <site name="s" pos="0.1 0 0"/>
    <body pos="0 0 0.3"> <joint name="hinge" range="-20 30"/> <geom size="0.1" pos="0.1 0 0"/>
    <site name="tip" pos="0.3 0 0.1"/> </body> </body> <site name="w" pos="0 0.5 0"/> </worldbody>
  <tendon> <spatial name="cord" range="0.2 0.7" margin="0.05"> <site site="w"/> <site site="tip"/>
    </spatial> </tendon>
  <sensor> <jointlimitpos joint="slide"/> <jointlimitvel joint="slide"/>
    <jointlimitpos joint="hinge"/> <jointlimitvel joint="hinge" cutoff="0.4"/>
    <tendonlimitpos tendon="cord"/> <tendonlimitvel tendon="cord"/> </sensor> </mujoco>"""


def test_sensors_of_limits_equal_mujocos_and_their_gradients_equal_differences():
    model = mujoco.MjModel.from_xml_string(LIMITED)
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(5)
    names = [f"#{i}" for i in range(model.nsensor)]
    given = robot.parameters.unpack(robot.parameters.default)
    ranges = {name: value for name, value in given.items() if name.endswith("range")}
    assert len(ranges) == 3
    acted = np.zeros(model.nsensor, int)
    for _ in range(40):
        x = draw.normal(size=4) * [0.4, 0.5, 1, 1]
        data.qpos, data.qvel = x[:2], x[2:]
        mujoco.mj_forward(model, data)
        seen = cy.observe(robot, x, names=names, params=ranges)
        np.testing.assert_allclose(seen.values, data.sensordata, rtol=1e-11, atol=1e-12)
        acted += data.sensordata != 0
        weights = draw.normal(size=model.nsensor)
        g = seen.pullback(weights)

        def loss(state, params=ranges, weights=weights):
            return cy.observe(robot, state, names=names, params=params).values @ weights

        assert error(g.x, by_differences(loss, x)) < 1e-7
        for name, value in ranges.items():
            got = by_differences(lambda v, name=name: loss(x, ranges | {name: v}), value)
            assert error(g.params[name], got) < 1e-7
    assert (acted > 3).all() and (acted < 40).all()


PUSHED = """<mujoco> <option integrator="implicitfast"/> <worldbody>
  <body name="b"> <joint name="slide" type="slide" range="-0.3 0.4" margin="0.1"/>
    <geom size="0.1"/> <body pos="0 0 0.3"> <joint name="hinge" range="-20 30" damping="0.1"/>
      <geom size="0.1" pos="0.1 0 0"/> <site name="tip" pos="0.3 0 0.1"/>
      <body pos="0.3 0 0"> <joint name="ball" type="ball" range="0 30"/>
        <geom type="capsule" size="0.05 0.2" pos="0.1 0 0"/> </body> </body> </body>
  <site name="w" pos="0 0.5 0"/> </worldbody>
  <tendon> <spatial name="cord" range="0.4 0.6" margin="0.05"> <site site="w"/> <site site="tip"/>
    </spatial> </tendon>
  <sensor> <jointlimitfrc joint="slide"/> <jointlimitfrc joint="hinge"/>
    <jointlimitfrc joint="ball"/> <tendonlimitfrc tendon="cord"/>
    <jointlimitfrc joint="slide" cutoff="5"/> </sensor> </mujoco>"""


def test_forces_of_limits_equal_mujocos_and_their_gradients_equal_differences():
    model = mujoco.MjModel.from_xml_string(PUSHED)
    model.opt.tolerance, model.opt.iterations = 0, 100
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(6)
    names = [f"#{i}" for i in range(model.nsensor)]
    chosen = ("range", "mass", "inertia")
    given = robot.parameters.unpack(robot.parameters.default)
    some = {name: value for name, value in given.items() if name.endswith(chosen)}
    acted, judged = np.zeros(model.nsensor, int), 0
    for _ in range(30):
        x = draw.normal(size=model.nq + model.nv) * np.repeat([0.4, 0.5], [2, 9])
        x[2] += 1
        x[2:6] /= np.linalg.norm(x[2:6])
        data.qpos, data.qvel = x[: model.nq], x[model.nq :]
        mujoco.mj_forward(model, data)
        seen = cy.observe(robot, x, names=names, params=some)
        np.testing.assert_allclose(seen.values, data.sensordata, rtol=1e-8, atol=1e-8)
        acted += data.sensordata != 0
        weights = draw.normal(size=model.nsensor)
        g = seen.pullback(weights)

        def loss(state, params=some, weights=weights):
            return cy.observe(robot, state, names=names, params=params).values @ weights

        judged += error(g.x, by_differences(loss, x)) < 1e-6
        for name, value in some.items():
            got = by_differences(lambda v, name=name: loss(x, some | {name: v}), value)
            most = 1e-5 * max(np.abs(got).max(), 1)  # forces are tens of newtons
            assert np.abs(g.params[name] - got).max() < most, name
    assert judged > 26  # others have a limit that begins or ceases to push nearby
    assert (acted > 2).all()


ROOM = """<mujoco> <compiler angle="radian"/> <worldbody> <geom type="plane" size="3 3 0.1"/>
  <geom type="box" size="0.1 3 2" pos="2 0 1"/> <geom type="box" size="3 0.1 2" pos="0 -2 1"/>
  <geom type="box" size="3 0.1 2" pos="0 1.5 1" rgba="1 1 1 0"/>
  <body pos="-1 0 1"> <joint axis="1 0 0.2"/> <geom type="cylinder" size="0.4 0.5"/>
    <body pos="0 0.8 0"> <joint axis="0 1 0"/> <geom type="capsule" size="0.3 0.4"
        quat="0.8 0.3 0.1 0.2"/> </body> </body>
  <body pos="0.5 -1 0.5"> <freejoint/> <geom type="ellipsoid" size="0.5 0.3 0.4"/> </body>
  <body pos="0.5 1 0.5"> <joint type="ball"/> <geom size="0.4" pos="0.1 0 0"/> </body>
  <body pos="0 0 1"> <freejoint/> <geom size="0.1"/> {sites} </body> </worldbody>
  <sensor> {rays} <rangefinder site="s0" cutoff="0.5"/> </sensor> </mujoco>"""


def room(rays=30):
    draw = np.random.default_rng(8)
    quats = draw.normal(size=(rays, 4))
    places = 0.05 * draw.normal(size=(rays, 3))
    sites = "".join(
        f'<site name="s{i}" pos="{p[0]} {p[1]} {p[2]}" quat="{q[0]} {q[1]} {q[2]} {q[3]}"/>'
        for i, (p, q) in enumerate(zip(places, quats))
    )
    return ROOM.format(
        sites=sites, rays="".join(f'<rangefinder site="s{i}"/>' for i in range(rays))
    )


SHAPE = (".pos", ".quat", ".size")


def slopes(robot, x, names, h):
    """(numbers of x, sensors)"""
    moved = h * np.eye(x.size)
    ahead, back = (cy.observe(robot, x + d, names=names).values for d in (moved, -moved))
    return (ahead - back) / (2 * h)


def test_rangefinders_equal_mujocos_and_their_gradients_equal_differences():
    model = mujoco.MjModel.from_xml_string(room())
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(6)
    hits, names = np.zeros(model.ngeom, int), [f"#{i}" for i in range(model.nsensor)]
    for n in range(8):
        mujoco.mj_resetData(model, data)
        data.qpos += 0.1 * draw.normal(size=model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        x = np.concatenate([data.qpos, data.qvel])
        seen = cy.observe(robot, x, names=names)
        np.testing.assert_allclose(seen.values, data.sensordata, rtol=1e-12, atol=1e-12)
        for i in range(model.nsite):
            hit = np.zeros(1, np.int32)
            axis = data.site_xmat[i].reshape(3, 3)[:, 2].copy()
            mujoco.mj_ray(model, data, data.site_xpos[i], axis, None, 1, model.site_bodyid[i], hit)
            hits[hit[0]] += hit[0] >= 0
        if n > 2:
            continue
        # Rays that all but graze a shape have no differences to be held to.
        steady = np.abs(slopes(robot, x, names, 1e-3) - slopes(robot, x, names, 5e-4))
        weights = draw.normal(size=model.nsensor) * (steady.max(axis=0) < 1e-5)
        assert np.count_nonzero(weights) > 15
        given = robot.parameters.unpack(robot.parameters.default)
        chosen = [name for name in given if name.startswith("geom") and name.endswith(SHAPE)]
        sizes = {name: given[name] for name in [*chosen, "site:s3.pos", "site:s4.quat"]}

        def loss(state, params=sizes, weights=weights):
            return cy.observe(robot, state, names=names, params=params).values @ weights

        g = cy.observe(robot, x, names=names, params=sizes).pullback(weights)
        assert error(g.x, by_differences(loss, x)) < 1e-6
        for name, value in sizes.items():
            got = by_differences(lambda v, name=name: loss(x, sizes | {name: v}), value)
            assert error(g.params[name], got) < 1e-6, name
    assert hits[3] == 0 and (np.delete(hits, [3, model.ngeom - 1]) > 0).all(), hits
