// EventLanes: events in the lanes of a step.
//
// A step is first taken by all lanes as if there were no events. Lanes in which one may have
// happened are found on the dense output of the step, all at once (event_search.h); each of them
// then goes its own way again, as a scalar (event_walk.h), and the way back is the same: what the
// lane is then is the work of the scalar, whether there was an event or not.
// Memory: the events of the last step, and that of a walk.
#pragma once

#include <span>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/system/event/event_walk.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline system {

template <class Law, class Scheme, class S>
class EventLanes {
 public:
  using T = Scalar<S>;
  using Walk = EventWalk<Law, Scheme, T>;
  static constexpr int kWidth = static_cast<int>(sizeof(S) / sizeof(T));

  // Of memory, which begins anywhere.
  static std::size_t bytes(const LawShape<Law>& shape, const Scheme& scheme) {
    return kWorkspaceAlignment + sizeof(Header) +
           sizeof(T) *
               (static_cast<std::size_t>(Walk::numbers(shape)) + scratch_numbers(scheme, shape));
  }

  EventLanes(const Law& law, const Scheme& scheme, const LawShape<Law>& shape, std::byte* memory)
      : law_(law), scheme_(scheme), shape_(shape) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    header_ = reinterpret_cast<Header*>(
        memory + (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment);
    walk_memory_ = reinterpret_cast<T*>(header_ + 1);
  }

  std::span<const StepEvent> events() const {
    return {header_->events, static_cast<std::size_t>(header_->count)};
  }

  // The step `at`, with its events. `walked` receives 1 in lanes that went their own way, else 0.
  void step(const StepInput<T>& in, const LawPoint<Law, S>& at, S* x_next, S* record,
            S& walked) const;

  // Replaces what the step without events added to the cotangents, in lanes that went their own way
  // and in lanes that had ended. before: x̄ at the beginning; x_bar, bar: with what was added, from
  // zero but for x_bar.
  void pull_back(const StepInput<T>& in, const LawPoint<Law, S>& at, const S& walked,
                 const S* x_next_bar, const S* before, LawPointBar<S>& bar, S* x_bar) const;

  // Why a lane was stopped before events without end; no reason where it was not.
  StepTrouble explain(const StepInput<T>& in, const LawPoint<Law, S>& at, int lane) const;

 private:
  struct Header {
    std::int64_t count;
    StepEvent events[static_cast<std::size_t>(kWidth) * (kMostEvents + 1)];
  };

  static T& lane_of(S* a, int i, int lane) { return reinterpret_cast<T*>(a)[i * kWidth + lane]; }
  static T lane_of(const S* a, int i, int lane) {
    return reinterpret_cast<const T*>(a)[i * kWidth + lane];
  }

  Walk walk_of(const LawPoint<Law, S>& at, const StepInput<T>& in, int lane) const {
    Walk walk(law_, scheme_, shape_, walk_memory_,
              {reinterpret_cast<std::byte*>(walk_memory_ + Walk::numbers(shape_))});
    const S* x = reinterpret_cast<const S*>(in.x);
    for (int i = 0; i < shape_.states; ++i) walk.start()[i] = lane_of(x, i, lane);
    for (int i = 0; i < shape_.inputs; ++i) walk.input()[i] = lane_of(at.u, i, lane);
    for (int i = 0; i < shape_.parameters; ++i) walk.parameters()[i] = lane_of(at.p, i, lane);
    return walk;
  }
  // Takes the lane's walk through the step.
  typename Walk::End take(Walk& walk, const LawPoint<Law, S>& at, const StepInput<T>& in, int lane,
                          T* x_next) const {
    const S next = in.part > 0 ? at.t + at.h : time_of_step(in.t0, in.step + 1, at.h);
    return walk.forward(lane_of(&at.t, 0, lane), lane_of(&at.h, 0, lane), lane_of(&next, 0, lane),
                        x_next);
  }
  // Calls visit(mark, its time) for the events of a walk, and returns the time of the last one. In
  // double: a float's 24 bits do not hold the times of a long run.
  template <class Visit>
  static double for_each_event(const StepInput<T>& in, double h, const Walk& walk, Visit&& visit) {
    double time = in.t0 + static_cast<double>(in.step) * h;
    for (int i = 0; i < walk.count(); ++i) {
      time += static_cast<double>(walk.mark(i).tau);
      visit(walk.mark(i), time);
    }
    return time;
  }
  void write(const StepInput<T>& in, double h, const Walk& walk, int lane) const;

  const Law& law_;
  const Scheme& scheme_;
  const LawShape<Law>& shape_;
  Header* header_;
  T* walk_memory_;
};

