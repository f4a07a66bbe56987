"""Nothing is left behind: by many calls, by errors, or at the end of the process."""

import gc
import os

import numpy as np
import pytest
from fresh_process import PATIENCE, run_script

import cycloid as cy

# The allocator may keep some for itself. A leak of one object, 56 bytes and more, in every fifth
# call would be seen.
CALLS = 100_000
BYTES_PER_CALL = 10


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def refused(call):
    try:
        call()
    except (cy.Error, TypeError):
        return
    raise AssertionError("not refused")


def test_a_hundred_thousand_calls_leave_nothing_behind():
    systems = [cy.systems.pendulum(vary="length"), cy.systems.pendulum(dtype="float32")]
    x0, u = np.ones((3, 2)), np.zeros((2, 1))
    bar = np.ones((3, 3, 2))
    params = {"length": [0.5, 1.0, 2.0]}
    given = [params, None]

    def round_of_calls():
        for system, p in zip(systems, given):
            cy.step(system, x0[0])
            run = cy.rollout(system, x0, u, p)
            run.pullback(bar)
            refused(lambda: run.pullback(bar[1:]))
            refused(lambda: cy.rollout(system, x0, u, {"lenght": 1}))

    calls_per_round = 10
    for _ in range(500):
        round_of_calls()
    gc.collect()
    before = resident_bytes()
    for _ in range(CALLS // calls_per_round):
        round_of_calls()
    gc.collect()
    assert resident_bytes() - before < BYTES_PER_CALL * CALLS


def test_systems_laws_and_exceptions_leave_nothing_behind():
    def raises(*arguments):
        raise ZeroDivisionError

    def round_of_calls():
        system = cy.own_law(
            lambda x, u, p, t, dt: x + p["a"],
            lambda x, u, p, t, dt, bar: (bar, None, {"a": bar}),
            states={"x": 1},
            parameters={"a": [1.0]},
        )
        run = cy.rollout(system, [[1.0], [2.0]], 2)
        run.pullback(np.ones(run.states.shape))
        cy.linearise(system, [1.0], wrt=("x", "params"))
        cy.diagnose(run, np.ones(run.states.shape))
        cy.systems.lorenz().parameters.pack({"rho": 2.0})
        with pytest.raises(ZeroDivisionError):
            cy.rollout(cy.own_law(raises, states={"x": 1}), [1.0], 2)

    rounds = 1000
    for _ in range(100):
        round_of_calls()
    gc.collect()
    before = resident_bytes()
    for _ in range(rounds):
        round_of_calls()
    gc.collect()
    # A law, its arrays or a traceback that stays takes a kilobyte and more.
    assert resident_bytes() - before < 500 * rounds


def test_the_module_reports_no_leak_at_the_end_of_the_process():
    process = run_script(
        """
        cy._core.set_leak_warnings(True)
        system = cy.systems.pendulum()
        class Model:
            def __init__(self):
                self.system = cy.own_law(self.step, self.pullback, states={"x": 1})
                self.run = cy.rollout(self.system, [1.0], 3)
            def step(self, x, u, p, t, dt):
                return x
            def pullback(self, x, u, p, t, dt, bar):
                return bar, None, None
        model = Model()
        g = model.run.pullback(np.ones((4, 1)))
        run = cy.rollout(system, np.ones((3, 2)), 10)
        states, core = run.states, run._core
        for bad in (lambda: cy.rollout(system, [1], 3), lambda: model.run.pullback(7)):
            try:
                bad()
            except cy.Error as error:
                kept = error
        print("done")
        """
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "done\n", "")


def test_a_leak_would_be_reported():
    process = run_script(
        """
        import ctypes
        cy._core.set_leak_warnings(True)
        system = cy.systems.pendulum()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(system._core))
        """
    )
    assert "leaked" in process.communicate(timeout=PATIENCE)[1]
