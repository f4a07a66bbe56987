"""Soft solids: patch test, closed forms, gradients by Taylor's rule, what every System keeps."""

import numpy as np
import pytest
from conformance import conform
from soft_taylor import check_gradient

import cycloid as cy

MATERIALS = ("linear", "corotated", "stvk", "neo_hookean", "neo_hookean_log", "mooney_rivlin")
STRETCHED = np.array([[1.1, 0.2, -0.1], [0.05, 0.9, 0.15], [-0.1, 0.1, 1.2]])


def distorted(element, cells=(2, 2, 2), amount=0.08, seed=1):
    """A box whose corners inside are moved about; edges of tet10 stay straight."""
    mesh = cy.soft.box(cells, cells, element)
    x, nodes = mesh.vertices, mesh.cells
    inside = np.all((x > 1e-9) & (x < np.array(cells) - 1e-9), axis=1)
    x[inside] += amount * np.random.default_rng(seed).uniform(-1, 1, (inside.sum(), 3))
    if element == "tet10":
        for k, (a, b) in enumerate(((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))):
            x[nodes[:, 4 + k]] = (x[nodes[:, a]] + x[nodes[:, b]]) / 2
    return cy.soft.Mesh(x, nodes), inside


# Cells and how they are formulated.
FORMS = [
    ("tet", "standard"), ("hex", "standard"), ("tet10", "standard"), ("hex", "locking_free")
]


@pytest.mark.parametrize("element, formulation", FORMS)
@pytest.mark.parametrize("material", MATERIALS)
def test_a_linear_field_is_reproduced_on_distorted_meshes(material, element, formulation):
    mesh, inside = distorted(element)
    x = mesh.vertices
    body = cy.soft.solid(
        mesh, material, gravity=(0, 0, 0), pinned=np.flatnonzero(~inside), inputs=("pinned",),
        formulation=formulation,
    )
    expected = x @ STRETCHED.T
    u = (expected - x)[~inside].ravel()
    rest = cy.soft.equilibrium(body, u=u)
    assert rest.converged and inside.sum() > 0
    found = rest.state[: x.size].reshape(-1, 3)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    stress = cy.observe(body, rest.state, u, names=["stress"]).values.reshape(-1, 3, 3)
    assert np.abs(stress - stress[0]).max() < 1e-12 * np.abs(stress).max()


@pytest.mark.parametrize("element, formulation", FORMS)
@pytest.mark.parametrize("material", MATERIALS[1:])
def test_a_rigid_rotation_gives_no_force(material, element, formulation):
    mesh, _ = distorted(element)
    angle = 2.0
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    body = cy.soft.solid(
        mesh, material, gravity=(0, 0, 0), pinned=np.arange(len(mesh.vertices)),
        formulation=formulation,
    )
    x = np.r_[(mesh.vertices @ turn.T + [1, 2, 3]).ravel(), np.zeros(mesh.vertices.size)]
    shown = cy.observe(body, x, names=["reaction", "elastic_energy"]).values
    assert np.abs(shown).max() < 1e-12 * 1e5


def cube(material, **options):
    """A unit cube, held along the normals of three faces, pulled at the fourth along x."""
    mesh = cy.soft.box((2, 2, 2))
    x = mesh.vertices
    mask = x == 0
    mask[:, 0] |= x[:, 0] == 1
    body = cy.soft.solid(
        mesh, material, young=1000.0, gravity=(0, 0, 0), pinned=mask, inputs=("pinned",), **options
    )
    pulled = (x[:, 0] == 1)[:, None] & (np.arange(3) == 0)
    return body, pulled.ravel(), pulled[mask].astype(float)


def nominal_stress(body, pulled, direction, stretch):
    """The force on the pulled face, and its whole derivative with respect to the parameters."""
    u = (stretch - 1) * direction
    rest = cy.soft.equilibrium(body, u=u)
    assert rest.converged
    seen = cy.observe(body, rest.state, u, names=["reaction"])
    back = seen.pullback(pulled.astype(float))
    total = back.params + rest.pullback(back.x).params
    return float(seen.values[pulled].sum()), body.parameters.unpack(total)


