"""Second derivatives of soft bodies: Hessian-vector products through rollouts, against differences
of the gradient, and symmetric."""

import numpy as np
import pytest

import cycloid as cy

soft = cy.soft


def run_of(body, at, e=0.0, d=None, steps=4, **options):
    x, u, p = (a + e * b for a, b in zip(at, d)) if d else at
    return cy.rollout(body, x, np.tile(u, (steps, 1)), p, save="last", **options)


def flat(g, body):
    return {"x0": g.x0, "controls": g.controls.ravel()} | {
        name: np.ravel(v) for name, v in body.parameters.unpack(g.params).items()
    }


def direction(body, at, seed):
    rng = np.random.default_rng(seed)
    dx, du, dp = (rng.normal(size=np.shape(a)) for a in at)
    n = body.parameters.info("vertices").size
    dx[:n] *= 1e-3
    dx[n:] *= 0.05
    size = np.abs(at[2])
    dp *= 0.05 * size  # what must not be negative stays zero where it is
    for name in body.parameters.names:
        if name.rpartition(".")[2] in ("gravity", "position", "rotation"):
            own = body.parameters.info(name)
            dp[own.offset : own.offset + own.size] = 2e-3 * rng.normal(size=own.size)
    info = body.parameters.info("vertices")
    dp[info.offset : info.offset + n] = 1e-3 * rng.normal(size=n)
    return dx, du * 1e-2, dp


def check(body, u=None, x0=None, steps=4, tolerance=1e-6):
    """Every block of hvp against the best of some differences of fourth order."""
    at = (
        body.initial_state() if x0 is None else x0,
        np.zeros(body.input_size) if u is None else u,
        body.parameters.default,
    )
    run = run_of(body, at, steps=steps)
    assert not run.report.unsolved
    bar = np.random.default_rng(5).normal(size=run.states.shape)
    d, w = direction(body, at, 7), direction(body, at, 8)
    tiled = lambda v: (v[0], np.tile(v[1], (steps, 1)), v[2])
    second = run.hvp(bar, *tiled(d))
    found = flat(second, body)
    best = {name: np.inf for name in found}
    for h in (1e-2, 1e-3, 1e-4, 1e-5):  # some of them stay on one side of every kink
        g = lambda e: flat(run_of(body, at, e, d, steps).pullback(bar), body)
        ends = {k: g(k * h) for k in (1, -1, 2, -2)}
        for name, value in found.items():
            slope = (8 * (ends[1][name] - ends[-1][name]) - ends[2][name] + ends[-2][name]) / 12 / h
            largest = np.abs(value).max(initial=0)
            if largest > 1e-12:  # the rotation of a sphere does nothing
                best[name] = min(best[name], np.abs(slope - value).max() / largest)
    best = {name: error for name, error in best.items() if np.isfinite(error)}
    wrong = {name: error for name, error in best.items() if error > tolerance}
    assert not wrong, wrong
    assert len(best) > len(found) / 2
    # The Hessian is symmetric.
    other = run.hvp(bar, *tiled(w))
    rows = lambda g: (g.x0, g.controls, g.params)
    product = lambda g, v: sum(np.vdot(a, b) for a, b in zip(rows(g), tiled(v)))
    vw, wv = product(second, w), product(other, d)
    assert abs(vw - wv) <= 1e-9 * max(abs(vw), 1e-12)
    return run, second, d, bar


def block(**options):
    mesh = soft.box((2, 2, 2), (0.2, 0.2, 0.2), options.pop("element", "hex"))
    return soft.solid(mesh, young=2e4, damping=0.01, drag=0.3, dt=0.02, **options)


def test_a_block_on_a_floor_with_friction():
    body = block(floor=-0.002, friction=0.5, stiction=0.05, contact_width=0.02, inputs=("floor",))
    x = body.initial_state()
    n = x.size // 2
    x[n::3] = 0.3
    u = np.zeros(6)
    u[0] = 1e-3
    check(body, u, x)


@pytest.mark.parametrize("integrator", ["newmark", "bdf2"])
def test_on_a_sphere_that_moves(integrator):
    mesh = soft.box((2, 2, 2), (0.2, 0.2, 0.2), "tet")
    body = soft.solid(
        mesh, "neo_hookean_log", young=2e4, dt=0.02, integrator=integrator,
        obstacles=[soft.Sphere((0.11, 0.09, -0.21), 0.2)], contact_width=0.02, friction=0.3,
        stiction=0.05, inputs=("obstacle:#0", "obstacle:#0.velocity"),
    )
    u = np.random.default_rng(2).normal(size=12) * 1e-3
    check(body, u)


def test_pressed_into_a_compliant_capsule():
    body = block(
        contact="compliant",
        obstacles=[soft.Capsule((0.11, 0.093, -0.045), 0.05, 0.3, (0.2, 1.5, 0))],
        contact_stiffness=2e3, element="tet10", integrator="newmark",
    )
    check(body)


