"""Values and gradients against closed forms and central differences."""

import numpy as np
import pytest
from differences import check_rollout_gradient

import cycloid as cy

RANDOM = np.random.default_rng(20240229)


def normal(*shape):
    return RANDOM.normal(size=shape)


LAWS = {
    "pendulum": (cy.systems.pendulum(damping=0.3), [1.0, 0.5]),
    "double_pendulum": (cy.systems.double_pendulum(damping=(0.1, 0.2)), [1.0, 0.7, 0.3, -0.2]),
    "projectile": (cy.systems.projectile(drag=0.1, wind=(1, 2, 0)), [0, 0, 1, 3, 0.5, 4.0]),
    "spring_chain": (cy.systems.spring_chain(3, damping=0.1), [1.0, 0, -0.5, 0, 0.3, 0]),
    "kepler": (cy.systems.kepler(integrator="verlet"), [1.0, 0, 0, 1.1]),
    "lorenz": (cy.systems.lorenz(integrator="euler"), [1.0, 1.0, 20.0]),
}


@pytest.mark.parametrize("law", LAWS)
def test_the_gradient_of_a_law_equals_central_differences(law):
    system, x0 = LAWS[law]
    check_rollout_gradient(system, x0, normal(6, system.input_size) if system.input_size else 6)


def test_without_controls_their_gradient_is_that_of_zeros():
    check_rollout_gradient(cy.systems.pendulum(damping=0.1), [1.0, 0.0], 5)


BROADCASTS = {
    "a batch of states": ((4, 2), (5, 1), None),
    "controls for each": ((2,), (4, 5, 1), None),
    "two axes, both broadcast": ((3, 1, 2), (2, 5, 1), None),
    "an axis of one, kept": ((1, 2), (5, 1), None),
    "leading ones": ((1, 1, 2), (3, 5, 1), None),
    "a vector for each": ((2,), (5, 1), (3,)),
    "vectors against states": ((3, 1, 2), (5, 1), (1, 2)),
    "vectors, an axis of one": ((4, 2), (5, 1), (1,)),
    "three axes": ((2, 1, 1, 2), (3, 1, 5, 1), (2,)),
}


@pytest.mark.parametrize("case", BROADCASTS)
def test_gradients_are_summed_over_axes_that_were_broadcast(case):
    x0_shape, controls_shape, params_lead = BROADCASTS[case]
    system = cy.systems.pendulum(
        damping=0.2, vary=("length", "mass", "damping", "gravity", "option.timestep")
    )
    params = None
    if params_lead is not None:
        default = system.parameters.default
        params = default * (1 + 0.1 * np.abs(normal(*params_lead, default.size)))
    g = check_rollout_gradient(system, normal(*x0_shape), normal(*controls_shape), params)
    assert g.x0.shape == g.x0_tangent.shape == x0_shape
    assert g.controls.shape == controls_shape


@pytest.mark.parametrize(
    "params",
    [
        {"mass": 1.5},
        {"wind": [1.0, 0.5, 0.2]},
        {"drag": [0.1, 0.2, 0.3], "mass": 1.2},
        {"wind": 1 + np.arange(9.0).reshape(3, 3) / 10, "drag": 0.2},
        {"drag": [[0.1], [0.2]], "wind": np.ones((3, 3)), "gravity": [[9.0]]},
    ],
    ids=["number", "row", "one each and one for all", "a row each", "two axes"],
)
def test_a_mapping_gets_a_mapping_shaped_like_its_values(params):
    system = cy.systems.projectile(drag=0.1, vary=("drag", "wind"))
    g = check_rollout_gradient(system, [0, 0, 1, 3, 0.5, 4.0], 5, params)
    assert {name: part.shape for name, part in g.params.items()} == {
        name: np.shape(value) for name, value in params.items()
    }


def test_a_projectile_without_drag_equals_its_closed_form_to_1e_12():
    h, n, gravity = 0.02, 50, 9.0
    t = n * h
    system = cy.systems.projectile(gravity=gravity, dt=h)
    p, v = normal(8, 3), normal(8, 3)
    run = cy.rollout(system, np.concatenate([p, v], axis=1), n, save="last")
    fall = np.array([0, 0, 0.5 * gravity * t**2])
    np.testing.assert_allclose(run.states[:, 0, :3], p + t * v - fall, atol=1e-12)
    np.testing.assert_allclose(run.states[:, 0, 3:], v - [0, 0, gravity * t], atol=1e-12)

    bar = normal(8, 1, 6)
    g = run.pullback(bar)
    p_bar, v_bar = bar[:, 0, :3], bar[:, 0, 3:]
    np.testing.assert_allclose(g.x0, np.concatenate([p_bar, t * p_bar + v_bar], axis=1), atol=1e-12)
    named = system.parameters.unpack(g.params)
    down = -0.5 * t**2 * p_bar[:, 2] - t * v_bar[:, 2]
    np.testing.assert_allclose(named["gravity"], down.sum(), atol=1e-12)
    # The end is at t = n h.
    by_time = (p_bar * (v - [0, 0, gravity * t])).sum() - gravity * v_bar[:, 2].sum()
    np.testing.assert_allclose(named["option.timestep"], n * by_time, rtol=1e-12)
    assert np.abs(g.x0).min() > 0 and abs(by_time) > 1e-3


