"""How soft bodies are solved: conjugate gradients, Jacobians as operators, paths by arc length."""

import numpy as np
import pytest

import cycloid as cy

soft = cy.soft


def beam(solver="auto", cells=(6, 2, 2), **more):
    mesh = soft.box(cells, (0.6, 0.1, 0.1))
    left = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return soft.solid(
        mesh, young=2e4, pinned=left, dt=0.02, damping=0.01, inputs=("force",),
        linear_solver=solver, **more
    )


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "bdf2"])
def test_conjugate_gradients_find_the_same_run_and_gradient(integrator):
    bodies = [beam(solver, integrator=integrator) for solver in ("direct", "iterative")]
    size = bodies[0].state_size
    draw = np.random.default_rng(2)
    bar, u = draw.normal(size=(1, size)), np.tile(0.02 * draw.normal(size=size // 2), (4, 1))
    runs = [cy.rollout(b, b.initial_state(), u, save="last") for b in bodies]
    direct, iterative = (run.pullback(bar) for run in runs)
    for run in runs:
        assert not run.report.unsolved and not run.report.failed
    assert "linear_iterations" not in runs[0].report.counters
    assert runs[1].report.counters["linear_iterations"] > 10
    np.testing.assert_allclose(runs[1].states, runs[0].states, rtol=0, atol=1e-12)
    for name in ("x0", "controls", "params"):
        a, b = getattr(direct, name), getattr(iterative, name)
        assert np.abs(a).max() > 0
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-9 * np.abs(a).max())
    again = cy.rollout(bodies[1], bodies[1].initial_state(), u, save="last", threads=1)
    assert np.array_equal(again.states, runs[1].states)
    assert np.array_equal(again.pullback(bar).x0, iterative.x0)


def test_conjugate_gradients_rest_and_contact():
    for more in ({"floor": -0.05}, {}):
        rests = [soft.equilibrium(beam(solver, **more)) for solver in ("direct", "iterative")]
        assert all(rest.converged and rest.stable for rest in rests)
        np.testing.assert_allclose(rests[1].state, rests[0].state, rtol=0, atol=1e-10)
        bar = np.random.default_rng(3).normal(size=len(rests[0].state))
        a, b = (rest.pullback(bar).params for rest in rests)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-8 * np.abs(a).max())


MATERIALS = ("linear", "corotated", "stvk", "neo_hookean", "neo_hookean_log", "mooney_rivlin")


