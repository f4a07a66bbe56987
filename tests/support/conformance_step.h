// What every Stepper must keep, for one step of a chunk (conformance.h has the rest).
//
//   a step taken again is the first one      from the same numbers the same bits, whatever the
//                                            workspace did in between, on any number of threads
//   a record made again is the first one     pulled back, it gives the same bits; a record that is
//                                            kept does not change while others are made
//   accumulators are added to                x̄, ū, p̄ and those of arrays, never assigned
//   begin clears                             the parameters' cotangents of the chunk before
//   counters are declared                    a step counts nothing that has no name
// The step is the second one of a run, so that what is carried on (stepper.h) is not zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "tests/support/rollout_cases.h"
#include "tests/support/stepper_run.h"

namespace cycloid::test {

// A chunk of the first environments of a case, as often as one likes.
template <class T>
class StepBench {
 public:
  struct Bars {
    std::vector<T> x, u;
    Numbers p, arrays;
  };

  StepBench(const Stepper<T>& stepper, const RolloutCase<T>& c)
      : stepper_(stepper),
        s_(stepper.sizes()),
        x_(numbers(s_.kept())),
        first_(numbers(s_.kept())),
        u_(numbers(2 * s_.input)),
        p_(numbers(s_.parameters)),
        bar_(numbers(s_.tangent)),
        arrays_(static_cast<std::size_t>(s_.array_numbers())) {
    const Parameters& registry = c.system.parameters();
    const std::vector<T> bars = seeded<T>(77, numbers(s_.tangent));
    std::fill_n(first_.data(), numbers(s_.kept()), T(0));
    for (int l = 0; l < s_.lanes; ++l) {
      const std::int64_t e = l % c.batch;
      std::vector<T> x(c.x0.begin() + e * s_.state, c.x0.begin() + (e + 1) * s_.state);
      c.system.states().normalise(x.data());
      put(x.data(), s_.state, l, first_.data());
      for (int k = 0; k < 2 && !c.controls.empty(); ++k) {
        const std::int64_t row = std::min<std::int64_t>(k, c.steps - 1);
        put(c.controls.data() + (e * c.steps + row) * s_.input, s_.input, l,
            u_.data() + k * s_.input * s_.lanes);
      }
    }
    if (c.controls.empty()) std::fill_n(u_.data(), numbers(2 * s_.input), T(0));
    const Numbers& p = c.params.empty() ? registry.default_values() : c.params;
    for (int i = 0; i < s_.parameters; ++i) {
      std::fill_n(p_.data() + i * s_.lanes, s_.lanes, static_cast<T>(p[static_cast<size_t>(i)]));
    }
    std::copy_n(p.begin() + s_.parameters, arrays_.size(), arrays_.begin());
    std::copy_n(bars.begin(), bars.size(), bar_.data());
    const auto workspace = begun(1);
    take(0, first_.data(), *workspace, nullptr, x_.data());
  }

  std::unique_ptr<StepWorkspace> begun(int threads) const {
    auto workspace = stepper_.make_workspace({threads});
    begin(*workspace, nullptr);
    return workspace;
  }
  void begin(StepWorkspace& workspace, Numbers* arrays_bar) const {
    const T* from = arrays_.data();
    double* to = arrays_bar ? arrays_bar->data() : nullptr;
    places_.clear(), bars_.clear();
    for (const std::int64_t n : s_.arrays) {
      places_.push_back(from);
      bars_.push_back(to);
      from += n;
      to = to ? to + n : nullptr;
    }
    stepper_.begin({p_.data(), places_.data(), arrays_bar ? bars_.data() : nullptr, nullptr},
                   workspace);
  }
  // The first step, which leaves its traces in the workspace, and the second, whose x⁺ with what
  // is carried on comes back.
  void first_step(StepWorkspace& workspace) const {
    LaneMemory<T> out(numbers(s_.kept()));
    take(0, first_.data(), workspace, nullptr, out.data());
  }
  std::vector<T> second_step(StepWorkspace& workspace, StepRecord* record) const {
    LaneMemory<T> out(numbers(s_.kept()));
    take(1, x_.data(), workspace, record, out.data());
    return {out.data(), out.data() + numbers(s_.kept())};
  }
  // Pulls the second step back `times` times, onto accumulators that hold `start`.
  Bars pull(const StepRecord& record, StepWorkspace& workspace, int times = 1, T start = 0) const {
    LaneMemory<T> x_bar(numbers(s_.tangent)), u_bar(numbers(s_.input));
    LaneMemory<double> p_bar(numbers(s_.parameters));
    std::fill_n(x_bar.data(), numbers(s_.tangent), start);
    std::fill_n(u_bar.data(), numbers(s_.input), start);
    Bars bars;
    bars.arrays.assign(arrays_.size(), static_cast<double>(start));
    begin(workspace, &bars.arrays);
    const StepInput<T> in{x_.data(), u_.data() + s_.input * s_.lanes, 1, 0.0};
    for (int i = 0; i < times; ++i) {
      stepper_.pullback(in, record, bar_.data(), x_bar.data(), u_bar.data(), workspace);
    }
    stepper_.finish(workspace, p_bar.data());
    bars.x.assign(x_bar.data(), x_bar.data() + numbers(s_.tangent));
    bars.u.assign(u_bar.data(), u_bar.data() + numbers(s_.input));
    bars.p.assign(p_bar.data(), p_bar.data() + numbers(s_.parameters));
    return bars;
  }
  const Stepper<T>& stepper() const { return stepper_; }

