#include "cycloid/rigid/force/ellipsoid_law.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid::ellipsoid_law_test {

using test::Numbers;

// [r (3), k, five coefficients, masses, moments, density, viscosity | ω, u].
template <class S>
Ellipsoid<S> ellipsoid_of(const S* in) {
  return {load_vec3(in),      in[3],  in[4], in[5], in[6], in[7], in[8], load_vec3(in + 9),
          load_vec3(in + 12), in[15], in[16]};
}
template <class S>
LocalPair<S> motion_of(const S* in) {
  return {load_vec3(in + 17), load_vec3(in + 20)};
}

const Numbers kPoint = {0.1,  0.2,  0.05, 1,   0.4, 0.3, 1.2,  0.9, 1.1, 3e-3, 1e-3, 8e-3,
                        2e-5, 3e-5, 1e-5, 100, 0.3, 0.7, -1.1, 0.4, 0.8, -0.5, 1.3};

void check(const std::vector<Numbers>& points) {
  const auto value = [](const auto* in, auto* out) {
    const auto W = ellipsoid_law(ellipsoid_of(in), motion_of(in));
    store(out, W.turning);
    store(out + 3, W.moving);
  };
  const auto pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    Ellipsoid<S> g_bar{};
    LocalPair<S> v_bar{};
    ellipsoid_law_pullback(ellipsoid_of(in), motion_of(in),
                           LocalPair<S>{load_vec3(out_bar), load_vec3(out_bar + 3)}, g_bar, v_bar);
    add_to(in_bar, g_bar.r);
    const S of[] = {g_bar.k, g_bar.blunt, g_bar.slender, g_bar.angular, g_bar.kutta, g_bar.magnus};
    for (int i = 0; i < 6; ++i) in_bar[3 + i] += of[i];
    add_to(in_bar + 9, g_bar.mass);
    add_to(in_bar + 12, g_bar.inertia);
    in_bar[15] += g_bar.density;
    in_bar[16] += g_bar.viscosity;
    add_to(in_bar + 17, v_bar.turning);
    add_to(in_bar + 20, v_bar.moving);
  };
  const bool passed = test::check_pullback("ellipsoid_law", 6, value, pullback, points);
  if (!passed) return;
  test::mark_operator_tested("ellipsoid_shape");
  test::mark_operator_tested("ellipsoid_flow");
}

TEST_CASE("ellipsoid_law: pullback equals dual numbers whichever half-axis is the longest") {
  std::vector<Numbers> points;
  const double r[][3] = {{0.1, 0.2, 0.05}, {0.2, 0.1, 0.05}, {0.05, 0.1, 0.2},
                         {0.05, 0.2, 0.1}, {0.2, 0.05, 0.1}, {0.1, 0.05, 0.2}};
  for (const auto& size : r) {
    points.push_back(kPoint);
    for (std::size_t i = 0; i < 3; ++i) points.back()[i] = size[i];
  }
  check(points);
}

TEST_CASE("ellipsoid_law: ... at rest, slow, and where the medium is left out") {
  Numbers rest = kPoint, slow = kPoint, still_air = kPoint;
  for (std::size_t i = 17; i < 23; ++i) rest[i] = 0, slow[i] *= 1e-4;
  still_air[15] = still_air[16] = 0;
  check({rest, slow, still_air});
}

TEST_CASE("ellipsoid_law: a ball feels Stokes' drag, that of its disc, and Magnus' force") {
  Numbers in = kPoint;
  const double r = 0.1, rho = 100, beta = 0.3, pi = 3.14159265358979323846;
  in[0] = in[1] = in[2] = r;
  for (std::size_t i = 9; i < 15; ++i) in[i] = 0;  // no virtual mass
  const Vec3<double> w{0.7, -1.1, 0.4}, u{0.8, -0.5, 1.3};
  const auto W = ellipsoid_law(ellipsoid_of(in.data()), motion_of(in.data()));
  const double drag = 6 * pi * r * beta + rho * norm(u) * 0.4 * pi * r * r;
  const Vec3<double> f = cross(w, u) * (1.1 * rho * 4 * pi / 3 * r * r * r) - u * drag;
  CHECK(norm(W.moving - f) < 1e-13 * norm(f));
  const double I = 8 * pi / 15 * r * r * r * r * r;
  const Vec3<double> n = w * -(8 * pi * r * r * r * beta + rho * 1.2 * I * norm(w));
  CHECK(norm(W.turning - n) < 1e-13 * norm(n));
}

TEST_CASE("ellipsoid_law: without viscosity it knows no scale, small and slow geoms included") {
  Numbers in = kPoint;
  in[16] = 0;
  const auto W = ellipsoid_law(ellipsoid_of(in.data()), motion_of(in.data()));
  for (const double size : {1e-2, 1e-4}) {
    for (const double speed : {1.0, 1e-3, 1e-8}) {
      Numbers small = in;
      const double cube = size * size * size, area = size * size;
      for (std::size_t i = 0; i < 3; ++i) {
        small[i] *= size;
        small[9 + i] *= cube;
        small[12 + i] *= cube * area;
        small[17 + i] *= speed / size;
        small[20 + i] *= speed;
      }
      const auto w = ellipsoid_law(ellipsoid_of(small.data()), motion_of(small.data()));
      const double unit = area * speed * speed;
      CHECK(norm(w.moving * (1 / unit) - W.moving) < 1e-12 * norm(W.moving));
      CHECK(norm(w.turning * (1 / (unit * size)) - W.turning) < 1e-12 * norm(W.turning));
    }
  }
}

}  // namespace cycloid::ellipsoid_law_test
