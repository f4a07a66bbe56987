// identify: parameters of a System from recordings of the real thing, with error bars.
//
// Minimised over θ (parameters and sensors) and the starts s of all stretches (fit_problem.h), with
// r in units of σ:
//   F = Σ ρ(r_i) + ½ Σ ((θ_j - mean_j) / std_j)²   subject to   c_e = 0, low ≤ θ ≤ high         (1)
// with robust losses ρ (robust_loss.h) by Levenberg and Marquardt with analytic Jacobians
// (fit_descent.h). Gaps c_e of multiple shooting are closed by an augmented Lagrangian,
//   F + Σ ½ w (c_e + λ_e)²,   λ_e += c_e after each round, w growing                            (2)
// until they are below 1e-6; where contacts or dry friction leave gaps that no slope closes, the
// fit goes on with segments twice as long, in the end in one piece. Where σ is not known it is
// estimated, per output, from the residuals, and the fit is repeated with it (fit_judgement.h,
// which also has the covariance). Unknowns too many for a Jacobian are found by the gradient alone
// (fit_gradient.h), without error bars.
// Directions that the data do not determine are found in J_θ scaled by the values (weak.h) and said
// in words; the numbers that they move have an infinite standard error, and stay where the guess
// was if they do not act at all.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "cycloid/optimise/fit/fit_problem.h"
#include "cycloid/optimise/fit/robust_loss.h"
#include "cycloid/optimise/status.h"
#include "cycloid/optimise/watch.h"

namespace cycloid::inline optimise {

// How the minimum is found: Levenberg and Marquardt with the Jacobian, or by the gradient alone
// (fit_gradient.h). `automatic`: the Jacobian for up to kMostJacobian unknown numbers.
enum class FitMethod { automatic, lm, lbfgs, adam };
inline constexpr std::size_t kMostJacobian = 400;

struct IdentifyOptions {
  FitStarts x0 = {};  // free, from what was measured
  UnknownOptions unknowns = {};
  Loss loss = Loss::squared;
  FitMethod method = FitMethod::automatic;
  double shooting = 0;  // length of a segment [s]; 0: whole recordings
  int restarts = 0;     // further starts, the best of a Sobol set
  std::uint64_t seed = 0;
  int iterations = 100;            // at most, of each descent
  std::vector<double> theta = {};  // to go on from, with `starts`; empty: the guess
  std::vector<double> starts = {};
  int threads = 0;
  KeepGoing keep_going = {};
  Watch watch = {};
  // Whether an exception out of a run is a wish to stop, as Interrupted is.
  std::function<bool(const std::exception_ptr&)> is_stop = {};
};

// An output over all recordings.
struct FitOutput {
  std::string name;
  double rms = 0;        // of w - v; of quaternions the angle [rad]
  double sigma = 0;      // in use; of several the root mean square
  double whiteness = 1;  // p-value of Ljung and Box: small where residuals are not white
  std::int64_t count = 0;
};

// What belongs to one name: θ and fit numbers from `place` on.
struct FitParameter {
  std::string name;
  int place = 0, size = 1;
  std::vector<int> shape;
  int offset = -1;  // in the flat vector; -1: a sensor's
};

struct Fit {
  std::vector<FitParameter> parameters;  // tied ones each by their own name
  std::vector<std::string> names;        // one per number
  std::vector<double> values, std;       // (K); std is NaN where there was no Jacobian
  std::vector<double> covariance;        // (K, K), or empty, likewise
  // R with RᵀR the information on the values in units of σ, initial states eliminated: at most K
  // rows of K, likewise.
  std::vector<double> information_root;
  std::vector<double> flat;  // all parameters of the System
  std::vector<double> x0;    // (recordings, states)
  std::vector<FitOutput> outputs;
  std::vector<std::vector<double>> shown;  // of each recording, (samples, columns)
  std::vector<std::vector<double>> sigma;  // of each recording, (columns)
  std::vector<std::string> weak;           // sentences
  std::vector<bool> determined;            // (K)
  OptimiserStatus status = OptimiserStatus::max_iterations;
  bool converged = false;
  std::string message;
  double cost = 0, start_cost = 0;  // F; start_cost with the guess
  double largest_gap = 0;           // of multiple shooting
  int iterations = 0;
  std::vector<double> history;  // F at the start and after each iteration of the best descent
  std::int64_t steps = 0;       // a run of T steps counts T, a Jacobian T more
  double seconds = 0;
  std::vector<double> theta, starts;  // to go on from
};

// Requests whose names begin with "output:" are sensors'. Throws Error, ModelError and
// ParameterError on what cannot be fitted; passes on what a System throws.
Fit identify(const System& system, const std::vector<Recording>& recordings,
             const std::vector<UnknownRequest>& params, const IdentifyOptions& options = {});

// The state at the start of a recording that fits it best with these parameters, in Fit::x0, and
// what the recording should then show. Recording::x0 is taken as it is. Sensors are those that the
// options bound to one value each.
Fit fit_start(const System& system, const Recording& recording, std::span<const double> parameters,
              const IdentifyOptions& options = {});

const char* name(FitMethod method);

}  // namespace cycloid::inline optimise
