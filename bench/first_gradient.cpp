// The first gradient of a fresh process: bench/run.py measures this program from start to end.
#include <cstdio>

#include "cycloid/cycloid.h"

int main() {
  using namespace cycloid;
  const System system = systems::pendulum();
  const std::vector<double> x0 = {1.0, 0.0};
  const Trajectory<double> run = rollout(system, x0, 200);
  const Gradient<double> g = run.pullback(std::vector<double>(run.states().size(), 1.0));
  std::printf("%.17g\n", g.x0[0]);
}
