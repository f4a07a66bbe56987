#include "cycloid/adjoint/pushforward.h"

#include <cmath>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/base/error.h"
#include "cycloid/math/dual.h"

namespace cycloid::inline adjoint {
namespace {

using Dual1 = Dual<double, 1>;

// The rows of a direction, checked.
struct Tangents {
  Rows x0, controls, params;  // x0 in coordinates
  std::vector<double> x0_numbers;
};

// Where environment e and its tangent lie among pairs of W rows, `each` environments to a pair.
struct PairRows {
  std::int64_t W, batch, each;
  std::int64_t rows() const { return (batch + each - 1) / each * 2 * W; }
  std::int64_t value(std::int64_t e) const { return e / each * 2 * W + e % each; }
  std::int64_t tangent(std::int64_t e) const { return value(e) + W; }
  // The environment that place i among the values has: its own, or the last one in the padding.
  std::int64_t environment(std::int64_t i) const {
    return std::min(i / W * each + std::min(i % W, each - 1), batch - 1);
  }
};

// Lanes share arrays of parameters and one cotangent of them: environments with their own are
// alone in their pairs.
PairRows pair_rows(const Run<double>& run) {
  const std::int64_t W = double_engine_of(run.system).pair_width(run.system);
  const Parameters& p = run.system.parameters();
  const bool alone = run.parameter_rows > 1 && p.size() > p.lane_size();
  return {W, run.batch, alone ? 1 : W};
}

Rows checked_rows(std::span<const double> part, std::int64_t row, std::int64_t rows,
                  std::int64_t batch, const char* what) {
  const std::size_t n = static_cast<std::size_t>(row);
  const auto fits = [&](std::int64_t count) {
    return part.size() == static_cast<std::size_t>(count) * n;
  };
  if (!part.empty() && !fits(1) && !fits(rows) && !fits(batch)) {
    throw Error(message("direction: ", what, " has ", part.size(), " numbers, expected ",
                        static_cast<std::size_t>(rows) * n, " (or none for zero)"));
  }
  check_finite(part, message("direction: ", what).c_str(),
               static_cast<std::int64_t>(std::max<std::size_t>(1, part.size())), nullptr);
  return {part, n};
}

// x0 as it was given, with its direction; the number of rows of either.
std::vector<Dual1> raw_start(const Run<double>& run, const Rows& x0_tan, std::int64_t rows) {
  const std::size_t nx = static_cast<std::size_t>(run.system.states().size());
  const Rows raw{run.x0_raw, nx};
  std::vector<Dual1> x(static_cast<std::size_t>(rows) * nx);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < nx; ++i) {
      Dual1& to = x[static_cast<std::size_t>(r) * nx + i];
      to = Dual1(raw.of(r)[i]);
      if (!x0_tan.none()) to.tangent[0] = x0_tan.of(r)[i];
    }
  }
  return x;
}

// A direction of x0 in tangents, in the coordinates of x0 as it was given.
std::vector<double> in_coordinates(const Run<double>& run, const Rows& x0_tan) {
  const Space& space = run.system.states();
  const std::size_t nx = static_cast<std::size_t>(space.size()),
                    count = x0_tan.numbers.size() / std::max<std::size_t>(1, x0_tan.row);
  const Rows start{run.x0, nx}, raw{run.x0_raw, nx};
  std::vector<double> out(count * nx);
  for (std::size_t r = 0; r < count; ++r) {
    const std::int64_t e = static_cast<std::int64_t>(r);
    double* to = out.data() + r * nx;
    space.velocity(start.of(e), x0_tan.of(e), to);
    for (const Block& b : space.pieces()) {
      if (b.kind != BlockKind::quaternion) continue;
      const double length =
          std::hypot(std::hypot(raw.of(e)[b.offset], raw.of(e)[b.offset + 1]),
                     std::hypot(raw.of(e)[b.offset + 2], raw.of(e)[b.offset + 3]));
      for (int i = 0; i < 4; ++i) to[b.offset + i] *= length;
    }
  }
  return out;
}

