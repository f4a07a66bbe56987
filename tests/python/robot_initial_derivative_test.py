"""linearise where models start: at initial states, at rest and without control, where springs have
their rest length, speeds and controls are zero and quaternions are the identity.

Of each block of [A B] the derivative is held to extrapolated centred differences of steps. Where a
model has a kink there, differences to both sides disagree; those blocks are listed with their
reason.
"""

import functools

import mujoco
import numpy as np
import pytest

import cycloid as cy
import models

pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about some files

CORPORA = ("gymnasium/", "dm_control/")
LARGEST, SHRINK, SIZES = 1e-3, 0.2, 7  # steps of differences: down to 6e-8
# What both sides may differ by, relative to the largest number of the block, or to 1e-3; rounding
# is 1e-16/6e-8 of numbers near 1. The mean of both sides is then half of it off.
KINK = 1e-5
TOLERANCE = KINK / 2

END = "joints stand exactly at the end of their range, where their limit begins to push"
STAGES = END + "; the stages of RK4, which controls and speeds move, do so too"
FLOOR = "its feet touch the floor at a distance of exactly zero: a contact begins with a jump"
BY_PLACE = ("qpos/qpos", "qvel/qpos")
BY_ALL = tuple(f"{to}/{by}" for to in ("qpos", "qvel") for by in ("qpos", "qvel", "ctrl"))
# {model: {point: (why, blocks)}}: true kinks. "qvel/ctrl" is the change of the step's qvel by ctrl.
KINKS = {
    "gymnasium/hopper": {"initial": (STAGES, BY_ALL), "moving": (END, BY_PLACE)},
    "gymnasium/walker2d": {"initial": (STAGES, BY_ALL), "moving": (END, BY_PLACE)},
    "gymnasium/walker2d_v5": {"initial": (STAGES, BY_ALL), "moving": (END, BY_PLACE)},
    "gymnasium/pusher": {"initial": (END, BY_PLACE), "moving": (END, BY_PLACE)},
    "gymnasium/pusher_v5": {"initial": (END, BY_PLACE), "moving": (END, BY_PLACE)},
    "dm_control/humanoid_CMU": {"initial": (END, BY_PLACE), "moving": (END, BY_PLACE)},
    "dm_control/walker": {"initial": (FLOOR, BY_PLACE), "moving": (FLOOR, BY_PLACE)},
}


@functools.lru_cache(maxsize=None)
def loaded(name):
    """The robot and MuJoCo's model; without constraints where these are not supported."""
    path = str(models.MODELS[name])
    try:
        return cy.load(path), mujoco.MjModel.from_xml_path(path)
    except cy.ModelError:
        return cy.load(path, constraints=False), mujoco.MjModel.from_xml_path(path)


def in_both():
    names = []
    for name in models.MODELS:
        if not name.startswith(CORPORA):
            continue
        try:
            loaded(name)
        except (cy.ModelError, ValueError):  # refused by us or by MuJoCo: not a whole model
            continue
        if loaded(name)[1].nv:
            names.append(name)
    return names


NAMES = in_both()


def points(system, model, name):
    """{what: (state, input)}"""
    draw = np.random.default_rng(len(name))
    start, none = system.initial_state(), np.zeros(system.input_size)
    elsewhere, moving = start.copy(), start.copy()
    mujoco.mj_integratePos(model, elsewhere[: model.nq], draw.uniform(-0.1, 0.1, model.nv), 1)
    moving[model.nq : model.nq + model.nv] = draw.uniform(-0.3, 0.3, model.nv)
    return {"initial": (start, none), "at rest": (elsewhere, none), "moving": (moving, none)}


def moved(model, x, d):
    """The state x, moved by rows d of tangents."""
    nq, nv = model.nq, model.nv
    rows = np.tile(x, (len(d), 1))
    for row, by in zip(rows, d):
        mujoco.mj_integratePos(model, row[:nq], by[:nv], 1)
        row[nq:] += by[nv:]
    return rows


