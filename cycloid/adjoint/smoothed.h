// The gradient of a mean over noisy inputs, for losses with steps in them: a contact that a small
// push would make, or break.
//
//   J(u) = ⟨states_bar, states(u)⟩, states_bar held;   F(u) = E J(u + s ε),  ε standard normal (1)
// independent for every environment, step and input; s = sigma times the width of the input's
// range, or sigma where it has none. K samples ε_k give two estimates of ∂F/∂u:
//   first order    g¹ = mean ∂J/∂u (u + s ε_k)  (2)
//   zeroth order   g⁰ = mean (J_k - J̄_k) ε_k / s,   J̄_k the mean of the other samples'  (3)
// (2) has the lesser variance where J is smooth and misses its steps; (3) does not, and is noisy
// [Suh2022]. Their variances v¹ and v⁰ (of the means) come from the same samples. The mix takes
//   g = (v⁰ g¹ + v¹ g⁰) / (v⁰ + v¹),   variance v⁰ v¹ / (v⁰ + v¹)  (4)
// number by number, and g⁰ where the two differ by more than three standard errors:
//   t² = (g¹ - g⁰)² / (v⁰ + v¹) > ν (exp(z²/ν) - 1),   z² = 9 + 2 log n,   ν = K - 1  (5)
// for a number, which allows for the n numbers that are looked at and for tails of few samples; or
// for all n of an environment, whose sum of t² has, for n squares of Student's t,
//   mean m = n ν/(ν-2),   variance 2 m²/k,   k = n (ν-4)/(ν-1),   ν > 4  (6)
// and lies three standard deviations above it, as its cube root sees them [Wilson1931].
// Gradients by x0 and parameters are means of the samples' exact ones.
#pragma once

#include "cycloid/adjoint/rollout.h"

namespace cycloid::inline adjoint {

// Throws Error for a System without inputs. A sample that failed counts as options.failed says:
// skipped, it takes no part, and an environment with fewer than two left has the gradient zero.
template <class T>
Gradient<T> pull_back_smoothed(const Trajectory<T>& trajectory, std::span<const T> states_bar,
                               const Smoothed& how, const PullbackOptions& options);

}  // namespace cycloid::inline adjoint
