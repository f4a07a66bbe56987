#include <limits>

#include "cycloid/adjoint/engine/lane_engine.h"
#include "cycloid/adjoint/engine/sweep.h"

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

// P along the directions that were asked for, as the stepper finds it; false where it cannot.
template <class T>
bool parameters_at_once(const Run<T>& run, const Sweep<T>& sweep, const StepInput<T>& in,
                        const StepRecord& record, Linearisation<T>& out) {
  const auto* const slopes = dynamic_cast<const ParameterSlopes<T>*>(run.stepper);
  if (!slopes || run.parameter_directions.empty()) return false;
  const JacobianSizes s(run.stepper->sizes());
  const std::int64_t numbers = s.tangent * std::ssize(run.parameter_directions);
  LaneBuffer<T> P(static_cast<std::size_t>(run.lanes() * numbers));
  if (!slopes->parameter_jacobian(in, record, run.parameter_directions, P.data(),
                                  sweep.workspace())) {
    return false;
  }
  scatter(sweep.map(), P.data(), numbers, out.P.data(), numbers, 0);
  return true;
}

// Row i of P along the directions that were asked for, from its cotangents of all parameters.
template <class T>
void take_directions(const Run<T>& run, const LaneMap& map, std::int64_t i, const double* p_bar,
                     const std::vector<double>& array_bar, Linearisation<T>& out) {
  const JacobianSizes s(run.stepper->sizes());
  const std::int64_t W = run.lanes(), q = std::ssize(run.parameter_directions);
  for (std::int64_t j = 0; j < q; ++j) {
    for (int l = 0; l < map.active; ++l) {
      double sum = 0;
      for (const auto& [place, value] : run.parameter_directions[static_cast<std::size_t>(j)]) {
        sum += value * (place < s.parameters
                            ? p_bar[place * W + l]
                            : array_bar[static_cast<std::size_t>(place - s.parameters)]);
      }
      out.P[static_cast<std::size_t>((map.environment(l) * s.tangent + i) * q + j)] =
          static_cast<T>(sum);
    }
  }
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
    if (!run.parameter_directions.empty()) {
      take_directions(run, map, i, p_bar.data(), array_bar, out);
      continue;
    }
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

// Makes the step of every chunk and calls visit(sweep, buffers, input of the step, record).
template <class T, class Visit>
RunOutcome for_each_step(const Run<T>& run, T* next, bool wants_parameters,
                         const KeepGoing& keep_going, Visit&& visit) {
  const std::int64_t numbers = run.stepper->sizes().state;
  ChunkTape<T> tape(run);
  std::vector<ChunkReport> said(static_cast<std::size_t>(run.chunks()));
  for_each_task(run, run.chunks(), keep_going,
                [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken& stop) {
                  Sweep<T> sweep(run, tape, buffers, chunk, stop);
                  sweep.want_parameters(wants_parameters);
                  const auto take_next = [&](std::int64_t k, const T* state) {
                    if (k == 1) scatter(sweep.map(), state, numbers, next, numbers, 0);
                  };
                  sweep.forward(take_next, said[static_cast<std::size_t>(chunk)]);
                  sweep.reverse([&](const StepInput<T>& in, const StepRecord& record) {
                    visit(sweep, buffers, in, record);
                  });
                });
  return outcome_of(run, tape, said);
}

// Numbers where a stepper may look at them, or zeros.
LaneBuffer<double> aligned(std::span<const double> numbers, std::int64_t count) {
  LaneBuffer<double> out(static_cast<std::size_t>(count));
  std::fill_n(out.data(), count, 0.0);
  std::copy(numbers.begin(), numbers.end(), out.data());
  return out;
}

// A step, its tape, and the memory of whoever applies it.
class HeldLane final : public HeldStep {
 public:
  HeldLane(const Run<double>& run, std::span<double> next, RunOutcome& outcome)
      : run_(run), sizes_(run.stepper->sizes()), tape_(run), buffers_(run) {
    std::vector<ChunkReport> said(1);
    sweep_ = std::make_unique<Sweep<double>>(run, tape_, buffers_, 0, stop_);
    const auto take_next = [&](std::int64_t k, const double* state) {
      if (k == 1) std::copy_n(state, next.size(), next.data());
    };
    sweep_->forward(take_next, said[0]);
    sweep_->want_parameters(false);
    outcome = outcome_of(run, tape_, said);
  }

  bool push(std::span<const double> x_tan, std::span<const double> u_tan,
            std::span<double> out) override {
    const LaneBuffer<double> dx = aligned(x_tan, sizes_.tangent), du = aligned(u_tan, sizes_.input),
                             found = aligned({}, sizes_.tangent);
    StepTangents<double> along;
    if (!x_tan.empty()) along.x = dx.data();
    if (!u_tan.empty()) along.u = du.data();
    bool known = false;
    sweep_->reverse([&](const StepInput<double>& in, const StepRecord& record) {
      known = run_.stepper->pushforward(in, record, along, found.data(), sweep_->workspace());
    });
    std::copy_n(found.data(), sizes_.tangent, out.data());
    return known;
  }

  void pull(std::span<const double> bar, std::span<double> x_bar,
            std::span<double> u_bar) override {
    const LaneBuffer<double> next_bar = aligned(bar, sizes_.tangent),
                             x_sum = aligned({}, sizes_.tangent), u_sum = aligned({}, sizes_.input);
    sweep_->reverse([&](const StepInput<double>& in, const StepRecord& record) {
      run_.stepper->pullback(in, record, next_bar.data(), x_sum.data(), u_sum.data(),
                             sweep_->workspace());
    });
    for (std::size_t i = 0; i < x_bar.size(); ++i) x_bar[i] += x_sum.data()[i];
    for (std::size_t i = 0; i < u_bar.size(); ++i) u_bar[i] += u_sum.data()[i];
  }

 private:
  const Run<double>& run_;
  const StepperSizes& sizes_;
  StopToken stop_;
  ChunkTape<double> tape_;
  SweepBuffers<double> buffers_;
  std::unique_ptr<Sweep<double>> sweep_;  // begun once: what it found for all steps is kept
};

}  // namespace

