"""`simulate --record`: runs in HDF5 while they go on, read by `cycloid.open`; killed ones, too.

Where the program was built without libhdf5, it says so, and there is no more to test.
"""

import json
import signal
import time

import h5py
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


BOX = """<mujoco model="box"><worldbody><geom type="plane" size="0 0 1"/>
  <body name="box" pos="0 0 0.4"><freejoint/><geom type="box" size="0.1 0.2 0.3"/></body>
  </worldbody></mujoco>"""


def same(one, other):
    """Datasets of two files, but checkpoints, bit for bit."""
    with h5py.File(one) as mine, h5py.File(other) as its:
        assert set(mine) == set(its)
        return all(np.array_equal(mine[k][()], its[k][()]) for k in mine if k != "checkpoint")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("model", ["box.xml", "double_pendulum"])
def test_a_run_goes_on_bit_for_bit(records, how, model):
    (records.folder / "box.xml").write_text(BOX)
    words = ["simulate", model, "--batch", 2, "--every", 300, "--record"]
    process = records.start(*words, "cut.h5", "--steps", 10**9)
    time.sleep(2.5)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert how == signal.SIGKILL or (process.returncode == 130 and "--resume" in said)
    with h5py.File(records.folder / "cut.h5") as file:
        reached = int(file["checkpoint"][:, 0].max())
    assert reached > 1024
    steps = reached + 1500  # ends within a segment
    resumed = records.answer(*words, "cut.h5", "--steps", steps, "--resume")
    assert resumed["resumed_at"] == reached
    whole = records.answer(*words, "whole.h5", "--steps", steps)
    assert resumed["final_state"] == whole["final_state"]
    assert same(records.folder / "cut.h5", records.folder / "whole.h5")
    again = records.answer(*words, "cut.h5", "--steps", steps, "--resume")
    assert again["resumed_at"] == steps and again["final_state"] == whole["final_state"]
    assert cy.open(records.folder / "cut.h5").states.shape[0] == 2


@pytest.mark.parametrize("model, batch", [("box.xml", 2), ("lorenz", 1), ("bouncing_ball", 3)])
@pytest.mark.parametrize("first", [700, 2048, 2500])
def test_a_longer_run_is_the_run_in_one_piece(records, model, batch, first):
    """Rows, inputs and the report, wherever the shorter run ended."""
    (records.folder / "box.xml").write_text(BOX)
    words = ["simulate", model, "--batch", batch, "--every", 300]
    words += ["--set", "restitution=0.999"] if model == "bouncing_ball" else []
    words += ["--record"]
    records.answer(*words, "run.h5", "--steps", first)
    for steps in (first, 4000):  # a complete run stays as it is, and may still become longer
        resumed = records.answer(*words, "run.h5", "--steps", steps, "--resume")
    assert resumed["resumed_at"] == first // (2048 // batch) * (2048 // batch)
    whole = records.answer(*words, "whole.h5", "--steps", 4000)
    for key in ("final_state", "failed", "unsolved", "crowded", "event_counts", "events"):
        assert resumed[key] == whole[key], key
    assert model != "bouncing_ball" or resumed["events"][0]["step"] < first
    assert same(records.folder / "run.h5", records.folder / "whole.h5")
    with h5py.File(records.folder / "run.h5") as file:
        assert file["steps"][()].tolist() == [*range(0, 4000, 300), 4000]


def test_failures_are_reported_with_their_reasons_after_a_resume(records):
    """Euler's method with steps far too long diverges in the first segment of two."""
    words = ["simulate", "double_pendulum", "--batch", 2, "--integrator", "euler", "--dt", 0.2]
    words += ["--record", "run.h5", "--spread", 2, "--seed", 3]
    first = records.run(*words, "--steps", 1100, "--json")
    assert first.returncode == 1, "it was to diverge"
    failed = json.loads(first.stdout)["failed"]
    again = records.run(*words, "--steps", 1100, "--resume", "--json")
    assert json.loads(again.stdout)["failed"] == failed and failed[0]["reason"]


