"""Robots and scenes with their constraints, and how far our step is from MuJoCo's on them.

    python tests/python/contact_models.py [PART OF A NAME ...]

prints a table: the errors of a step, then those of gradients (contact_gradients.py).
"""

import copy
import functools
import itertools
import os
import sys
import warnings
from typing import NamedTuple

import models
import mujoco
import numpy as np
from contact_scenes import CONVEX, SCENES

import cycloid as cy

STEPS = 1000  # of MuJoCo's run
HELD = 20  # steps with the same controls
LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))
EVERY = 1 if LONG else 10  # of these steps is compared

PACKAGES = [n for n in models.MODELS if n.startswith(("gymnasium/", "dm_control/"))]
NAMES = [*PACKAGES, *SCENES]
# Their files are refused, for the height field and for noslip; here they are without.
ALTERED = ("dm_control/quadruped", "dm_control/dog")

# The most that the 95th percentile of a step's errors may be: where MuJoCo finds all contacts in
# closed form, and where it finds one by GJK and EPA.
CLOSED_FORM, BY_SEARCH = 1e-8, 1e-3
# Nothing touches anything on their runs.
UNCONSTRAINED = tuple(
    f"dm_control/{name}"
    for name in ("acrobot", "fish", "lqr", "pendulum", "point_mass", "swimmer")
)
# States at which the last bit of the state decides MuJoCo's own step; here they may be more than
# one in twenty.
BY_ROUNDING = {
    "gymnasium/point": "its sphere touches the floor at a distance of exactly zero",
    "standing cylinder": "which points of the rim touch",
    "cylinder on cylinder": "which points of the rims touch where two discs meet",
    "cylinder on box": "which points of the rim touch where disc and side meet",
}


def in_mujoco(name):
    """MuJoCo's model, whose solver and GJK go on until nothing changes."""
    if name in SCENES:
        model = mujoco.MjModel.from_xml_string(SCENES[name])
    else:
        spec = mujoco.MjSpec.from_file(str(models.MODELS[name]))
        for geom in [g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_HFIELD]:
            spec.delete(geom)
        model = spec.compile()
    # Frames of geoms that differ from their body's by up to 1e-6 it would take for the same.
    model.geom_sameframe[:] = 0
    model.opt.noslip_iterations = 0
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.iterations = 0, 200
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-13, 500
    return model


def state_of(data):
    return np.concatenate([data.qpos, data.qvel, data.act])


_TYPES = {g: int(getattr(mujoco.mjtGeom, f"mjGEOM_{g.upper()}")) for p in CONVEX for g in p}
_CONVEX = {frozenset(_TYPES[g] for g in pair) for pair in CONVEX}


def by_search(model, geoms):
    """Which pairs of geoms (n, 2) MuJoCo leaves to GJK and EPA."""
    return np.array([frozenset(pair) in _CONVEX for pair in model.geom_type[geoms].tolist()], bool)


class Stepped(NamedTuple):
    """One mj_step from a cold start."""

    after: np.ndarray  # the state
    rows: int
    searched: bool  # whether GJK and EPA found a contact


def step_of_mujoco(model, state, control):
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
    data.ctrl[:] = control
    mujoco.mj_step(model, data)
    return Stepped(state_of(data), data.nefc, by_search(model, data.contact.geom).any())


class Run(NamedTuple):
    """States along a run of MuJoCo's, the controls that follow, and the number of rows there."""

    model: mujoco.MjModel
    states: np.ndarray
    controls: np.ndarray
    rows: np.ndarray


