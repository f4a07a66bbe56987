"""What a rollout reports about its constraints."""

import warnings

import numpy as np
import pytest

import cycloid as cy

# A body on 17 × 17 balls: 289 contacts, of which 256 have room.
BED = """<mujoco model="bed"> <option timestep="0.004"/>
  <worldbody> <geom type="plane" size="5 5 1"/>
  <body pos="0 0 {height}"> <freejoint/> <replicate count="17" offset="0.11 0 0">
    <replicate count="17" offset="0 0.11 0"> <geom size="0.05"/> </replicate> </replicate> </body>
  </worldbody> </mujoco>"""

BOX = """<mujoco> <worldbody> <geom type="plane" size="5 5 1"/> <body pos="0 0 0.1"> <freejoint/>
  <geom type="box" size="0.1 0.1 0.101"/> </body> </worldbody> </mujoco>"""


@pytest.fixture(scope="module")
def bed():
    return cy.load(BED.format(height=0.049))


def batch_of(system, heights):
    x = np.tile(system.initial_state(), (len(heights), 1))
    x[:, 2] = heights
    return x


def test_contacts_without_room_are_reported_per_environment(bed):
    falling = 0.051  # touches in the second or third step
    x = batch_of(bed, [0.049, 1.0, falling, 0.049, 1.0])
    run = cy.rollout(bed, x, 10)
    assert [row.environment for row in run.report.crowded] == [0, 2, 3]
    assert [row.step == 0 for row in run.report.crowded] == [True, False, True]
    assert run.report.crowded[0] == cy.Crowded(environment=0, step=0, count=10)
    assert "contacts" in run.report.advice and "3 CROWDED" in repr(run)
    assert not run.report.unsolved and not run.report.failed


def test_the_report_is_the_same_whatever_is_kept_and_whoever_computes(bed):
    heights = [0.049, 1.0, 0.051, 0.0505, 1.0, 0.049, 0.2, 0.05, 0.049]
    x = batch_of(bed, heights)
    report = cy.rollout(bed, x, 9, memory="all", threads=1).report
    assert report.crowded
    for memory in ("sqrt", 2, "auto"):
        other = cy.rollout(bed, x, 9, memory=memory, threads=2).report
        assert (other.crowded, other.contacts) == (report.crowded, report.contacts)
    part = cy.rollout(bed, x[2:5], 9).report.crowded
    own = [row._replace(environment=row.environment - 2) for row in report.crowded]
    assert part == [row for row in own if 0 <= row.environment < 3]


def test_the_gradient_of_a_crowded_step_is_that_of_the_step_taken(bed):
    run = cy.rollout(bed, batch_of(bed, [0.045]), 2, save="last")
    bar = np.zeros(run.states.shape)
    bar[..., 9] = 1  # the vertical velocity
    slope = run.pullback(bar).x0[0, 2]

    def velocity(height):
        return cy.rollout(bed, batch_of(bed, [height]), 2, save="last").states[0, 0, 9]

    difference = (velocity(0.045 + 1e-6) - velocity(0.045 - 1e-6)) / 2e-6
    assert abs(slope) > 1 and abs(slope - difference) < 1e-4 * abs(slope)


def test_a_step_warns_of_what_it_left_out(bed):
    with pytest.warns(cy.SolverWarning, match="environment 0: more contacts.* of 2"):
        cy.step(bed, batch_of(bed, [0.049, 0.049]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cy.step(bed, batch_of(bed, [1.0, 2.0]))


def test_what_is_seen_of_a_state_warns_as_a_step_does(bed):
    x = batch_of(bed, [1.0, 0.049, 0.049])
    with pytest.warns(cy.SolverWarning) as stepped:
        cy.step(bed, x)
    for look in (cy.forward, lambda *at: cy.observe(*at, names="qacc")):
        with pytest.warns(cy.SolverWarning) as seen:
            look(bed, x)
        assert str(seen[0].message) == str(stepped[0].message)
        assert seen[0].filename == __file__ and len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cy.observe(bed, x, names="xpos")  # takes no solve
        cy.observe(bed, x[0], names="qacc")
        cy.forward(bed, x[0])
    box = cy.load(BOX)
    x = box.initial_state()
    x[-1] = 1e160  # whose square overflows
    for look in (cy.forward, lambda *at: cy.observe(*at, names="qacc")):
        with pytest.warns(cy.SolverWarning, match="environment 0: the solver stopped"):
            look(box, x)


def test_contacts_are_counted():
    box = cy.load(BOX)
    run = cy.rollout(box, box.initial_state(), 8)
    assert run.report.contacts == 4 and run.report.advice == ""
    assert cy.rollout(cy.systems.pendulum(), [0.1, 0.0], 5).report.contacts == 0


def test_switches_of_contact_are_counted():
    ball = cy.load(
        '<mujoco> <worldbody> <geom type="plane" size="5 5 1"/> <body pos="0 0 0.2"> <freejoint/>'
        '<geom size="0.1"/> </body> </worldbody> </mujoco>'
    )
    run = cy.rollout(ball, ball.initial_state(), 100, save="last")  # it falls, and stays
    d = cy.diagnose(run, np.ones(run.states.shape))
    assert 0 < d.switch_fraction < 0.1
    run = cy.rollout(ball, ball.initial_state(), 20, save="last")
    assert cy.diagnose(run, np.ones(run.states.shape)).switch_fraction == 0


# Six boxes on each other, thrown about. Friction that is a hundred thousand times as stiff as the
# normal direction is beyond what float32 can solve.
STACK = """<mujoco> <option cone="elliptic" impratio="1e5"/>
  <worldbody> <geom type="plane" size="9 9 1"/>
  <replicate count="6" offset="0 0 0.199"> <body pos="0 0 0.1"> <freejoint/>
    <geom type="box" size="0.1 0.1 0.1" mass="1"/> </body> </replicate> </worldbody> </mujoco>"""


@pytest.fixture(scope="module")
def thrown():
    system = cy.load(STACK, dtype="float32")
    draw = np.random.default_rng(1)
    x0 = np.tile(system.initial_state(), (16, 1))
    x0[:, system.nq :] += draw.normal(size=(16, system.nv))
    x0[:, : system.nq] += 0.02 * draw.normal(size=(16, system.nq))
    return cy.rollout(system, x0, 120, save="last")


def test_a_solver_that_stops_short_is_reported_and_the_run_goes_on(thrown):
    rows = thrown.report.unsolved
    assert rows and not thrown.report.failed and np.isfinite(thrown.states).all()
    for row in rows:
        assert 0 <= row.step < 120 and 0 < row.count <= 120 - row.step
        assert row.residual > 1e-5  # the tolerance
    assert "float64" in thrown.report.advice and f"{len(rows)} UNSOLVED" in repr(thrown)


def test_a_pullback_through_an_unsolved_step_raises_or_skips_it(thrown):
    rows = [row.environment for row in thrown.report.unsolved]
    bar = np.ones(thrown.states.shape)
    with pytest.raises(cy.GradientError, match=f"environment {rows[0]}: the solver stopped short"):
        thrown.pullback(bar)
    g = thrown.pullback(bar, failed="skip")
    assert not g.x0[rows].any() and np.isfinite(g.x0).all()
    solved = sorted(set(range(16)) - set(rows))
    assert g.x0[solved].any(axis=1).all()
    assert not cy.diagnose(thrown, bar).reliable
