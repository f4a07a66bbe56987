"""Models that know what they have not seen: shifts of the world and of where runs begin."""

import os

import numpy as np
import pytest

import cycloid as cy

LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))
CART = """<mujoco><option timestep="0.02" integrator="RK4"/><worldbody><body>
  <joint type="slide" axis="1 0 0" damping="{d}"/>
  <geom type="box" size=".1 .1 .1" mass="1" contype="0" conaffinity="0"/><body>
  <joint type="hinge" axis="0 1 0" damping="0.02"/>
  <geom type="capsule" fromto="0 0 0 0 0 -{L}" size=".03" mass="{M}" contype="0" conaffinity="0"/>
  </body></body></worldbody><actuator><motor joint="joint0" gear="1"/></actuator></mujoco>"""


def cart(L=0.6, M=0.3, d=0.1):
    return cy.load(CART.format(L=L, M=M, d=d).replace('type="slide"', 'name="joint0" type="slide"'))


def pendulum(**own):
    return cy.systems.pendulum(dt=0.05, **({"damping": 0.2} | own))


def double(**own):
    return cy.systems.double_pendulum(dt=0.02, **({"damping": (0.2, 0.2)} | own))


# make, shifts by name, states, inputs, how far runs begin
WORLDS = {
    "pendulum": (
        pendulum,
        {"mass": {"mass": 2.0}, "friction": {"damping": 0.8}, "length": {"length": 1.4}},
        (2, 1, 2.0),
    ),
    "double": (
        double,
        {
            "mass": {"masses": (1.0, 3.0)},
            "friction": {"damping": (1.0, 1.0)},
            "length": {"lengths": (1.0, 1.8)},
        },
        (4, 2, 1.0),
    ),
    "cart": (cart, {"mass": {"M": 0.9}, "friction": {"d": 2.0}, "length": {"L": 1.2}}, (4, 1, 0.8)),
}


def runs(system, shape, seed, wide=1.0, force=0.0, count=40, steps=40):
    n, m, reach = shape
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(count, steps, m))
    run = cy.rollout(system, wide * reach * rng.uniform(-1, 1, (count, n)), u + force)
    return np.array(run.states), u, run.times


def auroc(negatives, positives):
    ranked = np.sort(negatives)
    below = [np.searchsorted(ranked, positives, side) for side in ("left", "right")]
    return np.mean(below) / len(ranked)


def trained(name, steps):
    make, _, shape = WORLDS[name]
    states, u, times = runs(make(), shape, 1, count=60)
    held = np.concatenate([u, u[:, -1:]], axis=1)
    data = [cy.Recording(times, x, c) for x, c in zip(states, held)]
    law = cy.learn.neural_ode(
        shape[0], inputs=shape[1], hidden=(32, 32), dt=make().timestep, seed=0
    )
    options = {"learning_rate": 1e-2, "batch": 256, "schedule": "cosine"}
    return cy.learn.ensemble(law, data, members=3, steps=steps, **options)


@pytest.mark.parametrize("name", WORLDS)
def test_shifts_of_the_world_look_strange(name):
    many = trained(name, 1500 if LONG else 800)
    make, shifts, shape = WORLDS[name]

    def strange(system, seed, **how):
        states, u, _ = runs(system, shape, seed, **how)
        found = many.novelty(states[:, :-1], u, states[:, 1:])
        return found.ravel() if LONG else found.mean(axis=1)  # of single steps, of runs

    home = strange(make(), 2)
    for shift, own in shifts.items():
        assert auroc(home, strange(make(**own), 3)) > 0.9, shift
    assert auroc(home, strange(make(), 4, force=1.5)) > 0.9, "forcing"
    assert auroc(home, strange(make(), 5, wide=3.0)) > 0.9, "wide start"


def test_parts_are_one_on_the_training_data_and_a_shift_needs_the_next_state():
    many = trained("pendulum", 300)
    states, u, _ = runs(pendulum(), WORLDS["pendulum"][2], 1, count=60)
    x, after = states[:, :-1], states[:, 1:]
    parts = many.strangeness(x, u, after)
    assert set(parts) == {"spread", "distance", "neighbour", "residual"}
    for name in ("spread", "distance", "residual"):
        assert abs((parts[name] < 1).mean() - 0.9) < 0.03, name
    long = pendulum(length=1.6)
    shifted = np.array(cy.step(long, x, u))
    assert auroc(many.novelty(x, u, after).ravel(), many.novelty(x, u, shifted).ravel()) > 0.8
    # Inputs that were never seen are strange too.
    assert many.novelty([0.1, 0.1], [30.0]) > 3 * many.novelty([0.1, 0.1], [0.5])
    with pytest.raises(cy.Error, match="next"):
        many.novelty(x, u, after[:, 1:])


def test_an_ensemble_has_a_card():
    many = trained("pendulum", 300)
    x0 = np.random.default_rng(9).uniform(-1.5, 1.5, (10, 2))
    shifts = {"length": pendulum(length=1.6)}
    card = cy.evaluate(many, pendulum(), x0, 40, shifts=shifts, timing=False, draws=20)
    assert card.scores["novelty_auroc"] > 0.8 and card.scores["gap_parameters"] > 0.1
    assert {"coverage_90", "crps", "spread_skill"} <= set(card.scores)
