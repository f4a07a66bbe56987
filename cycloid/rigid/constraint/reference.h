// What a constraint asks for: the reference acceleration a_ref, and D, how much it insists.
//
// A block of rows shares one impedance d (impedance.h): that of the length of its residual x, n
// numbers, x_i = pos_i - margin. Row i moves with velocity v_i = (J q̇)_i and has the weight A_i
// [1/kg], a constant of the model.
//   a_ref,i = -b v_i - k d(|x|) x_i                                                             (1)
//   R_i = max(1e-15, (1-d)/d A_i),   D_i = 1/R_i                                                (2)
// Rows of friction loss have k = 0. A contact has x = dist - margin, velocities in contact space,
// and friction g₁ … g₅; `rows` is its number of rows, 0 where the lane has no contact:
//   a_ref,0 = -b v₀ - k d x,   a_ref,k = -b v_k, with the b of solreffriction where it is set
//             and the cone is elliptic                                                        (3)
//   frictionless, elliptic:  D₀ as in (2);   μ² = g₁²/max(1e-15, impratio)                     (4)
//   pyramid:  D_k = 1/(2 μ² R), R as in (2) with A (1 + g₁²)                                   (5)
// With unit weights A = 1, in (5) A (1 + g₁²) = 1: exact_diagonal.h.
// The law's numbers are laid out as pyramid_law.h and elliptic_law.h take them: D₀ = 0 in a
// pyramid, D = g = 0 where a lane has no such row.
#pragma once

#include "cycloid/rigid/constraint/impedance.h"
#include "cycloid/rigid/contact/contact_laws.h"

namespace cycloid::inline rigid {

// solref and solimp; also their cotangents.
template <class S>
struct Softness {
  S solref[2] = {}, solimp[5] = {};
};

// The numbers of compliant contacts (contact/hunt_crossley.h). Cotangents use those of type S.
template <class S>
struct CompliantOptions {
  bool acts = false;    // contacts push by that law
  bool of_pair = true;  // the stiffness is that of the pair's solref
  double exponent = 1.5;
  double depth_factor = 1;  // d₀^(1-p)
  S stiffness{}, dissipation{}, stiction{};
};

// What the whole model shares. Cotangents use timestep, impratio and those of `compliant`.
template <class S>
struct ReferenceOptions {
  S timestep{}, impratio{};
  bool refsafe = true;
  bool unit_weights = false;
  CompliantOptions<S> compliant{};
};

// |x| and x/|x|, which is zero at zero.
template <class S>
struct BlockResidual {
  S length, unit[kMostRows];

