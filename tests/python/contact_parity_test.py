"""With its constraints, one step of ours equals one of MuJoCo's: on robots and in scenes of every
kind of contact, limit, friction and equality.
"""

import contact_models as cm
import models
import mujoco
import numpy as np
import pytest

import cycloid as cy

pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about some files


@pytest.mark.parametrize("name", cm.CHOSEN)
def test_a_step_equals_mujocos(name):
    found = cm.parity(name)
    assert cm.percentile(found.closed_form) <= cm.CLOSED_FORM
    assert cm.percentile(found.searched) <= cm.BY_SEARCH
    assert (found.rows > 0) == (name not in cm.UNCONSTRAINED)
    assert (found.by_rounding > 0) == (name in cm.BY_ROUNDING)


def test_all_convex_pairs_are_seen():
    pairs = [f"{a} on {b}" for a, b in cm.CONVEX]
    for name in pairs if cm.LONG else set(pairs) & set(cm.CHOSEN):
        assert len(cm.parity(name).searched) >= 50, name


def test_only_noslip_is_refused():
    for name in cm.PACKAGES:
        if name not in cm.ALTERED:
            cy.load(models.MODELS[name])
    terrain, noslip = cm.ALTERED
    cy.load(models.MODELS[terrain])
    with pytest.raises(cy.ModelError, match="noslip"):
        cy.load(models.MODELS[noslip])


def test_a_sphere_at_distance_zero_is_a_matter_of_rounding():
    """gymnasium/point: its sphere's centre is as high as its radius, wherever it is."""
    model, states, _, _ = cm.run("gymnasium/point")
    data, seen = mujoco.MjData(model), set()
    for state in states:
        data.qpos = state[: model.nq]
        mujoco.mj_fwdPosition(model, data)
        for contact in data.contact:
            assert abs(contact.dist) <= 1e-16
            seen.add((contact.dist < 0, data.nefc > 0))
    assert seen == {(True, True), (False, False)}


def test_the_limits_can_be_missed():
    """A step of another model is beyond them."""
    model, states, controls, _ = cm.run("sliding")
    v = slice(model.nq, model.nq + model.nv)
    ours = cy.step(cy.from_mujoco(model), states[::100], controls[::100])
    model.geom_friction[:] *= 1 + 1e-4
    theirs = [cm.step_of_mujoco(model, *p).after for p in zip(states[::100], controls[::100])]
    model.geom_friction[:] /= 1 + 1e-4
    change = np.array(theirs)[:, v] - states[::100, v]
    errors = models.relative_errors(ours[:, v] - states[::100, v], change)
    assert cm.percentile(errors) > 100 * cm.CLOSED_FORM
