// A robot as the kernels of a step see it, at one instant: the tree, the parameters of its lanes,
// the state and the inputs; and the cotangents that a pullback adds to.
#pragma once

#include "cycloid/rigid/tree/kinematics.h"

namespace cycloid::inline rigid {

// Where the inputs stand in a row of u; -1: not an input.
struct InputPlaces {
  int ctrl = -1, qfrc_applied = -1, xfrc_applied = -1, mocap_pos = -1, mocap_quat = -1;
};

// Slopes of forces in the velocity that the integrator treats implicitly (dynamics.h (3)).
enum class Implicit { nothing, dampers, all_slopes, bias_too };

// Those of a model's integrator.
inline Implicit implicit_of(const TreeView& tree) {
  const Acting& acting = tree.model.options.acting;
  switch (tree.model.options.integrator) {
    case RigidIntegrator::rk4: return Implicit::nothing;
    case RigidIntegrator::implicitfast: return Implicit::all_slopes;
    case RigidIntegrator::implicit: return Implicit::bias_too;
    default: return acting.euler_damping ? Implicit::dampers : Implicit::nothing;
  }
}

// State and inputs; u in the order of InputPlaces.
template <class S>
struct Instant {
  const S *qpos, *qvel, *act, *u;
};

// P: the type of a parameter, S or one number for all lanes.
template <class S, class P>
struct Robot {
  const TreeView& tree;
  const InputPlaces& inputs;
  const P* p;
  Implicit implicit;
  bool shortcut = false;       // direct actuators by their short form (direct_actuator.h)
  bool absent_medium = false;  // counts as there, for its cotangents

  // Slopes of all forces but the bias, and that of the bias.
  CYCLOID_HD bool all_slopes() const { return implicit == Implicit::all_slopes || bias_slope(); }
  CYCLOID_HD bool bias_slope() const { return implicit == Implicit::bias_too; }

  // Whether the medium's forces act.
  CYCLOID_HD bool medium() const {
    const auto there = [&](int place) {
      if constexpr (BuiltinScalar<P>) {
        return p[place] != P(0);
      } else if constexpr (sizeof(P) == sizeof(Scalar<P>) * kLanes<P>) {
        return !all(p[place] == P(0));
      } else {
        return true;  // a tangent may be there where the value is not
      }
    };
    return tree.feels_medium &&
           (absent_medium || there(tree.options.density) || there(tree.options.viscosity));
  }

  CYCLOID_HD bool leaves_out(std::size_t actuator) const {
    return shortcut && tree.acts_directly[actuator];
  }
  CYCLOID_HD S timestep() const { return S(p[tree.options.timestep]); }
  CYCLOID_HD Vec3<S> gravity() const {
    return tree.model.options.acting.gravity ? vec3_of<S>(p + tree.options.gravity) : Vec3<S>{};
  }
};

// What a pullback at one instant adds to. p may be null.
template <class S>
struct InstantBars {
  S *q, *v, *act, *u;  // (nv), (nv), (na), (inputs)
  S* p;
  S& h;
};

}  // namespace cycloid::inline rigid
