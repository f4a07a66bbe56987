"""Loading robots: what is accepted, what is refused, what it leaves alone."""

import os
import pathlib

import mujoco
import numpy as np
import pytest
from fresh_process import PATIENCE, run_script

import cycloid as cy

POLE = """
<mujoco model="pole">
  <worldbody>
    <body name="pole"> <joint name="hinge" axis="0 1 0" damping="0.1"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0 0 -1" size="0.02" mass="1"/> </body>
    <body name="hand" mocap="true"/>
  </worldbody>
  <actuator> <motor joint="hinge"/> <general joint="hinge" dyntype="filter"/> </actuator>
  <keyframe> <key name="up" qpos="3.14"/> <key qvel="2" act="0.5"/> </keyframe>
</mujoco>"""


def test_a_robot_has_the_sizes_of_its_model():
    robot = cy.load(POLE)
    assert isinstance(robot, cy.System)
    assert (robot.nq, robot.nv, robot.na, robot.nu, robot.name) == (1, 1, 1, 2, "pole")
    assert (robot.state_size, robot.tangent_size, robot.input_size) == (3, 3, 2)
    assert robot.state_slices == {"qpos": slice(0, 1), "qvel": slice(1, 2), "act": slice(2, 3)}
    assert robot.input_slices == {"ctrl": slice(0, 2)}
    assert robot.timestep == 0.002 and robot.dtype == np.float64
    assert repr(robot) == "<System pole: 3 states, 2 inputs, dt 2 ms>"


def test_quaternions_make_the_tangent_smaller():
    robot = cy.load(
        '<mujoco> <worldbody> <body> <freejoint/> <geom size="1"/> <body> <joint type="ball"/>'
        '<geom size="1" pos="1 0 0"/> </body> </body> </worldbody>'
        '<option> <flag contact="disable"/> </option> </mujoco>'
    )
    assert (robot.nq, robot.nv, robot.state_size, robot.tangent_size) == (11, 9, 20, 18)
    assert robot.state_units["qpos"] == "m, rad"


def test_the_inputs_are_those_that_were_asked_for():
    names = ("qfrc_applied", "ctrl", "xfrc_applied", "mocap_pos", "mocap_quat")
    robot = cy.load(POLE, inputs=names)
    assert list(robot.input_slices) == list(names)
    assert robot.input_slices["ctrl"] == slice(1, 3) and robot.nu == 2
    assert robot.input_size == 1 + 2 + 6 * 3 + 3 + 4
    pushed = cy.step(cy.load(POLE, inputs="qfrc_applied"), np.zeros(3), [1.0])
    driven = cy.step(cy.load(POLE), np.zeros(3), [1.0, 0.0])
    np.testing.assert_allclose(pushed, driven, atol=1e-15)
    assert cy.load(POLE, inputs=()).input_size == 0


def test_keyframes_are_found_by_name_and_by_index():
    robot = cy.load(POLE)
    assert robot.keyframes == ("up", "")
    np.testing.assert_array_equal(robot.initial_state(), [0, 0, 0])
    np.testing.assert_array_equal(robot.initial_state("up"), [3.14, 0, 0])
    np.testing.assert_array_equal(robot.initial_state(0), [3.14, 0, 0])
    np.testing.assert_array_equal(robot.initial_state(np.int64(1)), [0, 2, 0.5])
    assert cy.load(POLE, dtype="float32").initial_state("up").dtype == np.float32


