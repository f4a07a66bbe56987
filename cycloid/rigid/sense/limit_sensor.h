// How far a joint or a tendon is from its limit, and how fast it comes there.
//
// With x the position or length, low and high its range, and the limit's margin m:
//   low side   d = x - low,   ḋ = ẋ          where d < m                                     (1)
//   high side  d = high - x,  ḋ = -ẋ         where d < m, and not at the low side           (2)
//   position   d - m,   velocity   ḋ;   both zero where no limit acts                        (3)
// A ball turns within a cone: x = |φ| and ẋ = u·q̇ of limit_rows.h (2), high its larger number, and
// no low side.                                                                               (4)
// They jump where a limit begins to act.
// Source: MuJoCo's manual, sensors jointlimitpos and the like.
#pragma once

#include "cycloid/rigid/constraint/limit_rows.h"

namespace cycloid::inline rigid {

// σ of (1) and (2): d = σ (x - bound), 1, -1, or 0 where no limit acts.
template <class S>
CYCLOID_INLINE S limit_side(const S& x, const S& low, const S& high, const S& margin) {
  return select(x - low < margin, S(1), select(high - x < margin, S(-1), S(0)));
}

// (3). `rate`: the velocity is asked for.
template <class S>
CYCLOID_INLINE S limit_sensor(bool rate, const S& x, const S& x_dot, const S& low, const S& high,
                              const S& margin) {
  const S side = limit_side(x, low, high, margin), zero(0);
  if (rate) return side * x_dot;
  const S d = select(side > zero, x - low, high - x) - margin;
  return select(side == zero, zero, d);
}

// Adds. range_bar: of low and high, or null.
template <class S>
CYCLOID_INLINE void limit_sensor_pullback(bool rate, const S& x, const S& low, const S& high,
                                          const S& margin, const S& bar, S& x_bar, S& x_dot_bar,
                                          S* range_bar) {
  const S side = limit_side(x, low, high, margin), zero(0);
  if (rate) {
    x_dot_bar += side * bar;
    return;
  }
  x_bar += side * bar;
  if (!range_bar) return;
  range_bar[0] -= select(side > zero, bar, zero);
  range_bar[1] += select(side < zero, bar, zero);
}

// Pullback of (4): adds to q_bar and v_bar, the joint's own three.
template <class S>
CYCLOID_INLINE void ball_turn_pullback(const BallTurn<S>& turn, const Vec3<S>& rate, const S& x_bar,
                                       const S& x_dot_bar, S* q_bar, S* v_bar) {
  const Vec3<S> u_bar = rate * x_dot_bar;
  const Vec3<S> phi_bar = (u_bar - turn.u * dot(turn.u, u_bar)) * turn.inverse + turn.u * x_bar;
  add_to(q_bar, right_jacobian_inverse_apply(-turn.phi, phi_bar));
  add_to(v_bar, turn.u * x_dot_bar);
}

}  // namespace cycloid::inline rigid
