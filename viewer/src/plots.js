// Curves over time, with a line where the slider is. A click moves the slider.
import uPlot from "uplot";
import { series } from "./colours.js";

const MOST_POINTS = 3000; // of one curve; longer runs are thinned for the plot only

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Plots {
  constructor(box, cards, times, on_seek) {
    this.box = box;
    this.times = times;
    this.on_seek = on_seek;
    this.cards = cards.map((card) => ({ ...card, root: this.make_card(card) }));
    this.theme();
  }

  make_card({ title, unit, curves }) {
    const root = document.createElement("div");
    root.className = "card";
    const head = document.createElement("h2");
    head.textContent = title;
    const units = document.createElement("span");
    units.textContent = unit;
    head.append(units);
    const plot = document.createElement("div");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${title} over time`);
    const values = document.createElement("div");
    values.className = "values";
    for (const [k, curve] of curves.entries()) {
      const one = document.createElement("span");
      one.innerHTML = `<b style="color:var(${series(k)})"></b> <span></span>`;
      one.firstChild.textContent = curve.name;
      values.append(one);
    }
    root.append(head, plot, values);
    this.box.append(root);
    return { root, plot, values };
  }

  theme() {
    const every = Math.max(1, Math.ceil(this.times.length / MOST_POINTS));
    const thin = (values) => Array.from(values).filter((_, i) => i % every === 0);
    const axis = {
      stroke: style("--dim"),
      font: "11px system-ui, sans-serif",
      grid: { stroke: style("--line"), width: 1 },
      ticks: { stroke: style("--line"), width: 1, size: 4 },
    };
    for (const card of this.cards) {
      card.chart?.destroy();
      const lines = [{}];
      const data = [thin(this.times)];
      card.curves.forEach((curve, k) => {
        const stroke = style(series(k));
        lines.push({
          label: curve.name,
          stroke,
          width: 1.5,
          points: { show: this.times.length < 2 },
        });
        data.push(thin(curve.values));
        if (curve.other) {
          lines.push({ stroke, width: 1, dash: [4, 4] });
          data.push(thin(curve.other));
        }
      });
      card.chart = new uPlot(
        {
          width: this.width(card),
          height: 120,
          cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
          legend: { show: false },
          scales: { x: { time: false }, y: { range: (_, low, high) => reach(low, high) } },
          axes: [
            { ...axis, size: 28 },
            { ...axis, size: 52 },
          ],
          series: lines,
          hooks: { draw: [(u) => this.mark(u)] },
        },
        data,
        card.root.plot,
      );
      card.chart.over.addEventListener("click", (event) => {
        const t = card.chart.posToVal(event.offsetX, "x");
        this.on_seek(this.nearest(t));
      });
    }
  }

  width(card) {
    return Math.max(180, card.root.root.clientWidth - 18);
  }

  nearest(t) {
    let best = 0;
    for (let i = 1; i < this.times.length; ++i) {
      if (Math.abs(this.times[i] - t) < Math.abs(this.times[best] - t)) best = i;
    }
    return best;
  }

  mark(u) {
    if (this.frame === undefined) return;
    const x = Math.round(u.valToPos(this.times[this.frame], "x", true));
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = style("--accent");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  show(i) {
    this.frame = i;
    for (const card of this.cards) {
      card.chart.redraw(false, false);
      card.curves.forEach((curve, k) => {
        card.root.values.children[k].lastChild.textContent = number(curve.values[i]);
      });
    }
  }

  resize() {
    for (const card of this.cards) card.chart.setSize({ width: this.width(card), height: 120 });
  }
}

// A range with some air, and wide enough that the rounding of a constant is a straight line.
function reach(low, high) {
  const least = 2e-3 * Math.max(Math.abs(low), Math.abs(high)) || 1;
  const span = Math.max(high - low, least);
  const middle = (low + high) / 2;
  return [middle - 0.58 * span, middle + 0.58 * span];
}

export function number(x) {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return x.toExponential(2).replace("-", "−");
  return x.toFixed(size < 10 ? 3 : size < 1000 ? 2 : 1).replace("-", "−");
}
