// Collision of a node's populations, with one relaxation rate or several, and its pullback.
//
// g are the populations less their weights, f = w + g; all in units of the lattice: lengths of a
// cell, times of a step. F is an acceleration, u the velocity, δ the density less one:
//   δ = Σ g_i,   u = Σ c_i g_i + ½ F                                              (1)
//   e_i = w_i (δ + 3 c_i·u + 4.5 (c_i·u)² - 1.5 u²)                               (2)  HeLuo1997
//   s_i = w_i (3 c_i·F + 9 (c_i·u)(c_i·F) - 3 u·F)                                (3)  GuoEtAl2002
//   n_i = g_i - e_i + ½ s_i:  no mass and no momentum                             (4)
// One rate:  g*_i = g_i + s_i - ω n_i                                             (5)
// Several: n is cut into parts orthogonal under 1/w, of D axes, q = Σ c cᵀ n, t = tr q:
//   shear_i = 4.5 w_i (c_iᵀ q c_i - |c_i|² t / D),  bulk_i = 4.5 w_i (|c_i|² - D/3) t / D   (6)
//   odd_i = ½ (n_i - n_ī),   even_i = ½ (n_i + n_ī) - shear_i - bulk_i             (7)
//   g*_i = g_i + s_i - ω_s shear_i - ω_b bulk_i - ω_o odd_i - ω_e even_i          (8)
// (8) with equal rates is (5). The viscosity is (1/ω_s - ½) / 3 (HumieresEtAl2002).
// Opposite directions are taken together, as half their sum and half their difference.
#pragma once

#include "cycloid/fluid/lattice/lattice_set.h"

namespace cycloid::inline fluid {

template <class S>
struct LatticeRates {
  S shear, bulk, odd, even;
};

// q of (6): diagonal, and twice what is off it: off[a] of axes a and a + 1.
template <class S>
struct Stress {
  S on[3], off[3];
};

// cᵀ q c of direction i, and q += x c cᵀ in the same sense.
template <class L, int i, class S>
CYCLOID_INLINE S stress_along(const Stress<S>& q) {
  S sum(0);
  for_each_constant<3>([&](auto a) {
    constexpr int b = (a() + 1) % 3, c = L::c[i][a()] * L::c[i][b];
    if constexpr (L::c[i][a()] != 0) sum = sum + q.on[a()];
    if constexpr (c > 0) sum = sum + q.off[a()];
    else if constexpr (c < 0) sum = sum - q.off[a()];
  });
  return sum;
}
template <class L, int i, class S>
CYCLOID_INLINE void add_stress(const S& x, const S& twice, Stress<S>& q) {
  for_each_constant<3>([&](auto a) {
    constexpr int b = (a() + 1) % 3, c = L::c[i][a()] * L::c[i][b];
    if constexpr (L::c[i][a()] != 0) q.on[a()] = q.on[a()] + x;
    if constexpr (c > 0) q.off[a()] = q.off[a()] + twice;
    else if constexpr (c < 0) q.off[a()] = q.off[a()] - twice;
  });
}

// What (1) … (4) give, pair by pair; [0] of a half is the direction at rest.
template <class L, class S>
struct Collision {
  static constexpr int kPairs = (L::kDirections - 1) / 2;
  static constexpr double kD = L::kDimensions;
  S delta, u[3], F[3], uu, uF;
  S half_sum[kPairs + 1], half_gap[kPairs + 1];  // of g
  S n_even[kPairs + 1], n_odd[kPairs + 1];

  static constexpr int square(int i) {
    return L::c[i][0] * L::c[i][0] + L::c[i][1] * L::c[i][1] + L::c[i][2] * L::c[i][2];
  }
  static constexpr double shear_of_trace(int i) { return -4.5 * L::w[i] * square(i) / kD; }
  static constexpr double bulk_of_trace(int i) { return 4.5 * L::w[i] * (square(i) - kD / 3) / kD; }

  CYCLOID_INLINE S number(double x) const { return S(Scalar<S>(x)); }

