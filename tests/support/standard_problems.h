// Standard problems of the literature on integrators, as laws.
//
// DETEST (HullEnrightFellenSedgwick1972): a sample of classes A (single equations), B (small
// systems), C (moderate systems), D (orbits) and E (higher-order equations), each over [0, 20].
// Van der Pol's oscillator with mu = 1000 is the stiff one.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numbers>
#include <string>
#include <vector>

#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/law.h"
#include "cycloid/system/law/any_law.h"
#include "cycloid/system/laws/kepler.h"
#include "tests/support/law_steps.h"
#include "tests/support/local_errors.h"

namespace cycloid::test {

#define CYCLOID_PROBLEM(Name, n)                                        \
  struct Name {                                                         \
    static constexpr const char* kName = #Name;                         \
    static constexpr std::array kState = {BlockSpec{"y", n, "1"}};      \
    template <class S>                                                  \
    void x_dot(const S& t, const S* y, const S*, const S*, S* d) const; \
  };                                                                    \
  template <class S>                                                    \
  void Name::x_dot([[maybe_unused]] const S& t, const S* y, const S*, const S*, S* d) const

CYCLOID_PROBLEM(DetestA2, 1) { d[0] = S(-0.5) * y[0] * y[0] * y[0]; }
CYCLOID_PROBLEM(DetestA3, 1) { d[0] = y[0] * cos(t); }
CYCLOID_PROBLEM(DetestA4, 1) { d[0] = S(0.25) * y[0] * (S(1) - S(0.05) * y[0]); }
CYCLOID_PROBLEM(DetestB1, 2) {
  d[0] = S(2) * (y[0] - y[0] * y[1]);
  d[1] = y[0] * y[1] - y[1];
}
CYCLOID_PROBLEM(DetestB2, 3) {
  d[0] = y[1] - y[0];
  d[1] = y[0] - S(2) * y[1] + y[2];
  d[2] = y[1] - y[2];
}
CYCLOID_PROBLEM(DetestB5, 3) {
  d[0] = y[1] * y[2];
  d[1] = -y[0] * y[2];
  d[2] = S(-0.51) * y[0] * y[1];
}
CYCLOID_PROBLEM(DetestC1, 10) {
  d[0] = -y[0];
  for (int i = 1; i < 9; ++i) d[i] = y[i - 1] - y[i];
  d[9] = y[8];
}
CYCLOID_PROBLEM(DetestC3, 10) {
  for (int i = 0; i < 10; ++i) {
    d[i] = S(-2) * y[i];
    if (i > 0) d[i] += y[i - 1];
    if (i < 9) d[i] += y[i + 1];
  }
}
CYCLOID_PROBLEM(DetestE1, 2) {
  const S s = t + S(1);
  d[0] = y[1];
  d[1] = -(y[1] / s + (S(1) - S(0.25) / (s * s)) * y[0]);
}
CYCLOID_PROBLEM(DetestE2, 2) {
  d[0] = y[1];
  d[1] = (S(1) - y[0] * y[0]) * y[1] - y[0];
}
CYCLOID_PROBLEM(DetestE3, 2) {
  d[0] = y[1];
  d[1] = y[0] * y[0] * y[0] / S(6) - y[0] + S(2) * sin(S(2.78535) * t);
}
#undef CYCLOID_PROBLEM

// ÿ = mu (1 - y²) ẏ - y.
struct VanDerPol {
  static constexpr const char* kName = "van_der_pol";
  static constexpr std::array kState = {BlockSpec{"y", 1, "1"}, BlockSpec{"v", 1, "1/s"}};
  static constexpr std::array kParameters = {ParameterSpec{"mu", 1000.0, "1/s"}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = x[1];
    dx[1] = p[0] * (S(1) - x[0] * x[0]) * x[1] - x[0];
  }
};

// The state at time t of an orbit of semi-axis 1, mu 1 and this eccentricity, from perihelion.
inline Numbers orbit(double eccentricity, double t) {
  double E = t;
  for (int i = 0; i < 50; ++i) {
    E -= (E - eccentricity * std::sin(E) - t) / (1 - eccentricity * std::cos(E));
  }
  const double w = std::sqrt(1 - eccentricity * eccentricity), r = 1 - eccentricity * std::cos(E);
  return {std::cos(E) - eccentricity, w * std::sin(E), -std::sin(E) / r, w * std::cos(E) / r};
}

// SciPy 1.17.1 on these problems: the largest error at the end over the tolerance (rtol = atol), of
// RK45 at 1e-3, 1e-5, 1e-7 and 1e-9 and of Radau at the first three. It is made by
//   .venv/bin/python tests/support/detest_scipy.py
struct ScipyErrors {
  const char* name;
  double rk45, radau;
};
inline constexpr ScipyErrors kScipy[] = {
    {"A2", 0.786, 0.0217}, {"A3", 5.89, 0.0876}, {"A4", 0.316, 0.0038}, {"B1", 89.8, 6.36},
    {"B2", 0.215, 0.0024}, {"B5", 68.1, 0.701},  {"C1", 0.747, 0.0284}, {"C3", 0.506, 0.0046},
    {"D1", 1.91e3, 11.9},  {"D3", 596, 14.2},    {"D5", 407, 14.4},     {"E1", 4.71, 0.341},
    {"E2", 57.4, 1.59},    {"E3", 109, 0.11},
};

// One problem: its end at t = 20, how to get there, and the local errors on the way.
struct StandardProblem {
  std::string name;
  Numbers end;
  std::function<Numbers(const Tolerances&)> solve;
  std::function<LocalErrors(const Tolerances&)> local_errors;

