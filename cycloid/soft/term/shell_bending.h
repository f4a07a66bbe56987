// Bending of cloth: the shape operator of a triangle from the angles at its edges, after
// GrinspunEtAl2006.
//
// Nodes 0 1 2 are the triangle's, node 3 + i lies across the edge that is opposite to node i. That
// edge is e_i at rest, of length l_i; A is the area, θ_i the angle between the normals there:
//   k_i = c_i (θ_i - θ_i,rest) / (2 A l_i)                                          (1)   [1/m³]
//   Λ = Σ k_i t_i ⊗ t_i,  t_i = e_i turned by a right angle in the plane            (2)   [1/m]
//   tr Λ = Σ k_i l_i²,  |Λ|² = Σ k_i k_j (e_i·e_j)²                                 (3)
//   D = Y h³ / 12(1 - ν²)                                                           (4)   [N·m]
//   W = A D/2 ((1 - ν)|Λ|² + ν tr² Λ), the same of k - k_before times z added       (5)   [J]
// c_i is 0 at an edge of the cloth, and 2 beside a triangle that is held as a whole: the angle is
// then spread over half the distance, and the clamp lies at the edge. With edges along the
// curvature's axis this is exact; on other meshes the stiffness differs by a factor that depends on
// the mesh, not on its size (as of every model that is made of hinges).
// Where θ = π (a sharp fold) its sign jumps.
#pragma once

#include "cycloid/math/matrix.h"
#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

template <class S>
struct Angles {
  S at[3];
};

// What bending is whatever its stiffness: Law has rest(s), with weight and angle, and
// moment(rest, k) = ∂W/∂k, linear in k.
template <class Law>
struct BendingForms {
  static constexpr int kNodes = 6;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = true;

  // A hinge: the edge from p to q, x on this side of it, o on the other.
  template <class S>
  struct Hinge {
    Vec3<S> n, m, e;
    S length;

    Hinge(const Vec3<S>* v, int i) {
      const Vec3<S>&p = v[(i + 1) % 3], &q = v[(i + 2) % 3], &x = v[i], &o = v[3 + i];
      e = q - p;
      n = cross(e, x - p), m = cross(o - p, e);
      length = sqrt(dot(e, e));
    }
    S angle() const { return atan2(dot(cross(n, m), e) / length, dot(n, m)); }
  };
  template <class S>
  static Angles<S> angles(const Vec3<S>* v) {
    return {{Hinge<S>(v, 0).angle(), Hinge<S>(v, 1).angle(), Hinge<S>(v, 2).angle()}};
  }

  // k of angles, (1).
  template <class S, class Rest>
  static Angles<S> bend(const Rest& r, const Angles<S>& theta) {
    Angles<S> k;
    for (int i = 0; i < 3; ++i) k.at[i] = r.weight[i] * (theta.at[i] - r.angle.at[i]);
    return k;
  }
  template <class S, class R, int P, int C, class Rest>
  static Angles<S> rate(const Stencil<S, 6, P, C, R>& s, const Rest& r, const Angles<S>& k) {
    Angles<S> out;
    for (int i = 0; i < 3; ++i) {
      out.at[i] =
          k.at[i] - reference_of(s, [&](const Vec3<R>* v) { return bend(r, angles(v)).at[i]; });
    }
    return out;
  }
  template <class S, class Rest>
  static S work(const Rest& r, const Angles<S>& k) {
    const Angles<S> M = Law::moment(r, k);
    return S(0.5) * (M.at[0] * k.at[0] + M.at[1] * k.at[1] + M.at[2] * k.at[2]);  // (5)
  }

