// The pullback of the equations of motion: one sweep from the tips to the base, O(n).
//
// Given q̈ and μ (in a step μ is the solve of M̂ μ = ā, so that no factor is differentiated), the
// cotangents of everything in
//   Φ = -μᵀ(M q̈ + c) = -Σ_bodies m·(I a + v ×* I v) - Σ_k μ_k armature_k q̈_k          (1)
// with q̈ and μ held fixed. m, v, a are the fields of rnea.h. On each body
//   m̄ -= I a + v ×* I v      ā -= I m      v̄ -= I (m×v) - m ×* (I v)                  (2)
// and then link by link towards the base, P the parent, with the cotangent Z = v̄ - v ×* ā of v and
// that of a rigid motion of everything behind the link while fields stay, G', of which each body's
// own share is Γ and that of its inertia, which turned with the fields would change nothing:
//   G' = Γ - m ×* m̄ - a ×* ā - v ×* v̄,   m̄, ā, v̄ of (2) alone                            (3)
// C = (S q̇) ×* ā:
//   X = Z + C         S̄_k = μ_k m̄ + q̈_k ā + q̇_k X         G = G' + Σ S_k ×* S̄_k        (4)
//   q̄_k += S_k·G      q̇̄_k += S_k·X                                                     (5)
//   (m̄, ā)_P += (m̄, ā),   Z_P += Z + 2 C,   G'_P += G                                   (6)
// S̄_k is the cotangent of a column, G that of a rigid motion of everything from the joint on. At a
// root with nothing applied G is -a_P ×* ā, without the others' rounding. Γ ("pose wrench") is what
// applied forces have put there: a wrench W on a field y that stands still in the world has no part
// in it, a law that turns with body and field (a medium's) brings -y ×* W (add_turning_wrench).
// The world's ā gives gravity's cotangent, ḡ = -(its linear part).
//
// (2) and (3) about the centre of mass c, A = a(c) + ω × v(c), n = ω × m(c), t = m_ω × ω, mass M:
//   m̄ -= (J α + ω×Jω; M A)   ā -= (J m_ω; M m(c))   Z += (m_ω×Jω + ω×Jm_ω - Jt; 2 M n)
//   G' -= (Jα×m_ω + Jm_ω×α + Jω×t + Jt×ω; M (A×m_ω + m(c)×α + ω×n))                      (2')
//   M̄ -= m(c)·A,   com̄ -= Rᵀ(the force of G'),   J̄ -= sym(m_ω αᵀ + t ωᵀ) in the body's axes
//
// Parameters of the tree; G' is the motion of what follows the joint while its column stays:
//   hinge (e; p×e)  ē = S̄_ω + S̄_o × p,   p̄ = e × S̄_o                                  (7)
//   pos  += R₀ᵀ (p̄ + G'_f) - Rᵀ G'_f          R₀ before, R after the joint               (8)
//   axis += R₀ᵀ ē + sin θ t + (1 - cos θ) axis × t   t = Rᵀ(torque of G' about p), |axis| = 1  (9)
//   slide: ē = S̄_o + (q - q0) G'_f                                                       (10)
//   body: pos += R_Pᵀ G_f,  quat: torque of G about the frame, in its own axes             (11)
// Quaternion parameters gather tangent numbers in their first three places (Tree::quaternions);
// the stepper makes four of them when the sum is complete.
//
// More fields y, of generalised vectors x that are held fixed, may go along: each joins (3), (4)
// and (6) as m does, with x in the place of μ. Two, of λ and δ, may have a form of their own,
//   Φ -= λᵀM δ:   λ̄ -= I δ,   δ̄ -= I λ                                                  (12)
#pragma once

#include <array>
#include <type_traits>

#include "cycloid/base/device_stage.h"
#include "cycloid/math/dual.h"
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

// The field of a generalised vector x (nv), per link, and its cotangent per body, used up; it need
// not be cleared where nothing has been put there.
template <class S>
struct FixedField {
  const S* x;
  const Motion<S>* y;
  Force<S>* bar;
  bool pushed = true;
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

// What goes from link to link: cotangents of the fields of m, a and v (Z), G', and those of more
// fields.
template <class S, std::size_t n>
struct LinkBars {
  Force<S> m, a, z, motion, more[n == 0 ? 1 : n];

