"""Pictures of rays, orientation servos and limits of balls, held to MuJoCo and to differences; and
every type of sensor that MuJoCo has is either observed or refused with its reason."""

import force_models
import mujoco
import numpy as np
import pytest
from differences import by_differences

import cycloid as cy

FIELDS = "dist dir origin point normal depth"

# A camera with a lens, one with a sensor, one whose rays are parallel, and a site, in a room with
# every shape, a mesh and a terrain.
ROOM = f"""<mujoco> <compiler angle="radian"/>
  <asset> <mesh name="stone" vertex="0 0 0 0.9 0 0 0 0.8 0 0 0 0.7 0.6 0.5 0.6"/>
    <hfield name="hills" nrow="4" ncol="5" size="2 1.5 0.5 0.2"
      elevation="0 .2 .5 .1 .3 .3 1 .4 .2 0 .6 .1 0 .8 .2 .1 .3 .2 .5 .4"/> </asset>
  <worldbody> <geom name="hills" type="hfield" hfield="hills" pos="0 0 -1.5"/>
    <geom name="wall" type="box" size="0.1 3 2" pos="2.4 0 1"/>
    <geom type="plane" size="9 9 1" pos="0 0 -3"/>
    <body pos="-1 0.4 0.2"> <joint axis="1 0 0.2"/> <geom name="log" type="cylinder"
      size="0.4 0.5" quat="0.7 0.2 0.6 0.1"/> </body>
    <body pos="0 1.3 0.3"> <joint axis="0 1 0"/> <geom name="pill" type="capsule" size="0.3 0.4"
      quat="0.8 0.3 0.1 0.2"/> </body>
    <body pos="0.5 -1 0.5"> <freejoint/> <geom name="egg" type="ellipsoid" size="0.5 0.3 0.4"/>
    </body>
    <body pos="0.9 0.3 0.2"> <joint type="ball"/> <geom name="ball" size="0.3" pos="0.1 0 0"/>
    </body>
    <body pos="-0.7 -1 0.4"> <freejoint/> <geom name="stone" type="mesh" mesh="stone"/> </body>
    <body pos="0 0 1.6"> <freejoint/> <geom size="0.1"/>
      <camera name="lens" resolution="5 4" fovy="1.9" quat="0.98 0.1 0.05 -0.1"/>
      <camera name="chip" resolution="4 3" sensorsize="0.013 0.011" focal="0.004 0.006"
        principal="0.005 0.0052" pos="0.1 0 0" quat="0.95 -0.2 0.1 0.1"/>
      <camera name="sheet" resolution="4 4" projection="orthographic" fovy="2.5"
        quat="0.99 0.05 -0.1 0.02"/>
      <site name="down" pos="0.05 0.02 0.1" quat="0.1 0.9 0.3 0.1"/> </body> </worldbody>
  <sensor> <rangefinder camera="lens" data="{FIELDS}"/> <rangefinder camera="chip" data="{FIELDS}"/>
    <rangefinder camera="sheet" data="{FIELDS}"/> <rangefinder site="down" data="{FIELDS}"/>
    <rangefinder camera="lens"/> <rangefinder camera="chip" data="origin depth" cutoff="1.1"/>
  </sensor> </mujoco>"""


def relative(got, expected):
    return np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-3)


def drawn_state(model, data, draw, spread=0.1):
    mujoco.mj_resetData(model, data)
    step = spread * draw.normal(size=model.nv)
    mujoco.mj_integratePos(model, data.qpos, step, 1)
    data.qvel = draw.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    return np.concatenate([data.qpos, data.qvel])


def along(function, x, direction, h):
    return (function(x + h * direction) - function(x - h * direction)) / (2 * h)


