// Fourth story, the one that the engine is named after: a slide is bent into the curve of fastest
// descent.
//
// A bead slides from rest down a curve of given ends, without friction (systems::bead_on_curve): a
// spline through heights y_0 … y_{n-1}, of which all but the two ends are free. Its travel time is
// that of the event "arrival", whose gradient by the heights comes from one pullback:
//   T(y) → min                                               (1)
// by L-BFGS, from a straight slide. Bernoulli's answer of 1696 is the cycloid through the two ends,
//   x = r (φ - sin φ),  y = y_0 - r (1 - cos φ),  T = φ √(r/g)     (2)
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

struct SlideProblem {
  double width = 2, drop = 1;  // [m]
  double gravity = 9.81;       // [m/s²]
  int free_heights = 20;
  double dt = 0.01;  // [s]
};

struct SlideIterate {
  double time = 0;                           // of travel [s]
  std::vector<double> heights;               // [m], with the ends
  std::vector<std::array<double, 2>> curve;  // [m]
  std::vector<std::array<double, 2>> bead;   // places every `dt` until it has arrived [m]
};

struct SlideResult {
  SlideProblem problem;
  std::vector<SlideIterate> iterates;  // the straight slide, then every accepted step
  std::string status;                  // of the optimiser
  int simulations = 0;                 // descents with gradient
  double cycloid_time = 0;             // of (2) [s]
  std::vector<std::array<double, 2>> cycloid;
  double deviation = 0;       // largest height between slide and cycloid, as a share of the drop
  double gradient_error = 0;  // of the straight slide's ∂T/∂y, against differences, relative

  double time() const { return iterates.back().time; }
  double straight_time() const { return iterates.front().time; }
  int iterations() const { return static_cast<int>(iterates.size()) - 1; }
  double excess() const { return time() / cycloid_time - 1; }  // as a share
  bool fastest() const { return std::abs(excess()) < 1e-3 && deviation < 1e-2; }
};

// Numbers of the iterates worth showing: many of the first, few of the last, and the last.
std::vector<std::size_t> slide_frames(const SlideResult& result);

// `watch` sees every iterate as it is found.
SlideResult bend_slide(const SlideProblem& problem = {}, const KeepGoing& keep_going = {},
                       const std::function<void(int, const SlideIterate&)>& watch = {});

}  // namespace cycloid::tour
