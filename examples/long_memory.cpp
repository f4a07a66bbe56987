// The gradient of a million steps in little memory: the engine keeps checkpoints and runs the steps
// between them again.
#include <cmath>
#include <cstdio>

#include "cycloid/cycloid.h"

// The loss is the last angle, and only the last state is saved.
cycloid::Gradient<double> gradient(const cycloid::System& system, int steps,
                                   cycloid::Memory memory) {
  const auto run = cycloid::rollout(system, std::vector{1.0, 0.0}, steps, {},
                                    {.save = cycloid::Save::last(), .memory = memory});
  std::printf("%7d steps: %s\n", steps, run.report().memory.c_str());
  return run.pullback(std::vector{1.0, 0.0});
}

int main() {
  const cycloid::System system = cycloid::systems::pendulum({.length = 0.8});
  const auto million = gradient(system, 1000000, cycloid::Memory::automatic());
  std::printf("dL/dangle0 %.6f, dL/dlength %.6f\n", million.x0[0], million.params[0]);

  // A million states are 16 MB. A budget of 4 kB still does, with more steps run again.
  const auto in_4kB = gradient(system, 1000000, cycloid::Memory::budget(4096));
  std::printf("%.2f steps run again per step\n", in_4kB.recomputed_steps / 1e6);

  // What is kept does not change the gradient by a single bit.
  const auto all = gradient(system, 20000, cycloid::Memory::all());
  const auto few = gradient(system, 20000, cycloid::Memory::checkpoints(10));
  const auto automatic = gradient(system, 20000, cycloid::Memory::automatic());
  const bool same = all.x0 == few.x0 && all.params == few.params && all.x0 == automatic.x0 &&
                    all.params == automatic.params && million.params == in_4kB.params;
  std::printf("gradients are %s\n", same ? "equal, bit for bit" : "NOT equal");
  return same && std::isfinite(million.params[0]) && std::abs(million.params[0]) > 1 ? 0 : 1;
}
