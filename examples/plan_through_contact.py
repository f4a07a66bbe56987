"""Plans through contact: a block is pushed to a pose on a table by a finger, and a hopper of three
joints gets ahead. Nothing is said about when anything touches.

    python plan_through_contact.py
"""

import numpy as np

import cycloid as cy

PUSH = """<mujoco> <option timestep="0.01"/> <worldbody>
  <geom type="plane" size="3 3 1" friction="0.5 0.005 0.0001"/>
  <body name="block" pos="0.3 0.05 0.05"> <joint type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 1 0"/> <joint type="hinge" axis="0 0 1"/>
    <joint type="slide" axis="0 0 1"/> <geom type="box" size="0.1 0.1 0.05" mass="0.3"/> </body>
  <body name="finger" pos="0 0 0.05"> <joint name="fx" type="slide" axis="1 0 0" damping="5"/>
    <joint name="fy" type="slide" axis="0 1 0" damping="5"/> <geom size="0.04" mass="0.3"/>
  </body> </worldbody>
  <actuator> <motor joint="fx" ctrlrange="-20 20" ctrllimited="true"/>
    <motor joint="fy" ctrlrange="-20 20" ctrllimited="true"/> </actuator> </mujoco>"""
HOP = """<mujoco> <option timestep="0.01"/> <worldbody> <geom type="plane" size="20 20 1"/>
  <body name="torso" pos="0 0 1.08"> <joint name="x" type="slide" axis="1 0 0"/>
    <joint name="z" type="slide" axis="0 0 1"/> <joint name="pitch" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 -.1 0 0 .3" size=".06" mass="4"/>
    <body pos="0 0 -.1"> <joint name="hip" axis="0 1 0" damping=".5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05" mass="2"/>
      <body pos="0 0 -.4"> <joint name="knee" axis="0 1 0" damping=".5"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="1.5"/>
        <body pos="0 0 -.4"> <joint name="ankle" axis="0 1 0" damping=".5"/>
          <geom type="capsule" fromto="-.1 0 -.1 .2 0 -.1" size=".05" mass="1"/> </body> </body>
    </body> </body> </worldbody>
  <actuator> <motor joint="hip" gear="100" ctrlrange="-1 1" ctrllimited="true"/>
    <motor joint="knee" gear="100" ctrlrange="-1 1" ctrllimited="true"/>
    <motor joint="ankle" gear="60" ctrlrange="-1 1" ctrllimited="true"/> </actuator> </mujoco>"""

near = cy.FromDistance(0.1)  # the finger feels the block before it touches
table = cy.load(PUSH, gradient=near)
pose = np.array([0.25, 0.1, 0.3])  # forward, aside [m] and turned [rad]
cost = sum(cy.cost.Reach(f"qpos[{i}]", pose[i], 1e3) for i in range(3)) + cy.cost.Effort(1e-4)
cost = cost + cy.cost.Reach("qvel", np.zeros(6), 1.0)
push = cy.plan(table, table.initial_state(), cost, 150, start=np.full((150, 2), (2.0, 0.0)))
print("push:", push, "block at", push.states[-1, :3].round(3), "wanted", pose)

hopper = cy.load(HOP)
cost = cy.cost.Reach("qpos[0]", 1.0, 50) + cy.cost.Reach("qpos[2]", 0.0, 0.5, "all")
cost = cost + cy.cost.Reach("qpos[1]", 0.0, 0.5, "all") + cy.cost.Effort(1e-3)
draw = np.random.default_rng(1).normal(scale=0.2, size=(120, 3)).clip(-1, 1)
hop = cy.plan(hopper, hopper.initial_state(), cost, 120, start=draw)
print("hop:", hop, "ahead by %.2f m, pitch %.2f rad" % tuple(hop.states[-1, [0, 2]]))
assert np.abs(push.states[-1, :3] - pose).max() < 0.1 and hop.states[-1, 0] > 0.5
