// Bead on a curve: it slides down from rest at the curve's beginning, without friction, and its
// pullback.
//
// The curve is given by n heights y_i above stations x_i [m] that lie densely at the beginning,
// where a fast slide is steep:
//   x(s) = w s²,  y(s) the cubic spline through (s_i, y_i), s_i = i/(n-1), with y'(0) = 0     (1)
// so that it may begin with any slope: dy/dx = y''(0)/(2 w). The end of the spline is natural. With
// h = 1/(n-1) and scaled slopes d_i = h y'(s_i):
//   d_0 = 0,  d_{i-1} + 4 d_i + d_{i+1} = 3 (y_{i+1} - y_{i-1}),                              (2)
//   d_{n-2} + 2 d_{n-1} = 3 (y_{n-1} - y_{n-2})
//   y = y_i + θ (d_i + θ (c_2 + θ c_3)),  θ = s/h - i                                         (3)
//   c_2 = 3 Δ - 2 d_i - d_{i+1},  c_3 = d_i + d_{i+1} - 2 Δ,  Δ = y_{i+1} - y_i
// Energy is conserved, so that the state is s alone. With v² = 2 g (y_0 - y) and |(x', y')| ṡ = v,
//   A = (y_0 - y)/s²,  B = y'/s                                                              (4)
//   ṡ² = 2 g A / (4 w² + B²)                                                                 (5)
// In the first interval s² cancels in (4), A = -(c_2 + θ c_3)/h² and B = (2 c_2 + 3 θ c_3)/h²: the
// start from rest is regular. Where the curve is above its beginning (A ≤ 0) the bead stands still,
// with derivative 0. Event "arrival", at s = 1, ends the run.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "cycloid/math/elementary.h"
#include "cycloid/system/admission.h"
#include "cycloid/system/event/event.h"

namespace cycloid::inline system {

struct BeadOnCurve {
  static constexpr const char* kName = "bead_on_curve";
  static constexpr int kFewestHeights = 3, kMostHeights = 64;
  static constexpr std::array kEvents = {
      EventSpec{"arrival", EventDirection::rising, EventEffect::end}};
  int n = 22;

  std::vector<BlockSpec> state() const { return {{"progress", 1, "1"}}; }
  std::vector<BlockSpec> input() const { return {}; }
  std::vector<ParameterSpec> parameters() const {
    return {{"heights", 0.0, "m", Constraint::none, n},
            {"width", 2.0, "m", Constraint::positive},
            {"gravity", 9.81, "m/s²"}};
  }

  template <class S>
  void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    S d[kMostHeights];
    slopes(p, d);
    dx[0] = rate(at(x[0], p, d), x[0], p).s_dot;
  }

  template <class S>
  void x_dot_pullback(const S&, const S* x, const S*, const S* p, const S* dx_bar, S&, S* x_bar, S*,
                      S* p_bar) const {
    S d[kMostHeights], d_bar[kMostHeights];
    slopes(p, d);
    const S s = x[0];
    const Piece<S> q = at(s, p, d);
    const Rate<S> r = rate(q, s, p);
    const auto moves = r.s_dot > S(0), first = s < S(h());
    const S square_bar = select(moves, dx_bar[0] / (S(2) * select(moves, r.s_dot, S(1))), S(0));
    const S A_bar = square_bar * S(2) * p[n + 1] / r.M;  // (5)
    const S M_bar = -A_bar * r.A / r.M, B_bar = S(2) * r.B * M_bar;
    p_bar[n + 1] += square_bar * S(2) * r.A / r.M;
    p_bar[n] += S(8) * p[n] * M_bar;

    // (4), in the first interval and behind it
    const S zero(0), inv_s = S(1) / select(first, S(1), s), inv_h2 = S(1 / (h() * h()));
    const S near = inv_h2 * select(first, A_bar, zero),
            near_B = inv_h2 * select(first, B_bar, zero);
    const S far = select(first, zero, A_bar), far_B = select(first, zero, B_bar);
    S c2_bar = S(2) * near_B - near;
    S c3_bar = q.theta * (S(3) * near_B - near);
    S theta_bar = q.c3 * (S(3) * near_B - near);
    const S y_bar = -far * inv_s * inv_s, y_s_bar = far_B * inv_s;
    p_bar[0] -= y_bar;
    S s_bar = -inv_s * (S(2) * far * r.A + far_B * r.B);

    const S inv_h(static_cast<double>(n - 1)), t = q.theta;  // (3)
    S d_left_bar = t * y_bar + inv_h * y_s_bar;
    c2_bar += t * (t * y_bar + S(2) * inv_h * y_s_bar);
    c3_bar += t * t * (t * y_bar + S(3) * inv_h * y_s_bar);
    theta_bar += y_bar * q.y_s * S(h()) + y_s_bar * inv_h * (S(2) * q.c2 + S(6) * t * q.c3);
    x_bar[0] += s_bar + theta_bar * inv_h;
    const S rise_bar = S(3) * c2_bar - S(2) * c3_bar;
    d_left_bar += c3_bar - S(2) * c2_bar;
    const S d_right_bar = c3_bar - c2_bar;

    for (int i = 0; i < n; ++i) d_bar[i] = zero;
    for (int i = 0; i < n - 1; ++i) {
      const auto behind = s < S(i * h()), beyond = s >= S((i + 1) * h());
      const auto here = i == 0 ? !beyond : i == n - 2 ? !behind : (!behind) & (!beyond);
      p_bar[i] += select(here, y_bar - rise_bar, zero);
      p_bar[i + 1] += select(here, rise_bar, zero);
      d_bar[i] += select(here, d_left_bar, zero);
      d_bar[i + 1] += select(here, d_right_bar, zero);
    }
    pull_slopes(d_bar, p_bar);  // (2)
  }