def test_pictures_of_rays_equal_mujocos():
    model = mujoco.MjModel.from_xml_string(ROOM)
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(2)
    shown = np.zeros(model.nsensordata, bool)
    for _ in range(6):
        x = drawn_state(model, data, draw)
        seen = cy.observe(robot, x)
        assert seen.values.shape == (model.nsensordata,)
        # Lenses are kept in single precision; how they are multiplied out is seen in its digits.
        np.testing.assert_allclose(seen.values, data.sensordata, rtol=1e-6, atol=1e-6)
        of_lens = slice(0, 5 * 4 * 14)
        np.testing.assert_allclose(
            seen.values[of_lens], data.sensordata[of_lens], rtol=1e-11, atol=1e-11
        )
        shown |= data.sensordata != 0
    assert shown.mean() > 0.9


def test_gradients_of_pictures_equal_differences():
    model = mujoco.MjModel.from_xml_string(ROOM)
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(3)
    given = robot.parameters.unpack(robot.parameters.default)
    chosen = ("size", "pos", "quat", "vertex", "data")
    kinds = ("geom", "mesh", "hfield", "site")
    names = [n for n in given if n.split(":")[0] in kinds and n.endswith(chosen)]
    assert {"mesh:stone.vertex", "hfield:hills.data", "geom:egg.size"} <= set(names)
    compared = 0
    for _ in range(2):
        x = drawn_state(model, data, draw)
        directions = {n: draw.normal(size=np.shape(given[n])) for n in names}
        turn = draw.normal(size=x.shape)

        def at(t, x=x, turn=turn, directions=directions):
            moved = {n: given[n] + t * directions[n] for n in names}
            return cy.observe(robot, x + t * turn, params=moved).values

        slopes = [(at(h) - at(-h)) / (2 * h) for h in (2e-5, 1e-5)]
        steady = np.abs(slopes[0] - slopes[1]) < 1e-6 * (1 + np.abs(slopes[1]))  # no edge is passed
        assert steady.mean() > 0.85
        weights = draw.normal(size=model.nsensordata) * steady
        g = cy.observe(robot, x, params={n: given[n] for n in names}).pullback(weights)
        got = g.x @ turn + sum((g.params[n] * directions[n]).sum() for n in names)
        expected = weights @ (4 * slopes[1] - slopes[0]) / 3
        assert abs(got - expected) < 1e-6 * np.abs(weights * slopes[1]).sum()
        for n in names:
            moves = np.abs(g.params[n]).max() > 0
            compared += moves
    assert compared > 12


SERVOS = """<mujoco> <compiler angle="radian"/> <worldbody> <site name="ground" euler="0.1 0.3 0"/>
  <body> <joint name="ball" type="ball" limited="true" range="0 0.6" margin="0.1"/>
    <geom size="0.1" mass="1" pos="0 0.1 -0.3"/>
    <body pos="0 0.2 0"> <joint name="knee" axis="1 0.2 0" damping="0.1" {held}/>
      <geom size="0.05" pos="0 0.2 0.1" mass="0.4"/> <site name="foot" pos="0 0.1 0"
        euler="0.2 0.3 0.5"/> </body> </body> </worldbody>
  <actuator> <orientation name="hip" joint="ball" kp="3" forcerange="0 {most}"/>
    <orientation name="sole" site="foot" refsite="ground" kp="2"/>
    <motor joint="knee"/> </actuator>
  <sensor> <actuatorpos actuator="hip"/> <actuatorvel actuator="hip"/> <actuatorfrc actuator="hip"/>
    <actuatorpos actuator="sole"/> <actuatorvel actuator="sole"/> <actuatorfrc actuator="sole"/>
    <jointactuatorfrc joint="knee"/> <jointlimitpos joint="ball"/> <jointlimitvel joint="ball"/>
    <jointlimitfrc joint="ball"/> </sensor> </mujoco>"""


