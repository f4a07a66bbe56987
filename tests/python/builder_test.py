"""cy.Builder: robots without XML, the same as those with it."""

import inspect

import numpy as np
import pytest

import cycloid as cy


def pendulum():
    b = cy.Builder("pendulum", timestep=0.005)
    b.body("bob").joint("hinge", axis=(0, 1, 0), damping=0.05).geom(
        type="capsule", fromto=(0, 0, 0, 0, 0, -0.7), size=0.03, mass=1.3
    )
    return b, """
      <mujoco model="pendulum"> <option timestep="0.005"/> <worldbody> <body name="bob">
        <joint name="hinge" axis="0 1 0" damping="0.05"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.7" size="0.03" mass="1.3"/>
      </body> </worldbody> </mujoco>"""


def cart_pole():
    b = cy.Builder("cart_pole", timestep=0.01, integrator="RK4")
    cart = b.body("cart", pos=(0, 0, 0.1))
    cart.joint("rail", type="slide", axis=(1, 0, 0), range=(-1.5, 1.5), limited=True)
    cart.geom(type="box", size=np.array([0.2, 0.1, 0.05]), mass=1.1, contype=0)
    pole = b.body("pole", parent="cart")
    pole.joint("hinge", axis=[0, 1, 0], damping=1 / 300)
    pole.geom(type="capsule", fromto=(0, 0, 0, 0, 0, 0.6), size=0.02, contype=0)
    b.actuator("push", type="motor", joint="rail", gear=10, ctrlrange=(-1, 1))
    return b, f"""
      <mujoco model="cart_pole"> <option timestep="0.01" integrator="RK4"/> <worldbody>
        <body name="cart" pos="0 0 0.1">
          <joint name="rail" type="slide" axis="1 0 0" range="-1.5 1.5" limited="true"/>
          <geom type="box" size="0.2 0.1 0.05" mass="1.1" contype="0"/>
          <body name="pole"> <joint name="hinge" axis="0 1 0" damping="{1 / 300!r}"/>
            <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.02" contype="0"/> </body> </body>
      </worldbody>
      <actuator> <motor name="push" joint="rail" gear="10" ctrlrange="-1 1"/> </actuator>
      </mujoco>"""