  // What bodies behind b, if it is no tip, and applied forces, if they `pushed`, have given.
  CYCLOID_INLINE LinkBars(const BodyBars<S>& bars, const MoreFields<S, n>& fields, std::size_t b,
                          bool pushed, bool tip) {
    if (tip && !pushed) {
      m = a = z = motion = Force<S>{};
    } else {
      m = bars.m[b], a = bars.a[b], z = bars.v[b], motion = bars.pose[b];
    }
    for (std::size_t i = 0; i < n; ++i) {
      more[i] = tip && !fields[i].pushed ? Force<S>{} : fields[i].bar[b];
    }
  }
};

// (7)-(10) of one link. S_bar: (dofs); rest: G'.
template <int dofs, class S, class P, std::size_t n>
CYCLOID_INLINE void gather_joint_parameters(const SweepPoint<S>& at, const P* p, std::size_t l,
                                            const MoreFields<S, n>& more, const Force<S>* S_bar,
                                            const Force<S>& rest, S* p_bar) {
  const Link& link = at.tree.links[l];
  const JointPlaces& places = at.tree.joints[static_cast<std::size_t>(link.joint)];
  const Frames<S>& f = at.frames;
  for (int k = link.dof; k < link.dof + dofs; ++k) {
    S form = at.mu[k] * at.qacc[k];
    if constexpr (n == 3) form += more[1].x[k] * more[2].x[k];
    p_bar[at.tree.armature[static_cast<std::size_t>(k)]] -= form;
  }
  if (places.pos < 0 && places.axis < 0) return;
  Vec3<S> p_anchor_bar{};
  for (int i = 0; i < dofs; ++i) {
    add_cross(p_anchor_bar, f.column[link.dof + i].angular, S_bar[i].force);  // (7)
  }
  const Quat<S> before = link.first ? f.before_quat[link.body] : f.link_quat[l - 1];
  const Quat<S> after = f.link_quat[l];
  if (places.pos >= 0) {  // (8)
    add_to(p_bar + places.pos,
           rotate_inverse(before, p_anchor_bar + rest.force) - rotate_inverse(after, rest.force));
  }
  if (places.axis < 0) return;
  Vec3<S> e_bar = S_bar[0].force, e_own{};
  if (link.kind == LinkKind::slide) {
    const S zero = S(static_cast<Scalar<S>>(at.tree.zero[static_cast<std::size_t>(link.joint)]));
    e_bar += rest.force * (at.qpos[link.qpos] - zero);  // (10)
  } else {
    const Vec3<S>& anchor = f.link_anchor[l];
    e_bar = field_at({S_bar[0].force, S_bar[0].torque}, anchor);
    const Vec3<S> torque = rotate_inverse(after, rest.torque - cross(anchor, rest.force));
    e_own += hinge_axis_bar(f, p + places.axis, l, torque);  // (9)
  }
  add_to(p_bar + places.axis, e_own + rotate_inverse(before, e_bar));
}

// (4)-(6) of one link with dofs, on the way from its bars to its parent's.
template <int dofs, class S, class P, std::size_t n>
CYCLOID_INLINE void cross_joint(const SweepPoint<S>& at, const P* p, std::size_t l,
                                const MoreFields<S, n>& more, bool pushed, LinkBars<S, n>& bar,
                                S* q_bar, S* v_bar, S* p_bar) {
  const Link& link = at.tree.links[l];
  const Motion<S>* const column = at.frames.column + link.dof;
  const Force<S> C = cross_force(link_motion(link, at.frames.column, at.qvel), bar.a);
  const Force<S> X = bar.z + C, rest = bar.motion;
  Force<S> S_bar[dofs];
  for (int i = 0; i < dofs; ++i) {
    const int k = link.dof + i;
    S_bar[i] = bar.m * at.mu[k];
    S_bar[i] += bar.a * at.qacc[k];
    S_bar[i] += X * at.qvel[k];
    for (std::size_t j = 0; j < n; ++j) S_bar[i] += bar.more[j] * more[j].x[k];
    add_cross_force(bar.motion, column[i], S_bar[i]);  // (4)
  }
  if (!pushed && link.parent == 0) {
    bar.motion = Force<S>{};
    subtract_cross_force(bar.motion, at.a[0], bar.a);
  }
  const bool hinge = link.kind == LinkKind::hinge;
  const P* axis = p + (hinge ? at.tree.joints[static_cast<std::size_t>(link.joint)].axis : 0);
  const bool scaled = hinge && !is_unit(axis);
  for (int i = 0; i < dofs; ++i) {  // (5)
    const S turned = power(bar.motion, column[i]);
    q_bar[link.dof + i] += scaled ? turned * turning_rate(at.frames, axis, l) : turned;
    v_bar[link.dof + i] += power(X, column[i]);
  }
  bar.z = X + C;  // (6)
  if (p_bar) {
    gather_joint_parameters<dofs>(at, p, l, more, static_cast<const Force<S>*>(S_bar), rest, p_bar);
  }
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
CYCLOID_INLINE void hand_on(bool assign, bool moved, const Vec3<S>& origin, const Force<S>& own,
                            Force<S>& to) {
  const Force<S> W = moved ? moved_to(own, origin) : own;
  to = assign ? W : to + W;
}

// The cotangents of a body's numbers in (2'); force: that of G'.
template <class S, std::size_t n>
CYCLOID_INLINE void gather_inertia_parameters(const SweepPoint<S>& at, std::size_t b, std::size_t l,
                                              const MoreFields<S, n>& more, const S& mass_bar,
                                              const Vec3<S>& force, S* p_bar) {
  const BodyPlaces& places = at.tree.bodies[b];
  const auto own = [&](const Vec3<S>& x) { return transpose_vector_product(at.frames.R[b], x); };
  S J_bar[6] = {S(0), S(0), S(0), S(0), S(0), S(0)};
  const Vec3<S> mu = own(at.m[l].angular), omega = own(at.v[l].angular);
  add_symmetric_product(mu, own(at.a[l].angular), J_bar);
  add_symmetric_product(cross(mu, omega), omega, J_bar);
  if constexpr (n == 3) {
    add_symmetric_product(own(more[1].y[l].angular), own(more[2].y[l].angular), J_bar);
  }
  p_bar[places.mass] -= mass_bar;
  add_to(p_bar + places.com, -own(force));
  for (int i = 0; i < 6; ++i) p_bar[places.inertia + i] -= J_bar[i];
}

// The inertia of body b: (2'), (12), and the cotangents of its numbers.
template <class S, std::size_t n>
CYCLOID_INLINE void gather_inertia(const SweepPoint<S>& at, std::size_t b, std::size_t l,
                                   const MoreFields<S, n>& more, LinkBars<S, n>& bar, S* p_bar) {
  const S mass = at.inertia[b].mass;
  const Vec3<S> c = at.inertia[b].com;
  const SymMat3<S> J = at.inertia[b].inertia;
  const Vec3<S>&omega = at.v[l].angular, &alpha = at.a[l].angular, &mu = at.m[l].angular;
  const Vec3<S> m_c = field_at(at.m[l], c), n_c = cross(omega, m_c), t = cross(mu, omega);
  Vec3<S> A = field_at(at.a[l], c);
  add_cross(A, omega, field_at(at.v[l], c));
  const Vec3<S> Jv = J * omega, Ja = J * alpha, Jm = J * mu, Jt = J * t;
  bar.m -= wrench(A * mass, c, Ja + cross(omega, Jv));
  bar.a -= wrench(m_c * mass, c, Jm);
  bar.z += wrench(n_c * (mass + mass), c, cross(mu, Jv) + cross(omega, Jm) - Jt);
  Vec3<S> force = cross(A, mu), torque = cross(Ja, mu);
  add_cross(force, m_c, alpha);
  add_cross(force, omega, n_c);
  add_cross(torque, Jm, alpha);
  add_cross(torque, Jv, t);
  add_cross(torque, Jt, omega);
  S mass_bar = dot(m_c, A);
  if constexpr (n == 3) {
    const Motion<S>&lambda = more[1].y[l], &delta = more[2].y[l];
    const Vec3<S> lambda_c = field_at(lambda, c), delta_c = field_at(delta, c);
    const Vec3<S> J_lambda = J * lambda.angular, J_delta = J * delta.angular;
    bar.more[1] -= wrench(delta_c * mass, c, J_delta);
    bar.more[2] -= wrench(lambda_c * mass, c, J_lambda);  // (12)
    add_cross(force, delta_c, lambda.angular);
    add_cross(force, lambda_c, delta.angular);
    add_cross(torque, J_delta, lambda.angular);
    add_cross(torque, J_lambda, delta.angular);
    mass_bar += dot(lambda_c, delta_c);
  }
  force = force * mass;
  bar.motion -= wrench(force, c, torque);
  if (p_bar) gather_inertia_parameters(at, b, l, more, mass_bar, force, p_bar);
}

// Of applied forces: a wrench W on the cotangent of the field y of a body that turns with both.
template <class S>
CYCLOID_INLINE void add_turning_wrench(const Motion<S>& y, const Force<S>& W, Force<S>& y_bar,
                                       Force<S>& pose) {
  y_bar += W;
  subtract_cross_force(pose, y, W);
}

// What applied forces have put on a body's ā becomes its share of Z. Dual numbers that are zero may
// have a tangent.
template <class S>
CYCLOID_HD void take_pushes(const SweepPoint<S>& at, const BodyBars<S>& bars) {
  const auto acts = [](const Force<S>& w) {
    if constexpr (!std::is_same_v<S, std::remove_cvref_t<decltype(primal(S()))>>) return true;
    const auto size = [](const Vec3<S>& v) { return abs(v.x) + abs(v.y) + abs(v.z); };
    return any(size(w.torque) + size(w.force) != S(0));
  };
  for (std::size_t b = 1; b < at.tree.model.bodies.size(); ++b) {
    const std::size_t l = static_cast<std::size_t>(at.tree.last_link[b]);
    if (acts(bars.a[b])) subtract_cross_force(bars.v[b], at.v[l], bars.a[b]);
  }
}

// Adds to q_bar and v_bar (nv), and to p_bar unless it is null. `bars` and those of `more` hold
// what applied forces have put there, and are used up; when there were none (`pushed` is false)
// they need not be cleared. mocap_bar: (nmocap, 6), assigned: the force on a mocap body's place,
// and the torque on it in its own axes.
template <class S, class P, std::size_t n>
CYCLOID_STAGE void sweep_pullback(const SweepPoint<S>& at, const P* p, const BodyBars<S>& bars,
                                  const MoreFields<S, n>& more, S* q_bar, S* v_bar, S* p_bar,
                                  S* mocap_bar, bool pushed) {
  const TreeView& tree = at.tree;
  if (pushed) {
    take_pushes(at, bars);
  } else {
    bars.a[0] = Force<S>{};
  }
  std::size_t l = tree.links.size() - 1;
  for (std::size_t b = tree.model.bodies.size(); b-- > 1; --l) {
    const Body& body = tree.model.bodies[b];
    LinkBars<S, n> bar(bars, more, b, pushed, !tree.has_children[b]);
    if (body.tree >= 0) gather_inertia(at, b, l, more, bar, p_bar);
    for (;; --l) {
      const int dofs = dof_numbers(tree.links[l].kind);
      if (dofs == 1) cross_joint<1>(at, p, l, more, pushed, bar, q_bar, v_bar, p_bar);
      if (dofs == 3) cross_joint<3>(at, p, l, more, pushed, bar, q_bar, v_bar, p_bar);
      if (tree.links[l].first) break;
    }
    if (p_bar) gather_body_frame<S, P>(at, b, bar.motion, p_bar);
    if (body.mocap >= 0) {
      const Force<S>& G = bar.motion;
      store(mocap_bar + 6 * body.mocap, G.force);
      store(mocap_bar + 6 * body.mocap + 3,
            rotate_inverse(at.frames.before_quat[b],
                           G.torque - cross(at.frames.before_pos[b], G.force)));
    }
    const std::size_t parent = static_cast<std::size_t>(body.parent);  // (6)
    const Vec3<S>& origin = at.frames.origin[b];
    const bool root = tree.root[b];
    const bool last = tree.last_child[b], assign = !pushed && last;
    hand_on(assign, root, origin, bar.m, bars.m[parent]);
    hand_on(assign, root, origin, bar.a, bars.a[parent]);
    hand_on(assign, root, origin, bar.z, bars.v[parent]);
    hand_on(assign, root, origin, bar.motion, bars.pose[parent]);
    for (std::size_t i = 0; i < n; ++i) {
      hand_on(!more[i].pushed && last, root, origin, bar.more[i], more[i].bar[parent]);
    }
  }
}
template <class S, class P>
CYCLOID_STAGE void sweep_pullback(const SweepPoint<S>& at, const P* p, const BodyBars<S>& bars,
                                  S* q_bar, S* v_bar, S* p_bar, S* mocap_bar, bool pushed = true) {
  sweep_pullback(at, p, bars, MoreFields<S, 0>{}, q_bar, v_bar, p_bar, mocap_bar, pushed);
}

}  // namespace cycloid::inline rigid
