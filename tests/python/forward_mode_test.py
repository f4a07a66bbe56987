"""Tangents of rollouts, Hessian-vector products, and Jacobians that are no dense matrices: against
central differences of rollouts and of gradients, and against each other."""

import functools
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from models import MODELS
from scipy.sparse.linalg import LinearOperator

import cycloid as cy

# The best of a sweep of steps, as differences have noise on one side and curvature on the other.
STEPS = (1e-3, 1e-4, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8)


def along(function, tolerance, may_be_zero=False):
    """A check that an array equals the derivative of function(e) at e = 0."""

    def check(got, what):
        errors = []
        for h in STEPS:
            d = lambda h: (function(h) - function(-h)) / (2 * h)
            difference = (4 * d(h / 2) - d(h)) / 3
            assert got.shape == difference.shape, what
            scale = max(np.abs(difference).max(initial=0), 1e-3)
            errors.append(np.abs(got - difference).max(initial=0) / scale)
            if errors[-1] <= tolerance:
                moves = np.abs(difference).max(initial=0) > 1e-6
                assert moves or may_be_zero, f"{what}: nothing moves"
                return moves
        raise AssertionError(f"{what}: relative errors {errors} at steps {STEPS}")

    return check


def directions(system, x0, controls, params, seed):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=np.shape(x0)),
        rng.normal(size=np.shape(controls)),
        {name: rng.normal(size=np.shape(v)) * np.abs(v) for name, v in params.items()},
    )


def check_directions(system, x0, controls, params, tolerance, seed=3, **options):
    """pushforward and hvp against differences, and <bar, push> = <pull, direction>."""
    v = directions(system, x0, controls, params, seed)

    def moved(e):
        named = {name: value + e * v[2][name] for name, value in params.items()}
        return cy.rollout(system, x0 + e * v[0], controls + e * v[1], named, **options)

    run = moved(0.0)
    bar = np.random.default_rng(seed + 1).normal(size=run.states.shape)
    tangents = run.pushforward(*v)
    along(lambda e: moved(e).states, tolerance)(tangents, "states_tan")
    g = run.pullback(bar)
    by_push = (bar * tangents).sum()
    by_pull = (g.x0 * v[0]).sum() + (g.controls * v[1]).sum()
    by_pull += sum((g.params[name] * v[2][name]).sum() for name in params)
    assert abs(by_push - by_pull) <= 1e-9 * np.abs(bar * tangents).sum()

    h = run.hvp(bar, *v)
    flat = lambda g: np.concatenate([g.x0.ravel(), g.controls.ravel()])
    along(lambda e: flat(moved(e).pullback(bar)), tolerance)(flat(h), "x0, controls")
    moving = 0
    for name in params:
        check = along(lambda e, name=name: moved(e).pullback(bar).params[name], tolerance, True)
        moving += check(h.params[name], name)
    assert moving >= len(params) / 2  # a leg in the air has friction that does not act
    return h


LAWS = ("pendulum", "double_pendulum", "projectile", "kepler", "lorenz")
INTEGRATORS = ("euler", "semi_implicit", "verlet", "rk4", "implicit_midpoint")
CHOOSING = ("dopri5", "sdirk4")


@pytest.mark.parametrize("law", LAWS)
def test_laws(law):
    system = getattr(cy.systems, law)(**({"drag": 0.2} if law == "projectile" else {}))
    rng = np.random.default_rng(1)
    x0 = rng.uniform(0.5, 1.0, size=(3, system.state_size))
    controls = rng.normal(size=(3, 12, system.input_size))
    name = system.parameters.names[0]
    value = system.parameters[name] + 0.1
    check_directions(system, x0, controls, {name: value}, 1e-8)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_integrators(integrator):
    system = cy.systems.pendulum(integrator=integrator, damping=0.1)
    controls = np.random.default_rng(1).normal(size=(12, 1))
    check_directions(system, np.array([1.0, 0.3]), controls, {"length": 1.2}, 1e-8)


