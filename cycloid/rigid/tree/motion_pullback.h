// The pullback of the equations of motion: one sweep from the tips to the base, O(n).
//
// Given q̈ and μ (in a step μ is the solve of M̂ μ = ā, so that no factor is differentiated), the
// cotangents of everything in
//   Φ = -μᵀ(M q̈ + c) = -Σ_bodies m·(I a + v ×* I v) - Σ_k μ_k armature_k q̈_k          (1)
// with q̈ and μ held fixed. m, v, a are the fields of rnea.h. On each body
//   m̄ -= I a + v ×* I v      ā -= I m      v̄ -= I (m×v) - m ×* (I v)                  (2)
// and then link by link towards the base, P the parent:
//   v̄' = v̄ + (S q̇) ×* ā                                                                (3)
//   G  = Γ - m_P ×* m̄ - a_P ×* ā - v_P ×* v̄'                                            (4)
//   q̄_k += S_k·G         q̇̄_k += S_k·(v̄ - v_P ×* ā)                                     (5)
//   (m̄, ā, Γ)_P += (m̄, ā, Γ),   v̄_P += v̄'                                              (6)
// G is the cotangent of a rigid motion of everything from the link on, Γ ("pose wrench") what
// applied forces have put there: whoever adds a wrench W to the cotangent of a field y of a body
// also adds y ×* W to its Γ. The world's ā gives gravity's cotangent, ḡ = -(its linear part).
//
// Parameters of the tree, with S̄_k = μ_k m̄ + q̈_k ā + q̇_k (v̄ - v_P ×* ā) on a column and
// G' = G - Σ S_k ×* S̄_k, the motion of what follows the joint while its column stays:
//   hinge (e; p×e)  ē = S̄_ω + S̄_o × p,   p̄ = e × S̄_o                                  (7)
//   pos  += R₀ᵀ (p̄ + G'_f) - Rᵀ G'_f          R₀ before, R after the joint               (8)
//   axis += R₀ᵀ ē + sin θ t + (1 - cos θ) axis × t   t = Rᵀ(torque of G' about p), |axis| = 1  (9)
//   slide: ē = S̄_o + (q - q0) G'_f                                                       (10)
//   body: pos += R_Pᵀ G_f,  quat: torque of G about the frame, in its own axes             (11)
// Quaternion parameters gather tangent numbers in their first three places (Tree::quaternions);
// the stepper makes four of them when the sum is complete.
//
// More fields y, of generalised vectors x that are held fixed, may go along: each joins (4), (6)
// and S̄_k as m does, with x in the place of μ. Two, of λ and δ, may have a form of their own,
//   Φ -= λᵀM δ:   λ̄ -= I δ,   δ̄ -= I λ                                                  (12)
#pragma once

#include <array>

#include "cycloid/rigid/tree/rnea.h"

namespace cycloid::inline rigid {

// Cotangents of the fields of each body, and its pose wrench: (bodies) each.
template <class S>
struct BodyBars {
  Force<S>*m, *a, *v, *pose;

