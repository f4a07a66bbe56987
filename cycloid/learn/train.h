// train: parameters of a System from what was measured, by gradient descent.
//
// Step k takes a batch of rows or windows (training_loss.h), each epoch in another order, and moves
// the free variables z of the trained parameters (system/constraint.h) along the gradient:
//   z̄ = ∂loss/∂z (+ λ z, adam),  |z̄| cut to `clip`                                (1)
//   Adam [Kingma2015], or AdamW, whose decay acts apart from it [Loshchilov2019]    (2)
//   rate: constant, α (1 + cos(π k / steps)) / 2, α (1 - k / steps), α 100^(-k / steps)  (3)
//   horizon: from `first_horizon` up by equal shares of the first half of the steps  (4)
// L-BFGS (optimise/lbfgs.h) minimises the loss over all samples with λ/2 |z|² instead; steps are
// its iterations. Gauss-Newton (optimise/levenberg_marquardt.h) does so too, of a loss that is a
// sum of squares, with the Jacobian of every difference: for few numbers, and few steps. Everything
// that chance decides depends on seed and step alone, so that a run that goes on from its state is
// the same, bit for bit, as one that never stopped.
//
// Validation: every `validate_every` steps the loss of what is held back, without noise and terms.
// The numbers that did best there are the result, and `patience` evaluations without a better one
// end the run. A loss that grows a thousandfold, or stays infinite, ends it too, and the best
// numbers are kept.
#pragma once

#include <cstdint>
#include <span>

#include "cycloid/learn/training_loss.h"

namespace cycloid::inline learn {

enum class TrainMethod { adam, adamw, lbfgs, gauss_newton };
enum class RateSchedule { constant, cosine, linear, exponential };

// Numbers that Gauss-Newton trains at most: a step takes the cube of them.
inline constexpr std::size_t kMostGaussNewton = 3000;

struct TrainProgress {
  std::int64_t step = 0, steps = 0;
  double loss = 0, validation = 0, seconds = 0;  // validation: NaN where there is none yet
  std::span<const double> params = {};           // all parameters, for the length of the call
};

struct TrainOptions {
  std::int64_t steps = 2000;
  std::int64_t batch = 0;              // 0: all samples
  int horizon = 1, first_horizon = 0;  // 0: it does not grow
  TrainMethod method = TrainMethod::adam;
  RateSchedule schedule = RateSchedule::constant;
  double learning_rate = 1e-3, weight_decay = 0, clip = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double validation = 0;                 // share of the samples
  std::int64_t validate_every = 0;       // 0: a hundredth of the steps
  int patience = 0;                      // 0: never stop early
  std::vector<std::string> params = {};  // names, or beginnings of names; empty: all but the step
  std::uint64_t seed = 0;
  // Asked about five times a second; false: stop here, as a run that can go on.
  std::function<bool(const TrainProgress&)> watch = {};
};

// One line of the history.
struct TrainRecord {
  std::int64_t step;
  double loss, validation, rate, seconds;  // validation: NaN where it was not looked at
};

// Where a run stands.
struct TrainState {
  std::int64_t step = 0, adam_steps = 0;
  std::vector<double> z, m, v;  // free variables of the trained numbers, and Adam's moments
  // What L-BFGS (its pairs s, y in turn) or Gauss-Newton (μ, ν, steps tried, the
  // step at which it began, D) remember.
  std::vector<double> memory = {};
  TrainMethod remembers = TrainMethod::adam;  // whose memory that is
  std::vector<double> best;
  double best_loss = 0;  // of validation, else a running mean of the loss
  double mean_loss = 0, lowest_mean = 0;
  std::int64_t since_best = 0, failures = 0;
  double seconds = 0;
  std::vector<TrainRecord> history;
};

struct TrainRun {
  std::vector<double> params;  // all parameters of the System
  std::vector<double> own;     // the loss's own numbers
  TrainState state;
  bool ended = false;  // before its steps: validation, a loss that grows, or the watch
  std::string message;
};

// `from`: a state to go on from, or none. Throws Error on options out of range, ParameterError on
// unknown names.
TrainRun train(const System& system, TrainingLoss& loss, const TrainOptions& options,
               const TrainState* from = nullptr);

}  // namespace cycloid::inline learn
