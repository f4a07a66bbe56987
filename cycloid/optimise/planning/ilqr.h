// ilqr.h: plans by iterative LQR and differential dynamic programming.
//
// An iteration around x̄, ū:
//   A_t, B_t of all steps, as one batch of linearise; the quadratic model of the cost          (1)
//   the backward pass (riccati.h), with μ raised until it succeeds                             (2)
//   candidates a = 1, ½, ¼, … with feedback, as one batch of a rollout (policy_rollout.h)      (3)
//   the best of them, if its cost falls by more than a share of what (2) expects; else μ rises (4)
// Curvature: of the cost that of its residuals' squares (trajectory_cost.h); of the dynamics none
// (iLQR, Gauss–Newton), or with `full_hessian` λ_{t+1}ᵀ ∂²step with the costates λ of x̄
// [Dunn1989], which makes (2) the Newton step of the whole problem.
// Smooth couples neighbouring inputs: the previous input is then a part of the state, in (2) and
// (3) alone. Keep terms are held by an augmented Lagrangian: when the inner problem has converged,
// multipliers move and the penalty grows, until no constraint is violated by more than its
// tolerance.
#pragma once

#include "cycloid/optimise/planning/planner.h"
#include "cycloid/optimise/planning/riccati.h"

namespace cycloid::inline optimise {

// (1) and the bounds of du, with the previous input in the state where there is Smooth; and (2).
class BackwardPass {
 public:
  explicit BackwardPass(const Planner& planner);

  int columns() const { return n_; }  // of K: tangents, and inputs where there is Smooth
  // gaps: (T, tangents), or empty.
  void set(const Planner& planner, const std::vector<double>& controls, Linearised steps,
           const Expansion& expansion, const std::vector<double>& gaps);
  bool run(const Regularisation& regularisation, Gains& gains) const;

 private:
  std::int64_t T_;
  int n_, nt_, nu_;
  std::vector<double> smooth_;
  std::vector<double> A_, B_, gaps_, lx_, lxx_, lu_, luu_, lux_, low_, high_;
};

// The columns of K that belong to the state, with the sign of Plan::gains.
std::vector<double> public_gains(const Gains& gains, std::int64_t T, int inputs, int tangents,
                                 int columns);

// Goes on from the planner's best.
Plan continue_by_ilqr(Planner& planner);

}  // namespace cycloid::inline optimise
