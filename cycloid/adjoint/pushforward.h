// Pushforward: tangents of a rollout (jvp), and second derivatives as Hessian-vector products.
//
// Along a direction v = (x0_tan, controls_tan, params_tan) of the inputs z:
//   states_tan = d states/dz · v                                                       (1)
// and for a loss L(states), with states_bar = ∂L/∂states and states_bar_tan = ∂²L/∂states² ·
// states_tan,
//   gradient     = (d states/dz)ᵀ states_bar                                           (2)
//   gradient_tan = d(gradient)/dz · v = Hessian of z ↦ L(states(z)) times v            (3)
// (1) runs the step in dual numbers. (3) runs the pullback in dual numbers, forward over reverse.
// Laws without events, robots and soft bodies have dual kernels; substeps that an integrator
// chooses are held, as in the pullback. A System without them gets (1) from its steps' own
// pushforward (Stepper::pushforward) or else from their Jacobians, and refuses (3). Steps that
// carry something on (a warm start) are differentiated along the run, by a pullback for each row.
//
// States at times of the user's choice have tangents where the integrator takes a part of a step
// (laws with dual kernels); second derivatives are those of states of steps.
//
// In its lanes a dual stepper of 2 W rows holds W environments and then one tangent of each, so the
// whole machinery of rollouts, tapes and pullbacks works on such rows unchanged.
//
// Quaternions. A state's tangent is given in coordinates, four numbers, along the unit sphere. x0
// is normalised on entry, so a part of its direction along the quaternion itself moves no state.
// gradient.x0 is that of Trajectory::pullback, a function of x0 as given, and gradient_tan.x0 its
// derivative along the direction as given; where that has a part along the quaternion, the gradient
// changes although the states do not: it is inverse to the quaternion's length.
#pragma once

#include <span>
#include <vector>

#include "cycloid/adjoint/rollout.h"

namespace cycloid::inline adjoint {

// A direction in the space of inputs: for each input one row for all, one for every environment, or
// nothing for zero. x0 is in tangent coordinates (rows, tangents), or in those of
// the array, x0_coordinates (rows, states); not both.
struct Direction {
  std::span<const double> x0 = {}, controls = {}, params = {};
  std::span<const double> x0_coordinates = {};
};

struct HessianProduct {
  Gradient<double> gradient;      // (2)
  Gradient<double> gradient_tan;  // (3)
};

class Pushforward {
 public:
  std::span<const double> states() const { return states_; }          // as Trajectory::states
  std::span<const double> states_tan() const { return states_tan_; }  // (1), coordinates

  // (2) and (3). Throws GradientError when the system has no dual kernels. With `each`, gradients
  // have a row for every environment, also where they share what it is of.
  HessianProduct pullback(std::span<const double> states_bar,
                          std::span<const double> states_bar_tan, bool each = false,
                          const KeepGoing& keep_going = {}) const;

 private:
  friend Pushforward push_run(Run<double>, const Direction&, const Memory&, const KeepGoing&);
  std::vector<double> states_, states_tan_;
  std::vector<double> x0_tan_;  // the direction of x0 in coordinates, in its rows
  // The run in pairs of rows (W values, W tangents), and the user's own for its shapes.
  std::shared_ptr<const Trajectory<double>> pairs_;
  std::shared_ptr<const Run<double>> run_;
};

// In double precision, also for a float32 system. Throws as rollout does; GradientError when a step
// fails.
Pushforward pushforward(const System& system, std::span<const double> x0,
                        const Controls<double>& controls, const Direction& direction,
                        std::span<const double> params = {}, const RolloutOptions& options = {});

// The same along a run that was made, from its own inputs. `tangents_only`: there will be no
// pullback, and nothing is kept for one.
template <class T>
Pushforward pushforward(const Trajectory<T>& trajectory, const Direction& direction,
                        bool tangents_only = false, const KeepGoing& keep_going = {});

// The tangent d of a velocity x_tan at x, in coordinates: the inverse of Space::velocity.
void tangent_of_velocity(const Space& space, const double* x, const double* x_tan, double* d);

}  // namespace cycloid::inline adjoint
