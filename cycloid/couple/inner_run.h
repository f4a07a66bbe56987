// inner_run.h: a System's part in the step of a System made of it: some steps there, and back.
//
// A step of the outer System is `substeps` of the inner one, under the same input. Each substep
// has its record on the way back; events are gathered over the substeps, and after one that ends
// the run the others stand still.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "cycloid/system/system.h"

namespace cycloid::inline couple {

// Where an inner System's parameters are among the outer ones.
struct GuardedInner {
  System system;
  int substeps = 1;
  std::vector<int> places = {};  // of each number in lanes
  std::size_t first_array = 0;
};

template <class T>
bool all_finite(const T* x, int n) {
  return std::all_of(x, x + n, [](T v) { return std::isfinite(v); });
}

// An inner System's part of a step: substeps there, and back.
template <class T>
class InnerRun {
 public:
  InnerRun(const GuardedInner& inner, const Stepper<T>& stepper, const StepResources& resources)
      : inner_(inner),
        stepper_(stepper),
        workspace_(stepper.make_workspace(resources)),
        p_(static_cast<std::size_t>(stepper.sizes().parameters)),
        states_(static_cast<std::size_t>((inner.substeps + 1) * stepper.sizes().kept())),
        records_(static_cast<std::size_t>(inner.substeps)) {
    for (auto& r : records_) r.resize(static_cast<std::size_t>(stepper.sizes().record));
  }

  void begin(const StepParameters<T>& p) {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      p_[i] = p.lanes[static_cast<std::size_t>(inner_.places[i])];
    }
    StepParameters<T> own = p;
    own.lanes = p_.data();
    own.arrays = p.arrays ? p.arrays + inner_.first_array : nullptr;
    own.arrays_bar = p.arrays_bar ? p.arrays_bar + inner_.first_array : nullptr;
    own.arrays_tan = nullptr, own.arrays_bar_tan = nullptr;
    stepper_.begin(own, *workspace_);
  }

  // From x and what is carried on; `keep`: with records, for the way back.
  StepStatus run(const StepInput<T>& in, const T* x, const T* carry, bool keep) {
    const StepperSizes& s = stepper_.sizes();
    std::copy_n(x, s.state, state(0));
    std::copy_n(carry, s.carry, state(0) + s.state);
    StepStatus status = StepStatus::ok;
    note_ = {};
    objects_.clear(), events_.clear(), counts_.clear();
    ended_ = false;
    for (int i = 0; i < inner_.substeps; ++i) {
      StepRecord record = record_at(i);
      const bool over = ended_;
      StepInput<T> own_in = at(in, i);
      if (over) own_in.ended = &over;
      const StepStatus own =
          stepper_.step(own_in, state(i + 1), keep ? &record : nullptr, *workspace_);
      if (keep) objects_.push_back(std::move(record));
      counts_.push_back(events_.size());
      for (const StepEvent& e : stepper_.events(*workspace_)) {
        events_.push_back(e);
        ended_ = ended_ || e.ends;
      }
      if (own != StepStatus::ok) status = own;
      if (const LaneNote* note = stepper_.notes(*workspace_)) {
        note_.residual = std::max(note_.residual, note->residual);
        note_.crowded = note_.crowded || note->crowded;
      }
      if (own == StepStatus::non_finite) {
        std::copy_n(state(i + 1), s.kept(), state(inner_.substeps));
        break;
      }
    }
    return status;
  }

  // Adds to x_bar and u_bar, after run with records.
  void pullback(const StepInput<T>& in, const T* next_bar, T* x_bar, T* u_bar) {
    const std::size_t n = static_cast<std::size_t>(stepper_.sizes().tangent);
    std::vector<T> bar(next_bar, next_bar + n), before(n);
    for (int i = inner_.substeps; i-- > 0;) {
      std::fill(before.begin(), before.end(), T(0));
      StepInput<T> own_in = at(in, i);
      const bool over = ended_before(i);
      if (over) own_in.ended = &over;
      if (in.event_times_bar) {
        own_in.event_times_bar = in.event_times_bar + counts_[static_cast<std::size_t>(i)];
      }
      stepper_.pullback(own_in, objects_[static_cast<std::size_t>(i)], bar.data(), before.data(),
                        u_bar, *workspace_);
      std::swap(bar, before);
    }
    for (std::size_t k = 0; k < n; ++k) x_bar[k] += bar[k];
  }

  void finish(double* p_bar) {
    std::vector<double> own(p_.size());
    stepper_.finish(*workspace_, own.data());
    for (std::size_t i = 0; i < own.size(); ++i) p_bar[inner_.places[i]] += own[i];
  }

  StepTrouble explain(const StepInput<T>& in, const T* x, const T* carry) {
    run(in, x, carry, false);
    for (int i = 0; i < inner_.substeps; ++i) {
      if (!all_finite(state(i + 1), stepper_.sizes().state)) {
        return stepper_.explain(at(in, i), 0, *workspace_);
      }
    }
    return {"guard", "state", "the corrected step is not finite"};
  }

  const T* next() const { return states_.data() + inner_.substeps * stepper_.sizes().kept(); }
  const T* next_carry() const { return next() + stepper_.sizes().state; }
  const LaneNote& note() const { return note_; }
  std::span<const StepEvent> events() const { return events_; }

 private:
  // Whether the run was over before substep i.
  bool ended_before(int i) const {
    const auto end =
        events_.begin() + static_cast<std::ptrdiff_t>(counts_[static_cast<std::size_t>(i)]);
    return std::any_of(events_.begin(), end, [](const StepEvent& e) { return e.ends; });
  }
  T* state(int i) { return states_.data() + i * stepper_.sizes().kept(); }
  StepRecord record_at(int i) {
    return {reinterpret_cast<std::byte*>(records_[static_cast<std::size_t>(i)].data()),
            stepper_.record_bytes(),
            {}};
  }
  StepInput<T> at(const StepInput<T>& in, int i) {
    StepInput<T> own = in;
    own.x = state(i);
    own.step = in.step * inner_.substeps + i;
    own.event_times_bar = nullptr;
    return own;
  }

  const GuardedInner& inner_;
  const Stepper<T>& stepper_;
  std::unique_ptr<StepWorkspace> workspace_;
  std::vector<T> p_, states_;
  std::vector<std::vector<T>> records_;
  std::vector<StepRecord> objects_;
  std::vector<StepEvent> events_;
  std::vector<std::size_t> counts_;  // events before each substep
  bool ended_ = false;
  LaneNote note_;
};

}  // namespace cycloid::inline couple
