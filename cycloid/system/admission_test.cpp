#include "cycloid/system/admission.h"

#include <doctest/doctest.h>

#include "cycloid/system/make_system.h"
#include "tests/support/test_laws.h"

namespace cycloid::admission_test {

// Grows from a place that is not negative, at most at the rate 1.
struct Plant {
  static constexpr const char* kName = "plant";
  static constexpr std::array kState = {BlockSpec{"height", 1, "m"}};
  static constexpr std::array kParameters = {ParameterSpec{"rate", 0.5, "1/s"}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = p[0] * x[0];
  }
  std::string refuse(const double* p) const { return p[0] > 1 ? "it grows too fast" : ""; }
  std::string admit(const double*, double rounding, double* x) const {
    if (x[0] < -rounding) return "it is below the ground";
    if (x[0] < 0) x[0] = 0;
    return {};
  }
};

TEST_CASE("comes_back: near, on its way back, and fast enough to get there") {
  CHECK(comes_back(1e-6, -1, 0));
  CHECK_FALSE(comes_back(1e-6, 1, 0));
  CHECK_FALSE(comes_back(1e-6, 0, 0));
  CHECK_FALSE(comes_back(2 * kNearSurface, -1, 0));
  // v² = 2 a d is just enough to arrive, at rest.
  CHECK(comes_back(1e-4, -0.0448, 10));
  CHECK_FALSE(comes_back(1e-4, -0.0446, 10));
}

TEST_CASE("a law that refuses nothing admits every start") {
  const System system = make_system(test::DrivenOscillator{});
  CHECK(system.admits_every_start());
  double x[2] = {-5, 3};
  CHECK(system.admit(system.parameters().default_values().data(), 0, x).empty());
}

TEST_CASE("a System has what its law refuses") {
  const System system = make_system(Plant{});
  CHECK_FALSE(system.admits_every_start());
  const double p[2] = {0.5, 0.01};
  double x = -1;
  CHECK(system.admit(p, 1e-12, &x) == "it is below the ground");
  x = -1e-13;
  CHECK(system.admit(p, 1e-12, &x).empty());
  CHECK(x == 0);
  system.check_parameters(std::vector<double>{1.0, 0.01});
  CHECK_THROWS_WITH_AS(system.check_parameters(std::vector<double>{2.0, 0.01}),
                       "system \"plant\": it grows too fast", ParameterError);
  CHECK_THROWS_AS(system.check_parameters(std::vector<double>{0.5, -0.01}), ParameterError);
  LawSettings wrong;
  wrong.values = {{"rate", {2.0}}};
  CHECK_THROWS_AS(make_system(Plant{}, wrong), ParameterError);
}

}  // namespace cycloid::admission_test
