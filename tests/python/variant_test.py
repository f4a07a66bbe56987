"""The same world, computed otherwise: bit for bit the one that was made so at once."""

import cycloid as cy
import numpy as np
import pytest
from cycloid._gradient_mode import with_mode

ROBOT = """<mujoco model="hopper"> <option timestep="{dt}" integrator="{integrator}"/>
<worldbody> <geom name="floor" type="plane" size="1 1 1" solref="{solref}"/>
  <body name="trunk" pos="0 0 0.4"> <joint name="z" type="slide" axis="0 0 1"/>
    <geom type="sphere" size="0.1" mass="2" solref="{solref}"/>
    <body name="leg" pos="0 0 -0.1"> <joint name="knee" axis="0 1 0" damping="0.3"/>
      <geom name="foot" type="capsule" fromto="0 0 0 0.1 0 -0.2" size="0.03" solref="{solref}"/>
    </body>
  </body>
</worldbody>
<actuator> <motor joint="knee" ctrllimited="true" ctrlrange="-5 5"/> </actuator> </mujoco>"""


def robot(dt=0.004, integrator="Euler", solref="0.02 1", **keywords):
    return cy.load(ROBOT.format(dt=dt, integrator=integrator, solref=solref), **keywords)


def run(system, steps=150):
    controls = np.sin(np.arange(2 * steps * system.input_size)).reshape(
        (2, steps, system.input_size)
    )
    return cy.rollout(system, system.initial_state() + 0.01, controls).states


CASES = [
    ({"dt": 0.001}, {"dt": 0.001}),
    ({"integrator": "rk4"}, {"integrator": "RK4"}),
    ({"integrator": "implicitfast"}, {"integrator": "implicitfast"}),
    ({"contact": "soft"}, {"solref": "0.04 1"}),
    ({"contact": "hard"}, {"solref": "0.01 1"}),
    (
        {"dt": 0.002, "integrator": "implicit", "contact": "soft"},
        {"dt": 0.002, "integrator": "implicit", "solref": "0.04 1"},
    ),
]


