"""Sensors of distance, and rays among meshes and height fields: values as MuJoCo's, gradients as
differences.
"""

import itertools

import mujoco
import numpy as np
import pytest

import cycloid as cy

CLOSED, SEARCHED = 1e-12, 1e-8  # of distances that have a closed form; that MuJoCo searches
ENDS = 1e-5  # of the points of a search that ends at a distance of 1e-13
GRADIENT = 1e-6

POINTS = np.random.default_rng(3).normal(size=(24, 3))
POINTS = 0.1 * POINTS / np.linalg.norm(POINTS, axis=1)[:, None]
HEIGHTS = np.random.default_rng(4).uniform(size=(5, 6))


def listed(numbers):
    return " ".join(f"{x:.5f}" for x in np.ravel(numbers))


ASSETS = f"""<asset> <mesh name="boulder" vertex="{listed(3 * POINTS)}"/>
  <mesh name="rock" vertex="{listed(POINTS)}"/>
  <hfield name="hills" nrow="5" ncol="6" size="1 0.8 0.2 0.1" elevation="{listed(HEIGHTS)}"/>
  </asset>"""
SHAPES = {
    "plane": 'type="plane" size="3 3 0.1"',
    "hfield": 'type="hfield" hfield="hills"',
    "sphere": 'size="0.1"',
    "capsule": 'type="capsule" size="0.05 0.1"',
    "ellipsoid": 'type="ellipsoid" size="0.05 0.1 0.15"',
    "cylinder": 'type="cylinder" size="0.05 0.1"',
    "box": 'type="box" size="0.05 0.1 0.15"',
    "mesh": 'type="mesh" mesh="rock"',
}
STILL = ("plane", "hfield")
MEASURED = [name for name in SHAPES if name != "hfield"]  # MuJoCo measures no terrain
PAIRS = [p for p in itertools.product(MEASURED, MEASURED) if p[1] != "plane"]
OFF = 'contype="0" conaffinity="0"'


def two(first, second, cutoff, more=""):
    """Two bodies that do not touch, and what is measured between them."""
    joint = "" if first in STILL else "<freejoint/>"
    sensors = "".join(
        f'<{kind} geom1="a" geom2="b" cutoff="{cutoff}"/>'
        for kind in ("distance", "normal", "fromto")
    )
    return f"""<mujoco> {ASSETS} <worldbody>
      <body name="one"> {joint} <geom name="a" {SHAPES[first]} mass="1" {OFF}/> </body>
      <body name="two" pos="0 0 0.5"> <freejoint/> <geom name="b" {SHAPES[second]} mass="1" {OFF}/>
        {more} </body> </worldbody> <sensor> {sensors} </sensor> </mujoco>"""


def placed(model, data, draw, far):
    """A state whose second body is near the first."""
    mujoco.mj_resetData(model, data)
    for j in range(model.njnt):
        at = data.qpos[7 * j : 7 * j + 7]
        at[:3] = draw.uniform(-far, far, 3)
        at[3:] = draw.normal(size=4)
    if model.njnt == 1:
        data.qpos[2] = draw.uniform(0.02, 0.35)
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_forward(model, data)
    return np.concatenate([data.qpos, data.qvel])


def tight(xml):
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-13, 500
    return model


@pytest.mark.parametrize("first, second", PAIRS)
def test_distances_equal_mujocos_and_their_gradients_equal_differences(first, second):
    model = tight(two(first, second, 1.0))
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(7)
    judged = near = apart = 0
    for n in range(24):
        x = placed(model, data, draw, 0.2)
        seen = cy.observe(robot, x).values
        searched = "ellipsoid cylinder box mesh".split()
        most = SEARCHED if first in searched or second in searched else CLOSED
        assert abs(seen[0] - data.sensordata[0]) <= most, n
        np.testing.assert_allclose(seen[4:], data.sensordata[4:], rtol=0, atol=ENDS)
        np.testing.assert_allclose(seen[1:4], data.sensordata[1:4], rtol=0, atol=3e-3)
        near, apart = near + (seen[0] < 0), apart + (seen[0] > 0)
        if n > 7:
            continue
        # One side at a time: at a change of features neither ends nor normal have a derivative.
        weights = draw.normal(size=seen.size)

        def loss(state):
            return cy.observe(robot, state).values @ weights

        g = cy.observe(robot, x).pullback(weights).x
        got = np.stack([step_by_step(loss, x, h) for h in (1e-5, 1e-6)])
        scale = max(np.abs(got[1]).max(), 1)
        if np.abs(got[0] - got[1]).max() > 1e-5 * scale:
            continue
        judged += 1
        assert np.abs(g - got[1]).max() <= 1e-6 * scale, n
    assert judged > 3 and apart > 3 and near > 0


