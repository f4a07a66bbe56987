"""Handlers of cycloid.jax for a card, run on arrays of this machine: on XLA's CPU under other
names, with Systems whose kernels run on the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cycloid as cy
import cycloid.jax as cyj
from cycloid import _core, _jax_rows

BALL = """<mujoco model="ball"> <worldbody> <geom type="plane" size="5 5 1"/>
  <body pos="0 0 0.12"> <joint name="root" type="free"/> <geom size="0.1" mass="1"/> </body>
  </worldbody> <actuator> <motor joint="root" gear="0 0 1 0 0 0"/> </actuator> </mujoco>"""
FAILS = (jax.errors.JaxRuntimeError, ValueError)

for _name in _core.xla_handlers:
    _own = _core.xla_card_handlers.get(_name, _core.xla_card_refusal)
    jax.ffi.register_ffi_target(f"{_name}_on_card", _own, platform="cpu")


@pytest.fixture(autouse=True)
def as_on_a_card(monkeypatch):
    plain = _jax_rows._ffi
    monkeypatch.setattr(
        _jax_rows, "_ffi", lambda target, *given: plain(f"{target}_on_card", *given)
    )
    _core.drop_kept_runs()
    with jax.enable_x64(True):
        yield


def robot(device="host", **options):
    return cy.load(BALL, device=device, **options)


def case(system, rows=3, steps=8, seed=0):
    rng = np.random.default_rng(seed)
    x0 = np.tile(system.initial_state(), (rows, 1))
    x0 += 0.05 * rng.standard_normal(x0.shape)
    return x0.astype(system.dtype), rng.standard_normal((rows, steps, 1)).astype(system.dtype)


def test_there_is_a_handler_or_a_refusal_for_every_target():
    assert set(_core.xla_card_handlers) == {"cycloid_rollout", "cycloid_rollout_pullback"}
    assert set(_core.xla_card_handlers) < set(_core.xla_handlers)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("memory", ["auto", "sqrt", 3000])
def test_states_and_gradients_are_those_of_cycloid(dtype, memory):
    system = robot(dtype=dtype, vary=["option.gravity"])
    x0, u = case(system)
    gravity = np.array([[0, 0, -9.0], [0, 0, -9.5], [0.1, 0, -10]])
    run = cy.rollout(system, x0, u, {"option.gravity": gravity}, save=2, memory=memory)
    weights = np.random.default_rng(1).standard_normal(run.states.shape).astype(dtype)
    g = run.pullback(weights)

    @jax.jit
    def loss(x0, u, gravity):
        states = cyj.rollout(system, x0, u, {"option.gravity": gravity}, save=2, memory=memory)
        return (weights * states).sum(), states

    (_, states), found = jax.value_and_grad(loss, (0, 1, 2), has_aux=True)(x0, u, gravity)
    close = {"rtol": 1e-9, "atol": 1e-10} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_array_equal(states, run.states)
    for part, wanted in zip(found, (g.x0, g.controls, g.params["option.gravity"]), strict=True):
        np.testing.assert_allclose(part, wanted, **close)
        assert np.abs(wanted).max() > 0
    counts = _core.kept_runs()
    assert counts["found"] > 0


def test_a_run_is_found_by_its_token_and_made_again_where_it_is_gone():
    system = robot()
    x0, u = case(system)
    out, pull = jax.vjp(jax.jit(lambda x, u: cyj.rollout(system, x, u)), x0, u)
    before = _core.kept_runs()
    assert before["runs"] == 1 and before["bytes"] > 0
    bar = jnp.ones_like(out)
    once = pull(bar)
    assert _core.kept_runs()["found"] == before["found"] + 1
    _core.drop_kept_runs()
    again = pull(bar)
    assert _core.kept_runs()["missed"] == before["missed"] + 1
    for a, b in zip(once, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_vmap_shares_tokens_wrongly_and_gets_the_right_gradient():
    system = cy.systems.pendulum(device="host")
    x0 = jnp.array([[1.0, 0.2], [0.4, -0.3]])
    end = lambda x: (cyj.rollout(system, x, 20, save="last") ** 2).sum()
    together = jax.vmap(jax.grad(end))(x0)
    np.testing.assert_allclose(together, [jax.grad(end)(x) for x in x0], rtol=1e-12)
    jacobian = jax.jacrev(lambda x: cyj.rollout(system, x, 20, save="last")[0])(x0[0])
    np.testing.assert_allclose(
        jacobian, cy_jacobian(system, np.asarray(x0[0])), rtol=1e-9, atol=1e-12
    )


def cy_jacobian(system, x0):
    run = cy.rollout(system, x0, 20, save="last")
    return np.stack([run.pullback(row[None]).x0 for row in np.eye(2)])


def test_steps_scan_and_share_one_row_of_inputs():
    system = robot()
    x0, _ = case(system)
    u = jnp.array([0.3])

    def fall(x, _):
        x = cyj.step(system, x, u)
        return x, x

    _, states = jax.lax.scan(fall, jnp.asarray(x0), length=4)
    wanted = cy.rollout(system, x0, np.full((4, 1), 0.3)).states[:, 1:]
    np.testing.assert_allclose(states, wanted.transpose(1, 0, 2), rtol=1e-11, atol=1e-13)


def test_heat_runs_there_with_the_gradient_of_its_conductivities():
    box = cy.systems.heat((5, 4), 1.5, 0.4, slope=0.2, device="host")
    x0 = np.random.default_rng(2).random(20)
    run = cy.rollout(box, x0, 5, save="last")
    g = run.pullback(2 * run.states)
    loss = lambda x, k: (cyj.rollout(box, x, 5, {"conductivity": k}, save="last") ** 2).sum()
    found = jax.jit(jax.grad(loss, (0, 1)))(x0, np.full(20, 1.5))
    np.testing.assert_allclose(found[0], g.x0, rtol=1e-8)
    np.testing.assert_allclose(found[1], g.params, rtol=1e-6, atol=1e-9)


def test_failures_are_named():
    system = cy.systems.lorenz(dt=10.0, device="host")
    x0 = np.array([[1.0, 1, 1], [0, 0, 0]])
    with pytest.raises(FAILS, match="environment 0"):
        jax.grad(lambda x: cyj.rollout(system, x, 20).sum())(x0).block_until_ready()
    skipped = jax.grad(lambda x: cyj.rollout(system, x, 20, failed="skip").sum())(x0)
    assert not np.any(skipped[0]) and np.all(np.isfinite(skipped))
    with pytest.raises(FAILS, match="the step failed: environment 0"):
        cyj.step(cy.systems.lorenz(dt=1e200, device="host"), x0).block_until_ready()


def test_what_does_not_run_there_is_refused_by_name():
    here = cy.systems.pendulum()
    with pytest.raises(FAILS, match='"pendulum" runs on the CPU.*device="cuda"'):
        cyj.rollout(here, np.zeros(2), 3).block_until_ready()
    there = cy.systems.pendulum(device="host")
    with pytest.raises(FAILS, match="rollout and step on a card"):
        jax.jvp(lambda x: cyj.rollout(there, x, 3), (np.zeros(2),), (np.ones(2),))
    with pytest.raises(FAILS, match="observe are the CPU's"):
        cyj.observe(there, np.zeros(2), names=["energy"]).block_until_ready()
    with jax.enable_x64(False), pytest.raises(FAILS, match="holds float32.*jax_enable_x64"):
        cyj.rollout(cy.systems.pendulum(device="host"), np.zeros(2), 3).block_until_ready()