def tangents(model, x, rows):
    """rows of states less the state x."""
    nq, nv = model.nq, model.nv
    d = np.empty((len(rows), 2 * nv + model.na))
    for by, row in zip(d, rows):
        mujoco.mj_differentiatePos(model, by[:nv], 1, x[:nq], row[:nq])
        by[nv:] = row[nq:] - x[nq:]
    return d


def estimates(system, model, x, u):
    """Of [A B]: centred differences, extrapolated, (sizes, ...); and those to either side. Drag,
    v|v|, leaves an error in h in centred differences too.
    """
    nx, nu = 2 * model.nv + model.na, system.input_size
    each, steps = np.eye(nx + nu), LARGEST * SHRINK ** np.arange(SIZES)
    d = np.concatenate([sign * h * each for sign in (1, -1) for h in steps])
    ends = cy.step(system, moved(model, x, d[:, :nx]), u + d[:, nx:])
    change = tangents(model, cy.step(system, x, u), ends)
    change = change.reshape(2, SIZES, nx + nu, nx).swapaxes(2, 3) / steps[:, None, None]
    ahead, back = change[0], -change[1]
    centred = (ahead + back) / 2

    def to_limit(d):  # differences at h and h/5 cancel errors in h, then in h²
        for order in (1, 2):
            d = (5**order * d[1:] - d[:-1]) / (5**order - 1)
        return d

    return to_limit(centred), to_limit(ahead), to_limit(back)


def settled(candidates):
    """Of each number the estimate that agrees best with its neighbour."""
    best = np.abs(np.diff(candidates, axis=0)).argmin(axis=0)
    return np.take_along_axis(candidates, best[None], axis=0)[0]


def blocks(system, model):
    """{"to/from": where in [A B]}"""
    ends = {"qpos": model.nv, "qvel": 2 * model.nv, "act": 2 * model.nv + model.na}
    rows, begin = {}, 0
    for name, end in ends.items():
        rows[name], begin = slice(begin, end), end
    columns = rows | {"ctrl": slice(begin, begin + system.input_size)}
    return {
        f"{to}/{by}": (at, of)
        for to, at in rows.items()
        for by, of in columns.items()
        if at.start < at.stop and of.start < of.stop
    }


def judged(name, point):
    """{block: (error, what both sides differ by)}"""
    system, model = loaded(name)
    x, u = points(system, model, name)[point]
    got = np.hstack(cy.linearise(system, x, u))
    assert np.isfinite(got).all()
    centred, ahead, back = map(settled, estimates(system, model, x, u))
    found = {}
    for block, at in blocks(system, model).items():
        scale = max(np.abs(centred[at]).max(), 1e-3)
        off, apart = np.abs(got[at] - centred[at]).max(), np.abs(ahead[at] - back[at]).max()
        found[block] = float(off / scale), float(apart / scale)
    return found


def test_most_models_are_there():
    assert len(NAMES) >= 25, NAMES
    assert set(KINKS) <= set(NAMES)


@pytest.mark.parametrize("point", ["initial", "at rest", "moving"])
@pytest.mark.parametrize("name", NAMES)
def test_linearise_equals_differences(name, point):
    why, kinks = KINKS.get(name, {}).get(point, ("", ()))
    found = judged(name, point)
    kinked = {block for block, (_, apart) in found.items() if apart > KINK}
    assert kinked <= set(kinks), f"{name}, {point}: {kinked}; listed: {why or 'none'}"
    assert kinked or not kinks, f"{name}, {point}: there is no kink: {why}"
    wrong = {b: e for b, (e, _) in found.items() if b not in kinked and e > TOLERANCE}
    assert not wrong, f"{name}, {point}: {wrong}"


def test_a_wrong_slope_is_seen():
    """The spring of the fish's tail, left out of the reference, is beyond the tolerance."""
    spring = "dm_control/fish"
    system, model = loaded(spring)
    names = [n for n in system.parameters if n.startswith("tendon:") and n.endswith(".stiffness")]
    stiffness = dict.fromkeys(names, 0.0)
    x, u = points(system, model, spring)["initial"]
    with_them = np.hstack(cy.linearise(system, x, u))
    without = np.hstack(cy.linearise(system, x, u, stiffness))
    assert stiffness and np.abs(with_them - without).max() > 0.1
