"""cycloid.jax: what is refused, and what goes wrong while a compiled function runs."""

import threading
import warnings

import jax
import numpy as np
import pytest
from fresh_process import PATIENCE, run_script
from jax.errors import JaxRuntimeError

import cycloid as cy
import cycloid.jax as cyj
from cycloid import _core

# JAX raises the second where it calls again, in a quicker way, what it has called before.
FAILS = (JaxRuntimeError, ValueError)
PENDULUM = cy.systems.pendulum()
KEPLER = cy.systems.kepler()
X0 = np.array([1.0, 0.2])
# The second starts in the centre of attraction.
ORBITS = np.array([[1.0, 0, 0, 1.1], [0, 0, 0, 0]])


@pytest.fixture(autouse=True)
def _in_double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(
    "arguments, options, error, words",
    [
        (([1.0], 5), {}, cy.Error, r"x0 must have shape \(..., 2\), angle, .*; got \(1,\)"),
        ((X0, np.zeros((5, 2))), {}, cy.Error, r"controls must have shape \(..., T, 1\)"),
        ((X0, 0), {}, cy.Error, "at least 1"),
        ((np.ones((2, 2)), np.zeros((3, 5, 1))), {}, cy.Error, "do not broadcast: x0"),
        ((np.ones((0, 2)), 5), {}, cy.Error, "the batch is empty"),
        ((X0, 5, np.ones(3)), {}, cy.Error, r"params must have shape \(..., 5\)"),
        ((X0, 5, {"lenght": 1.0}), {}, cy.ParameterError, 'did you mean "length"'),
        ((X0, 5, {"length": [[1.0], [2.0, 3.0]]}), {}, TypeError, "'length' must be an array"),
        (("here", 5), {}, TypeError, "x0 must be an array of numbers"),
        ((X0 * 1j, 5), {}, TypeError, "x0 must be numbers; got complex128"),
        ((X0, 5), {"save": "first"}, cy.Error, "save: expected"),
        ((X0, 5), {"save": [9]}, cy.Error, "9"),
        ((X0, 5), {"memory": "64XB"}, cy.Error, "memory"),
        ((X0, 5), {"failed": "ignore"}, cy.Error, 'failed: expected "raise", "skip"'),
        ((X0, 5), {"t0": np.nan}, cy.Error, "t0 must be finite"),
        ((X0, 5), {"times": [0.01], "save": "last"}, cy.Error, "not both"),
        ((X0, 5), {"times": [0.01, 0.06]}, cy.Error, "within the run, from 0 to 0.05 s; got 0.06"),
        ((X0, 5), {"times": [0.01], "t0": 1}, cy.Error, "from 1 to 1.05 s; got 0.01"),
        ((X0, 5), {"times": [np.nan]}, cy.Error, "within the run.* got nan"),
        ((X0, 5), {"times": [0.02, 0.01]}, cy.Error, "times must increase; 0.01 follows 0.02"),
        ((X0, 5), {"threads": 0}, cy.Error, "threads"),
    ],
)
def test_what_is_wrong_before_there_are_numbers_raises_at_once(arguments, options, error, words):
    with pytest.raises(error, match=words):
        cyj.rollout(PENDULUM, *arguments, **options)
    if isinstance(arguments[0], np.ndarray):
        with pytest.raises(error, match=words):
            jax.jit(lambda x: cyj.rollout(PENDULUM, x, *arguments[1:], **options))(arguments[0])


def test_what_is_no_system_and_what_is_not_observable():
    with pytest.raises(TypeError, match="expected a cycloid System"):
        cyj.rollout("pendulum", X0, 5)
    with pytest.raises(cy.ModelError, match='no observable is called "sensor"'):
        cyj.observe(PENDULUM, X0, names="sensor")
    with pytest.raises(TypeError, match="^t must be a plain number"):
        jax.jit(lambda t: cyj.step(PENDULUM, X0, t=t))(0.5)
    run = lambda times: cyj.rollout(PENDULUM, X0, 5, times=times).sum()
    for call in (
        lambda: jax.jit(run)(np.array([0.01])),
        lambda: jax.jit(lambda t: run([0.005, t]))(0.01),
        lambda: jax.grad(lambda t: run([t]))(0.01),
        lambda: jax.vmap(run)(np.array([[0.01], [0.02]])),
    ):
        with pytest.raises(TypeError, match="^times must be plain numbers; they have no gradient"):
            call()


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["called", "compiled"])
def test_numbers_that_cannot_be_raise_with_our_text(wrap):
    run = wrap(lambda x, p: cyj.rollout(PENDULUM, x, 5, p))
    for _ in range(3):
        with pytest.raises(FAILS, match=r"x0 must be finite; number 1 .* is nan"):
            run(np.array([1.0, np.nan]), {"length": 1.0}).block_until_ready()
        assert run(X0, {"length": 1.0}).shape == (6, 2)
    with pytest.raises(FAILS, match="length"):
        run(X0, {"length": -1.0}).block_until_ready()
    with pytest.raises(FAILS, match="differs between environments .* declare it in vary"):
        run(X0, {"length": np.array([1.0, 2.0])}).block_until_ready()


