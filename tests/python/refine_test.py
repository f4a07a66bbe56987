"""Impact refinement, held to closed forms of elastic and damped contacts.

MuJoCo's contact with solref (-K, -B) and a constant impedance d is, for a free ball that moves
along the normal, a damped spring: x'' = (1 - d) a0 - B x' - K x while it pushes, a0 the
acceleration without contact. It pushes while x < 0 and -B x' / d - K x / d > a0.
"""

import numpy as np
import pytest

import cycloid as cy
from differences import by_differences

D = 0.9  # impedance


def row_of_balls(n, stiffness, damping=0.0, wall=False, gravity=0.0, dt=0.004, **keywords):
    """Balls of radius 0.1 and 1 kg that move along x; a wall at x = 0, or none."""
    plane = '<geom type="plane" size="2 2 1" zaxis="1 0 0"/>' if wall else ""
    body = '<body pos="{x} 0 0"> <freejoint/> <geom size="0.1" mass="1"/> </body>'
    bodies = " ".join(body.format(x=0.5 * i + 0.5) for i in range(n))
    integrator = keywords.pop("integrator", "Euler")
    return cy.load(
        f"""<mujoco> <option gravity="{-gravity} 0 0" timestep="{dt}" integrator="{integrator}"/>
        <default> <geom condim="1" solref="{-stiffness} {-damping}"
            solimp="{D} {D} 0.001 0.5 1"/> </default>
        <worldbody> {plane} {bodies} </worldbody> </mujoco>""",
        **keywords,
    )


def along_x(system, x, v):
    """The state of balls at x with velocities v, and where these numbers stand."""
    n = len(x)
    state = system.initial_state()
    places = np.concatenate([7 * np.arange(n), 7 * n + 6 * np.arange(n)])
    state[places] = np.concatenate([x, v])
    return state, places


def outcome(system, x, v, steps):
    """Numbers along x after the run, and their Jacobian."""
    state, places = along_x(system, x, v)
    run = cy.rollout(system, state, steps, save="last")
    bars = np.zeros((len(places), 1, system.state_size))
    bars[np.arange(len(places)), 0, places] = 1
    jacobian = np.array([run.pullback(bar, wrt=("x0",)).x0[places] for bar in bars])
    return run.states[0, places], jacobian


def bounce(x0, v0, time, stiffness, damping, gravity):
    """A ball whose surface is x0 away from the wall, thrown with velocity v0 < 0: place and
    velocity after `time`, by the closed form of flight, contact, flight."""
    g = gravity
    t1 = x0 / -v0 if g == 0 else (v0 + np.sqrt(v0 * v0 + 2 * g * x0)) / g
    u = v0 - g * t1
    rest = -(1 - D) * g / stiffness  # where the contact would stand still
    half = damping / 2
    omega = np.sqrt(stiffness - half * half)

    def contact(t):
        """Place and velocity."""
        a, b = -rest, (u + half * -rest) / omega
        c, s, e = np.cos(omega * t), np.sin(omega * t), np.exp(-half * t)
        x = rest + e * (a * c + b * s)
        return x, e * ((b * omega - half * a) * c - (a * omega + half * b) * s)

    def pushes(t):
        x, v = contact(t)
        return -x if damping == 0 else -(damping * v + stiffness * x) / D + g

    low, high = 0.5 * np.pi / omega, 2 * np.pi / omega
    while pushes(low) < 0:
        low /= 2
    grid = np.linspace(low, high, 2000)
    first = next(i for i, t in enumerate(grid) if pushes(t) < 0)
    low, high = grid[first - 1], grid[first]
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if pushes(middle) > 0 else (low, middle)
    x, v = contact(high)
    rest_of = time - t1 - high
    return np.array([x + v * rest_of - 0.5 * g * rest_of**2, v - g * rest_of])


def true_jacobian(f, x):
    return np.array([by_differences(lambda x, i=i: f(*x)[i], x) for i in range(len(f(*x)))])


def relative(found, true):
    return np.abs(found - true).max() / np.abs(true).max()


@pytest.mark.parametrize("gravity, x0, v0", [(0.0, 0.3, -2.0), (9.81, 0.2, -0.1)])
@pytest.mark.parametrize("damping", [0.0, 30.0])
def test_a_bounce_has_the_gradient_of_the_closed_form(gravity, x0, v0, damping):
    stiffness, dt, steps = 4e4, 0.004, 90
    if damping > 0 and gravity > 0:
        v0 = -1.5

    def truth(x, v):
        return bounce(x, v, dt * steps, stiffness, damping, gravity)

    true, slope = truth(x0, v0), true_jacobian(truth, (x0, v0))
    for tolerance in (1e-4, 1e-5, 1e-6, 1e-7):
        ball = row_of_balls(1, stiffness, damping, True, gravity, dt, refine=tolerance)
        (x, v), jacobian = outcome(ball, [x0 + 0.1], [v0], steps)
        # Local errors of the contact's substeps add up; 1e-9 is that of the differences.
        most = 20 * tolerance + 1e-9
        assert relative(np.array([x - 0.1, v]), true) < most
        assert relative(jacobian, slope) < most


