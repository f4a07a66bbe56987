// The inputs at the present time: a bar for each, and an arrow that says where the loss wants it.
import { number } from "./plots.js";

const MOST = 30;
const WIDTH = 150;

export class Inputs {
  constructor(box, names, values, wants, scale) {
    Object.assign(this, { values, wants, scale: scale || 1 });
    this.rows = [];
    this.top = 0;
    for (let j = 0; j < names.length; ++j) {
      for (const x of values.range(j)) this.top = Math.max(this.top, Math.abs(x));
    }
    const card = document.createElement("div");
    card.className = "card inputs";
    const head = document.createElement("h2");
    head.textContent = wants ? "Inputs, and where the loss wants them" : "Inputs";
    card.append(head);
    names.slice(0, MOST).forEach((name) => {
      const row = document.createElement("div");
      row.className = "row";
      row.innerHTML =
        `<span class="name"></span><svg viewBox="0 0 ${WIDTH} 14" aria-hidden="true">` +
        `<line x1="75" x2="75" y1="0" y2="14" stroke="var(--line)"/>` +
        `<rect y="4" height="6" rx="2" fill="var(--accent)" opacity="0.65"/>` +
        `<path fill="none" stroke="var(--arrow)" stroke-width="2"/></svg>` +
        `<span class="value"></span>`;
      row.firstChild.textContent = row.firstChild.title = name;
      card.append(row);
      this.rows.push(row);
    });
    if (names.length > MOST) {
      const more = document.createElement("p");
      more.className = "values";
      more.textContent = `and ${names.length - MOST} more`;
      card.append(more);
    }
    box.append(card);
  }

  show(i, arrows) {
    this.rows.forEach((row, j) => {
      const x = this.values.at(i, j);
      const at = 75 + (this.top ? (60 * x) / this.top : 0);
      const [bar, arrow] = row.querySelectorAll("rect, path");
      bar.setAttribute("x", Math.min(75, at));
      bar.setAttribute("width", Math.abs(at - 75));
      row.lastChild.textContent = number(x);
      const want = this.wants && arrows ? this.wants.at(i, j) / this.scale : 0;
      const length = Math.max(-1, Math.min(1, want)) * 55;
      const tip = Math.max(2, Math.min(148, at + length));
      const back = Math.sign(length) * 4;
      arrow.setAttribute(
        "d",
        Math.abs(length) < 1 ? "" : `M${at} 7H${tip}M${tip - back} 3L${tip} 7L${tip - back} 11`,
      );
    });
  }
}
