// A muscle: what its gain and bias are at a length and a rate, and how its activation follows.
//
// prm = (r₀, r₁, force, scale, lmin, lmax, vmax, fpmax, fvmax) in gainprm, biasprm; l₀, l₁ and
// acc0 are the length range and the acceleration by a unit force that the model was compiled with.
//   F  = force, or scale/acc0 where force < 0                       (1)  peak force [N]
//   L₀ = (l₁ - l₀)/(r₁ - r₀)                                        (2)  optimal length [m]
//   L  = r₀ + (l - l₀)/L₀,   V = l̇/(L₀ vmax)                       (3)
//   gain = -F A(L) B(V),     bias = -F fpmax C(L)                   (4)
//   A    two parabolas on each side of 1, from 0 at lmin to 1 to 0 at lmax                   (5)
//   B    0 up to V = -1, (V+1)² up to 0, then a parabola up to fvmax at V = fvmax - 1        (6)
//   C    0 up to 1, a parabola up to ½ half-way to lmax, then straight                       (7)
// A, B and C have continuous slopes. With u, a the control and activation within [0, 1], e = u - w:
//   τ₊ = prm₀ (½ + 3a/2),    τ₋ = prm₁/(½ + 3a/2)                   (8)
//   τ  = τ₊ where e > 0, else τ₋; or τ₋ + (τ₊ - τ₋) s(e/prm₂ + ½)   (9)  s: smooth step
//   ẇ  = e/τ                                                        (10)
// (10) has a kink at e = 0 without a smooth step: the side of τ₋ is taken. Divisors are at least
// 1e-15. Source: MuJoCo's manual, Muscle actuators; Millard et al. 2013.
#pragma once

#include "cycloid/rigid/tree/kinematics.h"

