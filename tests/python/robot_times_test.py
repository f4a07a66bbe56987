"""States of robots at times of the user's choice: where they lie, and their gradient."""

import contact_gradients as cg
import mujoco
import numpy as np
import pytest
from robot_rollout_gradient_test import INTEGRATORS, ROLLOUT, Case, Loss, error, extrapolated

import cycloid as cy

pytestmark = pytest.mark.filterwarnings("ignore")  # what MuJoCo says about some files

STEPS = 20
# In steps. The beginning, the end of a step and two states inside one step are among them; one at
# the end of a step has no derivative by the length of the steps, only one from each side.
TIMES = np.array([0, 0.3, 2.25, 2.75, 7, 11.4142, 19.99])
SMOOTH = np.delete(TIMES, 4)

FREE = """
<mujoco>
  <option timestep="0.004" integrator="{}"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 0.21" euler="10 0 0">
      <freejoint/>
      <geom type="box" size=".1 .15 .2" mass="1.3"/>
      <body pos="0.2 0 0">
        <joint name="wrist" type="ball" damping="0.1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .2 0 0" mass="0.4"/>
        <body pos="0.2 0 0">
          <joint name="finger" axis="0 1 0"/>
          <geom size="0.04" pos="0.1 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator> <motor joint="finger"/> <general joint="finger" dyntype="filter"/> </actuator>
</mujoco>
"""


def free_body(integrator="Euler", **options):
    """A body with a wrist and a finger that falls on its edge, spinning; and a state of it."""
    model = mujoco.MjModel.from_xml_string(FREE.format(integrator))
    system = cy.from_mujoco(model, **options)
    x = system.initial_state().astype(float)
    x[model.nq : model.nq + model.nv] = np.linspace(-2, 3, model.nv)
    return model, system, x


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_they_lie_on_the_path_between_the_ends_of_a_step(integrator):
    model, system, x = free_body(integrator)
    u = np.random.default_rng(1).normal(size=(STEPS, 2))
    h, nq, nv = model.opt.timestep, model.nq, model.nv
    run, steps = cy.rollout(system, x, u, times=h * TIMES), cy.rollout(system, x, u).states
    assert run.times.tolist() == (h * TIMES).tolist() and run.report.contacts > 0
    assert not len(run.events)
    for state, time in zip(run.states, TIMES):
        k, theta = int(time), time - int(time)
        if theta == 0:
            assert np.array_equal(state, steps[k])
            continue
        turned, rate = steps[k, :nq].copy(), np.zeros(nv)
        mujoco.mj_differentiatePos(model, rate, h, steps[k, :nq], steps[k + 1, :nq])
        mujoco.mj_integratePos(model, turned, rate, theta * h)
        assert state[:nq] == pytest.approx(turned, abs=1e-13)
        line = steps[k, nq:] + theta * (steps[k + 1, nq:] - steps[k, nq:])
        assert state[nq:] == pytest.approx(line, abs=1e-12)
        if integrator != "RK4":  # the others take the new velocity for the whole step
            assert rate == pytest.approx(steps[k + 1, nq : nq + nv], abs=1e-10)


def check_gradient(case, tolerance):
    """All blocks of a case along random directions, and the time step."""
    at = case.system.parameters.info("option.timestep").offset
    h = case.p[at]
    case.infos = [i for i in case.infos if i.name != "option.timestep"]
    losses = Loss(case, STEPS, times=h * SMOOTH)

    def compare(what, centre, directions, gradient):
        by = cg.differences(losses, what, centre, directions)
        got = np.tensordot(directions, gradient, gradient.ndim)
        found = cg.judged(what, STEPS, got, by)
        errors = [c.error for c in found if not c.left_out()]
        assert len(errors) > 0.8 * len(found) and np.abs(got).max() > 1e-3, what
        assert np.quantile(errors, 0.9) <= tolerance, (what, errors)

    compare("x", case.x, case.numbers((8, case.x.size)), losses.g.x0)
    compare("u", losses.u, case.numbers((8, *losses.u.shape)), losses.g.controls)
    compare("p", case.p, case.directions(), losses.g.params)

    # States stay at their times, in whichever step that is; one run for each length of steps.
    def by_timestep(s):
        out = []
        for step in s:
            p = case.p.copy()
            p[at] += step * h
            out.append(losses(p=p))
        return np.array(out)[:, None]

    got = np.array([losses.g.params[at] * h])
    assert error(got, extrapolated(by_timestep, 1e-4, 6)) <= tolerance


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_their_gradient_equals_differences(integrator):
    check_gradient(Case("dm_control/humanoid", integrator), ROLLOUT)


@pytest.mark.parametrize("name", ["gymnasium/hopper", "dm_control/humanoid"])
def test_their_gradient_through_contacts_equals_differences(name):
    check_gradient(cg.ContactCase(name, 1), ROLLOUT)


