"""The page of `cycloid.view` in a real browser: it loads from disk alone, shows what the trajectory
has, plays, obeys slider, buttons and keys, and can be read by a machine and by a screen reader.

CYCLOID_SCREENSHOTS names a folder that receives pictures.
"""

import base64
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

import cycloid as cy

STEPS = 300
COLOURED = """<mujoco model="colours"><worldbody>
  <geom type="plane" size="0 0 1"/>
  <body name="cube" pos="-0.4 0 0.5"><freejoint/>
    <geom type="box" size="0.15 0.15 0.15" rgba="0.9 0.05 0.05 1"/></body>
  <body name="ball" pos="0.4 0 0.6"><freejoint/>
    <geom type="sphere" size="0.18" rgba="0.1 0.75 0.15 1"/>
    <geom type="sphere" size="0.4" rgba="0.1 0.1 0.9 1" group="3" contype="0" conaffinity="0"/>
  </body></worldbody></mujoco>"""

# Pixels of the canvas whose colour passes a test of r, g and b.
COUNT = """(() => {
  const scene = document.getElementById("scene");
  const copy = document.createElement("canvas");
  copy.width = scene.width; copy.height = scene.height;
  const pen = copy.getContext("2d");
  pen.drawImage(scene, 0, 0);
  const all = pen.getImageData(0, 0, copy.width, copy.height).data;
  let n = 0;
  for (let k = 0; k < all.length; k += 4) {
    const [r, g, b] = [all[k], all[k + 1], all[k + 2]];
    if (%s) ++n;
  }
  return n;
})()"""
RED = "r > 90 && g < 0.4 * r && b < 0.4 * r"
GREEN = "g > 70 && r < 0.6 * g && b < 0.6 * g"
BLUE = "b > 80 && r < 0.5 * b && g < 0.5 * b"
ORANGE = "r > 140 && g > 0.25 * r && g < 0.55 * r && b < 0.25 * r"
TEAL = "g > 90 && b > 0.55 * g && b < 0.85 * g && r < 0.45 * g"
GHOST = "b > 1.08 * g && r > 1.01 * g && b > 120"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("view")


@pytest.fixture(scope="module")
def swing(folder):
    """A pendulum with a ghost and with arrows for its last angle."""
    system = cy.systems.pendulum(damping=0.1)
    torques = np.sin(np.arange(STEPS))[:, None]
    run = cy.rollout(system, [2.5, 0.0], torques)
    other = cy.rollout(system, [1.9, 0.0], torques)
    bar = np.zeros_like(run.states)
    bar[-1, 0] = 1
    path = cy.view(run, folder / "swing.html", compare=other, gradient=bar, title="A swing & <b>")
    return run, path


@pytest.fixture(scope="module")
def colours(folder):
    """Two bodies that fall on a floor."""
    robot = cy.load(COLOURED)
    run = cy.rollout(robot, robot.initial_state(), 200)
    return run, cy.view(run, folder / "colours.html")


def opened(browser, path, **screen):
    # Small: a processor draws it.
    page = browser.open(path, **({"width": 840, "height": 520} | screen))
    name = f"view_{path.stem}_{screen.get('width', 840)}_{'dark' * screen.get('dark', False)}.png"
    if pictures := os.environ.get("CYCLOID_SCREENSHOTS"):
        page.evaluate("cycloid.seek(60)")
        page.screenshot(Path(pictures, name))
        page.evaluate("cycloid.seek(0)")
    return page


@pytest.fixture(scope="module")
def shared(browser, swing):
    return opened(browser, swing[1])


@pytest.fixture(scope="module")
def coloured(browser, colours):
    return opened(browser, colours[1])


@pytest.fixture
def page(shared):
    """The page of the swing, at its beginning."""
    shared.call("Page.bringToFront")
    shared.evaluate("cycloid.pause()")
    shared.evaluate("cycloid.seek(0)")
    return shared


def press(page, key, code=None, shift=False):
    for kind in ("keyDown", "keyUp"):
        page.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key,
            code=code or key,
            modifiers=8 if shift else 0,
            text=key if len(key) == 1 and kind == "keyDown" else "",
        )


def count(page, colour):
    return page.evaluate(COUNT % colour)


def test_the_page_needs_nothing_but_its_file(page, swing):
    assert page.errors == []
    assert page.requests == [swing[1].as_uri()]
    assert page.evaluate("document.title") == "A swing & <b>"
    assert page.evaluate("document.getElementById('title').textContent") == "A swing & <b>"


