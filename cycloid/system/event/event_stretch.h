// EventStretch: one environment between two events of a step, and the next event.
//
// A stretch begins at time t in state x with `rest` of the step before it. Φ_τ is the integrator's
// own step of length τ; the event is the earliest root of g(t + τ, Φ_τ(x)), of any g.
//
// Where a root is looked for: g and its rate at the beginning, the middle and the end of what is
// left of the step, or of each substep that an adaptive integrator divides it into. A change of
// sign brackets a root; so do two slopes that point at zero, where g between them reaches beyond
// it. Looks that are not finite are replaced by the last one that is.
//
// The surface is where |g| is below what rounding makes of it,
//   8 ε σ,  σ = |g_x| (|x| + h |f|) + |g_t| (|t| + h) + |g_u| |u| + |g_p| |p|            (1)
// A stretch that begins on it and moves through it in the event's direction begins with the event,
// unless the event has happened and the state has not left the surface since. A step that ends on
// it leaves the event to the next one, which begins there: (1) is the same number for both, so that
// one of them has it. A state that stays on the surface after the event, at rest, and is pressed
// through it would have the event without end.
//
// With a bend g̈ of g, a change of g by d = ġ²/(2 |g̈|) may miss the surface, and an error δ of
// g is one of δ/(2 d) in the derivative of τ, relatively. d ≤ √ε σ is grazing.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/system/event/event_search.h"

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
class EventStretch {
 public:
  static constexpr int kEvents = event_count<Law>();

  struct Root {
    int event = -1;  // none
    T tau{};
    T to{};              // the side to which g passes
    bool held = false;   // the state stands on the surface, and is pressed through it
    bool rests = false;  // ... after the event
    bool grazing = false;
  };

  static int numbers(const LawShape<Law>& shape) {
    return shape.states + 2 * (shape.inputs + shape.parameters) + 2 * shape.tangents +
           record_numbers<Scheme>(shape);
  }

  // Takes numbers(shape) numbers; `scratch` has room for the integrator's local arrays.
  EventStretch(const Law& law, const Scheme& scheme, const LawShape<Law>& shape,
               NumberArena<T>& arena, Scratch scratch)
      : law_(law), scheme_(scheme), shape_(shape), scratch_(scratch) {
    u_ = arena.take(shape.inputs);
    p_ = arena.take(shape.parameters);
    reached_ = arena.take(shape.states);
    record_ = arena.take(record_numbers<Scheme>(shape));
    f_ = arena.take(shape.tangents);
    g_x_ = arena.take(shape.tangents);
    g_u_ = arena.take(shape.inputs);
    g_p_ = arena.take(shape.parameters);
  }

  T* input() { return u_; }
  T* parameters() { return p_; }

  // Stands at the beginning of a step of length h, after which the next one begins at `next`.
  void begin(const T& t, const T& h, const T& next) {
    t_ = t;
    rest_ = length_ = h;
    next_ = next;
    std::fill_n(passed_, kEvents, T(0));
  }

  // The earliest event of the stretch that begins in x.
  Root first_root(const T* x);

  // Goes on to the end of the stretch, where its event happens.
  void pass(const Root& root, const T* x) {
    const Look between = look(x, T(0.5) * root.tau);
    for (int j = 0; j < kEvents; ++j) {
      if (!on_surface(between.g[j], scale_[j])) passed_[j] = T(0);
    }
    passed_[root.event] = root.to;
    t_ += root.tau;
    rest_ = max(rest_ - root.tau, T(0));
  }

 protected:
  LawPoint<Law, T> point(const T& t, const T& h) const {
    return {law_, shape_, t, h, u_, p_, scratch_};
  }
  // Φ_τ, and its pullback after it. Steps with events are rare: these are compiled once, not at
  // every place that calls them.
  CYCLOID_NOINLINE void reach(const T& t, const T& tau, const T* x, T* out) {
    LawPoint<Law, T> at = point(t, tau);
    at.notes = &last_note_;
    scheme_.step(at, x, out, record_);
  }
  CYCLOID_NOINLINE void pull(const LawPoint<Law, T>& at, const T* x, const T* out_bar,
                             LawPointBar<T>& bar, T* x_bar) const {
    scheme_.step_pullback(at, x, record_, out_bar, bar, x_bar);
  }

