#include "cycloid/optimise/planning/planner.h"

#include <algorithm>
#include <cmath>

#include "cycloid/adjoint/advance.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/page/number_text.h"

namespace cycloid::inline optimise {
namespace {

// Far from each other and from multiples of any step [s].
constexpr double kTimes[] = {0.0, 0.7312, 13.917};

void check_finite(std::span<const double> values, const char* what, std::int64_t row) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const std::int64_t at = static_cast<std::int64_t>(i);
    throw Error(message(
        "plan: ", what, " must be finite; ",
        row > 0 ? message("step ", at / row, ", number ", at % row) : message("number ", at),
        " is ", values[i]));
  }
}

void check_size(std::size_t got, std::int64_t expected, const char* what, const char* meaning) {
  if (static_cast<std::int64_t>(got) == expected) return;
  throw Error(
      message("plan: ", what, " must have ", expected, " numbers, ", meaning, "; got ", got));
}

// Whether a step from x depends on when it is made.
bool depends_on_time(const System& system, std::span<const double> x,
                     std::span<const double> params, const std::vector<double>& controls,
                     int inputs) {
  const std::span<const double> u(controls.data(), static_cast<std::size_t>(inputs));
  std::vector<double> first;
  for (const double t : kTimes) {
    AdvanceOptions options;
    options.t0 = t;
    options.threads = 1;
    std::vector<double> next = advance(system, x, u, 1, params, options, nullptr).states;
    if (first.empty()) first = next;
    if (next != first) return true;
  }
  return false;
}

System chosen(const System& system, const PlanOptions& options) {
  const System in_double = system.in_double();
  return options.gradient ? in_double.with_gradient(*options.gradient) : in_double;
}

std::vector<double> normalised(const System& system, std::span<const double> x0) {
  std::vector<double> x(x0.begin(), x0.end());
  check_size(x.size(), system.states().size(), "x0", "one for each number of the state");
  check_finite(x, "x0", 0);
  if (!system.states().normalise(x.data())) {
    throw Error("plan: a quaternion of x0 is zero, which is no orientation");
  }
  return x;
}

PlanOptions checked(const System& system, PlanOptions options, std::int64_t T) {
  const int nu = system.inputs().size();
  if (nu == 0) {
    throw Error(message("plan: system \"", system.name(), "\" has no inputs to plan"));
  }
  if (T < 1) throw Error(message("plan: steps must be at least 1; got ", T));
  if (options.iterations < 0) throw Error("plan: iterations must not be negative");
  if (options.time_limit && !(*options.time_limit >= 0)) {
    throw Error("plan: time_limit must not be negative");
  }
  if (!(options.tolerance >= 0) || !(options.constraint_tolerance > 0)) {
    throw Error("plan: tolerances must not be negative");
  }
  if (!options.start.empty()) {
    check_size(options.start.size(), T * nu, "start", "controls (steps, inputs)");
    check_finite(options.start, "start", nu);
  }
  if (!options.start_states.empty()) {
    check_size(options.start_states.size(), (T + 1) * system.states().size(), "start's states",
               "(steps + 1, states)");
    check_finite(options.start_states, "start's states", system.states().size());
  }
  if (options.low.empty() != options.high.empty()) {
    throw Error("plan: bounds have a low and a high");
  }
  if (!options.low.empty()) {
    check_size(options.low.size(), nu, "bounds", "one low for each input");
    check_size(options.high.size(), nu, "bounds", "one high for each input");
    bool any = false;
    for (int i = 0; i < nu; ++i) {
      if (!(options.low[i] <= options.high[i])) {
        throw Error(message("plan: bounds: low must not exceed high; input ", i, " has ",
                            options.low[i], " and ", options.high[i]));
      }
      any = any || std::isfinite(options.low[i]) || std::isfinite(options.high[i]);
    }
    for (std::size_t i = 0; i < options.start.size(); ++i) {
      const int input = static_cast<int>(i) % nu;
      if (options.start[i] >= options.low[input] && options.start[i] <= options.high[input]) {
        continue;
      }
      throw Error(message("plan: bounds exclude the start: at step ", i / nu, " input ", input,
                          " is ", options.start[i], ", not within ", options.low[input], " to ",
                          options.high[input]));
    }
    if (!any) options.low.clear(), options.high.clear();
  }
  if (!options.params.empty()) system.check_parameters(options.params);
  return options;
}

}  // namespace

