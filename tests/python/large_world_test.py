"""A large world: heat on a grid, with a sparse factor, arrays of parameters, and threads inside."""

import numpy as np
import pytest

import cycloid as cy


def box(shape=(12, 9), slope=0.0, seed=0):
    cells = int(np.prod(shape))
    conductivity = np.exp(0.5 * np.random.default_rng(seed).normal(size=cells))
    return cy.systems.heat(shape, conductivity.reshape(shape), dt=0.5, slope=slope)


def matrix(shape, kappa, dt):
    """A of A T⁺ = T, dense, from the words of the docstring."""
    n = kappa.size
    a, cells = np.eye(n), np.arange(n).reshape(shape)
    for axis in range(len(shape)):
        low = np.take(cells, range(shape[axis] - 1), axis).ravel()
        high = np.take(cells, range(1, shape[axis]), axis).ravel()
        for i, j in zip(low, high):
            g = dt * 2 * kappa[i] * kappa[j] / (kappa[i] + kappa[j])
            a[i, i] += g
            a[j, j] += g
            a[i, j] -= g
            a[j, i] -= g
    return a


@pytest.mark.parametrize("shape", [(17,), (5, 6), (3, 4, 5)])
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_step_solves_the_equation_of_the_docstring(shape, slope):
    system = box(shape, slope)
    x = np.random.default_rng(1).random(system.state_size)
    kappa = system.parameters["conductivity"] * (1 + slope * x)
    expected = np.linalg.solve(matrix(shape, kappa, 0.5), x)
    np.testing.assert_allclose(cy.step(system, x), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_the_gradient_passes_the_taylor_test(slope):
    system = box(slope=slope)
    x0, k = np.random.default_rng(2).random(108), system.parameters.default
    weights = np.random.default_rng(3).normal(size=108)
    run = cy.rollout(system, x0, 10, k, save="last")
    g = run.pullback(weights[None])
    for direction_x, direction_k in ((g.x0, 0 * g.params), (0 * g.x0, g.params)):
        rate = g.x0 @ direction_x + g.params @ direction_k
        assert rate > 0
        errors = []
        for e in 0.02 / np.abs(np.r_[direction_x, direction_k]).max() * 0.5 ** np.arange(6):
            moved = cy.rollout(system, x0 + e * direction_x, 10, k + e * direction_k, save="last")
            change = (moved.states - run.states)[0] @ weights
            errors.append(abs(change - e * rate) + 1e-300)
        if slope == 0 and direction_x.any():  # linear in the state: nothing but rounding is left
            assert max(errors) < 1e-12
        else:
            assert np.all(np.abs(np.log2(np.divide(errors[:-1], errors[1:])) - 2) < 0.05)


def test_no_gradient_depends_on_threads_or_on_what_was_kept():
    system = box((20, 20), slope=0.2)
    x0 = np.random.default_rng(4).random(400)
    bar = np.random.default_rng(5).normal(size=(1, 400))
    reference, words = None, set()
    for memory in ("all", "200kB", "1MB", "sqrt", 2):
        for threads in (1, 2):
            run = cy.rollout(system, x0, 12, save="last", memory=memory, threads=threads)
            if isinstance(memory, str) and memory.endswith("B"):
                assert run.report.tape_bytes <= {"200kB": 2e5, "1MB": 1e6}[memory]
            words.add(run.report.memory)
            g = run.pullback(bar)
            found = np.r_[run.states[0], g.x0, g.params].tobytes()
            reference = reference or found
            assert found == reference
    assert any("of 12 records" in w for w in words) and any("and records" in w for w in words)


def test_forms_of_the_jacobian_agree():
    system = box((6, 5), slope=0.2)
    x = np.random.default_rng(6).random(30)
    dense, _ = cy.linearise(system, x, [])
    with_params = cy.linearise(system, x, [], wrt=("x", "params"))
    operator, _ = cy.linearise(system, x, [], form="operator")
    v = np.random.default_rng(7).normal(size=30)
    np.testing.assert_allclose(operator.matvec(v), dense @ v, rtol=1e-11)
    np.testing.assert_allclose(operator.rmatvec(v), dense.T @ v, rtol=1e-11)
    sparse, _ = cy.linearise(system, x, [], form="sparse")
    np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-12)
    assert with_params.P.shape == (30, 30) and np.abs(with_params.P).max() > 1e-4
    run = cy.rollout(system, x, 1, save="last")
    tangent = run.pushforward(params_tan=v)
    np.testing.assert_allclose(tangent[0], with_params.P @ v, rtol=1e-10)
    large = cy.systems.heat((300, 300), 1.0, dt=0.1)
    with pytest.raises(cy.Error, match="operator"):
        cy.linearise(large, np.zeros(90000), [])
    with pytest.raises(cy.Error, match="operator"):
        cy.linearise(large, np.zeros(90000), [], form="sparse")
    a, _ = cy.linearise(large, np.zeros(90000), [], form="operator")
    assert a.shape == (90000, 90000)
    np.testing.assert_allclose(a.matvec(np.ones(90000)), 1.0, rtol=1e-11)


def test_environments_may_have_conductivities_of_their_own():
    system = box((4, 4))
    k = np.stack([system.parameters.default, 2 * system.parameters.default])
    x0 = np.random.default_rng(8).random(16)
    run = cy.rollout(system, x0, 3, {"conductivity": k}, save="last")
    bar = np.random.default_rng(9).normal(size=run.states.shape)
    g = run.pullback(bar)
    for e in range(2):
        alone = cy.rollout(system, x0, 3, k[e], save="last")
        assert np.array_equal(alone.states, run.states[e])
        assert np.array_equal(alone.pullback(bar[e]).params, g.params["conductivity"][e])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (((3, 0), 1.0, 0.1), "at least 1"),
        (((3, 3), np.ones((3, 2)), 0.1), r"shape \(3, 3\)"),
        (((3, 3), -1.0, 0.1), "must be positive"),
        (((3, 3), 1.0, 0.0), "dt must be positive"),
        (((3, 3), np.nan, 0.1), "finite"),
        (((3, 3), 1.0, 0.1, np.inf), "slope must be finite"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(cy.Error, match=message):
        cy.systems.heat(*arguments)


def test_a_cell_that_would_conduct_nothing_is_named():
    system = box((3, 4), slope=1.0)
    x0 = np.zeros(12)
    x0[6] = -2.0
    run = cy.rollout(system, x0, 3)
    (failure,) = run.report.failed
    assert (failure.step, failure.body) == (0, "cell (1, 2)")
    with pytest.raises(cy.GradientError, match=r"cell \(1, 2\)"):
        run.pullback(np.ones_like(run.states))
