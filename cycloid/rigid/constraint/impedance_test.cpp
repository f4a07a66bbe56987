#include "cycloid/rigid/constraint/impedance.h"

#include "tests/support/pullback_check.h"

namespace cycloid::impedance_test {

using test::Numbers;

// The curve as the manual of MuJoCo words it.
double plain_impedance(const double* s, double x) {
  const auto clip = [](double v) { return std::min(0.9999, std::max(1e-4, v)); };
  const double d0 = clip(s[0]), dw = clip(s[1]), mid = clip(s[3]), p = std::max(1.0, s[4]);
  if (d0 == dw || s[2] <= 1e-15) return 0.5 * (d0 + dw);
  const double y = std::abs(x) / s[2];
  if (y >= 1) return dw;
  const double z = y <= mid ? std::pow(y, p) / std::pow(mid, p - 1)
                            : 1 - std::pow(1 - y, p) / std::pow(1 - mid, p - 1);
  return d0 + z * (dw - d0);
}

// [solimp, x]: below and above the middle, both signs, beyond the width, powers 1, 2 and 3, flat,
// held numbers.
const std::vector<Numbers> kPoints = {
    {0.8, 0.95, 0.02, 0.4, 3, 0.006},    {0.8, 0.95, 0.02, 0.4, 3, -0.013},
    {0.9, 0.95, 0.001, 0.5, 2, -0.0002}, {0.9, 0.95, 0.001, 0.5, 2, 0.0008},
    {0.9, 0.95, 0.001, 0.5, 2, -0.003},  {0.2, 0.9, 0.3, 0.6, 1, 0.1},
    {0.5, 0.5, 0.3, 0.6, 2, 0.1},        {0.3, 0.6, 0.0, 0.6, 2, 0.1},
    {0.0, 0.99, 0.01, 0.5, 2.5, 0.004},  {0.7, 1.2, 0.01, 0.5, 0.7, -0.004},
    {0.4, 0.9, 0.05, 0.5, 4, 0.0}};

// [solref, d_w, h]: standard, held at 2h, direct, mixed either way, zero.
const std::vector<Numbers> kGains = {{0.02, 1.1, 0.95, 0.002}, {0.003, 0.7, 0.9, 0.002},
                                     {-800, -30, 0.95, 0.002}, {0.05, -3, 0.9, 0.002},
                                     {-800, 0.7, 0.9, 0.015},  {0, 0, 0.9, 0.002}};

TEST_CASE("impedance: follows the curve on every piece") {
  for (const Numbers& in : kPoints) {
    CHECK(impedance(in.data(), in[5]) ==
          doctest::Approx(plain_impedance(in.data(), in[5])).epsilon(1e-14));
  }
}

TEST_CASE("ImpedanceCurve: its slope is the derivative of d, zero where d is constant") {
  using D1 = Dual<double, 1>;
  for (const Numbers& in : kPoints) {
    const std::vector<D1> solimp(in.begin(), in.begin() + 5);
    const double slope = impedance(solimp.data(), D1::variable(in[5], 0)).tangent[0];
    CHECK(ImpedanceCurve<double>(in.data(), in[5]).slope == doctest::Approx(slope).epsilon(1e-12));
  }
  CHECK(ImpedanceCurve<double>(kPoints[0].data(), 0.006).slope != 0);
  CHECK(ImpedanceCurve<double>(kPoints[4].data(), -0.003).slope == 0);
}

TEST_CASE("impedance: value and slope are continuous at the middle and at the width") {
  const double solimp[] = {0.8, 0.95, 0.02, 0.4, 3};
  for (const double border : {0.008, 0.02, -0.008, -0.02}) {
    const ImpedanceCurve<double> a(solimp, border * (1 - 1e-9)), b(solimp, border * (1 + 1e-9));
    CHECK(std::abs(a.d - b.d) < 1e-9);
    CHECK(std::abs(a.slope - b.slope) < 1e-6);
  }
}

TEST_CASE("impedance: pullback equals dual numbers on every piece of the curve") {
  const auto f = [](const auto* in, auto* out) { *out = impedance(in, in[5]); };
  const auto f_pullback = [](const auto* in, const auto* bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    impedance_pullback(ImpedanceCurve<S>(in, in[5]), in, in[5], bar[0], in_bar, in_bar[5]);
  };
  test::check_pullback("impedance", 1, f, f_pullback, kPoints);
}

TEST_CASE("impedance: equal d₀ and d_w have the derivatives of their neighbours") {
  // Below and above the middle, and beyond the width: Z = 0.08, 0.82 and 1.
  for (const double x : {0.05, 0.175, 0.4}) {
    const Numbers at = {0.5, 0.5, 0.25, 0.5, 2, x};
    Numbers bar(6, 0.0);
    impedance_pullback(ImpedanceCurve<double>(at.data(), x), at.data(), x, 1.0, bar.data(), bar[5]);
    for (const std::size_t i : {0u, 1u}) {
      Numbers less = at, more = at;
      less[i] -= 1e-3, more[i] += 1e-3;  // (2) is linear in both
      const double slope = (impedance(more.data(), x) - impedance(less.data(), x)) / 2e-3;
      CHECK(bar[i] == doctest::Approx(slope).epsilon(1e-11));
    }
    CHECK(bar[5] == 0);
  }
}

TEST_CASE("impedance: in float lanes a square does not depend on what power the neighbours have") {
  using S = Pack<float, 4>;
  S solimp[5], x(0.0003f);
  const float numbers[] = {0.9f, 0.95f, 0.001f, 0.5f, 2};
  for (int i = 0; i < 5; ++i) solimp[i] = S(numbers[i]);
  const float alone = lane(impedance(solimp, x), 0);
  set_lane(solimp[4], 2, 3.0f);
  CHECK(lane(impedance(solimp, x), 0) == alone);
}

TEST_CASE("reference_gains: standard, direct and mixed solref") {
  const auto at = [](const Numbers& in) { return reference_gains(in.data(), in[2], in[3], true); };
  CHECK(at(kGains[0]).k == doctest::Approx(1 / std::pow(0.95 * 0.02 * 1.1, 2)));
  CHECK(at(kGains[0]).b == doctest::Approx(2 / (0.95 * 0.02)));
  CHECK(at(kGains[1]).b == doctest::Approx(2 / (0.9 * 0.004)));  // held at two time steps
  CHECK(reference_gains(kGains[1].data(), 0.9, 0.002, false).b ==
        doctest::Approx(2 / (0.9 * 0.003)));
  CHECK(at(kGains[2]).k == doctest::Approx(800 / (0.95 * 0.95)));
  CHECK(at(kGains[2]).b == doctest::Approx(30 / 0.95));
  CHECK(at(kGains[3]).k == doctest::Approx(1 / std::pow(0.9 * 0.02, 2)));  // mixed
  CHECK(at(kGains[4]).b == doctest::Approx(2 / (0.9 * 0.03)));             // mixed, and held
  CHECK(at(kGains[5]).k == 0);
}

TEST_CASE("reference_gains: pullback equals dual numbers in every format") {
  for (const bool refsafe : {true, false}) {
    test::check_pullback(
        "reference_gains", 2,
        [=](const auto* in, auto* out) {
          const auto gains = reference_gains(in, in[2], in[3], refsafe);
          out[0] = gains.k;
          out[1] = gains.b;
        },
        [=](const auto* in, const auto* bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          reference_gains_pullback(in, in[2], in[3], refsafe, ReferenceGains<S>{bar[0], bar[1]},
                                   in_bar, in_bar[2], in_bar[3]);
        },
        kGains);
  }
}

}  // namespace cycloid::impedance_test
