"""Makes docs/pictures/room_*.png and swing_up.gif: worlds and reports as pages show them.

    python docs/pictures/views.py [NAME ...]        needs Chromium and Pillow
"""

import base64
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import cycloid as cy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "pages"))
from browser import Browser  # noqa: E402

SCENE_ALONE = """
document.querySelector("footer").style.display = "none";
document.querySelector("header").style.display = "none";
document.querySelector("main").classList.add("no-panel");
document.querySelector("#stage").style.cssText = "position: fixed; inset: 0; height: 100vh";
for (let k = 0; k < %d; ++k) document.querySelector("#scene").dispatchEvent(
  new WheelEvent("wheel", {deltaY: -120, bubbles: true, cancelable: true}));
new Promise((done) => setTimeout(done, 400))"""

TABLE = """<mujoco> <option timestep="0.01"/> <worldbody>
  <geom type="plane" size="3 3 1" friction="0.5 0.005 0.0001" rgba="0.75 0.78 0.82 1"/>
  <body name="block" pos="0.3 0.05 0.05"> <joint type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 1 0"/> <joint type="hinge" axis="0 0 1"/>
    <joint type="slide" axis="0 0 1"/>
    <geom type="box" size="0.1 0.1 0.05" mass="0.3" rgba="0.85 0.6 0.3 1"/> </body>
  <body name="finger" pos="0 0 0.05"> <joint name="fx" type="slide" axis="1 0 0" damping="5"/>
    <joint name="fy" type="slide" axis="0 1 0" damping="5"/>
    <geom size="0.04" mass="0.3" rgba="0.25 0.45 0.8 1"/> </body> </worldbody>
  <actuator> <motor joint="fx" ctrlrange="-20 20" ctrllimited="true"/>
    <motor joint="fy" ctrlrange="-20 20" ctrllimited="true"/> </actuator> </mujoco>"""
CART = """<mujoco> <option timestep="0.02"/> <worldbody>
  <geom type="capsule" fromto="-1.6 0 0 1.6 0 0" size="0.015" contype="0" conaffinity="0"
        rgba="0.6 0.6 0.65 1"/>
  <body name="cart"> <joint name="slide" type="slide" axis="1 0 0"/>
    <geom type="box" size="0.14 0.08 0.06" mass="1" rgba="0.25 0.45 0.8 1" contype="0"/>
    <body name="pole"> <joint axis="0 1 0"/> <geom type="capsule" fromto="0 0 0 0 0 -0.6"
      size="0.03" mass="0.1" rgba="0.85 0.5 0.2 1" contype="0" conaffinity="0"/> </body> </body>
  </worldbody> <actuator> <motor joint="slide" ctrlrange="-8 8" ctrllimited="true"/> </actuator>
</mujoco>"""


def laws():
    run = cy.rollout(cy.systems.double_pendulum(), [2.0, 2.5, 0.0, 0.0], 600)
    return {"trajectory": run}, 240, 2


def contact():
    table = cy.load(TABLE, gradient=cy.FromDistance(0.1))
    pose = (0.25, 0.1, 0.3)
    cost = sum(cy.cost.Reach(f"qpos[{i}]", pose[i], 200) for i in range(3)) + cy.cost.Effort(1e-4)
    cost = cost + cy.cost.Reach("qvel", np.zeros(6), 1.0)
    plan = cy.plan(table, table.initial_state(), cost, 150, start=np.full((150, 2), (2.0, 0.0)))
    run = cy.rollout(table, table.initial_state(), plan.controls)
    bar = np.zeros_like(run.states)
    bar[-1, :2] = -1, -0.6
    return {"trajectory": run, "gradient": bar}, 62, 6


def finger():
    """A soft finger that a load bends."""
    mesh = cy.soft.box(cells=(20, 4, 4), size=(0.4, 0.06, 0.06), element="hex")
    left = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return cy.soft.solid(mesh, "neo_hookean", young=4e4, pinned=left, damping=0.02, dt=0.02)


def soft():
    body = finger()
    return {"trajectory": cy.rollout(body, body.initial_state(), 40)}, 16, 2


