"""cycloid.jax: values and gradients are those of cycloid, under every transformation of JAX."""

import doctest
import functools
import gc
import weakref
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from models import MODELS

import cycloid as cy
import cycloid.jax as cyj
from cycloid import _core

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "jax.md"
PENDULUM = cy.systems.pendulum(vary="length")
X0 = np.array([[1.0, 0.2], [0.4, -0.3], [-0.8, 0.1]])
CONTROLS = 0.3 * np.random.default_rng(0).normal(size=(3, 20, 1))


@pytest.fixture(autouse=True)
def _in_double():
    with jax.enable_x64(True):
        yield


@functools.lru_cache
def robot(name, **options):
    return cy.load(MODELS[name], **options)


@functools.lru_cache
def in_contact(name):
    """A robot and a state in which it touches the ground, by letting it fall."""
    system = robot(name)
    run = cy.rollout(system, system.initial_state(), 500, save="last")
    x = run.states[0]
    assert cy.forward(system, x).contacts.count >= 1
    return system, x


def weights(shape):
    """Of a loss: no two alike, none small."""
    return 1 + np.random.default_rng(7).uniform(size=shape)


def as_numpy(tree):
    return jax.tree.map(np.asarray, tree)


def both(system, x0, controls, params=None, **options):
    """States and gradients of all arguments: cycloid's, then JAX's."""
    run = cy.rollout(system, x0, controls, params, **options)
    bar = weights(run.states.shape).astype(system.dtype)
    g = run.pullback(bar)
    zero_inputs = isinstance(controls, int)

    def loss(x0, given, params):
        states = cyj.rollout(system, x0, controls if zero_inputs else given, params, **options)
        return (states * bar).sum(), states

    arguments = (x0, np.zeros(1) if zero_inputs else controls, params)
    numbers = (0,) + (1,) * (not zero_inputs) + (2,) * (params is not None)
    arguments = jax.tree.map(jnp.asarray, arguments)
    grads, states = jax.jit(jax.grad(loss, argnums=numbers, has_aux=True))(*arguments)
    wanted = (g.x0,) + (g.controls,) * (not zero_inputs) + (g.params,) * (params is not None)
    return (run.states, *wanted), as_numpy((states, *grads))


def assert_same(wanted, got):
    for a, b in zip(jax.tree.leaves(wanted), jax.tree.leaves(got), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        assert np.any(b)


CASES = {
    "one environment": (X0[0], CONTROLS[0]),
    "zero inputs": (X0[0], 20),
    "a batch": (X0, CONTROLS),
    "one start for all": (X0[0], CONTROLS),
    "one input for all": (X0, CONTROLS[0]),
    "a vector of parameters": (X0, CONTROLS, PENDULUM.parameters.default),
    "named parameters": (X0, CONTROLS, {"damping": np.float64(0.1), "mass": np.float64(0.7)}),
    "parameters that vary": (X0[0], 20, {"length": np.array([0.5, 1.0, 2.0])}),
}


@pytest.mark.parametrize("case", CASES)
def test_states_and_gradients_are_bitwise_those_of_cycloid(case):
    assert_same(*both(PENDULUM, *CASES[case]))


@pytest.mark.parametrize("save", ["last", 7, [0, 3, -1]])
def test_what_is_saved_is_what_comes(save):
    assert_same(*both(PENDULUM, X0, CONTROLS, save=save))


def test_states_at_given_times():
    assert_same(*both(PENDULUM, X0, CONTROLS, times=[0.0, 0.013, 0.2]))
    late = 1.7e9 + PENDULUM.timestep * np.arange(CONTROLS.shape[1] + 1)  # to its end
    assert_same(*both(PENDULUM, X0, CONTROLS, times=late, t0=1.7e9))
    longer = {"option.timestep": 2 * PENDULUM.timestep}
    assert cyj.rollout(PENDULUM, X0[0], 5, longer, times=[0.1]).shape == (1, 2)
    hopper, x = in_contact("gymnasium/hopper")
    u = 0.1 * np.random.default_rng(1).normal(size=(5, 3))
    assert_same(*both(hopper, x, u, times=np.array([0.3, 2.5, 5]) * hopper.timestep))


@pytest.mark.parametrize("memory", ["all", "sqrt", 3, "10kB", cy.Truncate(5)])
def test_every_way_to_keep_memory(memory):
    assert_same(*both(PENDULUM, X0, CONTROLS, memory=memory, threads=2, t0=1.0))


def test_gradients_through_impacts():
    system = cy.systems.bouncing_ball()
    x0 = np.array([[1.0, 0.3], [0.6, -0.2]])

    def last_heights(x, e):
        return cyj.rollout(system, x, 130, {"restitution": e}, save="last")[:, 0, 0]

    run = cy.rollout(system, x0, 130, {"restitution": 0.8}, save="last")
    assert len(run.events) == 4
    for i in range(2):
        bar = np.zeros((2, 1, 2))
        bar[i, 0, 0] = 1
        g = run.pullback(bar)
        x_bar, e_bar = jax.jit(jax.grad(lambda x, e: last_heights(x, e)[i], (0, 1)))(x0, 0.8)
        assert (np.asarray(x_bar) == g.x0).all() and float(e_bar) == g.params["restitution"]


def test_axes_that_broadcast_in_two_directions():
    x0, controls = X0[:, None], CONTROLS[:2, None].swapaxes(0, 1)
    (states, *wanted), (got, *gradient) = both(PENDULUM, x0, controls)
    np.testing.assert_array_equal(states, got)
    for a, b in zip(wanted, gradient, strict=True):  # JAX adds up in an order of its own
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=0)


