"""Accelerations, contacts and sensors under constraints equal MuJoCo's; gradients, differences."""

import itertools

import models
import mujoco
import numpy as np
import pytest

import cycloid as cy

# Both solvers stop short of rounding, at 1e-10 of the forces.
TOLERANCE = 1e-8
FIELDS = "found force torque dist pos normal tangent"
SITES = "base leg stone post ground".split()  # of all shapes


def contact_sensors():
    matches = [
        "", 'geom1="leg"', 'geom2="leg"', 'body1="stone" body2="leg"', 'body1="base"',
        'subtree1="base"', 'subtree2="base"', 'subtree1="base" subtree2="base"',
        'geom1="floor" subtree2="base"', 'site="big"', 'site="leg" body2="leg"', 'site="stone"',
    ]
    for match, reduce in itertools.product(matches, ("none", "mindist", "maxforce", "netforce")):
        net = reduce == "netforce"
        data, num = (FIELDS, 1) if net else (f"{FIELDS} linvel angvel", 3)
        yield f'<contact {match} reduce="{reduce}" num="{num}" data="{data}"/>'
    yield '<contact data="found"/> <contact data="dist normal" num="7" reduce="mindist"/>'


def sensors():
    for site in SITES:
        yield f'<touch site="{site}"/> <force site="{site}"/> <accelerometer site="{site}"/>'
        yield f'<torque site="{site}"/>' * (site != "ground")
    yield '<touch site="big"/> <touch site="leg" cutoff="1"/> <force site="leg" cutoff="3"/>'
    yield '<framelinacc objtype="geom" objname="leg"/>'
    yield '<frameangacc objtype="body" objname="stone"/>'
    yield from contact_sensors()


# On a tilted floor: a base with a leg, a stone on the leg, a ball within the floor's gap; held by
# a connect, a weld, limits, friction loss.
XML = f"""
<mujoco model="felt">
  <option timestep="0.004" cone="CONE" impratio="1.5" gravity="0.4 -0.3 -9.7"/>
  <compiler angle="radian"/>
  <default> <geom solref="0.03 1.5" solimp="0.8 0.95 0.01" friction="0.9 0.02 0.003"/> </default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" quat="0.99 0.03 0.04 0" margin="0.01" gap="0.05"
          friction="0.7 0.01 0.001"/>
    <site name="ground" type="ellipsoid" size="2 2 0.3"/>
    <site name="big" type="box" size="0.4 3 3" pos="0.2 0 0"/>
    <body name="post" pos="-0.6 0 0.3">
      <geom type="box" size="0.1 0.1 0.05" contype="0" conaffinity="0" mass="0.7"/>
      <site name="post" type="cylinder" size="0.4 0.3" quat="0.9 0.1 0.2 0.3"/>
      <body name="rail" pos="0 0.1 0.1"> <joint name="rail" type="slide" axis="1 0 0.1"
            range="-0.1 0.02" frictionloss="0.4" damping="1"/> <geom size="0.05" mass="0.5"/>
        <body name="held" pos="0.2 0 0"> <joint name="held" type="ball" damping="0.1"/>
          <geom type="capsule" size="0.03 0.1" mass="0.4"/> </body> </body>
    </body>
    <body name="base" pos="0 0 0.134" quat="0.99 0.05 -0.03 0.1">
      <freejoint/>
      <geom name="base" type="box" size="0.2 0.15 0.05" mass="2"/>
      <site name="base" type="box" size="0.3 0.3 0.3" pos="0.05 0.02 0" quat="0.8 0.2 -0.1 0.3"/>
      <body name="leg" pos="0.15 0.05 -0.03">
        <joint name="knee" axis="0 1 0.2" range="-0.4 0.4" damping="0.3"/>
        <geom name="leg" type="capsule" size="0.05" fromto="0 0 0 0.3 0.05 -0.12" condim="4"
              friction="1 0.03 0.004"/>
        <site name="leg" type="sphere" size="0.25" pos="0.2 0 -0.05" quat="0.7 0.3 -0.4 0.2"/>
      </body>
    </body>
    <body name="stone" pos="0.3 0.07 0.17"> <freejoint/>
      <geom name="stone" type="sphere" size="0.07" mass="0.6" condim="6"/>
      <site name="stone" type="capsule" size="0.05 0.1" quat="0.6 0.3 0.4 0.2"/> </body>
    <body pos="-0.1 0.6 0.11"> <freejoint/> <geom name="near" size="0.05" gap="0.02"/> </body>
  </worldbody>
  <equality>
    <connect body1="rail" body2="base" anchor="0.4 0 -0.1" solref="0.03 1"/>
    <weld body1="held" body2="post" relpose="0.2 0.1 0.12 0.98 0.1 0.1 0" torquescale="0.4"/>
  </equality>
  <actuator> <motor joint="knee" gear="2"/> <position joint="rail" kp="30"/> </actuator>
  <sensor> {" ".join(sensors())} </sensor>
</mujoco>"""
INPUTS = ("ctrl", "xfrc_applied")


