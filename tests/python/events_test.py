"""Events, their times and states at given times, through the public names."""

import math

import cycloid as cy
import numpy as np
import pytest

GRAVITY = 9.81


def closed_form(y, v, e, g, T):
    """A bouncing ball in closed form: final [height, velocity], times of impact, and their
    derivatives by (y, v, e, g)."""
    y_by, v_by, t_by = np.array([1.0, 0, 0, 0]), np.array([0.0, 1, 0, 0]), np.zeros(4)
    e_by, g_by = np.array([0.0, 0, 1, 0]), np.array([0.0, 0, 0, 1])
    t, times, times_by = 0.0, [], []
    while True:
        root = math.sqrt(v * v + 2 * g * y)  # the speed of impact
        s = (v + root) / g
        if t + s > T:
            break
        root_by = (v * v_by + g * y_by + y * g_by) / root
        s_by = (v_by + root_by - s * g_by) / g
        t, t_by = t + s, t_by + s_by
        v, v_by = e * root, e * root_by + root * e_by
        y, y_by = 0.0, np.zeros(4)
        times.append(t)
        times_by.append(t_by)
    r = T - t
    y_by = y_by + v_by * r - (v - g * r) * t_by - r * r / 2 * g_by
    v_by = v_by + g * t_by - r * g_by
    return np.array([y + v * r - g * r * r / 2, v - g * r]), times, (y_by, v_by), times_by


def relative(actual, expected):
    return np.max(np.abs(actual - expected)) / max(np.max(np.abs(expected)), 1e-3)


def by_all(g):
    return np.concatenate([g.x0, g.params[:2]])


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "verlet", "implicit_midpoint"])
@pytest.mark.parametrize("e", [1.0, 0.8])
@pytest.mark.parametrize("bounces", [1, 2, 3, 4, 5])
def test_a_bouncing_ball_has_the_derivatives_of_the_closed_form(e, bounces, integrator):
    steps = 100 + ((480 if e == 1 else 300) - 100) * (bounces - 1) // 4
    system = cy.systems.bouncing_ball(restitution=e, integrator=integrator)
    run = cy.rollout(system, [1.1, 0.3], steps, save="last")
    final, times, states_by, times_by = closed_form(1.1, 0.3, e, GRAVITY, steps * 0.01)
    assert len(times) == bounces and run.events.name == ("impact",) * bounces
    assert relative(run.states[0], final) < 1e-9
    assert relative(run.events.time, times) < 1e-9
    for i, expected in enumerate(states_by):
        assert relative(by_all(run.pullback(np.eye(2)[i])), expected) < 1e-9
    for i, expected in enumerate(times_by):
        bar = np.eye(bounces)[i]
        assert relative(by_all(run.pullback(0, event_times_bar=bar)), expected) < 1e-9


def test_one_step_of_the_whole_duration_meets_every_bounce():
    for integrator in ("rk4", "dopri5", "sdirk4"):
        system = cy.systems.bouncing_ball(dt=2.9, integrator=integrator)
        run = cy.rollout(system, [1.1, 0.3], 1, save="last")
        final, times, states_by, _ = closed_form(1.1, 0.3, 0.8, GRAVITY, 2.9)
        assert relative(run.events.time, times) < 1e-9
        assert relative(run.states[0], final) < 1e-9
        assert relative(by_all(run.pullback([1, 0])), states_by[0]) < 1e-8


def test_events_of_a_batch_say_whose_they_are():
    run = cy.rollout(cy.systems.bouncing_ball(), [[[0.5, 0], [1, 0]], [[2, 0], [3, 0]]], 70)
    assert run.events.environment.tolist() == [0, 1, 2]
    assert run.events.time == pytest.approx(np.sqrt(2 * np.array([0.5, 1, 2]) / GRAVITY))
    assert run.events.step.tolist() == [31, 45, 63]
    assert repr(run.events) == "<3 events: 3 impact>"
    assert not run.events.grazing.any()


