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
// Where a root is looked for: g and its rate at the beginning, the middle and the end of what is
// left of the step, or of each substep that an adaptive integrator divides it into. A change of
// sign brackets a root; so do two slopes that point at zero, where g between them reaches beyond
// it. On the surface (g = 0, or zero to rounding after the event itself) the side is that to which
// g moves; a step that begins on it and moves through it in the event's direction begins with the
// event. A root at which g moves slowly against its size within the step is grazing: there (5) has
// no meaning.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/system/event_search.h"

namespace cycloid::inline system {

// Memory for `n` numbers after another, for arrays whose sizes a law knows at run time.
template <class T>
struct NumberArena {
  T* next;
  T* take(int n) {
    T* const at = next;
    next += n;
    return at;
  }
};

template <class Law, class Scheme, class T>
class EventWalk {
 public:
  static constexpr int kEvents = event_count<Law>();
  // |ġ| of a grazing root, times the time that is left, against the largest |g| on the way.
  static inline const T kGrazing = T(64) * std::sqrt(std::numeric_limits<T>::epsilon());

  enum class End { whole, ended, zeno };
  struct Mark {
    int event;
    T t, tau;  // the stretch's beginning and length [s]
    bool grazing;
  };

  static int numbers(const LawShape<Law>& shape) {
    return (kMostEvents + 5) * shape.states + 3 * (shape.inputs + shape.parameters) +
           7 * shape.tangents + record_numbers<Scheme>(shape);
  }

  // `memory` has numbers(shape) numbers, `scratch` room for the integrator's local arrays.
  EventWalk(const Law& law, const Scheme& scheme, const LawShape<Law>& shape, T* memory,
            Scratch scratch)
      : law_(law), scheme_(scheme), shape_(shape), scratch_(scratch) {
    NumberArena<T> arena{memory};
    u_ = arena.take(shape.inputs);
    p_ = arena.take(shape.parameters);
    starts_ = arena.take((kMostEvents + 1) * shape.states);
    reached_ = arena.take(shape.states);
    record_ = arena.take(record_numbers<Scheme>(shape));
    f_ = arena.take(shape.tangents);
    y_bar_ = arena.take(shape.tangents);
    event_bar_ = arena.take(shape.tangents);
    g_x_ = arena.take(shape.tangents);
    g_x0_ = arena.take(shape.tangents);
    g_u_ = arena.take(shape.inputs);
    g_p_ = arena.take(shape.parameters);
  }

  T* input() { return u_; }
  T* parameters() { return p_; }
  T* start() { return starts_; }
  int count() const { return count_; }
  const Mark& mark(int i) const { return marks_[i]; }
  End end() const { return end_; }

  // From start(), at time t, through a step of length h. Writes x_next, but for End::zeno.
  End forward(const T& t, const T& h, T* x_next);

  // After forward: adds to bar and x_bar, given the cotangents of x⁺ and, unless null, of the times
  // of the events.
  void reverse(const T* x_next_bar, const double* times_bar, LawPointBar<T>& bar, T* x_bar);

 private:
  struct Look {  // the events at t + tau
    T tau;
    T g[kEvents], g_dot[kEvents];
  };
  struct Root {
    int event = -1;
    T tau{}, size{};  // the largest |g| that was seen on the way
    bool grazing = false;
  };

  LawPoint<Law, T> point(const T& t, const T& h) const {
    return {law_, shape_, t, h, u_, p_, scratch_};
  }
  T* start(int i) { return starts_ + i * shape_.states; }
  // Φ_τ, and its pullback after it. Steps with events are rare: these are compiled once, not at
  // every place that calls them.
  CYCLOID_NOINLINE void reach(const T& t, const T& tau, const T* x, T* out) const {
    scheme_.step(point(t, tau), x, out, record_);
  }
  CYCLOID_NOINLINE void pull(const LawPoint<Law, T>& at, const T* x, const T* out_bar,
                             LawPointBar<T>& bar, T* x_bar) const {
    scheme_.step_pullback(at, x, record_, out_bar, bar, x_bar);
  }
  static bool leads_to(int event, const T& side) {
    const EventDirection d = Law::kEvents[static_cast<std::size_t>(event)].direction;
    return d == EventDirection::both || (d == EventDirection::falling) == (side < T(0));
  }

  Look look(const T& t, const T* x, const T& tau);
  Root first_root(const T& t, const T& rest, const T* x, const Root& last);
  Root root_within(const T& t, const T& begin, const T& end, const T* x, const Root& last);
  T crossing(int event, const T& t, const T* x, const Look* looks, bool last);
  bool dips(int event, const T& side, const T& t, const T* x, Look& a, Look& m, Look& b);
  T root(int event, const T& t, const T* x, Look a, const Look& b, const T& side);
  void pull_event(int i, const T& time_bar, LawPointBar<T>& bar);