@pytest.mark.parametrize("integrator", CHOOSING)
@pytest.mark.parametrize("dt", [0.01, 0.3])
def test_integrators_that_choose_their_steps_hold_them(integrator, dt):
    # Differences move the substeps too, by what the tolerance leaves.
    system = cy.systems.pendulum(integrator=integrator, dt=dt, damping=0.1, rtol=1e-9, atol=1e-9)
    x0 = np.array([[1.0, 0.3], [-0.5, 0.8], [2.0, -1.0]])  # each with substeps of its own
    controls = np.random.default_rng(1).normal(size=(3, 12, 1))
    run = cy.rollout(system, x0, controls)
    assert dt < 0.1 or run.report.counters["substeps"] > 2
    check_directions(system, x0, controls, {"length": 1.2}, 1e-6)
    # The second derivative of the run with its substeps held is symmetric, to rounding.
    bar = np.random.default_rng(2).normal(size=run.states.shape)
    v, w = np.random.default_rng(3).normal(size=(2, 3, 2))
    vw, wv = (run.hvp(bar, v).x0 * w).sum(), (run.hvp(bar, w).x0 * v).sum()
    assert abs(vw) > 1e-3 and abs(vw - wv) <= 1e-11 * abs(vw)


def test_a_law_with_events_has_tangents_and_no_second_derivatives():
    ball = cy.systems.bouncing_ball()
    x0, v = np.array([1.0, 0.0]), np.array([0.3, -0.2])
    run = cy.rollout(ball, x0, 130, save="last")
    assert len(run.events) == 2
    states = lambda e: cy.rollout(ball, x0 + e * v, 130, save="last").states
    along(states, 1e-7)(run.pushforward(x0_tan=v), "states_tan")
    with pytest.raises(cy.GradientError, match="no second derivatives: its events are found by a"):
        run.hvp(np.ones(run.states.shape), x0_tan=v)


def test_shapes_broadcast_and_parts_may_be_left_out():
    system = cy.systems.pendulum(vary="length")
    run = cy.rollout(system, np.ones((2, 1, 2)), np.zeros((3, 10, 1)), {"length": np.ones(3)})
    assert not run.pushforward().any()
    one = run.pushforward(x0_tan=[1.0, 0.0])
    assert one.shape == run.states.shape == (2, 3, 11, 2)
    np.testing.assert_array_equal(one, run.pushforward(np.tile([1.0, 0.0], (2, 3, 1))))
    by_name = run.pushforward(params_tan={"length": [1.0, 2.0, 0.0]})
    np.testing.assert_allclose(by_name[0, 1], 2 * by_name[0, 0], rtol=1e-12)
    assert by_name[0, 0].any() and not by_name[:, 2].any()
    h = run.hvp(np.ones(run.states.shape), x0_tan=[1.0, 0.0])
    assert h.x0.shape == (2, 1, 2) and h.controls.shape == (3, 10, 1)
    assert h.params["length"].shape == (3,)
    for wrong in ({"x0_tan": np.ones(3)}, {"controls_tan": np.ones((4, 1))}):
        with pytest.raises(cy.Error, match="must have shape"):
            run.pushforward(**wrong)
    with pytest.raises(cy.Error, match="leading axes"):
        run.pushforward(x0_tan=np.ones((5, 1, 1, 2)))
    with pytest.raises(cy.ParameterError, match="did you mean"):
        run.pushforward(params_tan={"lenght": 1.0})


def test_tangents_at_times_are_those_of_differences():
    system = cy.systems.pendulum()
    times = [0.0, 0.0333, 0.05, 0.1]
    run = cy.rollout(system, [1.0, 0.0], 10, times=times)
    pushed = run.pushforward([1.0, 0.5], params_tan={"length": 0.3})
    moved = [
        cy.rollout(
            system, [1 + e, 0.5 * e], 10, {"length": 1 + 0.3 * e}, times=times
        ).states
        for e in (1e-6, -1e-6)
    ]
    assert np.allclose(pushed, (moved[0] - moved[1]) / 2e-6, rtol=1e-7, atol=1e-8)
    with pytest.raises(cy.Error, match="in place of times"):
        run.hvp(np.ones(run.states.shape), x0_tan=[1.0, 0.0])
    law = cy.own_law(lambda x, u, p, t, dt: x, states={"x": 1})
    with pytest.raises(cy.Error, match="in place of times"):
        cy.rollout(law, [1.0], 10, times=[0.05]).pushforward([1.0])


