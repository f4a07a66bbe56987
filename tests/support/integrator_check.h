// What every integrator is held to: its order on four problems, and its pullback on four kinds of
// law.
#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/law_steps.h"
#include "tests/support/test_laws.h"

namespace cycloid::test {

// Largest error after n steps of the driven oscillator over 3 s, against its closed form.
template <class Scheme>
double oscillator_error(int n, double damping) {
  const std::array<double, 4> p = {4.0, damping, 1.5, 1.3};
  const Numbers x =
      take_steps<Scheme>(DrivenOscillator{}, {0.8, -0.4}, {0}, {p.begin(), p.end()}, 0, 3, n);
  const auto exact = DrivenOscillator::solution(3, 0.8, -0.4, p);
  return std::max(std::abs(x[0] - exact[0]), std::abs(x[1] - exact[1]));
}

// ... from perihelion to aphelion of an orbit with semi-axis 1 and eccentricity 0.3, half a period.
template <class Scheme>
double kepler_error(int n) {
  const double e = 0.3;
  const auto speed = [](double r) { return std::sqrt(2 / r - 1); };
  const Numbers x =
      take_steps<Scheme>(Kepler{}, {1 - e, 0, 0, speed(1 - e)}, {}, {1}, 0, std::numbers::pi, n);
  const Numbers exact = {-1 - e, 0, 0, -speed(1 + e)};
  double error = 0;
  for (int i = 0; i < 4; ++i) error = std::max(error, std::abs(x[i] - exact[i]));
  return error;
}

// ... of a tumbling dipole over 2 s, in tangents, against RK4 with a very fine step. Without a
// field it is a free rigid body.
template <class Scheme>
double dipole_error(int n, double field) {
  const Numbers x0 = {0.5, 0.5, -0.5, 0.5, 0.3, 2.0, -0.4}, p = {1, 2, 3, field};
  const Numbers u = {0, 0, 0};
  const Numbers reference = take_steps<Rk4>(Dipole{}, x0, u, p, 0, 2, 6000);
  const Numbers x = take_steps<Scheme>(Dipole{}, x0, u, p, 0, 2, n);
  double error = norm(difference(load_quat(reference.data()), load_quat(x.data())));
  for (int i = 4; i < 7; ++i) error = std::max(error, std::abs(x[i] - reference[i]));
  return error;
}

// Checks that the order on all of these is `order`, with n steps and with 2n. An integrator for
// flat spaces is not asked about quaternions.
template <class Scheme, bool kFlatOnly = false>
void check_order(double order, int n) {
  constexpr double kTolerance = 0.15;  // at these n the next term of the error is at most a tenth
  const auto expect = [&](const std::string& problem, double observed) {
    INFO(problem, ": order ", observed);
    CHECK(std::abs(observed - order) < kTolerance);
  };
  expect("driven oscillator",
         observed_order([](int k) { return oscillator_error<Scheme>(k, 0); }, n));
  expect("damped oscillator",
         observed_order([](int k) { return oscillator_error<Scheme>(k, 0.6); }, n));
  expect("Kepler", observed_order(kepler_error<Scheme>, n));
  if constexpr (!kFlatOnly) {
    expect("free rigid body", observed_order([](int k) { return dipole_error<Scheme>(k, 0); }, n));
    expect("dipole", observed_order([](int k) { return dipole_error<Scheme>(k, 3); }, n));
  }
}

// Checks the step's pullback with respect to state, input, parameters, time and step length.
template <class Scheme, bool kFlatOnly = false>
void check_step_pullbacks(std::string_view name) {
  // A chain of four stages loses a digit against a single operator's 1e-11.
  const PullbackOptions options{.tolerance = 1e-10, .lane_tolerance = 1e-11};
  // Points are [d, u, p, t, h]. Flat and time-dependent; pullback of the law from dual numbers.
  check_step_pullback<Scheme>(name, DrivenOscillator{}, {0.3, -0.2},
                              {{0.5, 1.0, 0.7, 4.0, 0.3, 1.5, 1.3, 2.1, 0.1},
                               {-1.5, 0.2, 0.0, 1.0, 0.0, 2.0, 5.0, 0.0, 0.4},
                               {0.1, 0.0, -3.0, 9.0, 1.0, 0.5, 0.1, 100.0, 0.01},
                               {0.0, 0.0, 0.0, 2.0, 0.5, 1.0, 2.0, -1.0, 1.0}},
                              options);
  // A law that saves values and brings its pullback.
  check_step_pullback<Scheme>(name, Pendulum{}, {0, 0},
                              {{0.4, -1.1, 0.3, 0.7, 1.3, 0.4, 9.81, 0, 0.05},
                               {3.1, 0.0, 0.0, 1.0, 1.0, 0.0, 9.81, 0, 0.1},
                               {-2.0, 6.0, 2.0, 0.5, 0.4, 0.1, 9.81, 0, 0.01}},
                              options);
  // A law of run-time size.
  FixedNumbers random(3);
  std::vector<Numbers> chains;
  for (int i = 0; i < 3; ++i) {
    Numbers point = random.vector(15);
    for (const double v : {0.7, 5.0, 0.2 * i, 0.0, 0.1}) point.push_back(v);
    chains.push_back(point);
  }
  check_step_pullback<Scheme>(name, SpringChain{5}, Numbers(10, 0.0), chains, options);
  if constexpr (!kFlatOnly) {
    // Quaternions, time, field and torque; slow, fast (0.9 rad in the step) and at rest.
    check_step_pullback<Scheme>(
        name, Dipole{}, {0.5, -0.5, 0.5, 0.5, 0, 0, 0},
        {{0.3, -0.2, 0.1, 0.5, -0.7, 0.4, 0.1, 0.2, -0.3, 1.0, 2.0, 3.0, 0.8, 0.4, 0.05},
         {-1.0, 2.0, 0.5, 6.0, 5.0, -4.0, 0.0, 0.0, 0.0, 1.0, 1.5, 2.0, 2.0, 1.0, 0.1},
         {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.1},
         {0.1, 0.2, 0.3, 1.0, 1.0, 1.0, 5.0, -4.0, 3.0, 0.5, 0.7, 0.9, 0.0, 7.0, 0.2}},
        options);
  }
}

// The Jacobian ∂x⁺/∂x of a step in a flat space, row-major, from its pullback.
template <class Scheme, class Law>
Numbers step_jacobian(const Law& law, const Numbers& x, const Numbers& u, const Numbers& p,
                      double h) {
  const LawShape<Law> shape(law);
  const std::size_t n = x.size();
  StepBuffers<Scheme, Law, double> buffers(shape);
  const LawPoint<Law, double> at{law, shape, 0, h, u.data(), p.data(), buffers.memory()};
  Scheme{}.step(at, x.data(), buffers.x_next.data(), buffers.record.data());
  Numbers J(n * n, 0.0), u_bar(u.size() + 1), p_bar(p.size() + 1);
  for (std::size_t i = 0; i < n; ++i) {
    Numbers unit(n, 0.0);
    unit[i] = 1;
    LawPointBar<double> at_bar{0, 0, u_bar.data(), p_bar.data()};
    Scheme{}.step_pullback(at, x.data(), buffers.record.data(), unit.data(), at_bar, &J[i * n]);
  }
  return J;
}

// The largest entry of Jᵀ Ω J - Ω, Ω = [0 1; -1 0]: zero for a symplectic map.
inline double symplectic_defect(const Numbers& J, std::size_t n) {
  const auto omega = [&](std::size_t i, std::size_t j) {
    return j == i + n / 2 ? 1.0 : i == j + n / 2 ? -1.0 : 0.0;
  };
  double defect = 0;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      double sum = -omega(a, b);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) sum += J[i * n + a] * omega(i, j) * J[j * n + b];
      }
      defect = std::max(defect, std::abs(sum));
    }
  }
  return defect;
}

}  // namespace cycloid::test
