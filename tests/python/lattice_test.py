"""Flows by the lattice Boltzmann method: known answers, walls, obstacles, gradients, bad input."""

import numpy as np
import pytest

import cycloid as cy
from conformance import conform

TAU = 2 * np.pi
COLLISIONS = ("bgk", "trt", "mrt")


def channel(collision="bgk", obstacles=(), shape=(14, 12), **more):
    """Every kind of side but the periodic."""
    return cy.fluid.lattice(
        shape,
        tuple(0.1 * n for n in shape),
        viscosity=0.02,
        density=1.3,
        dt=0.02,
        boundary={
            "left": ("inflow", lambda y: (0.3 + 0.2 * y, 0.05 * y)),
            "right": "outflow",
            "bottom": ("wall", (0.3, 0.0)),
            "top": "slip",
        },
        obstacles=obstacles,
        inputs=("force", "inflow:left", "wall:bottom"),
        collision=collision,
        **more,
    )


def some_state(flow, seed=1, scale=0.3):
    draw = np.random.default_rng(seed)
    d = len(flow.shape)
    u = [scale * draw.normal(size=flow.shape) for _ in range(d)]
    x = flow.state(velocity=u, pressure=0.1 * draw.normal(size=flow.shape))
    return x + 1e-3 * draw.normal(size=x.size)


@pytest.mark.parametrize("collision", COLLISIONS)
def test_taylor_green_decays_at_second_order_with_its_gradient(collision):
    nu, seconds, errors = 0.05, 0.5, []
    for n in (16, 32, 64):
        dt = 0.05 * (16 / n) ** 2  # the error of compressibility shrinks with that of space
        flow = cy.fluid.lattice((n, n), TAU, viscosity=nu, dt=dt, collision=collision)
        x0 = flow.state(
            velocity=lambda x, y: (np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)),
            pressure=lambda x, y: (np.cos(2 * x) + np.cos(2 * y)) / 4,
        )
        run = cy.rollout(flow, x0, round(seconds / dt), save="last")
        seen = cy.observe(flow, run.states[-1], names="kinetic_energy")
        J = float(seen.values[0])
        exact = 0.25 * TAU**2 * np.exp(-4 * nu * seconds)
        back = seen.pullback([1.0])
        g = run.pullback(back.x[None])
        slope = float(flow.parameters.unpack(g.params)["viscosity"])
        errors.append((abs(J / exact - 1), abs(slope / (-4 * seconds * J) - 1)))
    coarse, _, fine = np.array(errors)
    assert (coarse / fine > 3.5).all()
    assert fine[0] < 2e-4 and fine[1] < 5e-3


# nu t / H²: u / u_max at the centre, u / U half-way (start-up of Poiseuille and Couette flow)
TIMES = (0.01, 0.05, 0.1, 0.2, 0.5)
POISEUILLE = (0.0799923, 0.37038632, 0.61535251, 0.85663689, 0.99257762)
COUETTE = (0.00040695, 0.1138442, 0.26275627, 0.41156643, 0.4954215)


