// EventWalk: one environment's way through a step in which events happen, and the way back.
//
// The step of length h is cut at the events. Stretch i begins at time t_i in state x_i with the
// rest r_i of the step before it, r_0 = h. Φ_τ is the integrator's own step of length τ:
//   0       = g(t_i + τ_i, y_i)            (1)  y_i = Φ_τ_i(x_i): the earliest root of any event
//   x_{i+1} = R(t_i + τ_i, y_i)            (2)  the event's reset
//   r_{i+1} = r_i - τ_i                    (3)
//   x⁺      = Φ_r_m(x_m)                   (4)  the stretch after the last event
// An event that ends the run makes x⁺ = y_i. Because the root is one of the integrator's own step,
// its derivative is exact, whatever the error of the integrator:
//   dτ = -(g_x (Φ_x dx + …) + g_t dt) / (g_x ∂Φ/∂τ + g_t)               (5)
// In (4) the end of the step stays where it is, so that dr = -dτ. For an exact flow with rates f⁻
// before and f⁺ after the event, (2), (3) and (5) together are the saltation matrix
//   dx⁺ = (R_x + (f⁺ - R_x f⁻ - R_t) g_x / (g_x f⁻ + g_t)) dx⁻.
//
// Where (1) is looked for, and what "grazing" and "without end" (Zeno) mean: event_stretch.h.
//
// A law may pass cotangents on to parameters that are not among its own (term_law.h). Those are
// added wherever the law is pulled back, and cannot be weighted afterwards: the two pulls that (5)
// needs go without them, and a third, along ȳ + w g_x with the weight w of dτ, is for them alone.
#pragma once

#include <algorithm>

#include "cycloid/system/event/event_stretch.h"

namespace cycloid::inline system {

// While it lives, pullbacks of the law leave out parameters that are not its own.
template <class Law>
class WithoutOthers {
 public:
  static constexpr bool kApplies = requires(const Law& law) { law.set_wants_others(true); };
  explicit WithoutOthers([[maybe_unused]] const Law& law, [[maybe_unused]] bool when = true) {
    if constexpr (kApplies) {
      if (when) law_ = &law, before_ = law.set_wants_others(false);
    }
  }
  ~WithoutOthers() {
    if constexpr (kApplies) {
      if (law_) law_->set_wants_others(before_);
    }
  }
  WithoutOthers(const WithoutOthers&) = delete;
  WithoutOthers& operator=(const WithoutOthers&) = delete;

 private:
  const Law* law_ = nullptr;
  bool before_ = false;
};

template <class Law, class Scheme, class T>
class EventWalk : private EventStretch<Law, Scheme, T> {
  using Stretch = EventStretch<Law, Scheme, T>;

 public:
  using Stretch::input, Stretch::parameters, Stretch::kEvents;

  enum class End { whole, ended, zeno };
  struct Mark {
    int event;
    T t, tau;  // the stretch's beginning and length [s]
    bool grazing;
  };

  static int numbers(const LawShape<Law>& shape) {
    return Stretch::numbers(shape) + (kMostEvents + 1) * shape.states + 4 * shape.tangents;
  }

  // `memory` has numbers(shape) numbers, `scratch` room for the integrator's local arrays.
  EventWalk(const Law& law, const Scheme& scheme, const LawShape<Law>& shape, T* memory,
            Scratch scratch)
      : EventWalk(law, scheme, shape, NumberArena<T>{memory}, scratch) {}

  T* start() { return starts_; }
  int count() const { return count_; }
  const Mark& mark(int i) const { return marks_[i]; }
  End end() const { return end_; }
  // Of End::zeno: the event without end, and whether the state rests on its surface.
  int endless() const { return endless_; }
  bool rests() const { return rests_; }
  const LaneNote& note() const { return note_; }  // on the stretches

  // From start(), at time t, through a step of length h, after which the next one begins at `next`.
  // Writes x_next: for End::zeno, the state after the last event.
  End forward(const T& t, const T& h, const T& next, T* x_next);

