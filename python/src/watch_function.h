// watch_function.h: a function of Python's that watches an optimisation.
#pragma once

#include <nanobind/stl/vector.h>

#include <span>
#include <vector>

#include "cycloid/optimise/watch.h"
#include "module.h"

namespace cycloid::python {

// A function of Python's that gives a copy of the numbers; they must still be there.
inline nb::object numbers_of(std::span<const double> numbers) {
  return nb::cpp_function(
      [numbers] { return std::vector<double>(numbers.begin(), numbers.end()); });
}

// Calls watch(iteration, most, cost, seconds, steps, numbers) with the interpreter lock; `numbers`
// is a function that gives the best numbers so far, to be called at once. An answer of False stops
// the optimisation, an exception ends the call with it. `watch` must outlive the call; None gives
// an empty Watch.
inline optimise::Watch watch_of(const nb::object& watch) {
  if (watch.is_none()) return {};
  return [&watch](const Progress& now) {
    const nb::gil_scoped_acquire lock;
    const nb::object answer =
        watch(now.iteration, now.most, now.cost, now.seconds, now.steps, numbers_of(now.numbers));
    return !answer.is(nb::bool_(false));
  };
}

}  // namespace cycloid::python
