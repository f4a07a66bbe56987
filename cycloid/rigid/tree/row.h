// A row: a length l(q) with a row vector J(q), as tendons and transmissions have.
//
// Velocity is J q̇, and a force f along the row is the generalised force Jᵀf. Where J acts through
// bodies it is applied to fields (rnea.h): J x is a sum of wrenches on the field of x. Given μ, the
// generalised force enters the adjoint as c_m (J μ) with c_m = f, and f's own pullback gives the
// cotangents of l and J q̇. The pullback of a row is therefore that of
//   Φ = l̄ l(q) + c_m (J μ) + c_v (J q̇)                                                       (1)
// with l̄, c_m, c_v, μ fixed. Two rules carry it, for a body with pose wrench Γ
// (motion_pullback.h):
//   a wrench W on the cotangent of a field y:  ȳ += W                                       (2)
//   x̄ on a point fixed to the body:  Γ += (x × x̄; x̄), and Rᵀ x̄ on its place in body axes   (3)
// Points are relative to the origin of their body's tree. A body that stands still has fields of
// zero, and its Γ gives the cotangent of its frame.
//
// The two fields need not be those of μ and q̇: any two generalised vectors will do, where their
// cotangents are gathered apart.
#pragma once

#include "cycloid/rigid/tree/motion_pullback.h"

namespace cycloid::inline rigid {

// Where a row is: fields per link, generalised vectors (nv).
template <class S>
struct RowPoint {
  const Frames<S>& frames;
  const Motion<S>*m, *v;
  const S *qpos, *mu, *qvel;
};

// l̄, c_m and c_v of (1).
template <class S>
struct RowBars {
  S length, m, v;
};

// Accumulators. p_bar may be null.
template <class S>
struct RowSinks {
  const BodyBars<S>& bodies;
  S *q_bar, *v_bar, *p_bar;
};

CYCLOID_HD inline std::size_t last_link(const TreeView& tree, int body) {
  return static_cast<std::size_t>(tree.last_link[static_cast<std::size_t>(body)]);
}

// Where a site is, from the origin of its body's tree.
template <class S, class P>
CYCLOID_INLINE Vec3<S> site_point(const TreeView& tree, const P* p, int site, const Frames<S>& f) {
  const std::size_t s = static_cast<std::size_t>(site);
  const int b = tree.model.sites[s].body;
  return f.pos[b] + f.R[b] * vec3_of<S>(p + tree.sites[s].pos);
}

// Adds the cotangent of site_point.
template <class S>
CYCLOID_INLINE void site_point_pullback(const TreeView& tree, int site, const Frames<S>& f,
                                        const Vec3<S>& x, const Vec3<S>& x_bar, Force<S>* pose,
                                        S* p_bar) {
  const std::size_t s = static_cast<std::size_t>(site);
  const int b = tree.model.sites[s].body;
  pose[b] += Force<S>{cross(x, x_bar), x_bar};  // (3)
  if (p_bar) add_to(p_bar + tree.sites[s].pos, transpose_vector_product(f.R[b], x_bar));
}

}  // namespace cycloid::inline rigid
