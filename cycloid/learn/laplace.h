// laplace.h: which weights of the last layer the data allow besides those that were found.
//
// Around trained parameters θ* a step's dependence on the numbers w of the last layers is linear
// enough, J = ∂step/∂w; then, with r the misses of N transitions (transitions.h) and σ_i² the mean
// square of the i-th tangent number's miss, w is normal around w* with
//   Λ = Σ_rows Jᵀ diag(1/σ²) J + α                                            (1)
//   Σ = Λ⁻¹ = F Fᵀ,  F = V diag(1/√(λ + α))                                    (2)
// V, λ the eigenvectors and eigenvalues of the sum [MacKay1992, Daxberger2021]. The prior's
// precision α is given, or that of the largest evidence, by iterating
//   γ = Σ λ / (λ + α),   α = γ / |w*|²        γ: how many numbers the data determine     (3)
// Draws w* + F ξ, ξ normal, are laws like any other. σ is what one step misses; where that is
// measurement noise and not the law's, a run does not gather it, so that it is not added to runs.
#pragma once

#include <cstdint>

#include "cycloid/learn/transitions.h"

namespace cycloid::inline learn {

struct LaplaceOptions {
  std::vector<std::string> params = {};  // names; empty: weights and biases of last layers
  double prior = 0;                      // α; 0: by the evidence (3)
  int threads = 0;
  KeepGoing keep_going = {};
};

struct LaplacePosterior {
  std::vector<int> numbers;    // of the parameter vector, (k)
  std::vector<double> factor;  // F (k, k) by rows
  std::vector<double> noise;   // σ (tangents)
  double prior = 0;            // α
  double determined = 0;       // γ
};

// The names of what is drawn where no names are given: of every network its last layer's.
std::vector<std::string> last_layers(const System& system);

// Around the System's default parameters. Throws Error on data that do not fit, ParameterError on
// unknown names, and where there is no network.
LaplacePosterior laplace_posterior(const System& system, const Transitions& data,
                                   const LaplaceOptions& options = {});

// The parameter vector of a draw, w* + F ξ.
std::vector<double> laplace_draw(const LaplacePosterior& of, std::span<const double> params,
                                 std::uint64_t seed, std::uint32_t draw);
// Columns of F as directions of all parameters: (k, parameters).
std::vector<double> laplace_directions(const LaplacePosterior& of, std::size_t parameters);

}  // namespace cycloid::inline learn
