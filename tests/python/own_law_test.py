"""A law written in Python is a System for everything."""

import gc
import threading
import weakref

import numpy as np
import pytest
from differences import check_rollout_gradient

import cycloid as cy

G = 9.81


def pendulum_step(x, u, p, t, dt):
    """Semi-implicit Euler of a damped pendulum with a torque, as in C++'s `semi_implicit`."""
    angle, speed = x[:, 0], x[:, 1]
    inertia = p["mass"] * p["length"] ** 2
    rate = -G / p["length"] * np.sin(angle) + (u[:, 0] - p["damping"] * speed) / inertia
    speed = speed + dt * rate
    return np.stack([angle + dt * speed, speed], axis=1)


def pendulum_pullback(x, u, p, t, dt, bar):
    angle, speed = x[:, 0], x[:, 1]
    length, mass = p["length"], p["mass"]
    inertia = mass * length**2
    torque = u[:, 0] - p["damping"] * speed
    speed_bar = bar[:, 1] + dt * bar[:, 0]
    rate_bar = dt * speed_bar
    inertia_bar = -rate_bar * torque / inertia**2
    return (
        np.stack(
            [
                bar[:, 0] - rate_bar * G / length * np.cos(angle),
                speed_bar - rate_bar * p["damping"] / inertia,
            ],
            axis=1,
        ),
        (rate_bar / inertia)[:, None],
        {
            "length": rate_bar * G / length**2 * np.sin(angle) + 2 * mass * length * inertia_bar,
            "mass": inertia_bar * length**2,
            "damping": -rate_bar * speed / inertia,
        },
    )


def own_pendulum(**options):
    return cy.own_law(
        pendulum_step,
        pendulum_pullback,
        states={"angle": 1, "speed": 1},
        inputs={"torque": 1},
        parameters={"length": 1.0, "mass": 1.5, "damping": 0.3},
        vary=("length", "damping"),
        initial_state=[1.0, 0.0],
        name="own_pendulum",
        **options,
    )


SYSTEM = own_pendulum()
RANDOM = np.random.default_rng(7)


def decay(**options):
    """x decays at a rate, a parameter; the time step is one too."""

    def step(x, u, p, t, dt):
        return x * (1 - p["rate"] * dt)[:, None]

    def pullback(x, u, p, t, dt, bar):
        along = (bar * x).sum(axis=1)
        x_bar = bar * (1 - p["rate"] * dt)[:, None]
        return x_bar, u, {"rate": -dt * along}, -p["rate"] * along

    return cy.own_law(
        step, pullback, states={"x": 2}, parameters={"rate": 0.5}, differentiate_dt=True, **options
    )


def test_it_moves_as_the_same_law_in_cpp():
    # G is not a parameter here; the C++ law's gravity is the same number.
    law = cy.systems.pendulum(mass=1.5, damping=0.3, gravity=G, integrator="semi_implicit")
    x0, controls = RANDOM.normal(size=(5, 2)), RANDOM.normal(size=(50, 1))
    own, ours = cy.rollout(SYSTEM, x0, controls), cy.rollout(law, x0, controls)
    np.testing.assert_allclose(own.states, ours.states, atol=1e-12)
    bar = RANDOM.normal(size=own.states.shape)
    g, expected = own.pullback(bar), ours.pullback(bar)
    np.testing.assert_allclose(g.x0, expected.x0, atol=1e-10)
    np.testing.assert_allclose(g.controls, expected.controls, atol=1e-10)
    np.testing.assert_allclose(g.params, expected.params[:3], atol=1e-9)
    A, B = cy.linearise(SYSTEM, x0, controls[0])
    A_ours, B_ours = cy.linearise(law, x0, controls[0])
    np.testing.assert_allclose(A, A_ours, atol=1e-12)
    np.testing.assert_allclose(B, B_ours, atol=1e-12)


@pytest.mark.parametrize(
    "x0, controls, params",
    [
        ((2,), (5, 1), None),
        ((3, 2), (5, 1), {"length": [0.5, 1.0, 2.0], "mass": 1.2}),
        ((2, 1, 2), (3, 5, 1), {"damping": [[0.1], [0.2]]}),
    ],
)
def test_its_gradient_equals_central_differences(x0, controls, params):
    random = np.random.default_rng(3)
    check_rollout_gradient(SYSTEM, random.normal(size=x0), random.normal(size=controls), params)


def test_the_time_step_may_be_a_parameter():
    system = decay()
    assert system.parameters.names == ("rate", "option.timestep")
    check_rollout_gradient(system, RANDOM.normal(size=(3, 2)), 4, {"option.timestep": 0.02})
    assert cy.check_gradient(system, [1.0, 2.0], 10).ok
    run = cy.rollout(system, [1.0, 1.0], 4, {"option.timestep": 0.5})
    np.testing.assert_allclose(run.times, [0, 0.5, 1, 1.5, 2])


