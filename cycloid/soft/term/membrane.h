// Stretch and shear of a triangle of cloth, St. Venant and Kirchhoff's law in plane stress. (Woven
// cloth, with two directions: woven.h.)
//
// With a, b the edges from node 0 (at rest A, B) and the metrics g = [a·a a·b; a·b b·b], G of rest:
//   E = ½ (g - G)                                                                   (1)   strain
//   μ = Y / 2(1 + ν),  λ = Y ν / (1 - ν²)                                           (2)   [Pa]
//   w(E) = μ tr(G⁻¹E G⁻¹E) + λ/2 tr²(G⁻¹E)                                          (3)   [J/m³]
//   W = h A (w(E) + z w(E - E_before)),  z = damping · ζ, A = ½ √det G              (4)   [J]
//   S = 2μ G⁻¹E G⁻¹ + λ tr(G⁻¹E) G⁻¹, the same of E - E_before times z added        (5)   [Pa]
//   f_1 = h A (S11 a + S12 b),  f_2 = h A (S12 a + S22 b),  f_0 = -f_1 - f_2        (6)   [N]
#pragma once

#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

// A symmetric 2 x 2 matrix.
template <class S>
struct Metric {
  S xx, xy, yy;
};

// What a membrane is whatever its stress: Law has rest(s), with G and volume, and stress(rest, E).
template <class Law>
struct MembraneForms {
  static constexpr int kNodes = 3;
  static constexpr bool kSymmetric = true, kHasMass = true, kMixed = true;

  template <class S>
  static Metric<S> metric(const Vec3<S>* x) {
    const Vec3<S> a = x[1] - x[0], b = x[2] - x[0];
    return {dot(a, a), dot(a, b), dot(b, b)};
  }
  template <class S, class R>
  static Metric<S> strain(const Vec3<S>* x, const Metric<R>& G) {
    const Metric<S> g = metric(x);
    return {S(0.5) * (g.xx - G.xx), S(0.5) * (g.xy - G.xy), S(0.5) * (g.yy - G.yy)};  // (1)
  }
  // E less its reference.
  template <class S, class R, int P, int C>
  static Metric<S> rate(const Stencil<S, 3, P, C, R>& s, const Metric<S>& E, const Metric<R>& G) {
    const auto part = [&](auto&& of) {
      return reference_of(s, [&](const Vec3<R>* x) { return of(strain(x, G)); });
    };
    return {E.xx - part([](const auto& m) { return m.xx; }),
            E.xy - part([](const auto& m) { return m.xy; }),
            E.yy - part([](const auto& m) { return m.yy; })};
  }
  template <class S, class Rest>
  static S density_of(const Rest& r, const Metric<S>& E) {
    const Metric<S> s = Law::stress(r, E);
    return S(0.5) * (s.xx * E.xx + S(2) * s.xy * E.xy + s.yy * E.yy);  // (3)
  }

  template <class S, class R, int P, int C>
  static S energy(const Stencil<S, 3, P, C, R>& s) {
    const auto r = Law::rest(s);
    const Metric<S> E = strain(s.now, r.G);
    S w = density_of(r, E);
    if (s.step.befores > 0) {
      w += s.number[Law::damping] * R(s.step.rate) * density_of(r, rate(s, E, r.G));
    }
    return r.volume * w;  // (4)
  }
  template <class S, class R, int P, int C>
  static void force(const Stencil<S, 3, P, C, R>& s, Vec3<S>* f) {
    const auto r = Law::rest(s);
    const Metric<S> E = strain(s.now, r.G);
    Metric<S> T = Law::stress(r, E);
    if (s.step.befores > 0) {
      const R z = s.number[Law::damping] * R(s.step.rate);
      const Metric<S> V = Law::stress(r, rate(s, E, r.G));
      T = {T.xx + z * V.xx, T.xy + z * V.xy, T.yy + z * V.yy};
    }
    const Vec3<S> a = s.now[1] - s.now[0], b = s.now[2] - s.now[0];
    f[1] = (a * T.xx + b * T.xy) * r.volume;  // (6)
    f[2] = (a * T.xy + b * T.yy) * r.volume;
    f[0] = Vec3<S>{S(0), S(0), S(0)} - f[1] - f[2];
  }
  template <class S, class R, int P, int C>
  static R mass(const Stencil<S, 3, P, C, R>& s) {
    return Law::rest(s).volume * s.number[Law::density];
  }
};

struct Membrane : MembraneForms<Membrane> {
  static constexpr int kNumbers = 5, kConstants = 0;
  enum { young, poisson, thickness, density, damping };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R>;

  template <class S>
  struct Rest {
    Metric<S> G, I;  // and its inverse
    S volume, mu, lam;
  };
  template <class S, class R>
  static Rest<R> rest(const Group<S, R>& s) {
    Rest<R> r;
    r.G = MembraneForms::metric(s.rest);
    const R det = r.G.xx * r.G.yy - r.G.xy * r.G.xy, inverse = R(1) / det;
    r.I = {r.G.yy * inverse, -r.G.xy * inverse, r.G.xx * inverse};
    r.volume = R(0.5) * sqrt(det) * s.number[thickness];
    const R Y = s.number[young], nu = s.number[poisson];
    r.mu = R(0.5) * Y / (R(1) + nu), r.lam = Y * nu / (R(1) - nu * nu);  // (2)
    return r;
  }
  template <class S, class R>
  static Metric<S> stress(const Rest<R>& r, const Metric<S>& E) {
    // M = G⁻¹ E, not symmetric
    const S a = r.I.xx * E.xx + r.I.xy * E.xy, b = r.I.xx * E.xy + r.I.xy * E.yy,
            c = r.I.xy * E.xx + r.I.yy * E.xy, d = r.I.xy * E.xy + r.I.yy * E.yy;
    const S t = r.lam * (a + d);
    const R m = R(2) * r.mu;
    return {m * (a * r.I.xx + b * r.I.xy) + t * r.I.xx, m * (a * r.I.xy + b * r.I.yy) + t * r.I.xy,
            m * (c * r.I.xy + d * r.I.yy) + t * r.I.yy};  // (5)
  }
};

}  // namespace cycloid::inline soft
