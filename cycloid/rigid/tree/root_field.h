// What MuJoCo keeps about the centre of mass of a whole tree: cinert, cvel and cfrc_ext of a body.
//
// The tree is all that hangs on the same child of the world; C its centre of mass (subtree.h), o
// the origin of the body's kinematic tree, c, m, J, v the body's centre of mass, mass, inertia
// about c and velocity field, W = (τ; f) what acts on it from outside (external_force.h). In world
// axes:
//   s = C - o                                                       (1)
//   cinert    J + m (|d|² 1 - d dᵀ),   m d,   m,      d = c - s     (2)  xx yy zz xy xz yz, 3, 1
//   cvel      v_ω,   v(s)                                           (3)
//   cfrc_ext  τ - s × f,   f                                        (4)
// The world shows zeros. Source: MuJoCo's manual, mj_comPos, mj_comVel, mj_rnePostConstraint.
//
// Pullback. G: the cotangent of the matrix in (2), symmetric; θ̄ turns the body in world axes.
//   d̄ = m (2 tr G d - 2 G d + h̄),   m̄ += tr G |d|² - d·G d + h̄·d                     (5)
//   c̄ = d̄,   s̄ = -d̄,   θ̄ = 2 Σ_k J e_k × G e_k,   J of the parameters: Rᵀ G R         (6)
//   from (3): a wrench (ω̄ + s × ū; ū) on v by rule (2) of row.h,   s̄ = ū × v_ω          (7)
//   from (4): Y = (τ̄; f̄ + s × τ̄) on W,   s̄ = τ̄ × f                                    (8)
// and C̄ is the sum of s̄ over the tree.
#pragma once

#include "cycloid/base/arena.h"
#include "cycloid/rigid/tree/subtree.h"

namespace cycloid::inline rigid {

template <class S>
struct RootSpace {
  Vec3<S>*s, *s_bar;  // (bodies)

  void carve(const TreeView& tree, Arena& arena) {
    for (Vec3<S>** array : {&s, &s_bar}) arena.take(*array, tree.model.bodies.size());
  }
  void clear(const TreeView& tree) const {
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) s_bar[b] = Vec3<S>{};
  }
};

inline std::size_t tree_top(const TreeView& tree, std::size_t b) {
  while (tree.model.bodies[b].parent != 0) {
    b = static_cast<std::size_t>(tree.model.bodies[b].parent);
  }
  return b;
}

// (1) into space.s, but for the world.
template <class S, class P>
void place_roots(const TreeView& tree, const P* p, const Frames<S>& f,
                 const SpatialInertia<S>* inertia, const Motion<S>* v, const RootSpace<S>& space) {
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    const std::size_t top = tree_top(tree, b);
    if (top == b) {
      const int root = static_cast<int>(b);
      space.s[b] = subtree_motion(tree, p, root, f, inertia, v).com - f.origin[b];
    } else {
      space.s[b] = space.s[top] + (f.origin[top] - f.origin[b]);
    }
  }
}

// C̄ of every tree, from space.s_bar. Adds to bars.pose, and to p_bar unless it is null.
template <class S, class P>
void gather_roots(const TreeView& tree, const P* p, const Frames<S>& f,
                  const SpatialInertia<S>* inertia, const Motion<S>* v, const RootSpace<S>& space,
                  const BodyBars<S>& bars, S* p_bar) {
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const std::size_t top = tree_top(tree, b);
    if (top != b) {
      space.s_bar[top] += space.s_bar[b];
      continue;
    }
    const int root = static_cast<int>(b);
    SubtreeBars<S> bar;
    bar.com = space.s_bar[b];
    subtree_motion_pullback(tree, p, root, f, inertia, v,
                            subtree_motion(tree, p, root, f, inertia, v), bar, bars, p_bar);
  }
}

