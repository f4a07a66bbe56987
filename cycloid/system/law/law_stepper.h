// LawStepper: a law and an integrator in the lanes of one scalar S, as a Stepper.
//
// S is double or float (a lone environment), Pack<T, W> (W environments), or Dual<Pack<double, W>,
// 1> (W environments and, in the W lanes behind them, one tangent of each). The same text serves
// all. What the integrator offers is in scheme.h.
//
// Parameters: the law's own, then the time step h. Their cotangents are summed in S over a few
// steps, then in double. Workspace: a count of those steps, the lanes' notes, the sums in double
// (first, because S may need less alignment than they do), and in numbers of S
//   [ p (parameters + 1) | their cotangents since the last sum | record of a step whose caller
//   keeps
//     none | x⁺ for explain | scratch of the integrator and of a law of run-time size ]
// A law with events has the memory of its event_lanes.h behind that, and one number more in its
// record: whether the lane went its own way.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "cycloid/math/pack.h"
#include "cycloid/system/event/event_lanes.h"
#include "cycloid/system/integrator/discrete.h"
#include "cycloid/system/integrator/reversible.h"
#include "cycloid/system/integrator/scheme.h"
#include "cycloid/system/lane_sums.h"

namespace cycloid::inline system {

template <class Law, class Scheme, class S>
class LawStepper final : public Stepper<Scalar<S>>,
                         public std::conditional_t<is_reversible<Scheme>() && !HasEvents<Law>,
                                                   Reversible<Scalar<S>>, Irreversible<Scalar<S>>> {
 public:
  using T = Scalar<S>;

  explicit LawStepper(const Law& law, const Scheme& scheme = {})
      : Stepper<T>(sizes_of(law, scheme)), law_(law), scheme_(scheme), shape_(law) {}

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    const Layout at(shape_, workspace);
    std::memcpy(static_cast<void*>(at.p), p.lanes, sizeof(S) * parameters());
    std::memset(static_cast<void*>(at.p_sum), 0, sizeof(Accumulator<S>) * parameters());
    set_zero(at.p_bar, shape_.parameters + 1);
    *at.pending = 0;
    for (int l = 0; l < kNotes; ++l) at.notes[l] = {};
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    const Layout at(shape_, workspace);
    S* out = reinterpret_cast<S*>(x_next);
    StepInputs inputs(shape_, in, at);
    S* const own_record = record ? record->numbers<S>() : at.record;
    const LawPoint<Law, S> here = point(in, at, inputs);
    for (int l = 0; l < kNotes; ++l) at.notes[l].counters = {};
    if constexpr (divides_steps<Scheme>()) {
      if (scheme_.log) scheme_.log->begin_step(static_cast<double>(lane(primal(here.t), 0)));
    }
    if constexpr (HasEvents<Law>) {
      event_lanes(at).step(in, here, out, own_record, own_record[record_numbers<Scheme>(shape_)]);
    } else if (kGivesSamples && in.samples) {
      step_sampled(here, in, out, own_record);
    } else {
      scheme_.step(here, reinterpret_cast<const S*>(in.x), out, own_record);
    }
    auto finite = finite_lanes(out[0]);
    for (int i = 1; i < shape_.states; ++i) finite = finite & finite_lanes(out[i]);
    if (!all(finite)) return StepStatus::non_finite;
    for (int l = 0; l < kNotes; ++l) {
      if (at.notes[l].residual > 0) return StepStatus::short_of;
    }
    return StepStatus::ok;
  }

