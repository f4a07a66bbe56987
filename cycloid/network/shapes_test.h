// Networks for tests: each of mlp_shape.h's features at least once.
#pragma once

#include <vector>

#include "cycloid/network/mlp_shape.h"

namespace cycloid::test {

inline std::vector<MlpShape> shapes(int outputs) {
  std::vector<MlpShape> all;
  for (int k = 0; k < 5; ++k) {
    MlpShape s;
    s.widths = {3, 4, 5, outputs};
    s.activation = static_cast<Activation>(k);
    all.push_back(s);
  }
  MlpShape residual;
  residual.widths = {2, 4, 4, 4, outputs};
  residual.residual = true;
  all.push_back(residual);
  residual.activation = Activation::sine;
  all.push_back(residual);
  MlpShape features;
  features.widths = {3, 4, outputs};
  features.activation = Activation::softplus;
  features.angles = {1};
  features.frequencies = {0.5, 0, 1.5, 0, 0.3, -1};
  features.input_shift = {0.2, 0, -0.4}, features.input_scale = {1.5, 1, 0.7};
  features.output_shift = std::vector<double>(static_cast<std::size_t>(outputs), 0.3);
  features.output_scale = std::vector<double>(static_cast<std::size_t>(outputs), 2.5);
  all.push_back(features);
  MlpShape linear;
  linear.widths = {3, outputs};
  linear.angles = {0, 2};
  all.push_back(linear);
  return all;
}

}  // namespace cycloid::test