// Of a body that may stand still, about its tree's origin. inertia: (bodies), where they move.
template <class S, class P>
SpatialInertia<S> whole_inertia(const TreeView& tree, const P* p, std::size_t b, const Frames<S>& f,
                                const SpatialInertia<S>* inertia) {
  if (tree.model.bodies[b].tree >= 0) return inertia[b];
  const auto& J = tree.model.bodies[b].inertia;
  const auto at = [&](std::size_t i) { return S(static_cast<Scalar<S>>(J[i])); };
  return {mass_of<S>(tree, p, b), centre_of(tree, p, b, f),
          turn(f.R[b], SymMat3<S>{at(0), at(1), at(2), at(3), at(4), at(5)})};
}

// (2), 10 numbers.
template <class S>
void root_inertia(const SpatialInertia<S>& I, const Vec3<S>& s, S* out) {
  const Vec3<S> d = I.com - s;
  SymMat3<S> J = I.inertia;
  add_point_mass(I.mass, d, J);
  out[0] = J.xx, out[1] = J.yy, out[2] = J.zz, out[3] = J.xy, out[4] = J.xz, out[5] = J.yz;
  store(out + 6, d * I.mass);
  out[9] = I.mass;
}

// Adds to s_bar, to the body's pose wrench, and to p_bar unless it is null.
template <class S>
void root_inertia_pullback(const BodyPlaces& at, const Mat3<S>& R, const SpatialInertia<S>& I,
                           const Vec3<S>& s, const S* out_bar, Vec3<S>& s_bar, Force<S>& pose,
                           S* p_bar) {
  const S half = S(0.5);
  const SymMat3<S> G{out_bar[0],        out_bar[1],        out_bar[2],
                     half * out_bar[3], half * out_bar[4], half * out_bar[5]};
  const Vec3<S> d = I.com - s, h_bar = load_vec3(out_bar + 6), Gd = G * d;
  const S trace = G.xx + G.yy + G.zz;
  const Vec3<S> d_bar = (d * (S(2) * trace) - Gd * S(2) + h_bar) * I.mass;  // (5)
  Vec3<S> turned{};
  for (int k = 0; k < 3; ++k) {
    Vec3<S> e{};
    e[k] = S(2);
    turned += cross(I.inertia * e, G * (e * half));
  }
  pose += wrench(d_bar, I.com, turned);  // (6)
  s_bar -= d_bar;
  if (!p_bar || at.mass < 0) return;
  p_bar[at.mass] += out_bar[9] + trace * dot(d, d) - dot(d, Gd) + dot(h_bar, d);
  add_to(p_bar + at.com, transpose_vector_product(R, d_bar));
  const SymMat3<S> own = turn(transpose(R), G);
  const S J_bar[6] = {own.xx, own.yy, own.zz, S(2) * own.xy, S(2) * own.xz, S(2) * own.yz};
  for (int i = 0; i < 6; ++i) p_bar[at.inertia + i] += J_bar[i];
}

// (3) and (4), 6 numbers.
template <class S>
void root_velocity(const Motion<S>& v, const Vec3<S>& s, S* out) {
  store(out, v.angular);
  store(out + 3, field_at(v, s));
}
template <class S>
void root_velocity_pullback(const Motion<S>& v, const Vec3<S>& s, const S* out_bar, Vec3<S>& s_bar,
                            Force<S>& v_bar) {
  const Vec3<S> u_bar = load_vec3(out_bar + 3);
  v_bar += wrench(u_bar, s, load_vec3(out_bar));  // (7)
  s_bar += cross(u_bar, v.angular);
}

template <class S>
void root_force(const Force<S>& W, const Vec3<S>& s, S* out) {
  store(out, W.torque - cross(s, W.force));
  store(out + 3, W.force);
}
template <class S>
void root_force_pullback(const Force<S>& W, const Vec3<S>& s, const S* out_bar, Vec3<S>& s_bar,
                         Motion<S>& W_bar) {
  const Vec3<S> torque_bar = load_vec3(out_bar);
  W_bar += Motion<S>{torque_bar, load_vec3(out_bar + 3) + cross(s, torque_bar)};  // (8)
  s_bar += cross(torque_bar, W.force);
}

}  // namespace cycloid::inline rigid