Tangents checked_tangents(const Run<double>& run, const Direction& direction) {
  const System& system = run.system;
  const Space& space = system.states();
  Tangents out;
  if (!direction.x0.empty() && !direction.x0_coordinates.empty()) {
    throw Error("direction: give x0 in tangents or in coordinates, not in both");
  }
  const Rows in_tangents =
      checked_rows(direction.x0, space.tangent_size(), run.x0_rows, run.batch, "x0");
  out.x0_numbers = in_coordinates(run, in_tangents);
  out.x0 = checked_rows(direction.x0_coordinates, space.size(), run.x0_rows, run.batch, "x0");
  if (!in_tangents.none()) out.x0.numbers = out.x0_numbers;
  out.controls = checked_rows(direction.controls, run.steps * system.inputs().size(),
                              std::max<std::int64_t>(1, run.control_rows), run.batch, "controls");
  out.params = checked_rows(direction.params, system.parameters().size(), run.parameter_rows,
                            run.batch, "params");
  return out;
}

// Fills value and tangent rows of one kind of input from the user's rows.
std::vector<double> paired(const PairRows& at, const Rows& values, const Rows& tangents) {
  const std::size_t row = values.row;
  std::vector<double> pairs(static_cast<std::size_t>(at.rows()) * row, 0.0);
  for (std::int64_t e = 0; e < at.rows() / 2; ++e) {
    const std::int64_t from = at.environment(e);
    const std::size_t place = static_cast<std::size_t>(e / at.W * 2 * at.W + e % at.W),
                      width = static_cast<std::size_t>(at.W);
    double *value = pairs.data() + place * row, *tangent = pairs.data() + (place + width) * row;
    if (!values.none()) std::copy_n(values.of(from), row, value);
    if (!tangents.none()) std::copy_n(tangents.of(from), row, tangent);
  }
  return pairs;
}

// The tangents of the states that a run starts in, in coordinates: those of x0 where there is no
// quaternion, else what normalisation leaves of them. A row for every environment, or one.
std::vector<double> start_tangents(const Run<double>& run, const Rows& x0_tan) {
  if (x0_tan.none()) return {};
  if (run.system.states().flat()) return {x0_tan.numbers.begin(), x0_tan.numbers.end()};
  const std::int64_t rows =
      std::max(run.x0_rows, static_cast<std::int64_t>(x0_tan.numbers.size() / x0_tan.row));
  std::vector<Dual1> x = raw_start(run, x0_tan, rows);
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < x.size(); i += x0_tan.row) {
    run.system.states().normalise(x.data() + i);
  }
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i].tangent[0];
  return out;
}

