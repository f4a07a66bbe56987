"""A quadrotor through waypoints, with rotors that only push: iLQR on a free body, whose attitude is
a quaternion, and a Smooth term for the rotors' sake.

    python plan_quadrotor.py
"""

import numpy as np

import cycloid as cy

quad = cy.Builder("quadrotor", timestep=0.02)
body = quad.body("quad", pos=(0, 0, 1))
body.joint(type="free")
body.geom(type="box", size=(0.1, 0.1, 0.03), mass=0.5)
for i, (x, y) in enumerate(((0.15, 0), (0, 0.15), (-0.15, 0), (0, -0.15))):
    body.site(name=f"rotor{i}", pos=(x, y, 0))
    quad.actuator(
        site=f"rotor{i}", gear=(0, 0, 1, 0, 0, 0.02 * (-1) ** i),
        ctrlrange=(0, 4), ctrllimited=True,
    )  # fmt: skip
robot = quad.build()

points = np.array([[1, 0, 1.5], [2, 1, 0.7], [2, 2, 1.0]])
steps = [50, 100, 150]
at_rest = robot.initial_state()
at_rest[:3] = points[-1]
cost = (
    cy.cost.Reach("xpos:quad", points, 100, when=steps)
    + cy.cost.Reach("state", at_rest, 100)
    + cy.cost.Effort(1e-2)
    + cy.cost.Smooth(1e-2)
)
hover = np.full((150, 4), 0.5 * 9.81 / 4)
plan = cy.plan(robot, robot.initial_state(), cost, 150, start=hover)
print(plan)
misses = np.linalg.norm(plan.states[steps, :3] - points, axis=1)
print("misses [m]", misses.round(4), "thrust", plan.controls.min(), "to", plan.controls.max(), "N")

gust = plan.x0.copy()
gust[7:10] += [0.3, -0.2, 0.1]  # [m/s]
states, _ = plan.run(gust)
off = np.linalg.norm(states[-1, :3] - points[-1])
print("after a gust at the start, with feedback, off by %.3f m" % off)
assert misses.max() < 0.05 and plan.controls.min() >= 0 and off < 0.1
