"""`simulate --record`: runs in HDF5 while they go on, read by `cycloid.open`; killed ones, too.

Where the program was built without libhdf5, it says so, and there is no more to test.
"""

import signal
import time

import numpy as np
import pytest

import cycloid as cy

ROBOT = """<mujoco model="arm"><worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05"/></body></worldbody>
  <actuator><motor joint="hinge"/></actuator></mujoco>"""


@pytest.fixture
def records(program):
    """The program, where it can record."""
    done = program.run("simulate", "pendulum", "--steps", 2, "--record", "try.h5")
    if "built without libhdf5" in done.stderr:
        assert done.returncode == 2
        pytest.skip("this program was built without libhdf5")
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("environments", [1, 3])
def test_a_run_of_the_program_comes_back_with_its_gradient(records, environments):
    words = ["--steps", 5000, "--batch", 3, "--environments", environments, "--every", 100]
    words += ["--set", "length=0.7", "--seed", 4, "--record", "run.h5"]
    answer = records.answer("simulate", "pendulum", *words)
    assert answer["recording"] == "run.h5"
    run = cy.open(records.folder / "run.h5")
    lead = (environments,) if environments > 1 else ()
    assert run.states.shape == (*lead, 51, 2)
    assert run.seed == 4
    assert float(run.system.parameters["length"]) == 0.7
    assert run.controls.shape == (*lead, 5000, 1)
    first = run.states if environments == 1 else run.states[0]
    assert first[-1].tolist() == answer["final_state"]
    again = cy.rollout(run.system, run.x0, run.controls, run.params, save=100)
    assert np.allclose(again.states, run.states, atol=1e-9)
    assert np.abs(run.pullback(1.0).x0).max() > 0


def test_robots_and_single_precision(records):
    (records.folder / "arm.xml").write_text(ROBOT)
    words = ["--steps", 300, "--dtype", "float32", "--record", "arm.h5"]
    records.answer("simulate", "arm.xml", *words)
    run = cy.open(records.folder / "arm.h5")
    assert run.states.shape == (301, 2) and run.states.dtype == np.float32
    assert run.system.name == "arm" and run.system.nu == 1
    assert np.isfinite(run.pullback(1.0).x0).all()


def test_a_killed_run_keeps_all_but_its_last_second(records):
    words = ["--steps", 10**9, "--every", 50, "--record", "killed.h5"]
    process = records.start("simulate", "double_pendulum", *words)
    try:
        time.sleep(4)
        process.send_signal(signal.SIGKILL)
        killed = time.time()
    finally:
        process.kill()
        process.wait()
    run = cy.open(records.folder / "killed.h5")
    steps = int(run.steps[-1])
    assert steps > 1000 and run.steps.tolist() == list(range(0, steps + 1, 50))
    assert np.isfinite(run.states).all() and run.controls.shape[0] >= steps
    # A second, and on a busy machine the time of a segment.
    assert killed - (records.folder / "killed.h5").stat().st_mtime < 3
    again = cy.rollout(run.system, run.x0, run.controls[:500], run.params, save=50)
    assert np.allclose(again.states, run.states[:11], atol=1e-6)


def test_an_interrupted_run_is_closed(records):
    process = records.start("simulate", "lorenz", "--steps", 10**9, "--record", "stopped.h5")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    run = cy.open(records.folder / "stopped.h5")
    assert run.steps.size > 1000 and (np.diff(run.steps) == 1).all()


def test_a_place_that_cannot_be_written_is_said(records):
    done = records.run("simulate", "pendulum", "--record", "none/run.h5")
    assert done.returncode == 2 and "cannot write" in done.stderr
