// Contact of a vertex with an obstacle, and friction.
//
// With φ and n of obstacle.h at the obstacle's pose, R = exp(turn) exp(rotation):
//   barrier     W = -κ (φ - w)² ln(φ/w) for φ < w, infinite for φ <= 0 (LiEtAl2020)   (1)   [J]
//   compliant   W = ½ κ φ² for φ < 0                                                  (2)   [J]
//   f = W'(φ) n                                                                       (3)   [N]
// Friction acts by the load N and normal n of the stage's start, so that it has a potential too:
//   N = |W'(φ)|, n at before_0                                                        (4)
//   v = (ζ/spread)(y - Σ weight before) - velocity - spin × (before_0 - position)     (5)   [m/s]
//   v_t = v - n (n·v)                                                                 (6)
//   f += spread μ N v_t / √(v_t² + v_s²)                                              (7)   [N]
// v_s is the speed below which it sticks (and creeps). The derivative is exact, that of the lag
// included: N depends on where the step started. A vertex that starts inside the obstacle, which
// came to it, has N = 0. (2) has a jump in its stiffness at φ = 0; there it is taken from outside.
#pragma once

#include "cycloid/math/rotation.h"
#include "cycloid/soft/term/barrier.h"
#include "cycloid/soft/term/obstacle.h"
#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

struct ObstacleContact {
  static constexpr int kNodes = 1, kNumbers = 22, kConstants = 0;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = false;
  enum {
    position = 0,    // [m]
    rotation = 3,    // rotation vector [rad]
    turn = 6,        // another, of the input
    velocity = 9,    // [m/s]
    spin = 12,       // [rad/s]
    size = 15,       // [m]
    stiffness = 18,  // κ [N/m]
    width,           // w [m]
    friction,        // μ
    stiction         // v_s [m/s]
  };
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  static constexpr int form_of(ObstacleShape shape, bool barrier) {
    return 2 * static_cast<int>(shape) + (barrier ? 1 : 0);
  }
  static ObstacleShape shape_of(int form) { return static_cast<ObstacleShape>(form / 2); }
  static bool is_barrier(int form) { return form % 2 == 1; }

  template <class S>
  static Vec3<S> three(const S* number) {
    return {number[0], number[1], number[2]};
  }
  template <class S>
  static Distance<S> distance(int form, const S* number, const Vec3<S>& x) {
    const Quat<S> q =
        quaternion_exp(three(number + turn)) * quaternion_exp(three(number + rotation));
    const Vec3<S> local = rotate(conjugate(q), x - three(number + position));
    const Distance<S> d = distance_from(shape_of(form), three(number + size), local);
    return {d.phi, rotate(q, d.n)};
  }
  // W, and W' (which is not above zero).
  template <class S>
  static S potential(int form, const S* number, const S& phi) {
    const S kappa = number[stiffness], w = number[width];
    if (!is_barrier(form)) {
      const S depth = positive_part(-phi);
      return S(0.5) * kappa * depth * depth;  // (2)
    }
    return barrier_energy(kappa, w, phi);  // (1)
  }
  template <class S>
  static S slope(int form, const S* number, const S& phi) {
    const S kappa = number[stiffness], w = number[width];
    if (!is_barrier(form)) return -kappa * positive_part(-phi);
    return barrier_slope(kappa, w, phi);
  }

  template <class S>
  struct Friction {
    S load;       // spread μ N
    Vec3<S> v_t;  // [m/s]
    S speed;      // √(v_t² + v_s²)
  };
  template <class S>
  static Friction<S> rubbing(const Group<S>& s) {
    const Distance<S> at = distance(s.step.form, s.number, s.before[0][0]);
    Friction<S> out;
    out.load =
        -slope(s.step.form, s.number, at.phi) * s.number[friction] * S(s.step.spread);  // (4)
    Vec3<S> v = s.now[0] - s.before[0][0] * S(s.step.before_weight[0]);
    if (s.step.befores > 1) v -= s.before[1][0] * S(s.step.before_weight[1]);
    v *= S(s.step.rate / s.step.spread);
    v -= three(s.number + velocity) +
         cross(three(s.number + spin), s.before[0][0] - three(s.number + position));  // (5)
    out.v_t = v - at.n * dot(at.n, v);                                                // (6)
    out.speed = norm(Vec<S, 4>{{out.v_t.x, out.v_t.y, out.v_t.z, s.number[stiction]}});
    return out;
  }

  template <class S>
  static S energy(const Group<S>& s) {
    S w = potential(s.step.form, s.number, distance(s.step.form, s.number, s.now[0]).phi);
    if (s.step.befores > 0) {
      const Friction<S> f = rubbing(s);
      w += f.load * S(s.step.spread / s.step.rate) * (f.speed - s.number[stiction]);
    }
    return w;
  }
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    const Distance<S> at = distance(s.step.form, s.number, s.now[0]);
    f[0] = at.n * slope(s.step.form, s.number, at.phi);  // (3)
    if (s.step.befores > 0) {
      const Friction<S> r = rubbing(s);
      f[0] += r.v_t * (r.load / r.speed);  // (7)
    }
  }
};

}  // namespace cycloid::inline soft