@functools.lru_cache(maxsize=None)
def run(name):
    """Random controls, each held for a while; scenes have a push at the start. The run itself stops
    its solver at MuJoCo's default tolerance.
    """
    model = in_mujoco(name)
    controls = np.repeat(models.random_controls(model, name, STEPS // HELD), HELD, axis=0)
    quick = in_mujoco(name)
    quick.opt.tolerance, quick.opt.ccd_tolerance = 1e-8, 1e-6
    data = mujoco.MjData(quick)
    if name in SCENES:
        data.qvel[:] = 0.3 * np.random.default_rng(model.nv).normal(size=model.nv)
    states, rows = [], []
    for control in controls:
        states.append(state_of(data))
        data.ctrl[:] = control
        mujoco.mj_step(quick, data)
        rows.append(data.nefc)
        assert not data.warning.number.any(), name
    return Run(model, np.array(states), controls, np.array(rows))


def decided_by_rounding(model, state, control, change, error):
    """Whether MuJoCo's own change of velocity moves by a tenth of the error or more when the state
    and the places of geoms move by their last bits.
    """
    draw, v = np.random.default_rng(0), slice(model.nq, model.nq + model.nv)
    other = copy.copy(model)
    for _ in range(40):
        moved = state * (1 + 1e-15 * draw.uniform(-1, 1, state.size))
        other.geom_pos = model.geom_pos * (1 + 1e-15 * draw.uniform(-1, 1, model.geom_pos.shape))
        own = step_of_mujoco(other, moved, control).after[v] - moved[v]
        if models.relative_errors(own[None], change[None])[0] > 0.1 * error:
            return True
    return False


class Parity(NamedTuple):
    """Of the steps that were compared: relative errors of the change of velocity."""

    closed_form: np.ndarray  # where all contacts are found in closed form
    searched: np.ndarray  # where GJK and EPA find one
    rows: float  # their mean number
    by_rounding: int  # steps that are left out


def percentile(errors, share=0.95):
    return np.quantile(errors, share) if len(errors) else 0.0


@functools.lru_cache(maxsize=None)
def parity(name):
    """One step of ours against one of mj_step. Of the models in BY_ROUNDING, without the states at
    which rounding decides.
    """
    model, states, controls, _ = run(name)
    states, controls = states[::EVERY], controls[::EVERY]
    theirs = [step_of_mujoco(model, *point) for point in zip(states, controls)]
    after, rows, searched = (np.array(part) for part in zip(*theirs))
    v = slice(model.nq, model.nq + model.nv)
    change = after[:, v] - states[:, v]
    ours = cy.step(cy.from_mujoco(model), states, controls)[:, v] - states[:, v]
    errors = models.relative_errors(ours, change)
    kept = np.ones(len(errors), bool)
    beyond = errors > np.where(searched, BY_SEARCH, CLOSED_FORM)
    for i in np.flatnonzero(beyond) if name in BY_ROUNDING else ():
        kept[i] = not decided_by_rounding(model, states[i], controls[i], change[i], errors[i])
    return Parity(
        errors[kept & ~searched], errors[kept & searched], rows.mean(), int(np.sum(~kept))
    )


# What `make test` takes: each kind of robot, and each kind of constraint.
SAMPLE = (
    "gymnasium/ant",
    "gymnasium/point",
    "gymnasium/walker2d",
    "dm_control/finger",
    "dm_control/humanoid",
    "dm_control/quadruped",
    "dm_control/stacker",
    "stack elliptic",
    "pile of capsules",
    "sliding",
    "sliding elliptic impratio",
    "limits of all",
    "limits direct",
    "friction loss",
    "friction loss of tendons",
    "connect",
    "weld",
    "weld to a hand",
    "joint equalities",
    "tendon equalities",
    "direct solref",
    "solimp",
    "priorities",
    "pairs",
    "margins and gaps",
    "overridden",
    "everything",
    "sphere on ellipsoid",
    "capsule on capsule",
    "cylinder on box",
    "box on box",
)
CHOSEN = NAMES if LONG else SAMPLE


def _cell(errors):
    """The median, the 95th percentile and the worst."""
    if not len(errors):
        return ""
    return f"{np.median(errors):.0e}, {percentile(errors):.0e}, {errors.max():.0e}"


def table(names):
    """In Markdown: of each model the rows of a step, and its errors."""
    yield "| model | rows | closed form | steps by GJK | their errors | left to rounding |"
    yield "|---|---|---|---|---|---|"
    for name in names:
        p = parity(name)
        cells = f"{_cell(p.closed_form)} | {len(p.searched) or ''} | {_cell(p.searched)}"
        yield f"| {name} | {p.rows:.1f} | {cells} | {p.by_rounding or ''} |"


if __name__ == "__main__":
    import contact_gradients

    this = contact_gradients.contact_models  # with the runs that both tables are made from
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    wanted = [n for n in NAMES if not words or any(w in n for w in words)]
    acting = [n for n in wanted if n not in UNCONSTRAINED]
    for line in itertools.chain(this.table(wanted), [""], contact_gradients.table(acting)):
        print(line, flush=True)
