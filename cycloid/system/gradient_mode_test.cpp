#include "cycloid/system/gradient_mode.h"

#include <doctest/doctest.h>

#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::gradient_mode_test {

TEST_CASE("gradient_mode: numbers that mean nothing are refused by name") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  CHECK_NOTHROW(check(ExactGradient{}));
  CHECK_NOTHROW(check(FromDistance{0.01}));
  CHECK_NOTHROW(check(Smoothed{}));
  CHECK_THROWS_AS(check(FromDistance{0}), Error);
  CHECK_THROWS_AS(check(FromDistance{kNaN}), Error);
  CHECK_THROWS_AS(check(Smoothed{.sigma = -1}), Error);
  CHECK_THROWS_AS(check(Smoothed{.sigma = kNaN}), Error);
  CHECK_THROWS_AS(check(Smoothed{.samples = 1}), Error);
}

TEST_CASE("gradient_mode: a system carries one, and refuses what it has no contacts for") {
  const System pendulum = systems::make("pendulum", {}, {}, 1);
  CHECK(pendulum.gradient() == GradientMode(ExactGradient{}));
  const GradientMode smoothed = Smoothed{.sigma = 0.2, .samples = 8, .seed = 5};
  CHECK(pendulum.with_gradient(smoothed).gradient() == smoothed);
  CHECK_THROWS_WITH_AS(
      pendulum.with_gradient(FromDistance{0.1}),
      "FromDistance is for robots that touch something; system \"pendulum\" has no "
      "contacts",
      Error);
}

TEST_CASE("gradient_mode: an input without bounds has the width one") {
  const System pendulum = systems::make("pendulum", {}, {}, 1);
  CHECK(pendulum.input_width(0) == 1);
  SystemParts parts = pendulum.parts();
  parts.input_bounds = {{-2, 3}};
  CHECK(System(parts).input_width(0) == 5);
  parts.input_bounds = {{-2, 3}, {0, 1}};
  CHECK_THROWS_AS(System{parts}, ModelError);
}

}  // namespace cycloid::gradient_mode_test
