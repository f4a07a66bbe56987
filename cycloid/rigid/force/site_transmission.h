// Transmission of an actuator to a site, alone or with a reference site.
//
// F is the frame of the site, or of the reference site where there is one; g_o and g_ω the first
// and last three gears. A force along the row is a wrench with axes fixed to F:
//   d = F g_o,   e = F g_ω                                                                    (1)
//   alone           l = 0,   J x = d·y(x_s) + e·y_ω                     y the field of x      (2)
//   with reference  l = d·r + g_ω·φ,   r = x_s - x_r,   q_r exp(φ) = q_s                      (3)
//                   J x = d·(y_s(x_s) - y_r(x_r) - y_c_ω × r) + e·(y_s_ω - y_r_ω)             (4)
// c is the closest common ancestor of the two bodies: what moves both sites moves neither with
// respect to the other. (4) is not the derivative of (3) where F turns; MuJoCo defines it so. φ
// jumps at half a turn.
//
// Pullback of row.h (1):
//   ȳ_s += c_y wrench(d, x_s, e),   ȳ_r -= c_y wrench(d, x_r, e),   ȳ_c -= c_y (r × d; 0)   (5)
//   d̄ = l̄ r + Σ_y c_y (y_s(x_s) - y_r(x_r) - y_c_ω × r),   ē = Σ_y c_y (y_s_ω - y_r_ω)        (6)
//   r̄ = l̄ d - Σ_y c_y d × y_c_ω,   x̄_s = r̄ + Σ_y c_y d × y_s_ω,   x̄_r likewise, negative   (7)
//   d × d̄ + e × ē turns F,   φ̄ = l̄ g_ω turns q_s and q_r (math/rotation.h),   ḡ_ω += l̄ φ    (8)
#pragma once

#include "cycloid/rigid/force/slider_crank.h"

namespace cycloid::inline rigid {

// A site's body, place and orientation.
template <class S>
struct SitePose {
  int site, body;
  std::size_t link;
  Vec3<S> x;  // from the origin of its tree
  Quat<S> q;
};

template <class S, class P>
CYCLOID_HD SitePose<S> site_pose(const TreeView& tree, const P* p, int site, const Frames<S>& f) {
  const std::size_t s = static_cast<std::size_t>(site);
  SitePose<S> pose;
  pose.site = site;
  pose.body = tree.model.sites[s].body;
  pose.link = last_link(tree, pose.body);
  pose.x = site_point(tree, p, site, f);
  pose.q = f.link_quat[pose.link] * quat_of<S>(p + tree.sites[s].quat);
  return pose;
}

// A turn of the site about its own axes: torque on the body, tangent numbers of the site's quat.
template <class S>
CYCLOID_INLINE void site_turn_pullback(const TreeView& tree, const SitePose<S>& site,
                                       const Vec3<S>& turn_bar, Force<S>* pose, S* p_bar) {
  pose[site.body].torque += rotate(site.q, turn_bar);
  if (p_bar) add_to(p_bar + tree.sites[static_cast<std::size_t>(site.site)].quat, turn_bar);
}

CYCLOID_HD inline int common_ancestor(const TreeView& tree, int a, int b) {
  while (a != b) {
    int& later = a > b ? a : b;
    later = tree.model.bodies[static_cast<std::size_t>(later)].parent;
  }
  return a;
}

// The quantities of (1)-(4).
template <class S>
struct SiteRow {
  bool relative;  // has a reference site
  int common;     // c, or -1 where it stands still
  SitePose<S> site, reference;
  Vec3<S> g_o, g_w, d, e, r;