def test_its_numbers_are_those_of_the_trajectory(page, coloured, swing, colours):
    for (run, _), page in ((swing, page), (colours, coloured)):
        frames = page.evaluate("cycloid.frames")
        assert frames == len(run.states)
        assert page.evaluate("cycloid.times") == run.times.tolist()
        close = 1e-3 * np.ptp(run.states, axis=0) + 1e-12
        for i in (0, 17, frames - 1):
            assert (np.abs(page.evaluate(f"cycloid.state({i})") - run.states[i]) <= close).all()
    # Poses of a robot are those that `observe` has, body 0 the world.
    seen = cy.observe(run.system, run.states, names=("xpos", "xquat"))
    poses = np.concatenate([seen["xpos"], seen["xquat"]], axis=-1)
    close = 1e-3 * np.ptp(poses, axis=0) + 1e-12
    for i in (0, 99, frames - 1):
        assert (np.abs(page.evaluate(f"cycloid.bodies({i})") - poses[i]) <= close).all()


def test_a_law_is_drawn_where_its_state_says(page, swing):
    run, _ = swing
    for i in (0, 120):
        ((x, y, z, *_),) = page.evaluate(f"cycloid.bodies({i})")
        angle = run.states[i, 0]
        assert np.allclose([x, y, z], [np.sin(angle), 0, -np.cos(angle)], atol=2e-3)


def test_play_goes_on_with_the_clock_and_stops_at_the_end(page):
    button = "document.getElementById('play')"
    assert page.evaluate(f"{button}.textContent") == "Play"
    page.evaluate(f"{button}.click()")
    assert page.evaluate(f"{button}.textContent") == "Pause"
    deadline = time.monotonic() + 20
    while page.evaluate("cycloid.frame") < 5:
        assert time.monotonic() < deadline, "it does not play"
    page.evaluate("cycloid.seek(299)")
    while page.evaluate("cycloid.playing"):
        assert time.monotonic() < deadline, "it does not stop"
    assert page.evaluate("cycloid.frame") == STEPS
    assert page.evaluate(f"{button}.textContent") == "Play"
    assert page.errors == []


def test_slider_and_keys_move_the_frame(page):
    page.evaluate(
        "(() => { const s = document.getElementById('slider'); s.value = 123;"
        " s.dispatchEvent(new Event('input')); })()"
    )
    assert page.evaluate("cycloid.frame") == 123
    assert "1.23" in page.evaluate("document.getElementById('clock').textContent")
    press(page, "ArrowRight")
    assert page.evaluate("cycloid.frame") == 124
    press(page, "ArrowLeft", shift=True)
    assert page.evaluate("cycloid.frame") == 94
    press(page, "End")
    assert page.evaluate("cycloid.frame") == STEPS
    press(page, "Home")
    assert page.evaluate("cycloid.frame") == 0
    press(page, "ArrowUp")
    assert page.evaluate("document.getElementById('speed').value") == "2"
    press(page, "ArrowDown")
    press(page, " ", "Space")
    assert page.evaluate("cycloid.playing")
    press(page, " ", "Space")
    assert not page.evaluate("cycloid.playing")
    assert page.evaluate("[cycloid.seek(-5), cycloid.seek(1e9)]") == [0, STEPS]


def test_iterations_are_ghosts_too(browser, folder):
    system = cy.systems.pendulum()
    run = cy.rollout(system, [1.5, 0.0], 50)
    others = [cy.rollout(system, [angle, 0.0], 50) for angle in (-1.5, -0.5, 0.5)]
    pages = [cy.view(run, folder / f"{n}.html", compare=others[-n:]) for n in (1, 3)]
    violet = "r >= g && b > g + 5"  # however faint
    counts = []
    for path in pages:
        page = opened(browser, path)
        page.evaluate("new Promise((done) => setTimeout(done, 300))")  # it has its size
        page.evaluate("cycloid.seek(0)")
        counts.append(count(page, violet))
    assert counts[1] > 1.4 * counts[0] > 300
    with pytest.raises(cy.Error, match="at most 12"):
        cy.view(run, folder / "many.html", compare=others * 5)


