// Kalman filter and smoother of a linear model, in numbers.
//
//   z_{k+1} = F_k z_k + d_k + w_k,   w_k ~ N(0, Q_k)                                            (1)
//   r_k     = C_k z_k + v_k,         v_k ~ N(0, 1), rows in units of their noise                (2)
// Forward, rows of (2) one at a time, c a row and y = r - c z:
//   s = c P cᵀ + 1,  K = P cᵀ / s,  z += K y,  P -= K s Kᵀ                                      (3)
//   z <- F z + d,  P <- F P Fᵀ + Q                                                              (4)
// Backward, the adjoint of that, from λ = 0, Λ = 0:
//   z_s = z - P λ,  P_s = P - P Λ P        at a state after its rows                            (5)
//   λ <- λ - c (y + s Kᵀλ) / s,  Λ <- c cᵀ/s + (1 - K c)ᵀ Λ (1 - K c)      over a row           (6)
//   λ <- Fᵀ λ,  Λ <- Fᵀ Λ F                                                over a step          (7)
// which gives the numbers of Rauch, Tung and Striebel without inverting a covariance: Q and P may
// be singular. After Bierman1973. Symmetric matrices are kept so.
#pragma once

#include <cstddef>
#include <vector>

namespace cycloid::inline optimise {

// One state: the rows that see it, and the step away from it. Row-major.
struct KalmanStep {
  std::vector<double> C, r;  // (rows, n), (rows); may be empty
  std::vector<double> F, d;  // (n, n), (n); empty behind the last state
  std::vector<double> Q;     // (n, n)
};

struct KalmanResult {
  std::vector<std::vector<double>> mean, covariance;  // of each state, (n), (n, n)
  double misfit = 0;  // Σ y²/s over all rows: of a true model, as many as there are rows
};

// From z ~ N(mean, covariance) before the first state's rows. `smooth`: each state from all rows,
// else from those up to it.
KalmanResult kalman(const std::vector<KalmanStep>& steps, std::vector<double> mean,
                    std::vector<double> covariance, bool smooth);

}  // namespace cycloid::inline optimise
