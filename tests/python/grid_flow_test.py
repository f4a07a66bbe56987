"""Flows on staggered grids: known answers, boundaries, obstacles, gradients, bad input."""

import os

import numpy as np
import pytest

import cycloid as cy
from conformance import conform

TAU = 2 * np.pi
LONG = pytest.mark.skipif(
    not os.environ.get("CYCLOID_LONG_TESTS"), reason="minutes: CYCLOID_LONG_TESTS=1"
)


def vortices(x, y):
    return np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)


def channel(obstacles=(), shape=(14, 12), inputs=("force", "inflow:left", "wall:bottom"), **more):
    """Every kind of side but the periodic."""
    return cy.fluid.grid(
        shape,
        (1.0, 0.8),
        viscosity=0.02,
        density=1.3,
        dt=0.01,
        boundary={
            "left": ("inflow", lambda y: (1 + y, 0.2 * y)),
            "right": "outflow",
            "bottom": ("wall", (0.3, 0.0)),
            "top": "slip",
        },
        obstacles=obstacles,
        inputs=inputs,
        **more,
    )


def disc():
    return cy.fluid.Circle((0.4, 0.37), 0.13)


def directions(flow, seed):
    """By name, a direction in each parameter that may move."""
    draw = np.random.default_rng(seed)
    for name in flow.parameters.names:
        info = flow.parameters.info(name)
        d = draw.normal(size=info.size)
        if name.endswith(".sdf"):
            d *= 1e-2
        whole = np.zeros(flow.parameters.size)
        whole[info.offset : info.offset + info.size] = d
        yield name, whole


def differenced(value, gradient, at, direction):
    """The relative error of a slope against the best central difference."""
    slope, best = float(np.sum(gradient * direction)), np.inf
    for e in (1e-4, 1e-5, 1e-6, 1e-7):
        d = (value(at + e * direction) - value(at - e * direction)) / (2 * e)
        best = min(best, abs(d - slope) / max(abs(slope), 1e-3))
    return best, slope


@pytest.mark.parametrize("nu", [0.01, 0.05])
def test_taylor_green_at_second_order_with_its_exact_gradients(nu):
    errors = []
    for n in (16, 32, 64):
        flow = cy.fluid.grid((n, n), (TAU, TAU), viscosity=nu, dt=0.02)
        x0 = flow.state(velocity=vortices)
        run = cy.rollout(flow, x0, 50, save="last")
        x1 = run.states[-1]
        J = 0.5 * float(x1 @ x1)
        g = run.pullback(run.states)
        assert float(g.x0 @ x0) == pytest.approx(2 * J, rel=1e-12)  # dJ/da at a = 1
        dJ_dnu = float(flow.parameters.unpack(g.params)["viscosity"])
        errors.append(
            (np.abs(x1 - np.exp(-2 * nu) * x0).max(), abs(dJ_dnu / (-4 * J) - 1))
        )
        energy = float(cy.observe(flow, x0, names="kinetic_energy").values[0])
        assert energy == pytest.approx(0.25 * TAU**2, rel=1e-12)
    coarse, middle, fine = np.array(errors)
    assert (np.log2(coarse / middle) > 1.9).all() and (np.log2(middle / fine) > 1.95).all()
    assert fine[0] < 1e-3 * nu / 0.05 + 1e-4


def test_energy_is_conserved_without_viscosity():
    flow = cy.fluid.grid((16, 12), (1.0, 1.0), viscosity=0.0, dt=0.002, boundary={
        "bottom": "slip", "top": "slip"})
    draw = np.random.default_rng(3)
    start = cy.step(flow, draw.normal(size=flow.state_size))
    run = cy.rollout(flow, start, 100)
    energy = cy.observe(flow, run.states, names="kinetic_energy").values[:, 0]
    # Third order in time: of space nothing is left.
    assert abs(energy[-1] / energy[0] - 1) < 1e-4
    finer = cy.fluid.grid(
        (16, 12), (1.0, 1.0), viscosity=0.0, dt=0.001, boundary={"bottom": "slip", "top": "slip"})
    half = cy.rollout(finer, start, 200).states[-1]
    kept = cy.observe(finer, half, names="kinetic_energy").values[0]
    assert abs(kept / energy[0] - 1) < abs(energy[-1] / energy[0] - 1) / 6


GHIA_U = {  # y: u at Re 100 (Ghia et al. 1982)
    0.9766: 0.84123, 0.9531: 0.68717, 0.7344: 0.00332, 0.5: -0.20581, 0.2813: -0.15662,
    0.1016: -0.06434, 0.0547: -0.03717,
}
GHIA_V = {  # x: v at Re 100
    0.9688: -0.05906, 0.9063: -0.16914, 0.8047: -0.24533, 0.5: 0.05454, 0.2266: 0.17507,
    0.0938: 0.12317, 0.0625: 0.09233,
}


def test_driven_cavity_of_ghia_at_reynolds_100():
    n = 48
    flow = cy.fluid.grid((n, n), (1.0, 1.0), viscosity=0.01, dt=0.01, boundary={
        "left": "wall", "right": "wall", "bottom": "wall", "top": ("wall", (1.0, 0.0))})
    x = cy.rollout(flow, flow.state(), 1500, save="last").states[-1]
    u = flow.velocity(x, [[0.5, y] for y in GHIA_U])[:, 0]
    v = flow.velocity(x, [[x_, 0.5] for x_ in GHIA_V])[:, 1]
    assert np.abs(u - list(GHIA_U.values())).max() < 0.01
    assert np.abs(v - list(GHIA_V.values())).max() < 0.01
    assert float(cy.observe(flow, x, names="divergence").values[0]) < 1e-12