  CYCLOID_INLINE Collision(const S* force, const S* g) {
    for_each_constant<3>([&](auto a) {
      F[a()] = a() < L::kFirst ? S(0) : force[a()];
      u[a()] = S(0);
    });
    half_sum[0] = g[0], half_gap[0] = S(0), delta = S(0);
    for_each_constant<kPairs>([&](auto k) {
      constexpr int i = 2 * k() + 1;
      half_sum[k() + 1] = number(0.5) * (g[i] + g[i + 1]);
      half_gap[k() + 1] = number(0.5) * (g[i] - g[i + 1]);
      delta = delta + half_sum[k() + 1];
      add_along<L, i>(half_gap[k() + 1], u);
    });
    delta = number(2) * delta + g[0];
    uu = S(0), uF = S(0);
    for_each_constant<3>([&](auto a) {
      if constexpr (a() >= L::kFirst) {
        u[a()] = number(2) * u[a()] + number(0.5) * F[a()];  // (1)
        uu = uu + u[a()] * u[a()], uF = uF + u[a()] * F[a()];
      }
    });
  }
  // e and s of a pair, as halves: sum and gap.
  template <int i>
  CYCLOID_INLINE void targets(S& e_even, S& e_odd, S& s_even, S& s_odd) const {
    constexpr double w = L::w[i];
    const S cu = along<L, i>(u), cF = along<L, i>(F);
    e_even = number(w) * (delta + number(4.5) * cu * cu - number(1.5) * uu);  // (2)
    e_odd = number(3 * w) * cu;
    s_even = number(w) * (number(9) * cu * cF - number(3) * uF);  // (3)
    s_odd = number(3 * w) * cF;
  }
  CYCLOID_INLINE S rest_source() const { return number(-3 * L::w[0]) * uF; }
  CYCLOID_INLINE S rest_excess() const {
    return half_sum[0] - number(L::w[0]) * (delta - number(1.5) * uu) + number(0.5) * rest_source();
  }
  // n and, of its second moments, q.
  CYCLOID_INLINE Stress<S> excess() {
    Stress<S> q{{S(0), S(0), S(0)}, {S(0), S(0), S(0)}};
    n_even[0] = rest_excess(), n_odd[0] = S(0);
    for_each_constant<kPairs>([&](auto k) {
      constexpr int i = 2 * k() + 1;
      S e_even, e_odd, s_even, s_odd;
      targets<i>(e_even, e_odd, s_even, s_odd);
      n_even[k() + 1] = half_sum[k() + 1] - e_even + number(0.5) * s_even;  // (4)
      n_odd[k() + 1] = half_gap[k() + 1] - e_odd + number(0.5) * s_odd;
      add_stress<L, i>(number(2) * n_even[k() + 1], number(4) * n_even[k() + 1], q);
    });
    return q;
  }
};

// g (directions) becomes g*; returns u². kOneRate: (5) with the rate of shear.
template <class L, bool kOneRate, class S>
CYCLOID_INLINE S collide(const LatticeRates<S>& rates, const S* force, S* g) {
  Collision<L, S> now(force, g);
  const auto number = [&](double x) { return now.number(x); };
  Stress<S> q;
  S t;
  if constexpr (!kOneRate) {
    q = now.excess();
    t = q.on[0] + q.on[1] + q.on[2];
    const S bulk = number(now.bulk_of_trace(0)) * t;
    g[0] = g[0] + now.rest_source() - rates.bulk * bulk - rates.even * (now.n_even[0] - bulk);
  } else {
    g[0] = g[0] + now.rest_source() - rates.shear * now.rest_excess();  // (5)
  }
  for_each_constant<now.kPairs>([&](auto k) {
    constexpr int i = 2 * k() + 1;
    S e_even, e_odd, s_even, s_odd;
    now.template targets<i>(e_even, e_odd, s_even, s_odd);
    S even = now.half_sum[k() + 1] + s_even, odd = now.half_gap[k() + 1] + s_odd;
    if constexpr (kOneRate) {
      even = even - rates.shear * (now.half_sum[k() + 1] - e_even + number(0.5) * s_even);  // (5)
      odd = odd - rates.shear * (now.half_gap[k() + 1] - e_odd + number(0.5) * s_odd);
    } else {
      const S bulk = number(now.bulk_of_trace(i)) * t;
      const S shear =
          number(4.5 * L::w[i]) * stress_along<L, i>(q) + number(now.shear_of_trace(i)) * t;  // (6)
      const S rest = now.n_even[k() + 1] - shear - bulk;                                      // (7)
      even = even - rates.shear * shear - rates.bulk * bulk - rates.even * rest;              // (8)
      odd = odd - rates.odd * now.n_odd[k() + 1];
    }
    g[i] = even + odd, g[i + 1] = even - odd;
  });
  return now.uu;
}

// Given the populations g before the collision and g_star_bar, adds to g_bar, rates_bar, force_bar.
template <class L, bool kOneRate, class S>
CYCLOID_INLINE void collide_pullback(const LatticeRates<S>& rates, const S* force, const S* g,
                                     const S* g_star_bar, LatticeRates<S>& rates_bar, S* force_bar,
                                     S* g_bar) {
  Collision<L, S> now(force, g);
  const auto number = [&](double x) { return now.number(x); };
  const Stress<S> q = now.excess();
  const S t = q.on[0] + q.on[1] + q.on[2];
  Stress<S> q_bar{{S(0), S(0), S(0)}, {S(0), S(0), S(0)}};
  S t_bar(0);
  if constexpr (!kOneRate) {
    // (8) onto the rates and q; `kept` is what the even rest leaves to shear and bulk.
    const S of_shear = rates.even - rates.shear, of_bulk = rates.even - rates.bulk;
    const S bulk0 = number(now.bulk_of_trace(0)) * t;
    rates_bar.bulk = rates_bar.bulk - g_star_bar[0] * bulk0;
    rates_bar.even = rates_bar.even - g_star_bar[0] * (now.n_even[0] - bulk0);
    t_bar = t_bar + number(now.bulk_of_trace(0)) * of_bulk * g_star_bar[0];
    for_each_constant<now.kPairs>([&](auto k) {
      constexpr int i = 2 * k() + 1;
      const S even_bar = g_star_bar[i] + g_star_bar[i + 1],
              odd_bar = g_star_bar[i] - g_star_bar[i + 1];
      const S bulk = number(now.bulk_of_trace(i)) * t;
      const S shear =
          number(4.5 * L::w[i]) * stress_along<L, i>(q) + number(now.shear_of_trace(i)) * t;
      rates_bar.shear = rates_bar.shear - even_bar * shear;
      rates_bar.bulk = rates_bar.bulk - even_bar * bulk;
      rates_bar.even = rates_bar.even - even_bar * (now.n_even[k() + 1] - shear - bulk);
      rates_bar.odd = rates_bar.odd - odd_bar * now.n_odd[k() + 1];
      const S shear_bar = of_shear * even_bar;
      const S x = number(4.5 * L::w[i]) * shear_bar;
      add_stress<L, i>(x, x, q_bar);
      t_bar = t_bar + number(now.shear_of_trace(i)) * shear_bar +
              number(now.bulk_of_trace(i)) * of_bulk * even_bar;
    });
    for_each_constant<3>([&](auto a) {
      if constexpr (a() >= L::kFirst) q_bar.on[a()] = q_bar.on[a()] + t_bar;
    });
  }
  const S rate_even = kOneRate ? rates.shear : rates.even,
          rate_odd = kOneRate ? rates.shear : rates.odd;

  // The direction at rest: n̄, s̄, ē = -n̄.
  const S n0_bar = -rate_even * g_star_bar[0];
  S delta_bar = number(-L::w[0]) * n0_bar, uu_bar = number(1.5 * L::w[0]) * n0_bar;
  S uF_bar = number(-3 * L::w[0]) * (g_star_bar[0] + number(0.5) * n0_bar);
  S u_bar[3] = {S(0), S(0), S(0)}, F_bar[3] = {S(0), S(0), S(0)};
  if constexpr (kOneRate) rates_bar.shear = rates_bar.shear - g_star_bar[0] * now.n_even[0];
  S even_of[now.kPairs], odd_of[now.kPairs];
  for_each_constant<now.kPairs>([&](auto k) {
    constexpr int i = 2 * k() + 1;
    constexpr double w = L::w[i];
    const S even_bar = g_star_bar[i] + g_star_bar[i + 1],
            odd_bar = g_star_bar[i] - g_star_bar[i + 1];
    S n_even_bar = -rate_even * even_bar;
    const S n_odd_bar = -rate_odd * odd_bar;
    if constexpr (kOneRate) {
      rates_bar.shear =
          rates_bar.shear - even_bar * now.n_even[k() + 1] - odd_bar * now.n_odd[k() + 1];
    } else {
      Stress<S> twice = q_bar;
      for_each_constant<3>([&](auto a) { twice.off[a()] = number(2) * twice.off[a()]; });
      n_even_bar = n_even_bar + number(2) * stress_along<L, i>(twice);
    }
    even_of[k()] = even_bar + n_even_bar, odd_of[k()] = odd_bar + n_odd_bar;
    const S cu = along<L, i>(now.u), cF = along<L, i>(now.F);
    const S s_even_bar = number(w) * (even_bar + number(0.5) * n_even_bar),
            s_odd_bar = number(w) * (odd_bar + number(0.5) * n_odd_bar);
    const S e_even_bar = number(-w) * n_even_bar, e_odd_bar = number(-w) * n_odd_bar;
    delta_bar = delta_bar + e_even_bar;
    uu_bar = uu_bar - number(1.5) * e_even_bar;
    uF_bar = uF_bar - number(3) * s_even_bar;
    const S cu_bar =
        number(9) * cu * e_even_bar + number(3) * e_odd_bar + number(9) * cF * s_even_bar;
    add_along<L, i>(cu_bar, u_bar);
    add_along<L, i>(number(9) * cu * s_even_bar + number(3) * s_odd_bar, F_bar);
  });
  for_each_constant<3>([&](auto a) {
    if constexpr (a() >= L::kFirst) {
      u_bar[a()] = u_bar[a()] + number(2) * now.u[a()] * uu_bar + now.F[a()] * uF_bar;
      force_bar[a()] = force_bar[a()] + F_bar[a()] + now.u[a()] * uF_bar + number(0.5) * u_bar[a()];
    }
  });
  g_bar[0] = g_bar[0] + g_star_bar[0] + n0_bar + delta_bar;
  for_each_constant<now.kPairs>([&](auto k) {
    constexpr int i = 2 * k() + 1;
    const S even = number(0.5) * even_of[k()] + delta_bar,
            odd = number(0.5) * odd_of[k()] + along<L, i>(u_bar);  // (1)
    g_bar[i] = g_bar[i] + even + odd;
    g_bar[i + 1] = g_bar[i + 1] + even - odd;
  });
}

}  // namespace cycloid::inline fluid
