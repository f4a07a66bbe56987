// riccati.h: the backward pass of iLQR, DDP and multiple shooting.
//
// Along a trajectory, in tangents of its states, with dynamics and quadratic cost
//   dx⁺ = A dx + B du + d                          d: a gap between segments, or zero        (1)
//   V(dx) = v + V_x·dx + ½ dx·V_xx dx              cost to go, V = the last state's at T
// a step t, from T-1 to 0, is
//   w    = V_x + V_xx d                                                                      (2)
//   Q_x  = l_x + Aᵀ w,   Q_u = l_u + Bᵀ w                                                    (3)
//   Q_xx = l_xx + Aᵀ V_xx A,  Q_ux = l_ux + Bᵀ V_xx A,  Q_uu = l_uu + Bᵀ V_xx B              (4)
//   k = argmin ½ du·Q̃_uu du + Q_u·du  within the bounds (box_qp.h),  K = -Q̃_uu⁻¹ Q̃_ux        (5)
//   V_x  = Q_x + Kᵀ Q_uu k + Kᵀ Q_u + Q_uxᵀ k                                                (6)
//   V_xx = Q_xx + Kᵀ Q_uu K + Kᵀ Q_ux + Q_uxᵀ K                                              (7)
//        = Q_xx + (Q_ux - μ K)ᵀ K  where μ is on the inputs, for which Q_uu K + Q_ux = -μ K
// so that du = k + K dx, and the cost is expected to change by a Σ k·Q_u + a²/2 Σ k·Q_uu k for a
// share a of k. Inputs that are clamped have no rows in K. With ~ the regularised
//   Q̃_uu = Q_uu + μ I, Q̃_ux = Q_ux;  or, on the state, V_xx + μ I in its place in (4)     (8)
// After [Tassa2012] and [Tassa2014].
#pragma once

#include <cstdint>
#include <vector>

#include "cycloid/optimise/planning/box_qp.h"
#include "cycloid/optimise/planning/products.h"

namespace cycloid::inline optimise {

// What (1) and the cost are along a trajectory; rows of steps, as in linearise.h and Expansion.
struct LinearQuadratic {
  std::int64_t steps = 0;
  int states = 0, inputs = 0;
  const double *A = nullptr, *B = nullptr;
  const double* gaps = nullptr;  // (T, n), or null: none
  const double *lx = nullptr, *lxx = nullptr, *lu = nullptr, *luu = nullptr;
  const double* lux = nullptr;                   // (T, m, n), or null: zero
  const double *low = nullptr, *high = nullptr;  // (T, m) of du, or null: none
};

struct Gains {
  std::vector<double> k;             // (T, m)
  std::vector<double> K;             // (T, m, n)
  double linear = 0, quadratic = 0;  // Σ k·Q_u and Σ k·Q_uu k
  double slope = 0;                  // largest |Q_u| of an input that is not clamped
};

struct Regularisation {
  double mu = 0;
  bool on_state = false;
};

// Returns false where Q̃_uu is not positive definite: more regularisation is needed. `out.k` is the
// first guess of (5) if it has the right size.
bool riccati(const LinearQuadratic& lq, const Regularisation& regularisation, Gains& out);

}  // namespace cycloid::inline optimise
