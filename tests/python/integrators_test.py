"""Implicit and adaptive integrators, and the reversible adjoint."""

import numpy as np
import pytest
from fresh_process import PATIENCE, run_script
from scipy.integrate import solve_ivp

import cycloid as cy

NEW = ("implicit_midpoint", "dopri5", "sdirk4")
LAWS = {
    "pendulum": (cy.systems.pendulum, {"damping": 0.2}, [2.0, -1.0]),
    "double_pendulum": (cy.systems.double_pendulum, {}, [1.5, 1.0, 0.0, 0.3]),
    "spring_chain": (cy.systems.spring_chain, {"n": 3, "damping": 0.1}, [1, 0, -1, 0, 1, 0]),
    "kepler": (cy.systems.kepler, {}, [1.0, 0.0, 0.0, 1.1]),
    "lorenz": (cy.systems.lorenz, {}, [1.0, 1.0, 20.0]),
}

ARM = """<mujoco> <worldbody> <body> <joint axis="0 1 0"/> <geom size="0.1" pos="0 0 -1"/> </body>
    </worldbody> </mujoco>"""


def gradient(system, x0, T, memory="auto", **kwargs):
    run = cy.rollout(system, x0, T, save="last", memory=memory, **kwargs)
    bar = np.random.default_rng(3).standard_normal(run.states.shape)
    return run.pullback(bar)


def apart(a, b):
    return np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-3)


@pytest.mark.parametrize("integrator", NEW)
@pytest.mark.parametrize("law", LAWS)
def test_the_gradient_agrees_with_differences(law, integrator):
    make, parameters, x0 = LAWS[law]
    system = make(**parameters, dt=0.02, integrator=integrator)
    controls = 0.1 * np.sin(np.arange(20.0)[:, None] + np.arange(system.input_size))
    check = cy.check_gradient(system, x0, controls)
    assert check.ok, check


@pytest.mark.parametrize("integrator", ("dopri5", "sdirk4"))
def test_check_gradient_holds_substeps(integrator):
    check = cy.check_gradient(cy.systems.bead_on_curve(dt=0.05, integrator=integrator), [0.0], 10)
    assert check.ok, check


def test_the_report_counts_substeps():
    orbits = [[1, 0, 0, 1], [1, 0, 0, 0.05]]
    system = cy.systems.kepler(dt=2, integrator="dopri5", rtol=1e-6, atol=1e-6)
    each = [cy.rollout(system, x0, 2).report for x0 in orbits]
    both = cy.rollout(system, orbits, 2).report
    assert both.substeps == sum(r.substeps for r in each) > 10
    assert both.rejected_substeps == sum(r.rejected_substeps for r in each) > 0
    assert "substeps=" in repr(both)
    assert cy.rollout(cy.systems.kepler(), orbits, 2).report.substeps == 0


@pytest.mark.parametrize("integrator", ("dopri5", "sdirk4"))
@pytest.mark.parametrize("law", ("pendulum", "kepler", "lorenz"))
def test_a_run_in_one_step_is_the_run_in_many(law, integrator):
    """States agree to the tolerance and gradients to a multiple of it: both converge to those of
    the motion."""
    make, parameters, x0 = LAWS[law]
    fine = make(**parameters, dt=0.0005)
    one = make(**parameters, dt=0.5, integrator=integrator, rtol=1e-10, atol=1e-10)
    assert apart(cy.step(one, x0), cy.rollout(fine, x0, 1000).states[-1]) < 1e-8
    a, b = gradient(one, x0, 1), gradient(fine, x0, 1000)
    assert apart(a.x0, b.x0) < 1e-7
    # The time step's: one step of 0.5 against a thousand that all grow.
    ours, theirs = (s.parameters.unpack(g.params) for s, g in ((one, a), (fine, b)))
    for name in set(ours) - {"option.timestep"}:
        assert apart(ours[name], theirs[name]) < 1e-6, name
    assert apart(ours["option.timestep"], theirs["option.timestep"] / 1000) < 1e-6