# At Re 1000, v at y = 0.5 (accurate set), and u of Ghia et al.
ACCURATE_V = {
    0.9688: -0.2279225, 0.9609: -0.2936869, 0.9531: -0.3553213, 0.9453: -0.4103754,
    0.9063: -0.5264392, 0.8594: -0.4264545,
}
GHIA_V_1000 = {
    0.9688: -0.21388, 0.9609: -0.27669, 0.9531: -0.33714, 0.9453: -0.39188, 0.9063: -0.51550,
    0.8594: -0.42665, 0.8047: -0.31966, 0.5: 0.02526, 0.2344: 0.32235, 0.2266: 0.33075,
    0.1563: 0.37095, 0.0938: 0.32627, 0.0781: 0.30353, 0.0703: 0.29012, 0.0625: 0.27485,
}
GHIA_U_1000 = {
    0.9766: 0.65928, 0.9531: 0.46604, 0.7344: 0.18719, 0.5: -0.06080, 0.2813: -0.27805,
    0.1719: -0.38289, 0.0547: -0.18109,
}


@LONG
def test_driven_cavity_at_reynolds_1000():
    n = 128
    flow = cy.fluid.grid((n, n), (1.0, 1.0), viscosity=1e-3, dt=0.008, boundary={
        "left": "wall", "right": "wall", "bottom": "wall", "top": ("wall", (1.0, 0.0))})
    x = cy.rollout(flow, flow.state(), 7500, save="last").states[-1]
    u = flow.velocity(x, [[0.5, y] for y in GHIA_U_1000])[:, 0]
    v = flow.velocity(x, [[x_, 0.5] for x_ in ACCURATE_V])[:, 1]
    theirs = flow.velocity(x, [[x_, 0.5] for x_ in GHIA_V_1000])[:, 1]
    errors = [float(np.abs(got - list(known.values())).max()) for got, known in (
        (v, ACCURATE_V), (theirs, GHIA_V_1000), (u, GHIA_U_1000))]
    print("largest error: accurate v, Ghia's v, Ghia's u", errors)
    assert errors[0] < 0.01 and errors[1] < 0.025 and errors[2] < 0.015


def test_start_up_of_poiseuille_flow_between_walls():
    nu, height, force = 0.1, 1.0, 0.8  # fastest: force H² / (8 nu) = 1
    flow = cy.fluid.grid((2, 40), (0.5, height), viscosity=nu, dt=0.0025, inputs=("force",),
                         boundary={"bottom": "wall", "top": "wall"})
    controls = np.zeros((2000, 2))
    controls[:, 0] = force
    times = [0.01, 0.05, 0.1, 0.2, 0.5]
    known = [0.0799923, 0.37038632, 0.61535251, 0.85663689, 0.99257762]
    run = cy.rollout(flow, flow.state(), controls)
    for t, exact in zip(times, known, strict=True):
        x = run.states[round(t * height**2 / nu / 0.0025)]
        centre = flow.velocity(x, [[0.1, 0.5]])[0, 0]
        assert centre == pytest.approx(exact, abs=2e-3)


def schaefer_turek(rows, seconds):
    height, fastest = 0.41, 0.3
    columns, h = round(rows * 2.2 / height), height / rows

    def profile(y):
        return 4 * fastest * y * (height - y) / height**2, 0 * y

    flow = cy.fluid.grid(
        (columns, rows), (2.2, height), viscosity=1e-3, dt=min(150 * h * h, 1.3 * h),
        boundary={"left": ("inflow", profile), "right": "outflow", "bottom": "wall",
                  "top": "wall"},
        obstacles=[cy.fluid.Circle((0.2, 0.2), 0.05)], probes=[[0.15, 0.2], [0.25, 0.2]])
    x0 = flow.state(velocity=lambda x, y: profile(y))
    x = cy.rollout(flow, x0, round(seconds / flow.timestep), save="last").states[-1]
    seen = cy.observe(flow, x, names=["drag:#0", "lift:#0", "probe_pressure"])
    scale = 2 / (0.2**2 * 0.1)
    p = seen["probe_pressure"]
    return seen["drag:#0"].item() * scale, seen["lift:#0"].item() * scale, float(p[0] - p[1])


def test_cylinder_of_schaefer_and_turek_coarsely():
    drag, lift, fall = schaefer_turek(41, 8.0)
    assert drag == pytest.approx(5.57953523384, rel=0.01)
    assert lift == pytest.approx(0.010618948146, abs=0.0015)
    assert fall == pytest.approx(0.11752016697, rel=0.035)


@LONG
def test_cylinder_of_schaefer_and_turek():
    drag, lift, fall = schaefer_turek(82, 7.0)
    assert drag == pytest.approx(5.57953523384, rel=0.01)
    assert lift == pytest.approx(0.010618948146, abs=0.0015)
    assert fall == pytest.approx(0.11752016697, rel=0.01)


