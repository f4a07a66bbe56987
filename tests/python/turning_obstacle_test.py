"""Obstacles whose shape turns in a staggered grid: known flows, gradients, bad input."""

import numpy as np
import pytest

import cycloid as cy
from conformance import conform
from grid_flow_test import channel, differenced
from moving_obstacle_test import held_to_differences


def ellipse(turned=0.0):
    """Signed distances on the grid of `channel`, about, of an ellipse around (0.42, 0.39)."""
    x, y = np.meshgrid(np.linspace(0, 1, 15), np.linspace(0, 0.8, 13), indexing="ij")
    c, s = np.cos(turned), np.sin(turned)
    along, across = c * (x - 0.42) + s * (y - 0.39), -s * (x - 0.42) + c * (y - 0.39)
    return 0.17 * (np.hypot(along / 0.23, across / 0.14) - 1)


def bodies():
    return {
        "box": cy.fluid.Box((0.43, 0.37), (0.27, 0.18), turns=True),
        "box that moves": cy.fluid.Box((0.43, 0.37), (0.27, 0.18), moves=True, turns=True),
        "shape": cy.fluid.Shape(ellipse(), turns=True, pivot=(0.4, 0.42)),
        "wing": cy.fluid.Airfoil("2430", (0.22, 0.41), 0.5, (14, 12), (1.0, 0.8), moves=True,
                                 turns=True),
    }


@pytest.mark.parametrize("body", list(bodies()))
def test_gradients_by_differences_of_everything_that_turns_it(body):
    names = ("obstacle:#0.velocity", "obstacle:#0.angular_velocity")
    flow = channel([bodies()[body]], inputs=names)
    draw = np.random.default_rng(1)
    x0 = flow.state(velocity=(1.0, 0.0))
    x0 += 0.05 * draw.normal(size=x0.shape)
    u = 0.2 * draw.normal(size=(4, 3)) + (0.3, -0.2, 3.0)
    turned = flow.timestep * np.cumsum(u[:, 2:], axis=0)
    held_to_differences(flow, x0, u, "obstacle:#0.angle", turned)


@pytest.mark.parametrize("name", ["drag:#0", "pressure"])
def test_forces_have_their_gradient_by_the_angle(name):
    flow = channel([bodies()["box that moves"]], inputs=("obstacle:#0.angular_velocity",))
    draw = np.random.default_rng(5)
    x, u = 0.3 * draw.normal(size=flow.state_size), np.array([2.0])
    x[-3:] *= 0.05
    seen = cy.observe(flow, x, u, names=name)
    bar = draw.normal(size=seen.values.shape)
    g = seen.pullback(bar)

    def value(x=x, u=u):
        return float(np.sum(cy.observe(flow, x, u, names=name).values * bar))

    for slot in range(flow.state_size - 3, flow.state_size):
        assert differenced(lambda v: value(x=v), g.x, x, np.eye(flow.state_size)[slot])[0] < 1e-6
    assert differenced(lambda v: value(u=v), g.controls, u, np.ones(1))[0] < 1e-6


def test_the_error_of_the_first_order_falls_with_the_square_of_the_step():
    flow = channel([bodies()["box"]], inputs=("obstacle:#0.angular_velocity",))
    x0, u = flow.state(velocity=(1.0, 0.0)), np.full((6, 1), 3.0)

    def value(u):
        run = cy.rollout(flow, x0, u)
        seen = cy.observe(flow, run.states[-1], np.zeros(1), names="lift:#0")
        return float(seen.values[0]), run, seen

    start, run, seen = value(u)
    bar = np.zeros_like(run.states)
    bar[-1] = seen.pullback(np.ones(1)).x
    slope = float(np.sum(run.pullback(bar).controls))
    steps = np.array([2e-2, 1e-2, 5e-3, 2.5e-3])
    rest = [abs(value(u + e)[0] - start - e * slope) for e in steps]
    assert abs(slope) > 1e-4
    assert np.polyfit(np.log(steps), np.log(rest), 1)[0] == pytest.approx(2, abs=0.15)


def test_a_quarter_turn_is_the_box_on_its_side():
    u = np.zeros((5, 1))
    runs = []
    for size, angle in (((0.27, 0.18), np.pi / 2), ((0.18, 0.27), 0.0)):
        flow = channel([cy.fluid.Box((0.43, 0.37), size, turns=True)],
                       inputs=("obstacle:#0.angular_velocity",))
        x0 = flow.state(velocity=(1.0, 0.0))
        x0[-1] = angle
        runs.append(cy.rollout(flow, x0, u).states[:, :-1])
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-12)


