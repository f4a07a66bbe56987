// Springs along edges, as MuJoCo's flexes have them (flex.h).
//
// l is the length of an edge, L that at rest, k a stiffness, c a damping and w the edge's weight:
//   W = w (½ k (l - L)² + ½ c ζ (l - l_before)²)                                      (1)   [J]
//   f_1 = w (k (l - L) + c ζ (l - l_before)) e,  f_0 = -f_1, e the edge's direction   (2)   [N]
// with ζ of solid_stage.h. An edge that has shrunk to nothing has no direction: the force there is
// not finite.
#pragma once

#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

struct EdgeSpring {
  static constexpr int kNodes = 2, kNumbers = 2, kConstants = 1;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = false;
  enum { stiffness, damping };
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static S length(const Vec3<S>* x) {
    return norm(x[1] - x[0]);
  }
  template <class S>
  static S rate(const Group<S>& s, const S& now) {
    return now - reference_of(s, [](const Vec3<S>* x) { return length(x); });
  }
  template <class S>
  static S energy(const Group<S>& s) {
    const S now = length(s.now), d = now - length(s.rest);
    S w = s.number[stiffness] * d * d;
    if (s.step.befores > 0) {
      const S v = rate(s, now);
      w += s.number[damping] * S(s.step.rate) * v * v;
    }
    return S(0.5) * s.constant[0] * w;  // (1)
  }
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    const auto e = unit_and_norm(s.now[1] - s.now[0]);
    S pull = s.number[stiffness] * (e.norm - length(s.rest));
    if (s.step.befores > 0) {
      pull += s.number[damping] * S(s.step.rate) * rate(s, e.norm);
    }
    f[1] = e.unit * (s.constant[0] * pull);  // (2)
    f[0] = Vec3<S>{S(0), S(0), S(0)} - f[1];
  }
};

}  // namespace cycloid::inline soft