def test_states_at_given_times_lie_between_those_of_steps_and_have_their_gradient():
    x0, controls = RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(8, 1))
    run, steps = cy.rollout(SYSTEM, x0, controls, times=[0.0225]), cy.rollout(SYSTEM, x0, controls)
    middle = 0.75 * steps.states[:, 2] + 0.25 * steps.states[:, 3]
    np.testing.assert_allclose(run.states[:, 0], middle, atol=1e-14)
    check_rollout_gradient(SYSTEM, x0, controls, times=[0, 0.0225, 0.05, 0.077])
    # States in the second and in the fourth step, also where these are a little longer or shorter.
    check_rollout_gradient(
        decay(dt=0.02), x0, 4, {"option.timestep": 0.02, "rate": 0.6}, times=[0.027, 0.065]
    )


def test_it_is_checked_diagnosed_and_linearised_like_any_other():
    check = cy.check_gradient(SYSTEM, [1.0, 0.2], 10)
    assert check.ok and "params.length" in check.by_block
    run = cy.rollout(SYSTEM, np.ones((2, 2)), 30)
    assert cy.diagnose(run, np.ones(run.states.shape)).verdict == "fine"
    lin = cy.linearise(SYSTEM, np.ones((2, 2)), wrt=("x", "u", "params"))
    assert lin.P.shape == (2, 2, 3) and lin.P.any()
    assert cy.step(SYSTEM, SYSTEM.initial_state(), [0.0]).shape == (2,)
    assert repr(SYSTEM) == "<System own_pendulum: 2 states, 1 input, dt 10 ms>"


def test_a_wrong_pullback_is_caught():
    def wrong(x, u, p, t, dt, bar):
        x_bar, u_bar, p_bar = pendulum_pullback(x, u, p, t, dt, bar)
        return x_bar, u_bar, p_bar | {"length": 1.1 * p_bar["length"]}

    system = cy.own_law(
        pendulum_step, wrong, states={"angle": 1, "speed": 1}, inputs={"torque": 1},
        parameters={"length": 1.0, "mass": 1.5, "damping": 0.3},
    )
    check = cy.check_gradient(system, [1.0, 0.2], 10)
    assert not check.ok and check.by_block["params.length"] > 0.01
    assert check.by_block["x0.angle"] < 1e-6


def test_memory_threads_batch_size_and_place_do_not_change_a_bit():
    x0, controls = RANDOM.normal(size=(300, 2)), RANDOM.normal(size=(20, 1))
    bar = RANDOM.normal(size=(300, 21, 2))
    base = cy.rollout(SYSTEM, x0, controls)
    expected = base.pullback(bar)
    for options in ({"memory": 3}, {"memory": "all"}, {"threads": 2}, {"threads": 3, "memory": 2}):
        run = cy.rollout(SYSTEM, x0, controls, **options)
        g = run.pullback(bar)
        np.testing.assert_array_equal(run.states, base.states)
        np.testing.assert_array_equal(g.x0, expected.x0)
        np.testing.assert_array_equal(g.params, expected.params)
    few = cy.rollout(SYSTEM, x0[130:133], controls)
    np.testing.assert_array_equal(few.states, base.states[130:133])
    np.testing.assert_array_equal(few.pullback(bar[130:133]).x0, expected.x0[130:133])


def test_the_functions_run_on_the_calling_thread_unless_threads_are_asked_for():
    seen = set()

    def step(x, u, p, t, dt):
        seen.add((threading.get_ident(), len(x)))
        return x

    system = cy.own_law(step, states={"x": 1})
    cy.rollout(system, np.zeros((300, 1)), 20)
    cy.step(system, np.zeros((300, 1)))
    assert seen == {(threading.get_ident(), 128)}
    seen.clear()
    cy.step(system, [0.0])
    assert seen == {(threading.get_ident(), 1)}


def test_a_law_without_parameters_or_inputs_has_gradients():
    system = cy.own_law(
        lambda x, u, p, t, dt: 2 * x,
        lambda x, u, p, t, dt, bar: (2 * bar, None, None),
        states={"x": 3},
    )
    for x0 in (np.ones(3), np.ones((4, 3))):
        g = cy.rollout(system, x0, 3, save="last").pullback(np.ones(3))
        assert (g.x0 == 8).all() and g.params.shape == (0,) and g.controls.shape == (3, 0)
    lin = cy.linearise(system, np.ones(3), wrt=("x", "params"))
    assert lin.P.shape == (3, 0)
    assert cy.check_gradient(system, np.ones(3), 3).ok


