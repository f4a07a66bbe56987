"""Draws docs/pictures/gradient_modes.svg: a pusher, a block, and three gradients of where the block
ends.

    python docs/pictures/gradient_modes.py
"""

from pathlib import Path

import numpy as np

import cycloid as cy

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
WIDTH, HEIGHT, LEFT, TOP = 720, 230, 70, 30
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


def panel(top, title, x, curves):
    """One plot with its axes, as SVG."""
    values = np.concatenate(list(curves.values()))
    low, high = min(0, values.min()), values.max()
    inner, tall = WIDTH - LEFT - 20, HEIGHT - TOP - 35

    def place(a, b):
        return LEFT + inner * a / x.max(), top + TOP + tall * (high - b) / (high - low)

    out = [f'<text x="{LEFT}" y="{top + 18}" class="title">{title}</text>']
    for b in np.linspace(low, high, 4):
        y = place(0, b)[1]
        ends = f'x1="{LEFT}" x2="{LEFT + inner}" y1="{y:.1f}" y2="{y:.1f}"'
        out.append(f'<line {ends} class="grid"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" class="end">{b:.2f}</text>')
    for a in range(4):
        px = place(a, low)[0]
        out.append(f'<text x="{px:.1f}" y="{top + TOP + tall + 18}" class="middle">{a}</text>')
    for i, (name, curve) in enumerate(curves.items()):
        colour = COLOURS.get(name, "#444444")
        points = " ".join("{:.1f},{:.1f}".format(*place(a, b)) for a, b in zip(x, curve))
        out.append(f'<polyline points="{points}" stroke="{colour}" class="curve"/>')
        if len(curves) > 1:
            y = top + TOP + tall - 60 + 18 * i
            out.append(f'<text x="{LEFT + inner - 150}" y="{y}" fill="{colour}">{name}</text>')
    return out


def main():
    forces, ends, slopes = measure()
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {2 * HEIGHT + 20}" '
        'font-family="sans-serif" font-size="13" role="img" aria-label="Where a block ends by the '
        'force of a pusher, and its exact, FromDistance and Smoothed derivatives">',
        "<style>.grid{stroke:#ddd}.curve{fill:none;stroke-width:2}.end{text-anchor:end;fill:#555}"
        ".middle{text-anchor:middle;fill:#555}.title{font-weight:bold}</style>",
        f'<rect width="{WIDTH}" height="{2 * HEIGHT + 20}" fill="white"/>',
        *panel(0, "Where the block ends [m]", forces, {"run": ends}),
        *panel(HEIGHT, "Its derivative by the force [m/N]", forces, slopes),
        f'<text x="{WIDTH / 2}" y="{2 * HEIGHT + 10}" class="middle">force of the pusher [N]'
        "</text>",
        "</svg>",
    ]
    Path(__file__).with_suffix(".svg").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
