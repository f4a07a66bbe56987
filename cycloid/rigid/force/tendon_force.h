// The force of a tendon's spring and damper along the tendon, and the spring's energy.
//
//   x = max(l - upper, 0) + min(l - lower, 0)          (1)  stretch outside the dead band [m]
//   F = -(k x + k₂ x² + k₃ x³)                         (2)  spring [N]
//   b_n = damping_n + Σ gear² damping_n of actuators   (3)  on this tendon, n = 1, 2, 3
//   F -= b₁ v + b₂ v|v| + b₃ v³                        (4)  damper [N]
//   E = k x²/2 + k₂ x³/3 + k₃ x⁴/4                     (5)  energy of the spring [J]
//   B = b₁ + 2 b₂|v| + 3 b₃ v²                         (6)  slope -dF/dv, for implicit integrators
// lower, upper: spring_length. Stiffness k, damping b₁ and spring_length are parameters, the higher
// coefficients numbers of the model. Kinks of (1) at both ends of the band and of |v| at zero: the
// derivative of the side inside the band, and 2 b₂|v| = 0. A band of no width, lower = upper, has
// no inside: x = l - ½ (lower + upper) at its place, which is smooth in l and gives each end half.
// Springs and dampers act unless the model turns them off.
#pragma once

#include "cycloid/rigid/force/passive.h"

