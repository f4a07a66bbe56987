// Numbers as Python wrote them: rows of columns, each column as 16-bit steps between its smallest
// and its largest value. A column that does not change has no steps, and is exact.

export function bytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

export class Columns {
  constructor({ rows, width, low, step, moving, data }) {
    this.rows = rows;
    this.width = width;
    this.low = new Float64Array(bytes(low));
    this.step = new Float64Array(bytes(step));
    // Which columns move: only they are in the data, row by row.
    this.place = new Int32Array(width).fill(-1);
    const list = new Uint32Array(bytes(moving));
    list.forEach((column, k) => (this.place[column] = k));
    this.stride = list.length;
    this.data = new Uint16Array(bytes(data));
  }

  at(row, column) {
    const k = this.place[column];
    if (k < 0) return this.low[column];
    return this.low[column] + this.step[column] * this.data[row * this.stride + k];
  }

  row(i, first = 0, count = this.width) {
    const out = new Array(count);
    for (let j = 0; j < count; ++j) out[j] = this.at(i, first + j);
    return out;
  }

  column(j) {
    const out = new Float64Array(this.rows);
    for (let i = 0; i < this.rows; ++i) out[i] = this.at(i, j);
    return out;
  }

  range(j) {
    return [this.low[j], this.low[j] + 65535 * this.step[j]];
  }
}

// Decoded once, however many ask.
const known = new WeakMap();
export function columns(given) {
  if (!given) return null;
  if (!known.has(given)) known.set(given, new Columns(given));
  return known.get(given);
}
