"""Muscles, wrapped tendons, ellipsoids in a medium, adhesion, the other transmissions and
integrators: steps as MuJoCo's, gradients and Jacobians as differences of steps.
"""

import functools

import force_models
import models
import mujoco
import numpy as np
import pytest
from contact_gradients import judged as judged_directions
from robot_initial_derivative_test import blocks, estimates, settled
from robot_rollout_gradient_test import Case, Loss, extrapolated, kind_and_field

import cycloid as cy

INTEGRATORS = ("Euler", "implicit", "implicitfast", "RK4")
WITHOUT, WITH = 1e-10, 1e-8  # of the 95th percentile: without constraints and with them
STEPS = 40  # of gradients
RUN = 400  # of MuJoCo's runs
MOMENT = {"exact weights": 220}  # of gradients, in place of the middle: no contact begins
MEDIAN, WORST = 1e-6, 1e-3  # of the relative errors of directions; of each block
JACOBIAN = 5e-6  # of a block: robot_initial_derivative_test.py

# Whether a torque at its limit has a slope is a matter of rounding in MuJoCo.
CASES = [
    (name, integrator)
    for name in force_models.PARTS
    for integrator in INTEGRATORS
    if name != "orientations, held" or not integrator.startswith("implicit")
]


@functools.lru_cache(maxsize=None)
def in_mujoco(name, integrator):
    model = mujoco.MjModel.from_xml_string(force_models.xml(name, integrator))
    model.opt.tolerance, model.opt.iterations = 0, 200
    return model


