// Stretch, bending and twist of a rod of round section, as a chain of segments with a frame each
// (discrete elastic rods, BergouEtAl2008).
//
//   RodStretch: l the length at rest of a segment, e = y_1 - y_0
//     W = ½ Y π r² l ((|e|/l - 1)² + z (|e|/l - |e_before|/l)²)                     (1)   [J]
//   RodBending: segments 0 and 1 meet at node 1, with tangents T at rest and t now; T', t' are
//   those of segment 1
//     M = Rot(t, ϑ) P(c→t) P(T→c)                                                    (2)
//     κ = 2 e × f / (|e||f| + e·f),  |κ|² = 4 (1 - cos)/(1 + cos)                    (3)
//     q = Mᵀ κ, of each of both segments                                             (4)
//     τ = ϑ' - ϑ + Ω(c,c',t') - Ω(c,t,t') + Ω(T,T',c') - Ω(T,c,c')                   (5)   [rad]
//     W = ½ Y (π r⁴/4)/L ½ Σ (|q - κ_rest|² + z |q - q_before|²)
//       + ½ G (π r⁴/2)/L (τ² + z (τ - τ_before)²),  G = Y / 2(1 + ν)                 (6)   [J]
//   RodSpin: the inertia of a segment about its tangent
//     I = ρ (π r⁴/2) l                                                               (7)   [kg·m²]
// with P and Ω of rod_frame.h, L = ½ (l_0 + l_1), z = damping · ζ. M takes the frame at rest to the
// one now. Its angle ϑ is measured from the frame that is carried along by the smallest turns, from
// rest to c and from c to now. c is the tangent at the step's start (or that at rest, for a body
// without a step), so that the rate of ϑ is the spin about the tangent, whatever way a segment has
// come; (5) is the angle by which the second frame is turned against the first one carried on. Only
// a segment that points exactly against its direction at rest has no P(T→c).
// A segment that is held as a whole has no part in L: the clamp then lies at node 1. Angles are
// unknowns like positions: those of a segment are the first number of a vertex of their own, times
// a length (`scale`), so that they count as others do. The constants of a group are 1 or 0 for its
// two segments, then 1/scale.
#pragma once

