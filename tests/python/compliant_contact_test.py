"""contact=HuntCrossley: its forces by the formula, its gradients by differences."""

import numpy as np
import pytest

import cycloid as cy

BOX = """<mujoco> <option timestep="{dt}" integrator="{integrator}" cone="{cone}"/>
<worldbody> <geom type="plane" size="5 5 1" condim="{condim}" friction="0.1 0.001 0.0001"/>
<body pos="0 0 {z}"> <freejoint/>
<geom name="shape" {shape} mass="1" condim="{condim}" friction="{mu} 0.02 0.001"/> </body>
</worldbody> </mujoco>"""


def robot(law, shape='size="0.1"', z=0.3, dt=0.0005, dtype="float64", **attributes):
    """A body over a floor."""
    usual = {"condim": 3, "mu": 0.6, "integrator": "Euler", "cone": "pyramidal"}
    text = BOX.format(shape=shape, z=z, dt=dt, **{**usual, **attributes})
    return cy.load(text, contact=law, dtype=dtype)


LAW = cy.HuntCrossley(stiffness=2e5, exponent=1.5, dissipation=0.3, stiction=0.02)


def state_of(system, z, velocity=(0, 0, 0), spin=(0, 0, 0)):
    x = system.initial_state()
    x[2], x[7:10], x[10:13] = z, velocity, spin
    return x


@pytest.mark.parametrize("condim", [1, 3, 6])
def test_the_force_is_that_of_the_formula(condim):
    ball = robot(LAW, condim=condim)
    depth, v, spin = 0.004, np.array([0.05, -0.02, -0.3]), np.array([0.0, 0.0, 2.0])
    f = cy.forward(ball, state_of(ball, 0.1 - depth, v, spin))
    normal = 2e5 * depth**1.5 * (1 + 1.5 * 0.3 * 0.3)
    frame = f.contacts.frame[0]
    force = f.contacts.force[0]
    assert np.allclose(frame[0], [0, 0, 1])
    assert abs(force[0] / normal - 1) < 1e-13
    world = frame.T @ force[:3]
    slip = v[:2]
    friction = -0.6 * normal * slip / np.sqrt(slip @ slip + 0.02**2) if condim > 1 else [0, 0]
    assert np.abs(world[:2] - friction).max() < 1e-12 * normal
    assert abs(f.qacc[2] - (normal - 9.81)) < 1e-10 * normal
    if condim == 6:
        turned = 0.02 * 2.0
        assert abs(force[3] + 0.02 * normal * turned / np.hypot(turned, 0.02)) < 1e-12 * normal


def test_the_stiffness_of_solref_is_mujocos_spring_at_a_millimetre():
    ball = robot(cy.HuntCrossley(exponent=1.5, dissipation=0.0))
    f = cy.forward(ball, state_of(ball, 0.1 - 1e-3))
    assert abs(f.contacts.force[0, 0] - 1e-3 / 0.02**2) < 1e-9  # solref (0.02, 1), 1 kg
    assert "contact.stiffness" not in ball.parameters.names


def test_without_dissipation_a_bounce_keeps_its_energy():
    law = cy.HuntCrossley(stiffness=1e5, dissipation=0.0)
    ball = robot(law, condim=1, dt=1e-4, integrator="RK4")
    run = cy.rollout(ball, state_of(ball, 0.3), 4500)
    heights = run.states[:, 2]
    assert heights.min() < 0.1
    assert abs(heights[2500:].max() - 0.3) < 1e-5


def test_dissipation_takes_speed_as_hunt_and_crossley_say():
    """For small c v: restitution 1 - c v."""
    law = cy.HuntCrossley(stiffness=1e6, dissipation=0.1)
    ball = robot(law, condim=1, dt=2e-5, integrator="RK4")
    weightless = {"option.gravity": [0.0, 0.0, 0.0]}
    run = cy.rollout(ball, state_of(ball, 0.101, (0, 0, -0.2)), 1500, weightless, save="last")
    assert abs(run.states[0, 9] / 0.2 - (1 - 0.1 * 0.2)) < 1e-3


def test_a_sliding_box_slows_down_by_mu_g():
    box = robot(cy.HuntCrossley(stiffness=1e5, dissipation=1.0, stiction=1e-3),
                shape='type="box" size="0.1 0.1 0.02"', z=0.0197)
    run = cy.rollout(box, state_of(box, 0.0197, (2.0, 0, 0)), 400)
    slowed = (run.states[100, 7] - run.states[400, 7]) / 0.15
    assert abs(slowed / (0.6 * 9.81) - 1) < 0.02


