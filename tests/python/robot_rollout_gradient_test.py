"""Jacobians of a step and gradients of 100 steps against differences, on robots that people use.

Everything that can be an input, and every block of parameters: each is compared, and none may be
zero unless physics says so (`no_effect`).
"""

import os
import random

import models
import mujoco
import numpy as np
import pytest
from robot_zoo_test import ZOO

import cycloid as cy

INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")
INTEGRATORS = ("Euler", "implicitfast", "RK4")
STEPS = 100
SIZES = 7  # of differences
ROLLOUT, STEP = 1e-6, 1e-8  # relative, of the largest of a block, or of 1e-3
# Of parameters, and inputs of each kind; drawn once.
MOST = 10**6 if os.environ.get("CYCLOID_LONG_TESTS") else 32

NAMES = (
    "dm_control/humanoid",  # a free root
    "dm_control/quadruped",  # fixed tendons, activations, a free ball
    "dm_control/fish",  # a medium, gears, a free root
    "urdf/panda_description/panda",
    "mjx/tendon/pulley_site",  # tendons through sites and pulleys
    "mjx/quadratic_frictionloss",  # a single free body
    "zoo",  # everything else: balls, mocap bodies, actuators on sites, springs of all joints
)
# Fields that act without constraints; all of them must have been seen.
FIELDS = {
    "body": {"mass", "com", "inertia", "pos", "quat"},
    "joint": {"pos", "axis", "stiffness", "springref", "damping", "armature"},
    "site": {"pos", "quat"},
    "tendon": {"stiffness", "damping", "springlength", "coef"},
    "actuator": {"gainprm", "biasprm", "dynprm", "gear"},
    "option": {"gravity", "timestep", "density", "viscosity", "wind"},
}


def kind_and_field(name):
    head, field = name.rsplit(".", 1)
    return head.split(":")[0], field


class Case:
    """A model with every input, at a random point at which everything acts."""

    least = 0.02  # of what may not be negative

    def __init__(self, name, integrator):
        if name == "zoo":
            model = mujoco.MjModel.from_xml_string(ZOO.format(option=""))
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        else:
            model = models.in_mujoco(models.MODELS[name])
        model.opt.integrator = getattr(mujoco.mjtIntegrator, "mjINT_" + integrator.upper())
        if name == "dm_control/quadruped":
            model.opt.timestep = 1e-3  # its actuators are too stiff for its own with RK4
        # Limits of forces and the drag of a medium have kinks, across which steps must not reach.
        self.largest_step = 4e-3 if name in ("zoo", "dm_control/fish") else 0.1
        self.set_up(model, len(name))
        self.infos = random.Random(1).sample(self.infos, min(MOST, len(self.infos)))

    def set_up(self, model, seed):
        self.model = model
        names = cy.from_mujoco(model).parameters.names
        self.system = cy.from_mujoco(model, inputs=INPUTS, vary=tuple(names))
        self.infos = [self.system.parameters.info(n) for n in names]
        self.draw = np.random.default_rng(seed)
        self.x, self.u, self.p = self.state(), self.inputs(), self.parameters()

    def numbers(self, shape):
        """In ±[0.5, 1): none so small that it hides an error."""
        return self.draw.uniform(0.5, 1, shape) * self.draw.choice([-1, 1], shape)

    def state(self):
        data = mujoco.MjData(self.model)
        mujoco.mj_integratePos(
            self.model, data.qpos, 0.1 * self.draw.normal(size=self.model.nv), 1
        )
        data.qvel[:] = 0.5 * self.draw.normal(size=self.model.nv)
        data.act[:] = 0.1 * self.draw.normal(size=self.model.na)
        return np.concatenate([data.qpos, data.qvel, data.act])

    def inputs(self):
        """Controls inside their ranges, small forces, mocap bodies near their places."""
        m, u = self.model, np.zeros((STEPS, self.system.input_size))
        mocap = np.argsort(m.body_mocapid)[m.nbody - m.nmocap :]
        centre = {"mocap_pos": m.body_pos[mocap], "mocap_quat": m.body_quat[mocap]}
        for name, at in self.system.input_slices.items():
            size = at.stop - at.start
            u[:, at] = 0.05 * self.draw.normal(size=(STEPS, size))
            u[:, at] += centre.get(name, np.zeros(size)).ravel()
            if name == "ctrl":
                low, high = np.where(m.actuator_ctrllimited, m.actuator_ctrlrange.T, [[-1], [1]])
                u[:, at] = low + (high - low) * self.draw.uniform(0.3, 0.7, (STEPS, size))
        return u

    def parameters(self):
        """What may not be negative is away from zero, and no body is flat."""
        registry = self.system.parameters
        p = registry.default.copy()
        for name in registry.names:
            info, (_, field) = registry.info(name), kind_and_field(name)
            part = p[info.offset : info.offset + info.size]
            if field == "inertia":
                part[:3] += 0.05 * part[:3].sum()
            elif field in ("stiffness", "damping", "armature", "density", "viscosity"):
                part[part == 0] = self.least
        return p

    def directions(self):
        """One for each block of parameters, of the size of its numbers."""
        d = np.zeros((len(self.infos), self.p.size))
        for row, info in zip(d, self.infos):
            at = slice(info.offset, info.offset + info.size)
            _, field = kind_and_field(info.name)
            least = {"pos": 1, "com": 1, "springlength": 1, "springref": 10}.get(field, 0)
            size = max(np.abs(self.p[at]).max(), least) or 1
            if field == "inertia":
                size = 0.2 * self.p[at][:3].min()
            row[at] = self.numbers(info.size) * size
            if info.name.endswith(".springlength"):
                row[at] = row[info.offset]  # between two equal lengths there is a kink
        return d