def test_taylor_remainders_have_slope_two():
    flow = channel([disc()], inputs=("force", "inflow:left"))
    draw = np.random.default_rng(8)
    x0 = cy.step(flow, 0.3 * draw.normal(size=flow.state_size))
    u, p = 0.2 * draw.normal(size=(10, flow.input_size)), flow.parameters.default

    def value(x0=x0, u=u, p=p):
        return 0.5 * float(np.sum(cy.rollout(flow, x0, u, p, save="last").states ** 2))

    run = cy.rollout(flow, x0, u, save="last")
    g = run.pullback(run.states)
    moves = {
        "x0": (g.x0, draw.normal(size=x0.shape), 1e-2),
        "u": (g.controls, draw.normal(size=u.shape), 1e-1),
    }
    for name, d in directions(flow, 3):
        if name in ("viscosity", "inflow:left.velocity"):
            moves[name] = g.params, d, 1e-3 if name == "viscosity" else 1e-1
        if name in ("obstacle:#0.center", "obstacle:#0.radius"):
            moves[name] = g.params, d / np.linalg.norm(d), 1e-4  # no wall passes a face
    start = value()
    for name, (gradient, d, h) in moves.items():
        which = name if name in ("x0", "u") else "p"
        at = {"x0": x0, "u": u, "p": p}[which]
        steps, slope = h / 2.0 ** np.arange(5), float(np.sum(gradient * d))
        rests = [abs(value(**{which: at + e * d}) - start - e * slope) for e in steps]
        slopes = np.log2(np.array(rests[:-1]) / rests[1:])
        assert np.abs(slopes - 2).max() < 0.05, (name, slopes)


@pytest.mark.parametrize("obstacle", [
    None, disc(), cy.fluid.Box((0.43, 0.37), (0.24, 0.21)), "shape"])
def test_gradients_by_differences_at_every_side_and_obstacle(obstacle):
    inputs = ("force", "inflow:left", "wall:bottom")
    if obstacle == "shape":
        x, y = np.meshgrid(np.linspace(0, 1, 15), np.linspace(0, 0.8, 13), indexing="ij")
        obstacle = cy.fluid.Shape(np.hypot(x - 0.42, y - 0.39) - 0.17)
    if obstacle is not None:
        inputs += ("obstacle:#0.velocity",)
    flow = channel([] if obstacle is None else [obstacle], inputs=inputs)
    draw = np.random.default_rng(1)
    x0 = 0.3 * draw.normal(size=flow.state_size)
    u = 0.2 * draw.normal(size=(3, flow.input_size))
    p = flow.parameters.default
    run = cy.rollout(flow, x0, u)
    bar = draw.normal(size=run.states.shape)
    g = run.pullback(bar)

    def value(x0=x0, u=u, p=p):
        return float(np.sum(cy.rollout(flow, x0, u, p).states * bar))

    tangents = {"x0_tan": draw.normal(size=x0.shape), "controls_tan": draw.normal(size=u.shape),
                "params_tan": sum(d for _, d in directions(flow, 6))}
    along = run.pushforward(**tangents)
    back = sum(float(np.sum(a * b)) for a, b in zip(
        (g.x0, g.controls, g.params), tangents.values(), strict=True))
    assert float(np.sum(along * bar)) == pytest.approx(back, rel=1e-11)
    for name, got, point, d in (
        ("x0", g.x0, x0, draw.normal(size=x0.shape)),
        ("u", g.controls, u, draw.normal(size=u.shape)),
        ("x0", g.x0, x0, g.x0 / np.linalg.norm(g.x0)),  # along itself
    ):
        error, slope = differenced(lambda v, name=name: value(**{name: v}), got, point, d)
        assert error < 1e-7 and slope != 0, name
    for name, d in directions(flow, 2):
        error, slope = differenced(lambda v: value(p=v), g.params, p, d)
        assert error < 1e-6, (name, error, slope)
        if name != "density":  # velocity does not depend on it
            assert abs(slope) > 1e-4, name


@pytest.mark.parametrize("obstructed", [False, True])
def test_observables_by_differences(obstructed):
    flow = channel([disc()] if obstructed else [],
                   probes=[[0.2, 0.3], [0.9, 0.75], [0.28, 0.37], [0.0, 0.0]],
                   lines=[[[0.2, 0.1], [0.7, 0.6]]])
    draw = np.random.default_rng(5)
    x = 0.3 * draw.normal(size=flow.state_size)
    u = 0.2 * draw.normal(size=flow.input_size)
    p = flow.parameters.default
    names = [n for n in flow.observables if n != "velocity"]
    assert {"drag:#0", "lift:#0"} <= set(names) or not obstructed
    for name in names:
        seen = cy.observe(flow, x, u, names=name)
        bar = draw.normal(size=seen.values.shape)
        g = seen.pullback(bar)

        def value(x=x, u=u, p=p, name=name, bar=bar):
            return float(np.sum(cy.observe(flow, x, u, names=name, params=p).values * bar))

        error, slope = differenced(lambda v: value(x=v), g.x, x, draw.normal(size=x.shape))
        assert error < 1e-7 and slope != 0, name
        error, _ = differenced(lambda v: value(u=v), g.controls, u, draw.normal(size=u.shape))
        assert error < 1e-7, name
        for which, d in directions(flow, 7):
            error, _ = differenced(lambda v: value(p=v), g.params, p, d)
            assert error < 5e-6, (name, which, error)