def test_inputs_without_numbers_say_how_large_the_batch_is():
    system = cy.systems.kepler()
    x0 = jnp.array([1.0, 0, 0, 1.1])
    states = cyj.rollout(system, x0, np.zeros((3, 10, 0)))
    wanted = cy.rollout(system, x0, np.zeros((3, 10, 0))).states
    np.testing.assert_array_equal(states, wanted)
    gradient = jax.grad(lambda x0: cyj.rollout(system, x0, np.zeros((3, 10, 0)))[:, -1, 0].sum())
    one = jax.grad(lambda x0: cyj.rollout(system, x0, 10)[-1, 0])
    np.testing.assert_allclose(gradient(x0), 3 * one(x0), rtol=1e-12)


def test_vmap_over_inputs_without_numbers():
    system = cy.systems.lorenz()
    x, u = jnp.array([1.0, 2.0, 3.0]), np.zeros((4, 5, 0))
    rate = jnp.asarray(system.parameters["rho"])
    run = lambda u: cyj.rollout(system, x, u, save="last")
    one = run(u[0])
    np.testing.assert_array_equal(jax.vmap(run)(u), np.stack([one] * 4))
    steps = jax.vmap(lambda u: cyj.step(system, x, u))(u[:, 0])
    np.testing.assert_array_equal(steps, np.stack([cyj.step(system, x)] * 4))

    def loss(x, u, rate):
        return cyj.rollout(system, x, u, {"rho": rate}, save="last")[-1].sum()

    for argnums in (1, (0, 2)):
        gradient = jax.grad(loss, argnums=argnums)
        alone = gradient(x, u[0], rate)
        for got in (
            jax.vmap(gradient, in_axes=(None, 0, None))(x, u, rate),
            jax.vmap(jax.vmap(gradient, (None, 0, None)), (None, 0, None))(
                x, u.reshape((2, 2, 5, 0)), rate
            ),
        ):
            for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(alone), strict=True):
                for row in a.reshape((4, *b.shape)):  # a lone one runs in another lane type
                    np.testing.assert_allclose(row, b, rtol=1e-12)


def test_a_batch_of_no_parameters():
    law = cy.own_law(
        lambda x, u, p, t, dt: 0.9 * x,
        lambda x, u, p, t, dt, bar: (0.9 * bar, None, None),
        states={"x": 1},
    )
    states = cyj.rollout(law, np.ones(1), 3, np.zeros((4, 0)), save="last")
    np.testing.assert_allclose(states, np.full((4, 1, 1), 0.9**3))


def test_a_system_in_float32():
    system = cy.systems.double_pendulum(dtype="float32")
    x0 = np.array([[1.0, 0.5, 0, 0], [0.3, 0.2, 0, 0]], np.float32)
    assert_same(*both(system, x0, 15))
    assert cyj.rollout(system, x0.astype(float), 3).dtype == np.float32