namespace cycloid::inline rigid {

// Coefficients of x, x² (or x|x|) and x³.
template <class S>
struct TendonCoefficients {
  S linear, quadratic, cubic;
};

template <class S, class P>
CYCLOID_INLINE TendonCoefficients<S> tendon_stiffness(const TreeView& tree, const P* p, int t) {
  const std::size_t i = static_cast<std::size_t>(t);
  const Polynomial& k = tree.model.tendons[i].stiffness;
  return {S(p[tree.tendons[i].stiffness]), number<S>(k.quadratic), number<S>(k.cubic)};
}

// Calls visit(actuator, place of its gear) for every actuator that drives the tendon.
template <class Visit>
CYCLOID_HD void for_each_tendon_actuator(const TreeView& tree, int t, Visit visit) {
  for (std::size_t a = 0; a < tree.model.actuators.size(); ++a) {
    const Actuator& actuator = tree.model.actuators[a];
    if (actuator.transmission == TransmissionKind::tendon && actuator.target == t) {
      visit(actuator, tree.actuators[a].gear);
    }
  }
}

template <class S, class P>
CYCLOID_HD TendonCoefficients<S> tendon_damping(const TreeView& tree, const P* p, int t) {
  const std::size_t i = static_cast<std::size_t>(t);
  const Polynomial& own = tree.model.tendons[i].damping;
  TendonCoefficients<S> b{S(p[tree.tendons[i].damping]), number<S>(own.quadratic),
                          number<S>(own.cubic)};
  for_each_tendon_actuator(tree, t, [&](const Actuator& a, int gear) {
    const S square = S(p[gear]) * S(p[gear]);  // (3)
    b.linear += square * number<S>(a.damping.linear);
    b.quadratic += square * number<S>(a.damping.quadratic);
    b.cubic += square * number<S>(a.damping.cubic);
  });
  return b;
}

// Where the length is that of a band of no width: both pieces of (1) meet, with equal slopes.
template <class S>
CYCLOID_INLINE Mask<S> at_joined_ends(const S& lower, const S& upper, const S& length) {
  return (length == lower) & (length == upper);
}

template <class S, class P>
CYCLOID_INLINE S tendon_stretch(const TreeView& tree, const P* p, int t, const S& length) {
  const P* band = p + tree.tendons[static_cast<std::size_t>(t)].spring_length;
  const S lower = S(band[0]), upper = S(band[1]);
  return select(at_joined_ends(lower, upper, length), length - S(0.5) * (lower + upper),
                positive_part(length - upper) - positive_part(lower - length));  // (1)
}

template <class S, class P>
CYCLOID_HD S tendon_passive_force(const TreeView& tree, const P* p, int t, const S& length,
                                  const S& velocity) {
  const Acting& acting = tree.model.options.acting;
  S force = S(0);
  if (acting.springs) {
    const TendonCoefficients<S> k = tendon_stiffness<S>(tree, p, t);
    const S x = tendon_stretch(tree, p, t, length);
    force -= x * (k.linear + x * (k.quadratic + x * k.cubic));  // (2)
  }
  if (acting.dampers) {
    const TendonCoefficients<S> b = tendon_damping<S>(tree, p, t);
    force -=
        velocity * (b.linear + abs(velocity) * b.quadratic + velocity * velocity * b.cubic);  // (4)
  }
  return force;
}

// B.
template <class S, class P>
CYCLOID_HD S tendon_damping_slope(const TreeView& tree, const P* p, int t, const S& velocity) {
  if (!tree.model.options.acting.dampers) return S(0);
  const TendonCoefficients<S> b = tendon_damping<S>(tree, p, t);
  return b.linear + S(2) * b.quadratic * abs(velocity) +
         S(3) * b.cubic * velocity * velocity;  // (6)
}

template <class S, class P>
CYCLOID_HD void tendon_damping_slope_pullback(const TreeView& tree, const P* p, int t,
                                              const S& velocity, const S& slope_bar,
                                              S& velocity_bar, S* p_bar) {
  if (!tree.model.options.acting.dampers) return;
  const TendonCoefficients<S> b = tendon_damping<S>(tree, p, t);
  const S sign = select(velocity > S(0), S(1), select(velocity < S(0), S(-1), S(0)));
  velocity_bar += slope_bar * (S(2) * b.quadratic * sign + S(6) * b.cubic * velocity);  // (6)
  if (!p_bar) return;
  p_bar[tree.tendons[static_cast<std::size_t>(t)].damping] += slope_bar;
  for_each_tendon_actuator(tree, t, [&](const Actuator& a, int gear) {  // (3)
    const S per_square = number<S>(a.damping.linear) +
                         S(2) * number<S>(a.damping.quadratic) * abs(velocity) +
                         S(3) * number<S>(a.damping.cubic) * velocity * velocity;
    p_bar[gear] += slope_bar * S(2) * S(p[gear]) * per_square;
  });
}

// Adds to length_bar, velocity_bar, and to p_bar unless it is null.
template <class S, class P>
CYCLOID_HD void tendon_passive_force_pullback(const TreeView& tree, const P* p, int t,
                                              const S& length, const S& velocity,
                                              const S& force_bar, S& length_bar, S& velocity_bar,
                                              S* p_bar) {
  const Acting& acting = tree.model.options.acting;
  const TendonPlaces& at = tree.tendons[static_cast<std::size_t>(t)];
  if (acting.springs) {
    const TendonCoefficients<S> k = tendon_stiffness<S>(tree, p, t);
    const S x = tendon_stretch(tree, p, t, length);
    const S x_bar = -force_bar * (k.linear + x * (S(2) * k.quadratic + x * S(3) * k.cubic));  // (2)
    const S lower = S(p[at.spring_length]), upper = S(p[at.spring_length + 1]);
    const S joined = select(at_joined_ends(lower, upper, length), S(0.5), S(0));
    const S above = joined + unit_step(length - upper);  // (1)
    const S below = joined + unit_step(lower - length);
    length_bar += x_bar * (above + below);
    if (p_bar) {
      p_bar[at.stiffness] -= force_bar * x;
      p_bar[at.spring_length] -= x_bar * below;
      p_bar[at.spring_length + 1] -= x_bar * above;
    }
  }
  if (acting.dampers) {
    const S &v = velocity, speed = abs(velocity);
    velocity_bar -= force_bar * tendon_damping_slope(tree, p, t, velocity);  // (4)
    if (p_bar) {
      p_bar[at.damping] -= force_bar * v;
      for_each_tendon_actuator(tree, t, [&](const Actuator& a, int gear) {  // (3)
        const S per_square =
            v * (number<S>(a.damping.linear) + speed * number<S>(a.damping.quadratic) +
                 v * v * number<S>(a.damping.cubic));
        p_bar[gear] -= force_bar * S(2) * S(p[gear]) * per_square;
      });
    }
  }
}

template <class S, class P>
CYCLOID_HD S tendon_energy(const TreeView& tree, const P* p, int t, const S& length) {
  if (!tree.model.options.acting.springs) return S(0);
  const TendonCoefficients<S> k = tendon_stiffness<S>(tree, p, t);
  const S x = tendon_stretch(tree, p, t, length);
  return x * x *
         (k.linear * S(0.5) +
          x * (k.quadratic * number<S>(1.0 / 3) + x * k.cubic * S(0.25)));  // (5)
}

// dE/dx = -F.
template <class S, class P>
void tendon_energy_pullback(const TreeView& tree, const P* p, int t, const S& length,
                            const S& energy_bar, S& length_bar, S* p_bar) {
  if (!tree.model.options.acting.springs) return;
  const TendonPlaces& at = tree.tendons[static_cast<std::size_t>(t)];
  const TendonCoefficients<S> k = tendon_stiffness<S>(tree, p, t);
  const S x = tendon_stretch(tree, p, t, length);
  const S x_bar = energy_bar * x * (k.linear + x * (k.quadratic + x * k.cubic));  // (5)
  length_bar += x_bar;
  if (p_bar) {
    p_bar[at.stiffness] += energy_bar * S(0.5) * x * x;
    p_bar[at.spring_length] -= select(x < S(0), x_bar, S(0));
    p_bar[at.spring_length + 1] -= select(x > S(0), x_bar, S(0));
  }
}

}  // namespace cycloid::inline rigid