@pytest.mark.parametrize(
    "save, steps",
    [
        ("all", range(13)),
        ("last", [12]),
        (5, [0, 5, 10]),
        (100, [0]),
        ([0, 3, -1], [0, 3, 12]),
        (np.array([1, 2]), [1, 2]),
        (range(2, 13, 4), [2, 6, 10]),
    ],
)
@pytest.mark.parametrize("memory", ["auto", "all", "sqrt", 2, "64MB"])
def test_states_bar_refers_to_what_is_saved(save, steps, memory):
    system = cy.systems.double_pendulum()
    x0, controls, steps = normal(3, 4), normal(12, 2), list(steps)
    everything = cy.rollout(system, x0, controls)
    run = cy.rollout(system, x0, controls, save=save, memory=memory, t0=2.0)
    assert run.steps.tolist() == steps
    np.testing.assert_allclose(run.times, 2.0 + 0.01 * np.array(steps))
    np.testing.assert_array_equal(run.states, everything.states[:, steps])

    bar = normal(*run.states.shape)
    full = np.zeros(everything.states.shape)
    full[:, steps] = bar
    g, expected = run.pullback(bar), everything.pullback(full)
    np.testing.assert_array_equal(g.x0, expected.x0)
    np.testing.assert_array_equal(g.controls, expected.controls)
    np.testing.assert_array_equal(g.params, expected.params)
    assert np.abs(g.x0).max() > 1e-3


def test_truncate_cuts_the_gradient():
    system = cy.systems.pendulum()
    bar = [[1.0, 0.0]]
    exact = cy.rollout(system, [1.0, 0.0], 100, save="last").pullback(bar)
    cut = cy.rollout(system, [1.0, 0.0], 100, save="last", memory=cy.Truncate(10)).pullback(bar)
    assert np.abs(exact.x0).min() > 1e-3 and not cut.x0.any()
    np.testing.assert_array_equal(cut.controls[90:], exact.controls[90:])
    assert exact.controls[:90].all() and not cut.controls[:90].any()


def failing_run(**options):
    """Kepler's law in four environments; the third starts in the centre."""
    x0 = np.array([[1.0, 0, 0, 1.1], [1.2, 0, 0, 1.0], [0, 0, 0, 0], [0, 1, 1, 0]])
    return cy.rollout(cy.systems.kepler(), x0, 20, **options), x0


def test_a_failed_environment_is_reported_and_leaves_its_neighbours_alone():
    run, x0 = failing_run()
    (failure,) = run.report.failed
    assert failure[:2] == (2, 0) and "stage" in failure.stage and "finite" in failure.reason
    assert failure.body == "velocity[0]"
    assert "1 FAILED" in repr(run)
    np.testing.assert_array_equal(run.states[2], np.broadcast_to(x0[2], (21, 4)))
    others = cy.rollout(run.system, x0[[0, 1, 3]], 20)
    np.testing.assert_array_equal(run.states[[0, 1, 3]], others.states)


def test_a_pullback_through_a_failed_environment_raises_or_skips_it():
    run, x0 = failing_run()
    bar = normal(*run.states.shape)
    with pytest.raises(cy.GradientError, match="environment 2, step 0"):
        run.pullback(bar)
    g = run.pullback(bar, failed="skip")
    expected = cy.rollout(run.system, x0[[0, 1, 3]], 20).pullback(bar[[0, 1, 3]])
    np.testing.assert_array_equal(g.x0[[0, 1, 3]], expected.x0)
    assert not g.x0[2].any() and expected.x0.any()
    np.testing.assert_allclose(g.params, expected.params, rtol=1e-12)
    assert cy.diagnose(run, bar).verdict == "non_finite"
    assert cy.diagnose(run, bar).first_nonfinite[:2] == (2, 0)


def test_a_gradient_that_overflows_raises_or_is_skipped():
    x0 = np.array([[1e200, 1.0, 1.0], [1.0, 1.0, 20.0]])
    run = cy.rollout(cy.systems.lorenz(integrator="euler"), x0, 1)
    assert not run.report.failed
    bar = np.full(run.states.shape, 1e200)
    with pytest.raises(cy.GradientError, match="environment 0"):
        run.pullback(bar)
    g = run.pullback(bar, failed="skip")
    assert not g.x0[0].any() and np.isfinite(g.x0[1]).all() and g.x0[1].any()


# A float32 step rounds at 6e-8; over 50 steps of these motions errors grow by less than 1e3.
FLOAT32_TOLERANCE = 1e-4


