#include "cycloid/geometry/convex/hull.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cycloid/base/error.h"

namespace cycloid::inline geometry {
namespace {

constexpr double kMostTurned = 0.05;  // sine; a normal that is further off is not this polygon's

Lists lists_of(const std::vector<std::vector<int>>& rows) {
  Lists out;
  out.first.push_back(0);
  for (const std::vector<int>& row : rows) {
    out.member.insert(out.member.end(), row.begin(), row.end());
    out.first.push_back(static_cast<int>(out.member.size()));
  }
  return out;
}

// The cell of a direction on the cube |x|, |y|, |z| ≤ 1; 0 where it is none.
int cell_of(const Vec3<double>& m) {
  int k = 0;
  for (int i = 1; i < 3; ++i) k = std::abs(m[i]) > std::abs(m[k]) ? i : k;
  const double scale = 0.5 * kStartCells / std::abs(m[k]);
  const auto place = [&](double x) {
    const double at = x * scale + 0.5 * kStartCells;
    return at > 0 ? (at < kStartCells ? static_cast<int>(at) : kStartCells - 1) : 0;
  };
  const int side = 2 * k + (m[k] > 0);
  return (side * kStartCells + place(m[(k + 1) % 3])) * kStartCells + place(m[(k + 2) % 3]);
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

void keep_normals(const double* points, std::span<const double> normals, HullTable& t) {
  Hull h;
  h.table = &t;
  h.points = points;
  std::vector<double> turned;
  for (int i = 0; i < static_cast<int>(normals.size() / 3); ++i) {
    const Vec3<double> n = newell_normal<double>(h, i).u;
    const double* given = normals.data() + 3 * i;
    const Vec3<double> d{given[0] - n.x, given[1] - n.y, given[2] - n.z};
    const bool near = dot(d, d) < kMostTurned * kMostTurned;
    for (int k = 0; k < 3; ++k) turned.push_back(near ? d[k] : 0);
  }
  t.turned = std::move(turned);
}

void find_starts(const double* points, HullTable& table) {
  table.start.clear();
  if (table.seed.empty()) return;
  Hull h;
  h.table = &table;
  h.points = points;
  std::vector<int> start;
  for (int cell = 0; cell < kStarts; ++cell) {
    const int k = cell / (kStartCells * kStartCells) / 2;
    const auto middle = [](int i) { return (2 * i + 1) / double(kStartCells) - 1; };
    Vec3<double> m;
    m[k] = cell / (kStartCells * kStartCells) % 2 ? 1 : -1;
    m[(k + 1) % 3] = middle(cell / kStartCells % kStartCells);
    m[(k + 2) % 3] = middle(cell % kStartCells);
    start.push_back(h.furthest(m, start.empty() ? -1 : start.back()));
  }
  table.start = std::move(start);
}

int Hull::furthest(const Vec3<double>& m, int last) const {
  int best = 0;
  double most = -1e300;
  const auto try_corner = [&](int c) {
    const double d = dot(m, corner<double>(c));
    const bool more = d > most;
    most = more ? d : most, best = more ? c : best;
  };
  if (table->seed.empty()) {
    const int n = table->corners();
    for (int c = 0; c < n; ++c) try_corner(c);
    return best;
  }
  if (last >= 0) try_corner(last);
  if (!table->start.empty()) {
    try_corner(table->start[static_cast<std::size_t>(cell_of(m))]);
  } else {
    int cell = 0;
    for (int k = 0; k < 3; ++k) cell = 3 * cell + (m[k] > 0.4) - (m[k] < -0.4) + 1;
    try_corner(table->seed[static_cast<std::size_t>(cell)]);
  }
  const int *first = table->neighbours.first.data(), *member = table->neighbours.member.data();
  for (int from = -1; from != best;) {
    from = best;
    for (int k = first[from]; k < first[from + 1]; ++k) try_corner(member[k]);
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
