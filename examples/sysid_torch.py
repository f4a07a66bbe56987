"""Identification through contact: a finger pushes a sliding box, and from noisy measurements
torch.optim finds the box's mass, the friction and the damping of the joints. Needs torch."""

import torch

import cycloid as cy
import cycloid.torch as cyt

# With solimp from 0 on, a force begins at nothing when two geoms touch: the loss has no jumps.
MODEL = """
<mujoco model="finger and box"> <option timestep="0.004" cone="elliptic"/>
  <default> <geom solimp="0 0.95 0.003" solref="0.01 1"/> </default>
  <worldbody>
    <geom name="table" type="plane" size="2 2 1"/>
    <body pos="-0.1 0 0.05"> <joint name="base" axis="0 0 1"/> <geom size="0.02" mass="0.2"/>
      <body pos="0.2 0 0"> <joint name="tip" axis="0 0 1"/>
        <geom type="capsule" fromto="0.05 0 0 0.2 0 0" size="0.02" mass="0.1"/> </body>
    </body>
    <body name="box" pos="0.2 0.08 0.05"> <freejoint/>
      <geom name="box" type="box" size="0.05 0.05 0.05" mass="0.3"/> </body>
  </worldbody>
  <actuator> <motor joint="base"/> <motor joint="tip" gear="0.4"/> </actuator> </mujoco>"""
STEPS, RUNS, NOISE = 60, 16, 1e-3  # steps of 4 ms; [rad] and [m]


def measured(system, values, x0, controls):
    """Angles of both joints and place of the box (..., 5), at every fifth step."""
    mass, friction, damping = values
    slide = torch.cat([friction.reshape(1), torch.tensor([0.005, 0.0001])])
    params = {"body:box.mass": mass, "geom:box.friction": slide, "geom:table.friction": slide}
    params |= {f"joint:{name}.damping": damping.reshape(1) for name in ("base", "tip")}
    return cyt.rollout(system, x0, controls, params, save=5)[..., :5]


random = torch.Generator().manual_seed(0)
system = cy.load(MODEL)
x0 = torch.tensor(system.initial_state()).repeat(RUNS, 1)
x0[:, 11:13] = 0.6 * torch.randn(RUNS, 2, generator=random, dtype=x0.dtype)  # of the box [m/s]
controls = 0.4 + 0.6 * torch.rand(RUNS, 1, 2, generator=random).expand(-1, STEPS, -1)  # [N·m]
truth = torch.tensor([0.45, 0.6, 0.05])  # [kg], 1, [N·m·s/rad]
data = measured(system, truth, x0, controls)
data += NOISE * torch.randn(data.shape, generator=random)

logs = torch.tensor([0.2, 0.3, 0.02]).log().requires_grad_()  # a guess; exp keeps them positive
optimiser = torch.optim.LBFGS([logs], max_iter=50, line_search_fn="strong_wolfe")


def closure():
    optimiser.zero_grad()
    loss = ((measured(system, logs.exp(), x0, controls) - data) / NOISE).square().mean()
    loss.backward()
    return loss


optimiser.step(closure)
found = logs.detach().exp()
error = (found / truth - 1).abs().max()
print("found: mass {:.4f} kg, friction {:.4f}, damping {:.5f} N·m·s/rad".format(*found.tolist()))
assert error < 0.01, f"off by {error:.1%}"  # the noise alone makes some 0.1 %