  const Law& law_;
  const Scheme& scheme_;
  LawShape<Law> shape_;
  Scratch scratch_;
  T *u_, *p_, *reached_, *record_, *f_, *g_x_, *g_u_, *g_p_;
  T t_ = T(0), rest_ = T(0);
  LaneNote last_note_;  // on the last Φ

 private:
  static constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
  static constexpr int kHalvings = 32;

  struct Look {  // the events at t + tau
    T tau;
    T g[kEvents], g_dot[kEvents];
    bool finite;
  };

  static T sign(const T& v) { return v > T(0) ? T(1) : v < T(0) ? T(-1) : T(0); }
  static EventDirection direction(int event) {
    return Law::kEvents[static_cast<std::size_t>(event)].direction;
  }
  static bool leads_to(int event, const T& side) {
    const EventDirection d = direction(event);
    return d == EventDirection::both || (d == EventDirection::falling) == (side < T(0));
  }
  static bool on_surface(const T& g, const T& scale) {
    return g == T(0) || abs(g) <= T(8) * kEpsilon * scale;  // (1)
  }
  // The largest rate at which g_dot changes between the looks.
  static T bend(int j, const Look* looks) {
    const auto between = [&](const Look& a, const Look& b) {
      return abs(b.g_dot[j] - a.g_dot[j]) / (b.tau - a.tau);
    };
    return max(between(looks[0], looks[1]), between(looks[1], looks[2]));
  }
  static bool grazes(const T& rate, const T& bend, const T& scale) {
    return !(rate * rate > T(2) * bend * std::sqrt(kEpsilon) * scale);
  }

  Look look(const T* x, const T& tau);
  T scale(int event, const T& t, const T* x);
  Root root_within(const T& begin, const T& end, const T* x);
  bool keep_finite(const T* x, Look* looks);
  Root begin_on_surface(int event, const Look* looks, T& side);
  Root crossing(int event, const T* x, const Look* looks);
  bool left_to_next(int event, const T* x, const Look& at);
  bool dips(int event, const T& side, const T* x, Look& a, Look& m, Look& b);
  T root(int event, const T* x, Look a, const Look& b, const T& side);

  T length_ = T(0), next_ = T(0);  // of the step, and when the next one begins
  T scale_[kEvents];               // σ at the last beginning that was looked at
  T passed_[kEvents];              // the side to which an event led whose surface was not left
};

template <class Law, class Scheme, class T>
auto EventStretch<Law, Scheme, T>::look(const T* x, const T& tau) -> Look {
  Look at;
  at.tau = tau;
  reach(t_, tau, x, reached_);
  const T t = tau == rest_ ? next_ : t_ + tau;
  LawPoint<Law, T> there = point(t, tau);
  LocalArray<T, LawShape<Law>::saved> saved(there.scratch, shape_.saved);
  law_x_dot(there, t, reached_, f_, saved.data());
  law_events_rate(there, t, reached_, f_, at.g, at.g_dot);
  at.finite = true;
  for (int i = 0; i < shape_.states; ++i) at.finite = at.finite && std::isfinite(reached_[i]);
  for (int j = 0; j < kEvents; ++j) at.finite = at.finite && std::isfinite(at.g[j]);
  return at;
}

// σ of (1).
template <class Law, class Scheme, class T>
CYCLOID_NOINLINE T EventStretch<Law, Scheme, T>::scale(int j, const T& t, const T* x) {
  LawPoint<Law, T> at = point(t, length_);
  LocalArray<T, LawShape<Law>::saved> saved(at.scratch, shape_.saved);
  law_x_dot(at, t, x, f_, saved.data());
  T unit[kEvents] = {}, g_t(0);
  unit[j] = T(1);
  set_zero(g_x_, shape_.tangents);
  set_zero(g_u_, shape_.inputs);
  set_zero(g_p_, shape_.parameters);
  law_events_pullback(at, t, x, unit, g_t, g_x_, g_u_, g_p_);
  T sum = abs(g_t) * (abs(t) + length_);
  for (int i = 0; i < shape_.states; ++i) sum += abs(g_x_[i]) * (abs(x[i]) + length_ * abs(f_[i]));
  for (int i = 0; i < shape_.inputs; ++i) sum += abs(g_u_[i] * u_[i]);
  for (int i = 0; i < shape_.parameters; ++i) sum += abs(g_p_[i] * p_[i]);
  return sum;
}