template <class Law, class Scheme, class S>
void EventLanes<Law, Scheme, S>::step(const StepInput<T>& in, const LawPoint<Law, S>& at, S* x_next,
                                      S* record, S& walked) const {
  header_->count = 0;
  walked = S(0);
  const S* x = reinterpret_cast<const S*>(in.x);
  Mask<S> near(false);
  step_through(
      scheme_, at, x, x_next, record,
      [&](const LawPoint<Law, S>& sub, const S&, const S* before, const S* after, Mask<S> taken) {
        near = near | (taken & lanes_with_events(sub, before, after));
      });
  if (!any(near) && !in.ended) return;
  const S flags = select(near, S(1), S(0));
  Scratch scratch = at.scratch;
  LocalArray<T, LawShape<Law>::kStates> reached(scratch, shape_.states);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (in.ended && in.ended[lane]) {
      for (int i = 0; i < shape_.states; ++i) lane_of(x_next, i, lane) = lane_of(x, i, lane);
      if (at.notes) at.notes[lane] = {};
      continue;
    }
    if (lane_of(&flags, 0, lane) == T(0)) continue;
    Walk walk = walk_of(at, in, lane);
    take(walk, at, in, lane, reached.data());
    for (int i = 0; i < shape_.states; ++i) lane_of(x_next, i, lane) = reached[i];
    lane_of(&walked, 0, lane) = T(1);
    if (at.notes) at.notes[lane] = walk.note();
    write(in, static_cast<double>(lane_of(&at.h, 0, lane)), walk, lane);
  }
}

template <class Law, class Scheme, class S>
void EventLanes<Law, Scheme, S>::write(const StepInput<T>& in, double h, const Walk& walk,
                                       int lane) const {
  const auto add = [&](const StepEvent& event) { header_->events[header_->count++] = event; };
  const double last = for_each_event(in, h, walk, [&](const auto& mark, double time) {
    const EventSpec& spec = Law::kEvents[static_cast<std::size_t>(mark.event)];
    add({lane, mark.event, time, mark.grazing, spec.effect == EventEffect::end});
  });
  if (walk.end() == Walk::End::zeno) add({lane, walk.endless(), last, false, true, true});
}

template <class Law, class Scheme, class S>
void EventLanes<Law, Scheme, S>::pull_back(const StepInput<T>& in, const LawPoint<Law, S>& at,
                                           const S& walked, const S* x_next_bar, const S* before,
                                           LawPointBar<S>& bar, S* x_bar) const {
  if (all(walked == S(0)) && !in.ended) return;
  const int n = shape_.states, nu = shape_.inputs, np = shape_.parameters;
  Scratch scratch = at.scratch;
  LocalArray<T, LawShape<Law>::kStates> y_bar(scratch, n), own_x_bar(scratch, n),
      unused(scratch, n);
  LocalArray<T, LawShape<Law>::kInputs> own_u_bar(scratch, nu);
  LocalArray<T, LawShape<Law>::kParameters> own_p_bar(scratch, np);
  for (int lane = 0; lane < kWidth; ++lane) {
    const bool ended = in.ended && in.ended[lane];
    if (!ended && lane_of(&walked, 0, lane) == T(0)) continue;
    for (int i = 0; i < n; ++i) y_bar[i] = lane_of(x_next_bar, i, lane);
    LawPointBar<T> own{T(0), T(0), own_u_bar.data(), own_p_bar.data()};
    set_zero(own.u, nu);
    set_zero(own.p, np);
    set_zero(own_x_bar.data(), n);
    if (ended) {
      for (int i = 0; i < n; ++i) own_x_bar[i] = y_bar[i];
    } else {
      Walk walk = walk_of(at, in, lane);
      take(walk, at, in, lane, unused.data());
      walk.reverse(y_bar.data(),
                   in.event_times_bar ? in.event_times_bar + lane * kMostEvents : nullptr, own,
                   own_x_bar.data());
    }
    for (int i = 0; i < n; ++i) lane_of(x_bar, i, lane) = lane_of(before, i, lane) + own_x_bar[i];
    for (int i = 0; i < nu; ++i) lane_of(bar.u, i, lane) = own_u_bar[i];
    for (int i = 0; i < np; ++i) lane_of(bar.p, i, lane) = own_p_bar[i];
    lane_of(&bar.t, 0, lane) = own.t;
    lane_of(&bar.h, 0, lane) = own.h;
  }
}

template <class Law, class Scheme, class S>
StepTrouble EventLanes<Law, Scheme, S>::explain(const StepInput<T>& in, const LawPoint<Law, S>& at,
                                                int lane) const {
  Scratch scratch = at.scratch;
  LocalArray<T, LawShape<Law>::kStates> unused(scratch, shape_.states);
  Walk walk = walk_of(at, in, lane);
  if (take(walk, at, in, lane, unused.data()) != Walk::End::zeno) return {};
  const double h = static_cast<double>(lane_of(&at.h, 0, lane));
  const double time = for_each_event(in, h, walk, [](const auto&, double) {});
  const char* name = Law::kEvents[static_cast<std::size_t>(walk.endless())].name;
  constexpr const char* remedy = "end the run before, or give the law a state of rest";
  return {kEventStage, name,
          walk.rests()
              ? message("the state comes to rest on its surface at ", time,
                        " s, where it would happen without end (Zeno); ", remedy)
              : message("it happened ", kMostEvents, " times within one step, up to ", time,
                        " s, and there is no room for more. Take a shorter dt; where events pile "
                        "up (Zeno), ",
                        remedy)};
}

}  // namespace cycloid::inline system