def spectral():
    n = 96
    flow = cy.fluid.spectral(
        "navier_stokes", shape=(n, n), size=2 * np.pi, dt=0.01, viscosity=5e-3
    )
    rng = np.random.default_rng(3)
    waves, phases = rng.integers(-4, 5, (12, 2)), rng.uniform(0, 2 * np.pi, 12)

    def velocity(x, y):
        u, v = 0 * x, 0 * y
        for (a, b), phase in zip(waves, phases, strict=True):
            wave = np.cos(a * x + b * y + phase)
            u, v = u + b * wave, v - a * wave
        return u / 8, v / 8

    return {"trajectory": cy.rollout(flow, flow.state(velocity=velocity), 150, save=10)}, 15, 0


def grid():
    sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "slip", "top": "slip"}
    disc = cy.fluid.Circle((0.45, 0.48), 0.1)
    flow = cy.fluid.grid((160, 64), (2.5, 1.0), 1.5e-3, boundary=sides, obstacles=[disc], dt=0.008)
    start = flow.state(velocity=lambda x, y: (1 + 0 * x, 0.1 * np.sin(6 * x)))
    return {"trajectory": cy.rollout(flow, start, 800, save=20)}, 40, 0


def swing():
    robot = cy.load(CART)
    cost = cy.cost.Reach("state", [0, np.pi, 0, 0], 300) + cy.cost.Effort(1e-3)
    return robot, cy.plan(robot, robot.initial_state(), cost, 120)


def optimise():
    robot, plan = swing()
    early = cy.plan(robot, robot.initial_state(), cy.cost.Reach("state", [0, np.pi, 0, 0], 300)
                    + cy.cost.Effort(1e-3), 120, iterations=4)  # fmt: skip
    return {"trajectory": plan, "compare": early}, 100, 3


ROOMS = {f.__name__: f for f in (laws, contact, soft, spectral, grid, optimise)}


def shown(browser, folder, scene, width, height, closer):
    """The page of a scene, without its panels."""
    path = Path(folder, "page.html")
    cy.view(scene.pop("trajectory"), path, **scene)
    page = browser.open(path, width=width, height=height)
    page.evaluate(SCENE_ALONE % closer)
    return page


def picture(page, frame):
    page.evaluate(f"cycloid.seek({frame}); new Promise((done) => setTimeout(done, 150))")
    data = page.call("Page.captureScreenshot", format="png")["data"]
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def movie(browser, folder):
    """The plan's motion, every third step, and a while at its end."""
    _, plan = swing()
    page = shown(browser, folder, {"trajectory": plan}, 460, 300, 3)
    frames = [picture(page, k) for k in range(0, 121, 3)]
    colours = frames[20].quantize(48)
    small = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames]
    times = [60] * (len(small) - 1) + [1200]
    small[0].save(HERE / "swing_up.gif", save_all=True, append_images=small[1:], duration=times,
                  loop=0, optimize=True)  # fmt: skip


def scorecard(path):
    """A pendulum with a little too much damping, against the true one."""
    truth, draw = cy.systems.pendulum(dt=0.02, damping=0.1), np.random.default_rng(1)
    model = cy.systems.pendulum(dt=0.02, damping=0.12)
    cy.evaluate(model, truth, draw.uniform(-1, 1, (16, 2)), 200, timing=False).plot(path)


def recording(path):
    """A run that was saved, opened and seen."""
    run = cy.rollout(cy.systems.double_pendulum(), [2.0, 2.5, 0.0, 0.0], 600)
    run.save(path.with_suffix(".npz"))
    cy.view(cy.open(path.with_suffix(".npz")), path)


PAGES = {"evaluate": (scorecard, 940, 900), "record": (recording, 940, 560)}


def whole(browser, folder, name):
    """A page as it is."""
    make, width, height = PAGES[name]
    path = Path(folder, f"{name}.html")
    make(path)
    page = browser.open(path, width=width, height=height)
    page.evaluate("window.cycloid?.seek(240); new Promise((done) => setTimeout(done, 400))")
    data = page.call("Page.captureScreenshot", format="png")["data"]
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    image.quantize(128).save(HERE / f"room_{name}.png", optimize=True)


def main():
    wanted = sys.argv[1:] or [*ROOMS, *PAGES, "movie"]
    with Browser() as browser, tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            if name == "movie":
                movie(browser, folder)
                continue
            if name in PAGES:
                whole(browser, folder, name)
                continue
            scene, frame, closer = ROOMS[name]()
            page = shown(browser, folder, scene, 720, 400, closer)
            image = picture(page, frame)
            image.quantize(128).save(HERE / f"room_{name}.png", optimize=True)


if __name__ == "__main__":
    main()
