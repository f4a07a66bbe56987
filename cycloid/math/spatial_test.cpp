#include "cycloid/math/spatial.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

constexpr double kRounding = 1e-14;  // sums of a dozen products of numbers below 10

template <class S>
Motion<S> load_motion(const S* p) {
  return {load_vec3(p), load_vec3(p + 3)};
}
template <class S>
Force<S> load_force(const S* p) {
  return {load_vec3(p), load_vec3(p + 3)};
}
template <class S>
void store(S* p, const Motion<S>& y) {
  store(p, y.angular), store(p + 3, y.linear);
}
template <class S>
void store(S* p, const Force<S>& w) {
  store(p, w.torque), store(p + 3, w.force);
}
template <class S>
SpatialInertia<S> load_inertia(const S* p) {
  return {p[0], load_vec3(p + 1), {p[4], p[5], p[6], p[7], p[8], p[9]}};
}
template <class S>
void store(S* p, const SpatialInertia<S>& i) {
  p[0] = i.mass, store(p + 1, i.com);
  p[4] = i.inertia.xx, p[5] = i.inertia.yy, p[6] = i.inertia.zz;
  p[7] = i.inertia.xy, p[8] = i.inertia.xz, p[9] = i.inertia.yz;
}

const Motion<double> kMotionA{{0.3, -1.2, 0.8}, {2.0, 0.4, -0.7}};
const Motion<double> kMotionB{{-0.5, 0.9, 1.1}, {0.2, -1.4, 0.6}};
const Force<double> kForce{{1.3, -0.2, 0.5}, {-0.9, 2.1, 0.4}};

double size(const Vec3<double>& v) { return std::sqrt(dot(v, v)); }

std::vector<Numbers> points(std::size_t n) {
  test::FixedNumbers random(n);
  return {random.vector(n), random.vector(n), random.vector(n)};
}

}  // namespace

TEST_CASE("spatial: a body that spins about an axis through p stands still at p") {
  const Vec3<double> p{1, 2, -0.5}, axis{0, 0, 3};
  const Motion<double> y{axis, cross(p, axis)};  // hinge: (e; p × e)
  CHECK(size(field_at(y, p)) == 0);
  const Vec3<double> v = field_at(y, p + Vec3<double>{1, 0, 0});
  CHECK(v.y == 3);
}

TEST_CASE("spatial: a wrench's power is force times velocity at its point plus couple times spin") {
  const Vec3<double> f{0.4, -1.0, 2.0}, x{1.5, 0.3, -0.8}, n{0.2, 0.1, -0.6};
  const double expected = dot(f, field_at(kMotionA, x)) + dot(n, kMotionA.angular);
  CHECK(power(wrench(f, x, n), kMotionA) == doctest::Approx(expected).epsilon(kRounding));
}

TEST_CASE("spatial: motion crosses are antisymmetric and obey Jacobi, force crosses are dual") {
  const Motion<double> ab = cross_motion(kMotionA, kMotionB), ba = cross_motion(kMotionB, kMotionA);
  CHECK(size(ab.linear + ba.linear) < kRounding);
  const Motion<double> c{{0.7, 0.2, -0.3}, {-1, 0.5, 0.8}};
  const Motion<double> jacobi = cross_motion(kMotionA, cross_motion(kMotionB, c)) +
                                cross_motion(kMotionB, cross_motion(c, kMotionA)) +
                                cross_motion(c, ab);
  CHECK(size(jacobi.angular) < kRounding);
  CHECK(size(jacobi.linear) < kRounding);
  CHECK(power(cross_force(kMotionA, kForce), kMotionB) ==
        doctest::Approx(-power(kForce, ab)).epsilon(kRounding));
  CHECK(power(kForce, ab) ==
        doctest::Approx(power(cross_force(kMotionB, kForce), kMotionA)).epsilon(kRounding));
}

TEST_CASE("spatial: momentum and kinetic energy of a point mass and of a spinning body") {
  const SpatialInertia<double> point{2.0, {1, 2, 3}, {}};
  const Force<double> h = inertia_apply(point, kMotionA);
  const Vec3<double> momentum = field_at(kMotionA, point.com) * 2.0;
  CHECK(size(h.force - momentum) < kRounding);
  CHECK(size(h.torque - cross(point.com, momentum)) < kRounding);
  // A principal axis of a body at the origin: energy ½ J ω².
  const SpatialInertia<double> top{5.0, {}, {0.3, 0.4, 0.6, 0, 0, 0}};
  const Motion<double> spin{{0, 0, 7}, {}};
  CHECK(0.5 * power(inertia_apply(top, spin), spin) == doctest::Approx(0.5 * 0.6 * 49));
}

