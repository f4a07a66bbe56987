"""Draws docs/pictures/refined_bounce.svg, and prints the numbers of docs/when_a_gradient_lies.md: a
ball that is dropped on a floor, and the derivative of where it is later by where it was.

    python docs/pictures/refined_bounce.py
"""

from pathlib import Path

import numpy as np

import cycloid as cy
from panels import HEIGHT, page, panel

BALL = """
<mujoco>
  <option timestep="{dt}"/>
  <worldbody>
    <geom type="plane" size="1 1 1" condim="1" solref="{solref}" solimp="0.9 0.9 0.001 0.5 1"/>
    <body> <freejoint/>
      <geom size="0.1" mass="1" condim="1" solref="{solref}" solimp="0.9 0.9 0.001 0.5 1"/> </body>
  </worldbody>
</mujoco>"""
ELASTIC, DAMPED = "-40000 0", "-40000 -60"
TIME = 0.25
COLOURS = {"step 2 ms": "#444444", "step 0.1 ms": "#999999", "refine=1e-4": "#c1440e"}


def drop(heights, solref, dt, **keywords):
    """Heights after 0.25 s [m], their derivative by those at the start, and substeps per step."""
    ball = cy.load(BALL.format(dt=dt, solref=solref), **keywords)
    x = np.tile(ball.initial_state(), (len(heights), 1))
    x[:, 2] = heights + 0.1
    run = cy.rollout(ball, x, round(TIME / dt), save="last")
    bar = np.zeros_like(run.states)
    bar[..., 2] = 1
    substeps = run.report.counters.get("substeps", 1)
    return run.states[:, 0, 2] - 0.1, run.pullback(bar, wrt=("x0",)).x0[:, 2], substeps


def main():
    heights = np.linspace(0.10, 0.11, 101)
    for name, solref in (("elastic", ELASTIC), ("damped", DAMPED)):
        fine = drop(heights, solref, 0.002, refine=1e-8)
        print(f"{name}: refine=1e-8 {fine[1].min():.4f} to {fine[1].max():.4f}")
        for dt in (2e-3, 1e-4, 1e-5):
            slope = drop(heights[::10], solref, dt)[1]
            print(f"  step {dt:g}: {slope.min():.4f} to {slope.max():.4f}")
        for tolerance in (1e-3, 1e-4, 1e-5, 1e-6):
            _, slope, substeps = drop(heights, solref, 0.002, refine=tolerance)
            error = np.abs(slope - fine[1]).max() / np.abs(fine[1]).max()
            print(f"  refine={tolerance:g}: error {error:.1e}, {substeps:.1f} substeps per step")
    runs = {
        "step 2 ms": drop(heights, DAMPED, 0.002),
        "step 0.1 ms": drop(heights, DAMPED, 0.0001),
        "refine=1e-4": drop(heights, DAMPED, 0.002, refine=1e-4),
    }
    ticks = (10, 10.2, 10.4, 10.6, 10.8, 11)
    x = 100 * heights
    ends = {name: 100 * run[0] for name, run in runs.items()}
    slopes = {name: run[1] for name, run in runs.items()}
    picture = page(
        "Where a dropped ball is after a bounce, and its derivative, with fixed and refined steps",
        "height at the start [cm]",
        [
            panel(0, "Height after 0.25 s [cm]", x, ends, COLOURS, ticks),
            panel(
                HEIGHT, "Its derivative by the height at the start", x, slopes, COLOURS, ticks, 0.38
            ),
        ],
    )
    Path(__file__).with_suffix(".svg").write_text(picture)


if __name__ == "__main__":
    main()
