// InstantDynamics: the acceleration of a robot at one instant, as MuJoCo has it after mj_forward.
//
// Without constraints that of dynamics.h, with them a of (1) in constrained_instant.h; dampers are
// explicit in both. Contacts without a force (those within the gap) have rows of zeros, so that
// each contact of MuJoCo's list is a slot.
#pragma once

#include "cycloid/rigid/constrained_dynamics.h"

namespace cycloid::inline rigid {

template <class S>
struct InstantDynamics {
  const ConstraintPlan* plan;   // null: nothing constrains
  ConstraintMemory<S>& memory;  // not looked at without a plan
  LaneNote* notes = nullptr;    // (lanes) how the solve fared, where someone asks

  RobotRows<S> rows() const { return {*plan, memory, {}, false, Detection::all}; }

  // q̈ (nv). Leaves inertias of the bodies in w; contacts, rows and their forces in memory.
  template <class P>
  void accelerate(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w, S* qacc) const {
    if (!plan) return smooth_acceleration(r, x, w, qacc);
    const NewtonOptions options{.scale = plan->residual_scale,
                                .tolerance = kNewtonTolerance<Scalar<S>>};
    const NewtonResult<S> found = constrained_acceleration(r, x, w, memory.solver, rows(), options,
                                                           qacc, static_cast<S*>(nullptr));
    if (notes) {
      take_notes(found, memory.solver, memory.static_places(*plan), memory.contacts, notes);
    }
  }

  // Given the cotangent of q̈ in w.mu, and that of all rows' forces unless f_bar is null.
  template <class P>
  void pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w, const S* qacc,
                const S* f_bar, const InstantBars<S>& bar) const {
    const S* const none = nullptr;
    if (!plan) return smooth_acceleration_pullback(r, x, w, qacc, none, none, bar);
    constrained_acceleration_pullback(r, x, w, memory.solver, rows(), qacc, none, none, none, bar,
                                      f_bar);
  }
};

}  // namespace cycloid::inline rigid
