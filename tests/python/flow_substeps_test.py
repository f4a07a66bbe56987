"""Steps that are too large for a flow, divided where that is asked for: substeps="auto"."""

import numpy as np
import pytest

import cycloid as cy
from conformance import conform

TAU = 2 * np.pi


def channel(dt, **more):
    return cy.fluid.grid(
        (14, 9), (1.4, 0.8), viscosity=0.02, dt=dt,
        boundary={"left": ("inflow", lambda y: (1 + y, 0.2 * y)), "right": "outflow",
                  "bottom": "wall", "top": "slip"},
        obstacles=cy.fluid.Circle((0.43, 0.37), 0.13),
        inputs=("force", "obstacle:#0.velocity", "inflow:left"), **more)


def periodic(dt, **more):
    return cy.fluid.spectral("navier_stokes", shape=(12, 10), size=TAU, dt=dt, viscosity=0.02,
                             inputs="force", **more)


def moving(dt, **more):
    return cy.fluid.grid(
        (14, 12), (1.4, 1.2), viscosity=0.02, dt=dt, boundary={"bottom": "wall", "top": "wall"},
        obstacles=cy.fluid.Circle((0.4, 0.57), 0.23, moves=True), inputs=("obstacle:#0.velocity",),
        **more)


KINDS = {  # how fast, and the step that is divided by four
    channel: (1.0, 0.16),
    periodic: (1.5, 0.9),
    moving: (1.0, 0.16),
}


def start(flow, speed, seed=0):
    x = flow.state(velocity=lambda x, y: (speed * np.cos(y), speed * np.sin(x)))
    x[: x.size // 2] += 0.05 * np.random.default_rng(seed).normal(size=x.size // 2)
    return x


@pytest.mark.parametrize("make", KINDS)
def test_a_step_in_parts_is_so_many_steps_with_their_gradient(make):
    speed, dt = KINDS[make]
    whole, parts = make(dt, substeps="auto"), make(dt / 4)
    x = start(whole, speed)
    u = np.zeros((1, whole.input_size))
    u[:, :4] = 0.1
    with pytest.raises(cy.Error, match="CFL"):
        cy.rollout(make(dt / 2), x, np.repeat(u, 2, axis=0))
    one, four = cy.rollout(whole, x, u), cy.rollout(parts, x, np.repeat(u, 4, axis=0))
    assert one.report.counters["substeps"] == 4
    np.testing.assert_array_equal(one.states[-1], four.states[-1])
    bar = np.zeros((2, whole.state_size))
    bar[-1] = np.random.default_rng(1).normal(size=whole.state_size)
    bars = np.zeros((5, whole.state_size))
    bars[-1] = bar[-1]
    g, h = one.pullback(bar), four.pullback(bars)
    for got, known in ((g.x0, h.x0), (g.controls[0], h.controls.sum(axis=0)),
                       (g.params, h.params)):
        assert np.abs(known).max() > 1e-3
        np.testing.assert_allclose(got, known, rtol=1e-12, atol=1e-12 * np.abs(known).max())
    tan = np.random.default_rng(2).normal(size=whole.state_size)
    np.testing.assert_allclose(one.pushforward(x0_tan=tan)[-1], four.pushforward(x0_tan=tan)[-1],
                               rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [channel, periodic])
def test_a_flow_that_gets_faster_divides_its_steps_and_keeps_its_gradient(make):
    flow = make(KINDS[make][1] / 4, substeps="auto")
    draw = np.random.default_rng(3)
    x = start(flow, 0.3)
    u = 0.1 * draw.normal(size=(12, flow.input_size))
    pushed = slice(4, None, 2) if make is channel else 0  # what flows in, or all
    u[:, pushed] += np.linspace(0.0, 4.0, 12).reshape([12] + [1] * (make is channel))
    run = cy.rollout(flow, x, u)
    assert not run.report.failed
    counts = [cy.rollout(flow, run.states[k], u[k : k + 1]).report.counters["substeps"]
              for k in range(12)]
    assert counts[0] < counts[-1] and sum(counts) == 12 * run.report.counters["substeps"]

    def value(x=x, u=u, p=flow.parameters.default):
        return 0.5 * float(np.sum(cy.rollout(flow, x, u, p, save="last").states ** 2))

    last = cy.rollout(flow, x, u, save="last")
    g = last.pullback(last.states)
    moved = {"x": (g.x0, x), "u": (g.controls, u), "p": (g.params, flow.parameters.default)}
    for name, (gradient, at) in moved.items():
        d = draw.normal(size=at.shape) * (np.abs(at) if name == "p" else 1)
        slope = float(np.sum(gradient * d))
        best = min(abs((value(**{name: at + h * d}) - value(**{name: at - h * d})) / (2 * h)
                       - slope) for h in (1e-4, 1e-5, 1e-6))
        assert best < 1e-6 * abs(slope), (name, best / abs(slope))


def test_what_no_substep_bears_is_refused_and_reported():
    flow = cy.fluid.grid((16, 16), 1.0, viscosity=1e-3, dt=0.05, inputs=("force",),
                         substeps="auto")
    fast = flow.state(velocity=lambda x, y: (200 + 0 * x, 0 * y))
    with pytest.raises(cy.Error, match=r"even in 64 substeps of 0\.00078\d* s: CFL.*at most"):
        cy.rollout(flow, fast, 1)
    u = np.zeros((60, 2))
    u[:, 0] = 100.0
    run = cy.rollout(flow, flow.state(), u)
    (failed,) = run.report.failed
    assert "even in 64 substeps" in failed.reason and "cell (" in failed.body
    assert failed.step == 27 and np.isfinite(run.states).all()  # at 138 m/s: beyond 1.73 cells
    box = cy.fluid.spectral("navier_stokes", shape=(8, 8), size=1.0, dt=1.0, substeps="auto")
    with pytest.raises(cy.Error, match="even in 64 substeps.*CFL"):
        cy.rollout(box, box.state(velocity=lambda x, y: (50 + 0 * x, 0 * y)), 1)
    for wrong in (4, "always", True):
        with pytest.raises(cy.ModelError, match='None or "auto"'):
            cy.fluid.grid((8, 8), 1.0, substeps=wrong)


@pytest.mark.parametrize("make", [channel, periodic])
def test_float32(make):
    narrow, wide = (make(KINDS[make][1], substeps="auto", dtype=d) for d in ("float32", "float64"))
    x = start(wide, KINDS[make][0])
    a, b = cy.rollout(narrow, x, 3), cy.rollout(wide, x, 3)
    assert a.report.counters == b.report.counters
    np.testing.assert_allclose(a.states, b.states, atol=1e-4)


@pytest.mark.parametrize("make", [channel, periodic])
def test_conformance(make):
    flow = make(KINDS[make][1], substeps="auto")
    draw = np.random.default_rng(11)
    speeds = (0.1, 0.5, 1.0, 1.0, 1.5)
    x0 = np.stack([start(flow, KINDS[make][0] * s, seed) for seed, s in enumerate(speeds)])
    conform(flow, x0, 0.2 * draw.normal(size=(5, 4, flow.input_size)))
