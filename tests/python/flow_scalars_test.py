"""Temperature and concentration in flows: at obstacles, together, and with moving bodies."""

import numpy as np
import pytest

import cycloid as cy
from conformance import conform
from grid_flow_test import channel, differenced, directions


def both(**more):
    """Temperature at a hot disc, concentration that does not pass it."""
    return dict(
        temperature=cy.fluid.Temperature(
            0.03, expansion=0.2, gravity=(1.0, -9.81), boundary={"left": 1.0, "obstacle:#0": 0.7}),
        concentration=cy.fluid.Concentration(0.02, expansion=-0.1, boundary={"bottom": 0.5}),
        **more)


@pytest.mark.parametrize("moves", [False, True])
def test_gradients_of_both_at_an_obstacle_by_differences(moves):
    flow = channel([cy.fluid.Circle((0.4, 0.37), 0.13, moves=moves)],
                   **both(inputs=("force", "obstacle:#0.velocity")))
    draw = np.random.default_rng(6)
    x0 = flow.state(velocity=(1.0, 0.0), temperature=0.5)
    x0 += 0.1 * draw.normal(size=x0.shape)
    u, p = 0.2 * draw.normal(size=(4, 4)), flow.parameters.default
    run = cy.rollout(flow, x0, u)
    bar = draw.normal(size=run.states.shape)
    g = run.pullback(bar)

    def value(x0=x0, u=u, p=p):
        return float(np.sum(cy.rollout(flow, x0, u, p).states * bar))

    for block in ("velocity", "temperature", "concentration"):
        d = np.zeros_like(x0)
        d[flow.state_slices[block]] = draw.normal(size=d[flow.state_slices[block]].size)
        error, slope = differenced(lambda v: value(x0=v), g.x0, x0, d)
        assert error < 1e-6 and slope != 0, block
    assert differenced(lambda v: value(u=v), g.controls, u, draw.normal(size=u.shape))[0] < 1e-6
    for name, d in directions(flow, 2):
        error, slope = differenced(lambda v: value(p=v), g.params, p, 1e-2 * d)
        assert error < 2e-6 and (abs(slope) > 1e-6 or name == "density"), (name, error, slope)
    for shown in ("drag:#0", "lift:#0"):
        seen = cy.observe(flow, x0, u[0], names=shown)
        g = seen.pullback(np.ones_like(seen.values))

        def force(x=x0, p=p, shown=shown):
            return float(cy.observe(flow, x, u[0], names=shown, params=p).values[0])

        assert differenced(lambda v: force(x=v), g.x, x0, draw.normal(size=x0.shape))[0] < 1e-6
        for name, d in directions(flow, 9):
            assert differenced(lambda v: force(p=v), g.params, p, 1e-2 * d)[0] < 5e-6, name


def test_conduction_between_a_hot_disc_and_a_cold_ring():
    # T = log(r / R) / log(r0 / R): a disc of radius r0 in one of radius R, by signed distance.
    inner, outer, errors = 0.17, 0.43, []
    for n in (24, 48):
        x, y = np.meshgrid(*2 * (np.linspace(0, 1, n + 1),), indexing="ij")
        flow = cy.fluid.grid(
            (n, n), (1.0, 1.0), viscosity=0.01, dt=0.2 / n**2,
            obstacles=[cy.fluid.Circle((0.5, 0.5), inner),
                       cy.fluid.Shape(outer - np.hypot(x - 0.5, y - 0.5))],
            boundary=dict.fromkeys(("left", "right", "bottom", "top"), "wall"),
            temperature=cy.fluid.Temperature(
                1.0, boundary={"obstacle:#0": 1.0, "obstacle:#1": 0.0}))
        end = cy.rollout(flow, flow.state(), round(0.15 / flow.timestep), save="last").states[-1]
        r = np.hypot(*(np.moveaxis(flow.points, -1, 0) - 0.5))
        between = (r > inner) & (r < outer)
        exact = np.log(r / outer) / np.log(inner / outer)
        errors.append(np.abs(flow.field(end, "temperature") - exact)[between].max())
    assert errors[1] < 1.5e-3 and np.log2(errors[0] / errors[1]) > 1.7


def test_what_does_not_pass_an_obstacle_is_kept():
    flow = cy.fluid.grid(
        (20, 16), (1.0, 0.8), viscosity=0.02, dt=0.01, inputs=("force",),
        boundary={"bottom": "wall", "top": "slip"},
        obstacles=[cy.fluid.Circle((0.03, 0.37), 0.13)],  # across the ends of a ring
        temperature=cy.fluid.Temperature(0.01))
    x0 = flow.state(velocity=(0.5, 0.0), temperature=lambda x, y: np.sin(3 * x) + y)
    u = np.zeros((200, 2))
    u[:, 0] = 0.5
    start = cy.step(flow, x0)  # without divergence
    heat = cy.rollout(flow, start, u).states[:, flow.state_slices["temperature"]].sum(1)
    assert np.abs(heat - heat[0]).max() < 1e-10 * abs(heat[0])


def test_a_constant_stays_constant_while_a_body_moves():
    flow = channel([cy.fluid.Circle((0.4, 0.37), 0.13, moves=True)],
                   inputs=("obstacle:#0.velocity",), temperature=cy.fluid.Temperature(0.02))
    x0 = flow.state(velocity=(1.0, 0.0), temperature=3.0)
    run = cy.rollout(flow, x0, np.tile([0.6, 0.3], (30, 1)))
    T = run.states[:, flow.state_slices["temperature"]]
    assert np.abs(T - 3.0).max() < 1e-12 and not run.report.failed


def test_salt_and_heat_can_hold_each_other():
    # Warm and salt water over cold and fresh water, their buoyancies equal: nothing moves.
    flow = cy.fluid.grid(
        (8, 16), (0.5, 1.0), viscosity=0.01, dt=0.01,
        boundary={"bottom": "wall", "top": "wall"},
        temperature=cy.fluid.Temperature(0.01, expansion=0.2, gravity=(0.0, -9.81)),
        concentration=cy.fluid.Concentration(0.01, expansion=-0.4))
    ramp = lambda x, y: np.cos(2 * np.pi * x / 0.5) * y  # noqa: E731
    x0 = flow.state(temperature=ramp, concentration=lambda x, y: 0.5 * ramp(x, y))
    run = cy.rollout(flow, x0, 50)
    assert np.abs(run.states[:, flow.state_slices["velocity"]]).max() < 1e-12
    alone = flow.state(temperature=ramp)
    assert np.abs(cy.rollout(flow, alone, 50).states[:, flow.state_slices["velocity"]]).max() > 0.1


def test_conformance():
    flow = channel([cy.fluid.Circle((0.4, 0.37), 0.16)], shape=(8, 6), **both(inputs=("force",)))
    draw = np.random.default_rng(11)
    conform(flow, 0.2 * draw.normal(size=(5, flow.state_size)), 0.2 * draw.normal(size=(5, 4, 2)))
