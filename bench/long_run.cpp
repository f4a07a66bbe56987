// Memory of a long run: 10⁶ steps of one pendulum with an input at every step and the last state
// saved.
//
// Prints, in bytes: the inputs, their gradient, and the peak beyond both, measured by the kernel
// from a reset of the peak just before the rollout.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "cycloid/cycloid.h"

namespace {

// A line of /proc/self/status in bytes.
double status(const char* field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field, 0) == 0) return 1024 * std::atof(line.c_str() + std::strlen(field) + 1);
  }
  return 0;
}

}  // namespace

int main() {
  using namespace cycloid;
  constexpr std::int64_t kSteps = 1'000'000;
  const System system = systems::pendulum({.damping = 0.01});
  const std::vector<double> x0 = {1.0, 0.0}, controls(kSteps, 0.01), last = {1.0, 0.0};
  RolloutOptions options;
  options.save = Save::last();

  std::ofstream("/proc/self/clear_refs") << "5";  // resets VmHWM
  const double before = status("VmRSS");
  const Trajectory<double> run = rollout(system, x0, {controls, kSteps}, {}, options);
  const Gradient<double> g = run.pullback(last);
  const double peak = status("VmHWM");
  const double gradient = static_cast<double>(g.controls.size() * sizeof(double));
  std::printf("{\"inputs\": %.0f, \"gradient\": %.0f, \"beyond\": %.0f, \"memory\": \"%s\"}\n",
              static_cast<double>(controls.size() * sizeof(double)), gradient,
              peak - before - gradient, run.report().memory.c_str());
}
