#include "cycloid/system/laws/stick_slip.h"

#include <cmath>

#include "tests/support/law_steps.h"

namespace cycloid::stick_slip_test {

using test::Numbers;

// mass, stiffness, damping, belt, normal force, static and kinetic friction
const Numbers kParams = {2.0, 3.0, 0.1, 0.2, 5.0, 0.6, 0.4};

Numbers reset(int event, const Numbers& x) {
  Numbers out(3);
  StickSlip{}.reset(event, 0.0, x.data(), x.data(), kParams.data(), out.data());
  return out;
}

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

TEST_CASE("StickSlip::admit: a mode that is that of velocity and pull") {
  const double belt = 0.2, holds = 0.6 * 5, stretch = (holds - 0.1 * belt) / 3;  // of kParams
  const auto admit = [&](Numbers x) {
    const std::string why = StickSlip{}.admit(kParams.data(), 1e-13, x.data());
    return std::pair{why, x};
  };
  const auto as_it_is = [&](const Numbers& x) { return admit(x) == std::pair{std::string(), x}; };
  CHECK(as_it_is({0, belt, 0}));
  CHECK(as_it_is({0, belt + 1e-6, 0}));
  CHECK(as_it_is({0, 3, 1}));
  CHECK(as_it_is({0, -3, -1}));
  CHECK(as_it_is({1, belt, -1}));         // just begun to slip
  CHECK(as_it_is({1, belt + 1e-6, -1}));  // and pulled back to it
  const auto [why, on_it] = admit({stretch * (1 + 1e-15), belt, 0});
  CHECK(why == "");
  CHECK(StickSlip{}.admit(kParams.data(), 0, Numbers(on_it).data()) == "");
  CHECK(admit({0, belt + 1e-15, -1}).second[1] == belt);

  CHECK(admit({0, belt, 0.4}).first.find("mode is 0.4") != std::string::npos);
  CHECK(admit({0, belt, 2}).first.find("mode is 2") != std::string::npos);
  CHECK(admit({0, 1, 0}).first.find("or mode 1") != std::string::npos);
  CHECK(admit({2, belt, 0}).first.find("static friction holds 3 N; give it mode -1") !=
        std::string::npos);
  CHECK(admit({-2, belt, 0}).first.find("give it mode 1") != std::string::npos);
  CHECK(admit({0, 1, -1}).first.find("faster than the belt") != std::string::npos);
  CHECK(admit({0, -1, 1}).first.find("slower than the belt") != std::string::npos);
}

TEST_CASE("StickSlip::refuse: less static than kinetic friction") {
  CHECK(StickSlip{}.refuse(kParams.data()) == "");
  Numbers p = kParams;
  p[StickSlip::kStatic] = p[StickSlip::kKinetic];
  CHECK(StickSlip{}.refuse(p.data()) == "");
  p[StickSlip::kStatic] = 0.3;
  CHECK(StickSlip{}.refuse(p.data()).find("0.3, below kinetic_friction, 0.4") != std::string::npos);
}

}  // namespace cycloid::stick_slip_test