@pytest.mark.parametrize("material", MATERIALS)
def test_stiff_bodies_are_solved_to_the_end(material):
    """Strains of 1e-6 and less: energies before and after a step differ by their rounding."""
    bar = soft.box((8, 1, 1), (1.0, 0.1, 0.1))
    left = np.flatnonzero(bar.vertices[:, 0] == 0)
    block = soft.box((2, 2, 1), (0.2, 0.2, 0.05))
    bodies = [soft.solid(bar, material, young=e, pinned=left) for e in (1e9, 2.1e11)]
    bodies.append(
        soft.solid(block, material, young=1e7, floor=-5e-4, friction=0.3, damping=1e-3, dt=5e-3)
    )
    for body in bodies:
        x0 = body.initial_state().copy()
        if "friction" in body.parameters:
            x0[x0.size // 2 :: 3] = 0.5  # it slides, and stops
        run = cy.rollout(body, x0, 40, save="last")
        assert not run.report.unsolved
        assert np.abs(run.pullback(np.ones_like(run.states)).params).max() > 0


def test_the_linear_solver_is_checked():
    with pytest.raises(cy.ModelError, match="linear solver"):
        beam("iteratif")
    with pytest.raises(TypeError, match="linear_solver"):
        beam(1)


def products(body):
    """Operators at a state that moves, and draws of their sides."""
    draw = np.random.default_rng(11)
    x = body.initial_state()
    half = len(x) // 2
    x[half:] = 0.05 * draw.normal(size=half)
    u = 0.01 * draw.normal(size=body.input_size)
    A, B = cy.linearise(body, x, u, form="operator")
    return x, u, A, B, draw


@pytest.mark.parametrize("solver", ["direct", "iterative"])
def test_operators_are_each_others_transposes_and_derivatives(solver):
    body = beam(solver)
    x, u, A, B, draw = products(body)
    for operator in (A, B):
        v, w = (draw.normal(size=n) for n in operator.shape[::-1])
        left, right = w @ operator.matvec(v), operator.rmatvec(w) @ v
        size = np.linalg.norm(w) * np.linalg.norm(operator.matvec(v))
        assert abs(left - right) < (1e-12 if solver == "direct" else 1e-11) * size
        assert abs(left) > 1e-6 * size
    step = 1e-5
    for operator, by_input in ((A, False), (B, True)):
        for column in draw.integers(0, operator.shape[1], 4):
            e = np.zeros(operator.shape[1])
            e[column] = step
            ends = [
                cy.step(body, x + (0 if by_input else s * e), u + (s * e if by_input else 0))
                for s in (1, -1)
            ]
            change = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(
                operator.matvec(e / step), change, rtol=0, atol=1e-6 * max(1, np.abs(change).max())
            )


def test_large_jacobians_are_operators():
    body = beam(cells=(40, 3, 3))
    assert body.state_size > 2000
    x, u = body.initial_state(), np.zeros(body.input_size)
    with pytest.raises(cy.Error, match='"operator"'):
        cy.linearise(body, x, u, form="sparse")
    A, _ = cy.linearise(body, x, u, form="operator")
    draw = np.random.default_rng(12)
    v, w = draw.normal(size=(2, body.state_size))
    assert abs(w @ A.matvec(v) - A.rmatvec(w) @ v) < 1e-11 * abs(w) @ abs(A.matvec(v))


def test_the_same_body_by_another_integrator():
    body = beam()
    x = body.initial_state()
    for name in ("newmark", "bdf2", "implicit_euler"):
        other = body.variant(integrator=name)
        assert other.parameters.names == body.parameters.names
        made = cy.rollout(beam(integrator=name), x, 3).states
        assert np.array_equal(cy.rollout(other, x, 3).states, made)
        again = other.variant(integrator="implicit_euler")
        assert np.array_equal(cy.rollout(again, x, 3).states, cy.rollout(body, x, 3).states)
        assert cy.observe(other, x, names=["energy"]).values.shape == (1,)
    for wrong in ({"integrator": "rk4"}, {"dt": 0.1}, {"contact": "compliant"}):
        with pytest.raises(cy.Error, match="cannot be"):
            body.variant(**wrong)
    metal = soft.solid(soft.box(), "plastic", yield_stress=1e3)
    with pytest.raises(cy.Error, match="cannot be varied"):
        metal.variant(integrator="newmark")


def test_a_plan_is_judged_by_another_integrator():
    mesh = soft.box((2, 1, 1), (0.4, 0.2, 0.2))
    body = soft.solid(mesh, young=1e4, dt=0.02, pinned=[0, 3, 6, 9], inputs=("force",))
    cost = cy.cost.Reach("vertex:#11", [0.42, 0.2, 0.25], weight=100.0) + cy.cost.Effort(1e-4)
    plan = cy.plan(body, body.initial_state(), cost, 5, method="lbfgs", iterations=5, bounds=None)
    assert cy.verify(plan).by_test["other integrator"] > 0.9


def shallow_roof():
    """Two panels of cloth, their eaves held and the ridge free to move up and down."""
    x, y = np.meshgrid([-1.0, 0, 1], [0.0, 0.2])
    points = np.c_[x.ravel(), y.ravel(), 0.3 * (x.ravel() == 0)]
    held = np.ones((6, 3), bool)
    held[[1, 4], 2] = False
    mesh = soft.Mesh(points, [[0, 1, 4], [0, 4, 3], [1, 2, 4], [2, 5, 4]])
    return soft.cloth(
        mesh, young=1e6, poisson=0.0, thickness=1e-3, density=100, pinned=held,
        gravity=(0, 0, 0), inputs=("force",),
    )


def test_arc_length_follows_a_roof_through_both_limit_points():
    body = shallow_roof()
    force = lambda w: 200 * w * (0.09 - w * w) / 1.09**1.5
    limit = force(0.3 / np.sqrt(3))
    u = np.zeros(18)
    u[[5, 14]] = -0.75 * limit
    rest = soft.equilibrium(body, u=u, arc_length=0.02)
    assert rest.converged and rest.stable and rest.load == 1
    ridge = rest.states[:, [5, 14]].mean(axis=1)
    np.testing.assert_allclose(rest.loads * 1.5 * limit, force(ridge), rtol=0, atol=2e-4 * limit)
    assert rest.loads.min() < -0.6 and rest.loads[ridge > 0].max() < 0.667
    # the same end as without the path, which jumps
    jumped = soft.equilibrium(body, u=u)
    np.testing.assert_allclose(jumped.state, rest.state, rtol=0, atol=1e-8)
    middle = int(np.argmin(np.abs(ridge - 0.1)))
    point = rest.point(middle)
    assert not point.stable and point.load == rest.loads[middle]
    bar = np.zeros(body.state_size)
    bar[[5, 14]] = 0.5
    slope = 200 * (0.09 - 3 * ridge[middle] ** 2) / 1.09**1.5
    found = point.pullback(bar).controls[[5, 14]].sum()
    assert abs(found / (-2 * point.load / slope) - 1) < 2e-3
    assert rest.point(-1).load == 1
    with pytest.raises(cy.Error):
        rest.point(len(rest.loads))


def test_an_unstable_place_of_rest_has_a_gradient_and_says_so():
    n, area, bending = 20, np.pi * 1e-4, 1e9 * np.pi * 1e-8 / 4
    column = soft.rod(
        np.linspace((0, 0, -1 / n), (0, 0, 1), n + 2), young=1e9, pinned=[0, 1],
        gravity=(0, 0, 0), inputs=("force",),
    )
    tip = 3 * (n + 2) - 1
    bar = np.zeros(column.state_size)
    bar[tip] = 1
    for share in (0.5, 1.5):  # of Euler's load, without anything that would push it aside
        u = np.zeros(column.input_size)
        u[tip] = -share * 2.4674 * bending
        rest = soft.equilibrium(column, u=u)
        assert rest.converged and rest.stable == (share < 1)
        assert ("not stable" in repr(rest)) == (share > 1)
        assert abs(rest.pullback(bar).controls[tip] * 1e9 * area - 1) < 1e-6
        path = soft.equilibrium(column, u=u, arc_length=1e-5)
        np.testing.assert_allclose(path.state, rest.state, rtol=0, atol=1e-10)


def test_arc_lengths_that_make_no_sense():
    body = shallow_roof()
    wrong = ((0.0, cy.Error), (-1.0, cy.Error), ("a", TypeError), (True, TypeError))
    for length, error in wrong:
        with pytest.raises(error):
            soft.equilibrium(body, arc_length=length)
    with pytest.raises(cy.Error, match="path"):
        soft.equilibrium(body).point(0)
