// Gradient steps find the throw that hits a target in the wind.
#include <cmath>
#include <cstdio>

#include "cycloid/cycloid.h"

int main() {
  const cycloid::System system =
      cycloid::systems::projectile({.mass = 0.4, .drag = 0.01, .wind = {-6, 3, 0}});
  const double target[3] = {30, 5, 0}, flight = 2.5;  // [m], [s]
  const int steps = 250;

  // Where the ball is after the flight, as a function of the throw v; loss L = ½ |miss|².
  std::vector<double> x0 = {0, 0, 0, 12, 0, 12};
  double distance = 0;
  for (int i = 0; i <= 200; ++i) {
    const auto run = cycloid::rollout(system, x0, steps, {}, {.save = cycloid::Save::last()});
    const auto x = run.states();
    const std::vector<double> miss = {
        x[0] - target[0], x[1] - target[1], x[2] - target[2], 0, 0, 0};
    distance = std::hypot(miss[0], miss[1], miss[2]);
    if (i % 20 == 0 || distance < 1e-6) {
      std::printf("throw %3d: v = (%7.4f, %7.4f, %7.4f) m/s, misses by %.2e m\n", i, x0[3], x0[4],
                  x0[5], distance);
    }
    if (distance < 1e-6) break;
    // Without air ∂x/∂v = flight, so that a step of 1/flight² would hit at once; drag makes it a
    // few dozen.
    const std::vector<double> v_bar = run.pullback(miss).x0;
    for (int j = 3; j < 6; ++j) x0[j] -= v_bar[j] / (flight * flight);
  }
  return distance < 1e-6 ? 0 : 1;
}