def error(got, expected):
    assert got.shape == expected.shape
    return np.abs(got - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1)


def tight(model):
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.iterations = 0, 200
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-13, 500
    return model


class Case:
    """States of a model, and what MuJoCo makes of them."""

    def __init__(self, model, inputs, states):
        self.model, self.x, self.u, self.data = tight(model), [], [], []
        for d in states(model):
            self.add(d, inputs)
        self.x, self.u = np.array(self.x), np.array(self.u)
        self.robot = cy.from_mujoco(model, inputs=inputs)

    def add(self, d, inputs):
        at = mujoco.MjData(self.model)
        for name in ("qpos", "qvel", "act", *inputs):
            getattr(at, name)[:] = getattr(d, name)
        mujoco.mj_forward(self.model, at)
        self.x.append(np.concatenate([at.qpos, at.qvel, at.act]))
        self.u.append(np.concatenate([getattr(at, name).ravel() for name in inputs]))
        self.data.append(at)

    def contact_force(self, row):
        d = self.data[row]
        force = np.zeros((d.ncon, 6))
        for i in range(d.ncon):
            mujoco.mj_contactForce(self.model, d, i, force[i])
        return force


def run(model, steps=200, every=20):
    """States of MuJoCo's own run under random controls."""
    rng = np.random.default_rng(1)
    d = mujoco.MjData(model)
    for i in range(steps):
        d.ctrl[:] = 0.5 * rng.normal(size=model.nu)
        if i % every == every - 1:
            yield d
        mujoco.mj_step(model, d)


def nearby(model, rows=8):
    """States near the reference, under random inputs."""
    rng = np.random.default_rng(2)
    for _ in range(rows):
        d = mujoco.MjData(model)
        mujoco.mj_integratePos(model, d.qpos, 2e-3 * rng.normal(size=model.nv), 1)
        d.qvel[:] = 0.2 * rng.normal(size=model.nv)
        d.ctrl[:] = 0.5 * rng.normal(size=model.nu)
        d.xfrc_applied[1:] = 0.2 * rng.normal(size=(model.nbody - 1, 6))
        yield d


def check_contacts(case, f):
    counts = [d.ncon for d in case.data]
    assert f.contacts.count.tolist() == counts
    assert f.contacts.dist.shape == (len(counts), max(counts))
    for row, d in enumerate(case.data):
        n, got = d.ncon, [a[row] for a in f.contacts[:5]]
        assert np.array_equal(got[4][:n], d.contact.geom.reshape(n, 2))
        assert error(got[0][:n], d.contact.pos.reshape(n, 3)) <= TOLERANCE
        assert error(got[1][:n], d.contact.frame.reshape(n, 3, 3)) <= TOLERANCE
        assert error(got[2][:n], d.contact.dist.reshape(n)) <= TOLERANCE
        assert error(got[3][:n], case.contact_force(row)) <= TOLERANCE
        assert (got[4][n:] == -1).all() and not any(a[n:].any() for a in got[:4])


