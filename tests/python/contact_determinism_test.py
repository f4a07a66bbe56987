"""In contact, too, results are the same bit for bit: on any number of threads, beside any
neighbours, at any place of any batch of two or more, whatever the gradient keeps.
"""

import mujoco
import numpy as np
import pytest
from contact_extremes import hostile_states, scene

import cycloid as cy

# Enough steps for environments to be put in another order (alike.h); more than two chunks
# of the widest lanes, and the last one is not full.
STEPS, BATCH = 9, 40
NAMES = ("shapes, ellipses", "equalities", "limits", "dm_control/humanoid")


class Scene:
    """Environments with none to hundreds of contacts, at rest and in motion, and one that fails."""

    def __init__(self, name, dtype):
        self.model = scene(name)
        names = cy.from_mujoco(self.model).parameters.names
        self.mass = next(n for n in names if n.startswith("body:") and n.endswith(".mass"))
        self.system = cy.from_mujoco(self.model, dtype=dtype, vary=self.mass)
        states, kinds = hostile_states(self.model, name, 2 * BATCH)
        tame = ["rest", "coincident", "parallel", "deep", "any"]  # none of these fails
        self.x = states[np.isin(kinds, tame)][:BATCH]
        self.fails = self.x[0].copy()
        self.fails[self.model.nq :] = np.finfo(dtype).max / 10
        draw = np.random.default_rng(3)
        self.u = draw.normal(size=(BATCH, STEPS, self.system.input_size))
        self.masses = self.system.parameters[self.mass] * draw.uniform(1, 2, size=BATCH)
        self.bar = draw.normal(size=(BATCH, STEPS + 1, self.system.state_size))

    def results(self, rows, x=None, **options):
        """Of these environments: states, gradients by x0, inputs and the parameter of each."""
        x = self.x[rows] if x is None else x
        masses = {self.mass: self.masses[rows]}
        run = cy.rollout(self.system, x, self.u[rows], masses, **options)
        g = run.pullback(self.bar[rows], failed="skip")
        return run.states, g.x0, g.controls, g.params[self.mass]


@pytest.fixture(scope="module", params=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.fixture(scope="module", params=NAMES)
def case(request, dtype):
    own = Scene(request.param, dtype)
    own.whole = own.results(np.arange(BATCH), threads=1)
    return own


def same(got, expected):
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def test_the_environments_are_in_contact_and_have_gradients(case):
    data, contacts = mujoco.MjData(case.model), []
    for x in case.x:
        data.qpos[:] = x[: case.model.nq]
        mujoco.mj_forward(case.model, data)
        contacts.append(data.nefc)
    assert max(contacts) >= 5 + 2 * min(contacts)  # neighbours differ
    assert all(np.isfinite(part).all() for part in case.whole)
    assert (np.abs(case.whole[1]).max(axis=1) > 0).mean() > 0.9  # one that is not solved has none


@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_threads(case, threads):
    same(case.results(np.arange(BATCH), threads=threads), case.whole)


def test_results_do_not_depend_on_place_and_neighbours(case):
    order = np.random.default_rng(8).permutation(BATCH)
    same(case.results(order), [part[order] for part in case.whole])


@pytest.mark.parametrize("size", [2, 3, 9, 17])
def test_results_do_not_depend_on_the_size_of_the_batch(case, size):
    rows = np.random.default_rng(size).choice(BATCH, size, replace=False)
    same(case.results(rows), [part[rows] for part in case.whole])


def test_a_neighbour_that_fails_is_not_noticed(case):
    rows = np.arange(BATCH)
    x = case.x.copy()
    x[::5] = case.fails
    run = cy.rollout(case.system, x, case.u)
    assert {f.environment for f in run.report.failed} == set(rows[::5])
    rest = rows % 5 > 0
    got = case.results(rows, x)
    same([part[rest] for part in got], [part[rest] for part in case.whole])


def test_results_do_not_depend_on_what_the_gradient_keeps(case):
    same(case.results(np.arange(BATCH), memory=1), case.whole)
