"""The tasks of Mosaic, a public benchmark of differentiable solvers, and long wakes."""

import os

import numpy as np
import pytest

import cycloid as cy

TAU = 2 * np.pi
LONG = pytest.mark.skipif(
    not os.environ.get("CYCLOID_LONG_TESTS"), reason="minutes: CYCLOID_LONG_TESTS=1"
)


def ring(kind, d, n, nu, dt):
    """A periodic box [0, 2π]^d with n^d nodes or cells, and vortices with some noise in it."""
    if kind == "spectral":
        flow = cy.fluid.spectral("navier_stokes", shape=(n,) * d, size=TAU, dt=dt, viscosity=nu)
    else:
        flow = cy.fluid.grid((n,) * d, TAU, viscosity=nu, dt=dt)

    def vortices(x, y, *z):
        up = np.cos(z[0]) if z else 1.0
        rest = (0.1 * np.sin(x + 2 * y),) if z else ()
        first = np.sin(x) * np.cos(y) * up + 0.1 * np.sin(3 * y)
        return (first, -np.cos(x) * np.sin(y) * up, *rest)

    return flow, cy.step(flow, flow.state(velocity=vortices))


@pytest.mark.parametrize("kind", ["spectral", "grid"])
@pytest.mark.parametrize("d, steps", [(2, 20), (3, 10)])
def test_fd_check(kind, d, steps):
    """fd_check: 16 along each axis, nu 0.001, dt 0.05, twenty directions; asked for: a cosine of
    0.99 and an error of 1e-3. Ours: 1e-6."""
    flow, x0 = ring(kind, d, 16, 0.001, 0.05)
    draw = np.random.default_rng(0)
    target = draw.normal(size=x0.shape)

    def loss(x):
        end = cy.rollout(flow, x, steps, save="last").states[-1]
        return 0.5 * float(np.sum((end - target) ** 2))

    run = cy.rollout(flow, x0, steps, save="last")
    g = run.pullback(run.states - target).x0
    ways = draw.normal(size=(20 if d == 2 else 4, x0.size))
    slopes = ways @ g
    errors = []
    for e in (1e-2, 1e-3, 1e-4):
        differences = np.array([(loss(x0 + e * w) - loss(x0 - e * w)) / (2 * e) for w in ways])
        cosine = differences @ slopes / np.linalg.norm(differences) / np.linalg.norm(slopes)
        errors.append((np.linalg.norm(differences - slopes) / np.linalg.norm(slopes), cosine))
    error, cosine = min(errors)
    assert cosine >= 0.99 and error <= 1e-6 and np.abs(slopes).min() > 0, errors


def horizon(kind, d, n, lengths, dt=0.05):
    flow, x0 = ring(kind, d, n, 0.001, dt)
    norms = []
    for steps in lengths:
        run = cy.rollout(flow, x0, steps, save="last", memory="64MB")
        assert not run.report.failed, (steps, run.report.failed)
        g = run.pullback(run.states).x0
        assert np.isfinite(g).all() and run.report.tape_bytes <= 64e6
        norms.append(np.linalg.norm(g))
    assert min(norms) > 0
    return norms


@pytest.mark.parametrize("kind", ["spectral", "grid"])
def test_horizon(kind):
    horizon(kind, 2, 16, (5, 20, 80, 320))
    horizon(kind, 3, 10, (40,))


@LONG
@pytest.mark.parametrize("kind", ["spectral", "grid"])
def test_horizon_to_its_limits(kind):
    horizon(kind, 2, 16, (1280, 5120, 10240))
    horizon(kind, 3, 20, (40, 640, 2560, 10240))


