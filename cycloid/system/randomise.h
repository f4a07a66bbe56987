// system/randomise.h: parameters drawn at random, one value for each environment of a batch.
//
// Of a number with default d, with N standard normal and U uniform on [0, 1):
//   LogNormal   p = d exp(s N)                                                        (1)
//   Normal      p = d + s N                                                           (2)
//   Uniform     p = low + (high - low) U                                              (3)
// Numbers of one parameter are drawn independently, each with its own N or U, but for an inertia
// under (1): it has one factor for all six, so that it remains that of a real body.
//
// What comes out lies within the parameter's constraint (constraint.h). A value that does not is
// drawn again, all numbers of the parameter together, so the law is the one above under the
// condition that the constraint holds. Six numbers in kg·m² are an inertia also where the default
// lies on the border and the registry therefore asks for nothing.
//
// Draws depend on seed, name and environment alone (base/random.h), not on the order of names, on
// other names or on the size of the batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline system {

// Each list has one number for all, or one for each number of the parameter.
struct LogNormal {
  std::vector<double> s;  // of the logarithm, at least zero
};
struct Normal {
  std::vector<double> s;  // in the parameter's unit, at least zero
};
struct Uniform {
  std::vector<double> low, high;  // in the parameter's unit
};
using Spread = std::variant<LogNormal, Normal, Uniform>;

// {name: values}, of each environment in turn the parameter's numbers. Throws ParameterError for a
// name that is unknown (with the nearest one) or not in the system's `vary`, for a spread that
// makes no sense, and where kMostDraws draws in a row do not meet the constraint.
std::map<std::string, std::vector<double>> randomise(const System& system,
                                                     const std::map<std::string, Spread>& spreads,
                                                     std::int64_t batch, std::uint64_t seed);

inline constexpr int kMostDraws = 100'000;  // of the widest Normal one inertia in 1250 is real

}  // namespace cycloid::inline system