def test_the_gradient_of_states_at_ends_of_steps_is_that_of_the_steps():
    model, system, x = free_body("implicitfast")
    u = np.random.default_rng(2).normal(size=(STEPS, 2))
    k = [0, 1, 7, 20]
    run = cy.rollout(system, x, u, times=model.opt.timestep * np.array(k))
    steps = cy.rollout(system, x, u, save=k)
    assert np.array_equal(run.states, steps.states)
    bar = np.random.default_rng(3).normal(size=run.states.shape)
    g, expected = run.pullback(bar), steps.pullback(bar)
    assert g.x0 == pytest.approx(expected.x0, rel=1e-11, abs=1e-11)
    assert g.controls == pytest.approx(expected.controls, rel=1e-11, abs=1e-11)
    at = system.parameters.info("option.timestep").offset
    same = np.delete(g.params, at), np.delete(expected.params, at)
    assert same[0] == pytest.approx(same[1], rel=1e-10, abs=1e-10)
    assert abs(g.params[at] - expected.params[at]) > 1  # these move, those stay


def test_batches_plans_of_memory_and_float32_agree():
    model, system, x = free_body(vary="body:#1.mass")
    draw = np.random.default_rng(4)
    xs = x + 0.01 * draw.normal(size=(11, x.size))
    u = draw.normal(size=(STEPS, 2))
    mass = {"body:#1.mass": np.linspace(1, 2, 11)}
    times = model.opt.timestep * TIMES
    batch = cy.rollout(system, xs, u, mass, times=times)
    bar = draw.normal(size=batch.states.shape)
    g = batch.pullback(bar)
    for i in (0, 6, 10):
        own = {"body:#1.mass": mass["body:#1.mass"][i]}
        one = cy.rollout(system, xs[i], u, own, times=times)
        assert one.states == pytest.approx(batch.states[i], abs=1e-10)
        alone = one.pullback(bar[i])
        assert alone.x0 == pytest.approx(g.x0[i], rel=1e-7, abs=1e-6)
        assert alone.params["body:#1.mass"] == pytest.approx(g.params["body:#1.mass"][i], rel=1e-6)
    for memory in ("sqrt", 3):
        other = cy.rollout(system, xs, u, mass, times=times, memory=memory)
        assert np.array_equal(other.states, batch.states)
        again = other.pullback(bar)
        assert np.array_equal(again.x0, g.x0) and np.array_equal(again.controls, g.controls)
        assert np.array_equal(again.params["body:#1.mass"], g.params["body:#1.mass"])
    small = free_body(vary="body:#1.mass", dtype="float32")[1]
    single = cy.rollout(small, xs, u, mass, times=times)
    assert single.states.dtype == np.float32
    # Velocities near 10, of bodies that have hit the floor.
    assert single.states == pytest.approx(batch.states, abs=1e-3)
    off = single.pullback(bar).x0 - g.x0
    assert np.abs(off).max() <= 1e-4 * np.abs(g.x0).max()


def test_an_irregular_fit_of_a_robot_agrees_with_a_regular_one():
    arm = cy.load("""
    <mujoco> <option timestep="0.01" integrator="implicitfast"/> <worldbody>
      <body> <joint name="shoulder" axis="0 1 0" damping="0.2"/>
        <geom size="0.05" pos="0 0 -0.6" mass="1"/>
        <body pos="0 0 -0.6"> <joint name="elbow" axis="0 1 0" damping="0.1"/>
          <geom size="0.05" pos="0 0 -0.5" mass="0.5"/> </body> </body>
    </worldbody> </mujoco>""")
    x0, truth = [1.0, 0.5, 0.0, 0.0], [0.05, 0.7]

    def run_with(p, times):
        params = {"joint:elbow.damping": p[:1], "body:#2.mass": p[1]}
        return cy.rollout(arm, x0, 100, params, times=times)

    def fitted(times):
        recorded, p = run_with(truth, times).states, np.array([0.1, 0.5])
        for _ in range(8):  # Gauss and Newton, with one row of the Jacobian per pullback
            run, rows = run_with(p, times), []
            for i in range(len(times)):
                bar = np.zeros(run.states.shape)
                bar[i, 1] = 1
                g = run.pullback(bar, wrt="params").params
                rows.append([bar.item() for bar in g.values()])
            p = p - np.linalg.lstsq(rows, (run.states - recorded)[:, 1], rcond=None)[0]
        return p

    irregular = np.sort(np.random.default_rng(5).uniform(0.01, 1, 20))
    assert fitted(np.linspace(0.05, 1, 20)) == pytest.approx(truth, rel=1e-9)
    assert fitted(irregular) == pytest.approx(truth, rel=1e-9)


def test_one_step_length_for_all():
    _, system, x = free_body(vary="option.timestep")
    same = {"option.timestep": [0.004, 0.004]}
    assert cy.rollout(system, x, 10, same, times=[0.011]).states.shape == (2, 1, x.size)
    with pytest.raises(cy.Error, match="one time step for all environments"):
        cy.rollout(system, x, 10, {"option.timestep": [0.004, 0.005]}, times=[0.011])
