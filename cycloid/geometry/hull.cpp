#include "cycloid/geometry/hull.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cycloid/base/error.h"

namespace cycloid::inline geometry {
namespace {

Lists lists_of(const std::vector<std::vector<int>>& rows) {
  Lists out;
  out.first.push_back(0);
  for (const std::vector<int>& row : rows) {
    out.member.insert(out.member.end(), row.begin(), row.end());
    out.first.push_back(static_cast<int>(out.member.size()));
  }
  return out;
}

}  // namespace

HullTable make_hull(const HullParts& parts) {
  HullTable t;
  t.vertex = parts.corners;
  if (parts.corners.size() > kMostCorners) {
    throw ModelError(message("its hull has ", parts.corners.size(), " corners; at most ",
                             kMostCorners, " are supported (set maxhullvert)"));
  }
  std::map<int, int> corner_of;
  for (std::size_t i = 0; i < t.vertex.size(); ++i) {
    corner_of[t.vertex[i]] = static_cast<int>(i);
  }
  const auto corner = [&](int vertex) {
    const auto found = corner_of.find(vertex);
    if (found == corner_of.end()) {
      throw ModelError(message("its hull names vertex ", vertex, ", which is none of its corners"));
    }
    return found->second;
  };
  std::vector<std::vector<int>> around(t.vertex.size()), polygons_around(t.vertex.size()),
      neighbours(t.vertex.size());
  std::map<std::pair<int, int>, int> edges;
  for (std::size_t i = 0; i < parts.triangles.size(); ++i) {
    t.triangle.push_back(corner(parts.triangles[i]));
    around[static_cast<std::size_t>(t.triangle[i])].push_back(static_cast<int>(i / 3));
  }
  for (int i = 0; i < t.triangles(); ++i) {
    for (int k = 0; k < 3; ++k) {
      const int a = t.triangle[static_cast<std::size_t>(3 * i + k)],
                b = t.triangle[static_cast<std::size_t>(3 * i + (k + 1) % 3)];
      ++edges[{a, b}];
      neighbours[static_cast<std::size_t>(a)].push_back(b);
    }
  }
  for (const auto& [edge, count] : edges) {
    if (count != 1 || edges.find({edge.second, edge.first}) == edges.end()) {
      throw ModelError("its hull is not a closed surface; remove duplicate or degenerate points");
    }
  }
  t.corner_triangles = lists_of(around);
  t.polygons = parts.polygons;
  for (int& v : t.polygons.member) v = corner(v);
  for (int i = 0; i + 1 < static_cast<int>(t.polygons.first.size()); ++i) {
    for (const int c : t.polygons.of(i)) polygons_around[static_cast<std::size_t>(c)].push_back(i);
  }
  t.corner_polygons = lists_of(polygons_around);
  t.neighbours = parts.neighbours.first.empty() ? lists_of(neighbours) : parts.neighbours;
  if (!parts.neighbours.first.empty()) {
    for (int& v : t.neighbours.member) v = corner(v);
  }
  if (t.corners() >= kSearchedThrough) t.seed = parts.seed;
  return t;
}

int Hull::furthest(const Vec3<double>& m, int last) const {
  const auto along = [&](int c) { return dot(m, corner<double>(c)); };
  int best = 0;
  double most = -1e300;
  const auto try_corner = [&](int c) {
    const double d = along(c);
    if (d > most) most = d, best = c;
  };
  if (table->seed.empty()) {
    for (int c = 0; c < table->corners(); ++c) try_corner(c);
    return best;
  }
  int cell = 0;
  for (int k = 0; k < 3; ++k) cell = 3 * cell + (m[k] > 0.4) - (m[k] < -0.4) + 1;
  if (last >= 0) try_corner(last);
  try_corner(table->seed[static_cast<std::size_t>(cell)]);
  for (int from = -1; from != best;) {
    from = best;
    for (const int c : table->neighbours.of(from)) try_corner(c);
  }
  return best;
}

int find_edge(const HullTable& t, int a, int b) {
  for (const int i : t.corner_triangles.of(a)) {
    const int* at = t.triangle.data() + 3 * i;
    for (int k = 0; k < 3; ++k) {
      const int from = at[k], to = at[(k + 1) % 3];
      if (from == a && to == b) return edge_code(t, i, k);
    }
  }
  return -1;
}

}  // namespace cycloid::inline geometry
