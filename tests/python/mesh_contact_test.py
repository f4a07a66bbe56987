"""Meshes and height fields touch as in MuJoCo: contacts, steps, gradients; and what is refused."""

import itertools

import mesh_scenes as ms
import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import cycloid as cy

# Of distances [m], places [m] and normals: where the contact is unique, and where a round shape is
# found by search.
EXACT, SEARCHED = (1e-6, 1e-5, 1e-5), (1e-5, 1e-3, 2e-3)
# Of the change of velocity in a step, relative to the largest (95th percentile).
STEP = {"exact": 1e-6, "searched": 1e-4, "flat": 1e-3}
STATES = 60
PAIRS = [
    *itertools.product(("plane", "sphere", "capsule", "ellipsoid", "cylinder", "box"), ms.MESHES),
    *itertools.combinations_with_replacement(ms.MESHES, 2),
]
ROUND = ("ellipsoid", "cylinder")
# A cap with a face has many corners that span equal areas, and MuJoCo takes others of them; an edge
# that just leaves a face is there or not by the precision of its search.
CHOSEN_BY_ROUNDING = {"cylinder": 0.35}
# One state in so many may differ: a polygon of the hull that is not quite flat.
USUAL_SHARE = 0.05


def theirs(model, state):
    data = mujoco.MjData(model)
    data.qpos, data.qvel = state[: model.nq], state[model.nq :]
    mujoco.mj_forward(model, data)
    c = data.contact
    return c.dist.copy(), c.pos.copy(), c.frame[:, :3].copy()


def differs(model, system, state, tolerances):
    """Whether contacts differ in number, or one that is nearest in distance, place or normal."""
    dist, pos, normal = theirs(model, state)
    ours = cy.forward(system, state).contacts
    if len(ours.dist) != len(dist):
        return True
    for d, p, n in zip(dist, pos, normal):
        k = np.argmin(np.linalg.norm(ours.pos - p, axis=1) + np.abs(ours.dist - d))
        errors = abs(ours.dist[k] - d), *(
            np.linalg.norm(a - b) for a, b in ((ours.pos[k], p), (ours.frame[k][0], n))
        )
        if any(e > t for e, t in zip(errors, tolerances)):
            return True
    return False


@pytest.mark.parametrize("one, two", PAIRS)
def test_contacts_equal_mujocos(one, two):
    model = ms.in_mujoco(ms.scene(one, two))
    system = cy.from_mujoco(model)
    states = ms.touching_states(model, STATES)
    tolerances = SEARCHED if one in ROUND else EXACT
    wrong = sum(differs(model, system, x, tolerances) for x in states)
    assert wrong <= CHOSEN_BY_ROUNDING.get(one, USUAL_SHARE) * STATES


@pytest.mark.parametrize("two", ["sphere", "capsule", "ellipsoid"])
def test_contacts_with_terrain_equal_mujocos(two):
    model = ms.in_mujoco(ms.terrain(two))
    system = cy.from_mujoco(model)
    states = ms.touching_states(model, STATES, aligned=0, z=0.5)
    tolerances = SEARCHED if two in ROUND else EXACT
    wrong = sum(differs(model, system, x, tolerances) for x in states)
    assert wrong <= USUAL_SHARE * STATES


@pytest.mark.parametrize("two", ["cylinder", "box", "prism", "stone"])
def test_terrain_touches_as_many_prisms_as_in_mujoco(two):
    """Of shapes with corners MuJoCo's depth may be too small (see below), never too large."""
    model = ms.in_mujoco(ms.terrain(two))
    system = cy.from_mujoco(model)
    for state in ms.touching_states(model, 25, aligned=0, z=0.5):
        dist, ours = theirs(model, state)[0], cy.forward(system, state).contacts.dist
        assert len(ours) == len(dist)
        assert (np.sort(ours) <= np.sort(dist) + 1e-5).all()


def prisms(model):
    """Corners (6, 3) of each prism of the height field, in its axes."""
    a, b, h, base = model.hfield_size[0]
    rows, columns = model.hfield_nrow[0], model.hfield_ncol[0]
    heights = h * model.hfield_data.reshape(rows, columns).astype(float)
    for r, c in itertools.product(range(rows - 1), range(columns - 1)):
        for grid in (((r + 1, c), (r, c), (r + 1, c + 1)), ((r, c), (r, c + 1), (r + 1, c + 1))):
            flat = [(2 * a * j / (columns - 1) - a, 2 * b * i / (rows - 1) - b) for i, j in grid]
            top = [(*p, heights[i]) for p, i in zip(flat, grid)]
            yield np.array([(*p, -base) for p in flat] + top)