@pytest.mark.parametrize("most, held", [(9, ""), (0.8, 'actuatorfrcrange="-0.3 0.3"')])
def test_servos_and_limits_of_balls_equal_mujocos_and_differences(most, held):
    model = mujoco.MjModel.from_xml_string(SERVOS.format(most=most, held=held))
    model.opt.tolerance, model.opt.iterations = 0, 100
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(4)
    names = [*(f"#{i}" for i in range(model.nsensor)), "actuator_force", "qfrc_actuator"]
    given = robot.parameters.unpack(robot.parameters.default)
    chosen = (".gainprm", ".biasprm", ".range", ".quat")
    some = {n: v for n, v in given.items() if n.endswith(chosen)}
    limited = 0
    for _ in range(8):
        x = drawn_state(model, data, draw, 0.5)
        data.ctrl = u = draw.normal(size=model.nu)
        mujoco.mj_forward(model, data)
        seen = cy.observe(robot, x, u, names=names, params=some)
        expected = np.concatenate([data.sensordata, data.actuator_force, data.qfrc_actuator])
        np.testing.assert_allclose(seen.values, expected, rtol=1e-9, atol=1e-9)
        limited += data.sensordata[model.sensor_adr[7]] != 0
        weights = draw.normal(size=seen.values.shape)
        weights[model.sensor_adr[9]] *= 1e-2  # tens of newton metres
        g = seen.pullback(weights)

        def loss(x, u, params, weights=weights):
            return cy.observe(robot, x, u, names=names, params=params).values @ weights

        assert relative(g.x, by_differences(lambda v, u=u: loss(v, u, some), x)) < 1e-6
        assert relative(g.controls, by_differences(lambda v, x=x: loss(x, v, some), u)) < 1e-6
        for n, value in some.items():
            got = by_differences(lambda v, n=n, x=x, u=u: loss(x, u, some | {n: v}), value)
            assert relative(g.params[n], got) < 1e-6, n
    assert 0 < limited < 8


def test_rates_and_joint_forces_of_adhesion_equal_mujocos_and_differences():
    sensors = (
        '<sensor> <actuatorvel actuator="foot"/> <actuatorvel actuator="slow"/>'
        '<actuatorfrc actuator="foot"/> <jointactuatorfrc joint="leg"/> </sensor> </mujoco>'
    )
    xml = force_models.xml("adhesion").replace("</mujoco>", sensors)
    model = mujoco.MjModel.from_xml_string(xml)
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(5)
    names = [*(f"#{i}" for i in range(model.nsensor)), "qfrc_actuator"]
    given = robot.parameters.unpack(robot.parameters.default)
    some = {n: given[n] for n in ("geom:toe1.pos", "geom:toe2.size", "actuator:foot.gainprm")}
    held = 0
    for _ in range(6):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, 2e-3 * draw.normal(size=model.nv), 1)
        data.qvel, data.act = 0.3 * draw.normal(size=model.nv), draw.uniform(size=model.na)
        data.ctrl = u = draw.uniform(0.3, 0.9, size=model.nu)
        mujoco.mj_forward(model, data)
        x = np.concatenate([data.qpos, data.qvel, data.act])
        seen = cy.observe(robot, x, u, names=names, params=some)
        expected = np.concatenate([data.sensordata, data.qfrc_actuator])
        np.testing.assert_allclose(seen.values, expected, rtol=1e-9, atol=1e-9)
        held += expected[0] != 0
        weights = draw.normal(size=seen.values.shape)
        g = seen.pullback(weights)
        turn, push = draw.normal(size=x.shape), draw.normal(size=u.shape)
        along = {n: draw.normal(size=np.shape(v)) for n, v in some.items()}

        def at(t, x=x, u=u, turn=turn, push=push, along=along, weights=weights):
            moved = {n: some[n] + t * along[n] for n in some}
            return weights @ cy.observe(robot, x + t * turn, u + t * push, names, moved).values

        slope = (at(1e-6) - at(-1e-6)) / 2e-6
        got = g.x @ turn + g.controls @ push + sum((g.params[n] * along[n]).sum() for n in some)
        assert abs(got - slope) < 1e-6 * max(abs(slope), 1)
    assert held > 3