def test_a_failure_has_a_name_and_leaves_the_others_alone():
    def step(x, u, p, t, dt):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.stack([x[:, 0] + dt, np.sqrt(1 - x[:, 0]) + 0 * x[:, 1]], axis=1)

    system = cy.own_law(step, states={"clock": 1, "root": 1}, dt=0.25)
    x0 = np.array([[0.0, 0.0], [0.6, 0.0], [-5.0, 0.0]])
    run = cy.rollout(system, x0, 6)
    assert [(f.environment, f.step, f.stage, f.body) for f in run.report.failed] == [
        (0, 5, "step", "root"),
        (1, 2, "step", "root"),
    ]
    assert "not finite" in run.report.failed[0].reason
    assert (run.states[1, 2:] == run.states[1, 2]).all()
    np.testing.assert_array_equal(run.states[2], cy.rollout(system, x0[[2, 2]], 6).states[0])
    with pytest.raises(cy.GradientError, match="environment 0, step 5"):
        run.pullback(np.ones(run.states.shape))
    with pytest.raises(cy.Error, match="the step failed.*root"):
        cy.step(system, [2.0, 0.0])


def test_without_a_pullback_there_is_no_gradient():
    system = cy.own_law(pendulum_step, states={"a": 1, "s": 1}, inputs={"u": 1},
                        parameters={"length": 1.0, "mass": 1.0, "damping": 0.0})
    run = cy.rollout(system, [1.0, 0.0], 3)
    for use in (
        lambda: run.pullback(np.ones((4, 2))),
        lambda: cy.linearise(system, [1.0, 0.0]),
        lambda: cy.check_gradient(system, [1.0, 0.0], 3),
        lambda: cy.diagnose(run, np.ones((4, 2))),
    ):
        with pytest.raises(cy.GradientError, match="without a pullback"):
            use()


class OwnException(Exception):
    pass


@pytest.mark.parametrize("kind", [OwnException, ZeroDivisionError, SystemExit, cy.ModelError])
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_what_the_functions_raise_leaves_unchanged(kind, threads):
    raised = kind("out of here")

    def raises(*arguments):
        raise raised

    x0 = np.zeros((400, 1))
    system = cy.own_law(raises, states={"x": 1})
    with pytest.raises(kind) as caught:
        cy.rollout(system, x0, 10, threads=threads)
    assert caught.value is raised
    assert caught.traceback[-1].name == "raises"

    system = cy.own_law(lambda x, u, p, t, dt: x, raises, states={"x": 1})
    run = cy.rollout(system, x0, 10, threads=threads)
    for use in (
        lambda: run.pullback(np.ones(run.states.shape)),
        lambda: cy.diagnose(run, np.ones(run.states.shape)),
        lambda: cy.linearise(system, x0),
        lambda: cy.check_gradient(system, x0, 2),
    ):
        with pytest.raises(kind) as caught:
            use()
        assert caught.value is raised


RETURNS = {
    "nothing": (None, "must be numbers"),
    "text": ("x", "must be numbers"),
    "another shape": (np.zeros((1, 3)), r"step must return x_next of shape \(1, 2\); got \(1, 3\)"),
    "a row": (np.zeros(2), r"got \(2,\)"),
    "a number": (0.0, r"got \(\)"),
    "ragged rows": ([[1], [1, 2]], "x_next"),
    "complex": (np.zeros((1, 2), complex), "complex"),
}


@pytest.mark.parametrize("case", RETURNS)
def test_what_step_returns_is_checked(case):
    value, words = RETURNS[case]
    system = cy.own_law(lambda x, u, p, t, dt: value, states={"x": 2})
    with pytest.raises((cy.Error, TypeError), match=words):
        cy.rollout(system, [0.0, 0.0], 2)


X_BAR, U_BAR = np.zeros((1, 2)), np.zeros((1, 1))
PULLBACK_RETURNS = {
    "nothing": (None, r"must return \(x_bar, u_bar, p_bar\); got NoneType"),
    "two parts": ((X_BAR, U_BAR), "got tuple of 2"),
    "a list": ([X_BAR, U_BAR, {"a": 0, "b": 0}], "got list"),
    "a wrong x_bar": ((U_BAR, U_BAR, {"a": 0, "b": 0}), "x_bar of shape"),
    "no u_bar": ((X_BAR, None, {"a": 0, "b": 0}), "u_bar"),
    "no p_bar": ((X_BAR, U_BAR, None), "p_bar for"),
    "a name is missing": ((X_BAR, U_BAR, {"a": 0}), r"p_bar for \['a', 'b'\]; got \['a'\]"),
    "a name too many": ((X_BAR, U_BAR, {"a": 0, "b": 0, "c": 0}), "p_bar for"),
    "a wrong p_bar": ((X_BAR, U_BAR, {"a": X_BAR, "b": 0}), r"p_bar\['a'\] of shape \(1,\)"),
    "a number that is not zero": ((X_BAR, U_BAR, {"a": 1.0, "b": 0}), "p_bar"),
}