def humanoid():
    """Legs and arms on a trunk, with contact, servos, tendons and equalities."""
    flag = {"eulerdamp": False}
    b = cy.Builder("humanoid", integrator="implicitfast", cone="elliptic", flag=flag)
    b.default("joint", damping=0.5, armature=0.01)
    b.default("geom", "limb", density=800, friction=(0.9, 0.01, 0.001))
    b.geom("floor", type="plane", size=(5, 5, 1))
    b.site("hook", pos=(0, 0, 2))
    trunk = b.body("trunk", pos=(0, 0, 1.0)).freejoint("root")
    trunk.geom(type="box", size=(0.1, 0.15, 0.25)).site("imu")
    for side, sign in (("left", 1), ("right", -1)):
        thigh = trunk.body(f"{side}_thigh", pos=(0, 0.1 * sign, -0.3))
        thigh.joint(f"{side}_hip", type="ball", range=(0, 80))
        thigh.geom(type="capsule", fromto=(0, 0, 0, 0, 0, -0.35), size=0.05, class_="limb")
        shin = b.body(f"{side}_shin", parent=thigh, pos=(0, 0, -0.35))
        shin.joint(f"{side}_knee", axis=(0, 1, 0), range=(-150, 0), stiffness=2, springref=-10)
        shin.geom(type="capsule", fromto=(0, 0, 0, 0, 0, -0.3), size=0.04, class_="limb")
        shin.site(f"{side}_foot", pos=(0, 0, -0.34))
        arm = trunk.body(f"{side}_arm", pos=(0, 0.2 * sign, 0.2), euler=(20 * sign, 0, 0))
        arm.joint(f"{side}_shoulder", axis=(0, 1, 0)).geom(
            type="ellipsoid", size=(0.04, 0.04, 0.2), pos=(0, 0, -0.2), class_="limb"
        )
        b.actuator("position", name=f"{side}_servo", joint=f"{side}_knee", kp=40, dampratio=1)
    b.tendon("fixed", name="knees", path={"left_knee": 1, "right_knee": -1}, stiffness=3, damping=1)
    b.tendon("rope", type="spatial", path=["hook", "imu"], range=(0, 1.2), limited=True)
    b.equality("joint", joint1="left_shoulder", joint2="right_shoulder", polycoef=(0, -1, 0, 0, 0))
    b.actuator("general", tendon="rope", dyntype="filter", dynprm=0.1, gainprm=5)
    b.exclude("left_arm", "left_thigh")
    b.sensor("gyro", name="turn", site="imu")
    return b, """
      <mujoco model="humanoid"> <option integrator="implicitfast" cone="elliptic">
          <flag eulerdamp="disable"/> </option>
        <default> <joint damping="0.5" armature="0.01"/>
          <default class="limb"> <geom density="800" friction="0.9 0.01 0.001"/> </default>
        </default>
        <worldbody> <geom name="floor" type="plane" size="5 5 1"/> <site name="hook" pos="0 0 2"/>
          <body name="trunk" pos="0 0 1"> <freejoint name="root"/>
            <geom type="box" size="0.1 0.15 0.25"/> <site name="imu"/>""" + "".join(
        f"""<body name="{side}_thigh" pos="0 {0.1 * sign} -0.3">
              <joint name="{side}_hip" type="ball" range="0 80"/>
              <geom type="capsule" fromto="0 0 0 0 0 -0.35" size="0.05" class="limb"/>
              <body name="{side}_shin" pos="0 0 -0.35">
                <joint name="{side}_knee" axis="0 1 0" range="-150 0" stiffness="2"
                  springref="-10"/>
                <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" class="limb"/>
                <site name="{side}_foot" pos="0 0 -0.34"/> </body> </body>
            <body name="{side}_arm" pos="0 {0.2 * sign} 0.2" euler="{20 * sign} 0 0">
              <joint name="{side}_shoulder" axis="0 1 0"/>
              <geom type="ellipsoid" size="0.04 0.04 0.2" pos="0 0 -0.2" class="limb"/> </body>"""
        for side, sign in (("left", 1), ("right", -1))
    ) + """</body> </worldbody>
        <contact> <exclude body1="left_arm" body2="left_thigh"/> </contact>
        <tendon> <fixed name="knees" stiffness="3" damping="1"> <joint joint="left_knee" coef="1"/>
            <joint joint="right_knee" coef="-1"/> </fixed>
          <spatial name="rope" range="0 1.2" limited="true"> <site site="hook"/> <site site="imu"/>
          </spatial> </tendon>
        <equality> <joint joint1="left_shoulder" joint2="right_shoulder" polycoef="0 -1 0 0 0"/>
        </equality>
        <actuator> <position name="left_servo" joint="left_knee" kp="40" dampratio="1"/>
          <position name="right_servo" joint="right_knee" kp="40" dampratio="1"/>
          <general tendon="rope" dyntype="filter" dynprm="0.1" gainprm="5"/> </actuator>
        <sensor> <gyro name="turn" site="imu"/> </sensor> </mujoco>"""


@pytest.mark.parametrize("model", [pendulum, cart_pole, humanoid])
def test_built_and_written_are_the_same_bit_for_bit(model, tmp_path):
    builder, xml = model()
    built, written = builder.build(), cy.load(xml)
    built.save(tmp_path / "built.cym")
    written.save(tmp_path / "written.cym")
    assert (tmp_path / "built.cym").read_bytes() == (tmp_path / "written.cym").read_bytes()
    draw = np.random.default_rng(1)
    x = np.tile(built.initial_state(), (3, 1))
    x[:, : built.nq] += 0.05 * draw.normal(size=(3, built.nq))
    u = draw.normal(size=(3, 60, built.input_size))
    a, b = (cy.rollout(s, x, u) for s in (built, written))
    np.testing.assert_array_equal(a.states, b.states)
    assert not np.array_equal(a.states[:, 0], a.states[:, -1])
    bar = draw.normal(size=a.states.shape)
    np.testing.assert_array_equal(a.pullback(bar).params, b.pullback(bar).params)
    again = cy.load(builder.xml())
    np.testing.assert_array_equal(cy.rollout(again, x, u).states, a.states)


def test_keywords_of_build_are_those_of_load():
    builder, _ = cart_pole()
    robot = builder.build(
        dtype="float32", constraints=False, inputs=("ctrl", "qfrc_applied"), vary="body:pole.mass"
    )
    assert robot.dtype == np.float32 and robot.input_size == 3 and robot.vary == ("body:pole.mass",)
    assert repr(builder) == "<Builder cart_pole: 2 bodies, 2 joints, 2 geoms, 1 actuator>"
    with pytest.raises(TypeError, match="unexpected keyword argument 'dt'"):
        builder.build(dt=0.1)
    with pytest.raises(cy.ParameterError, match="did you mean"):
        builder.build(vary="body:pole.mas")


