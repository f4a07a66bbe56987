// The smallest gradient: how a pendulum's angle after two seconds depends on its length.
#include <cmath>
#include <cstdio>

#include "cycloid/cycloid.h"

int main() {
  const cycloid::System system = cycloid::systems::pendulum({.length = 0.5});
  const auto run = cycloid::rollout(system, system.initial_state(), 200);  // 200 steps of 10 ms
  const double angle = run.state(0, -1)[0];                                // loss L = angle²
  std::vector<double> states_bar(run.states().size(), 0.0);                // dL/dstates
  states_bar[2 * 200] = 2 * angle;
  const double gradient = run.pullback(states_bar).params[0];
  std::printf("angle after 2 s: %.6f rad, dL/dlength = %.6f rad²/m\n", angle, gradient);

  // The same from differences.
  const auto loss = [&](double length) {
    const std::vector<double> params = system.parameters().pack({{"length", {length}}});
    return std::pow(cycloid::rollout(system, system.initial_state(), 200, params).state(0, -1)[0],
                    2);
  };
  const double difference = (loss(0.5 + 1e-6) - loss(0.5 - 1e-6)) / 2e-6;
  std::printf("by differences:                       %.6f\n", difference);
  return std::abs(gradient - difference) < 1e-6 * std::abs(difference) ? 0 : 1;
}
