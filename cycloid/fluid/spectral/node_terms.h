// node_terms.h: the nonlinear terms of equations in a periodic box, as products at the nodes.
//
// A term N(û) of coefficients û is made in three parts:
//   ĝ = seen(û)          fields that are wanted at the nodes, by their coefficients     (1)
//   q = products(g)      at each node                                                   (2)
//   N = assembled(q̂, û)  derivatives of the products, and what is linear                (3)
// (1) and (3) are linear in coefficients, mode by mode, so their adjoints are written beside them;
// (2) has its pullback and its tangent. i k is the derivative, k = 2π/L times the wave number.
// An adjoint adds to what it gives.
//
//   Transport<1>    N = -c ∂x ½u²                      Burgers, Kuramoto–Sivashinsky: 1, KdV: c = 6
//   Transport<d>    N = -∇½|u|² + u × ω                Burgers; ω = ∇ × u
//   Incompressible  N = -P ∇·(u u)                     Navier–Stokes; P removes gradients. From the
//                   diagonal of u u one square is taken away everywhere, which P would remove:
//                   two products in the plane, five in space (Basdevant1983)
//   Reaction        N = (F - a b², a b²)               Gray–Scott; F at k = 0
//   ShallowWater    N = (-∇(½|u|² + g h) + u × (ω + f), -∇·((H + h) u))
#pragma once

#include "cycloid/fluid/transform/fft_lanes.h"

namespace cycloid::inline fluid {

// One mode: its wave vector, 1/|k|² (0 at k = 0), and 1 at k = 0.
template <class S>
struct SpectralMode {
  S k[3], inverse_square, is_mean;
};

// i k a
template <class S>
CYCLOID_INLINE ComplexLane<S> derived(const S& k, const ComplexLane<S>& a) {
  return {-(k * a.im), k * a.re};
}
template <class S>
CYCLOID_INLINE ComplexLane<S> scaled(const S& k, const ComplexLane<S>& a) {
  return {k * a.re, k * a.im};
}
template <class S>
CYCLOID_INLINE void add(ComplexLane<S>& to, const ComplexLane<S>& a) {
  to.re += a.re, to.im += a.im;
}
template <class S>
CYCLOID_INLINE void subtract(ComplexLane<S>& to, const ComplexLane<S>& a) {
  to.re -= a.re, to.im -= a.im;
}

// What the terms below do not need.
struct PlainTerm {
  static constexpr bool kSeesState = true;   // (1) is the identity
  static constexpr bool kProjects = false;   // what enters a step is divergence-free
  static constexpr bool kUsesState = false;  // (3) has a part that is linear in û
  static constexpr int kConstants = 0;       // numbers of (3) that are parameters, or fixed
  static constexpr int kFewestAxes = 2, kMostAxes = 3;  // of its boxes
};

template <int d>
struct Incompressible : PlainTerm {
  static constexpr int kFields = d, kSeen = d, kProducts = d == 2 ? 2 : 5;
  static constexpr bool kProjects = true;

  // u - k (k·u) / |k|²
  template <class S>
  static CYCLOID_INLINE void project(const SpectralMode<S>& m, ComplexLane<S>* u) {
    ComplexLane<S> along = scaled(m.k[0], u[0]);
    for (int a = 1; a < d; ++a) add(along, scaled(m.k[a], u[a]));
    for (int a = 0; a < d; ++a) subtract(u[a], scaled(S(m.k[a] * m.inverse_square), along));
  }

  template <class S>
  static CYCLOID_INLINE void products(const S*, const S* u, S* q) {
    q[0] = u[0] * u[1];
    if constexpr (d == 2) {
      q[1] = u[1] * u[1] - u[0] * u[0];
    } else {
      q[1] = u[0] * u[2], q[2] = u[1] * u[2];
      q[3] = u[1] * u[1] - u[0] * u[0], q[4] = u[2] * u[2] - u[0] * u[0];
    }
  }
  template <class S>
  static CYCLOID_INLINE void products_pullback(const S*, const S* u, const S* q_bar, S* u_bar) {
    u_bar[0] += q_bar[0] * u[1], u_bar[1] += q_bar[0] * u[0];
    if constexpr (d == 2) {
      u_bar[1] += S(2) * q_bar[1] * u[1], u_bar[0] -= S(2) * q_bar[1] * u[0];
    } else {
      u_bar[0] += q_bar[1] * u[2], u_bar[2] += q_bar[1] * u[0];
      u_bar[1] += q_bar[2] * u[2], u_bar[2] += q_bar[2] * u[1];
      u_bar[1] += S(2) * q_bar[3] * u[1], u_bar[2] += S(2) * q_bar[4] * u[2];
      u_bar[0] -= S(2) * (q_bar[3] + q_bar[4]) * u[0];
    }
  }

