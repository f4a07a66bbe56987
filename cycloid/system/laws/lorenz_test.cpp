#include "cycloid/system/laws/lorenz.h"

#include <cmath>

#include "tests/support/law_steps.h"

namespace cycloid::lorenz_test {

using test::Numbers;
using test::x_dot_of;

const Numbers kParams = {10, 28, 8.0 / 3};

TEST_CASE("Lorenz: rests at the origin and at (±√(β(ρ-1)), ±√(β(ρ-1)), ρ-1)") {
  const double c = std::sqrt(8.0 / 3 * 27);
  CHECK(x_dot_of(Lorenz{}, {0, 0, 0}, {}, kParams) == Numbers{0, 0, 0});
  for (const double sign : {1.0, -1.0}) {
    const Numbers dx = x_dot_of(Lorenz{}, {sign * c, sign * c, 27}, {}, kParams);
    CHECK(test::largest(dx) < 3e-14);  // β z and x y are 72 each
  }
}

TEST_CASE("Lorenz: has the vector of the paper, and contracts volume at σ + 1 + β everywhere") {
  CHECK(x_dot_of(Lorenz{}, {1, 2, 3}, {}, {10, 28, 2}) == Numbers{10, 23, -4});
  using D = Dual<double, 3>;
  const D x[3] = {D::variable(1.3, 0), D::variable(-4.0, 1), D::variable(20.0, 2)};
  const D p[3] = {D(10.0), D(28.0), D(8.0 / 3)};
  D dx[3];
  Lorenz{}.x_dot(D(0.0), x, static_cast<const D*>(nullptr), p, dx);
  const double divergence = dx[0].tangent[0] + dx[1].tangent[1] + dx[2].tangent[2];
  CHECK(divergence == doctest::Approx(-(10 + 1 + 8.0 / 3)).epsilon(1e-15));
}

TEST_CASE("Lorenz::x_dot: pullback equals dual numbers at rest and on the attractor") {
  test::check_law_pullback("Lorenz::x_dot", Lorenz{},
                           {{0, 1, 1, 1, 10, 28, 8.0 / 3},
                            {0, 0, 0, 0, 10, 28, 8.0 / 3},
                            {0, -12, -20, 35, 16, 45.9, 4},
                            {0, 3, -7, 14, 10, 14, 1}});
}

}  // namespace cycloid::lorenz_test
