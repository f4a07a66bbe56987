"""Impacts of learned laws: what they do, what their gradients are, and that they are learned."""

import numpy as np
import pytest

import cycloid as cy

FLOOR = cy.learn.Impact([1.0], level=0.1, restitution=0.8, name="floor")


def bouncer(**options):
    return cy.learn.deep_lagrangian(1, 0, hidden=(8, 8), events=[FLOOR], seed=3, **options)


def test_an_impact_reverses_the_velocity_and_is_reported():
    law = bouncer(dt=0.02)
    run = cy.rollout(law, [0.5, -2.0], 40)
    assert run.events.name[0] == "floor"
    assert law.parameters["floor.restitution"] == 0.8
    assert (run.states[:, 0] > 0.1 - 1e-9).all()
    v = run.states[:, 1]
    hit = int(np.argmax(np.diff(v) > 1))
    assert v[hit] < 0 < v[hit + 1]
    # Within the step before and after, the velocity changes little.
    assert abs(v[hit + 1] / v[hit] + 0.8) < 0.1


@pytest.mark.parametrize("integrator", ["rk4", "verlet", "dopri5"])
@pytest.mark.parametrize("law", ["lagrangian", "deep_lagrangian", "neural_ode"])
def test_gradients_through_impacts_are_those_of_differences(law, integrator):
    if law == "neural_ode" and integrator == "verlet":
        pytest.skip("a neural ODE is of first order")
    make, n = getattr(cy.learn, law), 2 if law == "neural_ode" else 1
    options = {"inputs": 0, "hidden": (8,), "dt": 0.05, "integrator": integrator}
    options["seed"] = 0 if law == "deep_lagrangian" else 1
    x0 = np.array([0.5, -2.0])
    if law == "neural_ode":  # a wall where it is going
        way = np.sign(cy.observe(make(n, **options), x0, names=["x_dot"]).values[0])
        wall = cy.learn.Impact(
            [-way, 0.0], level=-way * x0[0] - 0.03, restitution=0.7, sense=[0.0, 1.0]
        )
    else:
        wall = cy.learn.Impact([1.0], level=0.1, restitution=0.7)
    system = make(n, events=[wall], **options)
    run = cy.rollout(system, x0, 30)
    assert len(run.events.time) > 0
    bar = np.random.default_rng(2).normal(size=run.states.shape)
    found = run.pullback(bar)
    rng = np.random.default_rng(3)
    # Not by guard and sense: turned, an impact may lead behind its own wall.
    fixed = ("guard", "sense", "direction")
    d = [
        rng.normal(size=np.size(system.parameters[name])) * (not name.endswith(fixed))
        for name in system.parameters.names
    ]
    d = np.concatenate(d)

    def value(s):
        p = system.parameters.default + s * d
        return (cy.rollout(system, x0, 30, params=p).states * bar).sum()

    h = 1e-5
    slope = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    assert abs(slope) > 1e-3
    assert abs(found.params @ d - slope) < 1e-6 * abs(slope)


def test_a_bouncing_ball_and_its_restitution_are_learned():
    truth = cy.systems.bouncing_ball(restitution=0.8, dt=0.02)
    data = cy.learn.record(
        truth,
        lambda rng, n: np.stack([rng.uniform(0.3, 1.5, n), rng.uniform(-2, 1, n)], axis=1),
        40,
        runs=20,
    )
    floor = cy.learn.Impact([1.0], restitution=0.5, name="floor")
    law = cy.learn.deep_lagrangian(1, 0, hidden=(16,), events=[floor], dt=0.02)
    names = ["potential", "mass", "floor.restitution"]
    run = cy.learn.train(
        law, data, steps=400, horizon=10, batch=32, learning_rate=2e-2, schedule="cosine",
        params=names,
    )
    assert abs(run.system.parameters["floor.restitution"] - 0.8) < 0.02
    x0 = [1.0, 0.0]
    ahead, true = (cy.rollout(s, x0, 60).states for s in (run.system, truth))
    assert np.abs(ahead - true)[:, 0].max() < 0.1


def test_laws_with_impacts_and_distances_are_saved_and_loaded(tmp_path):
    rods = cy.learn.constrained(
        [1.0, 2.0], [(2, 0, 1.0), (0, 1, 0.5)], [(0.0, 0.3)], hidden=(6,), stabilisation=2.0
    )
    rng = np.random.default_rng(0)
    for law, n in ((bouncer(), 2), (rods, 8)):
        x = rng.normal(size=(30, n)) + 1
        run = cy.learn.train(law, cy.learn.Derivatives(x, 0.1 * x), steps=3)
        run.save(tmp_path / "law.cyl")
        again = cy.learn.load(tmp_path / "law.cyl")
        assert again.parameters.names == law.parameters.names
        for start in x[:3]:
            a, b = (cy.rollout(s, start, 20).states for s in (run.system, again))
            np.testing.assert_array_equal(a, b)


def test_a_pendulum_of_rods_keeps_energy_and_lengths():
    law = cy.learn.constrained(
        [1.0, 2.0], [(2, 0, 1.0), (0, 1, 0.5)], [(0.0, 0.0)], hidden=(16,), dt=0.005
    )
    # Both rods turn: v1 = w1 × r1, v2 = v1 + w2 × r2.
    x0 = [1.0, 0.0, 1.0, -0.5, 0.0, 1.5, -0.4 * -0.5 * 5, 1.5]
    run = cy.rollout(law, x0, 2000)
    seen = cy.observe(law, run.states, names=["energy", "violation"]).values
    # RK4 at dt = 0.005 s drifts by 4e-6 in 10 s.
    assert np.abs(seen[:, 0] - seen[0, 0]).max() < 1e-5 * abs(seen[0, 0])
    assert np.abs(seen[:, 1:]).max() < 1e-5
    assert np.ptp(run.states[:, 0]) > 1


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: cy.learn.hamiltonian(1, events=["floor"]), "Impact"),
        (lambda: cy.learn.hamiltonian(2, events=[FLOOR]), "2 numbers"),
        (lambda: cy.learn.hamiltonian(1, events=[FLOOR, FLOOR]), "name of its own"),
        (lambda: cy.learn.neural_ode(1, events=[FLOOR]), "sense="),
        (
            lambda: cy.learn.hamiltonian(1, events=[cy.learn.Impact([1.0], restitution=1.5)]),
            "restitution",
        ),
        (lambda: cy.learn.hamiltonian(1, events=[cy.learn.Impact([0.0])]), "does not change"),
        (lambda: cy.learn.constrained([], []), "at least one mass"),
        (lambda: cy.learn.constrained([1.0], [(0, 1, 1.0)]), "joins two of the 1 points"),
        (lambda: cy.learn.constrained([1.0], [(0, 1)], [(0, 0)]), "point, point, length"),
        (lambda: cy.learn.constrained([1.0], [(0, 1, 1.0)], [(0, 0, 0)]), "2 coordinates"),
        (lambda: cy.learn.constrained([-1.0], [(0, 1, 1.0)], [(0, 0)]), "masses"),
    ],
)
def test_what_cannot_be_is_named(make, words):
    with pytest.raises(cy.Error, match=words):
        make()
