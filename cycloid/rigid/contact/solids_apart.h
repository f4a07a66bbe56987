// A third look at pairs with a mesh or a height field: boxes about them, in all lanes at once.
//
// Each geom lies in a box along its own axes, with middle m and half-lengths h, widened by a ball
// of radius ρ: a capsule's segment is a box, a mesh has that of its corners. Two convex bodies that
// some direction separates do not touch; of boxes the 3 + 3 axes and their 9 cross products are the
// only directions that need a look (Gottschalk1996). With C = R₁ᵀR₂ and t the way
// from middle to middle in the first box's axes:
//   axis i of 1       |t_i| > h₁ᵢ + Σ_j h₂ⱼ |C_ij| + r,         r = ρ₁ + ρ₂ + margin          (1)
//   axis j of 2       |Σ_i t_i C_ij| > h₂ⱼ + Σ_i h₁ᵢ |C_ij| + r                               (2)
//   i of 1 × j of 2   |t_k C_lj - t_l C_kj| > h₁ₖ |C_lj| + h₁ₗ |C_kj|
//                                           + h₂ₘ |C_in| + h₂ₙ |C_im| + r                     (3)
// with (i, l, k), (j, m, n) in cyclic order; (3) is for directions of length at most 1, on which r
// asks for more than it need. A ball against a box: the middle's distance from it. A plane: its
// normal alone. A height field: the heights of the cells over which the box lies, where they are
// few, are all below it. All sides are widened by a few units in the last place of the lengths
// that meet.
#pragma once

#include <limits>

#include "cycloid/base/bits.h"
#include "cycloid/rigid/contact/solid_shape.h"
#include "cycloid/rigid/solver/lane_bits.h"

namespace cycloid::inline rigid {

template <class S>
struct BoxAbout {
  Vec3<S> middle, half;  // along the geom's axes, from its origin
  S round;               // ρ
};

template <class S>
BoxAbout<S> box_about(GeomKind kind, const S* size, const SolidShape* solid) {
  const Vec3<S> zero{S(0), S(0), S(0)};
  if (is_solid(kind)) {
    const auto rounded = [](const Vec3<double>& v) {
      using T = Scalar<S>;
      return Vec3<S>{S(static_cast<T>(v.x)), S(static_cast<T>(v.y)), S(static_cast<T>(v.z))};
    };
    return {rounded(solid->middle), rounded(solid->half), S(0)};
  }
  switch (kind) {
    case GeomKind::sphere: return {zero, zero, size[0]};
    case GeomKind::capsule: return {zero, {S(0), S(0), size[1]}, size[0]};
    case GeomKind::cylinder: return {zero, {size[0], size[0], size[1]}, S(0)};
    default: return {zero, load_vec3(size), S(0)};
  }
}

// Whether two boxes are apart: (1) to (3).
template <class S>
Mask<S> boxes_apart(const BoxAbout<S>& a, const Pose<S>& x1, const BoxAbout<S>& b,
                    const Pose<S>& x2, const S& margin) {
  constexpr double wide = 64 * double(std::numeric_limits<Scalar<S>>::epsilon());
  const Vec3<S> t = transpose_vector_product(x1.R, x2.p - x1.p + x2.R * b.middle) - a.middle;
  S C[3][3], A[3][3];
  for (int j = 0; j < 3; ++j) {
    const Vec3<S> column = transpose_vector_product(x1.R, axis(x2, j));
    for (int i = 0; i < 3; ++i) C[i][j] = column[i], A[i][j] = abs(column[i]);
  }
  const S lengths = abs(t.x) + abs(t.y) + abs(t.z) + a.half.x + a.half.y + a.half.z + b.half.x +
                    b.half.y + b.half.z + a.round + b.round + abs(margin);
  const S r = a.round + b.round + margin + S(wide) * lengths;
  Mask<S> apart(false);
  for (int i = 0; i < 3; ++i) {
    const S reach = a.half[i] + b.half.x * A[i][0] + b.half.y * A[i][1] + b.half.z * A[i][2] + r;
    apart = apart | (abs(t[i]) > reach);  // (1)
  }
  for (int j = 0; j < 3; ++j) {
    const S along = t.x * C[0][j] + t.y * C[1][j] + t.z * C[2][j];
    const S reach = b.half[j] + a.half.x * A[0][j] + a.half.y * A[1][j] + a.half.z * A[2][j] + r;
    apart = apart | (abs(along) > reach);  // (2)
  }
  if (all(apart)) return apart;
  for (int i = 0; i < 3; ++i) {
    const int l = (i + 1) % 3, k = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int m = (j + 1) % 3, n = (j + 2) % 3;
      const S along = t[k] * C[l][j] - t[l] * C[k][j];
      const S reach =
          a.half[l] * A[k][j] + a.half[k] * A[l][j] + b.half[m] * A[i][n] + b.half[n] * A[i][m] + r;
      apart = apart | (abs(along) > reach);  // (3)
    }
  }
  return apart;
}