@LONG
@pytest.mark.parametrize("kind", ["spectral", "grid"])
def test_ten_thousand_steps_of_a_large_flow_within_a_budget(kind):
    n, dt, nu = 256, 0.005, 2e-3
    if kind == "spectral":
        flow = cy.fluid.spectral("navier_stokes", shape=(n, n), size=2 * np.pi, dt=dt,
                                 viscosity=nu, order=2, dtype="float32")
    else:
        flow = cy.fluid.grid((n, n), 2 * np.pi, viscosity=nu, dt=dt, dtype="float32")
    x0 = flow.state(velocity=lambda x, y: (
        0.6 * np.sin(x) * np.cos(y) + 0.1 * np.sin(3 * y),
        -0.6 * np.cos(x) * np.sin(y) + 0.1 * np.cos(2 * x)))
    run = cy.rollout(flow, x0, 10_000, save="last", memory="256MB")
    g = run.pullback(run.states, wrt="x0").x0
    assert not run.report.failed and run.report.tape_bytes <= 256e6
    assert np.isfinite(g).all() and np.linalg.norm(g) > 1


def drag_task():
    """drag_opt: a cylinder of radius 0.05 in a box of 32 x 32 cells at Reynolds number 20; the
    controls are the inflow's 32 velocities, 0 to 1 m/s, whose mean stays 0.5 m/s."""
    flow = cy.fluid.grid(
        (32, 32), (1.0, 1.0), viscosity=0.0025, dt=0.02,
        boundary={"left": ("inflow", (0.5, 0.0)), "right": "outflow", "bottom": "slip",
                  "top": "slip"},
        obstacles=[cy.fluid.Circle((0.5, 0.5), 0.05)])
    inflow = flow.parameters.info("inflow:left.velocity")
    at = slice(inflow.offset, inflow.offset + inflow.size, 2)
    x0 = flow.state(velocity=(0.5, 0.0))

    def task(profile):
        """Mean drag of the last hundred of 200 steps, and its gradient."""
        p = flow.parameters.default.copy()
        p[at] = profile
        run = cy.rollout(flow, x0, 200, p)
        seen = cy.observe(flow, run.states[101:], names="drag:#0", params=p)
        bar = seen.pullback(np.full(seen.values.shape, 0.01))
        states_bar = np.zeros_like(run.states)
        states_bar[101:] = bar.x
        # Of the parameters: through the run, and as the drag sees them.
        return float(seen.values.mean()), (run.pullback(states_bar).params + bar.params)[at]

    return task


def allowed(profile):
    """The nearest profile of its kind: shifted until the mean is right, and clipped."""
    low, high = -2.0, 2.0
    for _ in range(60):
        shift = (low + high) / 2
        low, high = (
            (shift, high) if np.clip(profile + shift, 0, 1).mean() < 0.5 else (low, shift))
    return np.clip(profile + high, 0, 1)


def optimised(task, iterations, rate=0.02):
    """Adam, among profiles that are allowed."""
    profile, m, v, drags = np.full(32, 0.5), np.zeros(32), np.zeros(32), []
    for i in range(1, iterations + 1):
        drag, g = task(profile)
        drags.append(drag)
        g = g - g.mean()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        step = rate * (m / (1 - 0.9**i)) / (np.sqrt(v / (1 - 0.999**i)) + 1e-8)
        profile = allowed(profile - step)
    return drags, profile


def test_drag_falls_by_the_inflow():
    task = drag_task()
    drags, profile = optimised(task, 6)
    assert drags[-1] < 0.75 * drags[0] and profile.mean() == pytest.approx(0.5)
    way = np.random.default_rng(1).normal(size=32)
    _, g = task(profile)
    by = (task(profile + 1e-5 * way)[0] - task(profile - 1e-5 * way)[0]) / 2e-5
    assert float(g @ way) == pytest.approx(by, rel=1e-6)


@LONG
def test_drag_optimisation():
    drags, profile = optimised(drag_task(), 250)
    print(f"drag {drags[0]:.5f} -> {min(drags):.5f} N/m, least inflow {profile.min():.3f} m/s")
    assert min(drags) < 0.05 * drags[0]