  // After forward: adds to bar and x_bar, given the cotangents of x⁺ and, unless null, of the times
  // of the events.
  void reverse(const T* x_next_bar, const double* times_bar, LawPointBar<T>& bar, T* x_bar);

 private:
  using Stretch::point, Stretch::pull, Stretch::reach;
  using Stretch::shape_, Stretch::reached_, Stretch::g_x_, Stretch::g_u_, Stretch::g_p_;
  using Stretch::t_, Stretch::rest_;
  using Root = typename Stretch::Root;

  EventWalk(const Law& law, const Scheme& scheme, const LawShape<Law>& shape, NumberArena<T> arena,
            Scratch scratch)
      : Stretch(law, scheme, shape, arena, scratch),
        starts_(arena.take((kMostEvents + 1) * shape.states)),
        y_bar_(arena.take(shape.tangents)),
        event_bar_(arena.take(shape.tangents)),
        g_x0_(arena.take(shape.tangents)),
        g_x1_(arena.take(shape.tangents)) {}

  T* start(int i) { return starts_ + i * shape_.states; }
  static bool resets(int event) {
    return Law::kEvents[static_cast<std::size_t>(event)].effect == EventEffect::reset;
  }
  void travel(const T& t, const T& tau, const T* x, T* out);
  bool happen(const Root& root, const T* x);
  void pull_event(int i, const T& time_bar, LawPointBar<T>& bar);