  template <class S>
  static CYCLOID_INLINE void assembled(const SpectralMode<S>& m, const Scalar<S>*,
                                       const ComplexLane<S>* q, const ComplexLane<S>*,
                                       ComplexLane<S>* N) {
    const S* const k = m.k;
    if constexpr (d == 2) {
      N[0] = derived(S(-k[1]), q[0]);
      N[1] = derived(S(-k[0]), q[0]) - derived(k[1], q[1]);
    } else {
      N[0] = derived(S(-k[1]), q[0]) - derived(k[2], q[1]);
      N[1] = derived(S(-k[0]), q[0]) - derived(k[1], q[3]) - derived(k[2], q[2]);
      N[2] = derived(S(-k[0]), q[1]) - derived(k[1], q[2]) - derived(k[2], q[4]);
    }
    project(m, N);
  }
  template <class S>
  static CYCLOID_INLINE void assembled_adjoint(const SpectralMode<S>& m, const Scalar<S>*,
                                               const ComplexLane<S>* N, ComplexLane<S>* q,
                                               ComplexLane<S>*) {
    ComplexLane<S> r[d];
    for (int a = 0; a < d; ++a) r[a] = N[a];
    project(m, r);
    const S* const k = m.k;
    add(q[0], derived(k[1], r[0])), add(q[0], derived(k[0], r[1]));
    if constexpr (d == 2) {
      add(q[1], derived(k[1], r[1]));
    } else {
      add(q[1], derived(k[2], r[0])), add(q[1], derived(k[0], r[2]));
      add(q[2], derived(k[2], r[1])), add(q[2], derived(k[1], r[2]));
      add(q[3], derived(k[1], r[1])), add(q[4], derived(k[2], r[2]));
    }
  }
};

// Vorticity from velocity, and u × ω; none on a line, one component in the plane.
template <int d>
struct Vorticity {
  static constexpr int kComponents = d == 1 ? 0 : d == 2 ? 1 : 3;

  template <class S>
  static CYCLOID_INLINE void curl(const SpectralMode<S>& m, const ComplexLane<S>* u,
                                  ComplexLane<S>* w) {
    if constexpr (d == 2) {
      w[0] = derived(m.k[0], u[1]) - derived(m.k[1], u[0]);
    } else if constexpr (d == 3) {
      for (int a = 0; a < 3; ++a) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        w[a] = derived(m.k[b], u[c]) - derived(m.k[c], u[b]);
      }
    }
  }
  template <class S>
  static CYCLOID_INLINE void curl_adjoint(const SpectralMode<S>& m, const ComplexLane<S>* w,
                                          ComplexLane<S>* u) {
    if constexpr (d == 2) {
      subtract(u[1], derived(m.k[0], w[0])), add(u[0], derived(m.k[1], w[0]));
    } else if constexpr (d == 3) {
      for (int a = 0; a < 3; ++a) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        subtract(u[c], derived(m.k[b], w[a])), add(u[b], derived(m.k[c], w[a]));
      }
    }
  }
  // Adds u × w to q (d).
  template <class S>
  static CYCLOID_INLINE void cross(const S* u, const S* w, S* q) {
    if constexpr (d == 2) {
      q[0] += u[1] * w[0], q[1] -= u[0] * w[0];
    } else if constexpr (d == 3) {
      for (int a = 0; a < 3; ++a) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        q[a] += u[b] * w[c] - u[c] * w[b];
      }
    }
  }
  template <class S>
  static CYCLOID_INLINE void cross_adjoint(const S* u, const S* w, const S* q, S* u_bar, S* w_bar) {
    if constexpr (d == 2) {
      u_bar[1] += q[0] * w[0], u_bar[0] -= q[1] * w[0];
      w_bar[0] += q[0] * u[1] - q[1] * u[0];
    } else if constexpr (d == 3) {
      for (int a = 0; a < 3; ++a) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        u_bar[b] += q[a] * w[c], w_bar[c] += q[a] * u[b];
        u_bar[c] -= q[a] * w[b], w_bar[b] -= q[a] * u[c];
      }
    }
  }
};