def depths(model, state, corners):
    """Of each prism that a shape with these corners overlaps: how far its surface is from the
    origin in the Minkowski difference, whose convex hull is computed whole."""
    data = mujoco.MjData(model)
    data.qpos = state[: model.nq]
    mujoco.mj_fwdPosition(model, data)
    turn, other = (data.geom_xmat[g].reshape(3, 3) for g in (0, 1))
    corners = (corners @ other.T + data.geom_xpos[1] - data.geom_xpos[0]) @ turn
    for prism in prisms(model):
        if (prism.max(0) < corners.min(0)).any() or (prism.min(0) > corners.max(0)).any():
            continue
        planes = ConvexHull((corners[None] - prism[:, None]).reshape(-1, 3)).equations
        if planes[:, 3].max() < 0:
            yield planes[:, 3].max()


@pytest.mark.parametrize("two", ["box", "stone"])
def test_depths_in_terrain_are_those_of_the_whole_minkowski_difference(two):
    """MuJoCo's are not: its search may end at a face within the difference, with less depth."""
    model = ms.in_mujoco(ms.terrain(two))
    system = cy.from_mujoco(model)
    if two == "box":
        corners = np.array(list(itertools.product((-1, 1), repeat=3))) * model.geom_size[1]
    else:
        corners = model.mesh_vert.astype(float)
    theirs_off = 0
    for state in ms.touching_states(model, 20, aligned=0, z=0.5):
        exact = np.sort(list(depths(model, state, corners)))
        np.testing.assert_allclose(
            np.sort(cy.forward(system, state).contacts.dist), exact, atol=1e-9
        )
        theirs_off += np.abs(np.sort(theirs(model, state)[0]) - exact).max() > 1e-6
    assert theirs_off > 0  # else this page of docs/contact.md is out of date


def velocity_change(model, state):
    data = mujoco.MjData(model)
    data.qpos, data.qvel = state[: model.nq], state[model.nq :]
    mujoco.mj_step(model, data)
    return data.qvel - state[model.nq :]


@pytest.mark.parametrize(
    "one, two",
    [
        *((shape, "stone") for shape in ms.SHAPES),
        ("plane", "prism"),
        ("box", "prism"),
        ("cube", "prism"),
        ("prism", "prism"),
        ("stone", "ball"),
    ],
)
def test_a_step_equals_mujocos(one, two):
    model = ms.in_mujoco(ms.scene(one, two))
    model.geom_sameframe[:] = 0
    system = cy.from_mujoco(model)
    errors, kind = [], "searched" if one in ROUND else "exact"
    for state in ms.touching_states(model, STATES, aligned=0):
        change = velocity_change(model, state)
        nearby = velocity_change(model, state + 1e-9 * np.sin(np.arange(len(state))))
        if np.abs(nearby - change).max() > 1e-3:
            continue  # MuJoCo's own step jumps here
        ours = cy.rollout(system, state, 1).states[-1][model.nq :] - state[model.nq :]
        errors.append(np.abs(ours - change).max() / np.abs(change).max())
    assert len(errors) > STATES / 2
    assert np.quantile(errors, 0.95) < STEP[kind]


def test_a_prism_stands_on_a_plane_as_in_mujoco():
    model = ms.in_mujoco(ms.scene("plane", "cone"))
    system = cy.from_mujoco(model)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.02, -0.01, 0.199, 0.9998, 0.012, 0.015, 0
    x = np.r_[data.qpos, data.qvel]
    errors = []
    for _ in range(200):
        mujoco.mj_step(model, data)
        x = cy.rollout(system, x, 1).states[-1]
        errors.append(np.abs(x[model.nq :] - data.qvel).max())
    assert np.quantile(errors, 0.95) < STEP["flat"]
    assert data.ncon >= 3


def settled(xml, qpos, steps=30):
    """A state in which the geoms touch and nothing switches for a few steps."""
    model = ms.in_mujoco(xml)
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    data.qpos[-4:] /= np.linalg.norm(data.qpos[-4:])
    mujoco.mj_step(model, data, steps)
    assert data.ncon > 0
    return cy.from_mujoco(model), np.r_[data.qpos, data.qvel]


GRADIENTS = {
    "plane and stone": (ms.scene("plane", "stone"), (0, 0, 0.45, 1, 0.3, 0.2, 0.1), "mesh:stone"),
    "sphere and stone": (
        ms.scene("sphere", "stone", options='gravity="0 0 0"'),
        (0, 0, 0.47, 1, 0, 0, 0, 0, 0.02, 0, 1, 0.2, 0.1, 0),
        "mesh:stone",
    ),
    "box and prism": (
        ms.scene("box", "prism", options='gravity="0 0 0"'),
        (0, 0, 0.495, 1, 0.01, 0.02, 0, 0, 0.02, 0, 1, 0, 0, 0.3),
        "mesh:prism",
    ),
    "prism and stone": (
        ms.scene("prism", "stone", options='gravity="0 0 0"'),
        (0, 0.01, 0.49, 1, 0.3, 0.1, 0, 0, 0.02, 0, 1, 0.2, 0.1, 0),
        "mesh:prism",
    ),
    "hills and capsule": (ms.terrain("capsule"), (0.1, 0.1, 0.64, 1, 1, 0.1, 0), "hfield:hills"),
    "hills and stone": (ms.terrain("stone"), (0.2, 0.1, 0.8, 1, 0.3, 0.1, 0), "hfield:hills"),
}


