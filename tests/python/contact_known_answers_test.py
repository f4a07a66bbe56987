"""Contact where the answer is known: sliding, friction's limit, weight, symmetry.

The laws of friction that books have are those of hard contact. MuJoCo's is soft: below a speed near
μg/b, b = 2/(0.95·0.02 s), a body creeps to its stop; from 2 m/s that is 0.1 % of the way. Elliptic
cones with a large `impratio` make friction's limit the circle of the books and creep under load
small, and `solimp` starts from 0: the force then sets in without a jump, and a box slides without
hopping (docs/contact.md). Steps of 0.5 ms leave v·dt/2 of the distance, 0.1 %.
"""

import mujoco
import numpy as np
import pytest
from contact_extremes import box_on_plane, tower

import cycloid as cy

G, MU = 9.81, 0.5
SMOOTH = "0 0.95 0.005 0.5 2"  # solimp
HARD = 'cone="elliptic" impratio="100" timestep="5e-4"'


def at_rest(system):
    return cy.rollout(system, system.initial_state(), 3000, save="last").states[0].copy()


def slid(solimp, v):
    """The distance that a box slides which starts at v, and its derivatives by v, μ and g."""
    system = cy.load(box_on_plane(MU, solimp, HARD))
    x = at_rest(system)
    start = x[0]
    x[system.nq] = v
    run = cy.rollout(system, x, int((v / (MU * G) + 0.15) / system.timestep), save="last")
    assert abs(run.states[0, system.nq]) < 1e-4  # it has stopped
    bar = np.zeros(system.state_size)
    bar[0] = 1
    g = run.pullback(bar)
    by_name = system.parameters.unpack(g.params)
    return (run.states[0, 0] - start, g.x0[system.nq], by_name["geom:box.friction"][0],
            -by_name["option.gravity"][2])


def expected_slide(v):
    distance = v * v / (2 * MU * G)
    return distance, v / (MU * G), -distance / MU, -distance / G


@pytest.mark.parametrize("v", [1.0, 2.0, 3.0])
def test_a_sliding_box_stops_where_coulomb_says_and_so_do_its_derivatives(v):
    got, expected = np.array(slid(SMOOTH, v)), np.array(expected_slide(v))
    assert np.abs(got / expected - 1).max() < 0.02


def test_a_force_that_jumps_leaves_the_distance_but_not_its_derivatives():
    """The table of docs/contact.md: with the default solimp the box hops while it slides."""
    got = np.array(slid("0.9 0.95 0.001 0.5 2", 2.0)) / expected_slide(2.0) - 1
    assert abs(got[0]) < 0.002
    assert got[1:] == pytest.approx([-0.026, -0.042, -0.052], abs=0.004)


@pytest.mark.parametrize("share", [0.9, 0.98, 1.02, 1.2])
def test_a_block_on_an_incline_sticks_and_slips_at_the_friction_limit(share):
    slope = np.arctan(share * MU)
    system = cy.load(box_on_plane(MU, SMOOTH, HARD.replace("100", "1000"), np.degrees(slope)))
    run = cy.rollout(system, system.initial_state(), 3000, save=1000)
    speed = np.linalg.norm(run.states[:, system.nq : system.nq + 3], axis=1)
    gained = (speed[3] - speed[1]) / (run.times[3] - run.times[1])
    if share < 1:
        assert speed[3] < 1e-4 and gained < 1e-4  # it creeps, at the speed that the softness gives
    else:
        assert gained == pytest.approx(G * (np.sin(slope) - MU * np.cos(slope)), rel=0.02)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("masses", [(1.0, 2.0, 3.0, 0.5, 1.0), (1.0,) * 10, (1.0, 100.0)])
def test_a_resting_stack_carries_its_weight(masses, cone):
    """Of every level, from the change of momentum in a step of what lies above."""
    system = cy.load(tower(masses, option=f'cone="{cone}"'))
    x = at_rest(system)

    def lift(state):
        return state[system.nq :].reshape(len(masses), 6)[:, 2]

    force = np.array(masses) * ((lift(cy.step(system, x)) - lift(x)) / system.timestep + G)
    carried, weight = (np.cumsum(part[::-1]) for part in (force, np.array(masses) * G))
    assert np.abs(carried / weight - 1).max() < 1e-6


# A table on four feet and a ball beside it, the same seen in a mirror at x = 0.
MIRROR = """<mujoco><option timestep="0.004" cone="{cone}" impratio="2"/>
  <worldbody><geom type="plane" size="5 5 1" friction="0.7" condim="4"/>
    <body name="table" pos="0 0 0.24"><freejoint/><geom type="box" size="0.3 0.2 0.05" mass="2"/>
      <geom size="0.05" pos="0.25 0.15 -0.2" mass="0.2"/>
      <geom size="0.05" pos="-0.25 0.15 -0.2" mass="0.2"/>
      <geom size="0.05" pos="0.25 -0.15 -0.2" mass="0.2"/>
      <geom size="0.05" pos="-0.25 -0.15 -0.2" mass="0.2"/></body>
    <body name="ball" pos="0 0 0.37"><freejoint/><geom size="0.08" mass="0.5"/></body>
  </worldbody></mujoco>"""
# Positions change the sign of x; turns, which are axial, those of y and z.
_POSITION, _TURN = [-1, 1, 1], [1, -1, -1]
MIRRORED = np.array([*([*_POSITION, 1, *_TURN] * 2), *([*_POSITION, *_TURN] * 2)])


def moving(system, draw):
    x = system.initial_state()
    x[:3] += draw.normal(size=3) * [0.1, 0.1, 0.002]
    x[7:9] += 0.05 * draw.normal(size=2)
    x[4:7] = 0.004 * draw.normal(size=3)
    x[14:] = 0.5 * draw.normal(size=12)
    return x


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_mirrored_motion_has_the_mirrored_gradient(cone):
    system = cy.load(MIRROR.format(cone=cone))
    draw = np.random.default_rng(4)
    x = np.stack([moving(system, draw) for _ in range(8)])
    bar = draw.normal(size=(8, 1, system.state_size))
    ours = cy.rollout(system, x, 60, save="last")
    mirrored = cy.rollout(system, MIRRORED * x, 60, save="last")
    assert np.abs(mirrored.states - MIRRORED * ours.states).max() < 1e-9
    g, h = ours.pullback(bar).x0, mirrored.pullback(MIRRORED * bar).x0
    assert np.abs(h - MIRRORED * g).max() < 1e-7 * np.abs(g).max()  # 60 steps enlarge rounding
    flight = cy.from_mujoco(mujoco.MjModel.from_xml_string(MIRROR.format(cone=cone)),
                            constraints=False)
    free = cy.rollout(flight, x, 60, save="last").pullback(bar).x0
    assert np.abs(g - free).max() > 0.1 * np.abs(free).max()  # they do touch


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_symmetric_state_has_a_symmetric_gradient(cone):
    """The ball falls on the middle of the table: nothing tells left from right."""
    system = cy.load(MIRROR.format(cone=cone))
    run = cy.rollout(system, system.initial_state(), 8, save="last")
    heights = np.zeros(system.state_size)
    heights[[2, 9]] = 1, 3
    g = run.pullback(heights).x0
    assert np.abs(g - MIRRORED * g).max() < 1e-10 * np.abs(g).max()
    assert abs(g[9]) > 0.1