template <int d>
struct Transport : PlainTerm {
  static constexpr int kVorticity = Vorticity<d>::kComponents;
  static constexpr int kFields = d, kSeen = d + kVorticity, kProducts = d == 1 ? 1 : 1 + d;
  static constexpr bool kSeesState = d == 1;
  static constexpr int kFewestAxes = d, kMostAxes = d;
  static constexpr int kConstants = 1;  // c

  template <class S>
  static CYCLOID_INLINE void seen(const SpectralMode<S>& m, const ComplexLane<S>* u,
                                  ComplexLane<S>* g) {
    for (int a = 0; a < d; ++a) g[a] = u[a];
    Vorticity<d>::curl(m, u, g + d);
  }
  template <class S>
  static CYCLOID_INLINE void seen_adjoint(const SpectralMode<S>& m, const ComplexLane<S>* g,
                                          ComplexLane<S>* u) {
    for (int a = 0; a < d; ++a) add(u[a], g[a]);
    Vorticity<d>::curl_adjoint(m, g + d, u);
  }

  template <class S>
  static CYCLOID_INLINE void products(const S*, const S* g, S* q) {
    q[0] = S(0);
    for (int a = 0; a < d; ++a) q[0] += S(0.5) * (g[a] * g[a]);
    if constexpr (d > 1) {
      for (int a = 0; a < d; ++a) q[1 + a] = S(0);
      Vorticity<d>::cross(g, g + d, q + 1);
    }
  }
  template <class S>
  static CYCLOID_INLINE void products_pullback(const S*, const S* g, const S* q_bar, S* g_bar) {
    for (int a = 0; a < d; ++a) g_bar[a] += q_bar[0] * g[a];
    if constexpr (d > 1) Vorticity<d>::cross_adjoint(g, g + d, q_bar + 1, g_bar, g_bar + d);
  }

  template <class S>
  static CYCLOID_INLINE void assembled(const SpectralMode<S>& m, const Scalar<S>* c,
                                       const ComplexLane<S>* q, const ComplexLane<S>*,
                                       ComplexLane<S>* N) {
    for (int a = 0; a < d; ++a) {
      N[a] = derived(S(S(-c[0]) * m.k[a]), q[0]);
      if constexpr (d > 1) add(N[a], q[1 + a]);
    }
  }
  template <class S>
  static CYCLOID_INLINE void assembled_adjoint(const SpectralMode<S>& m, const Scalar<S>* c,
                                               const ComplexLane<S>* N, ComplexLane<S>* q,
                                               ComplexLane<S>*) {
    for (int a = 0; a < d; ++a) {
      add(q[0], derived(S(S(c[0]) * m.k[a]), N[a]));
      if constexpr (d > 1) add(q[1 + a], N[a]);
    }
  }
};

struct Reaction : PlainTerm {
  static constexpr int kFields = 2, kSeen = 2, kProducts = 1;
  static constexpr int kFewestAxes = 1, kMostAxes = 3;
  static constexpr int kConstants = 1;  // F

  template <class S>
  static CYCLOID_INLINE void products(const S*, const S* g, S* q) {
    q[0] = g[0] * (g[1] * g[1]);
  }
  template <class S>
  static CYCLOID_INLINE void products_pullback(const S*, const S* g, const S* q_bar, S* g_bar) {
    g_bar[0] += q_bar[0] * (g[1] * g[1]), g_bar[1] += S(2) * q_bar[0] * (g[0] * g[1]);
  }
  template <class S>
  static CYCLOID_INLINE void assembled(const SpectralMode<S>& m, const Scalar<S>* c,
                                       const ComplexLane<S>* q, const ComplexLane<S>*,
                                       ComplexLane<S>* N) {
    N[0] = {S(c[0]) * m.is_mean - q[0].re, -q[0].im};
    N[1] = q[0];
  }
  template <class S>
  static CYCLOID_INLINE void assembled_adjoint(const SpectralMode<S>&, const Scalar<S>*,
                                               const ComplexLane<S>* N, ComplexLane<S>* q,
                                               ComplexLane<S>*) {
    add(q[0], N[1] - N[0]);
  }
  // Re Σ N̄* ∂N/∂c
  template <class S>
  static CYCLOID_INLINE void constants_adjoint(const SpectralMode<S>& m, const ComplexLane<S>*,
                                               const ComplexLane<S>* N, S* c) {
    c[0] += m.is_mean * N[0].re;
  }
};