def test_arrows_ghost_and_their_buttons(page):
    page.evaluate("cycloid.seek(60)")
    with_arrows, with_ghost = count(page, ORANGE), count(page, GHOST)
    assert with_arrows > 300, "no gradient arrow"
    assert with_ghost > 300, "no ghost"
    press(page, "a", "KeyA")
    press(page, "g", "KeyG")
    assert count(page, ORANGE) < 0.1 * with_arrows
    assert count(page, GHOST) < 0.5 * with_ghost
    assert page.evaluate("document.getElementById('arrows').ariaPressed") == "false"
    press(page, "a", "KeyA")
    assert count(page, ORANGE) == with_arrows


def test_a_robot_has_its_colours_and_hides_what_mujoco_hides(coloured):
    page = coloured
    assert count(page, RED) > 1500 and count(page, GREEN) > 1500
    assert count(page, BLUE) == 0
    press(page, "h", "KeyH")
    assert count(page, BLUE) > 1500
    press(page, "h", "KeyH")
    # The cube falls: its pixels move down.
    middle = COUNT.replace("let n = 0;", "let n = 0, y = 0;").replace(
        "++n;", "{ ++n; y += Math.floor(k / 4 / copy.width); }"
    ).replace("return n;", "return y / n;")
    before = page.evaluate(middle % RED)
    page.evaluate("cycloid.seek(150)")
    assert page.evaluate(middle % RED) > before + 20
    # On the floor there are forces of contact.
    pushing = count(page, TEAL)
    assert pushing > 200
    press(page, "c", "KeyC")
    assert count(page, TEAL) < 0.2 * pushing
    assert page.errors == []


@pytest.mark.parametrize("width, dark", [(390, True), (1000, False)])
def test_both_themes_fit_the_screen(browser, swing, width, dark):
    page = opened(browser, swing[1], width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('.card canvas').length") >= 3
    total = page.evaluate("scene.width * scene.height")
    for theme in ("dark", "light") if dark else ("light", "dark"):
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        pale = count(page, "r > 200 && g > 200 && b > 200")
        assert (pale < 0.1 * total) if theme == "dark" else (pale > 0.5 * total)
        press(page, "d", "KeyD")
    assert page.errors == []


def test_everything_that_can_be_used_has_a_name(page):
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node["ignored"]
    ]
    used = [(role, name) for role, name in roles if role in ("button", "slider", "combobox")]
    assert len(used) >= 8
    assert all(name for _, name in used), used
    assert ("button", "Play") in used and ("slider", "Frame") in used
    assert any(role == "image" and "three dimensions" in name for role, name in roles)
    assert any(role == "note" and name == "Legend" for role, name in roles)
    assert any(role == "image" and name.endswith("over time") for role, name in roles)
    keys = "[...document.querySelectorAll('header button')].map((b) => b.ariaKeyShortcuts)"
    assert sum(map(bool, page.evaluate(keys))) >= 10


@pytest.fixture
def saved(page, folder):
    """A picture and a film, as the page's buttons save them; made once."""
    files = {kind: folder / f"A_swing_b_.{kind}" for kind in ("png", "webm")}
    if all(path.exists() for path in files.values()):
        return files
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.evaluate("document.getElementById('speed').selectedIndex = 7")
    page.evaluate("document.getElementById('speed').dispatchEvent(new Event('change'))")
    page.evaluate("document.getElementById('shot').click()")
    page.evaluate("document.getElementById('movie').click()")
    for path in files.values():
        deadline = time.monotonic() + 40
        while not path.exists() or not path.stat().st_size:
            assert time.monotonic() < deadline, f"no {path.name}"
            page.evaluate("new Promise((done) => setTimeout(done, 100))")
    return files


def test_pictures_and_films_can_be_saved(saved):
    for kind, magic in (("png", b"\x89PNG"), ("webm", b"\x1aE\xdf\xa3")):
        assert saved[kind].read_bytes()[:4] == magic


# Plays a film and looks at each of its frames: where its orange is, and how much of it there is.
WATCH = """new Promise((done) => {
  const video = document.createElement("video"), seen = [];
  const look = () => {
    const copy = document.createElement("canvas");
    copy.width = video.videoWidth; copy.height = video.videoHeight;
    const pen = copy.getContext("2d");
    pen.drawImage(video, 0, 0);
    const all = pen.getImageData(0, 0, copy.width, copy.height).data;
    let n = 0, x = 0;
    for (let k = 0; k < all.length; k += 4) {
      const [r, g, b] = [all[k], all[k + 1], all[k + 2]];
      if (%s) { ++n; x += (k / 4) %% copy.width; }
    }
    seen.push([n, x / n]);
    video.requestVideoFrameCallback(look);
  };
  video.muted = true;
  video.requestVideoFrameCallback(look);
  video.onended = () => done({ size: [video.videoWidth, video.videoHeight], seen });
  video.onerror = () => done({ error: "it cannot be decoded" });
  video.src = "data:video/webm;base64,%s";
  video.play();
})"""


