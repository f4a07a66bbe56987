// Pairs that branch heavily are collided lane by lane, in double.
//
// A search (clipping, GJK) takes another path in every lane, so lanes are visited one at a time:
// only those within reach on the way there, only those whose touches have a cotangent on the way
// back. A lane's numbers are taken out as doubles, whatever the element type of S, or as Duals of
// them; so a lane never sees its neighbours, and float lanes search with double's safety.
//
// A pair is given by two functions:
//   find(pair, margin, found)     the contacts of one lane, in double: a code for the discrete
//                                 features of each, and its normal; returns their number
//   touch(pair, code, normal)     the contact of such a code, generic in the scalar and
//                                 differentiable at fixed code; `normal` starts iterations
// The code is what a place's `feature` holds: an integer below 2^24, exact in float. (Pairs with a
// mesh have larger ones, in two numbers: mesh_pair.h.)
#pragma once

#include <type_traits>

#include "cycloid/geometry/bounding.h"
#include "cycloid/geometry/convex/hull.h"
#include "cycloid/math/pack.h"

namespace cycloid::inline geometry {

// The scalar of one lane: double, or Duals over double where S is a Dual.
template <class S>
struct OneLane {
  using Type = double;
};
template <class S, int N>
struct OneLane<Dual<S, N>> {
  using Type = Dual<typename OneLane<S>::Type, N>;
};
template <class S>
using LaneScalar = typename OneLane<S>::Type;

template <RealScalar S>
CYCLOID_HD double take_lane(const S& x, int l) {
  return static_cast<double>(lane(x, l));
}
template <class S, int N>
auto take_lane(const Dual<S, N>& x, int l) {
  return LaneScalar<Dual<S, N>>::make(take_lane(x.value, l),
                                      [&](int i) { return take_lane(x.tangent[i], l); });
}
template <RealScalar S>
CYCLOID_HD void put_lane(S& x, int l, double value) {
  set_lane(x, l, static_cast<Scalar<S>>(value));
}
template <class S, int N>
void put_lane(Dual<S, N>& x, int l, const LaneScalar<Dual<S, N>>& value) {
  put_lane(x.value, l, value.value);
  for (int i = 0; i < N; ++i) put_lane(x.tangent[i], l, value.tangent[i]);
}
template <class S>
CYCLOID_HD void add_lane(S& x, int l, const LaneScalar<S>& value) {
  put_lane(x, l, take_lane(x, l) + value);
}

template <class S>
CYCLOID_HD Vec3<LaneScalar<S>> take_lane(const Vec3<S>& v, int l) {
  return {take_lane(v.x, l), take_lane(v.y, l), take_lane(v.z, l)};
}
template <class S>
CYCLOID_HD void put_lane(Vec3<S>& v, int l, const Vec3<LaneScalar<S>>& value) {
  for (int i = 0; i < 3; ++i) put_lane(v[i], l, value[i]);
}
template <class S>
CYCLOID_HD void add_lane(Vec3<S>& v, int l, const Vec3<LaneScalar<S>>& value) {
  for (int i = 0; i < 3; ++i) add_lane(v[i], l, value[i]);
}
template <class S>
CYCLOID_HD Pose<LaneScalar<S>> take_lane(const Pose<S>& x, int l) {
  Pose<LaneScalar<S>> y;
  for (int i = 0; i < 9; ++i) y.R.e[i] = take_lane(x.R.e[i], l);
  y.p = take_lane(x.p, l);
  return y;
}

// Double in as many lanes.
template <class S>
struct InDouble {
  using Type = double;
};
template <BuiltinScalar T, int N>
struct InDouble<Pack<T, N>> {
  using Type = Pack<double, N>;
};
template <class S>
using DoubleLanes = typename InDouble<S>::Type;

// Rounds to S, lane by lane.
template <class S>
CYCLOID_INLINE S narrow(const DoubleLanes<S>& x) {
  if constexpr (BuiltinScalar<S>) {
    return static_cast<S>(x);
  } else {
    return convert<Scalar<S>>(x);
  }
}
template <class S>
CYCLOID_INLINE Vec3<S> narrow(const Vec3<DoubleLanes<S>>& v) {
  return {narrow<S>(v.x), narrow<S>(v.y), narrow<S>(v.z)};
}
template <class S>
CYCLOID_INLINE Vec3<DoubleLanes<S>> widen_vector(const Vec3<S>& v) {
  return {widen(v.x), widen(v.y), widen(v.z)};
}

// Two geoms of one lane, or of all.
template <class T>
struct GeomPair {
  Pose<T> x1;
  Vec3<T> size1;
  Pose<T> x2;
  Vec3<T> size2;
  const Hull* hull1 = nullptr;  // of a mesh
  const Hull* hull2 = nullptr;
};
template <class T>
struct GeomPairBar {
  PoseBar<T> x1{};
  Vec3<T> size1{};
  PoseBar<T> x2{};
  Vec3<T> size2{};
  HullBar hull1{}, hull2{};
};

template <class T>
GeomPair<double> primal_pair(const GeomPair<T>& g) {
  GeomPair<double> out;
  for (int i = 0; i < 9; ++i) out.x1.R.e[i] = primal(g.x1.R.e[i]);
  for (int i = 0; i < 9; ++i) out.x2.R.e[i] = primal(g.x2.R.e[i]);
  for (int i = 0; i < 3; ++i) {
    out.x1.p[i] = primal(g.x1.p[i]), out.size1[i] = primal(g.size1[i]);
    out.x2.p[i] = primal(g.x2.p[i]), out.size2[i] = primal(g.size2[i]);
  }
  out.hull1 = g.hull1, out.hull2 = g.hull2;
  return out;
}

CYCLOID_HD inline const GeomPair<double>& primal_pair(const GeomPair<double>& g) { return g; }

struct FoundContact {
  std::int64_t code;
  Vec3<double> normal;
};

// Both geoms of lane l; numbers of `size` that a kind does not use are zero.
template <GeomKind k1, GeomKind k2, class S>
CYCLOID_HD GeomPair<LaneScalar<S>> take_pair(const S* size1, const Pose<S>& x1, const S* size2,
                                             const Pose<S>& x2, int l) {
  GeomPair<LaneScalar<S>> g{take_lane(x1, l), {}, take_lane(x2, l), {}};
  for (int i = 0; i < size_numbers(k1); ++i) g.size1[i] = take_lane(size1[i], l);
  for (int i = 0; i < size_numbers(k2); ++i) g.size2[i] = take_lane(size2[i], l);
  return g;
}

// Both geoms in all lanes, in double.
template <GeomKind k1, GeomKind k2, class S>
CYCLOID_HD GeomPair<DoubleLanes<S>> widen_pair(const S* size1, const Pose<S>& x1, const S* size2,
                                               const Pose<S>& x2) {
  using X = DoubleLanes<S>;
  GeomPair<X> g;
  for (int i = 0; i < 9; ++i) g.x1.R.e[i] = widen(x1.R.e[i]), g.x2.R.e[i] = widen(x2.R.e[i]);
  g.x1.p = widen_vector(x1.p), g.x2.p = widen_vector(x2.p);
  for (int i = 0; i < 3; ++i) {
    g.size1[i] = i < size_numbers(k1) ? widen(size1[i]) : X(0);
    g.size2[i] = i < size_numbers(k2) ? widen(size2[i]) : X(0);
  }
  return g;
}
// The numbers of lanes, in memory.
template <class S>
CYCLOID_INLINE const Scalar<S>* elements_of(const S& x) {
  return reinterpret_cast<const Scalar<S>*>(&x);
}
// Lane l of a struct of nothing but X, as the same struct of doubles.
template <class X, class A, class B>
CYCLOID_INLINE void take_lane_of(const A& from, int l, B& to) {
  static_assert(sizeof(A) / sizeof(X) == sizeof(B) / sizeof(double));
  const double* const numbers = reinterpret_cast<const double*>(&from);
  for (std::size_t i = 0; i < sizeof(A) / sizeof(X); ++i) {
    reinterpret_cast<double*>(&to)[i] = numbers[i * kLanes<X> + static_cast<std::size_t>(l)];
  }
}
template <class X>
CYCLOID_HD GeomPair<double> take_lane(const GeomPair<X>& g, int l) {
  GeomPair<double> own;
  take_lane_of<X>(g.x1, l, own.x1);
  take_lane_of<X>(g.size1, l, own.size1);
  take_lane_of<X>(g.x2, l, own.x2);
  take_lane_of<X>(g.size2, l, own.size2);
  return own;
}

template <GeomKind k1, GeomKind k2, int kPlaces, class S, class Find, class TouchOf>
CYCLOID_HD void touches_by_lane(const S* size1, const Pose<S>& x1, const S* size2,
                                const Pose<S>& x2, const S& margin, Touch<S>* out, S* feature,
                                Find find, TouchOf touch) {
  using T = LaneScalar<S>;
  const Touch<S> none{};
  for (int k = 0; k < kPlaces; ++k) {
    write_touch(S(0) > S(1), none, S(kNoFeature), out[k], feature[k]);
  }
  const Mask<S> near =
      spheres_near(false, x1, bounding_radius(k1, size1), x2, bounding_radius(k2, size2), margin);
  if (!any(near)) return;
  const S visit = select(near, S(1), S(0));
  for (int l = 0; l < kLanes<S>; ++l) {
    if (primal(take_lane(visit, l)) == 0) continue;
    const GeomPair<T> g = take_pair<k1, k2>(size1, x1, size2, x2, l);
    FoundContact found[kPlaces];
    const int n = find(primal_pair(g), primal(take_lane(margin, l)), found);
    for (int k = 0; k < n; ++k) {
      const Touch<T> t = touch(g, static_cast<int>(found[k].code), found[k].normal);
      put_lane(out[k].dist, l, t.dist);
      put_lane(out[k].pos, l, t.pos);
      put_lane(out[k].normal, l, t.normal);
      put_lane(feature[k], l, T(double(found[k].code)));
    }
  }
}

template <class T>
CYCLOID_HD bool is_zero(const TouchBar<T>& bar) {
  bool zero = primal(bar.dist) == 0;
  for (int i = 0; i < 3; ++i) zero = zero && primal(bar.pos[i]) == 0 && primal(bar.normal[i]) == 0;
  return zero;
}

// The cotangent of a touch in lane l; tangents are those of the default frame.
template <class S>
CYCLOID_HD TouchBar<LaneScalar<S>> take_lane(const TouchBar<S>& bar, int l) {
  return {take_lane(bar.dist, l), take_lane(bar.pos, l), take_lane(bar.normal, l), {}};
}

// Adds the cotangents of lane l.
template <class S>
CYCLOID_HD void add_pair_bar(GeomKind k1, GeomKind k2, const GeomPairBar<LaneScalar<S>>& sum, int l,
                             PoseBar<S>& x1_bar, PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar) {
  add_lane(x1_bar.force, l, sum.x1.force);
  add_lane(x1_bar.torque, l, sum.x1.torque);
  add_lane(x2_bar.force, l, sum.x2.force);
  add_lane(x2_bar.torque, l, sum.x2.torque);
  for (int i = 0; i < size_numbers(k1); ++i) add_lane(size1_bar[i], l, sum.size1[i]);
  for (int i = 0; i < size_numbers(k2); ++i) add_lane(size2_bar[i], l, sum.size2[i]);
}

// pull(pair, code, place, lane, bar, pair_bar) adds the cotangents of one contact.
template <GeomKind k1, GeomKind k2, int kPlaces, class S, class Pull>
CYCLOID_HD void bars_by_lane(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                             const S* feature, const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                             PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar, Pull pull) {
  using T = LaneScalar<S>;
  for (int l = 0; l < kLanes<S>; ++l) {
    GeomPair<T> g;
    GeomPairBar<T> sum;
    bool any_used = false;
    for (int k = 0; k < kPlaces; ++k) {
      const int code = static_cast<int>(primal(take_lane(feature[k], l)));
      if (code < 0) continue;
      const TouchBar<T> bar = take_lane(out_bar[k], l);
      if constexpr (std::is_same_v<T, double>) {
        if (is_zero(bar)) continue;
      }
      if (!any_used) g = take_pair<k1, k2>(size1, x1, size2, x2, l);
      any_used = true;
      pull(g, code, k, l, bar, sum);
    }
    if (any_used) add_pair_bar(k1, k2, sum, l, x1_bar, x2_bar, size1_bar, size2_bar);
  }
}

}  // namespace cycloid::inline geometry