def test_a_disc_by_its_array_turns_as_the_surface_of_a_disc_does():
    n, dt = 32, 0.01
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
    disc = np.hypot(x - 0.5, y - 0.5) - 0.2
    ends = []
    for body in (cy.fluid.Circle((0.5, 0.5), 0.2),
                 cy.fluid.Shape(disc, turns=True, pivot=(0.5, 0.5))):
        flow = cy.fluid.grid(
            (n, n), (1.0, 1.0), viscosity=0.01, dt=dt, obstacles=[body],
            boundary=dict.fromkeys(("left", "right", "bottom", "top"), "wall"),
            inputs=("obstacle:#0.angular_velocity",))
        run = cy.rollout(flow, flow.state(), np.full((60, 1), 2.0), save="last")
        assert not run.report.failed
        assert cy.observe(flow, run.states[-1], np.full(1, 2.0),
                          names="divergence").values.item() < 1e-11
        ends.append(flow.velocity(run.states[-1], [[0.5, 0.8], [0.75, 0.75], [0.15, 0.5]]))
    assert np.abs(ends[0]).max() > 0.1
    np.testing.assert_allclose(ends[1], ends[0], atol=0.02 * np.abs(ends[0]).max())


def test_an_ellipse_that_is_set_spinning_takes_its_potential_flow_round_with_it():
    n, a, b, spin = 48, 0.28, 0.12, 1.5
    x, y = np.meshgrid(*[np.linspace(-0.5, 0.5, n + 1)] * 2, indexing="ij")
    level = np.hypot(x / a, y / b)
    sdf = level * (level - 1) / np.maximum(np.hypot(x / a**2, y / b**2), 1e-9)
    sdf[n // 2, n // 2] = -b
    flow = cy.fluid.grid(
        (n, n), (1.0, 1.0), viscosity=1e-6, dt=0.005,
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), "wall"),
        obstacles=[cy.fluid.Shape(sdf, turns=True, pivot=(0.5, 0.5))],
        inputs=("obstacle:#0.angular_velocity",))

    def impulse(angle):
        x0 = flow.state()
        x0[-1] = angle - flow.timestep * spin
        return cy.rollout(flow, x0, np.full((1, 1), spin)).states[-1]

    place = flow.points.reshape(-1, 2) - 0.5
    never = np.hypot(*place.T) > a + 1.5 / n  # where the ellipse never comes

    def around(state):
        return flow.field(state, "velocity").reshape(-1, 2)[never]

    end = cy.rollout(flow, flow.state(), np.full((20, 1), spin), save="last").states[-1]
    turned = around(impulse(end[-1]))
    size = np.linalg.norm(turned)
    assert np.linalg.norm(around(end) - turned) < 0.1 * size  # no slip sheds some vorticity
    assert np.linalg.norm(around(impulse(0.0)) - turned) > 0.4 * size
    # Its added moment of inertia in the open is π/8 ρ (a² - b²)²; walls at 0.5 add to it.
    v = flow.field(impulse(0.0), "velocity").reshape(-1, 2)
    energy = 0.5 * np.sum(v[np.hypot(place[:, 0] / a, place[:, 1] / b) > 1] ** 2) / n**2
    assert energy == pytest.approx(0.5 * np.pi / 8 * (a**2 - b**2) ** 2 * spin**2, rel=0.15)


def test_conformance():
    flow = channel([bodies()["box that moves"]], shape=(8, 6),
                   inputs=("obstacle:#0.velocity", "obstacle:#0.angular_velocity"))
    draw = np.random.default_rng(11)
    x0 = 0.2 * draw.normal(size=(5, flow.state_size))
    x0[:, -3:] *= 0.1
    conform(flow, x0, 0.2 * draw.normal(size=(5, 4, 3)))


def test_what_cannot_turn_is_named():
    with pytest.raises(cy.ModelError, match="turns about its pivot"):
        cy.fluid.Shape(ellipse(), turns=True)
    with pytest.raises(cy.ModelError, match="turns about its pivot"):
        cy.fluid.Shape(ellipse(), pivot=(0.4, 0.4))
    with pytest.raises(TypeError, match="turns is True or False"):
        cy.fluid.Box((0.1, 0.1), (0.1, 0.1), turns=1)
    with pytest.raises(cy.ModelError, match="turn in the plane"):
        cy.fluid.grid((6, 6, 6), 1.0, dt=0.01, obstacles=[
            cy.fluid.Box((0.5, 0.5, 0.5), (0.4, 0.4, 0.4), turns=True)])
    with pytest.raises(cy.ModelError, match="stay in their places in a lattice"):
        cy.fluid.lattice((14, 12), obstacles=[cy.fluid.Box((7, 6), (3, 4), turns=True)])
    flow = channel([bodies()["box"]], inputs=("obstacle:#0.angular_velocity",))
    (failed,) = cy.rollout(flow, flow.state(), np.full((3, 1), 200.0)).report.failed
    assert failed.body == "obstacle:#0" and "more than a cell" in failed.reason