@pytest.mark.alone  # a busy machine drops frames
def test_the_film_shows_the_run(browser, page, saved):
    """Decoded by the browser itself: the scene in its size, with an arrow that travels."""
    size = page.evaluate("[scene.width, scene.height]")
    film = base64.b64encode(saved["webm"].read_bytes()).decode()
    played = browser.open_address("about:blank").evaluate(WATCH % (ORANGE, film))
    assert played["size"] == size
    arrows = [x for n, x in played["seen"] if n > 100]
    assert len(arrows) >= 2 and max(arrows) - min(arrows) > 20, played


def test_the_camera_obeys_keys(page):
    """What can be done with a mouse can be done without one."""
    seen = [page.evaluate("scene.toDataURL()")]
    for key in ("]", "PageUp", "-"):
        press(page, key)
        seen.append(page.evaluate("scene.toDataURL()"))
    assert len(set(seen)) == 4
    for key in ("[", "PageDown", "+"):
        press(page, key)
    press(page, "r", "KeyR")
    assert page.evaluate("scene.toDataURL()") == seen[0]


def test_a_moving_obstacle_is_seen_to_move(browser, folder):
    disc = cy.fluid.Circle((0.5, 0.5), 0.15, moves=True)
    flow = cy.fluid.grid(
        (32, 16), (2.0, 1.0), viscosity=0.02, dt=0.02, obstacles=[disc],
        boundary={"bottom": "wall", "top": "wall"}, inputs=("obstacle:#0.velocity",),
    )
    run = cy.rollout(flow, flow.state(), np.tile([1.0, 0.0], (40, 1)))
    page = opened(browser, cy.view(run, folder / "disc.html"))
    grey = "Math.abs(r - g) < 16 && b >= g && b - r < 32 && r > 100 && r < 210"
    middle = COUNT.replace("let n = 0;", "let n = 0, x = 0;").replace(
        "++n;", "{ ++n; x += (k / 4) %% copy.width; }"
    ).replace("return n;", "return [n, x / n / copy.width];")
    count_first, first = page.evaluate(middle % grey)
    page.evaluate("cycloid.seek(40)")
    count_last, last = page.evaluate(middle % grey)
    assert count_first > 1000 and 0.8 < count_last / count_first < 1.25
    assert last - first > 0.15  # 0.8 m of 2 m
    assert page.evaluate("cycloid.bodies(40)[0][0]") == pytest.approx(0.5 + 0.8, abs=2e-3)
    assert page.errors == []


def test_particles_drift_and_can_be_hidden(browser, folder):
    flow = cy.fluid.spectral("navier_stokes", shape=(16, 16), size=(1, 1), viscosity=0.1, dt=0.01)
    run = cy.rollout(flow, flow.state(velocity=lambda x, y: (1.0 + 0 * x, 0 * y)), 20)
    page = opened(browser, cy.view(run, folder / "drift.html"))
    white = "r > 225 && g > 225 && b > 225"
    dark = page.evaluate("document.documentElement.dataset.theme") == "dark"
    if not dark:
        press(page, "d", "KeyD")
    button = "document.getElementById('trails')"
    assert page.evaluate(f"[{button}.textContent, {button}.hidden]") == ["Particles", False]
    shown = count(page, white)
    assert shown > 500  # of 500 particles with several pixels each
    first = page.evaluate("scene.toDataURL()")
    page.evaluate("cycloid.seek(10)")
    assert page.evaluate("scene.toDataURL()") != first
    assert 0.8 < count(page, white) / shown < 1.25
    page.evaluate(f"{button}.click()")
    assert count(page, white) < 0.02 * shown
    assert page.errors == []


