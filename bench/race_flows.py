"""Flows in the plane: ours against jax-cfd and PhiFlow, on one core in float32.

    python bench/race_flows.py

prints one JSON object; both sides take turns, and the best of each counts. Compile times are apart.

"jax-cfd 128": the vortices of race_fluid.py over one second, 100 steps. jax-cfd's staggered grid is
of second order, so the fastest setting of ours that is as near to the flow itself (a fine spectral
run in double precision) counts: "forward", "gradient"; "same_grid": both on its grid with its step.
"PhiFlow 128": the same flow, semi-Lagrangian, five steps at a time as it is compiled; ours takes as
many steps on the same grid, spectral. "PhiFlow channel": a cylinder between walls, ours with three
stages and exact pressure on the same grid with the same step.
"""

import json
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import jax_cfd.base as cfd
import numpy as np
from phi.jax import flow as phi

import cycloid as cy
from turns import best_of

TAU, DT, STEPS, VISCOSITY = 2 * np.pi, 0.01, 100, 0.01
# Settings of ours, from the cheapest: nodes along an axis, steps.
SETTINGS = ((16, 20), (24, 20), (24, 25), (32, 25), (32, 50), (48, 50), (64, 50), (64, 100))
PHI_STEPS, CHANNEL = 5, (88, 16)


def start(x, y):
    return (0.6 * np.sin(x) * np.cos(y) + 0.1 * np.sin(3 * y),
            -0.6 * np.cos(x) * np.sin(y) + 0.1 * np.cos(2 * x))


def spectral(n, steps, dtype="float32", order=2, seconds=DT * STEPS):
    return cy.fluid.spectral("navier_stokes", shape=(n, n), size=TAU, dt=seconds / steps,
                             viscosity=VISCOSITY, order=order, dtype=dtype)


def ours(flow, x0, steps):
    """A run, and loss and gradient."""
    def run(**options):
        return cy.rollout(flow, x0, steps, save="last", threads=1, **options)

    def back():
        trajectory = run(memory="all")
        return trajectory.pullback(trajectory.states, wrt="x0")

    return run, back


def timed(call):
    began = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - began


def jax_cfd_race(n, rounds):
    grid = cfd.grids.Grid((n, n), domain=((0, TAU), (0, TAU)))
    around = cfd.boundaries.periodic_boundary_conditions(2)
    places = [np.stack(np.meshgrid(*[(np.arange(n) + o) * TAU / n for o in offset], indexing="ij"),
                       -1) for offset in grid.cell_faces]
    v0 = tuple(cfd.grids.GridVariable(cfd.grids.GridArray(
        jnp.asarray(start(*np.moveaxis(place, -1, 0))[a], jnp.float32), offset, grid), around)
        for a, (place, offset) in enumerate(zip(places, grid.cell_faces, strict=True)))
    # Twice the cells, half the step: peers.md.
    parts = 1 if n <= 128 else 2
    step = cfd.equations.semi_implicit_navier_stokes(
        density=1.0, viscosity=VISCOSITY, dt=DT / parts, grid=grid)
    advance = cfd.funcutils.repeated(step, STEPS * parts)
    forward = jax.jit(advance)
    gradient = jax.jit(jax.value_and_grad(
        lambda v: 0.5 * sum(jnp.sum(c.data**2) for c in advance(v))))
    compile_s = timed(lambda: forward(v0)), timed(lambda: gradient(v0))

    fine = spectral(128, 400, "float64", 4)
    truth = cy.rollout(fine, fine.state(velocity=start), 400, save="last").states[-1]
    some = [place[::8, ::8].reshape(-1, 2) for place in places]
    exact = [fine.velocity(truth, where)[:, a] for a, where in enumerate(some)]

    def error(components):
        gaps = [c - e for c, e in zip(components, exact, strict=True)]
        return float(np.sqrt(np.mean(np.concatenate(gaps) ** 2)))

    theirs = error([np.asarray(c.data, float)[::8, ::8].ravel() for c in forward(v0)])
    for nodes, steps in SETTINGS:
        flow = spectral(nodes, steps)
        x0 = flow.state(velocity=start)
        try:
            x = cy.rollout(flow, x0, steps, save="last").states[-1].astype(float)
        except cy.Error:  # beyond its CFL
            continue
        mine = error([flow.velocity(x, where)[:, a] for a, where in enumerate(some)])
        if mine <= theirs:
            break
    run, back = ours(flow, x0, steps)
    same = spectral(n, STEPS)
    run_same, back_same = ours(same, same.state(velocity=start), STEPS)
    t = best_of((run, lambda: jax.block_until_ready(forward(v0)), back,
                 lambda: jax.block_until_ready(gradient(v0)), run_same, back_same), rounds)
    return {"error": mine, "jax_cfd_error": theirs, "nodes": nodes, "steps": steps,
            "forward_s": t[0], "jax_cfd_forward_s": t[1], "forward": t[1] / t[0],
            "gradient_s": t[2], "jax_cfd_gradient_s": t[3], "gradient": t[3] / t[2],
            "same_grid_forward": t[1] / t[4], "same_grid_gradient": t[3] / t[5],
            "jax_cfd_compile_s": compile_s}


