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
template <class S>
Ends<S> ends(const double* x, int j) {
  const double* const p = x + 3 * j;
  return {{{S(p[0]), S(p[1]), S(p[2])}, {S(p[3]), S(p[4]), S(p[5])}}};
}

double turn(const double* rest, const double* start, const double* x, int j) {
  return turn_of_segment(ends<double>(rest, j).of, ends<double>(start, j).of,
                         ends<double>(x, j).of);
}

// ∂Ω/∂(rest, start, x) of segment j, six numbers each.
struct TurnSlope {
  TurnSlope(const double* rest, const double* start, const double* x, int j) {
    using D = Dual<double, 18>;
    Ends<D> e[3] = {ends<D>(rest, j), ends<D>(start, j), ends<D>(x, j)};
    for (int k = 0; k < 18; ++k) {
      D& one = e[k / 6].of[k / 3 % 2][k % 3];
      one = D::variable(one.value, k);
    }
    const D all = turn_of_segment(e[0].of, e[1].of, e[2].of);
    std::copy_n(all.tangent, 18, by);
  }
  void add(double bar, int j, double* rest_bar, double* start_bar, double* x_bar) const {
    double* const to[3] = {rest_bar, start_bar, x_bar};
    for (int k = 0; k < 18; ++k) to[k / 6][3 * j + k % 6] += bar * by[k];
  }
  double along(int j, const double* rest_tan, const double* start_tan, const double* x_tan) const {
    const double* const from[3] = {rest_tan, start_tan, x_tan};
    double sum = 0;
    for (int k = 0; k < 18; ++k) {
      if (from[k / 6]) sum += by[k] * from[k / 6][3 * j + k % 6];
    }
    return sum;
  }
  double by[18];
};

// The part of the twist between segments j - 1 and j that frames carried from a to b have.
double carried_twist(const double* a, const double* b, int j) {
  const auto tangent = [](const double* x, int k) {
    const Ends<double> e = ends<double>(x, k);
    return unit_and_norm(e.of[1] - e.of[0]).unit;
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

void read_state(const SolidPlan& plan, const double* state, double* x, double* v) {
  const Places at(plan);
  std::copy_n(state, at.points, x);
  std::copy_n(state + at.points, at.points, v);
  for (int j = 0; j < at.turns; ++j) {
    double *const to_x = x + at.number(j), *const to_v = v + at.number(j);
    to_x[0] = at.length * state[at.angle(j)], to_v[0] = at.length * state[at.rate(j)];
    to_x[1] = to_x[2] = to_v[1] = to_v[2] = 0;
  }
}

void read_state_pullback(const SolidPlan& plan, const double* x_bar, const double* v_bar,
                         double* state_bar) {
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

void write_state(const SolidPlan& plan, const double* rest, const double* start, const double* x,
                 const double* v, double* state) {
  const Places at(plan);
  std::copy_n(x, at.points, state);
  std::copy_n(v, at.points, state + at.points);
  for (int j = 0; j < at.turns; ++j) {
    state[at.rate(j)] = v[at.number(j)] / at.length;
    double& theta = state[at.angle(j)];
    theta = x[at.number(j)] / at.length;
    if (!start) continue;
    theta += turn(rest, start, x, j);  // (1)
    if (j == 0 || plan.held[static_cast<std::size_t>(at.number(j))]) continue;
    const double twist = (x[at.number(j)] - x[at.number(j - 1)]) / at.length +
                         carried_twist(start, x, j) + carried_twist(rest, start, j);
    const double shown = theta - state[at.angle(j - 1)] + carried_twist(rest, x, j);
    theta += kWhole * std::round((twist - shown) / kWhole);
  }
}

void write_state_pullback(const SolidPlan& plan, const double* rest, const double* start,
                          const double* x, const double* state_bar, double* x_bar, double* v_bar,
                          double* rest_bar, double* start_bar) {
  const Places at(plan);
  for (int i = 0; i < at.points; ++i) {
    x_bar[i] += state_bar[i];
    v_bar[i] += state_bar[at.points + i];
  }
  for (int j = 0; j < at.turns; ++j) {
    const double bar = state_bar[at.angle(j)];
    v_bar[at.number(j)] += state_bar[at.rate(j)] / at.length;
    x_bar[at.number(j)] += bar / at.length;
    if (start && bar != 0) {
      TurnSlope(rest, start, x, j).add(bar, j, rest_bar, start_bar, x_bar);  // (1)
    }
  }
}

void write_state_tangent(const SolidPlan& plan, const double* rest, const double* start,
                         const double* x, const double* rest_tan, const double* start_tan,
                         const double* x_tan, const double* v_tan, double* state_tan) {
  const Places at(plan);
  std::copy_n(x_tan, at.points, state_tan);
  std::copy_n(v_tan, at.points, state_tan + at.points);
  for (int j = 0; j < at.turns; ++j) {
    state_tan[at.rate(j)] = v_tan[at.number(j)] / at.length;
    state_tan[at.angle(j)] = x_tan[at.number(j)] / at.length;
    if (start) {
      state_tan[at.angle(j)] +=
          TurnSlope(rest, start, x, j).along(j, rest_tan, start_tan, x_tan);  // (1)
    }
  }
}

double held_turn(const SolidPlan& plan, int j, const double* rest, const double* start,
                 const double* x, double turned) {
  return plan.length * (turned - turn(rest, start, x, j));  // (2)
}

void held_turn_pullback(const SolidPlan& plan, int j, const double* rest, const double* start,
                        const double* x, double bar, double* rest_bar, double* start_bar,
                        double* x_bar, double& turned_bar) {
  turned_bar += plan.length * bar;
  TurnSlope(rest, start, x, j).add(-plan.length * bar, j, rest_bar, start_bar, x_bar);  // (2)
}

double held_turn_tangent(const SolidPlan& plan, int j, const double* rest, const double* start,
                         const double* x, const double* rest_tan, const double* start_tan,
                         const double* x_tan, double turned_tan) {
  return plan.length *
         (turned_tan - TurnSlope(rest, start, x, j).along(j, rest_tan, start_tan, x_tan));
}

}  // namespace cycloid::inline soft
