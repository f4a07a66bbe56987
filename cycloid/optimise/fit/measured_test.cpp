#include "cycloid/optimise/fit/measured.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/math/rotation.h"
#include "cycloid/system/systems.h"

namespace cycloid::measured_test {

using Numbers = std::vector<double>;

TEST_CASE("measured: values and slopes of state blocks and of an energy") {
  const System system = systems::pendulum({.length = 0.8});
  const Recording r{.times = {0, 1}, .values = Numbers(4, 0.0), .names = {"energy", "angle"}};
  const Measured measured(system, r);
  CHECK(measured.columns() == 2);
  CHECK(measured.state_columns().empty());
  CHECK(measured.column_of_state(0) == 1);
  LookedRows rows;
  rows.states = {0.5, 1.0, -0.3, 2.0};
  rows.inputs = {0, 0};
  rows.times = {0, 1};
  const Numbers p = system.parameters().default_values();
  Numbers direction(p.size(), 0.0);
  direction[0] = 1;  // the length
  const Looked seen = measured.look(rows, p, direction, 1, {});
  CHECK(seen.values[1] == 0.5);
  CHECK(measured.slope_numbers() == 3);  // energy by both, then angle by angle
  CHECK(seen.by_state[2] == 1);
  const auto energy = [&](double angle, double rate, double length) {
    Numbers moved = p;
    moved[0] = length;
    LookedRows one{{angle, rate}, {0}, {0}};
    return measured.look(one, moved, 1, {}).values[0];
  };
  const double h = 1e-6;
  CHECK(
      seen.by_state[0] ==
      doctest::Approx((energy(0.5 + h, 1, 0.8) - energy(0.5 - h, 1, 0.8)) / (2 * h)).epsilon(1e-7));
  CHECK(seen.by_state[4] ==
        doctest::Approx((energy(-0.3, 2 + h, 0.8) - energy(-0.3, 2 - h, 0.8)) / (2 * h))
            .epsilon(1e-7));
  CHECK(seen.by_direction[2] ==
        doctest::Approx((energy(-0.3, 2, 0.8 + h) - energy(-0.3, 2, 0.8 - h)) / (2 * h))
            .epsilon(1e-7));
}

TEST_CASE("measured: a quaternion's residual is the turn, whatever its sign, with its slope") {
  const Quat<double> a = quaternion_exp(Vec3<double>{0.3, -0.2, 0.5}),
                     b = retract(a, Vec3<double>{0.1, 0.7, -0.4});
  double r[3], D[9], other[3], unused[9];
  const double measured[4] = {a.w, a.x, a.y, a.z}, flipped[4] = {-a.w, -a.x, -a.y, -a.z},
               shown[4] = {b.w, b.x, b.y, b.z};
  turn_between(measured, shown, r, D);
  turn_between(flipped, shown, other, unused);
  const double wanted[3] = {0.1, 0.7, -0.4};
  const double h = 1e-6;
  for (int i = 0; i < 3; ++i) {
    CHECK(r[i] == doctest::Approx(wanted[i]).epsilon(1e-12));
    CHECK(other[i] == doctest::Approx(wanted[i]).epsilon(1e-12));
    for (int j = 0; j < 3; ++j) {
      const auto moved = [&](double by) {
        Vec3<double> d{};
        (j == 0 ? d.x : j == 1 ? d.y : d.z) = by;
        const Quat<double> c = retract(b, d);
        const double q[4] = {c.w, c.x, c.y, c.z};
        double e[3];
        turn_between(measured, q, e, unused);
        return e[i];
      };
      CHECK(D[3 * i + j] ==
            doctest::Approx((moved(h) - moved(-h)) / (2 * h)).epsilon(1e-7).scale(1));
    }
  }
}

}  // namespace cycloid::measured_test