def test_without_x64_arrays_are_float32_and_the_system_computes_in_double():
    with jax.enable_x64(False):
        x0 = jnp.asarray(X0)
        assert x0.dtype == np.float32
        states = cyj.rollout(PENDULUM, x0, 20)
        wanted = cy.rollout(PENDULUM, np.asarray(x0), 20)
        assert states.dtype == np.float32
        np.testing.assert_array_equal(states, wanted.states.astype(np.float32))
        bar = weights(states.shape).astype(np.float32)
        gradient = jax.grad(lambda x0: (cyj.rollout(PENDULUM, x0, 20) * bar).sum())(x0)
        np.testing.assert_array_equal(gradient, wanted.pullback(bar).x0.astype(np.float32))


def test_without_x64_parameters_that_are_not_named_stay_in_double():
    with jax.enable_x64(False):
        named = cyj.rollout(PENDULUM, X0[0], 20, {"mass": 1.0}, save="last")
        none = cyj.rollout(PENDULUM, X0[0], 20, save="last")
        np.testing.assert_array_equal(named, none)


# (robot, its parameters that are looked at: of a motor and of contact)
ROBOTS = {
    "gymnasium/hopper": ["actuator:#0.gear", "geom:foot_geom.friction"],
    "gymnasium/ant": ["actuator:#0.gear", "geom:floor.friction"],
    "dm_control/humanoid": ["actuator:abdomen_y.gear", "geom:floor.friction", "geom:floor.solref"],
}


@pytest.mark.parametrize("name", ROBOTS)
def test_gradients_in_contact_agree_with_differences_by_jax(name):
    system, x = in_contact(name)
    u = 0.1 * np.random.default_rng(1).normal(size=(4, system.input_size))
    # Central differences err by curvature, which goes with eps², and by rounding, which goes with
    # 1 / eps. Measured along random directions: in x and u, where derivatives are about 100 and
    # curvature is large, 2e-5 and 1e-8 at eps = 1e-7; in parameters 2e-7 and 5e-9 at 1e-6.
    check = functools.partial(check_grads, order=1, modes=["rev"], rtol=1e-6)
    check(lambda x, u: cyj.rollout(system, x, u), (x, u), eps=1e-7, atol=1e-4)
    for parameter in ROBOTS[name]:
        last = lambda p: cyj.rollout(system, x, u, {parameter: p}, save="last")
        value = np.asarray(system.parameters[parameter])
        check(last, (value,), eps=1e-6, atol=1e-6)
        assert np.abs(jax.grad(lambda p: last(p).sum())(value)).max() > 1e-5  # it is seen
    assert_same(*both(system, np.stack([x, x]), np.stack([u, 2 * u])))


def test_a_step_is_that_of_cycloid():
    system, x = in_contact("gymnasium/hopper")
    u = np.full(system.input_size, 0.2)
    np.testing.assert_array_equal(cyj.step(system, x, u), cy.step(system, x, u))
    gradient = jax.jacrev(lambda x, u: cyj.step(system, x, u), argnums=(0, 1))(x, u)
    for got, wanted in zip(gradient, cy.linearise(system, x, u), strict=True):
        # Hinges and slides: tangents are coordinates.
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    assert cyj.step(PENDULUM, X0, jnp.ones(1)).shape == (3, 2)


def test_steps_in_a_scan_are_a_rollout_and_so_is_their_gradient():
    def scanned(x0, controls):
        def one(x, u):
            x = cyj.step(PENDULUM, x, u)
            return x, x

        return jax.lax.scan(one, x0, controls)[1]

    loss = lambda run: lambda x0, controls: (run(x0, controls) * weights((20, 2))).sum()
    whole = lambda x0, controls: cyj.rollout(PENDULUM, x0, controls)[1:]
    for jit in (lambda f: f, jax.jit):
        a, b = (
            jit(jax.value_and_grad(loss(run), argnums=(0, 1)))(X0[0], CONTROLS[0])
            for run in (scanned, whole)
        )
        for p, q in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-12)