def test_dopri5_agrees_with_scipy_on_a_chain():
    n, dt = 4, 7.0
    system = cy.systems.spring_chain(n, stiffness=3, dt=dt, integrator="dopri5", rtol=1e-10)
    x0 = np.r_[1, -0.5, 0, 0.2, np.zeros(n)]
    K = 3 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    exact = solve_ivp(
        lambda t, x: np.r_[x[n:], -K @ x[:n]], (0, dt), x0, method="DOP853", rtol=1e-13, atol=1e-13
    ).y[:, -1]
    assert apart(cy.step(system, x0), exact) < 1e-8


@pytest.mark.parametrize("integrator", NEW)
def test_results_do_not_depend_on_neighbours_or_threads(integrator):
    system = cy.systems.kepler(dt=0.1, integrator=integrator, vary=("mu",))
    rng = np.random.default_rng(0)
    x0 = np.c_[rng.uniform(0.8, 3, (37, 1)), np.zeros((37, 2)), rng.uniform(0.7, 1.3, (37, 1))]
    mu = {"mu": rng.uniform(0.8, 1.2, 37)}
    whole = gradient(system, x0, 10, params=mu, threads=2)
    part = cy.rollout(system, x0[5:9], 10, {"mu": mu["mu"][5:9]}, save="last", threads=1)
    bar = np.random.default_rng(3).standard_normal((37, 1, 4))[5:9]
    g = part.pullback(bar)
    assert np.array_equal(g.x0, whole.x0[5:9])
    assert np.array_equal(g.params["mu"], whole.params["mu"][5:9])
    for memory in ("all", "sqrt", 3):
        other = gradient(system, x0, 10, memory, params=mu)
        assert np.array_equal(other.x0, whole.x0)


def test_implicit_midpoint_keeps_angular_momentum():
    system = cy.systems.kepler(dt=0.05, integrator="implicit_midpoint")
    run = cy.rollout(system, [1, 0, 0, 1.2], 5000)
    x, y, vx, vy = run.states.T
    assert np.max(np.abs(x * vy - y * vx - 1.2)) < 1e-12
    assert np.ptp(x) > 1


def test_float32_computes_to_a_tolerance_of_its_own():
    for integrator in NEW:
        exact = cy.rollout(cy.systems.pendulum(dt=0.01), [1.0, 0.0], 100).states[-1]
        system = cy.systems.pendulum(dt=0.01, integrator=integrator, dtype="float32")
        run = cy.rollout(system, [1.0, 0.0], 100)
        assert not run.report.unsolved and run.states.dtype == np.float32
        assert apart(run.states[-1], exact) < 1e-3


def test_a_step_that_is_not_solved_is_reported_and_has_no_gradient():
    system = cy.systems.kepler(dt=0.5, integrator="implicit_midpoint")
    run = cy.rollout(system, [[1, 0, 0, 1], [1e-3, 0, 1, 0.5]], 1)
    assert [u.environment for u in run.report.unsolved] == [1]
    assert "smaller time step" in run.report.advice
    with pytest.raises(cy.GradientError, match="not solved"):
        run.pullback(np.ones_like(run.states))
    g = run.pullback(np.ones_like(run.states), failed="skip")
    assert np.all(g.x0[1] == 0) and np.all(g.x0[0] != 0)


def test_a_run_that_cannot_be_made_says_why():
    fall = cy.systems.kepler(dt=2.0, integrator="dopri5")
    run = cy.rollout(fall, [[1, 0, 0, 0], [1, 0, 0, 1]], 1)
    (failure,) = run.report.failed
    assert failure.environment == 0 and failure.stage == "dopri5" and "singular" in failure.reason
    assert np.array_equal(run.states[0, 1], [1, 0, 0, 0])


