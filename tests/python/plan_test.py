"""Plans: costs, methods, limits, bad input, and what a plan offers afterwards."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import cycloid as cy

CART_POLE = """
<mujoco model="cart-pole"> <option timestep="0.02" integrator="RK4"/>
  <worldbody>
    <body name="cart"> <joint name="slide" type="slide" axis="1 0 0" damping="0.05"/>
      <geom type="box" size=".2 .1 .1" mass="1"/>
      <body name="pole"> <joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.6" size="0.03" mass="0.1"/>
        <site name="tip" pos="0 0 -0.6"/> </body> </body>
  </worldbody>
  <actuator> <motor joint="slide" ctrlrange="-10 10" ctrllimited="true"/> </actuator>
  <sensor> <framepos name="tip" objtype="site" objname="tip"/> </sensor>
</mujoco>"""

FREE_BODY = """
<mujoco> <option timestep="0.02" gravity="0 0 0"/>
  <worldbody> <body name="craft"> <freejoint/> <geom type="box" size=".3 .2 .1" mass="2"/>
    <site name="hull"/> </body> </worldbody>
  <actuator>
    <general site="hull" gear="1 0 0 0 0 0"/> <general site="hull" gear="0 1 0 0 0 0"/>
    <general site="hull" gear="0 0 1 0 0 0"/> <general site="hull" gear="0 0 0 1 0 0"/>
    <general site="hull" gear="0 0 0 0 1 0"/> <general site="hull" gear="0 0 0 0 0 1"/>
  </actuator>
  <sensor> <framequat name="attitude" objtype="body" objname="craft"/> </sensor>
