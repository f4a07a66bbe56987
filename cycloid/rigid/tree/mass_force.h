// The force that gives a robot an acceleration by itself: what its mass takes, and the pullback.
//
//   f = M(q) y                                                              (1)
// M is that of dynamics.h: bodies, armature of joints, actuators and tendons. (1) is inverse
// dynamics (inverse_dynamics.h) at rest and without gravity. Pullback, given f̄:
//   ȳ += M f̄,   the rest is the gradient of f̄ᵀ M y with f̄ and y held          (2)
#pragma once

#include "cycloid/rigid/tree/inverse_dynamics.h"

namespace cycloid::inline rigid {

// With the bodies placed (place_bodies). y, f: (nv). Leaves M in w.LD.
template <class S, class P>
void mass_force(const Robot<S, P>& r, const Workspace<S>& w, const S* y, S* f) {
  inertia_matrix(r, w, w.LD);
  multiply_matrix(r.tree, static_cast<const S*>(w.LD), y, f);  // (1)
}

// With the bodies placed. y_bar: (nv).
template <class S, class P>
void mass_force_pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                         const S* y, const S* f_bar, S* y_bar, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const int nv = tree.model.nv;
  mass_force(r, w, f_bar, w.mu);
  for (int k = 0; k < nv; ++k) {
    y_bar[k] += w.mu[k];  // (2)
    w.mu[k] = -f_bar[k];
  }
  const FieldSweepSpace<S>& still = w.rows.form.sweep;
  velocity_field(tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
  velocity_field(tree, w.frames.column, y, w.a);
  still.clear(tree);
  gather_forces_of_motion(r, x.qpos, w, TreeMotion<S>{still.zeros, y, still.rest, w.a}, still.zeros,
                          bar);
}

}  // namespace cycloid::inline rigid
