"""Every System shows its state, laws their energy, and laws of your own what you like."""

import numpy as np
import pytest
from differences import assert_close, by_differences

import cycloid as cy

RNG = np.random.default_rng(5)
# A state and parameters at which nothing is at rest, without damping.
LAWS = {
    "pendulum": ([0.7, -1.2], {"length": 0.8, "mass": 1.3, "gravity": 9.0}),
    "double_pendulum": (
        [0.7, -1.2, 0.4, 1.1],
        {"lengths": [0.8, 0.9], "masses": [1.3, 0.7], "gravity": 9.0},
    ),
    "projectile": ([1.0, 2.0, 3.0, 4.0, -5.0, 6.0], {"mass": 1.3, "gravity": 9.0}),
    "spring_chain": ([0.5, -0.2, 0.3, 1.0, 0.1, -0.4], {"mass": 1.3, "stiffness": 2.0}),
    "kepler": ([1.0, 0.2, -0.1, 1.1], {"mu": 1.2}),
    "bouncing_ball": ([5.0, 1.0], {"gravity": 9.0}),
    "rimless_wheel": ([0.0, 0.3], {"length": 0.8, "gravity": 9.0}),
}


def law(name, **options):
    values = LAWS[name][1] if name in LAWS else {}
    return cy.systems.make(name, values, **options)


def closed_form(name, x, p):
    """Kinetic plus potential energy from positions and velocities."""
    if name in ("pendulum", "rimless_wheel"):
        sign, m = (-1, p["mass"]) if name == "pendulum" else (1, 1.0)
        v, height = p["length"] * x[1], sign * p["length"] * np.cos(x[0])
        return m * (v**2 / 2 + p["gravity"] * height)
    if name == "double_pendulum":
        (l1, l2), (m1, m2) = p["lengths"], p["masses"]
        v1 = l1 * x[2] * np.array([np.cos(x[0]), np.sin(x[0])])
        v2 = v1 + l2 * x[3] * np.array([np.cos(x[1]), np.sin(x[1])])
        y1 = -l1 * np.cos(x[0])
        y2 = y1 - l2 * np.cos(x[1])
        return m1 * v1 @ v1 / 2 + m2 * v2 @ v2 / 2 + p["gravity"] * (m1 * y1 + m2 * y2)
    if name == "projectile":
        return p["mass"] * (x[3:] @ x[3:] / 2 + p["gravity"] * x[2])
    if name == "spring_chain":
        stretch = np.diff([0.0, *x[:3], 0.0])
        return p["mass"] * x[3:] @ x[3:] / 2 + p["stiffness"] * stretch @ stretch / 2
    if name == "kepler":
        return x[2:] @ x[2:] / 2 - p["mu"] / np.hypot(x[0], x[1])
    return x[1] ** 2 / 2 + p["gravity"] * x[0]  # bouncing_ball


@pytest.mark.parametrize("name", LAWS)
def test_energy_is_that_of_its_closed_form(name):
    system, x = law(name), np.array(LAWS[name][0])
    seen = cy.observe(system, x, names="energy")
    assert seen.values.shape == (1,) and seen.names == ("energy",)
    # A handful of operations.
    assert seen.values[0] == pytest.approx(closed_form(name, x, system.parameters), rel=1e-14)


@pytest.mark.parametrize("name", cy.systems.names)
def test_pullback_equals_differences_of_the_state_and_every_parameter(name):
    system = law(name)
    x = np.array(LAWS[name][0] if name in LAWS else system.initial_state())
    default = system.parameters.default + 0.1 * (system.parameters.default == 0)  # off the bounds
    seen = cy.observe(system, x, params=default)
    assert seen.values.shape == (len(seen.names),) and tuple(seen.slices) == system.observables
    weights = RNG.normal(size=seen.values.shape)
    g = seen.pullback(weights)

    def loss(x, params):
        return float(weights @ cy.observe(system, x, params=params).values)

    assert_close(g.x, by_differences(lambda v: loss(v, default), x), "x")
    assert_close(g.params, by_differences(lambda v: loss(x, v), default), "params")
    assert (np.abs(g.x) > 1e-3).all()
    if name in LAWS:
        assert np.abs(g.params).max() > 1e-3
    else:
        assert "energy" not in system.observables
    assert (g.controls == 0).all() and g.controls.shape == (system.input_size,)


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum", "spring_chain", "kepler"])
def test_energy_is_conserved_along_an_undamped_run(name):
    dt = 1e-3
    system = law(name, dt=dt, integrator="verlet")
    run = cy.rollout(system, LAWS[name][0], 3000)
    energy = cy.observe(system, run.states, names="energy").values[:, 0]
    # Verlet's error is bounded, of second order, and of energies of a few joules.
    assert np.abs(energy - energy[0]).max() < 100 * dt**2 * max(1.0, abs(energy[0]))
    assert np.ptp(run.states, axis=0).min() > 0.1


