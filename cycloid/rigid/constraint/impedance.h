// How hard a constraint is: impedance, stiffness and damping from solimp and solref.
//
// x is the violation, pos - margin. solimp = (d₀, d_w, width, middle, power), solref = (t, ζ) or
// (-K, -B), h the time step.
//   y = |x|/width;   flat, where width ≤ 1e-15:  d = ½ (d₀ + d_w)                            (1)
//   y ≥ 1:  d = d_w;   else  d = d₀ + Z(y) (d_w - d₀)                                        (2)
//   m = middle, t = y/m where y ≤ middle;   m = 1 - middle, t = (1-y)/m above                (3)
//   Z = m t^power below, 1 - m t^power above;   Z' = power t^(power-1)                       (4)
// d₀, d_w and middle are held within [1e-4, 0.9999], power ≥ 1, width ≥ 0. d is even in x and, for
// power > 1, C¹; its slope has kinks at the middle. At x = 0 the slope is taken as 0. Where
// d₀ = d_w, (2) gives that number, as MuJoCo's case of its own does, and its derivatives, 1 - Z and
// Z, are those of its neighbours.
//   both of solref > 0:  b = 2/(d_w t),   k = 1/(d_w t ζ)²,   t ≥ 2h unless `refsafe` is off    (5)
//   both ≤ 0:            b = B/d_w,       k = K/d_w²                                          (6)
//   mixed:               as (0.02, 1)                                                        (7)
// Where a bound holds, the number has a zero cotangent. [MuJoCo, Computation: Parameters]
#pragma once

#include "cycloid/math/dual.h"

namespace cycloid::inline rigid {

inline constexpr double kLeastImpedance = 1e-4, kMostImpedance = 0.9999;
inline constexpr double kLeastNumber = 1e-15;  // width, R and denominators are not below it

// t^p; squares, which are the rule, without logarithms. Dual numbers take the general way: the
// derivative with respect to p.
template <class S>
CYCLOID_INLINE S curve_power(const S& t, const S& p) {
  if constexpr (RealScalar<S>) {
    const Mask<S> square = p == S(2);
    if (all(square)) return t * t;
    return select(square, t * t, pow(t, p));
  } else {
    return pow(t, p);
  }
}

template <class S>
CYCLOID_INLINE S held_impedance(const S& v) {
  return min(S(kMostImpedance), max(S(kLeastImpedance), v));
}
// 1 where held_impedance passes its argument on.
template <class S>
CYCLOID_INLINE S held_slope(const S& v) {
  const Mask<S> inside = (v >= S(kLeastImpedance)) & (v <= S(kMostImpedance));
  return select(inside, S(1), S(0));
}

// p t^(p-1), given t^p; where `still`, t may be zero and the number means nothing.
template <class S>
CYCLOID_INLINE S curve_slope(const S& t, const S& p, const S& t_power, const Mask<S>& still) {
  if constexpr (RealScalar<S>) {
    if (all(p == S(2))) return p * t;
  }
  return p * t_power / select(still, S(1), t);
}

// The numbers of (1) to (4).
template <class S>
struct ImpedanceCurve {
  S d0, dw, inverse_width, power, y, m, t, P, d, slope;  // P = m t^power; slope: dd/dx
  Mask<S> flat, full, below;