  CYCLOID_HD void clear(std::size_t bodies) const {
    for (std::size_t b = 0; b < bodies; ++b) m[b] = a[b] = v[b] = pose[b] = Force<S>{};
  }
};

// What the sweep looks at. Fields are per link, inertias per body.
template <class S>
struct SweepPoint {
  const TreeView& tree;
  const Frames<S>& frames;
  const SpatialInertia<S>* inertia;
  const Motion<S>*v, *a, *m;
  const S *qpos, *qvel, *qacc, *mu;
};

// The field of a generalised vector x (nv), per link, and its cotangent per body, used up.
template <class S>
struct FixedField {
  const S* x;
  const Motion<S>* y;
  Force<S>* bar;
};

// With three of them, the last two are λ and δ of (12).
template <class S, std::size_t n>
using MoreFields = std::array<FixedField<S>, n>;

template <class S>
CYCLOID_INLINE Force<S> moved_to(const Force<S>& w, const Vec3<S>& origin) {
  return {w.torque + cross(origin, w.force), w.force};
}

// How fast a hinge turns what follows, against the length of its column: 1 but for an axis that is
// not of unit length, whose rotation is normalised (kinematics.h).
template <class S, class P>
CYCLOID_INLINE S turning_rate(const Frames<S>& f, const P* axis, std::size_t l) {
  const Vec3<S> a = vec3_of<S>(axis);
  const S s = f.turn_sin[l], c = f.turn_cos[l];
  return S(1) / (c * c + dot(a, a) * s * s);
}

// visit(dof, rate) for the hinges whose rate is not 1.
template <class S, class P, class Visit>
void for_each_scaled_dof(const TreeView& tree, const P* p, const Frames<S>& f, Visit visit) {
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    if (link.kind != LinkKind::hinge) continue;
    const P* axis = p + tree.joints[static_cast<std::size_t>(link.joint)].axis;
    if (!is_unit(axis)) visit(link.dof, turning_rate(f, axis, l));
  }
}

// (9): the cotangent of a hinge's own axis. torque: that of G' about the anchor, in the axes that
// follow the joint.
template <class S, class P>
CYCLOID_INLINE Vec3<S> hinge_axis_bar(const Frames<S>& f, const P* own, std::size_t l,
                                      const Vec3<S>& torque) {
  const S s = f.turn_sin[l], c = f.turn_cos[l];
  const Vec3<S> axis = vec3_of<S>(own);
  if (is_unit(own)) return (torque * c + cross(axis, torque) * s) * (s + s);
  const Quat<S> turn = make_quaternion(c, axis * s);
  return vector_part(ambient_from_tangent_cotangent(turn, torque)) * s;
}

// (7)-(10) of one link. G: (4); X: v̄ - v_P ×* ā.
template <class S, class P, std::size_t n>
CYCLOID_INLINE void gather_joint_parameters(const SweepPoint<S>& at, const P* p, std::size_t l,
                                            const MoreFields<S, n>& more, const Force<S>& m_bar,
                                            const Force<S>& a_bar, const Force<S>* more_bar,
                                            const Force<S>& X, const Force<S>& G, S* p_bar) {
  const Link& link = at.tree.links[l];
  const JointPlaces& places = at.tree.joints[static_cast<std::size_t>(link.joint)];
  const Frames<S>& f = at.frames;
  const int dofs = dof_numbers(link.kind);
  for (int k = link.dof; k < link.dof + dofs; ++k) {
    S form = at.mu[k] * at.qacc[k];
    if constexpr (n == 3) form += more[1].x[k] * more[2].x[k];
    p_bar[at.tree.armature[static_cast<std::size_t>(k)]] -= form;
  }
  if (places.pos < 0 && places.axis < 0) return;
  Force<S> rest = G;  // G'
  Vec3<S> p_anchor_bar{}, e_bar{};
  const Vec3<S>& anchor = f.link_anchor[l];
  for (int k = link.dof; k < link.dof + dofs; ++k) {
    Force<S> S_bar = m_bar * at.mu[k];
    S_bar += a_bar * at.qacc[k];
    S_bar += X * at.qvel[k];
    for (std::size_t i = 0; i < n; ++i) S_bar += more_bar[i] * more[i].x[k];
    subtract_cross_force(rest, f.column[k], S_bar);
    add_cross(p_anchor_bar, f.column[k].angular, S_bar.force);  // (7)
    e_bar =
        link.kind == LinkKind::slide ? S_bar.force : field_at({S_bar.force, S_bar.torque}, anchor);
  }
  const Quat<S> before = link.first ? f.before_quat[link.body] : f.link_quat[l - 1];
  const Quat<S> after = f.link_quat[l];
  if (places.pos >= 0) {  // (8)
    add_to(p_bar + places.pos,
           rotate_inverse(before, p_anchor_bar + rest.force) - rotate_inverse(after, rest.force));
  }
  if (places.axis < 0) return;
  Vec3<S> e_own{};
  if (link.kind == LinkKind::slide) {
    const S zero = S(static_cast<Scalar<S>>(at.tree.zero[static_cast<std::size_t>(link.joint)]));
    e_bar += rest.force * (at.qpos[link.qpos] - zero);  // (10)
  } else {
    const Vec3<S> torque = rotate_inverse(after, rest.torque - cross(anchor, rest.force));
    e_own += hinge_axis_bar(f, p + places.axis, l, torque);  // (9)
  }
  add_to(p_bar + places.axis, e_own + rotate_inverse(before, e_bar));
}