def test_a_trajectory_shows_its_grazing_events():
    # Let go just before its step angle, the wheel has hardly any speed where it steps.
    wheel = cy.systems.rimless_wheel()
    run = cy.rollout(wheel, [[0.5 - 1e-12, 0], [0.4, 1]], 20)
    grazing = int(run.events.grazing.sum())
    assert 0 < grazing < len(run.events)
    assert f", {len(run.events)} events ({grazing} GRAZING)" in repr(run)
    assert "GRAZING" not in repr(cy.rollout(wheel, [0.4, 1], 20))


def test_every_plan_of_memory_gives_the_same_gradient():
    x0 = np.stack([np.linspace(0.4, 2, 11), np.linspace(-1, 1, 11)], axis=1)
    gradients = []
    for memory in ("all", "sqrt", 5, 1, "64MB"):
        run = cy.rollout(cy.systems.bouncing_ball(), x0, 120, memory=memory)
        g = run.pullback(1.0, event_times_bar=2.0)
        gradients.append((g.x0.tobytes(), g.params.tobytes()))
    assert len(set(gradients)) == 1
    cut = cy.rollout(cy.systems.bouncing_ball(), x0, 120, memory=cy.Truncate(30)).pullback(1.0)
    assert np.isfinite(cut.x0).all()


def test_a_ball_that_comes_to_rest_is_stopped_and_says_why():
    run = cy.rollout(cy.systems.bouncing_ball(), [[1, 0], [5, 0]], 500)
    (failure,) = run.report.failed
    assert failure.environment == 0 and failure.body == "impact" and "Zeno" in failure.reason
    impacts = run.events.time[run.events.environment == 0]
    pile = 9 * math.sqrt(2 / GRAVITY)
    assert len(impacts) > 32 and pile - 0.01 < impacts[-1] < pile
    assert (run.states[0, failure.step + 1 :, 0] == 0).all() and np.isfinite(run.states).all()
    with pytest.raises(cy.GradientError, match="Zeno"):
        run.pullback(1.0)
    g = run.pullback(1.0, failed="skip")
    assert (g.x0[0] == 0).all() and (g.x0[1] != 0).any()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dt", [0.001, 0.003, 0.01, 0.05])
def test_a_ball_never_falls_through_the_floor(dt, dtype):
    x0 = np.array([[1, 0], [0.5, 1], [0.3, -2], [1e-3, 0], [1.3, 0.7]], dtype)
    lands = (x0[:, 1] + np.sqrt(x0[:, 1] ** 2 + 2 * GRAVITY * x0[:, 0])) / GRAVITY
    for steps in (400, 1000):
        for e in np.arange(0.05, 0.91, 0.05):
            system = cy.systems.bouncing_ball(restitution=e, dt=dt, dtype=dtype)
            run = cy.rollout(system, x0, steps)
            assert np.isfinite(run.states).all() and run.states[..., 0].min() >= -1e-6
            known = {*run.events.environment, *(f.environment for f in run.report.failed)}
            assert known == set(np.flatnonzero(lands < steps * dt))


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "verlet", "sdirk4"])
def test_a_ball_without_restitution_has_one_impact_and_rests(integrator):
    system = cy.systems.bouncing_ball(restitution=0, integrator=integrator)
    run = cy.rollout(system, [1, 0], 100)
    assert run.events.time == pytest.approx([math.sqrt(2 / GRAVITY)], rel=1e-9)
    assert (run.states[46:] == 0).all()
    (failure,) = run.report.failed
    assert failure.step == 45 and "rest" in failure.reason and "0.4515" in failure.reason
    lies = cy.rollout(system, [0, 0], 10)
    assert len(lies.events) == 0 and (lies.states == 0).all()
    assert lies.report.failed[0].step == 0


def test_a_slide_ends_with_its_arrival_and_the_time_has_a_gradient():
    run = cy.rollout(cy.systems.bead_on_curve(), [0.0], 150)
    assert run.events.name == ("arrival",)
    assert run.states[-1, 0] == pytest.approx(1, abs=1e-14)
    assert run.events.time[0] == pytest.approx(math.sqrt(10 / GRAVITY), rel=1e-5)
    g = run.pullback(0, event_times_bar=1.0).params
    heights, step = run.system.parameters["heights"], 1e-7
    for i in (1, 7, 20):
        times = []
        for sign in (1, -1):
            moved = heights.copy()
            moved[i] += sign * step
            times.append(cy.rollout(run.system, [0.0], 150, {"heights": moved}).events.time[0])
        assert g[i] == pytest.approx((times[0] - times[1]) / (2 * step), rel=1e-5)
    # T is proportional to 1/√g, but for the error of the integrator.
    assert g[23] == pytest.approx(-run.events.time[0] / (2 * GRAVITY), rel=1e-4)


