"""One command for many arms. An arm is built without XML, its load, links and joints are drawn at
random for 64 environments, and the servos' set points are found that bring the tips nearest to the
target in the mean, by the derivative of each tip of each arm (Gauss and Newton's method).
"""

import numpy as np

import cycloid as cy

BATCH, STEPS, TARGET = 64, 150, np.array([0.5, 1.2])  # x and z of the tip [m]

b = cy.Builder("arm", timestep=0.01, integrator="implicitfast")
upper = b.body("upper", pos=(0, 0, 1)).joint("shoulder", axis=(0, 1, 0), damping=8)
upper.geom(type="capsule", fromto=(0, 0, 0, 0.4, 0, 0), size=0.03, mass=1)
fore = b.body("fore", parent=upper, pos=(0.4, 0, 0)).joint("elbow", axis=(0, 1, 0), damping=4)
fore.geom(type="capsule", fromto=(0, 0, 0, 0.3, 0, 0), size=0.02, mass=0.6)
fore.body("load", pos=(0.3, 0, 0)).geom(size=0.04, mass=0.5).site("tip")
for joint, kp in (("shoulder", 60), ("elbow", 30)):
    b.actuator(f"{joint}_servo", type="position", joint=joint, kp=kp)
spreads = {
    "body:load.mass": cy.LogNormal(0.5),
    "body:upper.mass": cy.LogNormal(0.1),
    "body:fore.inertia": cy.LogNormal(0.2),
    "joint:shoulder.damping": cy.Uniform(6, 10),
}
system = b.build(vary=tuple(spreads))
params = cy.randomise(system, spreads, BATCH, seed=0)


def reach(command, params):
    """Where the tips are after a held command [rad], and a run to go back through."""
    controls = np.broadcast_to(command, (BATCH, STEPS, 2))
    run = cy.rollout(system, system.initial_state(), controls, params, save="last")
    return run, cy.observe(system, run.states[:, 0], names="site_xpos:tip", params=params)


def slopes(run, seen, axis):
    """Of one coordinate of each tip, by the command and the parameters of its own arm."""
    bar = np.zeros_like(seen.values)
    bar[:, axis] = 1
    g = run.pullback(seen.pullback(bar).x[:, None], wrt=("controls", "params"))
    return g.controls.sum(axis=1), g.params


command, errors = np.array([-0.3, 0.2]), []
for _ in range(8):
    run, seen = reach(command, params)
    miss = (seen.values[:, [0, 2]] - TARGET).T.ravel()  # [m]
    errors.append(np.sqrt(np.mean(miss**2)))
    J = np.concatenate([slopes(run, seen, axis)[0] for axis in (0, 2)])
    command = command - np.linalg.lstsq(J, miss, rcond=None)[0]
print(f"{b}\nmiss {errors[0]:.4f} m at first, {errors[-1]:.4f} m at last; command {command} rad")
run, seen = reach(command, params)
g, h = slopes(run, seen, 2)[1]["body:load.mass"], 1e-5  # of heights [m/kg], [kg]
loads = [params | {"body:load.mass": params["body:load.mass"] + d} for d in (h, -h)]
above, below = (reach(command, p)[1].values[:, 2] for p in loads)
difference = (above - below) / (2 * h)
assert errors[-1] < 0.2 * errors[0], "the tips are not nearer to the target"
assert np.abs(g - difference).max() < 1e-5 * np.abs(difference).max(), "a gradient is wrong"
