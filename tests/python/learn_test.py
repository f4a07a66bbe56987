"""Learned laws in Python: what they are, how they are trained, kept and refused."""

import json
import signal
import struct
import threading

import numpy as np
import pytest
from conformance import conform

import cycloid as cy

SPRING = np.array([[0.0, 1.0], [-1.0, 0.0]])  # x_dot of H = (q² + p²)/2


def spring_rows(count=200, seed=0):
    x = np.random.default_rng(seed).normal(size=(count, 2))
    return cy.learn.Derivatives(x, x @ SPRING.T)


def pendulum_runs(runs=6, steps=20, dt=0.05, seed=0, **more):
    truth = cy.systems.pendulum(dt=dt, damping=0.1)
    return cy.learn.record(
        truth, lambda rng, n: rng.uniform(-1.5, 1.5, (n, 2)), steps, runs=runs, seed=seed, **more
    )


LAWS = {
    "neural_ode": cy.learn.neural_ode(2, inputs=1, hidden=(6, 5), seed=1),
    "hamiltonian": cy.learn.hamiltonian(1, inputs=1, hidden=(6, 5), dissipation=True, seed=1),
    "lagrangian": cy.learn.lagrangian(1, inputs=1, hidden=(6, 5), angles=(0,), seed=1),
    "deep_lagrangian": cy.learn.deep_lagrangian(
        2, hidden=(6, 5), angles=(0, 1), dissipation=True, integrator="verlet", seed=1
    ),
    "constrained": cy.learn.constrained(
        *([0.7, 1.3], [(2, 0, 0.9), (0, 1, 1.1)], [(0.1, 1.5)], 1, (6, 5)),
        stabilisation=0.8,
        dissipation=True,
        seed=1,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_learned_laws_conform(name):
    law = LAWS[name]
    draw = np.random.default_rng(3)
    x = draw.normal(size=(9, law.state_size))
    conform(law, x, draw.normal(size=(9, 4, law.input_size)), failed="its networks are bounded")


@pytest.mark.parametrize("name", LAWS)
def test_observed_rates_are_those_of_a_small_step_and_have_gradients(name):
    law = LAWS[name]
    x = np.random.default_rng(4).normal(size=(3, law.state_size))
    u = np.random.default_rng(5).normal(size=(3, law.input_size))
    seen = cy.observe(law, x, u, names=["x_dot"])
    small = law.variant(dt=1e-6, integrator="euler")
    assert np.allclose((cy.step(small, x, u) - x) / 1e-6, seen.values, atol=1e-8)
    names = {"neural_ode": ["x_dot"], "constrained": ["x_dot", "energy", "violation"]}
    names = names.get(name, ["x_dot", "energy"])
    bar = np.random.default_rng(6).normal(size=cy.observe(law, x, u, names=names).values.shape)
    g = cy.observe(law, x, u, names=names).pullback(bar)
    d = np.random.default_rng(7).normal(size=law.parameters.size)
    d[0] = 0  # not the time step

    def value(s):
        p = law.parameters.default + s * d
        return (cy.observe(law, x, u, names=names, params=p).values * bar).sum()

    slope = (8 * (value(1e-3) - value(-1e-3)) - (value(2e-3) - value(-2e-3))) / 12e-3
    assert abs(slope - g.params @ d) < 1e-7 * max(1, abs(slope)) and abs(slope) > 1e-3


@pytest.mark.parametrize("kind", ["hamiltonian", "constrained"])
def test_a_learned_law_is_fitted_planned_and_diagnosed_as_every_system(kind):
    if kind == "hamiltonian":
        law = cy.learn.hamiltonian(1, 1, (8, 8), dt=0.1, seed=1, input_matrix="identity")
        x, free, block = [0.4, 0.3], "hamiltonian.bias1", "q"
    else:
        law = cy.learn.constrained([1.0], [(1, 0, 1.0)], [(0.0, 0.0)], 2, (8,), dt=0.1, seed=1)
        x, free, block = [1.0, 0.0, 0.0, 0.5], "masses", "position"
    run = cy.rollout(law, x, 30)
    rep = cy.diagnose(run, np.ones_like(run.states))
    assert rep.growth.shape == (30,) and np.isfinite(rep.growth).all()
    moved = law.parameters.unpack(law.parameters.default)
    first = moved[free].copy()
    moved[free] = first + 0.05
    truth = cy.rollout(law, x, 30, moved)
    fit = cy.identify(law, cy.Recording(truth.times, truth.states), [free], x0="known")
    again = cy.rollout(law, x, 30, fit.params)
    off = lambda other: np.abs(other.states - truth.states).max()
    assert off(again) < 1e-6 < off(run)
    goal = run.states[20, law.state_slices[block]]
    cost = cy.cost.Reach(block, goal, when="end") + cy.cost.Effort(1e-4)
    plan, still = cy.plan(law, x, cost, 10), cy.rollout(law, x, 10)
    assert plan.cost < 0.9 * cost.value(law, still.states, np.zeros_like(plan.controls))
    assert np.allclose(cy.rollout(law, x, plan.controls).states, plan.states)


def test_torch_trains_a_learned_law():
    torch = pytest.importorskip("torch")
    import cycloid.torch as cyt

    law = cy.learn.hamiltonian(1, hidden=(16,), dt=0.1, seed=1)
    start = np.random.default_rng(0).normal(size=(32, 2))
    turn = np.array([[np.cos(0.1), np.sin(0.1)], [-np.sin(0.1), np.cos(0.1)]])
    after = torch.tensor(start @ turn.T)
    p = torch.tensor(law.parameters.default, requires_grad=True)
    held = torch.ones_like(p)
    held[law.parameters.info("option.timestep").offset] = 0
    optimiser, losses = torch.optim.Adam([p], 0.02), []
    for _ in range(100):
        ends = cyt.rollout(law, torch.tensor(start), 1, p, save="last")[:, -1]
        loss = (ends - after).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        p.grad *= held
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.2 * losses[0]


def test_a_hybrid_is_trained_and_its_physics_too():
    data = pendulum_runs(runs=8, steps=40)
    base = cy.systems.pendulum(dt=0.05, length=1.3)
    net = cy.networks.MLP((3, 8, 1), seed=0, output_scale=[1e-2])
    hybrid = cy.add_network(base, net, to="force")
    run = cy.learn.train(
        hybrid, data, steps=300, horizon=5, learning_rate=2e-2, params=["length", "residual"]
    )
    assert run.loss < 1e-2 * run.history["loss"][0]
    assert abs(run.params["length"] - 1.3) > 0.1 and "mass" not in run.params


def test_what_is_made_of_a_trained_law_has_its_numbers():
    base = cy.systems.pendulum(dt=0.05, length=1.3)
    run = cy.learn.train(
        *(base, pendulum_runs()), steps=200, horizon=3, learning_rate=2e-2, params="length"
    )
    assert run.params["length"] == pytest.approx(1.0, abs=0.1)
    hybrid = cy.add_network(run.system, cy.networks.MLP((3, 4, 1)), to="force")
    assert hybrid.parameters["length"] == run.params["length"]


def loss_and_gradient(law, data, params, **options):
    from cycloid import _core
    from cycloid._train import _core_term, core_data, per_state

    given = {
        "horizon": options.get("horizon", 1),
        "scale": per_state(options.get("scale"), law, "scale", True),
        "noise": per_state(options.get("noise"), law, "noise", False),
        "terms": [_core_term(t, law) for t in options.get("terms", ())],
        "shooting": options.get("shooting", 0.0),
        "clip_each": 0.0,
        "seed": 1,
        "threads": 1,
    }
    return _core.training_loss(law._core, *core_data(law, data), given, list(params), True)


def check_loss_gradient(law, data, **options):
    p = law.parameters.default
    _, g = loss_and_gradient(law, data, p, **options)
    d = np.random.default_rng(2).normal(size=p.size)
    d[0] = 0

    def value(s):
        return loss_and_gradient(law, data, p + s * d, **options)[0]

    slope = (8 * (value(1e-3) - value(-1e-3)) - (value(2e-3) - value(-2e-3))) / 12e-3
    assert abs(slope) > 1e-3
    assert abs(g @ d - slope) < 1e-7 * abs(slope)


def test_the_gradient_of_every_loss_is_its_slope():
    law = cy.learn.hamiltonian(1, hidden=(6, 5), dissipation=True, angles=(0,), dt=0.05, seed=2)
    x = np.random.default_rng(0).normal(size=(100, 2))
    rows = cy.learn.Derivatives(x, 0.3 + x @ SPRING.T)
    check_loss_gradient(law, rows, noise=0.1, scale=[2.0, 0.5])
    data = pendulum_runs(runs=3, every=2)
    check_loss_gradient(law, data, horizon=4, scale=[1.0, 3.0], noise=[0.1, 0.0])
    own = cy.learn.Term(lambda x, u: ((x[:, -1] ** 3).sum(), _cubes(x)), weight=0.1)
    terms = (cy.learn.Energy(2.0), cy.learn.Smoothness(5.0), own)
    check_loss_gradient(law, data, horizon=3, terms=terms)


def _cubes(x):
    bar = np.zeros_like(x)
    bar[:, -1] = 3 * x[:, -1] ** 2
    return bar


def test_the_loss_on_derivatives_is_the_mean_square():
    law = cy.learn.neural_ode(2, hidden=(6,), seed=3)
    data = spring_rows(130)
    value, _ = loss_and_gradient(law, data, law.parameters.default)
    rate = cy.observe(law, data.x, names=["x_dot"]).values
    assert value == pytest.approx(((rate - data.x_dot) ** 2).mean(), rel=1e-12)


def test_windows_predict_the_next_samples_and_leave_out_what_was_not_measured():
    law = cy.learn.neural_ode(2, hidden=(6,), dt=0.05, seed=3)
    data = pendulum_runs(runs=1, steps=12, every=2)[0]
    values = data.values.copy()
    values[3, 1] = np.nan  # no window begins there
    rec = cy.Recording(data.times, values)
    value, _ = loss_and_gradient(law, rec, law.parameters.default, horizon=2)
    squares = []
    for i in range(5):
        if np.isnan(values[i]).any():
            continue
        ahead = cy.rollout(law, values[i], 4).states[2::2]
        squares += [r for r in (ahead - values[i + 1 : i + 3]).ravel() ** 2 if np.isfinite(r)]
    assert value == pytest.approx(np.mean(squares), rel=1e-12)


@pytest.mark.parametrize("method", ["adam", "adamw", "lbfgs"])
def test_a_run_that_is_resumed_is_the_same_bit_for_bit(tmp_path, method):
    law = cy.learn.hamiltonian(1, hidden=(8, 8), dt=0.05)
    data = pendulum_runs()
    options = {
        "batch": 16,
        "horizon": 3,
        "grow_from": 1,
        "noise": 0.01,
        "validation": 0.3,
        "schedule": "cosine",
        "weight_decay": 1e-3,
        "clip": 0.5,
        "method": method,
        "seed": 4,
    }
    whole = cy.learn.train(law, data, steps=60, **options)
    stop = cy.learn.train(law, data, steps=60, callback=lambda step, loss: False, **options)
    assert stop.ended and 0 < stop.steps < 60
    stop.save(tmp_path / "half.cyl")
    rest = cy.learn.train(law, data, steps=60, resume=tmp_path / "half.cyl", **options)
    assert rest.steps == 60
    for name, value in whole.params.items():
        assert np.array_equal(value, rest.params[name])
    for key in ("step", "loss", "validation", "rate"):
        assert np.array_equal(whole.history[key], rest.history[key], equal_nan=True)


def test_ctrl_c_ends_a_training_with_what_it_has(tmp_path):
    law = cy.learn.hamiltonian(1, hidden=(16, 16), dt=0.05)
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])

    def when_it_runs(step, loss):
        if not timer.is_alive() and not timer.finished.is_set():
            timer.start()

    run = cy.learn.train(law, spring_rows(), steps=10**9, callback=when_it_runs)
    timer.join()
    assert run.ended and "Ctrl-C" in run.message and run.steps > 0
    run.save(tmp_path / "law.cyl")
    more = cy.learn.train(law, spring_rows(), steps=run.steps + 5, resume=tmp_path / "law.cyl")
    assert more.steps == run.steps + 5 and not more.ended