def test_a_text_that_is_empty_is_no_other_run(records):
    """An attribute of no letters has one byte, which counts for none."""
    words = ["simulate", "pendulum", "--record", "run.h5", "--steps"]
    records.answer(*words, 100)
    with h5py.File(records.folder / "run.h5", "r+") as file:
        texts = [name for name, value in file.attrs.items() if isinstance(value, (bytes, str))]
        kept = {name: file.attrs[name] for name in texts}
        assert kept
        for name, text in kept.items():  # as HDF5 pads a text that is shorter than its room
            data = text.encode() if isinstance(text, str) else bytes(text)
            file.attrs.create(name, np.bytes_(data + b"\0"), dtype=f"S{len(data) + 1}")
    assert records.answer(*words, 200, "--resume")["resumed_at"] == 0


def test_a_checkpoint_that_was_cut_off_leaves_the_other(records):
    words = ["simulate", "lorenz", "--record", "run.h5", "--every", 100, "--resume", "--steps"]
    for steps in (2048, 4096):
        records.answer(*words, steps)
    with h5py.File(records.folder / "run.h5") as file:
        newer = int(file["checkpoint"][:, 0].argmax())
        place = file["checkpoint"].id.get_chunk_info_by_coord((newer, 0)).byte_offset
    data = bytearray((records.folder / "run.h5").read_bytes())
    data[place + 20] ^= 1
    (records.folder / "run.h5").write_bytes(data)
    resumed = records.answer(*words, 6144)
    assert resumed["resumed_at"] == 2048
    whole = ["simulate", "lorenz", "--record", "whole.h5", "--every", 100, "--steps", 6144]
    assert resumed["final_state"] == records.answer(*whole)["final_state"]


@pytest.mark.parametrize(
    "words, message",
    [
        (("--seed", 1), "its seed is 0, here it is 1"),
        (("--set", "length=2"), "another run"),
        (("--batch", 5), "another run"),
        (("--every", 3), "another run"),
        (("--push", 0.5), "another run"),
        (("--x", "0.5,0"), "other starts"),
        (("--steps", 5), "has 100 steps already"),
        (("--output", "run.csv"), "a table cannot be resumed"),
    ],
)
def test_a_recording_of_another_run_is_left_alone(records, words, message):
    begin = {"--batch": 2, "--record": "run.h5", "--steps": 100}
    records.answer("simulate", "pendulum", *sum(begin.items(), ()))
    before = cy.open(records.folder / "run.h5").states
    asked = begin | {"--steps": 200} | dict([words])
    done = records.run("simulate", "pendulum", "--resume", *sum(asked.items(), ()))
    assert done.returncode == 2 and message in done.stderr
    assert np.array_equal(cy.open(records.folder / "run.h5").states, before)


def test_only_recordings_go_on(records):
    done = records.run("simulate", "pendulum", "--resume")
    assert done.returncode == 2 and "--resume needs --record FILE" in done.stderr
    (records.folder / "no.h5").write_text("no recording")
    done = records.run("simulate", "pendulum", "--record", "no.h5", "--resume")
    assert done.returncode == 2 and 'cannot go on with "no.h5"' in done.stderr
    assert (records.folder / "no.h5").read_text() == "no recording"
    with h5py.File(records.folder / "other.h5", "w") as file:
        file["x"] = 1
    before = (records.folder / "other.h5").read_bytes()
    done = records.run("simulate", "pendulum", "--record", "other.h5", "--resume")
    assert done.returncode == 2 and "no recording of this release" in done.stderr
    assert (records.folder / "other.h5").read_bytes() == before


def test_all_environments_are_recorded(records):
    records.answer("simulate", "pendulum", "--batch", 5, "--steps", 20, "--record", "all.h5")
    assert cy.open(records.folder / "all.h5").states.shape == (5, 21, 2)


def test_a_place_that_cannot_be_written_is_said(records):
    done = records.run("simulate", "pendulum", "--record", "none/run.h5")
    assert done.returncode == 2 and "cannot write" in done.stderr
