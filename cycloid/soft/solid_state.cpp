#include "cycloid/soft/solid_state.h"

#include <algorithm>
#include <cmath>

#include "cycloid/math/dual.h"
#include "cycloid/soft/term/rod_frame.h"

namespace cycloid::inline soft {
namespace {

constexpr double kWhole = 2 * 3.14159265358979323846;

template <class S>
struct Ends {
  Vec3<S> of[2];
};

// Both ends of segment j, which follow each other.
template <class S, class R>
Ends<S> ends(const R* x, int j) {
  const R* const p = x + 3 * j;
  return {{{S(p[0]), S(p[1]), S(p[2])}, {S(p[3]), S(p[4]), S(p[5])}}};
}

template <class S>
S turn(const S* rest, const S* start, const S* x, int j) {
  return turn_of_segment(ends<S>(rest, j).of, ends<S>(start, j).of, ends<S>(x, j).of);
}

// ∂Ω/∂(rest, start, x) of segment j, six numbers each, added times bar.
template <class S>
void turn_pullback(const S* rest, const S* start, const S* x, int j, const S& bar, S* rest_bar,
                   S* start_bar, S* x_bar) {
  using D = Dual<S, 18>;
  Ends<D> e[3] = {ends<D>(rest, j), ends<D>(start, j), ends<D>(x, j)};
  for (int k = 0; k < 18; ++k) {
    D& one = e[k / 6].of[k / 3 % 2][k % 3];
    one = D::variable(one.value, k);
  }
  const D all = turn_of_segment(e[0].of, e[1].of, e[2].of);
  S* const to[3] = {rest_bar, start_bar, x_bar};
  for (int k = 0; k < 18; ++k) to[k / 6][3 * j + k % 6] += bar * all.tangent[k];
}

// The part of the twist between segments j - 1 and j that frames carried from a to b have.
template <class S>
double carried_twist(const S* a, const S* b, int j) {
  const auto tangent = [](const S* x, int k) {
    Vec3<double> way;
    for (int i = 0; i < 3; ++i) way[i] = primal(x[3 * (k + 1) + i]) - primal(x[3 * k + i]);
    return unit_and_norm(way).unit;
  };
  const Vec3<double> a0 = tangent(a, j - 1), a1 = tangent(a, j), b0 = tangent(b, j - 1),
                     b1 = tangent(b, j);
  return turn_around(a0, a1, b1) - turn_around(a0, b0, b1);
}

struct Places {
  explicit Places(const SolidPlan& plan)
      : points(3 * plan.points()), turns(plan.turns), length(plan.length) {}
  int points, turns;
  double length;
  int number(int j) const { return points + 3 * j; }  // of the angle, in x
  int angle(int j) const { return 2 * points + j; }   // in the state
  int rate(int j) const { return 2 * points + turns + j; }
};

}  // namespace

template <class S>
void read_state(const SolidPlan& plan, const S* state, S* x, S* v) {
  const Places at(plan);
  std::copy_n(state, at.points, x);
  std::copy_n(state + at.points, at.points, v);
  for (int j = 0; j < at.turns; ++j) {
    S *const to_x = x + at.number(j), *const to_v = v + at.number(j);
    to_x[0] = at.length * state[at.angle(j)], to_v[0] = at.length * state[at.rate(j)];
    to_x[1] = to_x[2] = to_v[1] = to_v[2] = S(0);
  }
}

template <class S>
void read_state_pullback(const SolidPlan& plan, const S* x_bar, const S* v_bar, S* state_bar) {
  const Places at(plan);
  for (int i = 0; i < at.points; ++i) {
    state_bar[i] += x_bar[i];
    state_bar[at.points + i] += v_bar[i];
  }
  for (int j = 0; j < at.turns; ++j) {
    state_bar[at.angle(j)] += at.length * x_bar[at.number(j)];
    state_bar[at.rate(j)] += at.length * v_bar[at.number(j)];
  }
}

template <class S>
void write_state(const SolidPlan& plan, const S* rest, const S* start, const S* x, const S* v,
                 S* state) {
  const Places at(plan);
  std::copy_n(x, at.points, state);
  std::copy_n(v, at.points, state + at.points);
  for (int j = 0; j < at.turns; ++j) {
    state[at.rate(j)] = v[at.number(j)] / at.length;
    S& theta = state[at.angle(j)];
    theta = x[at.number(j)] / at.length;
    if (!start) continue;
    theta += turn(rest, start, x, j);  // (1)
    if (j == 0 || plan.held[static_cast<std::size_t>(at.number(j))]) continue;
    const double twist = primal(x[at.number(j)] - x[at.number(j - 1)]) / at.length +
                         carried_twist(start, x, j) + carried_twist(rest, start, j);
    const double shown = primal(theta - state[at.angle(j - 1)]) + carried_twist(rest, x, j);
    theta += kWhole * std::round((twist - shown) / kWhole);
  }
}

template <class S>
void write_state_pullback(const SolidPlan& plan, const S* rest, const S* start, const S* x,
                          const S* state_bar, S* x_bar, S* v_bar, S* rest_bar, S* start_bar) {
  const Places at(plan);
  for (int i = 0; i < at.points; ++i) {
    x_bar[i] += state_bar[i];
    v_bar[i] += state_bar[at.points + i];
  }
  for (int j = 0; j < at.turns; ++j) {
    const S bar = state_bar[at.angle(j)];
    v_bar[at.number(j)] += state_bar[at.rate(j)] / at.length;
    x_bar[at.number(j)] += bar / at.length;
    if (start) turn_pullback(rest, start, x, j, bar, rest_bar, start_bar, x_bar);  // (1)
  }
}

template <class S>
S held_turn(const SolidPlan& plan, int j, const S* rest, const S* start, const S* x,
            const S& turned) {
  return plan.length * (turned - turn(rest, start, x, j));  // (2)
}

template <class S>
void held_turn_pullback(const SolidPlan& plan, int j, const S* rest, const S* start, const S* x,
                        const S& bar, S* rest_bar, S* start_bar, S* x_bar, S& turned_bar) {
  turned_bar += plan.length * bar;
  turn_pullback<S>(rest, start, x, j, -plan.length * bar, rest_bar, start_bar, x_bar);  // (2)
}

template void read_state(const SolidPlan&, const double*, double*, double*);
template void read_state_pullback(const SolidPlan&, const double*, const double*, double*);
template void write_state(const SolidPlan&, const double*, const double*, const double*,
                          const double*, double*);
template void write_state_pullback(const SolidPlan&, const double*, const double*, const double*,
                                   const double*, double*, double*, double*, double*);
template double held_turn(const SolidPlan&, int, const double*, const double*, const double*,
                          const double&);
template void held_turn_pullback(const SolidPlan&, int, const double*, const double*, const double*,
                                 const double&, double*, double*, double*, double&);
template void read_state(const SolidPlan&, const Dual1*, Dual1*, Dual1*);
template void read_state_pullback(const SolidPlan&, const Dual1*, const Dual1*, Dual1*);
template void write_state(const SolidPlan&, const Dual1*, const Dual1*, const Dual1*, const Dual1*,
                          Dual1*);
template void write_state_pullback(const SolidPlan&, const Dual1*, const Dual1*, const Dual1*,
                                   const Dual1*, Dual1*, Dual1*, Dual1*, Dual1*);
template Dual1 held_turn(const SolidPlan&, int, const Dual1*, const Dual1*, const Dual1*,
                         const Dual1&);
template void held_turn_pullback(const SolidPlan&, int, const Dual1*, const Dual1*, const Dual1*,
                                 const Dual1&, Dual1*, Dual1*, Dual1*, Dual1&);

}  // namespace cycloid::inline soft