void Planner::begin_again(std::span<const double> start, std::vector<double> controls) {
  x0 = normalised(system, start);
  options.start = std::move(controls);
  options = checked(system, std::move(options), T);
  best = {};
  begin_ = std::chrono::steady_clock::now();
}

Planner::Planner(const System& given, std::span<const double> start, const Cost& terms,
                 std::int64_t steps, const PlanOptions& asked)
    : system(chosen(given, asked)),
      options(checked(system, asked, steps)),
      T(steps),
      nx(system.states().size()),
      nt(system.states().tangent_size()),
      nu(system.inputs().size()),
      x0(normalised(system, start)),
      params(options.params),
      cost(system, terms, steps, params, options.threads),
      by_time_(depends_on_time(system, x0, params, first_controls(), nu)),
      policy_(system) {
  if (terms.terms.empty()) throw Error("plan: the cost has no terms");
}

std::vector<double> Planner::first_controls() const {
  std::vector<double> u = options.start;
  u.resize(T * nu, 0.0);
  clamp(u);
  return u;
}

void Planner::clamp(std::vector<double>& controls) const {
  if (!bounded()) return;
  for (std::size_t i = 0; i < controls.size(); ++i) {
    controls[i] = std::clamp(controls[i], options.low[i % nu], options.high[i % nu]);
  }
}

bool Planner::roll_out(const std::vector<double>& controls, std::vector<double>& states) {
  RolloutOptions how;
  how.memory = Memory::checkpoints(1);
  how.threads = options.threads;
  how.t0 = options.t0;
  how.keep_going = options.keep_going;
  const Trajectory<double> run = rollout(system, x0, Controls<double>(controls, T), params, how);
  best.steps += T;
  states.assign(run.states().begin(), run.states().end());
  return run.report().failed.empty();
}

std::vector<double> Planner::roll_out_many(const std::vector<double>& controls, std::int64_t rows,
                                           std::vector<double>& states) {
  RolloutOptions how;
  how.memory = Memory::checkpoints(1);
  how.threads = options.threads;
  how.t0 = options.t0;
  how.keep_going = options.keep_going;
  const Trajectory<double> run = rollout(system, x0, Controls<double>(controls, T), params, how);
  best.steps += rows * T;
  states.assign(run.states().begin(), run.states().end());
  std::vector<bool> failed(rows, false);
  for (const Failure& f : run.report().failed) failed[f.environment] = true;
  return costs(states, controls, failed);
}

std::vector<double> Planner::costs(const std::vector<double>& states,
                                   const std::vector<double>& controls,
                                   const std::vector<bool>& failed) {
  const std::int64_t rows = std::ssize(failed);
  std::vector<double> out = cost.values(states, controls, rows, options.keep_going);
  for (std::int64_t r = 0; r < rows; ++r) {
    if (failed[r] || !std::isfinite(out[r])) out[r] = INFINITY;
  }
  return out;
}

void Planner::begin_with_start() {
  best.controls = first_controls();
  if (!roll_out(best.controls, best.states)) {
    throw StartFails(
        "plan: the rollout of the start fails (its states are not finite); give another start, or "
        "a smaller time step");
  }
  best.cost = cost.values(best.states, best.controls, 1)[0];
  if (!std::isfinite(best.cost)) throw StartFails("plan: the cost of the start is not finite");
}

PolicyRollout::Candidates Planner::search(Policy policy, std::span<const double> lengths) {
  best.steps += T * std::ssize(lengths);
  policy.steps = T;
  policy.low = options.low;
  policy.high = options.high;
  return policy_.run(std::move(policy), x0, lengths, params, options.t0, options.threads,
                     options.keep_going);
}