  const Law& law_;
  const Scheme& scheme_;
  LawShape<Law> shape_;
  Scratch scratch_;
  T *u_, *p_, *starts_, *reached_, *record_, *f_, *y_bar_, *event_bar_, *g_x_, *g_x0_, *g_u_, *g_p_;
  Mark marks_[kMostEvents];
  int count_ = 0;
  T t_ = T(0), rest_ = T(0);          // of the last stretch
  T t_bar_ = T(0), rest_bar_ = T(0);  // on the way back
  End end_ = End::whole;
};

template <class Law, class Scheme, class T>
auto EventWalk<Law, Scheme, T>::forward(const T& t, const T& h, T* x_next) -> End {
  count_ = 0;
  t_ = t;
  rest_ = h;
  for (Root last, root;; last = root) {
    const T* x = start(count_);
    root = first_root(t_, rest_, x, last);
    if (root.event < 0) {
      reach(t_, rest_, x, x_next);  // (4)
      return end_ = End::whole;
    }
    if (count_ == kMostEvents) return end_ = End::zeno;
    marks_[count_] = {root.event, t_, root.tau, root.grazing};
    reach(t_, root.tau, x, reached_);  // (1)
    t_ += root.tau;
    rest_ = max(rest_ - root.tau, T(0));  // (3)
    if constexpr (has_resets<Law>()) {
      if (Law::kEvents[static_cast<std::size_t>(root.event)].effect == EventEffect::reset) {
        law_reset(point(t_, rest_), root.event, t_, reached_, start(++count_));  // (2)
        continue;
      }
    }
    ++count_;
    std::copy_n(reached_, shape_.states, x_next);
    return end_ = End::ended;
  }
}

template <class Law, class Scheme, class T>
auto EventWalk<Law, Scheme, T>::look(const T& t, const T* x, const T& tau) -> Look {
  Look at;
  at.tau = tau;
  reach(t, tau, x, reached_);
  const LawPoint<Law, T> there = point(t + tau, tau);
  law_x_dot(there, t + tau, reached_, f_, record_);
  law_events_rate(there, t + tau, reached_, f_, at.g, at.g_dot);
  return at;
}

// The earliest event of a stretch that may last `rest`; `last` happened at its beginning.
template <class Law, class Scheme, class T>
auto EventWalk<Law, Scheme, T>::first_root(const T& t, const T& rest, const T* x, const Root& last)
    -> Root {
  if (!(rest > T(0))) return {};
  if constexpr (!divides_steps<Scheme>()) return root_within(t, T(0), rest, x, last);
  for (int passed = 0;;) {
    // The next substep in which there may be an event: looking closer uses the same memory.
    T begin(0), end(-1);
    int i = 0;
    const auto visit = [&](const LawPoint<Law, T>& sub, const T* before, const T* after,
                           bool taken) {
      if (!taken || i++ < passed || end > T(0)) return;
      if (!lanes_with_events(sub, before, after)) return;
      begin = sub.t - t;
      end = begin + sub.h;
      passed = i;
    };
    step_through(scheme_, point(t, rest), x, reached_, record_, visit);
    if (!(end > begin)) return {};
    const Root root = root_within(t, max(begin, T(0)), min(end, rest), x, last);
    if (root.event >= 0) return root;
  }
}

template <class Law, class Scheme, class T>
auto EventWalk<Law, Scheme, T>::root_within(const T& t, const T& begin, const T& end, const T* x,
                                            const Root& last) -> Root {
  constexpr T rounding = T(4096) * std::numeric_limits<T>::epsilon();
  const Look looks[3] = {look(t, x, begin), look(t, x, T(0.5) * (begin + end)), look(t, x, end)};
  Root first;
  for (int j = 0; j < kEvents; ++j) {
    const bool again =
        j == last.event && begin == T(0) && abs(looks[0].g[j]) <= rounding * last.size;
    const T tau = crossing(j, t, x, looks, again);
    if (tau < T(0) || (first.event >= 0 && tau >= first.tau)) continue;
    first.event = j;
    first.tau = tau;
  }
  if (first.event >= 0) {
    const int j = first.event;
    for (const Look& at : looks) first.size = max(first.size, abs(at.g[j]));
    const T rate = abs(look(t, x, first.tau).g_dot[j]);
    first.grazing = !(rate * (end - begin) > kGrazing * first.size);
  }
  return first;
}

// When an event happens first, or -1. `last`: the stretch begins on its surface, because it
// happened there.
template <class Law, class Scheme, class T>
T EventWalk<Law, Scheme, T>::crossing(int j, const T& t, const T* x, const Look* looks, bool last) {
  const bool both = Law::kEvents[static_cast<std::size_t>(j)].direction == EventDirection::both;
  const auto sign = [](const T& v) { return v > T(0) ? T(1) : v < T(0) ? T(-1) : T(0); };
  T side = sign(looks[0].g[j]);
  if (last || side == T(0)) {  // on the surface
    side = sign(looks[0].g_dot[j]);
    const bool held = side == T(0);
    if (held) side = sign(looks[1].g[j]);
    if (side == T(0)) return T(-1);
    if (!both && (held || !last) && leads_to(j, side)) return looks[0].tau;
  }
  for (int i = 0; i < 2; ++i) {
    Look a = looks[i], b = looks[i + 1], m{};
    if (side * b.g[j] < T(0)) {
      if (leads_to(j, -side)) return root(j, t, x, a, b, side);
      side = -side;
    } else if (dips(j, side, t, x, a, m, b)) {
      if (leads_to(j, -side)) return root(j, t, x, a, m, side);
      return root(j, t, x, m, b, -side);
    }
  }
  return T(-1);
}

// Whether g reaches beyond zero between a and b, which are on one side of it; m is a place where it
// does. Follows the least of the cubic through values and slopes; the tangents' point of
// intersection bounds it where g is convex.
template <class Law, class Scheme, class T>
bool EventWalk<Law, Scheme, T>::dips(int j, const T& side, const T& t, const T* x, Look& a, Look& m,
                                     Look& b) {
  for (int i = 0; i < 4; ++i) {
    const T ga = side * a.g[j], gb = side * b.g[j], da = side * a.g_dot[j], db = side * b.g_dot[j];
    const T length = b.tau - a.tau;
    if (!(da < T(0) && db > T(0) && length > T(0))) return false;
    const T meet = (gb - ga - db * length) / (da - db);
    if (ga + da * meet > T(0)) return false;
    const T z = T(3) * (ga - gb) / length + da + db;
    const T w = sqrt(max(z * z - da * db, T(0)));
    m = look(t, x, b.tau - length * (db + w - z) / (db - da + T(2) * w));
    if (side * m.g[j] < T(0)) return true;
    (side * m.g_dot[j] < T(0) ? a : b) = m;
  }
  return false;
}

// The root between a, on `side`, and b, beyond: Newton's method within the bracket. g_dot is the
// rate along the motion; that along Φ_τ differs from it by the integrator's error only.
template <class Law, class Scheme, class T>
T EventWalk<Law, Scheme, T>::root(int j, const T& t, const T* x, Look a, const Look& b,
                                  const T& side) {
  constexpr T eps = std::numeric_limits<T>::epsilon();
  T low = a.tau, high = b.tau;
  // Where a is on the surface and g leaves it to `side`, the root wanted is where it comes back.
  const T least = eps * high;
  while (!(side * a.g[j] > T(0))) {
    if (high - low < least) return low;
    const Look m = look(t, x, low + T(0.5) * (high - low));
    if (side * m.g[j] > T(0)) {
      a = m;
    } else {
      high = m.tau;
    }
  }
  low = a.tau;
  T tau = low + T(0.5) * (high - low);
  for (int i = 0; i < 64; ++i) {
    const Look m = look(t, x, tau);
    if (m.g[j] == T(0)) break;
    (side * m.g[j] > T(0) ? low : high) = tau;
    T next = tau - m.g[j] / m.g_dot[j];
    if (abs(next - tau) <= eps * tau) break;
    if (!(next > low && next < high)) next = low + T(0.5) * (high - low);
    if (next == low || next == high) break;
    tau = next;
  }
  return tau;
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
  pull(at, start(i), event_bar_, along, y_bar_);

  T unit[kEvents] = {}, g_t(0);  // (5)
  unit[mark.event] = T(1);
  for (T* zero : {g_x_, g_x0_}) set_zero(zero, n);
  set_zero(g_u_, shape_.inputs);
  set_zero(g_p_, shape_.parameters);
  law_events_pullback(at, t_event, reached_, unit, g_t, g_x_, g_u_, g_p_);
  LawPointBar<T> of_g{T(0), T(0), g_u_, g_p_};
  pull(at, start(i), g_x_, of_g, g_x0_);
  const T tau_bar = along.h + t_event_bar - rest_bar_;  // (1), (3)
  const T weight = -tau_bar / (of_g.h + g_t);
  for (int k = 0; k < n; ++k) y_bar_[k] += weight * g_x0_[k];
  for (int k = 0; k < shape_.inputs; ++k) bar.u[k] += weight * g_u_[k];
  for (int k = 0; k < shape_.parameters; ++k) bar.p[k] += weight * g_p_[k];
  t_bar_ = t_event_bar + along.t + weight * (of_g.t + g_t);
}

}  // namespace cycloid::inline system