  // The step of length -h from the time at which step in.step ended.
  void step_back([[maybe_unused]] const StepInput<T>& in, [[maybe_unused]] T* x_before,
                 [[maybe_unused]] StepWorkspace& workspace) const override {
    if constexpr (is_reversible<Scheme>()) {
      const Layout at(shape_, workspace);
      StepInputs inputs(shape_, in, at);
      StepInput<T> end = in;
      ++end.step;
      LawPoint<Law, S> back = point(end, at, inputs);
      back.h = -back.h;
      scheme_.step(back, reinterpret_cast<const S*>(in.x), reinterpret_cast<S*>(x_before),
                   at.record);
    }
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    const Layout at(shape_, workspace);
    StepInputs inputs(shape_, in, at);
    // Cotangents of this step in arrays of its own, for the same reason as StepInputs.
    LocalArray<S, LawShape<Law>::kTangents> own_x_bar(inputs.scratch, shape_.tangents);
    LocalArray<S, LawShape<Law>::kInputs> own_u_bar(inputs.scratch, shape_.inputs);
    LocalArray<S, LawShape<Law>::kParameters> own_p_bar(inputs.scratch, shape_.parameters);
    S *x_out = reinterpret_cast<S*>(x_bar), *u_out = reinterpret_cast<S*>(u_bar);
    for (int i = 0; i < shape_.tangents; ++i) own_x_bar[i] = x_out[i];
    set_zero(own_u_bar.data(), shape_.inputs);
    set_zero(own_p_bar.data(), shape_.parameters);
    LawPointBar<S> bar{S(0), S(0), own_u_bar.data(), own_p_bar.data()};
    const LawPoint<Law, S> here = point(in, at, inputs);
    const S *x = reinterpret_cast<const S*>(in.x), *own_record = record.numbers<const S>(),
            *next_bar = reinterpret_cast<const S*>(x_next_bar);
    {
      // What this gives to parameters of others could not be replaced below.
      const WithoutOthers<Law> own(law_, goes_its_own_way(in, own_record));
      if constexpr (kGivesSamples) {
        const SampleLanes<S> samples = in.samples ? lanes_of(*in.samples) : SampleLanes<S>{};
        scheme_.step_sampled_pullback(here, x, own_record, next_bar, samples, bar,
                                      own_x_bar.data());
      } else {
        scheme_.step_pullback(here, x, own_record, next_bar, bar, own_x_bar.data());
      }
    }
    if constexpr (HasEvents<Law>) {
      event_lanes(at).pull_back(
          in, point(in, at, inputs), own_record[record_numbers<Scheme>(shape_)],
          reinterpret_cast<const S*>(x_next_bar), x_out, bar, own_x_bar.data());
    }
    for (int i = 0; i < shape_.tangents; ++i) x_out[i] = own_x_bar[i];
    for (int i = 0; i < shape_.inputs; ++i) u_out[i] += own_u_bar[i];
    for (int i = 0; i < shape_.parameters; ++i) at.p_bar[i] += own_p_bar[i];
    // t = t0 + k h; a part of the step ends at a time of its own, t + part.
    const S t_bar = in.part > 0 ? bar.t - bar.h : bar.t;
    at.p_bar[shape_.parameters] +=
        (in.part > 0 ? S(0) : bar.h) + S(static_cast<T>(in.step)) * t_bar;
    if (++*at.pending == kStepsPerSum) add_to_sums(at);
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    const Layout at(shape_, workspace);
    add_to_sums(at);
    std::memcpy(p_bar, at.p_sum, sizeof(Accumulator<S>) * parameters());
  }

  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return kNotes > 0 ? Layout(shape_, workspace).notes : nullptr;
  }

  std::shared_ptr<const Stepper<T>> following([[maybe_unused]] SubstepLog* log) const override {
    if constexpr (divides_steps<Scheme>()) {
      Scheme scheme = scheme_;
      scheme.log = log;
      return std::make_shared<LawStepper>(law_, scheme);
    }
    return nullptr;
  }

  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override;

  std::span<const StepEvent> events(const StepWorkspace& workspace) const override {
    if constexpr (HasEvents<Law>) {
      return event_lanes(Layout(shape_, workspace)).events();
    }
    return {};
  }

 private:
  static constexpr bool kGivesSamples = gives_samples<Scheme>() && !HasEvents<Law>;
  static constexpr int kNotes = gives_notes<Scheme>() ? static_cast<int>(sizeof(S) / sizeof(T)) : 0;
  static constexpr std::size_t kNoteBytes = (kNotes * sizeof(LaneNote) + kWorkspaceAlignment - 1) /
                                            kWorkspaceAlignment * kWorkspaceAlignment;

  std::size_t parameters() const { return static_cast<std::size_t>(shape_.parameters) + 1; }

  struct Layout {
    Layout(const LawShape<Law>& shape, const StepWorkspace& of)
        : Layout(shape, LaneWorkspace::memory(of)) {}
    Layout(const LawShape<Law>& shape, std::byte* w)
        : pending(reinterpret_cast<std::int64_t*>(w)),
          notes(reinterpret_cast<LaneNote*>(w + kWorkspaceAlignment)),
          p_sum(reinterpret_cast<Accumulator<S>*>(w + kWorkspaceAlignment + kNoteBytes)),
          p(reinterpret_cast<S*>(p_sum + shape.parameters + 1)),
          p_bar(p + shape.parameters + 1),
          record(p_bar + shape.parameters + 1),
          x_next(record + recorded(shape)),
          scratch(reinterpret_cast<std::byte*>(x_next + shape.states)) {}
    std::int64_t* pending;  // steps in p_bar
    LaneNote* notes;
    Accumulator<S>* p_sum;
    S* p;
    S* p_bar;
    S* record;
    S* x_next;
    std::byte* scratch;
  };

  static int recorded(const LawShape<Law>& shape) {
    return record_numbers<Scheme>(shape) + (HasEvents<Law> ? 1 : 0);
  }

  // Of a law that has cotangents of others, one environment at a time (event_walk.h).
  bool goes_its_own_way([[maybe_unused]] const StepInput<T>& in,
                        [[maybe_unused]] const S* record) const {
    if constexpr (HasEvents<Law> && WithoutOthers<Law>::kApplies) {
      static_assert(sizeof(S) == sizeof(T));
      return record[record_numbers<Scheme>(shape_)] != S(0) || (in.ended && in.ended[0]);
    }
    return false;
  }

  static StepperSizes sizes_of(const Law& law, const Scheme& scheme) {
    const LawShape<Law> shape(law);
    StepperSizes s;
    s.lanes = static_cast<int>(sizeof(S) / sizeof(T));
    s.state = shape.states;
    s.tangent = shape.tangents;
    s.input = shape.inputs;
    s.parameters = shape.parameters + 1;
    s.record = recorded(shape);
    s.record_is_costly = record_is_costly<Scheme>();
    s.has_events = HasEvents<Law>;
    s.takes_parts = ContinuousLaw<Law>;
    s.gives_samples = kGivesSamples;
    const std::size_t numbers = 2 * static_cast<std::size_t>(s.parameters) + s.record + s.state +
                                scratch_numbers(scheme, shape);
    s.workspace = kWorkspaceAlignment + kNoteBytes + numbers * sizeof(S) +
                  s.parameters * sizeof(Accumulator<S>);
    if constexpr (HasEvents<Law>) {
      s.workspace += EventLanes<Law, Scheme, S>::bytes(shape, scheme);
    }
    return s;
  }

  static SampleLanes<S> lanes_of(const StepSamples<T>& samples) {
    return {samples.offsets, reinterpret_cast<S*>(samples.states),
            reinterpret_cast<const S*>(samples.bar)};
  }
  void step_sampled(const LawPoint<Law, S>& here, const StepInput<T>& in, S* out, S* record) const {
    if constexpr (kGivesSamples) {
      scheme_.step_sampled(here, reinterpret_cast<const S*>(in.x), out, record,
                           lanes_of(*in.samples));
    }
  }

  EventLanes<Law, Scheme, S> event_lanes(const Layout& at) const {
    return {law_, scheme_, shape_, at.scratch + sizeof(S) * scratch_numbers(scheme_, shape_)};
  }

  // Steps whose parameter cotangents are summed in S before the sum in double takes them over: few
  // enough that a float sum loses no more than the steps themselves did.
  static constexpr std::int64_t kStepsPerSum = 16;

  void add_to_sums(const Layout& at) const {
    for (int i = 0; i <= shape_.parameters; ++i) at.p_sum[i].add(at.p_bar[i]);
    set_zero(at.p_bar, shape_.parameters + 1);
    *at.pending = 0;
  }

  // Copies of a step's input and parameters that no other pointer reaches: what the law computes
  // from them alone can then be computed once per step, and stay in registers.
  struct StepInputs {
    CYCLOID_INLINE StepInputs(const LawShape<Law>& shape, const StepInput<T>& in, const Layout& at)
        : scratch{at.scratch}, u(scratch, shape.inputs), p(scratch, shape.parameters) {
      for (int i = 0; i < shape.inputs; ++i) u[i] = reinterpret_cast<const S*>(in.u)[i];
      for (int i = 0; i < shape.parameters; ++i) p[i] = at.p[i];
    }
    Scratch scratch;
    LocalArray<S, LawShape<Law>::kInputs> u;
    LocalArray<S, LawShape<Law>::kParameters> p;
  };

  CYCLOID_INLINE LawPoint<Law, S> point(const StepInput<T>& in, const Layout& at,
                                        StepInputs& inputs) const {
    const S h = at.p[shape_.parameters];
    return {law_,
            shape_,
            time_of_step(in.t0, in.step, h),
            in.part > 0 ? S(static_cast<T>(in.part)) : h,
            inputs.u.data(),
            inputs.p.data(),
            inputs.scratch,
            kNotes > 0 ? at.notes : nullptr,
            in.ended};
  }

  Law law_;
  [[no_unique_address]] Scheme scheme_;
  LawShape<Law> shape_;
};

