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
