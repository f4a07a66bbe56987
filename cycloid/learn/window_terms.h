// Terms of a training's loss besides what was measured, (3) of training_loss.h: of the runs of
// windows, states x (batch, steps + 1, states), their value and its cotangents.
//   energy   mean over runs and steps of (E(x_t) - E(x_0))², E the System's observable        (1)
//   smooth   mean over runs and steps of |x_{t+1} - 2 x_t + x_{t-1}|²                         (2)
//   function a user's own, with its derivative                                                (3)
//   residual mean over runs, steps and states of ((x_{t+1} - y_{t+1}) / scale)², y_{t+1} the step
//            from x_t without the network that `add_network` put into the System: its weights,
//            parameters "residual.…", are zeros there                                         (4)
#pragma once

#include <memory>

#include "cycloid/adjoint/observe.h"
#include "cycloid/learn/training_loss.h"

namespace cycloid::inline learn {

class WindowTerms {
 public:
  WindowTerms(const System& system, const LossOptions& options);

  bool empty() const { return terms_.empty(); }
  // Σ weight × term. Adds to x_bar, shaped like the states, and, unless null, to p_bar, which is
  // empty or all parameters.
  double value(std::span<const double> p, const TermRuns& runs, std::span<double> x_bar,
               std::vector<double>* p_bar) const;

 private:
  double energy(std::span<const double> p, const TermRuns& runs, double weight,
                std::span<double> x_bar, std::vector<double>* p_bar) const;
  double residual(std::span<const double> p, const TermRuns& runs, double weight,
                  std::span<double> x_bar, std::vector<double>* p_bar) const;

  std::vector<LossTerm> terms_;
  std::vector<double> scale_;
  int threads_;
  std::unique_ptr<Observer> energy_;
  std::unique_ptr<System> plain_;     // in double, for (4)
  std::vector<bool> of_the_network_;  // of each number of the parameters
};

}  // namespace cycloid::inline learn