Linearised Planner::linearise_steps(const std::vector<double>& states,
                                    const std::vector<double>& controls) {
  LineariseOptions how;
  how.unsolved = true;
  how.t = options.t0;
  how.threads = options.threads;
  how.keep_going = options.keep_going;
  const auto at = [&](std::span<const double> u) {
    const std::span<const double> x(states.data(), T * nx);
    if (!by_time_) {
      Linearisation<double> all = linearise(system, x, u, params, how);
      return Linearised{std::move(all.next), std::move(all.A), std::move(all.B)};
    }
    Linearised out;
    for (std::int64_t t = 0; t < T; ++t) {
      how.step = t;
      const Linearisation<double> one =
          linearise(system, x.subspan(t * nx, nx), u.subspan(t * nu, nu), params, how);
      out.next.insert(out.next.end(), one.next.begin(), one.next.end());
      out.A.insert(out.A.end(), one.A.begin(), one.A.end());
      out.B.insert(out.B.end(), one.B.begin(), one.B.end());
    }
    return out;
  };
  const Smoothed* const smoothed = std::get_if<Smoothed>(&system.gradient());
  best.steps += T * (smoothed ? smoothed->samples : 1);
  if (!smoothed) return at(controls);
  Linearised mean;
  std::vector<double> noisy(controls.size());
  for (int s = 0; s < smoothed->samples; ++s) {
    RandomStream random(smoothed->seed, static_cast<std::uint32_t>(s));
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      const double width = smoothed->sigma * system.input_width(static_cast<int>(i) % nu);
      noisy[i] = controls[i] + width * random.normal();
    }
    const Linearised one = at(noisy);
    const double share = 1.0 / smoothed->samples;
    mean.A.resize(one.A.size(), 0.0);
    mean.B.resize(one.B.size(), 0.0);
    for (std::size_t i = 0; i < one.A.size(); ++i) mean.A[i] += share * one.A[i];
    for (std::size_t i = 0; i < one.B.size(); ++i) mean.B[i] += share * one.B[i];
  }
  mean.next.assign(states.begin() + nx, states.end());
  return mean;
}

Planner::Stepped Planner::step_all(const std::vector<double>& x, const std::vector<double>& u,
                                   std::int64_t rows) {
  AdvanceOptions how;
  how.threads = options.threads;
  how.t0 = options.t0;
  how.keep_going = options.keep_going;
  best.steps += rows * T;
  Stepped out;
  out.failed.assign(rows * T, false);
  if (!by_time_) {
    Advanced<double> next = advance(system, x, u, 1, params, how, nullptr);
    for (const Failure& f : next.report.failed) out.failed[f.environment] = true;
    out.states = std::move(next.states);
    return out;
  }
  // One time after the other, for all rows at once.
  out.states.resize(x.size());
  std::vector<double> x_t(rows * nx), u_t(rows * nu);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(x.data() + (r * T + t) * nx, nx, x_t.data() + r * nx);
      std::copy_n(u.data() + (r * T + t) * nu, nu, u_t.data() + r * nu);
    }
    how.t0 = options.t0 + static_cast<double>(t) * step_length();
    const Advanced<double> next = advance(system, x_t, u_t, 1, params, how, nullptr);
    for (const Failure& f : next.report.failed) out.failed[f.environment * T + t] = true;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(next.states.data() + r * nx, nx, out.states.data() + (r * T + t) * nx);
    }
  }
  return out;
}

double Planner::step_length() const {
  const Parameters& registry = system.parameters();
  if (!registry.contains(kTimestepName)) return system.timestep();
  const std::vector<double>& values = params.empty() ? registry.default_values() : params;
  return values[static_cast<std::size_t>(registry.find(kTimestepName).offset)];
}

