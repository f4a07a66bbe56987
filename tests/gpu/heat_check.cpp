// heat on a card (`make test-gpu`): a run and its gradient next to the CPU's factor, the same bits
// twice, and figures.
//
//   heat_check [--device cuda|host] [--figures]
// Parity: states and cotangents differ by at most 1e-8 of the largest number.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "cycloid/adjoint/engine/device_rollout.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/device/device.h"
#include "cycloid/system/heat.h"

using namespace cycloid;

namespace {

using Clock = std::chrono::steady_clock;
using Numbers = std::vector<double>;
std::string where = "cuda";
int failures = 0;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

Numbers random_numbers(std::size_t n, double size, std::uint64_t seed) {
  Numbers out(n);
  for (double& x : out) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = size * (static_cast<double>(seed >> 11) / 4503599627370496.0 - 1);
  }
  return out;
}

double worst(const Numbers& a, const Numbers& b) {
  double difference = 0, size = 0;
  if (a.size() != b.size()) return 1;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(a[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return size > 0 ? difference / size : 1;
}

// A box whose conductivities lie two orders of magnitude apart.
System box_of(const std::vector<int>& shape, double slope) {
  std::size_t cells = 1;
  for (const int n : shape) cells *= static_cast<std::size_t>(n);
  Numbers k = random_numbers(cells, 2.3, 3);
  for (double& v : k) v = std::exp(v);
  return systems::heat(shape, k, 0.5, slope);
}

std::string name_of(const std::vector<int>& shape, double slope) {
  std::string name = "heat";
  for (const int n : shape) name += " " + std::to_string(n);
  return name + (slope == 0 ? "" : ", with a slope");
}

struct Found {
  Numbers states, x0, params;
  double forward = 0, back = 0;  // [s]
};

Found run_of(const System& box, std::int64_t steps) {
  const std::size_t cells = static_cast<std::size_t>(box.states().size());
  const Numbers x0 = random_numbers(cells, 1, 5);
  RolloutOptions options;
  options.save = Save::last();
  Found out;
  auto begun = Clock::now();
  const auto run = rollout(box, x0, Controls<double>(steps), {}, options);
  out.forward = seconds_since(begun);
  out.states.assign(run.states().begin(), run.states().end());
  begun = Clock::now();
  const auto g = run.pullback(random_numbers(cells, 1, 7));
  out.back = seconds_since(begun);
  out.x0 = g.x0, out.params = g.params;
  if (!run.report().failed.empty() || !run.report().unsolved.empty()) out.states.clear();
  return out;
}

void check(const std::vector<int>& shape, double slope) {
  const System cpu = box_of(shape, slope), there = on_device(cpu, where);
  const Found here = run_of(cpu, 10), one = run_of(there, 10), two = run_of(there, 10);
  const double states = worst(one.states, here.states), x0 = worst(one.x0, here.x0),
               params = worst(one.params, here.params);
  const bool same = one.states == two.states && one.x0 == two.x0 && one.params == two.params;
  const bool good = states <= 1e-8 && x0 <= 1e-8 && params <= 1e-8 && same;
  std::printf(
      "%-6s %s: 10 steps: states %.1e, cotangents of the start %.1e, of conductivities "
      "%.1e, the same bits twice: %s\n",
      good ? "ok" : "FAILED", name_of(shape, slope).c_str(), states, x0, params,
      same ? "yes" : "no");
  failures += !good;
}

// Milliseconds for a step, forward and back, with a gradient of all conductivities.
void figure(const std::vector<int>& shape, double slope, bool on_cpu) {
  constexpr std::int64_t kSteps = 20;
  const System cpu = box_of(shape, slope), there = on_device(cpu, where);
  run_of(there, kSteps);
  const Found found = run_of(there, kSteps);
  std::printf("figure %s: on the device %.2f ms a step forward, %.2f ms back",
              name_of(shape, slope).c_str(), 1e3 * found.forward / kSteps,
              1e3 * found.back / kSteps);
  if (on_cpu) {
    const Found here = run_of(cpu, kSteps);
    std::printf("; on the CPU, all threads, %.1f and %.1f", 1e3 * here.forward / kSteps,
                1e3 * here.back / kSteps);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  bool figures = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--device") == 0 && i + 1 < argc) where = argv[++i];
    figures = figures || std::strcmp(argv[i], "--figures") == 0;
  }
  for (const double slope : {0.0, 0.2}) {
    check({3000}, slope);
    check({70, 90}, slope);
    check({24, 20, 28}, slope);
  }
  if (figures) {
    for (const double slope : {0.0, 0.2}) {
      figure({256, 256}, slope, true);
      figure({1024, 1024}, slope, slope > 0);
      figure({128, 128, 128}, slope, false);
    }
  }
  return failures == 0 ? 0 : 1;
} catch (const Error& e) {
  std::printf("FAILED %s\n", e.what());
  return 1;
}
