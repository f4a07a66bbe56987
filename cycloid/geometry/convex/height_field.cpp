#include "cycloid/geometry/convex/height_field.h"

namespace cycloid::inline geometry {

const HullTable& prism_table() {
  static const HullTable table = [] {
    HullParts parts;
    parts.corners = {0, 1, 2, 3, 4, 5};
    parts.triangles = {0, 2, 1, 3, 4, 5, 0, 1, 4, 0, 4, 3, 1, 2, 5, 1, 5, 4, 2, 0, 3, 2, 3, 5};
    parts.polygons.first = {0};
    return make_hull(parts);
  }();
  return table;
}

Prism::Prism(const HeightField& field, int i) {
  const int columns = field.columns, cell = i / 2, r = cell / (columns - 1),
            c = cell % (columns - 1);
  const int row[2][3] = {{r + 1, r, r + 1}, {r, r, r + 1}};
  const int column[2][3] = {{c, c, c + 1}, {c, c + 1, c + 1}};
  for (int k = 0; k < 3; ++k) {
    const int y = row[i % 2][k], x = column[i % 2][k];
    at[k] = y * columns + x;
    double *low = point + 3 * k, *high = point + 9 + 3 * k;
    low[0] = high[0] = 2 * field.size[0] * x / (columns - 1) - field.size[0];  // (1)
    low[1] = high[1] = 2 * field.size[1] * y / (field.rows - 1) - field.size[1];
    low[2] = -field.size[3];
    high[2] = field.height(at[k]);
  }
  hull.table = &prism_table();
  hull.points = hull.packed = point;
  // Its own size, by which a search measures what is small: the field may be a thousand times that.
  const double tall = std::max({point[11], point[14], point[17]}) + field.size[3];
  hull.radius = 2 * field.size[0] / (columns - 1) + 2 * field.size[1] / (field.rows - 1) + tall;
  if (!field.tangent) return;
  std::fill_n(tangent, 18, 0.0);
  for (int k = 0; k < 3; ++k) {
    tangent[9 + 3 * k + 2] = field.size[2] * field.tangent[at[k]];
  }
  hull.tangent = tangent;
}

void Prism::give(const HeightField& field, const HeightBar& to) const {
  if (!to.value) return;
  for (int k = 0; k < 3; ++k) {
    to.value[at[k]] += field.size[2] * point_bar[3 * (3 + k) + 2];
    if (to.tangent) to.tangent[at[k]] += field.size[2] * tangent_bar[3 * (3 + k) + 2];
  }
}

}  // namespace cycloid::inline geometry