def test_drag_is_the_momentum_that_the_channel_loses():
    # A periodic channel at rest between force, friction and drag.
    flow = cy.fluid.grid((24, 16), (1.5, 1.0), viscosity=0.1, density=2.0, dt=0.005,
                         boundary={"bottom": "wall", "top": "wall"}, inputs=("force",),
                         obstacles=[cy.fluid.Circle((0.7, 0.45), 0.2)])
    u = np.zeros((1200, 2))
    u[:, 0] = 1.0
    x = cy.rollout(flow, flow.state(), u, save="last").states[-1]
    drag = float(cy.observe(flow, x, u[0], names="drag:#0").values[0])
    low = flow.velocity(x, [[(i + 0.5) * 1.5 / 24, 1 / 32] for i in range(24)])[:, 0]
    high = flow.velocity(x, [[(i + 0.5) * 1.5 / 24, 1 - 1 / 32] for i in range(24)])[:, 0]
    friction = 2.0 * 0.1 * (low + high).sum() * 32 * 1.5 / 24
    # ρ f times the fluid's area, since what the body displaces is not pushed.
    area = 1.5 * 1.0
    assert drag + friction == pytest.approx(2.0 * (area - np.pi * 0.2**2), rel=3e-3)


def test_three_dimensions_with_gradients():
    flow = cy.fluid.grid(
        (6, 5, 4), (1.0, 0.8, 0.7), viscosity=0.02, dt=0.01,
        boundary={"left": ("inflow", (0.5, 0.0, 0.0)), "right": "outflow", "bottom": "wall",
                  "top": ("wall", (0.3, 0.0, 0.1))},
        obstacles=[cy.fluid.Circle((0.45, 0.41, 0.33), 0.19)],
        inputs=("force", "obstacle:#0.angular_velocity"))
    draw = np.random.default_rng(4)
    x0 = 0.2 * draw.normal(size=flow.state_size)
    u = 0.2 * draw.normal(size=(3, flow.input_size))
    run = cy.rollout(flow, x0, u)
    assert cy.observe(flow, run.states[-1], u[-1], names="divergence").values.item() < 1e-12
    bar = draw.normal(size=run.states.shape)
    g = run.pullback(bar)

    def value(x0=x0, u=u, p=flow.parameters.default):
        return float(np.sum(cy.rollout(flow, x0, u, p).states * bar))

    assert differenced(lambda v: value(x0=v), g.x0, x0, draw.normal(size=x0.shape))[0] < 1e-6
    assert differenced(lambda v: value(u=v), g.controls, u, draw.normal(size=u.shape))[0] < 1e-6
    for name, d in directions(flow, 2):
        error, _ = differenced(lambda v: value(p=v), g.params, flow.parameters.default, d)
        assert error < 1e-6, name
    d = draw.normal(size=flow.parameters.size)
    along = run.pushforward(params_tan=d)
    assert float(np.sum(along * bar)) == pytest.approx(float(g.params @ d), rel=1e-11)
    seen = cy.observe(flow, run.states[-1], names="vorticity")
    assert seen["vorticity"].shape == (6, 5, 4, 3)


def test_conformance():
    flow = channel([disc()], shape=(8, 6), inputs=("force", "obstacle:#0.angular_velocity"))
    draw = np.random.default_rng(11)
    x0 = 0.2 * draw.normal(size=(5, flow.state_size))
    conform(flow, x0, 0.2 * draw.normal(size=(5, 4, flow.input_size)))


def test_ten_thousand_steps_have_a_finite_gradient_in_a_stated_budget():
    flow = cy.fluid.grid((12, 12), (TAU, TAU), viscosity=0.001, dt=0.05)
    draw = np.random.default_rng(2)
    x0 = flow.state(velocity=vortices) + 0.1 * draw.normal(size=flow.state_size)
    run = cy.rollout(flow, x0, 10240, save="last", memory="8MB")
    g = run.pullback(run.states)
    assert run.report.tape_bytes <= 8e6
    assert np.isfinite(g.x0).all() and np.linalg.norm(g.x0) > 0


def test_fields_points_and_states():
    flow = channel()
    assert flow.points.shape == (14, 12, 2)
    np.testing.assert_allclose(flow.points[0, 0], [0.5 / 14, 0.4 / 12])
    x = flow.state(velocity=lambda x, y: (1 + x * 0, 2 * x + 3 * y))
    np.testing.assert_allclose(flow.field(x, "velocity")[..., 0], 1)
    np.testing.assert_allclose(flow.field(x)[..., 1], 2 * flow.points[..., 0]
                               + 3 * flow.points[..., 1])
    # Exact at faces, linear between them.
    at = flow.faces(1)[3, 5]
    np.testing.assert_allclose(flow.velocity(x, [at])[0, 1], 2 * at[0] + 3 * at[1])
    assert flow.pressure(x, [[0.5, 0.3]]).shape == (1,)
    assert flow.state_size == 15 * 12 + 14 * 13
    assert not flow.state().any()


def test_what_flows_in_flows_out_through_every_line():
    flow = channel([disc()], lines=[[[x, 0.0], [x, 0.8]] for x in (0.1, 0.4, 0.9)],
                   shape=(28, 24))
    x = cy.rollout(flow, flow.state(), 100, save="last").states[-1]
    flux = cy.observe(flow, x, names="flux").values
    np.testing.assert_allclose(flux, 0.8 + 0.32, rtol=1e-2)  # ∫ 1 + y dy


