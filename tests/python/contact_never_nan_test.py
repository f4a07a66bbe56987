"""Whatever the state: finite values and finite gradients, or an environment that is named.

What is far beyond physics may overflow: 32 bits far from the scene, at a million metres a second or
where an equality is violated by as much, and Runge-Kutta, whose stages feed on one another, at such
speeds. Such an environment stands still at its last finite state and is in the report, or has no
gradient and is named by `GradientError`. An environment that the solver could not bring to its
tolerance is in the report, with the residual, and has no gradient either. Nothing else may fail.
"""

import os

import mujoco
import numpy as np
import pytest
from contact_extremes import SCENES, hostile_states, scene

import cycloid as cy

LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))
STATES, CHUNK = (10000, 500) if LONG else (24, 24)
STEPS = 2  # of which the second starts where the first one threw it

# Kinds of states that may overflow.
MAY_OVERFLOW = {"float64": set(), "float32": {"far", "fast", "violated"}}
# In 32 bits a light body with a lever of metres inside a heavy one has no digits left.
TOO_UNEVEN = ("sizes", "masses, pyramids", "masses, ellipses")


def may_overflow(name, model, dtype):
    kinds = set(MAY_OVERFLOW[dtype])
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        kinds.add("fast")
    if dtype == "float32" and name in TOO_UNEVEN:
        kinds |= {"coincident", "parallel", "deep", "any"}
    return kinds


def without_gradient(system, x, bar):
    """Rows of x whose gradient is left out though solved, rows that are not solved, gradients."""
    run = cy.rollout(system, x, STEPS)
    assert not run.report.failed
    unsolved = [u.environment for u in run.report.unsolved]
    g = run.pullback(bar, failed="skip")
    assert not g.x0[unsolved].any()
    left_out = np.flatnonzero(np.abs(g.x0).max(axis=-1) == 0)
    if left_out.size:
        named = r"environment \d+: the (cotangent of|solver stopped short)"
        with pytest.raises(cy.GradientError, match=named):
            run.pullback(bar)
    return np.setdiff1d(left_out, unsolved), unsolved, g


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SCENES)
def test_values_and_gradients_are_finite_or_the_environment_is_named(name, dtype):
    model = scene(name)
    system = cy.from_mujoco(model, dtype=dtype)
    states, kinds = hostile_states(model, name, STATES)
    allowed, moved = may_overflow(name, model, dtype), 0
    for first in range(0, STATES, CHUNK):
        x, kind = states[first : first + CHUNK], kinds[first : first + CHUNK]
        run = cy.rollout(system, x, STEPS)
        assert np.isfinite(run.states).all()
        failed = [f.environment for f in run.report.failed]
        assert all(f.stage and f.body and f.reason for f in run.report.failed)
        good = np.setdiff1d(np.arange(len(x)), failed)
        named, unsolved, g = without_gradient(system, x[good], np.ones(system.state_size))
        for part in (g.x0, g.controls, g.params):
            assert np.isfinite(part).all()
        moved += np.abs(g.x0).max(axis=-1).astype(bool).sum()
        overflowed = {*kind[failed], *kind[good[named]]}
        assert overflowed <= allowed, (overflowed, run.report.failed[:3])
    assert moved > STATES / 2  # a gradient of nothing would be finite


@pytest.mark.parametrize("name", ["shapes, pyramids", "shapes, ellipses", "dm_control/humanoid"])
def test_hostile_states_are_in_contact(name):
    """At least half of those that are not far away, deeply, and with many at once."""
    model = scene(name)
    data, touching, deepest = mujoco.MjData(model), [], 0
    states, kinds = hostile_states(model, name, 64)
    for x, kind in zip(states, kinds):
        data.qpos[:], data.qvel[:] = x[: model.nq], x[model.nq : model.nq + model.nv]
        mujoco.mj_forward(model, data)
        if kind != "far":
            touching.append(data.ncon)
            deepest = min(deepest, data.contact.dist.min(initial=0))
    assert np.mean(np.array(touching) > 0) > 0.5 and max(touching) > 20 and deepest < -0.1
