"""Swing-ups from rest: a cart-pole, an acrobot and a double pendulum on a cart, each planned by
iLQR within the limits of its motor, then run with feedback from a start that is off by a little.

    python plan_swing_ups.py
"""

import numpy as np

import cycloid as cy


def chain(name, base, links, motor, limit):
    """Hinged links of 1 kg/m that hang from the world, or from a cart of 1 kg."""
    robot = cy.Builder(name, timestep=0.02, integrator="RK4")
    body = robot.body("base")
    if base == "cart":
        body.joint(name="cart", type="slide", axis=(1, 0, 0), damping=0.05)
        body.geom(type="box", size=(0.2, 0.1, 0.1), mass=1)
    place = 0
    for i, length in enumerate(links):
        body = robot.body(f"link{i}", parent=body, pos=(0, 0, -place))
        body.joint(name=f"hinge{i}", axis=(0, 1, 0), damping=0.01)
        body.geom(type="capsule", fromto=(0, 0, 0, 0, 0, -length), size=(0.03,), mass=length)
        place = length
    robot.actuator(joint=motor, ctrlrange=(-limit, limit), ctrllimited=True)
    return robot.build()


tasks = {
    "cart-pole": (chain("cart-pole", "cart", [0.5], "cart", 10), 150, [0, np.pi]),
    "acrobot": (chain("acrobot", None, [1.0, 1.0], "hinge1", 20), 150, [np.pi, 0]),
    "double pendulum": (chain("double", "cart", [0.4, 0.4], "cart", 30), 200, [0, np.pi, 0]),
}
missed = {}
for name, (robot, steps, upright) in tasks.items():
    rest = np.zeros(robot.nv)
    cost = cy.cost.Reach("state", np.r_[upright, rest], weight=1000) + cy.cost.Effort(1e-3)
    plan = cy.plan(robot, robot.initial_state(), cost, steps)
    start = robot.initial_state() + 0.01
    states, controls = plan.run(start)
    free = cy.rollout(robot, start, plan.controls).states
    ends = [np.abs(x[-1, : robot.nq] - upright).max() for x in (plan.states, states, free)]
    missed[name] = ends
    print(f"{name}: {plan}")
    print("  off at the end [m, rad]: plan %.3f, with feedback %.3f, without %.3f" % tuple(ends))
assert all(plan < 0.05 and fed < 0.3 for plan, fed, _ in missed.values())