class Loss:
    """A random weighting of the states of a run, and its gradient g."""

    def __init__(self, case, steps=STEPS, **options):
        self.case, self.u, self.options = case, case.u[:steps], options
        self.run = cy.rollout(case.system, case.x, self.u, case.p, **options)
        self.weights = case.draw.normal(size=self.run.states.shape)
        self.g = self.run.pullback(self.weights)

    def __call__(self, x=None, u=None, p=None):
        """Of other runs, less that of the run itself, for digits."""
        own = (self.case.x, self.u, self.case.p)
        given = (old if new is None else new for old, new in zip(own, (x, u, p)))
        batch = cy.rollout(self.case.system, *given, **self.options)
        assert not batch.report.failed
        return np.einsum("...si,si->...", batch.states - self.run.states, self.weights)


def extrapolated(loss, largest, sizes=SIZES):
    """Estimates of d loss / d s at s = 0, one per step size. loss(s): its values at every s.

    Differences at h and h/5 cancel the error in h².
    """
    steps = largest * 0.2 ** np.arange(sizes)
    ends = loss(np.concatenate([steps, -steps]))  # (2 sizes, ...)
    d = (ends[:sizes] - ends[sizes:]) / (2 * steps.reshape(-1, *(ends.ndim - 1) * (1,)))
    return (25 * d[1:] - d[:-1]) / 24


def error(got, estimates):
    """The relative error of a block (directions, ...), of the largest of its numbers or of 1e-3.

    Large steps are far from the limit or reach across a kink, small ones drown in rounding: a
    direction counts as right where estimates from two steps in a row say so.
    """
    off = np.abs(estimates - got).reshape(len(estimates), len(got), -1).max(axis=2)
    off = np.maximum(off[1:], off[:-1]).min(axis=0)  # of each direction
    return off.max() / max(np.abs(got).max(), 1e-3)


def no_effect(case, name):
    """Why a block of parameters has no effect on the states, or nothing."""
    m, (kind, field) = case.model, kind_and_field(name)
    label = name.split(":")[-1].rsplit(".", 1)[0]
    if kind == "option":
        if field in ("density", "viscosity", "wind") and not (m.opt.density or m.opt.viscosity):
            return "a model without a medium"
        off = m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        if field == "gravity" and (off or not m.opt.gravity.any()):
            return "gravity is switched off"
        return ""
    i = int(label[1:]) if label.startswith("#") else getattr(m, kind)(label).id
    if kind == "site":
        pulled = i in m.wrap_objid[m.wrap_type == mujoco.mjtWrap.mjWRAP_SITE]
        driven = i in m.actuator_trnid[m.actuator_trntype == mujoco.mjtTrn.mjTRN_SITE]
        if not driven and (not pulled or field == "quat"):
            return "nothing acts at the site, or only a tendon, which sees its place"
        if field == "quat" and label == "finger":
            return "its actuator pulls along the axes of another site"
    if kind == "body":
        return no_effect_of_body(m, i, field)
    if kind == "joint" and field == "pos" and m.jnt_type[i] == mujoco.mjtJoint.mjJNT_SLIDE:
        return "a slide has no place"
    if kind == "actuator":
        if field == "biasprm" and m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE:
            return "no bias"
        filters = (mujoco.mjtDyn.mjDYN_FILTER, mujoco.mjtDyn.mjDYN_FILTEREXACT)
        if field == "dynprm" and not any(m.actuator_dyntype[i] == kind for kind in filters):
            return "no time constant"
    return ""


def tied(m, i):
    """Whether a tendon runs from body i, or what it carries, to something else."""
    for t in range(m.ntendon):
        at = slice(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t])
        sites = m.wrap_objid[at][m.wrap_type[at] == mujoco.mjtWrap.mjWRAP_SITE]
        carried = set()
        for body in m.site_bodyid[sites]:
            while body > i:
                body = m.body_parentid[body]
            carried.add(body == i)
        if len(carried) == 2:
            return True
    return False


def no_effect_of_body(m, i, field):
    joints = range(m.body_jntadr[i], m.body_jntadr[i] + m.body_jntnum[i])
    free = any(m.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE for j in joints)
    if field in ("pos", "quat") and (free or m.body_mocapid[i] >= 0):
        return "its place is a state or an input"
    parent = m.body_parentid[i]
    placed = m.body_weldid[parent] == 0 or m.body_mocapid[parent] >= 0
    if field == "pos" and placed and not tied(m, i):
        return "gravity and wind are the same everywhere"
    inertia = m.body_inertia[i]
    ball = np.ptp(inertia) <= 1e-9 * inertia.max() and not m.body_ipos[i].any()
    if field == "quat" and ball and i not in m.body_parentid and not len(joints):
        return "a ball that turns about its own centre"
    return ""