// (11), and what goes on to the parent.
template <class S, class P>
CYCLOID_INLINE void gather_body_frame(const SweepPoint<S>& at, std::size_t b, const Force<S>& G,
                                      S* p_bar) {
  const BodyPlaces& places = at.tree.bodies[b];
  if (places.pos < 0) return;
  const std::size_t parent = static_cast<std::size_t>(at.tree.model.bodies[b].parent);
  add_to(p_bar + places.pos, transpose_vector_product(at.frames.R[parent], G.force));
  add_to(p_bar + places.quat, rotate_inverse(at.frames.before_quat[b],
                                             G.torque - cross(at.frames.before_pos[b], G.force)));
}

// Hands a body's cotangents on to its parent; a parent that stands still has another origin.
template <class S>
CYCLOID_INLINE void hand_on(bool assign, const Vec3<S>* origin, const Force<S>& own, Force<S>& to) {
  const Force<S> W = origin ? moved_to(own, *origin) : own;
  to = assign ? W : to + W;
}

// The inertia of body b: (2), (12), and the cotangents of its numbers.
template <class S, class P, std::size_t n>
CYCLOID_INLINE void gather_inertia(const SweepPoint<S>& at, const P* p, std::size_t b,
                                   std::size_t l, const MoreFields<S, n>& more, Force<S>& m_bar,
                                   Force<S>& a_bar, Force<S>& v_bar, Force<S>* more_bar, S* p_bar) {
  const SpatialInertia<S>& I = at.inertia[b];
  const Motion<S>&v = at.v[l], &a = at.a[l], &m = at.m[l];
  const Force<S> Iv = I * v;
  const Motion<S> mxv = cross_motion(m, v);
  m_bar -= I * a;
  subtract_cross_force(m_bar, v, Iv);
  a_bar -= I * m;
  v_bar -= I * mxv;
  add_cross_force(v_bar, m, Iv);  // (2)
  std::array<InertiaForm<S>, n == 3 ? 3 : 2> forms = {{{&m, &a}, {&mxv, &v}}};
  if constexpr (n == 3) {
    const Motion<S>&lambda = more[1].y[l], &delta = more[2].y[l];
    more_bar[1] -= I * delta;
    more_bar[2] -= I * lambda;  // (12)
    forms[2] = {&lambda, &delta};
  }
  if (p_bar) {
    body_inertia_pullback(at.tree.bodies[b], p, at.frames.R[b], at.frames.pos[b], forms, S(-1),
                          p_bar);
  }
}

