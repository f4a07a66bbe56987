"""Systems of every kind keep what every System must keep; and what does not is caught."""

import mujoco
import numpy as np
import pytest
from conformance import broken_claims, conform
from models import MODELS
from own_law_test import own_pendulum, pendulum_pullback, pendulum_step

import cycloid as cy

BATCH, STEPS = 9, 5

LAWS = {
    "pendulum": (cy.systems.pendulum(damping=0.3), [1.0, 0.5]),
    "pendulum, float32": (cy.systems.pendulum(damping=0.3, dtype="float32"), [1.0, 0.5]),
    "double_pendulum": (
        cy.systems.double_pendulum(damping=(0.1, 0.2), integrator="implicit_midpoint"),
        [1.0, 0.7, 0.3, -0.2],
    ),
    "projectile": (cy.systems.projectile(drag=0.1, wind=(1, 2, 0.5)), [0, 0, 1, 3, 0.5, 4.0]),
    "spring_chain": (cy.systems.spring_chain(3), [1.0, 0, -0.5, 0, 0.3, 0]),
    "kepler": (cy.systems.kepler(integrator="verlet"), [1.0, 0, 0, 1.1]),
    "lorenz": (cy.systems.lorenz(integrator="dopri5"), [1.0, 1.0, 20.0]),
}


def rows(system, x0, spread=0.1, seed=3):
    draw = np.random.default_rng(seed)
    x = np.asarray(x0) + spread * draw.normal(size=(BATCH, system.state_size))
    return x, draw.normal(size=(BATCH, STEPS, system.input_size))


@pytest.mark.parametrize("law", LAWS)
def test_laws_conform(law):
    system, x0 = LAWS[law]
    conform(system, *rows(system, x0))


def test_a_law_written_in_python_conforms():
    system = own_pendulum()
    conform(system, *rows(system, [1.0, 0.5]))


def test_a_closed_loop_conforms():
    system = cy.systems.double_pendulum(damping=(0.1, 0.2))
    draw = np.random.default_rng(5)
    feedback = cy.LinearFeedback(draw.normal(size=(2, 4)), draw.normal(size=4), draw.normal(size=2))
    closed = cy.close_loop(system, feedback)
    conform(closed, *rows(closed, [1.0, 0.7, 0.3, -0.2]))


@pytest.mark.parametrize("observe", [None, ["energy", "angles"]])
def test_a_loop_closed_by_a_network_conforms(observe):
    system = cy.systems.double_pendulum(damping=(0.1, 0.2))
    net = cy.networks.MLP((4 if observe is None else 3, 6, 2), seed=1)
    closed = cy.close_loop(system, net, observe)
    conform(closed, *rows(closed, [1.0, 0.7, 0.3, -0.2]))


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_large_world_conforms(slope):
    conductivity = np.exp(np.random.default_rng(4).normal(size=(7, 6)))
    system = cy.systems.heat((7, 6), conductivity, dt=0.4, slope=slope)
    conform(system, *rows(system, np.linspace(0, 1, 42)))


@pytest.mark.parametrize("name", ["gymnasium/hopper", "gymnasium/ant", "dm_control/humanoid"])
def test_robots_in_contact_conform(name):
    model = mujoco.MjModel.from_xml_path(str(MODELS[name]))
    system = cy.from_mujoco(model)
    data = mujoco.MjData(model)
    draw = np.random.default_rng(8)
    x = np.empty((BATCH, system.state_size))
    for e in range(BATCH):
        mujoco.mj_resetData(model, data)
        for _ in range(150 + 20 * e):
            data.ctrl[:] = 0.3 * draw.normal(size=model.nu)
            mujoco.mj_step(model, data)
        x[e] = cy.state_from_mujoco(system, data)
    u = 0.3 * draw.normal(size=(BATCH, STEPS, system.input_size))
    run = cy.rollout(system, x, u)
    assert run.report.contacts > 0
    free = [
        model.jnt_qposadr[j] + (3 if kind == mujoco.mjtJoint.mjJNT_FREE else 0)
        for j, kind in enumerate(model.jnt_type)
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL)
    ]
    conform(system, x, u, quaternions=free, blocks=6)


BOX, BALL = 'type="box" size="0.3 0.24 0.15"', 'size="0.15"'


@pytest.mark.parametrize(
    "shape, keywords",
    [
        (BOX, {"contact": cy.HuntCrossley(stiffness=3e4, dissipation=0.3)}),
        (BALL, {"refine": 1e-4}),
    ],
)
def test_compliant_and_refined_contacts_conform(shape, keywords):
    """A body that lands on a floor, turning."""
    system = cy.load(
        f"""<mujoco> <option timestep="0.004" integrator="implicitfast" cone="elliptic"/>
        <worldbody> <geom type="plane" size="5 5 1" friction="0.1 0.001 0.0001"/>
        <body> <freejoint/> <geom {shape} mass="1" condim="4"/> </body>
        </worldbody> </mujoco>""",
        inputs=("qfrc_applied",),
        **keywords,
    )
    draw = np.random.default_rng(8)
    x = np.tile(system.initial_state(), (BATCH, 1))
    x[:, 2] = 0.15 + draw.uniform(-0.003, 0.03, size=BATCH)
    x[:, 7:13] = 0.5 * draw.normal(size=(BATCH, 6))
    x[:, 9] = -1.5
    u = 0.5 * draw.normal(size=(BATCH, STEPS, system.input_size))
    assert cy.rollout(system, x, u).report.contacts > 0
    conform(system, x, u, quaternions=[3], blocks=6)


# The suite can fail: each of these breaks a claim.


def own(step=pendulum_step, pullback=pendulum_pullback):
    return cy.own_law(
        step,
        pullback,
        states={"angle": 1, "speed": 1},
        inputs={"torque": 1},
        parameters={"length": 1.0, "mass": 1.5, "damping": 0.3},
        initial_state=[1.0, 0.0],
        name="own",
    )


def claims_broken_by(system):
    return {claim.split(":")[0] for claim in broken_claims(system, *rows(system, [1.0, 0.5]))}


def test_a_wrong_parameter_cotangent_is_caught():
    def pullback(x, u, p, t, dt, bar):
        x_bar, u_bar, p_bar = pendulum_pullback(x, u, p, t, dt, bar)
        return x_bar, u_bar, p_bar | {"mass": p_bar["mass"] * (1 + 1e-4)}

    assert claims_broken_by(own(pullback=pullback)) == {"differences"}


def test_a_step_that_looks_at_its_neighbours_is_caught():
    def step(x, u, p, t, dt):
        return pendulum_step(x, u, p, t, dt) + 1e-12 * x.mean(axis=0)

    assert "batch" in claims_broken_by(own(step))


def test_a_step_that_remembers_is_caught():
    calls = []

    def step(x, u, p, t, dt):
        calls.append(None)
        return pendulum_step(x, u, p, t, dt) + 1e-13 * len(calls)

    assert {"step", "memory", "threads"} <= claims_broken_by(own(step))