  CYCLOID_HD ImpedanceCurve(const S* solimp, const S& x)
      : d0(held_impedance(solimp[0])), dw(held_impedance(solimp[1])) {
    const S zero = S(0), one = S(1), middle = held_impedance(solimp[3]);
    flat = solimp[2] <= S(kLeastNumber);
    inverse_width = one / select(flat, one, solimp[2]);
    power = max(one, solimp[4]);
    y = abs(x) * inverse_width;
    full = y >= one;
    below = y <= middle;
    m = select(below, middle, one - middle);  // (3)
    t = select(full, zero, select(below, y, one - y)) / m;
    const S t_power = curve_power(t, power);
    P = m * t_power;
    const S Z = select(below, P, one - P);                                       // (4)
    d = select(flat, S(0.5) * (d0 + dw), select(full, dw, d0 + Z * (dw - d0)));  // (1), (2)
    const Mask<S> still = flat | full | (t == zero);
    const S sign = select(x < zero, -one, one);
    slope = select(still, zero,
                   sign * curve_slope(t, power, t_power, still) * (dw - d0) * inverse_width);
  }
};

template <class S>
CYCLOID_HD S impedance(const S* solimp, const S& x) {
  return ImpedanceCurve<S>(solimp, x).d;
}

// The part of impedance_pullback that goes to solimp.
template <class S>
CYCLOID_HD void add_solimp_cotangent(const ImpedanceCurve<S>& at, const S* solimp, const S& x,
                                     const S& d_bar, S* solimp_bar) {
  const S zero = S(0), one = S(1), half = S(0.5);
  const Mask<S> curved = !(at.flat | at.full);
  const S Z = select(at.below, at.P, one - at.P);
  const S Z_bar = select(curved, d_bar * (at.dw - at.d0), zero);
  const S share = select(at.flat, half, select(at.full, one, Z));
  solimp_bar[0] += held_slope(solimp[0]) * (one - share) * d_bar;  // (2)
  solimp_bar[1] += held_slope(solimp[1]) * share * d_bar;
  solimp_bar[2] -= at.slope * x * at.inverse_width * d_bar;  // (1)
  const S t_power = at.P / at.m;
  solimp_bar[3] -= held_slope(solimp[3]) * (at.power - one) * t_power * Z_bar;  // (4)
  const S bend = at.P * log(select(curved & (at.t > zero), at.t, one));
  solimp_bar[4] += select(solimp[4] >= one, select(at.below, bend, -bend) * Z_bar, zero);
}

// solimp_bar may be null.
template <class S>
CYCLOID_HD void impedance_pullback(const ImpedanceCurve<S>& at, const S* solimp, const S& x,
                                   const S& d_bar, S* solimp_bar, S& x_bar) {
  x_bar += at.slope * d_bar;
  if (solimp_bar) add_solimp_cotangent(at, solimp, x, d_bar, solimp_bar);
}

// k and b of (5) to (7); dw: held.
template <class S>
struct ReferenceGains {
  S k, b;
};

// solref as it acts.
template <class S>
struct ActingReference {
  S t, zeta;
  Mask<S> mixed, standard, safe;  // safe: 2h stands in for t

  CYCLOID_HD ActingReference(const S* solref, const S& timestep, bool refsafe) {
    const Mask<S> first = solref[0] > S(0), second = solref[1] > S(0);
    mixed = first ^ second;
    t = select(mixed, S(0.02), solref[0]);
    zeta = select(mixed, S(1), solref[1]);
    standard = mixed | first;
    safe = standard & Mask<S>(refsafe) & (t < S(2) * timestep);
    t = select(safe, S(2) * timestep, t);  // (5)
  }
};

template <class S>
CYCLOID_HD ReferenceGains<S> reference_gains(const S* solref, const S& dw, const S& timestep,
                                             bool refsafe) {
  const ActingReference<S> at(solref, timestep, refsafe);
  const S rate = dw * at.t, product = rate * at.zeta, least = S(kLeastNumber);
  const ReferenceGains<S> standard{S(1) / max(least, product * product),
                                   S(2) / max(least, rate)};  // (5)
  if (all(at.standard)) return standard;
  return {select(at.standard, standard.k, -at.t / (dw * dw)),
          select(at.standard, standard.b, -at.zeta / dw)};  // (6)
}

template <class S>
CYCLOID_HD void reference_gains_pullback(const S* solref, const S& dw, const S& timestep,
                                         bool refsafe, const ReferenceGains<S>& bar, S* solref_bar,
                                         S& dw_bar, S& timestep_bar) {
  const ActingReference<S> at(solref, timestep, refsafe);
  const S zero = S(0), rate = dw * at.t, product = rate * at.zeta, least = S(kLeastNumber);
  // Standard: k̂ = k̄ k and b̂ = b̄ b are the cotangents of ln k and ln b.
  const S k_hat = select(at.standard & (product * product >= least),
                         bar.k / max(least, product * product), zero);
  const S b_hat = select(at.standard & (rate >= least), bar.b * S(2) / max(least, rate), zero);
  const S zeta = select(at.standard, at.zeta, S(1)), t = select(at.standard, at.t, S(1));
  const S t_bar = -(S(2) * k_hat + b_hat) / t;
  timestep_bar += select(at.safe, S(2) * t_bar, zero);
  const Mask<S> own = !at.mixed;
  S direct_t = zero, direct_z = zero, direct_dw = zero;
  if (!all(at.standard)) {  // (6)
    direct_t = -bar.k / (dw * dw), direct_z = -bar.b / dw;
    direct_dw = -S(2) * at.t / (dw * dw) * bar.k - at.zeta / dw * bar.b;
  }
  solref_bar[0] += select(own, select(at.safe, zero, select(at.standard, t_bar, direct_t)), zero);
  solref_bar[1] += select(own, select(at.standard, S(-2) * k_hat / zeta, direct_z), zero);
  dw_bar -= select(at.standard, S(2) * k_hat + b_hat, direct_dw) / dw;
}

}  // namespace cycloid::inline rigid