@pytest.mark.parametrize("members", [2, 5])
def test_ctrl_c_ends_the_trainings_of_an_ensemble(members):
    law = cy.learn.hamiltonian(1, hidden=(16, 16), dt=0.05)
    main = threading.main_thread().ident
    begun = threading.Barrier(2, action=lambda: signal.pthread_kill(main, signal.SIGINT))
    first = threading.local()

    def when_both_run(step, loss):
        if not hasattr(first, "time"):
            first.time = begun.wait(60)

    train = lambda: cy.learn.ensemble(
        law, spring_rows(), members, steps=10**9, threads=2, callback=when_both_run
    )
    if members > 2:  # some have not begun
        with pytest.raises(KeyboardInterrupt):
            train()
    else:
        many = train()
        assert all(run.ended and run.steps > 0 for run in many.runs)


def test_a_member_that_fails_ends_its_ensemble():
    law = cy.learn.hamiltonian(1, hidden=(16, 16), dt=0.05)
    begun = []

    def fail_second(step, loss):
        if not begun:
            begun.append(threading.get_ident())
        if threading.get_ident() != begun[0]:
            raise ValueError("the second")

    with pytest.raises(ValueError, match="the second"):
        cy.learn.ensemble(law, spring_rows(), 2, steps=10**9, threads=2, callback=fail_second)


