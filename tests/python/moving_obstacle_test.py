"""Obstacles that move through a staggered grid: known flows, forces, gradients, bad input."""

import numpy as np
import pytest

import cycloid as cy
from conformance import conform
from grid_flow_test import channel, differenced, directions


def bodies():
    x, y = np.meshgrid(np.linspace(0, 1, 15), np.linspace(0, 0.8, 13), indexing="ij")
    return {
        "disc": cy.fluid.Circle((0.4, 0.37), 0.13, moves=True),
        "box": cy.fluid.Box((0.43, 0.37), (0.24, 0.21), moves=True),
        "shape": cy.fluid.Shape(np.hypot(x - 0.42, y - 0.39) - 0.17, moves=True),
    }


def held_to_differences(flow, x0, u, block, way):
    """Cotangents and tangents of a run by state, its block of motion, inputs and parameters; way:
    what the block gains (steps, d)."""
    draw = np.random.default_rng(3)
    p = flow.parameters.default
    run = cy.rollout(flow, x0, u)
    assert not run.report.failed
    at = flow.state_slices[block]
    np.testing.assert_allclose(run.states[1:, at] - x0[at], way, atol=1e-15)
    bar = draw.normal(size=run.states.shape)
    g = run.pullback(bar)

    def value(x0=x0, u=u, p=p):
        return float(np.sum(cy.rollout(flow, x0, u, p).states * bar))

    motion = np.zeros_like(x0)
    motion[at] = draw.normal(size=way.shape[1])
    for name, got, point, d in (
        ("x0", g.x0, x0, draw.normal(size=x0.shape)),
        ("x0", g.x0, x0, motion),
        ("u", g.controls, u, draw.normal(size=u.shape)),
    ):
        error, slope = differenced(lambda v, name=name: value(**{name: v}), got, point, d)
        assert error < 1e-6 and slope != 0, (name, error)
    for name, d in directions(flow, 2):
        error, slope = differenced(lambda v: value(p=v), g.params, p, 1e-2 * d)
        assert error < 1e-6, (name, error, slope)
        assert name == "density" or abs(slope) > 1e-6, name
    tangents = {"x0_tan": draw.normal(size=x0.shape), "controls_tan": draw.normal(size=u.shape),
                "params_tan": sum(d for _, d in directions(flow, 6))}
    along = run.pushforward(**tangents)
    back = sum(float(np.sum(a * b)) for a, b in zip(
        (g.x0, g.controls, g.params), tangents.values(), strict=True))
    assert float(np.sum(along * bar)) == pytest.approx(back, rel=1e-10)


@pytest.mark.parametrize("body", ["disc", "box", "shape"])
def test_gradients_by_differences_of_everything_that_moves_it(body):
    flow = channel([bodies()[body]], inputs=("force", "obstacle:#0.velocity"))
    draw = np.random.default_rng(1)
    x0 = flow.state(velocity=(1.0, 0.0))
    x0 += 0.05 * draw.normal(size=x0.shape)
    u = 0.2 * draw.normal(size=(4, flow.input_size))
    u[:, 2:] += (0.7, -0.5)
    way = flow.timestep * np.cumsum(u[:, 2:], axis=0)
    held_to_differences(flow, x0, u, "obstacle:#0.displacement", way)


def test_the_force_has_its_gradient_by_motion_too():
    flow = channel([bodies()["disc"]], inputs=("force", "obstacle:#0.velocity"))
    draw = np.random.default_rng(5)
    x = 0.3 * draw.normal(size=flow.state_size)
    x[-2:] *= 0.05
    u, p = 0.2 * draw.normal(size=flow.input_size), flow.parameters.default
    for name in ("drag:#0", "lift:#0", "pressure", "divergence"):
        seen = cy.observe(flow, x, u, names=name)
        bar = draw.normal(size=seen.values.shape)
        g = seen.pullback(bar)

        def value(x=x, u=u, p=p, name=name, bar=bar):
            return float(np.sum(cy.observe(flow, x, u, names=name, params=p).values * bar))

        motion = np.zeros_like(x)
        motion[-2:] = draw.normal(size=2)
        assert differenced(lambda v: value(x=v), g.x, x, motion)[0] < 1e-6, name
        assert differenced(lambda v: value(x=v), g.x, x, draw.normal(size=x.shape))[0] < 1e-6
        assert differenced(lambda v: value(u=v), g.controls, u, draw.normal(size=u.shape))[0] < 1e-6
        for which, d in directions(flow, 7):
            error, _ = differenced(lambda v: value(p=v), g.params, p, 1e-2 * d)
            assert error < 5e-6, (name, which, error)