def test_build_and_load_have_the_same_keywords():
    load, build = (inspect.signature(f).parameters for f in (cy.load, cy.Builder.build))
    assert list(load)[1:] == list(build)[1:]
    assert all(load[name].default == build[name].default for name in list(load)[1:])


def test_a_builder_goes_on_after_it_has_built():
    builder, _ = pendulum()
    first = builder.build()
    builder.actuator("motor", joint="hinge")
    assert (first.nu, builder.build().nu) == (0, 1)


def test_bodies_outlive_their_builder():
    body = cy.Builder("top").body("disc")
    body.joint(type="free").geom(size=0.1)
    assert body._builder.build().nv == 6


def test_noslip_and_keyframes_and_meshes():
    b = cy.Builder("ball", noslip_iterations=2)
    b.asset("mesh", "wedge", vertex=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    b.world.geom(type="plane", size=(1, 1, 1))
    b.body("stone").freejoint().geom(size=0.1).geom(
        type="mesh", mesh="wedge", contype=0, conaffinity=0
    )
    b.keyframe("high", qpos=(0, 0, 2, 1, 0, 0, 0))
    with pytest.raises(cy.ModelError, match="noslip"):
        b.build()
    with pytest.warns(UserWarning, match="noslip_iterations 2. is left out") as said:
        robot = b.build(noslip="ignore")
    assert said[0].filename == __file__
    assert robot.initial_state("high")[2] == 2


MISTAKES = [
    (lambda b: b.body("x", pose=1), 'body "x": no attribute is called "pose"; did you mean "pos"?'),
    (lambda b: b.body("x", parent="lex"), 'body "x": no body is called "lex"; did you mean "leg"?'),
    (lambda b: b.body("x").joint("j", axs=1), 'joint "j": no attribute is called "axs"; did you '),
    (lambda b: b.body("x").joint("j", axis=(0, 1)), 'joint "j": attribute .axis. does not have'),
    (lambda b: b.body("x").joint("j", axis=(0, 1, 0, 0)), 'joint "j": attribute .axis. has too'),
    (lambda b: b.body("x").joint("j", type="hing"), 'joint "j": invalid keyword: .hing.'),
    (lambda b: b.body("x").geom(size=np.nan), r"finite|nan"),
    (lambda b: b.body("leg"), "repeated name .leg. in body"),
    (lambda b: b.actuator("moter", joint="hip"), 'no actuator is called "moter"; did you mean'),
    (lambda b: b.actuator("m", type="motor", joint="hop"), 'motor "m": no joint is called "hop"'),
    (lambda b: b.actuator("push", joint="hip"), "a name goes with type=: b.actuator..push., type="),
    (lambda b: b.body("world"), "is there already: b.world"),
    (lambda b: b.tendon("spatial", path=["tap"]), 'no site is called "tap"; did you mean "tip"?'),
    (lambda b: b.tendon(path=["tip"]), "tendon: which kind"),
    (lambda b: b.equality("weld", body1="leg", body3="x"), 'weld #0: no attribute is called'),
    (lambda b: b.sensor("gyros", site="tip"), 'no sensor is called "gyros"; did you mean "gyro"'),
    (lambda b: b.default("joint", damp=1), 'no attribute is called "damp"; did you mean'),
    (lambda b: cy.Builder("x", timestp=1), 'option: no attribute is called "timestp"; did'),
    (lambda b: cy.Builder("x", flag={"gravty": False}), "flag: no attribute"),
    (lambda b: b.body("x", parent=cy.Builder("other").body("y")), "another Builder"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_are_named(number):
    mistake, words = MISTAKES[number]
    b = cy.Builder("arm")
    b.body("leg").joint("hip").geom(size=0.1).site("tip")
    with pytest.raises(cy.Error, match=words.replace("?", r"\?")):
        mistake(b)
        b.build()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda b: b.body(3),
        lambda b: b.body("x", parent=3),
        lambda b: b.body("x", pos={"x": 1}),
        lambda b: b.body("x", pos=object()),
        lambda b: b.tendon("spatial", path="tip"),
        lambda b: b.tendon("spatial", path=[3]),
        lambda b: b.actuator("m", type="motor", name="n"),
        lambda b: cy.Builder(7),
        lambda b: cy.Builder("x", compiler="radian"),
    ],
)
def test_what_is_no_attribute_is_a_type_error(mistake):
    with pytest.raises(TypeError):
        mistake(cy.Builder("arm"))