class Engine:
    """How often the core was asked to do what."""

    def __enter__(self):
        _core.drop_kept_runs()
        self.before = _core.kept_runs()
        return self

    def __exit__(self, *_):
        after = _core.kept_runs()
        self.found, self.missed = (after[k] - self.before[k] for k in ("found", "missed"))


def test_vmap_is_one_call_with_more_rows():
    def loss(x0, u):
        return (cyj.rollout(PENDULUM, x0, u) * weights((21, 2))).sum()

    wanted = jax.grad(lambda x, u: jax.vmap(loss)(x, u).sum(), argnums=(0, 1))(X0, CONTROLS)
    with Engine() as engine:
        got = jax.vmap(jax.grad(loss, argnums=(0, 1)))(X0, CONTROLS)
    assert (engine.found, engine.missed) == (1, 0)
    run = cy.rollout(PENDULUM, X0, CONTROLS)
    g = run.pullback(np.broadcast_to(weights((21, 2)), run.states.shape))
    assert_same((g.x0, g.controls), as_numpy(got))
    assert_same(as_numpy(wanted), as_numpy(got))


def test_vmap_of_a_gradient_of_what_is_shared():
    def loss(x0, u, p):
        return (cyj.rollout(PENDULUM, x0, u, p) * weights((21, 2))).sum()

    p = {"damping": jnp.asarray(0.1), "length": jnp.asarray(0.8)}
    each = [jax.grad(loss, argnums=(0, 1, 2))(X0[0], u, p) for u in CONTROLS]
    for axes in ((None, 0, None), (0, 0, 0), (0, 0, None)):
        spread = [
            tree if axis is None else jax.tree.map(lambda a: jnp.stack([a] * 3), tree)
            for tree, axis in zip((X0[0], None, p), axes)
        ]
        with Engine() as engine:
            got = jax.vmap(jax.grad(loss, argnums=(0, 1, 2)), in_axes=axes)(
                spread[0], CONTROLS, spread[2]
            )
        assert (engine.found, engine.missed) == (1, 0)
        for i, one in enumerate(each):  # a lone one runs in another lane type
            for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(one), strict=True):
                np.testing.assert_allclose(a[i], b, rtol=1e-11)


def test_vmap_of_the_gradient_of_a_scan():
    def scanned(x0):
        return jax.lax.scan(lambda x, _: (cyj.step(PENDULUM, x), x[0]), x0, length=5)[1].sum()

    each = [jax.grad(scanned)(x0) for x0 in X0]
    with Engine() as engine:
        got = jax.vmap(jax.grad(scanned))(X0)
    assert (engine.found, engine.missed) == (5, 0)
    np.testing.assert_allclose(got, each, rtol=1e-13)


def test_vmaps_within_vmaps_and_batches():
    x0 = np.stack([X0, X0 + 0.1])  # (2, 3, 2)
    u = CONTROLS[:, None] * np.array([1.0, -1.0, 2.0, 0.5])[:, None, None]  # (3, 4, 20, 1)

    def loss(x0, u):  # (2,), (4, 20, 1): a batch of 4
        return (cyj.rollout(PENDULUM, x0, u, save="last")[:, 0] * weights((4, 2))).sum()

    nested = jax.vmap(jax.vmap(jax.grad(loss, argnums=(0, 1))), in_axes=(0, None))
    got = nested(x0, u)
    for i in range(2):
        for j in range(3):
            one = jax.grad(loss, argnums=(0, 1))(x0[i, j], u[j])
            for a, b in zip(got, one, strict=True):
                np.testing.assert_allclose(a[i, j], b, rtol=1e-13, atol=1e-16)


def test_a_jacobian_is_many_pullbacks_of_one_run():
    def last(x0, p):
        return cyj.rollout(PENDULUM, x0, 20, {"length": p}, save="last")[-1]

    with Engine() as engine:
        J, P = jax.jacrev(last, argnums=(0, 1))(X0[0], 0.7)
    assert (engine.found, engine.missed) == (1, 0)
    run = cy.rollout(PENDULUM, X0[0], 20, {"length": 0.7}, save="last")
    rows = [run.pullback(bar[None]) for bar in np.eye(2)]
    np.testing.assert_array_equal(J, [g.x0 for g in rows])
    np.testing.assert_array_equal(P, [g.params["length"] for g in rows])
    with Engine() as engine:
        many = jax.jit(jax.vmap(jax.jacrev(last), in_axes=(0, None)))(X0, 0.7)
    assert (engine.found, engine.missed) == (1, 0)
    np.testing.assert_allclose(many[0], J, rtol=1e-12)


