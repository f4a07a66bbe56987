// A compliant contact: a force that follows from depth and velocity, smooth where MuJoCo's jumps.
//
// x = dist - margin, v the contact's velocities (contact_rows.h): v₀ along the normal, positive
// where the bodies part; v₁ v₂ of slip; v₃ of spin; v₄ v₅ of rolling. g: friction coefficients.
//   d   = max(0, -x)                                         (1)  depth [m]; its rate is -v₀
//   k   = contact.stiffness, or k_ref/A d₀^(1-p)              (2)  [N/m^p]
//   f₀  = k d^p max(0, 1 - 1.5 c v₀)                          (3)  force along the normal [N]
//   w_k = v_k of slip,  g_k v_k of spin and rolling           (4)  [m/s]
//   s   = √(Σ w² + v_s²) over slip, over spin, over rolling   (5)
//   f_k = -g_k f₀ w_k / s                                     (6)  friction [N, N·m]
// (3) is [HuntCrossley1975]. c is contact.dissipation [s/m], v_s contact.stiction [m/s], p the
// exponent. k_ref is MuJoCo's stiffness of the pair's solref at impedance 1 (impedance.h) and A the
// pair's inverse weight (reference.h): at a depth of d₀ = 1 mm the force is that of MuJoCo's spring
// without its damper, whatever p is. Kinks: d = 0 where p = 1, and 1.5 c v₀ = 1; the derivative
// there is that of the side without force.
//
// The force is known at the beginning of a step: in the constraint problem its rows have this force
// whatever the acceleration is (RowLaw::given), so that limits and equalities, which are solved for
// the acceleration, know of it. It could as well stand among the smooth forces; as rows it has the
// contacts' narrow phase, Jacobian, sensors and pullback for nothing. It is explicit in both: a
// stiff contact wants h √(k/m) < 2, and friction h g f₀/(m v_s) < 2.
#pragma once

#include "cycloid/rigid/constraint/reference.h"

namespace cycloid::inline rigid {

// What the law makes of a contact on the way to its forces.
template <class S>
struct CompliantNormal {
  Mask<S> present, presses;
  S power;      // d^(p-1)
  S depth;      // 1 where there is no contact
  S from_pair;  // k of (2) per k_ref
  S k, release;

  CYCLOID_INLINE CompliantNormal(const ReferenceOptions<S>& options, const ContactNumbers<S>& c,
                                 const S& rows, const S& x, const S& v0) {
    const CompliantOptions<S>& law = options.compliant;
    present = (rows > S(0)) & (x < S(0));
    depth = select(present, -x, S(1));  // (1)
    const Scalar<S> p = static_cast<Scalar<S>>(law.exponent);
    power = pow(depth, S(p - 1));
    from_pair = S(static_cast<Scalar<S>>(law.depth_factor)) / max(S(kLeastNumber), c.A);
    k = law.of_pair
            ? reference_gains(c.soft.solref, S(1), options.timestep, options.refsafe).k * from_pair
            : law.stiffness;  // (2)
    release = S(1) - S(1.5) * law.dissipation * v0;
    presses = present & (release > S(0));
  }
  CYCLOID_INLINE S force() const {
    return select(presses, k * depth * power * release, S(0));  // (3)
  }
};

// Rows of one kind: slip 1 2, spin 3, rolling 4 5; visit(first, end) for those below n.
template <class Visit>
CYCLOID_INLINE void for_each_friction(int n, Visit visit) {
  if (n >= 3) visit(1, 3);
  if (n >= 4) visit(3, 4);
  if (n >= 6) visit(4, 6);
}

// w of (4).
template <class S>
CYCLOID_INLINE S slip_speed(int k, const S& g, const S& v) {
  return k < 3 ? v : g * v;
}

// f (n), of a contact that has `rows` of them.
template <class S>
CYCLOID_HD void compliant_force(int n, const ReferenceOptions<S>& options,
                                const ContactNumbers<S>& c, const S& rows, const S& x, const S* v,
                                S* f) {
  f[0] = CompliantNormal<S>(options, c, rows, x, v[0]).force();
  for_each_friction(n, [&](int first, int end) {
    S square = options.compliant.stiction * options.compliant.stiction;
    for (int k = first; k < end; ++k) {
      const S w = slip_speed(k, c.friction[k - 1], v[k]);
      square += select(rows > S(k), w * w, S(0));
    }
    const S strength = f[0] / sqrt(square);  // (5)
    for (int k = first; k < end; ++k) {
      const S g = c.friction[k - 1];
      f[k] = select(rows > S(k), -g * strength * slip_speed(k, g, v[k]), S(0));  // (6)
    }
  });
}

// Adds to the cotangents of the options, of the pair's numbers, of x and of v (n).
template <class S>
CYCLOID_HD void compliant_force_pullback(int n, const ReferenceOptions<S>& options,
                                         const ContactNumbers<S>& c, const S& rows, const S& x,
                                         const S* v, const S* f_bar,
                                         ReferenceOptions<S>& options_bar, ContactNumbers<S>& c_bar,
                                         S& x_bar, S* v_bar) {
  const CompliantOptions<S>& law = options.compliant;
  const CompliantNormal<S> at(options, c, rows, x, v[0]);
  const S zero = S(0), f0 = at.force();
  S f0_bar = f_bar[0];
  for_each_friction(n, [&](int first, int end) {
    S square = law.stiction * law.stiction, Q = zero;
    for (int k = first; k < end; ++k) {
      const S g = c.friction[k - 1], w = slip_speed(k, g, v[k]);
      square += select(rows > S(k), w * w, zero);
      Q += select(rows > S(k), f_bar[k] * g * w, zero);
    }
    const S inverse = S(1) / sqrt(square), strength = f0 * inverse;
    f0_bar -= Q * inverse;                             // (6)
    const S s_bar = strength * Q * inverse * inverse;  // over s: (5)
    options_bar.compliant.stiction += s_bar * law.stiction;
    for (int k = first; k < end; ++k) {
      const Mask<S> has = rows > S(k);
      const S g = c.friction[k - 1], w = slip_speed(k, g, v[k]);
      const S w_bar = select(has, s_bar * w - g * strength * f_bar[k], zero);
      v_bar[k] += k < 3 ? w_bar : g * w_bar;  // (4)
      c_bar.friction[k - 1] -= select(has, strength * w * f_bar[k], zero);
      if (k >= 3) c_bar.friction[k - 1] += v[k] * w_bar;
    }
  });

  const S press_bar = select(at.presses, f0_bar, zero), spring = at.k * at.power;  // (3)
  const S release_bar = press_bar * spring * at.depth;
  options_bar.compliant.dissipation -= S(1.5) * v[0] * release_bar;
  v_bar[0] -= S(1.5) * law.dissipation * release_bar;
  const S p = S(static_cast<Scalar<S>>(law.exponent));
  x_bar -= press_bar * p * spring * at.release;  // (1)
  const S k_bar = press_bar * at.depth * at.power * at.release;
  if (!law.of_pair) {  // (2)
    options_bar.compliant.stiffness += k_bar;
    return;
  }
  S held = zero;
  reference_gains_pullback(c.soft.solref, S(1), options.timestep, options.refsafe,
                           ReferenceGains<S>{k_bar * at.from_pair, zero}, c_bar.soft.solref, held,
                           options_bar.timestep);
  c_bar.A -= select(c.A >= S(kLeastNumber), k_bar * at.k / max(S(kLeastNumber), c.A), zero);
}

}  // namespace cycloid::inline rigid