# Types that cannot be observed, and what is said about them.
REFUSED = {
    "mjSENS_TACTILE": "sensors of this type",
    "mjSENS_USER": "sensors of this type",
    "mjSENS_PLUGIN": None,  # plugins cannot be loaded
}
EVERY = """<mujoco> <asset> <mesh name="plate" builtin="plate" params="3 3" scale="0.1 0.1 0.1"/>
  </asset> <worldbody> <geom name="floor" type="plane" size="2 2 1"/>
  <camera name="c" pos="0 0 3" resolution="2 2"/> <site name="w" pos="0 0 1"/>
  <body name="a" pos="0 0 0.2"> <joint name="slide" type="slide" range="-1 1"/>
    <geom name="g" size="0.1"/> <site name="s"/>
    <geom name="pad" type="mesh" mesh="plate" contype="0" conaffinity="0" mass="0"/>
    <body pos="0.3 0 0"> <joint name="ball" type="ball"/> <geom name="h" size="0.1"/> </body>
  </body> </worldbody>
  <tendon> <spatial name="t" range="0 1"> <site site="s"/> <site site="w"/> </spatial> </tendon>
  <actuator> <motor name="m" joint="slide"/> <motor tendon="t"/> </actuator> <sensor>
  <touch site="s"/> <accelerometer site="s"/> <velocimeter site="s"/> <gyro site="s"/>
  <force site="s"/> <torque site="s"/> <magnetometer site="s"/> <rangefinder site="s"/>
  <camprojection site="s" camera="c"/> <jointpos joint="slide"/> <jointvel joint="slide"/>
  <tendonpos tendon="t"/> <tendonvel tendon="t"/> <actuatorpos actuator="m"/>
  <actuatorvel actuator="m"/> <actuatorfrc actuator="m"/> <jointactuatorfrc joint="slide"/>
  <tendonactuatorfrc tendon="t"/> <ballquat joint="ball"/> <ballangvel joint="ball"/>
  <jointlimitpos joint="slide"/> <jointlimitvel joint="slide"/> <jointlimitfrc joint="slide"/>
  <tendonlimitpos tendon="t"/> <tendonlimitvel tendon="t"/> <tendonlimitfrc tendon="t"/>
  <framepos objtype="site" objname="s"/> <framequat objtype="site" objname="s"/>
  <framexaxis objtype="site" objname="s"/> <frameyaxis objtype="site" objname="s"/>
  <framezaxis objtype="site" objname="s"/> <framelinvel objtype="site" objname="s"/>
  <frameangvel objtype="site" objname="s"/> <framelinacc objtype="site" objname="s"/>
  <frameangacc objtype="site" objname="s"/> <subtreecom body="a"/> <subtreelinvel body="a"/>
  <subtreeangmom body="a"/> <insidesite site="s" objtype="geom" objname="h"/>
  <distance geom1="g" geom2="h" cutoff="1"/> <normal geom1="g" geom2="h" cutoff="1"/>
  <fromto geom1="g" geom2="h" cutoff="1"/> <contact geom1="g" data="force"/> <e_potential/>
  <e_kinetic/> <clock/> <tactile geom="pad" mesh="plate"/> <user dim="1"/> </sensor> </mujoco>"""


def test_every_type_of_sensor_is_observed_or_refused_with_its_reason():
    model = mujoco.MjModel.from_xml_string(EVERY)
    robot, data = cy.from_mujoco(model), mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    x = np.concatenate([data.qpos, data.qvel])
    met = {name for name, reason in REFUSED.items() if reason is None}
    for i in range(model.nsensor):
        kind = mujoco.mjtSensor(model.sensor_type[i]).name
        met.add(kind)
        if kind in REFUSED:
            with pytest.raises(cy.ModelError, match=REFUSED[kind]):
                cy.observe(robot, x, names=f"#{i}")
            continue
        at = model.sensor_adr[i]
        expected = data.sensordata[at : at + model.sensor_dim[i]]
        np.testing.assert_allclose(cy.observe(robot, x, names=f"#{i}").values, expected, atol=1e-9)
    assert met == {kind for kind in dir(mujoco.mjtSensor) if kind.startswith("mjSENS_")}
