"""Rods that twist: closed forms, gradients, and motions that go all the way round."""

import numpy as np
import pytest
from soft_touch_test import along_the_gradient

import cycloid as cy
from cycloid import soft

EULER = 2 * 4.493409457909064  # a clamped rod under torque gives way at this times EI/L (Greenhill)


def spiral(n=7):
    t = np.linspace(0, 2.5, n)
    return np.c_[0.3 * np.cos(t), 0.3 * np.sin(t), 0.15 * t]


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "bdf2"])
def test_gradients_of_a_curved_rod_that_is_twisted_and_pushed(integrator):
    body = soft.rod(
        spiral(),
        young=1e6,
        pinned=[0, 1, 5, 6],
        damping=0.01,
        drag=0.1,
        inputs=("twist", "force", "pinned"),
        integrator=integrator,
    )
    rng = np.random.default_rng(0)
    controls = np.zeros((6, body.input_size))
    controls[:, :2] = np.c_[0.05 * np.arange(6), -0.2 * np.arange(6)]
    controls[:, 2:23] = 0.05 * rng.standard_normal((6, 21))
    controls[:, 23:] = 2e-3 * rng.standard_normal((6, 12))
    names = ("young", "poisson", "radius", "density", "damping", "drag", "vertices", "gravity")
    params = {name: np.asarray(body.parameters[name], float) for name in names}
    x0 = body.initial_state().copy()
    x0 += 5e-3 * rng.standard_normal(x0.size)
    worst = along_the_gradient(body, x0, controls, params)
    assert max(worst.values()) < 5e-6, worst
    # Forward mode is the same derivative.
    run = cy.rollout(body, x0, controls, params)
    way = rng.standard_normal(x0.size)
    bar = rng.standard_normal(run.states.shape)
    left = float(np.sum(bar * run.pushforward(x0_tan=way)))
    right = float(np.sum(np.asarray(run.pullback(bar).x0) * way))
    assert abs(left / right - 1) < 1e-9


