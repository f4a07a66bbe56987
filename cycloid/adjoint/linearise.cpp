#include "cycloid/adjoint/linearise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "cycloid/adjoint/engine.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/run_inputs.h"
#include "cycloid/adjoint/sweep.h"
#include "cycloid/base/error.h"
#include "cycloid/base/free_memory.h"

namespace cycloid::inline adjoint {
namespace {

// Sizes of one environment, as numbers whose products do not overflow.
struct JacobianSizes {
  std::int64_t state, tangent, input, parameters;
  std::int64_t all;  // parameters, those in arrays too

  explicit JacobianSizes(const StepperSizes& s)
      : state(s.state),
        tangent(s.tangent),
        input(s.input),
        parameters(s.parameters),
        all(parameters + s.array_numbers()) {}
};

// What counts as free where it cannot be read: the memory of a small machine [bytes].
constexpr std::uint64_t kUnknownMemory = std::uint64_t{16} << 30;

// Throws Error where dense matrices of so many environments, and a chunk of them in lanes for each
// thread, do not fit.
template <class T>
void check_fits(const Run<T>& run, const LineariseOptions& options) {
  const JacobianSizes n(run.stepper->sizes());
  const double row = static_cast<double>(n.tangent + n.input + (options.params ? n.all : 0)),
               copies = static_cast<double>(run.batch) +
                        static_cast<double>(run.lanes()) * static_cast<double>(run.workers()),
               bytes = copies * static_cast<double>(n.tangent) * row * sizeof(T),
               most = options.most_bytes > 0
                          ? static_cast<double>(options.most_bytes)
                          : static_cast<double>(free_memory().value_or(kUnknownMemory)) / 2;
  if (bytes <= most) return;
  throw Error(message("dense Jacobians of system \"", run.system.name(), "\" (", n.tangent,
                      " tangents, ", n.input, " inputs, batch ", run.batch, ") take ", bytes / 1e9,
                      " GB, and ", most / 1e9,
                      " GB may be used; take form \"sparse\" or \"operator\""));
}

// The chunk's Jacobians as the stepper finds them; false where it has no way of its own.
template <class T>
bool linearise_at_once(const Run<T>& run, const Sweep<T>& sweep, const StepInput<T>& in,
                       const StepRecord& record, Linearisation<T>& out) {
  const JacobianSizes s(run.stepper->sizes());
  const std::size_t W = static_cast<std::size_t>(run.lanes()),
                    n = static_cast<std::size_t>(s.tangent);
  LaneBuffer<T> A(W * n * n), B(W * n * static_cast<std::size_t>(s.input));
  if (!run.stepper->jacobian(in, record, A.data(), B.data(), sweep.workspace())) return false;
  scatter(sweep.map(), A.data(), s.tangent * s.tangent, out.A.data(), s.tangent * s.tangent, 0);
  scatter(sweep.map(), B.data(), s.tangent * s.input, out.B.data(), s.tangent * s.input, 0);
  return true;
}

// ... lane by lane, as the stepper of one environment finds them.
template <class T>
bool linearise_lanes(const Run<T>& run, const Sweep<T>& sweep, SweepBuffers<T>& buffers,
                     const StepInput<T>& in, const StepRecord& record, Linearisation<T>& out) {
  const Stepper<T>& one = *run.system.template steppers<T>().one;
  const StepperSizes& s = one.sizes();
  const LaneMap& map = sweep.map();
  if (!buffers.lane_workspace) {
    buffers.lane_workspace = one.make_workspace({});
    buffers.lane_numbers =
        LaneBuffer<T>(static_cast<std::size_t>(s.state + s.input + s.record + s.parameters));
  }
  T *own = buffers.lane_numbers.data(), *x = own + s.record, *u = x + s.state, *p = u + s.input;
  StepRecord own_record;
  own_record.data = reinterpret_cast<std::byte*>(own);
  const auto take = [&](const T* lanes, int l, int count, T* to) {
    for (int i = 0; i < count; ++i) to[i] = lanes[i * map.lanes + l];
  };
  for (int l = 0; l < map.active; ++l) {
    if (l == 0 || run.parameter_rows > 1) {
      take(buffers.parameters.data(), l, s.parameters, p);
      one.begin({p, sweep.parameters().arrays}, *buffers.lane_workspace);
    }
    take(in.x, l, s.state, x);
    take(in.u, l, s.input, u);
    // A record in lanes is made of numbers (record.bytes / sizeof(T) / W, W).
    const int numbers = static_cast<int>(record.bytes / sizeof(T)) / map.lanes;
    take(record.numbers<const T>(), l, numbers, own);
    own_record.bytes = static_cast<std::size_t>(numbers) * sizeof(T);
    const std::int64_t first = map.environment(l) * std::int64_t{s.tangent};
    if (!one.jacobian({x, u, in.step, in.t0, in.wants_parameters}, own_record,
                      out.A.data() + first * s.tangent, out.B.data() + first * s.input,
                      *buffers.lane_workspace)) {
      return false;
    }
  }
  return true;
}

// ... a row at a time: the pullback of the unit cotangent of tangent number i.
template <class T>
void linearise_rows(const Run<T>& run, Sweep<T>& sweep, const StepInput<T>& in,
                    const StepRecord& record, Linearisation<T>& out) {
  const JacobianSizes s(run.stepper->sizes());
  const LaneMap& map = sweep.map();
  const std::int64_t W = run.lanes();
  const bool params = !out.P.empty();
  const auto lanes = [&](std::int64_t n) { return static_cast<std::size_t>(W * n); };
  LaneBuffer<T> x_next_bar(lanes(s.tangent)), x_bar(lanes(s.tangent)), u_bar(lanes(s.input));
  LaneBuffer<double> p_bar(params ? lanes(s.parameters) : 0);
  std::vector<double> array_bar(params ? static_cast<std::size_t>(s.all - s.parameters) : 0);
  std::vector<double*> arrays;
  double* next_array = array_bar.data();
  for (const std::int64_t n : run.stepper->sizes().arrays) {
    arrays.push_back(next_array);
    if (params) next_array += n;
  }
  for (std::int64_t i = 0; i < s.tangent; ++i) {
    std::fill_n(x_next_bar.data(), W * s.tangent, T(0));
    std::fill_n(x_next_bar.data() + i * W, W, T(1));
    std::fill_n(x_bar.data(), W * s.tangent, T(0));
    std::fill_n(u_bar.data(), W * s.input, T(0));
    std::fill(array_bar.begin(), array_bar.end(), 0.0);
    if (params) sweep.begin(arrays.empty() ? nullptr : arrays.data());
    run.stepper->pullback(in, record, x_next_bar.data(), x_bar.data(), u_bar.data(),
                          sweep.workspace());
    scatter(map, x_bar.data(), s.tangent, out.A.data(), s.tangent * s.tangent, i * s.tangent);
    scatter(map, u_bar.data(), s.input, out.B.data(), s.tangent * s.input, i * s.input);
    if (!params) continue;
    run.stepper->finish(sweep.workspace(), p_bar.data());
    for (int l = 0; l < map.active; ++l) {
      T* row = out.P.data() + (map.environment(l) * s.tangent + i) * s.all;
      for (std::int64_t j = 0; j < s.parameters; ++j) {
        row[j] = static_cast<T>(p_bar.data()[j * W + l]);
      }
      std::transform(array_bar.begin(), array_bar.end(), row + s.parameters,
                     [](double v) { return static_cast<T>(v); });
    }
  }
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
  engine_of<T>(system).plan(run, Memory::all());
  // Lanes share arrays of parameters and have one cotangent of them.
  if (options.params && !run.stepper->sizes().arrays.empty()) {
    run.stepper = system.steppers<T>().one.get();
  }
  return run;
}

// Throws GradientError where the step has no derivative.
template <class T>
void check_step(const Run<T>& run, const Tape<T>& tape, std::vector<ChunkReport>& said) {
  Report report;
  report.collect(said, static_cast<double>(run.batch), run.system.counters());
  const auto refuse = [](const std::string& reason) {
    throw GradientError(message("the step cannot be linearised: ", reason));
  };
  if (!report.failed.empty()) refuse(describe(report.failed.front()));
  if (!report.unsolved.empty()) refuse(describe(report.unsolved.front()));
  for (const Event& event : events_on(run, tape)) {
    if (event.grazing) refuse(message("a grazing event: ", describe(event)));
  }
}

template <class T>
Linearisation<T> checked_linearise(const System& system, std::span<const T> x, std::span<const T> u,
                                   std::span<const double> params,
                                   const LineariseOptions& options) {
  const Run<T> run = run_of_step(system, x, u, params, options);
  check_fits(run, options);
  const StepperSizes& s = run.stepper->sizes();
  const std::size_t batch = static_cast<std::size_t>(run.batch),
                    tangent = static_cast<std::size_t>(s.tangent);
  Linearisation<T> out;
  out.batch = run.batch;
  out.next.resize(batch * static_cast<std::size_t>(s.state));
  out.A.resize(batch * tangent * tangent);
  out.B.resize(batch * tangent * static_cast<std::size_t>(s.input));
  const std::size_t parameters = static_cast<std::size_t>(system.parameters().size());
  if (options.params) out.P.resize(batch * tangent * parameters);
  Tape<T> tape(run);
  std::vector<ChunkReport> said(static_cast<std::size_t>(run.chunks()));
  for_each_task(run, run.chunks(), options.keep_going,
                [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken& stop) {
                  Sweep<T> sweep(run, tape, buffers, chunk, stop);
                  sweep.want_parameters(options.params);
                  const auto take_next = [&](std::int64_t k, const T* state) {
                    if (k == 1) scatter(sweep.map(), state, s.state, out.next.data(), s.state, 0);
                  };
                  sweep.forward(take_next, said[static_cast<std::size_t>(chunk)]);
                  sweep.reverse([&](const StepInput<T>& in, const StepRecord& record) {
                    const bool known =
                        !options.params &&
                        (s.jacobian_by_lane ? linearise_lanes(run, sweep, buffers, in, record, out)
                                            : linearise_at_once(run, sweep, in, record, out));
                    if (!known) linearise_rows(run, sweep, in, record, out);
                  });
                });
  check_step(run, tape, said);
  check_derivative(system.states(), out.A, tangent, "the state");
  check_derivative(system.states(), out.B, static_cast<std::size_t>(s.input), "the input");
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
  if (options.params) throw Error("form \"sparse\" gives A and B, not P");
  const Run<T> run = run_of_step(system, x, u, params, options);
  check_one(run, "sparse");
  const StepperSizes& s = run.stepper->sizes();
  SparseLinearisation<T> out;
  out.next.resize(static_cast<std::size_t>(s.state));
  Tape<T> tape(run);
  std::vector<ChunkReport> said(1);
  bool known = false;
  for_each_task(run, 1, options.keep_going,
                [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken& stop) {
                  Sweep<T> sweep(run, tape, buffers, chunk, stop);
                  const auto take_next = [&](std::int64_t k, const T* state) {
                    if (k == 1) std::copy_n(state, s.state, out.next.data());
                  };
                  sweep.forward(take_next, said[0]);
                  sweep.reverse([&](const StepInput<T>& in, const StepRecord& record) {
                    known =
                        run.stepper->sparse_jacobian(in, record, out.A, out.B, sweep.workspace());
                  });
                });
  check_step(run, tape, said);
  if (known) {
    check_derivative(system.states(), out.A, "the state");
    check_derivative(system.states(), out.B, "the input");
    return out;
  }
  if (s.state > kMostDenseStates) {
    throw Error(message("system \"", system.name(), "\" does not know which entries of its ",
                        s.tangent, " x ", s.tangent, " Jacobian are not zero; above ",
                        kMostDenseStates, " states take form \"operator\""));
  }
  const Linearisation<T> dense = checked_linearise(system, x, u, params, options);
  out.A = sparse_of(dense.A.data(), s.tangent, s.tangent);
  out.B = sparse_of(dense.B.data(), s.tangent, s.input);
  return out;
}

}  // namespace

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

// The step, its tape, and the memory of whoever applies it.
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
    run.plan.keep_records = true;
    run.plan.chunk_record_bytes = std::numeric_limits<std::int64_t>::max();
    tape = Tape<double>(run);
    buffers = std::make_unique<SweepBuffers<double>>(run);
    std::vector<ChunkReport> said(1);
    sweep = std::make_unique<Sweep<double>>(run, tape, *buffers, 0, stop);
    const auto take_next = [&](std::int64_t k, const double* state) {
      if (k == 1) std::copy_n(state, next.size(), next.data());
    };
    sweep->forward(take_next, said[0]);
    sweep->want_parameters(false);
    check_step(run, tape, said);
  }

  // Calls visit(input of the step, its record, workspace), alone.
  template <class Visit>
  void with_step(Visit&& visit) {
    const std::lock_guard<std::mutex> alone(mutex);
    sweep->reverse([&](const StepInput<double>& in, const StepRecord& record) {
      visit(in, record, sweep->workspace());
    });
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
  StopToken stop;
  Tape<double> tape;
  std::unique_ptr<SweepBuffers<double>> buffers;
  std::unique_ptr<Sweep<double>> sweep;  // begun once: what it found for all steps is kept
  std::unique_ptr<Linearisation<double>> dense;
  std::mutex mutex;
};

