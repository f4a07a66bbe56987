// A frame fixed to a body, as sensors see it: where it is, how it is turned, how it moves.
//
//   x = r + R pos,   q = q_body ⊗ quat                           (1)  place, orientation
//   u = v(x),        ω = v_ω                                     (2)  velocity of the point x
//   z = a(x) + ω × u,   α = a_ω                                  (3)  acceleration
// World axes, x from the origin of the body's tree; v and a are the fields of rnea.h, so that z
// contains -g: a frame at rest accelerates upwards, as an accelerometer shows. (pos, quat) are
// parameters of a site, or of a geom that has them, constants of other geoms and of cameras, the
// centre of mass with the compiled principal axes (`body`), or nothing (`xbody`).
//
// Pullback, with the turn's cotangent θ̄ in world axes; wrenches on fields by rule (2) of row.h:
//   ū += z̄ × ω,   ω̄ += u × z̄,   x̄ += z̄ × α + ū × ω               (4)
//   ā += wrench(z̄, x, ᾱ),   v̄ += wrench(ū, x, ω̄),   Γ += wrench(x̄, x, θ̄)     (5)
//   pos += Rᵀ x̄,   quat: q* θ̄ in its own axes                     (6)
#pragma once

#include "cycloid/rigid/sense/sensor_kind.h"
#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

template <class S>
struct SensedFrame {
  int body;
  Vec3<S> origin;  // of the tree
  Vec3<S> x;
  Quat<S> q;
  Vec3<S> u, omega, z, alpha;
};

// Cotangents of a SensedFrame's numbers; `turn` is θ̄.
template <class S>
struct SensedFrameBars {
  Vec3<S> x{}, turn{}, u{}, omega{}, z{}, alpha{};
};

// Where a frame is on its body: places of parameters, or constants where they are -1.
struct FrameMount {
  int body = 0;
  std::array<double, 3> pos{};
  std::array<double, 4> quat{1, 0, 0, 0};
  int pos_place = -1, quat_place = -1;
};

CYCLOID_HD inline FrameMount frame_mount(const TreeView& tree, int object_type, int object) {
  const std::size_t i = static_cast<std::size_t>(object);
  const auto marker = [](const Marker& m) { return FrameMount{m.body, m.pos, m.quat, -1, -1}; };
  FrameMount out;
  switch (static_cast<ObjectKind>(object_type)) {
    case ObjectKind::body: {
      const Body& b = tree.model.bodies[i];
      return {object, b.com, b.inertia_quat, tree.bodies[i].com, -1};
    }
    case ObjectKind::geom:
      out = marker(tree.model.geoms[i]);
      out.pos_place = tree.geoms[i].pos;
      out.quat_place = tree.geoms[i].quat;
      return out;
    case ObjectKind::camera: return marker(tree.model.cameras[i]);
    case ObjectKind::site:
      out = marker(tree.model.sites[i]);
      out.pos_place = tree.sites[i].pos;
      out.quat_place = tree.sites[i].quat;
      return out;
    default: out.body = object; return out;
  }
}

template <class S, class P>
CYCLOID_HD SensedFrame<S> sensed_frame(const TreeView& tree, const P* p, const FrameMount& on,
                                       const Frames<S>& f, const Motion<S>* v, const Motion<S>* a) {
  const int b = on.body;
  const std::size_t l = last_link(tree, b);
  const auto constant = [](const double* c, int i) { return S(static_cast<Scalar<S>>(c[i])); };
  const double *c = on.pos.data(), *k = on.quat.data();
  const Vec3<S> pos = on.pos_place >= 0 ? vec3_of<S>(p + on.pos_place)
                                        : Vec3<S>{constant(c, 0), constant(c, 1), constant(c, 2)};
  const Quat<S> quat =
      on.quat_place >= 0 ? quat_of<S>(p + on.quat_place)
                         : Quat<S>{constant(k, 0), constant(k, 1), constant(k, 2), constant(k, 3)};
  SensedFrame<S> out;
  out.body = b;
  out.origin = f.origin[b];
  out.x = f.pos[b] + f.R[b] * pos;  // (1)
  out.q = f.link_quat[l] * quat;
  out.u = field_at(v[l], out.x);  // (2)
  out.omega = v[l].angular;
  out.z = field_at(a[l], out.x) + cross(out.omega, out.u);  // (3)
  out.alpha = a[l].angular;
  return out;
}

// Adds to the body's wrenches, and to p_bar unless it is null.
template <class S>
void sensed_frame_pullback(const FrameMount& on, const Frames<S>& f, const SensedFrame<S>& frame,
                           const SensedFrameBars<S>& bar, const BodyBars<S>& bars, S* p_bar) {
  const int b = on.body;
  const Vec3<S> u_bar = bar.u + cross(bar.z, frame.omega);  // (4)
  const Vec3<S> omega_bar = bar.omega + cross(frame.u, bar.z);
  const Vec3<S> x_bar = bar.x + cross(bar.z, frame.alpha) + cross(u_bar, frame.omega);
  bars.a[b] += wrench(bar.z, frame.x, bar.alpha);  // (5)
  bars.v[b] += wrench(u_bar, frame.x, omega_bar);
  bars.pose[b] += wrench(x_bar, frame.x, bar.turn);
  if (!p_bar) return;
  if (on.pos_place >= 0) {
    add_to(p_bar + on.pos_place, transpose_vector_product(f.R[b], x_bar));  // (6)
  }
  if (on.quat_place >= 0) add_to(p_bar + on.quat_place, rotate_inverse(frame.q, bar.turn));
}

}  // namespace cycloid::inline rigid