#include "cycloid/soft/term/rod_frame.h"
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
  static constexpr int kNodes = 5, kNumbers = 4, kConstants = 3;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = true;
  enum { young, radius, poisson, damping };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R>;

  // Curvature in both frames, and twist.
  template <class S>
  struct Bend {
    Vec3<S> q[2];
    S tau;
  };
  // What does not change while positions are sought.
  template <class S>
  struct Reference {
    Vec3<S> T[2], c[2];
    S twist;  // the last two terms of (5)
    S inverse_scale;
    S bending, twisting, z;  // Y π r⁴/4 / L, G π r⁴/2 / L [N·m]
    Bend<S> rest, before;
  };

  template <class S>
  static Vec3<S> unit(const Vec3<S>& from, const Vec3<S>& to) {
    return unit_and_norm(to - from).unit;
  }
  // κ, (3).
  template <class S>
  static Vec3<S> curvature(const Vec3<S>* x) {
    const Vec3<S> e = x[1] - x[0], f = x[2] - x[1];
    return cross(e, f) * (S(2) / (norm(e) * norm(f) + dot(e, f)));
  }
  template <class S>
  static Bend<S> bend(const Reference<S>& r, const Vec3<S>* x) {
    const Vec3<S> k = curvature(x), t[2] = {unit(x[0], x[1]), unit(x[1], x[2])};
    Bend<S> out;
    for (int j = 0; j < 2; ++j) {
      const S angle = x[3 + j].x * r.inverse_scale;
      const Vec3<S> back = k * cos(angle) - cross(t[j], k) * sin(angle);
      out.q[j] = transported(r.c[j], r.T[j], transported(t[j], r.c[j], back));  // (4)
    }
    out.tau = (x[4].x - x[3].x) * r.inverse_scale + turn_around(r.c[0], r.c[1], t[1]) -
              turn_around(r.c[0], t[0], t[1]) + r.twist;  // (5)
    return out;
  }
  template <class S, class R>
  static Reference<R> reference(const Group<S, R>& s) {
    Reference<R> r;
    const int last = s.step.befores - 1;
    const Vec3<R>* const c = last >= 0 ? s.before[last] : s.rest;
    for (int j = 0; j < 2; ++j) {
      r.T[j] = unit(s.rest[j], s.rest[j + 1]), r.c[j] = unit(c[j], c[j + 1]);
    }
    r.twist = turn_around(r.T[0], r.T[1], r.c[1]) - turn_around(r.T[0], r.c[0], r.c[1]);
    r.inverse_scale = s.constant[2];
    const R r2 = s.number[radius] * s.number[radius];
    const R L = R(0.5) * (s.constant[0] * norm(s.rest[1] - s.rest[0]) +
                          s.constant[1] * norm(s.rest[2] - s.rest[1]));
    r.bending = s.number[young] * R(3.14159265358979323846 / 4) * r2 * r2 / L;
    r.twisting = r.bending / (R(1) + s.number[poisson]);
    r.z = s.number[damping] * R(s.step.rate);
    r.rest.q[0] = r.rest.q[1] = curvature(s.rest), r.rest.tau = R(0);
    r.before = r.rest;
    if (s.step.rate == 0) return r;
    r.before = {{{R(0), R(0), R(0)}, {R(0), R(0), R(0)}}, R(0)};
    for (int b = 0; b < s.step.befores; ++b) {
      const Bend<R> then = bend(r, s.before[b]);
      const R weight(s.step.before_weight[b]);
      for (int j = 0; j < 2; ++j) r.before.q[j] += then.q[j] * weight;
      r.before.tau += then.tau * weight;
    }
    return r;
  }
  // (6) at positions x.
  template <class S>
  static S work(const Reference<S>& r, bool moving, const Vec3<S>* x) {
    const Bend<S> now = bend(r, x);
    const auto squares = [&](const Bend<S>& from) {
      const Vec3<S> a = now.q[0] - from.q[0], b = now.q[1] - from.q[1];
      const S tau = now.tau - from.tau;
      return S(0.5) * r.bending * (dot(a, a) + dot(b, b)) + r.twisting * tau * tau;
    };
    S sum = squares(r.rest);
    if (moving) sum += r.z * squares(r.before);
    return S(0.5) * sum;
  }
  template <class S, class R>
  static Reference<S> lifted(const Reference<R>& r) {
    const auto lift = [](const Vec3<R>& x) { return Vec3<S>{S(x.x), S(x.y), S(x.z)}; };
    const auto bend = [&](const Bend<R>& b) {
      return Bend<S>{{lift(b.q[0]), lift(b.q[1])}, S(b.tau)};
    };
    return {{lift(r.T[0]), lift(r.T[1])},
            {lift(r.c[0]), lift(r.c[1])},
            S(r.twist),
            S(r.inverse_scale),
            S(r.bending),
            S(r.twisting),
            S(r.z),
            bend(r.rest),
            bend(r.before)};
  }
  template <class S, class R>
  static S energy(const Group<S, R>& s) {
    return work(lifted<S>(reference(s)), s.step.rate != 0, s.now);
  }
  // By dual numbers: of three nodes, and of both angles.
  template <class S, class R>
  static void force(const Group<S, R>& s, Vec3<S>* f) {
    using D = Dual<S, 11>;
    const Reference<D> r = lifted<D>(lifted<S>(reference(s)));
    Vec3<D> x[5];
    for (int a = 0; a < 3; ++a) {
      for (int i = 0; i < 3; ++i) x[a][i] = D::variable(s.now[a][i], 3 * a + i);
    }
    for (int j = 0; j < 2; ++j) {
      x[3 + j] = {D::variable(s.now[3 + j].x, 9 + j), D(S(0)), D(S(0))};
    }
    const D w = work(r, s.step.rate != 0, x);
    for (int a = 0; a < 3; ++a) {
      f[a] = {w.tangent[3 * a], w.tangent[3 * a + 1], w.tangent[3 * a + 2]};
    }
    for (int j = 0; j < 2; ++j) f[3 + j] = {w.tangent[9 + j], S(0), S(0)};
  }
};

struct RodSpin {
  static constexpr int kNodes = 3, kNumbers = 2, kConstants = 1;
  static constexpr bool kSymmetric = true, kHasMass = true, kMixed = false, kRates = false;
  static constexpr int kMassNode = 2;  // the others have theirs of RodStretch
  enum { radius, density };
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static S energy(const Group<S>&) {
    return S(0);
  }
  template <class S>
  static void force(const Group<S>&, Vec3<S>* f) {
    for (int a = 0; a < kNodes; ++a) f[a] = {S(0), S(0), S(0)};
  }
  // Of an angle times `scale`, 1/scale being the constant.
  template <class S>
  static S mass(const Group<S>& s) {
    const S r2 = s.number[radius] * s.number[radius] * s.constant[0];
    return s.number[density] * S(3.14159265358979323846 / 2) * r2 * r2 *
           norm(s.rest[1] - s.rest[0]);  // (7)
  }
};

}  // namespace cycloid::inline soft