@pytest.mark.parametrize("collision", COLLISIONS)
@pytest.mark.parametrize("axis", (0, 1))
def test_start_up_of_poiseuille_and_couette_flow(collision, axis):
    n, nu = 31, 0.1
    sides = ("bottom", "top") if axis == 0 else ("left", "right")
    shape = (4, n) if axis == 0 else (n, 4)
    middle = (2, n // 2) if axis == 0 else (n // 2, 2)
    steps = [round(t * n * n / nu) for t in TIMES]
    push = [0.0, 0.0]
    push[axis] = 8 * nu * 0.01 / n**2  # u_max = 0.01
    flow = cy.fluid.lattice(shape, viscosity=nu, collision=collision, inputs=("force",),
                            boundary=dict.fromkeys(sides, "wall"))
    run = cy.rollout(flow, flow.state(), np.tile(push, (steps[-1], 1)))
    seen = cy.observe(flow, run.states[steps], names="velocity",
                      u=np.tile(push, (len(steps), 1)))
    u = seen.values.reshape(len(steps), *shape, 2)
    assert np.abs(u[:, *middle, axis] / 0.01 - POISEUILLE).max() < 3e-3
    wall = [0.0, 0.0]
    wall[axis] = 0.01
    flow = cy.fluid.lattice(shape, viscosity=nu, collision=collision,
                            boundary={sides[0]: "wall", sides[1]: ("wall", wall)})
    run = cy.rollout(flow, flow.state(), steps[-1])
    u = flow.field(run.states[steps])[:, *middle, axis]
    assert np.abs(u / 0.01 - COUETTE).max() < 1.5e-3
    assert abs(u[-1] / 0.01 - COUETTE[-1]) < 2e-4


def test_two_rates_place_flat_walls_half_a_cell_away_at_any_viscosity():
    for nu in (0.02, 1.0):
        n, force = 8, 1e-6
        flow = cy.fluid.lattice((2, n), viscosity=nu, collision="trt", inputs=("force",),
                                boundary={"bottom": "wall", "top": "wall"})
        y = np.arange(n) + 0.5
        exact = force * y * (n - y) / (2 * nu)
        start = flow.state(velocity=[np.tile(exact, (2, 1)), 0.0])
        steps = round(6 * n * n / nu) if nu < 1 else 2000
        push = np.tile([force, 0.0], (steps, 1))
        x = cy.rollout(flow, start, push, save="last").states[-1]
        u = cy.observe(flow, x, names="velocity", u=[force, 0.0]).values.reshape(2, n, 2)
        assert np.abs(u[0, :, 0] / exact - 1).max() < 2e-5


def test_three_dimensions_decay_as_the_shear_wave_does():
    n, nu, steps = 24, 0.05, 200
    flow = cy.fluid.lattice((n, 3, n), viscosity=nu, collision="mrt")
    k = TAU / n
    x0 = flow.state(velocity=lambda x, y, z: (0.01 * np.sin(k * z), 0 * x, 0.01 * np.sin(k * x)))
    x = cy.rollout(flow, x0, steps, save="last").states[-1]
    e0, e1 = cy.observe(flow, np.stack([x0, x]), names="kinetic_energy").values[:, 0]
    assert e1 / e0 == pytest.approx(np.exp(-2 * nu * k * k * steps), rel=0.01)


def test_drag_of_a_cylinder_of_schaefer_and_turek_coarsely():
    def profile(y):
        return 1.2 * y * (0.41 - y) / 0.41**2, 0 * y

    flow = cy.fluid.lattice(
        (220, 41), (2.2, 0.41), viscosity=1e-3, dt=5e-3, collision="trt",
        boundary={"left": ("inflow", profile), "right": "outflow", "bottom": "wall",
                  "top": "wall"},
        obstacles=[cy.fluid.Circle((0.2, 0.2), 0.05)])
    start = flow.state(velocity=lambda x, y: profile(y))
    x = cy.rollout(flow, start, 2000, save="last").states[-1]
    cd, cl = cy.observe(flow, x, names=["drag:#0", "lift:#0"]).values * 2 / (0.2**2 * 0.1)
    assert cd == pytest.approx(5.57954, rel=0.01)
    assert abs(cl - 0.010619) < 0.003


@pytest.mark.parametrize("collision", COLLISIONS)
@pytest.mark.parametrize("shape", ("none", "circle", "box", "array"))
def test_gradients_by_differences_at_every_side_and_obstacle(collision, shape):
    x, y = np.meshgrid(0.1 * np.arange(15), 0.1 * np.arange(13), indexing="ij")
    obstacle = {
        "none": (),
        "circle": (cy.fluid.Circle((0.613, 0.587), 0.213),),
        "box": (cy.fluid.Box((0.618, 0.587), (0.42, 0.36)),),
        "array": (cy.fluid.Shape(np.hypot(x - 0.613, y - 0.587) - 0.213),),
    }[shape]
    flow = channel(collision, obstacle)
    draw = np.random.default_rng(5)
    x0, steps = some_state(flow), 5
    if obstacle:
        x0 = cy.rollout(flow, x0, 1).states[-1]
    u = 0.02 * draw.normal(size=(steps, flow.input_size))
    p = flow.parameters.default.copy()
    for name in flow.parameters.names:
        info = flow.parameters.info(name)
        if name.endswith("velocity"):
            p[info.offset : info.offset + info.size] += 0.05 * draw.normal(size=info.size)
    weights = draw.normal(size=flow.state_size)

    def value(at, controls, params):
        return float(weights @ cy.rollout(flow, at, controls, params).states[-1])

    run = cy.rollout(flow, x0, u, p)
    bar = np.zeros_like(run.states)
    bar[-1] = weights
    g = run.pullback(bar)
    checks = [("x0", g.x0, x0, lambda v: value(v, u, p)),
              ("controls", g.controls, u, lambda v: value(x0, v, p))]
    for name in flow.parameters.names:
        if name == "density":
            continue
        info = flow.parameters.info(name)
        part = slice(info.offset, info.offset + info.size)

        def of_part(v, part=part):
            q = p.copy()
            q[part] = v
            return value(x0, u, q)

        checks.append((name, g.params[part], p[part], of_part))
    for name, gradient, at, of in checks:
        d = draw.normal(size=np.shape(at))
        if name.endswith(("sdf", "center", "radius", "size")):
            d *= 1e-2
        slope, best = float(np.sum(gradient * d)), np.inf
        assert slope != 0, name
        for e in (1e-3, 1e-4, 1e-5, 1e-6):
            gap = (of(at + e * d) - of(at - e * d)) / (2 * e)
            best = min(best, abs(gap - slope) / max(abs(slope), 1e-4))
        assert best < 1e-6, name


def test_taylor_remainders_have_slope_two():
    flow = channel("mrt", (cy.fluid.Circle((0.613, 0.587), 0.213),))
    x0 = cy.rollout(flow, some_state(flow), 3).states[-1]
    run = cy.rollout(flow, x0, 10)
    x1 = run.states[-1]
    bar = np.zeros_like(run.states)
    bar[-1] = x1
    g = run.pullback(bar)
    for name, scale in (("viscosity", 5e-3), ("obstacle:#0.radius", 1e-4),
                        ("obstacle:#0.center", 1e-4), ("inflow:left.velocity", 0.1)):
        info = flow.parameters.info(name)
        part = slice(info.offset, info.offset + info.size)
        d = np.random.default_rng(3).normal(size=info.size)
        rest = []
        for halving in range(5):
            p = flow.parameters.default.copy()
            p[part] += scale * 0.5**halving * d
            one = cy.rollout(flow, x0, 10, p).states[-1]
            J = 0.5 * float(one @ one - x1 @ x1)
            rest.append(abs(J - scale * 0.5**halving * float(g.params[part] @ d)))
        slopes = np.log2(np.array(rest[:-1]) / rest[1:])
        assert np.abs(slopes - 2).max() < 0.3 and abs(slopes[-1] - 2) < 0.05, (name, slopes)


@pytest.mark.parametrize("obstructed", (False, True))
def test_observables_by_differences(obstructed):
    obstacle = (cy.fluid.Circle((0.613, 0.587), 0.213),) if obstructed else ()
    flow = channel("mrt", obstacle, probes=[[0.31, 0.44], [1.38, 0.02]])
    draw = np.random.default_rng(8)
    x, u = some_state(flow), 0.02 * draw.normal(size=flow.input_size)
    names = ["velocity", "pressure", "kinetic_energy", "vorticity", "enstrophy", "probe",
             "probe_pressure"]
    names += ["drag:#0", "lift:#0"] if obstructed else []
    for name in names:
        seen = cy.observe(flow, x, names=name, u=u)
        bar = draw.normal(size=np.shape(seen.values))
        back = seen.pullback(bar)
        d_x, d_u = draw.normal(size=x.size), draw.normal(size=u.size)
        d_p = flow.parameters.default * 0.01 * draw.normal(size=flow.parameters.size)
        slope = float(back.x @ d_x + back.controls @ d_u + back.params @ d_p)
        assert slope != 0

        def value(e):
            moved = cy.observe(flow, x + e * d_x, names=name, u=u + e * d_u,
                               params=flow.parameters.default + e * d_p)
            return float(np.sum(bar * moved.values))

        best = min(abs((value(e) - value(-e)) / (2 * e) - slope) for e in (1e-3, 1e-4, 1e-5, 1e-6))
        assert best < 1e-6 * max(abs(slope), 1e-2), name


def test_a_spinning_cylinder_by_differences():
    flow = cy.fluid.lattice((16, 16), viscosity=0.05,
                            obstacles=[cy.fluid.Circle((8.2, 7.9), 3.1)],
                            inputs=("obstacle:#0.angular_velocity", "obstacle:#0.velocity"))
    p = flow.parameters.pack({"obstacle:#0.angular_velocity": 0.01})
    u = np.tile([0.002, 0.01, -0.005], (6, 1))
    run = cy.rollout(flow, flow.state(), u, p)
    assert np.abs(run.states[-1]).max() > 1e-3
    bar = np.zeros_like(run.states)
    bar[-1] = w = np.random.default_rng(2).normal(size=flow.state_size)
    g = run.pullback(bar)
    d = np.random.default_rng(4).normal(size=p.size)
    d[:2] *= 0.01
    slope = float(g.params @ d)

    def value(e):
        return float(w @ cy.rollout(flow, flow.state(), u, p + e * d).states[-1])

    best = min(abs((value(e) - value(-e)) / (2 * e) - slope) for e in (1e-3, 1e-4, 1e-5))
    assert best < 1e-7 * abs(slope)


@pytest.mark.parametrize("kind", ("lattice", "grid"))
def test_a_spinning_disc_across_a_periodic_side_is_one_like_another(kind):
    def energy(center):
        box = {"shape": (16, 16), "size": (16.0, 16.0), "viscosity": 0.05, "dt": 1.0,
               "obstacles": [cy.fluid.Circle(center, 3.2)]}  # fmt: skip
        flow = getattr(cy.fluid, kind)(**box)
        p = flow.parameters.pack({"obstacle:#0.angular_velocity": 0.02})
        end = cy.rollout(flow, flow.state(), 10, p, save="last").states[-1]
        return cy.observe(flow, end, names=["kinetic_energy"], params=p).values[0]

    inside = energy((8.3, 7.9))
    assert inside > 1e-3
    assert energy((0.3, 7.9)) == pytest.approx(inside, rel=1e-9)


@pytest.mark.parametrize("shape", ((11, 7), (5, 4, 6)))
def test_conformance(shape):
    flow = cy.fluid.lattice(
        shape, viscosity=0.05, collision="mrt", inputs=("force", "inflow:left"),
        boundary={"left": ("inflow", [0.05] + [0.01] * (len(shape) - 1)), "right": "outflow",
                  "bottom": "wall", "top": ("wall", [0.02] + [0.0] * (len(shape) - 1))},
        obstacles=[cy.fluid.Circle([s / 2 + 0.13 for s in shape], 1.3)])
    x0 = np.stack([some_state(flow, seed, 0.05) for seed in range(5)])
    x0 = cy.rollout(flow, x0, 1).states[:, -1]
    u = 1e-2 * np.random.default_rng(9).normal(size=(5, 3, flow.input_size))
    conform(flow, x0, u, blocks=8, failed="a start that fast is refused")


def test_float_follows_double():
    runs = []
    for dtype in ("float64", "float32"):
        flow = cy.fluid.lattice((40, 30), viscosity=0.02, dtype=dtype, collision="mrt",
                                boundary={"bottom": "wall", "top": ("wall", (0.1, 0.0))},
                                obstacles=[cy.fluid.Circle((20.3, 14.6), 4.2)])
        run = cy.rollout(flow, flow.state(), 200, save="last")
        runs.append(flow.field(run.states[-1]))
    assert np.abs(runs[0] - runs[1]).max() < 2e-6


def test_threads_do_not_change_a_bit():
    flow = cy.fluid.lattice((40, 13, 17), viscosity=0.05, boundary={"left": "wall",
                                                                   "right": "wall"})
    x0 = some_state(flow, 3, 0.05)
    runs = [cy.rollout(flow, x0, 4, threads=n) for n in (1, 2)]
    assert np.array_equal(runs[0].states, runs[1].states)
    bars = [run.pullback(run.states) for run in runs]
    assert np.array_equal(bars[0].x0, bars[1].x0)
    assert np.array_equal(bars[0].params, bars[1].params)


def test_probes_take_one_state():
    flow = channel()
    rows = np.zeros((2, flow.state_size))
    for read in (flow.velocity, flow.pressure):
        with pytest.raises(cy.Error, match="a state has"):
            read(rows, [[1.0, 1.0]])


def test_bad_input_is_named():
    with pytest.raises(cy.ModelError, match="cubes"):
        cy.fluid.lattice((8, 8), (1.0, 2.0), dt=0.1)
    with pytest.raises(cy.ModelError, match="time step"):
        cy.fluid.lattice((8, 8), (1.0, 1.0))
    with pytest.raises(cy.ModelError, match="bgk"):
        cy.fluid.lattice((8, 8), collision="none")
    with pytest.raises(cy.ModelError, match="outflow"):
        cy.fluid.lattice((8, 8), boundary={"left": ("inflow", (0.1, 0.0)), "right": "wall"})
    with pytest.raises(cy.ModelError, match="covers no cell"):
        cy.fluid.lattice((8, 8), obstacles=[cy.fluid.Circle((4.0, 4.0), 0.1)])
    with pytest.raises(cy.ModelError, match="no fluid is left"):
        cy.fluid.lattice((8, 8), obstacles=[cy.fluid.Circle((4.0, 4.0), 9.0)])
    with pytest.raises(cy.ModelError, match="at least 2 cells"):
        cy.fluid.lattice((1, 8))
    with pytest.raises(cy.Error, match="not finite at node"):
        cy.fluid.lattice((8, 8)).state(velocity=lambda x, y: (x + np.nan, y))
    with pytest.raises(cy.ParameterError, match="viscosity"):
        cy.fluid.lattice((8, 8), viscosity=0.0)
    flow = cy.fluid.lattice((8, 8))
    with pytest.raises(cy.Error, match="CFL.*at most"):
        cy.rollout(flow, flow.state(velocity=lambda x, y: (0.5 + 0 * x, 0 * y)), 2)


def test_a_flow_that_outruns_its_step_is_in_the_report():
    flow = cy.fluid.lattice((8, 8), inputs=("force",))
    run = cy.rollout(flow, flow.state(), np.tile([0.05, 0.0], (40, 1)))
    (failure,) = run.report.failed
    assert "CFL" in failure.reason and "node" in failure.body
    assert np.isfinite(run.states).all() and 5 < failure.step < 20


def test_ten_thousand_steps_have_a_finite_gradient():
    flow = cy.fluid.lattice((16, 16), viscosity=0.02, collision="mrt",
                            boundary={"bottom": "wall", "top": ("wall", (0.05, 0.0))},
                            obstacles=[cy.fluid.Circle((8.2, 7.7), 2.3)])
    run = cy.rollout(flow, flow.state(), 10240, save="last")
    g = run.pullback(run.states)
    assert np.isfinite(g.x0).all() and np.isfinite(g.params).all()
    assert np.abs(g.params).max() > 0.1
