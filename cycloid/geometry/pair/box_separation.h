// The direction in which two boxes are furthest apart, in lanes.
//
//   faces 0..2 of box 1, 3..5 of box 2:   |p_i| - s_i - Σ_k |rot_ik| s'_k                     (1)
//   edges 6 + 3 i + j, n = e_i × e'_j / |e_i × e'_j|:  |n·p| - Σ_k |n_k| s_k - Σ_k |n'_k| s'_k  (2)
// s: half-lengths, p: the other box's centre in a box's axes, n': n in the axes of box 2. A
// direction with a separation beyond the limit shows that the boxes do not touch (Gottschalk, Lin &
// Manocha 1996). Faces are preferred, as box_box.h says. Nothing here is differentiated.
#pragma once

#include "cycloid/geometry/pair/by_lane.h"

namespace cycloid::inline geometry {

inline constexpr double kSeparationRounding = 1e-13;  // relative to the boxes' extent
inline constexpr double kParallelEdges = 1e-16;       // squared sine without a cross product
inline constexpr double kEdgeBias = 1e-6;             // see box_box.h
inline constexpr double kEdgeGain = 0.05;
inline constexpr double kEdgeIsFace = 0.99;  // cosine of the direction to the face's normal

// Both boxes in the axes of each other.
template <class X>
struct BoxRelative {
  Mat3<X> rot;       // columns: axes of box 2 in those of box 1
  Vec3<X> p21, p12;  // centre of box 2 from box 1 in box 1's axes, and the reverse in box 2's
  X extent;
};

template <class X>
CYCLOID_HD BoxRelative<X> relative_boxes(const GeomPair<X>& g) {
  BoxRelative<X> r;
  r.rot = transpose(g.x1.R) * g.x2.R;
  r.p21 = transpose_vector_product(g.x1.R, g.x2.p - g.x1.p);
  r.p12 = transpose_vector_product(g.x2.R, g.x1.p - g.x2.p);
  r.extent = X(0);
  for (int k = 0; k < 3; ++k) r.extent += g.size1[k] + g.size2[k];
  return r;
}

// Beyond this boxes do not touch.
template <class X>
CYCLOID_HD X separation_limit(const BoxRelative<X>& r, const X& margin) {
  return margin + X(kSeparationRounding) * r.extent;
}

template <class X>
CYCLOID_HD X half_width(const Vec3<X>& direction, const Vec3<X>& size) {
  X sum = X(0);
  for (int k = 0; k < 3; ++k) sum += abs(direction[k]) * size[k];
  return sum;
}

// Axis of a face of box 1 in box 2's axes: a row of rot; of box 2 in box 1's: a column.
template <class X>
CYCLOID_HD Vec3<X> row_of(const Mat3<X>& m, int i) {
  return {m(i, 0), m(i, 1), m(i, 2)};
}
template <class X>
CYCLOID_HD Vec3<X> column_of(const Mat3<X>& m, int j) {
  return {m(0, j), m(1, j), m(2, j)};
}

// Unit cross product of edge i of box 1 and edge j of box 2, in box 1's axes. Returns where there
// is one: the edges are not parallel.
template <class X>
CYCLOID_HD Mask<X> edge_direction(const BoxRelative<X>& r, int i, int j, Vec3<X>& n) {
  const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  n = {X(0), X(0), X(0)};
  n[i1] = -r.rot(i2, j);
  n[i2] = r.rot(i1, j);
  const X square = dot(n, n);
  const Mask<X> crosses = square >= X(kParallelEdges);
  n = n * (X(1) / sqrt(select(crosses, square, X(1))));
  return crosses;
}

// (2), times |n|, which is at most 1. n has two components in the axes of either box.
template <class X>
CYCLOID_HD X scaled_edge_separation(const GeomPair<X>& g, const BoxRelative<X>& r, int i, int j) {
  const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
  const X a = r.rot(i1, j), b = r.rot(i2, j);
  return abs(a * r.p21[i2] - b * r.p21[i1]) - abs(b) * g.size1[i1] - abs(a) * g.size1[i2] -
         abs(r.rot(i, j2)) * g.size2[j1] - abs(r.rot(i, j1)) * g.size2[j2];
}

// A separation, and the number of its direction.
template <class X>
struct BoxSeparation {
  X value, which;
};

template <class X>
CYCLOID_HD BoxSeparation<X> face_separation(const GeomPair<X>& g, const BoxRelative<X>& r) {
  BoxSeparation<X> best{X(-1e300), X(-1)};
  for (int k = 0; k < 6; ++k) {
    const int i = k % 3;
    const X value = k < 3 ? abs(r.p21[i]) - g.size1[i] - half_width(row_of(r.rot, i), g.size2)
                          : abs(r.p12[i]) - g.size2[i] - half_width(column_of(r.rot, i), g.size1);
    const Mask<X> better = value > best.value;  // (1)
    best = {select(better, value, best.value), select(better, X(k), best.which)};
  }
  return best;
}

// The number of the best direction of all fifteen, -1 where one separates the boxes.
template <class X>
CYCLOID_HD X box_separation(const GeomPair<X>& g, const BoxRelative<X>& r, const X& limit) {
  const BoxSeparation<X> face = face_separation(g, r);
  Mask<X> meet = face.value <= limit;
  if (!any(meet)) return X(-1);
  BoxSeparation<X> best = face;
  Vec3<X> best_direction{X(0), X(0), X(0)};
  // A separation is negative and |n| ≤ 1: one that is less than the face's before it is divided by
  // |n| is less after it. Most are, and need no root.
  const X hopeless = min(face.value, X(0)) - X(kSeparationRounding) * r.extent;
  for (int k = 0; k < 9; ++k) {
    Mask<X> looked = meet & Mask<X>(!(scaled_edge_separation(g, r, k / 3, k % 3) < hopeless));
    if (!any(looked)) continue;
    Vec3<X> n;
    looked = looked & edge_direction(r, k / 3, k % 3, n);
    const X value = abs(dot(n, r.p21)) - half_width(n, g.size1) -
                    half_width(transpose_vector_product(r.rot, n), g.size2);  // (2)
    meet = meet & Mask<X>(!(looked & (value > limit)));
    const Mask<X> better =
        looked & (value - X(kEdgeBias) * abs(value) > best.value) & (value > face.value);
    best = {select(better, value, best.value), select(better, X(6 + k), best.which)};
    best_direction = select(better, n, best_direction);
  }
  const Mask<X> edges = best.which >= X(6);
  X which = best.which;
  if (any(edges)) {
    Vec3<X> normal{X(0), X(0), X(0)};
    for (int k = 0; k < 6; ++k) {
      Vec3<X> axis_k{X(k == 0), X(k == 1), X(k == 2)};
      if (k >= 3) axis_k = column_of(r.rot, k - 3);
      normal = select(face.which == X(k), axis_k, normal);
    }
    const Mask<X> alike = abs(dot(normal, best_direction)) > X(kEdgeIsFace);
    const Mask<X> little = best.value < face.value + X(kEdgeGain) * abs(face.value) + X(kMinLength);
    which = select(edges & alike & little, face.which, which);
  }
  return select(meet, which, X(-1));
}

}  // namespace cycloid::inline geometry
