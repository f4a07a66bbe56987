#include "cycloid/system/integrator/dopri5.h"

#include <doctest/doctest.h>

#include "tests/support/substep_check.h"

namespace cycloid::dopri5_test {

TEST_CASE("DormandPrince: rows of the tableau sum to the times, weights and errors to 1 and 0") {
  for (int i = 0; i < 7; ++i) {
    double sum = 0;
    for (int j = 0; j < 6; ++j) sum += DormandPrince::kA[i][j];
    CHECK(sum == doctest::Approx(DormandPrince::kC[i]).epsilon(1e-14));
  }
  double errors = 0, extension = 0;
  for (int i = 0; i < 7; ++i) {
    errors += DormandPrince::kE[i];
    extension += DormandPrince::kD[i];
  }
  CHECK(std::abs(errors) < 1e-15);
  CHECK(std::abs(extension) < 1e-13);
}

TEST_CASE("DormandPrince: local errors are of order 6 at the end and 5 within") {
  const auto order = [](double theta) {
    return std::log2(test::sample_error<DormandPrince>(0.2, theta) /
                     test::sample_error<DormandPrince>(0.1, theta));
  };
  CHECK(order(1) == doctest::Approx(6).epsilon(0.05));
  for (const double theta : {0.2, 0.5, 0.8})
    CHECK(order(theta) == doctest::Approx(5).epsilon(0.06));
  CHECK(test::sample_error<DormandPrince>(0.2, 0) < 1e-15);
}

TEST_CASE("DormandPrince::step, ::sample: pullbacks equal dual numbers for x, u, p, t, h and θ") {
  test::check_substep_pullbacks<DormandPrince>("DormandPrince");
}

}  // namespace cycloid::dopri5_test
