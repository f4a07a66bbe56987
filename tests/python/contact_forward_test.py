"""Contacts that cy.forward reports equal MuJoCo's: number, place, frame and force."""

import contact_models as cm
import mujoco
import numpy as np
import pytest

import cycloid as cy

pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about some files

CLOSED_FORM = 1e-6  # of places [m], frames, and forces over the largest of them
DISTANCE = 1e-6  # [m], where GJK and EPA find the contact
# Likewise place, normal and force, where one of the shapes is round: there is one answer then.
SEARCHED = 1e-4
ROUND = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID)
STATES = 25 if cm.LONG else 5  # of each model
ROUNDING = 1e-12  # [m]; whether shapes touch that are as near as this, rounding decides
# What acts on these is limits and tendons; nothing touches.
NOTHING_TOUCHES = (
    *(f"gymnasium/{n}" for n in ("inverted_pendulum", "inverted_double_pendulum")),
    *(f"gymnasium/{n}" for n in ("reacher", "swimmer")),
    *(f"dm_control/{n}" for n in ("ball_in_cup", "cartpole", "reacher")),
)


def contacts_of_mujoco(model, state, control):
    """(geoms, dist, pos, frame, force) of every contact, in MuJoCo's order."""
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
    data.ctrl[:] = control
    mujoco.mj_forward(model, data)
    force = np.zeros((data.ncon, 6))
    for i, row in enumerate(force):
        mujoco.mj_contactForce(model, data, i, row)
    c = data.contact
    return c.geom.copy(), c.dist.copy(), c.pos.copy(), c.frame.reshape(-1, 3, 3).copy(), force


def counts(geoms, dist):
    """{pair: number of contacts}, but for those that rounding decides."""
    clear = np.abs(dist) > ROUNDING
    pairs, numbers = np.unique(np.asarray(geoms)[clear], axis=0, return_counts=True)
    return {tuple(p): n for p, n in zip(pairs.tolist(), numbers)}


@pytest.mark.parametrize("name", [n for n in cm.CHOSEN if n not in cm.UNCONSTRAINED])
def test_contacts_equal_mujocos(name):
    if name in cm.BY_ROUNDING:
        pytest.skip(cm.BY_ROUNDING[name])
    model, states, controls, rows = cm.run(name)
    system, at = cy.from_mujoco(model), np.flatnonzero(rows)
    theirs = {i: contacts_of_mujoco(model, states[i], controls[i]) for i in at}
    touching = [i for i in at if counts(*theirs[i][:2])] or list(at)
    seen = 0
    for i in touching[:: -(-len(touching) // STATES)]:
        geoms, dist, pos, frame, force = theirs[i]
        ours = cy.forward(system, states[i], controls[i]).contacts
        assert counts(ours.geoms, ours.dist) == counts(geoms, dist)
        by_search = np.atleast_1d(cm.by_search(model, geoms))
        unique = ~by_search | np.isin(model.geom_type[geoms], ROUND).any(axis=1)
        force_bound = CLOSED_FORM if not by_search.any() else SEARCHED if unique.all() else np.inf
        # The same order among the contacts of a pair is not part of the contract.
        scale = max(np.abs(force).max(initial=0), 1e-3)
        for k in np.flatnonzero(np.abs(dist) > ROUNDING):
            same = np.flatnonzero((np.asarray(ours.geoms) == geoms[k]).all(axis=1))
            near = same[np.linalg.norm(ours.pos[same] - pos[k], axis=1).argmin()]
            assert abs(ours.dist[near] - dist[k]) <= DISTANCE
            bound = SEARCHED if by_search[k] else CLOSED_FORM
            if unique[k]:
                assert np.abs(ours.pos[near] - pos[k]).max() <= bound
                assert np.abs(ours.frame[near, 0] - frame[k, 0]).max() <= bound
            if not by_search[k]:
                assert np.abs(ours.frame[near] - frame[k]).max() <= bound
            assert np.abs(ours.force[near] - force[k]).max() <= force_bound * scale
            seen += 1
    assert (seen > 0) != (model.ngeom < 2 or name in NOTHING_TOUCHES)