def test_an_elastic_throw_comes_back_as_it_went():
    ball = row_of_balls(1, 1e5, wall=True, refine=1e-6)
    _, jacobian = outcome(ball, [0.4], [-2.0], 75)
    assert abs(jacobian[0, 0] + 1) < 1e-4
    assert abs(jacobian[1, 1] + 1) < 1e-4
    assert abs(jacobian[1, 0]) < 1e-3


def test_without_refinement_the_same_throw_has_another_gradient():
    ball = row_of_balls(1, 1e5, wall=True)
    slopes = [outcome(ball, [x], [-2.0], 75)[1][0, 0] for x in np.linspace(0.4, 0.41, 9)]
    assert max(abs(np.array(slopes) + 1)) > 0.1


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_equal_spheres_exchange_velocities_and_gradients_are_permutations(integrator):
    steps, dt, stiffness = 60, 0.004, 1e5
    balls = row_of_balls(2, stiffness, dt=dt, integrator=integrator, refine=1e-6)
    x, v = [0.0, 0.35], [2.0, -0.5]
    after, jacobian = outcome(balls, x, v, steps)
    assert np.abs(after[2:] - v[::-1]).max() < 1e-4
    exchange = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert np.abs(jacobian[:2, :2] - exchange).max() < 1e-3
    assert np.abs(jacobian[2:, 2:] - exchange).max() < 1e-3
    assert np.abs(jacobian[2:, :2]).max() < 1e-2  # velocities do not know the places [1/s]
    # In contact for half a period of the pair's spring, both move on with their mean velocity.
    contact = np.pi / np.sqrt(stiffness)
    time = steps * dt
    own = np.array([[0.5, 0.5], [0.5, 0.5]]) * contact
    assert np.abs(jacobian[:2, 2:] - (exchange * (time - contact) + own)).max() < 1e-3


@pytest.mark.parametrize("n", [3, 5])
def test_newtons_cradle_hands_the_first_balls_motion_to_the_last(n):
    balls = row_of_balls(n, 4e5, refine=1e-6)
    x = np.concatenate([[0.0], 0.4 + 0.25 * np.arange(n - 1)])
    v = np.zeros(n)
    v[0] = 3.0
    after, jacobian = outcome(balls, x, v, 110)
    assert np.abs(after[n:] - np.eye(n)[-1] * 3.0).max() < 1e-3
    # Ball i takes over the line of ball i + 1, the last that of the first.
    permutation = np.roll(np.eye(n), 1, axis=1)
    assert np.abs(jacobian[:n, :n] - permutation).max() < 1e-2
    assert np.abs(jacobian[n:, n:] - permutation).max() < 1e-2


def test_the_gradient_by_every_parameter_is_that_of_differences():
    """The wall's place, the ball's radius and mass, stiffness, damping, the time step."""
    ball = row_of_balls(1, 4e4, 30.0, True, 9.81, refine=1e-5)
    state, _ = along_x(ball, [0.3], [-1.0])
    names = ["geom:#0.pos", "geom:#1.size", "body:#1.mass", "geom:#1.solref", "geom:#0.margin",
             "option.gravity", "option.timestep"]
    run = cy.rollout(ball, state, 50, save="last")
    bar = np.zeros((1, ball.state_size))
    bar[0, 0], bar[0, 7] = 1.0, 0.3
    gradient = ball.parameters.unpack(run.pullback(bar).params)

    def loss(name, place, value):
        numbers = ball.parameters.unpack(ball.parameters.default)
        changed = np.array(numbers[name], float)
        changed.reshape(-1)[place] = value
        end = cy.rollout(ball, state, 50, {name: changed}, save="last").states
        return float((bar * end).sum())

    for name in names:
        numbers = np.atleast_1d(ball.parameters.unpack(ball.parameters.default)[name])
        for i, value in enumerate(numbers.reshape(-1)):
            h = 1e-5 * max(abs(value), 1e-2)
            difference = (loss(name, i, value + h) - loss(name, i, value - h)) / (2 * h)
            got = np.atleast_1d(gradient[name]).reshape(-1)[i]
            assert abs(got - difference) < 2e-4 * max(abs(difference), 1e-2), (name, i)


def test_a_limit_is_a_switch_too():
    """A slide that hits the end of its range: dx/dx0 = -1 where the limit is elastic."""
    slide = cy.load(
        """<mujoco> <option gravity="0 0 0" timestep="0.004"/> <worldbody> <body>
        <joint name="rail" type="slide" axis="1 0 0" range="0 10" limited="true"
            solreflimit="-40000 0" solimplimit="0.9 0.9 0.001 0.5 1"/>
        <geom size="0.1" mass="1"/> </body> </worldbody> </mujoco>""",
        refine=1e-6,
    )
    run = cy.rollout(slide, [0.5, -3.0], 100, save="last")
    assert abs(run.states[0, 1] - 3) < 1e-4
    g = run.pullback([[1.0, 0.0]])
    assert abs(g.x0[0] + 1) < 1e-3
    assert abs(slide.parameters.unpack(g.params)["joint:rail.range"][0] - 2) < 1e-3