def test_results_do_not_depend_on_threads():
    law = cy.learn.lagrangian(1, hidden=(8, 8), dt=0.05)
    runs = [
        cy.learn.train(law, pendulum_runs(runs=20), steps=5, horizon=2, threads=t) for t in (1, 3)
    ]
    assert all(np.array_equal(runs[0].params[k], v) for k, v in runs[1].params.items())
    rows = spring_rows(900)
    runs = [cy.learn.train(law, rows, steps=5, threads=t) for t in (1, 3)]
    assert all(np.array_equal(runs[0].params[k], v) for k, v in runs[1].params.items())


def test_a_saved_law_is_the_same_law_and_other_tools_read_it(tmp_path):
    law = cy.learn.hamiltonian(
        1, inputs=1, hidden=(8,), dissipation=True, angles=(0,), integrator="implicit_midpoint"
    )
    run = cy.learn.train(law, spring_rows(), steps=20)
    path = tmp_path / "model.cyl"
    run.save(path)
    again = cy.learn.load(path)
    x, u = [[0.3, 0.2], [0.1, -0.5]], np.ones((2, 10, 1))
    assert np.array_equal(cy.rollout(again, x, u).states, cy.rollout(run.system, x, u).states)
    assert repr(again) == repr(law)
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    entry = header["hamiltonian.weight0"]
    assert entry["dtype"] == "F64" and entry["shape"] == [8, 3]
    begin, end = (8 + length + o for o in entry["data_offsets"])
    weights = np.frombuffer(raw[begin:end]).reshape(8, 3)
    assert np.array_equal(weights, run.params["hamiltonian.weight0"])
    run.plot(tmp_path / "run.html")
    assert "Training of hamiltonian" in (tmp_path / "run.html").read_text()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(cy.Error, match="safetensors"):
        cy.learn.load(path)