def drawn_through_a_channel(still_body, n=24, seconds=3.0):
    """A disc in a periodic channel whose walls go with the frame: the body moves, or the rest."""
    speed, dt = 0.5, 0.012 * 24 / n
    wall = ("wall", (speed if still_body else 0.0, 0.0))
    flow = cy.fluid.grid(
        (2 * n, n), (2.0, 1.0), viscosity=0.02, dt=dt, boundary={"bottom": wall, "top": wall},
        obstacles=[cy.fluid.Circle((0.8, 0.45), 0.15, moves=not still_body)],
        inputs=("obstacle:#0.velocity",))
    x0 = flow.state(velocity=(speed if still_body else 0.0, 0.0))
    steps = round(seconds / dt)
    u = np.zeros((steps + 1, 2))
    u[:, 0] = 0.0 if still_body else -speed
    run = cy.rollout(flow, x0, u[:-1])
    assert not run.report.failed
    last = slice(-round(0.24 / dt) - 1, None)  # while it crosses some cells
    drag = cy.observe(flow, run.states[last], u[last], names="drag:#0").values[:, 0]
    assert cy.observe(flow, run.states[-1], u[-1], names="divergence").values.item() < 1e-11
    return drag


def test_a_body_that_moves_feels_what_one_in_a_wind_does():
    moved, blown = drawn_through_a_channel(False), drawn_through_a_channel(True)
    assert blown.std() < 0.02 * blown.mean()
    assert moved.mean() == pytest.approx(blown.mean(), rel=0.03)
    assert np.abs(moved / blown.mean() - 1).max() < 0.1  # what the grid adds as it is crossed


def test_a_body_that_is_accelerated_pushes_its_added_mass():
    n, radius, a = 64, 0.1, 2.0
    flow = cy.fluid.grid(
        (n, n), (1.0, 1.0), viscosity=1e-6, density=3.0, dt=1e-3,
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), "wall"),
        obstacles=[cy.fluid.Circle((0.5, 0.5), radius, moves=True)],
        inputs=("obstacle:#0.velocity",))
    u = np.zeros((6, 2))
    u[:, 0] = a * flow.timestep * np.arange(1, 7)
    run = cy.rollout(flow, flow.state(), u)
    force = cy.observe(flow, run.states[:-1], u, names="drag:#0").values[:, 0]
    # ρ π R² in the open; walls at 5 R around it add (1 + share) / (1 - share), about.
    share = (2 * radius) ** 2 * np.pi / 4
    mass = 3.0 * np.pi * radius**2 * (1 + share) / (1 - share)
    assert force[1:] == pytest.approx(np.full(5, -mass * a), rel=0.06)


def test_what_stands_still_is_a_body_that_does_not_move():
    u = np.zeros((5, 2))
    runs = []
    for moves in (False, True):
        flow = channel([cy.fluid.Circle((0.4, 0.37), 0.13, moves=moves)],
                       inputs=("obstacle:#0.velocity",))
        runs.append(cy.rollout(flow, flow.state(velocity=(1.0, 0.0)), u).states)
    np.testing.assert_array_equal(runs[0], runs[1][:, : runs[0].shape[1]])


def test_conformance():
    flow = channel([bodies()["disc"]], shape=(8, 6), inputs=("obstacle:#0.velocity",))
    draw = np.random.default_rng(11)
    x0 = 0.2 * draw.normal(size=(5, flow.state_size))
    x0[:, -2:] *= 0.1
    conform(flow, x0, 0.2 * draw.normal(size=(5, 4, 2)))


def test_a_body_that_leaves_the_box_is_stopped_and_named():
    flow = channel([bodies()["disc"]], inputs=("obstacle:#0.velocity",))
    u = np.tile([0.0, -1.5], (60, 1))
    run = cy.rollout(flow, flow.state(), u)
    (failed,) = run.report.failed
    assert "through a side" in failed.reason and failed.body == "obstacle:#0"
    assert 10 < failed.step < 30 and np.isfinite(run.states).all()
    with pytest.raises(cy.ModelError, match="stay in their places in a lattice"):
        cy.fluid.lattice((14, 12), obstacles=[cy.fluid.Circle((7, 6), 2, moves=True)])
    with pytest.raises(TypeError, match="moves is True or False"):
        cy.fluid.Circle((0.1, 0.1), 0.1, moves="yes")
