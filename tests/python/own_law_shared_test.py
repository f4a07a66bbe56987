"""Own laws with arrays of parameters that environments share."""

import numpy as np
import pytest

import cycloid as cy

N = 6


def step(x, u, p, t, dt):
    assert p["field"].shape == (N, 2) and not p["field"].flags.writeable
    return x + dt * (p["rate"][:, None] * x @ p["field"] @ p["field"].T + u)


def pullback(x, u, p, t, dt, bar):
    f, rate = p["field"], p["rate"][:, None]
    inner = dt * rate * bar
    field_bar = x.T @ inner @ f + inner.T @ x @ f
    return (
        bar + inner @ f @ f.T,
        dt * bar,
        {"rate": dt * (x @ f @ f.T * bar).sum(axis=1), "field": field_bar},
    )


def pushforward(x, u, p, t, dt, x_tan, u_tan, p_tan):
    f, f_tan, rate = p["field"], p_tan["field"], p["rate"][:, None]
    change = x_tan @ f @ f.T + x @ (f_tan @ f.T + f @ f_tan.T)
    return x_tan + dt * (p_tan["rate"][:, None] * x @ f @ f.T + rate * change + u_tan)


def law(**options):
    field = np.random.default_rng(0).normal(size=(N, 2))
    return cy.own_law(
        step,
        pullback,
        states={"x": N},
        inputs={"u": N},
        parameters={"field": field, "rate": 0.7},
        shared=("field",),
        pushforward=pushforward,
        **options,
    )


def case(system, batch, steps=4):
    draw = np.random.default_rng(1)
    return draw.normal(size=(batch, N)), draw.normal(size=(batch, steps, N))


def test_the_gradient_of_a_shared_array_is_the_sum_over_environments():
    system = law()
    assert system.parameters.names == ("rate", "field")
    x0, u = case(system, 300)  # three groups of rows
    run = cy.rollout(system, x0, u)
    bar = np.random.default_rng(2).normal(size=run.states.shape)
    whole = run.pullback(bar).params
    alone = sum(cy.rollout(system, x0[e], u[e]).pullback(bar[e]).params for e in range(300))
    np.testing.assert_allclose(whole, alone, rtol=1e-10)
    assert cy.check_gradient(system, x0[0], u[0]).ok
    assert np.array_equal(whole, cy.rollout(system, x0, u, threads=3).pullback(bar).params)
    tangent = np.random.default_rng(3).normal(size=system.parameters.size)
    forward = np.sum(bar * run.pushforward(params_tan=tangent))
    assert forward == pytest.approx(whole @ tangent)


def test_values_given_at_a_run_reach_the_functions():
    system = law()
    x0, u = case(system, 3)
    field = 2 * system.parameters["field"]
    run = cy.rollout(system, x0, u, {"field": field})
    expected = x0 + 0.01 * (0.7 * x0 @ field @ field.T + u[:, 0])
    np.testing.assert_allclose(run.states[:, 1], expected, rtol=1e-12)
    assert run.pullback(np.ones_like(run.states)).params["field"].shape == (N, 2)


def test_environments_may_have_arrays_of_their_own_when_declared():
    x0, u = case(None, 3)
    own = np.random.default_rng(4).normal(size=(3, N, 2))
    with pytest.raises(cy.ParameterError, match="vary"):
        cy.rollout(law(), x0, u, {"field": own})
    system = law(vary=("field",))
    run = cy.rollout(system, x0, u, {"field": own})
    g = run.pullback(np.ones_like(run.states)).params["field"]
    assert g.shape == own.shape
    for e in range(3):
        alone = cy.rollout(system, x0[e], u[e], {"field": own[e]})
        np.testing.assert_allclose(alone.states, run.states[e], rtol=1e-12)
        bar = np.ones_like(alone.states)
        np.testing.assert_allclose(alone.pullback(bar).params["field"], g[e], rtol=1e-10)


def test_an_environment_that_is_skipped_leaves_nothing_in_the_sum():
    def diverging(x, u, p, t, dt):
        return np.where(x > 50, np.inf, step(x, u, p, t, dt))

    system = cy.own_law(
        diverging,
        pullback,
        states={"x": N},
        inputs={"u": N},
        parameters={"field": np.ones((N, 2)), "rate": 0.7},
        shared=("field",),
    )
    x0, u = case(system, 4)
    x0[2] = 100.0
    run = cy.rollout(system, x0, u)
    assert [f.environment for f in run.report.failed] == [2]
    g = run.pullback(np.ones_like(run.states), failed="skip").params
    rest = [0, 1, 3]
    others = cy.rollout(system, x0[rest], u[rest])
    np.testing.assert_allclose(g, others.pullback(np.ones_like(others.states)).params, rtol=1e-12)


def test_observables_see_shared_arrays():
    value = lambda x, u, p, t: x @ p["field"]  # noqa: E731
    back = lambda x, u, p, t, bar: (  # noqa: E731
        bar @ p["field"].T,
        0,
        {"rate": 0, "field": x.T @ bar},
    )
    system = law(observables={"seen": (value, back)})
    x = np.random.default_rng(5).normal(size=(4, N))
    seen = cy.observe(system, x, names="seen")
    np.testing.assert_allclose(seen.values, x @ system.parameters["field"], rtol=1e-13)
    bar = np.random.default_rng(6).normal(size=seen.values.shape)
    g = seen.pullback(bar)
    found = system.parameters.unpack(g.params)["field"]
    np.testing.assert_allclose(found, x.T @ bar, rtol=1e-12)


def test_a_million_numbers_are_not_copied_for_every_environment():
    import tracemalloc

    def mean(x, u, p, t, dt):
        return x + dt * p["field"].mean()

    def back(x, u, p, t, dt, bar):
        share = dt * bar.sum() / p["field"].size
        return bar, u, {"field": np.full(p["field"].shape, share)}

    field = np.ones(1_000_000)
    system = cy.own_law(mean, back, states={"x": 1}, parameters={"field": field}, shared="field")
    x0 = np.zeros((512, 1))
    tracemalloc.start()
    run = cy.rollout(system, x0, 10, field, save="last")
    g = run.pullback(np.ones_like(run.states))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 8e6  # what Python sees; 512 rows of it would be 4 GB
    np.testing.assert_allclose(g.params, 512 * 10 * 0.01 / 1e6)


@pytest.mark.parametrize("shared", ["feild", ("rate", "nothing")])
def test_unknown_names_are_refused(shared):
    with pytest.raises(cy.ParameterError, match="no parameter is called"):
        cy.own_law(step, states={"x": N}, parameters={"field": 1.0, "rate": 1.0}, shared=shared)
