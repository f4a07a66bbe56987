#include "cli/random_inputs.h"

#include <algorithm>

#include "cli/command_line.h"
#include "cycloid/base/random.h"
#include "cycloid/base/thread_pool.h"

namespace cycloid::cli {
namespace {

// The stream of the starts: no step has this number.
constexpr std::uint64_t kStart = ~std::uint64_t{0};
constexpr std::int64_t kEnvironmentsPerTask = 64;

bool admits(const System& system, std::vector<double> x) {
  const std::vector<double>& p = system.parameters().default_values();
  return system.admits_every_start() || system.admit(p.data(), 0, x.data()).empty();
}

// Makes those of the moves d, one number after another, that the law admits.
void move_one_by_one(const System& system, const std::vector<double>& start,
                     const std::vector<double>& d, std::vector<double>& moved) {
  std::vector<double> some(d.size(), 0.0);
  for (std::size_t i = 0; i < d.size(); ++i) {
    some[i] = d[i];
    system.states().retract(start.data(), some.data(), moved.data());
    if (!admits(system, moved)) some[i] = 0;
  }
  system.states().retract(start.data(), some.data(), moved.data());
}

}  // namespace

void RandomInputs::declare(Options& options) {
  options.number("--spread", spread, "starts are moved by up to ± this");
  options.number("--push", push, "inputs are drawn from ± this at every step");
}

template <class T>
std::vector<T> RandomInputs::starts(const System& system, const std::vector<double>& start,
                                    std::int64_t batch) const {
  const Space& space = system.states();
  const std::size_t nx = static_cast<std::size_t>(space.size());
  std::vector<double> d(static_cast<std::size_t>(space.tangent_size())), moved(nx);
  std::vector<T> rows;
  rows.reserve(static_cast<std::size_t>(batch) * nx);
  for (std::int64_t e = 0; e < batch; ++e) {
    RandomStream random(seed, static_cast<std::uint32_t>(e), kStart);
    for (double& number : d) number = spread * random.uniform(-1.0, 1.0);
    space.retract(start.data(), d.data(), moved.data());
    if (!admits(system, moved)) move_one_by_one(system, start, d, moved);
    for (const double number : moved) rows.push_back(static_cast<T>(number));
  }
  return rows;
}

template <class T>
std::vector<T> RandomInputs::inputs(const System& system, std::int64_t batch, std::int64_t first,
                                    std::int64_t steps, int threads,
                                    const KeepGoing& keep_going) const {
  const std::int64_t nu = system.inputs().size();
  std::vector<T> rows(static_cast<std::size_t>(batch * steps * nu));
  if (nu == 0 || push == 0) return rows;
  const std::int64_t tasks = (batch + kEnvironmentsPerTask - 1) / kEnvironmentsPerTask;
  parallel_for(
      static_cast<std::size_t>(tasks), threads,
      [&](std::size_t task) {
        const std::int64_t begin = static_cast<std::int64_t>(task) * kEnvironmentsPerTask;
        for (std::int64_t e = begin; e < std::min(batch, begin + kEnvironmentsPerTask); ++e) {
          T* row = rows.data() + e * steps * nu;
          for (std::int64_t k = 0; k < steps; ++k) {
            RandomStream random(seed, static_cast<std::uint32_t>(e),
                                static_cast<std::uint64_t>(first + k));
            for (std::int64_t i = 0; i < nu; ++i) {
              *row++ = static_cast<T>(push * random.uniform(-1.0, 1.0));
            }
          }
        }
      },
      keep_going);
  return rows;
}

template std::vector<float> RandomInputs::starts(const System&, const std::vector<double>&,
                                                 std::int64_t) const;
template std::vector<double> RandomInputs::starts(const System&, const std::vector<double>&,
                                                  std::int64_t) const;
template std::vector<float> RandomInputs::inputs(const System&, std::int64_t, std::int64_t,
                                                 std::int64_t, int, const KeepGoing&) const;
template std::vector<double> RandomInputs::inputs(const System&, std::int64_t, std::int64_t,
                                                  std::int64_t, int, const KeepGoing&) const;

}  // namespace cycloid::cli
