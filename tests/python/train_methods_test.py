"""Ways to train: Gauss-Newton, multiple shooting, terms of physics, schedules, cut windows."""

import numpy as np
import pytest
from learn_test import loss_and_gradient

import cycloid as cy


def runs(noise=0.0, samples=40, count=4, seed=0):
    truth = cy.systems.pendulum(dt=0.05, damping=0.2, length=1.3)
    start = lambda rng, n: rng.uniform(-1.5, 1.5, (n, 2))
    clean = cy.learn.record(truth, start, samples, runs=count, seed=seed)
    rng = np.random.default_rng(seed)
    return [
        cy.Recording(r.times, r.values + noise * rng.normal(size=r.values.shape)) for r in clean
    ]


def spring(rows=120):
    x = np.random.default_rng(0).normal(size=(rows, 2))
    return cy.learn.Derivatives(x, x[:, ::-1] * [1, -1])


@pytest.mark.parametrize("law", ["hamiltonian", "neural_ode"])
def test_gauss_newton_is_far_ahead_in_as_many_steps(law):
    net = getattr(cy.learn, law)(2 if law == "neural_ode" else 1, hidden=(8, 8), dt=0.05, seed=1)
    newton = cy.learn.train(net, spring(), method="gauss_newton", steps=50)
    lbfgs = cy.learn.train(net, spring(), method="lbfgs", steps=50)
    assert newton.loss < 1e-2 * lbfgs.loss
    assert newton.loss < 1e-6


@pytest.mark.parametrize("law", ["lagrangian", "deep_lagrangian"])
def test_the_rows_of_a_law_s_rates_are_their_derivatives(law):
    from cycloid import _core
    from cycloid._train import core_data

    inputs = {"inputs": 1} if law == "deep_lagrangian" else {}
    net = getattr(cy.learn, law)(1, hidden=(4,), dissipation=True, dt=0.05, seed=1, **inputs)
    given = {"horizon": 1, "scale": [2.0, 3.0], "noise": [], "terms": [], "shooting": 0.0}
    given |= {"clip_each": 0.0, "seed": 1, "threads": 1}
    rows, p = core_data(net, spring(7)), net.parameters.default
    loss, g = _core.training_loss(net._core, *rows, given, list(p), True)
    r, J = _core.training_residuals(net._core, *rows, given, list(p))
    assert 0.5 * (r**2).sum() == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(J.reshape((r.size, -1)).T @ r, g, rtol=1e-9, atol=1e-12)
    d = np.random.default_rng(1).normal(size=p.size)
    value = lambda e: _core.training_residuals(net._core, *rows, given, list(p + e * d))[0]
    difference = (value(1e-6) - value(-1e-6)) / 2e-6
    np.testing.assert_allclose(J.reshape((r.size, -1)) @ d, difference, rtol=1e-6, atol=1e-8)


def test_gauss_newton_finds_a_length_and_a_damping_through_runs():
    guess = cy.systems.pendulum(dt=0.05, damping=0.1, length=1.0)
    run = cy.learn.train(
        *(guess, runs()), method="gauss_newton", horizon=4, steps=10, params=["length", "damping"]
    )
    assert run.params["length"] == pytest.approx(1.3, abs=1e-6)
    assert run.params["damping"] / (1.3**2) == pytest.approx(0.2 / 1.3**2, abs=1e-6)
    assert run.loss < 1e-15


@pytest.mark.parametrize("shooting", [0.0, 3.0])
def test_residuals_are_the_loss_and_their_rows_its_gradient(shooting):
    """A step of Gauss-Newton from where the gradient is known: r, J and loss belong together."""
    from cycloid import _core
    from cycloid._train import core_data

    hybrid = cy.add_network(
        cy.systems.pendulum(dt=0.05, damping=0.1), cy.networks.MLP((3, 4, 1), seed=1), to="force"
    )
    data = runs(noise=0.02, samples=13, count=2)
    given = {"horizon": 4, "scale": [2.0, 3.0], "noise": [], "terms": [], "shooting": shooting}
    given |= {"clip_each": 0.0, "seed": 1, "threads": 1}
    rows = core_data(hybrid, data)
    p = np.concatenate([hybrid.parameters.default, _core.own_numbers(hybrid._core, *rows, given)])
    assert (p.size > hybrid.parameters.size) == (shooting > 0)
    p[hybrid.parameters.size :] += 0.01
    loss, g = _core.training_loss(hybrid._core, *rows, given, list(p), True)
    r, J = _core.training_residuals(hybrid._core, *rows, given, list(p))
    J = J.reshape((r.size, p.size))
    assert 0.5 * (r**2).sum() == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(J.T @ r, g, rtol=1e-9, atol=1e-12)
    d = np.random.default_rng(1).normal(size=p.size)
    d[hybrid.parameters.info("option.timestep").offset] = 0
    value = lambda e: _core.training_residuals(hybrid._core, *rows, given, list(p + e * d))[0]
    np.testing.assert_allclose(J @ d, (value(1e-6) - value(-1e-6)) / 2e-6, rtol=1e-6, atol=1e-8)


