"""Systems whose inputs are a linear function of their state."""

import models
import numpy as np
import pytest

import cycloid as cy


def feedback_of(system, seed=0, size=0.3):
    random = np.random.default_rng(seed)
    return cy.LinearFeedback(
        gain=size * random.normal(size=(system.input_size, system.tangent_size)),
        target=system.initial_state() + 0.1 * random.normal(size=system.state_size),
        command=size * random.normal(size=system.input_size),
    )


def by_hand(system, feedback, x, steps):
    """The same loop, a step at a time, for a system without quaternions."""
    for _ in range(steps):
        x = cy.step(system, x, feedback.command - feedback.gain @ (x - feedback.target))
    return x


@pytest.mark.parametrize("integrator", ["rk4", "verlet", "implicit_midpoint", "dopri5"])
def test_the_input_is_computed_once_at_the_start_of_a_step(integrator):
    system = cy.systems.double_pendulum(integrator=integrator)
    feedback = feedback_of(system)
    closed = cy.close_loop(system, feedback)
    assert closed.input_size == 0 and closed.state_size == 4
    x0 = np.random.default_rng(1).normal(size=(3, 4))
    run = cy.rollout(closed, x0, 20)
    for e in range(3):
        np.testing.assert_allclose(
            run.states[e, -1], by_hand(system, feedback, x0[e], 20), rtol=1e-11, atol=1e-12
        )


def test_the_gradient_of_a_closed_law_is_that_of_the_whole_loop():
    system = cy.systems.double_pendulum(damping=(0.1, 0.2))
    closed = cy.close_loop(system, feedback_of(system))
    names = {"feedback.gain", "feedback.target", "feedback.command", "lengths", "gravity"}
    assert names <= set(closed.parameters.names)
    check = cy.check_gradient(closed, [0.3, -0.5, 0.2, 0.1], 30)
    assert check.ok, check
    assert {f"params.{name}" for name in names} <= set(check.by_block)


@pytest.mark.parametrize("name", ["dm_control/hopper", "gymnasium/ant"])
def test_a_robot_in_contact_can_be_closed(name):
    system = cy.load(models.MODELS[name])
    closed = cy.close_loop(system, feedback_of(system, size=0.05))
    random = np.random.default_rng(2)
    x0 = system.initial_state() + 0.02 * random.normal(size=(4, system.state_size))
    run = cy.rollout(closed, x0, 20)
    assert not run.report.failed and set(run.report.counters) >= {"contacts", "active_rows"}
    bar = np.zeros_like(run.states)
    bar[:, -1] = random.normal(size=(4, system.state_size))
    g = run.pullback(bar)
    k = closed.parameters.default
    info = closed.parameters.info("feedback.gain")
    direction = np.zeros_like(k)
    direction[info.offset : info.offset + info.size] = random.normal(size=info.size)

    def value(e):
        return np.sum(bar * cy.rollout(closed, x0, 20, k + e * direction).states)

    e = 1e-7  # contacts open and close within larger steps
    expected = (value(e) - value(-e)) / (2 * e)
    assert abs(expected) > 1e-4
    assert g.params @ direction == pytest.approx(expected, rel=1e-5)


def test_gains_may_differ_between_environments_and_no_number_depends_on_threads():
    system = cy.systems.pendulum()
    closed = cy.close_loop(system, feedback_of(system))
    gains = np.random.default_rng(3).normal(size=(37, 1, 2))
    runs = [
        cy.rollout(closed, [1.0, 0.0], 25, {"feedback.gain": gains}, threads=n) for n in (1, 2)
    ]
    assert np.array_equal(runs[0].states, runs[1].states)
    g = [r.pullback(np.ones_like(r.states)).params["feedback.gain"] for r in runs]
    assert g[0].shape == gains.shape and np.array_equal(*g)
    alone = cy.rollout(closed, [1.0, 0.0], 25, {"feedback.gain": gains[5]})
    np.testing.assert_allclose(alone.states, runs[0].states[5], rtol=1e-12)


def test_linearise_is_that_of_the_loop():
    system = cy.systems.double_pendulum()
    feedback = feedback_of(system)
    closed = cy.close_loop(system, feedback)
    x = np.array([0.3, -0.5, 0.2, 0.1])
    u = feedback.command - feedback.gain @ (x - feedback.target)
    a, b = cy.linearise(system, x, u)
    loop, none = cy.linearise(closed, x, [])
    np.testing.assert_allclose(loop, a - b @ feedback.gain, rtol=1e-10, atol=1e-12)
    assert none.shape == (4, 0)


def test_tangents_go_through_the_loop():
    system = cy.systems.double_pendulum()
    closed = cy.close_loop(system, feedback_of(system))
    run = cy.rollout(closed, [0.3, -0.5, 0.2, 0.1], 15)
    random = np.random.default_rng(4)
    bar, along = random.normal(size=run.states.shape), random.normal(size=closed.parameters.size)
    g = run.pullback(bar)
    assert np.sum(bar * run.pushforward(params_tan=along)) == pytest.approx(g.params @ along)


