// Mpc: model predictive control: a plan over a receding horizon, made again at every call.
//
//   Mpc mpc(robot, cost, 50, {.every = 2});
//   u = mpc.control(x)              the first input of a plan from x
//   u = mpc.feedback(x, k)          input k of that plan at x, by its gains, between calls
// Each call is `every` steps after the last. It starts from the last plan, shifted by as many
// steps, its last input held, and is improved for as long as time and iterations allow: the call
// returns within the time limit and one iteration. The time of the laws, and steps that the cost
// lists, count from the call's own beginning. Inputs are within the bounds.
#pragma once

#include <memory>

#include "cycloid/optimise/plan.h"

namespace cycloid::inline optimise {

class Planner;

struct MpcOptions {
  std::int64_t every = 1;
  int first_iterations = 50;  // of the first call
  PlanOptions plan = [] {     // of each later one
    PlanOptions later;
    later.iterations = 5;
    return later;
  }();
};

class Mpc {
 public:
  // Throws as plan does; later calls throw on a state that is not finite only.
  Mpc(const System& system, const Cost& cost, std::int64_t horizon, const MpcOptions& options = {});
  ~Mpc();
  Mpc(const Mpc&) = delete;
  Mpc& operator=(const Mpc&) = delete;

  std::vector<double> control(std::span<const double> x, const KeepGoing& keep_going = {});
  std::vector<double> feedback(std::span<const double> x, std::int64_t step) const;
  // The latest; throws Error before the first call.
  const Plan& plan() const;
  void reset();  // forgets the plan
  std::int64_t calls() const { return calls_; }

 private:
  System system_;
  Cost cost_;
  std::int64_t horizon_, calls_ = 0;
  MpcOptions options_;
  std::unique_ptr<Planner> planner_;
  Plan plan_;
};

}  // namespace cycloid::inline optimise
