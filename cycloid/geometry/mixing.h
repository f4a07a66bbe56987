// How the contact numbers of two geoms become those of their contact, and the pullback.
//
// Every geom has friction g (sliding, torsional, rolling), solref, solimp, margin and gap, and
// three numbers that decide but are not differentiated: priority, condim, solmix. As in MuJoCo:
//   margin and gap: sums                                                                    (1)
//   different priority: condim, friction, solref, solimp of the higher one                  (2)
//   equal priority: condim max; friction element-wise max                                   (3)
//     solimp = w a + (1 - w) b,   w = solmix_a / (solmix_a + solmix_b); a solmix below 1e-15 counts
//     as zero, w = ½ where both do                                                          (4)
//     solref likewise where both first entries are positive, else element-wise min          (5)
//   the contact's friction (g₀, g₀, g₁, g₂, g₂), at least kMinFriction                      (6)
// Where two numbers tie in a max or min, each receives half of the cotangent (what central
// differences give). Friction below or at kMinFriction receives none. (5) switches format where a
// first entry reaches zero.
#pragma once

#include "cycloid/math/dual.h"
#include "cycloid/math/pack.h"

namespace cycloid::inline geometry {

inline constexpr double kMinFriction = 1e-5;  // mjMINMU

// The numbers of a geom that are parameters.
template <class S>
struct Surface {
  S friction[3];  // [1], [m], [m]
  S solref[2];
  S solimp[5];
  S margin, gap;  // [m]
};

template <class S>
struct MixedSurface {
  S friction[5];
  S solref[2];
  S solimp[5];
  S margin, gap;  // [m]
};

// What decides, for a pair of geoms.
struct SurfaceRank {
  int priority = 0, condim = 3;
  double solmix = 1;
};
struct Mixing {
  int winner = 0;       // 1 or 2: the geom of higher priority; 0: mixed
  double weight = 0.5;  // w
  int condim = 3;
};

constexpr Mixing mixing(const SurfaceRank& a, const SurfaceRank& b) {
  if (a.priority > b.priority) return {1, 1, a.condim};  // (2)
  if (a.priority < b.priority) return {2, 0, b.condim};
  const double m1 = a.solmix < 1e-15 ? 0 : a.solmix, m2 = b.solmix < 1e-15 ? 0 : b.solmix;
  return {0, m1 + m2 == 0 ? 0.5 : m1 / (m1 + m2),
          a.condim > b.condim ? a.condim : b.condim};  // (4)
}

// The place of a friction coefficient of the contact among a geom's three.
constexpr int friction_place(int i) { return i < 2 ? 0 : i == 2 ? 1 : 2; }

template <class S>
CYCLOID_HD MixedSurface<S> mix_surfaces(const Mixing& mix, const Surface<S>& a,
                                        const Surface<S>& b) {
  MixedSurface<S> c;
  const S w = S(mix.weight), v = S(1 - mix.weight);
  const Mask<S> standard = Mask<S>(mix.winner != 0) | ((a.solref[0] > S(0)) & (b.solref[0] > S(0)));
  for (int i = 0; i < 5; ++i) {
    const S &ga = a.friction[friction_place(i)], &gb = b.friction[friction_place(i)];
    const S g = mix.winner == 1 ? ga : mix.winner == 2 ? gb : max(ga, gb);  // (2), (3)
    c.friction[i] = max(g, S(kMinFriction));                                // (6)
    c.solimp[i] = a.solimp[i] * w + b.solimp[i] * v;                        // (4)
  }
  for (int i = 0; i < 2; ++i) {
    const S mixed = a.solref[i] * w + b.solref[i] * v;
    c.solref[i] = select(standard, mixed, min(a.solref[i], b.solref[i]));  // (5)
  }
  c.margin = a.margin + b.margin;  // (1)
  c.gap = a.gap + b.gap;
  return c;
}

// How a max of two numbers (a min of their negatives) shares out its cotangent: a's part.
template <class S>
CYCLOID_INLINE S share_of_larger(const S& a, const S& b) {
  return select(a > b, S(1), select(a == b, S(0.5), S(0)));
}

template <class S>
CYCLOID_HD void mix_surfaces_pullback(const Mixing& mix, const Surface<S>& a, const Surface<S>& b,
                                      const MixedSurface<S>& c_bar, Surface<S>& a_bar,
                                      Surface<S>& b_bar) {
  const S w = S(mix.weight), v = S(1 - mix.weight);
  const Mask<S> standard = Mask<S>(mix.winner != 0) | ((a.solref[0] > S(0)) & (b.solref[0] > S(0)));
  a_bar.margin += c_bar.margin, b_bar.margin += c_bar.margin;  // (1)
  a_bar.gap += c_bar.gap, b_bar.gap += c_bar.gap;
  for (int i = 0; i < 2; ++i) {
    const S share = select(standard, w, share_of_larger(-a.solref[i], -b.solref[i]));  // (5)
    a_bar.solref[i] += c_bar.solref[i] * share;
    b_bar.solref[i] += c_bar.solref[i] * (S(1) - share);
  }
  for (int i = 0; i < 5; ++i) {
    a_bar.solimp[i] += c_bar.solimp[i] * w;  // (4)
    b_bar.solimp[i] += c_bar.solimp[i] * v;
    const int k = friction_place(i);
    const S &ga = a.friction[k], &gb = b.friction[k];
    const S share = mix.winner == 0 ? share_of_larger(ga, gb) : S(mix.winner == 1 ? 1 : 0);
    const S g = mix.winner == 1 ? ga : mix.winner == 2 ? gb : max(ga, gb);
    const S g_bar = select(g > S(kMinFriction), c_bar.friction[i], S(0));  // (6)
    a_bar.friction[k] += g_bar * share;                                    // (2), (3)
    b_bar.friction[k] += g_bar * (S(1) - share);
  }
}

}  // namespace cycloid::inline geometry
