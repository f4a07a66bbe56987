"""Forces and gradients at the onset of contact, by `solimp`: the tables of docs/contact.md."""

from pathlib import Path

import numpy as np
import pytest

import cycloid as cy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "contact.md"
BALL = """<mujoco><option timestep="1e-3"/>
  <worldbody><geom type="plane" size="1 1 1" solimp="{solimp}"/>
    <body pos="0 0 0.1"><joint type="slide" axis="0 0 1"/>
      <geom size="0.1" mass="1" solimp="{solimp}"/></body></worldbody></mujoco>"""
DEPTHS = (1e-9, 1e-4, 5e-4, 1e-3)
SPEED = -1.0


def table(heading):
    """{solimp: numbers} of the table whose first line starts so."""
    lines = iter(PAGE.read_text().splitlines())
    next(line for line in lines if line.startswith(heading))
    next(lines)
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            return rows
        first, *cells = line.strip("| ").split(" | ")
        rows[first.split("`")[1]] = [float(cell.removesuffix(" %")) for cell in cells]


FORCES = table("| `solimp` | 1 nm")
SLOPES = table("| `solimp` | slope")


@pytest.mark.parametrize("solimp", FORCES)
def test_the_force_sets_in_as_documented(solimp):
    system = cy.load(BALL.format(solimp=solimp))
    x = np.array([[-depth, SPEED] for depth in DEPTHS])
    force = (cy.step(system, x)[:, 1] - SPEED) / system.timestep + 9.81
    assert force == pytest.approx(FORCES[solimp], abs=0.06)  # the page has one decimal
    assert cy.step(system, [0.0, SPEED])[1] == SPEED - 9.81 * system.timestep  # at dist = margin


@pytest.mark.parametrize("solimp", SLOPES)
def test_slopes_and_gradients_across_an_impact_are_as_documented(solimp):
    system = cy.load(BALL.format(solimp=solimp))
    heights = np.linspace(0.1, 0.11, 400)
    run = cy.rollout(system, np.stack([heights, 0 * heights], axis=1), 250, save="last")
    after = run.states[:, 0, 0]
    g = run.pullback([[1.0, 0.0]]).x0[:, 0]
    slope = (after[-1] - after[0]) / (heights[-1] - heights[0])
    found = [slope, g.mean(), g.min(), g.max()]
    assert found == pytest.approx(SLOPES[solimp], abs=0.0006)  # three decimals
    # Where the force sets in from nothing, the gradient is that of the curve one sees.
    smooth = solimp.startswith("0 ")
    assert (abs(g.mean() - slope) < 1e-3) == smooth
