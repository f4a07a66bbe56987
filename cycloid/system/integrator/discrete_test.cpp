#include "cycloid/system/integrator/discrete.h"

#include <doctest/doctest.h>

#include "tests/support/law_steps.h"

namespace cycloid::discrete_test {

// A damped, forced map in two dimensions that uses time and step length; pullback from dual
// numbers.
//   x⁺ = y,   y⁺ = a y (1 - h x) + u cos t
struct DelayedLogistic {
  static constexpr const char* kName = "delayed_logistic";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}, BlockSpec{"y", 1, "1"}};
  static constexpr std::array kInput = {BlockSpec{"u", 1, "1"}};
  static constexpr std::array kParameters = {ParameterSpec{"a", 2.0, "1"}};
  template <class S>
  void step(const S& t, const S& h, const S* x, const S* u, const S* p, S* x_next) const {
    x_next[0] = x[1];
    x_next[1] = p[0] * x[1] * (S(1) - h * x[0]) + u[0] * cos(t);
  }
};

struct WithPullback : DelayedLogistic {
  template <class S>
  void step_pullback(const S& t, const S& h, const S* x, const S* u, const S* p,
                     const S* x_next_bar, S& t_bar, S& h_bar, S* x_bar, S* u_bar, S* p_bar) const {
    const S y_bar = x_next_bar[1], growth = S(1) - h * x[0];
    x_bar[1] += x_next_bar[0] + y_bar * p[0] * growth;
    x_bar[0] -= y_bar * p[0] * x[1] * h;
    h_bar -= y_bar * p[0] * x[1] * x[0];
    p_bar[0] += y_bar * x[1] * growth;
    u_bar[0] += y_bar * cos(t);
    t_bar -= y_bar * u[0] * sin(t);
  }
};

// [x, u, p, t, h]
const std::vector<test::Numbers> kPoints = {{0.3, 0.6, 0.5, 2.1, 0.4, 1.0},
                                            {-1.0, 0.2, 0.0, 1.5, 3.0, 0.1},
                                            {0.0, 0.9, -2.0, 3.0, 0.0, 0.5}};

TEST_CASE("Discrete: the law is the step") {
  const double x[2] = {0.3, 0.6}, u[1] = {0.5}, p[1] = {2.1};
  double x_next[2];
  const LawPoint<DelayedLogistic, double> at{
      DelayedLogistic{}, LawShape<DelayedLogistic>({}), 0.4, 1.0, u, p, Scratch{nullptr}};
  Discrete::step(at, x, x_next, static_cast<double*>(nullptr));
  CHECK(x_next[0] == 0.6);
  CHECK(x_next[1] == doctest::Approx(2.1 * 0.6 * 0.7 + 0.5 * std::cos(0.4)).epsilon(1e-15));
}

TEST_CASE("Discrete::step: pullback equals dual numbers for x, u, p, t and h, own or not") {
  static_assert(HasStepPullback<WithPullback> && !HasStepPullback<DelayedLogistic>);
  test::check_step_pullback<Discrete>("Discrete::step", DelayedLogistic{}, {0, 0}, kPoints);
  test::check_step_pullback<Discrete>("Discrete::step", WithPullback{}, {0, 0}, kPoints);
}

}  // namespace cycloid::discrete_test
