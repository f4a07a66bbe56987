#include "cycloid/system/laws/bead_on_curve.h"

#include <cmath>

#include "cycloid/system/integrator/rk4.h"
#include "tests/support/law_steps.h"

namespace cycloid::bead_on_curve_test {

using test::Numbers;

constexpr double kWidth = 2, kGravity = 9.81;

// Parameters of a curve whose height is a function of s.
template <class Height>
Numbers curve(int n, Height height) {
  Numbers p;
  for (int i = 0; i < n; ++i) p.push_back(height(static_cast<double>(i) / (n - 1)));
  p.insert(p.end(), {kWidth, kGravity});
  return p;
}

double s_dot(const BeadOnCurve& law, double s, const Numbers& p) {
  return test::x_dot_of(law, {s}, {}, p)[0];
}

TEST_CASE("BeadOnCurve: on a straight slide the descent is uniformly accelerated, from the start") {
  // y = 1 - x/w = 1 - s², which the spline meets but for its natural end; t = √(2 (w² + 1)/g) s.
  const BeadOnCurve law{40};
  const Numbers p = curve(40, [](double s) { return 1 - s * s; });
  const double rate = std::sqrt(kGravity / (2 * (kWidth * kWidth + 1)));
  for (const double s : {0.0, 0.01, 0.3, 0.5}) {
    CHECK(s_dot(law, s, p) == doctest::Approx(rate).epsilon(1e-6));
  }
}

TEST_CASE("BeadOnCurve: the spline goes through its heights, and is smooth there") {
  const BeadOnCurve law{7};
  const Numbers p = curve(7, [](double s) { return std::cos(2 * s) + 0.3 * s; });
  for (int i = 0; i < 7; ++i) {
    const double s = i / 6.0;
    CHECK(law.point(s, p.data())[0] == doctest::Approx(kWidth * s * s));
    CHECK(law.point(s, p.data())[1] == doctest::Approx(p[static_cast<std::size_t>(i)]));
    if (i == 0 || i == 6) continue;
    CHECK(s_dot(law, s - 1e-9, p) == doctest::Approx(s_dot(law, s + 1e-9, p)).epsilon(1e-7));
  }
}

TEST_CASE("BeadOnCurve: a bead below a rise above its start stands still") {
  const BeadOnCurve law{5};
  CHECK(s_dot(law, 0.5, curve(5, [](double s) { return 1 + s * s; })) == 0);
}

TEST_CASE("BeadOnCurve: slides down a cycloid in its time, φ √(r/g)") {
  // r (φ - sin φ) = w, r (1 - cos φ) = 1.
  const int n = 60;
  double low = 0.1, high = 6;
  for (int i = 0; i < 100; ++i) {
    const double phi = (low + high) / 2;
    ((phi - std::sin(phi)) / (1 - std::cos(phi)) < kWidth ? low : high) = phi;
  }
  const double end = low, r = 1 / (1 - std::cos(end));
  const BeadOnCurve law{n};
  const Numbers p = curve(n, [&](double s) {
    double a = 0, b = end;
    for (int i = 0; i < 100; ++i) {
      const double phi = (a + b) / 2;
      (r * (phi - std::sin(phi)) < kWidth * s * s ? a : b) = phi;
    }
    return 1 - r * (1 - std::cos(a));
  });
  const double exact = end * std::sqrt(r / kGravity);
  const Numbers there = test::take_steps<Rk4>(law, {0.0}, {}, p, 0, exact, 400);
  CHECK(there[0] == doctest::Approx(1).epsilon(2e-4));  // the spline's error where it is vertical
}

TEST_CASE(
    "BeadOnCurve::x_dot: pullback equals dual numbers, in every interval and before the first") {
  const BeadOnCurve law{5};
  const Numbers p = curve(5, [](double s) { return 1 - s * s - 0.4 * s * s * (1 - s); });
  std::vector<Numbers> points;
  for (const double s : {0.0, 0.1, 0.3, 0.6, 0.9, 1.1, -0.05}) {
    Numbers point = {0, s};
    point.insert(point.end(), p.begin(), p.end());
    points.push_back(point);
  }
  test::check_law_pullback("BeadOnCurve::x_dot", law, points);
}

TEST_CASE("BeadOnCurve::events: arrival at s = 1, and its pullback") {
  test::check_pullback(
      "BeadOnCurve::events", 1,
      [](const auto* in, auto* out) { BeadOnCurve{}.events(in[0], in, in, in, out); },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        S t_bar(0);
        BeadOnCurve{}.events_pullback(in[0], in, in, in, out_bar, t_bar, in_bar, in_bar, in_bar);
      },
      {{0.3}, {1.0}});
}

TEST_CASE("BeadOnCurve::admit: on the curve") {
  const auto admit = [&](double s) {
    const std::string why = BeadOnCurve{5}.admit(nullptr, 1e-13, &s);
    return std::pair{why, s};
  };
  CHECK(admit(0) == std::pair{std::string(), 0.0});
  CHECK(admit(-1e-6) == std::pair{std::string(), -1e-6});
  CHECK(admit(1) == std::pair{std::string(), 1.0});
  CHECK(admit(1 + 1e-15) == std::pair{std::string(), 1.0});
  CHECK(admit(1.5).first.find("1.5, beyond the end") != std::string::npos);
  CHECK(admit(-0.1).first.find("before the beginning") != std::string::npos);
}

}  // namespace cycloid::bead_on_curve_test
