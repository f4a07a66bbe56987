// ParameterSlopes: what a Stepper may offer besides: the Jacobian of its step by a few directions
// of the parameters, at less than a pullback for every row.
//
//   P_ij = ∂x⁺_i/∂p · d_j                                                                    (1)
// Directions are lists of entries that are not zero, of parameters in lanes, in the order of their
// places.
#pragma once

#include <cstdint>
#include <vector>

#include "cycloid/system/stepper.h"

namespace cycloid::inline system {

// A number of the flat vector of parameters, and how much of it a direction has.
struct DirectionEntry {
  std::int64_t place = 0;
  double value = 0;
};
using ParameterDirections = std::vector<std::vector<DirectionEntry>>;

template <class T>
class ParameterSlopes {
 public:
  virtual ~ParameterSlopes() = default;
  // Writes P (tangent, directions, W); false where it has no way of its own for these directions.
  virtual bool parameter_jacobian(const StepInput<T>& in, const StepRecord& record,
                                  const ParameterDirections& directions, T* P,
                                  StepWorkspace& workspace) const = 0;
};

}  // namespace cycloid::inline system
