"""What lies on level ground stays there, for as long as one looks."""

import os

import models
import numpy as np
import pytest
from contact_extremes import box_on_plane

import cycloid as cy

STEPS = 100_000 if os.environ.get("CYCLOID_LONG_TESTS") else 3000
SETTLE = 2000
# What a step's rounding adds to positions of a metre: as if all of it went one way.
ROUNDING = {"float64": 1e-15, "float32": 1e-9}

FOOTED = """<mujoco><worldbody><geom type="plane" size="5 5 1"/>
  <body pos="0 0 0.25"><freejoint/><geom type="box" size="0.3 0.2 0.05"/>
    <geom size="0.05" pos="0.25 0.15 -0.2"/><geom size="0.05" pos="-0.25 0.15 -0.2"/>
    <geom size="0.05" pos="0 -0.15 -0.2"/></body></worldbody></mujoco>"""
SCENES = {"box": box_on_plane(1, "0.9 0.95 0.001 0.5 2"), "three feet": FOOTED}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("name", SCENES)
def test_a_body_at_rest_does_not_drift(name, lanes, dtype):
    system = cy.load(SCENES[name], dtype=dtype)
    x = np.tile(system.initial_state(), (lanes, 1))[() if lanes > 1 else 0]
    x = cy.rollout(system, x, SETTLE, save="last").states[..., 0, :]
    run = cy.rollout(system, x, STEPS, save=STEPS // 10)
    assert not run.report.failed
    place = run.states[..., : system.nq]
    drift = np.abs(place - place[..., :1, :]).max()
    assert drift <= ROUNDING[dtype] * STEPS
    assert np.abs(run.states[..., system.nq :]).max() < (1e-12 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_humanoid_that_lies_comes_to_rest(dtype):
    """It slides into place, slower and slower: soft friction creeps. It neither sinks nor rises,
    and nothing sets it in motion again.
    """
    system = cy.load(models.MODELS["dm_control/humanoid"], dtype=dtype)
    x = system.initial_state()
    x[2], x[3:7] = 0.3, [np.sqrt(0.5), 0, np.sqrt(0.5), 0]
    run = cy.rollout(system, x, STEPS, save=STEPS // 20)
    assert not run.report.failed
    tail = run.states[6:]  # what follows the fall
    assert (0.05 < tail[:, 2]).all() and (tail[:, 2] < 0.2).all()
    speed = np.abs(tail[:, system.nq : system.nq + system.nv]).max(axis=1)
    assert speed.max() < (0.05 if STEPS > 10_000 else 0.5) and speed[-1] < 1e-3 * 1e5 / STEPS
