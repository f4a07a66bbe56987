// The convex hull of a mesh: its points, which are parameters, and its topology, which is not.
//
// Topology is that of the compiled mesh, decided once: corners of the hull with their neighbours,
// triangles that cover it, and polygons, the flat pieces that several triangles may make together.
// All of them name corners by their place in the hull; `vertex` is a corner's place in the mesh.
// Triangles run counter-clockwise, seen from outside. Features of a hull, by code:
//   0 .. n-1          corners
//   n .. n+3t-1       edge k of triangle i: n + 3 i + k, from its corner k to the next
//   n+3t .. n+4t-1    triangles
//
// The support point of a direction is found by climbing: from corner to neighbour as long as that
// is further along. On a convex hull this ends at a furthest one. It starts at a corner that the
// direction alone decides, by MuJoCo's table of 27 directions or a finer one (find_starts), or at
// the one found last in the same search. Small hulls are searched through.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "cycloid/geometry/shape.h"

namespace cycloid::inline geometry {

inline constexpr int kSeeds = 27;            // of climbing
inline constexpr int kSearchedThrough = 10;  // hulls of fewer corners
inline constexpr int kStartCells = 8;        // along the sides of a cube of directions
inline constexpr int kStarts = 6 * kStartCells * kStartCells;
inline constexpr int kMostCorners = 29000;  // of a hull: codes have room for them

// A part of a list for each element: members [first[i], first[i + 1]).
struct Lists {
  std::vector<int> first, member;
  std::span<const int> of(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return std::span(member).subspan(static_cast<std::size_t>(first[at]),
                                     static_cast<std::size_t>(first[at + 1] - first[at]));
  }
};

struct HullTable {
  std::vector<int> vertex;     // (corners)
  Lists neighbours;            // of a corner
  std::vector<int> triangle;   // (triangles, 3) corners
  Lists corner_triangles;      // of a corner
  Lists polygons;              // corners of each, counter-clockwise
  Lists corner_polygons;       // of a corner, rising
  std::vector<double> turned;  // (polygons, 3) d of (1), or empty: zero
  std::vector<int> seed;       // (kSeeds), or empty: all are searched
  std::vector<int> start;      // (kStarts) corners, or empty: `seed` has them
  int corners() const { return static_cast<int>(vertex.size()); }
  int triangles() const { return static_cast<int>(triangle.size() / 3); }
  int codes() const { return corners() + 4 * triangles(); }
};

// From triangles and polygons that name vertices of the mesh. `neighbours` may give the order in
// which a corner's neighbours are tried (mesh vertices, one list per corner of `corners`); empty:
// as the triangles have them. Throws ModelError unless the triangles are those of a closed surface.
struct HullParts {
  std::vector<int> corners;    // vertices of the mesh, in the order that `seed` names
  std::vector<int> triangles;  // (t, 3)
  Lists polygons;
  Lists neighbours;
  std::vector<int> seed;
};
HullTable make_hull(const HullParts& parts);

// Finds table.start, at these points (vertices, 3); hulls that are searched through need none.
void find_starts(const double* points, HullTable& table);

// A hull at the points that it has now. `tangent`: those of the points, for Dual numbers; null:
// they stand still.
struct Hull {
  const HullTable* table = nullptr;
  const float* single = nullptr;   // (vertices, 3), or
  const double* points = nullptr;  // (vertices, 3)
  const double* tangent = nullptr;
  const double* packed = nullptr;  // (corners, 3) the corners once more, or null
  double radius = 0;               // of a ball about the origin that holds them [m]

  template <class T>
  Vec3<T> vertex(int v) const {
    if constexpr (RealScalar<T>) {
      if (single) return {T(single[3 * v]), T(single[3 * v + 1]), T(single[3 * v + 2])};
      return {T(points[3 * v]), T(points[3 * v + 1]), T(points[3 * v + 2])};
    } else {
      using Value = decltype(T::value);
      const Vec3<Value> at = vertex<Value>(v);
      Vec3<T> out{T(at.x), T(at.y), T(at.z)};
      if (tangent) {
        for (int i = 0; i < 3; ++i) out[i].tangent[0] = Value(tangent[3 * v + i]);
      }
      return out;
    }
  }
  template <class T>
  Vec3<T> corner(int c) const {
    if constexpr (std::is_same_v<T, double>) {
      if (packed) return {packed[3 * c], packed[3 * c + 1], packed[3 * c + 2]};
    }
    return vertex<T>(table->vertex[static_cast<std::size_t>(c)]);
  }
  // Corner furthest along m, which is in the mesh's axes; `last`: where to start, or -1.
  int furthest(const Vec3<double>& m, int last) const;
};

// Where cotangents of the points go; null: nobody asked. `tangent`: those of Dual numbers.
struct HullBar {
  double *value = nullptr, *tangent = nullptr;

