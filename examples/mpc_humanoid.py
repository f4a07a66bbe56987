"""dm_control's humanoid kept standing by model predictive control, and pushed on the way.

    python mpc_humanoid.py [SECONDS]

Plans over 0.3 s, one iteration of iLQR for every 20 ms, with the plan's feedback in between. The
model comes with the package dm_control; without it there is nothing to do.
"""

import sys
import time
from pathlib import Path

import numpy as np

import cycloid as cy

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
folders = [Path(sys.prefix, "models"), *map(Path, sys.path)]
models = [p for f in folders if (p := f / "dm_control/suite/humanoid.xml").exists()]
if not models:
    print("dm_control is not installed: nothing to do")
    raise SystemExit(0)
robot = cy.load(models[0])
stand = robot.initial_state()
stand[2] = 1.285  # its feet touch the ground [m]
com = cy.observe(robot, stand, names="subtree_com:torso").values
pose = [2, 2, 20, 5, 5, 5] + 21 * [0.1]  # weights: place, attitude, joints
speed = 3 * [0.5] + 24 * [0.005]
cost = (
    cy.cost.Reach("qpos", stand[:28], pose, "all")
    + cy.cost.Reach("qvel", np.zeros(27), speed, "all")
    + cy.cost.Reach("qpos", stand[:28], [20, 20, 100, 50, 50, 50] + 21 * [0.1])
    + cy.cost.Reach("qvel", np.zeros(27), 3 * [20] + 24 * [0.1])
    + cy.cost.Reach("subtree_com:torso", com, [50, 50, 0])
    + cy.cost.Effort(1e-2)
)
mpc = cy.MPC(robot, cost, horizon=60, every=4, iterations=1, first_iterations=20, threads=1)
x, spent, heights = stand, [], []
for t in range(round(seconds / robot.timestep)):
    if t % mpc.every == 0:
        began = time.perf_counter()
        mpc(x)
        spent.append(time.perf_counter() - began)
    x = cy.step(robot, x, mpc.feedback(x, t % mpc.every))
    heights.append(x[2])
    if t in (50, 300):
        x[28] += 0.3  # a push of all bodies [m/s]
factor = mpc.every * robot.timestep / np.mean(spent[1:])
print(f"a plan takes {1e3 * np.mean(spent[1:]):.1f} ms, {factor:.2f} times real time on one core")
print("lowest %.3f m, at the end %.3f m" % (min(heights), heights[-1]))
assert min(heights) > 1.2
