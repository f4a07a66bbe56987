// FitDescent: Levenberg and Marquardt on a FitProblem, starts eliminated (arrow_system.h).
//
// Minimised is, over θ and the starts of all stretches,
//   F = Σ ρ(r_i) + ½ Σ ((v_j - mean_j) / std_j)² + Σ ½ w (c_e + λ_e)²                        (1)
// with robust losses ρ, priors of values v, and the gaps c_e of multiple shooting, whose weights
// and multipliers the caller raises from round to round (`tighten`). A step
//   (JᵀJ + μ D²) h = -Jᵀ r                                                                   (2)
// that leaves the bounds is projected onto them; numbers at a bound that are drawn beyond it are
// held. After a step that was taken the next point is evaluated with its Jacobian at once, after
// one that was refused without: a run that is not taken needs none.
#pragma once

#include <chrono>
#include <limits>
#include <optional>

#include "cycloid/optimise/fit/arrow_system.h"
#include "cycloid/optimise/fit/fit_problem.h"
#include "cycloid/optimise/fit/robust_loss.h"
#include "cycloid/optimise/status.h"
#include "cycloid/optimise/watch.h"

namespace cycloid::inline optimise {

// What all descents of one fit share: how long it may take, and what it has taken.
struct FitEffort {
  Watch watch = {};
  int most = 0;  // iterations of each descent
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::int64_t steps = 0;
  int iterations = 0;
  double best = std::numeric_limits<double>::infinity();

  double seconds() const;
  // False: stop. `numbers`: all parameters there.
  bool say(double cost, std::span<const double> numbers = {});
};

// The best point so far is always kept.
class FitDescent {
 public:
  FitDescent(const FitProblem& problem, FitEffort& effort, Loss loss, FitPoint start);

  // Evaluates the start; false where it cannot be run, for a reason.
  bool begin();
  const std::string& reason() const { return reason_; }

  // Goes down until the promised fall of F is so small, relative to F, at most so many iterations.
  OptimiserStatus descend(double value_tolerance, int most);

  // Gaps count from now on; weights in units of what the data say about starts.
  void weigh_links(double factor);
  void tighten(double factor);
  double largest_gap() const;

  // σ has changed: residuals and slopes are in other units.
  void rescale();

  const FitPoint& at() const { return at_; }
  const Evaluated& evaluated() const { return *evaluated_; }
  double cost() const { return cost_; }
  const std::vector<double>& history() const { return history_; }

 private:
  Evaluated evaluate(const FitPoint& at, bool jacobian);
  void take(Evaluated e);
  void refresh();
  double cost_of(const Evaluated& e, std::span<const double> theta) const;
  void build();
  std::optional<OptimiserStatus> iterate(double value_tolerance);
  bool refuse();
  double promised_fall(const ArrowSystem::Step& step) const;

  // Weights and multipliers of the gaps.
  struct Links {
    std::vector<double> weight;               // (tangents)
    std::vector<std::vector<double>> lambda;  // (stretches) of tangents
  };

  const FitProblem& problem_;
  FitEffort& effort_;
  Loss loss_;
  std::size_t K_, nt_, E_;
  FitPoint at_;
  std::optional<Evaluated> evaluated_;
  std::string reason_;
  double cost_ = std::numeric_limits<double>::infinity(), mu_, nu_ = 2;
  bool taken_ = true;  // the last step was
  std::vector<double> theta_scale_, start_scale_;
  ArrowSystem system_;
  Links links_;
  std::vector<double> history_;
};

}  // namespace cycloid::inline optimise
