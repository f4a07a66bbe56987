// Orientation servos at their place in a robot: three rows, of a ball joint or of a site relative
// to another, and what orientation_law.h looks at.
//
// R and q are those of the site, r marks its reference; a ball joint has its own coordinates.
//   q_rel = q_r* q,   ω = Rᵀ (y_ω - y_r,ω)        y the field of q̇, ω also (J q̇)              (1)
//   τ:  the torque R p on the site's body, -R p on the reference's                           (2)
// What moves both sites moves neither with respect to the other.
//
// Pullback of row.h (1) with c_y (3), for each field y, and q̄ of q_rel:
//   ȳ_ω += R c_y,  ȳ_r,ω -= R c_y,   a turn of R in its own axes: c_y × Rᵀ (y_ω - y_r,ω)      (3)
//   a turn of the site q̄, of the reference -R(q_rel) q̄                                       (4)
#pragma once

#include "cycloid/rigid/force/actuator_row.h"
#include "cycloid/rigid/force/orientation_law.h"

namespace cycloid::inline rigid {

CYCLOID_HD inline bool turns_frame(const Actuator& a) { return a.law == ActuatorLaw::orientation; }
CYCLOID_HD inline bool turns_ball(const Actuator& a) { return a.reference_site < 0; }

template <class S>
CYCLOID_INLINE Vec3<S> unit_axis(int k) {
  Vec3<S> axis{S(0), S(0), S(0)};
  axis[k] = S(1);
  return axis;
}

template <class S>
struct OrientedSites {
  SitePose<S> site, reference;
};
template <class S, class P>
CYCLOID_HD OrientedSites<S> oriented_sites(const TreeView& tree, const P* p, int actuator,
                                           const Frames<S>& f) {
  const Actuator& a = tree.model.actuators[static_cast<std::size_t>(actuator)];
  return {site_pose(tree, p, a.target, f), site_pose(tree, p, a.reference_site, f)};
}

// (1) for a field, or for a generalised vector x of a ball.
template <class S, class P>
CYCLOID_HD Vec3<S> orientation_rate(const TreeView& tree, const P* p, int actuator,
                                    const Frames<S>& f, const Motion<S>* field, const S* x) {
  const Actuator& a = tree.model.actuators[static_cast<std::size_t>(actuator)];
  if (turns_ball(a)) return load_vec3(x + transmission_joint(tree, actuator).dof);
  const OrientedSites<S> at = oriented_sites(tree, p, actuator, f);
  return rotate_inverse(at.site.q, field[at.site.link].angular - field[at.reference.link].angular);
}

template <class S, class P>
CYCLOID_HD OrientationPoint<S> orientation_point(const Robot<S, P>& r, std::size_t i,
                                                 const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  const int id = static_cast<int>(i);
  OrientationPoint<S> at;
  for (int k = 0; k < a.controls && r.inputs.ctrl >= 0; ++k) {
    at.u[k] = x.u[r.inputs.ctrl + a.control + k];
  }
  if (integrates(a)) at.w = load_vec3(x.act + a.act);
  if (turns_ball(a)) {
    at.q = load_quat(x.qpos + transmission_joint(tree, id).qpos);
  } else {
    const OrientedSites<S> sites = oriented_sites(tree, r.p, id, w.frames);
    at.q = conjugate(sites.reference.q) * sites.site.q;
  }
  at.rate = orientation_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.v), x.qvel);
  return at;
}

// (2): adds to tau (nv) or to wrenches (bodies).
template <class S, class P>
CYCLOID_HD void apply_orientation(const TreeView& tree, const P* p, int actuator,
                                  const Frames<S>& f, const Vec3<S>& force, Force<S>* wrenches,
                                  S* tau) {
  const Actuator& a = tree.model.actuators[static_cast<std::size_t>(actuator)];
  if (turns_ball(a)) {
    add_to(tau + transmission_joint(tree, actuator).dof, force);
    return;
  }
  const OrientedSites<S> at = oriented_sites(tree, p, actuator, f);
  const Vec3<S> torque = rotate(at.site.q, force);
  wrenches[at.site.body].torque += torque;
  wrenches[at.reference.body].torque -= torque;
}

// The row of `axis` (three numbers that weigh the rows), as row_form.h takes it: (nv).
template <class S, class P>
CYCLOID_HD void orientation_row(const Robot<S, P>& r, int i, const Workspace<S>& w,
                                const Vec3<S>& axis, S* J) {
  const TreeView& tree = r.tree;
  set_zero(J, tree.model.nv);
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.rows.wrenches[b] = Force<S>{};
  apply_orientation(tree, r.p, i, w.frames, axis, w.rows.wrenches, J);
  if (turns_ball(tree.model.actuators[static_cast<std::size_t>(i)])) return;
  complete_row(tree, w.frames.column, static_cast<const Force<S>*>(w.rows.wrenches), w.rows.links,
               J);
}

// c_m and c_v: of the rates of the fields m and v; q_bar: of q_rel, in tangents.
template <class S, class P>
CYCLOID_HD void orientation_pullback(const TreeView& tree, const P* p, int actuator,
                                     const RowPoint<S>& at, const Vec3<S>& c_m, const Vec3<S>& c_v,
                                     const Vec3<S>& q_bar, const RowSinks<S>& to) {
  const Actuator& a = tree.model.actuators[static_cast<std::size_t>(actuator)];
  if (turns_ball(a)) {
    const int dof = transmission_joint(tree, actuator).dof;
    add_to(to.v_bar + dof, c_v);
    add_to(to.q_bar + dof, q_bar);
    return;
  }
  const OrientedSites<S> on = oriented_sites(tree, p, actuator, at.frames);
  Force<S>* const pose = to.bodies.pose;
  Vec3<S> site_turn = q_bar;
  const auto pull = [&](const Motion<S>* y, const Vec3<S>& c, Force<S>* y_bar) {
    const Motion<S>&one = y[on.site.link], &two = y[on.reference.link];
    const Vec3<S> torque = rotate(on.site.q, c);
    y_bar[on.site.body] += Force<S>{torque, {}};  // (3)
    y_bar[on.reference.body] += Force<S>{-torque, {}};
    site_turn += cross(c, rotate_inverse(on.site.q, one.angular - two.angular));
  };
  pull(at.m, c_m, to.bodies.m);
  pull(at.v, c_v, to.bodies.v);
  const Quat<S> relative = conjugate(on.reference.q) * on.site.q;
  site_turn_pullback(tree, on.site, site_turn, pose, to.p_bar);
  site_turn_pullback(tree, on.reference, -rotate(relative, q_bar), pose, to.p_bar);  // (4)
}

}  // namespace cycloid::inline rigid
