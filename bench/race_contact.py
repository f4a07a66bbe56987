"""Robots in contact: ours against MuJoCo and MJX, one thread, the same states and controls.

    python bench/race_contact.py [PART OF A NAME ...]

prints one JSON object: {robot: {figure: number}}, times in microseconds per environment-step, taken
as in race_robots.py. States lie along MuJoCo's own run with random controls, all with contacts;
"contacts" is their mean number. "agreement" holds the float lanes that are timed to double. MJX
runs on the CPU; it can be differentiated with one iteration of its solver only.
"""

import time

import mujoco
import numpy as np
import race_robots
from race_robots import BATCH, STEPS, models, start_states

import contact_extremes  # of tests/python, which race_robots has put on the path
import cycloid as cy

ROBOTS = ("dm_control/humanoid", "gymnasium/ant", "dm_control/hopper", "dm_control/walker",
          "dm_control/cheetah", "dm_control/quadruped", "stack of 20 boxes")
AGAINST_MJX = ("dm_control/humanoid",)
RUN = 600  # steps of MuJoCo's run along which the states lie
COMPARED, GRADIENT_STEPS = 256, 20  # environments and steps of the comparison with double
MJX_BATCH, MJX_STEPS = 16, 5


def mujoco_model(name):
    if name == "stack of 20 boxes":
        model = mujoco.MjModel.from_xml_string(contact_extremes.tower([1.0] * 20))
    else:
        spec = mujoco.MjSpec.from_file(str(models.MODELS[name]))
        for geom in [g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_HFIELD]:
            spec.delete(geom)  # the terrain
        model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
    return model


class Contacts:
    """How many contacts MuJoCo finds in a state."""

    def __init__(self, model):
        self.model, self.data = model, mujoco.MjData(model)

    def __call__(self, state):
        self.data.qpos[:] = state[: self.model.nq]
        mujoco.mj_fwdPosition(self.model, self.data)
        return self.data.ncon


def agreement(model, states, controls):
    """Of the float lanes that are timed with double: error of a step's change of velocity (95th
    percentile), and share of environments whose gradient of 20 steps has a cosine of 0.999.
    """
    x, u = states.astype("float32"), controls.astype("float32")
    velocities = slice(model.nq, model.nq + model.nv)
    changes, gradients = [], []
    for dtype in ("float64", "float32"):
        system = cy.from_mujoco(model, dtype=dtype)
        after = cy.rollout(system, x, u[:, :1], save="last", threads=1).states[:, 0]
        changes.append((after.astype(float) - x)[:, velocities])
        run = cy.rollout(system, x, u[:, :GRADIENT_STEPS], save="last", memory="all", threads=1)
        g = run.pullback(np.ones(run.states.shape), wrt=("x0", "controls"), failed="skip")
        rows = [part.reshape(len(x), -1).astype(float) for part in (g.x0, g.controls)]
        gradients.append(np.concatenate(rows, axis=1))
    a, b = gradients
    cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    errors = models.relative_errors(changes[1], changes[0])
    return {"velocity change": float(np.quantile(errors, 0.95)),
            "gradient": float(np.mean(cosine >= 0.999))}


def mjx_loss(model):
    """The sum of the last state of a run in MJX: a function of qpos, qvel and controls (T, nu)."""
    import jax

    # MJX lies among the packages whose robots we read, in a folder `mujoco` of its own.
    mujoco.__path__.append(str(models.MODELS["mjx/constraints"].parents[2]))
    from mujoco import mjx

    # MJX refuses the flag, which only reports.
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    on_device = mjx.put_model(model)
    blank = mjx.make_data(on_device)

    def last(qpos, qvel, us):
        data = blank.replace(qpos=qpos, qvel=qvel)

        def step(d, u):
            return mjx.step(on_device, d.replace(ctrl=u)), None

        data, _ = jax.lax.scan(step, data, us)
        return data.qpos.sum() + data.qvel.sum()

    return last


def mjx_gradient(model, states, controls):
    """MJX's gradient of the sum of the last state by the first one and the controls: seconds to
    compile it, microseconds per environment-step, and the share of gradients that are finite.
    """
    import jax
    import jax.numpy as jnp

    model.opt.iterations = 1  # more are a loop, through which JAX has no reverse mode
    gradient = jax.jit(jax.vmap(jax.grad(mjx_loss(model), argnums=(0, 1, 2))))
    qpos, qvel, _ = np.split(states, [model.nq, model.nq + model.nv], axis=1)
    arguments = [jnp.array(part) for part in (qpos, qvel, controls)]
    start = time.perf_counter()
    compiled = gradient.lower(*arguments).compile()
    compile_s = time.perf_counter() - start
    out = jax.block_until_ready(compiled(*arguments))
    finite = np.isfinite(np.concatenate([np.reshape(part, (len(states), -1)) for part in out], 1))
    (seconds,) = race_robots.best(lambda: jax.block_until_ready(compiled(*arguments)), turns=3)
    return {"compile_s": compile_s, "gradient": seconds / controls[..., 0].size * 1e6,
            "finite": float(finite.all(axis=1).mean())}


def race(name):
    model = mujoco_model(name)
    contacts = Contacts(model)
    states, controls = start_states(model, name, BATCH, RUN, contacts)
    out = {"contacts": float(np.mean([contacts(state) for state in states[::8]]))}
    out |= race_robots.race(model, states, controls, constraints=True)
    some = slice(None, None, BATCH // COMPARED)
    out["agreement"] = agreement(model, states[some], controls[some])
    if name in AGAINST_MJX:
        some = slice(None, None, BATCH // MJX_BATCH)
        out["MJX"] = mjx_gradient(model, states[some], controls[some, :MJX_STEPS])
        out["MJX's gradient x"] = out["MJX"]["gradient"] / (out["forward"] + out["backward"])
    return out


if __name__ == "__main__":
    race_robots.main(ROBOTS, race)
