#include "cycloid/adjoint/pushforward.h"

#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/run_inputs.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// Row e of an array whose rows all environments may share.
template <class U>
const U* row_of(const std::vector<U>& rows, std::int64_t count, std::int64_t e, std::size_t row) {
  return rows.data() + (count == 1 ? 0 : static_cast<std::size_t>(e) * row);
}

// Where environment e and its tangent lie among pairs of W rows.
struct PairRows {
  std::int64_t W, batch;
  std::int64_t rows() const { return (batch + W - 1) / W * 2 * W; }
  std::int64_t value(std::int64_t e) const { return e / W * 2 * W + e % W; }
  std::int64_t tangent(std::int64_t e) const { return value(e) + W; }
  // The environment that a value row repeats: its own, or the last one in the padding.
  std::int64_t environment(std::int64_t padded) const { return std::min(padded, batch - 1); }
};

PairRows pair_rows(const Run<double>& run) {
  return {run.system.steppers<double>().dual->sizes().lanes / 2, run.batch};
}

void check_direction(std::span<const double> part, std::size_t expected, const char* what) {
  if (!part.empty() && part.size() != expected) {
    throw Error(message("direction: ", what, " has ", part.size(), " numbers, expected ", expected,
                        " (or none for zero)"));
  }
  check_finite(part, message("direction: ", what).c_str(),
               static_cast<std::int64_t>(std::max<std::size_t>(1, part.size())), nullptr);
}

// Fills value and tangent rows of one kind of input from the user's rows.
std::vector<double> paired(const PairRows& at, const std::vector<double>& values,
                           std::span<const double> tangents, std::int64_t count, std::size_t row) {
  std::vector<double> pairs(static_cast<std::size_t>(at.rows()) * row, 0.0);
  for (std::int64_t e = 0; e < at.rows() / 2; ++e) {
    const std::size_t from = count == 1 ? 0 : static_cast<std::size_t>(at.environment(e)) * row;
    const std::size_t value = static_cast<std::size_t>(at.value(e)) * row;
    const std::size_t tangent = static_cast<std::size_t>(at.tangent(e)) * row;
    for (std::size_t i = 0; i < row; ++i) {
      if (!values.empty()) pairs[value + i] = values[from + i];
      if (!tangents.empty()) pairs[tangent + i] = tangents[from + i];
    }
  }
  return pairs;
}

// The tangents of x0 in coordinates.
std::vector<double> x0_velocity(const Run<double>& run, std::span<const double> x0_tan) {
  if (x0_tan.empty()) return {};
  const Space& space = run.system.states();
  std::vector<double> velocity(run.x0.size());
  for (std::int64_t r = 0; r < run.start_rows; ++r) {
    const std::int64_t given = run.x0_rows == 1 ? 0 : r;
    space.velocity(run.x0.data() + r * space.size(), x0_tan.data() + given * space.tangent_size(),
                   velocity.data() + r * space.size());
  }
  return velocity;
}

Run<double> paired_run(const Run<double>& run, const Direction& direction, const Memory& memory) {
  const PairRows at = pair_rows(run);
  Run<double> pairs(run.system);
  pairs.stepper = run.system.steppers<double>().dual.get();
  const StepperSizes& s = pairs.stepper->sizes();
  pairs.batch = at.rows();
  pairs.pair_width = at.W;
  pairs.steps = run.steps;
  pairs.t0 = run.t0;
  pairs.saved = run.saved;
  pairs.x0 = paired(at, run.x0, x0_velocity(run, direction.x0), run.start_rows,
                    static_cast<std::size_t>(s.state));
  pairs.x0_raw = pairs.x0;
  pairs.parameters = paired(at, run.parameters, direction.params, run.parameter_rows,
                            static_cast<std::size_t>(s.parameters));
  pairs.x0_rows = pairs.start_rows = pairs.parameter_rows = pairs.batch;
  if (s.input > 0) {
    pairs.controls =
        paired(at, run.controls, direction.controls, std::max<std::int64_t>(1, run.control_rows),
               static_cast<std::size_t>(run.steps * s.input));
    pairs.control_rows = pairs.batch;
  }
  pairs.threads = run.threads;
  const std::int64_t lane_bytes = static_cast<std::int64_t>(sizeof(double)) * s.lanes;
  pairs.plan = plan_tape(
      memory, {pairs.steps, pairs.chunks(), pairs.workers(), s.kept() * lane_bytes,
               static_cast<std::int64_t>(pairs.stepper->record_bytes()), s.record_is_costly});
  return pairs;
}

