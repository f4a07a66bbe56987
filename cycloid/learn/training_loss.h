// TrainingLoss: how well parameters explain what was measured, with the gradient by the parameters.
//
// Of derivatives, N rows (x, u, ẋ), of a learned law (learned_law.h):
//   loss = mean over chosen rows and numbers of ((f(x, u; p) - ẋ) / scale)²                   (1)
// Of recordings: a window begins at each sample whose whole state was measured, and the System runs
// from there over the next `horizon` samples:
//   loss = mean over windows and measured numbers of (difference / scale)²                    (2)
//        + Σ weight × term(states of the runs)                                                (3)
// With multiple shooting windows lie end to end, and begin at states s of their own, which are
// trained too; they are compared with what was measured there, and to (2) comes
//        + shooting × mean over neighbours of ((end of the run from s_w - s_{w+1}) / scale)²  (4)
// Differences of angles (learned_law.h) are taken around the circle. Noise: normal numbers of a
// given size that are added to x, and to a window's first state, each time by seed and step.
// Recordings hold whole states, or blocks of it that are the whole state together; times are
// multiples of the time step. NaN: not measured.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/record/recording.h"

namespace cycloid::inline learn {

struct Derivatives {
  std::vector<double> x, x_dot;  // (N, states)
  std::vector<double> u = {};    // (N, inputs); empty: zeros
};

// Runs of windows, as a term (3) sees them.
struct TermRuns {
  std::span<const double> states;    // (batch, steps + 1, states)
  std::span<const double> controls;  // (batch, steps, inputs)
  std::int64_t batch, steps;
};

struct LossTerm {
  enum class Kind { energy, smooth, function, residual } kind = Kind::function;
  double weight = 1;
  // Gives a value and adds to states_bar, which is shaped like states.
  std::function<double(const TermRuns& runs, std::span<double> states_bar)> function = {};
};

struct LossOptions {
  int horizon = 1;                 // the longest
  std::vector<double> scale = {};  // one per state; empty: ones
  std::vector<double> noise = {};  // likewise; empty: none
  std::vector<LossTerm> terms = {};
  double shooting = 0;  // weight of (4); 0: windows begin at measured states
  // A window whose gradient by its first state is so many times longer than the median's is cut to
  // that; 0: none.
  double clip_each = 0;
  std::uint64_t seed = 0;
  int threads = 0;
};

// What may differ from call to call.
struct LossCall {
  std::span<const std::int64_t> chosen;  // rows or windows
  int horizon = 1;
  std::int64_t step = 0;  // draws the noise; -1: none, and no terms
};

class TrainingLoss {
 public:
  virtual ~TrainingLoss() = default;
  // Rows or windows. Those of which one should be held back together have one group.
  virtual std::int64_t samples() const = 0;
  // Cuts the samples into those to learn from and those to validate with, a share of them: rows by
  // chance, whole recordings where there are enough, else the end of each.
  virtual void split(double share, std::vector<std::int64_t>& learn,
                     std::vector<std::int64_t>& validate) const = 0;
  // Numbers besides the System's parameters that are trained with them, as they begin: p and p_bar
  // of `value` have them behind the parameters.
  virtual std::vector<double> own_numbers() const { return {}; }
  // Writes the gradient (all parameters), unless null; infinite where a run failed.
  virtual double value(std::span<const double> p, const LossCall& call,
                       std::vector<double>* p_bar) = 0;
  // The loss as half a sum of squares, for Gauss-Newton: what is compared, each times its weight.
  // 0: it is none.
  virtual std::size_t residual_count(const LossCall& /*call*/) const { return 0; }
  // Writes the residuals, and their Jacobian (residuals, numbers of p) by rows, unless null; false
  // where a run failed.
  virtual bool residuals(std::span<const double> /*p*/, const LossCall& /*call*/,
                         std::span<double> /*r*/, double* /*jacobian*/) {
    return false;
  }
};

// Throws Error on wrong sizes and on numbers that are not finite, with row and column; on a System
// that is not a learned law.
std::unique_ptr<TrainingLoss> derivative_loss(const System& system, const Derivatives& data,
                                              const LossOptions& options);
// Throws Error on recordings that do not fit, and on a horizon longer than they are.
std::unique_ptr<TrainingLoss> window_loss(const System& system,
                                          const std::vector<Recording>& recordings,
                                          const LossOptions& options);

}  // namespace cycloid::inline learn
