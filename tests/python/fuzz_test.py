"""Whatever is given, only documented exceptions come out: Error and its kinds, and TypeError.

A crash would end the test run; InternalError is a fault of ours.
"""

import fractions
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cycloid as cy

SYSTEMS = [
    cy.systems.pendulum(vary=("length",)),
    cy.systems.pendulum(dtype="float32"),
    cy.systems.kepler(),
    cy.systems.spring_chain(2),
    cy.own_law(
        lambda x, u, p, t, dt: x + p["a"] * dt,
        lambda x, u, p, t, dt, bar: (bar, 0, {"a": bar * dt}),
        states={"x": 2},
        inputs={"u": 1},
        parameters={"a": [1.0, 2.0]},
    ),
]

# Integers that are small, or so large that they are refused: nothing between that takes an hour.
INTEGERS = st.sampled_from(
    [-(2**63), -2, -1, 0, 1, 2, 3, 5, 10**13, 2**63 - 1, 2**63, 2**64, 10**400]
) | st.sampled_from([-1, 1]).map(lambda sign: sign * 10**5000)
FLOATS = st.floats() | st.sampled_from([1e300, -1e300, 5e-324, 0.5, 1.0])
DTYPES = st.sampled_from(
    ["f8", "f8", "f4", ">f8", "f2", "longdouble", "i1", "i8", "u8", "?", "c16", "U2", "M8[s]", "O"]
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def unaligned(array):
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    copy = buffer[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


LAYOUTS = [
    lambda a: a,
    np.asfortranarray,
    lambda a: a[::-1] if a.ndim else a,
    lambda a: a[..., ::-1] if a.ndim else a,
    lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    lambda a: np.broadcast_to(a, (3, *a.shape)),
    lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim and a.shape[0] else a,
    lambda a: a.T,
    lambda a: unaligned(a) if a.dtype.kind != "O" else a,
    lambda a: a[None],
    lambda a: a.tolist(),
]


@st.composite
def arrays(draw, shapes=SHAPES):
    dtype = draw(DTYPES)
    elements = st.integers(0, 3) | st.none() if dtype == "O" else None
    kind = object if dtype == "O" else np.dtype(dtype)
    array = draw(hnp.arrays(kind, draw(shapes), elements=elements))
    return draw(st.sampled_from(LAYOUTS))(array)


ODD = st.sampled_from(
    [None, True, "", "all", "x0", "\ud800", "ä\0b", b"12", 1j, object(), object, len, ..., slice(3),
     {1, 2}, {"a": 1}, fractions.Fraction(1, 3), range(3), np.float32(2), np.datetime64("nat"),
     memoryview(b"abcd"), [[1], [2, 3]], np.zeros((2, 0)), np.array(None), iter([1.0])]
)
ANYTHING = st.one_of(
    ODD, INTEGERS, FLOATS, st.text(max_size=5), arrays(), st.lists(FLOATS, max_size=3),
    st.dictionaries(st.text(max_size=3), FLOATS, max_size=2),
)


def likely(system, trailing):
    """Arrays whose shape may fit, of numbers that mostly do."""
    lead = st.sampled_from([(), (1,), (2,), (3, 1), (2, 3), (1, 1, 2), (0,)])
    numbers = st.floats(-2, 2) | FLOATS
    fitting = lead.flatmap(lambda l: hnp.arrays(np.float64, (*l, *trailing), elements=numbers))
    laid_out = st.tuples(fitting, st.sampled_from(LAYOUTS)).map(lambda pair: pair[1](pair[0]))
    return laid_out | ANYTHING


def x0s(system):
    return likely(system, (system.state_size,))


def controls(system):
    return st.sampled_from([1, 2, 3]) | likely(system, (2, system.input_size)) | ANYTHING


def params(system):
    names = st.sampled_from(system.parameters.names) | st.text(max_size=4) | INTEGERS
    named = st.dictionaries(names, FLOATS | arrays() | ANYTHING, max_size=3)
    return st.none() | named | likely(system, (system.parameters.size,))


SAVES = st.one_of(
    st.sampled_from(["all", "last", 1, 2, [0, 1], [-1]]), st.lists(INTEGERS, max_size=3), ANYTHING
)
MEMORIES = st.one_of(
    st.sampled_from(["auto", "all", "sqrt", 1, 2, "1MB", "10B", "1e400", "-1", "nan", "64 EB"]),
    ANYTHING,
    ANYTHING.map(cy.Truncate),
)
WRT = st.sampled_from(["x0", "params", ("x0", "controls"), (), ["u"], "x"]) | ANYTHING


def attempt(call):
    """The result of a call, or None when it was refused in a documented way."""
    with np.errstate(all="ignore"):
        try:
            return call()
        except (cy.Error, TypeError):
            return None


def check_run(run, system):
    assert run.states.shape[-1] == system.state_size and run.states.dtype == system.dtype
    assert np.isfinite(run.states).all()
    assert run.states.shape[-2] == run.steps.size == run.times.size
    assert repr(run)


@given(st.data())
def test_rollout_and_pullback(data):
    system = data.draw(st.sampled_from(SYSTEMS))
    good = data.draw(st.booleans())  # at least the arguments that matter here
    x0 = system.initial_state() if good else data.draw(x0s(system))
    options = {
        "save": data.draw(SAVES),
        "memory": data.draw(MEMORIES),
        "threads": data.draw(st.none() | INTEGERS),
        "t0": data.draw(st.just(0.0) | ANYTHING),
    }
    if data.draw(st.booleans()):
        options = {}
    given_controls, given_params = data.draw(controls(system)), data.draw(params(system))
    run = attempt(lambda: cy.rollout(system, x0, given_controls, given_params, **options))
    if run is None:
        return
    check_run(run, system)
    bar = data.draw(likely(system, run.states.shape[-2:]))
    wrt = data.draw(st.just(("x0", "controls", "params")) | WRT)
    failed = data.draw(st.sampled_from(["raise", "skip"]) | ANYTHING)
    g = attempt(lambda: run.pullback(bar, wrt=wrt, failed=failed))
    if g is not None:
        assert repr(g)
        for part in (g.x0, g.controls):
            assert part is None or np.isfinite(part).all()
        if g.x0 is not None:
            assert g.x0.shape == np.shape(x0)
    d = attempt(lambda: cy.diagnose(run, bar))
    if d is not None:
        assert repr(d) and d.growth.shape[:-1] == run.states.shape[:-2]


@given(st.data())
def test_step_and_linearise(data):
    system = data.draw(st.sampled_from(SYSTEMS))
    x = data.draw(x0s(system))
    u = data.draw(st.none() | likely(system, (system.input_size,)))
    p = data.draw(params(system))
    t = data.draw(st.just(0.0) | ANYTHING)
    after = attempt(lambda: cy.step(system, x, u, p, t=t))
    if after is not None:
        assert np.isfinite(after).all() and after.shape[-1] == system.state_size
    wrt = data.draw(st.none() | st.just(("x", "u", "params")) | WRT)
    lin = attempt(lambda: cy.linearise(system, x, u, p, wrt=wrt, t=t))
    assert lin is None or repr(lin)


@given(st.data())
def test_check_gradient(data):
    system = data.draw(st.sampled_from(SYSTEMS))
    x0, u, p = data.draw(x0s(system)), data.draw(controls(system)), data.draw(params(system))
    options = {
        "tolerance": data.draw(st.none() | ANYTHING),
        "numbers_per_block": data.draw(st.just(2) | INTEGERS),
        "seed": data.draw(INTEGERS),
        "t0": data.draw(st.just(0.0) | ANYTHING),
    }
    check = attempt(lambda: cy.check_gradient(system, x0, u, p, **options))
    assert check is None or repr(check)


@given(ANYTHING | st.sampled_from(SYSTEMS), ANYTHING, ANYTHING, ANYTHING)
def test_any_function_of_anything(system, a, b, c):
    for call in (
        lambda: cy.rollout(system, a, b, c),
        lambda: cy.step(system, a, b, c),
        lambda: cy.linearise(system, a, b, c),
        lambda: cy.check_gradient(system, a, b, c),
        lambda: cy.diagnose(system, a),
        lambda: cy.System(a),
    ):
        attempt(call)


@given(st.data())
def test_laws(data):
    law = data.draw(st.sampled_from(cy.systems.names) | ANYTHING)
    names = st.sampled_from(["length", "mass", "wind", "rho", "lengths"]) | st.text(max_size=4)
    values = data.draw(
        st.dictionaries(names, FLOATS | ANYTHING, max_size=2) | st.none() | ANYTHING
    )
    options = {
        "dt": data.draw(st.just(0.01) | FLOATS | ANYTHING),
        "integrator": data.draw(st.sampled_from(cy.systems.integrators) | ANYTHING),
        "dtype": data.draw(st.sampled_from(["float64", np.float32]) | ANYTHING),
        "vary": data.draw(st.just(()) | ANYTHING),
        "n": data.draw(st.just(3) | INTEGERS | ANYTHING),
    }
    system = attempt(lambda: cy.systems.make(law, values, **options))
    if system is not None:
        assert repr(system) and repr(system.parameters)
        run = cy.rollout(system, system.initial_state(), 1)
        assert np.isfinite(run.states).all()


@given(st.data())
def test_parameters(data):
    parameters = data.draw(st.sampled_from(SYSTEMS)).parameters
    name = data.draw(st.sampled_from(parameters.names) | ANYTHING)
    for call in (
        lambda: parameters[name],
        lambda: parameters.info(name),
        lambda: parameters.get(name),
        lambda: name in parameters,
        lambda: parameters.check_differentiable(name),
        lambda: parameters.pack(name),
    ):
        attempt(call)
    named = data.draw(
        st.dictionaries(st.sampled_from(parameters.names), arrays() | ANYTHING, max_size=3)
    )
    packed = attempt(lambda: parameters.pack(named))
    if packed is not None:
        assert packed.shape[-1] == parameters.size
    row = data.draw(likely(None, (parameters.size,)))
    for function in (parameters.unpack, parameters.to_free, parameters.from_free):
        attempt(lambda: function(row))
    attempt(lambda: parameters.from_free_pullback(row, row))


@given(st.data())
def test_own_law_of_anything(data):
    arguments = {
        "states": data.draw(st.just({"x": 2}) | ANYTHING),
        "inputs": data.draw(st.none() | st.just({"u": 1}) | ANYTHING),
        "parameters": data.draw(st.none() | st.just({"a": 1.0}) | ANYTHING),
        "dt": data.draw(st.just(0.01) | FLOATS | ANYTHING),
        "vary": data.draw(st.just(()) | ANYTHING),
        "initial_state": data.draw(st.none() | ANYTHING),
        "differentiate_dt": data.draw(st.booleans() | ANYTHING),
        "name": data.draw(st.just("law") | ANYTHING),
    }
    step = data.draw(st.just(lambda *a: a[0]) | ANYTHING.filter(lambda a: not callable(a)))
    pullback = data.draw(ANYTHING.filter(lambda a: not callable(a)))
    system = attempt(lambda: cy.own_law(step, pullback, **arguments))
    if system is not None:
        assert repr(system) and math.isfinite(system.timestep)
        attempt(lambda: cy.rollout(system, system.initial_state(), 2))


@given(st.data())
def test_whatever_the_functions_of_an_own_law_return(data):
    batch = data.draw(st.sampled_from([(), (3,)]))
    rows = 1 if not batch else 128
    part = st.just(0) | st.just(np.ones((rows, 2))) | ANYTHING
    x_next = data.draw(part)
    p_bar = data.draw(st.just({"a": 0}) | st.dictionaries(st.just("a"), part) | ANYTHING)
    bars = data.draw(st.tuples(part, part, st.just(p_bar)) | ANYTHING)
    system = cy.own_law(
        lambda *a: a[0] if isinstance(x_next, int) and x_next == 0 else x_next,
        lambda *a: bars,
        states={"x": 2},
        inputs={"u": 2},
        parameters={"a": [1.0, 2.0]},
    )
    x0 = np.ones((*batch, 2))
    run = attempt(lambda: cy.rollout(system, x0, 2))
    if run is not None:
        check_run(run, system)
        attempt(lambda: run.pullback(np.ones(run.states.shape)))
        attempt(lambda: cy.linearise(system, x0))