def touching_start(xml, qpos):
    """The second geom lowered until the pair overlaps by a tenth of a millimetre."""
    model = ms.in_mujoco(xml)
    data = mujoco.MjData(model)
    qpos = np.array(qpos, float)
    qpos[-4:] /= np.linalg.norm(qpos[-4:])
    up = np.s_[2] if model.nq == 7 else np.s_[2]
    high, low = qpos[up] + 0.5, qpos[up] - 0.3

    def touches(z):
        data.qpos[:] = qpos
        data.qpos[up] = z
        mujoco.mj_fwdPosition(model, data)
        return bool((data.contact.dist < 0).any())

    assert touches(low) and not touches(high)
    for _ in range(50):
        z = 0.5 * (low + high)
        low, high = (z, high) if touches(z) else (low, z)
    qpos[up] = low - 1e-4
    velocity = 0.1 * np.sin(np.arange(model.nv))
    return cy.from_mujoco(model), np.r_[qpos, velocity]


def check_vertices(system, x0, field):
    """A face of more than three corners bends where one of them moves: there is a derivative only
    where both one-sided ones agree, and ours is held to that."""
    points = np.array(system.parameters[field])
    run = cy.rollout(system, x0, 1, save="last")
    bar = np.random.default_rng(1).normal(size=run.states.shape)
    ours = system.parameters.unpack(run.pullback(bar).params)[field].ravel()

    def loss(moved):
        given = {field: moved.reshape(points.shape)}
        return (bar * cy.rollout(system, x0, 1, given, save="last").states).sum()

    here, step = loss(points.ravel()), 1e-7
    for i in range(points.size):
        move = step * (np.arange(points.size) == i)
        ahead = (loss(points.ravel() + move) - here) / step
        back = (here - loss(points.ravel() - move)) / step
        if abs(ahead - back) <= 1e-3 * np.abs(ours).max():
            assert abs(ours[i] - ahead) <= 1e-3 * np.abs(ours).max(), (i, ours[i], ahead, back)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_equal_differences(name):
    xml, qpos, solid = GRADIENTS[name]
    system, x0 = touching_start(xml, qpos)
    assert len(cy.forward(system, x0).contacts.dist) > 0
    check = cy.check_gradient(system, x0, 1, numbers_per_block=40)
    blocks = {b: e for b, e in check.by_block.items() if not b.startswith("params.mesh:prism")}
    assert len(blocks) > 10 and max(blocks.values()) <= check.tolerance, check
    if len(blocks) < len(check.by_block):
        check_vertices(system, x0, "mesh:prism.vertex")
    run = cy.rollout(system, x0, 3)
    gradient = run.pullback(np.random.default_rng(0).normal(size=run.states.shape))
    field = next(n for n in system.parameters.names if n.startswith(solid))
    points = system.parameters.unpack(gradient.params)[field]
    assert np.abs(points).max() > 1e-6  # and only features that touch have one
    assert (np.asarray(points).reshape(len(points), -1) != 0).any(axis=1).mean() < 0.8


@pytest.mark.parametrize("name", GRADIENTS)
def test_second_derivatives_equal_differences(name):
    """Of the gradient with respect to x0 and to points or heights, along both."""
    xml, qpos, solid = GRADIENTS[name]
    system, x0 = touching_start(xml, qpos)
    rng, field = np.random.default_rng(0), f"{solid}.{'data' if 'hfield' in solid else 'vertex'}"
    points, x0_tan = np.array(system.parameters[field]), rng.normal(size=x0.shape)
    points_tan = 0.01 * rng.normal(size=points.shape)
    if solid == "mesh:prism":
        points_tan[:] = rng.normal(size=3)  # all together: no face bends
    run = cy.rollout(system, x0, 2)
    bar = rng.normal(size=run.states.shape)

    def moved(e):
        run = cy.rollout(system, x0 + e * x0_tan, 2, {field: points + e * points_tan})
        gradient = run.pullback(bar)
        return run.states, gradient.x0, gradient.params[field]

    second = run.hvp(bar, x0_tan=x0_tan, params_tan={field: points_tan})
    ours = (
        run.pushforward(x0_tan=x0_tan, params_tan={field: points_tan}),
        second.x0,
        system.parameters.unpack(second.params)[field],
    )
    e = 1e-6
    for value, ahead, back in zip(ours, moved(e), moved(-e)):
        differences = (ahead - back) / (2 * e)
        if value is ours[2] and solid == "mesh:prism":
            continue  # of a point that bends a face there is no derivative
        error = np.abs(value - differences).max() / np.abs(differences).max()
        assert error <= 1e-5


