// linearise: the Jacobians of one step, in tangent coordinates.
//
//   difference(f(x, u, p), f(x ⊕ dx, u + du, p + dp)) = A dx + B du + P dp + …
// for x⁺ = f(x, u, p), row-major, one block per environment. They are exact to rounding;
// environments run in lanes. A System that knows its Jacobians says so (Stepper::jacobian); of the
// others, and for P, each row is a pullback of a unit cotangent.
#pragma once

#include <span>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/system/system.h"

namespace cycloid::inline adjoint {

struct LineariseOptions {
  bool params = false;    // P too
  double t = 0;           // time of x [s], when it is state 0
  std::int64_t step = 0;  // number of x in a run from t: its time is t + step h, of which P knows
  int threads = 0;
  KeepGoing keep_going = {};  // asked between chunks; Interrupted when it says no
};

template <class T>
struct Linearisation {
  std::int64_t batch = 0;
  std::vector<T> next;  // (batch, states)
  std::vector<T> A;     // (batch, tangents, tangents)
  std::vector<T> B;     // (batch, tangents, inputs)
  std::vector<T> P;     // (batch, tangents, parameters), if asked for
};

// Rows as in rollout.h; u may be empty for zero inputs. Throws Error on wrong sizes, GradientError
// when a step fails or has no finite derivative.
Linearisation<double> linearise(const System& system, std::span<const double> x,
                                std::span<const double> u = {}, std::span<const double> params = {},
                                const LineariseOptions& options = {});
Linearisation<float> linearise(const System& system, std::span<const float> x,
                               std::span<const float> u = {}, std::span<const double> params = {},
                               const LineariseOptions& options = {});

}  // namespace cycloid::inline adjoint