def test_a_path_may_be_a_str_or_a_pathlib_path(tmp_path):
    for name in ("pole.xml", "a folder with spaces/Stab ähnlich.xml", " <odd> name.xml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(POLE)
        for given in (path, str(path)):
            assert cy.load(given).name == "pole"
    assert cy.load(" \n" + POLE).name == "pole"


def test_meshes_are_read_from_beside_the_file(tmp_path, monkeypatch):
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + ["f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4"]
    (tmp_path / "corner.obj").write_text("\n".join(lines))
    (tmp_path / "model.xml").write_text(
        '<mujoco> <asset> <mesh name="corner" file="corner.obj"/> </asset> <worldbody> <body>'
        '<freejoint/> <geom type="mesh" mesh="corner" density="6000"/> </body> </worldbody>'
        "</mujoco>"
    )
    monkeypatch.chdir("/")
    robot = cy.load(tmp_path / "model.xml")
    np.testing.assert_allclose(robot.parameters["body:#1.mass"], 1000)  # a sixth of a cubic metre
    (tmp_path / "corner.obj").unlink()
    with pytest.raises(FileNotFoundError, match="corner.obj"):
        cy.load(tmp_path / "model.xml")


URDF = """<robot name="arm"> <link name="base"/>
  <link name="rod"> <inertial> <mass value="2"/> <origin xyz="0.5 0 0"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/> </inertial>
    <collision> <geometry> <mesh filename="package://arm/rod.obj"/> </geometry> </collision> </link>
  <joint name="swing" type="continuous"> <parent link="base"/> <child link="rod"/>
    <axis xyz="0 0 1"/> </joint> </robot>"""


def test_a_urdf_is_a_robot_too(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    robot = cy.load(path, constraints=False)  # the mesh has no part in it
    assert (robot.nq, robot.nv) == (1, 1)
    assert robot.parameters["body:rod.mass"] == 2
    # In the plane without gravity: the inertia about the axis is 0.1 + 2 · 0.5².
    pushed = cy.load(path, constraints=False, inputs="qfrc_applied", search_paths=[tmp_path])
    np.testing.assert_allclose(cy.step(pushed, [0, 0], [1.0])[1], 0.002 / 0.6, rtol=1e-12)


def test_an_existing_model_is_read_with_its_options_and_not_kept():
    mj_model = mujoco.MjModel.from_xml_string(POLE)
    mj_model.opt.timestep = 0.01
    mj_model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    mj_model.body("pole").mass[:] = 3
    robot = cy.from_mujoco(mj_model)
    assert robot.timestep == 0.01 and robot.parameters["body:pole.mass"] == 3
    mj_model.opt.timestep = 0.02
    mj_model.body("pole").mass[:] = 7
    data = mujoco.MjData(mj_model)
    del mj_model, data
    assert robot.parameters["option.timestep"] == 0.01 and robot.parameters["body:pole.mass"] == 3
    assert np.isfinite(cy.step(robot, robot.initial_state("up"))).all()


def test_constraints_act_unless_they_are_left_out():
    limited = POLE.replace('name="hinge"', 'name="hinge" limited="true" range="-10 10"')
    x = [1.0, 0.0, 0.0]  # far beyond the limit
    held = cy.step(cy.load(limited), x)
    assert held[1] < -1 and abs(cy.step(cy.load(limited, constraints=False), x)[1]) < 0.5
    mj_model = mujoco.MjModel.from_xml_string(limited)
    assert (cy.step(cy.from_mujoco(mj_model), x) == held).all()


STONE = """<mujoco> <asset> <mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
  </asset> <option {option}/>
  <worldbody> <geom name="floor" type="plane" size="1 1 1"/>
    <body> <freejoint/> <geom name="stone" {shape}/> </body> </worldbody> </mujoco>"""
PLAIN = {"shape": 'size="0.1"', "option": ""}
REFUSED_CONSTRAINTS = [
    ({"shape": 'type="sdf" mesh="wedge"'}, 'geom "stone": a signed distance field'),
    ({"option": 'noslip_iterations="3"'}, "options: the noslip solver"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED_CONSTRAINTS)
def test_constraints_that_are_not_supported_are_refused_by_name(change, words):
    text = STONE.format(**(PLAIN | change))
    with pytest.raises(cy.ModelError, match=f"^{words}.* is not supported;.*constraints=False"):
        cy.load(text)
    with pytest.raises(cy.ModelError, match=words):
        cy.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert cy.load(text, constraints=False).nv == 6


def test_a_model_that_asks_for_noslip_runs_without_it_on_request():
    plain, noslip = (STONE.format(**PLAIN | {"option": o}) for o in ("", 'noslip_iterations="3"'))
    with pytest.warns(UserWarning, match="noslip_iterations 3. is left out") as said:
        robot = cy.load(noslip, noslip="ignore")
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match="noslip"):
        cy.from_mujoco(mujoco.MjModel.from_xml_string(noslip), noslip="ignore")
    x = [0, 0, 0.099, 1, 0, 0, 0, 0.5, 0, 0, 0, 0, 0]  # slides on the floor
    expected = cy.rollout(cy.load(plain, noslip="ignore"), x, 20).states
    assert (cy.rollout(robot, x, 20).states == expected).all()
    with pytest.raises(cy.Error, match='expected "refuse", "ignore"; got .ignored.; did you mean'):
        cy.load(plain, noslip="ignored")


def test_parameters_may_vary_between_environments():
    robot = cy.load(POLE, vary=("body:pole.mass", "joint:hinge.damping"))
    params = {"body:pole.mass": [1.0, 2.0, 3.0], "joint:hinge.damping": [0.1]}
    run = cy.rollout(robot, [1.0, 0, 0], 50, params)
    assert run.states.shape == (3, 51, 3)
    g = run.pullback(np.ones(run.states.shape))
    assert g.params["body:pole.mass"].shape == (3,)
    assert g.params["joint:hinge.damping"].shape == (1,) and g.params["joint:hinge.damping"] != 0
    for mass, states in zip(params["body:pole.mass"], run.states):
        alone = cy.rollout(cy.load(POLE), [1.0, 0, 0], 50, {"body:pole.mass": mass})
        np.testing.assert_allclose(states, alone.states, atol=1e-12)


def load(*arguments, **keywords):
    return lambda: cy.load(*(arguments or (POLE,)), **keywords)


NOWHERE = pathlib.Path("/nowhere/robot.xml")
REFUSALS = [
    (load(NOWHERE), FileNotFoundError, "/nowhere/robot.xml"),
    (load("humanoid"), FileNotFoundError, "humanoid"),
    (load("a\0b"), FileNotFoundError, "zero"),
    (load("\ud800"), FileNotFoundError, "file name"),
    (load(""), cy.ModelError, "empty"),
    (load("<mujoco>"), cy.ModelError, "XML text"),
    (load("<mujoco>\0</mujoco>"), cy.ModelError, "value zero"),
    (load("<mujoco> <bod/> </mujoco>"), cy.ModelError, "bod"),
    (load("<html/>"), cy.ModelError, "html"),
    (load(3), TypeError, "expected a path; got 3"),
    (load(None), TypeError, "expected a path"),
    (load(b"robot.xml"), TypeError, "expected a path"),
    (load(dtype="float16"), cy.Error, 'dtype must be "float64" or "float32"'),
    (load(dtype="double precision"), cy.Error, 'dtype must be "float64" or "float32"'),
    (load(gradient="smooth"), cy.Error, 'gradient: expected "exact", cycloid.FromDistance'),
    (load(gradient=None), cy.Error, 'gradient: expected "exact"'),
    (load(constraints="no"), TypeError, "constraints must be True or False"),
    (load(inputs="control"), cy.ModelError, 'no input is called "control"'),
    (load(inputs=("ctrl", "ctrl")), cy.ModelError, "twice"),
    (load(inputs=3), TypeError, "inputs must be a name"),
    (load(vary="body:pol.mass"), cy.ParameterError, 'did you mean "body:pole.mass"'),
    (load(vary=[3]), TypeError, "vary"),
    (load(search_paths=3), TypeError, "search_paths"),
    (load(search_paths=[3]), TypeError, "search_paths"),
    (lambda: cy.load(POLE).initial_state("upp"), cy.Error, 'did you mean "up"'),
    (lambda: cy.load(POLE).initial_state(""), cy.Error, "no keyframe"),
    (lambda: cy.load(POLE).initial_state(2), cy.Error, "keyframe must be at most 1"),
    (lambda: cy.load(POLE).initial_state(-1), cy.Error, "keyframe must be at least 0"),
    (lambda: cy.load(POLE).initial_state(1.0), TypeError, "a name or an index"),
    (lambda: cy.from_mujoco(POLE), TypeError, "expected a mujoco.MjModel; got builtins.str"),
    (
        lambda: cy.from_mujoco(mujoco.MjData(mujoco.MjModel.from_xml_string(POLE))),
        TypeError,
        "MjData",
    ),
    (lambda: cy.step(cy.load(POLE), np.zeros(2)), cy.Error, r"\(..., 3\), qpos, qvel, act"),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_it_is_refused_with_words(number):
    use, kind, words = REFUSALS[number]
    with pytest.raises(kind, match=words):
        use()


def test_what_mujoco_warns_about_becomes_a_warning(recwarn):
    cy.load(POLE)
    assert not recwarn.list
    old = POLE.replace("<worldbody>", '<compiler settotalmass="2"/> <worldbody>')
    with pytest.warns(UserWarning, match="settotalmass"):
        cy.load(old)


def test_nothing_is_left_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use, kind, _ in REFUSALS:
        with pytest.raises(kind):
            use()
    assert os.listdir(tmp_path) == []


def test_mujoco_is_opened_by_the_first_load_and_never_imported():
    process = run_script(
        f"""
        import sys
        def opened():
            return "libmujoco" in open("/proc/self/maps").read()
        cy.systems.pendulum()
        print(opened())
        robot = cy.load({POLE!r})
        print(opened(), [name for name in sys.modules if "mujoco" in name])
        """
    )
    assert process.communicate(timeout=PATIENCE)[0] == "False\nTrue []\n"


def test_without_the_package_it_says_what_to_install():
    process = run_script(
        f"""
        import importlib.util
        importlib.util.find_spec = lambda name: None
        try:
            cy.load({POLE!r})
        except cy.ModelError as error:
            print(error)
        """
    )
    assert "pip install mujoco-core==4.0.0" in process.communicate(timeout=PATIENCE)[0]


def test_loading_from_several_threads_gives_the_same():
    process = run_script(
        f"""
        from concurrent.futures import ThreadPoolExecutor
        def work(i):
            try:
                cy.load({POLE!r}.replace("hinge", "hinge%d" % i, 1 if i % 2 else -1))
                return "loaded"
            except cy.ModelError as error:
                return "refused"
        with ThreadPoolExecutor(4) as pool:
            print(*pool.map(work, range(40)))
        """
    )
    expected = " ".join("refused" if i % 2 else "loaded" for i in range(40)) + "\n"
    assert process.communicate(timeout=PATIENCE)[0] == expected


POST = """<mujoco> <worldbody> <body name="post" pos="1 0 0"> <geom size="0.1" mass="2"/>
    <site name="top" pos="0 0 1"/> </body> <body mocap="true"/> </worldbody>
    <sensor> <framepos name="top" objtype="site" objname="top"/> </sensor> </mujoco>"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_model_in_which_nothing_moves_has_an_empty_state(dtype):
    robot = cy.load(POST, inputs=("mocap_pos", "mocap_quat"), dtype=dtype)
    assert (robot.nq, robot.nv, robot.state_size, robot.tangent_size) == (0, 0, 0, 0)
    assert robot.initial_state().shape == (0,) and robot.state_slices == {}
    assert cy.step(robot, np.zeros((3, 0))).shape == (3, 0)
    run = cy.rollout(robot, np.zeros((4, 0)), np.ones((5, 7)), memory="1MB")
    assert run.states.shape == (4, 6, 0) and not run.report.failed
    g = run.pullback(np.zeros(run.states.shape))
    assert g.x0.shape == (4, 0) and g.controls.shape == (5, 7)
    assert g.params.shape == robot.parameters.default.shape and not g.params.any()
    A, B = cy.linearise(robot, np.zeros((2, 0)), np.ones(7))
    assert A.shape == (2, 0, 0) and B.shape == (2, 0, 7)
    f = cy.forward(robot, np.zeros((3, 0)), np.ones(7))
    assert f.mass_matrix.shape == (3, 0, 0) and (f.body_pos[:, 1] == [1, 0, 0]).all()
    assert (f.sensors["top"] == [1, 0, 1]).all() and f.energy.shape == (3, 2)
    seen = cy.observe(robot, np.zeros((3, 0)), params={"site:top.pos": [0.0, 0, 1]})
    g = seen.pullback([0, 0, 1.0])
    assert np.array_equal(g.params["site:top.pos"], [0, 0, 3])
    assert cy.inverse_dynamics(robot, np.zeros((3, 0)), np.zeros(0)).tau.shape == (3, 0)
    assert cy.check_gradient(robot, np.zeros(0), 3).ok


def test_a_robot_steps_as_its_model_says():
    hinge = "<mujoco><worldbody><body><joint/><geom size='0.1'/></body></worldbody></mujoco>"
    for keywords in ({"integrator": "dopri5"}, {"dt": 0.01}, {"rtol": 1e-6}):
        with pytest.raises(TypeError, match="keyword argument .*: .* <option integrator="):
            cy.load(hinge, **keywords)
    with pytest.raises(TypeError, match="from_mujoco.* 'atol'.* no tolerance"):
        cy.from_mujoco(None, atol=1e-6)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'$"):
        cy.load(hinge, colour="red")
    run = cy.rollout(cy.load(hinge), [1.0, 0.0], 5)
    assert len(run.events) == 0 and repr(run.events) == "<0 events>"
