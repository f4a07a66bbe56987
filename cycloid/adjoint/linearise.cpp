#include "cycloid/adjoint/linearise.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/base/error.h"
#include "cycloid/base/free_memory.h"

namespace cycloid::inline adjoint {
namespace {

// What counts as free where it cannot be read: the memory of a small machine [bytes].
constexpr std::uint64_t kUnknownMemory = std::uint64_t{16} << 30;

// Columns of P.
template <class T>
std::int64_t parameter_columns(const Run<T>& run) {
  if (!run.parameter_jacobian) return 0;
  return run.parameter_directions.empty() ? run.system.parameters().size()
                                          : std::ssize(run.parameter_directions);
}

// Throws Error where dense matrices of so many environments, and a chunk of them in lanes for each
// thread, do not fit.
template <class T>
void check_fits(const Run<T>& run, const LineariseOptions& options) {
  const std::int64_t tangents = run.system.states().tangent_size(),
                     inputs = run.system.inputs().size(),
                     row = tangents + inputs + parameter_columns(run),
                     copies = run.batch + engine_of<T>(run.system).at_once(run);
  const double bytes = static_cast<double>(copies) * static_cast<double>(tangents) *
                       static_cast<double>(row) * sizeof(T),
               most = options.most_bytes > 0
                          ? static_cast<double>(options.most_bytes)
                          : static_cast<double>(free_memory().value_or(kUnknownMemory)) / 2;
  if (bytes <= most) return;
  throw Error(message("dense Jacobians of system \"", run.system.name(), "\" (", tangents,
                      " tangents, ", inputs, " inputs, batch ", run.batch, ") take ", bytes / 1e9,
                      " GB, and ", most / 1e9,
                      " GB may be used; take form \"sparse\" or \"operator\""));
}

// Throws GradientError unless the Jacobian's numbers, (batch, tangents, columns), are finite.
template <class T>
void check_derivative(const Space& states, const std::vector<T>& jacobian, std::size_t columns,
                      const char* by) {
  const std::size_t rows = static_cast<std::size_t>(states.tangent_size());
  T nothing[8] = {};  // sums of 0 · entry: zero unless one is not finite
  for (std::size_t i = 0; i + 8 <= jacobian.size(); i += 8) {
    for (std::size_t j = 0; j < 8; ++j) nothing[j] += T(0) * jacobian[i + j];
  }
  const bool finite = std::all_of(nothing, nothing + 8, [](T x) { return x == T(0); });
  for (std::size_t i = finite ? jacobian.size() / 8 * 8 : 0; i < jacobian.size(); ++i) {
    if (std::isfinite(jacobian[i])) continue;
    throw GradientError(message(
        "the step cannot be linearised: environment ", i / columns / rows, ", the derivative of ",
        states.tangent_name(static_cast<int>(i / columns % rows)), " by ", by, " is not finite"));
  }
}

template <class T>
void check_derivative(const Space& states, const SparseMatrix<T>& jacobian, const char* by) {
  for (std::int64_t i = 0; i < jacobian.rows; ++i) {
    const std::size_t row = static_cast<std::size_t>(i);
    for (std::int64_t e = jacobian.row_start[row]; e < jacobian.row_start[row + 1]; ++e) {
      if (std::isfinite(jacobian.value[static_cast<std::size_t>(e)])) continue;
      throw GradientError(message("the step cannot be linearised: the derivative of ",
                                  states.tangent_name(static_cast<int>(i)), " by ", by,
                                  " is not finite"));
    }
  }
}

template <class T>
void take_directions(std::span<const double> directions, Run<T>& run) {
  const std::size_t all = static_cast<std::size_t>(run.system.parameters().size());
  if (directions.empty()) return;
  if (all == 0 || directions.size() % all != 0) {
    throw Error(message("linearise: directions have ", all, " numbers each, got ",
                        directions.size(), " in all"));
  }
  for (std::size_t j = 0; j < directions.size() / all; ++j) {
    std::vector<DirectionEntry>& own = run.parameter_directions.emplace_back();
    for (std::size_t i = 0; i < all; ++i) {
      const double value = directions[j * all + i];
      if (value != 0) own.push_back({static_cast<std::int64_t>(i), value});
    }
  }
}

// The one step of a run.
template <class T>
Run<T> run_of_step(const System& system, std::span<const T> x, std::span<const T> u,
                   std::span<const double> params, const LineariseOptions& options) {
  RolloutOptions rollout_options;
  rollout_options.threads = options.threads;
  rollout_options.t0 = options.t;
  Run<T> run = checked_run(system, x, u.empty() ? Controls<T>(1) : Controls<T>(u, 1), params,
                           rollout_options);
  run.first_step = options.step;
  run.parameter_jacobian = options.params || !options.directions.empty();
  take_directions(options.directions, run);
  engine_of<T>(system).plan(run, Memory::all());
  return run;
}

[[noreturn]] void no_derivative(const std::string& reason) {
  throw GradientError(message("the step cannot be linearised: ", reason));
}

// Throws GradientError where the step has no derivative.
void check_step(const RunOutcome& outcome, bool unsolved = false) {
  refuse_unfit(outcome.report, unsolved);
  for (const Event& event : outcome.events) {
    if (event.grazing) no_derivative(message("a grazing event: ", describe(event)));
  }
}

template <class T>
Linearisation<T> checked_linearise(const System& system, std::span<const T> x, std::span<const T> u,
                                   std::span<const double> params,
                                   const LineariseOptions& options) {
  const Run<T> run = run_of_step(system, x, u, params, options);
  check_fits(run, options);
  const std::size_t batch = static_cast<std::size_t>(run.batch),
                    tangents = static_cast<std::size_t>(system.states().tangent_size()),
                    inputs = static_cast<std::size_t>(system.inputs().size()),
                    parameters = static_cast<std::size_t>(parameter_columns(run));
  Linearisation<T> out;
  out.batch = run.batch;
  out.next.resize(batch * static_cast<std::size_t>(system.states().size()));
  out.A.resize(batch * tangents * tangents);
  out.B.resize(batch * tangents * inputs);
  out.P.resize(batch * tangents * parameters);
  check_step(engine_of<T>(system).linearise(run, out, options.keep_going), options.unsolved);
  check_derivative(system.states(), out.A, tangents, "the state");
  check_derivative(system.states(), out.B, inputs, "the input");
  check_derivative(system.states(), out.P, parameters, "a parameter");
  return out;
}

template <class T>
void check_one(const Run<T>& run, const char* form) {
  if (run.batch == 1) return;
  throw Error(message("form \"", form, "\" takes one environment; got a batch of ", run.batch));
}

template <class T>
SparseLinearisation<T> checked_sparse(const System& system, std::span<const T> x,
                                      std::span<const T> u, std::span<const double> params,
                                      const LineariseOptions& options) {
  if (options.params || !options.directions.empty())
    throw Error("form \"sparse\" gives A and B, not P");
  const Run<T> run = run_of_step(system, x, u, params, options);
  check_one(run, "sparse");
  SparseLinearisation<T> out;
  out.next.resize(static_cast<std::size_t>(system.states().size()));
  check_step(engine_of<T>(system).sparse_linearise(run, out, options.keep_going));
  const bool known = out.A.rows > 0;
  if (known) {
    check_derivative(system.states(), out.A, "the state");
    check_derivative(system.states(), out.B, "the input");
    return out;
  }
  const std::int64_t tangents = system.states().tangent_size(), inputs = system.inputs().size();
  if (system.states().size() > kMostDenseStates) {
    throw Error(message("system \"", system.name(), "\" does not know which entries of its ",
                        tangents, " x ", tangents, " Jacobian are not zero; above ",
                        kMostDenseStates, " states take form \"operator\""));
  }
  const Linearisation<T> dense = checked_linearise(system, x, u, params, options);
  out.A = sparse_of(dense.A.data(), tangents, tangents);
  out.B = sparse_of(dense.B.data(), tangents, inputs);
  return out;
}

}  // namespace

void refuse_unfit(const Report& report, bool unsolved) {
  if (!report.failed.empty()) no_derivative(describe(report.failed.front()));
  if (!report.unsolved.empty() && !unsolved) no_derivative(describe(report.unsolved.front()));
}

Linearisation<double> linearise(const System& system, std::span<const double> x,
                                std::span<const double> u, std::span<const double> params,
                                const LineariseOptions& options) {
  return checked_linearise(system, x, u, params, options);
}

Linearisation<float> linearise(const System& system, std::span<const float> x,
                               std::span<const float> u, std::span<const double> params,
                               const LineariseOptions& options) {
  return checked_linearise(system, x, u, params, options);
}

SparseLinearisation<double> sparse_linearise(const System& system, std::span<const double> x,
                                             std::span<const double> u,
                                             std::span<const double> params,
                                             const LineariseOptions& options) {
  return checked_sparse(system, x, u, params, options);
}

SparseLinearisation<float> sparse_linearise(const System& system, std::span<const float> x,
                                            std::span<const float> u,
                                            std::span<const double> params,
                                            const LineariseOptions& options) {
  return checked_sparse(system, x, u, params, options);
}

// The step that is applied.
struct StepOperator::State {
  State(const System& of, std::span<const double> x_, std::span<const double> u_,
        std::span<const double> params, const LineariseOptions& given)
      : system(of.in_double()),
        x(x_.begin(), x_.end()),
        u(u_.begin(), u_.end()),
        options(given),
        run(run_of_step<double>(system, x, u, params, given)),
        next(static_cast<std::size_t>(system.states().size())) {
    if (options.params) throw Error("form \"operator\" gives A and B, not P");
    check_one(run, "operator");
    RunOutcome outcome;
    step = double_engine_of(system).hold(run, next, outcome);
    check_step(outcome);
  }

