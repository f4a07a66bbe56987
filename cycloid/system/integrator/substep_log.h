// SubstepLog: the substeps of an adaptive run, so that other runs can take the same.
//
// The gradient of an adaptive step holds the lengths of its substeps (adaptive.h). Differences of
// neighbouring runs are to be compared with it, so they have to hold them too (adjoint/
// check_gradient.h). A log is for environments one after the other, on one thread. It records the
// runs of Adaptive within each step: one, or where there are events, one for each stretch and each
// look at it. A run that follows the log takes the substeps of the recorded run of its step whose
// beginning and length are nearest to its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cycloid/base/check.h"

namespace cycloid::inline system {

class SubstepLog {
 public:
  // The next rollout follows what was recorded.
  void follow() {
    follows_ = true;
    steps_begun_ = 0;
  }

  // A step that begins at time t. Steps come in the order in which they were recorded.
  void begin_step(double t) {
    t_ = t;
    if (!follows_) steps_.emplace_back();
    ++steps_begun_;
  }

  // Of a run within the step, from time t and of length h: the lengths to take, or null where it is
  // to be recorded.
  const std::vector<double>* substeps(double t, double h) {
    const double offset = t - t_;
    if (!follows_) {
      steps_.back().push_back({offset, h, {}});
      return nullptr;
    }
    const std::size_t known = std::min(steps_begun_, steps_.size());
    CYCLOID_CHECK(known > 0, steps_begun_, steps_.size());
    const Run* nearest = nullptr;
    for (const Run& run : steps_[known - 1]) {
      if (!nearest || distance(run, offset, h) < distance(*nearest, offset, h)) nearest = &run;
    }
    CYCLOID_CHECK(nearest, "nothing was recorded in this step", steps_begun_);
    return &nearest->lengths;
  }

  // A substep was taken.
  void add(double length) { steps_.back().back().lengths.push_back(length); }

 private:
  struct Run {
    double offset, h;
    std::vector<double> lengths;
  };
  static double distance(const Run& run, double offset, double h) {
    return std::abs(run.offset - offset) + std::abs(run.h - h);
  }

  std::vector<std::vector<Run>> steps_;
  std::size_t steps_begun_ = 0;
  double t_ = 0;
  bool follows_ = false;
};

}  // namespace cycloid::inline system
