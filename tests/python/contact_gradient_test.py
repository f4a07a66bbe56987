"""Gradients through contacts, limits, friction and equalities equal differences, and linearise
equals MuJoCo's mjd_transitionFD.
"""

import copy

import contact_gradients as cg
import contact_models as cm
import mujoco
import numpy as np
import pytest
from contact_scenes import floor, free, scene

import cycloid as cy

pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about some files

MEDIAN, MOST = 1e-6, 1e-4  # of errors; MOST: of the 90th percentile, and of each block's worst
LEFT_OUT = 0.1
# More than a tenth of their differences reach across a switch.
SWITCHING = {
    "gymnasium/point": "its sphere touches the floor at a distance of exactly zero",
    "dm_control/stacker": "a row of a box that lies still lets go within 1e-8 of one of the states",
}
# Blocks there whose differences agree across the switch, all but the shortest.
ACROSS = {"gymnasium/point": {"params.joint.axis"}}
NAMES = [name for name in cm.CHOSEN if name not in cm.UNCONSTRAINED]
# What must be seen to have an effect: state, inputs, and what constraints act through.
BLOCKS = {
    *(f"x0.{block}" for block in ("qpos", "qvel", "act")),
    *(f"controls.{block}" for block in cg.INPUTS),
    *(f"params.body.{field}" for field in ("mass", "com", "inertia", "pos", "quat")),
    *(f"params.joint.{field}" for field in ("pos", "axis", "armature", "range", "frictionloss")),
    *(f"params.geom.{field}" for field in ("pos", "quat", "size", "friction", "margin")),
    *(f"params.{kind}.{field}" for kind in ("geom", "equality") for field in ("solref", "solimp")),
    *(f"params.tendon.{field}" for field in ("coef", "range", "frictionloss")),
    *(f"params.option.{field}" for field in ("gravity", "timestep", "impratio")),
    "params.equality.data",
    "params.site.pos",
    "params.site.quat",
}


@pytest.mark.parametrize("name", NAMES)
def test_gradients_equal_differences(name):
    found = cg.gradients(name)
    errors, left_out = found.errors(), found.left_out() / len(found.compared)
    assert np.median(errors) <= MEDIAN and np.quantile(errors, 0.9) <= MOST
    assert left_out <= LEFT_OUT or name in SWITCHING, left_out


