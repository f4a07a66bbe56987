// Loads on a body: tractions and pressures on faces, springs to points.
//
//   Traction: a force per area of rest t, on a triangle of area A at rest
//     W = -w load A/3 t·Σ x_a,   f_a = -w load A/3 t                                (1)   [J], [N]
//   Pressure: p against the normal of a triangle as it is now, n its normal with the length of A
//     f_a = w load p n/3                                                            (2)   [N]
//     W = w load p x_0·(x_1 × x_2)/6, whose derivative sums to (2) on a closed surface      (3)
//   Spring: W = ½ k |x - point|²                                                    (4)   [J]
// w, the weight of a group: a face of four corners is cut along both diagonals, with halves. The
// derivative of (2) is symmetric on closed surfaces alone; elsewhere the step solves with the skew
// part too (skew_solve.h). `form` 1 of a pressure is the derivative of (3), by which a search knows
// uphill from downhill.
#pragma once

#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

struct TractionLoad {
  static constexpr int kNodes = 3, kNumbers = 3, kConstants = 1;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = false;
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static Vec3<S> share(const Group<S>& s) {
    const Vec3<S> n = cross(s.rest[1] - s.rest[0], s.rest[2] - s.rest[0]);
    const S area = sqrt(dot(n, n)) * S(s.step.load / 6) * s.constant[0];
    return Vec3<S>{s.number[0], s.number[1], s.number[2]} * area;
  }
  template <class S>
  static S energy(const Group<S>& s) {
    return -dot(share(s), s.now[0] + s.now[1] + s.now[2]);  // (1)
  }
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    const Vec3<S> each = share(s);
    for (int a = 0; a < kNodes; ++a) f[a] = Vec3<S>{S(0), S(0), S(0)} - each;  // (1)
  }
};

struct PressureLoad {
  static constexpr int kNodes = 3, kNumbers = 1, kConstants = 1;
  static constexpr bool kSymmetric = false, kHasMass = false, kMixed = false;
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static S energy(const Group<S>& s) {
    return s.number[0] * s.constant[0] * S(s.step.load / 6) *
           dot(s.now[0], cross(s.now[1], s.now[2]));  // (3)
  }
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    const S p = s.number[0] * s.constant[0] * S(s.step.load / 6);
    if (s.step.form == 1) {
      for (int a = 0; a < kNodes; ++a) f[a] = cross(s.now[(a + 1) % 3], s.now[(a + 2) % 3]) * p;
      return;
    }
    const Vec3<S> each = cross(s.now[1] - s.now[0], s.now[2] - s.now[0]) * p;
    for (int a = 0; a < kNodes; ++a) f[a] = each;  // (2)
  }
};

struct SpringLoad {
  static constexpr int kNodes = 1, kNumbers = 1, kConstants = 3;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = false;
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static Vec3<S> stretch(const Group<S>& s) {
    return s.now[0] - Vec3<S>{s.constant[0], s.constant[1], s.constant[2]};
  }
  template <class S>
  static S energy(const Group<S>& s) {
    return S(0.5) * s.number[0] * dot(stretch(s), stretch(s));  // (4)
  }
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    f[0] = stretch(s) * s.number[0];  // (4)
  }
};

}  // namespace cycloid::inline soft