@pytest.fixture(scope="module", params=INTEGRATORS)
def integrator(request):
    return request.param


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_100_steps(name, integrator):
    case = Case(name, integrator)
    system, x, u, p, largest = case.system, case.x, case.u, case.p, case.largest_step
    losses = Loss(case)
    g = losses.g

    # The state, number by number; quaternions as raw numbers.
    by_x = extrapolated(lambda s: losses(x=x + s[:, None, None] * np.eye(x.size)), largest)
    for block, at in system.state_slices.items():
        if at.start < at.stop:
            assert error(g.x0[at], by_x[:, at]) <= ROLLOUT, block
            assert np.abs(g.x0[at]).max() > 1e-3, block

    # Each input along a course through time; so many at once as fit into memory.
    course = case.numbers(u.shape)
    felt = np.einsum("ti,ti->i", g.controls, course)
    for block, at in system.input_slices.items():
        if at.start == at.stop:
            continue
        some = random.Random(2).sample(range(at.start, at.stop), min(MOST, at.stop - at.start))
        along = np.zeros((len(some), *u.shape))
        along[np.arange(len(some)), :, some] = course[:, some].T
        parts = np.array_split(along, -(-len(along) // 32))
        by_u = [
            extrapolated(lambda s: losses(u=u + s[:, None, None, None] * d), largest)
            for d in parts
        ]
        assert error(felt[some], np.concatenate(by_u, axis=1)) <= ROLLOUT, block
        assert np.abs(felt[at]).max() > 1e-4, block
        if block in ("ctrl", "qfrc_applied"):
            assert np.abs(felt[at]).min() > 1e-9, block

    # Each block of parameters along a random direction.
    d = case.directions()
    by_p = extrapolated(lambda s: losses(p=p + s[:, None, None] * d), largest)
    for i, info in enumerate(case.infos):
        assert error(d[i : i + 1] @ g.params, by_p[:, i : i + 1]) <= ROLLOUT, info.name
        reason = no_effect(case, info.name)
        bar = np.abs(g.params[info.offset : info.offset + info.size]).max()
        assert (bar > 1e-9) != bool(reason), (info.name, reason, bar)


def test_every_field_acts_somewhere():
    seen = {kind: set() for kind in FIELDS}
    for name in NAMES:
        case = Case(name, "Euler")
        for label in case.system.parameters.names:
            kind, field = kind_and_field(label)
            assert field in FIELDS[kind], label
            if not no_effect(case, label):
                seen[kind].add(field)
    assert seen == FIELDS


def differences_of_states(m, a, b):
    """(rows, 2 nv + na): from b to a in tangents."""
    out = np.zeros((len(a), 2 * m.nv + m.na))
    out[:, m.nv :] = (a - b)[:, m.nq :]
    for row, to, start in zip(out, a, b):
        mujoco.mj_differentiatePos(m, row[: m.nv], 1, start[: m.nq], to[: m.nq])
    return out


@pytest.mark.parametrize("name", NAMES)
def test_the_jacobians_of_a_step(name, integrator):
    case = Case(name, integrator)
    m, system, x, u, p = case.model, case.system, case.x, case.u[0], case.p
    lin = cy.linearise(system, x, u, p, wrt=("x", "u", "params"))
    centre = cy.step(system, x, u, p)

    def steps(x=x, u=u, p=p):
        rows = cy.step(system, x, u, p)
        flat = rows.reshape(-1, rows.shape[-1])
        return differences_of_states(m, flat, np.tile(centre, (len(flat), 1))).reshape(
            *rows.shape[:-1], -1
        )

    def moved(s, direction):
        out = np.tile(x, (len(s), len(direction), 1))
        for i, step in enumerate(s):
            for row, d in zip(out[i], direction):
                mujoco.mj_integratePos(m, row[: m.nq], d[: m.nv], step)
                row[m.nq :] += step * d[m.nv :]
        return out

    n, k = system.tangent_size, system.input_size
    largest = 4e-3 if name == "zoo" else 0.1
    A = extrapolated(lambda s: steps(x=moved(s, np.eye(n))), largest)
    assert error(lin.A.T, A) <= STEP
    B = extrapolated(lambda s: steps(u=u + s[:, None, None] * np.eye(k)), largest)
    for block, at in system.input_slices.items():
        if at.start < at.stop:
            assert error(lin.B.T[at], B[:, at]) <= STEP, block
    d = case.directions()
    P = extrapolated(lambda s: steps(p=p + s[:, None, None] * d), largest)
    fields = np.array([".".join(kind_and_field(info.name)) for info in case.infos])
    for field in set(fields):  # of all bodies, of all joints, ...
        assert error(d[fields == field] @ lin.P.T, P[:, fields == field]) <= STEP, field
