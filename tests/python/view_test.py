"""`cycloid.view`: what goes into a page, its size, arrows, errors, and whom a live one serves."""

import base64
import http.client
import json
import re
from pathlib import Path

import numpy as np
import pytest
from models import MODELS

import cycloid as cy
from cycloid._law_pictures import phase_space
from cycloid._live import MOST_CLIENTS
from cycloid._scene import columns, cotangents, directors, scene_of

BALL = """<mujoco><worldbody><geom type="plane" size="0 0 1"/><body name="ball" pos="0 0 2">
  <freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


def decoded(packed):
    """Rows of numbers as the page reads them (viewer/src/columns.js)."""
    rows, width = packed["rows"], packed["width"]
    low, step = (np.frombuffer(base64.b64decode(packed[k]), "<f8") for k in ("low", "step"))
    moving = np.frombuffer(base64.b64decode(packed["moving"]), "<u4")
    steps = np.frombuffer(base64.b64decode(packed["data"]), "<u2").reshape((rows, len(moving)))
    out = np.tile(low, (rows, 1))
    out[:, moving] += step[moving] * steps
    assert out.shape == (rows, width)
    return out


def data_of(path):
    data = r'<script type="application/json" id="data">(.*?)</script>'
    return json.loads(re.search(data, Path(path).read_text())[1])


def test_columns_are_exact_where_nothing_moves_and_close_elsewhere():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(50, np.pi), rng.normal(size=50), 1e9 + rng.random(50)])
    back = decoded(columns(rows))
    assert (back[:, 0] == np.pi).all()
    assert (np.abs(back - rows).max(axis=0) <= 0.51 * np.ptp(rows, axis=0) / 65535).all()
    assert decoded(columns(rows[:1])).tolist() == rows[:1].tolist()
    with pytest.raises(cy.Error, match="not finite"):
        columns([[np.nan]])


def test_cotangents_at_every_time_are_those_of_pullbacks_from_there():
    system = cy.systems.double_pendulum()
    rng = np.random.default_rng(1)
    controls = rng.normal(size=(60, 2))
    run = cy.rollout(system, [1.0, 0.4, 0.0, 0.2], controls, save=10)
    bar = rng.normal(size=run.states.shape)
    at_states, at_inputs = cotangents(run, bar)
    g = run.pullback(bar)
    assert np.allclose(at_states[0], g.x0, rtol=1e-10)
    assert np.allclose(at_inputs[:-1], g.controls[::10], rtol=1e-10)
    later = cy.rollout(system, run.states[2], controls[20:], save=10)
    assert np.allclose(at_states[2], later.pullback(bar[2:]).x0, rtol=1e-10)
    assert np.abs(at_states).min() > 0
    sampled = cy.rollout(system, [1.0, 0.4, 0.0, 0.2], controls, times=[0.1, 0.25])
    with pytest.raises(cy.Error, match="times="):
        cotangents(sampled, 1.0)


def test_arrows_of_a_free_body_are_minus_the_cotangent_of_its_position():
    robot = cy.load(BALL)
    run = cy.rollout(robot, robot.initial_state(), 30)
    bar = np.zeros_like(run.states)
    bar[-1, :3] = 1.0, -2.0, 0.5
    bar[10, 2] = 3.0
    arrows = scene_of(run, gradient=bar)["gradient"]
    assert arrows["index"] == [1]
    assert scene_of(run)["plots"][0]["title"] == "Ball: position"  # its joint has no name
    wanted = -cotangents(run, bar)[0][:, :3]
    assert np.allclose(decoded(arrows["places"]), wanted, atol=1e-4 * np.abs(wanted).max())
    assert np.abs(wanted[0]).min() > 0.1


def test_arrows_of_a_law_are_how_its_bodies_move_downhill():
    run = cy.rollout(cy.systems.pendulum(length=2.0), [0.7, 0.0], 40)
    bar = np.zeros_like(run.states)
    bar[-1, 0] = 1
    scene = scene_of(run, gradient=bar)
    slope, angle = cotangents(run, bar)[0][:, 0], run.states[:, 0]
    wanted = -2 * slope[:, None] * np.column_stack([np.cos(angle), 0 * angle, np.sin(angle)])
    assert np.allclose(decoded(scene["gradient"]["places"]), wanted, atol=1e-3)
    torque = decoded(scene["gradient"]["inputs"])[:-1]
    assert np.allclose(torque, -run.pullback(bar).controls, atol=1e-4 * np.abs(torque).max())


def test_ten_thousand_frames_of_a_humanoid_are_a_small_page(tmp_path):
    robot = cy.load(MODELS["gymnasium/humanoid"])
    run = cy.rollout(robot, robot.initial_state(), 10_000)
    path = cy.view(run, tmp_path / "humanoid.html")
    assert path.stat().st_size < 10e6
    data = data_of(path)
    assert data["frames"] == 10_001
    bodies = len(data["bodies"])
    poses = decoded(data["poses"]).reshape((10_001, bodies, 7))
    seen = cy.observe(robot, run.states[::500], names=("xpos", "xquat"))
    assert np.abs(poses[::500, :, :3] - seen["xpos"]).max() < 1e-3
    assert np.abs(poses[::500, :, 3:] - seen["xquat"]).max() < 1e-3


def test_forces_of_contact_are_those_on_what_moves():
    robot = cy.load(BALL)
    run = cy.rollout(robot, robot.initial_state(), 2000, save=20)
    contacts = scene_of(run)["contacts"]
    first = np.frombuffer(base64.b64decode(contacts["first"]), "<u4")
    assert first[1] == 0 and len(first) == len(run.states) + 1  # it begins in the air
    force = decoded(contacts["force"])[first[-2] : first[-1]].sum(axis=0)
    weight = 9.81 * float(robot.parameters["body:ball.mass"])
    assert np.allclose(force, [0, 0, weight], rtol=0.01, atol=1e-6 * weight)
    assert abs(decoded(contacts["at"])[-1, 2]) < 0.01


def test_looks_are_those_of_the_model():
    robot = cy.load(
        """<mujoco><asset><material name="m" rgba="0.1 0.2 0.3 1"/>
        <mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
        <hfield name="hill" nrow="2" ncol="2" size="1 1 0.5 0.1" elevation="0 1 0 1"/></asset>
        <worldbody><geom type="hfield" hfield="hill"/><body><freejoint/>
        <geom type="mesh" mesh="tetra" material="m"/><geom size="0.1" group="4"/>
        <geom size="0.1" rgba="1 1 1 0"/></body></worldbody></mujoco>"""
    )
    scene = scene_of(cy.rollout(robot, robot.initial_state(), 1))
    field, mesh, hidden = scene["geoms"]
    assert mesh["rgba"] == [0.1, 0.2, 0.3, 1.0] and not mesh["hidden"]
    assert hidden["hidden"]
    assert scene["assets"]["meshes"][mesh["mesh"]]["vertices"]["rows"] == 4
    assert scene["assets"]["fields"][field["field"]]["heights"]["rows"] == 4


def test_laws_have_pictures_and_closed_loops_those_of_what_they_close():
    drawn = {"heat", "bead_on_curve"}
    for name in cy.systems.names:
        if name in drawn:
            continue
        system = cy.systems.make(name)
        scene = scene_of(cy.rollout(system, system.initial_state(), 20))
        assert decoded(scene["poses"]).shape == (21, 7 * len(scene["bodies"])), name
        places = decoded(scene["poses"]).reshape((21, -1, 7))
        assert np.allclose(np.linalg.norm(places[..., 3:], axis=-1), 1, atol=1e-4), name
    bead = cy.systems.bead_on_curve(heights=[1.0, 0.4, 0.3, 0.0], width=3.0)
    run = cy.rollout(bead, [0.0], 50)
    z = decoded(scene_of(run)["poses"])[:, 2]
    assert z[0] == pytest.approx(1.0) and (np.diff(z) < 1e-6).all()
    # Energy at the start is height: what has fallen moves, v² = 2 g (z0 - z).
    x = 3.0 * run.states[:, 0] ** 2
    speed = np.hypot(np.gradient(x, run.times), np.gradient(z, run.times))[5:45]
    assert np.allclose(speed, np.sqrt(2 * 9.81 * (1 - z[5:45])), rtol=0.03)
    pendulum = cy.systems.pendulum(length=0.5)
    loop = cy.close_loop(pendulum, cy.LinearFeedback(gain=[[1.0, 1.0]], target=[0.0, 0.0]))
    run = cy.rollout(loop, [1.0, 0.0], 20, {"length": 0.25})
    places = decoded(scene_of(run)["poses"])
    assert np.hypot(places[:, 0], places[:, 2]) == pytest.approx(0.25, abs=1e-4)


def test_what_a_run_was_made_from_can_be_asked():
    system = cy.systems.pendulum(vary="length")
    x0 = np.array([[[1.0, 0.0]], [[2.0, 0.1]]])
    controls = np.linspace(0, 1, 5)[:, None]
    run = cy.rollout(system, x0, controls, {"length": [1.0, 2.0, 3.0]})
    assert (run.x0 == x0).all() or (run.x0 == np.broadcast_to(x0, (2, 3, 2))).all()
    assert (run.controls == controls).all()
    assert run.params.shape == (2, 3, system.parameters.size)
    assert (run.params[:, :, 0] == [1.0, 2.0, 3.0]).all()
    plain = cy.rollout(system, [1.0, 0.0], 5)
    assert plain.x0.tolist() == [1.0, 0.0] and plain.controls.tolist() == [[0.0]] * 5
    assert (plain.params == system.parameters.default).all()
    scene = scene_of(run)
    assert "environment 0 of 6" in scene["subtitle"]


def test_bad_requests_say_what_is_wrong(tmp_path):
    run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 5)
    with pytest.raises(TypeError, match="expected a cycloid Trajectory or Plan"):
        cy.view(run.states, tmp_path / "a.html")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        cy.view(run, tmp_path / "none" / "a.html")
    with pytest.raises(cy.Error, match="expected where the page goes"):
        cy.view(run)
    with pytest.raises(cy.Error, match="leave path out"):
        cy.view(run, tmp_path / "a.html", live=True)
    with pytest.raises(TypeError, match="title"):
        cy.view(run, tmp_path / "a.html", title=3)
    other = cy.rollout(cy.systems.kepler(), [1.0, 0.0, 0.0, 1.0], 5)
    with pytest.raises(cy.Error, match="compare: its states have 4 numbers"):
        cy.view(run, tmp_path / "a.html", compare=other)
    with pytest.raises(cy.Error, match="states_bar must be shaped like states"):
        cy.view(run, tmp_path / "a.html", gradient=np.zeros((3, 7)))
    assert list(tmp_path.iterdir()) == []


def test_a_title_cannot_leave_its_element(tmp_path):
    run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 5)
    path = cy.view(run, tmp_path / "a.html", title="</script><script>alert(1)</script>")
    assert "<script>alert(1)" not in path.read_text()
    assert data_of(path)["title"] == "</script><script>alert(1)</script>"


def test_notebooks_show_the_page():
    run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 5)
    cell = run._repr_html_()
    assert cell.startswith("<iframe") and "&lt;!doctype html&gt;" in cell and "sandbox=" in cell


def asked(live, path, host=None):
    client = http.client.HTTPConnection(live.host, timeout=10)
    client.putrequest("GET", path, skip_host=True)
    client.putheader("Host", host or live.host)
    client.endheaders()
    return client, client.getresponse()


def test_a_live_page_answers_only_those_with_the_token_and_its_own_host():
    run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 5)
    with cy.view(run, live=True) as live:
        token = live.address.partition("?")[2]
        assert live.address.startswith("http://127.0.0.1:")
        for path in ("/", "/?token=", "/?token=wrong", "/scene", "/events", f"/scene?{token}x"):
            assert asked(live, path)[1].status == 403, path
        assert asked(live, f"/?{token}", host="evil.example")[1].status == 403
        assert asked(live, f"/nothing?{token}")[1].status == 404
        answer = asked(live, f"/?{token}")[1]
        assert answer.status == 200 and b"<canvas" in answer.read()
        assert json.loads(asked(live, f"/scene?{token}")[1].read())["frames"] == 6
        listening = [asked(live, f"/events?{token}") for _ in range(MOST_CLIENTS)]
        assert {answer.status for _, answer in listening} == {200}
        assert asked(live, f"/events?{token}")[1].status == 429
        live.show(cy.rollout(run.system, [1.0, 0.0], 9))
        text = b"".join(listening[0][1].readline() for _ in range(4))
        assert b"event: scene" in text
        for client, _ in listening:
            client.close()
    with pytest.raises(OSError):
        asked(live, f"/?{token}")


def test_plans_and_fits_show_themselves_in_notebooks():
    system = cy.systems.pendulum(damping=0.1)
    found = cy.plan(system, [0.5, 0.0], cy.cost.Reach("state", [0.0, 0.0]), 20, iterations=3)
    cell = found._repr_html_()
    assert "&lt;Plan" in cell and "<iframe" in cell
    run = cy.rollout(system, [1.0, 0.0], 100)
    recording = cy.Recording(run.times, run.states, x0=run.x0)
    fit = cy.identify(system, recording, ["length"])
    cell = fit._repr_html_()
    assert "<th style='text-align:left'>length</th><td>1</td>" in cell and "converged" in cell


def test_flows_are_pictures_of_their_fields():
    flow = cy.fluid.grid((8, 6), (2.0, 1.5), dt=0.01, viscosity=0.1)
    run = cy.rollout(flow, flow.state(velocity=lambda x, y: (np.sin(np.pi * x), 0 * y)), 3)
    scene = scene_of(run)
    assert scene["grid"] == {"shape": [8, 6], "size": [2.0, 1.5]}
    assert decoded(scene["field"]).shape == (4, 48)
    line = cy.fluid.spectral("kuramoto_sivashinsky", shape=(32,), size=(22.0,), dt=0.1)
    run = cy.rollout(line, line.state(u=lambda x: np.cos(2 * np.pi * x / 22)), 5)
    scene = scene_of(run)
    assert scene["grid"]["shape"] == [32, 1] and scene["field_range"][1] > 0.5
    assert np.allclose(decoded(scene["field"]), run.states, atol=1e-4)


def test_two_numbers_are_a_point_in_their_space():
    law = cy.own_law(
        lambda x, u, p, t, dt: x + dt * np.stack([x[..., 1], -x[..., 0]], -1),
        states={"place": 1, "speed": 1}, name="oscillator", dt=0.1,
    )  # fmt: skip
    run, other = (cy.rollout(law, [a, 0.0], 60) for a in (1.0, 0.5))
    scene = scene_of(run, [other])
    assert scene["caption"] == "place across, speed up; each scaled to its range"
    assert scene["poses"]["rows"] == 61 and scene["trails"] == [0]
    # The ghost has the scale of the first: half as far from the middle of the picture.
    places, _ = phase_space(["place", "speed"], run.states)
    low, high = run.states.min(axis=0), run.states.max(axis=0)
    expected = (other.states - (low + high) / 2) / ((high - low) / 2)
    assert np.allclose(places(other.states)[:, 0, [0, 2]], expected)
    assert np.abs(places(run.states)[..., :3]).max() == pytest.approx(1)
    assert len(scene["ghosts"]) == 1 and scene["ghosts"][0]["poses"]["rows"] == 61


def test_obstacles_of_a_flow_are_drawn():
    sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "slip", "top": "slip"}
    things = (cy.fluid.Circle((1, 1), 0.2), cy.fluid.Box((2.5, 1), (0.2, 0.6)))
    flow = cy.fluid.grid((24, 12), (4, 2), 0.01, boundary=sides, obstacles=things, dt=0.01)
    run = cy.rollout(flow, flow.state(), 2, {"obstacle:#0.radius": 0.3})
    disc, box = scene_of(run)["geoms"]
    assert disc["shape"] == "cylinder" and disc["size"][0] == pytest.approx(0.3)
    assert disc["pos"] == [1, 1, 0]
    assert box["shape"] == "box" and box["size"][:2] == pytest.approx([0.1, 0.3])


def test_moving_obstacles_and_shapes_of_a_flow_are_drawn():
    x, y = np.meshgrid(np.linspace(0, 2, 33), np.linspace(0, 1, 17), indexing="ij")
    shape = cy.fluid.Shape(np.hypot(x - 1.4, (y - 0.5) / 1.5) - 0.1)
    disc = cy.fluid.Circle((0.5, 0.5), 0.1, moves=True)
    flow = cy.fluid.grid(
        (32, 16), (2.0, 1.0), viscosity=0.02, dt=0.01, obstacles=[disc, shape],
        boundary={"bottom": "wall", "top": "wall"}, inputs=("obstacle:#0.velocity",),
    )
    run = cy.rollout(flow, flow.state(), np.tile([0.4, 0.1], (20, 1)))
    bar = np.zeros_like(run.states)
    where = flow.state_slices["obstacle:#0.displacement"].start
    bar[-1, where] = -1  # the loss: minus the way of the disc
    scene = scene_of(run, gradient=bar)
    drawn, other = scene["geoms"]
    assert (drawn["body"], drawn["shape"], drawn["pos"]) == (0, "cylinder", [0, 0, 0])
    poses = decoded(scene["poses"]).reshape((21, 1, 7))
    expected = [0.5, 0.5] + np.outer(np.arange(21), [0.004, 0.001])
    assert np.allclose(poses[:, 0, :2], expected, atol=1e-6)
    assert np.allclose(decoded(scene["gradient"]["places"])[:, :3], [1, 0, 0], atol=1e-3)
    assert (other["body"], other["shape"], other["mesh"]) == (-1, "mesh", 0)
    reach = np.ptp(decoded(scene["assets"]["meshes"][0]["vertices"]), axis=0)
    assert np.allclose(reach[:2], [0.2, 0.3], atol=0.02)


def test_particles_drift_with_a_flow():
    k = 2 * np.pi
    flow = cy.fluid.spectral("navier_stokes", viscosity=0.0, shape=(48, 48), size=(1, 1), dt=0.01)

    def vortices(x, y):  # at rest, of stream function sin(k x) sin(k y) / k
        return np.sin(k * x) * np.cos(k * y), -np.cos(k * x) * np.sin(k * y)

    run = cy.rollout(flow, flow.state(velocity=vortices), 60)
    at = decoded(scene_of(run)["tracers"]).reshape((61, -1, 2))
    assert at.shape[1] == 500 and at.min() >= 0 and at.max() <= 1
    # They stay on their stream lines, and go around.
    stream = np.sin(k * at[..., 0]) * np.sin(k * at[..., 1])
    assert np.abs(stream - stream[0]).max() < 0.02
    assert np.median(np.linalg.norm(at[30] - at[0], axis=1)) > 0.1

    sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "slip", "top": "slip"}
    channel = cy.fluid.grid((24, 12), (4, 2), 0.01, boundary=sides, dt=0.02)
    start = channel.state(velocity=lambda x, y: (1.0 + 0 * x, 0.0))
    at = decoded(scene_of(cy.rollout(channel, start, 20))["tracers"]).reshape((21, -1, 2))
    way = at[1:] - at[:-1]
    stays = np.abs(way[..., 0] - 0.02) < 1e-3
    assert stays.mean() > 0.98 and not stays.all()
    assert np.abs(way[stays][:, 1]).max() < 1e-3
    assert np.allclose(way[~stays][:, 0], 0.02 - 4, atol=1e-3)  # in again where fluid enters

    heat = cy.rollout(cy.systems.heat((6, 4), 1.0, dt=0.1), np.arange(24.0), 2)
    assert "tracers" not in scene_of(heat)


def test_points_at_fixed_distances_are_balls_and_rods(tmp_path):
    law = cy.learn.constrained(
        [1.0, 8.0], [(2, 0, 1.0), (0, 1, 0.5)], [(0.3, 0.1)], hidden=(4,), dt=0.02
    )
    start = [0.3, -0.9, 0.3, -1.4, 0.5, 0, 0.75, 0]
    run = cy.rollout(law, start, 30)
    scene = scene_of(run)
    places = decoded(scene["poses"]).reshape((31, 2, 7))[..., :3]
    assert np.allclose(places[..., [0, 2]].reshape((31, 4)), run.states[:, :4], atol=1e-4)
    first, second, anchor = scene["geoms"]
    assert second["size"][0] == pytest.approx(2 * first["size"][0])  # eight times the mass
    assert anchor["body"] == -1 and anchor["pos"] == pytest.approx([0.3, 0, 0.1])
    ends = [(row["a"], row["pa"], row["b"], row["pb"]) for row in scene["links"]]
    assert ends == [(-1, [0.3, 0, 0.1], 0, [0, 0, 0]), (0, [0, 0, 0], 1, [0, 0, 0])]

    data = cy.learn.Derivatives(np.tile(start, (8, 1)), np.zeros((8, 8)))
    trained = cy.learn.train(law, data, steps=1)
    trained.save(tmp_path / "law.cyl")
    for other in (trained.system, cy.learn.load(tmp_path / "law.cyl")):
        links = scene_of(cy.rollout(other, start, 3))["links"]
        assert [(row["a"], row["b"]) for row in links] == [(-1, 0), (0, 1)]


def test_a_rod_shows_how_it_twists():
    line = np.linspace((0, 0, 0), (1, 0, 0), 9)
    rod = cy.soft.rod(line, young=1e6, radius=0.02, pinned=[0, 1, 7, 8], inputs="twist")
    turn = np.linspace(0, np.pi / 2, 21)[1:]
    inputs = np.zeros((20, rod.input_size))
    inputs[:, rod.input_slices["twist"]] = np.column_stack([0 * turn, turn])
    run = cy.rollout(rod, rod.initial_state(), inputs)
    side = decoded(scene_of(run)["surface"]["stripe"]).reshape((21, 9, 3))
    assert np.allclose(np.linalg.norm(side, axis=-1), 1, atol=1e-4)
    assert np.allclose(side[0], [0, 0, 1], atol=1e-4)
    assert np.allclose(side[-1, 0], [0, 0, 1], atol=1e-4)
    assert np.allclose(side[-1, -1], [0, -1, 0], atol=1e-4)
    still = cy.rollout(rod, rod.initial_state(), 2)
    assert "stripe" not in scene_of(still)["surface"]

    # A side is carried along a curved rod, and follows its segment by the smallest turn.
    angle = np.linspace(0, np.pi / 2, 9)
    arc = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    up = directors(arc, arc[None], np.zeros((1, 8)))[0]
    assert np.allclose(up, [0, 0, 1], atol=1e-12)
    for turned, expected in ((line[:, [1, 0, 2]], [0, 0, 1]), (line[:, [2, 1, 0]], [-1, 0, 0])):
        assert np.allclose(directors(line, turned[None], np.zeros((1, 8)))[0], expected)