def test_a_float32_system_is_pushed_forward_in_double():
    single = cy.systems.pendulum(dtype="float32")
    run = cy.rollout(single, [1.0, 0.0], 50)
    wanted = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 50)
    v = [0.3, 0.7]
    got = run.pushforward(v)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, wanted.pushforward(v).astype(np.float32))
    bar = np.ones(run.states.shape)
    h = run.hvp(bar, v)
    assert h.x0.dtype == np.float32
    np.testing.assert_array_equal(h.x0, wanted.hvp(bar, v).x0.astype(np.float32))


# ---- robots ------------------------------------------------------------------------------------


@functools.lru_cache
def robot_in_contact(name):
    system = cy.load(MODELS[name])
    rng = np.random.default_rng(0)
    x = cy.rollout(system, system.initial_state(), 400, save="last").states[0]
    assert cy.forward(system, x).contacts.count >= 1
    controls = 0.1 * rng.normal(size=(4, system.input_size))
    return system, x, controls


def some_parameters(system):
    """Inertia, size and contact, of whatever the robot has. Friction above that of the other geom:
    of two that are equal the larger one has a kink.
    """
    chosen = {}
    for field in (".mass", ".com", ".damping", ".size", ".gear"):
        for name in reversed(system.parameters.names):
            if name.endswith(field) and not system.parameters.info(name).not_differentiable:
                if np.any(system.parameters[name]):
                    chosen[name] = system.parameters[name]
                    break
    chosen["geom:floor.friction"] = 1.1 * system.parameters["geom:floor.friction"]
    chosen["option.gravity"] = system.parameters["option.gravity"]
    return chosen


@pytest.mark.parametrize("name", ["gymnasium/hopper", "gymnasium/ant",
                                  "gymnasium/humanoid"])
def test_robots_in_contact(name):
    system, x, controls = robot_in_contact(name)
    check_directions(system, x, controls, some_parameters(system), 1e-6)


@pytest.mark.parametrize("name", ["gymnasium/ant", "gymnasium/humanoid"])
def test_robots_in_the_air_at_rest_and_without_constraints(name):
    """At zero velocity, where a value of zero has a tangent that is not."""
    for options in ({}, {"constraints": False}):
        system = cy.load(MODELS[name], **options)
        x = system.initial_state()
        x[2] += 1.0
        controls = np.zeros((3, system.input_size))
        check_directions(system, x, controls, {}, 1e-7)


def test_a_batch_of_robots_and_quaternions_of_other_lengths():
    system, x, controls = robot_in_contact("gymnasium/ant")
    x = np.stack([x, x])
    x[1, 3:7] *= 1.5  # the free joint's
    h = check_directions(system, x, controls, {}, 1e-6)
    assert h.x0.shape == x.shape
    run = cy.rollout(system, x, controls)
    radial = np.zeros(x.shape)
    radial[:, 3:7] = x[:, 3:7]
    assert np.abs(run.pushforward(radial)).max() < 1e-12
    bar = np.random.default_rng(5).normal(size=run.states.shape)
    g, along_it = run.pullback(bar).x0, run.hvp(bar, radial).x0
    np.testing.assert_allclose(along_it[:, 3:7], -g[:, 3:7], rtol=1e-9, atol=1e-9)


GEOMS = {
    "sphere": '<geom size="0.1"/>',
    "capsule": '<geom type="capsule" size="0.08 0.15"/>',
    "ellipsoid": '<geom type="ellipsoid" size="0.1 0.14 0.2"/>',
    "cylinder": '<geom type="cylinder" size="0.1 0.15"/>',
    "box": '<geom type="box" size="0.2 0.15 0.1"/>',
}
PAIRS = [
    ("box", "box"),
    ("cylinder", "box"),
    ("ellipsoid", "box"),
    ("capsule", "box"),
    ("cylinder", "cylinder"),
    ("ellipsoid", "cylinder"),
    ("capsule", "ellipsoid"),
    ("sphere", "cylinder"),
]


