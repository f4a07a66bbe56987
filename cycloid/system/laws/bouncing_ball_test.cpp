#include "cycloid/system/laws/bouncing_ball.h"

#include <cmath>

#include "tests/support/law_steps.h"

namespace cycloid::bouncing_ball_test {

using test::Numbers;

TEST_CASE("BouncingBall: falls freely, and an impact turns the velocity around and shrinks it") {
  const Numbers dx = test::x_dot_of(BouncingBall{}, {2.0, 3.0}, {}, {0.8, 9.81});
  CHECK(dx == Numbers{3.0, -9.81});
  const double x[] = {1e-18, -4.0}, p[] = {0.8, 9.81};
  const double* const none = nullptr;
  double g = 0, x_next[2];
  BouncingBall{}.events(0.0, x, none, p, &g);
  CHECK(g == x[0]);
  BouncingBall{}.reset(0, 0.0, x, none, p, x_next);
  CHECK(x_next[0] == 0);
  CHECK(x_next[1] == doctest::Approx(3.2));
}

TEST_CASE("BouncingBall::x_dot: pullback equals dual numbers") {
  test::check_law_pullback("BouncingBall::x_dot", BouncingBall{},
                           {{0, 1.0, -2.0, 0.8, 9.81}, {0.5, 0.0, 0.0, 1.0, 1.62}});
}

TEST_CASE("BouncingBall::admit: on the floor or above, up to rounding and what comes back") {
  const double p[] = {0.8, 9.81};
  const auto admit = [&](Numbers x) {
    const std::string why = BouncingBall{}.admit(p, 1e-13, x.data());
    return std::pair{why, x};
  };
  CHECK(admit({1, -3}) == std::pair{std::string(), Numbers{1, -3}});
  CHECK(admit({0, 0}) == std::pair{std::string(), Numbers{0, 0}});
  CHECK(admit({-1e-17, -2}) == std::pair{std::string(), Numbers{0, -2}});
  CHECK(admit({-1e-17, 2}) == std::pair{std::string(), Numbers{-1e-17, 2}});
  CHECK(admit({-1e-6, 2}) == std::pair{std::string(), Numbers{-1e-6, 2}});
  CHECK(admit({-0.5, 0}).first.find("-0.5 m, below the floor") != std::string::npos);
  CHECK(admit({-1e-6, -2}).first != "");
  CHECK(admit({-1e-6, 1e-3}).first != "");  // it falls back before it reaches the floor
  CHECK(admit({-0.5, 9}).first != "");
}

TEST_CASE("BouncingBall: energy is kinetic plus potential, and conserved by x_dot") {
  const Numbers p = {0.8, 9.81}, x = {1.5, -2};
  CHECK(BouncingBall{}.energy(x.data(), p.data()) ==
        doctest::Approx(0.5 * 4 + 9.81 * 1.5).epsilon(1e-14));
  CHECK(std::abs(test::energy_rate(BouncingBall{}, x, p)) < 1e-12);  // of numbers below 100
}

TEST_CASE("BouncingBall::energy: pullback equals dual numbers, moving and at rest") {
  test::check_energy_pullback("BouncingBall::energy", BouncingBall{},
                              {{1.5, -2, 0.8, 9.81}, {0, 0, 1, 9.81}});
}

}  // namespace cycloid::bouncing_ball_test
