"""MJX on the CPU for the curves of race_curves.py, in a process of its own.

    python bench/race_mjx.py THREADS [--full]

prints one JSON object for each point, on a line of its own: first {"begins": what}, and when it is
measured {"curve", "x", series: {"median", "low", "high"}, "compile_s"}, in microseconds per
environment-step, without compiling. Compiling takes seconds for a cart-pole and minutes for a
humanoid, for every shape: gradients come last, and whoever reads the points may end the process
when its time is over. The gradient is that of one iteration of MJX's solver: of more
JAX has no reverse mode (race_contact.py).
"""

import argparse
import json
import os
import time

STEPS, TURNS = 5, 3
FORWARD, GRADIENT = "MJX, forward", "MJX, forward and gradient"
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
        gradient = jax.grad(last, argnums=(0, 1, 2))
        self.functions = {FORWARD: jax.vmap(last), GRADIENT: jax.vmap(gradient)}

    def time(self, name, states, controls, batch, steps=STEPS):
        """A point: microseconds per environment-step, and seconds to compile it."""
        import numpy as np

        rows = np.arange(batch) % len(states)
        qpos, qvel, _ = np.split(states[rows], [self.model.nq, self.model.nq + self.model.nv], 1)
        us = np.resize(controls[rows], (batch, steps, self.model.nu))
        arguments = [self.jax.numpy.asarray(part, "float32") for part in (qpos, qvel, us)]
        begin = time.perf_counter()
        compiled = self.jax.jit(self.functions[name]).lower(*arguments).compile()
        compile_s = time.perf_counter() - begin
        seconds = []
        for turn in range(1 if batch >= LARGE else TURNS + 1):
            begin = time.perf_counter()
            self.jax.block_until_ready(compiled(*arguments))
            if turn or batch >= LARGE:
                seconds.append(time.perf_counter() - begin)
        return {name: spread(seconds, batch * steps), "compile_s": compile_s}


def tell(**point):
    print(json.dumps(point), flush=True)


class Robot:
    """A robot of the curves, with the states that ours begins at too."""

    def __init__(self, name, model, states, controls, iterations=None):
        self.name, self.states, self.controls = name, states, controls
        self.mjx = Mjx(model, iterations)

    def run(self, function, batch, steps=STEPS):
        return self.mjx.time(function, self.states, self.controls, batch, steps)


def race(curve, x, one, function, batch, steps=STEPS):
    tell(begins=f"{function.removeprefix('MJX, ')} of {one.name}, batch {batch}, {steps} steps")
    tell(curve=curve, x=x, **one.run(function, batch, steps))


def robot(name, iterations=None):
    from race_contact import mujoco_model
    from race_robots import start_states

    model = mujoco_model(name)
    return Robot(name, model, *start_states(model, name, 64), iterations)


def by_batch(curve, humanoid, function, full):
    most = 16384 if full and function == FORWARD else 1024
    for batch in (1, 64, 1024, 16384):
        if batch <= most:
            race(curve, batch, humanoid, function, batch)


def by_dofs(names, function, iterations=None):
    for name in names:
        try:
            one = robot(name, iterations)
        except NotImplementedError as refused:
            tell(refused=f"{name} ({refused})")
            continue
        race("dofs", one.mjx.model.nv, one, function, 256)


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
        by_batch("batch, two threads", humanoid, FORWARD, options.full)
        return
    by_dofs(BY_DOFS, FORWARD)
    by_batch("batch", humanoid, FORWARD, options.full)
    for steps in (10, 100) if options.full else ():
        race("horizon", steps, humanoid, FORWARD, 64, steps)
    for contacts, model, states, controls in towers(False) if options.full else ():
        race("contacts", contacts, Robot("tower", model, states, controls), FORWARD, 64)
    by_dofs(BY_DOFS, GRADIENT, iterations=1)
    by_batch("batch", robot(HUMANOID, iterations=1), GRADIENT, options.full)


if __name__ == "__main__":
    main()
