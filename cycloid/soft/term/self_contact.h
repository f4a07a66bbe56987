// Contact of a body with itself: of a vertex with a triangle, of two edges, or of a point of a rod
// with a segment, and friction.
//
// With r, n and the weights of pair_distance.h, and d = r - 2 radius (the radius of a rod, else 0):
//   W = m(c) B(d), B the barrier of barrier.h                                       (1)   [J]
//   f_a = m B'(d) weight_a n + B m'(c) ∂c/∂x_a                                       (2)   [N]
// m is 1 but for two edges. The distance of two edges has a kink where they are parallel,
// so that their barrier is taken away there (LiEtAl2020):
//   c = |e × g|², e and g the edges;  c₀ = 1e-3 |E|² |G|², of the rest shape          (3)   [m⁴]
//   m = (c/c₀) (2 - c/c₀) for c < c₀, else 1                                         (4)
// Where edges are parallel, pairs of vertices and triangles, or of points and segments, keep them
// apart. Friction acts by the load, the weights and the normal of the stage's start, as in
// contact.h:
//   N = m |B'(d)|, n, weights at before_0                                            (5)
//   v = (ζ/spread) Σ weight_a (y_a - Σ weight before),  v_t = v - n (n·v)            (6)   [m/s]
//   f_a += weight_a spread μ N v_t / √(v_t² + v_s²)                                  (7)   [N]
// The derivative is exact, that of the lag included. Second derivatives of d jump from case to
// case: there that of the case at hand is taken.
#pragma once

#include "cycloid/soft/term/barrier.h"
#include "cycloid/soft/term/pair_distance.h"
#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

template <PairKind kind>
struct SelfContact {
  static constexpr bool kEdges = kind == PairKind::edge_edge;
  static constexpr int kNodes = kind == PairKind::point_edge ? 3 : 4, kNumbers = 5, kConstants = 0;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = false;
  enum { stiffness, width, friction, stiction, radius };  // κ [N/m], w [m], μ, v_s [m/s], [m]
  template <class S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants>;

  template <class S>
  static PairDistance<S> distance(const Vec3<S>* x) {
    if constexpr (kEdges) return edge_edge_distance(x);
    else if constexpr (kind == PairKind::point_edge) return point_edge_distance(x);
    else return point_triangle_distance(x);
  }
  // d
  template <class S>
  static S gap(const S* number, const PairDistance<S>& at) {
    return at.d - S(2) * number[radius];
  }
  // m, and its derivative by c.
  template <class S>
  struct Mollifier {
    S m, slope;
  };
  template <class S>
  static Mollifier<S> mollifier(const Vec3<S>* rest, const Vec3<S>& cross_of_edges) {
    const Vec3<S> E = rest[1] - rest[0], G = rest[3] - rest[2];
    const S c0 = S(1e-3) * dot(E, E) * dot(G, G);  // (3)
    const S part = min(dot(cross_of_edges, cross_of_edges) / c0, S(1));
    return {part * (S(2) - part), (S(2) - S(2) * part) / c0};  // (4)
  }

  template <class S>
  struct Friction {
    PairDistance<S> at;
    S load;       // spread μ N
    Vec3<S> v_t;  // [m/s]
    S speed;      // √(v_t² + v_s²)
  };
  template <class S>
  static Friction<S> rubbing(const Group<S>& s) {
    Friction<S> out;
    const Vec3<S>* const x = s.before[0];
    out.at = distance(x);
    out.load = -barrier_slope(s.number[stiffness], s.number[width], gap(s.number, out.at)) *
               s.number[friction] * S(s.step.spread);  // (5)
    if constexpr (kEdges) out.load *= mollifier(s.rest, cross(x[1] - x[0], x[3] - x[2])).m;
    Vec3<S> v = {S(0), S(0), S(0)};
    for (int a = 0; a < kNodes; ++a) {
      Vec3<S> way = s.now[a] - s.before[0][a] * S(s.step.before_weight[0]);
      if (s.step.befores > 1) way -= s.before[1][a] * S(s.step.before_weight[1]);
      v += way * out.at.weight[a];
    }
    v *= S(s.step.rate / s.step.spread);
    out.v_t = v - out.at.n * dot(out.at.n, v);  // (6)
    out.speed = norm(Vec<S, 4>{{out.v_t.x, out.v_t.y, out.v_t.z, s.number[stiction]}});
    return out;
  }

  template <class S>
  static S energy(const Group<S>& s) {
    S w = barrier_energy(s.number[stiffness], s.number[width], gap(s.number, distance(s.now)));
    if constexpr (kEdges) {
      const S m = mollifier(s.rest, cross(s.now[1] - s.now[0], s.now[3] - s.now[2])).m;
      w = select(m > S(0), w * m, S(0));  // (1)
    }
    if (s.step.befores > 0) {
      const Friction<S> f = rubbing(s);
      w += f.load * S(s.step.spread / s.step.rate) * (f.speed - s.number[stiction]);
    }
    return w;
  }
  template <class S>
  static void force(const Group<S>& s, Vec3<S>* f) {
    const PairDistance<S> at = distance(s.now);
    const S d = gap(s.number, at);
    Vec3<S> push = at.n * barrier_slope(s.number[stiffness], s.number[width], d);
    if constexpr (kEdges) {
      const Vec3<S> e = s.now[1] - s.now[0], g = s.now[3] - s.now[2], eg = cross(e, g);
      const Mollifier<S> m = mollifier(s.rest, eg);
      const S safe = select(d > S(0), d, s.number[width]);
      const S b = S(2) * m.slope * barrier_energy(s.number[stiffness], s.number[width], safe);
      const Vec3<S> by_e = cross(g, eg) * b, by_g = cross(eg, e) * b;
      push *= m.m;
      f[0] = push * at.weight[0] - by_e, f[1] = push * at.weight[1] + by_e;  // (2)
      f[2] = push * at.weight[2] - by_g, f[3] = push * at.weight[3] + by_g;
    } else {
      for (int a = 0; a < kNodes; ++a) f[a] = push * at.weight[a];  // (2)
    }
    if (s.step.befores > 0) {
      const Friction<S> r = rubbing(s);
      for (int a = 0; a < kNodes; ++a) f[a] += r.v_t * (r.at.weight[a] * r.load / r.speed);  // (7)
    }
  }
};

using PointTriangleContact = SelfContact<PairKind::point_triangle>;
using EdgeEdgeContact = SelfContact<PairKind::edge_edge>;
using PointEdgeContact = SelfContact<PairKind::point_edge>;

}  // namespace cycloid::inline soft
