// ArrowSystem: the normal equations of a fit, in which starts are coupled to their neighbours and
// to θ only.
//
//   H [δs; δθ] = -g,   H = | tridiagonal blocks  B |      one chain of blocks per recording     (1)
//                          |        Bᵀ           C |
// with the damping of Levenberg and Marquardt, H + μ diag(D)². Starts are eliminated one after the
// other (block Cholesky), which leaves a dense system in θ, the Schur complement; then they follow
// by substitution. The work grows with the number of stretches, not with its cube.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cycloid::inline optimise {

class ArrowSystem {
 public:
  // `chained[e]`: stretch e is followed by another of the same recording.
  ArrowSystem(std::size_t theta, std::size_t tangents, std::vector<bool> chained);

  void clear();
  // Adds rows of a residual that depends on θ and the start of stretch e: J (rows, θ + tangents),
  // weights of its rows.
  void add(std::size_t e, std::span<const double> r, std::span<const double> J,
           std::span<const double> weights);
  // Adds w_i (a_i + δs_{e+1,i} - E_i (δθ, δs_e))²/2, with E (tangents, θ + tangents).
  void add_link(std::size_t e, std::span<const double> a, std::span<const double> E,
                std::span<const double> w);
  // Adds a residual of θ alone.
  void add_theta(double r, std::span<const double> J);
  // Holds a number of θ, or all of a start, where it is.
  void hold_theta(std::size_t i);
  void hold_start(std::size_t e);

  // Gradient g: of θ, and of the starts (stretches, tangents).
  const std::vector<double>& theta_gradient() const { return g_theta_; }
  const std::vector<double>& start_gradient() const { return g_start_; }
  // The diagonal of H.
  std::vector<double> theta_diagonal() const;
  std::vector<double> start_diagonal() const;

  struct Step {
    bool ok = false;
    std::vector<double> theta, starts;
  };
  // Solves (1) with damping added to the diagonal.
  Step solve(std::span<const double> theta_damping, std::span<const double> start_damping) const;

 private:
  std::size_t K_, nt_, E_;
  std::vector<bool> chained_, held_theta_, held_start_;
  std::vector<double> C_, g_theta_, g_start_;  // (K, K)
  std::vector<double> S_, B_, N_;  // per stretch: (nt, nt), (nt, K), (nt, nt) to the next
};

}  // namespace cycloid::inline optimise
