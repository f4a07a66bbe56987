"""MJX on the CPU for the curves of race_curves.py, in a process of its own.

    python bench/race_mjx.py THREADS [--full]

prints one JSON object: {curve: [{"x", "MJX, forward": {"median", "low", "high"}, ...}]}, in
microseconds per environment-step, without compiling. Compiling takes half a minute to two minutes
for every shape, so there are few points. The gradient is that of one iteration of MJX's solver: of
more JAX has no reverse mode (race_contact.py).
"""

import argparse
import json
import os
import sys
import time

STEPS, TURNS = 5, 3
LARGE = 1000  # environments from which one turn is enough


def spread(seconds, count):
    each = sorted(1e6 * s / count for s in seconds)
    return {"median": each[len(each) // 2], "low": each[0], "high": each[-1]}


class Mjx:
    """A model on the device, with its forward run and its gradient over STEPS steps."""

    def __init__(self, model, iterations=None):
        import jax
        from race_contact import mjx_loss

        if iterations:
            model.opt.iterations = iterations
        self.model, self.jax = model, jax
        last = mjx_loss(model)
        self.functions = {"MJX, forward": jax.vmap(last),
                          "MJX, forward and gradient": jax.vmap(jax.grad(last, argnums=(0, 1, 2)))}

    def time(self, name, states, controls, batch, steps=STEPS):
        """Microseconds per environment-step."""
        import numpy as np

        rows = np.arange(batch) % len(states)
        qpos, qvel, _ = np.split(states[rows], [self.model.nq, self.model.nq + self.model.nv], 1)
        us = np.resize(controls[rows], (batch, steps, self.model.nu))
        arguments = [self.jax.numpy.asarray(part, "float32") for part in (qpos, qvel, us)]
        compiled = self.jax.jit(self.functions[name]).lower(*arguments).compile()
        seconds = []
        for turn in range(1 if batch >= LARGE else TURNS + 1):
            begin = time.perf_counter()
            self.jax.block_until_ready(compiled(*arguments))
            if turn or batch >= LARGE:
                seconds.append(time.perf_counter() - begin)
        return spread(seconds, batch * steps)


def say(text):
    print(f"bench: MJX, {text} ...", file=sys.stderr, flush=True)


def by_batch(humanoid, full):
    from race_contact import mujoco_model

    rows = []
    gradient = Mjx(mujoco_model(humanoid.name), iterations=1)
    for batch in (1, 64, 1024) + ((16384,) if full else ()):
        say(f"batch {batch}")
        row = {"x": batch, "MJX, forward": humanoid.run("MJX, forward", batch)}
        if batch <= 1024:
            name = "MJX, forward and gradient"
            row[name] = gradient.time(name, humanoid.states, humanoid.controls, batch)
        rows.append(row)
    return rows


class Robot:
    """A robot of the curves, with the states that ours begins at too."""

    def __init__(self, name, model, states, controls):
        self.name, self.mjx, self.states, self.controls = name, Mjx(model), states, controls

    def run(self, function, batch, steps=STEPS):
        return self.mjx.time(function, self.states, self.controls, batch, steps)


def robot(name):
    from race_contact import mujoco_model
    from race_robots import start_states

    model = mujoco_model(name)
    return Robot(name, model, *start_states(model, name, 64))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("threads", type=int)
    parser.add_argument("--full", action="store_true", help="further curves, and larger batches")
    options = parser.parse_args()
    # Before JAX makes its threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
    from race_curves import BY_DOFS, HUMANOID, towers

    humanoid = robot(HUMANOID)
    if options.threads > 1:
        print(json.dumps({"batch, two threads": by_batch(humanoid, options.full)}))
        return
    out = {"batch": by_batch(humanoid, options.full), "dofs": [], "contacts": [], "horizon": []}
    for name in BY_DOFS:
        say(name)
        try:
            one = humanoid if name == HUMANOID else robot(name)
        except NotImplementedError as refused:
            say(f"{name} is refused: {refused}")
            continue
        out["dofs"].append({"x": one.mjx.model.nv, "MJX, forward": one.run("MJX, forward", 256)})
    for steps in (10, 100) if options.full else ():
        say(f"{steps} steps")
        row = {"x": steps, "MJX, forward": humanoid.run("MJX, forward", 64, steps)}
        out["horizon"].append(row)
    for contacts, model, states, controls in towers(False) if options.full else ():
        say(f"{contacts} contacts")
        one = Robot("tower", model, states, controls)
        out["contacts"].append({"x": contacts, "MJX, forward": one.run("MJX, forward", 64)})
    print(json.dumps(out))


if __name__ == "__main__":
    main()
