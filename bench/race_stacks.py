"""Separate stacks of boxes: how the cost of a step grows with their number.

    python bench/race_stacks.py

prints one JSON object: {"1 of 5 boxes": {figure: number}, ...}, times in microseconds per
environment-step as in race_robots.py, float lanes on one thread. "forward / stacks" is the time of
one stack among so many over that of a stack alone: 1 is linear growth. Every environment has its
own initial velocities, so that lanes differ in their contacts.
"""

import json
import os
import sys

import mujoco
import numpy as np
from race_robots import Peer, best

import cycloid as cy

STACKS, BOXES, HALF = (1, 2, 4, 8), 5, 0.1
BATCH, STEPS, FEW = 256, 50, 32
SETTLE = 200  # steps of MuJoCo before the race


def scene(stacks):
    bodies = "".join(
        f'<body pos="{s} 0 {HALF * (1 + 2 * i)}"><freejoint/>'
        f'<geom type="box" size="{HALF} {HALF} {HALF}" mass="1"/></body>'
        for s in range(stacks) for i in range(BOXES)
    )
    return f'''<mujoco><worldbody><geom type="plane" size="20 20 1"/>{bodies}</worldbody>
      </mujoco>'''


def start_states(model):
    """(BATCH, state): the stacks at rest, each box pushed a little."""
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, SETTLE)
    state = np.concatenate([data.qpos, data.qvel])
    draw = np.random.default_rng(3)
    states = np.tile(state, (BATCH, 1))
    states[:, model.nq:] += draw.normal(scale=0.05, size=(BATCH, model.nv))
    return states


def race(stacks):
    model = mujoco.MjModel.from_xml_string(scene(stacks))
    states, controls = start_states(model), np.zeros((BATCH, STEPS, 0))
    lanes = cy.from_mujoco(model, dtype="float32")
    x, u = states.astype("float32"), controls.astype("float32")
    held = {}

    def forward():
        held["run"] = cy.rollout(lanes, x, u, save="last", memory="all", threads=1)

    bar = np.ones((BATCH, 1, lanes.state_size), "float32")

    def backward():
        held["run"].pullback(bar, failed="skip")

    times = best(forward, backward, Peer(model).run(states[:FEW], controls[:FEW]), turns=3)
    ours, back, theirs = (t / n / STEPS * 1e6 for t, n in zip(times, (BATCH, BATCH, FEW)))
    return {"forward": ours, "backward": back, "mujoco": theirs, "forward x": theirs / ours,
            "forward+backward x": theirs / (ours + back)}


def main():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    out = {}
    for stacks in STACKS:
        print(f"bench: {stacks} stacks of {BOXES} boxes ...", file=sys.stderr, flush=True)
        out[f"{stacks} of {BOXES} boxes"] = own = race(stacks)
        one = out[f"1 of {BOXES} boxes"]
        for figure in ("forward", "backward"):
            own[f"{figure} / stacks"] = own[figure] / one[figure] / stacks
    json.dump(out, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
