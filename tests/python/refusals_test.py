"""Bad input raises at once, in the documented kinds, and says what was expected."""

import copy
import pickle

import numpy as np
import pytest

import cycloid as cy

SYSTEM = cy.systems.pendulum()
RUN = cy.rollout(SYSTEM, [1.0, 0.0], 4)
BAR = np.ones((5, 2))


def rollout(*arguments, **options):
    return lambda: cy.rollout(SYSTEM, *arguments, **options)


def linearise_a_million():
    system = cy.systems.spring_chain(10**6)
    return cy.linearise(system, system.initial_state())


REFUSALS = [
    # x0
    (rollout([1, 0, 0], 3), cy.Error, r"x0 must have shape \(..., 2\), angle, angular_velocity"),
    (rollout(1.0, 3), cy.Error, r"got \(\)"),
    (rollout(np.zeros((0, 2)), 3), cy.Error, "the batch is empty"),
    (rollout([1, np.nan], 3), cy.Error, r"number 1 of row 0 \(angular_velocity\) is nan"),
    (rollout([np.inf, 0], 3), cy.Error, r"\(angle\) is inf"),
    (rollout([[1, 0], [1]], 3), cy.Error, "x0 must be an array of numbers"),
    (rollout("ab", 3), TypeError, "x0 must be numbers; got <U2"),
    (rollout(None, 3), TypeError, "x0 must be numbers"),
    (rollout([1j, 0], 3), TypeError, "complex"),
    (rollout([10**400, 0], 3), cy.Error, "x0"),
    (rollout(np.ma.array([1.0, 0.0], mask=[0, 1]), 3), cy.Error, "masked"),
    (rollout(["1", "2"], 3), TypeError, "x0 must be numbers"),
    # controls
    (rollout([1, 0], 0), cy.Error, "at least 1; got 0"),
    (rollout([1, 0], -5), cy.Error, "at least 1; got -5"),
    (rollout([1, 0], 10**13), cy.Error, "at most 10"),
    (rollout([1, 0], np.zeros((0, 1))), cy.Error, "at least one step"),
    (rollout([1, 0], np.zeros((3, 0, 1))), cy.Error, "at least one step"),
    (rollout([1, 0], np.zeros((3, 2))), cy.Error, r"\(..., T, 1\), or be a number of steps T"),
    (rollout([1, 0], 3.0), cy.Error, "number of steps"),
    (rollout([1, 0], True), cy.Error, "number of steps"),
    (rollout([1, 0], [[0.0], [np.inf]]), cy.Error, "controls must be finite"),
    (rollout([1, 0], None), TypeError, "controls must be numbers"),
    (rollout(np.zeros((3, 2)), np.zeros((2, 4, 1))), cy.Error, "do not broadcast: x0 .3,., con"),
    # params
    (rollout([1, 0], 3, [1, 2]), cy.Error, r"params must have shape \(..., 5\)"),
    (rollout([1, 0], 3, "length"), TypeError, "params must be numbers"),
    (rollout([1, 0], 3, {"length": [[1], [2, 3]]}), cy.Error, "parameter 'length'"),
    (rollout([1, 0], 3, {"length": "1"}), TypeError, "parameter 'length'"),
    (rollout([1, 0], 3, {3: 1}), cy.ParameterError, 'no parameter is called "3"'),
    (rollout([1, 0], 3, {"\ud800": 1}), cy.ParameterError, "no parameter"),
    (rollout([1, 0], 3, {"length": np.zeros(0)}), cy.Error, "empty"),
    # options
    (rollout([1, 0], 3, save="lasst"), cy.Error, 'did you mean "last"'),
    (rollout([1, 0], 3, save=0), cy.Error, "at least 1"),
    (rollout([1, 0], 3, save=[]), cy.Error, "at least one step"),
    (rollout([1, 0], 3, save=[2, 1]), cy.Error, "must increase"),
    (rollout([1, 0], 3, save=[4]), cy.Error, "does not exist"),
    (rollout([1, 0], 3, save=[1.5]), TypeError, "save: expected"),
    (rollout([1, 0], 3, save=[[1], [1, 2]]), cy.Error, "save"),
    (rollout([1, 0], 3, save=None), TypeError, "save: expected"),
    (rollout([1, 0], 3, save=[2**70]), TypeError, "save: expected"),
    (rollout([1, 0], 3, memory="3 quux"), cy.Error, "64MB"),
    (rollout([1, 0], 3, memory="1B"), cy.Error, "too small"),
    (rollout([1, 0], 3, memory=0), cy.Error, "at least 1"),
    (rollout([1, 0], 3, memory=1.5), TypeError, "memory: expected"),
    (rollout([1, 0], 3, memory="checkpoints"), cy.Error, "memory"),
    (rollout([1, 0], 3, memory=cy.Truncate(0)), cy.Error, "at least 1"),
    (rollout([1, 0], 3, memory=cy.Truncate("1")), TypeError, "must be an int"),
    (rollout([1, 0], 3, threads=0), cy.Error, "threads must be at least 1"),
    (rollout([1, 0], 3, threads=1.0), TypeError, "threads must be an int"),
    (rollout([1, 0], 3, threads=10**9), cy.Error, "threads must be at most"),
    (rollout([1, 0], 3, t0=np.inf), cy.Error, "t0 must be finite"),
    (rollout([1, 0], 3, t0=[1, 2]), cy.Error, "t0 must be one number"),
    (rollout([1, 0], 3, t0="now"), TypeError, "t0 must be numbers"),
    # more than any machine has
    (rollout([1, 0], 10**12), cy.Error, 'save="last"'),
    (rollout([1, 0], 10**12, save="last", memory="all"), cy.Error, 'memory="auto"'),
    (
        rollout(np.zeros((10**6, 1, 2)), np.broadcast_to(0.0, (10**6, 3, 1))),
        cy.Error,
        "this machine has",
    ),
    # systems
    (lambda: cy.rollout("pendulum", [1, 0], 3), TypeError, "expected a cycloid System"),
    (lambda: cy.System(3), TypeError, "System is made by"),
    (lambda: cy.systems.make("pendulumm"), cy.ModelError, 'did you mean "pendulum"'),
    (lambda: cy.systems.make(3), TypeError, "law must be a name"),
    (lambda: cy.systems.pendulum(integrator="rk5"), cy.ModelError, 'did you mean "rk4"'),
    (lambda: cy.systems.pendulum(dt=0), cy.ParameterError, "dt must be positive"),
    (lambda: cy.systems.pendulum(dt="x"), TypeError, "dt must be numbers"),
    (lambda: cy.systems.pendulum(dtype="float16"), cy.Error, "dtype"),
    (lambda: cy.systems.pendulum(dtype="flot"), cy.Error, "dtype"),
    (lambda: cy.systems.pendulum(length=[1, 2]), cy.ParameterError, "takes 1 number, got 2"),
    (lambda: cy.systems.pendulum(vary=3), TypeError, "vary"),
    (lambda: cy.systems.pendulum(vary=[3]), TypeError, "vary"),
    (lambda: cy.systems.pendulum(lenght=1), TypeError, "lenght"),
    (lambda: cy.systems.spring_chain(0), cy.Error, "n must be at least 1"),
    (lambda: cy.systems.spring_chain(2.0), TypeError, "n must be an int"),
    (lambda: cy.systems.spring_chain(10**10), cy.Error, "at most"),
    # step, linearise
    (lambda: cy.step(SYSTEM, [1, 0], [1, 2]), cy.Error, r"u must have shape \(..., 1\)"),
    (lambda: cy.step(cy.systems.kepler(), np.zeros(4)), cy.Error, "the step failed"),
    (lambda: cy.linearise(SYSTEM, [1, 0], wrt="y"), cy.Error, "wrt: expected"),
    (lambda: cy.linearise(SYSTEM, [1, 0], wrt=3), TypeError, "wrt must be a name"),
    (lambda: cy.linearise(cy.systems.kepler(), np.zeros(4)), cy.GradientError, "linearised"),
    (lambda: linearise_a_million(), cy.Error, "the Jacobians would take"),
    (lambda: cy.linearise(SYSTEM, [1, 0], t=np.nan), cy.Error, "t must be finite"),
    # pullback, diagnose, check_gradient
    (lambda: RUN.pullback(np.ones((4, 2))), cy.Error, r"like states, \(5, 2\); got \(4, 2\)"),
    (lambda: RUN.pullback(np.full((5, 2), np.nan)), cy.Error, "states_bar must be finite"),
    (lambda: RUN.pullback(None), TypeError, "states_bar"),
    (lambda: RUN.pullback(BAR, wrt="controlls"), cy.Error, 'did you mean "controls"'),
    (lambda: RUN.pullback(BAR, failed="ignore"), cy.Error, "failed: expected"),
    (lambda: cy.diagnose(3, BAR), TypeError, "expected a Trajectory"),
    (lambda: cy.diagnose(RUN, BAR[1:]), cy.Error, "shaped like states"),
    (lambda: cy.check_gradient(SYSTEM, [1, 0], 3, tolerance=-1), cy.Error, "tolerance"),
    (lambda: cy.check_gradient(SYSTEM, [1, 0], 3, seed=-1), cy.Error, "seed"),
    (lambda: cy.check_gradient(SYSTEM, [1, 0], 3, numbers_per_block=0), cy.Error, "at least 1"),
    # parameters
    (lambda: SYSTEM.parameters.pack([1]), TypeError, "expected a mapping"),
    (lambda: SYSTEM.parameters.unpack([1]), cy.Error, r"\(..., 5\)"),
    (lambda: SYSTEM.parameters.to_free([1]), cy.Error, r"\(5,\)"),
    (lambda: SYSTEM.parameters.to_free(-np.ones(5)), cy.ParameterError, "positive"),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_it_is_refused_with_words(number):
    use, kind, words = REFUSALS[number]
    with pytest.raises(kind, match=words) as caught:
        use()
    assert isinstance(caught.value, (cy.Error, TypeError))
    assert not isinstance(caught.value, cy.InternalError)


def test_the_kinds_of_errors_are_related_as_documented():
    assert issubclass(cy.Error, ValueError)
    for kind in (cy.ModelError, cy.ParameterError, cy.GradientError):
        assert issubclass(kind, cy.Error)
    assert issubclass(cy.InternalError, RuntimeError)
    assert not issubclass(cy.InternalError, ValueError)
    for kind in (cy.Error, cy.ModelError, cy.ParameterError, cy.GradientError, cy.InternalError):
        assert kind.__module__ == "cycloid" and kind.__doc__
        error = pickle.loads(pickle.dumps(kind("text")))
        assert type(error) is kind and str(error) == "text"


def test_a_system_is_not_pickled_and_says_what_to_do():
    body = '<body> <joint/> <geom size="1"/> </body>'
    robot = cy.load(f"<mujoco> <worldbody> {body} </worldbody> </mujoco>")
    for system in (SYSTEM, robot):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match=r"another process: make it again there, .*load\("):
                pickle.dumps({"system": system}, protocol)
        assert copy.copy(system) is system and copy.deepcopy([system])[0] is system


def test_a_producer_that_refuses_is_refused():
    class Refuses:
        def __dlpack__(self, **options):
            raise BufferError("on another device")

        def __dlpack_device__(self):
            return (2, 0)

    class Half:
        def __dlpack__(self, **options):
            return None

    for producer in (Refuses(), Half()):
        with pytest.raises((cy.Error, TypeError), match="x0 must be an array of numbers"):
            cy.rollout(SYSTEM, producer, 3)
