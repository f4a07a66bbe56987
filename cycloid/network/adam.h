// Adam [Kingma2015], with weight decay apart from the gradient [Loshchilov2019], and the fit of a
// network's gradient to given ones.
//
//   m = β₁ m + (1 - β₁) w̄,   v = β₂ v + (1 - β₂) w̄²                            (1)
//   w = (1 - α λ) w - α m / (1 - β₁^t) / (sqrt(v / (1 - β₂^t)) + ε)             (2)
//
// GradientFit: loss = mean over rows and components of (g(x) - target)², g of mlp.h (3). With
// [q, p] inputs and targets (-ṗ, q̇) this trains a Hamiltonian on derivatives.
#pragma once

#include "cycloid/network/network.h"

namespace cycloid::inline network {

struct AdamOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 0;  // λ
};

template <class T>
class Adam {
 public:
  explicit Adam(std::size_t numbers, const AdamOptions& options = {})
      : m_(numbers, T(0)), v_(numbers, T(0)), options_(options) {}

  // Moves w by its cotangent; both have as many numbers as was said.
  void step(const T* w_bar, T* w);
  AdamOptions& options() { return options_; }
  std::int64_t steps() const { return steps_; }
  // What a later Adam goes on from, bit for bit.
  const std::vector<T>& first_moment() const { return m_; }
  const std::vector<T>& second_moment() const { return v_; }
  // Throws Error on other sizes.
  void set_moments(const std::vector<T>& m, const std::vector<T>& v, std::int64_t steps);

 private:
  std::vector<T> m_, v_;
  AdamOptions options_;
  std::int64_t steps_ = 0;
};

template <class T>
class GradientFit {
 public:
  // Throws Error unless the network has one output and `weights` its size.
  GradientFit(const MlpShape& shape, const std::vector<double>& weights,
              const AdamOptions& options);

  // One step on rows of x and target (rows, inputs). Gives the loss before it.
  double step(const T* x, const T* target, std::int64_t rows, int threads);
  const std::vector<T>& weights() const { return weights_; }
  const MlpShape& shape() const { return plan_.shape; }
  Adam<T>& adam() { return adam_; }

 private:
  MlpPlan<T> plan_;
  std::vector<T> weights_, bar_;
  Adam<T> adam_;
};

}  // namespace cycloid::inline network