def check_against_mujoco(case):
    """Returns the kinds of sensors that were compared."""
    f = cy.forward(case.robot, case.x, case.u)
    assert error(f.qacc, np.array([d.qacc for d in case.data])) <= TOLERANCE
    check_contacts(case, f)
    kinds = set()
    for name, got in f.sensors.items():
        i = int(name[1:]) if name.startswith("#") else case.model.sensor(name).id
        at = slice(case.model.sensor_adr[i], case.model.sensor_adr[i] + case.model.sensor_dim[i])
        expected = np.array([d.sensordata[at] for d in case.data])
        kind = mujoco.mjtSensor(case.model.sensor_type[i]).name
        assert error(got, expected) <= TOLERANCE, (kind, name)
        kinds.add(kind)
    return kinds


def felt(cone, rows=8):
    model = mujoco.MjModel.from_xml_string(XML.replace("CONE", cone))
    return Case(model, INPUTS, lambda model: nearby(model, rows))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_sensors_of_forces_and_contacts_equal_mujocos(cone):
    case = felt(cone)
    assert max(d.ncon for d in case.data) >= 4
    assert any((d.contact.efc_address < 0).any() for d in case.data)  # within a gap
    kinds = check_against_mujoco(case)
    assert {"mjSENS_TOUCH", "mjSENS_FORCE", "mjSENS_TORQUE", "mjSENS_CONTACT"} <= kinds
    seen = cy.observe(case.robot, case.x, case.u)
    assert len(seen.slices) == case.model.nsensor
    assert np.abs(seen.values).max(axis=0).min() == 0  # slots without a contact show zeros


NAMES = ["gymnasium/hopper", "gymnasium/ant", "gymnasium/humanoid", "dm_control/humanoid",
         "dm_control/walker", "dm_control/cheetah", "dm_control/stacker", "dm_control/finger"]


@pytest.mark.parametrize("name", NAMES)
def test_what_follows_from_a_state_in_contact_equals_mujocos(name):
    if name not in models.MODELS:
        pytest.skip("the package is not here")
    case = Case(mujoco.MjModel.from_xml_path(str(models.MODELS[name])), ("ctrl",), run)
    check_against_mujoco(case)


def along(loss, values, direction, h):
    """The derivative along a direction, extrapolated from two central differences."""
    def difference(h):
        return (loss(values + h * direction) - loss(values - h * direction)) / (2 * h)
    return (4 * difference(h / 2) - difference(h)) / 3


# The solver stops at 1e-10 of forces that add up to 1e4: differences know 1e-6 / 1e-5 of slopes of
# 1e3 to 1e7. Dual numbers hold the same code to 1e-8 (contact_sensor_test.cpp).
GRADIENT = 1e-4
STEP = 1e-5
PARAMS = ("body:leg.mass", "body:leg.com", "geom:leg.size", "geom:leg.friction",
          "geom:floor.solref", "geom:stone.solimp", "site:leg.pos", "site:leg.quat",
          "option.gravity", "equality:#0.data", "equality:#1.data", "joint:knee.damping",
          "geom:floor.margin", "body:post.pos")


def check_gradient(run, x, u, params, g):
    """run(x, u, params) is a loss and g its gradient: held to differences along directions."""
    rng = np.random.default_rng(6)

    def hold(what, got, loss, values):
        directions = rng.normal(size=(3, *np.shape(values)))
        expected = np.array([along(loss, values, d, STEP) for d in directions])
        found = np.array([(got * d).sum() for d in directions])
        assert np.abs(found - expected).max() <= GRADIENT * np.abs(expected).max() + 1e-6, what
        assert np.abs(expected).max() > 1e-4, what

    hold("x", g.x, lambda v: run(v, u, params), x)
    hold("controls", g.controls, lambda v: run(x, v, params), u)
    for name, value in params.items():
        hold(name, g.params[name], lambda v: run(x, u, params | {name: v}), np.asarray(value))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_the_gradient_of_what_is_felt_equals_differences(cone):
    case = felt(cone, rows=2)
    robot, x, u = case.robot, case.x, case.u
    all_params = robot.parameters.unpack(robot.parameters.default)
    params = {name: all_params[name] for name in PARAMS}
    seen = cy.observe(robot, x, u, params=params)
    weights = np.random.default_rng(3).normal(size=seen.values.shape)

    def loss(x, u, params):
        return float((weights * cy.observe(robot, x, u, params=params).values).sum())

    check_gradient(loss, x, u, params, seen.pullback(weights))


