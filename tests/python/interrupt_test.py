"""The interpreter lock, Ctrl-C, threads, forks and the end of the process."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
from fresh_process import PATIENCE, run_script

import cycloid as cy

FOREVER = 10**12  # steps
SYSTEM = cy.systems.pendulum()


def own_law(seconds=0.0):
    def step(x, u, p, t, dt):
        if seconds:
            time.sleep(seconds)
        return x

    def pullback(x, u, p, t, dt, bar):
        return bar, None, None

    return cy.own_law(step, pullback, states={"x": 1})


def forever_back(system, x0):
    """A pullback that runs forward again and again from a single checkpoint."""
    run = cy.rollout(system, x0, 10**6, save="last", memory=1)
    return lambda: run.pullback(np.ones(run.states.shape))


def forever_diagnosed(system, x0):
    run = cy.rollout(system, x0, 10**6, save="last", memory=1)
    return lambda: cy.diagnose(run, np.ones(run.states.shape))


def many_steps():
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        cy.step(SYSTEM, np.ones(2))


LONG_CALLS = {
    "a rollout": lambda: lambda: cy.rollout(SYSTEM, [1, 0], FOREVER, save="last"),
    "a rollout of a batch": lambda: lambda: cy.rollout(
        SYSTEM, np.ones((200, 2)), FOREVER, save="last"
    ),
    "a pullback": lambda: forever_back(SYSTEM, [1.0, 0.0]),
    "a pullback of a batch": lambda: forever_back(SYSTEM, np.ones((70, 2))),
    "a diagnosis": lambda: forever_diagnosed(SYSTEM, np.ones((70, 2))),
    "many steps": lambda: many_steps,
    "a gradient check": lambda: lambda: cy.check_gradient(SYSTEM, [1, 0], 3 * 10**6),
    "a law in Python": lambda: lambda: cy.rollout(own_law(), [1.0], FOREVER, save="last"),
    "a law in Python, on threads": lambda: lambda: cy.rollout(
        own_law(1e-3), np.ones((600, 1)), FOREVER, save="last", threads=3
    ),
}


@pytest.fixture
def no_collections():
    """A KeyboardInterrupt inside a callback of the garbage collector is lost, and JAX has one."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("what", LONG_CALLS)
def test_ctrl_c_stops_it_and_the_process_goes_on(what):
    call = LONG_CALLS[what]()
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call()
    assert time.monotonic() - start < PATIENCE
    timer.join()
    run = cy.rollout(SYSTEM, np.ones((100, 2)), 20)
    assert run.pullback(np.ones(run.states.shape)).x0.any()


@pytest.mark.usefixtures("no_collections")
def test_an_interrupted_pullback_may_be_repeated():
    run = cy.rollout(SYSTEM, np.ones((40, 2)), 1000, save="last", memory=1)
    bar = np.ones(run.states.shape)
    timer = threading.Timer(0.01, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        run.pullback(bar)
        timer.join()
        time.sleep(0.01)  # it was quicker: the signal comes here
    except KeyboardInterrupt:
        timer.join()
    expected = cy.rollout(SYSTEM, np.ones((40, 2)), 1000, save="last").pullback(bar)
    np.testing.assert_array_equal(run.pullback(bar).x0, expected.x0)


@pytest.mark.parametrize("call", ["cy.rollout(system, x0, 10**12, save='last')", "back()"])
def test_ctrl_c_from_outside_stops_a_script_where_it_stands(call):
    process = run_script(
        f"""
        import time
        system = cy.systems.pendulum()
        x0 = np.ones((50, 2))
        run = cy.rollout(system, x0, 10**5, save="last", memory=1)
        back = lambda: run.pullback(np.ones((50, 1, 2)))
        print("ready", flush=True)
        try:
            {call}
        except KeyboardInterrupt:
            print("stopped", flush=True)
        run = cy.rollout(system, x0, 30)
        print(run.pullback(np.ones(run.states.shape)).x0.shape)
        """
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "stopped\n(50, 2)\n", "")


def test_other_threads_run_during_a_long_call():
    def during(call):
        """How often another thread came round while `call` ran."""
        count, stop = [0], threading.Event()

        def turn():
            while not stop.is_set():
                count[0] += 1
                time.sleep(1e-4)

        thread = threading.Thread(target=turn)
        thread.start()
        before = count[0]
        call()
        turns = count[0] - before
        stop.set()
        thread.join()
        return turns

    steps = 10**6  # some tenths of a second
    run = cy.rollout(SYSTEM, [1.0, 0.0], steps, save="last")
    assert during(lambda: cy.rollout(SYSTEM, [1.0, 0.0], steps, save="last")) > 20
    assert during(lambda: run.pullback([[1, 0]])) > 20
    assert during(lambda: cy.diagnose(run, [[1, 0]])) > 20
    assert during(lambda: cy.check_gradient(SYSTEM, [1.0, 0.0], 2000)) > 20


def test_several_python_threads_roll_out_at_once():
    x0 = np.random.default_rng(0).normal(size=(8, 50, 2))
    expected = [cy.rollout(SYSTEM, x, 200) for x in x0]
    bar = np.ones(expected[0].states.shape)
    failures = []

    def work(i):
        for _ in range(5):
            run = cy.rollout(SYSTEM, x0[i], 200, threads=2)
            same = np.array_equal(run.states, expected[i].states)
            same &= np.array_equal(run.pullback(bar).x0, expected[i].pullback(bar).x0)
            if not same:
                failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize(
    "work",
    [
        "cy.rollout(system, np.ones((64, 2)), 10**12, save='last')",  # one that must be ended
        "cy.rollout(system, np.ones(2), 10)",  # many that begin and end
        "cy.rollout(own, np.ones((300, 2)), 10**12, save='last', threads=2)",
        "run.pullback(np.ones((1, 2)))",
    ],
)
def test_daemon_threads_at_work_do_not_disturb_the_end_of_the_process(work):
    process = run_script(
        f"""
        import threading, time
        system = cy.systems.pendulum()
        own = cy.own_law(lambda x, u, p, t, dt: x, states={{"x": 2}})
        run = cy.rollout(system, [1.0, 0.0], 10**5, save="last", memory=1)
        def work():
            while True:
                {work}
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
        """
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


def test_the_module_still_works_in_the_functions_that_run_at_exit():
    process = run_script(
        """
        system = cy.systems.pendulum()
        atexit.register(lambda: print(cy.rollout(system, np.ones((99, 2)), 3, threads=2)))
        """,
        before="import atexit; atexit.register(lambda: print(cy.rollout(system, [1, 0], 3)))",
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and err == ""
    assert out == (
        "<Trajectory of pendulum: 3 steps, batch (99,), 4 saved>\n"
        "<Trajectory of pendulum: 3 steps, 4 saved>\n"
    )


def test_a_forked_child_works_and_ends():
    cy.rollout(SYSTEM, np.ones((200, 2)), 50, threads=2)  # the pool has its threads
    child = os.fork()
    if child == 0:
        status = 1
        try:
            run = cy.rollout(SYSTEM, np.ones((200, 2)), 50, threads=2)
            status = 0 if run.pullback(np.ones(run.states.shape)).x0.any() else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
