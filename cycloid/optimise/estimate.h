// estimate: states, unknown forces and slowly changing parameters from noisy sensors, with
// covariance.
//
// Unknown at every step k is z_k = (x_k, f_k, θ_k): the state, inputs that nobody recorded, and
// named parameters. With u the recorded inputs, w normal and h the step:
//   x_{k+1} = step(x_k, u_k + f_k, θ_k) ⊕ w_x,   std  process √h                                (1)
//   f_{k+1} = f_k + w_f,                         std  force_rate √h                             (2)
//   θ_{k+1} = θ_k + w_θ,                         std  param_rate √h                             (3)
//   v_i     = output(x, u + f, θ) + σ N          at samples (measured.h)                        (4)
// The most likely z is found by Gauss and Newton: along what is known so far, all steps are
// linearised in one batch of lanes (linearise.h), a linear smoother (kalman.h) gives the change in
// tangents, and so on until it is small. A linear System takes one such iteration, and the result
// is exact. Covariances are those of the linearised problem.
//
// The first guess is an extended Kalman filter, which goes through the recording once. `smooth`
// false: that filter alone, each state from samples up to it. With `horizon`, each sample's state
// comes from the samples of a moving window up to it, the filter being the prior at its start.
//
// Steps have about the System's length: samples lie on steps, h = (t_{i+1} - t_i) / n with n whole.
#pragma once

#include <string>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/optimise/identify.h"
#include "cycloid/record/recording.h"

namespace cycloid::inline optimise {

// Standard deviations are one number for all, or one each.
struct EstimateOptions {
  std::vector<std::string> forces = {};  // blocks of the inputs, or numbers of them, "force[1]"
  std::vector<UnknownRequest> params = {};
  UnknownOptions unknowns = {};
  std::vector<double> x0 = {};  // (states); empty: the recording's, its first row, the System's
  std::vector<double> x0_std = {1};      // (tangents)
  std::vector<double> process = {1e-3};  // (tangents) [unit/√s]
  std::vector<double> force_std = {1};   // at the start, about zero
  std::vector<double> force_rate = {1};  // [unit/√s]
  std::vector<double> param_std = {};    // at the start; empty: half of the value, 1 where it is 0
  std::vector<double> param_rate = {};   // [unit/√s]; empty: a hundredth of param_std
  bool smooth = true;
  int horizon = 0;  // samples of a window; 0: all
  int iterations = 30;
  double tolerance = 1e-8;  // on the change, in standard deviations
  int threads = 0;
  Watch watch = {};
  KeepGoing keep_going = {};
};

// S samples; z has Z tangents: nt of the state, F of the forces, K of the parameters.
struct Estimate {
  std::vector<double> states;                         // (S, states)
  std::vector<double> covariance;                     // (S, Z, Z)
  std::vector<double> forces;                         // (S, F)
  std::vector<double> params;                         // (S, K) values
  std::vector<std::string> force_names, param_names;  // one per number
  std::vector<FitParameter> parameters;               // where each name has its numbers
  std::vector<double> sigma;                          // of the columns, as used
  std::size_t tangents = 0;                           // Z
  double misfit = 0;          // Σ r² of what was measured, in units of σ, against the estimate
  std::int64_t measured = 0;  // numbers that were
  int iterations = 0;
  bool converged = false;
  std::string message;
  std::int64_t steps = 0;  // simulated
  double seconds = 0;
};

// Throws Error and ParameterError on what cannot be: as check_recording and Unknowns do, a name
// that is no input, deviations that are not positive or do not fit, a run that fails.
Estimate estimate(const System& system, const Recording& recording,
                  const EstimateOptions& options = {});

}  // namespace cycloid::inline optimise