def step_by_step(loss, x, h):
    moved = h * np.eye(x.size)
    return np.array([(loss(x + d) - loss(x - d)) / (2 * h) for d in moved])


def test_sizes_and_points_have_gradients():
    for first, second in (("box", "mesh"), ("capsule", "box"), ("ellipsoid", "cylinder")):
        xml = two(first, second, 1.0).replace(OFF, "")  # geoms that touch have parameters
        model = tight(xml)
        robot, data = cy.from_mujoco(model), mujoco.MjData(model)
        x = placed(model, data, np.random.default_rng(11), 0.2)
        given = robot.parameters.unpack(robot.parameters.default)
        fields = (".size", ".vertex", ".pos", ".quat")
        chosen = {
            n: v
            for n, v in given.items()
            if n.endswith(fields) and n.startswith(("geom", "mesh"))
        }
        weights = np.array([1.0, 0, 0, 0, 0.3, -0.2, 0.1, 0, 0.4, 0.2])
        g = cy.observe(robot, x, params=chosen).pullback(weights).params
        for name, value in chosen.items():
            def loss(v, name=name):
                return cy.observe(robot, x, params=chosen | {name: v}).values @ weights

            h = 1e-6
            flat = value.ravel()
            got = np.zeros(flat.size)
            for i in range(flat.size):
                ends = []
                for sign in (1, -1):
                    moved = flat.copy()
                    moved[i] += sign * h
                    ends.append(loss(moved.reshape(value.shape)))
                got[i] = (ends[0] - ends[1]) / (2 * h)
            scale = max(np.abs(got).max(), 0.1)
            assert np.abs(g[name].ravel() - got).max() <= 1e-6 * scale, name
        assert any(np.abs(g[n]).max() > 0.1 for n in chosen if n.endswith((".size", ".vertex")))


def test_bodies_show_their_nearest_geoms_and_a_cutoff_hides_what_is_far():
    more = '<geom name="c" size="0.05" pos="0.2 0 0" mass="0.1" contype="0" conaffinity="0"/>'
    for cutoff in (0, 0.05, 1):
        xml = two("box", "capsule", cutoff, more)
        xml = xml.replace('geom1="a" geom2="b"', 'body1="one" body2="two"')
        model = tight(xml)
        robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(2)
        hidden = 0
        for _ in range(30):
            x = placed(model, data, draw, 0.25)
            seen = cy.observe(robot, x).values
            np.testing.assert_allclose(seen, data.sensordata, rtol=0, atol=1e-9)
            hidden += seen[0] == cutoff
        assert hidden == 0 if cutoff == 1 else 0 < hidden < 30


TERRAIN = f"""<mujoco> {ASSETS} <worldbody>
  <geom name="hills" type="hfield" hfield="hills" pos="0 0 -0.3" euler="3 5 10" {{touch}}/>
  <body pos="0.3 0 0.2"> <freejoint/> <geom type="mesh" mesh="boulder" {{touch}}/> </body>
  <body pos="-0.2 0.1 0.3"> <joint axis="0 1 0.3"/> <geom type="mesh" mesh="boulder" pos="0.2 0 0"
      {{touch}}/> </body>
  <body pos="0 0 0.6"> <freejoint/> <geom size="0.02" {OFF}/> {{sites}} </body> </worldbody>
  <sensor> {{rays}} </sensor> </mujoco>"""