@pytest.mark.parametrize(
    "stretch, expected, by_mu, by_lam",
    [
        (0.5, -935.35205689, None, None),
        (0.8, -240.00538199, None, None),
        (1.5, 378.28017639, 0.93237583, 0.03410175),
        (2.0, 646.74466017, 1.62742788, 0.03607216),
        (10.0, 3839.48081357, 9.97408142, 0.00571246),
    ],
)
def test_uniaxial_stretch_of_the_logarithmic_material(stretch, expected, by_mu, by_lam):
    force, g = nominal_stress(*cube("neo_hookean_log"), stretch)
    assert abs(force / expected - 1) < 1e-8
    if by_mu is None:
        return
    mu, lam = 1000 / 2.6, 300 / (1.3 * 0.4)
    # young = mu (3 lam + 2 mu)/(lam + mu), poisson = lam/(2 (lam + mu))
    young = np.array([(3 * lam**2 + 4 * mu * lam + 2 * mu**2), mu**2]) / (lam + mu) ** 2
    poisson = np.array([-lam, mu]) / (2 * (lam + mu) ** 2)
    found = g["young"] * young + g["poisson"] * poisson
    np.testing.assert_allclose(found, [by_mu, by_lam], rtol=1e-8, atol=1e-8)


def test_uniaxial_stretch_of_other_materials():
    for stretch, expected in ((0.8, -144.0), (1.5, 937.5), (2.0, 3000.0)):
        assert abs(nominal_stress(*cube("stvk"), stretch)[0] / expected - 1) < 1e-10
        force, g = nominal_stress(*cube("corotated"), stretch)
        assert abs(force / (1000 * (stretch - 1)) - 1) < 1e-10
        assert abs(g["young"] / (stretch - 1) - 1) < 1e-9


def beam(element="tet10", cells=(16, 2, 2), material="linear", **options):
    mesh = cy.soft.box(cells, (1.0, 0.1, 0.1), element)
    x = mesh.vertices
    options = {"young": 1e6, "gravity": (0, 0, 0), "inputs": ("force",)} | options
    body = cy.soft.solid(mesh, material, pinned=np.flatnonzero(x[:, 0] == 0), **options)
    end = np.flatnonzero(x[:, 0] == 1)
    force = np.zeros(x.shape)
    force[end, 2] = 1.0 / len(end)
    tip = np.zeros(2 * x.size)
    tip[3 * end + 2] = 1.0 / len(end)
    return mesh, body, force.ravel(), tip


def test_a_cantilever_bends_as_beams_do_and_so_do_its_derivatives():
    mesh, body, force, tip = beam()
    rest = cy.soft.equilibrium(body, u=force)
    deflection = tip @ (rest.state - body.initial_state())
    assert abs(deflection / 0.0403120 - 1) < 0.015
    g = rest.pullback(tip)
    params = body.parameters.unpack(g.params)
    assert abs(params["young"] / (-deflection / 1e6) - 1) < 1e-9
    np.testing.assert_allclose(force @ g.controls, deflection, rtol=1e-9)
    # Longer by its length: 3 tip/L; higher: -3 tip/h.
    along = np.sum(params["vertices"] * mesh.vertices, axis=0)
    along[2] -= tip @ body.initial_state()  # the rest vertex itself
    assert abs(along[0] / (3 * deflection) - 1) < 0.015
    assert abs(along[2] / (-3 * deflection) - 1) < 0.015


def test_a_cantilever_sags_under_its_weight():
    _, body, _, tip = beam(gravity=(0, 0, -0.1))
    rest = cy.soft.equilibrium(body)
    expected = -(1000 * 0.01 * 0.1) / (8 * 1e6 * 0.1**4 / 12)
    assert abs(tip @ (rest.state - body.initial_state()) / expected - 1) < 0.015


def test_a_cantilever_swings_with_its_frequency():
    _, body, force, tip = beam(integrator="newmark", dt=0.04)
    rest = cy.soft.equilibrium(body, u=force)
    run = cy.rollout(body, rest.state, 40)
    heights = (run.states - body.initial_state()) @ tip
    k = np.flatnonzero(np.diff(np.sign(heights)))  # half a period apart
    crossed = run.times[k] + 0.04 * heights[k] / (heights[k] - heights[k + 1])
    omega = 3.516015 * np.sqrt(1e6 * 0.1**4 / 12 / (1000 * 0.01))
    assert len(crossed) == 2
    assert abs(np.pi / np.diff(crossed)[0] / omega - 1) < 0.015