def test_loads_that_follow_springs_and_pins():
    mesh = soft.box((2, 2, 2), (0.2, 0.2, 0.2))
    x = mesh.vertices
    top = mesh.surface()
    top = top[(x[top, 2] == 0.2).all(axis=1)]
    held = np.flatnonzero(x[:, 2] == 0)
    body = soft.solid(
        mesh, "mooney_rivlin", young=2e4, pinned=held, dt=0.02, formulation="locking_free",
        loads=(
            soft.Pressure(top, 300.0), soft.Traction(top, (50.0, 0, 0)),
            soft.Spring([26], [[0.3, 0.2, 0.3]], 40.0),
        ),
        inputs=("pinned", "force"),
    )
    check(body, np.random.default_rng(3).normal(size=body.input_size) * 1e-3)


def test_metal_that_flows():
    mesh = soft.box((2, 1, 1), (0.2, 0.1, 0.1))
    body = soft.solid(
        mesh, "plastic", young=2e5, yield_stress=200.0, hardening=2e4, dt=0.02,
        pinned=np.flatnonzero(mesh.vertices[:, 0] == 0),
    )
    run, *_ = check(body, steps=3)
    assert np.abs(run.states[0][2 * mesh.vertices.size :]).max() > 1e-5


@pytest.mark.parametrize("woven", [False, True])
def test_cloth(woven):
    mesh = soft.sheet((4, 4), (0.4, 0.4))
    held = np.flatnonzero((mesh.vertices[:, 0] == 0) & (mesh.vertices[:, 1] != 0.2))
    law = dict(young=(1e5, 4e4), shear=2e4, warp=(1, 0.2, 0)) if woven else dict(young=1e5)
    body = soft.cloth(
        mesh, poisson=0.2, thickness=2e-3, density=300.0, damping=0.01, pinned=held, dt=0.02,
        inputs=("pinned",), **law,
    )
    x = body.initial_state()
    x[: mesh.vertices.size] += 2e-3 * np.random.default_rng(6).normal(size=mesh.vertices.size)
    check(body, x0=x)


def test_a_rod_with_twist():
    turn = np.linspace(0, 3, 8)
    points = np.c_[0.2 * np.cos(turn), 0.2 * np.sin(turn), 0.05 * turn]
    body = soft.rod(
        points, young=1e6, radius=5e-3, density=900.0, damping=0.01, dt=0.01, pinned=[0, 1],
        inputs=("twist", "pinned"),
    )
    u = np.random.default_rng(4).normal(size=body.input_size) * 2e-3
    check(body, u)


def test_a_rod_that_touches_itself_and_rubs():
    turn = np.linspace(0, 2 * np.pi, 14)
    points = np.c_[0.2 * np.cos(turn), 0.2 * np.sin(turn), 0.024 * turn / turn[-1]]
    body = soft.rod(
        points, young=1e6, radius=1e-2, density=900.0, damping=0.01, dt=0.01, self_contact=True,
        contact_width=3e-3, contact_stiffness=3e3, friction=0.3, stiction=0.05, gravity=(0, 0, 0),
    )
    x = body.initial_state()
    x[3 * 14 :: 3][:5] = 0.2
    x[41] -= 2e-3  # the last point comes down
    run, *_ = check(body, x0=x)
    first, last = run.states[0][[2, 41]]
    assert last - first > 0.02


def test_a_body_under_a_feedback():
    mesh = soft.box((1, 1, 1), (0.2, 0.2, 0.2))
    body = soft.solid(mesh, young=1e4, dt=0.02, pinned=[0, 1, 2, 3], inputs=("force",))
    rng = np.random.default_rng(0)
    gain = 1e-2 * rng.normal(size=(body.input_size, body.state_size))
    feedback = cy.LinearFeedback(gain, body.initial_state(), np.zeros(body.input_size))
    loop = cy.close_loop(body, feedback)
    x, v = body.initial_state() + 1e-3 * rng.normal(size=48), 1e-2 * rng.normal(size=48)
    run = cy.rollout(loop, x, 3, save="last")
    bar = rng.normal(size=run.states.shape)
    found = run.hvp(bar, x0_tan=v)
    g = lambda e: cy.rollout(loop, x + e * v, 3, save="last").pullback(bar)
    ahead, behind = g(1e-3), g(-1e-3)
    for name in ("x0", "params"):
        slope = (getattr(ahead, name) - getattr(behind, name)) / 2e-3
        assert np.abs(slope - getattr(found, name)).max() < 1e-6 * np.abs(slope).max()


def test_neither_what_the_memory_keeps_nor_a_batch_changes_a_product():
    body = block(floor=-0.002, contact_width=0.02)
    at = (body.initial_state(), np.zeros(0), body.parameters.default)
    v = np.zeros_like(at[2])
    place = body.parameters.info("young").offset
    v[place] = 1.0
    bar = None
    for memory in ("all", "sqrt"):
        run = run_of(body, at, steps=6, memory=memory)
        bar = np.ones_like(run.states) if bar is None else bar
        second = run.hvp(bar, params_tan=v)
        first = second if memory == "all" else first
        assert np.array_equal(first.params, second.params)
    # A batch is each body alone.
    x = np.stack([at[0], at[0] + 1e-4])
    both = cy.rollout(body, x, 6, save="last")
    one = cy.rollout(body, x[1], 6, save="last")
    bars = np.ones_like(both.states)
    np.testing.assert_allclose(
        both.hvp(bars, x0_tan=np.ones_like(x)).x0[1],
        one.hvp(bars[1], x0_tan=np.ones_like(x[1])).x0,
        rtol=1e-10, atol=1e-12,
    )
