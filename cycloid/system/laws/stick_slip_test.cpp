#include "cycloid/system/laws/stick_slip.h"

#include <cmath>

#include "tests/support/law_steps.h"

namespace cycloid {
namespace {

using test::Numbers;

// mass, stiffness, damping, belt, normal force, static and kinetic friction
const Numbers kParams = {2.0, 3.0, 0.1, 0.2, 5.0, 0.6, 0.4};

Numbers reset(int event, const Numbers& x) {
  Numbers out(3);
  StickSlip{}.reset(event, 0.0, x.data(), x.data(), kParams.data(), out.data());
  return out;
}

}  // namespace

TEST_CASE("StickSlip: rides with the belt while it sticks, and slips against kinetic friction") {
  CHECK(test::x_dot_of(StickSlip{}, {0.3, 0.2, 0}, {}, kParams) == Numbers{0.2, 0, 0});
  const Numbers dx = test::x_dot_of(StickSlip{}, {0.3, -0.5, -1}, {}, kParams);
  CHECK(dx[1] == doctest::Approx((-0.9 + 0.05 + 2.0) / 2));
  CHECK(test::x_dot_of(StickSlip{}, {0.3, 0.5, 1}, {}, kParams)[1] < dx[1]);
}

TEST_CASE("StickSlip: changes its mode where the relative velocity or the holding force says so") {
  double g[2];
  const Numbers sticking = {0.98, 0.2, 0}, slipping = {0.3, -0.5, -1};
  StickSlip{}.events(0.0, sticking.data(), g, kParams.data(), g);
  CHECK(g[StickSlip::kStick] == 1);
  CHECK(g[StickSlip::kSlip] == doctest::Approx(3.0 - 2.94 - 0.02));
  StickSlip{}.events(0.0, slipping.data(), g, kParams.data(), g);
  CHECK(g[StickSlip::kStick] == doctest::Approx(0.7));
  CHECK(g[StickSlip::kSlip] == 1);
  CHECK(reset(StickSlip::kSlip, sticking) == Numbers{0.98, 0.2, -1});
  CHECK(reset(StickSlip::kStick, {0.5, 0.2, -1}) == Numbers{0.5, 0.2, 0});
  CHECK(reset(StickSlip::kStick, {1.5, 0.2, 1}) == Numbers{1.5, 0.2, -1});    // cannot hold
  CHECK(reset(StickSlip::kStick, {-1.5, 0.2, -1}) == Numbers{-1.5, 0.2, 1});  // on either side
}

TEST_CASE("StickSlip::x_dot: pullback equals dual numbers, slipping either way and sticking") {
  std::vector<Numbers> points;
  for (const double mode : {-1.0, 0.0, 1.0}) {
    Numbers point = {0, 0.3, -0.4, mode};
    point.insert(point.end(), kParams.begin(), kParams.end());
    points.push_back(point);
  }
  test::check_law_pullback("StickSlip::x_dot", StickSlip{}, points);
}

}  // namespace cycloid
