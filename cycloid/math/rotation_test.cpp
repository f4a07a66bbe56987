#include "cycloid/math/rotation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using std::numbers::pi;
using test::Numbers;

constexpr Vec3<double> kAxis{0.6, -0.64, 0.48};  // of length one

// Angles of every mode: zero, tiny, small, ordinary, both sides of the splits of rotation_series.h
// (θ = 2 for θ², θ = 4 for θ²/4), near π.
const std::vector<double> kAngles = {0,   1e-9,       1e-4,       0.02, 0.7,
                                     1.5, 2.0 - 1e-9, 2.0 + 1e-9, 3.1,  pi - 1e-6};
const std::vector<double> kBeyondPi = {3.5, 4.0 - 1e-9, 4.0 + 1e-9, 5.5};

std::vector<Numbers> rotation_vectors(const std::vector<double>& angles, const Numbers& rest) {
  std::vector<Numbers> points;
  for (const double a : angles) {
    Numbers n{a * kAxis.x, a * kAxis.y, a * kAxis.z};
    n.insert(n.end(), rest.begin(), rest.end());
    points.push_back(n);
  }
  return points;
}

std::vector<double> all_angles() {
  std::vector<double> a = kAngles;
  a.insert(a.end(), kBeyondPi.begin(), kBeyondPi.end());
  return a;
}

double distance(const Vec3<double>& a, const Vec3<double>& b) { return norm(a - b); }

template <class S>
Vec3<S> constant(const Vec3<double>& v) {
  return {S(v.x), S(v.y), S(v.z)};
}

// The operators as functions of flat arrays.
const auto exp_of = [](const auto* in, auto* out) { store(out, quaternion_exp(load_vec3(in))); };
const auto exp_back = [](const auto* in, const auto* out_bar, auto* in_bar) {
  auto phi_bar = load_vec3(in_bar);
  quaternion_exp_pullback(load_vec3(in), load_quat(out_bar), phi_bar);
  store(in_bar, phi_bar);
};
const auto log_of = [](const auto* in, auto* out) { store(out, quaternion_log(load_quat(in))); };
const auto log_back = [](const auto* in, const auto* out_bar, auto* in_bar) {
  const auto q = load_quat(in);
  auto q_bar = load_quat(in_bar);
  quaternion_log_pullback(q, quaternion_log(q), load_vec3(out_bar), q_bar);
  store(in_bar, q_bar);
};
const auto jacobian_of = [](const auto* in, auto* out) {
  store(out, right_jacobian_apply(load_vec3(in), load_vec3(in + 3)));
};
const auto jacobian_back = [](const auto* in, const auto* out_bar, auto* in_bar) {
  auto phi_bar = load_vec3(in_bar), v_bar = load_vec3(in_bar + 3);
  right_jacobian_apply_pullback(load_vec3(in), load_vec3(in + 3), load_vec3(out_bar), phi_bar,
                                v_bar);
  store(in_bar, phi_bar), store(in_bar + 3, v_bar);
};
const auto inverse_of = [](const auto* in, auto* out) {
  store(out, right_jacobian_inverse_apply(load_vec3(in), load_vec3(in + 3)));
};
const auto inverse_back = [](const auto* in, const auto* out_bar, auto* in_bar) {
  auto phi_bar = load_vec3(in_bar), v_bar = load_vec3(in_bar + 3);
  right_jacobian_inverse_apply_pullback(load_vec3(in), load_vec3(in + 3), load_vec3(out_bar),
                                        phi_bar, v_bar);
  store(in_bar, phi_bar), store(in_bar + 3, v_bar);
};