Run<double> paired_run(const Run<double>& run, const Tangents& tangents, const Memory& memory) {
  const PairRows at = pair_rows(run);
  Run<double> pairs(run.system);
  const auto row = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::int64_t inputs = run.system.inputs().size();
  const std::size_t nx = row(run.system.states().size());
  pairs.batch = at.rows();
  pairs.pair_width = at.W;
  pairs.pairs_alone = at.each == 1;
  pairs.steps = run.steps;
  pairs.t0 = run.t0;
  pairs.saved = run.saved;
  pairs.samples = run.samples;
  pairs.sample_times = run.sample_times;
  pairs.sample_parts = run.sample_parts;
  const std::vector<double> start = start_tangents(run, tangents.x0);
  pairs.x0 = paired(at, {run.x0, nx}, {start, nx});
  pairs.x0_raw = pairs.x0;
  pairs.parameters =
      paired(at, {run.parameters, row(run.system.parameters().size())}, tangents.params);
  pairs.x0_rows = pairs.start_rows = pairs.parameter_rows = pairs.batch;
  if (inputs > 0) {
    pairs.controls = paired(at, {run.controls, row(run.steps * inputs)}, tangents.controls);
    pairs.control_rows = pairs.batch;
  }
  pairs.threads = run.threads;
  engine_of<double>(run.system).plan(pairs, memory);
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

// The tangents of every environment's start, (batch, tangents).
std::vector<double> starting_tangents(const Run<double>& run, const Rows& x0_tan) {
  const Space& space = run.system.states();
  const std::size_t nt = static_cast<std::size_t>(space.tangent_size()),
                    nx = static_cast<std::size_t>(space.size());
  std::vector<double> d(static_cast<std::size_t>(run.batch) * nt, 0.0);
  const std::vector<double> start = start_tangents(run, x0_tan);
  const Rows velocity{start, nx}, x{run.x0, nx};
  for (std::int64_t e = 0; e < run.batch && !velocity.none(); ++e) {
    tangent_of_velocity(space, x.of(e), velocity.of(e),
                        d.data() + static_cast<std::size_t>(e) * nt);
  }
  return d;
}

// (1) without either: the Jacobians of every step, applied one after another.
void push_by_jacobians(const Run<double>& run, const Tangents& tangents,
                       const SavedTangents& saved) {
  const Space& space = run.system.states();
  const std::size_t nx = static_cast<std::size_t>(space.size()),
                    nt = static_cast<std::size_t>(space.tangent_size()),
                    nu = static_cast<std::size_t>(run.system.inputs().size()),
                    np = static_cast<std::size_t>(run.system.parameters().size()),
                    batch = static_cast<std::size_t>(run.batch);
  std::vector<double> x(batch * nx), d = starting_tangents(run, tangents.x0), u(batch * nu),
                                     next(nt);
  const Rows start{run.x0, nx}, controls{run.controls, static_cast<std::size_t>(run.steps) * nu};
  const auto row = [](std::size_t e) { return static_cast<std::int64_t>(e); };
  for (std::size_t e = 0; e < batch; ++e) std::copy_n(start.of(row(e)), nx, x.data() + e * nx);
  for (std::int64_t k = 0; k <= run.steps; ++k) {
    for (std::size_t e = 0; e < batch; ++e) {
      saved.take(k, row(e), x.data() + e * nx, d.data() + e * nt);
    }
    if (k == run.steps) break;
    const std::size_t now = static_cast<std::size_t>(k) * nu;
    for (std::size_t e = 0; e < batch && !controls.none(); ++e) {
      std::copy_n(controls.of(row(e)) + now, nu, u.data() + e * nu);
    }
    LineariseOptions options;
    options.params = !tangents.params.none();
    options.t = run.t0;
    options.step = k;
    options.threads = run.threads;
    const Linearisation<double> lin = linearise(run.system, x, u, run.parameters, options);
    for (std::size_t e = 0; e < batch; ++e) {
      const double* u_tan = tangents.controls.none() ? nullptr : tangents.controls.of(row(e)) + now;
      const double* p_tan = tangents.params.none() ? nullptr : tangents.params.of(row(e));
      for (std::size_t i = 0; i < nt; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < nt; ++j) sum += lin.A[(e * nt + i) * nt + j] * d[e * nt + j];
        for (std::size_t j = 0; j < nu && u_tan; ++j)
          sum += lin.B[(e * nt + i) * nu + j] * u_tan[j];
        for (std::size_t j = 0; j < np && p_tan; ++j)
          sum += lin.P[(e * nt + i) * np + j] * p_tan[j];
        next[i] = sum;
      }
      std::copy(next.begin(), next.end(), d.begin() + static_cast<std::ptrdiff_t>(e * nt));
    }
    x = lin.next;
  }
}

// gradient.x0 from gradient.x0_tangent, for values and tangents together: (rows, tangents) each.
void finish_x0(const Run<double>& run, const Rows& x0_tan, HessianProduct& out) {
  const Space& space = run.system.states();
  const std::size_t nx = static_cast<std::size_t>(space.size()),
                    nt = static_cast<std::size_t>(space.tangent_size()),
                    rows = out.gradient.x0_tangent.size() / nt;
  const std::vector<Dual1> raw = raw_start(run, x0_tan, static_cast<std::int64_t>(rows));
  std::vector<Dual1> bar(nt), x_bar(nx);
  for (Gradient<double>* g : {&out.gradient, &out.gradient_tan}) g->x0.assign(rows * nx, 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < nt; ++i) {
      bar[i] = Dual1(out.gradient.x0_tangent[r * nt + i]);
      bar[i].tangent[0] = out.gradient_tan.x0_tangent[r * nt + i];
    }
    std::fill(x_bar.begin(), x_bar.end(), Dual1(0.0));
    space.to_coordinates(raw.data() + r * nx, bar.data(), x_bar.data());
    for (std::size_t i = 0; i < nx; ++i) {
      out.gradient.x0[r * nx + i] = x_bar[i].value;
      out.gradient_tan.x0[r * nx + i] = x_bar[i].tangent[0];
    }
  }
}

