"""Trajectories in HDF5 files: there and back, the layout, and files that are damaged or newer."""

import json

import h5py
import numpy as np
import pytest

import cycloid as cy

BOX = """<mujoco model="box"><worldbody><geom type="plane" size="0 0 1"/>
  <body name="box" pos="0 0 1"><freejoint/>
    <geom type="box" size="0.1 0.2 0.3"/></body></worldbody></mujoco>"""


def batch():
    system = cy.systems.pendulum(damping=0.1, vary="length")
    controls = np.random.default_rng(0).normal(size=(40, 1))
    return cy.rollout(
        system, [[1.0, 0.0], [0.5, 0.2]], controls, {"length": [0.5, 1.0]}, save=10, t0=2.0
    )


def robot():
    system = cy.load(BOX, dtype="float32", inputs=("qfrc_applied",))
    pushes = np.full((50, 6), 0.5)
    return cy.rollout(system, system.initial_state(), pushes)


def sampled():
    ball = cy.systems.projectile(drag=0.1)
    return cy.rollout(ball, [0, 0, 0, 3, 0, 4], 100, times=[0.2, 0.333, 0.9])


def varied():
    return cy.rollout(cy.systems.spring_chain(4).variant(0.02, "verlet"), np.ones(8), 30)


@pytest.mark.parametrize("make", [batch, robot, sampled, varied])
def test_a_run_comes_back_with_its_gradient(tmp_path, make):
    run, path = make(), tmp_path / "run.h5"
    run.save(path, seed=7)
    again = cy.open(path)
    assert isinstance(again, cy.Trajectory)
    assert again.seed == 7
    assert again.system.timestep == run.system.timestep
    for name in ("states", "times", "steps", "x0", "controls", "params"):
        mine, its = getattr(run, name), getattr(again, name)
        assert mine.dtype == its.dtype and mine.shape == its.shape and (mine == its).all(), name
    bar = np.random.default_rng(1).normal(size=run.states.shape)
    mine, its = run.pullback(bar), again.pullback(bar)
    assert (mine.x0 == its.x0).all() and np.abs(mine.x0).max() > 0
    assert (mine.controls == its.controls).all()
    assert not again.states.flags.writeable
    assert again.report.failed == [] and len(again.events) == 0
    # A run from a file is saved like any other.
    again.save(path)
    assert (cy.open(path).states == run.states).all() and cy.open(path).seed is None


def test_the_layout_is_the_documented_one(tmp_path):
    run = batch()
    run.save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["states"].shape == (2, 5, 2) and file["controls"].shape == (40, 1)
        assert (file["times"][()] == run.times).all() and (file["steps"][()] == run.steps).all()
        for name in ("states", "times", "steps", "controls", "x0", "params"):
            assert file[name].fletcher32, name
        assert file.attrs["schema"] == 1
        units = json.loads(file.attrs["units"])
        assert units["states"] == {"angle": "rad", "angular_velocity": "rad/s"}
        assert units["times"] == "s" and units["controls"] == {"torque": "N·m"}
        assert json.loads(file.attrs["parameters"])[0] == "length"
        assert json.loads(file.attrs["model"])["recipe"][0] == "pendulum"


def test_what_no_file_can_hold_is_handed_over(tmp_path):
    law = cy.own_law(lambda x, u, p, t, dt: x * (1 - dt), states={"level": 1}, name="decay")
    run = cy.rollout(law, [1.0], 20)
    run.save(tmp_path / "decay.h5")
    with pytest.raises(cy.ModelError, match="system=..."):
        cy.open(tmp_path / "decay.h5")
    assert (cy.open(tmp_path / "decay.h5", system=law).states == run.states).all()
    with pytest.raises(cy.Error, match="state_size 1; 'pendulum' has 2"):
        cy.open(tmp_path / "decay.h5", system=cy.systems.pendulum())


def test_a_run_that_cannot_be_repeated_warns(tmp_path):
    law = cy.own_law(lambda x, u, p, t, dt: x * (1 - dt), states={"level": 1}, name="decay")
    cy.rollout(law, [1.0], 20).save(tmp_path / "decay.h5")
    other = cy.own_law(lambda x, u, p, t, dt: x * (1 + dt), states={"level": 1}, name="growth")
    with pytest.warns(UserWarning, match="has other states"):
        assert cy.open(tmp_path / "decay.h5", system=other).report.failed == []


def test_wrong_files_are_clean_errors(tmp_path):
    path = tmp_path / "run.h5"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        cy.open(path)
    path.write_text("angle,torque\n1,2\n")
    with pytest.raises(cy.Error, match="no recording of cycloid"):
        cy.open(path)
    with h5py.File(path, "w") as file:
        file["x"] = 1
    with pytest.raises(cy.Error, match="no attribute schema"):
        cy.open(path)
    with pytest.raises(TypeError, match="expected a path"):
        cy.open(3)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        batch().save(tmp_path / "none" / "run.h5")
    with pytest.raises(cy.Error, match="cannot write"):
        batch().save(tmp_path)


@pytest.mark.parametrize("schema", [2, 99, "2", 0])
def test_newer_files_are_clean_errors(tmp_path, schema):
    batch().save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        file.attrs["schema"] = schema
    newer = "newer release" if schema in (2, 99) else "expected a number"
    with pytest.raises(cy.Error, match=newer):
        cy.open(tmp_path / "run.h5")


def test_a_dataset_that_is_missing_is_named(tmp_path):
    batch().save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        del file["controls"], file.attrs["digest"]
    with pytest.raises(cy.Error, match="no dataset 'controls'"):
        cy.open(tmp_path / "run.h5")


def test_a_flipped_byte_is_an_error_or_has_no_part_in_it(tmp_path):
    run, path = batch(), tmp_path / "run.h5"
    run.save(path)
    whole = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        first = file["states"].id.get_chunk_info(0).byte_offset
    spoiled = tmp_path / "spoiled.h5"

    def outcome(data):
        spoiled.write_bytes(data)
        try:
            return cy.open(spoiled)
        except cy.Error:
            return None

    for place in (first, first + 9):  # in the states themselves
        data = bytearray(whole)
        data[place] ^= 1
        assert outcome(data) is None
    errors = 0
    for place in np.random.default_rng(0).integers(0, len(whole), 150):
        data = bytearray(whole)
        data[place] ^= 1 << (place % 8)
        found = outcome(data)
        errors += found is None
        if found is not None:
            assert (found.states == run.states).all() and (found.controls == run.controls).all()
    assert errors > 5
    for size in np.linspace(0, len(whole) - 1, 40).astype(int):
        found = outcome(whole[:size])
        assert found is None or (found.states == run.states).all()
