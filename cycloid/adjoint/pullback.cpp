// The way back of a whole batch: what the engine finds (engine.h) becomes the gradient in the
// user's shapes.
#include <cmath>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/adjoint/smoothed.h"
#include "cycloid/base/error.h"
#include "cycloid/system/kernel_source.h"

namespace cycloid::inline adjoint {
namespace {

// Which environments have no part in a gradient.
template <class T>
std::vector<char> without_gradient(const Trajectory<T>& t) {
  std::vector<char> left_out(static_cast<std::size_t>(t.batch()), 0);
  const auto leave_out = [&](const auto& row) {
    left_out[static_cast<std::size_t>(row.environment)] = 1;
  };
  for (const Failure& row : t.report().failed) leave_out(row);
  for (const Unsolved& row : t.report().unsolved) leave_out(row);
  for (const Event& e : t.events()) {
    if (e.grazing) leave_out(e);
  }
  return left_out;
}

// Of x0, in tangents and in the coordinates that the user gave.
template <class T>
void take_x0(const BackwardTask<T>& task, const BackwardParts<T>& parts, Gradient<T>& g) {
  const Run<T>& run = task.run();
  const Space& space = run.system.states();
  const std::size_t nt = static_cast<std::size_t>(space.tangent_size()),
                    nx = static_cast<std::size_t>(space.size()),
                    batch = static_cast<std::size_t>(run.batch),
                    given = static_cast<std::size_t>(run.x0_rows),
                    rows = task.options.each ? batch : given;
  g.x0_tangent.assign(rows * nt, T(0));
  std::vector<double> sum(nt, 0.0);
  for (std::size_t e = 0; e < batch; ++e) {
    for (std::size_t i = 0; i < nt; ++i) {
      if (rows == batch) g.x0_tangent[e * nt + i] = parts.x0_tangent[e * nt + i];
      sum[i] += static_cast<double>(parts.x0_tangent[e * nt + i]);
    }
  }
  if (rows < batch) {
    std::transform(sum.begin(), sum.end(), g.x0_tangent.begin(),
                   [](double v) { return static_cast<T>(v); });
  }
  g.x0.assign(rows * nx, T(0));
  for (std::size_t r = 0; r < rows; ++r) {
    const T* raw = run.x0_raw.data() + (given == 1 ? 0 : r * nx);
    space.to_coordinates(raw, g.x0_tangent.data() + r * nt, g.x0.data() + r * nx);
  }
}

template <class T>
void take_controls(const BackwardTask<T>& task, BackwardParts<T>& parts, Gradient<T>& g) {
  const std::size_t numbers = task.inputs_per_run();
  if (!task.sum_controls()) {
    g.controls = std::move(parts.controls);
    for (std::size_t e = 0; e < parts.left_out.size(); ++e) {
      if (!parts.left_out[e]) continue;
      std::fill_n(g.controls.begin() + static_cast<std::ptrdiff_t>(e * numbers), numbers, T(0));
    }
    return;
  }
  g.controls.assign(numbers, T(0));
  for (std::size_t i = 0; i < numbers; ++i) {
    double sum = 0;
    for (std::int64_t group = 0; group < parts.groups; ++group) {
      sum += parts.sums[static_cast<std::size_t>(group) * numbers + i];
    }
    g.controls[i] = static_cast<T>(sum);
  }
}

template <class T>
void take_parameters(const BackwardTask<T>& task, BackwardParts<T>& parts, Gradient<T>& g) {
  const Parameters& registry = task.run().system.parameters();
  const std::size_t np = static_cast<std::size_t>(registry.size());
  g.params = std::move(parts.params);
  if (!task.own_parameters()) {
    for (std::size_t i = np; i < g.params.size(); ++i) g.params[i % np] += g.params[i];
    g.params.resize(np);
  }
  mark_not_differentiable(registry, g.params);
}

template <class T>
Gradient<T> take_gradient(const BackwardTask<T>& task, BackwardParts<T>& parts) {
  Gradient<T> g;
  for (const std::int64_t n : parts.recomputed) g.recomputed_steps += n;
  for (const double d : parts.drift) g.drift = std::max(g.drift, d);
  if (task.options.x0) take_x0(task, parts, g);
  if (task.options.controls) take_controls(task, parts, g);
  if (task.options.params) take_parameters(task, parts, g);
  return g;
}

}  // namespace

void refuse_failed(const Report& report) {
  if (!report.failed.empty()) {
    throw GradientError(message("there is no gradient through an environment that failed: ",
                                describe(report.failed.front()),
                                "; pass failed = skip to give it a zero gradient"));
  }
  if (!report.unsolved.empty()) {
    throw GradientError(message("there is no gradient through a step that is not solved: ",
                                describe(report.unsolved.front()),
                                "; pass failed = skip to give it a zero gradient"));
  }
}

void mark_not_differentiable(const Parameters& registry, std::vector<double>& rows) {
  for (const Parameter& p : registry.all()) {
    if (p.not_differentiable.empty()) continue;
    for (std::size_t first = 0; first < rows.size();
         first += static_cast<std::size_t>(registry.size())) {
      std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(first) + p.offset, p.size,
                  std::nan(""));
    }
  }
}

