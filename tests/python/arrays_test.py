"""What may be given, what comes back, and who owns it."""

import fractions

import numpy as np
import pytest

import cycloid as cy

SYSTEM = cy.systems.pendulum(vary=("length",))
X0 = np.array([[1.0, 0.0], [0.5, 2.0], [-1.0, 0.3]])
CONTROLS = np.linspace(-1, 1, 12).reshape(3, 4, 1)
PARAMS = SYSTEM.parameters.pack({"length": [0.5, 1.0, 2.0]})
EXPECTED = cy.rollout(SYSTEM, X0, CONTROLS, PARAMS).states


class Dlpack:
    """A producer that offers nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Subclass(np.ndarray):
    def __array_finalize__(self, source):
        self.unit = "m"


def unaligned(array):
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    copy = buffer[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


def read_only(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


FORMS = {
    "lists": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else a.tolist(),
    "Fortran order": np.asfortranarray,
    "a slice": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "transposed": lambda a: a.T.copy().T,
    "the other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": unaligned,
    "read-only": read_only,
    "long double": lambda a: a.astype(np.longdouble),
    "objects": lambda a: np.array(
        [fractions.Fraction(v) for v in a.ravel().tolist()], object
    ).reshape(a.shape),
    "dlpack": Dlpack,
    "a subclass": lambda a: a.view(Subclass),
    "nothing masked": np.ma.array,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_numbers_gives_the_same_result(form):
    change = FORMS[form]
    run = cy.rollout(SYSTEM, change(X0), change(CONTROLS), change(PARAMS))
    np.testing.assert_array_equal(run.states, EXPECTED)
    bar = np.arange(run.states.size, dtype=float).reshape(run.states.shape)
    np.testing.assert_array_equal(run.pullback(change(bar)).x0, run.pullback(bar).x0)
    np.testing.assert_array_equal(cy.step(SYSTEM, change(X0)), cy.step(SYSTEM, X0))


def test_zero_strides_are_numbers_like_others():
    x0 = np.broadcast_to([1.0, 0.5], (7, 2))
    assert x0.strides[0] == 0
    run = cy.rollout(SYSTEM, x0, np.broadcast_to(0.5, (7, 3, 1)))
    assert (run.states == run.states[:1]).all()
    np.testing.assert_array_equal(run.pullback(np.broadcast_to(1.0, (7, 4, 2))).x0.shape, (7, 2))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool", "float16", "float32", "int64"])
def test_other_numbers_are_converted_to_the_precision_of_the_system(dtype):
    x0 = np.array([[1, 0], [1, 1]], dtype)
    for wide in ("float64", "float32"):
        system = cy.systems.pendulum(dtype=wide)
        run = cy.rollout(system, x0, 3)
        assert run.states.dtype == wide
        np.testing.assert_array_equal(run.states, cy.rollout(system, x0.astype(wide), 3).states)


def test_a_batch_of_any_shape_is_a_batch():
    x0 = np.random.default_rng(0).normal(size=(2, 3, 4, 2))
    run = cy.rollout(SYSTEM, x0, 5)
    assert run.states.shape == (2, 3, 4, 6, 2)
    flat = cy.rollout(SYSTEM, x0.reshape(-1, 2), 5)
    np.testing.assert_array_equal(run.states.reshape(24, 6, 2), flat.states)
    assert cy.rollout(SYSTEM, x0, 5, save="last").states.shape == (2, 3, 4, 1, 2)
    A, B = cy.linearise(SYSTEM, x0, np.zeros((4, 1)))
    assert A.shape == (2, 3, 4, 2, 2) and B.shape == (2, 3, 4, 2, 1)
    assert cy.step(SYSTEM, x0, np.zeros((3, 1, 1))).shape == (2, 3, 4, 2)


def test_controls_of_a_system_without_inputs_may_size_the_batch():
    system = cy.systems.kepler()
    run = cy.rollout(system, [1, 0, 0, 1.1], np.zeros((5, 3, 0)))
    assert run.states.shape == (5, 4, 4)
    g = run.pullback(np.ones(run.states.shape))
    lone = cy.rollout(system, [1, 0, 0, 1.1], 3)
    assert g.x0.shape == (4,) and g.controls.shape == (5, 3, 0)
    expected = 5 * lone.pullback(np.ones(lone.states.shape)).x0
    np.testing.assert_allclose(g.x0, expected, rtol=1e-12)


def test_states_cannot_be_written():
    run = cy.rollout(SYSTEM, X0, 3)
    for array in (run.states, run.steps, run.times):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(ValueError):
        run.states.flags.writeable = True


def test_states_outlive_their_trajectory():
    states = cy.rollout(SYSTEM, X0, CONTROLS, PARAMS).states
    for _ in range(10):
        cy.rollout(SYSTEM, np.zeros((3, 2)), CONTROLS, PARAMS)
    np.testing.assert_array_equal(states, EXPECTED)


def test_a_trajectory_keeps_copies_of_its_inputs():
    x0, controls, length = X0.copy(), CONTROLS.copy(), np.array([0.5, 1.0, 2.0])
    params = {"length": length, "mass": np.array(2.0)}
    run = cy.rollout(SYSTEM, x0, controls, params)
    states, bar = run.states.copy(), np.ones(run.states.shape)
    before = run.pullback(bar)
    x0[:], controls[:], length[:] = 7, 7, 7
    params["mass"][...] = 7
    del params["length"]
    params["gravity"] = 0.0
    after = run.pullback(bar)
    np.testing.assert_array_equal(run.states, states)
    np.testing.assert_array_equal(after.x0, before.x0)
    np.testing.assert_array_equal(after.controls, before.controls)
    assert list(after.params) == ["length", "mass"]
    np.testing.assert_array_equal(after.params["length"], before.params["length"])


@pytest.mark.parametrize("x0, params", [(X0, PARAMS), (X0[0], None), (X0[0], {"length": 2.0})])
def test_a_pullback_may_be_repeated_and_returns_fresh_arrays(x0, params):
    run = cy.rollout(SYSTEM, x0, 4, params, memory=2)
    bar = np.ones(run.states.shape)

    def parts():
        g = run.pullback(bar)
        params = g.params["length"] if isinstance(g.params, dict) else g.params
        return [g.x0, g.x0_tangent, g.controls, params]

    first, kept = parts(), [part.copy() for part in parts()]
    assert all(part.any() for part in kept)
    for part in first:
        part[...] = -1  # they are the user's to change
    for got, expected in zip(parts(), kept):
        np.testing.assert_array_equal(got, expected)
    assert bar.min() == bar.max() == 1


def test_states_bar_broadcasts_to_the_states():
    run = cy.rollout(SYSTEM, X0, 4)
    expected = run.pullback(np.broadcast_to([1.0, 0.0], run.states.shape)).x0
    np.testing.assert_array_equal(run.pullback([1.0, 0.0]).x0, expected)


def test_wrt_chooses_what_is_computed():
    run = cy.rollout(SYSTEM, X0, CONTROLS)
    bar = np.ones(run.states.shape)
    full = run.pullback(bar)
    for name in ("x0", "controls", "params"):
        g = run.pullback(bar, wrt=name)
        for other in ("x0", "controls", "params"):
            part = getattr(g, other)
            if other == name:
                np.testing.assert_array_equal(part, getattr(full, other))
            else:
                assert part is None
    assert repr(run.pullback(bar, wrt=())) == "<Gradient: >"


def test_results_do_not_depend_on_threads():
    x0 = np.random.default_rng(1).normal(size=(200, 2))
    runs = [cy.rollout(SYSTEM, x0, 50, threads=threads) for threads in (1, 2, 5, None)]
    bars = [run.pullback(np.ones(run.states.shape)) for run in runs]
    for run, g in zip(runs[1:], bars[1:]):
        np.testing.assert_array_equal(run.states, runs[0].states)
        np.testing.assert_array_equal(g.x0, bars[0].x0)
        np.testing.assert_array_equal(g.params, bars[0].params)