def test_tolerances_are_for_adaptive_integrators_and_positive():
    with pytest.raises(cy.ModelError, match="rtol is for an adaptive integrator"):
        cy.systems.pendulum(rtol=1e-6)
    with pytest.raises(cy.Error, match="atol must be positive"):
        cy.systems.pendulum(integrator="dopri5", atol=0)
    with pytest.raises(cy.ParameterError, match="at least"):
        cy.systems.pendulum(integrator="dopri5", rtol=1e-18)
    with pytest.raises(TypeError):
        cy.systems.pendulum(integrator="dopri5", rtol="small")
    with pytest.raises(cy.ModelError, match="at most 512 states"):
        cy.systems.spring_chain(300, integrator="implicit_midpoint")
    assert set(cy.systems.adaptive_integrators) == {"dopri5", "sdirk4"}


def test_a_tighter_tolerance_is_nearer():
    x0, exact = [1, 0, 0, 1], np.array([np.cos(6), np.sin(6), -np.sin(6), np.cos(6)])
    errors = [
        apart(cy.step(cy.systems.kepler(dt=6, integrator="dopri5", rtol=r, atol=r), x0), exact)
        for r in (1e-4, 1e-7, 1e-10)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2] and errors[2] < 1e-8


def test_a_law_with_events_is_not_run_backwards():
    ball = cy.systems.bouncing_ball(integrator="verlet")
    with pytest.raises(cy.Error, match="law with events cannot be run backwards.*sqrt"):
        cy.rollout(ball, [1.0, 3.0], 5, memory="reversible")


def peak_growth(memory):
    """By how much a run of 10⁶ steps and its pullback raise the peak of the process's memory over
    that of one of 10³ [bytes]."""
    process = run_script(f"""
        import re
        system = cy.systems.kepler(integrator="verlet")
        def peak(T):
            run = cy.rollout(system, [1.0, 0.0, 0.0, 1.1], T, save="last", memory={memory!r})
            run.pullback(1.0)
            with open("/proc/self/status") as status:  # ru_maxrss may be the parent's
                return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1])
        small = peak(1000)
        print(peak(1_000_000) - small)
    """)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return int(out)


def test_the_process_of_a_reversible_adjoint_does_not_grow_with_the_steps():
    # A state has 32 bytes: all of them would be 32 MB. The measure can see that.
    assert peak_growth("reversible") < 1e6
    assert peak_growth("all") > 30e6


@pytest.mark.parametrize("integrator", ("verlet", "implicit_midpoint"))
def test_the_reversible_adjoint_agrees_with_the_stored_one(integrator):
    system = cy.systems.kepler(dt=0.02, integrator=integrator)
    x0 = np.array([[1, 0, 0, 1.1], [0.8, 0, 0, 1.2], [1, 0.3, -0.2, 0.9]])
    stored, back = (gradient(system, x0, 3000, memory) for memory in ("all", "reversible"))
    assert stored.drift == 0 and 0 < back.drift < 1e-9
    assert apart(back.x0, stored.x0) < 100 * back.drift
    assert apart(back.params, stored.params) < 100 * back.drift
    tape = [cy.rollout(system, x0, T, memory="reversible").report.tape_bytes for T in (10, 10000)]
    assert tape[0] == tape[1]


def test_the_reversible_adjoint_is_refused_where_steps_are_not():
    own = cy.own_law(lambda x, u, p, t, dt: 0.9 * x, states={"x": 2})
    for system in (cy.systems.pendulum(), own, cy.load(ARM)):
        with pytest.raises(cy.Error, match='verlet or implicit_midpoint; .* robots .* "sqrt"'):
            cy.rollout(system, [1.0, 0.0], 5, memory="reversible")
    with pytest.raises(cy.Error, match="does not depend on velocity"):
        system = cy.systems.pendulum(damping=1, integrator="verlet")
        cy.rollout(system, [1.0, 3.0], 5, memory="reversible")
