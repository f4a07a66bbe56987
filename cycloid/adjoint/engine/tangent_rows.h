// Rows of tangents that go along a run, and where those of its saved states are collected.
#pragma once

#include "cycloid/adjoint/engine/run.h"

namespace cycloid::inline adjoint {

// Rows of numbers, one for every environment or one that all share; none: zero.
struct Rows {
  std::span<const double> numbers;
  std::size_t row = 0;

  bool none() const { return numbers.empty(); }
  std::int64_t stride() const { return numbers.size() == row ? 0 : static_cast<std::int64_t>(row); }
  const double* of(std::int64_t e) const { return numbers.data() + e * stride(); }
};

// A direction of a run: of every environment's start, in tangents; of controls; of parameters.
struct RunTangents {
  Rows start, controls, params;
};

// The saved states and their tangents, from the states of every step.
struct SavedTangents {
  const Run<double>& run;
  std::vector<double>&states, &states_tan;  // shaped like the saved states

  SavedTangents(const Run<double>& of, std::vector<double>& values, std::vector<double>& tangents)
      : run(of), states(values), states_tan(tangents) {
    states.assign(static_cast<std::size_t>(run.batch) * run.saved.size() * size(), 0.0);
    states_tan.assign(states.size(), 0.0);
  }
  std::size_t size() const { return static_cast<std::size_t>(run.system.states().size()); }
  // Of environment e at step k: its state, and its tangent d.
  void take(std::int64_t k, std::int64_t e, const double* x, const double* d) const {
    const auto found = std::lower_bound(run.saved.begin(), run.saved.end(), k);
    if (found == run.saved.end() || *found != k) return;
    const std::size_t place = static_cast<std::size_t>(e) * run.saved.size() +
                              static_cast<std::size_t>(found - run.saved.begin());
    std::copy_n(x, size(), states.data() + place * size());
    run.system.states().velocity(x, d, states_tan.data() + place * size());
  }
};

}  // namespace cycloid::inline adjoint
