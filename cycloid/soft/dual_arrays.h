// Arrays of numbers or of dual numbers, as kernels take them: values and tangents apart.
#pragma once

#include <type_traits>
#include <vector>

#include "cycloid/math/dual.h"

namespace cycloid::inline soft {

// An array that is read; null stays null. Of doubles it is the array itself.
template <class S>
struct Apart {
  static constexpr bool kDual = !std::is_same_v<S, double>;
  Apart() = default;
  Apart(const S* from, std::size_t count) {
    if constexpr (!kDual) {
      value = from;
    } else if (from) {
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(from[i].value), tangents.push_back(from[i].tangent[0]);
      }
      value = values.data(), tangent = tangents.data();
    }
  }
  explicit Apart(const std::vector<S>& from) : Apart(from.data(), from.size()) {}
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;
  Apart(Apart&&) = default;
  Apart& operator=(Apart&&) = default;

  const double *value = nullptr, *tangent = nullptr;
  std::vector<double> values, tangents;
};

// to += values, or tangents.
inline void add_values(const std::vector<double>& from, std::vector<double>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}
inline void add_values(const std::vector<double>& from, std::vector<Dual<double, 1>>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i].value += from[i];
}
inline void add_tangents(const std::vector<double>& from, std::vector<Dual<double, 1>>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i].tangent[0] += from[i];
}

}  // namespace cycloid::inline soft