struct ShallowWater : PlainTerm {
  static constexpr int kFields = 3, kSeen = 4, kProducts = 5;  // u v h;  u v h ω;  ½|u|² u×ω hu hv
  static constexpr bool kSeesState = false, kUsesState = true;
  static constexpr int kConstants = 3;  // gravity, depth, Coriolis parameter

  template <class S>
  static CYCLOID_INLINE void seen(const SpectralMode<S>& m, const ComplexLane<S>* u,
                                  ComplexLane<S>* g) {
    for (int a = 0; a < 3; ++a) g[a] = u[a];
    Vorticity<2>::curl(m, u, g + 3);
  }
  template <class S>
  static CYCLOID_INLINE void seen_adjoint(const SpectralMode<S>& m, const ComplexLane<S>* g,
                                          ComplexLane<S>* u) {
    for (int a = 0; a < 3; ++a) add(u[a], g[a]);
    Vorticity<2>::curl_adjoint(m, g + 3, u);
  }
  template <class S>
  static CYCLOID_INLINE void products(const S*, const S* g, S* q) {
    q[0] = S(0.5) * (g[0] * g[0] + g[1] * g[1]);
    q[1] = q[2] = S(0);
    Vorticity<2>::cross(g, g + 3, q + 1);
    q[3] = g[2] * g[0], q[4] = g[2] * g[1];
  }
  template <class S>
  static CYCLOID_INLINE void products_pullback(const S*, const S* g, const S* q_bar, S* g_bar) {
    g_bar[0] += q_bar[0] * g[0], g_bar[1] += q_bar[0] * g[1];
    Vorticity<2>::cross_adjoint(g, g + 3, q_bar + 1, g_bar, g_bar + 3);
    g_bar[2] += q_bar[3] * g[0] + q_bar[4] * g[1];
    g_bar[0] += q_bar[3] * g[2], g_bar[1] += q_bar[4] * g[2];
  }
  template <class S>
  static CYCLOID_INLINE void assembled(const SpectralMode<S>& m, const Scalar<S>* c,
                                       const ComplexLane<S>* q, const ComplexLane<S>* u,
                                       ComplexLane<S>* N) {
    const ComplexLane<S> head = q[0] + scaled(S(c[0]), u[2]);
    const ComplexLane<S> flux[2] = {q[3] + scaled(S(c[1]), u[0]), q[4] + scaled(S(c[1]), u[1])};
    N[0] = q[1] - derived(m.k[0], head) + scaled(S(c[2]), u[1]);
    N[1] = q[2] - derived(m.k[1], head) - scaled(S(c[2]), u[0]);
    N[2] = derived(S(-m.k[0]), flux[0]) - derived(m.k[1], flux[1]);
  }
  template <class S>
  static CYCLOID_INLINE void assembled_adjoint(const SpectralMode<S>& m, const Scalar<S>* c,
                                               const ComplexLane<S>* N, ComplexLane<S>* q,
                                               ComplexLane<S>* u) {
    const ComplexLane<S> head = derived(m.k[0], N[0]) + derived(m.k[1], N[1]);
    const ComplexLane<S> flux[2] = {derived(m.k[0], N[2]), derived(m.k[1], N[2])};
    add(q[0], head), add(q[1], N[0]), add(q[2], N[1]), add(q[3], flux[0]), add(q[4], flux[1]);
    add(u[0], scaled(S(c[1]), flux[0]) - scaled(S(c[2]), N[1]));
    add(u[1], scaled(S(c[1]), flux[1]) + scaled(S(c[2]), N[0]));
    add(u[2], scaled(S(c[0]), head));
  }
  template <class S>
  static CYCLOID_INLINE void constants_adjoint(const SpectralMode<S>& m, const ComplexLane<S>* u,
                                               const ComplexLane<S>* N, S* c) {
    const ComplexLane<S> head = derived(m.k[0], N[0]) + derived(m.k[1], N[1]);
    const ComplexLane<S> flux[2] = {derived(m.k[0], N[2]), derived(m.k[1], N[2])};
    c[0] += head.re * u[2].re + head.im * u[2].im;
    for (int a = 0; a < 2; ++a) c[1] += flux[a].re * u[a].re + flux[a].im * u[a].im;
    c[2] += N[0].re * u[1].re + N[0].im * u[1].im - N[1].re * u[0].re - N[1].im * u[0].im;
  }
};

}  // namespace cycloid::inline fluid
