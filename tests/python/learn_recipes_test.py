"""Published results of learned laws, reached again: short forms, and whole ones when asked for."""

import os

import numpy as np
import pytest
from learn_hybrids import CASES, compare
from learn_recipes import RECIPES, real_pendulum, spring, swing, symoden
from real_data import DATA

LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))


def mean(recipe, key, seeds=3, **options):
    return np.mean([recipe(seed, **options)[key] for seed in range(seeds)])


def test_a_small_hamiltonian_network_keeps_the_energy_of_a_spring():
    assert spring(0, hidden=(48, 48), steps=1500)["energy"] < 3.84e-4


@pytest.mark.parametrize("law", ["lagrangian", "deep_lagrangian"])
def test_a_pendulum_swings_for_20_s_within_half_a_percent(law):
    assert swing(0, steps=120, law=law)["energy %"] < 0.5


@pytest.mark.skipif(not (DATA / "schmidt_lipson").exists(), reason="no folder of recordings")
def test_the_measured_pendulum_is_better_than_both_published_columns():
    score = real_pendulum(0, steps=1000)
    assert score["test"] < 2.19e-3 and score["energy"] < 4e-3


def test_a_driven_hamiltonian_learns_from_pairs_of_points():
    assert symoden(0, points=2, steps=300)["long"] < 3.14


@pytest.mark.skipif(not LONG, reason="CYCLOID_LONG_TESTS=1 runs the whole recipes")
@pytest.mark.parametrize(
    "name, key, published",
    [
        ("spring", "energy", 3.84e-4),
        ("pendulum", "energy", 2.49e-2),
        ("two_bodies", "energy", 3.88e-5),
        ("three_bodies", "energy", 4.19e-2),
        ("delan", "torque", 4.33e-4),
    ],
)
def test_whole_recipes_are_reached(name, key, published):
    assert mean(RECIPES[name], key) < published


@pytest.mark.skipif(not LONG, reason="CYCLOID_LONG_TESTS=1 runs the whole recipes")
def test_a_double_pendulum_keeps_its_energy_to_a_hundred_seconds():
    assert mean(RECIPES["double_pendulum"], "energy %") < 0.43


@pytest.mark.skipif(not LONG, reason="CYCLOID_LONG_TESTS=1 runs the whole recipes")
@pytest.mark.parametrize(
    "points, published", [(2, 3.14), (3, 0.502), (4, 0.199), (5, 0.0948), (6, 0.0478)]
)
def test_every_unroll_length_is_reached(points, published):
    assert mean(symoden, "long", points=points) < published


@pytest.mark.skipif(not LONG or not DATA.exists(), reason="long, and needs the recordings")
@pytest.mark.parametrize("name", ["dfki_double_pendulum", "emps", "silverbox"])
def test_a_hybrid_beats_both_of_its_parents(name):
    errors = compare(CASES[name]())
    assert errors["hybrid"] < min(errors["physics"], errors["network"])