def test_times_outputs_and_report():
    ball = row_of_balls(1, 4e4, 30.0, True, 9.81, refine=1e-4)
    state, _ = along_x(ball, [0.3], [-1.0])
    run = cy.rollout(ball, np.stack([state] * 3), 60)
    assert run.states.shape == (3, 61, 13)
    assert np.array_equal(run.times, cy.rollout(row_of_balls(1, 4e4), state, 60).times)
    assert run.report.counters["substeps"] > 1
    assert (run.states[0] == run.states[2]).all()
    alone = cy.rollout(ball, state, 60)
    assert (alone.states == run.states[1]).all()
    x1 = cy.step(ball, state)
    assert (x1 == run.states[0, 1]).all()


def test_memory_plans_give_one_gradient():
    ball = row_of_balls(1, 4e4, 30.0, True, 9.81, refine=1e-4)
    state, _ = along_x(ball, [0.3], [-1.0])
    bar = np.random.default_rng(1).normal(size=(61, 13))
    gradients = [
        cy.rollout(ball, state, 60, memory=memory).pullback(bar) for memory in ("all", "sqrt", 2)
    ]
    for g in gradients[1:]:
        assert (g.x0 == gradients[0].x0).all() and (g.params == gradients[0].params).all()


def test_flight_is_that_of_the_parabola():
    ball = row_of_balls(1, 4e4, gravity=9.81, refine=1e-4)
    (x, v), jacobian = outcome(ball, [5.0], [1.0], 100)
    assert abs(x - (5 + 0.4 - 0.5 * 9.81 * 0.16)) < 1e-12
    assert np.abs(jacobian - [[1, 0.4], [0, 1]]).max() < 1e-12


@pytest.mark.parametrize("tolerance", [0.0, -1e-4, 1.0, 1e-20, 1e-5])
def test_tolerances_that_make_no_sense_are_refused(tolerance):
    dtype = "float32" if tolerance == 1e-5 else "float64"
    with pytest.raises(cy.ParameterError, match="refine: the tolerance"):
        row_of_balls(1, 1e4, refine=tolerance, dtype=dtype)


def test_other_bad_input():
    with pytest.raises(cy.Error, match="refine must be finite"):
        row_of_balls(1, 1e4, refine=float("nan"))
    with pytest.raises(TypeError):
        row_of_balls(1, 1e4, refine="fine")
    with pytest.raises(cy.ModelError, match="RK4"):
        row_of_balls(1, 1e4, refine=1e-4, integrator="RK4")


LANDING = """<mujoco> <option timestep="0.004" cone="{cone}"/> <default> <geom condim="{condim}"
    friction="0.5 0.01 0.001" solref="{solref}" solimp="0.9 0.9 0.001 0.5 1"/> </default>
  <worldbody> <geom type="plane" size="3 3 1"/> <body pos="0 0 0.2"> <freejoint/>
    <geom type="box" size="0.1 0.15 0.08" mass="1"/> </body> </worldbody> </mujoco>"""


@pytest.mark.parametrize("solref", ["-20000 -100", "-20000 0", "-5000 -20"])
@pytest.mark.parametrize("condim, cone", [(1, "pyramidal"), (3, "pyramidal"), (3, "elliptic")])
def test_a_box_that_lands_corner_by_corner_has_the_gradient_of_differences(condim, cone, solref):
    box = cy.load(LANDING.format(condim=condim, cone=cone, solref=solref), refine=1e-4)
    x = box.initial_state()
    x[3:7] = np.array([1, 0.05, 0.03, 0]) / np.linalg.norm([1, 0.05, 0.03, 0])
    x[7:10] = 0.3, 0.1, -1
    directions = np.zeros((3, len(x)))
    directions[[0, 1, 2], [2, 9, 10]] = 1  # height, fall, spin
    bar = np.random.default_rng(0).normal(size=(1, len(x)))
    steps = 28  # all four corners have met the floor, and some have left it
    corners = len(cy.forward(box, cy.rollout(box, x, 24, save="last").states[0]).contacts.dist)
    assert corners >= 2
    g = cy.rollout(box, x, steps, save="last").pullback(bar, wrt=("x0",)).x0

    def loss(rows):
        return (cy.rollout(box, rows, steps, save="last").states * bar).sum(axis=(-1, -2))

    # Differences between runs that choose other substeps are off by the tolerance over h: of some
    # steps the best counts, of each direction.
    h = np.array([1e-4, 1e-5, 1e-6, 1e-7])[:, None]
    ends = loss(x + h[..., None, None] * np.stack([directions, -directions]))
    differences = (ends[:, 0] - ends[:, 1]) / (2 * h)
    error = np.abs(directions @ g - differences).min(axis=0)
    assert error.max() < 1e-3 * np.abs(directions @ g).max()
