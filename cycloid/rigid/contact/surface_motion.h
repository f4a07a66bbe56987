// Surfaces that move while their geoms do not: belts and turntables (MuJoCo's surfacevel).
//
// A geom at p with axes R has the numbers v and ω in its own axes. A contact at x, with normal n
// and tangents t₁, t₂, sees of it
//   σ = R v + R ω × (x - p),   ϖ = R ω                                                        (1)
// those of the second geom less those of the first. They add to J q̇ of its rows
//   t₁·σ, t₂·σ (slip),   n·ϖ (spin)                                                          (2)
// and to no other: nothing is pushed along the normal, nothing rolls.
//
// Pullback, with C the cotangents of (2):  σ̄ = t₁ C₁ + t₂ C₂,  ϖ̄ = n C₃,  ω̄ = ϖ̄ + (x - p) × σ̄,
//   x̄ += σ̄ × R ω,  p̄ -= σ̄ × R ω,  a turn of R:  R v × σ̄ + R ω × ω̄                       (3)
// and Rᵀ σ̄, Rᵀ ω̄ for v and ω.
// Source: MuJoCo's manual, body/geom/surfacevel.
#pragma once

#include "cycloid/geometry/contact_frame.h"
#include "cycloid/rigid/contact/contact_slots.h"

namespace cycloid::inline rigid {

// (1) of one geom, about x.
template <class S>
CYCLOID_HD Motion<S> surface_field(const Pose<S>& at, const Motion<S>& own, const Vec3<S>& x) {
  const Vec3<S> w = at.R * own.angular;
  return {w, at.R * own.linear + cross(w, x - at.p)};
}

// bar: of (1). Adds to own_bar, x_bar and at_bar.
template <class S>
CYCLOID_HD void surface_field_pullback(const Pose<S>& at, const Motion<S>& own, const Vec3<S>& x,
                                       const Motion<S>& bar, Motion<S>& own_bar, Vec3<S>& x_bar,
                                       PoseBar<S>& at_bar) {
  const Vec3<S> v = at.R * own.linear, w = at.R * own.angular;
  const Vec3<S> w_bar = bar.angular + cross(x - at.p, bar.linear);  // (3)
  const Vec3<S> arm_bar = cross(bar.linear, w);
  x_bar += arm_bar;
  at_bar.force -= arm_bar;
  at_bar.torque += cross(v, bar.linear) + cross(w, w_bar);
  own_bar.linear += transpose_vector_product(at.R, bar.linear);
  own_bar.angular += transpose_vector_product(at.R, w_bar);
}

template <class S, class P>
CYCLOID_INLINE Motion<S> surface_numbers(const TouchingGeom& g, const P* p) {
  return {vec3_of<S>(p + g.at.surface + 3), vec3_of<S>(p + g.at.surface)};
}

// visit(geom, pose, 1 or -1) for the geoms of a pair whose surfaces move.
template <class S, class P, class Visit>
CYCLOID_INLINE void for_each_moving_surface(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                                            const ContactPair& pair, Visit visit) {
  const PlacedPair<S> at(s, w, pair);
  if (s.geom(pair.geom1).at.surface >= 0) visit(pair.geom1, *at.x1, S(-1));
  if (s.geom(pair.geom2).at.surface >= 0) visit(pair.geom2, *at.x2, S(1));
}

// σ and ϖ of a slot.
template <class S, class P>
CYCLOID_HD Motion<S> surface_motion(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                                    int slot) {
  Motion<S> sum{};
  for_each_group(w, slot, [&](const SlotGroup<S>& group) {
    Motion<S> own{};
    for_each_moving_surface(
        s, w, s.pair(w.touched[group.owner].pair), [&](int g, const Pose<S>& pose, const S& sign) {
          own +=
              surface_field(pose, surface_numbers<S>(s.geom(g), s.p), w.touch[group.touch].at.pos) *
              sign;
        });
    sum.linear = select(group.lanes(), own.linear, sum.linear);
    sum.angular = select(group.lanes(), own.angular, sum.angular);
  });
  return sum;
}

// (2): adds to J q̇ of a slot's `rows` rows.
template <class S>
CYCLOID_INLINE void add_surface_motion(const ContactFrame<S>& F, const Motion<S>& surface, int rows,
                                       S* velocity) {
  if (rows < 3) return;
  velocity[1] += dot(F.t1, surface.linear);
  velocity[2] += dot(F.t2, surface.linear);
  if (rows >= 4) velocity[3] += dot(F.n, surface.angular);
}

// C: of J q̇, zero where a lane has no such row. Adds to x_bar and F_bar, to the bodies' poses and
// to p_bar, unless it is null.
template <class S, class P>
CYCLOID_HD void surface_motion_pullback(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                                        int slot, int rows, const ContactFrame<S>& F, const S* C,
                                        Vec3<S>& x_bar, ContactFrame<S>& F_bar, Force<S>* poses,
                                        S* p_bar) {
  if (rows < 3) return;
  const Motion<S> surface = surface_motion(s, w, slot);
  F_bar.t1 += surface.linear * C[1], F_bar.t2 += surface.linear * C[2];
  Motion<S> bar{{}, F.t1 * C[1] + F.t2 * C[2]};
  if (rows >= 4) F_bar.n += surface.angular * C[3], bar.angular = F.n * C[3];
  for_each_group(w, slot, [&](const SlotGroup<S>& group) {
    const Vec3<S> none{S(0), S(0), S(0)};
    const auto pull = [&](int i, const Pose<S>& pose, const S& sign) {
      const Motion<S> side{select(group.lanes(), bar.angular * sign, none),
                           select(group.lanes(), bar.linear * sign, none)};
      const TouchingGeom& g = s.geom(i);
      Motion<S> own_bar{};
      PoseBar<S> pose_bar{none, none};
      surface_field_pullback(pose, surface_numbers<S>(g, s.p), w.touch[group.touch].at.pos, side,
                             own_bar, x_bar, pose_bar);
      if (p_bar) {
        add_to(p_bar + g.at.surface, own_bar.linear);
        add_to(p_bar + g.at.surface + 3, own_bar.angular);
      }
      if (g.fixed && !p_bar) return;
      geom_pose_pullback(g, s.p, s.frames.R[g.body], w.pose[i].p - placed_from(s, g), pose_bar,
                         poses[g.body], p_bar);
    };
    for_each_moving_surface(s, w, s.pair(w.touched[group.owner].pair), pull);
  });
}

}  // namespace cycloid::inline rigid