 private:
  std::size_t numbers(int n) const { return static_cast<std::size_t>(n * s_.lanes); }
  void put(const T* row, int count, int lane, T* lanes) const {
    for (int i = 0; i < count; ++i) lanes[i * s_.lanes + lane] = row[i];
  }
  void take(int k, const T* x, StepWorkspace& workspace, StepRecord* record, T* x_next) const {
    stepper_.step({x, u_.data() + k * s_.input * s_.lanes, k, 0.0}, x_next, record, workspace);
  }

  const Stepper<T>& stepper_;
  const StepperSizes& s_;
  mutable LaneMemory<T> x_, first_, u_, p_, bar_;
  std::vector<T> arrays_;
  mutable std::vector<const T*> places_;
  mutable std::vector<double*> bars_;
};

template <class Bars>
bool same_bars(const Bars& a, const Bars& b) {
  return same_bits(a.x, b.x) && same_bits(a.u, b.u) && same_bits(a.p, b.p) &&
         same_bits(a.arrays, b.arrays);
}

// Whether a = start + times · once, to rounding; numbers that are not finite count as equal where
// both are (parameters that are not differentiated).
template <class A>
bool is_sum(const A& a, const A& once, double times, double start, double tolerance) {
  const double scale = largest(once) + std::abs(start);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double expected = start + times * static_cast<double>(once[i]);
    const double got = static_cast<double>(a[i]);
    if (std::isfinite(expected) != std::isfinite(got)) return false;
    if (std::isfinite(got) && std::abs(got - expected) > tolerance * scale) return false;
  }
  return true;
}

// Calls broken(claim, what) for what the step of this stepper does not keep.
template <class T, class Say>
void conform_step(const Stepper<T>& stepper, const RolloutCase<T>& c, Say&& broken) {
  const std::string who = message("the stepper of ", stepper.sizes().lanes, " lanes: ");
  const StepBench<T> bench(stepper, c);
  const auto workspace = bench.begun(1), other = bench.begun(3);
  RecordRoom kept(stepper), again(stepper), elsewhere(stepper);

  const auto x_next = bench.second_step(*workspace, &kept);
  const auto bars = bench.pull(kept, *workspace);
  const char* const step_again = "a step taken again is the first one";
  if (!same_bits(x_next, bench.second_step(*workspace, nullptr))) {
    broken(step_again, who + "without a record it is another");
  }
  bench.first_step(*workspace);
  if (!same_bits(x_next, bench.second_step(*workspace, &again))) {
    broken(step_again, who + "after another step of the same workspace it is another");
  }
  if (!same_bits(x_next, bench.second_step(*other, &elsewhere))) {
    broken(step_again, who + "in a new workspace, with 3 threads, it is another");
  }

  const char* const record_again = "a record made again is the first one";
  if (!same_bars(bars, bench.pull(again, *workspace))) {
    broken(record_again, who + "made again, it gives another pullback");
  }
  if (!same_bars(bars, bench.pull(elsewhere, *other))) {
    broken(record_again, who + "made by another workspace, it gives another pullback");
  }
  if (!same_bars(bars, bench.pull(kept, *other))) {
    broken(record_again, who + "kept while others were made, it gives another pullback");
  }

  const char* const added = "accumulators are added to";
  const double rounding = 64.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const auto check_sum = [&](const auto& got, int times, T start, const std::string& how) {
    const double from = static_cast<double>(start);
    const auto check = [&](const auto& a, const auto& once, double begin, const char* name) {
      if (!is_sum(a, once, times, begin, rounding)) broken(added, message(who, name, " ", how));
    };
    check(got.x, bars.x, from, "the state's cotangent");
    check(got.u, bars.u, from, "the input's cotangent");
    check(got.p, bars.p, 0, "the parameters' cotangent");  // lies in the workspace
    check(got.arrays, bars.arrays, from, "the arrays' cotangent");
  };
  check_sum(bench.pull(kept, *workspace, 2), 2, T(0),
            "after two pullbacks is not twice that of one");
  check_sum(bench.pull(kept, *workspace, 1, T(1)), 1, T(1), "forgets what was there before");
  if (!same_bars(bars, bench.pull(kept, *workspace))) {
    broken("begin clears", who + "a pullback depends on what was pulled back before begin");
  }

  bench.second_step(*workspace, nullptr);
  const LaneNote* notes = stepper.notes(*workspace);
  const std::size_t declared = c.system.counters().size();
  for (int l = 0; notes && l < stepper.sizes().lanes; ++l) {
    for (std::size_t i = declared; i < kMostCounters; ++i) {
      if (notes[l].counters[i] == 0) continue;
      broken("counters are declared", message(who, "counter ", i, " counts without a name"));
      return;
    }
  }
}

}  // namespace cycloid::test
