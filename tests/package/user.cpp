// A stranger's first program: the gradient of a pendulum's last angle, checked against differences.
#include <cmath>
#include <cstdio>
#include <vector>

#include "cycloid/cycloid.h"

int main() {
  const cycloid::System system = cycloid::systems::pendulum({.length = 0.7});
  const auto last_angle = [&](double angle) {
    return cycloid::rollout(system, std::vector{angle, 0.0}, 100).states()[200];
  };
  const auto run = cycloid::rollout(system, std::vector{1.0, 0.0}, 100);
  std::vector<double> states_bar(run.states().size(), 0.0);
  states_bar[200] = 1;
  const double gradient = run.pullback(states_bar).x0[0];
  const double difference = (last_angle(1 + 1e-6) - last_angle(1 - 1e-6)) / 2e-6;
  std::printf("d(angle after 1 s)/d(angle) = %.9f, by differences %.9f\n", gradient, difference);
  return std::abs(gradient - difference) < 1e-7 && std::abs(gradient) > 0.1 ? 0 : 1;
}
