// Rollouts for the tests of room adjoint, at inputs where every derivative is alive.
//
//   RolloutCase<T>     a system with rows of inputs; run() rolls it out
//   rollout_case<T>    one for any system: seeded, no two rows alike, no parameter at zero
//   law_systems()      the six laws with each integrator that applies to them
//   same_bits          equality of every bit (a NaN equals itself)
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/system/systems.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

template <class T>
std::vector<T> seeded(std::uint64_t seed, std::size_t n, double low = -1, double high = 1) {
  RandomStream random(seed);
  std::vector<T> numbers(n);
  for (T& x : numbers) x = static_cast<T>(random.uniform(low, high));
  return numbers;
}

template <class A, class B>
bool same_bits(const A& a, const B& b) {
  const std::size_t bytes = std::size(a) * sizeof(*std::data(a));
  return std::size(a) == std::size(b) &&
         (bytes == 0 || std::memcmp(std::data(a), std::data(b), bytes) == 0);
}

template <class T>
bool same_gradient(const Gradient<T>& a, const Gradient<T>& b) {
  return same_bits(a.x0, b.x0) && same_bits(a.x0_tangent, b.x0_tangent) &&
         same_bits(a.controls, b.controls) && same_bits(a.params, b.params);
}

template <class Numbers>
double largest(const Numbers& numbers) {
  double most = 0;
  for (const auto x : numbers) most = std::max(most, std::abs(static_cast<double>(x)));
  return most;
}

template <class Numbers>
bool all_zero(const Numbers& numbers) {
  for (const auto x : numbers) {
    if (x != 0) return false;
  }
  return true;
}

template <class T>
struct RolloutCase {
  System system;
  std::int64_t batch = 1, steps = 1;
  std::vector<T> x0, controls;  // rows
  Numbers params = {};          // empty for the default

  Controls<T> inputs() const {
    return controls.empty() ? Controls<T>(steps) : Controls<T>(controls, steps);
  }
  Trajectory<T> run(const RolloutOptions& options = {}) const {
    return rollout(system, std::span<const T>(x0), inputs(), params, options);
  }
  Trajectory<T> run(const Memory& memory, const Save& save = Save::all()) const {
    RolloutOptions options;
    options.memory = memory;
    options.save = save;
    return run(options);
  }
  // Environments [first, first + count) alone. Parameters shared by all stay as they are.
  RolloutCase slice(std::int64_t first, std::int64_t count) const {
    RolloutCase part = *this;
    part.batch = count;
    const auto rows = [&](auto& numbers) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(numbers.size()) / batch;
      numbers.assign(numbers.begin() + first * row, numbers.begin() + (first + count) * row);
    };
    rows(part.x0);
    rows(part.controls);
    if (params.size() > static_cast<std::size_t>(system.parameters().size())) rows(part.params);
    return part;
  }
};

// Parameters off their defaults and off zero, within their constraints.
inline Numbers seeded_parameters(const System& system, std::uint64_t seed) {
  Numbers values = system.parameters().default_values();
  const Numbers shift = seeded<double>(seed, values.size(), 0.05, 0.2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = values[i] * (1 + shift[i]) + (values[i] == 0 ? shift[i] : 0);
  }
  return values;
}

// Rows of x0 near the system's initial state and of inputs; one row of parameters.
template <class T>
RolloutCase<T> rollout_case(const System& system, std::int64_t batch, std::int64_t steps,
                            std::uint64_t seed = 1) {
  RolloutCase<T> c{system, batch, steps, {}, {}};
  const std::size_t nx = static_cast<std::size_t>(system.states().size());
  c.x0 = seeded<T>(seed, static_cast<std::size_t>(batch) * nx, -0.2, 0.2);
  for (std::size_t i = 0; i < c.x0.size(); ++i) {
    c.x0[i] += static_cast<T>(system.initial_state()[i % nx]);
  }
  c.controls =
      seeded<T>(seed + 1, static_cast<std::size_t>(batch * steps * system.inputs().size()));
  c.params = seeded_parameters(system, seed + 2);
  return c;
}

struct NamedSystem {
  std::string name;
  System system;
};

// Under the address sanitizer, which looks at memory and not at numbers, a third of the pairs: each
// law and each integrator is among them.
#ifdef __SANITIZE_ADDRESS__
inline constexpr int kEveryPair = 3;
#else
inline constexpr int kEveryPair = 1;
#endif

// Of smooth laws.
inline std::vector<NamedSystem> law_systems(Precision precision = Precision::float64) {
  std::vector<NamedSystem> all;
  int pair = 0;
  for (const std::string& law : systems::names()) {
    if (!systems::make(law).events().empty()) continue;
    for (const std::string& integrator : systems::integrators()) {
      if (pair++ % kEveryPair != 0) continue;
      if (law == "lorenz" && (integrator == "verlet" || integrator == "semi_implicit")) continue;
      all.push_back({law + ", " + integrator,
                     systems::make(law, {}, {.integrator = integrator, .precision = precision})});
    }
  }
  return all;
}

// The text of the Error that `function` throws; empty when it throws none.
template <class Kind = Error, class Function>
std::string text_of_error(Function&& function) {
  try {
    function();
  } catch (const Kind& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace cycloid::test
