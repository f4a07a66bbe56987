// watch.h: a function of Python's that watches an optimisation.
#pragma once

#include "cycloid/optimise/watch.h"
#include "module.h"

namespace cycloid::python {

// Calls watch(iteration, most, cost, seconds, steps) with the interpreter lock; an answer of False
// stops the optimisation, an exception ends the call with it. `watch` must outlive the call; None
// gives an empty Watch.
inline optimise::Watch watch_of(const nb::object& watch) {
  if (watch.is_none()) return {};
  return [&watch](const Progress& now) {
    const nb::gil_scoped_acquire lock;
    const nb::object answer = watch(now.iteration, now.most, now.cost, now.seconds, now.steps);
    return !answer.is(nb::bool_(false));
  };
}

}  // namespace cycloid::python