// Whether states inside a step come from the step itself, in dual numbers too.
bool dual_takes_parts(const System& system) {
  const auto& dual = system.steppers<double>().dual;
  return dual && dual->sizes().takes_parts;
}

// The run's numbers in double, on the same System in double.
template <class T>
Run<double> run_in_double(const Run<T>& of) {
  Run<double> run(of.system.in_double());
  run.batch = of.batch, run.steps = of.steps;
  run.t0 = of.t0;
  run.threads = of.threads;
  run.x0_raw.assign(of.x0_raw.begin(), of.x0_raw.end());
  run.x0.assign(of.x0.begin(), of.x0.end());
  const std::size_t nx = static_cast<std::size_t>(run.system.states().size());
  for (std::size_t i = 0; i < run.x0.size(); i += nx) run.system.states().normalise(&run.x0[i]);
  run.controls.assign(of.controls.begin(), of.controls.end());
  run.parameters = of.parameters;
  run.x0_rows = of.x0_rows, run.start_rows = of.start_rows;
  run.control_rows = of.control_rows, run.parameter_rows = of.parameter_rows;
  run.saved = of.saved;
  run.samples = of.samples;
  run.sample_times = of.sample_times;
  run.sample_parts = of.sample_parts;
  return run;
}

}  // namespace

void tangent_of_velocity(const Space& space, const double* x, const double* x_tan, double* d) {
  std::fill_n(d, space.tangent_size(), 0.0);
  space.to_tangent(x, x_tan, d);
  for (const Block& b : space.pieces()) {
    if (b.kind != BlockKind::quaternion) continue;
    for (int i = 0; i < 3; ++i) d[b.tangent_offset + i] *= 4;  // velocity is ½ q ⊗ d
  }
}

Pushforward push_run(Run<double> of, const Direction& direction, const Memory& memory,
                     const KeepGoing& keep_going) {
  Pushforward result;
  auto run = std::make_shared<Run<double>>(std::move(of));
  const System& system = run->system;
  result.run_ = run;
  if (!run->samples.empty() && !dual_takes_parts(system)) {
    throw Error(
        "this system's pushforward gives tangents of states of steps; pass save = … in place of "
        "times = …");
  }
  for (const EventSpec& event : system.events()) {
    if (event.effect != EventEffect::end) continue;
    throw GradientError(message("system \"", system.name(), "\" has no pushforward: its event \"",
                                event.name, "\" ends a run; use the pullback of a rollout"));
  }
  const Tangents tangents = checked_tangents(*run, direction);
  result.x0_tan_.assign(tangents.x0.numbers.begin(), tangents.x0.numbers.end());
  const DoubleEngine& engine = double_engine_of(system);
  if (engine.pair_width(system) == 0) {
    engine_of<double>(system).plan(*run, Memory::checkpoints(1));
    const SavedTangents saved(*run, result.states_, result.states_tan_);
    const std::vector<double> start = starting_tangents(*run, tangents.x0);
    const RunTangents along{{start, static_cast<std::size_t>(system.states().tangent_size())},
                            tangents.controls,
                            tangents.params};
    if (!engine.push(*run, along, saved, keep_going)) push_by_jacobians(*run, tangents, saved);
    return result;
  }
  result.pairs_ = std::make_shared<const Trajectory<double>>(
      roll_out(paired_run(*run, tangents, memory), keep_going));
  const Report& report = result.pairs_->report();
  const auto refuse = [&](auto first) {
    first.environment = result.pairs_->run().user_environment(first.environment);
    throw GradientError(
        message("there is no pushforward through a step that failed: ", describe(first)));
  };
  if (!report.failed.empty()) refuse(report.failed.front());
  if (!report.unsolved.empty()) refuse(report.unsolved.front());
  split(pair_rows(*run), result.pairs_->states(),
        run->saved.size() * static_cast<std::size_t>(system.states().size()), result.states_,
        result.states_tan_);
  return result;
}

Pushforward pushforward(const System& given, std::span<const double> x0,
                        const Controls<double>& controls, const Direction& direction,
                        std::span<const double> params, const RolloutOptions& options) {
  return push_run(checked_run(given.in_double(), x0, controls, params, options), direction,
                  options.memory, options.keep_going);
}

