#include "cycloid/adjoint/diagnose.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

const double kLarge = std::log(1000.0);
constexpr double kSustained = 0.25;  // share of G that each half of a chaotic run must have
constexpr double kBounded = 0.25;    // states that grow by more than e^(kBounded G) are not bounded
constexpr double kMoves = 1e-2;      // states whose norm changes by less, relatively, stand still

// What one environment's way back showed.
struct Trace : CotangentTrace {
  double sum = 0, first_half = 0;
};

// The cotangent of environment e at its last state that the loss looks at, of unit norm; returns
// the step.
template <class T>
std::int64_t seed(const Trajectory<T>& trajectory, std::span<const T> states_bar, std::int64_t e,
                  std::vector<double>& tangent) {
  const Space& space = trajectory.system().states();
  const auto& saved = trajectory.saved_steps();
  const std::size_t nx = static_cast<std::size_t>(space.size()), S = saved.size();
  std::vector<T> row(tangent.size());
  for (std::size_t s = S; s-- > 0;) {
    if (saved[s] == 0) break;
    const std::size_t at = (static_cast<std::size_t>(e) * S + s) * nx;
    std::fill(row.begin(), row.end(), T(0));
    space.to_tangent(trajectory.states().data() + at, states_bar.data() + at, row.data());
    double scale = 0, norm = 0;
    for (const T v : row) scale = std::max(scale, std::abs(static_cast<double>(v)));
    if (scale == 0) continue;
    for (std::size_t i = 0; i < row.size(); ++i) {
      tangent[i] = static_cast<double>(row[i]) / scale;
      norm += tangent[i] * tangent[i];
    }
    for (double& v : tangent) v /= std::sqrt(norm);
    return saved[s];
  }
  std::fill(tangent.begin(), tangent.end(), 1 / std::sqrt(static_cast<double>(tangent.size())));
  return trajectory.steps();
}

template <class T>
std::vector<Trace> trace_all(const Trajectory<T>& trajectory, std::span<const T> states_bar,
                             const KeepGoing& keep_going, std::vector<double>& growth) {
  const std::size_t tangents =
      static_cast<std::size_t>(trajectory.system().states().tangent_size());
  std::vector<CotangentTrace> found(static_cast<std::size_t>(trajectory.batch()));
  for (std::size_t e = 0; e < found.size(); ++e) {
    found[e].bar.resize(tangents);
    found[e].from = seed(trajectory, states_bar, static_cast<std::int64_t>(e), found[e].bar);
  }
  engine_of<T>(trajectory.system()).trace(trajectory, found, growth, keep_going);
  std::vector<Trace> traces;
  for (CotangentTrace& one : found) {
    const double* const norms =
        growth.data() + traces.size() * static_cast<std::size_t>(trajectory.steps());
    Trace& t = traces.emplace_back(Trace{std::move(one)});
    for (std::int64_t k = t.from - 1; k > t.bad_step; --k) {
      const double log_growth = std::log(std::max(norms[k], std::numeric_limits<double>::min()));
      t.sum += log_growth;  // (2)
      if (2 * k < t.from) t.first_half += log_growth;
    }
  }
  return traces;
}

Verdict judge(const Trace& t) {
  if (t.bad_step >= 0) return Verdict::non_finite;
  if (t.sum < -kLarge) return Verdict::vanishing;
  if (t.sum <= kLarge) return Verdict::fine;
  const bool sustained =
      t.first_half > kSustained * t.sum && t.sum - t.first_half > kSustained * t.sum;
  const double state_growth = std::log(t.largest_state / std::max(t.initial_state, 1e-3));
  const bool moves = t.largest_state - t.smallest_state > kMoves * t.largest_state;
  return sustained && moves && state_growth < kBounded * t.sum ? Verdict::chaotic
                                                               : Verdict::exploding;
}