@pytest.mark.parametrize("law", ["pendulum", "double_pendulum", "kepler", "spring_chain"])
def test_float32_agrees_with_float64(law):
    n = {"n": 3} if law == "spring_chain" else {}
    wide = cy.systems.make(law, **n)
    narrow = cy.systems.make(law, dtype="float32", **n)
    x0 = wide.initial_state() + 0.01 * normal(5, wide.state_size)
    controls = normal(50, wide.input_size)
    runs = [cy.rollout(system, x0, controls) for system in (wide, narrow)]
    assert [run.states.dtype for run in runs] == [np.float64, np.float32]
    bar = normal(*runs[0].states.shape)
    g, expected = runs[1].pullback(bar), runs[0].pullback(bar)
    assert g.x0.dtype == g.controls.dtype == g.x0_tangent.dtype == np.float32
    assert g.params.dtype == np.float64
    for got, wanted in (
        (runs[1].states, runs[0].states),
        (g.x0, expected.x0),
        (g.controls, expected.controls),
        (g.params, expected.params),
    ):
        scale = np.abs(wanted).max(initial=1e-3)
        assert np.abs(got - wanted).max(initial=0) <= FLOAT32_TOLERANCE * scale
    assert np.abs(g.x0).max() > 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_linearise_equals_central_differences_of_step(law):
    system, x0 = LAWS[law]
    x = np.array([x0, x0]) + 0.1 * normal(2, system.state_size)
    u = normal(2, system.input_size)
    lin = cy.linearise(system, x, u, wrt=("x", "u", "params"))
    A, B = cy.linearise(system, x, u)
    np.testing.assert_array_equal(lin.A, A)
    np.testing.assert_array_equal(lin.B, B)
    np.testing.assert_array_equal(lin.next, cy.step(system, x, u))
    default = system.parameters.default

    def jacobian(function, at):
        h = 1e-5 * np.maximum(1, np.abs(at))
        columns = [
            (function(at + h[i] * e) - function(at - h[i] * e)) / (2 * h[i])
            for i, e in enumerate(np.eye(len(at)))
        ]
        return np.array(columns).reshape(len(at), system.state_size).T

    for e in range(2):
        for got, expected in (
            (lin.A[e], jacobian(lambda v: cy.step(system, v, u[e]), x[e])),
            (lin.B[e], jacobian(lambda v: cy.step(system, x[e], v), u[e])),
            (lin.P[e], jacobian(lambda v: cy.step(system, x[e], u[e], v), default)),
        ):
            # Differences with 1e-5: truncation 1e-10, rounding 1e-11, of numbers near 1.
            np.testing.assert_allclose(got, expected, atol=1e-8)
    assert np.abs(lin.P).max() > 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_check_gradient_agrees(law):
    system, x0 = LAWS[law]
    check = cy.check_gradient(system, x0, 20)
    assert check.ok, check
    assert check.max_relative_error == max(check.by_block.values()) <= check.tolerance
    assert set(check.details) == set(check.by_block)
    assert repr(check) == check.text.rstrip()


def test_check_gradient_is_not_misled_by_a_law_that_saturates():
    """Beyond x = w a step has another slope, on which long differences agree to the last digit."""
    width, gain = 1e-3, 0.25
    grown = lambda x: np.minimum(1, (x / width) ** 2)
    step = lambda x, u, p, t, dt: x * (1 + gain * grown(x))
    slope = lambda x: 1 + gain * (grown(x) + 2 * np.where(grown(x) < 1, (x / width) ** 2, 0))
    right = lambda x, u, p, t, dt, bar: (bar * slope(x), 0, {})
    wrong = lambda x, u, p, t, dt, bar: (bar * (slope(x) + gain), 0, {})
    law = lambda pullback: cy.own_law(step, pullback, states={"x": 1})
    assert cy.check_gradient(law(right), [0.0], 1).ok
    assert not cy.check_gradient(law(wrong), [0.0], 1).ok


def test_diagnose_tells_what_becomes_of_the_gradient():
    damped = cy.rollout(cy.systems.pendulum(damping=5.0), [1.0, 0.0], 2000, save="last")
    assert cy.diagnose(damped, [[1, 0]]).verdict == "vanishing"
    swinging = cy.rollout(cy.systems.pendulum(), np.full((2, 3, 2), 0.5), 100)
    fine = cy.diagnose(swinging, np.ones(2))
    assert fine.verdict == "fine" and fine.reliable and fine.verdicts == ["fine"] * 6
    assert fine.growth.shape == (2, 3, 100) and fine.lyapunov.shape == (2, 3)
    assert fine.first_nonfinite is None and "Fine" in repr(fine)


def test_time_reaches_the_law():
    system = cy.own_law(
        lambda x, u, p, t, dt: x + dt * np.cos(t)[:, None], states={"x": 1}, dt=0.1
    )
    run = cy.rollout(system, [0.0], 3, t0=1.0)
    np.testing.assert_allclose(np.diff(run.states[:, 0]), 0.1 * np.cos([1.0, 1.1, 1.2]))
    np.testing.assert_allclose(cy.step(system, [0.0], t=2.0), 0.1 * np.cos(2.0))