def test_a_rod_that_twists_shows_its_side(browser, folder):
    line = np.linspace((0, 0, 0), (1, 0, 0), 13)
    rod = cy.soft.rod(line, young=1e6, radius=0.05, pinned=[0, 1, 11, 12], inputs="twist")
    turn = np.linspace(0, 2 * np.pi, 31)[1:]
    inputs = np.zeros((30, rod.input_size))
    inputs[:, rod.input_slices["twist"]] = np.column_stack([0 * turn, turn])
    page = opened(browser, cy.view(cy.rollout(rod, rod.initial_state(), inputs),
                                   folder / "rod.html"))  # fmt: skip
    # Columns of the picture in which its stripe is seen, of all over which it goes.
    gold = "r > 150 && g > 0.6 * r && b < 0.5 * r"
    columns = COUNT.replace("let n = 0;", "const seen = new Set();").replace(
        "++n;", "seen.add((k / 4) %% copy.width);"
    ).replace("return n;", "return [...seen];")
    share = []
    for frame in (0, 30):
        page.evaluate(f"cycloid.seek({frame})")
        at = page.evaluate(columns % gold)
        share.append(len(at) / (max(at) - min(at) + 1))
    assert share[0] > 0.98 and 0.3 < share[1] < 0.8  # a part of a turn is behind the rod
    assert page.errors == []


def test_worlds_without_a_picture_have_their_plots(browser, folder):
    law = cy.own_law(lambda x, u, p, t, dt: x * (1 - dt), states={"level": 1}, name="decay")
    path = cy.view(cy.rollout(law, [1.0], 50), folder / "decay.html")
    page = opened(browser, path)
    assert page.errors == []
    assert page.evaluate("document.querySelectorAll('.card canvas').length") == 1
    assert page.evaluate("cycloid.bodies(3)") == []


def test_fields_and_soft_bodies_show_colours(browser, folder):
    box = cy.systems.heat((24, 16), 1.0, dt=0.2)
    hot = np.zeros((24, 16))
    hot[4:9, 4:9] = 10
    page = opened(browser, cy.view(cy.rollout(box, hot.ravel(), 20), folder / "heat.html"))
    yellow = "r > 200 && g > 180 && b < 120"
    assert count(page, yellow) > 2000
    page.evaluate("cycloid.seek(20)")
    assert count(page, yellow) < 500

    box = {"shape": (24, 24), "size": (1.0, 1.0), "dt": 0.01}
    flow = cy.fluid.spectral("navier_stokes", viscosity=0.02, **box)

    def vortices(x, y):
        k = 2 * np.pi
        return np.sin(k * x) * np.cos(k * y), -np.cos(k * x) * np.sin(k * y)

    run = cy.rollout(flow, flow.state(velocity=vortices), 10)
    page = opened(browser, cy.view(run, folder / "flow.html"))
    assert "vorticity" in page.evaluate("document.getElementById('legend').textContent")
    clockwise, other = count(page, yellow), count(page, "b > 60 && r < 90 && g < 60")
    assert clockwise > 1000 and 0.7 < clockwise / other < 1.4  # two of each, of one strength

    mesh = cy.soft.box((6, 2, 2), (1.0, 0.2, 0.2))
    held = np.flatnonzero(mesh.vertices[:, 0] == 0)
    beam = cy.soft.solid(mesh, young=2e5, pinned=held, dt=0.02)
    run = cy.rollout(beam, beam.initial_state(), 15)
    page = opened(browser, cy.view(run, folder / "beam.html"))
    reddish = "r > 100 && b < 0.85 * r"
    blueish = "b > 100 && r < 0.75 * b"
    relaxed = count(page, reddish)
    assert count(page, blueish) > 2000 and relaxed < 200
    page.evaluate("cycloid.seek(15)")
    assert count(page, reddish) > relaxed + 500
    assert page.errors == []


def test_a_live_page_follows_the_run(browser, swing):
    system = swing[0].system
    with cy.view(cy.rollout(system, [1.0, 0.0], 10), live=True, title="live") as live:
        page = browser.open_address(live.address)
        assert page.evaluate("cycloid.frames") == 11
        deadline = time.monotonic() + 60  # a busy machine may take a while
        while live.clients < 1:
            assert time.monotonic() < deadline, "the page does not listen"
            time.sleep(0.05)
        live.show(cy.rollout(system, [1.0, 0.0], 25))
        while page.evaluate("cycloid.frames") != 26:
            assert time.monotonic() < deadline, "the page does not follow"
            time.sleep(0.05)  # it has to draw, too
        assert page.errors == [], json.dumps(page.errors)
    while "ended" not in page.evaluate("document.getElementById('notice').textContent"):
        assert time.monotonic() < deadline, "the page does not hear the end"