// exp(a) ⊕ δ, with a ⊕ written out: the cotangent passes from ambient to tangent, through retract,
// and from the tangent of exp(a) to a.
const auto retract_of = [](const auto* in, auto* out) {
  store(out, retract(quaternion_exp(load_vec3(in)), load_vec3(in + 3)));
};
const auto retract_back = []<class S>(const S* in, const S* out_bar, S* in_bar) {
  const Vec3<S> a = load_vec3(in), delta = load_vec3(in + 3);
  const Quat<S> q = quaternion_exp(a);
  Vec3<S> q_bar{}, delta_bar{};
  retract_tangent_pullback(q, delta,
                           tangent_from_ambient_cotangent(retract(q, delta), load_quat(out_bar)),
                           q_bar, delta_bar);
  add_to(in_bar, right_jacobian_apply(-a, q_bar));
  add_to(in_bar + 3, delta_bar);
};
const auto difference_of = [](const auto* in, auto* out) {
  store(out, difference(quaternion_exp(load_vec3(in)), quaternion_exp(load_vec3(in + 3))));
};
const auto difference_back = []<class S>(const S* in, const S* out_bar, S* in_bar) {
  const Vec3<S> a = load_vec3(in), b = load_vec3(in + 3);
  Vec3<S> a_bar{}, b_bar{};
  difference_tangent_pullback(difference(quaternion_exp(a), quaternion_exp(b)), load_vec3(out_bar),
                              a_bar, b_bar);
  add_to(in_bar, right_jacobian_apply(-a, a_bar));
  add_to(in_bar + 3, right_jacobian_apply(-b, b_bar));
};

}  // namespace

TEST_CASE("quaternion_exp: turns about an axis by the angle, with unit length") {
  for (const double a : all_angles()) {
    const Quat<double> q = quaternion_exp(kAxis * a);
    CHECK(std::abs(q.w - std::cos(a / 2)) < 4e-16);
    CHECK(distance(vector_part(q), kAxis * std::sin(a / 2)) < 4e-16);
    CHECK(std::abs(dot(q, q) - 1) < 1e-15);
  }
  const Vec3<double> y = rotate(quaternion_exp(Vec3<double>{0, 0, pi / 2}), Vec3<double>{1, 0, 0});
  CHECK(distance(y, {0, 1, 0}) < 4e-16);
}

TEST_CASE("quaternion_log: inverts exp below π, goes the shortest way above, ignores the sign") {
  for (const double a : kAngles) {
    // Relative accuracy at every size of the angle: exp and log round about ten numbers.
    const double tolerance = 1e-15 * a;
    const Quat<double> q = quaternion_exp(kAxis * a);
    CHECK(distance(quaternion_log(q), kAxis * a) <= tolerance);
    CHECK(distance(quaternion_log(q * -1.0), kAxis * a) <= tolerance);
    CHECK(distance(quaternion_log(q * 3.0), kAxis * a) <= tolerance);
  }
  for (const double a : kBeyondPi) {
    CHECK(distance(quaternion_log(quaternion_exp(kAxis * a)), kAxis * (a - 2 * pi)) < 4e-15);
  }
  CHECK(quaternion_log(Quat<double>{0, 0, 1, 0}).y == doctest::Approx(pi).epsilon(4e-16));
  CHECK(quaternion_log(Quat<double>{-1e-300, 0, 1, 0}).y == doctest::Approx(-pi).epsilon(4e-16));
  CHECK(quaternion_log(Quat<double>{-0.0, 0, 1, 0}).y == doctest::Approx(pi).epsilon(4e-16));
}

TEST_CASE("retract, difference: one undoes the other, and a million steps keep the length") {
  const Quat<double> a = normalise(Quat<double>{0.2, -0.5, 0.7, 0.4});
  for (const double angle : kAngles) {
    const Vec3<double> delta = kAxis * angle;
    CHECK(distance(difference(a, retract(a, delta)), delta) < 2e-15);
  }
  Quat<double> q = a;
  const Vec3<double> delta = kAxis * 0.01;
  for (int k = 0; k < 1'000'000; ++k) q = retract(q, delta);
  // The length gathers the same rounding of exp(δ) a million times: below ε each, measured 5e-12.
  CHECK(std::abs(dot(q, q) - 1) < 5e-11);
  // 10⁴ rad about one axis, in one piece: measured 4e-13, a random walk of roundings.
  const Quat<double> once = retract(a, kAxis * std::remainder(1e4, 2 * pi));
  CHECK(norm(difference(once, q)) < 1e-11);
}

