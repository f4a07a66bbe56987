"""Gradients of robots against central differences."""

import models
import numpy as np
import pytest
from differences import assert_close, by_differences

import cycloid as cy

RANDOM = np.random.default_rng(7)

BODIES = {
    "hinges and slides": """
      <body name="cart"> <joint name="rail" type="slide" axis="1 0 0" damping="0.3"/>
        <geom type="box" size="0.1 0.1 0.05" mass="1"/>
        <body name="pole" pos="0 0 0.1"> <joint name="hinge" axis="0 1 0" stiffness="2"
            springref="10" armature="0.01" damping="0.1"/>
          <geom type="capsule" fromto="0 0 0 0.1 0 0.6" size="0.03" mass="0.4"/> </body> </body>""",
    "a free body with arms": """
      <body name="torso" pos="0 0 1"> <freejoint name="root"/>
        <geom type="box" size="0.1 0.2 0.15" mass="2"/>
        <body name="arm" pos="0 0.25 0"> <joint name="hinge" axis="1 0 0" damping="0.05"/>
          <geom type="capsule" fromto="0 0 0 0 0.3 -0.1" size="0.03" mass="0.3"/> </body>
        <body name="tail" pos="-0.1 0 0"> <joint name="ball" type="ball" damping="0.002"
            stiffness="0.1"/>
          <geom type="capsule" fromto="0 0 0 -0.3 0 0" size="0.02" mass="0.2"/> </body> </body>""",
}
JOINTS = {"hinges and slides": ("rail", "hinge"), "a free body with arms": ("hinge",)}


def xml(bodies, integrator="Euler"):
    motors = "".join(f'<motor joint="{j}" gear="2"/>' for j in JOINTS[bodies])
    filtered = '<general joint="hinge" dyntype="filter" dynprm="0.1" gainprm="3"/>'
    return f"""<mujoco model="test"> <option timestep="0.01" integrator="{integrator}">
        <flag constraint="disable"/> </option>
      <worldbody> {BODIES[bodies]} </worldbody>
      <actuator> {motors} {filtered} </actuator> </mujoco>"""


def away_from_rest(system, scale=0.3):
    """A state with all its numbers moved; quaternions are normalised by the rollout."""
    return system.initial_state() + scale * RANDOM.normal(size=system.state_size)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize("bodies", BODIES)
def test_check_gradient_agrees_in_every_block(bodies, integrator):
    system = cy.load(xml(bodies, integrator))
    controls = RANDOM.normal(size=(15, system.nu))
    check = cy.check_gradient(system, away_from_rest(system), controls)
    assert check.ok, check
    blocks = set(check.by_block)
    assert {"x0.qpos", "x0.qvel", "x0.act", "controls"} <= {b.split("[")[0] for b in blocks}, blocks
    assert {"params.joint:hinge.damping", "params.option.gravity"} <= blocks


@pytest.mark.parametrize(
    "name", ["dm_control/cartpole", "dm_control/hopper", "dm_control/walker", "gymnasium/ant"]
)
def test_check_gradient_agrees_on_robots(name):
    system = cy.load(models.MODELS[name], constraints=False)
    controls = 0.3 * RANDOM.normal(size=(8, system.nu))
    check = cy.check_gradient(
        system, away_from_rest(system, 0.1), controls, numbers_per_block=4
    )
    assert check.ok, check


@pytest.mark.parametrize("bodies", BODIES)
def test_the_gradient_of_raw_numbers_equals_central_differences(bodies):
    mass = "body:pole.mass" if "pole" in BODIES[bodies] else "body:arm.mass"
    system = cy.load(xml(bodies), vary=mass)
    x0 = np.array([away_from_rest(system), away_from_rest(system)])
    controls, params = RANDOM.normal(size=(6, system.nu)), {mass: [0.3, 0.5]}
    run = cy.rollout(system, x0, controls, params)
    weights = RANDOM.normal(size=run.states.shape)

    def loss(x0=x0, controls=controls, params=params):
        return float((weights * cy.rollout(system, x0, controls, params).states).sum())

    g = run.pullback(weights)
    assert_close(g.x0, by_differences(lambda v: loss(x0=v), x0), "x0")
    assert_close(g.controls, by_differences(lambda v: loss(controls=v), controls), "controls")
    by_mass = by_differences(lambda v: loss(params={mass: v}), params[mass])
    assert_close(g.params[mass], by_mass, mass)
    for part in (g.x0, g.controls, g.params[mass]):
        assert np.abs(part).max() > 1e-3
    assert g.x0_tangent.shape == (2, system.tangent_size)


def test_the_gradient_of_a_quaternion_is_orthogonal_to_it():
    system = cy.load(xml("a free body with arms"))
    x0 = away_from_rest(system)
    run = cy.rollout(system, x0, 10)
    np.testing.assert_allclose(np.linalg.norm(run.states[:, 3:7], axis=1), 1, atol=1e-14)
    g = run.pullback(np.ones(run.states.shape))
    for q in (slice(3, 7), slice(8, 12)):
        assert abs(g.x0[q] @ x0[q]) < 1e-12 * np.abs(g.x0).max() and np.abs(g.x0[q]).max() > 1e-3


@pytest.mark.parametrize("bodies", BODIES)
def test_linearise_equals_what_rollouts_say(bodies):
    system = cy.load(xml(bodies))
    x, u = away_from_rest(system), RANDOM.normal(size=system.nu)
    lin = cy.linearise(system, x, u, wrt=("x", "u", "params"))
    np.testing.assert_array_equal(lin.next, cy.step(system, x, u))
    n = system.tangent_size
    assert lin.A.shape == (n, n) and lin.B.shape == (n, system.nu)
    # A row of the Jacobians is the pullback of one velocity.
    run = cy.rollout(system, x, u[None], save="last")
    for i in range(system.nv):
        bar = np.zeros((1, system.state_size))
        bar[0, system.nq + i] = 1
        g = run.pullback(bar)
        assert_close(lin.A[system.nv + i], g.x0_tangent, "A")
        assert_close(lin.B[system.nv + i], g.controls[0], "B")
        assert_close(lin.P[system.nv + i], g.params, "P")
    assert np.abs(lin.P).max() > 1e-3


def test_float32_agrees_with_float64():
    text = xml("a free body with arms")
    wide, narrow = cy.load(text), cy.load(text, dtype="float32")
    x0 = np.array([away_from_rest(wide) for _ in range(20)])
    controls = RANDOM.normal(size=(20, wide.nu))
    runs = [cy.rollout(system, x0, controls) for system in (wide, narrow)]
    assert runs[1].states.dtype == np.float32
    bar = RANDOM.normal(size=runs[0].states.shape)
    expected, got = (run.pullback(bar) for run in runs)
    pairs = [(runs[0].states, runs[1].states)]
    pairs += [(expected.x0, got.x0), (expected.params, got.params)]
    for a, b in pairs:
        assert np.abs(a - b).max() <= 1e-4 * np.abs(a).max()


def test_lanes_and_a_lone_environment_agree_to_1e_12():
    system = cy.load(xml("a free body with arms"))
    x0 = np.array([away_from_rest(system) for _ in range(5)])
    together = cy.step(system, x0)
    for alone, row in zip(x0, together):
        np.testing.assert_allclose(cy.step(system, alone), row, rtol=0, atol=1e-12)


def test_a_long_run_can_be_diagnosed():
    system = cy.load(xml("hinges and slides"))
    run = cy.rollout(system, away_from_rest(system), 300, save="last", memory="sqrt")
    found = cy.diagnose(run, np.ones((1, system.state_size)))
    assert found.reliable and found.growth.shape == (300,)
