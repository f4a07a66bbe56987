// noise_network.h: how uncertain one step is, by a network of where it begins.
//
//   s = s_0 + exp(N([x, u]; v))        standard deviation of each tangent number of x⁺       (1)
//   N̄ = (s - s_0) s̄                    back to the network                                   (2)
// s_0 keeps s away from zero where data are exact. N's inputs are normalised by the data that it
// was made for, and it begins at the deviation that it was given.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cycloid/learn/transitions.h"
#include "cycloid/network/mlp_shape.h"

namespace cycloid::inline learn {

struct NoiseNetwork {
  MlpShape shape;
  std::vector<double> weights;  // v
  std::vector<double> least;    // s_0 (tangents)

  // Rows [x, u], as N sees them; x (rows, states), u (rows, inputs) or empty for zeros.
  std::vector<double> features(std::span<const double> x, std::span<const double> u,
                               std::size_t rows) const;
  // (1): (rows, tangents) of rows of features.
  std::vector<double> stated(std::span<const double> features, std::span<const double> v,
                             int threads) const;
  // (2): adds to v_bar.
  void pull(std::span<const double> features, std::span<const double> v, std::span<const double> s,
            std::span<const double> s_bar, std::span<double> v_bar, int threads) const;
};

// For a System's steps from such states; `first`: the deviation that it begins with (tangents).
NoiseNetwork make_noise_network(const System& system, const Transitions& data,
                                const std::vector<int>& hidden, std::span<const double> first,
                                std::uint64_t seed);

}  // namespace cycloid::inline learn
