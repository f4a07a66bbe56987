"""Self contact of soft bodies, held to ipctk's distances."""

import itertools

import ipctk
import numpy as np
import pytest

import cycloid as cy

CORNERS = np.array(
    [[0, 0, 0], [1, 0, 0], [0.1, 1, 0], [0.3, 0.2, 0.5], [1.1, 0.35, 0.6], [0.25, 1.2, 0.7]]
)
TRIANGLES = np.array([[0, 1, 2], [3, 4, 5]])


def two_triangles(vertices=CORNERS, **more):
    mesh = cy.soft.Mesh(vertices, TRIANGLES, parts=True)
    return cy.soft.cloth(mesh, self_contact=True, gravity=(0, 0, 0), **more)


def barrier(d, kappa, width):
    return -kappa * (d - width) ** 2 * np.log(d / width) if d < width else 0.0


def energy_by_ipctk(x, rest, kappa, width):
    """The barriers of all pairs, by ipctk's distances and mollifier."""
    total = 0.0
    for triangle, others in ((TRIANGLES[0], TRIANGLES[1]), (TRIANGLES[1], TRIANGLES[0])):
        for v in others:
            total += barrier(
                np.sqrt(ipctk.point_triangle_distance(x[v], *x[triangle])), kappa, width
            )
    sides = [list(itertools.combinations(t, 2)) for t in TRIANGLES]
    for a, b in itertools.product(*sides):
        ends = [x[a[0]], x[a[1]], x[b[0]], x[b[1]]]
        least = ipctk.edge_edge_mollifier_threshold(
            rest[a[0]], rest[a[1]], rest[b[0]], rest[b[1]]
        )
        total += ipctk.edge_edge_mollifier(*ends, least) * barrier(
            np.sqrt(ipctk.edge_edge_distance(*ends)), kappa, width
        )
    return total


def test_energy_of_all_pairs_is_that_of_ipctk_s_distances():
    kappa, width = 40.0, 0.3
    body = two_triangles(contact_width=width, contact_stiffness=kappa)
    for seed in range(8):
        x = CORNERS.copy()
        x[3:] += np.random.default_rng(seed).uniform([-0.5, -0.5, -0.45], [0.5, 0.5, -0.3])
        state = np.concatenate([x.ravel(), np.zeros(18)])
        shown = float(np.ravel(cy.observe(body, state, names="elastic_energy").values)[0])
        expected = energy_by_ipctk(x, CORNERS, kappa, width)
        assert expected > 1e-3
        assert shown == pytest.approx(expected, rel=1e-9)


def test_a_mesh_that_crosses_itself_is_named():
    crossed = CORNERS.copy()
    crossed[3, 2] = -0.2
    with pytest.raises(cy.ModelError, match="edge 3-4 and triangle 0-1-2 cross"):
        two_triangles(crossed)
    with pytest.raises(cy.ModelError, match="apart by more than contact_width"):
        two_triangles(contact_width=0.6)


def test_falling_cloth_does_not_cross_the_sheet_below():
    top, low = cy.soft.sheet((4, 4), (0.5, 0.5)), cy.soft.sheet((6, 6), (1.0, 1.0))
    n = len(low.vertices)
    above = top.vertices + [0.26, 0.23, 0.02]
    mesh = cy.soft.Mesh(
        np.vstack([low.vertices, above]), np.vstack([low.cells, top.cells + n]), parts=True
    )
    body = cy.soft.cloth(mesh, pinned=np.arange(n), self_contact=True, friction=0.3, dt=0.01)
    run = cy.rollout(body, body.initial_state(), 20)
    edges = ipctk.edges(mesh.cells)
    surface = ipctk.CollisionMesh(mesh.vertices, edges, mesh.cells)
    heights = []
    for row in np.asarray(run.states).reshape(-1, 6 * len(mesh.vertices)):
        x = row[: 3 * len(mesh.vertices)].reshape(-1, 3)
        assert not ipctk.has_intersections(surface, x)
        heights.append(x[n:, 2].min())
    assert 0 < heights[-1] < 0.005  # it lies there


