// Stretch and bending of a rod of round section, as a chain of segments (BergouEtAl2008, without
// twist: a straight rod with equal bending stiffness about all axes needs none unless its ends are
// turned).
//
//   RodStretch: l the length at rest of a segment, e = y_1 - y_0
//     W = ½ Y π r² l ((|e|/l - 1)² + z (|e|/l - |e_before|/l)²)                     (1)   [J]
//   RodBending: e, f the segments that meet at node 1, c the cosine of the angle between them
//     κ = 2 e × f / (|e||f| + e·f),  |κ|² = 4 (1 - c)/(1 + c)                        (2)
//     W = ½ Y (π r⁴/4) / L (|κ - P κ_rest|² + z |κ - P κ_before|²)                   (3)   [J]
// with L = ½ (l_0 + l_1), z = damping · ζ and P the smallest turn from the tangent then to the one
// now, so that a turn of the whole rod across its tangent is not damped. A segment that is held as
// a whole has no part in L: the clamp then lies at node 1. The constants of a group are 1 or 0 for
// its two segments. κ_rest is 0 for a rod that was built straight (`form` 1), wherever its vertices
// are moved. One that was built bent (`form` 0) follows P, as there is no twist to tell how it
// lies: that is right while it bends in its own plane and turns across its tangents.
#pragma once

#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

struct RodStretch {
  static constexpr int kNodes = 2, kNumbers = 4, kConstants = 0;
  static constexpr bool kSymmetric = true, kHasMass = true, kMixed = false;
  enum { young, radius, density, damping };
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static S length(const Vec3<S>* x) {
    return norm(x[1] - x[0]);
  }
  template <class S>
  static S section(const Group<S>& s) {
    return S(3.14159265358979323846) * s.number[radius] * s.number[radius];
  }
  template <class S>
  static S energy(const Group<S>& s) {
    const S l = length(s.rest), now = length(s.now), d = now / l - S(1);
    S w = d * d;
    if (s.step.befores > 0) {
      const S v = (now - reference_of(s, [](const Vec3<S>* x) { return length(x); })) / l;
      w += s.number[damping] * S(s.step.rate) * v * v;
    }
    return S(0.5) * s.number[young] * section(s) * l * w;  // (1)
  }
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    const S l = length(s.rest);
    const auto e = unit_and_norm(s.now[1] - s.now[0]);
    S t = e.norm / l - S(1);
    if (s.step.befores > 0) {
      t += s.number[damping] * S(s.step.rate) *
           (e.norm - reference_of(s, [](const Vec3<S>* x) { return length(x); })) / l;
    }
    f[1] = e.unit * (s.number[young] * section(s) * t);
    f[0] = Vec3<S>{S(0), S(0), S(0)} - f[1];
  }
  template <class S>
  static S mass(const Group<S>& s) {
    return s.number[density] * section(s) * length(s.rest);
  }
};

struct RodBending {
  static constexpr int kNodes = 3, kNumbers = 3, kConstants = 2;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = false;
  enum { young, radius, damping };
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static S stiffness(const Group<S>& s) {
    const S r2 = s.number[radius] * s.number[radius];
    const S L = S(0.5) * (s.constant[0] * norm(s.rest[1] - s.rest[0]) +
                          s.constant[1] * norm(s.rest[2] - s.rest[1]));
    return s.number[young] * S(3.14159265358979323846 / 4) * r2 * r2 / L;
  }
  // κ, (2).
  template <class S>
  static Vec3<S> curvature(const Vec3<S>* x) {
    const Vec3<S> e = x[1] - x[0], f = x[2] - x[1];
    return cross(e, f) * (S(2) / (norm(e) * norm(f) + dot(e, f)));
  }
  template <class S>
  static Vec3<S> tangent(const Vec3<S>* x) {
    return unit_and_norm(unit_and_norm(x[1] - x[0]).unit + unit_and_norm(x[2] - x[1]).unit).unit;
  }
  // P κ of positions `then`, with P to the tangent t.
  template <class S>
  static Vec3<S> carried(const Vec3<S>* then, const Vec3<S>& t) {
    const Vec3<S> was = tangent(then), k = curvature(then);
    const Vec3<S> axis = cross(was, t), turned = cross(axis, k);
    return k + turned + cross(axis, turned) * (S(1) / (S(1) + dot(was, t)));
  }
  // What (3) squares, at positions y in place of those now: both terms.
  template <class S>
  static S squares(const Group<S>& s, const Vec3<S>* y) {
    const Vec3<S> k = curvature(y), t = tangent(y);
    const Vec3<S> bent = s.step.form == 1 ? k : k - carried(s.rest, t);
    S sum = dot(bent, bent);
    if (s.step.befores > 0) {
      Vec3<S> d = k;
      for (int b = 0; b < s.step.befores; ++b) {
        d -= carried(s.before[b], t) * S(s.step.before_weight[b]);
      }
      sum += s.number[damping] * S(s.step.rate) * dot(d, d);
    }
    return sum;
  }
  template <class S>
  static S energy(const Group<S>& s) {
    return S(0.5) * stiffness(s) * squares(s, s.now);  // (3)
  }
  // By dual numbers, of one node after the other.
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    using D = Dual<S, 3>;
    const auto lift = [](const Vec3<S>& x) { return Vec3<D>{D(x.x), D(x.y), D(x.z)}; };
    Group<D> d;
    d.step = s.step;
    d.number[damping] = D(s.number[damping]);
    for (int a = 0; a < kNodes; ++a) {
      d.rest[a] = lift(s.rest[a]), d.now[a] = lift(s.now[a]);
      for (int k = 0; k < 2; ++k) d.before[k][a] = lift(s.before[k][a]);
    }
    const S half = S(0.5) * stiffness(s);
    for (int a = 0; a < kNodes; ++a) {
      const Vec3<S>& x = s.now[a];
      d.now[a] = {D::variable(x.x, 0), D::variable(x.y, 1), D::variable(x.z, 2)};
      const D w = squares(d, d.now);
      d.now[a] = lift(x);
      f[a] = Vec3<S>{w.tangent[0], w.tangent[1], w.tangent[2]} * half;
    }
  }
};

}  // namespace cycloid::inline soft