def test_pressure_is_zero_at_the_outflow_and_has_no_mean_in_a_box():
    flow = channel()
    x = cy.rollout(flow, flow.state(), 20, save="last").states[-1]
    at_outflow = flow.pressure(x, [[1.0, y] for y in (0.1, 0.4, 0.7)])
    np.testing.assert_allclose(at_outflow, 0, atol=1e-12)
    ring = cy.fluid.grid((8, 8), (TAU, TAU), viscosity=0.01, dt=0.02)
    p = ring.field(ring.state(velocity=vortices), "pressure")
    assert abs(p.mean()) < 1e-12 and np.abs(p).max() > 0.1


def test_an_inflow_is_one_velocity_rows_or_a_profile():
    def built(velocity):
        flow = cy.fluid.grid((4, 3), 1.5, boundary={"left": ("inflow", velocity),
                                                    "right": "outflow"})
        return flow.parameters["inflow:left.velocity"]

    y = np.array([0.25, 0.75, 1.25])
    rows = np.stack([1 + y, 2 * y], axis=-1)
    np.testing.assert_array_equal(built(lambda s: (1 + s, 2 * s)), rows)
    np.testing.assert_array_equal(built(lambda s: np.array([1 + s, 2 * s])), rows)
    np.testing.assert_array_equal(built(rows), rows)
    np.testing.assert_array_equal(built(lambda s: (2.0, 0 * s)), [[2.0, 0.0]] * 3)
    np.testing.assert_array_equal(built((2.0, 0.5)), [[2.0, 0.5]] * 3)


def test_pressure_of_taylor_green():
    errors = []
    for n in (16, 32):
        flow = cy.fluid.grid((n, n), (TAU, TAU), viscosity=0.01, density=3.0, dt=0.01)
        p = flow.field(flow.state(velocity=vortices), "pressure")
        x, y = np.moveaxis(flow.points, -1, 0)
        errors.append(np.abs(p - 3.0 * (np.cos(2 * x) + np.cos(2 * y)) / 4).max())
    assert errors[1] < 0.02 and np.log2(errors[0] / errors[1]) > 1.85


def test_bad_input_is_named():
    def refuse(words, *arguments, **more):
        with pytest.raises((cy.Error, TypeError), match=words):
            cy.fluid.grid(*arguments, **more)

    square = ((8, 8), (1.0, 1.0))
    refuse("needs an \"outflow\"", *square, boundary={"left": ("inflow", (1, 0)), "right": "wall"})
    refuse("at least 2 cells", (1, 8), (1.0, 1.0))
    refuse("two or three axes", (8,), (1.0,))
    refuse("no side is called", *square, boundary={"leftt": "wall"})
    refuse("periodic together", *square, boundary={"left": "wall"})
    refuse("covers no cell", *square, obstacles=[cy.fluid.Circle((3, 0.5), 0.1)],
           boundary={"left": "wall", "right": "wall"})
    refuse("no fluid is left", *square, obstacles=[cy.fluid.Circle((0.5, 0.5), 2.0)])
    refuse("needs 2 numbers of its center", *square, obstacles=[cy.fluid.Circle((1, 1, 1), 0.1)])
    refuse("an obstacle is a Circle", *square, obstacles=["disc"])
    refuse("did you mean \"force\"", *square, inputs=("forces",))
    refuse("viscosity must be", *square, viscosity=-1.0)
    refuse("there is no \"solid\"", *square, boundary={"left": "solid", "right": "wall"})
    refuse("moves along itself", *square,
           boundary={"left": ("wall", (1.0, 0.0)), "right": "wall"})
    refuse(r"probes\[0\] lies outside", *square, probes=[[2.0, 0.5]],
           boundary={"left": "wall", "right": "wall"})
    refuse("named twice", *square, inputs=("force", "force"))
    flow = cy.fluid.grid(*square)
    with pytest.raises(cy.Error, match="not finite at face"):
        flow.state(velocity=lambda x, y: (x + np.nan, y))
    refuse("lines has shape", *square, lines=[[0.0, 1.0]])
    for wrong in (lambda y: y, lambda y: (y, y[:3]), lambda y: np.zeros((8, 2))):
        refuse("profile", *square, boundary={"left": ("inflow", wrong), "right": "outflow"})


@pytest.mark.parametrize("make", [cy.fluid.grid, cy.fluid.lattice])
def test_an_obstacle_that_parameters_put_outside_is_named(make):
    walls = {"bottom": "wall", "top": "wall"}
    flow = make((8, 8), 1.0, dt=0.01, boundary=walls, obstacles=[
        cy.fluid.Circle((0.4, 0.5), 0.2), cy.fluid.Box((0.7, 0.3), (0.3, 0.2))])
    x = flow.state()
    for name, center in (("obstacle:#0", (0.5, 1.25)), ("obstacle:#1", (0.5, -0.2))):
        with pytest.raises(cy.ParameterError, match=f"{name} lies outside the box"):
            cy.rollout(flow, x, 2, {f"{name}.center": center})
    cy.rollout(flow, x, 2, {"obstacle:#0.center": (5.4, 1.15)})  # x is periodic
    array = make((8, 8), 1.0, dt=0.01, boundary=walls, obstacles=cy.fluid.Shape(
        np.hypot(*np.meshgrid(*[np.linspace(-0.5, 0.5, 9)] * 2)) - 0.2))
    with pytest.raises(cy.ParameterError, match="no such obstacle"):
        cy.rollout(array, array.state(), 2, {"obstacle:#0.sdf": np.ones((9, 9))})