def cook(n, formulation, young, poisson, force, plane_strain):
    """Cook's membrane: deflection of the middle of the loaded side (48, 52) [m]."""
    mesh = cy.soft.box((n, n, 1), (1, 1, 1))
    s, t, z = mesh.vertices.T
    x = np.stack([48 * s, 44 * t * (1 - s) + s * (44 + 16 * t), z], axis=1)
    pinned = np.zeros(x.shape, bool)
    pinned[s == 0, :2] = True
    pinned[:, 2] = True if plane_strain else z == 0
    body = cy.soft.solid(
        cy.soft.Mesh(x, mesh.cells), "linear", young, poisson, pinned=pinned, gravity=(0, 0, 0),
        inputs=("force",), formulation=formulation,
    )
    u = np.zeros(x.shape)
    ends = np.isclose(t, 0) | np.isclose(t, 1)
    u[:, 1] = np.where(s == 1, force / (2 * n) * np.where(ends, 0.5, 1), 0)
    rest = cy.soft.equilibrium(body, u=u.ravel())
    assert rest.converged
    moved = rest.state[: x.size].reshape(x.shape) - x
    return moved[np.isclose(x[:, 0], 48) & np.isclose(x[:, 1], 52), 1].mean()


def test_cooks_membrane_does_not_lock():
    assert cook(16, "locking_free", 1.0, 1 / 3, 1.0, False) == pytest.approx(23.88, abs=0.005)
    assert cook(16, "standard", 1.0, 1 / 3, 1.0, False) == pytest.approx(23.35, abs=0.005)
    # Nearly incompressible, in plane strain: the plain element is several times too stiff.
    free = cook(16, "locking_free", 250.0, 0.4999, 100.0, True)
    assert free > 7
    assert free / cook(16, "standard", 250.0, 0.4999, 100.0, True) == pytest.approx(3.15, abs=0.05)


def test_a_thick_cylinder_under_pressure():
    n = 8
    mesh = cy.soft.box((n, n, 1), (1, np.pi / 2, 0.1))
    r, angle = 1 + mesh.vertices[:, 0], mesh.vertices[:, 1]
    x = np.c_[r * np.cos(angle), r * np.sin(angle), mesh.vertices[:, 2]]
    x[np.abs(x) < 1e-12] = 0
    mesh = cy.soft.Mesh(x, mesh.cells)
    mask = np.zeros(x.shape, bool)
    mask[:, :2] = x[:, :2] == 0
    mask[:, 2] = True
    body = cy.soft.solid(
        mesh, "linear", young=1000.0, gravity=(0, 0, 0), pinned=mask, inputs=("force",)
    )
    force = np.zeros(x.shape)
    inner = np.isclose(r, 1)
    for cell in mesh.cells:
        face = [v for v in cell if inner[v]]
        if len(face) != 4:
            continue
        low, high = face[0], next(v for v in face if x[v, 2] == x[face[0], 2] and v != face[0])
        chord = x[high] - x[low]
        normal = np.array([chord[1], -chord[0], 0])
        normal *= np.sign(normal @ x[low])
        force[face] += 0.1 * normal / 4  # pressure 1 on a face 0.1 high
    rest = cy.soft.equilibrium(body, u=force.ravel())
    moved = rest.state[: x.size].reshape(-1, 3) - x
    radial = np.linalg.norm(moved[:, :2], axis=1)
    assert abs(radial[inner].mean() / 0.0019066667 - 1) < 0.01
    assert abs(radial[np.isclose(r, 2)].mean() / 0.0012133333 - 1) < 0.01


@pytest.mark.parametrize(
    "mu, expected", [(0.5e6, (-7.18767e-3, -66.1023e-3)), (2e6, (-0.469e-3, -16.9739e-3))]
)
def test_the_bar_of_turek_and_hron_at_rest(mu, expected):
    mesh = cy.soft.box((44, 2, 1), (1, 0.02, 0.01), "tet10")
    x = mesh.vertices
    left = 0.2 + np.sqrt(0.05**2 - (x[:, 1] - 0.01) ** 2)  # the cylinder that it is fixed to
    clamped = x[:, 0] == 0
    x[:, 0] = left + (0.6 - left) * x[:, 0]
    for k, (a, b) in enumerate(((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))):
        x[mesh.cells[:, 4 + k]] = (x[mesh.cells[:, a]] + x[mesh.cells[:, b]]) / 2
    mask = np.repeat(clamped[:, None], 3, axis=1)
    mask[:, 2] = True
    body = cy.soft.solid(
        cy.soft.Mesh(x, mesh.cells),
        "stvk",
        young=2 * mu * 1.4,
        poisson=0.4,
        pinned=mask,
        gravity=(0, -2, 0),
    )
    rest = cy.soft.equilibrium(body)
    assert rest.converged
    end = np.isclose(x[:, 0], 0.6) & np.isclose(x[:, 1], 0.01)
    moved = (rest.state[: x.size].reshape(-1, 3) - x)[end].mean(axis=0)
    np.testing.assert_allclose(moved[:2], expected, rtol=0.01)