def test_a_block_on_a_belt_has_the_known_cycle_and_its_derivatives():
    mass, k, V, N, mu_s, mu_k = 1.3, 2.0, 0.25, 1.5, 0.6, 0.35
    system = cy.systems.stick_slip(
        mass=mass, stiffness=k, belt=V, normal_force=N, static_friction=mu_s,
        kinetic_friction=mu_k, dt=0.005,
    )  # fmt: skip
    run = cy.rollout(system, [0.0, V, 0.0], 2000)
    assert run.events.name == ("slip", "stick", "slip")
    w, reach = math.sqrt(k / mass), (mu_s - mu_k) * N / k
    t = run.events.time
    assert t[0] == pytest.approx(mu_s * N / (k * V), rel=1e-12)
    assert t[1] - t[0] == pytest.approx(2 / w * (math.pi - math.atan(w * reach / V)), rel=1e-9)
    assert t[2] - t[1] == pytest.approx(2 * reach / V, rel=1e-9)
    bar = np.zeros(len(run.events))
    bar[[1, 2]] = -1, 1  # of the time it sticks, 2 (mu_s - mu_k) N / (k V)
    g = system.parameters.unpack(run.pullback(0, event_times_bar=bar).params)
    stick = 2 * reach / V
    assert g["static_friction"] == pytest.approx(2 * N / (k * V), rel=1e-8)
    assert g["kinetic_friction"] == pytest.approx(-2 * N / (k * V), rel=1e-8)
    assert g["belt"] == pytest.approx(-stick / V, rel=1e-8)
    assert g["stiffness"] == pytest.approx(-stick / k, rel=1e-8)
    assert abs(g["mass"]) < 1e-7


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "implicit_midpoint"])
def test_an_event_on_the_end_of_a_step_is_found_once(integrator):
    for belt in (0.2, 0.2 * (1 + 1e-15), 0.2 * (1 - 1e-15)):
        block = cy.systems.stick_slip(belt=belt, integrator=integrator)
        run = cy.rollout(block, [0.0, belt, 0.0], 1000)
        assert run.events.name == ("slip", "stick", "slip")
        assert run.events.time[0] == pytest.approx(3.0, rel=1e-12)


def test_a_rimless_wheel_finds_its_limit_cycle_and_forgets_by_cos_squared():
    alpha, gamma = 0.4, 0.1
    c = math.cos(2 * alpha) ** 2
    cycle = math.sqrt(4 * GRAVITY * math.sin(alpha) * math.sin(gamma) * c / (1 - c))
    system = cy.systems.rimless_wheel(half_angle=alpha, slope=gamma)
    run = cy.rollout(system, [gamma - alpha, cycle], 400)
    t = run.events.time
    assert len(t) == 4 and np.ptp(np.diff(t)) < 1e-7
    period = t[1] - t[0]

    # From one step's beginning to the next: the deviation of ω shrinks by cos² 2α.
    def after_a_step(w):
        end = cy.rollout(system, [gamma - alpha, w], 200, times=[1.5 * period])
        return end, end.states[0]

    run, there = after_a_step(cycle)
    assert run.events.time[0] == pytest.approx(period, rel=1e-8)
    # ω at the angle γ - α, just after the step: by energy from the state half a period later.
    energy = there[1] ** 2 / 2 + GRAVITY * (math.cos(there[0]) - math.cos(gamma - alpha))
    assert math.sqrt(2 * energy) == pytest.approx(cycle, rel=1e-7)
    bar = np.array([[-GRAVITY * math.sin(there[0]), there[1]]]) / cycle
    assert run.pullback(bar, wrt="x0").x0[1] == pytest.approx(c, rel=1e-6)


