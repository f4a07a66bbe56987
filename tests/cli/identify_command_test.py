"""`cycloid identify` and `plan`: files of every kind, methods, verdicts and pages."""

import json

import numpy as np
import pytest

import cycloid as cy


@pytest.fixture(scope="module")
def swing():
    run = cy.rollout(cy.systems.pendulum(length=0.7), [1.0, 0.0], 200)
    noise = 0.01 * np.random.default_rng(0).normal(size=run.states.shape)
    return cy.Recording(run.times, run.states + noise, sigma=0.01, x0=[1.0, 0.0])


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".h5"])
def test_recordings_of_every_kind_give_the_same_fit(program, swing, tmp_path, suffix):
    if suffix == ".h5":
        pytest.importorskip("h5py", reason="HDF5 is the extra cycloid[record]")
    path = tmp_path / f"run{suffix}"
    swing.save(path, cy.systems.pendulum())
    words = ("identify", "pendulum", path, "--params", "length", "--sigma", "0.01")
    run = program.run(*words, "--json")
    if suffix == ".h5" and "without HDF5" in run.stderr:
        pytest.skip("the program was built without HDF5")
    answer = json.loads(run.stdout)
    assert run.returncode == 0 and answer["converged"]
    own = cy.identify(cy.systems.pendulum(), swing, ["length"])
    assert answer["params"]["length"] == pytest.approx(own.params["length"], abs=1e-5)
    assert answer["std"]["length"] == pytest.approx(own.std["length"], rel=1e-3)
    assert answer["verdict"].startswith("trustworthy")


def test_a_method_may_be_chosen_and_the_verdict_is_on_the_page(program, swing, tmp_path):
    path, page = tmp_path / "run.npz", tmp_path / "fit.html"
    swing.save(path)
    run = program.run(
        "identify", "pendulum", path, "--params", "length", "--method", "lbfgs", "--report", page
    )
    assert run.returncode == 0 and "trustworthy" in run.stdout
    assert "trustworthy" in page.read_text()


def test_broken_archives_are_named(program, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(b"PK but no archive, though long enough for its end")
    run = program.run("identify", "pendulum", path, "--params", "length")
    assert run.returncode != 0 and "run.npz" in run.stderr


def test_a_plan_writes_its_page_and_finds_its_time(program, tmp_path):
    page = tmp_path / "plan.html"
    words = ("plan", "pendulum", "--target", "angle=0.5", "--x", "0,0", "--steps", "40")
    run = program.run(*words, "--report", page, "--json")
    answer = json.loads(run.stdout)
    assert answer["verdict"] and answer["end_time"] == pytest.approx(0.4)
    assert "Plan of pendulum" in page.read_text()
    run = program.run(*words, "--free-time", "0.2,2", "--time-weight", "1", "--json")
    free = json.loads(run.stdout)
    assert 0.2 <= free["end_time"] <= 2 and free["end_time"] != pytest.approx(0.4, rel=1e-3)
    assert program.run(*words, "--free-time", "1").returncode != 0