def test_a_start_beyond_cfl_raises_with_the_allowed_step():
    flow = cy.fluid.grid((32, 32), (1.0, 1.0), viscosity=1e-3, dt=0.1)
    x0 = flow.state(velocity=lambda x, y: (1 + 0 * x, 0 * y))
    with pytest.raises(cy.Error, match=r"CFL.*at most 0\.0495"):
        cy.rollout(flow, x0, 5)


def test_a_flow_that_outruns_its_step_is_in_the_report():
    flow = cy.fluid.grid((16, 16), (1.0, 1.0), viscosity=1e-3, dt=0.05, inputs=("force",))
    u = np.zeros((100, 2))
    u[:, 0] = 1.0
    run = cy.rollout(flow, flow.state(), u)
    (failed,) = run.report.failed
    assert "CFL" in failed.reason and "cell (" in failed.body
    assert failed.step == 43  # at 2.15 m/s: a Courant number of 1.72, and viscosity
    assert np.isfinite(run.states).all()


def test_float32():
    flow = channel([disc()], dtype="float32")
    wide = channel([disc()])
    x0 = 0.2 * np.random.default_rng(3).normal(size=flow.state_size)
    narrow, exact = cy.rollout(flow, x0, 20), cy.rollout(wide, x0, 20)
    assert narrow.states.dtype == np.float32
    np.testing.assert_allclose(narrow.states, exact.states, atol=2e-5)
    g, h = narrow.pullback(narrow.states), exact.pullback(exact.states)
    assert np.abs(g.x0 - h.x0).max() < 1e-4 * np.abs(h.x0).max()
    got, known = (f.parameters.unpack(v.params) for f, v in ((flow, g), (wide, h)))
    for name in ("viscosity", "obstacle:#0.radius", "inflow:left.velocity"):
        assert np.abs(got[name] - known[name]).max() < 1e-3 * np.abs(known[name]).max(), name
    assert cy.observe(flow, x0, names="drag:#0").values.shape == (1,)


def heated(dtype="float64"):
    return cy.fluid.grid(
        (9, 7), (1.0, 0.8), viscosity=0.02, density=1.2, dt=0.01, dtype=dtype, inputs=("force",),
        boundary={"left": "wall", "right": "wall", "bottom": ("inflow", (0.05, 0.4)),
                  "top": "outflow"},
        temperature=cy.fluid.Temperature(
            0.03, expansion=0.2, gravity=(1.0, -9.81),
            boundary={"left": 1.0, "right": -0.5, "bottom": 0.3}))


def test_gradients_of_heat_and_buoyancy_by_differences():
    flow = heated()
    draw = np.random.default_rng(6)
    x0 = 0.3 * draw.normal(size=flow.state_size)
    u, p = 0.2 * draw.normal(size=(4, 2)), flow.parameters.default
    run = cy.rollout(flow, x0, u)
    bar = draw.normal(size=run.states.shape)
    g = run.pullback(bar)

    def value(x0=x0, u=u, p=p):
        return float(np.sum(cy.rollout(flow, x0, u, p).states * bar))

    heat = np.zeros(flow.state_size)
    heat[flow.state_slices["temperature"]] = draw.normal(size=63)
    for d in (draw.normal(size=x0.shape), heat):
        error, slope = differenced(lambda v: value(x0=v), g.x0, x0, d)
        assert error < 1e-7 and slope != 0
    assert differenced(lambda v: value(u=v), g.controls, u, draw.normal(size=u.shape))[0] < 1e-7
    for name, d in directions(flow, 2):
        error, slope = differenced(lambda v: value(p=v), g.params, p, d)
        assert error < 1e-6 and (abs(slope) > 1e-4 or name == "density"), (name, error, slope)
    seen = cy.observe(flow, x0, u[0], names="pressure")
    weights = draw.normal(size=seen.values.shape)
    g = seen.pullback(weights)

    def pressed(x=x0, p=p):
        return float(np.sum(cy.observe(flow, x, u[0], names="pressure", params=p).values * weights))

    assert differenced(lambda v: pressed(x=v), g.x, x0, heat)[0] < 1e-7
    for name, d in directions(flow, 9):
        assert differenced(lambda v: pressed(p=v), g.params, p, d)[0] < 1e-6, name
    starts = 0.2 * draw.normal(size=(5, flow.state_size))
    conform(flow, starts, 0.2 * draw.normal(size=(5, 3, 2)))


def test_heat_spreads_as_the_cosine_does():
    flow = cy.fluid.grid((32, 4), (1.0, 0.2), viscosity=0.0, dt=0.002,
                         temperature=cy.fluid.Temperature(0.05))
    x0 = flow.state(velocity=lambda x, y: (0.5 + 0 * x, 0 * y),
                    temperature=lambda x, y: np.cos(TAU * x))
    T = flow.field(cy.rollout(flow, x0, 200, save="last").states[-1], "temperature")
    exact = np.exp(-0.05 * TAU**2 * 0.4) * np.cos(TAU * (flow.points[..., 0] - 0.2))
    assert np.abs(T - exact).max() < 0.01


def test_natural_convection_of_de_vahl_davis():
    rayleigh, prandtl, n = 1e4, 0.71, 40
    flow = cy.fluid.grid(
        (n, n), (1.0, 1.0), viscosity=(prandtl / rayleigh) ** 0.5, dt=0.015,
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), "wall"),
        temperature=cy.fluid.Temperature(
            (prandtl * rayleigh) ** -0.5, expansion=1.0, gravity=(0.0, -1.0),
            boundary={"left": 0.5, "right": -0.5}))
    x = cy.rollout(flow, flow.state(), 3000, save="last").states[-1]
    T = flow.field(x, "temperature")
    for flux in (0.5 - T[0], T[-1] + 0.5):  # half a cell from the walls
        assert float(np.mean(2 * n * flux)) == pytest.approx(2.243, rel=0.01)
    assert cy.observe(flow, x, names="divergence").values.item() < 1e-12


