"""Draws docs/pictures/gradient_modes.svg: a pusher, a block, and three gradients of where the block
ends.

    python docs/pictures/gradient_modes.py
"""

from pathlib import Path

import numpy as np

import cycloid as cy
from panels import HEIGHT, page, panel

PUSH = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body> <joint name="rail" type="slide" axis="1 0 0" damping="2"/>
      <geom type="sphere" size="0.05" mass="1"/> </body>
    <body pos="0.25 0 0"> <joint type="slide" axis="1 0 0" damping="4"/>
      <geom type="box" size="0.05 0.05 0.05" mass="1"/> </body>
  </worldbody>
  <actuator> <motor joint="rail" ctrlrange="-5 5"/> </actuator>
</mujoco>"""
STEPS = 60
COLOURS = {"exact": "#444444", "FromDistance(0.15)": "#c1440e", "Smoothed(0.2)": "#1f6fb2"}


def measure():
    """Forces, where the block ends [m], and its derivative by the force under each mode [m/N]."""
    system = cy.load(PUSH)
    forces = np.linspace(0, 3, 121)
    controls = np.repeat(forces, STEPS).reshape(len(forces), STEPS, 1)
    run = cy.rollout(system, system.initial_state(), controls, save="last")
    bar = np.zeros_like(run.states)
    bar[..., 1] = 1
    modes = ("exact", cy.FromDistance(0.15), cy.Smoothed(0.2, samples=4000, order="zeroth"))
    slopes = [run.pullback(bar, gradient=mode).controls.sum((1, 2)) for mode in modes]
    return forces, run.states[:, 0, 1], dict(zip(COLOURS, slopes))


def main():
    forces, ends, slopes = measure()
    ticks = range(4)
    picture = page(
        "Where a block ends by the force of a pusher, and its exact, FromDistance and Smoothed "
        "derivatives",
        "force of the pusher [N]",
        [
            panel(0, "Where the block ends [m]", forces, {"run": ends}, COLOURS, ticks),
            panel(HEIGHT, "Its derivative by the force [m/N]", forces, slopes, COLOURS, ticks),
        ],
    )
    Path(__file__).with_suffix(".svg").write_text(picture)


if __name__ == "__main__":
    main()