def test_energy_is_conserved_in_flight_and_between_impacts():
    ball = law("bouncing_ball", dt=1e-3)
    run = cy.rollout(ball, [1.0, 0.0], 1000)
    energy = cy.observe(ball, run.states, names="energy").values[:, 0]
    hit = np.searchsorted(np.arange(1001) * 1e-3, run.events.time[0])
    assert np.ptp(energy[:hit]) < 1e-12 * energy[0]
    assert energy[hit] == pytest.approx(0.8**2 * energy[0])  # of restitution 0.8
    shot = law("projectile", dt=1e-3)
    flight = cy.rollout(shot, LAWS["projectile"][0], 1000)
    energy = cy.observe(shot, flight.states, names="energy").values
    assert np.ptp(energy) < 1e-10 * abs(energy[0, 0])


def test_names_units_and_what_is_not_there():
    system = cy.systems.double_pendulum()
    assert system.observables == ("angles", "angular_velocities", "energy")
    assert system.observable_units == {
        "angles": "rad",
        "angular_velocities": "rad/s",
        "energy": "J",
    }
    assert cy.systems.lorenz().observables == ("x", "y", "z")
    seen = cy.observe(system, [1, 2, 3, 4], names=["energy", "angular_velocities"])
    assert seen.names == ("energy", "angular_velocities[0]", "angular_velocities[1]")
    assert (seen["angular_velocities"] == [3, 4]).all()
    with pytest.raises(cy.ModelError, match='no observable is called "enrgy".*"energy"'):
        cy.observe(system, [1, 2, 3, 4], names="enrgy")
    with pytest.raises(cy.ModelError, match='did you mean "angles"'):
        cy.observe(system, [1, 2, 3, 4], names=["energy", "angle"])
    with pytest.raises(cy.Error, match="threads"):
        cy.observe(system, [1, 2, 3, 4], threads=0)