def test_temperature_is_refused_where_it_makes_no_sense():
    heat = cy.fluid.Temperature(0.01, boundary={"left": 1.0})
    with pytest.raises(cy.ModelError, match="periodic: it has no temperature"):
        cy.fluid.grid((8, 8), (1.0, 1.0), temperature=heat)
    with pytest.raises(cy.ModelError, match="no side or obstacle is called"):
        channel([disc()], temperature=cy.fluid.Temperature(0.01, boundary={"obstacle:#1": 1.0}))
    with pytest.raises(cy.ModelError, match="central differences"):
        channel(temperature=cy.fluid.Temperature(0.01), advection="maccormack")
    with pytest.raises(cy.ModelError, match="one gravity"):
        channel(temperature=cy.fluid.Temperature(0.01, gravity=(0, -9.81)),
                concentration=cy.fluid.Concentration(0.01, gravity=(0, -1.62)))
    with pytest.raises(TypeError, match="is a cycloid.fluid.Concentration"):
        channel(concentration=heat)
    with pytest.raises(cy.ModelError, match="needs gravity"):
        channel(temperature=cy.fluid.Temperature(0.01, expansion=1.0))
    with pytest.raises(cy.Error, match="has no temperature"):
        channel().state(temperature=1.0)


def test_no_result_depends_on_threads():
    flow = cy.fluid.grid((160, 128), (2.0, 1.0), viscosity=1e-4, dt=0.002,
                         boundary={"left": ("inflow", (1.0, 0.0)), "right": "outflow"},
                         obstacles=[cy.fluid.Circle((0.4, 0.5), 0.1)])
    x0 = 0.1 * np.random.default_rng(0).normal(size=flow.state_size)
    runs = [cy.rollout(flow, x0, 3, threads=n) for n in (1, 2, 3)]
    gradients = [run.pullback(run.states) for run in runs]
    for run, g in zip(runs[1:], gradients[1:], strict=True):
        np.testing.assert_array_equal(run.states, runs[0].states)
        np.testing.assert_array_equal(g.x0, gradients[0].x0)
        np.testing.assert_array_equal(g.params, gradients[0].params)


@pytest.mark.parametrize("sides", ["channel", "ring"])
def test_obstacles_anywhere_give_finite_flows(sides):
    obstacles = [disc(), cy.fluid.Box((0.6, 0.4), (0.2, 0.3))]
    if sides == "channel":
        flow = channel(obstacles, shape=(10, 8), inputs=())
    else:
        flow = cy.fluid.grid((10, 8), (1.0, 0.8), 0.02, obstacles=obstacles, dt=0.01)
    draw = np.random.default_rng(12)
    x0 = 0.2 * draw.normal(size=flow.state_size)
    for k in range(120):
        on_grid = k % 3 == 0  # walls that pass through corners and faces
        numbers = draw.uniform(0, 0.8, 2), draw.uniform(0, 0.8, 2), draw.uniform(0.05, 0.3, 3)
        if on_grid:
            numbers = tuple(np.round(n, 1) + 0.05 * (k % 2) for n in numbers)
        centre, other, sizes = numbers
        params = {"obstacle:#0.center": centre, "obstacle:#0.radius": sizes[0] + 0.01,
                  "obstacle:#1.center": other, "obstacle:#1.size": sizes[1:] + 0.01}
        run = cy.rollout(flow, x0, 2, params)
        g = run.pullback(run.states, failed="skip").params  # a narrow passage may be too fast
        seen = cy.observe(flow, run.states[-1], params=params)
        assert all(np.isfinite(v).all() for v in (run.states, seen.values, *g.values())), params
        assert sides == "channel" or seen["divergence"].item() < 1e-9, params


def test_a_wall_across_the_channel_is_named():
    flow = channel([cy.fluid.Box((0.5, 0.4), (0.3, 2.0))])
    (failed,) = cy.rollout(flow, flow.state(), 3).report.failed
    assert failed.step == 0 and "inflow from every outflow" in failed.reason