def test_multiple_shooting_sees_through_noise():
    """Windows that begin at noisy samples bend the law; starts of their own do not."""
    data = runs(noise=0.05, samples=80, count=6)
    guess = cy.systems.pendulum(dt=0.05, damping=0.1, length=1.0)
    options = {"method": "gauss_newton", "steps": 30, "horizon": 10}
    options["params"] = ["length", "damping"]
    by_samples = cy.learn.train(guess, data, **options)
    shot = cy.learn.train(guess, data, shooting=100.0, **options)
    assert shot.starts.shape == (6 * 8, 2)
    miss = lambda run: abs(run.params["length"] - 1.3)
    assert miss(shot) < 0.3 * miss(by_samples)
    clean = runs(samples=80, count=6)
    began = np.concatenate([r.values[:-1:10] for r in clean])
    noisy = np.concatenate([r.values[:-1:10] for r in data])
    assert np.abs(shot.starts - began).mean() < 0.3 * np.abs(noisy - began).mean()


def test_multiple_shooting_by_adam_is_resumed(tmp_path):
    guess = cy.systems.pendulum(dt=0.05, damping=0.1, length=1.0)
    options = {"shooting": 10.0, "horizon": 8, "learning_rate": 1e-2, "params": ["length"]}
    whole = cy.learn.train(guess, runs(), steps=40, **options)
    half = cy.learn.train(guess, runs(), steps=20, **options)
    half.save(tmp_path / "half.cyl")
    rest = cy.learn.train(guess, runs(), steps=40, resume=tmp_path / "half.cyl", **options)
    assert rest.params["length"] == whole.params["length"]
    assert np.array_equal(rest.starts, whole.starts)


def test_gauss_newton_is_resumed_from_every_step(tmp_path):
    """The loss that a step's ratio is measured by is the one that a run from there begins with."""
    guess = cy.add_network(
        cy.systems.pendulum(dt=0.05, damping=0.1), cy.networks.MLP((3, 6, 1)), to="force"
    )
    options = {"method": "gauss_newton", "horizon": 3}
    whole = cy.learn.train(guess, runs(), steps=6, **options)
    for steps in range(1, 6):
        cy.learn.train(guess, runs(), steps=steps, **options).save(tmp_path / "part.cyl")
        rest = cy.learn.train(guess, runs(), steps=6, resume=tmp_path / "part.cyl", **options)
        assert np.array_equal(whole.history["loss"], rest.history["loss"])
        for name, value in whole.params.items():
            assert np.array_equal(value, rest.params[name])


@pytest.mark.parametrize(
    "term",
    [
        cy.learn.Conserved(cy.systems.pendulum(dt=0.05), "energy", 0.5),
        cy.learn.Violation(cy.systems.pendulum(dt=0.05), "angle", 0.5),
        cy.learn.PhysicsResidual(cy.systems.pendulum(dt=0.05), 50.0),
    ],
)
def test_terms_of_physics_have_their_gradients(term):
    law = cy.add_network(
        cy.systems.pendulum(dt=0.05, damping=0.1), cy.networks.MLP((3, 4, 1), seed=1), to="force"
    )
    p, data = law.parameters.default, runs(samples=6, count=2)
    value = lambda p: loss_and_gradient(law, data, p, horizon=3, terms=[term])
    loss, g = value(p)
    plain, _ = loss_and_gradient(law, data, p, horizon=3)
    assert loss > 1.01 * plain
    d = np.random.default_rng(1).normal(size=p.size)
    d[law.parameters.info("option.timestep").offset] = 0
    difference = (value(p + 1e-6 * d)[0] - value(p - 1e-6 * d)[0]) / 2e-6
    assert g @ d == pytest.approx(difference, rel=1e-6)
    assert term.function(np.zeros((1, 2, 2)), np.zeros((1, 1, 1)))[0] == pytest.approx(0)


def pushed(dtype="float64"):
    net = cy.networks.MLP((3, 4, 1), seed=1)
    arm = cy.load(
        """<mujoco><option timestep="0.05"/><worldbody><body name="rod">
        <joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.1"/></body></worldbody>
        <actuator><motor joint="hinge"/></actuator></mujoco>""",
        dtype=dtype,
    )
    return cy.add_network(arm, net, to="force")