namespace cycloid::inline rigid {

// Where the numbers stand in prm.
struct MusclePlaces {
  static constexpr int range = 0, force = 2, scale = 3, lmin = 4, lmax = 5, vmax = 6, fpmax = 7,
                       fvmax = 8;
};

// A divisor, and its derivative.
template <class S>
CYCLOID_INLINE S divisor(const S& x) {
  return max(x, S(1e-15));
}
template <class S>
CYCLOID_INLINE S divisor_slope(const S& x) {
  return select(x > S(1e-15), S(1), S(0));
}

// (1)-(3) but for V.
template <class S>
struct MuscleUnits {
  S force, optimum, length;  // F, L₀, L
};

template <class S, class P>
CYCLOID_INLINE MuscleUnits<S> muscle_units(const Actuator& a, const P* prm, const S& l) {
  using T = Scalar<S>;
  using At = MusclePlaces;
  const S acc0 = divisor(S(static_cast<T>(a.acc0))), force = S(prm[At::force]);
  const S range = S(static_cast<T>(a.length_range[1] - a.length_range[0]));
  MuscleUnits<S> out;
  out.force = select(force < S(0), S(prm[At::scale]) / acc0, force);         // (1)
  out.optimum = range / divisor(S(prm[At::range + 1]) - S(prm[At::range]));  // (2)
  out.length =
      S(prm[At::range]) + (l - S(static_cast<T>(a.length_range[0]))) / divisor(out.optimum);  // (3)
  return out;
}

// Adds to l_bar, and to prm_bar unless it is null.
template <class S, class P>
CYCLOID_INLINE void muscle_units_pullback(const Actuator& a, const P* prm, const S& l,
                                          const MuscleUnits<S>& out, const MuscleUnits<S>& bar,
                                          S& l_bar, S* prm_bar) {
  using T = Scalar<S>;
  using At = MusclePlaces;
  const S inverse = S(1) / divisor(out.optimum);
  l_bar += bar.length * inverse;  // (3)
  if (!prm_bar) return;
  const S span = S(prm[At::range + 1]) - S(prm[At::range]);
  const S optimum_bar = bar.optimum - bar.length * (l - S(static_cast<T>(a.length_range[0]))) *
                                          inverse * inverse * divisor_slope(out.optimum);
  const S span_bar = -optimum_bar * out.optimum / divisor(span) * divisor_slope(span);  // (2)
  prm_bar[At::range] += bar.length - span_bar;
  prm_bar[At::range + 1] += span_bar;
  const S acc0 = divisor(S(static_cast<T>(a.acc0)));
  const auto scaled = S(prm[At::force]) < S(0);  // (1)
  prm_bar[At::force] += select(scaled, S(0), bar.force);
  prm_bar[At::scale] += select(scaled, bar.force / acc0, S(0));
}

// A of (5), and its derivatives by L, lmin and lmax.
template <class S>
struct MuscleLengthCurve {
  S value, slope, by_lmin, by_lmax;
};

template <class S>
CYCLOID_INLINE MuscleLengthCurve<S> muscle_length_curve(const S& L, const S& lmin, const S& lmax) {
  const S half(0.5), low = half * (S(1) - lmin), high = half * (lmax - S(1));
  const S a = divisor(low), b = divisor(high);
  const S a_slope = half * divisor_slope(low), b_slope = half * divisor_slope(high);
  const S rise = (L - lmin) / a, up = (S(1) - L) / a, down = (L - S(1)) / b, fall = (lmax - L) / b;
  const auto first = L <= half * (lmin + S(1)), second = L <= S(1);
  const Mask<S> third = L <= half * (S(1) + lmax), inside = (lmin <= L) & (L <= lmax);
  const auto choose = [&](const S& p, const S& q, const S& r, const S& s) {
    return select(inside, select(first, p, select(second, q, select(third, r, s))), S(0));
  };
  MuscleLengthCurve<S> A;
  A.value = choose(half * rise * rise, S(1) - half * up * up, S(1) - half * down * down,
                   half * fall * fall);
  A.slope = choose(rise / a, up / a, -down / b, -fall / b);
  A.by_lmin = choose(rise * (rise * a_slope - S(1)) / a, -up * up * a_slope / a, S(0), S(0));
  A.by_lmax = choose(S(0), S(0), down * down * b_slope / b, fall * (S(1) - fall * b_slope) / b);
  return A;
}

// B of (6), its first two derivatives by V, and how value and slope depend on fvmax.
template <class S>
struct MuscleRateCurve {
  S value, slope, curvature, by_fvmax, slope_by_fvmax;
};

template <class S>
CYCLOID_INLINE MuscleRateCurve<S> muscle_rate_curve(const S& V, const S& fvmax) {
  const S y = fvmax - S(1), Y = divisor(y), Y_slope = divisor_slope(y), gap = (y - V) / Y;
  const auto still = V <= S(-1), shortens = V <= S(0), stretches = V <= y;
  const auto choose = [&](const S& p, const S& q, const S& r) {
    return select(still, S(0), select(shortens, p, select(stretches, q, r)));
  };
  MuscleRateCurve<S> B;
  B.value = choose((V + S(1)) * (V + S(1)), fvmax - gap * gap * Y, fvmax);
  B.slope = choose(S(2) * (V + S(1)), S(2) * gap, S(0));
  B.curvature = choose(S(2), S(-2) / Y, S(0));
  B.by_fvmax = choose(S(0), S(1) - gap * (S(2) - gap * Y_slope), S(1));
  B.slope_by_fvmax = choose(S(0), S(2) * (S(1) - gap * Y_slope) / Y, S(0));
  return B;
}

// The gain, and its slope in l̇.
template <class S>
struct MuscleGain {
  S gain, slope;
};

template <class S, class P>
CYCLOID_INLINE MuscleGain<S> muscle_gain(const Actuator& a, const P* prm, const S& l,
                                         const S& rate) {
  using At = MusclePlaces;
  const MuscleUnits<S> units = muscle_units(a, prm, l);
  const S fastest = divisor(units.optimum * S(prm[At::vmax]));
  const S A = muscle_length_curve(units.length, S(prm[At::lmin]), S(prm[At::lmax])).value;
  const MuscleRateCurve<S> B = muscle_rate_curve(rate / fastest, S(prm[At::fvmax]));
  return {-units.force * A * B.value, -units.force * A * B.slope / fastest};  // (4)
}

// Adds to l_bar and rate_bar, and to prm_bar unless it is null.
template <class S, class P>
CYCLOID_HD void muscle_gain_pullback(const Actuator& a, const P* prm, const S& l, const S& rate,
                                     const MuscleGain<S>& bar, S& l_bar, S& rate_bar, S* prm_bar) {
  using At = MusclePlaces;
  const MuscleUnits<S> units = muscle_units(a, prm, l);
  const S vmax = S(prm[At::vmax]), speed = units.optimum * vmax, fastest = divisor(speed);
  const S V = rate / fastest;
  const auto A = muscle_length_curve(units.length, S(prm[At::lmin]), S(prm[At::lmax]));
  const auto B = muscle_rate_curve(V, S(prm[At::fvmax]));
  const S slope_bar = bar.slope / fastest;  // of -F A B'
  const S shape = B.value * bar.gain + B.slope * slope_bar;
  MuscleUnits<S> units_bar;
  units_bar.force = -A.value * shape;  // (4)
  const S A_bar = -units.force * shape, FA = -units.force * A.value;
  const S V_bar = FA * (B.slope * bar.gain + B.curvature * slope_bar);
  units_bar.length = A_bar * A.slope;
  rate_bar += V_bar / fastest;  // (3)
  const S fastest_bar = -(V_bar * V + FA * B.slope * slope_bar) / fastest * divisor_slope(speed);
  units_bar.optimum = fastest_bar * vmax;
  muscle_units_pullback(a, prm, l, units, units_bar, l_bar, prm_bar);
  if (!prm_bar) return;
  prm_bar[At::vmax] += fastest_bar * units.optimum;
  prm_bar[At::lmin] += A_bar * A.by_lmin;  // (5)
  prm_bar[At::lmax] += A_bar * A.by_lmax;
  prm_bar[At::fvmax] += FA * (B.by_fvmax * bar.gain + B.slope_by_fvmax * slope_bar);  // (6)
}

// C of (7), and its derivatives by L and lmax.
template <class S>
struct MusclePassiveCurve {
  S value, slope, by_lmax;
};

template <class S>
CYCLOID_INLINE MusclePassiveCurve<S> muscle_passive_curve(const S& L, const S& lmax) {
  const S half(0.5), high = half * (lmax - S(1)), b = divisor(high);
  const S b_slope = half * divisor_slope(high), middle = half * (S(1) + lmax);
  const S x = (L - S(1)) / b, beyond = (L - middle) / b;
  const auto slack = L <= S(1), curved = L <= middle;
  const auto choose = [&](const S& p, const S& q) {
    return select(slack, S(0), select(curved, p, q));
  };
  return {choose(half * x * x, half + beyond), choose(x / b, S(1) / b),
          choose(-x * x * b_slope / b, -(half + beyond * b_slope) / b)};
}

template <class S, class P>
CYCLOID_INLINE S muscle_bias(const Actuator& a, const P* prm, const S& l) {
  using At = MusclePlaces;
  const MuscleUnits<S> units = muscle_units(a, prm, l);
  return -units.force * S(prm[At::fpmax]) *
         muscle_passive_curve(units.length, S(prm[At::lmax])).value;  // (4)
}

template <class S, class P>
CYCLOID_HD void muscle_bias_pullback(const Actuator& a, const P* prm, const S& l, const S& bias_bar,
                                     S& l_bar, S* prm_bar) {
  using At = MusclePlaces;
  const MuscleUnits<S> units = muscle_units(a, prm, l);
  const auto C = muscle_passive_curve(units.length, S(prm[At::lmax]));
  const S fpmax = S(prm[At::fpmax]), C_bar = -units.force * fpmax * bias_bar;
  const MuscleUnits<S> units_bar{-fpmax * C.value * bias_bar, S(0), C_bar * C.slope};
  muscle_units_pullback(a, prm, l, units, units_bar, l_bar, prm_bar);
  if (!prm_bar) return;
  prm_bar[At::fpmax] -= units.force * C.value * bias_bar;
  prm_bar[At::lmax] += C_bar * C.by_lmax;
}

// What (8)-(10) go through.
template <class S>
struct MuscleRate {
  S excess, pace, up, down, mix, mix_slope, tau;  // e, ½ + 3a/2, τ₊, τ₋, s, its slope, τ
};

template <class S, class P>
CYCLOID_INLINE MuscleRate<S> muscle_rate(const P* prm, const S& u, const S& w) {
  const auto unit = [](const S& x) { return min(max(x, S(0)), S(1)); };
  MuscleRate<S> r;
  r.excess = unit(u) - w;
  r.pace = S(0.5) + S(1.5) * unit(w);
  r.up = S(prm[0]) * r.pace;  // (8)
  r.down = S(prm[1]) / r.pace;
  const S width = S(prm[2]);
  const auto sharp = width < S(1e-15);
  const S x = unit(r.excess / select(sharp, S(1), width) + S(0.5));
  const S smooth = x * x * x * (x * (S(6) * x - S(15)) + S(10));
  r.mix = select(sharp, select(r.excess > S(0), S(1), S(0)), smooth);  // (9)
  r.mix_slope = select(sharp, S(0), S(30) * x * x * (x - S(1)) * (x - S(1)));
  r.tau = r.down + (r.up - r.down) * r.mix;
  return r;
}

// ẇ.
template <class S, class P>
CYCLOID_INLINE S muscle_dynamics(const P* prm, const S& u, const S& w) {
  const MuscleRate<S> r = muscle_rate(prm, u, w);
  return r.excess / divisor(r.tau);  // (10)
}

template <class S, class P>
CYCLOID_HD void muscle_dynamics_pullback(const P* prm, const S& u, const S& w, const S& rate_bar,
                                         S& u_bar, S& w_bar, S* prm_bar) {
  const auto within = [](const S& x) { return select((x >= S(0)) & (x <= S(1)), S(1), S(0)); };
  const MuscleRate<S> r = muscle_rate(prm, u, w);
  const S inverse = S(1) / divisor(r.tau), width = S(prm[2]);
  const S tau_bar = -rate_bar * r.excess * inverse * inverse * divisor_slope(r.tau);  // (10)
  const S up_bar = tau_bar * r.mix, down_bar = tau_bar * (S(1) - r.mix);              // (9)
  const S x_bar = tau_bar * (r.up - r.down) * r.mix_slope;
  const S safe = select(width < S(1e-15), S(1), width);
  const S excess_bar = rate_bar * inverse + x_bar / safe;
  const S pace_bar = up_bar * S(prm[0]) - down_bar * r.down / r.pace;  // (8)
  u_bar += excess_bar * within(u);
  w_bar += S(1.5) * pace_bar * within(w) - excess_bar;
  if (!prm_bar) return;
  prm_bar[0] += up_bar * r.pace;
  prm_bar[1] += down_bar / r.pace;
  prm_bar[2] -= x_bar * r.excess / (safe * safe);
}

}  // namespace cycloid::inline rigid
