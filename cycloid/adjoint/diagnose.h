// diagnose: how far the gradient of a rollout can be trusted.
//
// A unit cotangent is followed back from the last state that the loss looks at, renormalised at
// every step:
//   growth_k = ‖x̄_k‖ / ‖x̄_{k+1}‖                      (1)
//   G = Σ log growth_k                                 (2)  over the run
//   lyapunov = G / (duration)                          (3)  [1/s], largest exponent of a long run
// (Benettin1980; the adjoint flow has the exponents of the flow). Norms are Euclidean over the
// state's tangents as they are, so a short run's G depends on their units.
//
// Verdict per environment, with kLarge = log 1000:
//   non_finite   a number on the way forward or back is not finite
//   chaotic      G > kLarge, sustained in both halves of the run, while the states move and stay
//                bounded
//   exploding    G > kLarge otherwise
//   vanishing    G < -kLarge
//   fine         none of these
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cycloid/adjoint/rollout.h"

namespace cycloid::inline adjoint {

enum class Verdict { fine, vanishing, exploding, chaotic, non_finite };

const char* name(Verdict verdict);

struct FirstNonFinite {
  std::int64_t environment = 0, step = 0;
  std::string block;    // of the state, or the event that piles up
  bool forward = true;  // in the rollout itself, or in its cotangent
  bool event = false;   // in the rollout, for events that pile up
};

struct Diagnosis {
  std::int64_t batch = 0, steps = 0;
  std::vector<double> growth;       // (batch, T), (1); 1 after the last state the loss looks at
  std::vector<double> lyapunov;     // (batch), (3)
  std::vector<Verdict> verdicts;    // (batch)
  Verdict verdict = Verdict::fine;  // the gravest of them
  // share of the steps whose active constraints are others than in the step before; 0 for laws
  double switch_fraction = 0;
  std::optional<FirstNonFinite> first_nonfinite;
  bool reliable = true;  // fine or vanishing everywhere, and every step solved
  // time over which a cotangent grows a thousandfold [s]; infinite if it does not
  double horizon = 0;
  std::string advice;
};

// states_bar is shaped like the trajectory's states. Throws Error on another size, Interrupted when
// keep_going says no.
template <class T>
Diagnosis diagnose(const Trajectory<T>& trajectory, std::span<const T> states_bar,
                   const KeepGoing& keep_going = {});

inline Diagnosis diagnose(const Trajectory<double>& t, const std::vector<double>& states_bar) {
  return diagnose(t, std::span<const double>(states_bar));
}
inline Diagnosis diagnose(const Trajectory<float>& t, const std::vector<float>& states_bar) {
  return diagnose(t, std::span<const float>(states_bar));
}

}  // namespace cycloid::inline adjoint
