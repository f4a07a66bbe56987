// Planner: what all methods of a plan share: the problem, its rollouts, time, the best so far.
#pragma once

#include <chrono>
#include <cmath>
#include <memory>

#include "cycloid/base/error.h"
#include "cycloid/optimise/plan.h"
#include "cycloid/optimise/planning/policy_rollout.h"
#include "cycloid/optimise/planning/trajectory_cost.h"

namespace cycloid::inline optimise {

struct Linearised {
  std::vector<double> next, A, B;  // as Linearisation, a row for each step
};

class Planner {
 public:
  // Checks everything but what a method has to say itself.
  Planner(const System& system, std::span<const double> x0, const Cost& cost, std::int64_t steps,
          const PlanOptions& options);

  // The same problem from another start, with controls to begin with; for mpc.h.
  void begin_again(std::span<const double> start, std::vector<double> controls);

  const System system;  // in double, with the gradient that was asked for
  PlanOptions options;
  const std::int64_t T;
  const int nx, nt, nu;
  std::vector<double> x0;      // with unit quaternions
  std::vector<double> params;  // empty: the defaults
  TrajectoryCost cost;
  Plan best;  // controls, cost and history; the rest is filled in by `finish`

  // One trajectory. Returns false where it fails.
  bool roll_out(const std::vector<double>& controls, std::vector<double>& states);
  // Many: (rows, T, inputs) to (rows, T+1, states). Costs of those that fail are infinite.
  std::vector<double> roll_out_many(const std::vector<double>& controls, std::int64_t rows,
                                    std::vector<double>& states);
  // Costs of candidates; infinite where a row failed or its cost is not finite.
  std::vector<double> costs(const std::vector<double>& states, const std::vector<double>& controls,
                            const std::vector<bool>& failed);
  // A and B of all steps, in one batch where the System does not depend on time. Of a Smoothed
  // gradient: means over its noise.
  Linearised linearise_steps(const std::vector<double>& states,
                             const std::vector<double>& controls);
  // One step of each of (rows, T, states) under (rows, T, inputs), t being its number.
  struct Stepped {
    std::vector<double> states;  // (rows, T, states)
    std::vector<bool> failed;    // (rows, T)
  };
  Stepped step_all(const std::vector<double>& x, const std::vector<double>& u, std::int64_t rows);
  // λ_{t+1}ᵀ ∂²step as added to lxx, luu and lux.
  void add_curvature(const std::vector<double>& states, const std::vector<double>& controls,
                     const Linearised& steps, Expansion& expansion);
  // Candidates of a line search; counts their steps.
  PolicyRollout::Candidates search(Policy policy, std::span<const double> lengths);

  // The first controls with their states and cost, as the best. Throws StartFails.
  void begin_with_start();

  bool bounded() const { return !options.low.empty(); }
  double low(int i) const { return bounded() ? options.low[i] : -INFINITY; }
  double high(int i) const { return bounded() ? options.high[i] : INFINITY; }
  void clamp(std::vector<double>& controls) const;
  std::vector<double> first_controls() const;

  double step_length() const;  // [s]
  double seconds() const;
  bool out_of_time() const { return options.time_limit && seconds() >= *options.time_limit; }
  // Notes an iteration's result; false: the callback wants to stop.
  bool report(double cost_now);
  // States and cost of the best controls by a rollout of them, and the message.
  Plan finish(OptimiserStatus status, const std::string& more = "");

 private:
  bool goes_on();

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), asked_ = begin_;
  bool by_time_;  // the System depends on time
  PolicyRollout policy_;
};

// The start's rollout is not finite.
class StartFails final : public Error {
 public:
  using Error::Error;
};

// What plan does, in two parts: checks, and the method.
std::unique_ptr<Planner> make_planner(const System& system, std::span<const double> x0,
                                      const Cost& cost, std::int64_t steps,
                                      const PlanOptions& options);
Plan run_planner(Planner& planner);

Plan plan_ilqr(Planner& planner);
Plan plan_multiple_shooting(Planner& planner);
Plan plan_shooting(Planner& planner);
Plan plan_mppi(Planner& planner);
Plan plan_cem(Planner& planner);

}  // namespace cycloid::inline optimise