  CYCLOID_HD BlockResidual(int n, const S* x) {
    if (n == 1) {
      const Mask<S> zero = x[0] == S(0);
      length = select(zero, S(0), abs(x[0]));
      unit[0] = select(zero, S(0), select(x[0] < S(0), S(-1), S(1)));
      return;
    }
    S square = x[0] * x[0];
    for (int i = 1; i < n; ++i) square += x[i] * x[i];
    const Mask<S> zero = square == S(0);
    length = select(zero, S(0), sqrt(select(zero, S(1), square)));
    const S inverse = select(zero, S(0), S(1) / select(zero, S(1), length));
    for (int i = 0; i < n; ++i) unit[i] = x[i] * inverse;
  }
};

// D of (2) for (1-d)/d A = `soft`.
template <class S>
CYCLOID_INLINE S row_weight(const S& soft) {
  return S(1) / max(S(kLeastNumber), soft);
}

// stiff: whether k acts.
template <class S>
CYCLOID_HD void block_reference(int n, bool stiff, const ReferenceOptions<S>& options,
                                const Softness<S>& soft, const S* A, const S* x, const S* v, S* D,
                                S* a_ref) {
  const BlockResidual<S> at(n, x);
  const S d = impedance(soft.solimp, at.length);
  const ReferenceGains<S> gains = reference_gains(soft.solref, held_impedance(soft.solimp[1]),
                                                  options.timestep, options.refsafe);
  const S kd = stiff ? gains.k * d : S(0);
  for (int i = 0; i < n; ++i) {
    a_ref[i] = -gains.b * v[i] - kd * x[i];                                    // (1)
    D[i] = row_weight((S(1) - d) / d * (options.unit_weights ? S(1) : A[i]));  // (2)
  }
}

// Whether the time step bounds the gains in some lane.
template <class S>
CYCLOID_INLINE bool feels_timestep(const S* solref, const ReferenceOptions<S>& options) {
  return any(ActingReference<S>(solref, options.timestep, options.refsafe).safe);
}

// Adds the cotangents of solref and dw from those of the gains.
template <class S>
CYCLOID_INLINE void add_gain_cotangents(const ReferenceOptions<S>& options, const S* solref,
                                        const Softness<S>& soft, const ReferenceGains<S>& gains_bar,
                                        ReferenceOptions<S>& options_bar, S* solref_bar,
                                        Softness<S>& soft_bar) {
  S dw_bar = S(0);
  reference_gains_pullback(solref, held_impedance(soft.solimp[1]), options.timestep,
                           options.refsafe, gains_bar, solref_bar, dw_bar, options_bar.timestep);
  soft_bar.solimp[1] += held_slope(soft.solimp[1]) * dw_bar;
}

// soft_bar may be null, where the softness is a constant.
template <class S>
CYCLOID_HD void block_reference_pullback(int n, bool stiff, const ReferenceOptions<S>& options,
                                         const Softness<S>& soft, const S* A, const S* x,
                                         const S* v, const S* D_bar, const S* a_ref_bar,
                                         ReferenceOptions<S>& options_bar, Softness<S>* soft_bar,
                                         S* A_bar, S* x_bar, S* v_bar) {
  const BlockResidual<S> at(n, x);
  const ImpedanceCurve<S> curve(soft.solimp, at.length);
  const S d = curve.d, ratio = (S(1) - d) / d;
  const ReferenceGains<S> gains = reference_gains(soft.solref, held_impedance(soft.solimp[1]),
                                                  options.timestep, options.refsafe);
  const S on = S(stiff ? 1 : 0);
  S d_bar = S(0);
  ReferenceGains<S> gains_bar{S(0), S(0)};
  for (int i = 0; i < n; ++i) {
    const S weight = options.unit_weights ? S(1) : A[i], D = row_weight(ratio * weight);
    const S soft_i_bar = select(ratio * weight >= S(kLeastNumber), -D * D * D_bar[i], S(0));  // (2)
    A_bar[i] += options.unit_weights ? S(0) : soft_i_bar * ratio;
    d_bar -= soft_i_bar * weight / (d * d);
    v_bar[i] -= gains.b * a_ref_bar[i];  // (1)
    x_bar[i] -= on * gains.k * d * a_ref_bar[i];
    d_bar -= on * gains.k * x[i] * a_ref_bar[i];
    gains_bar.k -= on * d * x[i] * a_ref_bar[i];
    gains_bar.b -= v[i] * a_ref_bar[i];
  }
  S length_bar = S(0);
  impedance_pullback(curve, soft.solimp, at.length, d_bar, soft_bar ? soft_bar->solimp : nullptr,
                     length_bar);
  for (int i = 0; i < n; ++i) x_bar[i] += length_bar * at.unit[i];
  if (!soft_bar && !feels_timestep(soft.solref, options)) return;
  Softness<S> unused;
  Softness<S>& to = soft_bar ? *soft_bar : unused;
  add_gain_cotangents(options, soft.solref, soft, gains_bar, options_bar, to.solref, to);
}

// The numbers of a contact; also their cotangents.
template <class S>
struct ContactNumbers {
  Softness<S> soft;
  S solref_friction[2] = {}, friction[5] = {};
  S A{};
};

// Which reference the friction rows of a contact use.
template <class S>
CYCLOID_INLINE Mask<S> uses_friction_reference(RowLaw law, const ContactNumbers<S>& c) {
  const Mask<S> set = (c.solref_friction[0] != S(0)) | (c.solref_friction[1] != S(0));
  return set & Mask<S>(has_friction_reference(ContactLaws{}, law));
}

// b of the friction rows; dw: held, b: that of the normal row.
template <class S>
CYCLOID_INLINE S friction_damping(RowLaw law, const ReferenceOptions<S>& options,
                                  const ContactNumbers<S>& c, const S& dw, const S& b) {
  const Mask<S> own = uses_friction_reference(law, c);
  if (!any(own)) return b;
  return select(own, reference_gains(c.solref_friction, dw, options.timestep, options.refsafe).b,
                b);
}

// law: one of ContactLaws, or one_sided for n = 1. friction: the law's numbers.
template <class S>
CYCLOID_HD void contact_reference(RowLaw law, int n, const ReferenceOptions<S>& options,
                                  const ContactNumbers<S>& c, const S& rows, const S& x, const S* v,
                                  S* D, S* a_ref, S* friction) {
  const S zero = S(0), one = S(1), d = impedance(c.soft.solimp, x);
  const S dw = held_impedance(c.soft.solimp[1]), ratio = (one - d) / d;
  const ReferenceGains<S> gains =
      reference_gains(c.soft.solref, dw, options.timestep, options.refsafe);
  const S b = friction_damping(law, options, c, dw, gains.b);
  const Mask<S> present = rows > zero, rubs = rows > one;
  const S g1 = select(rubs, c.friction[0], one);
  const S mu2 = g1 * g1 / max(S(kLeastNumber), options.impratio);  // (4)
  const S A = options.unit_weights ? one : c.A, lean = options.unit_weights ? one : one + g1 * g1;
  const S edge = one / (S(2) * mu2 * max(S(kLeastNumber), ratio * A * lean));  // (5)
  const Mask<S> plain = present & Mask<S>((!rubs) | Mask<S>(!has_edges(ContactLaws{}, law)));
  D[0] = select(plain, row_weight(ratio * A), zero);
  a_ref[0] = -gains.b * v[0] - gains.k * d * x;  // (3)
  friction[0] = select(rubs, mu2, one);
  for (int k = 1; k < n; ++k) {
    const Mask<S> has = rows > S(k);
    D[k] = select(has & Mask<S>(has_edges(ContactLaws{}, law)), edge, zero);
    a_ref[k] = -b * v[k];
    friction[k] = select(has, c.friction[k - 1], zero);
  }
}

template <class S>
CYCLOID_HD void contact_reference_pullback(RowLaw law, int n, const ReferenceOptions<S>& options,
                                           const ContactNumbers<S>& c, const S& rows, const S& x,
                                           const S* v, const S* D_bar, const S* a_ref_bar,
                                           const S* friction_bar, ReferenceOptions<S>& options_bar,
                                           ContactNumbers<S>& c_bar, S& x_bar, S* v_bar) {
  const ImpedanceCurve<S> curve(c.soft.solimp, x);
  const S zero = S(0), one = S(1), d = curve.d, least = S(kLeastNumber);
  const S dw = held_impedance(c.soft.solimp[1]), ratio = (one - d) / d;
  const ReferenceGains<S> gains =
      reference_gains(c.soft.solref, dw, options.timestep, options.refsafe);
  const Mask<S> own = uses_friction_reference(law, c);
  const S b = friction_damping(law, options, c, dw, gains.b);
  const Mask<S> present = rows > zero, rubs = rows > one;

  S b_bar = zero, edge_bar = zero;
  for (int k = 1; k < n; ++k) {
    const Mask<S> has = rows > S(k);
    edge_bar += select(has & Mask<S>(has_edges(ContactLaws{}, law)), D_bar[k], zero);
    v_bar[k] -= b * a_ref_bar[k];  // (3)
    b_bar -= v[k] * a_ref_bar[k];
    c_bar.friction[k - 1] += select(has, friction_bar[k], zero);
  }
  v_bar[0] -= gains.b * a_ref_bar[0];
  x_bar -= gains.k * d * a_ref_bar[0];
  ReferenceGains<S> gains_bar{-d * x * a_ref_bar[0],
                              select(own, zero, b_bar) - v[0] * a_ref_bar[0]};
  const ReferenceGains<S> own_bar{zero, select(own, b_bar, zero)};
  S d_bar = -gains.k * x * a_ref_bar[0];

  const S g1 = select(rubs, c.friction[0], one), A = options.unit_weights ? one : c.A;
  const S lean = options.unit_weights ? one : one + g1 * g1;
  const S rho = max(least, options.impratio), mu2 = g1 * g1 / rho, soft = ratio * A * lean;
  const S edge = one / (S(2) * mu2 * max(least, soft));  // (5)
  const S ln_edge_bar = edge_bar * edge;
  const S mu2_bar = select(rubs, friction_bar[0], zero) - ln_edge_bar / mu2;
  const S ln_soft_bar = select(soft >= least, -ln_edge_bar, zero);
  const Mask<S> plain = present & Mask<S>((!rubs) | Mask<S>(!has_edges(ContactLaws{}, law)));
  const S D0 = row_weight(ratio * A);
  const S soft_bar = select(plain & (ratio * A >= least), -D0 * D0 * D_bar[0], zero);  // (2), (4)
  d_bar -= soft_bar * A / (d * d) + ln_soft_bar / (d * (one - d));
  c_bar.friction[0] += S(2) * g1 * mu2_bar / rho;
  if (!options.unit_weights) {
    c_bar.A += soft_bar * ratio + ln_soft_bar / select(soft >= least, c.A, one);
    c_bar.friction[0] += S(2) * g1 * ln_soft_bar / lean;
  }
  options_bar.impratio -= select(options.impratio >= least, mu2_bar * mu2 / rho, zero);

  impedance_pullback(curve, c.soft.solimp, x, d_bar, c_bar.soft.solimp, x_bar);
  add_gain_cotangents(options, c.soft.solref, c.soft, gains_bar, options_bar, c_bar.soft.solref,
                      c_bar.soft);
  if (!any(own)) return;
  add_gain_cotangents(options, c.solref_friction, c.soft, own_bar, options_bar,
                      c_bar.solref_friction, c_bar.soft);
}

}  // namespace cycloid::inline rigid
