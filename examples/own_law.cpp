// A law of your own becomes a System in ten lines; its gradient comes from dual numbers.
#include <cmath>
#include <cstdio>

#include "cycloid/cycloid.h"

// Van der Pol's oscillator: ẋ = v, v̇ = mu (1 - x²) v - x + u. The scalar S is a number, a pack of
// lanes or a dual number; write constants as S(1).
struct VanDerPol {
  static constexpr const char* kName = "van_der_pol";
  static constexpr std::array kState = {cycloid::BlockSpec{"x", 1, "1"},
                                        cycloid::BlockSpec{"v", 1, "1/s"}};
  static constexpr std::array kInput = {cycloid::BlockSpec{"u", 1, "1/s²"}};
  static constexpr std::array kParameters = {cycloid::ParameterSpec{"mu", 1.5, "1/s"}};

  template <class S>
  void x_dot(const S& /*t*/, const S* x, const S* u, const S* p, S* dx) const {
    dx[0] = x[1];
    dx[1] = p[0] * (S(1) - x[0] * x[0]) * x[1] - x[0] + u[0];
  }
};

int main() {
  const cycloid::System system = cycloid::make_system(VanDerPol{}, {.dt = 0.01});
  std::printf("%s\n", system.describe().c_str());

  // Loss: the mean of x² over three seconds, from x = 0.1.
  const std::vector<double> x0 = {0.1, 0.0};
  const int steps = 300;
  const auto loss = [&](double mu) {
    const auto run = cycloid::rollout(system, x0, steps, system.parameters().pack({{"mu", {mu}}}));
    double sum = 0;
    for (int k = 0; k <= steps; ++k) sum += std::pow(run.state(0, k)[0], 2);
    return sum / (steps + 1);
  };

  const auto run = cycloid::rollout(system, x0, steps);
  std::vector<double> states_bar(run.states().size(), 0.0);
  for (int k = 0; k <= steps; ++k) states_bar[2 * k] = 2 * run.state(0, k)[0] / (steps + 1);
  const cycloid::Gradient<double> g = run.pullback(states_bar);
  const double difference = (loss(1.5 + 1e-5) - loss(1.5 - 1e-5)) / 2e-5;
  std::printf("loss %.6f, dL/dmu %.9f, by differences %.9f\n", loss(1.5), g.params[0], difference);
  std::printf("dL/dx0 [%.6f, %.6f], dL/du at the first step %.2e\n", g.x0[0], g.x0[1],
              g.controls[0]);

  // And what the library itself thinks of every gradient of this law.
  const cycloid::GradientCheck check = cycloid::check_gradient(system, x0, 50);
  std::printf("%s\n", check.text.c_str());
  return check.ok && std::abs(g.params[0] - difference) < 1e-8 ? 0 : 1;
}
