#include "cycloid/adjoint/linearise.h"

#include <algorithm>
#include <cmath>

#include "cycloid/adjoint/engine.h"
#include "cycloid/adjoint/run_inputs.h"
#include "cycloid/adjoint/sweep.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// The chunk's Jacobians as the stepper finds them; false where it has no way of its own.
template <class T>
bool linearise_at_once(const Run<T>& run, const Sweep<T>& sweep, const StepInput<T>& in,
                       const StepRecord& record, Linearisation<T>& out) {
  const StepperSizes& s = run.stepper->sizes();
  const std::size_t W = static_cast<std::size_t>(s.lanes), n = static_cast<std::size_t>(s.tangent);
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
      one.begin({p}, *buffers.lane_workspace);
    }
    take(in.x, l, s.state, x);
    take(in.u, l, s.input, u);
    // A record in lanes is made of numbers (record.bytes / sizeof(T) / W, W).
    const int numbers = static_cast<int>(record.bytes / sizeof(T)) / map.lanes;
    take(record.numbers<const T>(), l, numbers, own);
    own_record.bytes = static_cast<std::size_t>(numbers) * sizeof(T);
    const std::int64_t first = map.environment(l) * s.tangent;
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
  const StepperSizes& s = run.stepper->sizes();
  const LaneMap& map = sweep.map();
  const std::size_t W = static_cast<std::size_t>(s.lanes);
  const bool params = !out.P.empty();
  LaneBuffer<T> x_next_bar(W * s.tangent), x_bar(W * s.tangent), u_bar(W * s.input);
  LaneBuffer<double> p_bar(params ? W * s.parameters : 0);
  for (int i = 0; i < s.tangent; ++i) {
    std::fill_n(x_next_bar.data(), W * s.tangent, T(0));
    std::fill_n(x_next_bar.data() + i * s.lanes, W, T(1));
    std::fill_n(x_bar.data(), W * s.tangent, T(0));
    std::fill_n(u_bar.data(), W * s.input, T(0));
    if (params) sweep.begin();
    run.stepper->pullback(in, record, x_next_bar.data(), x_bar.data(), u_bar.data(),
                          sweep.workspace());
    scatter(map, x_bar.data(), s.tangent, out.A.data(), s.tangent * s.tangent, i * s.tangent);
    scatter(map, u_bar.data(), s.input, out.B.data(), s.tangent * s.input, i * s.input);
    if (!params) continue;
    run.stepper->finish(sweep.workspace(), p_bar.data());
    for (int l = 0; l < map.active; ++l) {
      T* row = out.P.data() + (map.environment(l) * s.tangent + i) * s.parameters;
      for (int j = 0; j < s.parameters; ++j) row[j] = static_cast<T>(p_bar.data()[j * s.lanes + l]);
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
Linearisation<T> checked_linearise(const System& system, std::span<const T> x, std::span<const T> u,
                                   std::span<const double> params,
                                   const LineariseOptions& options) {
  RolloutOptions rollout_options;
  rollout_options.threads = options.threads;
  rollout_options.t0 = options.t;
  Run<T> run = checked_run(system, x, u.empty() ? Controls<T>(1) : Controls<T>(u, 1), params,
                           rollout_options);
  run.first_step = options.step;
  engine_of<T>(system).plan(run, Memory::all());
  const StepperSizes& s = run.stepper->sizes();
  const std::size_t batch = static_cast<std::size_t>(run.batch);
  Linearisation<T> out;
  out.batch = run.batch;
  out.next.resize(batch * s.state);
  out.A.resize(batch * s.tangent * s.tangent);
  out.B.resize(batch * s.tangent * s.input);
  if (options.params) out.P.resize(batch * s.tangent * s.parameters);
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
  Report report;
  report.collect(said, static_cast<double>(run.batch), system.counters());
  const auto refuse = [](const std::string& reason) {
    throw GradientError(message("the step cannot be linearised: ", reason));
  };
  if (!report.failed.empty()) refuse(describe(report.failed.front()));
  if (!report.unsolved.empty()) refuse(describe(report.unsolved.front()));
  for (const Event& event : events_on(run, tape)) {
    if (event.grazing) refuse(message("a grazing event: ", describe(event)));
  }
  check_derivative(system.states(), out.A, static_cast<std::size_t>(s.tangent), "the state");
  check_derivative(system.states(), out.B, static_cast<std::size_t>(s.input), "the input");
  check_derivative(system.states(), out.P, static_cast<std::size_t>(s.parameters), "a parameter");
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

}  // namespace cycloid::inline adjoint