@pytest.mark.parametrize("wanted, made", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_varied_robot_is_the_one_that_was_made_so(wanted, made, dtype):
    system = robot(dtype=dtype)
    other = system.variant(**wanted)
    twin = robot(dtype=dtype, **made)
    assert other.timestep == twin.timestep and other.dtype == system.dtype
    assert other.parameters.names == system.parameters.names
    np.testing.assert_array_equal(other.parameters.default, twin.parameters.default)
    np.testing.assert_array_equal(run(other), run(twin))
    assert not np.array_equal(run(other), run(system))


def test_gradients_of_a_variant_are_those_of_its_twin():
    other = robot().variant(integrator="implicitfast", contact="hard")
    twin = robot(integrator="implicitfast", solref="0.01 1")
    grads = []
    for system in (other, twin):
        traj = cy.rollout(system, system.initial_state(), np.ones((80, 1)))
        grads.append(traj.pullback(np.ones_like(traj.states)))
    np.testing.assert_array_equal(grads[0].params, grads[1].params)
    np.testing.assert_array_equal(grads[0].controls, grads[1].controls)
    assert np.abs(grads[0].params).max() > 0


def test_a_variant_keeps_what_belongs_to_the_robot(tmp_path):
    system = robot()
    other = system.variant(dt=0.001, contact="soft")
    assert other.nq == 2 and np.array_equal(other.control_range, [[-5, 5]])
    other.save(tmp_path / "other.cym")
    again = cy.load(tmp_path / "other.cym")
    assert again.timestep == 0.001
    np.testing.assert_array_equal(run(again), run(other))
    assert cy.forward(other, other.initial_state()).energy.shape == (2,)
    mode = cy.FromDistance(0.05)
    near = robot(gradient=mode).variant(integrator="rk4")
    bar = np.zeros((21, 4))
    bar[-1, 0] = 1
    x0 = near.initial_state()
    x0[0] = -0.04  # the foot is just above the floor
    felt = cy.rollout(near, x0, 20).pullback(bar).params
    exact = cy.rollout(near, x0, 20).pullback(bar, gradient="exact").params
    assert not np.array_equal(felt, exact)


@pytest.mark.parametrize("integrator", ["euler", "verlet", "implicit_midpoint", "dopri5"])
def test_a_varied_law_is_the_one_that_was_made_so(integrator):
    system = cy.systems.double_pendulum(lengths=(0.7, 1.1), damping=(0.1, 0.0))
    other = system.variant(dt=0.005, integrator=integrator)
    twin = cy.systems.double_pendulum(
        lengths=(0.7, 1.1), damping=(0.1, 0.0), dt=0.005, integrator=integrator
    )
    np.testing.assert_array_equal(run(other), run(twin))
    assert not np.array_equal(run(other), run(system))


def test_a_closed_loop_and_an_own_law_vary_as_far_as_they_can():
    system = cy.systems.pendulum()
    feedback = cy.LinearFeedback(np.array([[3.0, 1.0]]), np.zeros(2), np.zeros(1))
    closed = cy.close_loop(system, feedback).variant(dt=0.002, integrator="verlet")
    twin = cy.close_loop(cy.systems.pendulum(dt=0.002, integrator="verlet"), feedback)
    start = [[1.0, 0.0]] * 2
    np.testing.assert_array_equal(
        cy.rollout(closed, start, 50).states, cy.rollout(twin, start, 50).states
    )
    floor = cy.close_loop(robot(), cy.LinearFeedback(np.ones((1, 4)), np.zeros(4), np.zeros(1)))
    soft = floor.variant(contact="soft")
    assert soft.parameters["geom:foot.solref"][0] == 0.04
    assert not np.array_equal(
        cy.rollout(soft, floor.initial_state(), 200).states,
        cy.rollout(floor, floor.initial_state(), 200).states,
    )


def test_what_cannot_be_varied_is_named():
    with pytest.raises(cy.Error, match='contact of system "pendulum" cannot be varied'):
        cy.systems.pendulum().variant(contact="hard")
    with pytest.raises(cy.Error, match='did you mean "rk4"'):
        robot().variant(integrator="rk5")
    with pytest.raises(cy.Error, match='cannot be "squishy".*"soft"'):
        robot().variant(contact="squishy")
    with pytest.raises(cy.Error, match="cannot be varied"):
        robot(constraints=False).variant(contact="soft")
    with pytest.raises(cy.Error, match="time step of system"):
        cy.systems.heat((3,), np.ones(3), 0.1).variant(dt=0.05)
    for bad in (0, -0.1, np.nan, np.inf):
        with pytest.raises(cy.Error):
            robot().variant(dt=bad)
    with pytest.raises(TypeError):
        robot().variant(dt="fast")


def test_another_gradient_leaves_the_system_itself_alone():
    system = robot()
    near = with_mode(system, cy.FromDistance(0.1))
    assert near is not system and with_mode(system, cy.FromDistance(0.1)) is near
    bar = np.zeros((21, 4))
    bar[-1, 0] = 1
    x0 = system.initial_state()
    x0[0] = -0.04  # the foot is just above the floor

    def params(of):
        return cy.rollout(of, x0, 20).pullback(bar).params

    assert not np.array_equal(params(near), params(system))
    np.testing.assert_array_equal(params(system), params(robot()))


def test_a_contact_takes_the_other_law_and_comes_back():
    ball = cy.load(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.3"><freejoint/>
        <geom size="0.1"/></body></worldbody></mujoco>"""
    )
    compliant = ball.variant(contact=cy.HuntCrossley(dissipation=0.3))
    assert float(compliant.parameters["contact.dissipation"]) == 0.3
    loaded = ball.variant(contact="compliant").parameters["contact.dissipation"]
    assert float(loaded) == cy.HuntCrossley().dissipation
    back = compliant.variant(contact="mujoco")
    assert np.array_equal(back.parameters.default, ball.parameters.default)
    runs = [cy.rollout(s, ball.initial_state(), 300).states for s in (ball, back, compliant)]
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
    with pytest.raises(cy.Error, match="stiffness"):
        ball.variant(contact=cy.HuntCrossley(stiffness=1e5))
    with pytest.raises(cy.Error, match="mujoco"):
        compliant.variant(contact="compliant")
