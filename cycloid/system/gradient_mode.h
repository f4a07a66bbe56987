// What the way back differentiates. The way forward is one and the same, bit for bit.
//
//   ExactGradient   the derivative of the steps as they were taken
//   FromDistance    of a robot: besides, pairs of geoms within `width` feel each other (rigid)
//   Smoothed        the derivative of the mean over Gaussian noise on the inputs
//                   (adjoint/smoothed.h)
//
// A System has one, a rollout may choose another, and so may a pullback; the latest counts.
#pragma once

#include <cstdint>
#include <variant>

namespace cycloid::inline system {

struct ExactGradient {
  bool operator==(const ExactGradient&) const = default;
};

struct FromDistance {
  double width = 0;  // [m]
  bool operator==(const FromDistance&) const = default;
};

struct Smoothed {
  enum class Order { first, zeroth, mix };
  double sigma = 0.1;  // standard deviation, in units of the width of an input's range
  int samples = 64;
  std::uint64_t seed = 0;
  Order order = Order::mix;
  bool operator==(const Smoothed&) const = default;
};

using GradientMode = std::variant<ExactGradient, FromDistance, Smoothed>;

// The width of FromDistance, else 0 [m].
inline double near_width(const GradientMode& mode) {
  const auto* near = std::get_if<FromDistance>(&mode);
  return near ? near->width : 0;
}

// Throws Error on a width, sigma or number of samples that means nothing.
void check(const GradientMode& mode);

}  // namespace cycloid::inline system