def test_the_bar_of_turek_and_hron_swings():
    """CSM3, over its second second: middle, amplitude and period of the end, against the series of
    the benchmark."""
    mesh = cy.soft.box((30, 2, 1), (1, 0.02, 0.01))
    x = mesh.vertices
    left = 0.2 + np.sqrt(0.05**2 - (x[:, 1] - 0.01) ** 2)
    mask = np.repeat(x[:, :1] == 0, 3, axis=1)
    mask[:, 2] = True
    x[:, 0] = left + (0.6 - left) * x[:, 0]
    body = cy.soft.solid(
        cy.soft.Mesh(x, mesh.cells), "stvk", young=1.4e6, poisson=0.4, pinned=mask,
        gravity=(0, -2, 0), dt=0.005, integrator="newmark", formulation="locking_free",
    )
    end = np.flatnonzero(np.isclose(x[:, 0], 0.6) & np.isclose(x[:, 1], 0.01))
    run = cy.rollout(body, body.initial_state(), 400, memory="sqrt")
    moved = run.states[:, : x.size].reshape(401, -1, 3)[:, end].mean(axis=1) - x[end].mean(axis=0)
    second = moved[200:, :2]
    low, high = second.min(axis=0), second.max(axis=0)
    middle = (high + low) / 2 / (-14.6508e-3, -64.8131e-3)
    amplitude = (high - low) / 2 / (14.6507e-3, 64.9142e-3)
    assert np.all(np.abs([middle - 1, amplitude - 1]) < (0.009, 0.005))
    lowest = []
    for part in (slice(40, 160), slice(200, 340)):
        k = part.start + np.argmin(moved[part, 1])
        a, b, c = moved[k - 1 : k + 2, 1]
        lowest.append(0.005 * (k + 0.5 * (a - c) / (a - 2 * b + c)))
    assert abs((lowest[1] - lowest[0]) / 0.915922 - 1) < 0.003


def swinging(integrator="implicit_euler", material="neo_hookean", element="hex", per_cell=False):
    """A body with everything: held numbers that move, forces, damping, drag, point masses."""
    element, _, formulation = element.partition(" ")
    mesh, _ = distorted(element, (3, 1, 1), 0.0)
    x = 0.1 * mesh.vertices
    x += 0.004 * np.random.default_rng(2).uniform(-1, 1, x.shape)
    mesh = cy.soft.Mesh(x, mesh.cells)
    n = len(x)
    body = cy.soft.solid(
        mesh,
        material,
        young=np.linspace(1e4, 3e4, len(mesh.cells)) if per_cell else 2e4,
        damping=0.01,
        drag=0.3,
        mass=np.full(n, 0.01),
        pinned=np.flatnonzero(x[:, 0] < 0.05),
        inputs=("force", "pinned"),
        dt=0.02,
        integrator=integrator,
        formulation=formulation or "standard",
    )
    draw = np.random.default_rng(3)
    u = np.r_[0.1 * draw.normal(size=3 * n), 0.004 * draw.normal(size=body.input_size - 3 * n)]
    return body, u


@pytest.mark.parametrize(
    "integrator, material, element",
    [
        ("implicit_euler", "neo_hookean", "hex"),
        ("newmark", "corotated", "tet"),
        ("bdf2", "mooney_rivlin", "hex"),
        ("implicit_euler", "stvk", "tet10"),
        ("implicit_euler", "neo_hookean", "hex locking_free"),
        ("newmark", "mooney_rivlin", "hex locking_free"),
        ("bdf2", "neo_hookean", "hex locking_free"),
    ],
)
def test_gradients_pass_the_taylor_test_along_themselves(integrator, material, element):
    body, u = swinging(integrator, material, element, per_cell=True)
    check_gradient(body, u, steps=6, scales={"x0": 0.02, "controls": 0.02})