  CYCLOID_HD const Quat<S>& frame() const { return relative ? reference.q : site.q; }
};

template <class S, class P>
CYCLOID_HD SiteRow<S> site_row(const TreeView& tree, const P* p, int actuator, const Frames<S>& f) {
  const std::size_t i = static_cast<std::size_t>(actuator);
  const Actuator& a = tree.model.actuators[i];
  SiteRow<S> row{};
  row.relative = a.reference_site >= 0;
  row.common = -1;
  row.site = site_pose(tree, p, a.target, f);
  if (row.relative) {
    row.reference = site_pose(tree, p, a.reference_site, f);
    row.r =
        (f.origin[row.site.body] - f.origin[row.reference.body]) + (row.site.x - row.reference.x);
    const int c = common_ancestor(tree, row.site.body, row.reference.body);
    if (tree.model.bodies[static_cast<std::size_t>(c)].tree >= 0) row.common = c;
  }
  row.g_o = vec3_of<S>(p + tree.actuators[i].gear);
  row.g_w = vec3_of<S>(p + tree.actuators[i].gear + 3);
  row.d = rotate(row.frame(), row.g_o);  // (1)
  row.e = rotate(row.frame(), row.g_w);
  return row;
}

// Whether an actuator pulls at sites; those by a slider-crank go to slider_crank.h.
CYCLOID_HD inline bool pulls_at_sites(const Actuator& a) {
  return a.transmission == TransmissionKind::site ||
         a.transmission == TransmissionKind::slider_crank;
}
CYCLOID_HD inline bool by_slider_crank(const TreeView& tree, int actuator) {
  return tree.model.actuators[static_cast<std::size_t>(actuator)].transmission ==
         TransmissionKind::slider_crank;
}

template <class S, class P>
CYCLOID_HD S site_transmission_length(const TreeView& tree, const P* p, int actuator,
                                      const Frames<S>& f) {
  if (by_slider_crank(tree, actuator)) return slider_crank_length(tree, p, actuator, f);
  const SiteRow<S> row = site_row(tree, p, actuator, f);
  if (!row.relative) return S(0);
  return dot(row.d, row.r) + dot(row.g_w, difference(row.reference.q, row.site.q));  // (3)
}

// What d and e are multiplied with in J x: the relative velocity, angular and linear.
template <class S>
CYCLOID_INLINE Motion<S> relative_motion(const TreeView& tree, const SiteRow<S>& row,
                                         const Motion<S>* field) {
  const Motion<S>& y_s = field[row.site.link];
  Motion<S> relative{y_s.angular, field_at(y_s, row.site.x)};  // (2)
  if (row.relative) {
    const Motion<S>& y_r = field[row.reference.link];
    relative -= Motion<S>{y_r.angular, field_at(y_r, row.reference.x)};  // (4)
    if (row.common >= 0) {
      relative.linear -= cross(field[last_link(tree, row.common)].angular, row.r);
    }
  }
  return relative;
}

// J x. field: the field of x.
template <class S, class P>
CYCLOID_HD S site_transmission_rate(const TreeView& tree, const P* p, int actuator,
                                    const Frames<S>& f, const Motion<S>* field) {
  if (by_slider_crank(tree, actuator)) return slider_crank_rate(tree, p, actuator, f, field);
  const SiteRow<S> row = site_row(tree, p, actuator, f);
  const Motion<S> y = relative_motion(tree, row, field);
  return dot(row.d, y.linear) + dot(row.e, y.angular);
}

// Adds Jᵀ force to wrenches (bodies), about the origin of each body's tree.
template <class S, class P>
CYCLOID_HD void apply_site_transmission(const TreeView& tree, const P* p, int actuator,
                                        const Frames<S>& f, const S& force, Force<S>* wrenches) {
  if (by_slider_crank(tree, actuator)) {
    return apply_slider_crank(tree, p, actuator, f, force, wrenches);
  }
  const SiteRow<S> row = site_row(tree, p, actuator, f);
  wrenches[row.site.body] += wrench(row.d, row.site.x, row.e) * force;
  if (!row.relative) return;
  wrenches[row.reference.body] -= wrench(row.d, row.reference.x, row.e) * force;
  if (row.common >= 0) wrenches[row.common].torque -= cross(row.r, row.d) * force;
}

// (5), and what (6) and (7) gather, for one field y with c_y.
template <class S>
CYCLOID_INLINE void site_field_pullback(const TreeView& tree, const SiteRow<S>& row,
                                        const Motion<S>* y, const S& c_y, Force<S>* y_bar,
                                        SiteRow<S>& bar) {
  const Motion<S>& y_s = y[row.site.link];
  const Motion<S> relative = relative_motion(tree, row, y);
  bar.d += relative.linear * c_y;  // (6)
  bar.e += relative.angular * c_y;
  const Force<S> W_s = wrench(row.d, row.site.x, row.e) * c_y;
  y_bar[row.site.body] += W_s;                    // (5)
  bar.site.x += cross(row.d, y_s.angular) * c_y;  // (7)
  if (!row.relative) return;
  const Motion<S>& y_r = y[row.reference.link];
  const Force<S> W_r = wrench(row.d, row.reference.x, row.e) * -c_y;
  y_bar[row.reference.body] += W_r;
  bar.reference.x -= cross(row.d, y_r.angular) * c_y;
  if (row.common < 0) return;
  const Motion<S>& y_c = y[last_link(tree, row.common)];
  y_bar[row.common] += Force<S>{cross(row.r, row.d) * -c_y, Vec3<S>{}};
  bar.r -= cross(row.d, y_c.angular) * c_y;
}

template <class S, class P>
CYCLOID_HD void site_transmission_pullback(const TreeView& tree, const P* p, int actuator,
                                           const RowPoint<S>& at, const RowBars<S>& bar,
                                           const RowSinks<S>& to) {
  if (by_slider_crank(tree, actuator)) {
    return slider_crank_pullback(tree, p, actuator, at, bar, to);
  }
  const SiteRow<S> row = site_row(tree, p, actuator, at.frames);
  Force<S>* const pose = to.bodies.pose;
  SiteRow<S> row_bar{};
  site_field_pullback(tree, row, at.m, bar.m, to.bodies.m, row_bar);
  site_field_pullback(tree, row, at.v, bar.v, to.bodies.v, row_bar);
  Vec3<S> g_w_bar{}, site_turn{}, reference_turn{};
  if (row.relative) {
    const Vec3<S> phi = difference(row.reference.q, row.site.q);
    difference_tangent_pullback(phi, row.g_w * bar.length, reference_turn, site_turn);  // (8)
    g_w_bar += phi * bar.length;
    row_bar.d += row.r * bar.length;
    row_bar.r += row.d * bar.length;
    row_bar.site.x += row_bar.r;
    row_bar.reference.x -= row_bar.r;
  }
  const Vec3<S> d_bar = rotate_inverse(row.frame(), row_bar.d);  // in the axes of F
  const Vec3<S> e_bar = rotate_inverse(row.frame(), row_bar.e);
  (row.relative ? reference_turn : site_turn) += cross(row.g_o, d_bar) + cross(row.g_w, e_bar);
  if (to.p_bar) {
    S* gear_bar = to.p_bar + tree.actuators[static_cast<std::size_t>(actuator)].gear;
    add_to(gear_bar, d_bar);
    add_to(gear_bar + 3, e_bar + g_w_bar);
  }
  site_point_pullback(tree, row.site.site, at.frames, row.site.x, row_bar.site.x, pose, to.p_bar);
  site_turn_pullback(tree, row.site, site_turn, pose, to.p_bar);
  if (!row.relative) return;
  site_point_pullback(tree, row.reference.site, at.frames, row.reference.x, row_bar.reference.x,
                      pose, to.p_bar);
  site_turn_pullback(tree, row.reference, reference_turn, pose, to.p_bar);
}

}  // namespace cycloid::inline rigid
