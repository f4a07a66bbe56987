"""Viscosity after Crank and Nicolson on staggered grids: order, large steps, gradients."""

import numpy as np
import pytest

import cycloid as cy
from conformance import conform
from grid_flow_test import TAU, channel, differenced, directions, disc, vortices

WALLS = dict.fromkeys(("left", "right", "bottom", "top"), "wall")


@pytest.mark.parametrize("kind", ["open", "disc", "moving", "heated", "maccormack"])
def test_gradients_by_differences(kind):
    more = {"advection": "maccormack"} if kind == "maccormack" else {}
    if kind == "heated":
        more["temperature"] = cy.fluid.Temperature(
            0.03, expansion=0.2, gravity=(1.0, -9.81), boundary={"left": 1.0})
    inputs = ("force", "inflow:left", "wall:bottom")
    obstacles = []
    if kind in ("disc", "moving"):
        obstacles = [cy.fluid.Circle((0.4, 0.37), 0.13, moves=kind == "moving")]
        inputs += ("obstacle:#0.velocity",)
    flow = channel(obstacles, inputs=inputs, viscous="implicit", **more)
    draw = np.random.default_rng(1)
    x0 = cy.step(flow, 0.1 * draw.normal(size=flow.state_size), params={"viscosity": 0.5})
    d = cy.step(flow, 0.1 * draw.normal(size=flow.state_size), params={"viscosity": 0.5}) - x0
    u = 0.05 * draw.normal(size=(3, flow.input_size))
    p = flow.parameters.pack({"viscosity": 0.5})  # 25 times what an explicit step bears
    run = cy.rollout(flow, x0, u, p)
    assert not run.report.failed and run.report.counters["viscous_iterations"] > 10
    bar = draw.normal(size=run.states.shape)
    g = run.pullback(bar)

    def value(x0=x0, u=u, p=p):
        return float(np.sum(cy.rollout(flow, x0, u, p).states * bar))

    for name, got, point, way in (
        ("x0", g.x0, x0, d), ("u", g.controls, u, draw.normal(size=u.shape))):
        error, slope = differenced(lambda v, name=name: value(**{name: v}), got, point, way)
        assert error < 1e-6 and slope != 0, (name, error)
    for name, way in directions(flow, 2):
        error, slope = differenced(lambda v: value(p=v), g.params, p, 1e-2 * way)
        assert error < 1e-6, (name, error, slope)
        assert name == "density" or abs(slope) > 1e-7, name


def test_second_order_in_time_between_walls():
    def end(dt, start=None):
        flow = cy.fluid.grid((24, 24), (1.0, 1.0), viscosity=0.05, dt=dt, viscous="implicit",
                             boundary=WALLS | {"top": ("wall", (1.0, 0.0))})
        x = flow.state() if start is None else start
        return cy.rollout(flow, x, round(0.32 / dt), save="last").states[-1]

    start = cy.rollout(cy.fluid.grid(
        (24, 24), (1.0, 1.0), viscosity=0.05, dt=0.002,
        boundary=WALLS | {"top": ("wall", (1.0, 0.0))}),
        np.zeros(1200), 100, save="last").states[-1]
    exact = end(0.00125, start)
    errors = [np.abs(end(dt, start) - exact).max() for dt in (0.04, 0.02, 0.01)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.75).all(), (errors, orders)


def test_vortices_fade_as_the_law_says_at_steps_that_no_explicit_scheme_bears():
    flow = cy.fluid.grid((64, 64), (TAU, TAU), viscosity=1.0, dt=0.05, viscous="implicit")
    explicit = cy.fluid.grid((64, 64), (TAU, TAU), viscosity=1.0, dt=0.05)
    x0 = flow.state(velocity=vortices)
    with pytest.raises(cy.Error, match="CFL"):
        cy.rollout(explicit, x0, 1)
    x = cy.rollout(flow, x0, 10, save="last").states[-1]
    assert np.abs(x - np.exp(-1.0) * x0).max() < 2e-3
    assert cy.observe(flow, x, names="divergence").values.item() < 1e-12


def test_the_flow_at_rest_and_its_drag_are_those_of_explicit_viscosity():
    drags = []
    for viscous, dt in (("explicit", 0.004), ("implicit", 0.02)):
        flow = cy.fluid.grid(
            (40, 24), (1.6, 0.96), viscosity=0.08, dt=dt, viscous=viscous,
            boundary={"left": ("inflow", (0.4, 0.0)), "right": "outflow", "bottom": "slip",
                      "top": "slip"},
            obstacles=[cy.fluid.Circle((0.6, 0.45), 0.13)])
        x = cy.rollout(flow, flow.state(), round(8 / dt), save="last").states[-1]
        drags.append(cy.observe(flow, x, names="drag:#0").values.item())
    # What the split of pressure and friction leaves at the wall.
    assert drags[1] == pytest.approx(drags[0], rel=2e-3)


def test_float32_and_conformance():
    wide, narrow = (channel([disc()], viscous="implicit", dtype=d) for d in ("float64", "float32"))
    x0 = 0.2 * np.random.default_rng(3).normal(size=wide.state_size)
    np.testing.assert_allclose(cy.rollout(narrow, x0, 5).states, cy.rollout(wide, x0, 5).states,
                               atol=3e-5)
    flow = channel([disc()], shape=(8, 6), inputs=("force",), viscous="implicit")
    draw = np.random.default_rng(11)
    conform(flow, 0.2 * draw.normal(size=(5, flow.state_size)), 0.2 * draw.normal(size=(5, 4, 2)))
    with pytest.raises(cy.ModelError, match='"explicit" or "implicit"'):
        channel(viscous="both")
