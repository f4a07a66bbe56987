"""Draws docs/pictures/guarded_error.svg, and prints its numbers: a damped double pendulum under
guard, its error against the share of classical steps.

    python docs/pictures/guarded_error.py
"""

from pathlib import Path

import numpy as np
from panels import HEIGHT, page, panel

import cycloid as cy

RUNS, TIME = 200, 10.0
COLOURS = {"stated bound": "#888888", "error of 95 % of runs": "#1f6feb"}
BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def curve(model, truth, x0):
    """Shares of classical steps, and errors that 95 % of runs stay below, by bound."""
    step = max(model.timestep, truth.timestep)
    ratio, steps = round(step / truth.timestep), round(TIME / step)
    exact = cy.rollout(truth, x0, steps * ratio).states[:, ::ratio]
    shares, errors = [], []
    for bound in BOUNDS:
        safe = cy.guarded(model, truth, bound=bound)
        run = cy.rollout(safe, np.concatenate([x0, np.zeros((RUNS, 8))], axis=1), steps)
        off = np.linalg.norm(run.states[..., :4] - exact, axis=-1).max(axis=1)
        shares.append(run.report.counters["classical_steps"] / ratio)
        errors.append(np.quantile(off, 0.95))
        kept = (off < bound).mean()
        print(f"  bound {bound:g}: {kept:.1%} kept, share {shares[-1]:.3f}, 95 % {errors[-1]:.2g}")
    alone = cy.rollout(model, x0, round(TIME / model.timestep)).states
    alone = alone[:, :: round(step / model.timestep)]
    off = np.linalg.norm(alone - exact, axis=-1).max(axis=1)
    print(f"  the model alone: {np.quantile(off, 0.95):.2g}")
    return np.array(shares), np.array(errors)


def main():
    truth = cy.systems.double_pendulum(damping=(0.3, 0.3), dt=0.01)
    rng = np.random.default_rng(0)
    x0 = np.concatenate([rng.uniform(-1.5, 1.5, (RUNS, 2)), rng.uniform(-1, 1, (RUNS, 2))], axis=1)
    models = {
        "Euler's rule": truth.variant(integrator="euler"),
        "a step four times as long": truth.variant(dt=0.04),
    }
    panels = []
    for i, (name, model) in enumerate(models.items()):
        print(name)
        shares, errors = curve(model, truth, x0)
        order = np.argsort(shares)
        curves = {
            "stated bound": np.log10(np.array(BOUNDS))[order],
            "error of 95 % of runs": np.log10(errors)[order],
        }
        ticks = np.round(np.linspace(shares.min(), shares.max(), 5), 2)
        title = f"log10 of the error, model: {name}"
        panels.append(panel(i * HEIGHT, title, shares[order], curves, COLOURS, ticks, 0.09))
    picture = page(
        "Error of a guarded double pendulum against the share of classical steps",
        "share of classical steps",
        panels,
    )
    Path(__file__).with_suffix(".svg").write_text(picture)


if __name__ == "__main__":
    main()