template <class Law, class Scheme, class T>
auto EventStretch<Law, Scheme, T>::first_root(const T* x) -> Root {
  if (!(rest_ > T(0))) return {};
  if constexpr (!divides_steps<Scheme>()) return root_within(T(0), rest_, x);
  for (int passed = 0;;) {
    // The next substep in which there may be an event: looking closer uses the same memory.
    T begin(0), end(-1);
    int i = 0;
    const auto visit = [&](const LawPoint<Law, T>& sub, const T& since, const T* before,
                           const T* after, bool taken) {
      if (!taken || i++ < passed || end > T(0)) return;
      if (!lanes_with_events(sub, before, after)) return;
      begin = since;
      end = since + sub.h;
      passed = i;
    };
    step_through(scheme_, point(t_, rest_), x, reached_, record_, visit);
    if (!(end > begin)) return {};
    const Root root = root_within(begin, min(end, rest_), x);
    if (root.event >= 0) return root;
  }
}

template <class Law, class Scheme, class T>
auto EventStretch<Law, Scheme, T>::root_within(const T& begin, const T& end, const T* x) -> Root {
  Look looks[3] = {look(x, begin), {}, {}};
  for (int j = 0; j < kEvents; ++j) {
    scale_[j] = scale(j, begin == rest_ ? next_ : t_ + begin, reached_);
    if (begin == T(0) && !on_surface(looks[0].g[j], scale_[j])) passed_[j] = T(0);
  }
  looks[1] = look(x, begin + T(0.5) * (end - begin));
  looks[2] = look(x, end);
  if (!keep_finite(x, looks)) return {};
  Root first;
  for (int j = 0; j < kEvents; ++j) {
    const Root root = crossing(j, x, looks);
    if (root.event < 0) continue;
    const bool earlier = first.event < 0 || root.tau < first.tau;
    if (earlier || (root.tau == first.tau && first.rests)) first = root;
  }
  if (first.event < 0) return first;
  const int j = first.event;
  const T rate = look(x, first.tau).g_dot[j];
  const T there = scale(j, t_ + first.tau, reached_);
  first.grazing = grazes(rate, bend(j, looks), max(scale_[j], there));
  return first;
}

// Replaces looks beyond the last finite place by that place and the middle of the way to it. False
// where there is no way.
template <class Law, class Scheme, class T>
bool EventStretch<Law, Scheme, T>::keep_finite(const T* x, Look* looks) {
  if (looks[0].finite && looks[1].finite && looks[2].finite) return true;
  if (!looks[0].finite) return false;
  Look last = looks[1].finite ? looks[1] : looks[0];
  T beyond = looks[1].finite ? looks[2].tau : looks[1].tau;
  for (int i = 0; i < kHalvings; ++i) {
    const Look m = look(x, last.tau + T(0.5) * (beyond - last.tau));
    if (m.finite) {
      last = m;
    } else {
      beyond = m.tau;
    }
  }
  looks[1] = look(x, looks[0].tau + T(0.5) * (last.tau - looks[0].tau));
  looks[2] = last;
  return looks[1].finite && looks[1].tau > looks[0].tau;
}

// Of looks that begin on the surface: the event that happens there, if any, and the `side` to which
// g leaves, 0 if it stays.
template <class Law, class Scheme, class T>
auto EventStretch<Law, Scheme, T>::begin_on_surface(int j, const Look* looks, T& side) -> Root {
  const T rate = looks[0].g_dot[j], passed = looks[0].tau == T(0) ? passed_[j] : T(0);
  side = sign(rate);
  Root root;
  root.held = grazes(rate, bend(j, looks), scale_[j]);
  if (root.held) {
    const T pressed = on_surface(looks[1].g[j], scale_[j]) ? T(0) : sign(looks[1].g[j]);
    root.rests = pressed != T(0) && pressed == passed;
    // Where it leaves against the way it is pressed, it comes back first.
    if (root.rests || !leads_to(j, pressed) || !(rate * pressed < T(0))) side = pressed;
    if (direction(j) == EventDirection::both && !root.rests) return {};  // a touch
  }
  if (side == T(0) || (!root.rests && (passed != T(0) || !leads_to(j, side)))) return {};
  root.event = j;
  root.tau = looks[0].tau;
  root.to = side;
  return root;
}