def test_states_at_given_times_are_those_of_the_motion_and_have_its_gradient():
    system = cy.systems.projectile(drag=0.1)
    x0, times = [0, 0, 0, 3, 1, 4], [0.0, 0.0301, 0.05, 0.3337, 0.7, 1.0]
    run = cy.rollout(system, x0, 102, times=times)
    assert run.times.tolist() == times and run.states.shape == (6, 6)
    assert run.steps.tolist() == [0, 3, 4, 33, 69, 99]
    steps = cy.rollout(system, x0, 100)
    for i, k in ((0, 0), (2, 5), (4, 70), (5, 100)):
        assert run.states[i] == pytest.approx(steps.states[k], abs=1e-15)
    fine = cy.rollout(cy.systems.projectile(drag=0.1, dt=0.0001), x0, 3337, save="last")
    assert run.states[3] == pytest.approx(fine.states[0], abs=1e-9)
    bar = np.random.default_rng(3).normal(size=(6, 6))
    g = run.pullback(bar)

    def loss(x0, params):
        return np.sum(bar * cy.rollout(system, x0, 102, params, times=times).states)

    params = system.parameters.default
    for given, gradient in ((np.array(x0, float), g.x0), (params, g.params)):
        for i in range(len(given)):
            moved = [given.copy(), given.copy()]
            step = 1e-5 * (0.1 if given is params and i == len(given) - 1 else 1)
            moved[0][i] += step
            moved[1][i] -= step
            ends = [loss(m, params) if given is not params else loss(x0, m) for m in moved]
            difference = (ends[0] - ends[1]) / (2 * step)
            assert gradient[i] == pytest.approx(difference, rel=1e-6, abs=1e-5)


def test_states_at_given_times_see_the_bounces():
    times = np.array([0.2, 0.45, 0.4601, 1.0, 1.27])
    run = cy.rollout(cy.systems.bouncing_ball(), [1.0, 0.0], 130, times=times)
    assert len(run.events) == 2
    for i, T in enumerate(times):
        final, _, states_by, _ = closed_form(1.0, 0.0, 0.8, GRAVITY, T)
        assert relative(run.states[i], final) < 1e-10
        bar = np.zeros((5, 2))
        bar[i, 0] = 1
        assert relative(by_all(run.pullback(bar)), states_by[0]) < 1e-9
    # After the end of a run its state stays.
    slide = cy.rollout(cy.systems.bead_on_curve(), [0.0], 150, times=[0.5, 1.2, 1.4])
    assert slide.states[1, 0] == slide.states[2, 0] == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    ("integrator", "steps"), [("rk4", 200), ("dopri5", 200), ("dopri5", 1), ("sdirk4", 1)]
)
def test_an_irregularly_sampled_fit_agrees_with_a_regular_one(integrator, steps):
    settings = {"integrator": integrator, "dt": 2 / steps}
    truth = cy.systems.pendulum(length=0.7, damping=0.2, **settings)
    model = cy.systems.pendulum(length=0.9, damping=0.1, **settings)
    irregular = np.sort(np.random.default_rng(5).uniform(0.02, 2, 40))
    regular = np.linspace(0.05, 2, 40)

    def fitted(times):
        recorded = cy.rollout(truth, [0.8, 0.0], steps, times=times).states[:, 0]
        p = np.array([0.9, 0.1])
        for _ in range(8):  # Gauss and Newton, with one row of the Jacobian per pullback
            params = {"length": p[0], "damping": p[1]}
            run = cy.rollout(model, [0.8, 0.0], steps, params, times=times)
            rows = []
            for i in range(len(times)):
                bar = np.zeros((len(times), 2))
                bar[i, 0] = 1
                g = run.pullback(bar, wrt="params").params
                rows.append([float(g["length"]), float(g["damping"])])
            p = p - np.linalg.lstsq(np.array(rows), run.states[:, 0] - recorded, rcond=None)[0]
        return p

    assert fitted(regular) == pytest.approx([0.7, 0.2], rel=1e-8)
    assert fitted(irregular) == pytest.approx([0.7, 0.2], rel=1e-8)


