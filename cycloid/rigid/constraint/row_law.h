// The laws of single rows: what a constraint costs, the force it gives, and its stiffness.
//
//   f = -ds/dr,   K = d²s/dr²,   r = (J a) - a_ref                        [m/s²; N, 1/kg: see D]
//   equality                      s = ½ D r²           f = -D r          K = D           (1)
//   friction loss, D |r| < η      s = ½ D r²           f = -D r          K = D           (2a)
//   friction loss, D |r| ≥ η      s = η|r| - η²/2D     f = -η sign r     K = 0           (2b)
//   one-sided, r < 0              s = ½ D r²           f = -D r          K = D           (3a)
//   one-sided, r ≥ 0              s = 0                f = 0             K = 0           (3b)
//   given                         s = -D r             f = D             K = 0           (4)
// One-sided rows are limits, frictionless contacts and the edges of pyramids. Given is a force that
// does not depend on the acceleration (contact/hunt_crossley.h), which stands in D. s is C¹, K
// jumps at the borders, where the side with "≥" is taken. D = 0 is a row that is not there:
// s = f = K = 0.
// [MuJoCo, Computation: Constraint model]
#pragma once

#include "cycloid/math/dual.h"
#include "cycloid/rigid/solver/constraint_problem.h"

namespace cycloid::inline rigid {

template <class S>
struct RowResponse {
  S f, K;
};

template <class S>
CYCLOID_INLINE RowResponse<S> row_response(RowLaw law, const S& D, const S& eta, const S& r) {
  if (law == RowLaw::equality) return {-D * r, D};  // (1)
  if (law == RowLaw::friction_loss) {
    const S size = D * abs(r);
    return {-copysign(min(size, eta), r), select(size < eta, D, S(0))};  // (2)
  }
  if (law == RowLaw::given) return {D, S(0)};             // (4)
  return {-D * min(r, S(0)), select(r < S(0), D, S(0))};  // (3)
}

// The force alone, an operator of (D, η, r).
template <class S>
CYCLOID_INLINE S row_force(RowLaw law, const S& D, const S& eta, const S& r) {
  return row_response(law, D, eta, r).f;
}

template <class S>
CYCLOID_INLINE void row_force_pullback(RowLaw law, const S& D, const S& eta, const S& r,
                                       const S& f_bar, S& D_bar, S& eta_bar, S& r_bar) {
  const S K = row_response(law, D, eta, r).K;
  r_bar -= K * f_bar;
  if (law == RowLaw::equality) {
    D_bar -= r * f_bar;  // (1)
  } else if (law == RowLaw::friction_loss) {
    const Mask<S> slips = D * abs(r) >= eta;
    D_bar -= select(slips, S(0), r * f_bar);                                 // (2a)
    eta_bar -= select(slips & (D > S(0)), copysign(S(1), r) * f_bar, S(0));  // (2b)
  } else if (law == RowLaw::given) {
    D_bar += f_bar;  // (4)
  } else {
    D_bar -= min(r, S(0)) * f_bar;  // (3)
  }
}

// s.
template <class S>
CYCLOID_INLINE S row_cost(RowLaw law, const S& D, const S& eta, const S& r) {
  if (law == RowLaw::equality) return S(0.5) * D * r * r;  // (1)
  if (law == RowLaw::friction_loss) {
    const S size = min(D * abs(r), eta);
    const S inside = S(0.5) * size / select(D > S(0), D, S(1));
    return size * (abs(r) - inside);  // (2)
  }
  if (law == RowLaw::given) return -D * r;  // (4)
  const S inside = min(r, S(0));
  return S(0.5) * D * inside * inside;  // (3)
}

}  // namespace cycloid::inline rigid