  const ScipyErrors& scipy() const {
    return *std::find_if(std::begin(kScipy), std::end(kScipy),
                         [&](const ScipyErrors& s) { return s.name == name; });
  }
};

template <class Scheme>
StandardProblem problem(const std::string& name, const AnyLaw<double>& law, const Numbers& start,
                        const Numbers& end, const Numbers& p = {}) {
  // Without a closed form the reference is RK4, whose error here is near rounding.
  Numbers reference = end.empty() ? take_steps<Rk4>(law, start, {}, p, 0, 20, 40000) : end;
  return {name, reference,
          [=](const Tolerances& tolerances) {
            return take_steps<Scheme>(law, start, {}, p, 0, 20, 1, Scheme{tolerances});
          },
          [=](const Tolerances& tolerances) {
            return local_errors<Scheme>(law, start, p, 20, tolerances);
          }};
}

template <class Scheme>
std::vector<StandardProblem> detest() {
  const double e20 = std::exp(-20.0), e60 = std::exp(-60.0);
  const auto bessel = [](double s) {  // J_½ and its derivative
    const double a = std::sqrt(2 / (std::numbers::pi * s));
    return Numbers{a * std::sin(s), a * (std::cos(s) - 0.5 * std::sin(s) / s)};
  };
  const auto kepler = [&](const char* name, double e) {
    return problem<Scheme>(name, AnyLaw<double>(Kepler{}), orbit(e, 0), orbit(e, 20), {1});
  };
  Numbers unit(10, 0.0);
  unit[0] = 1;
  return {problem<Scheme>("A2", AnyLaw<double>(DetestA2{}), {1}, {1 / std::sqrt(21.0)}),
          problem<Scheme>("A3", AnyLaw<double>(DetestA3{}), {1}, {std::exp(std::sin(20.0))}),
          problem<Scheme>("A4", AnyLaw<double>(DetestA4{}), {1}, {20 / (1 + 19 * std::exp(-5.0))}),
          problem<Scheme>("B1", AnyLaw<double>(DetestB1{}), {1, 3}, {}),
          problem<Scheme>("B2", AnyLaw<double>(DetestB2{}), {2, 0, 1},
                          {1 + 0.5 * e20 + 0.5 * e60, 1 - e60, 1 - 0.5 * e20 + 0.5 * e60}),
          problem<Scheme>("B5", AnyLaw<double>(DetestB5{}), {0, 1, 1}, {}),
          problem<Scheme>("C1", AnyLaw<double>(DetestC1{}), unit, {}),
          problem<Scheme>("C3", AnyLaw<double>(DetestC3{}), unit, {}),
          kepler("D1", 0.1),
          kepler("D3", 0.5),
          kepler("D5", 0.9),
          problem<Scheme>("E1", AnyLaw<double>(DetestE1{}), bessel(1), bessel(21)),
          problem<Scheme>("E2", AnyLaw<double>(DetestE2{}), {2, 0}, {}),
          problem<Scheme>("E3", AnyLaw<double>(DetestE3{}), {0, 0}, {})};
}

}  // namespace cycloid::test