def test_observables_and_their_gradients():
    body, u = swinging(per_cell=True)
    draw = np.random.default_rng(5)
    x = cy.rollout(body, body.initial_state(), np.tile(u, (3, 1)), save="last").states[0].copy()
    n = body.state_size // 2
    x[n:] += 0.1 * draw.normal(size=n)
    names = ["energy", "elastic_energy", "kinetic_energy", "reaction", "stress", "volume"]
    names += ["strain", "potential_energy", "centre_of_mass", "vertex:#7"]
    assert set(names[:-1]) <= set(body.observables)
    p = body.parameters.default
    for name in names:
        seen = cy.observe(body, x, u, names=[name], params=p)
        bar = draw.normal(size=seen.values.shape)
        g = seen.pullback(bar)
        for what, back in (("x", g.x), ("u", g.controls), ("p", g.params)):
            d = draw.normal(size=back.shape) * (0.01 if what == "x" else 1)
            if what == "p":
                d *= np.where(np.abs(p) > 1e-3, np.abs(p), 0.1) * 0.05
                info = body.parameters.info("vertices")
                d[info.offset :] = 0.002 * draw.normal(size=info.size)

            def value(e):
                at = {"x": x, "u": u, "p": p}
                at[what] = at[what] + e * d
                again = cy.observe(body, at["x"], at["u"], names=[name], params=at["p"])
                return float(np.sum(again.values * bar))

            e = 1e-2
            expected = (8 * (value(e) - value(-e)) - (value(2 * e) - value(-2 * e))) / (12 * e)
            found = float(np.sum(back * d))
            assert abs(found - expected) <= 1e-6 * max(abs(expected), 1e-3), (name, what)
    energy, elastic, kinetic = (
        float(cy.observe(body, x, u, names=[k]).values[0]) for k in names[:3]
    )
    masses = cy.observe(body, x, u, names=["centre_of_mass"]).values
    volume = cy.observe(body, body.initial_state(), u, names=["volume"]).values[0]
    total = 1000 * volume + 0.01 * (n // 3)
    assert energy == pytest.approx(elastic + kinetic + 9.81 * total * masses[2], rel=1e-12)
    with pytest.raises(cy.ModelError, match="vertex:#0"):
        cy.observe(body, x, u, names=["vertex:#9999"])


def test_at_rest_the_support_carries_the_weight():
    mesh, body, _, _ = beam(gravity=(0, 0, -0.1))
    rest = cy.soft.equilibrium(body)
    reaction = cy.observe(body, rest.state, names=["reaction"]).values.reshape(-1, 3)
    np.testing.assert_allclose(reaction.sum(axis=0), [0, 0, 1000 * 0.01 * 0.1], atol=1e-9)
    assert np.all(reaction[mesh.vertices[:, 0] > 0] == 0)


def test_no_bit_depends_on_threads_or_on_what_was_kept():
    body, u = swinging("bdf2")
    bar = np.random.default_rng(6).normal(size=(1, body.state_size))
    found = set()
    for memory in ("all", "sqrt", 1):
        for threads in (1, 2):
            run = cy.rollout(
                body, body.initial_state(), np.tile(u, (5, 1)), save="last", memory=memory,
                threads=threads,
            )
            g = run.pullback(bar)
            found.add(np.r_[run.states[0], g.x0, g.controls.ravel(), g.params].tobytes())
            assert 1 <= run.report.counters["iterations"] < 20
    assert len(found) == 1


def test_bodies_of_a_batch_are_as_alone_on_any_threads():
    body, u = swinging()
    starts = np.tile(body.initial_state(), (6, 1))
    starts += 1e-3 * np.random.default_rng(8).normal(size=starts.shape)

    def go(x0, threads):
        inputs = np.broadcast_to(u, (*x0.shape[:-1], 4, u.size))
        run = cy.rollout(body, x0, inputs, save="last", threads=threads)
        return run.states, run.pullback(np.ones_like(run.states)).x0

    one, four = go(starts, 1), go(starts, 4)
    for a, b in zip(one, four, strict=True):
        np.testing.assert_array_equal(a, b)
    for k, x0 in enumerate(starts):
        for a, b in zip(one, go(x0, 2), strict=True):
            np.testing.assert_array_equal(a[k], b)


def test_after_a_change_of_inputs_the_gradient_is_that_of_the_new_run():
    body, u = swinging()
    bar = np.random.default_rng(7).normal(size=(1, body.state_size))
    x0 = body.initial_state()
    first = cy.rollout(body, x0, np.tile(u, (3, 1)), save="last")
    cy.rollout(body, x0, np.tile(2 * u, (3, 1)), save="last").pullback(bar)
    again = cy.rollout(body, x0, np.tile(u, (3, 1)), save="last")
    assert np.array_equal(first.pullback(bar).x0, again.pullback(bar).x0)


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "bdf2"])
def test_solids_conform(integrator):
    mesh = cy.soft.box((1, 1, 1), (0.3, 0.2, 0.2), "tet")
    body = cy.soft.solid(
        mesh, young=2e4, damping=0.01, drag=0.2, mass=np.full(8, 0.05), integrator=integrator,
        pinned=[0, 2, 4], inputs=("force", "pinned"), dt=0.02,
    )
    draw = np.random.default_rng(8)
    x0 = body.initial_state() + 0.01 * draw.normal(size=(5, body.state_size))
    u = draw.normal(size=(5, 3, body.input_size)) * np.r_[np.full(24, 0.3), np.full(9, 0.005)]
    conform(body, x0, u, blocks=3)