TEST_CASE("spatial: inertia is symmetric, and a common shift of origin changes no power") {
  const SpatialInertia<double> body{2.0, {1, -0.5, 0.3}, {0.3, 0.4, 0.6, 0.05, -0.02, 0.1}};
  CHECK(power(inertia_apply(body, kMotionA), kMotionB) ==
        doctest::Approx(power(inertia_apply(body, kMotionB), kMotionA)).epsilon(kRounding));
  const Vec3<double> o{0.7, -2, 1.1};  // the new origin
  const auto shift = [&](const Motion<double>& y) {
    return Motion<double>{y.angular, field_at(y, o)};
  };
  SpatialInertia<double> moved = body;
  moved.com -= o;
  CHECK(power(inertia_apply(moved, shift(kMotionA)), shift(kMotionB)) ==
        doctest::Approx(power(inertia_apply(body, kMotionA), kMotionB)).epsilon(kRounding));
}

TEST_CASE("spatial operators: pullbacks equal dual numbers, cotangents of motions are forces") {
  test::check_pullback(
      "field_at", 3,
      [](const auto* in, auto* out) { store(out, field_at(load_motion(in), load_vec3(in + 6))); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto y_bar = load_force(in_bar);
        auto x_bar = load_vec3(in_bar + 6);
        field_at_pullback(load_motion(in), load_vec3(in + 6), load_vec3(out_bar), y_bar, x_bar);
        store(in_bar, y_bar), store(in_bar + 6, x_bar);
      },
      points(9));
  test::check_pullback(
      "wrench", 6,
      [](const auto* in, auto* out) {
        store(out, wrench(load_vec3(in), load_vec3(in + 3), load_vec3(in + 6)));
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto f_bar = load_vec3(in_bar), x_bar = load_vec3(in_bar + 3);
        auto n_bar = load_vec3(in_bar + 6);
        wrench_pullback(load_vec3(in), load_vec3(in + 3), load_motion(out_bar), f_bar, x_bar,
                        n_bar);
        store(in_bar, f_bar), store(in_bar + 3, x_bar), store(in_bar + 6, n_bar);
      },
      points(9));
  test::check_pullback(
      "cross_motion", 6,
      [](const auto* in, auto* out) {
        store(out, cross_motion(load_motion(in), load_motion(in + 6)));
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto a_bar = load_force(in_bar), b_bar = load_force(in_bar + 6);
        cross_motion_pullback(load_motion(in), load_motion(in + 6), load_force(out_bar), a_bar,
                              b_bar);
        store(in_bar, a_bar), store(in_bar + 6, b_bar);
      },
      points(12));
  test::check_pullback(
      "cross_force", 6,
      [](const auto* in, auto* out) {
        store(out, cross_force(load_motion(in), load_force(in + 6)));
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto a_bar = load_force(in_bar);
        auto f_bar = load_motion(in_bar + 6);
        cross_force_pullback(load_motion(in), load_force(in + 6), load_motion(out_bar), a_bar,
                             f_bar);
        store(in_bar, a_bar), store(in_bar + 6, f_bar);
      },
      points(12));
  test::check_pullback(
      "power", 1,
      [](const auto* in, auto* out) { out[0] = power(load_force(in), load_motion(in + 6)); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto w_bar = load_motion(in_bar);
        auto y_bar = load_force(in_bar + 6);
        power_pullback(load_force(in), load_motion(in + 6), out_bar[0], w_bar, y_bar);
        store(in_bar, w_bar), store(in_bar + 6, y_bar);
      },
      points(12));
}

TEST_CASE("inertia_apply: pullback to mass, com, inertia and motion equals dual numbers") {
  auto at = points(16);
  at.push_back(Numbers(16, 0.0));  // a point mass at rest at the origin, beside the others
  at.back()[0] = 1;
  test::check_pullback(
      "inertia_apply", 6,
      [](const auto* in, auto* out) {
        store(out, inertia_apply(load_inertia(in), load_motion(in + 10)));
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto i_bar = load_inertia(in_bar);
        auto y_bar = load_force(in_bar + 10);
        inertia_apply_pullback(load_inertia(in), load_motion(in + 10), load_motion(out_bar), i_bar,
                               y_bar);
        store(in_bar, i_bar), store(in_bar + 10, y_bar);
      },
      at);
}

}  // namespace cycloid