template <class T>
Gradient<T> Trajectory<T>::pullback(std::span<const T> states_bar,
                                    const PullbackOptions& options) const {
  if (states_bar.size() != states().size()) {
    throw Error(message("states_bar has ", states_bar.size(), " numbers, the saved states have ",
                        states().size(), " (", batch(), " environments, ", run_->saved.size(),
                        " saved steps, ", system().states().size(), " states)"));
  }
  check_finite(states_bar, "states_bar", system().states().size(), &system().states());
  if (!options.event_times_bar.empty() && options.event_times_bar.size() != events().size()) {
    throw Error(message("event_times_bar has ", options.event_times_bar.size(),
                        " numbers, the trajectory has ", events().size(), " events"));
  }
  check_finite(options.event_times_bar, "event_times_bar", 1, nullptr);
  const bool raise = options.failed == PullbackOptions::Failed::raise;
  if (raise) refuse_failed(report());
  for (const Event& e : events()) {
    if (!raise || !e.grazing) continue;
    throw GradientError(message("there is no gradient through a grazing event: ", describe(e),
                                ", where the state hardly moves through the event's surface; pass "
                                "failed = skip to give it a zero gradient"));
  }
  const GradientMode mode = options.gradient.value_or(system().gradient());
  system().check_gradient_mode(mode);
  if (const auto* smoothed = std::get_if<Smoothed>(&mode)) {
    return pull_back_smoothed(*this, states_bar, *smoothed, options);
  }
  const Engine<T>& engine = engine_of<T>(system());
  if (near_width(mode) != near_width(system().gradient())) {
    if (device_of(system())) {
      throw Error("device: a gradient from a distance is the CPU's: pass it to rollout");
    }
    auto run = std::make_shared<Run<T>>(*run_);
    run->system = system().with_gradient(mode);
    engine.retarget(*run);
    Trajectory<T> other = *this;
    other.run_ = std::move(run);
    return other.pullback(states_bar, options);
  }
  BackwardParts<T> parts;
  parts.left_out = without_gradient(*this);
  const BackwardTask<T> task{*this, options, states_bar.data()};
  engine.backward(task, parts);
  const auto& bad = parts.not_finite;
  const auto first = std::find_if(bad.begin(), bad.end(), [](char b) { return b != 0; });
  if (first != bad.end()) {
    const std::int64_t environment = first - bad.begin();
    if (raise && *first == kDrifted) {
      throw GradientError(message(
          "environment ", environment, ": steps run backwards miss the initial state by ",
          parts.drift[static_cast<std::size_t>(environment)],
          " of its size: the motion is damped or chaotic, and what is lost on the way there cannot "
          "be found on the way back; use memory \"sqrt\", or pass failed = skip to give it a zero "
          "gradient"));
    }
    if (raise) {
      throw GradientError(message(engine.first_not_finite(task, parts, environment),
                                  "; diagnose says more, failed = skip gives it a zero gradient"));
    }
    for (std::size_t i = 0; i < bad.size(); ++i) parts.left_out[i] |= bad[i] != 0;
    engine.backward(task, parts);
  }
  return take_gradient(task, parts);
}

template Gradient<float> Trajectory<float>::pullback(std::span<const float>,
                                                     const PullbackOptions&) const;
template Gradient<double> Trajectory<double>::pullback(std::span<const double>,
                                                       const PullbackOptions&) const;

}  // namespace cycloid::inline adjoint