  T *starts_, *y_bar_, *event_bar_, *g_x0_, *g_x1_;
  Mark marks_[kMostEvents];
  int count_ = 0;
  T t_bar_ = T(0), rest_bar_ = T(0);  // on the way back
  End end_ = End::whole;
  int endless_ = -1;
  bool rests_ = false;
  LaneNote note_;
};

template <class Law, class Scheme, class T>
auto EventWalk<Law, Scheme, T>::forward(const T& t, const T& h, const T& next, T* x_next) -> End {
  count_ = 0;
  note_ = {};
  this->begin(t, h, next);
  for (;;) {
    const T* x = start(count_);
    const Root root = this->first_root(x);
    if (root.event < 0) {
      travel(t_, rest_, x, x_next);  // (4)
      return end_ = End::whole;
    }
    endless_ = root.event;
    rests_ = root.rests;
    if (root.rests || count_ == kMostEvents || !happen(root, x)) {
      std::copy_n(start(count_), shape_.states, x_next);
      return end_ = End::zeno;
    }
    if (resets(root.event)) continue;
    std::copy_n(reached_, shape_.states, x_next);
    return end_ = End::ended;
  }
}

// Φ_τ as part of the step, with its note.
template <class Law, class Scheme, class T>
void EventWalk<Law, Scheme, T>::travel(const T& t, const T& tau, const T* x, T* out) {
  this->last_note_ = {};
  reach(t, tau, x, out);
  note_.residual = std::max(note_.residual, this->last_note_.residual);
  for (std::size_t i = 0; i < note_.counters.size(); ++i) {
    note_.counters[i] += this->last_note_.counters[i];
  }
}

// (1), (2), (3). False where the state stands on the surface and the event leaves it as it is: that
// is rest, and no event.
template <class Law, class Scheme, class T>
bool EventWalk<Law, Scheme, T>::happen(const Root& root, const T* x) {
  marks_[count_] = {root.event, t_, root.tau, root.grazing};
  this->pass(root, x);                              // (3)
  travel(marks_[count_].t, root.tau, x, reached_);  // (1)
  if constexpr (has_resets<Law>()) {
    if (resets(root.event)) {
      law_reset(point(t_, rest_), root.event, t_, reached_, start(count_ + 1));  // (2)
      rests_ = root.held && std::equal(x, x + shape_.states, start(count_ + 1));
      if (rests_) return false;
    }
  }
  ++count_;
  return true;
}

template <class Law, class Scheme, class T>
void EventWalk<Law, Scheme, T>::reverse(const T* x_next_bar, const double* times_bar,
                                        LawPointBar<T>& bar, T* x_bar) {
  std::copy_n(x_next_bar, shape_.tangents, y_bar_);
  t_bar_ = rest_bar_ = T(0);
  if (end_ == End::whole) {  // (4)
    const LawPoint<Law, T> at = point(t_, rest_);
    LawPointBar<T> own{T(0), T(0), bar.u, bar.p};
    set_zero(event_bar_, shape_.tangents);
    reach(t_, rest_, start(count_), reached_);
    pull(at, start(count_), y_bar_, own, event_bar_);
    std::copy_n(event_bar_, shape_.tangents, y_bar_);
    t_bar_ = own.t;
    rest_bar_ = own.h;
  }
  for (int i = count_ - 1; i >= 0; --i) {
    pull_event(i, times_bar ? static_cast<T>(times_bar[i]) : T(0), bar);
  }
  for (int i = 0; i < shape_.tangents; ++i) x_bar[i] += y_bar_[i];
  bar.t += t_bar_;
  bar.h += rest_bar_;
}

// From the cotangents of x_{i+1}, t_{i+1} and r_{i+1} to those of x_i, t_i and r_i.
template <class Law, class Scheme, class T>
void EventWalk<Law, Scheme, T>::pull_event(int i, const T& time_bar, LawPointBar<T>& bar) {
  const Mark& mark = marks_[i];
  const int n = shape_.tangents;
  const LawPoint<Law, T> at = point(mark.t, mark.tau);
  const T t_event = mark.t + mark.tau;
  reach(mark.t, mark.tau, start(i), reached_);
  T t_event_bar = t_bar_ + time_bar;
  set_zero(event_bar_, n);
  if (end_ == End::ended && i == count_ - 1) {
    std::copy_n(y_bar_, n, event_bar_);
  } else if constexpr (has_resets<Law>()) {
    law_reset_pullback(at, mark.event, t_event, reached_, y_bar_, t_event_bar, event_bar_, bar.u,
                       bar.p);  // (2)
  }
  LawPointBar<T> along{T(0), T(0), bar.u, bar.p};  // the stretch at a fixed τ
  set_zero(y_bar_, n);
  {
    const WithoutOthers<Law> own(this->law_);
    pull(at, start(i), event_bar_, along, y_bar_);
  }

  T unit[kEvents] = {}, g_t(0);  // (5)
  unit[mark.event] = T(1);
  for (T* zero : {g_x_, g_x0_}) set_zero(zero, n);
  set_zero(g_u_, shape_.inputs);
  set_zero(g_p_, shape_.parameters);
  law_events_pullback(at, t_event, reached_, unit, g_t, g_x_, g_u_, g_p_);
  LawPointBar<T> of_g{T(0), T(0), g_u_, g_p_};
  if constexpr (WithoutOthers<Law>::kApplies) std::copy_n(g_x_, n, g_x1_);
  {
    const WithoutOthers<Law> own(this->law_);
    pull(at, start(i), g_x_, of_g, g_x0_);
  }
  const T tau_bar = along.h + t_event_bar - rest_bar_;  // (1), (3)
  const T weight = -tau_bar / (of_g.h + g_t);
  for (int k = 0; k < n; ++k) y_bar_[k] += weight * g_x0_[k];
  for (int k = 0; k < shape_.inputs; ++k) bar.u[k] += weight * g_u_[k];
  for (int k = 0; k < shape_.parameters; ++k) bar.p[k] += weight * g_p_[k];
  t_bar_ = t_event_bar + along.t + weight * (of_g.t + g_t);
  if constexpr (WithoutOthers<Law>::kApplies) {
    for (int k = 0; k < n; ++k) event_bar_[k] += weight * g_x1_[k];
    LawPointBar<T> unused{T(0), T(0), g_u_, g_p_};
    pull(at, start(i), event_bar_, unused, g_x0_);
  }
}

}  // namespace cycloid::inline system
