#include "cycloid/adjoint/check_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/system/integrator/substep_log.h"

namespace cycloid::inline adjoint {
namespace {

constexpr double kRelativeFloor = 1e-3;
// Where a law saturates, long steps agree on a slope across its bend. Shorter ones that agree on
// another, so far apart and as well as this, have the derivative.
constexpr double kApart = 1e-6, kSettled = 1e-3;
// Step sizes relative to the number's scale: 2^-4, 2^-6, …, 2^-22.
constexpr int kStepSizes = 10;
double step_size(int j) { return std::ldexp(1.0, -4 - 2 * j); }

// A direction in the space of inputs: which numbers move, and by how much per unit of the step
// size.
struct Move {
  std::vector<std::pair<std::size_t, double>> numbers;  // index in the part's flat array, scale
};

enum class Part { x0, controls, params };

struct CheckedBlock {
  std::string name;
  Part part;
  std::vector<std::size_t> numbers;  // indices: x0 in tangents
};

class Checker {
 public:
  Checker(const System& system, std::span<const double> x0, const Controls<double>& controls,
          std::span<const double> params, const CheckOptions& options)
      : system_(system),
        double_(system.in_double()),
        options_(options),
        base_(checked_run(double_, x0, controls, params, rollout_options())) {
    engine_of<double>(double_).plan(base_, Memory::automatic());
    // Zero inputs become rows of zeros, so that they can be moved.
    if (base_.control_rows == 0 && double_.inputs().size() > 0) {
      base_.controls.assign(static_cast<std::size_t>(base_.steps * double_.inputs().size()), 0.0);
      base_.control_rows = 1;
    }
    const Trajectory<double> run = roll_out(base_, options.keep_going);
    RandomStream random(options.seed);
    weights_.resize(run.states().size());
    for (double& w : weights_) w = random.uniform(-1.0, 1.0);
    crowded_ = run.report().crowded;
    if (system_.precision() == Precision::float64) {
      take_gradient(run);
    } else {
      take_gradient(run_in_float());
    }
  }

  GradientCheck check() {
    GradientCheck result;
    result.tolerance = options_.tolerance > 0                      ? options_.tolerance
                       : system_.precision() == Precision::float32 ? 1e-3
                                                                   : 1e-6;
    for (const CheckedBlock& block : blocks()) {
      const BlockCheck b = check_block(block);
      result.max_relative_error = std::max(result.max_relative_error, b.relative_error);
      result.by_block[block.name] = b;
    }
    result.ok = result.max_relative_error <= result.tolerance;
    result.crowded = crowded_;
    result.text = describe(result);
    if (!result.ok && !beyond_.empty()) {
      result.text += message("The start is on a surface of the law; where differences move it, ",
                             beyond_, ". Check from a start off the surface.\n");
    }
    if (!crowded_.empty()) result.text += adjoint::describe(crowded_.front()) + ".\n";
    return result;
  }

 private:
  RolloutOptions rollout_options() const {
    RolloutOptions o;
    o.t0 = options_.t0;
    o.threads = options_.threads;
    o.keep_going = options_.keep_going;
    return o;
  }

  // The same run in the system's own precision.
  Trajectory<float> run_in_float() const {
    const std::vector<float> x0(base_.x0_raw.begin(), base_.x0_raw.end()),
        u(base_.controls.begin(), base_.controls.end());
    const Controls<float> controls =
        u.empty() ? Controls<float>(base_.steps) : Controls<float>(u, base_.steps);
    return rollout(system_, std::span<const float>(x0), controls, base_.parameters,
                   rollout_options());
  }

  // The gradient under test.
  template <class T>
  void take_gradient(const Trajectory<T>& run) {
    PullbackOptions pullback_options;
    pullback_options.keep_going = options_.keep_going;
    const std::vector<T> bar(weights_.begin(), weights_.end());
    const Gradient<T> g = run.pullback(bar, pullback_options);
    gradient_.x0_tangent.assign(g.x0_tangent.begin(), g.x0_tangent.end());
    gradient_.controls.assign(g.controls.begin(), g.controls.end());
    gradient_.params = g.params;
    hold_substeps(run.run());
  }

  // Makes the runs that differences are taken from follow the substeps of this one, which may be in
  // float: its substeps are not those of the double.
  template <class T>
  void hold_substeps(Run<T> run) {
    if (!engine_of<T>(system_).follow(run, substeps_)) return;
    roll_out(std::move(run), options_.keep_going);
    substeps_held_ = engine_of<double>(double_).follow(base_, substeps_);
  }

  const std::vector<double>& gradient(Part part) const {
    return part == Part::x0         ? gradient_.x0_tangent
           : part == Part::controls ? gradient_.controls
                                    : gradient_.params;
  }

