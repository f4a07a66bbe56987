// The sweep for one more field, that of a generalised vector x which is held fixed.
//
// What an implicit integrator adds to the adjoint is bilinear in the fields of μ and of q̈, the
// latter without velocity terms, and sparse rows (row_form.h) need fields of their own. The
// cotangent of such a field y is gathered per body by rule (2) of row.h, and carried to
// configuration and parameters by (4)-(11) of motion_pullback.h with y in the place of m:
//   G = Γ + S_k ×* x_k ȳ,   q̄_k += S_k·G,   ȳ_P += ȳ,   Γ_P += G                         (1)
#pragma once

#include "cycloid/rigid/tree/motion_pullback.h"

namespace cycloid::inline rigid {

template <class S>
struct FieldSweepSpace {
  S* zeros;                     // (nv)
  Motion<S>* rest;              // (links)
  SpatialInertia<S>* massless;  // (bodies)
  BodyBars<S> bars;             // (bodies); bars.m and bars.pose are ȳ and Γ, used up
  S* mocap_bar;                 // (nmocap, 6)

  CYCLOID_HD void clear(const TreeView& tree) const {
    const std::size_t bodies = tree.model.bodies.size();
    for (int k = 0; k < tree.model.nv; ++k) zeros[k] = S(0);
    for (std::size_t l = 0; l < tree.links.size(); ++l) rest[l] = Motion<S>{};
    for (std::size_t b = 0; b < bodies; ++b) massless[b] = {S(0), Vec3<S>{}, SymMat3<S>{}};
    bars.clear(bodies);
  }
};

// x: (nv), y: its field. Adds to q_bar (nv), to mocap_bar (nmocap, 6) and, unless it is null, to
// p_bar.
template <class S, class P>
CYCLOID_HD void field_sweep_pullback(const TreeView& tree, const P* p, const Frames<S>& f,
                                     const S* qpos, const S* x, const Motion<S>* y,
                                     const FieldSweepSpace<S>& space, S* q_bar, S* p_bar,
                                     S* mocap_bar) {
  const SweepPoint<S> at{tree, f,    space.massless, space.rest,  space.rest,
                         y,    qpos, space.zeros,    space.zeros, x};
  S* const no_v_bar = space.zeros;  // what is added to it is zero: no velocity enters
  sweep_pullback(at, p, space.bars, q_bar, no_v_bar, p_bar, space.mocap_bar);
  for (int k = 0; k < 6 * tree.model.nmocap; ++k) mocap_bar[k] += space.mocap_bar[k];
}

}  // namespace cycloid::inline rigid