  template <class S, class R, int P, int C>
  static S energy(const Stencil<S, 6, P, C, R>& s) {
    const auto r = Law::rest(s);
    const Angles<S> k = bend(r, angles(s.now));
    S w = work(r, k);
    if (s.step.befores > 0) w += s.number[Law::damping] * R(s.step.rate) * work(r, rate(s, r, k));
    return w;
  }
  template <class S, class R, int P, int C>
  static void force(const Stencil<S, 6, P, C, R>& s, Vec3<S>* f) {
    const auto r = Law::rest(s);
    const Angles<S> k = bend(r, angles(s.now));
    Angles<S> M = Law::moment(r, k);
    if (s.step.befores > 0) {
      const Angles<S> V = Law::moment(r, rate(s, r, k));
      for (int i = 0; i < 3; ++i) M.at[i] += s.number[Law::damping] * R(s.step.rate) * V.at[i];
    }
    for (int a = 0; a < kNodes; ++a) f[a] = {S(0), S(0), S(0)};
    for (int i = 0; i < 3; ++i) add_angle(s.now, i, M.at[i] * r.weight[i], f);
  }
  // Symmetric and never negative: (5) with angles that are taken as linear in the positions, so
  // that only what bends resists (the method of Gauss and Newton).
  template <class S, int P, int C>
  static void positive_stiffness(const Stencil<S, 6, P, C>& s, Mat<S, 18, 18>& K) {
    const auto r = Law::rest(s);
    S scale(1);
    if (s.step.befores > 0) scale += s.number[Law::damping] * S(s.step.rate);
    Vec3<S> slope[3][6], carried[3][6];
    for (int i = 0; i < 3; ++i) {
      for (Vec3<S>& v : slope[i]) v = {S(0), S(0), S(0)};
      add_angle(s.now, i, r.weight[i], slope[i]);
    }
    for (int i = 0; i < 3; ++i) {
      Angles<S> unit{{S(0), S(0), S(0)}};
      unit.at[i] = scale;
      const Angles<S> M = Law::moment(r, unit);
      for (int a = 0; a < 6; ++a) {
        carried[i][a] = slope[0][a] * M.at[0] + slope[1][a] * M.at[1] + slope[2][a] * M.at[2];
      }
    }
    for (int i = 0; i < 18; ++i) {
      for (int j = 0; j <= i; ++j) {
        S sum(0);
        for (int k = 0; k < 3; ++k) {
          sum += slope[k][i / 3][i % 3] * carried[k][j / 3][j % 3];
        }
        K(i, j) = K(j, i) = sum;
      }
    }
  }

 private:
  // f += g ∂θ_i/∂v. With n, m the normals (lengths of twice the areas), x and o move the angle by
  // their distances from the edge, p and q so that no rigid motion does.
  template <class S>
  static void add_angle(const Vec3<S>* v, int i, const S& g, Vec3<S>* f) {
    const int p = (i + 1) % 3, q = (i + 2) % 3, o = 3 + i;
    const Hinge<S> hinge(v, i);
    const Vec3<S> of_x = hinge.n * (hinge.length / dot(hinge.n, hinge.n)),
                  of_o = hinge.m * (hinge.length / dot(hinge.m, hinge.m));
    const S inverse = S(1) / (hinge.length * hinge.length);
    const S x_at = dot(v[i] - v[p], hinge.e) * inverse, o_at = dot(v[o] - v[p], hinge.e) * inverse;
    const Vec3<S> x_part = of_x * g, o_part = of_o * g;
    f[i] -= x_part, f[o] -= o_part;
    f[p] += x_part * (S(1) - x_at) + o_part * (S(1) - o_at);
    f[q] += x_part * x_at + o_part * o_at;
  }
};

struct ShellBending : BendingForms<ShellBending> {
  static constexpr int kNumbers = 4, kConstants = 3;
  enum { young, poisson, thickness, damping };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R>;

  template <class S>
  struct Rest {
    S area, stiffness, nu;  // stiffness: D
    S weight[3];            // c_i / (2 A l_i)
    S square[3][3];         // (e_i·e_j)²
    S length2[3];           // l_i²
    Angles<S> angle;
  };
  template <class S, class R>
  static Rest<R> rest(const Group<S, R>& s) {
    Rest<R> r;
    Vec3<R> e[3];
    for (int i = 0; i < 3; ++i) e[i] = s.rest[(i + 2) % 3] - s.rest[(i + 1) % 3];
    const Vec3<R> n = cross(e[0], e[1]);
    r.area = R(0.5) * sqrt(dot(n, n));
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const R d = dot(e[i], e[j]);
        r.square[i][j] = d * d;
      }
      r.length2[i] = dot(e[i], e[i]);
      r.weight[i] = s.constant[i] / (R(2) * r.area * sqrt(r.length2[i]));
    }
    const R h = s.number[thickness];
    r.nu = s.number[poisson];
    r.stiffness = s.number[young] * h * h * h / (R(12) * (R(1) - r.nu * r.nu));  // (4)
    r.angle = BendingForms::angles(s.rest);
    return r;
  }
  // ∂W/∂k of (5), without viscosity.
  template <class S, class R>
  static Angles<S> moment(const Rest<R>& r, const Angles<S>& k) {
    const S trace = k.at[0] * r.length2[0] + k.at[1] * r.length2[1] + k.at[2] * r.length2[2];
    Angles<S> out;
    for (int i = 0; i < 3; ++i) {
      const S sum =
          k.at[0] * r.square[i][0] + k.at[1] * r.square[i][1] + k.at[2] * r.square[i][2];  // (3)
      out.at[i] = r.area * r.stiffness * ((R(1) - r.nu) * sum + r.nu * trace * r.length2[i]);
    }
    return out;
  }
};

}  // namespace cycloid::inline soft
