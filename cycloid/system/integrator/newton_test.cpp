#include "cycloid/system/integrator/newton.h"

#include <doctest/doctest.h>

#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/law_steps.h"
#include "tests/support/test_laws.h"

namespace cycloid::newton_test {

using test::Numbers;

// ẋ = x² + 1.
struct Explosion {
  static constexpr const char* kName = "explosion";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    dx[0] = x[0] * x[0] + S(1);
  }
};

// k of the stage as a function of [b, u, p, t, a].
template <class Law>
void check_stage(const Law& law, const std::vector<Numbers>& points) {
  const LawShape<Law> shape(law);
  const int u = shape.tangents, p = u + shape.inputs, t = p + shape.parameters, a = t + 1;
  const auto point = [&]<class S>(const S* in, std::vector<S>& scratch) {
    return LawPoint<Law, S>{
        law, shape, in[t], S(0), in + u, in + p, {reinterpret_cast<std::byte*>(scratch.data())}};
  };
  const auto f = [&]<class S>(const S* in, S* k) {
    std::vector<S> scratch(400);
    for (int i = 0; i < shape.tangents; ++i) k[i] = S(0);
    solve_stage(point(in, scratch), in[t], in, in[a], k);
  };
  const auto f_pullback = [&]<class S>(const S* in, const S* k_bar, S* in_bar) {
    std::vector<S> scratch(400), k(static_cast<std::size_t>(shape.tangents), S(0));
    const LawPoint<Law, S> at = point(in, scratch);
    solve_stage(at, in[t], in, in[a], k.data());
    LawPointBar<S> bar{S(0), S(0), in_bar + u, in_bar + p};
    solve_stage_pullback(at, in[t], in, in[a], k.data(), k_bar, in_bar[t], in_bar, in_bar[a], bar);
  };
  test::check_pullback("solve_stage", shape.tangents, f, f_pullback, points,
                       {.tolerance = 1e-11, .lane_tolerance = 1e-11});
  test::check_pullback_derivative("solve_stage", shape.tangents, f, f_pullback, points,
                                  {.tolerance = 1e-9});
}

TEST_CASE("solve_stage: pullback and its derivative equal dual numbers, soft and stiff") {
  check_stage(test::DrivenOscillator{}, {{0.8, -0.4, 0.7, 4.0, 0.3, 1.5, 1.3, 2.1, 0.1},
                                         {0.8, -0.4, 0.7, 4e4, 300, 1.5, 1.3, 2.1, 1.0}});
  check_stage(Pendulum{}, {{3.0, -1.1, 0.3, 0.7, 1.3, 0.4, 9.81, 0, 0.05},
                           {0.5, 6.0, 0.0, 1.0, 1.0, 0.0, 9.81, 0, 0.2}});
  check_stage(SpringChain{2}, {{1, 0.2, -0.5, 0.3, 0.1, 0.4, 0.7, 5.0, 0.2, 0, 0.3}});
}

TEST_CASE("solve_stage: the stage equation holds to rounding, and a hopeless one says so") {
  const Pendulum law;
  const LawShape<Pendulum> shape(law);
  const double u[] = {0.3}, p[] = {0.7, 1.3, 0.4, 9.81}, b[] = {2.0, -1.0};
  const LawPoint<Pendulum, double> at{law, shape, 0, 0, u, p, Scratch{nullptr}};
  double k[] = {0, 0}, f[2], saved[2];
  CHECK(solve_stage(at, 0.0, b, 0.1, k) == 0);
  const double X[] = {b[0] + 0.1 * k[0], b[1] + 0.1 * k[1]};
  law_x_dot(at, 0.0, X, f, saved);
  for (int i = 0; i < 2; ++i) CHECK(std::abs(k[i] - f[i]) < 1e-13);
  // k = (b + k)² + 1 has no solution at b = 0.
  const Explosion explosion;
  const LawPoint<Explosion, double> there{
      explosion, LawShape<Explosion>(explosion), 0, 0, nullptr, nullptr, Scratch{nullptr}};
  double none = 0;
  const double zero = 0;
  CHECK(solve_stage(there, 0.0, &zero, 1.0, &none) > 1e-10);
}

}  // namespace cycloid::newton_test
