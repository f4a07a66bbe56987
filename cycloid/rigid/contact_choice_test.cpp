#include "cycloid/rigid/contact_choice.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cycloid/base/error.h"

namespace cycloid::contact_choice_test {

TEST_CASE("check_contact: takes MuJoCo's law and every compliant law that makes sense") {
  CHECK_NOTHROW(check_contact(MujocoContact{}));
  CHECK_NOTHROW(check_contact(HuntCrossley{}));
  CHECK_NOTHROW(check_contact(
      HuntCrossley{.stiffness = 1e5, .exponent = 1, .dissipation = 0, .stiction = 1e-4}));
}

TEST_CASE("check_contact: refuses numbers that make no sense, by name") {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, infinity}) {
    CHECK_THROWS_WITH_AS(check_contact(HuntCrossley{.stiffness = bad}),
                         doctest::Contains("stiffness"), ParameterError);
    CHECK_THROWS_WITH_AS(check_contact(HuntCrossley{.stiction = bad}),
                         doctest::Contains("stiction"), ParameterError);
  }
  for (const double bad : {0.99, -1.0, nan, infinity}) {
    CHECK_THROWS_WITH_AS(check_contact(HuntCrossley{.exponent = bad}),
                         doctest::Contains("exponent"), ParameterError);
  }
  for (const double bad : {-1e-9, nan, infinity}) {
    CHECK_THROWS_WITH_AS(check_contact(HuntCrossley{.dissipation = bad}),
                         doctest::Contains("dissipation"), ParameterError);
  }
}

}  // namespace cycloid::contact_choice_test
