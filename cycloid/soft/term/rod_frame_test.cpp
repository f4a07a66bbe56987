#include "cycloid/soft/term/rod_frame.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

Vec3<double> direction(test::FixedNumbers& random) {
  return unit_and_norm(Vec3<double>{random.next(), random.next(), random.next()}).unit;
}

}  // namespace

TEST_CASE("rod frames: transport takes one tangent to the other and turns no more than that") {
  test::FixedNumbers random(3);
  for (int k = 0; k < 20; ++k) {
    const Vec3<double> a = direction(random), b = direction(random);
    CHECK(norm(transported(a, b, a) - b) < 1e-12);
    const Vec3<double> axis = cross(a, b);  // stays where it is
    CHECK(norm(transported(a, b, axis) - axis) < 1e-12);
  }
}

TEST_CASE("rod frames: two transports differ from one by a turn about the end") {
  test::FixedNumbers random(5);
  for (int k = 0; k < 20; ++k) {
    const Vec3<double> a = direction(random), b = direction(random), c = direction(random);
    const Vec3<double> k0 = unit_and_norm(cross(a, direction(random))).unit;
    const Vec3<double> once = transported(a, c, k0),
                       twice = transported(b, c, transported(a, b, k0));
    const double turn = turn_around(a, b, c);
    const Vec3<double> turned = once * std::cos(turn) + cross(c, once) * std::sin(turn);
    CHECK(norm(turned - twice) < 1e-11);
  }
  // An eighth of the sphere.
  CHECK(turn_around<double>({1, 0, 0}, {0, 1, 0}, {0, 0, 1}) ==
        doctest::Approx(3.14159265358979323846 / 2).epsilon(1e-14));
}

}  // namespace cycloid