// When an event happens first.
template <class Law, class Scheme, class T>
auto EventStretch<Law, Scheme, T>::crossing(int j, const T* x, const Look* looks) -> Root {
  T side = sign(looks[0].g[j]);
  if (on_surface(looks[0].g[j], scale_[j])) {
    const Root at_once = begin_on_surface(j, looks, side);
    if (at_once.event >= 0 || side == T(0)) return at_once;
  }
  Root found;
  found.event = j;
  for (int i = 0; i < 2; ++i) {
    Look a = looks[i], b = looks[i + 1], m{};
    if (side * b.g[j] < T(0)) {
      if (leads_to(j, -side)) {
        if (left_to_next(j, x, b)) return {};
        found.tau = root(j, x, a, b, side);
        found.to = -side;
        return found;
      }
      side = -side;
    } else if (dips(j, side, x, a, m, b)) {
      found.to = leads_to(j, -side) ? -side : side;
      found.tau = found.to == side ? root(j, x, m, b, -side) : root(j, x, a, m, side);
      return found;
    }
  }
  return {};
}

// Whether the step ends `at` a place on the surface.
template <class Law, class Scheme, class T>
bool EventStretch<Law, Scheme, T>::left_to_next(int j, const T* x, const Look& at) {
  if (at.tau != rest_) return false;
  reach(t_, rest_, x, reached_);
  return on_surface(at.g[j], scale(j, next_, reached_));
}

// Whether g reaches beyond zero between a and b, which are on one side of it; m is a place where it
// does. Follows the least of the cubic through values and slopes; the tangents' point of
// intersection bounds it where g is convex.
template <class Law, class Scheme, class T>
bool EventStretch<Law, Scheme, T>::dips(int j, const T& side, const T* x, Look& a, Look& m,
                                        Look& b) {
  for (int i = 0; i < 4; ++i) {
    const T ga = side * a.g[j], gb = side * b.g[j], da = side * a.g_dot[j], db = side * b.g_dot[j];
    const T length = b.tau - a.tau;
    if (!(da < T(0) && db > T(0) && length > T(0))) return false;
    const T meet = (gb - ga - db * length) / (da - db);
    if (ga + da * meet > T(0)) return false;
    const T z = T(3) * (ga - gb) / length + da + db;
    const T w = sqrt(max(z * z - da * db, T(0)));
    m = look(x, b.tau - length * (db + w - z) / (db - da + T(2) * w));
    if (side * m.g[j] < T(0)) return true;
    (side * m.g_dot[j] < T(0) ? a : b) = m;
  }
  return false;
}

// The root between a, on `side`, and b, beyond: Newton's method within the bracket. g_dot is the
// rate along the motion; that along Φ_τ differs from it by the integrator's error only.
template <class Law, class Scheme, class T>
T EventStretch<Law, Scheme, T>::root(int j, const T* x, Look a, const Look& b, const T& side) {
  T low = a.tau, high = b.tau;
  // Where a is on the surface and g leaves it to `side`, the root wanted is where it comes back.
  const T least = kEpsilon * high;
  while (!(side * a.g[j] > T(0))) {
    if (high - low < least) return low;
    const Look m = look(x, low + T(0.5) * (high - low));
    if (side * m.g[j] > T(0)) {
      a = m;
    } else {
      high = m.tau;
    }
  }
  low = a.tau;
  T tau = low + T(0.5) * (high - low);
  for (int i = 0; i < 64; ++i) {
    const Look m = look(x, tau);
    if (m.g[j] == T(0)) break;
    (side * m.g[j] > T(0) ? low : high) = tau;
    T next = tau - m.g[j] / m.g_dot[j];
    if (abs(next - tau) <= kEpsilon * tau) break;
    if (!(next > low && next < high)) next = low + T(0.5) * (high - low);
    if (next == low || next == high) break;
    tau = next;
  }
  return tau;
}

}  // namespace cycloid::inline system
