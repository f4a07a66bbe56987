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
