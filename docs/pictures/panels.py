"""Plots of curves as SVG, one below the other."""

import numpy as np

WIDTH, HEIGHT, LEFT, TOP = 720, 230, 70, 30
PLAIN = "#444444"


def panel(top, title, x, curves, colours, ticks, legend=0.64):
    """One plot with its axes; ticks: the numbers below it; legend: how far down it is, of 1."""
    values = np.concatenate(list(curves.values()))
    low, high = min(0, values.min()), max(0, values.max())
    inner, tall = WIDTH - LEFT - 20, HEIGHT - TOP - 35
    first, last = min(x), max(x)

    def place(a, b):
        across = inner * (a - first) / (last - first)
        return LEFT + across, top + TOP + tall * (high - b) / (high - low)

    out = [f'<text x="{LEFT}" y="{top + 18}" class="title">{title}</text>']
    for b in np.linspace(low, high, 4):
        y = place(first, b)[1]
        ends = f'x1="{LEFT}" x2="{LEFT + inner}" y1="{y:.1f}" y2="{y:.1f}"'
        out.append(f'<line {ends} class="grid"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" class="end">{b:.2f}</text>')
    for a in ticks:
        px = place(a, low)[0]
        out.append(f'<text x="{px:.1f}" y="{top + TOP + tall + 18}" class="middle">{a:g}</text>')
    for i, (name, curve) in enumerate(curves.items()):
        colour = colours.get(name, PLAIN)
        points = " ".join("{:.1f},{:.1f}".format(*place(a, b)) for a, b in zip(x, curve))
        out.append(f'<polyline points="{points}" stroke="{colour}" class="curve"/>')
        if len(curves) > 1:
            y = round(top + TOP + legend * tall) + 18 * i
            out.append(f'<text x="{LEFT + inner - 210}" y="{y}" fill="{colour}">{name}</text>')
    return out


def page(label, below, panels):
    """The whole picture; below: what the last axis shows."""
    tall = len(panels) * HEIGHT + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="{label}">',
        "<style>.grid{stroke:#ddd}.curve{fill:none;stroke-width:2}.end{text-anchor:end;fill:#555}"
        ".middle{text-anchor:middle;fill:#555}.title{font-weight:bold}</style>",
        f'<rect width="{WIDTH}" height="{tall}" fill="white"/>',
        *(line for lines in panels for line in lines),
        f'<text x="{WIDTH / 2}" y="{tall - 10}" class="middle">{below}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