def strip_against_a_wall():
    """A strip whose ends stay at their height, and beyond it, in its plane, a sheet that is held:
    only contact keeps the strip from going there. Also the numbers x of its far end.
    """
    strip, wall = cy.soft.sheet((6, 1), (0.6, 0.1)), cy.soft.sheet((1, 2), (0.1, 0.2))
    n, x = len(strip.vertices), strip.vertices[:, 0]
    vertices = np.vstack([strip.vertices, wall.vertices + [0.612, -0.05, 0]])
    mesh = cy.soft.Mesh(vertices, np.vstack([strip.cells, wall.cells + n]), parts=True)
    far = x == 0
    held = np.ones((len(vertices), 3), bool)
    held[:n] = np.c_[np.zeros(n), np.ones(n), far | (x == x.max())]
    spring = cy.soft.Spring(np.flatnonzero(far), strip.vertices[far], 0.01)
    body = cy.soft.cloth(
        mesh, young=1e6, poisson=0.0, thickness=1e-3, density=100, pinned=held, gravity=(0, 0, 0),
        inputs=("force",), loads=[spring], self_contact=True, contact_width=0.01,
        contact_stiffness=1e4,
    )  # fmt: skip
    return body, 3 * np.flatnonzero(far)


@pytest.mark.parametrize("load", [1e-4, 2e-3])  # Euler's is 2.3e-4 N, but for the ends' cells
def test_a_body_at_rest_against_another_part_stable_or_not(load):
    body, far = strip_against_a_wall()
    bar = np.zeros(body.state_size)
    bar[far] = 0.5

    def rest(force):
        u, x0 = np.zeros(body.input_size), body.initial_state()
        u[far] = force / 2
        x0[0:42:3] += 0.006
        return cy.soft.equilibrium(body, x0, u)

    at = rest(load)
    assert at.converged and at.stable == (load < 2e-4)
    h = 1e-3 * load
    slope = (rest(load + h).state - rest(load - h).state) @ bar / (2 * h)
    assert at.pullback(bar).controls[far].sum() / 2 == pytest.approx(slope, rel=1e-6)


def long_knot(n=60):
    """An overhand knot with long ends, by Shastri's polynomials, in n segments of like length."""
    t = np.linspace(-2.15, 2.15, 4001)
    curve = np.c_[t**3 - 3 * t, 0.5 * (t**4 - 4 * t**2), 0.25 * (t**5 - 10 * t)]
    along = np.r_[0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))]
    at = np.linspace(0, along[-1], n + 1)
    return np.stack([np.interp(at, along, curve[:, i]) for i in range(3)], axis=1)


def least_gap(points, apart):
    """Between middle lines of segments that are `apart` segments from each other, by ipctk."""
    n = len(points) - 1
    return min(
        np.sqrt(ipctk.edge_edge_distance(*points[[i, i + 1, j, j + 1]]))
        for i in range(n)
        for j in range(i + apart, n)
    )


@pytest.mark.parametrize("holds", [True, False])
def test_a_knot_holds(holds):
    points, radius, steps = long_knot(), 0.12, 30
    n = len(points)
    body = cy.soft.rod(
        points, young=2e4, radius=radius, density=20.0, damping=0.02, drag=2.0, dt=0.2,
        gravity=(0, 0, 0), pinned=[0, n - 1], inputs=("pinned",), self_contact=holds,
    )
    way = 4.5 * (points[-1] - points[0]) / np.linalg.norm(points[-1] - points[0])
    pull = np.linspace(0, 1, steps + 1)[1:, None] * np.r_[-way, way]
    run = cy.rollout(body, body.initial_state(), pull)
    assert not run.report.failed and not run.report.unsolved
    gaps = [least_gap(x[: 3 * n].reshape(n, 3), 5) for x in run.states]
    assert gaps[0] > 2.5 * radius and len(gaps) == steps + 1
    if not holds:  # it slips through itself, and comes undone
        assert min(gaps) < radius and gaps[-1] > 4 * radius
        return
    assert min(gaps) > 2 * radius and gaps[-1] < 2.2 * radius  # it is tight


def test_a_rod_that_overlaps_itself_is_named():
    turn = np.linspace(0, 2 * np.pi, 30)
    ring = np.c_[np.cos(turn), np.sin(turn), 0 * turn]
    with pytest.raises(cy.ModelError, match="segment|edges .* between their surfaces"):
        cy.soft.rod(ring, radius=0.02, self_contact=True)
    with pytest.raises(cy.ModelError, match="smaller contact_width"):
        cy.soft.rod(ring, radius=0.02, self_contact=True, contact_width=1e9)
    ring[:, 2] = 0.01 * turn
    body = cy.soft.rod(ring, radius=0.02, self_contact=True, gravity=(0, 0, 0))
    x = body.initial_state()
    x[2:90:3] = 0
    run = cy.rollout(body, x, 2)
    assert run.report.failed and "goes through itself" in str(run.report.failed[0])