// Splits (pairs, row) into values and tangents of the environments.
void split(const PairRows& at, std::span<const double> pairs, std::size_t row,
           std::vector<double>& values, std::vector<double>& tangents) {
  values.resize(static_cast<std::size_t>(at.batch) * row);
  tangents.resize(values.size());
  for (std::int64_t e = 0; e < at.batch; ++e) {
    const std::size_t to = static_cast<std::size_t>(e) * row;
    for (std::size_t i = 0; i < row; ++i) {
      values[to + i] = pairs[static_cast<std::size_t>(at.value(e)) * row + i];
      tangents[to + i] = pairs[static_cast<std::size_t>(at.tangent(e)) * row + i];
    }
  }
}

// (batch, row) summed to one row where the user gave one.
void sum_if_shared(std::vector<double>& rows, std::int64_t count, std::size_t row) {
  if (count > 1 || rows.empty()) return;
  for (std::size_t i = row; i < rows.size(); ++i) rows[i % row] += rows[i];
  rows.resize(row);
}

// (1) without dual kernels: the Jacobians of every step, applied one after another.
void push_by_jacobians(const Run<double>& run, const Direction& direction,
                       std::vector<double>& states, std::vector<double>& states_tan) {
  const Space& space = run.system.states();
  const std::size_t nx = static_cast<std::size_t>(space.size()),
                    nt = static_cast<std::size_t>(space.tangent_size()),
                    nu = static_cast<std::size_t>(run.system.inputs().size()),
                    np = static_cast<std::size_t>(run.system.parameters().size()),
                    batch = static_cast<std::size_t>(run.batch),
                    T = static_cast<std::size_t>(run.steps);
  std::vector<double> x(batch * nx), d(batch * nt, 0.0), u(batch * nu), next(nt);
  for (std::size_t e = 0; e < batch; ++e) {
    const double* row = row_of(run.x0, run.start_rows, static_cast<std::int64_t>(e), nx);
    std::copy_n(row, nx, x.begin() + static_cast<std::ptrdiff_t>(e * nx));
    if (direction.x0.empty()) continue;
    const std::size_t from = run.x0_rows == 1 ? 0 : e * nt;
    std::copy_n(direction.x0.begin() + static_cast<std::ptrdiff_t>(from), nt,
                d.begin() + static_cast<std::ptrdiff_t>(e * nt));
  }
  const std::size_t saved = run.saved.size();
  states.assign(batch * saved * nx, 0.0);
  states_tan.assign(states.size(), 0.0);
  std::size_t next_saved = 0;
  for (std::size_t k = 0; k <= T; ++k) {
    if (next_saved < saved && run.saved[next_saved] == static_cast<std::int64_t>(k)) {
      for (std::size_t e = 0; e < batch; ++e) {
        const std::size_t to = (e * saved + next_saved) * nx;
        std::copy_n(x.data() + e * nx, nx, states.data() + to);
        space.velocity(x.data() + e * nx, d.data() + e * nt, states_tan.data() + to);
      }
      ++next_saved;
    }
    if (k == T) break;
    const auto input = [&](std::size_t e) {
      return (run.control_rows == 1 ? 0 : e * T * nu) + k * nu;
    };
    for (std::size_t e = 0; e < batch; ++e) {
      for (std::size_t j = 0; j < nu; ++j) {
        u[e * nu + j] = run.control_rows == 0 ? 0.0 : run.controls[input(e) + j];
      }
    }
    LineariseOptions options;
    options.params = !direction.params.empty();
    options.t = run.t0;
    options.step = static_cast<std::int64_t>(k);
    options.threads = run.threads;
    const Linearisation<double> lin = linearise(run.system, x, u, run.parameters, options);
    for (std::size_t e = 0; e < batch; ++e) {
      for (std::size_t i = 0; i < nt; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < nt; ++j) sum += lin.A[(e * nt + i) * nt + j] * d[e * nt + j];
        for (std::size_t j = 0; j < nu && !direction.controls.empty(); ++j) {
          const std::size_t from = run.control_rows <= 1 ? k * nu : input(e);
          sum += lin.B[(e * nt + i) * nu + j] * direction.controls[from + j];
        }
        for (std::size_t j = 0; j < np && options.params; ++j) {
          const std::size_t from = run.parameter_rows == 1 ? 0 : e * np;
          sum += lin.P[(e * nt + i) * np + j] * direction.params[from + j];
        }
        next[i] = sum;
      }
      std::copy(next.begin(), next.end(), d.begin() + static_cast<std::ptrdiff_t>(e * nt));
    }
    x = lin.next;
  }
}

}  // namespace

