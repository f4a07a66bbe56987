// Meshes and height fields that touch: their hulls and grids, with the points and heights of a run.
//
// Topology is the plan's; points and heights are arrays of parameters (system/parameters.h), which
// all lanes of a chunk share and of which there is one cotangent. They are set once per run.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cycloid/geometry/convex/field_pair.h"
#include "cycloid/geometry/convex/plane_mesh.h"
#include "cycloid/model/model.h"

namespace cycloid::inline rigid {

inline constexpr int kMostTouches = kFieldTouches;  // of one pair

// What a geom with a mesh or a height field is.
struct SolidShape {
  Hull hull;
  HeightField field;
  HullBar hull_bar;
  HeightBar field_bar;
  double radius;              // of a ball about the origin that holds it [m]
  Vec3<double> middle, half;  // and of a box along its axes
  const bool* left_out;       // lanes whose cotangents do not count, or null
};

// The solids of a pair, null where a geom is none. With a solid, the second half of each code lies
// kMostTouches behind the first (geometry/convex/mesh_pair.h).
struct PairSolids {
  const SolidShape *one = nullptr, *two = nullptr;
  bool gives = false;  // cotangents of points and heights are wanted
  PairKnown known{};   // before a search
};

constexpr bool is_solid(GeomKind kind) {
  return kind == GeomKind::mesh || kind == GeomKind::hfield;
}

// Points or heights of a run, or the model's where there are none.
template <class T>
struct SolidArrays {
  const T* const* values = nullptr;  // of each array
  double* const* bars = nullptr;
  const bool* left_out = nullptr;
  const T* const* tangents = nullptr;  // in dual numbers, those of the values and of their bars
  double* const* bar_tangents = nullptr;
};

// Where array `i` of a run has its tangents and the cotangents of both.
template <class T, class Values, class Bar>
void set_derivatives(const SolidArrays<T>& arrays, int i, Values& to, Bar& bar) {
  if (i < 0) return;
  if (arrays.bars) bar.value = arrays.bars[i];
  if (arrays.bar_tangents) bar.tangent = arrays.bar_tangents[i];
  if constexpr (std::is_same_v<T, double>) {
    if (arrays.tangents) to.tangent = arrays.tangents[i];
  }
}

template <class T, class Values>
void set_numbers(const T* run, const std::vector<double>& usual, Values& to, const double*& wide) {
  to.single = nullptr;
  wide = usual.data();
  if (!run) return;
  if constexpr (sizeof(T) == sizeof(float)) {
    to.single = run, wide = nullptr;
  } else {
    wide = run;
  }
}

// packed: (corners, 3), room for the hull's corners; null: they are looked up in the mesh.
template <class T>
SolidShape solid_mesh(const Mesh& mesh, const HullTable& table, int array,
                      const SolidArrays<T>& arrays, double* packed = nullptr) {
  SolidShape s{};
  s.hull.table = &table;
  set_numbers(arrays.values && array >= 0 ? arrays.values[array] : nullptr, mesh.vertex, s.hull,
              s.hull.points);
  set_derivatives(arrays, array, s.hull, s.hull_bar);
  double square = 0;
  Vec3<double> low = s.hull.corner<double>(0), high = low;
  for (int c = 0; c < table.corners(); ++c) {
    const Vec3<double> v = s.hull.corner<double>(c);
    square = std::max(square, dot(v, v));
    for (int k = 0; k < 3; ++k) {
      low[k] = std::min(low[k], v[k]), high[k] = std::max(high[k], v[k]);
      if (packed) packed[3 * c + k] = v[k];
    }
  }
  s.radius = s.hull.radius = std::sqrt(square);
  s.middle = (low + high) * 0.5, s.half = (high - low) * 0.5;
  s.hull.packed = packed;
  s.left_out = arrays.left_out;
  return s;
}

template <class T>
SolidShape solid_field(const HeightData& data, int array, const SolidArrays<T>& arrays) {
  SolidShape s{};
  s.field.rows = data.rows, s.field.columns = data.columns;
  std::copy_n(data.size.begin(), 4, s.field.size);
  set_numbers(arrays.values && array >= 0 ? arrays.values[array] : nullptr, data.data, s.field,
              s.field.data);
  set_derivatives(arrays, array, s.field, s.field_bar);
  double tall = std::abs(s.field.size[3]), low = -s.field.size[3], high = low;
  for (int i = 0; i < data.rows * data.columns; ++i) {
    const double height = s.field.height(i);
    tall = std::max(tall, std::abs(height));
    low = std::min(low, height), high = std::max(high, height);
  }
  const double a = data.size[0], b = data.size[1];
  s.middle = {0, 0, 0.5 * (low + high)}, s.half = {a, b, 0.5 * (high - low)};
  s.radius = s.field.radius = std::sqrt(a * a + b * b + tall * tall);
  s.left_out = arrays.left_out;
  return s;
}

// The parts of a mesh's hull as room geometry takes them.
inline HullParts hull_parts(const Mesh& mesh) {
  HullParts parts;
  parts.corners = mesh.corners;
  parts.triangles = mesh.triangles;
  const auto lists = [](const std::vector<int>& members, const std::vector<int>& ends) {
    Lists out{{0}, members};
    out.first.insert(out.first.end(), ends.begin(), ends.end());
    return out;
  };
  parts.polygons = lists(mesh.polygons, mesh.polygon_end);
  parts.neighbours = lists(mesh.neighbours, mesh.neighbour_end);
  parts.seed = mesh.seeds;
  return parts;
}

// Places for touches of a pair with a solid.
constexpr int most_solid_touches(GeomKind k1, GeomKind k2) {
  if (k1 == GeomKind::hfield) return kFieldTouches;
  return k1 == GeomKind::plane ? kPlaneMeshTouches : mesh_touches(k1, k2);
}

// Kinds in order: the second is a mesh, or the first a height field.
template <class S>
void collide_solids(GeomKind k1, GeomKind k2, const S* s1, const Pose<S>& x1, const S* s2,
                    const Pose<S>& x2, const S& margin, const PairSolids& solids, Touch<S>* out,
                    S* feature) {
  S* const feature2 = feature + kMostTouches;
  const Hull* const hull2 = k2 == GeomKind::mesh ? &solids.two->hull : nullptr;
  if (k1 == GeomKind::hfield) {
    return collide_field(k2, s1, x1, s2, x2, margin, solids.one->field, hull2, out, feature,
                         feature2, solids.known);
  }
  if (k1 == GeomKind::plane) {
    for (int k = 0; k < kPlaneMeshTouches; ++k) feature2[k] = S(0);
    return collide_plane_mesh(x1, s2, x2, margin, *hull2, out, feature, solids.known);
  }
  const PairHulls hulls{k1 == GeomKind::mesh ? &solids.one->hull : nullptr, hull2};
  collide_mesh(k1, k2, s1, x1, s2, x2, margin, hulls, out, feature, feature2, solids.known);
}

// collide_solids where the features that it found are known, bit for bit; false where they do not
// suffice.
template <class S>
bool collide_solids_again(GeomKind k1, GeomKind k2, const S* s1, const Pose<S>& x1, const S* s2,
                          const Pose<S>& x2, const PairSolids& solids, const S* feature,
                          Touch<S>* out) {
  const S* const feature2 = feature + kMostTouches;
  const Hull* const hull2 = k2 == GeomKind::mesh ? &solids.two->hull : nullptr;
  if (k1 == GeomKind::plane) {
    plane_mesh_touches_again(x1, x2, *hull2, feature, out);
    return true;
  }
  if (!known_by_features(k1, k2)) return false;
  if (k1 == GeomKind::hfield) {
    field_touches_again(k2, s1, x1, s2, x2, solids.one->field, hull2, feature, feature2, out);
  } else {
    const PairHulls hulls{k1 == GeomKind::mesh ? &solids.one->hull : nullptr, hull2};
    mesh_touches_again(k1, k2, s1, x1, s2, x2, hulls, feature, feature2, out);
  }
  return true;
}

template <class S>
void collide_solids_pullback(GeomKind k1, GeomKind k2, const S* s1, const Pose<S>& x1, const S* s2,
                             const Pose<S>& x2, const PairSolids& solids, const S* feature,
                             const Touch<S>* out, const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                             PoseBar<S>& x2_bar, S* s1_bar, S* s2_bar) {
  const S* const feature2 = feature + kMostTouches;
  const SolidShape& own = k1 == GeomKind::hfield ? *solids.one : *solids.two;
  const bool* const left_out = own.left_out;
  const Hull* const hull2 = k2 == GeomKind::mesh ? &solids.two->hull : nullptr;
  const HullBar none{}, bar2 = hull2 && solids.gives ? solids.two->hull_bar : none;
  if (k1 == GeomKind::hfield) {
    return collide_field_pullback(
        k2, s1, x1, s2, x2, solids.one->field, hull2, feature, feature2, out_bar, x1_bar, x2_bar,
        s1_bar, s2_bar, solids.gives ? solids.one->field_bar : HeightBar{}, bar2, left_out, out);
  }
  if (k1 == GeomKind::plane) {
    return collide_plane_mesh_pullback(x1, x2, *hull2, feature, out_bar, x1_bar, x2_bar, bar2,
                                       left_out);
  }
  const bool both = k1 == GeomKind::mesh;
  const PairHulls hulls{both ? &solids.one->hull : nullptr, hull2};
  collide_mesh_pullback(k1, k2, s1, x1, s2, x2, hulls, feature, feature2, out_bar, x1_bar, x2_bar,
                        s1_bar, s2_bar,
                        {both && solids.gives ? solids.one->hull_bar : none, bar2, left_out}, out);
}

}  // namespace cycloid::inline rigid
