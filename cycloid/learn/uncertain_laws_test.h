// Transitions for the tests of models that state their uncertainty.
#pragma once

#include "cycloid/base/random.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/transitions.h"

namespace cycloid::test {

inline System small_law(std::vector<int> hidden = {6}, std::uint64_t seed = 2) {
  LearnedLaw law;
  law.n = 2, law.inputs = 1, law.hidden = std::move(hidden), law.seed = seed;
  systems::Settings settings;
  settings.dt = 0.1;
  return make_learned(law, settings);
}

// Steps of a damped spring under inputs, with noise of deviation `noise(x)`.
template <class F>
Transitions spring_transitions(std::size_t rows, const F& noise, std::uint64_t seed = 0) {
  Transitions out;
  for (std::size_t r = 0; r < rows; ++r) {
    RandomStream random(seed, static_cast<std::uint32_t>(r));
    const double q = random.uniform(-1.0, 1.0), v = random.uniform(-1.0, 1.0),
                 u = random.uniform(-1.0, 1.0), s = noise(q);
    out.x.insert(out.x.end(), {q, v}), out.u.push_back(u);
    out.next.push_back(q + 0.1 * v + s * random.normal());
    out.next.push_back(v + 0.1 * (u - q - 0.2 * v) + s * random.normal());
  }
  return out;
}

}  // namespace cycloid::test