def check_observables(system, closed, feedback, x, names):
    """Values are the inner system's under the feedback's input, and gradients are differences."""
    u = feedback.command - (x - feedback.target) @ feedback.gain.T
    seen, inner = cy.observe(closed, x, names=names), cy.observe(system, x, u, names=names)
    assert seen.names == inner.names
    np.testing.assert_allclose(seen.values, inner.values, rtol=1e-12, atol=1e-12)
    random = np.random.default_rng(6)
    bar, p = random.normal(size=seen.values.shape), closed.parameters.default
    v, w = random.normal(size=x.shape), np.zeros_like(p)
    info = [closed.parameters.info(f"feedback.{n}") for n in ("gain", "target", "command")]
    for i in info:
        w[i.offset : i.offset + i.size] = random.normal(size=i.size)
    g = seen.pullback(bar)
    got = np.sum(g.x * v) + g.params @ w

    def value(e):
        return np.sum(bar * cy.observe(closed, x + e * v, names=names, params=p + e * w).values)

    e = 1e-5
    assert got == pytest.approx((value(e) - value(-e)) / (2 * e), rel=1e-6)
    assert abs(g.params @ w) > 1e-3  # what is shown depends on the feedback


def test_a_closed_law_shows_what_the_law_does():
    system = cy.own_law(
        lambda x, u, p, t, dt: x + dt * u,
        lambda x, u, p, t, dt, bar: (bar, dt * bar, {}),
        states={"place": 2},
        inputs={"push": 2},
        observables={
            "power": (
                lambda x, u, p, t: (x * u).sum(-1, keepdims=True),
                lambda x, u, p, t, bar: (u * bar, x * bar, {}),
            )
        },
    )
    feedback = feedback_of(system)
    closed = cy.close_loop(system, feedback)
    assert closed.observables == ("place", "power")
    check_observables(system, closed, feedback, np.array([[0.3, -0.5], [1.0, 0.2]]), None)


def test_the_energy_of_a_closed_law_is_its_bodies_own():
    system = cy.systems.double_pendulum(masses=(1.0, 2.0))
    closed = cy.close_loop(system, feedback_of(system))
    assert closed.observables == system.observables
    x = np.random.default_rng(7).normal(size=(5, 4))
    seen = cy.observe(closed, x, names=["energy", "angles"])
    expected = cy.observe(system, x, names=["energy", "angles"])
    np.testing.assert_array_equal(seen.values, expected.values)
    g, of = seen.pullback(np.ones((5, 3))), expected.pullback(np.ones((5, 3)))
    np.testing.assert_array_equal(g.x, of.x)
    by_name = closed.parameters.unpack(g.params)
    for name, bar in system.parameters.unpack(of.params).items():
        np.testing.assert_array_equal(by_name[name], bar)
    assert not by_name["feedback.gain"].any()


def test_a_closed_robot_shows_its_sensors():
    system = cy.load(
        """<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
        <geom size="0.1" pos="0 0 -2" mass="1"/> <site name="bob" pos="0 0 -2"/> </body>
        </worldbody> <actuator> <motor name="motor" joint="hinge"/> </actuator>
        <sensor> <actuatorfrc name="torque" actuator="motor"/>
        <accelerometer name="shake" site="bob"/> </sensor> </mujoco>"""
    )
    feedback = feedback_of(system)
    closed = cy.close_loop(system, feedback)
    x = np.array([[0.3, -0.5], [1.0, 0.2], [0.0, 0.7]])
    check_observables(system, closed, feedback, x, None)
    check_observables(system, closed, feedback, x, ["torque", "qacc", "qpos"])
    next = cy.advance(closed, x, None, 3, names=["torque", "qpos"])
    u = feedback.command - (next.states - feedback.target) @ feedback.gain.T
    np.testing.assert_allclose(next["torque"], u, rtol=1e-12)
    before = cy.advance(closed, x, None, 2).states  # what the last step leaves behind
    lagging = cy.advance(closed, x, None, 3, names="torque", lagging=True)
    u = feedback.command - (before - feedback.target) @ feedback.gain.T
    np.testing.assert_allclose(lagging["torque"], u, rtol=1e-12)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"gain": np.zeros((2, 2))}, r"gain must have shape \(1, 2\)"),
        ({"target": [0.0]}, r"target must have shape \(2,\)"),
        ({"command": [np.nan]}, "command must be finite"),
        ({"command": [0.0, 1.0]}, r"command must have shape \(1,\)"),
    ],
)
def test_feedbacks_that_do_not_fit_are_refused(change, message):
    parts = {"gain": np.zeros((1, 2)), "target": np.zeros(2), "command": np.zeros(1)} | change
    with pytest.raises(cy.Error, match=message):
        cy.close_loop(cy.systems.pendulum(), cy.LinearFeedback(**parts))


def test_what_has_no_inputs_cannot_be_closed():
    with pytest.raises(cy.ModelError, match="has no inputs"):
        cy.close_loop(cy.systems.lorenz(), cy.LinearFeedback(np.zeros((0, 3)), np.zeros(3)))
    with pytest.raises(TypeError, match="LinearFeedback"):
        cy.close_loop(cy.systems.pendulum(), [1.0, 2.0])