def test_the_gradient_of_accelerations_in_contact_equals_differences():
    case = felt("elliptic", rows=2)
    robot, x, u = case.robot, case.x, case.u
    params = {"body:leg.mass": 0.9, "geom:leg.friction": [1.0, 0.03, 0.004]}
    f = cy.forward(robot, x, u, params)
    weights = np.random.default_rng(4).normal(size=f.qacc.shape)

    def loss(x, u, params):
        return float((weights * cy.forward(robot, x, u, params).qacc).sum())

    check_gradient(loss, x, u, params, f.pullback(qacc=weights))


def test_without_constraints_nothing_is_felt():
    model = mujoco.MjModel.from_xml_string(XML.replace("CONE", "elliptic"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    case = Case(model, INPUTS, nearby)
    check_against_mujoco(case)
    assert cy.forward(case.robot, case.x).contacts.dist.shape == (8, 0)


BALL = """<mujoco> <worldbody> <geom type="plane" size="1 1 1"/> <site name="world"/>
    <body name="b" pos="0 0 0.099"> <freejoint/> <geom name="ball" size="0.1" mass="2"/>
    <site name="s" size="0.2"/> </body> </worldbody>
    <sensor> <touch name="touch" site="s"/> <torque name="twist" site="world"/>
    <contact name="where" geom1="ball" data="pos normal"/> </sensor> </mujoco>"""


def test_contacts_are_shaped_like_the_batch():
    ball = cy.load(BALL)
    x = np.tile(ball.initial_state(), (2, 3, 1))
    x[1, :, 2] = 1
    f = cy.forward(ball, x)
    assert f.contacts.pos.shape == (2, 3, 1, 3) and f.contacts.frame.shape == (2, 3, 1, 3, 3)
    assert f.contacts.count.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert f.contacts.geoms[0, 0].tolist() == [[0, 1]]
    assert f.contacts.geoms[1, 0].tolist() == [[-1, -1]]
    assert f.contacts.frame[0, 0, 0, 0] == pytest.approx([0, 0, 1])
    assert f.contacts.dist[0, 0] == pytest.approx([-0.001])
    assert f.sensors["touch"][0, 0] == pytest.approx(f.contacts.force[0, 0, 0, :1])
    assert f.sensors["where"][0, 0] == pytest.approx([0, 0, -0.0005, 0, 0, -1])
    assert repr(f.contacts) == "<Contacts: [[1, 1, 1], [0, 0, 0]]>"
    with pytest.raises(cy.ModelError, match="twist.*torque on the world"):
        cy.observe(ball, x, names="twist")
    single = cy.forward(cy.load(BALL, dtype="float32"), x[0, 0])
    assert single.contacts.force.dtype == np.float32 and single.contacts.geoms.dtype == np.int64


def test_a_heap_of_many_geoms_is_seen_whole():
    """More pairs than are tested one by one: a sweep finds those that are near."""
    draw = np.random.default_rng(7)
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom size="0.1"/></body>'
        for x, y, z in draw.uniform(0, 0.6, size=(45, 3))
    )
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>
      <worldbody><geom type="plane" size="5 5 1"/>{bodies}
        <body pos="0.3 0.3 0.7"><freejoint/><geom size="0.1"/><site name="top"/></body></worldbody>
      <sensor><accelerometer site="top"/><touch site="top"/></sensor></mujoco>""")
    model.opt.solver, model.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 0
    model.opt.iterations = 200
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon > 100
    system, x = cy.from_mujoco(model), np.concatenate([data.qpos, data.qvel])
    for seen in (cy.forward(system, x, None), cy.forward(system, np.array([x, x]), None)):
        assert np.all(seen.contacts.count == data.ncon)
        assert models.relative_errors(seen.qacc.reshape(-1, model.nv)[-1:], data.qacc[None]) < 1e-8
    for rows in (x, np.array([x] * 3)):
        values = cy.observe(system, rows).values.reshape(-1, 4)[-1:]
        assert models.relative_errors(values, data.sensordata[None]) < 1e-8