def test_a_gradient_does_not_run_forward_again_unless_what_it_needs_is_gone():
    loss = lambda x0: (cyj.rollout(PENDULUM, x0, CONTROLS) ** 2).sum()
    with Engine() as engine:
        value, pull = jax.vjp(loss, jnp.asarray(X0))
        first = pull(1.0)[0]
        again = pull(1.0)[0]  # it stays until the next run
    assert (engine.found, engine.missed) == (2, 0)
    with Engine() as engine:
        _core.drop_kept_runs()
        made_again = pull(1.0)[0]
    assert (engine.found, engine.missed) == (0, 1)
    assert first.any()
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, made_again)


def test_what_was_used_goes_when_the_next_comes_and_all_with_the_system():
    system = cy.systems.lorenz()
    _core.drop_kept_runs()
    pulls = [jax.vjp(lambda x: cyj.rollout(system, x, 5), jnp.ones(3) * k)[1] for k in (1.0, 2.0)]
    assert _core.kept_runs()["runs"] == 2
    pulls[0](jnp.ones((6, 3)))
    jax.grad(lambda x: cyj.rollout(PENDULUM, x, 5).sum())(X0[0])
    assert _core.kept_runs()["runs"] == 2  # the second, and the one that came
    del system, pulls
    assert _core.kept_runs()["runs"] == 1


def test_what_is_compiled_goes_with_its_system():
    system = cy.systems.lorenz()
    cyj.rollout(system, np.ones(3), 5).block_until_ready()
    compiled = weakref.ref(cyj._operator(system))
    gc.collect()
    assert compiled() is not None
    del system
    gc.collect()
    assert compiled() is None


def test_the_oldest_go_when_there_is_no_room_and_their_gradients_are_the_same():
    loss = lambda x0: (cyj.rollout(PENDULUM, x0, CONTROLS) ** 2).sum()
    starts = [jnp.asarray(X0 + k) for k in range(4)]
    with Engine() as engine:
        pulls = [jax.vjp(loss, x0)[1] for x0 in starts]
        one = _core.kept_runs()["bytes"] // 4
        wanted = [pull(1.0)[0] for pull in pulls]
    assert (engine.found, engine.missed) == (4, 0)
    before = _core.set_kept_budget(2 * one)
    try:
        with Engine() as engine:
            pulls = [jax.vjp(loss, x0)[1] for x0 in starts]
            assert _core.kept_runs()["runs"] == 2
            got = [pull(1.0)[0] for pull in pulls]
        assert (engine.found, engine.missed) == (2, 2)
        np.testing.assert_array_equal(got, wanted)
        _core.set_kept_budget(1)
        with Engine() as engine:
            jax.grad(loss)(starts[0])
        assert (engine.found, engine.missed) == (1, 0)  # the newest stays, however large
    finally:
        _core.set_kept_budget(before)


def test_a_token_of_another_run_is_not_believed():
    loss = lambda x0: (cyj.rollout(PENDULUM, x0, CONTROLS) ** 2).sum()
    pulls = [jax.vjp(loss, jnp.asarray(X0 + k))[1] for k in (0, 1)]
    wanted = pulls[0](1.0)[0]
    leaves, others = (jax.tree.leaves(pull) for pull in pulls)
    tokens = [i for i, leaf in enumerate(leaves) if leaf.dtype == np.uint32]
    assert len(tokens) == 1
    leaves[tokens[0]] = others[tokens[0]]
    before = _core.kept_runs()
    got = jax.tree.unflatten(jax.tree.structure(pulls[0]), leaves)(1.0)[0]
    assert _core.kept_runs()["missed"] == before["missed"] + 1
    np.testing.assert_array_equal(got, wanted)


def test_nothing_is_kept_without_a_gradient():
    with Engine():
        jax.jit(lambda x: cyj.rollout(PENDULUM, x, 5))(X0)
        assert _core.kept_runs()["runs"] == 0


