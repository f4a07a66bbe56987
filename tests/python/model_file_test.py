"""system.save("robot.cym") and cy.load("robot.cym"): compiled models without MuJoCo."""

import struct
import warnings

import numpy as np
import pytest
from fresh_process import PATIENCE, run_script

import cycloid as cy

XML = """
<mujoco model="walker">
  <option timestep="0.004" integrator="implicitfast" cone="elliptic" impratio="2"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction="0.8"/>
    <body name="torso" pos="0 0 0.45"> <freejoint name="root"/>
      <geom name="trunk" type="box" size="0.2 0.1 0.05" mass="3"/> <site name="imu"/>
      <body name="leg" pos="0.1 0 0"> <joint name="hip" axis="0 1 0" range="-60 60" damping="0.2"/>
        <geom name="shin" type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="0.5"/>
        <site name="foot" pos="0 0 -0.4"/> </body>
      <body name="arm" pos="-0.1 0 0"> <joint name="ball" type="ball" stiffness="0.3"/>
        <geom type="cylinder" size="0.03 0.1" pos="0 0 -0.1" mass="0.3"/>
        <site name="hand" pos="0 0 -0.2"/> </body>
    </body>
    <body name="guide" mocap="true" pos="1 0 1"/>
  </worldbody>
  <tendon> <spatial name="cable" stiffness="4" range="0 0.6" limited="true">
    <site site="foot"/> <site site="hand"/> </spatial>
    <fixed name="link"> <joint joint="hip" coef="0.5"/> </fixed> </tendon>
  <equality> <joint joint1="hip" polycoef="0.1 0 0 0 0" solref="0.2 1" active="false"/> </equality>
  <actuator> <position name="turn" joint="hip" kp="20" ctrlrange="-1 1"/>
    <general name="pull" tendon="cable" dyntype="filter" dynprm="0.05" gainprm="3"/> </actuator>
  <sensor> <accelerometer name="felt" site="imu"/> <touch name="sole" site="foot"/>
    <framepos name="place" objtype="body" objname="arm" reftype="body" refname="torso"/>
    <jointpos joint="hip"/> <clock/> <user dim="1"/> </sensor>
  <keyframe> <key name="high" qpos="0 0 1 1 0 0 0 0.2 1 0 0 0" act="0.5"/> </keyframe>
</mujoco>
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "walker.cym"
    cy.load(XML).save(path)
    return path


def runs(system, seed=3):
    """A run and its gradient, of eight environments."""
    draw = np.random.default_rng(seed)
    x = np.tile(system.initial_state("high"), (8, 1)) + 0.01 * draw.normal(size=system.state_size)
    run = cy.rollout(system, x, 0.1 * draw.normal(size=(8, 120, system.input_size)), save=20)
    g = run.pullback(np.ones(run.states.shape))
    return run.states, g.x0, g.controls, g.params


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"dtype": "float32"},
        {"constraints": False},
        {"inputs": ("ctrl", "qfrc_applied", "mocap_pos"), "vary": ("body:leg.mass",)},
    ],
)
def test_a_saved_robot_runs_bit_for_bit_like_the_one_from_xml(saved, keywords):
    first, second = cy.load(XML, **keywords), cy.load(saved, **keywords)
    assert repr(first) == repr(second) and first.vary == second.vary
    assert first.parameters.names == second.parameters.names
    np.testing.assert_array_equal(first.parameters.default, second.parameters.default)
    for a, b in zip(runs(first), runs(second)):
        np.testing.assert_array_equal(a, b)


def test_names_keyframes_and_sensors_are_in_the_file(saved):
    first, second = cy.load(XML), cy.load(str(saved))
    assert second.keyframes == ("high",) and second.name == "walker"
    assert second.observables == first.observables
    np.testing.assert_array_equal(second.control_range, first.control_range)
    x = first.initial_state("high")
    for name in ("felt", "sole", "place", "xpos:arm", "ten_length"):
        a, b = (cy.observe(s, x, names=name).values for s in (first, second))
        np.testing.assert_array_equal(a, b)
    with pytest.raises(cy.Error, match="not supported"):
        cy.observe(second, x, names="#5")


def test_a_saved_robot_saves_again_as_the_same_bytes(saved, tmp_path):
    again = tmp_path / "again.bin"  # known by its first bytes
    cy.load(saved, dtype="float32").save(again)
    assert again.read_bytes() == saved.read_bytes()
    assert cy.load(again).nv == cy.load(saved).nv


def test_without_mujoco_it_loads_and_runs_the_same(saved, tmp_path):
    expected = tmp_path / "expected.npy"
    system = cy.load(XML)
    np.save(expected, cy.rollout(system, system.initial_state("high"), 50).states)
    script = f"""
        import sys
        system = cy.load({str(saved)!r})
        states = cy.rollout(system, system.initial_state("high"), 50).states
        assert (states == np.load({str(expected)!r})).all()
        assert not any("mujoco" in line for line in open("/proc/self/maps"))
        try:
            cy.load("<mujoco/>")
        except cy.ModelError as error:
            print(error)
    """
    hide = """
        import importlib.util, sys
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *a: None if name == "mujoco" else find(name, *a)
        sys.modules["mujoco"] = None
    """
    process = run_script(script, "\n".join(line.strip() for line in hide.splitlines()))
    said, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "pip install mujoco-core" in said


def test_what_was_left_out_is_said_again(tmp_path):
    noslip = XML.replace("<option ", '<option noslip_iterations="2" ')
    with pytest.warns(UserWarning, match="noslip"):
        cy.load(noslip, noslip="ignore").save(tmp_path / "r.cym")
    with pytest.warns(UserWarning, match="noslip_iterations 2. is left out") as said:
        cy.load(tmp_path / "r.cym")
    assert said[0].filename == __file__


def test_constraints_that_were_left_out_stay_away(saved, tmp_path):
    cy.load(XML, constraints=False).save(tmp_path / "r.cym")
    free, same = cy.load(tmp_path / "r.cym"), cy.load(saved, constraints=False)
    for a, b in zip(runs(free), runs(same)):
        np.testing.assert_array_equal(a, b)


def test_files_that_are_no_models_are_refused_by_name(saved, tmp_path):
    good = saved.read_bytes()
    bad = tmp_path / "bad.cym"

    def refused(data, words):
        bad.write_bytes(data)
        with pytest.raises(cy.ModelError, match=rf'cannot read ".*bad.cym" as a model: .*{words}'):
            cy.load(bad)

    refused(b"", "does not begin")
    refused(b"<mujoco/>", "does not begin")
    refused(good[:-5], "cut off")
    refused(good + b"0", "too long")
    refused(good[:8] + struct.pack("<I", 7) + good[12:], "its version is 7, and this release reads")
    refused(good[:500] + bytes([good[500] ^ 1]) + good[501:], "checksum")
    with pytest.raises(FileNotFoundError, match="none.cym"):
        cy.load(tmp_path / "none.cym")
    with pytest.raises(cy.ModelError, match="no regular file"):
        (tmp_path / "folder.cym").mkdir()
        cy.load(tmp_path / "folder.cym")
    robot = cy.load(saved)
    with pytest.raises(FileNotFoundError, match="no folder"):
        robot.save(tmp_path / "none" / "r.cym")
    with pytest.raises(cy.ModelError, match="cannot write"):
        robot.save(tmp_path)
    with pytest.raises(TypeError, match="expected a path"):
        robot.save(3)


def fnv(data, hash=0xCBF29CE484222325):
    for byte in data:
        hash = ((hash ^ byte) * 0x100000001B3) & (2**64 - 1)
    return hash


def test_damaged_files_never_crash_even_with_a_right_checksum(tmp_path):
    small = """<mujoco> <worldbody> <geom type="plane" size="1 1 1"/> <site name="s"/>
      <body> <joint name="j" range="-9 9"/> <geom name="g" size="0.1" pos="0 0 0.09"/>
        <body pos="0 0 0.3"> <joint type="ball"/> <geom size="0.1"/> <site name="t"/> </body>
      </body> </worldbody> <actuator> <position joint="j"/> </actuator>
      <tendon> <spatial> <site site="s"/> <site site="t"/> </spatial> </tendon>
      <sensor> <framepos objtype="site" objname="t"/> <contact geom1="g" data="force"/> </sensor>
      </mujoco>"""
    path = tmp_path / "r.cym"
    cy.load(small).save(path)
    good = path.read_bytes()
    draw = np.random.default_rng(4)
    counts = {"refused": 0, "ran": 0}
    for _ in range(400):
        data = bytearray(good)
        at = int(draw.integers(32, len(data) - 8))
        if draw.integers(2):
            data[at] = int(draw.integers(256))
        else:
            number = int(draw.choice([0, 1, 2, 7, 2**31 - 1, 2**32 - 1]))
            data[at : at + 4] = struct.pack("<I", number)
        data[24:32] = struct.pack("<Q", fnv(data[32:], fnv(data[8:24])))
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                system = cy.load(path)
                cy.rollout(system, np.tile(system.initial_state(), (2, 1)), 3)
                cy.observe(system, system.initial_state())
                counts["ran"] += 1
            except cy.Error:
                counts["refused"] += 1
    assert counts["refused"] > 100 and counts["ran"] > 50, counts