def test_wrong_times_and_cotangents_are_named():
    system = cy.systems.pendulum()
    for times, words in (
        ([0.5, 0.2], "increase"),
        ([2.0], "within the run"),
        ([-0.1], "within the run"),
        ([], "at least one"),
        ([[0.1]], "row"),
        ([math.nan], "within the run"),
    ):
        with pytest.raises(cy.Error, match=words):
            cy.rollout(system, [1, 0], 100, times=times)
    with pytest.raises(cy.Error, match="not both"):
        cy.rollout(system, [1, 0], 100, times=[0.1], save="last")
    vary = cy.systems.pendulum(vary="option.timestep")
    with pytest.raises(cy.Error, match="one time step"):
        cy.rollout(vary, [1, 0], 10, {"option.timestep": [0.01, 0.02]}, times=[0.05])
    run = cy.rollout(cy.systems.bouncing_ball(), [1, 0], 60)
    with pytest.raises(cy.Error, match=r"shape \(1,\), or one for all; got an array of \(2,\)"):
        run.pullback(0, event_times_bar=[1, 2])
    quiet = cy.rollout(cy.systems.bouncing_ball(), [1, 0], 10)
    assert repr(run.events) == "<1 event: 1 impact>" and repr(quiet.events) == "<0 events>"
    assert repr(run) == "<Trajectory of bouncing_ball: 60 steps, 61 saved, 1 event>"
    for bar in (1.0, [1.0], [1.0, 2.0]):
        with pytest.raises(cy.Error, match="no event happened"):
            quiet.pullback(0, event_times_bar=bar)
    assert not quiet.pullback(0, event_times_bar=[]).x0.any()
    with pytest.raises(cy.ModelError, match="3 to 64"):
        cy.systems.bead_on_curve(heights=[1, 0])


STARTS = [
    ("bouncing_ball", [-0.5, 0.0], "height is -0.5 m, below the floor"),
    ("bead_on_curve", [1.5], "progress is 1.5, beyond the end"),
    ("rimless_wheel", [0.7, 1.0], "between slope - half_angle and slope"),
    ("stick_slip", [0.0, 0.21, 0.5], "mode is 0.5"),
    ("stick_slip", [0.0, 1.0, 0.0], "or mode 1"),
    ("stick_slip", [5.0, 0.21, 0.0], "give it mode -1"),
    ("stick_slip", [0.0, 1.0, -1.0], "its mode is 1"),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("law, x0, words", STARTS)
def test_a_start_beyond_a_surface_is_refused(law, x0, words, dtype):
    system = cy.systems.make(law, dtype=dtype)
    good = system.initial_state()
    cy.rollout(system, good, 3)
    with pytest.raises(cy.Error, match="environment 1.*" + words):
        cy.rollout(system, [good, x0], 3)
    for call in (cy.step, cy.linearise):
        with pytest.raises(cy.Error, match="environment 0.*" + words):
            call(system, x0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("law", ["bouncing_ball", "bead_on_curve", "rimless_wheel", "stick_slip"])
def test_a_run_can_be_continued_from_any_of_its_states(law, dtype):
    system = cy.systems.make(law, dtype=dtype)
    x = system.initial_state()
    run = cy.rollout(system, x, 390)
    assert len(run.events) > 0
    moves = np.max(np.abs(np.diff(run.states, axis=0)), axis=1)
    # A start may be put on the surface, from 256 ε beyond, and a step makes little more of it: far
    # less than the law itself moves in any step.
    most = 1000 * np.finfo(dtype).eps
    assert np.min(moves[moves > 0]) > 10 * most
    for state, expected in zip(run.states[:-1], run.states[1:]):
        assert np.max(np.abs(cy.step(system, state) - expected)) < most


def test_parameters_that_make_no_sense_together_are_refused():
    with pytest.raises(cy.ParameterError, match="below π/4"):
        cy.systems.rimless_wheel(half_angle=0.8)
    with pytest.raises(cy.ParameterError, match="0.3, below kinetic_friction, 0.4"):
        cy.systems.stick_slip(static_friction=0.3)
    with pytest.raises(cy.ParameterError, match='"normal_force" must be positive'):
        cy.systems.stick_slip(normal_force=0)
    block = cy.systems.stick_slip()
    with pytest.raises(cy.ParameterError, match="below kinetic_friction"):
        cy.rollout(block, block.initial_state(), 5, {"kinetic_friction": 0.7})
