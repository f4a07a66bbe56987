// Adaptive: one step of the System, made of as many substeps of an embedded pair as its tolerance
// asks for, and its discrete adjoint.
//
//   x_0 = x,  x_{i+1} = Φ(t + Σ_{j<i} h_j, h_i, x_i),  Σ h_i = h,  x⁺ = x_M       (1)
// Φ is the Method (dopri5.h, sdirk4.h); h_i is as step_control.h has it, the last one what remains.
// The input is held over the whole step, which may be as long as the run. Every lane has substeps
// of its own; a lane that has arrived is frozen.
//
// The gradient is that of (1) with h_0 … h_{M-2} held fixed:
//   x̄_i, t̄, ū, p̄ from the pullback of Φ,  h̄ = h̄_{M-1}                           (2)
// A held sequence is a method of the same order, so (2) is the exact derivative of a solution
// near the tolerance, and converges with it. What (2) leaves out, the derivative of the error
// through the choice of h_i, need not be as small as the error: docs/time.md has figures. Where a
// substep is just taken or just not, it does not exist.
//
// Record: M, or why there is none (kTooMany …). The pullback makes the substeps again, bit for bit
// (attempt is one function, never inlined), and keeps at most kPerLevel states on each of a few
// levels: every s-th state of the step, then every s'-th of s, … so that memory does not grow with
// M. M ≤ kPerLevel, which is the rule, costs one forward step more, M ≤ kPerLevel² two.
#pragma once

#include "cycloid/system/integrator/adaptive_samples.h"
#include "cycloid/system/integrator/substep_log.h"

namespace cycloid::inline system {

template <class Method>
struct Adaptive {
  using Pair = Method;
  static constexpr const char* kName = Method::kName;
  static constexpr bool kAdaptive = true, kRecordIsCostly = true;
  static constexpr bool kGivesSamples = true, kGivesNotes = true;
  static constexpr int kPerLevel = 32;
  Tolerances tolerances = {};
  SubstepLog* log = nullptr;  // of a lone environment's steps

  template <class Law>
  static int record_numbers(const LawShape<Law>&) {
    return 1;
  }
  template <class Law>
  std::size_t scratch_numbers(const LawShape<Law>& shape) const {
    const std::size_t slots = static_cast<std::size_t>(levels()) * kPerLevel;
    return slots * slot_numbers(shape.tangents) +
           SubstepLanes<Method, Law, double>::numbers(shape) +
           static_cast<std::size_t>(3 * shape.tangents + Method::stage_numbers(shape)) +
           Method::scratch_numbers(shape);
  }

  template <class Law, class S>
  void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record) const {
    run(at, x, x_next, record, [](const auto&) {});
  }

  // The same, with samples on the way (adaptive_samples.h). Where the step fails, those behind
  // that place are not written.
  template <class Law, class S>
  void step_sampled(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record,
                    const SampleLanes<S>& samples) const {
    LawPoint<Law, S> within = at;
    LocalArray<S, kDynamic> out(within.scratch, at.shape.tangents);
    SampleCursor<S> cursor(samples.offsets, false);
    run(within, x, x_next, record,
        [&](const auto& lanes) { take_samples(lanes, cursor, samples.states, out.data()); });
  }

  // The same, with a call of visit(lanes) after every attempt: lanes.accepted tells in which lanes
  // the substep of length lanes.h_taken from lanes.x_before was taken, which ends in lanes.x; its
  // stages are in lanes.stages, for Method::sample.
  template <class Law, class S, class Visit>
  void run(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record, Visit&& visit) const {
    Scratch scratch = at.scratch;
    SubstepLanes<Method, Law, S> lanes(scratch, at);
    lanes.begin(tolerances, x);
    if (const auto* held = log ? log->substeps(lane_time(at.t), lane_time(at.h)) : nullptr) {
      follow(*held, lanes, visit);
    } else {
      search(lanes, visit);
    }
    const Mask<S> arrived = lanes.status == S(kArrived);
    const S none(std::numeric_limits<Scalar<S>>::quiet_NaN());
    for (int i = 0; i < at.shape.tangents; ++i) x_next[i] = select(arrived, lanes.x[i], none);
    record[0] = select(arrived, lanes.count, lanes.status);
    note_substeps(at, lanes.count, lanes.tried);
  }