// Runs the step again and names the first stage whose x_dot is not finite in this lane.
template <class Law, class Scheme, class S>
StepTrouble LawStepper<Law, Scheme, S>::explain(const StepInput<T>& in, int lane,
                                                StepWorkspace& workspace) const {
  const Layout at(shape_, workspace);
  step(in, reinterpret_cast<T*>(at.x_next), nullptr, workspace);
  const Space space(state_specs(law_));
  if constexpr (HasEvents<Law>) {
    StepInputs inputs(shape_, in, at);
    StepTrouble trouble = event_lanes(at).explain(in, point(in, at, inputs), lane);
    if (!trouble.reason.empty()) return trouble;
  }
  const auto finite = [&](const S* numbers, int i) {
    const T x = reinterpret_cast<const T*>(numbers + i)[lane];
    return x - x == T(0);
  };
  if constexpr (requires { scheme_.explain(at.record, lane); }) {
    StepTrouble trouble = scheme_.explain(at.record, lane);
    if (!trouble.reason.empty()) return trouble;
  }
  if constexpr (requires { Scheme::kStages; }) {
    for (int s = 0; s < Scheme::kStages; ++s) {
      const S* f = at.record + s * (shape_.tangents + shape_.saved);
      for (int i = 0; i < shape_.tangents; ++i) {
        if (!finite(f, i)) {
          return {std::string(Scheme::kName) + " stage " + std::to_string(s + 1),
                  space.tangent_name(i), "its rate of change (x_dot) is not finite"};
        }
      }
    }
  }
  for (int i = 0; i < shape_.states; ++i) {
    if (!finite(at.x_next, i)) {
      return {Scheme::kName, space.block_of(i).name, "its new value is not finite"};
    }
  }
  return {Scheme::kName, "", "a tangent of the new state is not finite"};
}

}  // namespace cycloid::inline system
