// Second story: a pendulum's length and damping are recovered from a noisy recording.
//
// Recorded are angles y_k = θ(t_k) + noise. Unknown are four numbers: length l and damping d (as
// the free variables of the parameter registry, so that both stay positive), the angle and the
// angular velocity at the start.
//   z = (log l, softplus⁻¹ d, θ_0, ω_0)             (1)
//   r_k(z) = θ(t_k; z) - y_k                        (2)  one pushforward gives all columns of ∂r/∂z
//   l, d ± |∂l/∂z_1| √cov_11, |∂d/∂z_2| √cov_22     (3)  from s² (JᵀJ)⁻¹
// solved by Levenberg–Marquardt. A pendulum of the wrong length soon swings out of step with the
// recording, where the squares have many false minima; so the first kFirstWindow seconds are fitted
// first, then twice as many, until the whole recording is in. A short window may prefer no damping
// at all, whose free variable is infinitely far away; where it cannot tell the damping from zero,
// the next window starts from the guessed one again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

inline constexpr double kFirstWindow = 1.5;             // [s]
inline constexpr double kNormal95 = 1.959963984540054;  // 95 % of a normal lie within so many σ

struct Swing {
  double length = 0.8;    // [m]
  double damping = 0.05;  // [N·m·s/rad]
  double angle = 1.2;     // at the start [rad]
  double velocity = 0.0;  // at the start [rad/s]
};

struct Recording {
  double interval = 0.04;      // between samples, a multiple of kSimulationStep [s]
  std::vector<double> angles;  // [rad]
  std::vector<double> times() const;
};

inline constexpr double kSimulationStep = 0.01;  // [s]

// What the sensor would have seen without noise: `count` samples.
Recording simulate_pendulum(const Swing& pendulum, std::size_t count);
// ... and with normal noise of standard deviation `noise` [rad].
Recording record_pendulum(const Swing& pendulum, std::size_t count, double noise,
                          std::uint64_t seed);

struct Estimate {
  double value = 0;
  double standard_error = 0;
  // Whether value ± k standard errors contains the truth.
  bool covers(double truth, double k = kNormal95) const;
};

struct PendulumFit {
  Estimate length, damping, angle, velocity;
  double correlation = 0;  // of the errors of length and damping
  double noise = 0;        // estimated standard deviation of the recording's noise [rad]
  bool converged = false;
  std::string status;  // of the optimiser
  int iterations = 0;  // over all windows
  Swing estimate() const { return {length.value, damping.value, angle.value, velocity.value}; }
};

// mass 1 kg and gravity 9.81 m/s² are taken as known. `watch` sees each window's end [s] and fit.
// Throws Error when the recording has fewer than eight samples or one that is not finite.
PendulumFit fit_pendulum(const Recording& recording, const Swing& guess,
                         const KeepGoing& keep_going = {},
                         const std::function<void(double, const PendulumFit&)>& watch = {});

struct FitProblem {
  Swing truth = {};
  Swing guess = {.length = 1.3, .damping = 0.2, .angle = 1.0, .velocity = 0.0};
  std::size_t samples = 251;  // ten seconds
  double noise = 0.05;        // [rad]
  std::size_t repeats = 200;  // recordings with fresh noise, for the coverage
};

struct FitResult {
  FitProblem problem;
  Recording recording, guess_curve, fitted_curve;
  PendulumFit fit;
  std::vector<PendulumFit> repeats;  // one per recording with fresh noise

  // How many of the repeats have the truth within k standard errors.
  std::size_t length_covered(double k = kNormal95) const;
  std::size_t damping_covered(double k = kNormal95) const;
  // Converged, and both truths within four standard errors.
  bool found() const;
};

// Records, fits, and repeats both with fresh noise. `watch` sees the windows of the first fit;
// `repeated` how many of the repeats are done.
FitResult recover_pendulum(const FitProblem& problem, std::uint64_t seed,
                           const KeepGoing& keep_going = {},
                           const std::function<void(double, const PendulumFit&)>& watch = {},
                           const std::function<void(std::size_t)>& repeated = {});

}  // namespace cycloid::tour
