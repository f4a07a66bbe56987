#include "cycloid/system/integrator/interpolation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid::interpolation_test {

using test::Numbers;

// A place, an attitude, a hinge and a speed: 9 coordinates, 8 tangents.
Space mixed() {
  return Space({{"place", 2, "m"},
                {"attitude", 4, "1", BlockKind::quaternion},
                {"hinge", 1, "rad"},
                {"speed", 2, "m/s"}});
}

// A state from 8 numbers, the attitude by its rotation vector.
template <class S>
void make_state(const S* in, S* x) {
  for (int i = 0; i < 2; ++i) x[i] = in[i];
  store(x + 2, quaternion_exp(load_vec3(in + 2)));
  for (int i = 5; i < 8; ++i) x[i + 1] = in[i];
}
template <class S>
void make_state_pullback(const S* in, const S* x_bar, S* in_bar) {
  for (int i = 0; i < 2; ++i) in_bar[i] += x_bar[i];
  add_to(in_bar + 2, right_jacobian_apply(-load_vec3(in + 2), load_vec3(x_bar + 2)));
  for (int i = 5; i < 8; ++i) in_bar[i] += x_bar[i];
}

// Of 8 numbers of x, 8 of x⁺, and θ.
const auto path = []<class S>(const S* in, S* y) {
  S x[9], x_next[9];
  make_state(in, x);
  make_state(in + 8, x_next);
  interpolate(mixed(), 1, x, x_next, in[16], y);
};
const auto path_back = []<class S>(const S* in, const S* y_bar, S* in_bar) {
  S x[9], x_next[9], y[9], own_bar[8], x_bar[8], x_next_bar[8];
  make_state(in, x);
  make_state(in + 8, x_next);
  interpolate(mixed(), 1, x, x_next, in[16], y);
  for (int i = 0; i < 8; ++i) x_bar[i] = x_next_bar[i] = own_bar[i] = S(0);
  for (int i = 0; i < 2; ++i) own_bar[i] = y_bar[i];
  store(own_bar + 2, tangent_from_ambient_cotangent(load_quat(y + 2), load_quat(y_bar + 2)));
  for (int i = 5; i < 8; ++i) own_bar[i] = y_bar[i + 1];
  interpolate_pullback(mixed(), 1, x, x_next, in[16], own_bar, x_bar, x_next_bar, in_bar + 16);
  make_state_pullback(in, x_bar, in_bar);
  make_state_pullback(in + 8, x_next_bar, in_bar + 8);
};

// From an attitude to one that is `angle` away.
Numbers point(double angle, double theta) {
  Numbers in{0.3, -2.0, 0.4, -0.7, 0.2, 1.5, 0.1, -3.0};
  const Vec3<double> axis{0.6, -0.64, 0.48};
  const Vec3<double> end = quaternion_log(retract(quaternion_exp(load_vec3(&in[2])), axis * angle));
  in.insert(in.end(), {0.5, -1.9, end.x, end.y, end.z, 1.7, 0.3, 2.0, theta});
  return in;
}

Numbers state(const double* in) {
  Numbers x(9);
  make_state(in, x.data());
  return x;
}

TEST_CASE("interpolate: pullback equals dual numbers, for small turns, large ones and none") {
  std::vector<Numbers> points;
  for (const double angle : {0.0, 1e-9, 1e-3, 0.4, 1.9, 3.0}) {
    for (const double theta : {0.0, 0.3, 1.0}) points.push_back(point(angle, theta));
  }
  test::check_pullback("interpolate", 9, path, path_back, points, {.tolerance = 1e-10});
}

TEST_CASE("interpolate: the path begins and ends at its ends, and turns at a constant rate") {
  const Numbers in = point(1.2, 0), x = state(in.data()), x_next = state(in.data() + 8);
  Numbers y(9), d(8), part(8);
  mixed().difference(x.data(), x_next.data(), d.data());
  for (const double theta : {0.0, 0.25, 0.8, 1.0}) {
    interpolate(mixed(), 1, x.data(), x_next.data(), theta, y.data());
    mixed().difference(x.data(), y.data(), part.data());
    for (std::size_t i = 0; i < 8; ++i) CHECK(std::abs(part[i] - theta * d[i]) < 4e-15);
  }
}

TEST_CASE("interpolate: environments side by side are those one by one") {
  constexpr int W = 3;
  const double theta = 0.37;
  Numbers x(9 * W), x_next(x), y(x), y_bar(8 * W), x_bar(y_bar), x_next_bar(y_bar), theta_bar(W);
  test::FixedNumbers random(5);
  for (double& v : y_bar) v = random.next();
  for (int l = 0; l < W; ++l) {
    const Numbers in = point(0.5 + l, 0), a = state(in.data()), b = state(in.data() + 8);
    for (std::size_t i = 0; i < 9; ++i) x[i * W + l] = a[i], x_next[i * W + l] = b[i];
  }
  interpolate(mixed(), W, x.data(), x_next.data(), theta, y.data());
  interpolate_pullback(mixed(), W, x.data(), x_next.data(), theta, y_bar.data(), x_bar.data(),
                       x_next_bar.data(), theta_bar.data());
  for (int l = 0; l < W; ++l) {
    const Numbers in = point(0.5 + l, 0), a = state(in.data()), b = state(in.data() + 8);
    Numbers one(9), bar(8), a_bar(8), b_bar(8);
    double own_theta_bar = 0;
    for (std::size_t i = 0; i < 8; ++i) bar[i] = y_bar[i * W + l];
    interpolate(mixed(), 1, a.data(), b.data(), theta, one.data());
    interpolate_pullback(mixed(), 1, a.data(), b.data(), theta, bar.data(), a_bar.data(),
                         b_bar.data(), &own_theta_bar);
    for (std::size_t i = 0; i < 9; ++i) CHECK(std::abs(y[i * W + l] - one[i]) < 1e-15);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(std::abs(x_bar[i * W + l] - a_bar[i]) < 1e-15);
      CHECK(std::abs(x_next_bar[i * W + l] - b_bar[i]) < 1e-15);
    }
    CHECK(std::abs(theta_bar[l] - own_theta_bar) < 1e-14);
  }
}

}  // namespace cycloid::interpolation_test
