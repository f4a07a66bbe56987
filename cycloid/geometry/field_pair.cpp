#include "cycloid/geometry/field_pair.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline geometry {

int find_in_field(const HeightField& field, GeomKind k2, const GeomPair<double>& g, double margin,
                  FoundInField* found) {
  // How far geom 2 reaches along the field's axes.
  const ConvexShape other{k2, g.x2, g.size2, g.hull2};
  const double radius = swept_radius(other);
  double low[3], high[3];
  for (int k = 0; k < 3; ++k) {
    const Vec3<double> e = axis(g.x1, k);
    low[k] = dot(e, support_point(other, -e) - g.x1.p) - radius - margin;
    high[k] = dot(e, support_point(other, e) - g.x1.p) + radius + margin;
  }
  const double* size = field.size;
  for (int k = 0; k < 2; ++k) {
    if (!(low[k] <= size[k] && high[k] >= -size[k])) return 0;  // also where not finite
  }
  if (!(high[2] >= -size[3])) return 0;
  const auto cells = [](double at, double half, int n) {
    return (at + half) / (2 * half) * (n - 1);
  };
  const int c0 = std::max(0, static_cast<int>(std::floor(cells(low[0], size[0], field.columns)))),
            r0 = std::max(0, static_cast<int>(std::floor(cells(low[1], size[1], field.rows))));
  const double c_end = std::min<double>(field.columns - 1,
                                        std::ceil(cells(high[0], size[0], field.columns))),
               r_end =
                   std::min<double>(field.rows - 1, std::ceil(cells(high[1], size[1], field.rows)));
  GeomPair<double> pair = g;
  int count = 0;
  for (int r = r0; r < r_end; ++r) {
    for (int c = c0; c < c_end; ++c) {
      for (int i = 0; i < 2; ++i) {
        const int number = 2 * (r * (field.columns - 1) + c) + i;
        const Prism prism(field, number);
        const double* p = prism.point;
        if (std::max({p[11], p[14], p[17]}) < low[2]) continue;
        pair.hull1 = &prism.hull;
        const ConvexMeeting at = find_meeting(GeomKind::mesh, k2, pair, margin);
        if (!at.found) continue;
        found[count++] = {number, encode_in_field(at.at, feature_room(k2, g.hull2)), at.n};
        if (count == kFieldTouches) return count;
      }
    }
  }
  return count;
}

}  // namespace cycloid::inline geometry
