// Bending of a shell that hardly stretches, hinge by hinge: cubic shells (GargEtAl2007), the law of
// MuJoCo's flexes (flex.h).
//
// Nodes 0 1 are the edge, 2 and 3 the corners of the triangles beside it. Of the rest shape: A is
// the area of both triangles, L the edge's length, φ the angle between their normals, α_i and β_i
// the cotangents at nodes 0 and 1 of triangle i:
//   c = (β1 + β2, α1 + α2, -(α1 + β1), -(α2 + β2)),  D = Y h³ / 12(1 - ν²)           (1)   [N·m]
//   K = D cos φ / A,  Q = -D n·(x_3 - x_0) ((α1 + β1)(α2 + β2))² / (A L⁴),
//   n = (x_1 - x_0) × (x_2 - x_0)                                                    (2)
//   W = ½ K (|Σ c x|² + z |Σ c (x - x_before)|²) + Q V,
//   V = (x_1 - x_0)·((x_2 - x_0) × (x_3 - x_0))                                      (3)   [J]
// with z = damping · ζ. Where nothing stretches W is D L²/A (cos φ - cos(θ - φ)) and a constant, θ
// the angle now. For a sheet that is flat at rest W is quadratic.
#pragma once

#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

struct CubicBending {
  static constexpr int kNodes = 4, kNumbers = 4, kConstants = 0;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = true;
  enum { young, poisson, thickness, damping };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R>;

  template <class S>
  struct Rest {
    S c[4], stiffness, curl;  // c, K and Q
  };
  template <class S>
  static S cotangent(const Vec3<S>& a, const Vec3<S>& b) {
    return dot(a, b) / norm(cross(a, b));
  }
  template <class S, class R>
  static Rest<R> rest(const Group<S, R>& s) {
    const Vec3<R>* const x = s.rest;
    const Vec3<R> e = x[1] - x[0], p = x[2] - x[0], q = x[3] - x[0], r = x[2] - x[1],
                  t = x[3] - x[1];
    const R a1 = cotangent(e, p), a2 = cotangent(e, q), b1 = -cotangent(e, r),
            b2 = -cotangent(e, t);
    const Vec3<R> n = cross(e, p);
    const R area = R(0.5) * (norm(n) + norm(cross(e, q))), square = dot(e, e);
    const R h = s.number[thickness], nu = s.number[poisson];
    const R D = s.number[young] * h * h * h / (R(12) * (R(1) - nu * nu));  // (1)
    // Across the edge, in both triangles, as long as the edge is.
    const Vec3<R> u = p * b1 + r * a1, v = q * b2 + t * a2;
    const R across = (a1 + b1) * (a2 + b2);
    return {{b1 + b2, a1 + a2, -(a1 + b1), -(a2 + b2)},
            -D * dot(u, v) / (square * area),
            -D * dot(n, q) * across * across / (area * square * square)};  // (2)
  }
  template <class S>
  static S volume(const Vec3<S>* x) {
    return dot(x[1] - x[0], cross(x[2] - x[0], x[3] - x[0]));
  }
  // Σ c x.
  template <class S, class R>
  static Vec3<S> bend(const Rest<R>& r, const Vec3<S>* x) {
    return x[0] * r.c[0] + x[1] * r.c[1] + x[2] * r.c[2] + x[3] * r.c[3];
  }
  // The same less that of the reference, component by component.
  template <class S, class R>
  static Vec3<S> rate(const Group<S, R>& s, const Rest<R>& r, const Vec3<S>& now) {
    const auto part = [&](int i) {
      return reference_of(s, [&](const Vec3<R>* x) { return bend(r, x)[i]; });
    };
    return {now.x - part(0), now.y - part(1), now.z - part(2)};
  }

  template <class S, class R>
  static S energy(const Group<S, R>& s) {
    const Rest<R> r = rest(s);
    const Vec3<S> b = bend(r, s.now);
    S w = dot(b, b);
    if (s.step.befores > 0) {
      const Vec3<S> v = rate(s, r, b);
      w += s.number[damping] * R(s.step.rate) * dot(v, v);
    }
    return R(0.5) * r.stiffness * w + r.curl * volume(s.now);  // (3)
  }
  template <class S, class R>
  static void force(const Group<S, R>& s, Vec3<S>* f) {
    const Rest<R> r = rest(s);
    Vec3<S> m = bend(r, s.now);
    if (s.step.befores > 0) {
      const R z = s.number[damping] * R(s.step.rate);
      m = m + rate(s, r, m) * z;
    }
    m = m * r.stiffness;
    const Vec3<S> e = s.now[1] - s.now[0], p = s.now[2] - s.now[0], q = s.now[3] - s.now[0];
    const Vec3<S> curl[3] = {cross(p, q) * r.curl, cross(q, e) * r.curl, cross(e, p) * r.curl};
    f[0] = m * r.c[0] - curl[0] - curl[1] - curl[2];
    for (int a = 1; a < kNodes; ++a) f[a] = m * r.c[a] + curl[a - 1];
  }
};

}  // namespace cycloid::inline soft
