"""The race as a page: bench/results.json -> bench/results.html, one file without scripts.

    python bench/race_page.py [RESULTS.json] [PAGE.html]

What was missed and where a peer is faster comes first, then the curves, then what was met.
"""

import html
import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Ours, then MuJoCo, MJX and Pinocchio; a gradient is dashed, a linearisation dotted.
COLOURS = (("MuJoCo", "#7b8696"), ("MJX", "#a24bc4"), ("Pinocchio", "#0f8a74"), ("", "#1f78d1"))
PEERS = tuple(name for name, _ in COLOURS if name)
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 520, 304, 62, 50, 16
STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --page: #f6f7f9; --sheet: #fff; --line: #d9dee6;
  --bad: #b3261e; --good: #1b7f4b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --page: #12161c; --sheet: #1a2029;
  --line: #333c48; --bad: #ff8a80; --good: #6fd6a0; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  margin: 0 auto; max-width: 72rem; padding: 1.5rem; }
table { border-collapse: collapse; width: 100%; background: var(--sheet); font-size: 0.92rem; }
td, th { border-bottom: 1px solid var(--line); padding: 0.35rem 0.6rem; text-align: left; }
th.n { text-align: right; }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.missed { color: var(--bad); font-weight: 600; } .met { color: var(--good); }
.wide { overflow-x: auto; }
.curves { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); }
figure { margin: 0; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px;
  padding: 0.8rem; } figure svg { width: 100%; height: auto; }
svg text { fill: var(--ink); font: 14px system-ui, sans-serif; }
@media (max-width: 40rem) { svg text { font-size: 17px; } } svg .grid { stroke: var(--line); }
@media (max-width: 40rem) { body { padding: 0.8rem; } table { font-size: 0.8rem; }
  td, th { padding: 0.3rem 0.3rem; } td.n { white-space: normal; } }
.legend span { white-space: nowrap; margin-right: 1rem; font-size: 0.85rem; }
.legend svg { width: 1.8rem; height: 0.7rem; }
"""


def nice(value):
    """A number with three digits, without powers of ten where that is readable."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(rows, lost="missed"):
    out = ["<div class=wide><table><thead><tr><th>what</th><th class=n>measured</th>"
           "<th class=n>held to</th>"
           "<th></th></tr></thead><tbody>"]
    for r in rows:
        style, word = ("met", "met") if r["ok"] else ("missed", lost)
        bar = r.get("spread")
        between = f" <small>({nice(bar[0])} … {nice(bar[1])})</small>" if bar else ""
        out.append(
            f"<tr><td>{html.escape(r['what'])}</td><td class=n>{nice(r['measured'])} "
            f"{html.escape(r['unit'])}{between}</td><td class=n>{html.escape(r['held_to'])}</td>"
            f"<td class={style}>{word}</td></tr>"
        )
    return "".join(out) + "</tbody></table></div>"


def decades(low, high):
    """Powers of ten from below low to above high, exponents; at least one apart."""
    a, b = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return a, max(b, a + 1)


