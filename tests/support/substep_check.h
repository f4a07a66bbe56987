// What the methods of adaptive integrators are held to: local orders, and their pullbacks.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "cycloid/system/integrator/scheme.h"
#include "tests/support/law_steps.h"
#include "tests/support/test_laws.h"

namespace cycloid::test {

// One substep of the driven oscillator, as a function of [x (2), u, p (4), t, h].
template <class Method, class S>
struct Substep {
  explicit Substep(const S* in)
      : scratch(64),
        k(static_cast<std::size_t>(Method::stage_numbers(LawShape<DrivenOscillator>(law)))),
        x_next(2),
        e(2),
        f(2),
        at{law,
           LawShape<DrivenOscillator>(law),
           in[7],
           in[8],
           in + 2,
           in + 3,
           {reinterpret_cast<std::byte*>(scratch.data())}} {
    law_x_dot(at, at.t, in, f.data(), static_cast<S*>(nullptr));
    Method::step(at, in, f.data(), k.data(), x_next.data(), e.data());
  }
  DrivenOscillator law;
  std::vector<S> scratch, k, x_next, e, f;
  LawPoint<DrivenOscillator, S> at;
};

// The error of the state at θ within a substep of length h, against the closed form.
template <class Method>
double sample_error(double h, double theta) {
  const std::array<double, 4> p = {4.0, 0.3, 1.5, 1.3};
  const double in[] = {0.8, -0.4, 0.0, p[0], p[1], p[2], p[3], 0.0, h};
  Substep<Method, double> sub(in);
  double out[2];
  Method::sample(sub.at, in, sub.k.data(), theta, out);
  const auto exact = DrivenOscillator::solution(theta * h, 0.8, -0.4, p);
  return std::max(std::abs(out[0] - exact[0]), std::abs(out[1] - exact[1]));
}

// The last number is θ.
inline const std::vector<Numbers> kSubstepPoints = {
    {0.8, -0.4, 0.7, 4.0, 0.3, 1.5, 1.3, 2.1, 0.1, 0.3},
    {-1.2, 0.2, 0.0, 1.0, 0.0, 2.0, 5.0, 0.0, 0.4, 0.9},
    {0.1, 0.0, -3.0, 9.0, 1.0, 0.5, 0.1, 100.0, 0.01, 0.5},
    {0.3, -0.2, 0.0, 2.0, 0.5, 1.0, 2.0, -1.0, 1.0, 0.0}};

template <class Method>
void check_substep_pullbacks(const std::string& name) {
  const PullbackOptions options{.tolerance = 1e-10, .lane_tolerance = 1e-11};
  const auto f = []<class S>(const S* in, S* out) {
    Substep<Method, S> sub(in);
    for (int i = 0; i < 2; ++i) out[i] = sub.x_next[i];
  };
  const auto f_pullback = []<class S>(const S* in, const S* out_bar, S* in_bar) {
    Substep<Method, S> sub(in);
    LawPointBar<S> bar{in_bar[7], in_bar[8], in_bar + 2, in_bar + 3};
    std::vector<S> k_bar(sub.k.size(), S(0));
    Method::step_pullback(sub.at, in, sub.k.data(), k_bar.data(), false, out_bar, bar, in_bar);
    in_bar[7] = bar.t, in_bar[8] = bar.h;
  };
  check_pullback(name + "::step", 2, f, f_pullback, kSubstepPoints, options);
  const auto g = []<class S>(const S* in, S* out) {
    Substep<Method, S> sub(in);
    Method::sample(sub.at, in, sub.k.data(), in[9], out);
  };
  const auto g_pullback = []<class S>(const S* in, const S* out_bar, S* in_bar) {
    Substep<Method, S> sub(in);
    LawPointBar<S> bar{in_bar[7], in_bar[8], in_bar + 2, in_bar + 3};
    std::vector<S> k_bar(sub.k.size(), S(0)), nothing(2, S(0));
    Method::sample_pullback(sub.at, in, sub.k.data(), in[9], out_bar, k_bar.data(), bar, in_bar,
                            in_bar[9]);
    Method::step_pullback(sub.at, in, sub.k.data(), k_bar.data(), true, nothing.data(), bar,
                          in_bar);
    in_bar[7] = bar.t, in_bar[8] = bar.h;
  };
  check_pullback(name + "::sample", 2, g, g_pullback, kSubstepPoints, options);
}

}  // namespace cycloid::test