  std::vector<CheckedBlock> blocks() const {
    std::vector<CheckedBlock> blocks;
    const Space& states = system_.states();
    const auto rows = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    for (const Block& b : states.blocks()) {
      CheckedBlock block{"x0." + b.name, Part::x0, {}};
      for (std::size_t r = 0; r < rows(base_.x0_rows); ++r) {
        for (int i = 0; i < b.tangent_size; ++i) {
          block.numbers.push_back(r * static_cast<std::size_t>(states.tangent_size()) +
                                  static_cast<std::size_t>(b.tangent_offset + i));
        }
      }
      blocks.push_back(std::move(block));
    }
    if (!base_.controls.empty()) {
      CheckedBlock block{"controls", Part::controls, {}};
      for (std::size_t i = 0; i < base_.controls.size(); ++i) block.numbers.push_back(i);
      blocks.push_back(std::move(block));
    }
    for (const Parameter& p : system_.parameters().all()) {
      if (!p.not_differentiable.empty()) continue;
      CheckedBlock block{"params." + p.name, Part::params, {}};
      for (std::size_t r = 0; r < rows(base_.parameter_rows); ++r) {
        for (int i = 0; i < p.size; ++i) {
          block.numbers.push_back(r * static_cast<std::size_t>(system_.parameters().size()) +
                                  static_cast<std::size_t>(p.offset + i));
        }
      }
      blocks.push_back(std::move(block));
    }
    return blocks;
  }

  // How far a number may move: a share of itself where it must stay positive.
  double scale(Part part, std::size_t i) const {
    if (part == Part::x0) return 1;
    if (part == Part::controls) return std::max(1.0, std::abs(base_.controls[i]));
    const double p = base_.parameters[i];
    const int number = static_cast<int>(i % static_cast<std::size_t>(system_.parameters().size()));
    return system_.parameters().holding(number).constraint == Constraint::positive
               ? p
               : std::max(1.0, std::abs(p));
  }

  // All states after moving the inputs by h along `move`.
  std::vector<double> moved_states(Part part, const Move& move, double h) const {
    Run<double> run = base_;
    if (part == Part::x0) {
      const Space& space = double_.states();
      const std::size_t nt = static_cast<std::size_t>(space.tangent_size()),
                        nx = static_cast<std::size_t>(space.size());
      std::vector<double> d(static_cast<std::size_t>(run.x0_rows) * nt, 0.0);
      for (const auto& [i, s] : move.numbers) d[i] = h * s;
      for (std::size_t r = 0; r < static_cast<std::size_t>(run.start_rows); ++r) {
        const std::size_t given = run.x0_rows == 1 ? 0 : r;
        space.retract(base_.x0.data() + r * nx, d.data() + given * nt, run.x0.data() + r * nx);
      }
    } else {
      std::vector<double>& values = part == Part::controls ? run.controls : run.parameters;
      for (const auto& [i, s] : move.numbers) values[i] += h * s;
    }
    if (beyond_.empty() && std::abs(h) == step_size(kStepSizes - 1)) beyond_ = refused_start(run);
    substeps_.follow();
    const Trajectory<double> trajectory = roll_out(std::move(run), options_.keep_going);
    return {trajectory.states().begin(), trajectory.states().end()};
  }

  double central_difference(Part part, const Move& move, double h) const {
    // Each rollout may be too short to ask by itself.
    if (options_.keep_going && !options_.keep_going()) {
      throw Interrupted("the gradient check was interrupted");
    }
    const std::vector<double> plus = moved_states(part, move, h),
                              minus = moved_states(part, move, -h);
    double sum = 0;
    for (std::size_t i = 0; i < plus.size(); ++i) sum += weights_[i] * (plus[i] - minus[i]);
    return sum / (2 * h);  // (1)
  }

  // The derivative of the loss along `move`, and its own uncertainty.
  std::pair<double, double> difference(Part part, const Move& move) const {
    double D[kStepSizes], R[kStepSizes - 1];
    for (int j = 0; j < kStepSizes; ++j) {
      D[j] = central_difference(part, move, step_size(j));
      if (j > 0) R[j - 1] = (16 * D[j] - D[j - 1]) / 15;  // (2)
    }
    int best = 1;
    const auto gap = [&](int j) {
      const double g = std::abs(R[j] - R[j - 1]);
      return std::isnan(g) ? HUGE_VAL : g;
    };
    for (int j = 2; j < kStepSizes - 1; ++j) {
      if (gap(j) < gap(best)) best = j;
    }
    const double across = R[best];
    int settled = 0;
    for (int j = best + 1; j < kStepSizes - 1; ++j) {
      const double off = std::abs(R[j] - across);
      const bool other = off > kApart * std::max(std::abs(across), kRelativeFloor);
      // Two gaps in a row: one alone is small by chance.
      const bool still = gap(j - 1) < kSettled * off && gap(j) < kSettled * off;
      if (other && still && (settled == 0 || gap(j) < gap(settled))) settled = j;
    }
    if (settled > 0) best = settled;
    return {R[best], gap(best)};
  }