@pytest.mark.parametrize("place", ["force", "rate", "next", "robot"])
def test_a_small_residual_has_its_value_and_gradient(place):
    """Value: by steps with and without the network's numbers; gradient: by all numbers."""
    if place == "robot":
        law = pushed()
    else:
        outputs = 1 if place == "force" else 2
        net = cy.networks.MLP((3, 4, outputs), seed=1, output_shift=[0.3] * outputs)
        law = cy.add_network(cy.systems.pendulum(dt=0.05, damping=0.1), net, to=place)
    term, scale, data = cy.learn.SmallResidual(0.7), [0.5, 2.0], runs(samples=6, count=2)
    p = law.parameters.default
    value = lambda p, *terms: loss_and_gradient(law, data, p, horizon=3, scale=scale, terms=terms)
    loss, g = value(p, term)
    plain, _ = value(p)
    without = {
        n: 0 * v if n.startswith("residual.") else v
        for n, v in law.parameters.unpack(p).items()
    }
    starts = np.concatenate([r.values[:-3] for r in data])
    x = cy.rollout(law, starts, 3).states
    off = (x[:, 1:] - cy.step(law, x[:, :-1], params=law.parameters.pack(without))) / scale
    assert loss - plain == pytest.approx(0.7 * (off**2).mean(), rel=1e-9)
    d = np.random.default_rng(1).normal(size=p.size) * np.maximum(np.abs(p), 0.1)
    d[law.parameters.info("option.timestep").offset] = 0
    if place == "robot":  # masses and friction must stay positive
        d *= np.array([n.startswith("residual.") for n in names_of_numbers(law)])
        d[law.parameters.info("body:rod.mass").offset] = 0.1
    at = lambda e: value(p + e * d, term)[0]
    difference = (8 * (at(1e-4) - at(-1e-4)) - (at(2e-4) - at(-2e-4))) / 12e-4
    assert g @ d == pytest.approx(difference, rel=1e-6)
    assert (value(p, term)[1] - value(p)[1]) @ d != 0


def names_of_numbers(system):
    p = system.parameters
    return [n for n in p.names for _ in range(int(np.prod(p.shapes[n])))]


def test_a_small_residual_leaves_to_physics_what_physics_explains():
    """A pendulum 1.3 m long with a friction that the law does not know. The network can be both."""
    truth = cy.systems.pendulum(dt=0.05, damping=0.2, length=1.3)
    start = lambda rng, n: rng.uniform(-1.5, 1.5, (n, 2))
    data = cy.learn.record(truth, start, 40, runs=6)
    net = cy.networks.MLP((3, 16, 1), seed=0, output_scale=[2.0])
    guess = cy.add_network(cy.systems.pendulum(dt=0.05, length=1.0), net, to="force")
    options = {"steps": 400, "horizon": 3, "batch": 64, "learning_rate": 2e-2}
    options |= {"schedule": "cosine", "params": ["length", "residual"]}
    free = cy.learn.train(guess, data, **options)
    held = cy.learn.train(guess, data, terms=[cy.learn.SmallResidual(0.3)], **options)
    off = [abs(float(run.params["length"]) - 1.3) for run in (free, held)]
    assert off[1] < 0.03 and off[1] < 0.5 * off[0]


def test_a_window_with_a_huge_gradient_is_cut():
    data = runs(samples=30, count=3)
    values = np.array(data[0].values)
    values[10] += 1e3  # one sample is nonsense
    guess = cy.systems.pendulum(dt=0.05, damping=0.2, length=1.0)
    options = {"steps": 1, "horizon": 2, "params": ["length"], "learning_rate": 1e-9}
    bad = cy.Recording(data[0].times, values)
    moves = {}
    for clip in (None, 3.0):
        run = cy.learn.train(guess, [bad, *data[1:]], clip_each=clip, **options)
        moves[clip] = run._state.m
    assert np.abs(moves[3.0]).max() < 1e-2 * np.abs(moves[None]).max()


@pytest.mark.parametrize("schedule, last", [("linear", 1 / 50), ("exponential", 100 ** (-0.98))])
def test_schedules_end_where_they_say(schedule, last):
    law = cy.learn.hamiltonian(1, hidden=(8,), dt=0.1)
    run = cy.learn.train(law, spring(), steps=50, schedule=schedule, learning_rate=1e-2)
    assert run.history["rate"][0] == pytest.approx(1e-2)
    assert run.history["rate"][-1] == pytest.approx(1e-2 * last)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"method": "gauss_newton", "terms": [cy.learn.Smoothness(1.0)]}, "sums of squares"),
        ({"shooting": -1.0}, "shooting must be zero or more"),
        ({"clip_each": -1.0}, "clip_each must be zero or more"),
        ({"shooting": 1.0, "grow_from": 1, "horizon": 2}, "one horizon"),
        ({"terms": [cy.learn.PhysicsResidual(cy.systems.pendulum(dt=0.1))]}, "time step"),
        ({"terms": [cy.learn.SmallResidual()]}, "no residual to keep small; add_network"),
    ],
)
def test_what_cannot_be_trained_so_is_refused(options, message):
    with pytest.raises(cy.Error, match=message):
        cy.learn.train(cy.systems.pendulum(dt=0.05), runs(samples=6, count=1), steps=2, **options)


def test_gauss_newton_refuses_large_networks_and_shooting_of_derivatives():
    law = cy.learn.hamiltonian(1, hidden=(64, 64), dt=0.1)
    with pytest.raises(cy.Error, match="3000 numbers at most"):
        cy.learn.train(law, spring(), method="gauss_newton")
    with pytest.raises(cy.Error, match="windows of recordings"):
        cy.learn.train(law, spring(), shooting=1.0)
