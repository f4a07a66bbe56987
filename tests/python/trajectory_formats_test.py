"""Runs as NPZ, CSV, MCAP and bags: there and back, resumed, and files that are damaged or newer."""

import json

import numpy as np
import pytest

import cycloid as cy
from cycloid._trajectory_formats import npz_bytes, read_npz
from trajectory_file_test import batch, robot, sampled


@pytest.mark.parametrize("make", [batch, robot, sampled])
def test_npz_has_all_that_hdf5_has(tmp_path, make):
    run = make()
    run.save(tmp_path / "run.npz", seed=5)
    again = cy.open(tmp_path / "run.npz")
    assert again.seed == 5
    for name in ("states", "times", "steps", "x0", "controls", "params"):
        mine, its = getattr(run, name), getattr(again, name)
        assert mine.dtype == its.dtype and mine.shape == its.shape and (mine == its).all(), name
    assert (again.pullback(1.0).x0 == run.pullback(1.0).x0).all()


def test_mcap_has_messages_and_the_run(tmp_path):
    reader = pytest.importorskip("mcap.reader")
    run, path = robot(), tmp_path / "run.mcap"
    run.save(path)
    assert (cy.open(path).states == run.states).all()
    with path.open("rb") as file:
        found = list(reader.make_reader(file).iter_messages(topics=["/states"]))
    assert len(found) == len(run.times)
    last = json.loads(found[-1][2].data)
    assert np.allclose(last["qpos"], run.states[-1, :7]) and len(last["qvel"]) == 6
    assert found[-1][2].log_time == round(1e9 * float(run.times[-1]))
    with pytest.raises(cy.Error, match="batch"):
        batch().save(path)


def test_a_bag_has_messages_and_the_run(tmp_path):
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    typesys = pytest.importorskip("rosbags.typesys")
    run, path = robot(), tmp_path / "run.bag"
    run.save(path, seed=2)
    again = cy.open(path)
    assert (again.states == run.states).all() and again.seed == 2
    assert (again.pullback(1.0).x0 == run.pullback(1.0).x0).all()
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    with rosbag1.Reader(path) as bag:
        found = [row for row in bag.messages() if row[0].topic == "/states"]
        assert {c.topic for c in bag.connections} == {"/states", "/inputs", "/cycloid/run"}
    assert len(found) == len(run.times) and found[-1][1] == round(1e9 * float(run.times[-1]))
    last = store.deserialize_ros1(found[-1][2], found[-1][0].msgtype)
    assert [d.label for d in last.layout.dim] == ["qpos", "qvel"]
    assert (last.data == run.states[-1]).all()
    with pytest.raises(cy.Error, match="batch"):
        batch().save(path)
    with rosbag1.Writer(tmp_path / "other.bag") as bag:
        bag.add_connection("/chatter", "std_msgs/msg/String", typestore=store)
    with pytest.raises(cy.Error, match="no recording of cycloid"):
        cy.open(tmp_path / "other.bag")


def test_a_table_is_read_with_its_system(tmp_path):
    system = cy.systems.pendulum(damping=0.1)
    controls = np.random.default_rng(0).normal(size=(40, 1))
    run, path = cy.rollout(system, [1.0, 0.0], controls, t0=2.0), tmp_path / "run.csv"
    run.save(path)
    assert path.read_text().splitlines()[0] == "t,angle,angular_velocity,torque"
    again = cy.open(path, system=system)
    assert np.allclose(again.states, run.states, rtol=1e-12) and np.allclose(again.times, run.times)
    with pytest.raises(cy.Error, match="open\\(path, system="):
        cy.open(path)
    with pytest.raises(cy.Error, match="no column 'positions"):
        cy.open(path, system=cy.systems.spring_chain(2))
    with pytest.raises(cy.Error, match="batch"):
        batch().save(path)


def test_a_table_that_is_not_its_run_is_refused(tmp_path):
    system, path = cy.systems.pendulum(damping=0.1), tmp_path / "run.csv"
    controls = np.random.default_rng(0).normal(size=(40, 1))
    cy.rollout(system, [1.0, 0.0], controls, save=10).save(path)  # inputs between rows are lost
    with pytest.raises(cy.Error, match="row 2 .*not in a table"):
        cy.open(path, system=system)
    cy.rollout(system, [1.0, 0.0], controls, {"length": 0.7}).save(path)
    with pytest.raises(cy.Error, match="parameters"):
        cy.open(path, system=system)
    cy.rollout(system, [1.0, 0.0], controls, times=[0.0, 0.103, 0.25]).save(path)
    with pytest.raises(cy.Error, match="whole number of steps"):
        cy.open(path, system=system)
    still = cy.rollout(system, [0.0, 0.0], 40, save=10)
    still.save(path)
    assert (cy.open(path, system=system).states == still.states).all()


