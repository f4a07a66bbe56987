#include "cycloid/system/laws/rimless_wheel.h"

#include <cmath>

#include "tests/support/law_steps.h"

namespace cycloid::rimless_wheel_test {

using test::Numbers;

const Numbers kParams = {0.8, 0.4, 0.1, 9.81};  // length, half angle, slope, gravity

TEST_CASE("RimlessWheel: an inverted pendulum between impacts: its energy stays") {
  for (const double angle : {-0.3, 0.0, 0.45}) {
    const double w = 1.7;
    const Numbers dx = test::x_dot_of(RimlessWheel{}, {angle, w}, {}, kParams);
    CHECK(std::abs(0.8 * w * dx[1] - 9.81 * std::sin(angle) * dx[0]) < 1e-13);
  }
}

TEST_CASE(
    "RimlessWheel: an impact changes the spoke and keeps the momentum about the new contact") {
  const double x[] = {0.5, 2.0};
  double g[2], x_next[2];
  RimlessWheel{}.events(0.0, x, x, kParams.data(), g);
  CHECK(std::abs(g[RimlessWheel::kStep]) < 1e-15);
  RimlessWheel{}.reset(RimlessWheel::kStep, 0.0, x, x, kParams.data(), x_next);
  CHECK(x_next[0] == doctest::Approx(-0.3));
  CHECK(x_next[1] == doctest::Approx(2 * std::cos(0.8)));
  RimlessWheel{}.events(0.0, x_next, x, kParams.data(), g);
  CHECK(g[RimlessWheel::kBack] == 0);
  RimlessWheel{}.reset(RimlessWheel::kBack, 0.0, x, x, kParams.data(), x_next);
  CHECK(x_next[0] == doctest::Approx(0.5));
}

TEST_CASE("RimlessWheel::x_dot: pullback equals dual numbers") {
  test::check_law_pullback(
      "RimlessWheel::x_dot", RimlessWheel{},
      {{0, 0.3, 1.0, 0.8, 0.4, 0.1, 9.81}, {0, -0.2, -2.0, 1.5, 0.3, 0.0, 1.6}});
}

TEST_CASE("RimlessWheel::admit: between the spokes, up to rounding and what comes back") {
  const double least = kParams[2] - kParams[1], most = kParams[2] + kParams[1];
  const auto admit = [&](Numbers x) {
    const std::string why = RimlessWheel{}.admit(kParams.data(), 1e-13, x.data());
    return std::pair{why, x};
  };
  CHECK(admit({least, 1}) == std::pair{std::string(), Numbers{least, 1}});
  CHECK(admit({most, 1}) == std::pair{std::string(), Numbers{most, 1}});
  CHECK(admit({most + 1e-15, 1}) == std::pair{std::string(), Numbers{most, 1}});
  CHECK(admit({least - 1e-15, -1}) == std::pair{std::string(), Numbers{least, -1}});
  CHECK(admit({least - 1e-6, 1}) == std::pair{std::string(), Numbers{least - 1e-6, 1}});
  CHECK(admit({most + 1e-6, -1e-6}).first != "");  // it falls forward all the same
  CHECK(admit({0.8, 1}).first.find("0.8 rad, where the next spoke") != std::string::npos);
  CHECK(admit({-0.8, 1}).first.find("the last spoke") != std::string::npos);
}

TEST_CASE("RimlessWheel::refuse: spokes so far apart that an impact would turn it round") {
  const auto refuse = [](double half_angle) {
    return RimlessWheel{}.refuse(Numbers{1, half_angle, 0.1, 9.81}.data());
  };
  CHECK(refuse(0.78) == "");
  CHECK(refuse(std::numbers::pi / 4).find("below π/4") != std::string::npos);
  CHECK(refuse(1.2) != "");
}

TEST_CASE("RimlessWheel: energy is kinetic plus potential, and conserved by x_dot") {
  const Numbers p = {0.8, 0.4, 0.1, 9.81}, x = {0.3, -2};
  CHECK(RimlessWheel{}.energy(x.data(), p.data()) ==
        doctest::Approx(0.5 * 0.64 * 4 + 9.81 * 0.8 * std::cos(0.3)).epsilon(1e-14));
  CHECK(std::abs(test::energy_rate(RimlessWheel{}, x, p)) < 1e-12);  // of numbers below 100
}

TEST_CASE("RimlessWheel::energy: pullback equals dual numbers, moving and at rest") {
  test::check_energy_pullback("RimlessWheel::energy", RimlessWheel{},
                              {{0.3, -2, 0.8, 0.4, 0.1, 9.81}, {0, 0, 1, 0.4, 0.1, 9.81}});
}

}  // namespace cycloid::rimless_wheel_test
