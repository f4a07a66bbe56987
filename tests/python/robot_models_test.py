"""Robots of packages and of a collection of one's own load, and step as in MuJoCo.

CYCLOID_ROBOTS names the collection, a folder of MJCF files; without it those tests are skipped.
"""

import os
import random

import numpy as np
import pytest
import robot_models as rm

LONG = bool(os.environ.get("CYCLOID_LONG_TESTS"))
OWN = [n for n in rm.all_models() if not n.startswith("robots/")]
SAMPLE = sorted(random.Random(2).sample(OWN, min(8, len(OWN))))
COLLECTION = list(rm.collection())
# One state in twenty may differ: of a cap's corners that span equal areas MuJoCo takes others, and
# a bent polygon of a hull has no plane (docs/contact.md).
SHARE = 0.05


def check(name, path):
    found = rm.row(name, path)
    if found.status != "loads":
        assert found.status.startswith(("MuJoCo refuses it", "refused: ")), found.status
        return found
    if found.found is None:
        return found
    explained = any(name.startswith(names) for names in rm.REASONS.values())
    for kind, errors in found.found.errors.items():
        if len(errors) >= 10 and not explained:
            assert np.quantile(errors, 0.95 - SHARE) <= rm.HELD_TO[kind], (name, kind)
    if found.gradients >= 3:
        assert found.gradient <= rm.GRADIENT, name
    return found


@pytest.mark.parametrize("name", OWN if LONG else SAMPLE)
def test_a_robot_of_a_package_steps_as_in_mujoco(name):
    check(name, rm.all_models()[name])


@pytest.mark.skipif(not COLLECTION, reason="CYCLOID_ROBOTS names no folder with MJCF files")
@pytest.mark.parametrize("name", COLLECTION if LONG else COLLECTION[::12])
def test_a_robot_of_the_collection_steps_as_in_mujoco(name):
    check(f"robots/{name}", rm.collection()[name])


# What a refusal may name: the rest is to load.
REFUSED = (
    "flex", "signed distance", "plugin", "sleep", "plastic", "history", "histories", "discrete",
    "speculative", "nativeccd", "multiccd",
)


@pytest.mark.skipif(not COLLECTION, reason="CYCLOID_ROBOTS names no folder with MJCF files")
def test_what_is_refused_is_what_is_listed_as_not_supported():
    import cycloid as cy

    unexpected = []
    for name in COLLECTION if LONG else COLLECTION[::12]:
        path = rm.collection()[name]
        try:
            cy.load(path, noslip="ignore")
        except FileNotFoundError:
            continue  # the copy is not whole
        except cy.Error as error:
            text = str(error)
            if text.startswith("cannot load"):
                continue  # MuJoCo's own refusal
            if not any(word in text for word in REFUSED):
                unexpected.append(f"{name}: {text}")
    assert not unexpected