def test_a_clamped_rod_gives_way_at_greenhills_torque():
    n, nu, stiffness = 40, 0.3, 1e9 * np.pi * 1e-8 / 4
    m = n + 3
    rod = soft.rod(
        np.linspace((-1 / n, 0, 0), (1 + 1 / n, 0, 0), m),
        young=1e9,
        poisson=nu,
        pinned=[0, 1, n + 1, n + 2],
        gravity=(0, 0, 0),
        inputs=("force", "twist"),
    )
    critical = EULER * (1 + nu)  # EI/GJ = 1 + ν

    def aside(part):
        u = np.zeros(rod.input_size)
        u[3 * (m // 2) + 2], u[-1] = 1e-4 * stiffness, part * critical
        rest = soft.equilibrium(rod, u=u)
        assert rest.converged
        return np.linalg.norm(rest.state[: 3 * m].reshape(m, 3)[m // 2, 1:])

    # near it the answer to a push grows as 1/(critical - angle): two of them tell where
    one, two = 1 / aside(0.95), 1 / aside(0.98)
    assert abs(0.98 + 0.03 * two / (one - two) - 1) < 0.01
    assert aside(1.02) > 100 * aside(0.95)


def test_a_clamped_rod_twists_to_and_fro_in_a_quarter_wave():
    n, young, density, nu = 40, 1e6, 1000.0, 0.3
    period = 4 * np.sqrt(density * 2 * (1 + nu) / young)  # 4 L √(ρ/G), of a length of 1
    rod = soft.rod(
        np.linspace((-1 / n, 0, 0), (1, 0, 0), n + 2),
        young=young,
        poisson=nu,
        density=density,
        pinned=[0, 1],
        gravity=(0, 0, 0),
        integrator="newmark",
        dt=period / 400,
    )
    x0 = rod.initial_state().copy()
    angles = slice(6 * (n + 2), 6 * (n + 2) + n + 1)
    middle = np.r_[0, (np.arange(n) + 0.5) / n]
    x0[angles] = 0.5 * np.sin(np.pi / 2 * middle)
    run = cy.rollout(rod, x0, 400)
    assert not run.report.failed and not run.report.unsolved
    end = run.states[:, angles][:, -1]
    assert abs(end[200] + x0[angles][-1]) < 2e-3 and abs(end[400] - x0[angles][-1]) < 2e-3
    assert abs(end[100]) < 2e-3
    assert np.abs(run.states[:, : 3 * (n + 2)] - x0[: 3 * (n + 2)]).max() < 1e-12


def rotation(axis, angle):
    k = np.cross(np.eye(3), np.asarray(axis) / np.linalg.norm(axis))
    return np.eye(3) - np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def test_a_curved_rod_that_turns_over_is_not_strained():
    # Free, thrown with a spin: segments come to point against their rest directions.
    points = spiral(9)
    rod = soft.rod(points, young=1e9, gravity=(0, 0, 0), dt=2e-3, damping=1e-3)
    n = len(points)
    spin = np.array([3.0, 5.0, -2.0])
    x0 = rod.initial_state().copy()
    middle = points.mean(axis=0)
    x0[3 * n : 6 * n] = np.cross(spin, points - middle).ravel()
    tangent = np.diff(points, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    x0[6 * n + n - 1 :] = tangent @ spin
    run = cy.rollout(rod, x0, 1000)
    assert not run.report.failed and not run.report.unsolved
    seen = cy.observe(rod, run.states, None, ("elastic_energy", "kinetic_energy"))
    energy, kinetic = (seen[name].ravel() for name in ("elastic_energy", "kinetic_energy"))
    end = np.diff(run.states[:, : 3 * n].reshape(-1, n, 3), axis=1)
    against = np.sum(end * tangent, axis=2) / np.linalg.norm(end, axis=2)
    assert np.all(against.min(axis=0) < -0.95)  # each segment has turned over
    # The strain of its spin alone, whose energy is as 1/young: 1.6e-3 here.
    assert energy.max() < 5e-3 * kinetic[0]
    assert kinetic[-1] > 0.5 * kinetic[0]


def test_energy_is_that_of_the_shape_whatever_way_it_lies():
    points = spiral(9)
    rod = soft.rod(points, young=1e6, pinned=[0, 1], inputs=("pinned", "twist"), gravity=(0, 0, 0))
    n = len(points)
    # The clamp is turned as a whole; the rest follows and is not strained.
    turn = rotation((0.2, 1, 0.4), 1.9)
    moved = (points - points[0]) @ turn.T + points[0]
    u = np.r_[(moved - points)[:2].ravel(), 0.0]
    rest = soft.equilibrium(rod, u=u)
    assert rest.converged
    x = rest.state[: 3 * n].reshape(n, 3)
    for d in (x, moved):
        lengths = np.linalg.norm(np.diff(d, axis=0), axis=1)
        assert np.allclose(lengths, np.linalg.norm(np.diff(points, axis=0), axis=1), rtol=1e-9)
    # The shape is the same: distances between all pairs of points.
    pairs = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.abs(np.linalg.norm(x[:, None] - x[None], axis=2) - pairs).max() < 1e-8


def test_rods_refuse_what_makes_no_sense():
    with pytest.raises(cy.ParameterError, match="poisson"):
        soft.rod(spiral(), poisson=0.7)
    with pytest.raises(cy.ModelError, match="pin two neighbouring points"):
        soft.rod(spiral(), pinned=[0], inputs=("twist",))
    with pytest.raises(cy.ModelError, match='"twist"|no input'):
        soft.cloth(soft.sheet((2, 2)), pinned=[0, 1], inputs=("twist",))


def test_a_rod_that_turns_back_on_itself_is_refused():
    with pytest.raises(cy.ModelError, match="turns back on itself at point 1"):
        cy.soft.rod([[0, 0, 0], [1, 0, 0], [0.5, 0, 0]])
    rod = cy.soft.rod([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    back = {"vertices": [[0, 0, 0], [1, 0, 0], [0, 0, 0.0]]}
    with pytest.raises(cy.ParameterError, match="turns back on itself at point 1"):
        cy.rollout(rod, rod.initial_state(), 1, back)


def test_cloth_and_rods_have_no_stress_of_cells():
    for body in (cy.soft.rod([[0, 0, 0], [1, 0, 0]]), cy.soft.cloth(cy.soft.sheet((1, 1)))):
        assert not {"stress", "strain", "volume"} & set(body.observables)
        with pytest.raises(cy.ModelError, match="stress"):
            cy.observe(body, body.initial_state(), names=["stress"])