template <class T>
Pushforward pushforward(const Trajectory<T>& trajectory, const Direction& direction,
                        bool tangents_only, const KeepGoing& keep_going) {
  const Run<T>& run = trajectory.run();
  const Memory memory = run.plan.cut > 0 ? Memory::truncate(run.plan.cut)
                        : tangents_only  ? Memory::checkpoints(1)
                                         : Memory::automatic();
  return push_run(run_in_double(run), direction, memory, keep_going);
}

template Pushforward pushforward(const Trajectory<float>&, const Direction&, bool,
                                 const KeepGoing&);
template Pushforward pushforward(const Trajectory<double>&, const Direction&, bool,
                                 const KeepGoing&);

HessianProduct Pushforward::pullback(std::span<const double> states_bar,
                                     std::span<const double> states_bar_tan, bool each,
                                     const KeepGoing& keep_going) const {
  const System& system = run_->system;
  if (!pairs_) {
    throw GradientError(message(
        "system \"", system.name(), "\" has no second derivatives: ",
        system.events().empty()
            ? "they need its step and its pullback in dual numbers, in which it has no kernels "
              "(laws of this library, robots and soft bodies have; a law in Python and a flow do "
              "not)"
            : "its events are found by a search, whose derivative is known to first order only"));
  }
  if (!run_->samples.empty()) {
    throw Error(
        "second derivatives are those of states of steps; pass save = … in place of times = …");
  }
  if (states_bar.size() != states_.size() || states_bar_tan.size() != states_.size()) {
    throw Error(message("states_bar and states_bar_tan must have ", states_.size(),
                        " numbers like the states; got ", states_bar.size(), " and ",
                        states_bar_tan.size()));
  }
  check_finite(states_bar, "states_bar", system.states().size(), &system.states());
  check_finite(states_bar_tan, "states_bar_tan", system.states().size(), &system.states());
  const PairRows at = pair_rows(*run_);
  if (each && at.each > 1 && run_->batch > 1 &&
      system.parameters().size() > system.parameters().lane_size()) {
    throw Error(
        "environments share the arrays among these parameters and have one gradient of them; give "
        "each environment a row of parameters of its own for a gradient of its own");
  }
  const std::size_t nx = static_cast<std::size_t>(system.states().size()),
                    row = run_->saved.size() * nx;
  std::vector<double> bar(pairs_->states().size(), 0.0);
  for (std::int64_t e = 0; e < run_->batch; ++e) {
    for (std::size_t i = 0; i < row; ++i) {
      bar[static_cast<std::size_t>(at.value(e)) * row + i] =
          states_bar[static_cast<std::size_t>(e) * row + i];
      bar[static_cast<std::size_t>(at.tangent(e)) * row + i] =
          states_bar_tan[static_cast<std::size_t>(e) * row + i];
    }
  }
  PullbackOptions options;
  options.keep_going = keep_going;
  const Gradient<double> pairs = pairs_->pullback(bar, options);
  HessianProduct out;
  const std::size_t inputs = static_cast<std::size_t>(run_->steps * system.inputs().size()),
                    tangents = static_cast<std::size_t>(system.states().tangent_size()),
                    parameters = static_cast<std::size_t>(system.parameters().size());
  split(at, pairs.x0_tangent, tangents, out.gradient.x0_tangent, out.gradient_tan.x0_tangent);
  split(at, pairs.params, parameters, out.gradient.params, out.gradient_tan.params);
  if (inputs > 0) {
    split(at, pairs.controls, inputs, out.gradient.controls, out.gradient_tan.controls);
  }
  for (Gradient<double>* g : {&out.gradient, &out.gradient_tan}) {
    if (!each) {
      sum_if_shared(g->x0_tangent, run_->x0_rows, tangents);
      sum_if_shared(g->controls, run_->control_rows, inputs);
      sum_if_shared(g->params, run_->parameter_rows, parameters);
    }
    g->recomputed_steps = pairs.recomputed_steps;
  }
  finish_x0(*run_, {x0_tan_, nx}, out);
  return out;
}

}  // namespace cycloid::inline adjoint
