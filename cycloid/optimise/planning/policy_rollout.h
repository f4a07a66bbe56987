// PolicyRollout: a trajectory with feedback, rolled out with many step lengths at once.
//
// Around a nominal trajectory x̄, ū, with the gains of riccati.h, candidate a runs
//   u_t = clamp(ū_t + a k_t + K_t (x_t ⊖ x̄_t) + L_t (u_{t-1} - ū_{t-1}))                    (1)
// L acts where the cost has a Smooth term; u_{-1} is ū_{-1}. All candidates are one batch of a
// rollout: the feedback sits in front of the System's own step, as in couple/close_loop.h, and the
// step length is the input. What inputs each candidate used is found from its states by (1) again.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/system/system.h"

namespace cycloid::inline optimise {

struct Policy {
  std::int64_t steps = 0;
  std::vector<double> states;     // (T+1, states): x̄
  std::vector<double> controls;   // (T, inputs): ū
  std::vector<double> k;          // (T, inputs)
  std::vector<double> K;          // (T, inputs, columns)
  int columns = 0;                // tangents, and inputs where L acts
  std::vector<double> low, high;  // (inputs), or empty: none
};

// (1) for one row. `before`: u_{t-1}, or null where L does not act. `d`: memory (columns).
void policy_input(const Space& space, const Policy& policy, std::int64_t t, double a,
                  const double* x, const double* before, double* d, double* u);

class PolicyRollout {
 public:
  // The System must compute in double.
  explicit PolicyRollout(const System& system);

  struct Candidates {
    std::vector<double> states;    // (rows, T+1, states)
    std::vector<double> controls;  // (rows, T, inputs)
    std::vector<bool> failed;      // (rows)
  };
  Candidates run(Policy policy, std::span<const double> x0, std::span<const double> lengths,
                 std::span<const double> params, double t0, int threads,
                 const KeepGoing& keep_going = {});

 private:
  std::shared_ptr<Policy> policy_;
  System system_, closed_;
};

}  // namespace cycloid::inline optimise
