"""Gymnasium's environments: ours against mujoco.batch and Gymnasium's AsyncVectorEnv.

    python bench/race_gym.py [PART OF A NAME ...]

prints one JSON object: {environment: {figure: number}}, times in microseconds per environment-step
(of 4 or 5 time steps), on one thread and on all. Ours is a whole step of the VectorEnv: physics,
observations, rewards, infos, resets. mujoco.batch takes the same time steps in one call, binds the
fields that the same observations need, puts them together, and begins anew what has ended; it has
no rewards and no infos. Both run on, with random actions; each time is the best of turns that they
take one after another.
"""

import os
import warnings

import gymnasium
import mujoco
import numpy as np
import race_robots
from mujoco import batch

import cycloid.gym

NAMES = ("Ant", "Humanoid", "Hopper", "HalfCheetah", "Walker2d")
BATCH, ASYNC = 1024, 16  # environments; a process each of the latter
WARM_UP, STEPS, TURNS = 60, 4, 7


class Bound:
    """mujoco.batch as the functions of a task see environments."""

    def __init__(self, simulations, names, state_size):
        self.states = simulations.state[:, 1 : 1 + state_size]  # after the time
        self.fresh = np.zeros(len(self.states), bool)
        self.fields = {}
        for name in names:
            field, _, element = name.partition(":#")
            whole = simulations.bind(field)
            self.fields[name] = whole[:, int(element)] if element else whole

    def __getitem__(self, name):
        return self.fields[name]

    def __len__(self):
        return len(self.states)


class Peer:
    """The same task on mujoco.batch."""

    def __init__(self, env, threads):
        self.task, self.draw = env.task, np.random.default_rng(0)
        spec = mujoco.MjSpec.from_file(str(cycloid.gym._model_path(env.task.xml_file)))
        if "cfrc_ext" in env.task.sensors:  # is computed where a sensor of forces wants it
            spec.bodies[1].add_site(name="inside")
            spec.add_sensor(name="felt", type=mujoco.mjtSensor.mjSENS_FORCE,
                            objtype=mujoco.mjtObj.mjOBJ_SITE, objname="inside")
        self.batch = batch.Batch(spec.compile(), BATCH, threads)
        self.ctrl, self.qpos, self.qvel, self.warm = map(
            self.batch.bind, ("ctrl", "qpos", "qvel", "qacc_warmstart"))
        names = ("qpos", "qvel", *env.task.sensors)
        self.at = Bound(self.batch, names, env.system.state_size)
        self.begin(np.arange(BATCH))

    def begin(self, rows):
        for row in rows:
            start = self.task.start(self.draw)
            self.qpos[row], self.qvel[row] = np.split(start, [self.qpos.shape[1]])
        self.warm[rows] = 0

    def step(self, actions):
        self.ctrl[:] = actions
        self.batch.step(nstep=self.task.frame_skip)
        observations = self.task.observation(self.at)
        self.begin(np.flatnonzero(self.task.terminated(self.at)))
        return observations


def stepper(step, low, high, count):
    """A function that takes STEPS steps with random actions."""
    draw = np.random.default_rng(1)
    actions = draw.uniform(low, high, size=(WARM_UP, count, len(low))).astype(np.float32)
    at = [0]

    def some(steps=STEPS):
        for _ in range(steps):
            at[0] = (at[0] + 1) % len(actions)
            step(actions[at[0]])

    some(WARM_UP)
    return some


def race(name):
    out, cores = {}, len(os.sched_getaffinity(0))
    theirs = gymnasium.make_vec(f"{name}-v5", ASYNC, vectorization_mode="async")
    space = theirs.single_action_space
    theirs.reset(seed=0)
    asynchronous = stepper(theirs.step, space.low, space.high, ASYNC)
    for threads, where in dict.fromkeys([(1, "one thread"), (cores, "all threads")]):
        runs = {}
        for dtype in ("float32", "float64"):
            env = cycloid.gym.make(name, BATCH, dtype=dtype, threads=threads)
            env.reset(seed=0)
            runs[dtype] = stepper(env.step, space.low, space.high, BATCH)
        runs["mujoco.batch"] = stepper(Peer(env, threads).step, space.low, space.high, BATCH)
        counts = [BATCH * STEPS] * len(runs)
        if where == "all threads":
            runs["AsyncVectorEnv"] = asynchronous
            counts.append(ASYNC * STEPS)
        seconds = race_robots.best(*runs.values(), turns=TURNS)
        times = {kind: s / n * 1e6 for kind, s, n in zip(runs, seconds, counts)}
        figures = out[where] = times | {"threads": threads}
        for dtype in ("float32", "float64"):
            for peer in [kind for kind in times if kind not in ("float32", "float64")]:
                figures[f"{dtype}: {peer} x"] = times[peer] / times[dtype]
    theirs.close()
    return out


if __name__ == "__main__":
    mujoco.set_mju_user_warning(lambda text: None)  # of the models, which are as they are
    warnings.simplefilter("ignore")
    race_robots.main(NAMES, race, pinned=False)
