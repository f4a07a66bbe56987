// What a network gives, by the plain operator: the oracle of what is made of networks.
#pragma once

#include "cycloid/couple/network_feedback.h"
#include "cycloid/network/mlp.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

inline Numbers value(const Network& n, const Numbers& x) {
  const MlpPlan<double> plan(n.shape);
  Numbers y(static_cast<std::size_t>(n.shape.outputs())),
      memory(mlp_numbers<double>(plan, MlpOrder::value));
  const auto w = layer_pointers(n.shape, n.weights.data());
  mlp(plan, w.data(), x.data(), y.data(), memory.data());
  return y;
}

}  // namespace cycloid::test