def test_an_environment_that_fails_goes_on_and_its_gradient_raises_or_is_left_out():
    states = cyj.rollout(KEPLER, ORBITS, 10)
    np.testing.assert_array_equal(states, cy.rollout(KEPLER, ORBITS, 10).states)
    with pytest.raises(FAILS, match="no gradient through an environment that failed"):
        jax.grad(lambda x: cyj.rollout(KEPLER, x, 10).sum())(ORBITS).block_until_ready()
    skipped = jax.grad(lambda x: cyj.rollout(KEPLER, x, 10, failed="skip").sum())(ORBITS)
    assert skipped[0].all() and not skipped[1].any()


def test_a_step_that_fails_raises_or_stands_still():
    with pytest.raises(FAILS, match="the step failed: environment 1"):
        cyj.step(KEPLER, ORBITS).block_until_ready()
    x1 = cyj.step(KEPLER, ORBITS, failed="skip")
    np.testing.assert_array_equal(x1[1], ORBITS[1])
    g = jax.grad(lambda x: cyj.step(KEPLER, x, failed="skip").sum())(ORBITS)
    assert g[0].any() and not g[1].any()


BED = """<mujoco model="bed of balls"> <worldbody> <geom type="plane" size="5 5 1"/>
  <body pos="0 0 0.04"> <freejoint/> <replicate count="17" offset="0.11 0 0">
    <replicate count="17" offset="0 0.11 0"> <geom size="0.05"/> </replicate> </replicate> </body>
  </worldbody> </mujoco>"""