std::string words(const Diagnosis& d, std::int64_t count, double duration) {
  char text[700];
  const std::string who =
      d.batch == 1 ? "" : message(" in ", count, " of ", d.batch, " environments");
  switch (d.verdict) {
    case Verdict::fine: return "Fine: the cotangent neither explodes nor vanishes over this run.";
    case Verdict::vanishing:
      std::snprintf(text, sizeof text,
                    "Vanishing%s: over %.3g s the cotangent shrinks by more than a thousand. The "
                    "gradient is right, but "
                    "early states and inputs hardly move the loss. Let the loss look at earlier "
                    "states, or shorten "
                    "the run.",
                    who.c_str(), duration);
      return text;
    case Verdict::exploding:
      std::snprintf(text, sizeof text,
                    "Exploding%s: the cotangent grows a thousandfold within about %.3g s. The "
                    "gradient is exact, but "
                    "valid only very near this point: use smaller steps of the optimiser, clip the "
                    "gradient, shorten "
                    "the run, or use Truncate(k).",
                    who.c_str(), d.horizon);
      return text;
    case Verdict::chaotic:
      std::snprintf(text, sizeof text,
                    "Chaotic%s: nearby motions part at about %.3g per second while the states stay "
                    "bounded. Beyond "
                    "about %.3g s the gradient is exact but tells nothing about the loss: shorten "
                    "the run to that, use "
                    "Truncate(k), or fit statistics instead of single motions.",
                    who.c_str(), *std::max_element(d.lyapunov.begin(), d.lyapunov.end()),
                    d.horizon);
      return text;
    case Verdict::non_finite: break;
  }
  const FirstNonFinite& f = *d.first_nonfinite;
  if (f.event) {
    return message("Stopped", who, ": first environment ", f.environment, " at step ", f.step,
                   ", where event ", f.block,
                   " happens ever faster. End the run before; failed = skip leaves it out.");
  }
  return message(
      "Not finite", who, ": first in ", f.forward ? "state " : "the cotangent of ", f.block,
      " of environment ", f.environment, " at step ", f.step, ". ",
      f.forward
          ? "Take a smaller time step or other parameters; failed = skip leaves it out."
          : "The law has no finite derivative there; move the start, or write it so that it has.");
}

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::vanishing: return "vanishing";
    case Verdict::exploding: return "exploding";
    case Verdict::chaotic: return "chaotic";
    case Verdict::non_finite: return "non_finite";
    default: return "fine";
  }
}

template <class T>
Diagnosis diagnose(const Trajectory<T>& trajectory, std::span<const T> states_bar,
                   const KeepGoing& keep_going) {
  if (states_bar.size() != trajectory.states().size()) {
    throw Error(message("states_bar has ", states_bar.size(), " numbers, the saved states have ",
                        trajectory.states().size()));
  }
  check_finite(states_bar, "states_bar", trajectory.system().states().size(),
               &trajectory.system().states());
  const Run<T>& run = trajectory.run();
  if (!run.samples.empty()) {
    throw Error("diagnose looks at states of steps; roll out with save = … in place of times = …");
  }
  const std::size_t batch = static_cast<std::size_t>(run.batch);
  Diagnosis d;
  d.batch = run.batch;
  d.steps = run.steps;
  d.growth.assign(batch * static_cast<std::size_t>(run.steps), 1.0);
  std::vector<Trace> traces = trace_all(trajectory, states_bar, keep_going, d.growth);
  for (const Failure& f : trajectory.report().failed) {
    traces[static_cast<std::size_t>(f.environment)].bad_step = f.step;
    if (d.first_nonfinite) continue;
    d.first_nonfinite = FirstNonFinite{f.environment, f.step, f.body, true, f.stage == kEventStage};
  }
  double largest_exponent = 0;
  for (std::size_t e = 0; e < batch; ++e) {
    const Trace& t = traces[e];
    const double duration = run.step_length(static_cast<std::int64_t>(e)) *
                            static_cast<double>(std::max<std::int64_t>(1, t.from));
    d.lyapunov.push_back(t.bad_step >= 0 ? std::nan("") : t.sum / duration);  // (3)
    if (t.bad_step < 0) largest_exponent = std::max(largest_exponent, t.sum / duration);
    d.verdicts.push_back(judge(t));
    if (t.bad_step >= 0 && !d.first_nonfinite) {
      d.first_nonfinite =
          FirstNonFinite{static_cast<std::int64_t>(e), t.bad_step,
                         run.system.states().tangent_name(t.bad_tangent), false, false};
    }
  }
  d.verdict = *std::max_element(d.verdicts.begin(), d.verdicts.end());
  const Report& report = trajectory.report();
  d.switch_fraction = report.switch_fraction;
  const std::vector<Event>& events = trajectory.events();
  const auto grazing =
      std::find_if(events.begin(), events.end(), [](const Event& e) { return e.grazing; });
  d.reliable = (d.verdict == Verdict::fine || d.verdict == Verdict::vanishing) &&
               report.unsolved.empty() && grazing == events.end();
  d.horizon =
      largest_exponent > 0 ? kLarge / largest_exponent : std::numeric_limits<double>::infinity();
  d.advice = words(d, std::count(d.verdicts.begin(), d.verdicts.end(), d.verdict),
                   run.step_length() * static_cast<double>(run.steps));
  if (!report.unsolved.empty()) {
    d.advice += message(" But ", describe(report.unsolved.front()),
                        "; failed = skip leaves such environments out.");
  }
  if (grazing != events.end()) {
    d.advice += message(" But there is a grazing event, ", describe(*grazing),
                        ", where no derivative exists; failed = skip leaves it out.");
  }
  return d;
}

template Diagnosis diagnose(const Trajectory<float>&, std::span<const float>, const KeepGoing&);
template Diagnosis diagnose(const Trajectory<double>&, std::span<const double>, const KeepGoing&);

}  // namespace cycloid::inline adjoint
