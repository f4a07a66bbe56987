// equilibrium: a solid body at rest under its loads, and the way back.
//
//   f(y) = F + m g, of numbers that are not held                         (1)
// which is minimise.h's condition without inertia. Given the cotangent of the state,
//   H λ = ȳ,  and from λ to loads and parameters as in solid_stage.h     (2)
// The velocities are zero, whatever is asked of them. A body that something leaves free to move as
// a whole has no such place: ModelError with the motions. Loads come at once. Where that fails the
// body creeps: it is held back by an inertia that gets smaller with every success, and is gone at
// the end. Where that fails too they come in steps, each half as long as the one that failed.
// Beyond a point at which the body gives way (H is singular) there may be no answer near by, and
// `converged` says so; with an arc length the path through such points is followed
// (arc_length.h), and its points are places of rest under a share `load` of the loads. (2) holds
// at unstable ones too, where H is not positive definite but regular.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline soft {

struct EquilibriumGradient {
  std::vector<double> params, controls;
};

struct EquilibriumOptions {
  int threads = 0;
  double arc_length = 0;  // of a step along the path [m]; 0: loads come at once, or in steps
  int most_steps = 400;   // along the path
};

class Equilibrium {
 public:
  std::vector<double> state;  // positions, and velocities of zero
  bool converged = false;
  double residual = 0;        // the last step over the body's length
  int iterations = 0;         // factorisations
  int load_steps = 1;         // in which the loads came
  double load = 1;            // their share
  bool stable = true;         // H is positive definite
  std::vector<double> loads;  // of the points of the path; empty without an arc length

  // A point of the path. Throws Error where there is none.
  Equilibrium point(int k) const;
  // state_bar (state). Throws GradientError where it did not converge or its matrix is singular.
  EquilibriumGradient pullback(std::span<const double> state_bar) const;

 private:
  friend Equilibrium equilibrium(const System&, std::span<const double>, std::span<const double>,
                                 std::span<const double>, const EquilibriumOptions&);
  struct Solved;
  void take_state();  // from solved_
  std::shared_ptr<const Solved> solved_;
};

// x0: where the search starts, or empty for the rest shape; u, params: empty for zero and for the
// defaults. Throws ModelError unless `system` is a solid that is held, Error on wrong sizes. With
// an arc length, a body that touches something or flows, and an iterative solver, are ModelErrors.
Equilibrium equilibrium(const System& system, std::span<const double> x0, std::span<const double> u,
                        std::span<const double> params, const EquilibriumOptions& options);
inline Equilibrium equilibrium(const System& system, std::span<const double> x0,
                               std::span<const double> u, std::span<const double> params,
                               int threads) {
  return equilibrium(system, x0, u, params, EquilibriumOptions{threads});
}

}  // namespace cycloid::inline soft