// Adds to q_bar and v_bar (nv), and to p_bar unless it is null. `bars` and those of `more` hold
// what applied forces have put there, and are used up; when there were none (`pushed` is false)
// they need not be cleared. mocap_bar: (nmocap, 6), assigned: the force on a mocap body's place,
// and the torque on it in its own axes.
template <class S, class P, std::size_t n>
CYCLOID_HD void sweep_pullback(const SweepPoint<S>& at, const P* p, const BodyBars<S>& bars,
                               const MoreFields<S, n>& more, S* q_bar, S* v_bar, S* p_bar,
                               S* mocap_bar, bool pushed) {
  const TreeView& tree = at.tree;
  if (!pushed) bars.a[0] = Force<S>{};
  std::size_t l = tree.links.size() - 1;
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const Body& body = tree.model.bodies[b];
    Force<S> m_bar{}, a_bar{}, v_bar_b{}, more_bar[n + 1];
    const bool given = pushed || tree.has_children[b];
    if (given) m_bar = bars.m[b], a_bar = bars.a[b], v_bar_b = bars.v[b];
    for (std::size_t i = 0; i < n; ++i) more_bar[i] = given ? more[i].bar[b] : Force<S>{};
    if (body.tree >= 0) gather_inertia(at, p, b, l, more, m_bar, a_bar, v_bar_b, more_bar, p_bar);
    Force<S> G{};
    for (;; --l) {
      const Link& link = tree.links[l];
      const std::size_t P_ = static_cast<std::size_t>(link.parent);
      const Motion<S>& v_P = at.v[P_];
      Force<S> v_next = v_bar_b;
      add_cross_force(v_next, at.v[l] - v_P, a_bar);  // (3)
      G = pushed ? bars.pose[b] : Force<S>{};
      if (P_ != 0) {
        subtract_cross_force(G, at.m[P_], m_bar);
        subtract_cross_force(G, v_P, v_next);
        for (std::size_t i = 0; i < n; ++i) subtract_cross_force(G, more[i].y[P_], more_bar[i]);
      }
      subtract_cross_force(G, at.a[P_], a_bar);  // (4)
      const int dofs = dof_numbers(link.kind);
      if (dofs > 0) {
        Force<S> X = v_bar_b;
        subtract_cross_force(X, v_P, a_bar);
        const P* axis = link.kind == LinkKind::hinge
                            ? p + tree.joints[static_cast<std::size_t>(link.joint)].axis
                            : nullptr;
        const bool scaled = axis && !is_unit(axis);
        for (int k = link.dof; k < link.dof + dofs; ++k) {  // (5)
          const S turned = power(G, at.frames.column[k]);
          q_bar[k] += scaled ? turned * turning_rate(at.frames, axis, l) : turned;
          v_bar[k] += power(X, at.frames.column[k]);
        }
        if (p_bar) {
          gather_joint_parameters(at, p, l, more, m_bar, a_bar,
                                  static_cast<const Force<S>*>(more_bar), X, G, p_bar);
        }
      }
      v_bar_b = v_next;
      if (link.first) break;
    }
    --l;
    if (p_bar) gather_body_frame<S, P>(at, b, G, p_bar);
    if (body.mocap >= 0) {
      store(mocap_bar + 6 * body.mocap, G.force);
      store(mocap_bar + 6 * body.mocap + 3,
            rotate_inverse(at.frames.before_quat[b],
                           G.torque - cross(at.frames.before_pos[b], G.force)));
    }
    const std::size_t parent = static_cast<std::size_t>(body.parent);  // (6)
    const Vec3<S>* origin = tree.root[b] ? at.frames.origin + b : nullptr;
    const bool assign = !pushed && tree.last_child[b];
    hand_on(assign, origin, m_bar, bars.m[parent]);
    hand_on(assign, origin, a_bar, bars.a[parent]);
    hand_on(assign, origin, v_bar_b, bars.v[parent]);
    for (std::size_t i = 0; i < n; ++i) hand_on(assign, origin, more_bar[i], more[i].bar[parent]);
    if (pushed) hand_on(false, origin, bars.pose[b], bars.pose[parent]);
  }
}
template <class S, class P>
CYCLOID_HD void sweep_pullback(const SweepPoint<S>& at, const P* p, const BodyBars<S>& bars,
                               S* q_bar, S* v_bar, S* p_bar, S* mocap_bar, bool pushed = true) {
  sweep_pullback(at, p, bars, MoreFields<S, 0>{}, q_bar, v_bar, p_bar, mocap_bar, pushed);
}

}  // namespace cycloid::inline rigid