void Planner::add_curvature(const std::vector<double>& states, const std::vector<double>& controls,
                            const Linearised& steps, Expansion& e) {
  const int columns = nt + nu;
  const std::int64_t rows = T * columns;
  // Costates: what a small change of each state costs.
  std::vector<double> costate(e.lx.end() - nt, e.lx.end());
  std::vector<double> bars(rows * nx, 0.0), x(rows * nx), u(rows * nu), x_tan(rows * nt, 0.0),
      u_tan(rows * nu, 0.0);
  for (std::int64_t t = T - 1; t >= 0; --t) {
    for (int c = 0; c < columns; ++c) {
      const std::int64_t row = t * columns + c;
      system.states().to_coordinates(steps.next.data() + t * nx, costate.data(),
                                     bars.data() + row * nx);
      std::copy_n(states.data() + t * nx, nx, x.data() + row * nx);
      std::copy_n(controls.data() + t * nu, nu, u.data() + row * nu);
      (c < nt ? x_tan[row * nt + c] : u_tan[row * nu + c - nt]) = 1;
    }
    std::vector<double> before(e.lx.begin() + t * nt, e.lx.begin() + (t + 1) * nt);
    for (int i = 0; i < nt; ++i) {
      for (int j = 0; j < nt; ++j) before[j] += steps.A[(t * nt + i) * nt + j] * costate[i];
    }
    costate = std::move(before);
  }
  RolloutOptions how;
  how.save = Save::last();
  how.threads = options.threads;
  how.t0 = options.t0;
  how.keep_going = options.keep_going;
  best.steps += rows;
  const Pushforward pushed =
      pushforward(system, x, Controls<double>(u, 1), {.x0 = x_tan, .controls = u_tan}, params, how);
  const std::vector<double> zero(bars.size(), 0.0);
  const Gradient<double> second =
      pushed.pullback(bars, zero, true, options.keep_going).gradient_tan;
  if (e.lux.empty()) e.lux.assign(T * nu * nt, 0.0);
  for (std::int64_t t = 0; t < T; ++t) {
    for (int c = 0; c < columns; ++c) {
      const double *const by_x = second.x0_tangent.data() + (t * columns + c) * nt,
                          *const by_u = second.controls.data() + (t * columns + c) * nu;
      if (c < nt) {
        for (int i = 0; i < nt; ++i) {  // both triangles receive half: exact for rotations too
          e.lxx[(t * nt + i) * nt + c] += 0.5 * by_x[i];
          e.lxx[(t * nt + c) * nt + i] += 0.5 * by_x[i];
        }
        for (int i = 0; i < nu; ++i) e.lux[(t * nu + i) * nt + c] += by_u[i];
      } else {
        for (int i = 0; i < nu; ++i) e.luu[(t * nu + i) * nu + c - nt] += by_u[i];
      }
    }
  }
}

double Planner::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

// Rollouts ask too, but only those that take longer than the interval.
bool Planner::goes_on() {
  const auto now = std::chrono::steady_clock::now();
  if (!options.keep_going || now - asked_ < kPollInterval) return true;
  asked_ = now;
  return options.keep_going();
}

bool Planner::report(double cost_now) {
  best.history.push_back(cost_now);
  best.iterations = static_cast<int>(best.history.size()) - 1;
  if (!goes_on()) return false;
  if (!options.watch) return true;
  return options.watch({.iteration = best.iterations,
                        .most = options.iterations,
                        .cost = best.cost,
                        .seconds = seconds(),
                        .steps = best.steps,
                        .numbers = best.controls});
}

Plan Planner::finish(OptimiserStatus status, const std::string& more) {
  RolloutOptions how;  // nobody is asked: whoever stopped still gets the result
  how.memory = Memory::checkpoints(1);
  how.threads = options.threads;
  how.t0 = options.t0;
  const Trajectory<double> run =
      rollout(system, x0, Controls<double>(best.controls, T), params, how);
  best.steps += T;
  best.states.assign(run.states().begin(), run.states().end());
  const double planned = best.cost;
  best.cost = cost.values(best.states, best.controls, 1)[0];
  best.violation = cost.violation(best.states, best.controls);
  best.status = status;
  best.converged = is_converged(status);
  best.message = more.empty() ? advice(status) : more;
  const auto say = [&](const std::string& text) { best.message += " " + text; };
  if (!run.report().failed.empty()) {
    best.converged = false;
    say(message("The rollout of these controls fails: ", describe(run.report().failed.front())));
  } else if (std::abs(best.cost - planned) > 1e-3 * std::max(std::abs(planned), 1e-12)) {
    say(message("Rolled out without feedback the cost is ", significant(best.cost, 4), ", not ",
                significant(planned, 4),
                ": small errors grow along this trajectory; apply the gains."));
  }
  if (best.violation > options.constraint_tolerance) {
    best.converged = false;
    say(message("Constraints are violated by up to ", best.violation, "."));
  }
  for (const std::string& text : cost.missed(best.states, best.controls)) say(text);
  best.seconds = seconds();
  return std::move(best);
}

}  // namespace cycloid::inline optimise