  template <class T>
  void add(const Hull& h, int corner, const Vec3<T>& bar) const {
    if (value) add_vertex(h.table->vertex[static_cast<std::size_t>(corner)], bar);
  }
  template <class T>
  void add_vertex(int v, const Vec3<T>& bar) const {
    if (!value) return;
    for (int i = 0; i < 3; ++i) {
      value[3 * v + i] += static_cast<double>(primal(bar[i]));
      if constexpr (!RealScalar<T>) {
        if (tangent) tangent[3 * v + i] += static_cast<double>(primal(bar[i].tangent[0]));
      }
    }
  }
};

enum class HullFeature { corner, edge, triangle };

// A feature by its corners: one, two or three.
struct HullPiece {
  HullFeature kind;
  int at[3], triangle;  // the triangle that an edge or a triangle belongs to
};

inline HullPiece hull_piece(const HullTable& t, int code) {
  const int n = t.corners(), edges = 3 * t.triangles();
  if (code < n) return {HullFeature::corner, {code, code, code}, -1};
  const bool is_edge = code < n + edges;
  const int i = is_edge ? (code - n) / 3 : code - n - edges, k = is_edge ? (code - n) % 3 : 0;
  const int* corner = t.triangle.data() + 3 * i;
  return {is_edge ? HullFeature::edge : HullFeature::triangle,
          {corner[k], corner[(k + 1) % 3], corner[(k + 2) % 3]},
          i};
}
inline int edge_code(const HullTable& t, int triangle, int k) {
  return t.corners() + 3 * triangle + k;
}
inline int triangle_code(const HullTable& t, int triangle) {
  return t.corners() + 3 * t.triangles() + triangle;
}

// The normal of triangle i, outwards, in the mesh's axes; zero where it has none.
template <class T>
Vec3<T> triangle_normal(const Hull& h, int i) {
  const int* at = h.table->triangle.data() + 3 * i;
  const Vec3<T> a = h.corner<T>(at[0]);
  return direction(cross(h.corner<T>(at[1]) - a, h.corner<T>(at[2]) - a), Vec3<T>{}).u;
}

// An edge between two corners: its code, or -1 where they are no neighbours.
int find_edge(const HullTable& t, int a, int b);

// Polygons' normals (polygons, 3) that were found before the points were rounded: `turned` of the
// table makes them those of (1) at these points (vertices, 3).
void keep_normals(const double* points, std::span<const double> normals, HullTable& t);

// A polygon's normal, outwards, in the mesh's axes (Newell), turned by a constant d, for points are
// single numbers and the compiled normals are not:
//   N = ½ Σ p_k × p_{k+1},   e along N/|N| + d                                               (1)
template <class T>
Direction<T> newell_normal(const Hull& h, int polygon) {
  const std::span<const int> at = h.table->polygons.of(polygon);
  const Vec3<T> from = h.corner<T>(at[0]);
  Vec3<T> sum{};
  for (std::size_t k = 1; k + 1 < at.size(); ++k) {
    sum += cross(h.corner<T>(at[k]) - from, h.corner<T>(at[k + 1]) - from);
  }
  return direction(sum * T(0.5), Vec3<T>{T(0), T(0), T(1)});
}

template <class T>
Direction<T> polygon_normal(const Hull& h, int polygon) {
  const Direction<T> n = newell_normal<T>(h, polygon);
  if (h.table->turned.empty()) return n;
  const double* d = h.table->turned.data() + 3 * polygon;
  return direction(n.u + Vec3<T>{T(d[0]), T(d[1]), T(d[2])}, n.u);
}

// p̄_k += ½ (p_{k+1} - p_{k-1}) × N̄                                                          (1)
template <class T>
void polygon_normal_bar(const Hull& h, int polygon, const Vec3<T>& e_bar, const HullBar& bar) {
  if (!bar.value) return;
  const std::span<const int> at = h.table->polygons.of(polygon);
  const std::size_t n = at.size();
  Vec3<T> u_bar = e_bar;
  if (!h.table->turned.empty()) u_bar = direction_bar(polygon_normal<T>(h, polygon), e_bar);
  const Vec3<T> N_bar = direction_bar(newell_normal<T>(h, polygon), u_bar);
  for (std::size_t k = 0; k < n; ++k) {
    const Vec3<T> across = h.corner<T>(at[(k + 1) % n]) - h.corner<T>(at[(k + n - 1) % n]);
    bar.add(h, at[k], cross(across, N_bar) * T(0.5));
  }
}

}  // namespace cycloid::inline geometry
