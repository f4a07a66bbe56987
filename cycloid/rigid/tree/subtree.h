// A body with all that hangs on it: centre of mass, its velocity, and angular momentum.
//
// Sums over the bodies of the subtree, those that stand still included; c_b the centre of mass of
// body b in the world, h_b = I v its spatial momentum about the origin o_b of its tree (n_b; f_b):
//   m = Σ m_b,   C = Σ m_b c_b / m                               (1)  [kg], [m]
//   P = Σ f_b,   V = P / m                                       (2)  [N·s], [m/s]
//   L = Σ n_b + (o_b - C) × f_b                                  (3)  about C [N·m·s]
// A subtree without mass has its body's own c for C, and V = 0.
//
// Pullback. V̄ and L̄ pair with momenta as a motion X that stays where it is in the world,
//   X_b = (L̄ ; V̄/m + L̄ × (o_b - C))                             (4)
//   v̄_b += I X,   Γ_b -= X ×* h_b + v ×* I X,   parameters: (X, v) of inertia.h (5)       (5)
//   C̄ += L̄ × P,   m̄_b += C̄·(c_b - C)/m - V̄·V/m                  (6)
//   c̄_b = C̄ m_b/m,   Γ_b += wrench(c̄_b, c_b),   com += Rᵀ c̄_b   (7)
// In (5) body, field and inertia turn together, and X does not.
#pragma once

#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

template <class S>
struct SubtreeMotion {
  S mass;
  Vec3<S> com, momentum, velocity, angular;  // C, P, V, L
};

template <class S>
struct SubtreeBars {
  Vec3<S> com{}, velocity{}, angular{};  // C̄, V̄, L̄
};

template <class S, class P>
CYCLOID_INLINE S mass_of(const TreeView& tree, const P* p, std::size_t b) {
  const int place = tree.bodies[b].mass;
  return place >= 0 ? S(p[place]) : S(static_cast<Scalar<S>>(tree.model.bodies[b].mass));
}

// From the origin of the body's tree.
template <class S, class P>
CYCLOID_INLINE Vec3<S> centre_of(const TreeView& tree, const P* p, std::size_t b,
                                 const Frames<S>& f) {
  const int place = tree.bodies[b].com;
  if (place >= 0) return f.pos[b] + f.R[b] * vec3_of<S>(p + place);
  const auto& c = tree.model.bodies[b].com;
  const auto at = [&](std::size_t i) { return S(static_cast<Scalar<S>>(c[i])); };
  return f.pos[b] + f.R[b] * Vec3<S>{at(0), at(1), at(2)};
}

// Calls visit(b) for `top` and every body below it.
template <class Visit>
CYCLOID_HD void for_each_below(const TreeView& tree, std::size_t top, Visit visit) {
  const auto& bodies = tree.model.bodies;
  for (std::size_t b = top; b < bodies.size(); ++b) {
    std::size_t k = b;
    while (k > top) k = static_cast<std::size_t>(bodies[k].parent);
    if (k == top) visit(b);
  }
}

// The share of body b in C: m_b/m, and 1 of `top` in a subtree without mass.
template <class S>
CYCLOID_INLINE S share_of(const S& m_b, const S& m, bool is_top) {
  const Mask<S> none = m < S(1e-15);
  return select(none, is_top ? S(1) : S(0), m_b / select(none, S(1), m));
}

// inertia: (bodies), where they move; v: (links).
template <class S, class P>
CYCLOID_HD SubtreeMotion<S> subtree_motion(const TreeView& tree, const P* p, int body,
                                           const Frames<S>& f, const SpatialInertia<S>* inertia,
                                           const Motion<S>* v) {
  const std::size_t top = static_cast<std::size_t>(body);
  const Vec3<S> o = f.origin[top];  // sums are taken about it
  SubtreeMotion<S> out{};
  Vec3<S> C{}, L{};
  for_each_below(tree, top, [&](std::size_t b) { out.mass += mass_of<S>(tree, p, b); });
  for_each_below(tree, top, [&](std::size_t b) {
    const Vec3<S> to_tree = f.origin[b] - o;
    C += (to_tree + centre_of(tree, p, b, f)) *
         share_of(mass_of<S>(tree, p, b), out.mass, b == top);  // (1)
    if (tree.model.bodies[b].tree < 0) return;
    const Force<S> h = inertia[b] * v[tree.last_link[b]];
    out.momentum += h.force;  // (2)
    L += h.torque + cross(to_tree, h.force);
  });
  out.angular = L - cross(C, out.momentum);  // (3)
  out.velocity = out.momentum * share_of(S(1), out.mass, false);
  out.com = o + C;
  return out;
}

// Adds to bars.v and bars.pose, and to p_bar unless it is null.
template <class S, class P>
void subtree_motion_pullback(const TreeView& tree, const P* p, int body, const Frames<S>& f,
                             const SpatialInertia<S>* inertia, const Motion<S>* v,
                             const SubtreeMotion<S>& out, const SubtreeBars<S>& out_bar,
                             const BodyBars<S>& bars, S* p_bar) {
  const std::size_t top = static_cast<std::size_t>(body);
  const S per_mass = share_of(S(1), out.mass, false);
  const Vec3<S> P_bar = out_bar.velocity * per_mass;
  const Vec3<S> com_bar = out_bar.com + cross(out_bar.angular, out.momentum);  // (6)
  for_each_below(tree, top, [&](std::size_t b) {
    const Vec3<S> to_tree = f.origin[b] - out.com, c = centre_of(tree, p, b, f);
    const Vec3<S> c_bar = com_bar * share_of(mass_of<S>(tree, p, b), out.mass, b == top);
    bars.pose[b] += wrench(c_bar, c, Vec3<S>{});  // (7)
    if (tree.model.bodies[b].tree < 0) return;
    const Motion<S>& v_b = v[tree.last_link[b]];
    const Motion<S> X{out_bar.angular, P_bar + cross(out_bar.angular, to_tree)};  // (4)
    add_turning_wrench(v_b, inertia[b] * X, bars.v[b], bars.pose[b]);             // (5)
    bars.pose[b] -= cross_force(X, inertia[b] * v_b);
    if (!p_bar) return;
    const BodyPlaces& at = tree.bodies[b];
    body_inertia_pullback(at, p, f.R[b], f.pos[b], std::array{InertiaForm<S>{&X, &v_b}}, S(1),
                          p_bar);
    add_to(p_bar + at.com, transpose_vector_product(f.R[b], c_bar));
    p_bar[at.mass] += per_mass * (dot(com_bar, to_tree + c) - dot(out_bar.velocity, out.velocity));
  });
}

}  // namespace cycloid::inline rigid