@LONG
def test_wake_of_schaefer_and_turek_at_reynolds_100():
    """2D-2: Strouhal number within 0.295 and 0.305 on 440 x 82 cells."""
    height, rows = 0.41, 82
    h = height / rows

    def profile(y):
        return 6.0 * y * (height - y) / height**2, 0 * y

    flow = cy.fluid.grid(
        (440, rows), (2.2, height), viscosity=1e-3, dt=0.3 * h,
        boundary={"left": ("inflow", profile), "right": "outflow", "bottom": "wall",
                  "top": "wall"},
        obstacles=[cy.fluid.Circle((0.2, 0.2), 0.05)])
    steps = round(6.0 / flow.timestep)
    run = cy.rollout(flow, flow.state(velocity=lambda x, y: profile(y)), steps,
                     save=np.arange(round(4.0 / flow.timestep), steps, 4), memory=1)
    assert not run.report.failed
    seen = cy.observe(flow, run.states, names=["drag:#0", "lift:#0"])
    drag, lift = 20 * seen["drag:#0"].ravel(), 20 * seen["lift:#0"].ravel()
    rising = np.flatnonzero((lift[:-1] < 0) & (lift[1:] >= 0))
    exact = rising - lift[rising] / (lift[rising + 1] - lift[rising])
    period = np.diff(exact).mean() * 4 * flow.timestep
    print(f"Strouhal {0.1 / period:.4f}, drag {drag.max():.3f}, lift {lift.max():.3f}")
    assert 0.295 <= 0.1 / period <= 0.305
    assert drag.max() == pytest.approx(3.23, rel=0.03)


@LONG
def test_wake_of_schaefer_and_turek_under_an_inflow_that_swells_and_ebbs():
    """2D-3: an inflow of 1.5 sin(π t / 8) m/s, given as inputs, over eight seconds."""
    height, rows = 0.41, 82
    h, steps = height / rows, 5336

    def channel(**more):
        return cy.fluid.grid(
            (440, rows), (2.2, height), viscosity=1e-3, dt=8.0 / steps,
            boundary={"left": ("inflow", (0.0, 0.0)), "right": "outflow", "bottom": "wall",
                      "top": "wall"},
            obstacles=[cy.fluid.Circle((0.2, 0.2), 0.05, **more)], inputs=("inflow:left",),
            probes=[[0.15, 0.2], [0.25, 0.2]])

    y = (np.arange(rows) + 0.5) * h
    profile = np.stack([6.0 * y * (height - y) / height**2, 0 * y], axis=1).ravel()
    # A step's inflow is that of its end; a force is that of the step that begins at a state.
    time = (np.arange(steps + 1) + 1) * 8.0 / steps
    u = np.sin(np.pi * time / 8)[:, None] * profile
    flow = channel()
    run = cy.rollout(flow, flow.state(), u[:-1], save=8, memory=1)
    assert not run.report.failed
    # What a body that may move feels has the inertia of the fluid in it.
    states = np.concatenate([run.states, np.zeros((len(run.states), 2))], axis=1)
    seen = cy.observe(channel(moves=True), states, u[run.steps],
                      names=["drag:#0", "lift:#0", "probe_pressure"])
    drag, lift = 20 * seen["drag:#0"].ravel(), 20 * seen["lift:#0"].ravel()
    fall = float(np.subtract(*seen["probe_pressure"][-1].ravel()))
    swell, strongest = np.argmax(drag), np.argmax(lift)
    print(f"drag {drag[swell]:.4f} at {run.times[swell]:.3f} s, lift {lift[strongest]:.4f} at "
          f"{run.times[strongest]:.3f} s, fall of pressure {fall:.4f} Pa")
    assert drag[swell] == pytest.approx(2.950921575, rel=0.02)
    assert run.times[swell] == pytest.approx(3.93625, abs=0.05)
    assert lift[strongest] == pytest.approx(0.47795, rel=0.15)  # lacks cells, as in 2D-2
    assert fall == pytest.approx(-0.1116, abs=0.01)