  template <class S>
  CYCLOID_INLINE void events(const S&, const S* x, const S*, const S*, S* g) const {
    g[0] = x[0] - S(1);
  }
  template <class S>
  CYCLOID_INLINE void events_pullback(const S&, const S*, const S*, const S*, const S* g_bar, S&,
                                      S* x_bar, S*, S*) const {
    x_bar[0] += g_bar[0];
  }

  // The curve goes from s = 0 to 1; a little before 0 it is continued smoothly.
  std::string admit(const double*, double rounding, double* x) const {
    if (!(x[0] >= -kNearSurface && x[0] <= 1 + rounding)) {
      return message("progress is ", x[0], ", ",
                     x[0] < 0 ? "before the beginning" : "beyond the end",
                     " of the curve; start between 0 and 1");
    }
    x[0] = std::min(x[0], 1.0);
    return {};
  }

  // The point of the curve at s: (x, y) [m].
  std::array<double, 2> point(double s, const double* p) const {
    double d[kMostHeights];
    slopes(p, d);
    return {p[n] * s * s, at(s, p, d).y};
  }

 private:
  template <class S>
  struct Piece {  // of the spline, at θ in its interval
    S theta, y_left, y_right, d_left, d_right, c2, c3, y, y_s;
  };
  template <class S>
  struct Rate {
    S A, B, M, s_dot;  // M = 4 w² + B²
  };

  double h() const { return 1.0 / (n - 1); }
  // Elimination of (2): the pivots' reciprocals.
  void pivots(double* c) const {
    c[0] = 0;
    for (int i = 1; i < n - 1; ++i) c[i] = 1 / (4 - c[i - 1]);
    c[n - 1] = 1 / (2 - c[n - 2]);
  }
  template <class S>
  void slopes(const S* y, S* d) const;
  template <class S>
  void pull_slopes(S* d_bar, S* y_bar) const;
  template <class S>
  Piece<S> at(const S& s, const S* y, const S* d) const;
  template <class S>
  Rate<S> rate(const Piece<S>& piece, const S& s, const S* p) const;
};

// (2)
template <class S>
void BeadOnCurve::slopes(const S* y, S* d) const {
  double c[kMostHeights];
  pivots(c);
  d[0] = S(0);
  for (int i = 1; i < n - 1; ++i) d[i] = (S(3) * (y[i + 1] - y[i - 1]) - d[i - 1]) * S(c[i]);
  d[n - 1] = (S(3) * (y[n - 1] - y[n - 2]) - d[n - 2]) * S(c[n - 1]);
  for (int i = n - 2; i > 0; --i) d[i] -= S(c[i]) * d[i + 1];
}

// Uses d_bar up.
template <class S>
void BeadOnCurve::pull_slopes(S* d_bar, S* y_bar) const {
  double c[kMostHeights];
  pivots(c);
  for (int i = 1; i < n - 1; ++i) d_bar[i + 1] -= S(c[i]) * d_bar[i];
  for (int i = n - 1; i > 0; --i) {
    const S r_bar = d_bar[i] * S(c[i]);
    d_bar[i - 1] -= r_bar;
    y_bar[i == n - 1 ? i : i + 1] += S(3) * r_bar;
    y_bar[i - 1] -= S(3) * r_bar;
  }
}

// (3)
template <class S>
auto BeadOnCurve::at(const S& s, const S* y, const S* d) const -> Piece<S> {
  Piece<S> q;
  S left(0);
  q.y_left = y[0], q.y_right = y[1], q.d_left = d[0], q.d_right = d[1];
  for (int i = 1; i < n - 1; ++i) {
    const auto beyond = s >= S(i * h());
    left = select(beyond, S(static_cast<double>(i)), left);
    q.y_left = select(beyond, y[i], q.y_left);
    q.y_right = select(beyond, y[i + 1], q.y_right);
    q.d_left = select(beyond, d[i], q.d_left);
    q.d_right = select(beyond, d[i + 1], q.d_right);
  }
  q.theta = s * S(static_cast<double>(n - 1)) - left;
  const S rise = q.y_right - q.y_left;
  q.c2 = S(3) * rise - S(2) * q.d_left - q.d_right;
  q.c3 = q.d_left + q.d_right - S(2) * rise;
  q.y = q.y_left + q.theta * (q.d_left + q.theta * (q.c2 + q.theta * q.c3));
  q.y_s = (q.d_left + q.theta * (S(2) * q.c2 + S(3) * q.theta * q.c3)) / S(h());
  return q;
}

template <class S>
auto BeadOnCurve::rate(const Piece<S>& q, const S& s, const S* p) const -> Rate<S> {
  const auto first = s < S(h());
  const S inv_s = S(1) / select(first, S(1), s), inv_h2 = S(1 / (h() * h()));
  Rate<S> r;
  r.A = select(first, -(q.c2 + q.theta * q.c3) * inv_h2, (p[0] - q.y) * inv_s * inv_s);  // (4)
  r.B = select(first, (S(2) * q.c2 + S(3) * q.theta * q.c3) * inv_h2, q.y_s * inv_s);
  r.M = S(4) * p[n] * p[n] + r.B * r.B;
  const S square = S(2) * p[n + 1] * r.A / r.M;  // (5)
  const auto moves = square > S(0);
  r.s_dot = select(moves, sqrt(select(moves, square, S(1))), S(0));
  return r;
}

}  // namespace cycloid::inline system
