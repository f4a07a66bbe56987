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
//   axis += R₀ᵀ ē + (sin a/2) vec(q̄_joint)    q_joint turns what follows about p          (9)
//   slide: ē = S̄_o + (q - q0) G'_f                                                       (10)
//   body: pos += R_Pᵀ G_f,  quat: torque of G about the frame, in its own axes             (11)
// Quaternion parameters gather tangent numbers in their first three places (Tree::quaternions);
// the stepper makes four of them when the sum is complete.
#pragma once

#include "cycloid/rigid/rnea.h"

namespace cycloid::inline rigid {

// Cotangents of the fields of each body, and its pose wrench: (bodies) each.
template <class S>
struct BodyBars {
  Force<S>*m, *a, *v, *pose;

  void clear(std::size_t bodies) const {
    for (std::size_t b = 0; b < bodies; ++b) m[b] = a[b] = v[b] = pose[b] = Force<S>{};
  }
};

// What the sweep looks at. Fields are per link, inertias per body.
template <class S>
struct SweepPoint {
  const Tree& tree;
  const Frames<S>& frames;
  const MomentInertia<S>* inertia;
  const Motion<S>*v, *a, *m;
  const S *qpos, *qvel, *qacc, *mu;
};

template <class S>
CYCLOID_INLINE Force<S> moved_to(const Force<S>& w, const Vec3<S>& origin) {
  return {w.torque + cross(origin, w.force), w.force};
}

// (7)-(10) of one link. G: (4); X: v̄ - v_P ×* ā.
template <class S, class P>
void gather_joint_parameters(const SweepPoint<S>& at, const P* p, std::size_t l,
                             const Force<S>& m_bar, const Force<S>& a_bar, const Force<S>& X,
                             const Force<S>& G, S* p_bar) {
  const Link& link = at.tree.links[l];
  const std::size_t id = static_cast<std::size_t>(link.joint);
  const JointPlaces& places = at.tree.joints[id];
  const Frames<S>& f = at.frames;
  const int dofs = dof_numbers(link.kind);
  for (int k = link.dof; k < link.dof + dofs; ++k) {
    p_bar[at.tree.armature[static_cast<std::size_t>(k)]] -= at.mu[k] * at.qacc[k];
  }
  if (places.pos < 0 && places.axis < 0) return;
  Force<S> rest = G;  // G'
  Vec3<S> p_anchor_bar{}, e_bar{};
  const Vec3<S>& anchor = f.link_anchor[l];
  for (int k = link.dof; k < link.dof + dofs; ++k) {
    const Force<S> S_bar = m_bar * at.mu[k] + a_bar * at.qacc[k] + X * at.qvel[k];
    rest -= cross_force(f.column[k], S_bar);
    p_anchor_bar += cross(f.column[k].angular, S_bar.force);  // (7)
    e_bar = link.kind == LinkKind::slide ? S_bar.force : S_bar.torque + cross(S_bar.force, anchor);
  }
  const Quat<S>& before = link.first ? f.before_quat[link.body] : f.link_quat[l - 1];
  const Quat<S>& after = f.link_quat[l];
  if (places.pos >= 0) {  // (8)
    add_to(p_bar + places.pos,
           rotate_inverse(before, p_anchor_bar + rest.force) - rotate_inverse(after, rest.force));
  }
  if (places.axis < 0) return;
  const Joint& joint = at.tree.model.joints[id];
  const S moved = at.qpos[link.qpos] - S(static_cast<Scalar<S>>(joint.qpos0[0]));
  if (link.kind == LinkKind::slide) {
    e_bar += rest.force * moved;  // (10)
  } else {
    const Quat<S> turn = hinge_quaternion(vec3_of<S>(p + places.axis), moved);
    const Vec3<S> torque = rotate_inverse(after, rest.torque - cross(anchor, rest.force));
    S s, c;
    sin_cos(moved * S(0.5), s, c);
    add_to(p_bar + places.axis,
           vector_part(ambient_from_tangent_cotangent(turn, torque)) * s);  // (9)
  }
  add_to(p_bar + places.axis, rotate_inverse(before, e_bar));
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

// Adds to q_bar and v_bar (nv), and to p_bar unless it is null. `bars` holds what applied forces
// have put there, and is used up. mocap_bar: (nmocap, 6), assigned: the force on a mocap body's
// place, and the torque on it in its own axes.
template <class S, class P>
void sweep_pullback(const SweepPoint<S>& at, const P* p, const BodyBars<S>& bars, S* q_bar,
                    S* v_bar, S* p_bar, S* mocap_bar) {
  const Tree& tree = at.tree;
  std::size_t l = tree.links.size() - 1;
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const Body& body = tree.model.bodies[b];
    Force<S> m_bar = bars.m[b], a_bar = bars.a[b], v_bar_b = bars.v[b];
    const Force<S>& pose = bars.pose[b];
    if (body.tree >= 0) {  // (2)
      const MomentInertia<S>& I = at.inertia[b];
      const Motion<S>&v = at.v[l], &a = at.a[l], &m = at.m[l];
      const Force<S> Iv = I * v;
      const Motion<S> mxv = cross_motion(m, v);
      m_bar -= I * a + cross_force(v, Iv);
      a_bar -= I * m;
      v_bar_b -= I * mxv - cross_force(m, Iv);
      if (p_bar) {
        body_inertia_pullback(tree.bodies[b], p, at.frames.R[b], at.frames.pos[b], m, a, mxv, v,
                              S(-1), p_bar);
      }
    }
    Force<S> G{};
    for (;; --l) {
      const Link& link = tree.links[l];
      const std::size_t P_ = static_cast<std::size_t>(link.parent);
      const Motion<S>& v_P = at.v[P_];
      const Force<S> v_next = v_bar_b + cross_force(at.v[l] - v_P, a_bar);  // (3)
      G = pose - cross_force(at.m[P_], m_bar) - cross_force(at.a[P_], a_bar) -
          cross_force(v_P, v_next);  // (4)
      const int dofs = dof_numbers(link.kind);
      if (dofs > 0) {
        const Force<S> X = v_bar_b - cross_force(v_P, a_bar);
        for (int k = link.dof; k < link.dof + dofs; ++k) {  // (5)
          q_bar[k] += power(G, at.frames.column[k]);
          v_bar[k] += power(X, at.frames.column[k]);
        }
        if (p_bar) gather_joint_parameters(at, p, l, m_bar, a_bar, X, G, p_bar);
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
    // (6); a parent that stands still has another origin.
    const std::size_t parent = static_cast<std::size_t>(body.parent);
    if (tree.root[b]) {
      const Vec3<S>& o = at.frames.origin[b];
      bars.m[parent] += moved_to(m_bar, o);
      bars.a[parent] += moved_to(a_bar, o);
      bars.v[parent] += moved_to(v_bar_b, o);
      bars.pose[parent] += moved_to(pose, o);
    } else {
      bars.m[parent] += m_bar;
      bars.a[parent] += a_bar;
      bars.v[parent] += v_bar_b;
      bars.pose[parent] += pose;
    }
  }
}

}  // namespace cycloid::inline rigid