  // A large world's own pushforward uses the step that is held.
  bool pushes_by_duals() const {
    return double_engine_of(system).pair_width(system) > 0 &&
           !system.steppers<double>().one->sizes().spreads;
  }
  // A x_tan + B u_tan in dual numbers, ...
  std::vector<double> push_by_duals(std::span<const double> x_tan,
                                    std::span<const double> u_tan) const {
    RolloutOptions last;
    last.save = Save::last();
    last.memory = Memory::all();
    last.threads = 1;
    last.t0 = run.t0 + static_cast<double>(run.first_step) * run.step_length();
    const Pushforward pushed =
        pushforward(system, x, u.empty() ? Controls<double>(1) : Controls<double>(u, 1),
                    {.x0 = x_tan, .controls = u_tan}, run.parameters, last);
    std::vector<double> out(static_cast<std::size_t>(system.states().tangent_size()));
    tangent_of_velocity(system.states(), pushed.states().data(), pushed.states_tan().data(),
                        out.data());
    return out;
  }

  // ... or by the dense Jacobian, which is made once.
  std::vector<double> push_by_jacobian(std::span<const double> x_tan,
                                       std::span<const double> u_tan) {
    const std::lock_guard<std::mutex> alone(mutex);
    if (!dense) {
      dense =
          std::make_unique<Linearisation<double>>(linearise(system, x, u, run.parameters, options));
    }
    std::vector<double> out(static_cast<std::size_t>(system.states().tangent_size()), 0.0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t j = 0; j < x_tan.size(); ++j) {
        out[i] += dense->A[i * x_tan.size() + j] * x_tan[j];
      }
      for (std::size_t j = 0; j < u_tan.size(); ++j) {
        out[i] += dense->B[i * u_tan.size() + j] * u_tan[j];
      }
    }
    return out;
  }

