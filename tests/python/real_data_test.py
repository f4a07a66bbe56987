"""Fits of real recordings, held to what SOURCE.md says others reached. Skipped without the data."""

import os

import numpy as np
import pytest
import real_data

LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))
pytestmark = pytest.mark.skipif(
    not real_data.DATA.is_dir(),
    reason=f"there are no recordings in {real_data.DATA}: set CYCLOID_DATA",
)


def test_schmidt_lipson_pendulum():
    outcome = real_data.schmidt_lipson()
    assert outcome.fit.converged
    assert outcome.fit.params["gravity"] == pytest.approx(1.344, rel=0.01)  # g/l in file units
    assert outcome.free_run < 0.035  # a four-parameter fit of the same: 0.028 rad


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_emps_is_better_than_open_loop_simulation_of_its_authors_numbers():
    outcome = real_data.emps()
    assert outcome.fit.params["body:load.mass"] == pytest.approx(95, rel=0.1)
    assert outcome.free_run < 0.0064 and np.isfinite(outcome.one_step)


def test_segments_meet_through_dry_friction():
    outcome = real_data.dfki_simple_pendulum_whole()
    assert outcome.fit.converged and outcome.fit._core["largest_gap"] <= 1e-6
    assert outcome.free_run < 0.12  # over 3.9 s of a swing-up
    mgl = -0.676 * 9.81 * outcome.fit.params["body:rod.com[2]"]
    assert mgl == pytest.approx(3.31, rel=0.05)  # Nm, the static torque of SOURCE.md


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_segments_meet_through_impacts():
    outcome = real_data.contactnets_cube_whole()
    assert outcome.fit.converged and outcome.fit._core["largest_gap"] <= 1e-6
    assert 0.1 < outcome.fit.params["geom:cube.friction[0]"] < 0.35


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_a_pendulum_with_dry_friction_is_foretold_over_a_second():
    outcome = real_data.dfki_simple_pendulum()
    assert outcome.fit.converged
    assert outcome.in_pieces < 0.03 and outcome.free_run < 0.4


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_a_double_pendulum_is_foretold_over_half_a_second():
    assert real_data.dfki_double_pendulum().in_pieces < 0.07


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_silverbox_is_better_than_one_least_squares_step():
    outcome = real_data.silverbox()
    assert outcome.fit.converged and outcome.free_run < 0.0072


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_tanks_that_overflow_are_better_than_linear_models_and_say_what_is_weak():
    outcome = real_data.cascaded_tanks()
    assert outcome.free_run < 0.45 and any("determined" in w for w in outcome.fit.weak)


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_tosses_are_foretold_better_than_by_a_sweep():
    outcome = real_data.contactnets_cube()
    assert outcome.free_run < 0.0303 and outcome.one_step < 0.001
    assert 0.15 < outcome.fit.params["geom:cube.friction[0]"] < 0.3


@pytest.mark.skipif(not LONG, reason="long: CYCLOID_LONG_TESTS")
def test_a_silicone_beam_is_foretold_under_a_load_that_was_not_fitted():
    outcome = real_data.eth_soft_beam()
    assert outcome.fit.converged
    # Published 263,824 Pa, of another mesh and law; this one fits how far it hangs in each case.
    assert outcome.fit.params["young"] == pytest.approx(263_824, rel=0.2)
    assert outcome.one_step < 1e-3  # of 25 mm
    assert outcome.in_pieces < 2.5e-3 and outcome.free_run < 6e-3  # of swings of 37 mm