def test_pressure_by_multigrid_is_that_of_a_factor_with_its_gradients():
    def flow_by(pressure, dtype="float64"):
        return cy.fluid.grid(
            (16, 12, 10), (1.6, 1.2, 1.0), viscosity=0.01, dt=0.02, pressure=pressure,
            boundary={"left": ("inflow", (1.0, 0.1, 0.0)), "right": "outflow", "bottom": "wall",
                      "top": "slip"},
            obstacles=[cy.fluid.Circle((0.53, 0.61, 0.48), 0.24)], dtype=dtype)

    direct, cycles = flow_by("direct"), flow_by("multigrid")
    draw = np.random.default_rng(5)
    x0 = cy.step(direct, 0.2 * draw.normal(size=direct.state_size))
    weights = draw.normal(size=direct.state_size)
    bars, runs = [], []
    for flow in (direct, cycles):
        run = cy.rollout(flow, x0, 4)
        bar = np.zeros_like(run.states)
        bar[-1] = weights
        runs.append(run), bars.append(run.pullback(bar))
    assert np.abs(runs[0].states - runs[1].states).max() < 1e-8
    assert np.abs(bars[0].x0 - bars[1].x0).max() < 1e-8 * np.abs(bars[0].x0).max()
    assert np.abs(bars[0].params - bars[1].params).max() < 1e-7 * np.abs(bars[0].params).max()
    # Three solves in a step.
    assert 3 < runs[1].report.counters["pressure_iterations"] < 90
    assert cy.observe(cycles, runs[1].states[-1], names="divergence").values[0] < 1e-7
    slope = float(bars[1].params @ (d := 1e-2 * draw.normal(size=bars[1].params.size)))

    def value(e):
        p = cycles.parameters.default + e * d
        return float(weights @ cy.rollout(cycles, x0, 4, p).states[-1])

    best = min(abs((value(e) - value(-e)) / (2 * e) - slope) for e in (1e-2, 1e-3, 1e-4))
    assert best < 1e-6 * abs(slope)
    single = cy.rollout(flow_by("multigrid", "float32"), x0, 4)
    assert np.abs(single.states[-1] - runs[0].states[-1]).max() < 1e-3
    with pytest.raises(cy.ModelError, match="multigrid"):
        flow_by("cg")


CARRIED = ("semi_lagrangian", "maccormack")


@pytest.mark.parametrize("obstructed", (False, True))
@pytest.mark.parametrize("advection", CARRIED)
def test_gradients_along_characteristics_by_differences(advection, obstructed):
    flow = channel(disc() if obstructed else (), advection=advection)
    draw = np.random.default_rng(6)
    x0 = cy.step(flow, 0.3 * draw.normal(size=flow.state_size))
    u, p, steps = 0.05 * draw.normal(size=(3, flow.input_size)), flow.parameters.default, 3
    if obstructed:  # it slides and turns: at rest each of its faces is at a kink
        p = flow.parameters.pack({"obstacle:#0.velocity": (0.07, -0.05),
                                  "obstacle:#0.angular_velocity": 0.3})
    weights = draw.normal(size=flow.state_size)
    run = cy.rollout(flow, x0, u, p)
    bar = np.zeros_like(run.states)
    bar[steps] = weights
    g = run.pullback(bar)

    def value(x=x0, controls=u, params=p):
        return float(weights @ cy.rollout(flow, x, controls, params).states[-1])

    # Without divergence: a face at a dead end is at rest, and at rest there is a kink.
    d = cy.step(flow, 0.3 * draw.normal(size=flow.state_size)) - x0
    best, slope = differenced(lambda v: value(x=v), g.x0, x0, d)
    assert best < 1e-6 and slope != 0
    best, slope = differenced(lambda v: value(controls=v), g.controls, u, draw.normal(size=u.shape))
    assert best < 1e-6 and slope != 0
    for name, d in directions(flow, 2):
        if name == "density":
            continue
        best, slope = differenced(lambda v: value(params=v), g.params, p, 1e-2 * d)
        assert best < 1e-6 and slope != 0, name


@pytest.mark.parametrize("advection, order", (("semi_lagrangian", 0.8), ("maccormack", 1.2)))
def test_vortices_that_drift_along_characteristics_converge(advection, order):
    """Taylor–Green vortices in a mean flow, at a Courant number that stays the same."""
    nu, seconds, errors = 0.02, 0.8, []
    for n in (32, 64):
        flow = cy.fluid.grid((n, n), (TAU, TAU), viscosity=nu, dt=0.8 / n, advection=advection)

        def drifting(x, y, t=0.0):
            u, v = vortices(x - t, y - 0.5 * t)
            return 1 + np.exp(-2 * nu * t) * u, 0.5 + np.exp(-2 * nu * t) * v

        x = cy.rollout(flow, flow.state(velocity=drifting), n, save="last").states[-1]
        exact = flow.state(velocity=lambda x, y: drifting(x, y, seconds))
        errors.append(np.sqrt(np.mean((x - exact) ** 2)))
    assert np.log2(errors[0] / errors[1]) > order
    assert errors[1] < (0.05 if advection == "semi_lagrangian" else 0.003)


@pytest.mark.parametrize("advection", CARRIED)
def test_characteristics_are_stable_beyond_courant_numbers_of_one(advection):
    flow = cy.fluid.grid((32, 32), (1.0, 1.0), viscosity=1e-4, dt=0.15, advection=advection,
                         boundary=dict.fromkeys(("left", "right", "bottom", "top"), "wall"))
    x0 = flow.state(velocity=lambda x, y: (np.sin(np.pi * x) * np.cos(np.pi * y),
                                           -np.cos(np.pi * x) * np.sin(np.pi * y)))
    run = cy.rollout(flow, x0, 100)
    energy = cy.observe(flow, run.states[[0, -1]], names="kinetic_energy").values[:, 0]
    assert not run.report.failed and energy[1] < energy[0]
    with pytest.raises(cy.ModelError, match="upwind"):
        cy.fluid.grid((8, 8), 1.0, advection="upwind")


@pytest.mark.parametrize("advection", CARRIED)
def test_a_wild_start_along_characteristics_is_no_crash(advection):
    flow = cy.fluid.grid((8, 8), (1.0, 1.0), viscosity=0.01, dt=0.01, advection=advection)
    x = flow.state(velocity=lambda x, y: (1e12 + 0 * x, 1e12 * np.sin(x)))
    run = cy.rollout(flow, x, 3)
    assert np.isfinite(run.states).all()