  BlockCheck check_block(const CheckedBlock& block) const {
    const std::vector<double>& g = gradient(block.part);
    std::vector<std::size_t> sample = block.numbers;
    RandomStream random(options_.seed, 1);
    const std::size_t most = static_cast<std::size_t>(std::max(1, options_.numbers_per_block));
    for (std::size_t i = 0; i < std::min(most, sample.size()); ++i) {
      const double r = random.uniform() * static_cast<double>(sample.size() - i);
      std::swap(sample[i], sample[i + static_cast<std::size_t>(r)]);
    }
    sample.resize(std::min(most, sample.size()));

    BlockCheck result;
    double worst = -1, noise = 0;
    const auto compare = [&](double along_gradient, const Move& move, const std::string& name) {
      const auto [reference, uncertainty] = difference(block.part, move);
      noise = std::max(noise, uncertainty);
      result.largest = std::max(result.largest, std::abs(reference));
      const double error = std::abs(along_gradient - reference);
      if (error > worst || std::isnan(error)) {
        worst = std::isnan(error) ? HUGE_VAL : error;
        result.worst = name;
        result.gradient = along_gradient;
        result.difference = reference;
      }
    };
    for (const std::size_t i : sample) {
      const double s = scale(block.part, i);
      // The scaled number z/s is moved; its derivative is s times that of z.
      Move move{{{i, s}}};
      compare(s * g[i], move, number_name(block, i));
    }
    if (block.numbers.size() > 1) {
      Move move;
      double along = 0;
      const double share = 1 / std::sqrt(static_cast<double>(block.numbers.size()));
      for (const std::size_t i : block.numbers) {
        const double s = random.uniform(-1.0, 1.0) * share * scale(block.part, i);
        move.numbers.push_back({i, s});
        along += s * g[i];
      }
      compare(along, move, block.name + " (all, along a random direction)");
    }
    const double reference = std::max(result.largest, kRelativeFloor);
    result.relative_error = worst / reference;
    result.noise = noise / reference;
    return result;
  }

  std::string number_name(const CheckedBlock& block, std::size_t i) const {
    const auto row = [](std::size_t r, std::int64_t rows) {
      return rows > 1 ? message(" of row ", r) : std::string();
    };
    switch (block.part) {
      case Part::x0: {
        const std::size_t nt = static_cast<std::size_t>(system_.states().tangent_size());
        return message("x0.", system_.states().tangent_name(static_cast<int>(i % nt)),
                       row(i / nt, base_.x0_rows));
      }
      case Part::controls: {
        const std::size_t nu = static_cast<std::size_t>(system_.inputs().size()),
                          per_run = nu * static_cast<std::size_t>(base_.steps);
        return message("controls.", system_.inputs().tangent_name(static_cast<int>(i % nu)),
                       " at step ", i % per_run / nu, row(i / per_run, base_.control_rows));
      }
      case Part::params: break;
    }
    const std::size_t np = static_cast<std::size_t>(system_.parameters().size());
    return message("params.", system_.parameters().number_name(static_cast<int>(i % np)),
                   row(i / np, base_.parameter_rows));
  }

  std::string describe(const GradientCheck& result) const {
    std::string text;
    char line[200];
    std::snprintf(line, sizeof line, "%-32s %12s %12s %12s\n", "block", "rel. error", "noise",
                  "largest");
    text += line;
    std::string noisy, wrong;
    for (const auto& [name, b] : result.by_block) {
      std::snprintf(line, sizeof line, "%-32s %12.2e %12.2e %12.4g%s\n", name.c_str(),
                    b.relative_error, b.noise, b.largest,
                    b.relative_error > result.tolerance ? "   <-" : "");
      text += line;
      if (b.relative_error <= result.tolerance) continue;
      const bool inconclusive = b.noise >= std::min(0.1 * b.relative_error, result.tolerance);
      std::snprintf(line, sizeof line, "  %s: gradient %.10g, differences %.10g\n", b.worst.c_str(),
                    b.gradient, b.difference);
      (inconclusive ? noisy : wrong) += line;
    }
    if (result.ok) {
      std::snprintf(line, sizeof line,
                    "The gradient agrees with central differences (tolerance %.0e%s).\n",
                    result.tolerance, substeps_held_ ? ", substeps held" : "");
      return text + line;
    }
    if (!wrong.empty()) {
      text += "The gradient does NOT agree with central differences:\n" + wrong +
              "A pullback is wrong, or the step is not smooth there.\n";
    }
    if (!noisy.empty()) {
      text += "Inconclusive, the differences disagree among themselves:\n" + noisy +
              "Check fewer steps, or a smoother part of the motion.\n";
    }
    return text;
  }

  const System& system_;
  System double_;
  const CheckOptions& options_;
  Run<double> base_;
  std::vector<double> weights_;
  Gradient<double> gradient_;
  std::vector<Crowded> crowded_;
  mutable std::string beyond_;   // what the law says to the nearest starts of differences
  mutable SubstepLog substeps_;  // of an adaptive integrator
  bool substeps_held_ = false;
};

}  // namespace

GradientCheck check_gradient(const System& system, std::span<const double> x0,
                             const Controls<double>& controls, std::span<const double> params,
                             const CheckOptions& options) {
  return Checker(system, x0, controls, params, options).check();
}

}  // namespace cycloid::inline adjoint