def test_a_step_warns_as_that_of_cycloid_does():
    bed = cy.load(BED)  # 289 contacts, for which there is no room
    x = bed.initial_state()
    with pytest.warns(cy.SolverWarning) as wanted:
        cy.step(bed, x)
    step = jax.jit(lambda x: cyj.step(bed, x))
    with pytest.warns(cy.SolverWarning) as got:
        step(x).block_until_ready()
    assert str(got[0].message) == str(wanted[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", cy.SolverWarning)
        with pytest.raises(FAILS, match="SolverWarning: environment 0"):
            step(x).block_until_ready()


def test_an_observation_warns_as_that_of_cycloid_does():
    bed = cy.load(BED)
    x = bed.initial_state()
    with pytest.warns(cy.SolverWarning) as wanted:
        cy.observe(bed, x, names="qacc")
    with pytest.warns(cy.SolverWarning) as got:
        jax.jit(lambda x: cyj.observe(bed, x, names="qacc"))(x).block_until_ready()
    assert str(got[0].message) == str(wanted[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", cy.SolverWarning)
        cyj.observe(bed, x, names="xpos").block_until_ready()  # takes no solve


def test_a_compiled_function_outlives_its_system_with_a_clear_error():
    system = cy.systems.lorenz()
    compiled = jax.jit(lambda x: cyj.rollout(system, x, 5)).lower(np.ones(3)).compile()
    assert compiled(np.ones(3)).shape == (6, 3)
    del system
    jax.clear_caches()
    with pytest.raises(FAILS, match="no longer exists; keep the System"):
        compiled(np.ones(3)).block_until_ready()


def test_other_platforms_are_refused_by_name():
    jax.ffi.register_ffi_target("cycloid_refusal", _core.xla_refusal, platform="cpu")
    call = jax.ffi.ffi_call("cycloid_refusal", jax.ShapeDtypeStruct((), np.float32))
    with pytest.raises(FAILS, match=r"on the CPU and on NVIDIA cards; .* jax.default_device"):
        call().block_until_ready()


# ---- laws in Python ----------------------------------------------------------------------------


def decay(trouble=None):
    def step(x, u, p, t, dt):
        if trouble:
            trouble()
        return x * (1 - p["rate"] * dt)[:, None]

    def pullback(x, u, p, t, dt, bar):
        return bar * (1 - p["rate"] * dt)[:, None], u, {"rate": -(bar * x).sum(axis=1) * dt}

    return cy.own_law(step, pullback, states={"x": 1}, parameters={"rate": 0.5}, name="decay")


def test_a_law_in_python_works_from_the_threads_of_xla():
    system = decay()

    @jax.jit
    def gradient(x0, rate):
        loss = lambda x0, rate: cyj.rollout(system, x0, 20, {"rate": rate})[..., -1, 0].sum()
        return jax.grad(loss, argnums=(0, 1))(x0, rate)

    x0 = np.linspace(1.0, 2.0, 300)[:, None]
    run = cy.rollout(system, x0, 20, {"rate": 0.7}, save="last")
    g = run.pullback(np.ones(run.states.shape))
    results = [gradient(x0 * k, 0.7) for k in (1, 2, 3)]  # none waited for
    np.testing.assert_array_equal(results[0][0], g.x0)
    np.testing.assert_allclose(results[2][1], 3 * g.params["rate"], rtol=1e-14)

    def scanned(x0):
        return jax.lax.scan(lambda x, _: (cyj.step(system, x), None), x0, length=20)[0].sum()

    others = [threading.Thread(target=lambda: jax.grad(scanned)(x0[0])) for _ in range(3)]
    for thread in others:
        thread.start()
    np.testing.assert_allclose(jax.jit(jax.grad(scanned))(x0[0]), 0.995**20, rtol=1e-12)
    for thread in others:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_a_law_in_python_raises_is_in_the_error():
    def trouble():
        raise RuntimeError("the wheel came off")

    with pytest.raises(FAILS, match="RuntimeError: the wheel came off"):
        cyj.rollout(decay(trouble), [1.0], 5).block_until_ready()


# ---- the process -------------------------------------------------------------------------------


ON_THIS_THREAD = "import jax; jax.config.update('jax_cpu_enable_async_dispatch', False)"
IMPORTED_BY_ANOTHER = """
import threading
importing = threading.Thread(target=__import__, args=["cycloid"])
importing.start()
importing.join()
"""


@pytest.mark.parametrize("first", ["", IMPORTED_BY_ANOTHER], ids=["", "imported by another"])
def test_ctrl_c_ends_a_long_call_and_the_process_goes_on(first):
    process = run_script(
        """
        import gc, signal, threading, time
        gc.disable()  # a callback of the collector, which JAX has, would swallow the interrupt
        import jax
        import cycloid.jax as cyj
        system = cy.systems.pendulum()
        run = jax.jit(lambda x: cyj.rollout(system, x, 10**12, save="last"))
        threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
        try:
            run(np.ones(2)).block_until_ready()
            time.sleep(5)
        except KeyboardInterrupt:
            print("stopped")
        print(cyj.step(system, np.ones(2)).shape)
        """,
        before=ON_THIS_THREAD + first,
    )
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert out == "stopped\n(2,)\n", err


LAW = """
def step(x, u, p, t, dt):
    return 0.9 * x
def pullback(x, u, p, t, dt, bar):
    return 0.9 * bar, 0, {}
law = cy.own_law(step, pullback, states={"x": 1})
"""


def test_a_process_ends_with_a_call_in_flight():
    # What is registered first comes last at exit. It waits until the thread is out of JAX, in whose
    # own C++ the interpreter would end it by an abort.
    process = run_script(
        f"""
import jax
import cycloid.jax as cyj
{LAW.replace("return 0.9 * x", "called.set(); return 0.9 * x")}
def call():
    try:
        jax.jit(lambda x: cyj.rollout(law, x, 10**12, save="last"))(np.ones((200, 1)))
    except Exception:
        pass
    left.set()
threading.Thread(target=call, daemon=True).start()
assert called.wait({PATIENCE})
print("end", flush=True)
""",
        before=f"""import atexit, threading
called, left = threading.Event(), threading.Event()
atexit.register(lambda: print(left.wait({PATIENCE // 2}), flush=True))""",
    )
    out, err = process.communicate(timeout=2 * PATIENCE)
    assert (out, process.returncode) == ("end\nTrue\n", 0), err


def test_what_is_compiled_and_kept_at_the_end_of_a_process_is_no_leak():
    process = run_script(
        f"""
import jax
import cycloid.jax as cyj
cy._core.set_leak_warnings(True)
{LAW}
_, pull = jax.vjp(jax.jit(lambda x: cyj.rollout(law, x, 3)), jax.numpy.ones(1))
print(cy._core.kept_runs()["runs"])
"""
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (out, process.returncode, err) == ("1\n", 0, "")


def test_other_devices_of_the_cpu():
    process = run_script(
        """
        import jax
        import cycloid.jax as cyj
        system = cy.systems.pendulum()
        gradient = jax.jit(jax.grad(lambda x: cyj.rollout(system, x, 5)[-1, 0]))
        one, two = jax.devices()
        with jax.default_device(two):
            g = gradient(jax.numpy.array([1.0, 0.2]))
        h = gradient(jax.device_put(np.array([1.0, 0.2]), one))
        print(g.devices() == {two}, h.devices() == {one}, bool((g == np.asarray(h)).all()))

        mesh, rows = jax.make_mesh((2,), ("devices",)), jax.sharding.PartitionSpec("devices")
        x = np.linspace(0.1, 1.0, 16).reshape(8, 2)
        whole = jax.jit(jax.grad(lambda x: cyj.rollout(system, x, 5)[..., -1, 0].sum()))
        halves = jax.shard_map(whole, mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False)
        shared = jax.device_put(x, jax.sharding.NamedSharding(mesh, rows))
        print(*(bool((f(shared) == np.asarray(whole(x))).all()) for f in (halves, whole)))
        """,
        before="import os; os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'",
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert out == "True True True\nTrue True\n", err


def test_without_jax_it_says_what_to_install():
    process = run_script(
        """
        try:
            import cycloid.jax
        except ImportError as error:
            print(error)
        """,
        before="import sys; sys.modules['jax'] = None",
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert out.endswith("needs jax, which is not installed: pip install jax\n"), err
