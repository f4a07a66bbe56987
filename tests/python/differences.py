"""Central differences of a rollout, taken in Python: what gradients are held to."""

import numpy as np

import cycloid as cy

# Differences D(h) and D(h/2) combine to (4 D(h/2) - D(h)) / 3 with an error of O(h⁴). Numbers here
# are near 1 and so are their fifth derivatives: h⁴ = 1e-12, and rounding 2e-16 / h = 2e-13.
STEP = 1e-3
# Of the largest entry. Motions here stretch differences by less than 1e3.
TOLERANCE = 1e-8


def by_differences(function, value):
    """The gradient of a scalar function of one array, number by number."""
    value = np.array(value, float)
    gradient = np.zeros(value.shape)
    for i in np.ndindex(value.shape):
        step = STEP * max(1.0, abs(value[i]))

        def difference(h):
            ends = []
            for sign in (1, -1):
                moved = value.copy()
                moved[i] += sign * h
                ends.append(function(moved))
            return (ends[0] - ends[1]) / (2 * h)

        gradient[i] = (4 * difference(step / 2) - difference(step)) / 3
    return gradient


def assert_close(got, expected, what):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, what
    scale = max(np.abs(expected).max(initial=0), 1e-3)
    error = np.abs(got - expected).max(initial=0) / scale
    assert error <= TOLERANCE, f"{what}: relative error {error:.2e}\n{got}\n{expected}"


def check_rollout_gradient(system, x0, controls, params=None, seed=0, **options):
    """Holds g.x0, g.controls and g.params of a random weighting of the states to differences."""

    def run(x0, controls, params):
        return cy.rollout(system, x0, controls, params, **options)

    states = run(x0, controls, params)
    weights = np.random.default_rng(seed).normal(size=states.states.shape)

    def loss(x0, controls, params):
        return float((weights * run(x0, controls, params).states).sum())

    g = states.pullback(weights)
    assert_close(g.x0, by_differences(lambda v: loss(v, controls, params), x0), "x0")
    assert np.abs(g.x0).max() > 1e-3
    if system.input_size:
        given = np.zeros((controls, system.input_size)) if isinstance(controls, int) else controls
        difference = by_differences(lambda v: loss(x0, v, params), given)
        assert_close(g.controls, difference, "controls")
        assert np.abs(g.controls).max() > 1e-6
    if isinstance(params, dict):
        assert set(g.params) == set(params)
        for name, value in params.items():
            difference = by_differences(lambda v: loss(x0, controls, params | {name: v}), value)
            assert_close(g.params[name], difference, name)
            assert np.abs(g.params[name]).max() > 1e-6, name
    else:
        given = system.parameters.default if params is None else params
        difference = by_differences(lambda v: loss(x0, controls, v), given)
        assert_close(g.params, difference, "params")
        assert np.abs(g.params).max() > 1e-3
    return g
