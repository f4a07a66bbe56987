"""cycloid.jax in forward mode, and second derivatives: values are those of Trajectory.pushforward
and Trajectory.hvp, under every transformation of JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.errors import JaxRuntimeError
from models import MODELS

import cycloid as cy
import cycloid.jax as cyj
from cycloid import _jax_rows

FAILS = (JaxRuntimeError, ValueError)
PENDULUM = cy.systems.pendulum(vary="length")
RNG = np.random.default_rng(0)
X0 = np.array([[1.0, 0.2], [0.4, -0.3], [-0.8, 0.1]])
V = RNG.normal(size=X0.shape)
CONTROLS = 0.3 * RNG.normal(size=(3, 20, 1))
DU = RNG.normal(size=CONTROLS.shape)
LENGTH, DL = np.array(0.7), np.array(0.3)


@pytest.fixture(autouse=True)
def _in_double():
    with jax.enable_x64(True):
        yield


def states(x0, controls, length):
    return cyj.rollout(PENDULUM, x0, controls, {"length": length})


def last(x0):
    return (cyj.rollout(PENDULUM, x0, 12)[-1] ** 2 * jnp.array([1.0, 0.3])).sum()


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint], ids=["", "jit", "remat"])
def test_jvp_is_the_pushforward(wrap):
    run = cy.rollout(PENDULUM, X0, CONTROLS, {"length": LENGTH})
    values, tangents = jax.jvp(wrap(states), (X0, CONTROLS, LENGTH), (V, DU, DL))
    np.testing.assert_array_equal(values, run.states)
    np.testing.assert_array_equal(tangents, run.pushforward(V, DU, {"length": DL}))
    assert np.abs(tangents).max() > 0.1
    _, of_one = jax.jvp(lambda x: wrap(states)(x, CONTROLS, LENGTH), (X0,), (V,))
    np.testing.assert_array_equal(of_one, run.pushforward(V))


def test_jvp_and_vjp_are_transposes_and_linearize_is_both():
    arguments, direction = (X0, CONTROLS, LENGTH), (V, DU, DL)
    bar = RNG.normal(size=(3, 21, 2))
    _, tangents = jax.jvp(states, arguments, direction)
    _, pull = jax.vjp(states, *arguments)
    by_pull = sum((b * d).sum() for b, d in zip(pull(bar), direction, strict=True))
    np.testing.assert_allclose((bar * tangents).sum(), by_pull, rtol=1e-12)
    _, push = jax.linearize(states, *arguments)
    np.testing.assert_array_equal(push(*direction), tangents)
    pulled = jax.linear_transpose(push, *arguments)(bar)
    for got, wanted in zip(pulled, pull(bar), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_jacfwd_is_jacrev_also_under_vmap():
    for function in (last, lambda x: cyj.rollout(PENDULUM, x, 5), jax.jit(last)):
        forward, reverse = jax.jacfwd(function)(X0[0]), jax.jacrev(function)(X0[0])
        np.testing.assert_allclose(forward, reverse, rtol=1e-10, atol=1e-12)
        many = jax.jit(jax.vmap(jax.jacfwd(function)))(X0)
        np.testing.assert_allclose(many[0], forward, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(many[2], jax.jacrev(function)(X0[2]), rtol=1e-10, atol=1e-12)


def test_vmap_of_jvp_over_points_directions_and_both():
    one = lambda x, v: jax.jvp(lambda x: cyj.rollout(PENDULUM, x, CONTROLS[0]), (x,), (v,))[1]
    wanted = np.stack([one(x, v) for x, v in zip(X0, V)])
    np.testing.assert_allclose(jax.vmap(one)(X0, V), wanted, rtol=1e-12)
    of_one = np.stack([one(X0[0], v) for v in V])
    np.testing.assert_allclose(jax.vmap(one, (None, 0))(X0[0], V), of_one, rtol=1e-12)
    np.testing.assert_allclose(
        jax.vmap(one, (0, None))(X0, V[0]), np.stack([one(x, V[0]) for x in X0]), rtol=1e-12
    )
    by_length = lambda l, d: jax.jvp(lambda l: states(X0, CONTROLS, l), (l,), (d,))[1]
    lengths, moves = np.array([0.6, 0.9]), np.array([1.0, -2.0])
    wanted = np.stack([by_length(l, d) for l, d in zip(lengths, moves)])
    np.testing.assert_allclose(jax.vmap(by_length)(lengths, moves), wanted, rtol=1e-12)


def scanned(x0):
    return jax.lax.scan(lambda x, _: (cyj.step(PENDULUM, x), None), x0, length=12)[0]


def test_steps_in_a_scan():
    rolled = lambda x: cyj.rollout(PENDULUM, x, 12)[-1]
    got, wanted = (jax.jvp(f, (X0[0],), (V[0],))[1] for f in (jax.jit(scanned), rolled))
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    of_scan, of_run = (jax.hessian(lambda x, f=f: f(x)[0])(X0[0]) for f in (scanned, rolled))
    np.testing.assert_allclose(of_scan, of_run, rtol=1e-10)
    assert np.abs(of_run).max() > 1e-3


def differences(gradient, x, h=1e-4):
    columns = []
    for i in range(len(x)):
        d = lambda h, e=np.eye(len(x))[i]: (gradient(x + h * e) - gradient(x - h * e)) / (2 * h)
        columns.append((4 * d(h / 2) - d(h)) / 3)
    return np.stack(columns, axis=1)


@pytest.mark.parametrize(
    "hessian",
    [
        jax.hessian,
        lambda f: jax.jacrev(jax.jacrev(f)),
        lambda f: jax.jit(jax.jacrev(jax.grad(f))),
        lambda f: jax.jacfwd(jax.jit(jax.grad(f))),
    ],
    ids=["hessian", "jacrev of jacrev", "jit", "jacfwd of jit"],
)
def test_second_derivatives_equal_differences_and_are_symmetric(hessian):
    H = hessian(last)(X0[0])
    np.testing.assert_allclose(H, H.T, rtol=1e-10)
    np.testing.assert_allclose(H, differences(jax.grad(last), X0[0]), rtol=1e-8)
    many = jax.vmap(hessian(last))(X0)
    np.testing.assert_allclose(many[0], H, rtol=1e-12)
    np.testing.assert_allclose(many[1], hessian(last)(X0[1]), rtol=1e-12)


def test_a_hessian_of_parameters_and_controls_together():
    def loss(z):
        return (states(X0, z[:20, None], z[20])[:, -1] ** 2).sum()

    z = np.concatenate([CONTROLS[0, :, 0], [0.8]])
    H = jax.hessian(loss)(z)
    np.testing.assert_allclose(H, differences(jax.grad(loss), z), rtol=1e-7, atol=1e-9)
    v = RNG.normal(size=z.shape)
    product = jax.jvp(jax.grad(loss), (z,), (v,))[1]
    np.testing.assert_allclose(product, H @ v, rtol=1e-10, atol=1e-12)
    turned = jax.grad(lambda z: jax.grad(loss)(z) @ v)(z)
    np.testing.assert_allclose(turned, H @ v, rtol=1e-10, atol=1e-12)


def test_the_gradient_of_a_jvp():
    pushed = lambda x, v: jax.jvp(last, (x,), (v,))[1]
    wanted = jax.hessian(last)(X0[0]) @ V[0]
    for wrap in (lambda f: f, jax.jit):
        np.testing.assert_allclose(wrap(jax.grad(pushed))(X0[0], V[0]), wanted, rtol=1e-10)
        by_direction = wrap(jax.grad(pushed, argnums=1))(X0[0], V[0])
        np.testing.assert_allclose(by_direction, jax.grad(last)(X0[0]), rtol=1e-10)
    many = jax.vmap(jax.grad(pushed), (None, 0))(X0[0], V)
    np.testing.assert_allclose(many[0], wanted, rtol=1e-10)


@functools.lru_cache
def in_contact(name):
    system = cy.load(MODELS[name])
    x = cy.rollout(system, system.initial_state(), 400, save="last").states[0]
    assert cy.forward(system, x).contacts.count >= 1
    return system, x


@pytest.mark.parametrize("name", ["gymnasium/hopper", "gymnasium/ant"])
def test_robots_in_contact(name):
    system, x = in_contact(name)
    v, w = RNG.normal(size=(2, *x.shape))
    run = cy.rollout(system, x, 3)
    function = lambda x: cyj.rollout(system, x, 3)
    tangents = jax.jit(lambda x, v: jax.jvp(function, (x,), (v,))[1])(x, v)
    np.testing.assert_array_equal(tangents, run.pushforward(v))
    bar = RNG.normal(size=run.states.shape)
    gradient = jax.grad(lambda x: (function(x) * bar).sum())
    Hv = jax.jit(lambda x, v: jax.jvp(gradient, (x,), (v,))[1])(x, v)
    np.testing.assert_allclose(Hv, run.hvp(bar, v).x0, rtol=1e-12, atol=1e-12)
    Hw = jax.grad(lambda x: gradient(x) @ w)(x)
    assert abs(Hv @ w - Hw @ v) < 1e-9 * max(abs(Hv @ w), 1e-3)
    assert np.abs(Hv).max() > 1e-3


def test_in_float32():
    with jax.enable_x64(False):
        system = cy.systems.pendulum(dtype="float32")
        run = lambda x: cyj.rollout(system, x, 20, save="last")[-1, 0]
        x, v = jnp.array([1.0, 0.0]), jnp.array([0.5, 1.0])
        tangent = jax.jvp(run, (x,), (v,))[1]
        assert tangent.dtype == np.float32
        np.testing.assert_allclose(tangent, jax.grad(run)(x) @ v, rtol=1e-5)
        assert jax.hessian(run)(x).dtype == np.float32


# ---- what there is not -------------------------------------------------------------------------


def test_third_derivatives_and_forward_mode_of_forward_mode_are_refused():
    pushed = lambda x: jax.jvp(last, (x,), (V[0],))[1]
    with pytest.raises(cy.GradientError, match="of a forward-mode derivative"):
        jax.jacfwd(pushed)(X0[0])
    angle = lambda x: cyj.rollout(PENDULUM, x, 12)[-1, 0]
    for third in (jax.jacrev(jax.jacrev(jax.grad(angle))), jax.jacfwd(jax.hessian(angle))):
        with pytest.raises(cy.GradientError, match="not third ones|of a forward-mode derivative"):
            third(X0[0])


def test_observations_have_reverse_mode_only():
    robot = cy.load(
        """<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
        <geom size="0.1" pos="0 0 -2"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
        <sensor> <velocimeter name="speed" site="bob"/> </sensor> </mujoco>"""
    )
    seen = lambda x: cyj.observe(robot, x)
    assert jax.jacrev(seen)(np.zeros(2)).shape == (3, 2)
    with pytest.raises(cy.GradientError, match="no forward mode of observe in JAX"):
        jax.jacfwd(seen)(np.zeros(2))
    with pytest.raises(cy.GradientError, match="of observe in JAX"):
        jax.jacfwd(jax.grad(lambda x: seen(x)[0]))(np.zeros(2))


def test_what_only_the_numbers_show_is_in_the_error():
    orbits = np.array([[1.0, 0, 0, 1.1], [0, 0, 0, 0]])
    kepler = cy.systems.kepler()
    with pytest.raises(FAILS, match="no pushforward through a step that failed: environment 1"):
        jax.jvp(lambda x: cyj.rollout(kepler, x, 10), (orbits,), (orbits + 1,))
    step = lambda x, u, p, t, dt: 0.9 * x
    law = cy.own_law(step, lambda x, u, p, t, dt, bar: (0.9 * bar, 0, {}), states={"x": 1})
    run = lambda x: cyj.rollout(law, x, 3)
    assert jax.jacrev(run)(np.ones(1)).shape == (4, 1, 1)
    with pytest.raises(FAILS, match="without a pushforward"):
        jax.jvp(run, (np.ones(1),), (np.ones(1),))[1].block_until_ready()


def test_a_parameter_without_a_gradient_is_refused_by_name():
    """No system of ours has one today."""
    passed = lambda p: _jax_rows._lacking.bind(p, reason="parameter 'size': it decides").sum()
    assert jax.jit(passed)(X0) == X0.sum()
    np.testing.assert_array_equal(jax.vmap(passed)(X0), X0.sum(axis=1))
    for call in (jax.grad(passed), jax.jit(jax.grad(passed)), jax.jacfwd(passed)):
        with pytest.raises(cy.ParameterError, match="'size': it decides: it is not differentiated"):
            call(X0)