namespace {

// Numbers where a stepper may look at them, or zeros.
LaneBuffer<double> aligned(std::span<const double> numbers, std::int64_t count) {
  LaneBuffer<double> out(static_cast<std::size_t>(count));
  std::fill_n(out.data(), count, 0.0);
  std::copy(numbers.begin(), numbers.end(), out.data());
  return out;
}

}  // namespace

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
  if (state_->system.steppers<double>().dual) return state_->push_by_duals(x_tan, u_tan);
  const LaneBuffer<double> dx = aligned(x_tan, tangents()), du = aligned(u_tan, inputs()),
                           out = aligned({}, tangents());
  bool known = false;
  StepTangents<double> tangents_of_step;
  if (!x_tan.empty()) tangents_of_step.x = dx.data();
  if (!u_tan.empty()) tangents_of_step.u = du.data();
  state_->with_step([&](const StepInput<double>& in, const StepRecord& record,
                        StepWorkspace& workspace) {
    known = state_->run.stepper->pushforward(in, record, tangents_of_step, out.data(), workspace);
  });
  return known ? std::vector<double>(out.data(), out.data() + tangents())
               : state_->push_by_jacobian(x_tan, u_tan);
}

void StepOperator::pull(std::span<const double> bar, std::span<double> x_bar,
                        std::span<double> u_bar) const {
  if (bar.size() != static_cast<std::size_t>(tangents())) {
    throw Error(message("bar has ", bar.size(), " numbers, expected ", tangents()));
  }
  const LaneBuffer<double> next_bar = aligned(bar, tangents()), x_sum = aligned({}, tangents()),
                           u_sum = aligned({}, inputs());
  state_->with_step(
      [&](const StepInput<double>& in, const StepRecord& record, StepWorkspace& workspace) {
        state_->run.stepper->pullback(in, record, next_bar.data(), x_sum.data(), u_sum.data(),
                                      workspace);
      });
  for (std::size_t i = 0; i < x_bar.size(); ++i) x_bar[i] += x_sum.data()[i];
  for (std::size_t i = 0; i < u_bar.size(); ++i) u_bar[i] += u_sum.data()[i];
}

}  // namespace cycloid::inline adjoint