@pytest.mark.parametrize("argnum, wrt", [(0, 1), (1, 2), (2, 4)])
def test_only_what_is_asked_for_is_computed(argnum, wrt):
    loss = lambda x0, u, p: cyj.rollout(PENDULUM, x0, u, p).sum()
    arguments = X0, CONTROLS, PENDULUM.parameters.default
    for f in (loss, jax.jit(loss), jax.checkpoint(loss)):
        text = jax.jit(jax.grad(f, argnums=argnum)).lower(*arguments).as_text()
        assert f"wrt = {wrt} : i64" in text


def test_checkpoint_and_donated_buffers():
    loss = lambda x0: cyj.rollout(PENDULUM, x0, CONTROLS).sum()
    wanted = jax.grad(loss)(X0)
    np.testing.assert_array_equal(jax.grad(jax.checkpoint(loss))(X0), wanted)
    given = jnp.array(X0)
    gradient = jax.jit(jax.grad(loss), donate_argnums=0)(given)
    np.testing.assert_array_equal(gradient, wanted)
    assert given.is_deleted()


def test_the_guide_is_true():
    with jax.enable_x64(False):
        failures, attempted = doctest.testfile(str(GUIDE), module_relative=False)
    assert failures == 0 and attempted > 15


def test_a_compiled_function_is_traced_once():
    traced = []

    @jax.jit
    def last(x0, length):
        traced.append(1)
        return cyj.rollout(PENDULUM, x0, 10, {"length": length}, save="last")[-1]

    for length in (0.5, 1.0, 2.0):
        wanted = cy.rollout(PENDULUM, X0[0], 10, {"length": length}, save="last").states[-1]
        np.testing.assert_array_equal(last(X0[0], length), wanted)
    assert len(traced) == 1


def test_numbers_near_zero_are_those_of_cycloid():
    """XLA rounds them to zero on its threads."""
    tiny = np.array([[1e-310, 3e-312], [2e-309, 1e-320]])
    wanted = cy.rollout(PENDULUM, tiny, 5).states
    assert (wanted[:, -1] != 0).all()
    got = jax.jit(lambda x: cyj.rollout(PENDULUM, x, 5))(tiny)
    np.testing.assert_array_equal(got, wanted)


SENSES = """<mujoco> <worldbody> <geom name="floor" type="plane" size="1 1 1"/>
    <body pos="0 0 0.099"> <freejoint/> <geom name="ball" size="0.1" mass="2"/>
      <site name="sole" size="0.2"/> </body> </worldbody>
    <sensor> <touch name="sole" site="sole"/> <framepos name="place" objtype="site" objname="sole"/>
    </sensor> </mujoco>"""


def test_observations_and_their_gradients():
    ball = cy.load(SENSES, inputs=("qfrc_applied",))
    x = np.stack([ball.initial_state()] * 3)
    x[:, 2] -= [0, 1e-3, 2e-3]
    u = np.array([0, 0, -1.0, 0, 0, 0])
    seen = cy.observe(ball, x, u, params={"body:#1.mass": 2.5})
    bar = weights(seen.values.shape)
    g = seen.pullback(bar)

    def loss(x, u, p):
        values = cyj.observe(ball, x, u, params=p)
        return (values * bar).sum(), values

    p = {"body:#1.mass": jnp.asarray(2.5)}
    with Engine() as engine:
        (_, values), bars = jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)(x, u, p)
    assert (engine.found, engine.missed) == (1, 0)
    np.testing.assert_array_equal(values, seen.values)
    np.testing.assert_array_equal(bars[0], g.x)
    np.testing.assert_allclose(bars[1], g.controls, rtol=1e-14)  # summed by JAX
    np.testing.assert_array_equal(bars[2]["body:#1.mass"], g.params["body:#1.mass"])
    touch = lambda x: cyj.observe(ball, x, names="sole")[0]
    each = jax.jit(jax.vmap(jax.grad(touch)))(x)
    alone = cy.observe(ball, x, names="sole").pullback(np.ones(1)).x
    np.testing.assert_allclose(each, alone, rtol=1e-12)
    assert (np.asarray(each)[:, 2] < 0).all()
