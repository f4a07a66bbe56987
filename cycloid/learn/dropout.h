// dropout.h: networks whose hidden units are left out by chance, in training and in forecasts.
//
// With ρ the rate and m_j ∈ {0, 1/(1 - ρ)}, 0 with probability ρ, for each hidden unit j:
//   W_l[i, j] → m_j W_l[i, j],   l ≥ 1                                       (1)
// which is unit j left out, since nothing else reads it. A mask is thus a change of weights, and a
// thinned law is a System like any other. Training takes another mask in every step, the same for
// all rows of its batch, so that its gradient is that of the mean over masks, without bias; what is
// held back is judged with no mask. Forecasts draw masks too [Gal2016]: members are laws, each with
// a mask that it keeps over its run. To first order the masks' covariance is D Dᵀ, with a column
//   d_j = √(ρ / (1 - ρ)) × (W_l[·, j] at its places, else 0)                 (2)
// for each unit. Networks are known by the names of their parameters, "NAME.weight1" and on.
#pragma once

#include <cstdint>

#include "cycloid/learn/training_loss.h"

namespace cycloid::inline learn {

class Dropout {
 public:
  // Throws Error on a rate outside [0, 1), and where the System has no network with hidden units.
  Dropout(const System& system, double rate, std::uint64_t seed);

  std::size_t units() const { return units_.size(); }
  // (1), of the mask with this number.
  std::vector<double> masked(std::span<const double> params, std::uint64_t draw) const;
  // The same numbers act on the cotangents of what `masked` gave.
  void pull(std::vector<double>& params_bar, std::uint64_t draw) const;
  // (2): (units, parameters).
  std::vector<double> directions(std::span<const double> params) const;

 private:
  void scale(std::vector<double>& numbers, std::uint64_t draw) const;
  std::vector<std::vector<int>> units_;  // of each, the parameters that it scales
  double rate_;
  std::uint64_t seed_;
};

// The loss of masked laws, one mask for each step.
std::unique_ptr<TrainingLoss> dropout_loss(std::unique_ptr<TrainingLoss> of, Dropout dropout);

}  // namespace cycloid::inline learn
