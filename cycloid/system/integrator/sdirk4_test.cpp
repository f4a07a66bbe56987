#include "cycloid/system/integrator/sdirk4.h"

#include <doctest/doctest.h>

#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/substep_check.h"

namespace cycloid::sdirk4_test {

TEST_CASE("SdirkPair: rows of the tableau sum to the times, weights and errors to 1 and 0") {
  for (int i = 0; i < 5; ++i) {
    double sum = SdirkPair::kGamma;
    for (int j = 0; j < 4; ++j) sum += SdirkPair::kA[i][j];
    CHECK(sum == doctest::Approx(SdirkPair::kC[i]).epsilon(1e-14));
  }
  double errors = 0;
  for (const double e : SdirkPair::kE) errors += e;
  CHECK(std::abs(errors) < 1e-15);
}

TEST_CASE("SdirkPair: local errors are of order 5 at the end and 4 within") {
  const auto order = [](double theta) {
    return std::log2(test::sample_error<SdirkPair>(0.05, theta) /
                     test::sample_error<SdirkPair>(0.025, theta));
  };
  CHECK(order(1) == doctest::Approx(5).epsilon(0.06));
  for (const double theta : {0.3, 0.5, 0.7})
    CHECK(order(theta) == doctest::Approx(4).epsilon(0.06));
  CHECK(test::sample_error<SdirkPair>(0.2, 0) < 1e-15);
}

TEST_CASE("SdirkPair: a stiff component fades in one substep, the more the stiffer it is") {
  // The velocity of a heavily damped mass: v⁺ = R(-λh) v, and R falls as 7.6/(λh).
  const SpringChain law{1};
  const LawShape<SpringChain> shape(law);
  std::vector<double> scratch(200), k(12), x_next(2), e(2), f(2);
  const double x[] = {0.0, 1.0}, u[] = {0.0};
  for (const double lambda : {1e2, 1e4, 1e6}) {
    const double p[] = {1, 0, lambda};
    const LawPoint<SpringChain, double> at{
        law, shape, 0.0, 1.0, u, p, {reinterpret_cast<std::byte*>(scratch.data())}};
    law_x_dot(at, 0.0, x, f.data(), static_cast<double*>(nullptr));
    CHECK(SdirkPair::step(at, x, f.data(), k.data(), x_next.data(), e.data()));
    CHECK(std::abs(x_next[1]) < 10 / lambda);
  }
}

TEST_CASE("SdirkPair::step, ::sample: pullbacks equal dual numbers for x, u, p, t, h and θ") {
  test::check_substep_pullbacks<SdirkPair>("SdirkPair");
}

}  // namespace cycloid::sdirk4_test