// Whether a ball about p and a box are apart.
template <class S>
Mask<S> ball_apart(const Vec3<S>& p, const S& radius, const BoxAbout<S>& box, const Pose<S>& x,
                   const S& margin) {
  constexpr double wide = 64 * double(std::numeric_limits<Scalar<S>>::epsilon());
  const Vec3<S> t = transpose_vector_product(x.R, p - x.p) - box.middle;
  S square = S(0), lengths = radius + abs(margin);
  for (int i = 0; i < 3; ++i) {
    const S beyond = max(abs(t[i]) - box.half[i], S(0));
    square += beyond * beyond;
    lengths += abs(t[i]) + box.half[i];
  }
  const S reach = max(radius + box.round + margin + S(wide) * lengths, S(0));
  return square > reach * reach;
}

inline constexpr int kMostHeights = 64;  // that are looked at

// Whether a box lies above all heights around it: between low and high, in the field's axes.
inline bool above_heights(const HeightField& field, const Vec3<double>& low,
                          const Vec3<double>& high) {
  const auto cell = [](double at, double half, int points) {  // NaN: the first
    const double x = (at + half) / (2 * half) * (points - 1);
    return x > 0 ? static_cast<int>(std::min<double>(x, points - 1)) : 0;
  };
  const double *size = field.size, a = size[0], b = size[1];
  const int c0 = cell(low.x, a, field.columns), r0 = cell(low.y, b, field.rows);
  const int c1 = std::min(cell(high.x, a, field.columns) + 1, field.columns - 1);
  const int r1 = std::min(cell(high.y, b, field.rows) + 1, field.rows - 1);
  if ((c1 - c0 + 1) * (r1 - r0 + 1) > kMostHeights || !(-size[3] < low.z)) return false;
  for (int r = r0; r <= r1; ++r) {
    for (int c = c0; c <= c1; ++c) {
      if (!(field.height(r * field.columns + c) < low.z)) return false;
    }
  }
  return true;
}

// Lanes of `asked` in which the box of a geom lies above a height field.
template <class S>
Mask<S> above_field(const HeightField& field, const Pose<S>& x1, const BoxAbout<S>& b,
                    const Pose<S>& x2, const S& margin, const Mask<S>& asked) {
  constexpr double wide = 64 * double(std::numeric_limits<Scalar<S>>::epsilon());
  const Vec3<S> way = x2.p - x1.p + x2.R * b.middle;
  const S lengths = abs(way.x) + abs(way.y) + abs(way.z) + b.half.x + b.half.y + b.half.z;
  Vec3<S> low, high;
  for (int i = 0; i < 3; ++i) {
    const Vec3<S> own = transpose_vector_product(x2.R, axis(x1, i));
    const S middle = dot(axis(x1, i), way), reach = abs(own.x) * b.half.x + abs(own.y) * b.half.y +
                                                    abs(own.z) * b.half.z + b.round + margin +
                                                    S(wide) * lengths;
    low[i] = middle - reach, high[i] = middle + reach;
  }
  unsigned above = 0;
  for (unsigned bits = lane_bits(asked); bits != 0; bits &= bits - 1) {
    const int l = lowest_bit(bits);
    const auto corner = [&](const Vec3<S>& v) {
      return Vec3<double>{primal(take_lane(v.x, l)), primal(take_lane(v.y, l)),
                          primal(take_lane(v.z, l))};
    };
    above |= unsigned(above_heights(field, corner(low), corner(high))) << l;
  }
  return lanes_of_bits<S>(above);
}

// For geoms in the order of their kinds, one of them a solid.
template <class S>
Mask<S> solids_apart(GeomKind kind1, const S* size1, const Pose<S>& x1, GeomKind kind2,
                     const S* size2, const Pose<S>& x2, const PairSolids& solids, const S& margin) {
  const BoxAbout<S> b = box_about(kind2, size2, solids.two);
  if (kind1 == GeomKind::plane) {
    constexpr double wide = 64 * double(std::numeric_limits<Scalar<S>>::epsilon());
    const Vec3<S> n = axis(x1, 2), own = transpose_vector_product(x2.R, n), way = x2.p - x1.p;
    const S far = dot(n, way) + dot(own, b.middle);
    const S reach = abs(own.x) * b.half.x + abs(own.y) * b.half.y + abs(own.z) * b.half.z + margin;
    const S lengths = abs(way.x) + abs(way.y) + abs(way.z) + b.half.x + b.half.y + b.half.z;
    return far > reach + S(wide) * lengths;
  }
  const BoxAbout<S> a = box_about(kind1, size1, solids.one);
  if (kind1 == GeomKind::sphere) return ball_apart(x1.p, size1[0], b, x2, margin);
  const Mask<S> apart = kind2 == GeomKind::sphere ? ball_apart(x2.p, size2[0], a, x1, margin)
                                                  : boxes_apart(a, x1, b, x2, margin);
  if (kind1 != GeomKind::hfield || all(apart)) return apart;
  return apart | above_field(solids.one->field, x1, b, x2, margin, Mask<S>(!apart));
}

}  // namespace cycloid::inline rigid