TEST_CASE("right Jacobian: its inverse inverts it, and it is the derivative of exp") {
  const Vec3<double> v{0.3, -1.1, 0.7};
  for (const double a : all_angles()) {
    const Vec3<double> phi = kAxis * a;
    CHECK(distance(right_jacobian_inverse_apply(phi, right_jacobian_apply(phi, v)), v) < 1e-14);
    // exp(φ + ε v) = exp(φ) ⊗ exp(ε J_r v), at first order in ε.
    using D = Dual<double, 1>;
    Vec3<D> moved = constant<D>(phi);
    for (int i = 0; i < 3; ++i) moved[i].tangent[0] = v[i];
    const Quat<D> step = conjugate(quaternion_exp(constant<D>(phi))) * quaternion_exp(moved);
    const Vec3<double> rate{2 * step.x.tangent[0], 2 * step.y.tangent[0], 2 * step.z.tangent[0]};
    CHECK(distance(rate, right_jacobian_apply(phi, v)) < 4e-15);
  }
}

TEST_CASE("right Jacobian: agrees with the printed closed forms away from zero") {
  const Vec3<double> v{0.3, -1.1, 0.7};
  for (const double a : {0.7, 1.5, 2.5, 3.1, 4.5, 5.5}) {
    const Vec3<double> phi = kAxis * a, p = cross(phi, v), pp = cross(phi, p);
    const double kappa = (1 - a / 2 / std::tan(a / 2)) / (a * a);
    CHECK(distance(right_jacobian_apply(phi, v),
                   v - p * ((1 - std::cos(a)) / (a * a)) + pp * ((a - std::sin(a)) / (a * a * a))) <
          3e-15);
    CHECK(distance(right_jacobian_inverse_apply(phi, v), v + p * 0.5 + pp * kappa) < 2e-14);
  }
}

TEST_CASE("quaternion_exp: pullback equals dual numbers at zero, small and large rotation") {
  test::check_pullback("quaternion_exp", 4, exp_of, exp_back, rotation_vectors(all_angles(), {}),
                       {.tolerance = 1e-13});
}

TEST_CASE("quaternion_log: pullback equals dual numbers, with w < 0 and any length") {
  std::vector<Numbers> points;
  for (const double a : all_angles()) {
    for (const double scale : {1.0, -2.5}) {
      const Quat<double> q = quaternion_exp(kAxis * a) * scale;
      points.push_back({q.w, q.x, q.y, q.z});
    }
  }
  test::check_pullback("quaternion_log", 3, log_of, log_back, points, {.tolerance = 1e-13});
}

TEST_CASE("right_jacobian_apply, its inverse: pullbacks equal dual numbers in every mode") {
  const auto points = rotation_vectors(all_angles(), {0.3, -1.1, 0.7});
  test::check_pullback("right_jacobian_apply", 3, jacobian_of, jacobian_back, points,
                       {.tolerance = 1e-13});
  test::check_pullback("right_jacobian_inverse_apply", 3, inverse_of, inverse_back, points,
                       {.tolerance = 1e-13});
}

TEST_CASE("retract: tangent pullback equals dual numbers in every mode") {
  std::vector<Numbers> points;
  for (const double a : all_angles()) {
    points.push_back({0.4, -0.9, 1.3, a * kAxis.x, a * kAxis.y, a * kAxis.z});
  }
  test::check_pullback("retract_tangent", 4, retract_of, retract_back, points,
                       {.tolerance = 1e-13});
}

TEST_CASE("difference: tangent pullback equals dual numbers for equal, near and far rotations") {
  std::vector<Numbers> points;
  const Vec3<double> a{0.4, -0.9, 1.3};
  for (const double angle : kAngles) {
    const Vec3<double> b = quaternion_log(retract(quaternion_exp(a), kAxis * angle));
    points.push_back({a.x, a.y, a.z, b.x, b.y, b.z});
  }
  points.push_back({0, 0, 0, 0, 0, 0});
  test::check_pullback("difference_tangent", 3, difference_of, difference_back, points,
                       {.tolerance = 1e-13});
}

TEST_CASE("retract, difference: from tangent to tangent, without coordinates") {
  // in: a displacement of q0 and δ; out: the displacement of the result from its own primal value.
  const auto f = []<class S>(const S* in, S* out) {
    const Quat<S> q0{S(0.5), S(-0.1), S(0.7), S(0.5)};  // of length one
    const Quat<S> r = retract(retract(q0, load_vec3(in)), load_vec3(in + 3));
    const Quat<S> r0{S(primal(r.w)), S(primal(r.x)), S(primal(r.y)), S(primal(r.z))};
    store(out, difference(r0, r));
  };
  const auto back = []<class S>(const S* in, const S* out_bar, S* in_bar) {
    Vec3<S> q_bar{}, delta_bar{};
    retract_tangent_pullback(identity_quaternion<S>(), load_vec3(in + 3), load_vec3(out_bar), q_bar,
                             delta_bar);
    add_to(in_bar, q_bar), add_to(in_bar + 3, delta_bar);
  };
  std::vector<Numbers> points;
  for (const double a : kAngles) points.push_back({0, 0, 0, a * kAxis.x, a * kAxis.y, a * kAxis.z});
  test::check_pullback("retract_tangent", 3, f, back, points, {.tolerance = 1e-13});
}