def test_batches_broadcast_and_parameters_vary():
    system = cy.systems.pendulum(vary=["length"])
    x = RNG.normal(size=(3, 1, 2))
    length = np.array([0.5, 1.0, 2.0, 4.0])
    seen = cy.observe(system, x, names="energy", params={"length": length})
    assert seen.values.shape == (3, 4, 1)
    expected = length**2 * x[..., 1] ** 2 / 2 - 9.81 * length * np.cos(x[..., 0])
    assert np.allclose(seen["energy"][..., 0], expected, rtol=1e-14)
    g = seen.pullback(np.ones((3, 4, 1)))
    assert g.x.shape == (3, 1, 2) and g.params["length"].shape == (4,)
    assert np.allclose(g.x[..., 1], (length**2).sum() * x[..., 1], rtol=1e-13)
    slope = length * x[..., 1] ** 2 - 9.81 * np.cos(x[..., 0])
    assert np.allclose(g.params["length"], slope.sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_change_no_bit(dtype):
    system = cy.systems.double_pendulum(dtype=dtype)
    x, bar = RNG.normal(size=(1003, 4)), RNG.normal(size=(1003, 5))
    runs = []
    for threads in (1, 2, 5):
        seen = cy.observe(system, x, threads=threads)
        g = seen.pullback(bar)
        runs.append((seen.values, g.x, g.params))
    assert runs[0][0].dtype == np.dtype(dtype)
    for run in runs[1:]:
        assert all((a == b).all() for a, b in zip(run, runs[0]))
    alone = cy.observe(system, x[517])
    assert (alone.values == runs[0][0][517]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_advance_shows_what_observe_shows(dtype):
    system = law("kepler", dtype=dtype, integrator="verlet")
    x = np.array(LAWS["kepler"][0]) + 0.1 * RNG.normal(size=(37, 4))
    after = cy.advance(system, x, steps=5, names=["energy", "velocity"])
    seen = cy.observe(system, after.states, names=["energy", "velocity"])
    assert after.values.shape == (37, 3) and after.values.dtype == np.dtype(dtype)
    assert (after["velocity"] == after.states[:, 2:]).all()
    # The energy in the precision of the steps: of two numbers of order one.
    assert np.allclose(after["energy"], seen["energy"], atol=4 * np.finfo(dtype).eps)


def test_states_of_a_robot_are_observed_by_their_block():
    robot = cy.load(
        """<mujoco> <worldbody> <body> <freejoint name="root"/> <geom size="0.1"/>
        <body name="arm"> <joint name="elbow" axis="0 1 0"/> <geom size="0.1" pos="0 0 -1"/> </body>
        </body> </worldbody> <sensor> <jointpos name="bend" joint="elbow"/> </sensor> </mujoco>"""
    )
    assert {"qpos", "qvel", "bend", "xpos"} <= set(robot.observables)
    assert robot.observable_units["bend"] == "rad" and robot.observable_units["xpos"] == "m"
    x = robot.initial_state() + 0.3 * RNG.normal(size=(5, robot.state_size))
    names = ["qvel", "bend", "qpos", "qpos:elbow"]
    seen = cy.observe(robot, x, names=names)
    assert (seen["qvel"] == x[:, 8:]).all() and (seen["bend"] == seen["qpos:elbow"]).all()
    weights = RNG.normal(size=seen.values.shape)
    g = seen.pullback(weights)

    def loss(x):
        return float((weights * cy.observe(robot, x, names=names).values).sum())

    assert_close(g.x, by_differences(loss, x), "x")
    assert cy.observe(robot, x).names == ("bend",)


# What a law in Python shows: of a spring with stiffness k, energy and forces with time and input.


def spring_step(x, u, p, t, dt):
    return np.stack([x[:, 0] + dt * x[:, 1], x[:, 1] - dt * p["k"] * x[:, 0]], axis=1)


def spring_energy(x, u, p, t):
    return (p["k"] * x[:, 0] ** 2 + x[:, 1] ** 2) / 2


def spring_energy_pullback(x, u, p, t, bar):
    assert bar.shape == (len(x), 1)
    bar = bar[:, 0]
    x_bar = np.stack([bar * p["k"] * x[:, 0], bar * x[:, 1]], axis=1)
    return x_bar, 0, {"k": bar * x[:, 0] ** 2 / 2}


def spring_table(x, u, p, t):
    pull = p["k"] * x[:, 0] * u[:, 0]
    return np.stack([[pull, x[:, 1] * t], [u[:, 0] ** 2, x[:, 0] ** 3]]).transpose(2, 0, 1)


def spring_table_pullback(x, u, p, t, bar):
    a, b, c, d = bar[:, 0, 0], bar[:, 0, 1], bar[:, 1, 0], bar[:, 1, 1]
    x_bar = np.stack([a * p["k"] * u[:, 0] + 3 * d * x[:, 0] ** 2, b * t], axis=1)
    u_bar = (a * p["k"] * x[:, 0] + 2 * c * u[:, 0])[:, None]
    return x_bar, u_bar, {"k": a * x[:, 0] * u[:, 0]}


def spring(**options):
    return cy.own_law(
        spring_step,
        states={"place": 1, "speed": 1},
        inputs={"push": 1},
        parameters={"k": 2.0},
        vary=["k"],
        observables={
            "energy": (spring_energy, spring_energy_pullback),
            "table": (spring_table, spring_table_pullback),
            "plain": lambda x, u, p, t: x[:, :1],
        },
        **options,
    )


@pytest.mark.parametrize("differentiate_dt", [False, True])
def test_a_law_of_your_own_shows_what_it_was_given(differentiate_dt):
    system = spring(differentiate_dt=differentiate_dt)
    assert system.observables == ("place", "speed", "energy", "table", "plain")
    x, u = RNG.normal(size=(200, 2)), RNG.normal(size=(200, 1))
    k = 1 + RNG.random(200)
    names = ["table", "place", "energy"]
    seen = cy.observe(system, x, u, names, {"k": k}, t=0.3)
    assert seen["table"].shape == (200, 2, 2) and seen["energy"].shape == (200, 1)
    assert np.allclose(seen["energy"][:, 0], (k * x[:, 0] ** 2 + x[:, 1] ** 2) / 2, rtol=1e-14)
    assert np.allclose(seen["table"][:, 0, 1], 0.3 * x[:, 1], rtol=1e-14)
    weights = RNG.normal(size=seen.values.shape)
    g = seen.pullback(weights)

    def loss(x, u, k):
        return float((weights * cy.observe(system, x, u, names, {"k": k}, t=0.3).values).sum())

    for i in (0, 130):

        def moved(part, values, i=i):
            arrays = {"x": x.copy(), "u": u.copy(), "k": k.copy()}
            arrays[part][i] = values
            return loss(**arrays)

        assert_close(g.x[i], by_differences(lambda v: moved("x", v), x[i]), "x")
        assert_close(g.controls[i], by_differences(lambda v: moved("u", v), u[i]), "u")
        assert_close(g.params["k"][i], by_differences(lambda v: moved("k", v), k[i]), "k")
    after = cy.advance(system, x, u, 3, names)
    again = cy.observe(system, after.states, u, names, t=3 * system.timestep)
    assert np.allclose(after.values, again.values, rtol=1e-13)
    threads = [cy.observe(system, x, u, names, t=0.3, threads=n).values for n in (1, 2)]
    assert (threads[0] == threads[1]).all()


def test_what_a_law_of_your_own_cannot_show():
    system = spring()
    with pytest.raises(cy.GradientError, match='"?plain"?.*without a pullback'):
        cy.observe(system, [1.0, 2.0], names="plain").pullback([1.0])
    options = {"states": {"place": 1, "speed": 1}, "parameters": {"k": 2.0}}
    for observables, error, words in (
        ({"place": spring_energy}, cy.ModelError, "block of the state"),
        ({"energy": 3.0}, TypeError, "two functions"),
        ([spring_energy], TypeError, "must map names"),
        ({"energy": lambda x, u, p, t: 1.0}, cy.Error, r"\(1, k\)"),
    ):
        with pytest.raises(error, match=words):
            cy.own_law(spring_step, observables=observables, **options)
    odd = cy.own_law(
        spring_step,
        observables={"odd": (lambda x, u, p, t: np.ones((1, 2)), lambda *a: (0, 0))},
        **options,
    )
    with pytest.raises(cy.Error, match="as it did"):
        cy.observe(odd, np.ones((3, 2)), names="odd")


def test_numbers_of_a_block_are_observed_by_their_places():
    system = cy.systems.double_pendulum()
    x = np.arange(8.0).reshape((2, 4))
    blocks = list(system.state_slices)
    seen = cy.observe(system, x, names=[f"{blocks[1]}[1]", f"{blocks[0]}[0:2]", f"{blocks[1]}[1:]"])
    np.testing.assert_array_equal(seen.values, x[:, [3, 0, 1, 3]])
    bar = seen.pullback(np.ones((2, 4))).x
    np.testing.assert_array_equal(bar, [[1, 1, 0, 2]] * 2)
    closed = cy.close_loop(system, cy.networks.MLP((1, 4, 2)), observe=f"{blocks[1]}[1:]")
    assert cy.check_gradient(closed, [0.3, 0.2, 0.1, 0.5], 10).ok
    for name in ("[2]", "[1:1]", "[-1]", "[a]", "[:]"):
        with pytest.raises(cy.ModelError, match="expected numbers within 0 … 2"):
            cy.observe(system, x, names=[blocks[0] + name])