def terrain(rays=40, touch=""):
    draw = np.random.default_rng(8)
    sites = ""
    for i in range(rays):
        p, q = 0.3 * draw.normal(size=3), draw.normal(size=4)
        sites += (
            f'<site name="s{i}" pos="{p[0]:.4f} {p[1]:.4f} {p[2] - 0.3:.4f}"'
            f' quat="{q[0]:.4f} {q[1]:.4f} {q[2]:.4f} {q[3]:.4f}"/>'
        )
    seen = "".join(f'<rangefinder site="s{i}"/>' for i in range(rays))
    return TERRAIN.format(touch=touch, sites=sites, rays=seen)


@pytest.mark.parametrize("touch", ["", OFF])
def test_rays_meet_meshes_and_height_fields_as_mujocos_do(touch):
    model = mujoco.MjModel.from_xml_string(terrain(touch=touch))
    robot, data, draw = cy.from_mujoco(model), mujoco.MjData(model), np.random.default_rng(6)
    hits = np.zeros(model.ngeom, int)
    for n in range(8):
        mujoco.mj_resetData(model, data)
        data.qpos += 0.1 * draw.normal(size=model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        x = np.concatenate([data.qpos, data.qvel])
        seen = cy.observe(robot, x)
        np.testing.assert_allclose(seen.values, data.sensordata, rtol=0, atol=1e-10)
        for i in range(model.nsite):
            hit = np.zeros(1, np.int32)
            axis = data.site_xmat[i].reshape(3, 3)[:, 2].copy()
            mujoco.mj_ray(model, data, data.site_xpos[i], axis, None, 1, model.site_bodyid[i], hit)
            hits[hit[0]] += hit[0] >= 0
        if n > 2:
            continue
        slopes = [
            np.stack([
                (cy.observe(robot, x + d).values - cy.observe(robot, x - d).values) / (2 * h)
                for d in h * np.eye(x.size)
            ])
            for h in (1e-4, 5e-5)
        ]
        size = 1 + np.abs(slopes[1]).max(axis=0)
        steady = np.abs(slopes[0] - slopes[1]).max(axis=0) < 1e-4 * size
        weights = draw.normal(size=model.nsensor) * steady
        assert np.count_nonzero(weights) > 15
        names = [n for n in robot.parameters.names if n.endswith((".vertex", ".data"))]
        given = robot.parameters.unpack(robot.parameters.default)
        chosen = {name: given[name] for name in names}
        g = cy.observe(robot, x, params=chosen).pullback(weights)
        got = step_by_step(lambda s: cy.observe(robot, s).values @ weights, x, 1e-6)
        assert np.abs(g.x - got).max() <= GRADIENT * max(np.abs(got).max(), 1)
        assert bool(chosen) == (touch == "")
        for name, value in chosen.items():
            along = draw.normal(size=value.shape)
            h = 1e-6
            ends = [
                cy.observe(robot, x, params=chosen | {name: value + s * h * along}).values @ weights
                for s in (1, -1)
            ]
            expected = (g.params[name] * along).sum()
            assert abs(expected - (ends[0] - ends[1]) / (2 * h)) <= 1e-6 * max(abs(expected), 1)
    assert (hits[:3] > 0).all(), hits


def test_the_distance_to_a_height_field_is_refused_by_name():
    system = cy.load("""<mujoco><asset>
      <hfield name="f" nrow="3" ncol="3" size="1 1 .2 .1" elevation="0 1 0 1 0 1 0 1 0"/></asset>
      <worldbody><geom type="hfield" hfield="f"/><geom type="plane" size="1 1 1" pos="0 0 -2"/>
      <body name="c" pos="0 0 2"><freejoint/><geom type="sphere" size=".1"/></body></worldbody>
      <sensor><distance name="d" body1="world" body2="c" cutoff="10"/></sensor></mujoco>""")
    with pytest.raises(cy.Error, match="height field"):
        cy.observe(system, system.initial_state(), names=["d"])