def race_phi(run, v0, flow, x0, rounds):
    """run: five steps of PhiFlow."""
    gradient = phi.jit_compile(phi.math.gradient(
        lambda v: phi.math.l2_loss(run(v)), get_output=False))
    calls = [phi.jit_compile(run), lambda v: gradient(v)[0]]

    def to_the_end(call):  # as NumPy: what is computed later would not count
        return call(v0).at_centers().values.numpy("x,y,vector")

    compile_s = [timed(lambda call=call: to_the_end(call)) for call in calls]
    mine, back = ours(flow, x0, PHI_STEPS)
    t = best_of((mine, lambda: to_the_end(calls[0]), back, lambda: to_the_end(calls[1])), rounds)
    return {"forward_s": t[0], "phiflow_forward_s": t[1], "forward": t[1] / t[0],
            "gradient_s": t[2], "phiflow_gradient_s": t[3], "gradient": t[3] / t[2],
            "phiflow_compile_s": compile_s}


def repeated(step):
    def run(v):
        for _ in range(PHI_STEPS):
            v = step(v)
        return v
    return run


def phi_ring(n, rounds):
    def velocity(x):
        u, v = x.vector["x"], x.vector["y"]
        math = phi.math
        return math.stack([0.6 * math.sin(u) * math.cos(v) + 0.1 * math.sin(3 * v),
                           -0.6 * math.cos(u) * math.sin(v) + 0.1 * math.cos(2 * u)],
                          phi.channel(vector="x,y"))

    def step(v):
        v = phi.advect.semi_lagrangian(v, v, DT)
        v = phi.diffuse.explicit(v, VISCOSITY, DT)
        return phi.fluid.make_incompressible(v, (), phi.Solve("CG", 1e-5, 1e-5))[0]

    v0 = phi.StaggeredGrid(velocity, phi.extrapolation.PERIODIC,
                           bounds=phi.Box(x=TAU, y=TAU), x=n, y=n)
    flow = spectral(n, PHI_STEPS, seconds=PHI_STEPS * DT)
    return race_phi(repeated(step), v0, flow, flow.state(velocity=start), rounds)


def phi_channel(rounds):
    obstacle = phi.Obstacle(phi.Sphere(x=0.2, y=0.2, radius=0.05))

    def step(v):
        v = phi.advect.semi_lagrangian(v, v, DT)
        v = phi.diffuse.explicit(v, 1e-3, DT)
        return phi.fluid.make_incompressible(v, obstacle, phi.Solve("CG", 1e-5, 1e-5))[0]

    v0 = phi.StaggeredGrid(
        (0.2, 0), {"x-": phi.vec(x=0.2, y=0), "x+": phi.ZERO_GRADIENT, "y": 0},
        bounds=phi.Box(x=2.2, y=0.41), x=CHANNEL[0], y=CHANNEL[1])
    flow = cy.fluid.grid(
        CHANNEL, (2.2, 0.41), viscosity=1e-3, dt=DT, dtype="float32",
        boundary={"left": ("inflow", (0.2, 0.0)), "right": "outflow", "bottom": "wall",
                  "top": "wall"},
        obstacles=[cy.fluid.Circle((0.2, 0.2), 0.05)])
    return race_phi(repeated(step), v0, flow, flow.state(velocity=(0.2, 0.0)), rounds)


if __name__ == "__main__":
    print(json.dumps({"jax-cfd 128": jax_cfd_race(128, 5), "jax-cfd 256": jax_cfd_race(256, 3),
                      "PhiFlow 128": phi_ring(128, 3), "PhiFlow channel": phi_channel(3)},
                     indent=1))
