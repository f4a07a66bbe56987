// Third story: the Lorenz system, where the engine says itself how far its gradient can be trusted.
//
// The gradient of a chaotic run is exact, and of little use: it describes a neighbourhood that
// shrinks as fast as the gradient grows. Shown are
//   - the growth of the cotangent on its way back, Π growth_k, and the time in which it reaches a
//     thousandfold (diagnose);
//   - a nudge ε of the start against what the gradient foretells of it,
//       e(t) = |Δx(t) - ε x_tan(t)| / |ε x_tan(t)|      (1)  1: the forecast is worth nothing
//   - a loss, x(T), as a function of the start, within that time and beyond it.
// The largest Lyapunov exponent of these parameters is 0.9056 per second [Sprott2003].
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

inline constexpr double kLorenzExponent = 0.9056;  // [1/s]

struct TrustProblem {
  std::array<double, 3> start = {2.1, 3.2, 13.9};  // on the attractor
  double dt = 0.01;                                // [s]
  double duration = 25;                            // of the diagnosed run [s]
  std::array<double, 3> nudges = {1e-2, 1e-4, 1e-6};
  double short_run = 2, long_run = 15;  // the two losses' T [s]
  double reach = 0.3;                   // the losses are drawn for changes of x within ± reach
  int environments = 16;                // for the exponent ...
  double exponent_time = 2000;          // ... each over so long [s]
};

struct NudgeTrace {
  double size = 0;                   // ε
  std::vector<double> disagreement;  // (1), at `times`
  double lost_at = 0;                // when (1) first exceeds one half [s]
};

struct Landscape {
  double duration = 0;               // T [s]
  std::vector<double> nudge, value;  // change of x at the start; x(T)
  double here = 0, gradient = 0;     // x(T) and ∂x(T)/∂x(0) at no change
};

struct TrustResult {
  TrustProblem problem;
  std::string verdict, advice;  // of diagnose
  double horizon = 0;           // a cotangent grows a thousandfold in this time [s]
  double lyapunov = 0;          // mean over long runs [1/s]
  double lyapunov_error = 0;    // standard error of that mean
  double gradient_error = 0;    // against differences, over a run within the horizon
  bool gradient_ok = false;
  std::vector<double> times;      // 0 … duration [s]
  std::vector<double> look_back;  // growth of the cotangent over the last times[k] seconds
  // Two runs at `times`, whose starts differ by nudges[1].
  std::vector<std::array<double, 3>> orbit, neighbour;
  std::array<NudgeTrace, 3> nudges;
  Landscape within, beyond;

  bool chaotic() const { return verdict == "chaotic"; }
};

TrustResult question_lorenz(const TrustProblem& problem = {}, const KeepGoing& keep_going = {});

}  // namespace cycloid::tour