template <class T>
RunOutcome LaneEngine<T>::linearise(const Run<T>& run, Linearisation<T>& out,
                                    const KeepGoing& keep_going) const {
  const bool params = run.parameter_jacobian, by_lane = run.stepper->sizes().jacobian_by_lane;
  return for_each_step(run, out.next.data(), params, keep_going,
                       [&](Sweep<T>& sweep, SweepBuffers<T>& buffers, const StepInput<T>& in,
                           const StepRecord& record) {
                         const bool known =
                             (!params || parameters_at_once(run, sweep, in, record, out)) &&
                             (by_lane ? linearise_lanes(run, sweep, buffers, in, record, out)
                                      : linearise_at_once(run, sweep, in, record, out));
                         if (!known) linearise_rows(run, sweep, in, record, out);
                       });
}

template <class T>
RunOutcome LaneEngine<T>::sparse_linearise(const Run<T>& run, SparseLinearisation<T>& out,
                                           const KeepGoing& keep_going) const {
  return for_each_step(
      run, out.next.data(), true, keep_going,
      [&](Sweep<T>& sweep, SweepBuffers<T>&, const StepInput<T>& in, const StepRecord& record) {
        if (run.stepper->sparse_jacobian(in, record, out.A, out.B, sweep.workspace())) return;
        out.A = out.B = {};
      });
}

std::unique_ptr<HeldStep> LaneDoubleEngine::hold(Run<double>& run, std::span<double> next,
                                                 RunOutcome& outcome) const {
  run.plan.keep_records = true;
  run.plan.chunk_record_bytes = std::numeric_limits<std::int64_t>::max();
  return std::make_unique<HeldLane>(run, next, outcome);
}

template RunOutcome LaneEngine<float>::linearise(const Run<float>&, Linearisation<float>&,
                                                 const KeepGoing&) const;
template RunOutcome LaneEngine<double>::linearise(const Run<double>&, Linearisation<double>&,
                                                  const KeepGoing&) const;
template RunOutcome LaneEngine<float>::sparse_linearise(const Run<float>&,
                                                        SparseLinearisation<float>&,
                                                        const KeepGoing&) const;
template RunOutcome LaneEngine<double>::sparse_linearise(const Run<double>&,
                                                         SparseLinearisation<double>&,
                                                         const KeepGoing&) const;

}  // namespace cycloid::inline adjoint
