"""A policy trained through the physics: a small network learns to balance a pole on a cart.

The cost of one second is differentiated by the network's weights, back through network and robot in
turn; the next second begins where the last one ended. No reward is estimated. Needs torch.
"""

import torch

import cycloid as cy
import cycloid.torch as cyt

MODEL = """
<mujoco model="cart and pole"> <option timestep="0.02" integrator="implicitfast"/>
  <worldbody> <body>
    <joint name="slide" type="slide" axis="1 0 0" range="-2 2" limited="true" damping="0.1"/>
    <geom type="box" size="0.1 0.05 0.05" mass="1"/>
    <body> <joint name="hinge" axis="0 1 0" damping="0.005"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.02" mass="0.1"/> </body>
  </body> </worldbody>
  <actuator> <motor joint="slide" gear="10" ctrlrange="-1 1" ctrllimited="true"/> </actuator>
</mujoco>"""
HELD, WINDOW, BATCH, ITERATIONS = 2, 24, 64, 100  # steps per decision, decisions, carts


def run(x, decisions):
    """From x (..., 4) [m, rad, m/s, rad/s]: the mean cost, and the last states."""
    total = torch.zeros(())
    for _ in range(decisions):
        controls = policy(x).unsqueeze(1).expand(-1, HELD, -1)
        x = cyt.rollout(system, x, controls, save="last", threads=1)[:, 0]
        cost = 0.3 * x[:, 0] ** 2 + x[:, 1] ** 2 + 0.03 * (x[:, 2] ** 2 + x[:, 3] ** 2)
        total = total + cost.mean() / decisions
    return total, x


def balanced():
    """The share of carts whose pole is upright after four seconds."""
    with torch.no_grad():
        return (run(test, 100)[1][:, 1].abs() < 0.2).float().mean().item()


torch.manual_seed(0)
spread = torch.tensor([0.5, 0.15, 0.5, 0.5])
system = cy.load(MODEL, dtype="float32")
layers = torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1), torch.nn.Tanh()
policy = torch.nn.Sequential(*layers)
optimiser = torch.optim.Adam(policy.parameters(), lr=0.02)
test, x = spread * torch.randn(256, 4), spread * torch.randn(BATCH, 4)
before = balanced()
for i in range(ITERATIONS):
    optimiser.zero_grad()
    cost, x = run(x.detach(), WINDOW)
    cost.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimiser.step()
    anew = (x[:, 1].abs() > 0.5) | (x[:, 0].abs() > 1.8) | (torch.rand(BATCH) < 0.2)
    x = torch.where(anew[:, None], spread * torch.randn(BATCH, 4), x)
print(f"balanced after four seconds: {before:.0%} before training, {balanced():.0%} after")
assert before < 0.5 and balanced() > 0.9, "the policy did not learn"