@functools.lru_cache(maxsize=None)
def recorded(name, integrator):
    """States of MuJoCo's run under controls that are held for a while."""
    model = in_mujoco(name, integrator)
    controls = np.repeat(models.random_controls(model, name, RUN // 10), 10, axis=0)
    states, good = models.run(model, controls)
    assert good.all()
    return states, controls


def constrained(name, model):
    limited = bool(model.jnt_limited.any() or model.tendon_limited.any())
    return limited or name in force_models.TOUCHING


@pytest.mark.parametrize("name, integrator", CASES)
def test_a_step_equals_mujocos(name, integrator):
    model, (states, controls) = in_mujoco(name, integrator), recorded(name, integrator)
    got = cy.step(cy.from_mujoco(model), states[:-1], controls)
    most = WITH if constrained(name, model) else WITHOUT
    v = slice(model.nq, model.nq + model.nv)
    change = models.relative_errors((got - states[:-1])[:, v], np.diff(states, axis=0)[:, v])
    rest = models.relative_errors(got, states[1:])
    assert max(np.quantile(change, 0.95), np.quantile(rest, 0.95)) <= most
    assert np.abs(np.diff(states[:, : model.nq], axis=0)).max() > 1e-4  # it moves


@pytest.mark.parametrize("name", force_models.PARTS)
def test_lengths_and_rates_equal_mujocos(name):
    model, (states, _) = in_mujoco(name, "Euler"), recorded(name, "Euler")
    system, data, bent = cy.from_mujoco(model), mujoco.MjData(model), 0
    for state in states[::20]:
        data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
        mujoco.mj_forward(model, data)
        fields = ["ten_length", "ten_velocity", "actuator_force"]
        if name.startswith("orientations"):  # whose actuators have three forces each
            fields.pop()
        shown = cy.observe(system, state, names=fields)
        for field in fields:
            # The way through a geom is a root, which MuJoCo finds to about 1e-7.
            rtol = 1e-7 if name.startswith("through") else 1e-9
            np.testing.assert_allclose(shown[field], getattr(data, field), rtol=rtol, atol=1e-11)
        bent += (data.wrap_obj >= 0).sum()
    assert bent or not (model.wrap_type >= int(mujoco.mjtWrap.mjWRAP_SPHERE)).any()


class ForceCase(Case):
    """At a state of MuJoCo's run."""

    least = 2e-3

    def __init__(self, name, integrator):
        self.name = name
        self.start = recorded(name, integrator)[0][MOMENT.get(name, RUN // 2)]
        self.largest_step = 1e-3
        self.set_up(in_mujoco(name, integrator), len(name))

    def state(self):
        return self.start

    def parameters(self):
        p = super().parameters()
        for info in self.infos:  # away from ties and from the ends of ranges
            if kind_and_field(info.name)[1] == "timestep":
                p[info.offset] *= 0.97
        return p

    def directions(self):
        """Numbers of a muscle have units of their own."""
        d = super().directions()
        for row, info in zip(d, self.infos):
            at = slice(info.offset, info.offset + info.size)
            if kind_and_field(info.name)[1] in ("gainprm", "biasprm", "dynprm", "size", "fluid"):
                row[at] = self.numbers(info.size) * 0.3 * np.abs(self.p[at])
        return d


@pytest.mark.parametrize("name, integrator", CASES)
def test_gradients_of_runs_equal_differences(name, integrator):
    case = ForceCase(name, integrator)
    loss = Loss(case, STEPS)
    found = []

    def compare(block, what, centre, directions, got):
        ends = extrapolated(
            lambda s: loss(**{what: centre + s.reshape(-1, *[1] * directions.ndim) * directions}),
            case.largest_step,
            8,
        )
        found.extend(judged_directions(block, STEPS, got, ends))

    nq, nv, na = case.model.nq, case.model.nv, case.model.na
    ends_of = {"qpos": nq, "qvel": nq + nv, "act": nq + nv + na}
    for (block, end), begin in zip(ends_of.items(), [0, *ends_of.values()]):
        at = (begin, end)
        if at[0] == at[1]:
            continue
        d = np.zeros((2, nq + nv + na))
        d[:, slice(*at)] = case.numbers((2, at[1] - at[0]))
        compare(block, "x", case.x, d, d @ loss.g.x0)
    if case.model.nu:
        d = case.numbers((2, *case.u[:STEPS].shape)) * 0.1
        compare("u", "u", case.u[:STEPS], d, np.einsum("dsi,si->d", d, loss.g.controls))
    for row, info in zip(case.directions(), case.infos):
        block = "params." + ".".join(kind_and_field(info.name))
        compare(block, "p", case.p, row[None], row[None] @ loss.g.params)

    kept = [c for c in found if not c.left_out()]
    assert len(kept) > 0.8 * len(found)
    assert np.median([c.error for c in kept]) <= MEDIAN
    worst = {}
    for c in kept:
        worst[c.block] = max(worst.get(c.block, 0), c.error)
    assert max(worst.values()) <= WORST, {b: e for b, e in worst.items() if e > MEDIAN}
    expected = {"params.body.mass", "params.option.gravity"}
    if case.model.nu:
        expected.add("params.actuator.gear")
    if case.name.startswith("ellipsoids"):
        expected |= {f"params.geom.{field}" for field in ("pos", "quat", "size", "fluid")}
    if case.name in ("around cylinders and spheres", "through a cylinder", "through a sphere"):
        expected |= {"params.geom.pos", "params.geom.quat", "params.geom.size"}
    assert expected <= {c.block for c in found if c.gradient}


# Where controls and activations of muscles begin, their clamps and time constants have kinks.
KINKS = {"muscles": ("act/ctrl", "act/act")}


@pytest.mark.parametrize("name, integrator", CASES)
@pytest.mark.parametrize("point", ["initial", "moving"])
def test_linearise_equals_centred_differences(name, integrator, point):
    model = in_mujoco(name, integrator)
    system = cy.from_mujoco(model)
    x, u = system.initial_state(), mujoco.MjData(model).ctrl.copy()  # quaternions are 1
    if point == "moving":
        at = MOMENT.get(name, RUN // 2)
        x, u = recorded(name, integrator)[0][at], np.full(system.input_size, 0.4)
    got = np.hstack(cy.linearise(system, x, u))
    centred, ahead, back = map(settled, estimates(system, model, x, u))
    for block, at in blocks(system, model).items():
        scale = max(np.abs(centred[at]).max(), 1e-3)
        jumps = np.abs(ahead[at] - back[at]).max() > JACOBIAN * scale
        if point == "initial" and name in KINKS and integrator == "RK4" and jumps:
            continue  # a kink of the activation reaches all blocks by way of the stages
        if point == "initial" and block in KINKS.get(name, ()):
            assert np.abs(ahead[at] - back[at]).max() > JACOBIAN * scale, f"no kink in {block}"
            continue
        assert np.abs(got[at] - centred[at]).max() <= JACOBIAN * scale, block


@pytest.mark.parametrize("name", force_models.PARTS)
def test_tangents_and_second_derivatives_follow(name):
    case = ForceCase(name, "implicitfast")
    run = cy.rollout(case.system, case.x, case.u[:5], case.p)
    d = case.numbers(case.x.shape)
    ahead = run.pushforward(x0_tan=d)
    bar = case.draw.normal(size=run.states.shape)
    g = run.pullback(bar)
    assert np.isclose((bar * ahead).sum(), g.x0 @ d, rtol=1e-10)
    second = run.hvp(bar, x0_tan=d)

    def gradient(s):
        starts = [case.x + h * d for h in s]
        runs = [cy.rollout(case.system, x, case.u[:5], case.p) for x in starts]
        return np.stack([run.pullback(bar).x0 for run in runs])

    candidates = extrapolated(gradient, 1e-3, 6)
    error = np.abs(candidates - second.x0).max(axis=1).min()
    most = 1e-4 if name.startswith("through") else 1e-6  # a root that is found to about 1e-7
    assert error <= most * max(np.abs(second.x0).max(), 1e-3)


SHOWN = ("qfrc_actuator", "actuator_force", "qfrc_constraint", "cfrc_ext")


@pytest.mark.parametrize(
    "name", ["adhesion", "adhesion, held", "adhesion, held and sticky", "sticky", "DC motors, held"]
)
def test_forces_are_shown_as_mujocos_with_their_gradients(name):
    model, (states, controls) = in_mujoco(name, "Euler"), recorded(name, "Euler")
    system, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(5)
    p = np.array(system.parameters.default)
    errors = []
    for x, u in zip(states[7::70], controls[7::70]):
        data.qpos, data.qvel, data.act = np.split(x, [model.nq, model.nq + model.nv])
        data.ctrl[:] = u
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        for field in SHOWN:
            seen = cy.observe(system, x, u, names=[field])
            expected = getattr(data, field).ravel()
            scale = max(np.abs(expected).max(initial=0), 1e-3)
            assert np.abs(seen.values - expected).max(initial=0) <= WITH * scale, field
            bar = draw.normal(size=seen.values.shape)
            g = seen.pullback(bar)

            def value(x, u, p):
                return cy.observe(system, x, u, names=[field], params=p).values @ bar

            along = {"x": draw.normal(size=x.shape), "u": draw.normal(size=u.shape)}
            for what, got in (("x", g.x @ along["x"]), ("u", g.controls @ along["u"])):
                ends = extrapolated(
                    lambda s: value(*(
                        v[None] + s[:, None] * along[w] if w == what else v
                        for w, v in (("x", x), ("u", u))
                    ), p),
                    1e-3,
                    8,
                )
                errors.extend(
                    c.error for c in judged_directions(field, 1, np.array([got]), ends[:, None])
                    if not c.left_out()
                )
    assert len(errors) > 30 and np.median(errors) <= MEDIAN and max(errors) <= WORST