def test_lbfgs_and_validation_reach_lower_than_where_they_begin():
    law = cy.learn.hamiltonian(1, hidden=(16, 16))
    run = cy.learn.train(law, spring_rows(), steps=200, method="lbfgs", validation=0.2)
    assert run.history["validation"][-1] < 1e-2 * run.history["validation"][0]
    rows = spring_rows(24)
    noisy = cy.learn.Derivatives(
        rows.x, rows.x_dot + np.random.default_rng(1).normal(size=rows.x.shape)
    )
    stopped = cy.learn.train(
        cy.learn.neural_ode(2, hidden=(64, 64)),
        noisy,
        steps=5000,
        learning_rate=1e-2,
        validation=0.4,
        validate_every=10,
        patience=5,
    )
    assert stopped.ended and stopped.steps < 5000 and "held back" in stopped.message
    best = np.nanmin(stopped.history["validation"])
    pick = np.isin(stopped.history["validation"], best)
    assert pick.sum() == 1


def test_a_loss_that_grows_stops_and_the_best_is_kept():
    law = cy.learn.neural_ode(2, hidden=(16,), dt=0.05)
    data = pendulum_runs()
    run = cy.learn.train(law, data, steps=3000, learning_rate=30.0, horizon=5)
    assert run.ended and "smaller learning rate" in run.message
    best, _ = loss_and_gradient(law, data, run.system.parameters.default, horizon=5)
    assert best <= 1.001 * run.history["loss"][0]