@pytest.mark.parametrize(
    "text, word",
    [
        ("", "no column"),
        ("t,angle,angular_velocity,torque\n0,1,0,0\n", "two rows"),
        ("t,angle,angular_velocity,torque\n0,1,0,x\n0.01,1,0,0\n", "no number"),
        ("t,angle,angular_velocity,torque\n0,1,0,nan\n0.01,1,0,0\n", "not finite"),
        ("t,angle,angular_velocity,torque\n0,1,0,0\n0,1,0,0\n", "do not rise"),
        ("t,angle,angular_velocity,torque\n0,1,0\n0.01,1,0,0\n", "two rows"),
    ],
)
def test_wrong_tables_are_clean_errors(tmp_path, text, word):
    path = tmp_path / "run.csv"
    path.write_text(text)
    with pytest.raises(cy.Error, match=word):
        cy.open(path, system=cy.systems.pendulum())


@pytest.mark.parametrize("kind", ["npz", "mcap", "bag"])
def test_flipped_and_cut_files_are_errors_or_have_no_part_in_it(tmp_path, kind):
    if kind in ("mcap", "bag"):
        pytest.importorskip({"mcap": "mcap", "bag": "rosbags"}[kind])
    run, path, spoiled = sampled(), tmp_path / f"run.{kind}", tmp_path / f"spoiled.{kind}"
    run.save(path)
    whole, errors = path.read_bytes(), 0
    rng = np.random.default_rng(0)
    for k in range(120):
        data = bytearray(whole)
        if k % 3:
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        else:
            data = data[: rng.integers(len(data))]
        spoiled.write_bytes(data)
        try:
            found = cy.open(spoiled)
        except cy.Error:
            errors += 1
        else:
            assert (found.states == run.states).all() and (found.x0 == run.x0).all()
    assert errors > 40  # all that were cut


def test_newer_files_are_clean_errors(tmp_path):
    path = tmp_path / "run.npz"
    sampled().save(path)
    arrays, about = read_npz(path.read_bytes())
    path.write_bytes(npz_bytes((arrays, about | {"schema": 99})))
    with pytest.raises(cy.Error, match="newer release"):
        cy.open(path)
    del arrays["controls"]
    path.write_bytes(npz_bytes((arrays, about)))
    with pytest.raises(cy.Error, match="no dataset 'controls'"):
        cy.open(path)


@pytest.mark.parametrize("kind", ["h5", "npz"])
def test_a_run_from_a_file_goes_on_bit_for_bit(tmp_path, kind):
    system = cy.systems.double_pendulum()
    controls = np.random.default_rng(0).normal(size=(2, 80, 2))
    x0 = np.array([[1.0, 0.5, 0.0, 0.0], [0.3, 0.2, 0.0, 1.0]])
    whole = cy.rollout(system, x0, controls)
    cy.rollout(system, x0, controls[:, :30]).save(tmp_path / f"run.{kind}")
    more = cy.open(tmp_path / f"run.{kind}").resume(controls[:, 30:])
    assert (more.states == whole.states[:, 30:]).all()
    assert np.allclose(more.times, whole.times[30:])
    with pytest.raises(cy.Error, match="not saved"):
        cy.rollout(system, x0, 10, save=[3]).resume(5)


def test_what_cannot_go_on_is_refused():
    truth = cy.systems.pendulum()
    safe = cy.guarded(truth.variant(integrator="euler"), truth, bound=0.05)
    with pytest.raises(cy.Error, match="guarded"):
        cy.rollout(safe, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 10).resume(5)
    run = cy.rollout(truth, [1.0, 1e308], 100, {"damping": 1e300})
    assert run.report.failed
    with pytest.raises(cy.Error, match="failed at step"):
        run.resume(5)


def test_a_scorecard_is_shown_in_a_notebook():
    truth = cy.systems.pendulum()
    card = cy.evaluate(cy.systems.pendulum(damping=0.1), truth, [[1.0, 0.0]], 50, timing=False)
    text = card._repr_html_()
    assert "<pre>" in text and "one_step_error" in text
