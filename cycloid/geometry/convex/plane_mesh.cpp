#include "cycloid/geometry/convex/plane_mesh.h"

namespace cycloid::inline geometry {

namespace {
constexpr double kTie = 1e-12;  // areas that differ by less, relatively, are equal
}

int find_plane_mesh(const GeomPair<double>& g, double margin, int* corner) {
  const Hull& h = *g.hull2;
  const Vec3<double> n = axis(g.x1, 2), down = transpose_vector_product(g.x2.R, -n);
  const double height = dot(n, g.x2.p - g.x1.p);
  const auto dist = [&](int c) { return height - dot(down, h.corner<double>(c)); };
  const int lowest = h.furthest(down, -1);
  if (!(dist(lowest) <= margin)) return 0;
  corner[0] = lowest;

  int polygon = -1;
  double most = -2;
  for (const int p : h.table->corner_polygons.of(lowest)) {
    const double along = dot(down, polygon_normal<double>(h, p).u);
    if (along > most) most = along, polygon = p;
  }
  if (polygon < 0) return 1;
  const std::span<const int> all = h.table->polygons.of(polygon);
  const int size = static_cast<int>(all.size());
  int first = 0;
  while (all[static_cast<std::size_t>(first)] != lowest) ++first;
  const auto at = [&](int k) { return all[static_cast<std::size_t>((first + k) % size)]; };
  int chosen[kPlaneMeshTouches] = {0, 1, 2, 3};
  if (size > kPlaneMeshTouches) {
    large_quad(size, [&](int k) { return h.corner<double>(at(k)); }, kTie, false, chosen);
  }
  int count = 1;
  for (int k = 1; k < kPlaneMeshTouches && k < size; ++k) {
    if (dist(at(chosen[k])) <= margin) corner[count++] = at(chosen[k]);
  }
  return count;
}

}  // namespace cycloid::inline geometry