Pushforward pushforward(const System& given, std::span<const double> x0,
                        const Controls<double>& controls, const Direction& direction,
                        std::span<const double> params, const RolloutOptions& options) {
  const System system = given.in_double();
  auto run = std::make_shared<Run<double>>(checked_run(system, x0, controls, params, options));
  const Space& space = system.states();
  check_direction(
      direction.x0,
      static_cast<std::size_t>(run->x0_rows) * static_cast<std::size_t>(space.tangent_size()),
      "x0");
  check_direction(direction.controls,
                  static_cast<std::size_t>(std::max<std::int64_t>(1, run->control_rows) *
                                           run->steps * system.inputs().size()),
                  "controls");
  check_direction(direction.params, run->parameters.size(), "params");

  Pushforward result;
  result.run_ = run;
  if (!run->samples.empty()) {
    throw Error(
        "pushforward gives tangents of states of steps; pass save = … in place of times = …");
  }
  for (const EventSpec& event : system.events()) {
    if (event.effect != EventEffect::end) continue;
    throw GradientError(message("system \"", system.name(), "\" has no pushforward: its event \"",
                                event.name, "\" ends a run; use the pullback of a rollout"));
  }
  if (!system.steppers<double>().dual) {
    push_by_jacobians(*run, direction, result.states_, result.states_tan_);
    return result;
  }
  result.pairs_ = std::make_shared<const Trajectory<double>>(
      roll_out(paired_run(*run, direction, options.memory), options.keep_going));
  const std::vector<Failure>& failed = result.pairs_->report().failed;
  if (!failed.empty()) {
    Failure first = failed.front();
    first.environment = result.pairs_->run().user_environment(first.environment);
    throw GradientError(
        message("there is no pushforward through a step that failed: ", describe(first)));
  }
  split(pair_rows(*run), result.pairs_->states(),
        run->saved.size() * static_cast<std::size_t>(space.size()), result.states_,
        result.states_tan_);
  return result;
}

HessianProduct Pushforward::pullback(std::span<const double> states_bar,
                                     std::span<const double> states_bar_tan) const {
  const System& system = run_->system;
  if (!pairs_ || !system.states().flat()) {
    throw GradientError(
        message("system \"", system.name(), "\" has no second derivatives: ",
                pairs_ ? "its states contain quaternions" : "it has no kernels in dual numbers"));
  }
  if (states_bar.size() != states_.size() || states_bar_tan.size() != states_.size()) {
    throw Error(message("states_bar and states_bar_tan must have ", states_.size(),
                        " numbers like the states; got ", states_bar.size(), " and ",
                        states_bar_tan.size()));
  }
  check_finite(states_bar, "states_bar", system.states().size(), &system.states());
  check_finite(states_bar_tan, "states_bar_tan", system.states().size(), &system.states());
  const PairRows at = pair_rows(*run_);
  const StepperSizes& s = pairs_->run().stepper->sizes();
  const std::size_t row = run_->saved.size() * static_cast<std::size_t>(s.state);
  std::vector<double> bar(pairs_->states().size(), 0.0);
  for (std::int64_t e = 0; e < run_->batch; ++e) {
    for (std::size_t i = 0; i < row; ++i) {
      bar[static_cast<std::size_t>(at.value(e)) * row + i] =
          states_bar[static_cast<std::size_t>(e) * row + i];
      bar[static_cast<std::size_t>(at.tangent(e)) * row + i] =
          states_bar_tan[static_cast<std::size_t>(e) * row + i];
    }
  }
  const Gradient<double> pairs = pairs_->pullback(bar);
  HessianProduct out;
  const std::size_t inputs = static_cast<std::size_t>(run_->steps * s.input);
  split(at, pairs.x0, static_cast<std::size_t>(s.state), out.gradient.x0, out.gradient_tan.x0);
  split(at, pairs.params, static_cast<std::size_t>(s.parameters), out.gradient.params,
        out.gradient_tan.params);
  if (inputs > 0) {
    split(at, pairs.controls, inputs, out.gradient.controls, out.gradient_tan.controls);
  }
  for (Gradient<double>* g : {&out.gradient, &out.gradient_tan}) {
    sum_if_shared(g->x0, run_->x0_rows, static_cast<std::size_t>(s.state));
    sum_if_shared(g->controls, run_->control_rows, inputs);
    sum_if_shared(g->params, run_->parameter_rows, static_cast<std::size_t>(s.parameters));
    g->x0_tangent = g->x0;
    g->recomputed_steps = pairs.recomputed_steps;
  }
  return out;
}

}  // namespace cycloid::inline adjoint
