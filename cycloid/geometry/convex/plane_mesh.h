// A plane and the hull of a mesh, and their pullback.
//
// The corner furthest below the plane touches it, and with it corners of one polygon around it: the
// one that looks most along -n. Of a polygon with more than four corners four are taken, that one
// first, which span a large area. As in MuJoCo, a corner counts where
//   dist = n·(v - p) ≤ margin,   pos = v - ½ dist n,   normal = n                             (1)
// with v a corner in the world, p on the plane. The feature of a place is its corner of the hull.
#pragma once

#include "cycloid/geometry/convex/mesh_pair.h"
#include "cycloid/geometry/pair/polygon.h"

namespace cycloid::inline geometry {

inline constexpr int kPlaneMeshTouches = 4;

// Corners of one lane; returns their number.
int find_plane_mesh(const GeomPair<double>& g, double margin, int* corner);

template <class T>
Touch<T> plane_mesh_touch(const GeomPair<T>& g, int corner) {
  const Vec3<T> normal = axis(g.x1, 2), v = g.x2.p + g.x2.R * g.hull2->template corner<T>(corner);
  const T dist = dot(normal, v - g.x1.p);  // (1)
  return {dist, v - normal * (T(0.5) * dist), normal, {}};
}

template <class S>
void collide_plane_mesh(const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                        const std::type_identity_t<S>& margin, const Hull& hull, Touch<S>* out,
                        S* feature, const PairKnown& known = {}) {
  using T = LaneScalar<S>;
  for (int k = 0; k < kPlaneMeshTouches; ++k) clear_touch(out[k], feature[k]);
  const S visit = near_lanes(GeomKind::plane, GeomKind::mesh, size2, x1, size2, x2, margin);
  for (int l = 0; l < kLanes<S>; ++l) {
    if (!known.asks(l) || primal(take_lane(visit, l)) == 0) continue;
    GeomPair<T> g{take_lane(x1, l), {}, take_lane(x2, l), {}, nullptr, &hull};
    int corner[kPlaneMeshTouches];
    const int n = find_plane_mesh(primal_pair(g), primal(take_lane(margin, l)), corner);
    for (int k = 0; k < n; ++k) {
      put_touch(plane_mesh_touch(g, corner[k]), l, out[k]);
      put_lane(feature[k], l, T(double(corner[k])));
    }
  }
}

// The touches of these corners, bit for bit those of collide_plane_mesh.
template <class S>
void plane_mesh_touches_again(const Pose<S>& x1, const Pose<S>& x2, const Hull& hull,
                              const S* feature, Touch<S>* out) {
  using T = LaneScalar<S>;
  S unused;
  for (int k = 0; k < kPlaneMeshTouches; ++k) clear_touch(out[k], unused);
  for (int l = 0; l < kLanes<S>; ++l) {
    for (int k = 0; k < kPlaneMeshTouches; ++k) {
      const int corner = static_cast<int>(primal(take_lane(feature[k], l)));
      if (corner < 0) continue;
      const GeomPair<T> g{take_lane(x1, l), {}, take_lane(x2, l), {}, nullptr, &hull};
      put_touch(plane_mesh_touch(g, corner), l, out[k]);
    }
  }
}

template <class S>
void collide_plane_mesh_pullback(const Pose<S>& x1, const Pose<S>& x2, const Hull& hull,
                                 const S* feature, const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                 PoseBar<S>& x2_bar, const HullBar& hull_bar,
                                 const bool* left_out = nullptr) {
  using T = LaneScalar<S>;
  for (int l = 0; l < kLanes<S>; ++l) {
    const Pose<T> a = take_lane(x1, l), b = take_lane(x2, l);
    const Vec3<T> n = axis(a, 2);
    PoseBar<T> a_bar{}, b_bar{};
    for (int k = 0; k < kPlaneMeshTouches; ++k) {
      const int corner = static_cast<int>(primal(take_lane(feature[k], l)));
      if (corner < 0) continue;
      const TouchBar<T> bar = take_lane(out_bar[k], l);
      const Vec3<T> arm = b.R * hull.corner<T>(corner), offset = b.p + arm - a.p;
      const T dist_bar = bar.dist - T(0.5) * dot(n, bar.pos);  // (1)
      const Vec3<T> v_bar = bar.pos + n * dist_bar;
      add_direction(a_bar, n, bar.normal + offset * dist_bar - bar.pos * (T(0.5) * dot(n, offset)));
      a_bar.force -= n * dist_bar;
      add_point(b_bar, arm, v_bar);
      if (left_out && left_out[l]) continue;
      hull_bar.add(hull, corner, transpose_vector_product(b.R, v_bar));
    }
    add_lane(x1_bar.force, l, a_bar.force);
    add_lane(x1_bar.torque, l, a_bar.torque);
    add_lane(x2_bar.force, l, b_bar.force);
    add_lane(x2_bar.torque, l, b_bar.torque);
  }
}

}  // namespace cycloid::inline geometry