BAD = {
    "activation": (lambda: cy.learn.neural_ode(2, activation="tangh"), "tanh"),
    "rows": (lambda: cy.learn.Derivatives(np.zeros((3, 2)), np.zeros((4, 2))), "shape of x"),
    "NaN": (
        lambda: cy.learn.Derivatives(np.zeros((3, 2)), np.full((3, 2), np.nan)),
        "row 0, column 0",
    ),
    "columns": (
        lambda: cy.learn.train(cy.learn.neural_ode(3), spring_rows()),
        "3 columns",
    ),
    "window": (
        lambda: cy.learn.train(cy.learn.neural_ode(2, dt=0.05), pendulum_runs(), horizon=21),
        "longer than every recording; the longest has 21 samples",
    ),
    "times": (
        lambda: cy.learn.train(cy.learn.neural_ode(2, dt=0.04), pendulum_runs()),
        "multiples of the time step",
    ),
    "not measured": (
        lambda: cy.learn.train(
            cy.systems.pendulum(), cy.Recording([0, 0.01], np.zeros(2), names="angle")
        ),
        "angular_velocity",
    ),
    "no x_dot": (lambda: cy.learn.train(cy.systems.pendulum(), spring_rows()), "x_dot"),
    "name": (
        lambda: cy.learn.train(cy.learn.neural_ode(2), spring_rows(), params=["neural"]),
        "neural",
    ),
    "rate": (
        lambda: cy.learn.train(cy.learn.neural_ode(2), spring_rows(), learning_rate=0.0),
        "learning_rate",
    ),
    "schedule": (
        lambda: cy.learn.train(cy.learn.neural_ode(2), spring_rows(), schedule="cosin"),
        "cosine",
    ),
    "validation": (
        lambda: cy.learn.train(
            cy.learn.neural_ode(2), cy.learn.Derivatives([[1, 2]], [[0, 0]]), validation=0.6
        ),
        "holds back all 1 samples",
    ),
    "integrator": (lambda: cy.learn.neural_ode(2, integrator="verlet"), "second order"),
    "angles": (lambda: cy.learn.hamiltonian(1, angles=(1,)), "angle 1"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_is_named(what):
    call, text = BAD[what]
    with pytest.raises(cy.Error, match=text):
        call()


def test_weights_of_another_size_are_refused(tmp_path):
    run = cy.learn.train(cy.learn.neural_ode(2, hidden=(8,)), spring_rows(), steps=2)
    run.save(tmp_path / "a.cyl")
    with pytest.raises(cy.Error):
        cy.learn.load(tmp_path / "a.cyl", cy.learn.neural_ode(2, hidden=(9,)))
    with pytest.raises(cy.Error):
        cy.learn.train(
            *(cy.learn.neural_ode(2, hidden=(9,)), spring_rows()), resume=tmp_path / "a.cyl"
        )


def test_an_ensemble_knows_where_it_has_been():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(200, 2))
    data = cy.learn.Derivatives(x, x @ SPRING.T)
    law = cy.learn.neural_ode(2, hidden=(16,), dt=0.1)
    many = cy.learn.ensemble(law, data, members=4, steps=200, learning_rate=1e-2)
    run = many.rollout(x[:5], 20)
    assert run.members.shape == (4, 5, 21, 2) and run.mean.shape == run.std.shape == (5, 21, 2)
    assert np.allclose(run.mean, run.members.mean(axis=0))
    assert run.std[:, -1].max() > 0
    inside = many.novelty(rng.uniform(-0.9, 0.9, size=(100, 2)))
    outside = many.novelty(rng.uniform(1.5, 3, size=(100, 2)))
    assert inside.shape == (100,) and inside.max() < outside.min()
    after = np.array([cy.step(many.systems[0], [0.2, 0.1]), [2.0, 2.0]])
    with_next = many.novelty(np.tile([0.2, 0.1], (2, 1)), next=after)
    assert with_next[1] > with_next[0]
    again = cy.learn.ensemble(law, data, members=4, steps=200, learning_rate=1e-2)
    assert np.array_equal(again.rollout(x[:5], 20).members, run.members)


def test_recordings_of_a_system_are_its_runs(tmp_path):
    truth = cy.systems.pendulum(vary=("length",))
    data = cy.learn.record(
        truth,
        lambda rng, n: rng.uniform(-1, 1, (n, 2)),
        20,
        runs=3,
        controls=lambda rng, n: rng.normal(size=(n, 4, 1)),
        params=lambda rng, n: {"length": rng.uniform(0.5, 1.5, n)},
        every=5,
        path=tmp_path / "*.npz",
    )
    again = cy.Recording.load(tmp_path / "run2.npz")
    assert np.array_equal(again.values, data[2].values) and len(again) == 5
    u = np.repeat(data[2].controls[:-1], 5, axis=0)
    rng = np.random.default_rng(0)
    rng.uniform(-1, 1, (3, 2)), rng.normal(size=(3, 4, 1))
    length = rng.uniform(0.5, 1.5, 3)[2]
    run = cy.rollout(truth, data[2].x0, u, {"length": length}, save=5)
    assert np.allclose(run.states, data[2].values, rtol=0, atol=1e-12)
    with pytest.raises(cy.Error, match="multiple of every"):
        cy.learn.record(truth, [[0.1, 0.0]], 21, every=5)