@pytest.mark.parametrize("case", PULLBACK_RETURNS)
def test_what_pullback_returns_is_checked(case):
    value, words = PULLBACK_RETURNS[case]
    system = cy.own_law(
        lambda x, u, p, t, dt: x, lambda *arguments: value, states={"x": 2}, inputs={"u": 1},
        parameters={"a": 0.0, "b": [1.0, 2.0]},
    )
    run = cy.rollout(system, [0.0, 0.0], 2)
    with pytest.raises((cy.Error, TypeError), match=words):
        run.pullback(np.ones((3, 2)))


def step_of_nothing(x, u, p, t, dt):
    return x


ARGUMENTS = [
    ({"states": {}}, cy.ModelError, "at least one"),
    ({"states": {"x": 0}}, cy.Error, "the size of 'x' must be at least 1"),
    ({"states": {"x": 1.5}}, TypeError, "must be an int"),
    ({"states": {"x": 10**12}}, cy.Error, "at most"),
    ({"states": {"": 1}}, cy.ModelError, "needs a name"),
    ({"states": 3}, TypeError, "states must map names to sizes"),
    ({"states": ["x"]}, TypeError, "states must map names to sizes"),
    ({"inputs": ["u"]}, TypeError, "inputs must map"),
    ({"parameters": 3}, TypeError, "parameters must map"),
    ({"parameters": {"a": "b"}}, TypeError, "parameter 'a'"),
    ({"parameters": {"a": []}}, cy.Error, "has no numbers"),
    ({"parameters": {"a": np.nan}}, cy.ParameterError, "must be finite"),
    ({"parameters": {"option.timestep": 1.0}}, cy.Error, "differentiate_dt"),
    ({"dt": 0}, cy.Error, "dt must be positive"),
    ({"dt": np.nan}, cy.Error, "dt must be finite"),
    ({"dt": None}, TypeError, "dt must be numbers"),
    ({"vary": "mass"}, cy.ParameterError, "no parameter"),
    ({"initial_state": [1, 2]}, cy.Error, r"shape \(1,\)"),
    ({"initial_state": [np.nan]}, cy.Error, "finite"),
    ({"step": 3}, TypeError, "step must be a function"),
    ({"step": None}, TypeError, "step must be a function"),
    ({"pullback": 3}, TypeError, "pullback must be a function"),
]


@pytest.mark.parametrize("arguments, kind, words", ARGUMENTS)
def test_its_arguments_are_checked(arguments, kind, words):
    given = {"step": step_of_nothing, "states": {"x": 1}} | arguments
    with pytest.raises(kind, match=words):
        cy.own_law(**given)


def test_the_arrays_are_the_functions_to_change_and_to_keep():
    kept = []

    def step(x, u, p, t, dt):
        kept.append(x)
        result = x + 1
        x[:] = u[:] = t[:] = p["a"][:] = -1
        return result

    system = cy.own_law(step, states={"x": 1}, inputs={"u": 1}, parameters={"a": 1.0})
    controls = np.zeros((3, 1))
    run = cy.rollout(system, [0.0], controls)
    assert run.states[:, 0].tolist() == [0, 1, 2, 3] and not controls.any()
    assert [float(x[0, 0]) for x in kept] == [-1, -1, -1]


def test_a_rollout_inside_a_law_works():
    inner = cy.systems.pendulum()

    def step(x, u, p, t, dt):
        return cy.rollout(inner, x, 3, save="last").states[:, 0]

    system = cy.own_law(step, states={"x": 2})
    run = cy.rollout(system, np.ones((5, 2)), 2)
    expected = cy.rollout(inner, np.ones((5, 2)), 6, save=3)
    np.testing.assert_allclose(run.states, expected.states, atol=1e-14)


def test_a_law_in_a_cycle_is_collected():
    class Model:
        def __init__(self):
            self.system = cy.own_law(self.step, states={"x": 1})
            self.run = cy.rollout(self.system, [1.0], 3)

        def step(self, x, u, p, t, dt):
            return x

    model = Model()
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_trajectory_keeps_its_law_alive():
    run = cy.rollout(decay(), [1.0, 2.0], 3)
    gc.collect()
    assert run.pullback(np.ones((4, 2))).x0.any()
