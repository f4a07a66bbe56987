// check_gradient: holds the gradient of a rollout to central differences, block by block.
//
// The loss is a fixed random weighting of all states, L = Σ w · states. Per number z of a block,
// with central differences
//   D(h) = (L(z + h) - L(z - h)) / 2h = L' + O(h²)                                   (1)
//   R(h) = (16 D(h/4) - D(h)) / 15 = L' + O(h⁴)                                       (2)
// over a sweep of step sizes; taken is the R whose neighbour agrees best, and their disagreement is
// the differences' own noise. Where shorter steps settle on another R, that is taken. Quaternions
// are moved by ⊕ along their three tangents. Large blocks are sampled (seeded), and besides its
// numbers each block is moved as a whole along a random direction, so that no number goes unseen. A
// float32 gradient is held to the differences of the same system in double.
//
// The gradient of an adaptive integrator holds its substeps (adaptive.h), and so do the runs
// of which differences are taken (substep_log.h): one environment after the other, and in
// float32 the substeps of the float run. How near it is to the derivative of the motion is a
// question of rtol, atol and dt.
//
// On one side of the surface of an event there may be no motion (system/admission.h). From a start
// on it, differences reach beyond, and agree with nothing: the text names the surface.
//
// Relative error of a block: the largest |difference| over max(largest |reference|, 1e-3).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "cycloid/adjoint/rollout.h"

namespace cycloid::inline adjoint {

struct CheckOptions {
  double tolerance = 0;        // 0: 1e-6 in double, 1e-3 in float
  int numbers_per_block = 24;  // of larger blocks as many are sampled
  std::uint64_t seed = 0;
  double t0 = 0;
  int threads = 0;
  KeepGoing keep_going = {};
};

struct BlockCheck {
  double relative_error = 0;
  double noise = 0;    // of the differences, relative like the error
  double largest = 0;  // largest |reference|
  std::string worst;   // the number that deviates most: "x0.angle", "params.wind[1]"
  double gradient = 0, difference = 0;  // there
};

struct GradientCheck {
  bool ok = false;
  double max_relative_error = 0;
  double tolerance = 0;
  std::map<std::string, BlockCheck> by_block;  // "x0.angle", "controls", "params.length"
  std::vector<Crowded> crowded;                // of the run whose gradient it is
  std::string text;                            // a table and a verdict
};

// Rows as in rollout. Throws as rollout and pullback do: GradientError where a step is not solved.
GradientCheck check_gradient(const System& system, std::span<const double> x0,
                             const Controls<double>& controls, std::span<const double> params = {},
                             const CheckOptions& options = {});

}  // namespace cycloid::inline adjoint