</mujoco>"""

HANG = np.zeros(2)
UP = np.array([np.pi, 0.0])


def pendulum() -> cy.System:
    return cy.systems.pendulum(damping=0.1, dt=0.02)


def swing_up() -> cy.cost.Cost:
    return cy.cost.Reach("state", UP, weight=100) + cy.cost.Effort(1e-2)


def value_by_hand(plan: cy.Plan) -> float:
    return 100 * np.sum((plan.states[-1] - UP) ** 2) + 1e-2 * np.sum(plan.controls**2)


@pytest.mark.parametrize("method", ["ilqr", "multiple_shooting", "lbfgs", "mppi", "cem"])
def test_a_plan_is_what_a_rollout_of_its_controls_does(method: str) -> None:
    keywords = {"iterations": 30} if method in ("mppi", "cem") else {}
    plan = cy.plan(pendulum(), HANG, swing_up(), 100, method=method, bounds=(-12, 12), **keywords)
    assert plan.controls.shape == (100, 1) and plan.states.shape == (101, 2)
    assert plan.gains.shape == (100, 1, 2)
    run = cy.rollout(pendulum(), HANG, plan.controls)
    assert np.array_equal(run.states, plan.states)
    assert plan.cost == pytest.approx(value_by_hand(plan), rel=1e-12)
    assert np.abs(plan.controls).max() <= 12
    assert len(plan.history) == plan.iterations + 1 and (np.diff(plan.history) <= 0).all()
    assert plan.cost < 0.1 * plan.history[0]
    assert plan.steps > 100 and plan.seconds > 0 and plan.message
    assert method in repr(plan)


def test_swing_up_of_a_cart_pole_and_feedback_around_it() -> None:
    robot = cy.load(CART_POLE)
    cost = cy.cost.Reach("state", [0, np.pi, 0, 0], weight=100) + cy.cost.Effort(1e-2)
    plan = cy.plan(robot, robot.initial_state(), cost, 150)
    assert plan.converged, plan.message
    assert abs(plan.states[-1, 1] - np.pi) < 0.1
    assert np.abs(plan.controls).max() <= 10  # the model's own range
    # The gains bring a start beside it back onto the plan; without them it ends elsewhere.
    start = robot.initial_state() + [0.02, 0.02, 0, 0]
    states, controls = plan.run(start)
    t = 60
    by_hand = plan.controls[t] - plan.gains[t] @ cy.difference(robot, states[t], plan.states[t])
    assert np.allclose(controls[t], np.clip(by_hand, -10, 10), atol=1e-12)
    open_loop = cy.rollout(robot, start, plan.controls).states
    beside = [np.linalg.norm(x[-1] - plan.states[-1]) for x in (states, open_loop)]
    assert beside[0] < 0.3 * beside[1]


def test_reach_takes_observables_blocks_components_and_several_steps() -> None:
    robot = cy.load(CART_POLE)
    x0 = robot.initial_state()
    for name, target, when in (
        ("tip", [0.3, 0, -0.6], "end"),
        ("site_xpos:tip", [0.3, 0, -0.6], [20, -1]),
        ("qpos", [0.3, 0], "all"),
        ("qpos[0]", 0.3, "end"),
        ("tip[0]", 0.3, [-1]),
        ("state[0]", 0.3, 40),
    ):
        cost = cy.cost.Reach(name, target, 50, when) + cy.cost.Effort(1e-3)
        plan = cy.plan(robot, x0, cost, 40, tolerance=1e-10)
        assert plan.converged, (name, plan.message)
        assert abs(plan.states[-1, 0] - 0.3) < (0.05 if when == "end" else 0.2), name
        # The plan's own gradient vanishes where inputs are free.
        _, states_bar, controls_bar = cost.gradient(robot, plan.states, plan.controls)
        g = cy.rollout(robot, x0, plan.controls).pullback(states_bar, wrt="controls").controls
        free = np.abs(plan.controls) < 10
        assert free.any() and np.abs(states_bar).max() > 0.1, name
        assert np.abs((g + controls_bar)[free]).max() < 1e-4, name


def test_orientations_are_reached_on_the_manifold_whatever_the_sign_of_the_target() -> None:
    craft = cy.load(FREE_BODY)
    x0 = craft.initial_state()
    turn = np.array([np.cos(0.6), 0, np.sin(0.6) * 0.6, np.sin(0.6) * 0.8])
    rest = np.zeros(6)
    for target in (turn, -turn, 3 * turn):
        pose = np.concatenate([[0.4, 0, -0.2], target, rest])
        cost = cy.cost.Reach("state", pose, 100) + cy.cost.Effort(1e-2)
        plan = cy.plan(craft, x0, cost, 60)
        assert plan.converged, plan.message
        q = plan.states[-1, 3:7]
        assert abs(abs(q @ turn) - 1) < 1e-4
    seen = cy.plan(craft, x0, cy.cost.Reach("attitude", turn, 100) + cy.cost.Effort(1e-2), 60)
    assert seen.converged and abs(abs(seen.states[-1, 3:7] @ turn) - 1) < 1e-4
    assert plan.gains.shape == (60, 6, 12)


def test_gradient_of_a_cost_equals_differences_with_quaternions_too() -> None:
    craft = cy.load(FREE_BODY)
    rng = np.random.default_rng(3)
    states = rng.normal(size=(4, 13))
    states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1, keepdims=True)
    controls = rng.normal(size=(3, 6))
    cost = (
        cy.cost.Reach("attitude", [1, 0, 0, 0.2], 2.0, "all")
        + cy.cost.Reach("state", states[0], 0.7, [1, 2])
        + cy.cost.Effort(0.3)
        + cy.cost.Smooth([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    )
    value, states_bar, controls_bar = cost.gradient(craft, states, controls)
    assert value == pytest.approx(float(cost.value(craft, states, controls)), rel=1e-13)
    h = 1e-6

    def unit(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x[:, 3:7] /= np.linalg.norm(x[:, 3:7], axis=1, keepdims=True)
        return x

    for _ in range(5):
        d, e = rng.normal(size=states.shape), rng.normal(size=controls.shape)
        up = cost.value(craft, unit(states + h * d), controls + h * e)
        down = cost.value(craft, unit(states - h * d), controls - h * e)
        along = np.sum(states_bar * d) + np.sum(controls_bar * e)
        assert along == pytest.approx((up - down) / (2 * h), rel=1e-7)


def test_a_function_of_ones_own_takes_part_where_its_gradient_is_enough() -> None:
    calls = []

    def far_from_rest(states: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, ...]:
        calls.append(states.shape)
        states_bar = np.zeros_like(states)
        states_bar[..., -1, :] = 200 * (states[..., -1, :] - UP)
        value = 100 * np.sum((states[..., -1, :] - UP) ** 2, axis=-1)
        value = value + 1e-2 * np.sum(controls**2, axis=(-2, -1))
        return value, states_bar, 2e-2 * controls

    own = cy.cost.Function(far_from_rest)
    keywords = {"method": "lbfgs", "bounds": (-12, 12), "tolerance": 1e-10}
    a = cy.plan(pendulum(), HANG, own, 80, **keywords)
    b = cy.plan(pendulum(), HANG, swing_up(), 80, **keywords)
    assert a.cost == pytest.approx(b.cost, rel=1e-5)
    assert calls[0] == (1, 81, 2)
    sampled = cy.plan(pendulum(), HANG, own, 80, method="cem", iterations=3, bounds=(-12, 12))
    assert sampled.cost < sampled.history[0]
    for method in ("ilqr", "multiple_shooting"):
        with pytest.raises(cy.Error, match=r"Function\(far_from_rest\)"):
            cy.plan(pendulum(), HANG, own, 80, method=method)
    value_alone = cy.cost.Function(lambda x, u: x[..., -1, 0] ** 2, gradient=False, name="mine")
    with pytest.raises(cy.Error, match=r"Function\(mine\) has none"):
        cy.plan(pendulum(), HANG, value_alone, 10, method="lbfgs")
    assert cy.plan(pendulum(), [1, 0], value_alone, 10, method="mppi", iterations=2).cost >= 0
    none = cy.cost.Function(lambda x, u: (x[..., -1, 0] ** 2, None, None), name="mine")
    with pytest.raises(cy.Error, match=r"Function\(mine\) gives a value without a gradient"):
        cy.plan(pendulum(), HANG, none, 10, method="lbfgs")
    assert cy.plan(pendulum(), [1, 0], 2 * none, 10, method="cem", iterations=2).cost >= 0


def test_laws_of_ones_own_that_depend_on_time_are_planned() -> None:
    def step(x, u, p, t, dt):
        pull = np.cos(5 * np.asarray(t))
        return np.stack([x[..., 0] + dt * x[..., 1], x[..., 1] + dt * (u[..., 0] + pull)], -1)

    def pullback(x, u, p, t, dt, bar):
        x_bar = np.stack([bar[..., 0], dt * bar[..., 0] + bar[..., 1]], -1)
        return x_bar, dt * bar[..., 1:2], {}

    law = cy.own_law(step, pullback, states={"x": 2}, inputs={"u": 1}, dt=0.05)
    cost = cy.cost.Reach("x", [1.0, 0.0], 100) + cy.cost.Effort(1e-2)
    plans = [cy.plan(law, [0, 0], cost, 30, method=m) for m in ("ilqr", "multiple_shooting")]
    for plan in plans:
        assert plan.converged and plan.iterations <= 3, plan.message  # linear, but for the pull
        assert abs(plan.states[-1, 0] - 1) < 0.05
    assert plans[0].cost == pytest.approx(plans[1].cost, rel=1e-9)


def test_constraints_hold_along_the_path() -> None:
    robot = cy.load(CART_POLE)
    cost = cy.cost.Reach("state", [0, np.pi, 0, 0], weight=100) + cy.cost.Effort(1e-2)
    kept = cost + cy.cost.Keep("qpos[0]", -0.2, 0.2)
    free = cy.plan(robot, robot.initial_state(), cost, 150)
    plan = cy.plan(robot, robot.initial_state(), kept, 150, iterations=500)
    assert np.abs(free.states[:, 0]).max() > 0.25
    assert np.abs(plan.states[:, 0]).max() <= 0.2 + 1e-4
    assert plan.violation <= 1e-4 and abs(plan.states[-1, 1] - np.pi) < 0.15
    with pytest.raises(cy.Error, match="Keep"):
        cy.plan(robot, robot.initial_state(), kept, 150, method="lbfgs")


def test_gradient_modes_of_contact_are_accepted() -> None:
    ball = cy.load(
        """<mujoco> <option timestep="0.01"/> <worldbody> <geom type="plane" size="5 5 1"/>
        <body pos="0 0 0.3"> <joint name="z" type="slide" axis="0 0 1"/>
        <geom size="0.1" mass="1"/> </body> </worldbody>
        <actuator> <motor joint="z" ctrlrange="-30 30" ctrllimited="true"/> </actuator>
        </mujoco>"""
    )
    cost = cy.cost.Reach("qpos", [0.4], 100) + cy.cost.Effort(1e-4)
    for mode in ("exact", cy.FromDistance(0.05), cy.Smoothed(0.05, samples=8)):
        for method in ("ilqr", "lbfgs"):
            plan = cy.plan(
                ball, [0.0, 0.0], cost, 30, gradient=mode, method=method, iterations=30,
                start=np.full((30, 1), 11.0),
            )  # fmt: skip
            assert abs(plan.states[-1, 0] - 0.4) < 0.05, (mode, method)


def test_the_same_seed_gives_the_same_plan_and_threads_do_not_matter() -> None:
    for method in ("ilqr", "cem"):
        keywords = {"method": method, "iterations": 10, "bounds": (-12, 12)}
        a = cy.plan(pendulum(), HANG, swing_up(), 50, seed=3, threads=1, **keywords)
        b = cy.plan(pendulum(), HANG, swing_up(), 50, seed=3, threads=2, **keywords)
        assert np.array_equal(a.controls, b.controls)
    c = cy.plan(pendulum(), HANG, swing_up(), 50, seed=4, method="cem", iterations=10)
    assert not np.array_equal(a.controls, c.controls)


def test_a_plan_goes_on_from_a_plan_and_from_a_file(tmp_path: os.PathLike[str]) -> None:
    few = cy.plan(pendulum(), HANG, swing_up(), 100, bounds=(-12, 12), iterations=3)
    assert not few.converged and few.iterations == 3
    path = os.path.join(tmp_path, "few.plan")
    few.save(path)
    again = cy.Plan.load(path, pendulum(), swing_up())
    for name in ("controls", "states", "gains", "history", "x0"):
        assert np.array_equal(getattr(again, name), getattr(few, name))
    for name in ("cost", "message", "converged", "method", "steps", "iterations"):
        assert getattr(again, name) == getattr(few, name)
    more = cy.plan(pendulum(), HANG, swing_up(), 100, bounds=(-12, 12), start=again)
    assert more.converged and more.history[0] == pytest.approx(few.cost, rel=1e-9)
    whole = cy.plan(pendulum(), HANG, swing_up(), 100, bounds=(-12, 12))
    assert more.cost == pytest.approx(whole.cost, rel=1e-3)
    with open(path, "wb") as file:
        file.write(b"nothing of the kind")
    with pytest.raises(cy.Error, match="is no plan"):
        cy.Plan.load(path, pendulum())
    with pytest.raises(FileNotFoundError):
        cy.Plan.load(path + "x", pendulum())
    few.save(path)
    with pytest.raises(cy.Error, match="2 states"):
        cy.Plan.load(path, cy.systems.double_pendulum())


def test_states_may_be_given_to_multiple_shooting() -> None:
    guess = np.linspace(HANG, UP, 101)
    plan = cy.plan(
        pendulum(), HANG, swing_up(), 100, method="multiple_shooting",
        start=(guess, np.zeros((100, 1))), bounds=(-12, 12),
    )  # fmt: skip
    assert plan.converged and abs(plan.states[-1, 0] - np.pi) < 0.2
    with pytest.raises(cy.Error, match="states must have shape"):
        cy.plan(pendulum(), HANG, swing_up(), 100, start=(guess[1:], np.zeros((100, 1))))


def test_callbacks_see_each_iteration_and_may_stop() -> None:
    seen = []

    def callback(iteration: int, cost: float) -> bool:
        seen.append((iteration, cost))
        return iteration < 4

    plan = cy.plan(pendulum(), HANG, swing_up(), 60, callback=callback)
    assert [i for i, _ in seen] == [0, 1, 2, 3, 4]
    assert np.allclose([c for _, c in seen], plan.history, rtol=1e-9)
    assert not plan.converged and plan.cost == pytest.approx(plan.history[-1], rel=1e-9)

    def fails(iteration: int, cost: float) -> bool:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        cy.plan(pendulum(), HANG, swing_up(), 60, callback=fails)


@pytest.mark.parametrize("method", ["ilqr", "multiple_shooting", "lbfgs", "mppi", "cem"])
def test_ctrl_c_returns_the_best_so_far(method: str) -> None:
    first: list[float] = []

    def callback(iteration: int, cost: float) -> None:
        if iteration == 1:
            first.append(cost)
            os.kill(os.getpid(), signal.SIGINT)

    # Never satisfied, so that the signal is what ends it.
    plan = cy.plan(
        pendulum(), HANG, swing_up(), 2000, method=method, tolerance=0.0, iterations=10**6,
        callback=callback, bounds=(-12, 12), samples=64, time_limit=30,
    )  # fmt: skip
    assert not plan.converged and plan.iterations >= 1
    assert plan.cost <= first[0] * (1 + 1e-6) and plan.states.shape == (2001, 2)
    assert plan.seconds < 25


def test_a_time_limit_ends_it_with_one_iteration_more() -> None:
    plan = cy.plan(pendulum(), HANG, swing_up(), 100, time_limit=0.0)
    assert plan.iterations == 0 and "time limit" in plan.message and not plan.converged
    assert plan.cost == pytest.approx(100 * np.pi**2)


def test_a_target_out_of_reach_is_said_and_the_best_is_kept() -> None:
    plan = cy.plan(pendulum(), HANG, swing_up(), 10, bounds=(-0.1, 0.1))
    assert "out of reach" in plan.message and 'Reach("state")' in plan.message
    assert plan.cost < plan.history[0] and np.abs(plan.controls).max() <= 0.1


BAD = [
    (dict(x0=[0, np.nan]), "x0 must be finite; number 1 is nan"),
    (dict(x0=[0, 0, 0]), r"x0 must have shape \(2,\)"),
    (dict(x0=[[0, 0]]), r"x0 must have shape \(2,\)"),
    (dict(steps=0), "steps must be at least 1"),
    (dict(start=np.full((20, 1), np.nan)), "start must be finite; step 0, number 0"),
    (dict(start=np.zeros((19, 1))), r"start must have shape \(20, 1\)"),
    (dict(start=np.full((20, 1), 6.0), bounds=(-5, 5)), "bounds exclude the start: at step 0"),
    (dict(bounds=(5, -5)), "low must not exceed high"),
    (dict(bounds=([1, 2], 3)), "bounds: low must be a number or one for each of 1 inputs"),
    (dict(bounds=(np.nan, 3)), "bounds: low must not be NaN"),
    (dict(bounds="modal"), 'did you mean "model"'),
    (dict(method="ilqg"), 'did you mean "ilqr"'),
    (dict(time_limit=-1.0), "time_limit must not be negative"),
    (dict(tolerance=-1.0), "tolerances"),
    (dict(hessian="fall"), 'did you mean "full"'),
    (dict(params={"lenght": 1.0}), 'did you mean "length"'),
    (dict(params={"length": -1.0}), "length"),
    (dict(cost=cy.cost.Reach("angel", 0.0)), 'did you mean "angle"'),
    (dict(cost=cy.cost.Reach("stat", [0, 0])), '"state"'),
    (dict(cost=cy.cost.Reach("angle", [0, 0])), r'Reach\("angle"\): target must have 1'),
    (dict(cost=cy.cost.Reach("angle", np.nan)), r'Reach\("angle"\): target must be finite'),
    (dict(cost=cy.cost.Reach("angle", 0.0, [1, 2])), "weight must be one number"),
    (dict(cost=cy.cost.Reach("angle", 0.0, when=[21])), "no step 21 in a plan of 20"),
    (dict(cost=cy.cost.Reach("angle[1]", 0.0)), r'there is no "angle\[1\]"'),
    (dict(cost=cy.cost.Effort([1, 2])), "Effort: weight must be one number"),
    (dict(cost=cy.cost.Keep("angle", 2, 1)), "low must not exceed high"),
]


@pytest.mark.parametrize("change, text", BAD, ids=[text[:30] for _, text in BAD])
def test_bad_input_is_refused_by_name(change: dict, text: str) -> None:
    given = {"x0": HANG, "cost": swing_up(), "steps": 20, **change}
    with pytest.raises(cy.Error, match=text):
        cy.plan(pendulum(), given.pop("x0"), given.pop("cost"), given.pop("steps"), **given)


def test_wrong_kinds_are_type_errors_and_weights_are_checked_at_once() -> None:
    with pytest.raises(TypeError, match="cost must be made of"):
        cy.plan(pendulum(), HANG, lambda x, u: 0, 10)
    with pytest.raises(TypeError, match="expected a cycloid"):
        cy.plan("pendulum", HANG, swing_up(), 10)
    with pytest.raises(cy.Error, match="not negative"):
        cy.cost.Effort(-1.0)
    with pytest.raises(cy.Error, match='did you mean "all"'):
        cy.cost.Reach("angle", 0.0, when="al")
    with pytest.raises(cy.Error, match="no inputs"):
        cy.plan(cy.systems.lorenz(), [1, 1, 1], cy.cost.Reach("state", [0, 0, 0]), 5)
    with pytest.raises(cy.Error, match="no terms"):
        cy.plan(pendulum(), HANG, cy.cost.Cost(()), 5)


def test_a_float32_system_is_planned_in_double() -> None:
    system = cy.systems.pendulum(damping=0.1, dt=0.02, dtype="float32")
    plan = cy.plan(system, HANG, swing_up(), 60)
    same = cy.plan(pendulum(), HANG, swing_up(), 60)
    assert plan.controls.dtype == np.float64 and np.array_equal(plan.controls, same.controls)


def test_mpc_keeps_a_pendulum_upright_against_pushes() -> None:
    system = pendulum()
    cost = cy.cost.Reach("state", UP, 1.0, "all") + cy.cost.Effort(1e-2)
    mpc = cy.MPC(system, cost, 30, bounds=(-8, 8))
    with pytest.raises(cy.Error, match="before the first call"):
        mpc.plan  # noqa: B018
    x = UP - [0.4, 0.0]
    for t in range(120):
        u = mpc(x)
        assert u.shape == (1,) and abs(u[0]) <= 8
        assert np.array_equal(u, mpc.plan.controls[0])
        x = cy.step(system, x, u)
        x[1] += 0.8 * (t == 60)
    assert abs(x[0] - np.pi) < 0.06 and mpc.calls == 120 and "120 calls" in repr(mpc)
    mpc.reset()
    assert mpc.calls == 0
    with pytest.raises(cy.Error, match="finite"):
        mpc([np.nan, 0.0])


def test_mpc_starts_from_the_shifted_plan_and_keeps_its_time() -> None:
    system = pendulum()
    cost = cy.cost.Reach("state", UP, 1.0, "all") + cy.cost.Effort(1e-2)
    mpc = cy.MPC(system, cost, 40, every=4, iterations=50)
    x = UP - [0.3, 0.0]
    mpc(x)
    first = mpc.plan
    for k in range(4):
        x = cy.step(system, x, mpc.feedback(x, k))
    mpc(x)
    # Without disturbances the rest of the plan is the start of the next.
    assert np.allclose(mpc.plan.controls[:20], first.controls[4:24], atol=0.3)
    assert np.abs(first.controls[0] - first.controls[4]).max() > 0.6
    quick = cy.MPC(system, cost, 40, time_limit=0.0)
    assert quick(x).shape == (1,) and quick.plan.iterations == 0
    with pytest.raises(TypeError, match='no keyword "iteration"'):
        cy.MPC(system, cost, 40, iteration=3)
    with pytest.raises(cy.Error, match="every"):
        cy.MPC(system, cost, 40, every=41)


def test_ctrl_c_in_mpc_ends_the_loop_and_keeps_the_best_so_far() -> None:
    mpc = cy.MPC(
        pendulum(), swing_up(), 20_000, first_iterations=10**6, tolerance=0.0, bounds=(-12, 12)
    )

    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            mpc(HANG)
    thread.join()
    assert mpc.plan.controls.shape == (20_000, 1) and np.isfinite(mpc.plan.cost)
    assert np.abs(mpc.plan.controls).max() <= 12


def test_planning_threads_do_not_block_others() -> None:
    counted = []

    def count() -> None:
        while not done.is_set():
            counted.append(1)
            time.sleep(0.001)

    done = threading.Event()
    other = threading.Thread(target=count)
    other.start()
    cy.plan(pendulum(), HANG, swing_up(), 500, iterations=50, bounds=(-3, 3))
    done.set()
    other.join()
    assert len(counted) > 1


def test_a_free_end_time_is_that_of_the_closed_form(tmp_path):
    # From rest to rest over 1 m in a time t: the sum of squared forces of T steps is 12 T / t⁴, so
    # that with w t the best is (48 c T / w)^(1/5).
    mass = cy.systems.spring_chain(1, stiffness=1e-12, dt=0.02)
    cost = cy.cost.Reach("state", [1, 0], weight=1e4) + cy.cost.Effort(1e-3)
    found = cy.plan(mass, [0, 0], cost, 100, free_time=(0.5, 6), time_weight=0.3)
    assert found.end_time == pytest.approx((48 * 1e-3 * 100 / 0.3) ** 0.2, rel=0.01)
    again = cy.rollout(mass, [0, 0], found.controls, found.params)
    assert np.array_equal(again.states, found.states)
    found.save(tmp_path / "free.plan")
    loaded = cy.Plan.load(tmp_path / "free.plan", mass, cost)
    assert loaded.end_time == found.end_time
    with pytest.raises(cy.Error, match="free_time"):
        cy.plan(mass, [0, 0], cost, 100, free_time=(2, 1))
    with pytest.raises(cy.Error, match="free_time"):
        cy.plan(mass, [0, 0], cost, 100, time_weight=1.0)


def test_a_plan_reports_and_draws_itself(tmp_path):
    pendulum = cy.systems.pendulum(damping=0.1, dt=0.02)
    cost = cy.cost.Reach("angle", [1.0], weight=100) + cy.cost.Effort(1e-2)
    plan = cy.plan(pendulum, [0.0, 0.0], cost, 80, bounds=(-9, 9))
    assert "trustworthy" in plan.report() and plan.verdict == cy.verify(plan).verdict
    plan.plot(tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text()
    for part in ("Plan of pendulum", "80 steps, 1.60 s", "trustworthy", "torque", "<svg"):
        assert part in page