@pytest.mark.parametrize("above, below", PAIRS)
def test_contacts_that_are_searched(above, below):
    """GJK and clipping decide in plain numbers; what they decided is differentiated twice."""
    for z in np.arange(0.5013, 0.02, -0.005):  # until they touch, not at a round number
        system = cy.load(
            f"""<mujoco> <option timestep="0.002" cone="elliptic"/> <worldbody>
            <body pos="0.02 0.01 0"> <joint type="slide" axis="0 0 1" damping="1"/>
              <joint axis="1 0 0" stiffness="5" damping="0.1"/> {GEOMS[below]} </body>
            <body pos="0 0 {z}" quat="0.9 0.2 0.3 0.1"> <freejoint/> {GEOMS[above]} </body>
            </worldbody> </mujoco>"""
        )
        x = system.initial_state()
        if cy.forward(system, x).contacts.count:
            break
    x[-8:] = 0.1 * np.random.default_rng(1).normal(size=8)
    sizes = {n: system.parameters[n] for n in system.parameters.names if n.endswith(".size")}
    check_directions(system, x, np.zeros((2, system.input_size)), sizes, 1e-6)


# ---- linearise ---------------------------------------------------------------------------------


def test_forms_of_linearise_agree():
    for system, x, u in (
        (cy.systems.double_pendulum(), [0.3, 0.4, 0.1, 0.2], [0.1, 0.0]),
        (cy.systems.spring_chain(30), np.linspace(0, 1, 60), np.zeros(30)),
        robot_in_contact("gymnasium/ant")[:2]
        + (robot_in_contact("gymnasium/ant")[2][0],),
    ):
        A, B = cy.linearise(system, x, u)
        sA, sB = cy.linearise(system, x, u, form="sparse")
        assert scipy.sparse.issparse(sA) and sA.format == sB.format == "csr"
        np.testing.assert_array_equal(sA.toarray(), A)
        np.testing.assert_array_equal(sB.toarray(), B)
        oA, oB = cy.linearise(system, x, u, form="operator")
        assert isinstance(oA, LinearOperator) and oA.shape == A.shape and oB.shape == B.shape
        scale = np.abs(A).max()
        np.testing.assert_allclose(oA @ np.eye(len(A)), A, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(oA.T @ np.eye(len(A)), A.T, rtol=0, atol=1e-9 * scale)
        scale = np.abs(B).max()
        np.testing.assert_allclose(oB @ np.eye(B.shape[1]), B, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(oB.rmatvec(np.ones(len(B))), B.sum(0), rtol=0, atol=1e-8 * scale)
        lin = cy.linearise(system, x, u, form="operator", wrt="x")
        np.testing.assert_allclose(lin.next, cy.step(system, x, u), rtol=0, atol=1e-12)


def test_forms_of_linearise_are_refused_in_words():
    system = cy.systems.pendulum()
    for form in ("sparse", "operator"):
        with pytest.raises(cy.Error, match="takes one x, not a batch"):
            cy.linearise(system, np.ones((2, 2)), form=form)
        with pytest.raises(cy.Error, match="dense only"):
            cy.linearise(system, np.ones(2), wrt="params", form=form)
    with pytest.raises(cy.Error, match='form: expected "dense"'):
        cy.linearise(system, np.ones(2), form="full")


def test_without_scipy_operators_are_ours_and_sparse_says_what_to_install():
    script = """
import sys
sys.modules.update({"scipy": None, "scipy.sparse": None, "scipy.sparse.linalg": None})
import numpy as np
import cycloid as cy
A, B = cy.linearise(cy.systems.pendulum(), [0.3, 0.1], form="operator")
D, E = cy.linearise(cy.systems.pendulum(), [0.3, 0.1])
assert np.allclose(A.matvec([1.0, 2.0]), D @ [1.0, 2.0], rtol=1e-12)
assert np.allclose(B.rmatvec([1.0, 2.0]), E.T @ [1.0, 2.0], rtol=1e-12)
print(A, A.shape, B.shape)
try:
    cy.linearise(cy.systems.pendulum(), [0.3, 0.1], form="sparse")
except ImportError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    first, second = out.stdout.splitlines()
    assert first == "<StepMatrix 2 x 2> (2, 2) (2, 1)"
    assert second.endswith("needs scipy, which is not installed: pip install scipy")


# ---- laws in Python ----------------------------------------------------------------------------


def step(x, u, p, t, dt):
    return x + dt * (np.sin(x) * p["rate"][:, None] + u)


def pullback(x, u, p, t, dt, bar):
    x_bar = bar * (1 + dt * np.cos(x) * p["rate"][:, None])
    return x_bar, dt * bar, {"rate": dt * (bar * np.sin(x)).sum(axis=1)}


def pushforward(x, u, p, t, dt, x_tan, u_tan, p_tan):
    moved = x_tan * np.cos(x) * p["rate"][:, None] + np.sin(x) * p_tan["rate"][:, None] + u_tan
    return x_tan + dt * moved


SIZES = {"states": {"x": 3}, "inputs": {"push": 3}, "parameters": {"rate": 0.7}}


@pytest.mark.parametrize("lead", [(), (5,)])
def test_a_law_in_python_brings_its_own(lead):
    law = cy.own_law(step, pullback, pushforward=pushforward, vary="rate", **SIZES)
    rng = np.random.default_rng(2)
    x0, controls = rng.normal(size=(*lead, 3)), rng.normal(size=(*lead, 10, 3))
    run = cy.rollout(law, x0, controls)
    v = rng.normal(size=x0.shape), rng.normal(size=controls.shape), {"rate": 0.4}

    def states(e):
        rate = {"rate": 0.7 + e * 0.4}
        return cy.rollout(law, x0 + e * v[0], controls + e * v[1], rate).states

    along(states, 1e-9)(run.pushforward(*v), "states_tan")
    if not lead:
        A, B = cy.linearise(law, x0, controls[0])
        oA, oB = cy.linearise(law, x0, controls[0], form="operator")
        np.testing.assert_allclose(oA @ np.eye(3), A, rtol=1e-13)
        np.testing.assert_allclose(oB @ np.eye(3), B, rtol=1e-13)
    with pytest.raises(cy.GradientError, match="no second derivatives: .* a law in Python"):
        run.hvp(np.ones(run.states.shape), v[0])


def test_a_law_in_python_without_one_says_so():
    law = cy.own_law(step, pullback, **SIZES)
    run = cy.rollout(law, np.ones(3), np.zeros((4, 3)))
    A, _ = cy.linearise(law, np.ones(3), form="operator")
    for call in (
        lambda: run.pushforward(np.ones(3)),
        lambda: run.hvp(np.ones(run.states.shape), np.ones(3)),
        lambda: A.matvec(np.ones(3)),
    ):
        with pytest.raises(cy.GradientError, match="without a pushforward"):
            call()
    np.testing.assert_allclose(
        A.rmatvec(np.ones(3)), np.ones(3) @ cy.linearise(law, np.ones(3))[0], rtol=1e-14
    )
    with pytest.raises(TypeError, match="pushforward must be a function"):
        cy.own_law(step, pullback, pushforward=3, **SIZES)


def test_the_time_step_of_a_law_in_python_may_move():
    law = cy.own_law(
        lambda x, u, p, t, dt: x * (1 - dt)[:, None],
        lambda x, u, p, t, dt, bar: (bar * (1 - dt)[:, None], 0, {}, -(bar * x).sum(axis=1)),
        pushforward=lambda x, u, p, t, dt, dx, du, dp, ddt: dx * (1 - dt)[:, None]
        - x * ddt[:, None],
        states={"x": 1},
        differentiate_dt=True,
        dt=0.1,
    )
    run = cy.rollout(law, [1.0], 3, save="last")
    pushed = run.pushforward(params_tan={"option.timestep": 1.0})
    np.testing.assert_allclose(pushed, [[-3 * 0.9**2]], rtol=1e-14)