@pytest.mark.parametrize("integrator, cone", [("Euler", "pyramidal"), ("implicitfast", "elliptic"),
                                              ("RK4", "pyramidal")])
@pytest.mark.parametrize("law", [LAW, cy.HuntCrossley(dissipation=0.2)])
def test_the_gradient_is_that_of_differences(integrator, cone, law):
    box = robot(law, shape='type="box" size="0.3 0.24 0.15"', condim=6, integrator=integrator,
                cone=cone, z=0.149)
    x = state_of(box, 0.1485, (0.3, -0.2, -0.1), (0.4, -0.3, 0.6))
    report = cy.check_gradient(box, x, 20)
    assert report.ok, report
    names = [name for name in report.by_block if name.startswith("params.contact.")]
    assert len(names) == (3 if law.stiffness else 2)
    g = cy.rollout(box, x, 20, save="last").pullback(np.eye(13)[9][None])
    numbers = box.parameters.unpack(g.params)
    for name in ("contact.dissipation", "contact.stiction", "geom:shape.friction"):
        assert np.abs(numbers[name]).max() > 0
    if not law.stiffness:
        assert np.abs(numbers["geom:shape.solref"]).max() > 0


def test_jacobians_and_tangents_agree_with_the_pullback():
    box = robot(LAW, shape='type="box" size="0.1 0.08 0.05"', condim=4, z=0.049)
    x = state_of(box, 0.0485, (0.3, -0.2, -0.1), (0.4, -0.3, 0.6))
    A, _ = cy.linearise(box, x, np.zeros(0))
    run = cy.rollout(box, x, 1, save="last")
    bar = np.random.default_rng(0).normal(size=13)
    g = run.pullback(bar[None])
    assert np.abs(g.x0_tangent).max() > 0.1
    tangent = np.random.default_rng(1).normal(size=13)
    pushed = run.pushforward(x0_tan=tangent)
    assert abs((pushed[0] * bar).sum() - (g.x0 * tangent).sum()) < 1e-9 * np.abs(g.x0).max() * 10
    assert A.shape == (12, 12) and np.isfinite(A).all()
    batch = cy.linearise(box, np.stack([x] * 3), np.zeros((3, 0)))[0]
    assert np.abs(batch[1] - A).max() < 1e-9 * np.abs(A).max()


def test_limits_and_equalities_stay_mujocos():
    text = """<mujoco> <worldbody> <body> <joint name="a" type="slide" axis="1 0 0" range="-1 0"/>
    <geom size="0.1" mass="1"/> </body> </worldbody> </mujoco>"""
    for x in ([0.001, 0.5], [-0.5, 0.2]):
        plain, other = (cy.step(cy.load(text, contact=c), x) for c in ("mujoco", LAW))
        assert (plain == other).all()


def test_batches_and_float32():
    box = robot(LAW, dtype="float32", shape='type="box" size="0.1 0.08 0.05"', z=0.049)
    wide = robot(LAW, shape='type="box" size="0.1 0.08 0.05"', z=0.049)
    x = state_of(wide, 0.0485, (0.3, -0.2, -0.1), (0.4, -0.3, 0.6))
    rows = np.stack([x, state_of(wide, 0.4), x])
    run, reference = cy.rollout(box, rows, 40), cy.rollout(wide, rows, 40)
    assert (run.states[0] == run.states[2]).all()
    assert np.abs(run.states - reference.states).max() < 1e-4


@pytest.mark.parametrize("numbers, word", [
    ({"stiffness": 0.0}, "stiffness"), ({"stiffness": float("nan")}, "stiffness"),
    ({"exponent": 0.5}, "exponent"), ({"dissipation": -1.0}, "dissipation"),
    ({"stiction": 0.0}, "stiction"),
])
def test_numbers_that_make_no_sense_are_refused(numbers, word):
    with pytest.raises(cy.Error, match=word):
        robot(cy.HuntCrossley(**numbers))


def test_other_laws_are_refused_by_name():
    with pytest.raises(cy.Error, match="mujoco"):
        robot("bullet")
    with pytest.raises(TypeError, match="HuntCrossley"):
        robot(3.0)