def test_arrays_have_the_shape_of_the_mesh_and_the_field():
    system = cy.load(ms.scene("plane", "stone"))
    assert system.parameters["mesh:stone.vertex"].shape == (30, 3)
    hills = cy.load(ms.terrain("sphere"))
    assert hills.parameters["hfield:hills.data"].shape == (12, 15)
    assert not any(".size" in n for n in system.parameters.names if n.startswith("geom:#1"))


def test_moved_vertices_move_the_contact():
    """A mesh whose points are all lifted touches as the mesh lifted."""
    system = cy.load(ms.scene("plane", "stone"))
    model = ms.in_mujoco(ms.scene("plane", "stone"))
    state = ms.touching_states(model, 1)[0]
    points = np.array(system.parameters["mesh:stone.vertex"])
    data = mujoco.MjData(model)
    data.qpos[:] = state[:7]
    mujoco.mj_forward(model, data)
    turn = data.geom_xmat[1].reshape(3, 3)
    up = points + turn.T @ [0, 0, 1e-3]
    state = np.array(state)
    still = cy.forward(system, state).contacts.dist
    moved = cy.forward(system, state, params={"mesh:stone.vertex": up}).contacts.dist
    np.testing.assert_allclose(moved[: len(still)], still[: len(moved)] + 1e-3, atol=1e-9)


def test_a_lane_does_not_depend_on_its_neighbours():
    model = ms.in_mujoco(ms.scene("prism", "stone"))
    system = cy.from_mujoco(model)
    states = np.array(ms.touching_states(model, 12))
    together = cy.rollout(system, states, 5).states
    for order in (np.arange(12)[::-1], np.roll(np.arange(12), 5)):
        np.testing.assert_array_equal(cy.rollout(system, states[order], 5).states, together[order])
    gradient = cy.rollout(system, states, 5).pullback(np.ones_like(together))
    alone = [cy.rollout(system, x, 5).pullback(np.ones((6, len(x)))).params for x in states]
    np.testing.assert_allclose(gradient.params, np.sum(alone, axis=0), rtol=1e-9, atol=1e-9)


BAD = {
    "hfield of zero size": (
        '<hfield name="h" nrow="3" ncol="3" size="0 1 1 1"/>',
        'type="hfield" hfield="h"',
        "h",
    ),
    "a flat mesh": (
        '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>',
        'type="mesh" mesh="m"',
        "m",
    ),
    "one triangle": (
        '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"/>',
        'type="mesh" mesh="m"',
        "m",
    ),
    "points that are the same": (
        '<mesh name="m" vertex="0 0 0 0 0 0 0 0 0 0 0 0"/>',
        'type="mesh" mesh="m"',
        "m",
    ),
    "a vertex that is no number": (
        '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 nan"/>',
        'type="mesh" mesh="m"',
        "m",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_shape_is_refused_by_name(name):
    asset, geom, who = BAD[name]
    with pytest.raises(cy.ModelError, match=who):
        cy.load(
            f"""<mujoco> <asset> {asset} </asset> <worldbody> <geom {geom}/>
            <body pos="0 0 1"> <freejoint/> <geom size=".1"/> </body> </worldbody> </mujoco>"""
        )


def test_duplicate_points_and_points_inside_do_no_harm():
    points = np.r_[ms.MESHES["cube"], ms.MESHES["cube"], 0.1 * ms.MESHES["cube"]]
    text = " ".join(f"{x:.7g}" for x in points.ravel())
    xml = f"""<mujoco> <asset> <mesh name="m" vertex="{text}"/> </asset> <worldbody>
      <geom type="plane" size="3 3 .1"/> <body pos="0 0 .149"> <freejoint/>
      <geom type="mesh" mesh="m"/> </body> </worldbody> </mujoco>"""
    contacts = cy.forward(cy.load(xml), cy.load(xml).initial_state()).contacts
    assert len(contacts.dist) == 4
    np.testing.assert_allclose(contacts.dist, -1e-3, atol=1e-7)


def test_a_missing_mesh_file_is_named_with_the_folders_searched(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        """<robot name="arm"> <link name="l"> <collision> <geometry>
        <mesh filename="package://arm/nowhere.obj"/> </geometry> </collision> </link> </robot>"""
    )
    with pytest.raises(FileNotFoundError) as error:
        cy.load(path, search_paths=[str(tmp_path / "elsewhere")])
    assert "nowhere.obj" in str(error.value) and "elsewhere" in str(error.value)
