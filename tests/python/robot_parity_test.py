"""One step of ours equals one of MuJoCo's on the robots of the packages that people use."""

import re

import models
import pytest

import cycloid as cy

# What a step computes in another order rounds differently; the worst robots have masses that differ
# by 1e5, which rounding is multiplied by.
MOST, WORST = 1e-10, 1e-9
FLOAT32 = 1e-4  # of the 95th percentile; a step in float32 rounds at 6e-8
# What may be refused without constraints, and nothing else.
MAY_BE_REFUSED = (
    "a muscle|ellipsoid|wrapping around|slider-crank|body transmission|DC motor|PID|SO3|"
    "integrator implicit|integrator discrete|a flex|plugin|history|plastic|"
    "no degrees of freedom"
)
# Bodies so light, for how fast they are, that float32 holds fewer digits of their accelerations.
TOO_FINE_FOR_FLOAT32 = ("talos_full_v2", "tiago_pro", "quadratic_frictionloss")

CHOSEN = models.chosen()
pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about these files


def parity_or_skip(*arguments, **options):
    try:
        return models.parity(*arguments, **options)
    except cy.ModelError as error:
        assert re.search(MAY_BE_REFUSED, str(error)), error
        pytest.skip(f"refused: {error}")
    except models.Unusable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("integrator", models.INTEGRATORS)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_step_equals_mujocos(name, integrator):
    found = parity_or_skip(name, integrator)
    assert found.most() <= MOST and found.worst() <= WORST, found


@pytest.mark.parametrize("name", CHOSEN)
def test_a_step_in_float32_equals_mujocos(name):
    found = parity_or_skip(name, dtype="float32")
    slack = 30 if any(part in name for part in TOO_FINE_FOR_FLOAT32) else 1
    assert found.most() <= slack * FLOAT32, found


LEAST_SUPPORTED = {"gymnasium": 14, "dm_control": 18, "brax": 11, "mjx": 25, "urdf": 40}


@pytest.mark.parametrize("corpus, least", LEAST_SUPPORTED.items())
def test_enough_of_each_package_is_supported(corpus, least):
    supported = 0
    for name, path in models.MODELS.items():
        if not name.startswith(corpus + "/"):
            continue
        try:
            cy.load(path, constraints=False)
            supported += 1
        except (cy.ModelError, FileNotFoundError):
            pass
    assert supported >= least