TEST_CASE("rotations: derivatives of the pullbacks equal nested duals, smooth at zero rotation") {
  // Second derivatives of the closed forms beyond the split lose three digits to division by θ⁴.
  const test::PullbackOptions options{.tolerance = 1e-12};
  const std::vector<double> angles = {0, 1e-9, 1e-4, 0.7, 2.0 + 1e-9, 3.1};
  test::check_pullback_derivative("quaternion_exp", 4, exp_of, exp_back,
                                  rotation_vectors(angles, {}), options);
  test::check_pullback_derivative("right_jacobian_inverse_apply", 3, inverse_of, inverse_back,
                                  rotation_vectors(angles, {0.3, -1.1, 0.7}), options);
  std::vector<Numbers> points;
  for (const double a : angles) {
    const Quat<double> q = quaternion_exp(kAxis * a);
    points.push_back({q.w, q.x, q.y, q.z});
  }
  test::check_pullback_derivative("quaternion_log", 3, log_of, log_back, points, options);
}

TEST_CASE("rotations: float keeps its digits through zero, the splits and π") {
  // Reference: double from the same float numbers. Errors in units of float's epsilon, relative to
  // the size of the result, the worst of each function.
  double worst_exp = 0, worst_log = 0, worst_jacobian = 0, worst_inverse = 0, worst_pullback = 0;
  const Vec3<float> v{0.3f, -1.1f, 0.7f}, c{0.9f, 0.2f, -0.5f};
  const auto error = [](const Vec3<float>& actual, const Vec3<double>& exact) {
    const Vec3<double> a{actual.x, actual.y, actual.z};
    return norm(a - exact) / std::max(norm(exact), 1e-30) /
           double(std::numeric_limits<float>::epsilon());
  };
  for (int i = 0; i <= 3000; ++i) {
    const float a = i < 30 ? std::pow(10.0f, -float(i) / 3) : 5.5f * float(i) / 3000;
    const Vec3<float> phi{0.6f * a, -0.64f * a, 0.48f * a};
    const Vec3<double> phi_d{phi.x, phi.y, phi.z}, v_d{v.x, v.y, v.z}, c_d{c.x, c.y, c.z};
    const Quat<float> q = quaternion_exp(phi);
    const Quat<double> q_d{q.w, q.x, q.y, q.z};
    worst_exp = std::max(worst_exp, error(vector_part(q), vector_part(quaternion_exp(phi_d))));
    worst_log = std::max(worst_log, error(quaternion_log(q), quaternion_log(q_d)));
    worst_jacobian = std::max(
        worst_jacobian, error(right_jacobian_apply(phi, v), right_jacobian_apply(phi_d, v_d)));
    worst_inverse = std::max(worst_inverse, error(right_jacobian_inverse_apply(phi, v),
                                                  right_jacobian_inverse_apply(phi_d, v_d)));
    Vec3<float> phi_bar{}, v_bar{};
    Vec3<double> phi_bar_d{}, v_bar_d{};
    right_jacobian_inverse_apply_pullback(phi, v, c, phi_bar, v_bar);
    right_jacobian_inverse_apply_pullback(phi_d, v_d, c_d, phi_bar_d, v_bar_d);
    worst_pullback = std::max(worst_pullback, error(phi_bar, phi_bar_d));
  }
  CHECK(worst_exp < 6);        // measured 4.3, near θ = 5.5, where sin(θ/2) turns back to zero
  CHECK(worst_log < 3);        // 2.0
  CHECK(worst_jacobian < 2);   // 1.2
  CHECK(worst_inverse < 7);    // 4.6, towards the pole at 2π
  CHECK(worst_pullback < 10);  // 6.9, likewise
}

}  // namespace cycloid