def plot(curve):
    """A curve with logarithmic axes: medians, and what lies between the least and the most."""
    rows, names = curve["rows"], series(curve)
    ends = [row[n][e] for row in rows for n in names if n in row for e in ("low", "high")]
    y0, y1 = decades(min(ends), max(ends))
    x0, x1 = math.log10(min(r["x"] for r in rows)), math.log10(max(r["x"] for r in rows))
    inner, tall = WIDTH - LEFT - 26, HEIGHT - TOP - BOTTOM

    def at(x, y):
        across = (math.log10(x) - x0) / ((x1 - x0) or 1)
        up = (math.log10(y) - y0) / (y1 - y0)
        return LEFT + inner * across, TOP + tall * (1 - up)

    label = html.escape(f"{curve['title']}: {curve['unit']} against {curve['x']}")
    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">']
    for e in range(y0, y1 + 1):
        y = at(rows[0]["x"], 10.0**e)[1]
        out.append(f'<line class=grid x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**e:g}</text>')
    free = 0.0  # where the next label may begin
    for r in rows:
        x, half = at(r["x"], 10.0**y0)[0], 4.5 * len(f"{r['x']:g}")
        if x - half < free:
            continue
        free = x + half + 4
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - 26}" text-anchor="middle">{r["x"]:g}</text>')
    middle = LEFT + inner / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{curve["x"]}</text>')
    for name in names:
        own, (colour, dashes) = [r for r in rows if name in r], look(name)
        band = [at(r["x"], r[name]["low"]) for r in own]
        band += [at(r["x"], r[name]["high"]) for r in reversed(own)]
        line = [at(r["x"], r[name]["median"]) for r in own]
        out.append(f'<polygon points="{points(band)}" fill="{colour}" fill-opacity="0.15"/>')
        out.append(f'<polyline points="{points(line)}" fill="none" stroke="{colour}" '
                   f'stroke-width="2.2"{dashes}/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in line]
    return "".join(out) + "</svg>" + legend(names)


def series(curve):
    """Names of a curve's series, in the order in which they first come."""
    return list(dict.fromkeys(k for row in curve["rows"] for k in row if k not in ("x", "label")))


def look(name):
    """Colour of a series, and its dashes as an attribute."""
    colour = next(colour for peer, colour in COLOURS if name.startswith(peer))
    dashes = "7 4" if "gradient" in name else "2 4" if "linearise" in name else None
    return colour, f' stroke-dasharray="{dashes}"' if dashes else ""


def kind(name):
    """What a series measures: "forward", "forward and gradient" or "linearise"."""
    return name.rpartition(", ")[2].partition(" (")[0]


def faster_peers(curves):
    """Points of curves at which a peer takes less time than ours for the same."""
    out = []
    for curve in curves.values():
        for row in curve["rows"]:
            for name in [n for n in row if n.startswith(PEERS) and kind(n) in row]:
                ratio = row[kind(name)]["median"] / row[name]["median"]
                if ratio > 1:
                    peer = name.partition(",")[0]
                    out.append({
                        "what": f"{curve['title']}; {curve['x']}: {row['x']:,}; {kind(name)}, "
                                f"ours / {peer}",
                        "measured": ratio, "unit": "x", "held_to": "<= 1", "ok": False,
                    })  # fmt: skip
    return sorted(out, key=lambda r: -r["measured"])


def points(list_of):
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in list_of)


def legend(names):
    marks = []
    for name in names:
        colour, dashes = look(name)
        marks.append('<span><svg viewBox="0 0 30 10" aria-hidden=true><line x1="0" x2="30" y1="5" '
                     f'y2="5" stroke="{colour}" stroke-width="3"{dashes}/></svg> '
                     f"{html.escape(name if name.startswith(PEERS) else 'ours, ' + name)}</span>")
    return f"<p class=legend>{' '.join(marks)}</p>"


def page(results):
    """HTML of results as run.py writes them."""
    rows = results["held_to"]
    missed, met = [r for r in rows if not r["ok"]], [r for r in rows if r["ok"]]
    machine = results.get("machine", {})
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><link rel=icon href='data:,'>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>The race</title><style>{STYLE}</style><h1>The race against peers</h1>",
        f"<p>{html.escape(str(machine.get('cpu', '')))}, {machine.get('cores', '?')} cores. "
        "Ratios are of one run, in which both sides take turns. "
        f"{len(missed)} of {len(rows)} aims are missed.</p>",
        "<h2>What we lose at, or do not reach</h2>",
        table(missed) if missed else "<p>Nothing that was measured here.</p>",
    ]  # fmt: skip
    if results.get("curves"):
        faster = faster_peers(results["curves"])
        nowhere = "<p>At no point of the curves below.</p>"
        parts.append("<h2>Where a peer is faster</h2>")
        parts.append(table(faster, "slower") if faster else nowhere)
        parts.append("<h2>How costs grow</h2><p>Both axes are logarithmic. Lines are medians, "
                     "bands the least and the most of several turns.</p><div class=curves>")
        for curve in results["curves"].values():
            unit = f"<small>[{html.escape(curve['unit'])}]</small>"
            title = html.escape(curve["title"])
            said = "".join(f"<p>{html.escape(note)}.</p>" for note in curve.get("notes", ()))
            parts.append(f"<figure><h3>{title} {unit}</h3>{plot(curve)}{said}</figure>")
        parts.append("</div>")
    parts += ["<h2>What is reached</h2>", table(met)]
    return "\n".join(parts) + "</html>\n"


def main():
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results.json"
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else source.with_suffix(".html")
    target.write_text(page(json.loads(source.read_text())))
    print(f"written: {target}")


if __name__ == "__main__":
    main()
