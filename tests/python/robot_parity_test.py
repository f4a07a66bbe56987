"""One step of ours equals one of MuJoCo's, and so do accelerations and forces, on the robots of the
packages that people use.
"""

import re

import models
import numpy as np
import pytest

import cycloid as cy

# What a step computes in another order rounds differently; the worst robots have masses that differ
# by 1e5, which rounding is multiplied by.
MOST, WORST = 1e-10, 1e-9
FLOAT32 = 1e-4  # of the 95th percentile; a step in float32 rounds at 6e-8
# What may be refused without constraints, and nothing else.
MAY_BE_REFUSED = (
    "ellipsoid|armature with wrapping|slider-crank|body transmission|"
    "integrator discrete|a flex|plugin|history|plastic"
)
# Their accelerations are small differences of large terms, of which float32 holds a digit less.
SMALL_DIFFERENCES = ("talos_full_v2", "quadratic_frictionloss")

CHOSEN = models.chosen()
pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about these files


def or_skip(compare, *arguments, **options):
    try:
        return compare(*arguments, **options)
    except cy.ModelError as error:
        assert re.search(MAY_BE_REFUSED, str(error)), error
        pytest.skip(f"refused: {error}")
    except models.Unusable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("integrator", models.INTEGRATORS)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_step_equals_mujocos(name, integrator):
    found = or_skip(models.parity, name, integrator)
    assert found.most() <= MOST and found.worst() <= WORST, found


@pytest.mark.parametrize("name", CHOSEN)
def test_a_step_in_float32_equals_mujocos(name):
    found = or_skip(models.parity, name, dtype="float32")
    slack = 3 if any(part in name for part in SMALL_DIFFERENCES) else 1
    assert found.most() <= slack * FLOAT32, found


@pytest.mark.parametrize("name", CHOSEN)
def test_accelerations_mass_matrices_and_biases_equal_mujocos(name):
    for errors in or_skip(models.forward_parity, name):
        left_out = 2 * models.neglected(name)  # over lengths of a metre
        assert np.quantile(errors, 0.95) <= MOST + left_out and errors.max() <= WORST + left_out


LEAST_SUPPORTED = {"gymnasium": 14, "dm_control": 19, "brax": 11, "mjx": 28, "urdf": 55}


@pytest.fixture(scope="module")
def statuses():
    return {name: models.status(name) for name in models.MODELS}


@pytest.mark.parametrize("corpus, least", LEAST_SUPPORTED.items())
def test_enough_of_each_package_is_supported(corpus, least, statuses):
    own = [found for name, found in statuses.items() if name.startswith(corpus + "/")]
    assert own.count("supported") >= least


def test_the_table_in_the_documentation_is_true(statuses):
    def kind(text):
        return text.split(":")[0]

    listed = models.listed()
    assert {n: kind(s) for n, s in listed.items()} == {n: kind(s) for n, s in statuses.items()}


def test_only_what_is_announced_is_refused(statuses):
    for found in statuses.values():
        if found.startswith("refused"):
            assert re.search(MAY_BE_REFUSED, found), found