def test_forms_of_the_jacobian_agree():
    mesh = cy.soft.box((1, 1, 1), (0.3, 0.2, 0.2))
    body = cy.soft.solid(mesh, pinned=[0, 2, 4, 6], inputs=("force",))
    x, u = body.initial_state(), np.zeros(24)
    x[24:] = 0.1 * np.random.default_rng(9).normal(size=24)
    a, b = cy.linearise(body, x, u)
    sparse, _ = cy.linearise(body, x, u, form="sparse")
    operator, _ = cy.linearise(body, x, u, form="operator")
    v = np.random.default_rng(10).normal(size=48)
    np.testing.assert_allclose(sparse.toarray(), a, atol=1e-12)
    np.testing.assert_allclose(operator.matvec(v), a @ v, atol=1e-11)
    np.testing.assert_allclose(operator.rmatvec(v), a.T @ v, atol=1e-10)
    assert np.abs(b).max() > 1e-6


def test_the_first_step_takes_held_numbers_where_they_belong():
    mesh = cy.soft.box((2, 1, 1), (0.2, 0.1, 0.1))
    left = np.flatnonzero(mesh.vertices[:, 0] == 0)
    body = cy.soft.solid(mesh, pinned=left, inputs=("pinned",), damping=0.05)
    u = np.zeros((4, body.input_size))
    u[:, 0] = 0.01
    x0 = body.initial_state()
    wrong = x0.copy()
    wrong[3 * left] += 0.3
    run, other = cy.rollout(body, x0, u), cy.rollout(body, wrong, u)
    assert np.array_equal(run.states[1:], other.states[1:])
    assert run.states[1, 3 * left[0]] == 0.01
    assert run.states[1, mesh.vertices.size + 3 * left[0]] == 0


@pytest.mark.parametrize(
    "change, message",
    [
        ({"material": "rubber"}, "neo_hookean"),
        ({"young": [1.0, 2.0]}, "8 cells"),
        ({"poisson": 0.5}, "below 0.5"),
        ({"young": np.nan}, "young"),
        ({"pinned": [99]}, "vertex 99; there are vertices 0 to 26"),
        ({"pinned": np.zeros((5, 3), bool)}, r"shape \(27, 3\)"),
        ({"inputs": ("pinned",)}, "none is pinned"),
        ({"dtype": "float32"}, "float64.*single precision"),
        ({"floor": (0, 0, 0)}, "height"),
        ({"formulation": "reduced"}, "locking_free"),
        ({"integrator": "rk4"}, "implicit_euler"),
        ({"mass": [1.0]}, "27 vertices"),
        ({"gravity": 9.81}, "three numbers"),
        ({"dt": -1.0}, "dt must be positive"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(cy.Error, match=message):
        cy.soft.solid(cy.soft.box((2, 2, 2)), **change)


def test_only_hexahedra_have_a_formulation_without_locking():
    with pytest.raises(cy.ModelError, match="hexahedra; these cells are tet"):
        cy.soft.solid(cy.soft.box((1, 1, 1), (1, 1, 1), "tet"), formulation="locking_free")


def test_a_rest_shape_that_is_turned_inside_out_is_refused():
    body = cy.soft.solid(cy.soft.box())
    vertices = body.parameters["vertices"].copy()
    vertices[0, 0] = 3.0
    with pytest.raises(cy.ParameterError, match="cell 0 near"):
        cy.rollout(body, body.initial_state(), 2, {"vertices": vertices})


def test_a_cell_that_is_there_twice_is_named():
    mesh = cy.soft.box((2, 1, 1))
    twins = np.vstack([mesh.cells, mesh.cells[1][[1, 2, 3, 0, 5, 6, 7, 4]]])
    with pytest.raises(cy.ModelError, match="cell 1 near .* and cell 2 have the same nodes"):
        cy.soft.Mesh(mesh.vertices, twins)
