#include "cycloid/geometry/convex/field_pair.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline geometry {

namespace {

constexpr double kSure = 1e-9;  // relative: apart by so much is beyond doubt

// Whether `other` lies, by more than `limit`, beyond a plane that has all of a prism on its other
// side: that of its top a, b, c, or the upright one through the diagonal of its cell, on which two
// of them lie and `aside` does not. All in the field's axes. size: of the shapes.
bool beyond_prism(const Vec3<double>& a, const Vec3<double>& b, const Vec3<double>& c, bool first,
                  const ConvexShape& other, double limit, double size) {
  const auto beyond = [&](const Vec3<double>& n, const Vec3<double>& through) {
    const double above = dot(n, support_point(other, -n) - through), far = limit + kSure * size;
    return above > 0 && above * above > far * far * dot(n, n);
  };
  if (beyond(cross(b - a, c - a), a)) return true;
  const Vec3<double>&aside = first ? a : b, &on = first ? b : a;
  Vec3<double> across{c.y - on.y, on.x - c.x, 0};
  if (dot(across, aside - on) > 0) across = -across;
  return beyond(across, on);
}

}  // namespace

int find_in_field(const HeightField& field, GeomKind k2, const GeomPair<double>& g, double margin,
                  FoundInField* found) {
  // Geom 2 in the field's axes, and how far it reaches along them.
  Pose<double> placed;
  placed.p = transpose_vector_product(g.x1.R, g.x2.p - g.x1.p);
  for (int k = 0; k < 3; ++k) {
    const Vec3<double> column = transpose_vector_product(g.x1.R, axis(g.x2, k));
    for (int i = 0; i < 3; ++i) placed.R(i, k) = column[i];
  }
  const ConvexShape other{k2, placed, g.size2, g.hull2};
  const double radius = swept_radius(other), *size = field.size;
  double low[3], high[3];
  for (const int k : {2, 0, 1}) {
    Vec3<double> e{};
    e[k] = 1;
    low[k] = support_point(other, -e)[k] - radius - margin;
    high[k] = support_point(other, e)[k] + radius + margin;
    const double most = k == 2 ? field.radius : size[k], least = k == 2 ? size[3] : size[k];
    if (!(low[k] <= most && high[k] >= -least)) return 0;  // also where not finite
  }
  const double dx = 2 * size[0] / (field.columns - 1), dy = 2 * size[1] / (field.rows - 1);
  const auto cell = [](double at, double half, double width) { return (at + half) / width; };
  const int c0 = std::max(0, static_cast<int>(std::floor(cell(low[0], size[0], dx)))),
            r0 = std::max(0, static_cast<int>(std::floor(cell(low[1], size[1], dy))));
  const double c_end = std::min<double>(field.columns - 1, std::ceil(cell(high[0], size[0], dx))),
               r_end = std::min<double>(field.rows - 1, std::ceil(cell(high[1], size[1], dy)));
  const double lengths = field.radius + extent(other) + radius;
  GeomPair<double> pair = g;
  int count = 0;
  for (int r = r0; r < r_end; ++r) {
    for (int c = c0; c < c_end; ++c) {
      const int at = r * field.columns + c, next = at + field.columns;
      const double x = c * dx - size[0], y = r * dy - size[1];
      const Vec3<double> p00{x, y, field.height(at)}, p01{x + dx, y, field.height(at + 1)},
          p10{x, y + dy, field.height(next)}, p11{x + dx, y + dy, field.height(next + 1)};
      for (int i = 0; i < 2; ++i) {
        const Vec3<double>&a = i == 0 ? p10 : p00, &b = i == 0 ? p00 : p01;
        if (std::max({a.z, b.z, p11.z}) < low[2]) continue;
        const bool stands = std::min({a.z, b.z, p11.z}) > -size[3];
        if (stands && beyond_prism(a, b, p11, i == 0, other, margin + radius, lengths)) continue;
        const int number = 2 * (r * (field.columns - 1) + c) + i;
        const Prism prism(field, number);
        pair.hull1 = &prism.hull;
        const ConvexMeeting met = find_meeting(GeomKind::mesh, k2, pair, margin);
        if (!met.found) continue;
        found[count++] = {number, encode_in_field(met.at, feature_room(k2, g.hull2)), met.n};
        if (count == kFieldTouches) return count;
      }
    }
  }
  return count;
}

}  // namespace cycloid::inline geometry