  template <class Law, class S>
  void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* record, const S* x_next_bar,
                     LawPointBar<S>& at_bar, S* x_bar) const {
    step_sampled_pullback(at, x, record, x_next_bar, {}, at_bar, x_bar);
  }

  // Without samples it is step_pullback.
  template <class Law, class S>
  void step_sampled_pullback(const LawPoint<Law, S>& at, const S* x, const S* record,
                             const S* x_next_bar, const SampleLanes<S>& samples,
                             LawPointBar<S>& at_bar, S* x_bar) const {
    const int n = at.shape.tangents;
    Scratch scratch = at.scratch;
    LocalArray<S, kDynamic> bar(scratch, n), before_bar(scratch, n), sample_bar(scratch, n),
        k_bar(scratch, Method::stage_numbers(at.shape)),
        slots(scratch, levels() * kPerLevel * slot_numbers(n));
    SubstepLanes<Method, Law, S> lanes(scratch, at);
    SampleCursor<S> cursor(samples.offsets, true);
    for (int i = 0; i < n; ++i) bar[i] = x_next_bar[i];
    const WayBack<Law, S> way{at,           record[0],
                              bar.data(),   before_bar.data(),
                              slots.data(), sample_bar.data(),
                              k_bar.data(), samples.bar,
                              cursor,       at_bar};
    int most = 0;  // M, in the lane that has most
    for (int l = 0; l < kLanes<S>; ++l) {
      most = std::max(most, static_cast<int>(lane(primal(record[0]), l)));
    }
    lanes.begin(tolerances, x);
    if (most > 0) reverse(way, lanes, 0, 0, most);
    for (int i = 0; i < n; ++i) x_bar[i] += bar[i];
  }

  template <class S>
  StepTrouble explain(const S* record, int lane) const {
    const auto word = reinterpret_cast<const Scalar<S>*>(record)[lane];
    return explain_substeps(kName, static_cast<int>(word), tolerances.most_substeps);
  }

 private:
  // Substeps that meet the tolerance.
  template <class Law, class S, class Visit>
  void search(SubstepLanes<Method, Law, S>& lanes, Visit&& visit) const {
    const S to_the_end(std::numeric_limits<Scalar<S>>::max());
    for (int tried = 0; any(lanes.under_way(to_the_end)); ++tried) {
      if (tried == tolerances.most_substeps) lanes.stop(kTooMany);
      lanes.attempt(tolerances, to_the_end);
      if (log && any(lanes.accepted)) log->add(lane_time(lanes.h_taken));
      visit(lanes);
    }
  }

  // Substeps of these lengths, the last one what remains.
  template <class Law, class S, class Visit>
  void follow(const std::vector<double>& lengths, SubstepLanes<Method, Law, S>& lanes,
              Visit&& visit) const {
    for (std::size_t i = 0; any(lanes.status == S(kUnderWay)); ++i) {
      const bool known = i + 1 < lengths.size();
      lanes.take(known ? S(static_cast<Scalar<S>>(lengths[i])) : lanes.at.h);
      visit(lanes);
    }
  }

  template <class S>
  static double lane_time(const S& t) {
    if constexpr (RealScalar<S>) return static_cast<double>(lane(t, 0));
    return 0;
  }

  template <class Law, class S>
  struct WayBack {
    const LawPoint<Law, S>& at;
    const S count;        // M of each lane
    S *bar, *before_bar;  // the cotangent of the state that the way back has reached
    S *slots, *sample_bar, *k_bar;
    const S* samples_bar;  // null: there are none
    SampleCursor<S>& cursor;
    LawPointBar<S>& at_bar;
  };

  int levels() const {
    int levels = 1;
    for (std::int64_t reach = kPerLevel; reach < tolerances.most_substeps; reach *= kPerLevel) {
      ++levels;
    }
    return levels;
  }

  // Pulls back substeps first … first + m - 1; the lanes stand before the first of them.
  template <class Law, class S>
  void reverse(const WayBack<Law, S>& way, SubstepLanes<Method, Law, S>& lanes, int level,
               int first, int m) const {
    const int size = slot_numbers(way.at.shape.tangents);
    const int stride = (m + kPerLevel - 1) / kPerLevel, kept = (m + stride - 1) / stride;
    S* const own = way.slots + level * kPerLevel * size;
    for (int j = 0; j < kept; ++j) lanes.store(own + j * size);  // also where a lane has no such
    const S target = min(way.count, S(stride == 1 ? first + m : first + (kept - 1) * stride));
    while (any(lanes.under_way(target))) {
      lanes.attempt(tolerances, target);
      lanes.store_accepted(own, first, stride, kept);
    }
    for (int j = kept - 1; j >= 0; --j) {
      const int from = first + j * stride;
      lanes.load(own + j * size, from);
      if (stride == 1) {
        pull_substep(way, lanes, from);
      } else {
        reverse(way, lanes, level + 1, from, std::min(stride, first + m - from));
      }
    }
  }

  // (2) for substep i, in the lanes that have it.
  template <class Law, class S>
  void pull_substep(const WayBack<Law, S>& way, SubstepLanes<Method, Law, S>& lanes, int i) const {
    const int n = way.at.shape.tangents;
    const Mask<S> has = S(i) < way.count, last = S(i + 1) == way.count;
    const LawPoint<Law, S> sub = lanes.substep(select(has, lanes.h_taken, S(0)));
    lanes.compute(sub.h);
    for (int j = 0; j < n; ++j) {
      lanes.x_new[j] = select(has, way.bar[j], S(0));
      way.before_bar[j] = S(0);
    }
    set_zero(way.k_bar, Method::stage_numbers(way.at.shape));
    LawPointBar<S> sub_bar{S(0), S(0), way.at_bar.u, way.at_bar.p};
    const bool sampled = way.samples_bar &&
                         pull_samples(lanes, sub, has, way.cursor, way.samples_bar, way.sample_bar,
                                      way.k_bar, way.at_bar.t, sub_bar, way.before_bar);
    Method::step_pullback(sub, lanes.x, lanes.stages, way.k_bar, sampled, lanes.x_new, sub_bar,
                          way.before_bar);
    for (int j = 0; j < n; ++j) way.bar[j] = select(has, way.before_bar[j], way.bar[j]);
    way.at_bar.t += sub_bar.t;
    way.at_bar.h += select(last, sub_bar.h, S(0));
  }
};

}  // namespace cycloid::inline system