  System system;
  std::vector<double> x, u;
  LineariseOptions options;
  Run<double> run;
  std::vector<double> next;
  std::unique_ptr<HeldStep> step;
  std::unique_ptr<Linearisation<double>> dense;
  std::mutex mutex;
};

StepOperator::StepOperator(const System& system, std::span<const double> x,
                           std::span<const double> u, std::span<const double> params,
                           const LineariseOptions& options)
    : state_(std::make_shared<State>(system, x, u, params, options)) {}

std::int64_t StepOperator::tangents() const { return state_->system.states().tangent_size(); }
std::int64_t StepOperator::inputs() const { return state_->system.inputs().size(); }
std::span<const double> StepOperator::next() const { return state_->next; }

std::vector<double> StepOperator::push(std::span<const double> x_tan,
                                       std::span<const double> u_tan) const {
  const auto check = [](std::size_t got, std::int64_t expected, const char* what) {
    if (got == 0 || got == static_cast<std::size_t>(expected)) return;
    throw Error(message(what, " has ", got, " numbers, expected ", expected));
  };
  check(x_tan.size(), tangents(), "x_tan");
  check(u_tan.size(), inputs(), "u_tan");
  if (state_->pushes_by_duals()) return state_->push_by_duals(x_tan, u_tan);
  std::vector<double> out(static_cast<std::size_t>(tangents()));
  {
    const std::lock_guard<std::mutex> alone(state_->mutex);
    if (state_->step->push(x_tan, u_tan, out)) return out;
  }
  return state_->push_by_jacobian(x_tan, u_tan);
}

bool StepOperator::has_push() const {
  if (state_->pushes_by_duals()) return true;
  std::vector<double> out(static_cast<std::size_t>(tangents()));
  const std::lock_guard<std::mutex> alone(state_->mutex);
  return state_->step->push({}, {}, out);
}

void StepOperator::pull(std::span<const double> bar, std::span<double> x_bar,
                        std::span<double> u_bar) const {
  if (bar.size() != static_cast<std::size_t>(tangents())) {
    throw Error(message("bar has ", bar.size(), " numbers, expected ", tangents()));
  }
  const std::lock_guard<std::mutex> alone(state_->mutex);
  state_->step->pull(bar, x_bar, u_bar);
}

}  // namespace cycloid::inline adjoint
