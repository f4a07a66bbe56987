"""Why did the cube end on that face? Real tosses (ContactNets), run again with one thing changed:
the mass, the friction, or the push. The data are not part of the project: CYCLOID_DATA names their
folder; without them there is nothing to ask."""

import os
from pathlib import Path

import numpy as np

import cycloid as cy

DATA = Path(os.environ.get("CYCLOID_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILE = DATA / "contactnets_cube" / "tosses.npz"
if not FILE.exists():
    print(f"skipped: {FILE} is not there")
    raise SystemExit(0)
file = np.load(FILE)
dt = float(file["dt"])
CUBE = f"""<mujoco><option timestep="{dt / 4}" cone="elliptic" integrator="implicitfast"/>
  <worldbody>
  <geom name="table" type="plane" size="2 2 .1" friction=".2 .001 .0001" solref="-40000 -100"/>
  <body name="cube"><freejoint/><geom name="cube" type="box" size=".0524 .0524 .0524" mass=".37"
  friction=".2 .001 .0001" solref="-40000 -100"/></body></worldbody></mujoco>"""
cube = cy.load(CUBE)


def toss(i, frames=None):
    s = file["states"][file["offsets"][i] : file["offsets"][i + 1]][:frames]
    rows = np.concatenate([s[:, 4:7], s[:, 0:4], s[:, 10:13], s[:, 7:10]], axis=1)  # qpos, qvel
    sigma = [0.005] * 3 + [0.05] * 4 + [0.2] * 3 + [2.0] * 3
    return cy.Recording(np.arange(len(s)) * dt, rows, sigma=sigma, x0=rows[0])


def up(states):  # the third row of the rotation: the world's z in the body's axes
    w, x, y, z = states[-1, 3:7]
    return np.array([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z])


friction = ["geom:cube.friction[0]", "geom:table.friction[0]"]
fit = cy.identify(
    cube, [toss(i, 45) for i in range(6)], [cy.tie(*friction)], x0="known", loss="cauchy"
)
mass, inertia = (cube.parameters[f"body:cube.{n}"] for n in ("mass", "inertia"))
flips, asked = {"mass": 0, "friction": 0, "push": 0}, 0
for i in range(20, 40):
    recording = toss(i)
    ended = np.rint(up(recording.values))  # the face that looked up in the end
    if up(cy.counterfactual(fit, recording, {}, draws=1).states) @ ended < 0.9:
        continue  # the model does not explain this toss
    changes = {
        "mass": {"body:cube.mass": 2 * mass, "body:cube.inertia": 2 * inertia},
        "friction": {name: 2 * fit.params[name] for name in friction},
        "push": {"qvel": 1.1 * recording.x0[7:]},
    }
    asked += 1
    for why in cy.rank_interventions(fit, recording, changes, lambda x: up(x) @ ended, draws=4):
        flips[why.name] += why.effect < -0.5
print(f"{asked} tosses explained; another face after a change of", flips)
assert asked >= 5 and flips["mass"] == 0 < flips["friction"]  # mass drops out of such contacts