def beyond(compared):
    """{block: its worst error}, of those beyond what they may be: no block hides among others."""
    return {
        block: worst
        for block, own in cg.grouped(compared).items()
        if (worst := max((c.error for c in own if not c.left_out()), default=0.0)) > MOST
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_block_equals_differences(name):
    found = cg.gradients(name).compared
    assert beyond(found).keys() <= ACROSS.get(name, set())
    judged = {c.block for c in found if not c.left_out()}
    assert judged == {c.block for c in found} or name in SWITCHING


def test_a_forgotten_field_is_seen():
    """A parameter field whose gradient were zero would be beyond, alone among the blocks."""
    found = cg.gradients("everything").compared
    acting = {c.block for c in found if abs(c.gradient) > 1e-3 and c.block.startswith("params.")}
    assert len(acting) > 10
    for field in acting:
        own = [c for c in found if c.block == field]
        scale = dict.fromkeys(cg.HORIZONS, 1e-3)
        for c in own:
            scale[c.horizon] = max(scale[c.horizon], abs(c.gradient))
        forgotten = [
            c._replace(error=abs(c.gradient) / scale[c.horizon]) for c in own
        ]
        assert set(beyond([*forgotten, *(c for c in found if c.block != field)])) == {field}


@pytest.mark.parametrize("name", NAMES)
def test_constraints_change_the_step(name):
    if name != "gymnasium/point":  # where it touches, it does not press
        assert min(cg.gradients(name).effects) > 0.1


def test_little_is_left_out_and_everything_acts():
    blocks = cg.by_block(NAMES)
    found = [c for own in blocks.values() for c in own]
    assert sum(c.left_out() for c in found) <= LEFT_OUT * len(found)
    acting = {name for name, own in blocks.items() if max(abs(c.gradient) for c in own) > 1e-4}
    assert BLOCKS <= acting, BLOCKS - acting
    assert not any(c.gradient for c in blocks.get("params.geom.gap", ()))  # it moves no force


def test_the_limits_can_be_missed():
    """A gradient that leaves out one part in a thousand is beyond them."""
    case = cg.ContactCase("everything", 0)
    loss = cg.Loss(case, 10)
    direction = np.zeros((1, case.x.size))
    direction[0, case.system.state_slices["qpos"]] = case.numbers(case.model.nq)
    estimates = cg.differences(loss, "x", case.x, direction)
    (off,) = cg.judged("x0.qpos", 10, 0.999 * direction @ loss.g.x0, estimates)
    assert not off.left_out() and off.error > 5 * MOST


def test_what_the_solver_does_not_notice_is_judged_by_larger_steps():
    """A slope below a dead zone, as a force below the solver's tolerance makes it: the right
    gradient passes, one that is off is seen, and so is one too large to be missed.
    """

    def judge(got, slope, dead):
        def estimates(largest, sizes):
            def ends(s):
                return np.where(np.abs(s) < dead, 0, slope * s)[:, None]

            return cg.extrapolated(ends, largest, sizes)

        got = np.array([got])
        found = cg.heard(
            got,
            estimates(cg.LARGEST, cg.SIZES),
            lambda which: estimates(cg.LOUDER * cg.LARGEST, 3),
        )
        (compared,) = cg.judged("x0", 1, got, found, cg.LOUDER * cg.LARGEST)
        return compared

    for slope, dead in ((1.3e-5, 5e-5), (3e-6, 3e-4)):  # one of the shorter steps is heard, or none
        right, wrong = judge(slope, slope, dead), judge(1.2 * slope, slope, dead)
        assert not right.left_out() and right.error < 1e-9
        assert not wrong.left_out() and wrong.error > 5 * MOST
    assert judge(1e-2, 0, 0).error > 1  # a gradient, where nothing ever moves
    assert judge(1e-2, 1e-2, 1e-4).error > 0.9 * 10  # silence counts where it would be heard


def test_frictions_that_tie_share_their_gradient():
    system = cy.load(
        scene(floor() + free("box", "0 0 0.0999", 'type="box" size="0.1 0.1 0.1"')),
        vary=("geom:floor.friction", "geom:box.friction"),
    )
    x, at = system.initial_state(), [system.parameters.info(n).offset for n in system.vary]
    x[system.state_slices["qvel"]] = [1, 0.3, 0, 0, 0, 0.2]
    p = np.tile(system.parameters.default, (4, 1))
    p[range(4), np.repeat(at, 2)] += np.tile([1e-6, -1e-6], 2)
    ends = cy.rollout(system, x, 20, p, save="last").states[..., 0, 0]
    run = cy.rollout(system, x, 20, save="last")
    floors, boxes = run.pullback(np.eye(1, x.size)).params[at]
    assert floors == boxes < -1e-3
    # Of each alone, half of what both together do: a kink, where differences err by their step.
    np.testing.assert_allclose((ends[::2] - ends[1::2]) / 2e-6, floors, rtol=1e-4)


def transition_by_mujoco(model, state, control, step):
    """[A B] of mjd_transitionFD, centred."""
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
    data.ctrl[:] = control
    size = 2 * model.nv + model.na
    A, B = np.zeros((size, size)), np.zeros((size, model.nu))
    mujoco.mjd_transitionFD(model, data, step, True, A, B, None, None)
    return np.hstack([A, B])


LINEARISED = (
    "gymnasium/hopper",
    "dm_control/walker",
    "stack elliptic",
    "sliding elliptic impratio",
    "limits direct",
    "friction loss",
    "connect",
    "weld",
    "tendon equalities",
    "everything",
)


@pytest.mark.parametrize("name", NAMES if cm.LONG else LINEARISED)
def test_linearise_equals_mujocos_differences(name):
    """At states with constraints, to their own accuracy: their change with the step, or 1e-7. What
    GJK and EPA find is not exact enough for differences.
    """
    model, states, controls, rows = cm.run(name)
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:  # which mjd_transitionFD refuses
        model = copy.copy(model)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    system, at = cy.from_mujoco(model), np.flatnonzero(rows)
    chosen, switches = at[:: -(-len(at) // (5 if model.nv < 100 else 2))], 0
    for state, control in zip(states[chosen], controls[chosen]):
        if cm.step_of_mujoco(model, state, control).searched:
            continue
        rough, fine = (transition_by_mujoco(model, state, control, step) for step in (1e-6, 1e-7))
        ours = np.hstack(cy.linearise(system, state, control))
        scale = np.abs(ours).max()
        accuracy = np.abs(fine - rough).max() / scale
        if accuracy > cg.SWITCH:
            switches += 1
        else:
            assert np.abs(ours - fine).max() / scale <= max(accuracy, 1e-7)
    assert switches <= len(chosen) // 2 or name in {**SWITCHING, **cm.BY_ROUNDING}
