// Pushforward: tangents of a rollout (jvp), and second derivatives as Hessian-vector products.
//
// Along a direction v = (x0_tan, controls_tan, params_tan) of the inputs z:
//   states_tan = d states/dz · v                                                       (1)
// and for a loss L(states), with states_bar = ∂L/∂states and states_bar_tan = ∂²L/∂states² ·
// states_tan,
//   gradient     = (d states/dz)ᵀ states_bar                                           (2)
//   gradient_tan = d(gradient)/dz · v = Hessian of z ↦ L(states(z)) times v            (3)
// (1) runs the step in dual numbers. (3) runs the pullback in dual numbers, forward over reverse.
// Laws have dual kernels. A System without them gets (1) from its Jacobians, step by step, and
// refuses (3).
//
// In its lanes a dual stepper of 2 W rows holds W environments and then one tangent of each, so the
// whole machinery of rollouts, tapes and pullbacks works on such rows unchanged.
#pragma once

#include <span>
#include <vector>

#include "cycloid/adjoint/rollout.h"

namespace cycloid::inline adjoint {

// A direction in the space of inputs, each part shaped like the input it belongs to, or empty for
// zero. x0 is in tangent coordinates (rows, tangents).
struct Direction {
  std::span<const double> x0 = {}, controls = {}, params = {};
};

struct HessianProduct {
  Gradient<double> gradient;      // (2)
  Gradient<double> gradient_tan;  // (3)
};

class Pushforward {
 public:
  std::span<const double> states() const { return states_; }          // as Trajectory::states
  std::span<const double> states_tan() const { return states_tan_; }  // (1), coordinates

  // (2) and (3), for a flat state space. Throws GradientError when the system has no dual kernels,
  // or its states contain quaternions.
  HessianProduct pullback(std::span<const double> states_bar,
                          std::span<const double> states_bar_tan) const;

 private:
  friend Pushforward pushforward(const System&, std::span<const double>, const Controls<double>&,
                                 const Direction&, std::span<const double>, const RolloutOptions&);
  std::vector<double> states_, states_tan_;
  // The run in pairs of rows (W values, W tangents), and the user's own for its shapes.
  std::shared_ptr<const Trajectory<double>> pairs_;
  std::shared_ptr<const Run<double>> run_;
};

// In double precision, also for a float32 system. Throws as rollout does; GradientError when a step
// fails.
Pushforward pushforward(const System& system, std::span<const double> x0,
                        const Controls<double>& controls, const Direction& direction,
                        std::span<const double> params = {}, const RolloutOptions& options = {});

}  // namespace cycloid::inline adjoint
