// Colour maps: "stress" from blue over pale to red, "field" from dark blue over green to yellow.

const STRESS = [
  [0.23, 0.35, 0.75],
  [0.55, 0.7, 0.95],
  [0.92, 0.9, 0.86],
  [0.95, 0.6, 0.45],
  [0.7, 0.1, 0.15],
];
const FIELD = [
  [0.19, 0.1, 0.37],
  [0.16, 0.32, 0.58],
  [0.12, 0.55, 0.55],
  [0.42, 0.76, 0.35],
  [0.98, 0.9, 0.2],
];

export function colour(map, t) {
  const stops = map === "stress" ? STRESS : FIELD;
  const x = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(x), stops.length - 2);
  const f = x - k;
  return [0, 1, 2].map((c) => stops[k][c] * (1 - f) + stops[k + 1][c] * f);
}

export const gradient_css = (map) =>
  `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1]
    .map(
      (t) =>
        `rgb(${colour(map, t)
          .map((c) => Math.round(255 * c))
          .join(" ")})`,
    )
    .join(", ")})`;

// Of curves: a variable of the style, which has one for each theme.
const SERIES = 8;
export const series = (k) => `--series-${k % SERIES}`;
