// Dormand and Prince's pair of orders 5 and 4, its continuous extension, and their adjoints.
//
//   X_i = x + h Σ_{j<i} A_ij k_j                    (1)
//   k_i = x_dot(t + c_i h, X_i, u, p),  i = 1 … 7    (2)
//   x⁺  = X_7                                       (3)
//   e   = h Σ E_i k_i                               (4)  the pairs' difference, of order 5 in h
// k_7 is k_1 of the next substep. Within the substep, with θ in [0, 1],
//   x(θ) = x + h Σ B_i(θ) k_i                       (5)  of order 4, smooth across the ends
//   B(θ) = θ b + θ(1-θ) [(ε_1 - b) + θ (2b - ε_1 - ε_7 + (1-θ) D)],  b = A_7, ε_i the unit rows
// Source: DormandPrince1980, HairerNorsettWanner1993 II.5 and II.6. Stages: k_1 … k_7.
// For laws without quaternions. In Adaptive (adaptive.h) this is the integrator dopri5.
#pragma once

#include "cycloid/system/integrator/adaptive.h"
#include "cycloid/system/integrator/stage_sum.h"

namespace cycloid::inline system {

struct DormandPrince {
  static constexpr const char* kName = "dopri5";
  static constexpr int kErrorOrder = 4;
  static constexpr int kStages = 7;
  static constexpr double kC[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
  static constexpr double kA[7][6] = {
      {},
      {1.0 / 5},
      {3.0 / 40, 9.0 / 40},
      {44.0 / 45, -56.0 / 15, 32.0 / 9},
      {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
      {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
      {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
  static constexpr double kE[7] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                   -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
  static constexpr double kD[7] = {-12715105075.0 / 11282082432,  0,
                                   87487479700.0 / 32700410799,   -10690763975.0 / 1880347072,
                                   701980252875.0 / 199316789632, -1453857185.0 / 822651844,
                                   69997945.0 / 29380423};

  template <class Law>
  static int stage_numbers(const LawShape<Law>& shape) {
    return kStages * shape.tangents;
  }
  template <class Law>
  static std::size_t scratch_numbers(const LawShape<Law>&) {
    return 0;
  }
  // x_dot at x⁺.
  template <class S>
  CYCLOID_INLINE static const S* end_derivative(int n, const S* k) {
    return k + 6 * n;
  }

  // f is k_1. Every lane succeeds.
  template <class Law, class S>
  CYCLOID_HD static Mask<S> step(const LawPoint<Law, S>& at, const S* x, const S* f, S* k,
                                 S* x_next, S* e) {
    static_assert(
        LawShape<Law>::kFlat,
        "this integrator is for laws without quaternions: use rk4 (system/integrator/rk4.h)");
    const int n = at.shape.tangents;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::saved> saved(scratch, LawShape<Law>::saved);
    for (int i = 0; i < n; ++i) k[i] = f[i];
    for (int s = 1; s < kStages; ++s) {
      stage_sum(kA[s], s, at.shape.tangents, at.h, x, k, x_next);              // (1), (3)
      law_x_dot(at, at.t + S(kC[s]) * at.h, x_next, k + s * n, saved.data());  // (2)
    }
    for (int i = 0; i < n; ++i) {
      S sum(0);
      for (int s = 0; s < kStages; ++s) sum += S(kE[s]) * k[s * n + i];
      e[i] = at.h * sum;  // (4)
    }
    return Mask<S>(true);
  }

  // k_bar: the stages' cotangents from samples of the substep, zero without; it is used up.
  template <class Law, class S>
  CYCLOID_HD static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* k, S* k_bar,
                                       bool sampled, const S* x_next_bar, LawPointBar<S>& at_bar,
                                       S* x_bar) {
    stage_sum_pullback(kA[6], 6, at.shape.tangents, at.h, k, x_next_bar, at_bar.h, x_bar,
                       k_bar);  // (3)
    pull_stages(at, sampled ? 6 : 5, x, k, k_bar, at_bar, x_bar);
  }

  // (5).
  template <class Law, class S>
  CYCLOID_HD static void sample(const LawPoint<Law, S>& at, const S* x, const S* k, const S& theta,
                                S* out) {
    const int n = at.shape.tangents;
    for (int i = 0; i < n; ++i) out[i] = x[i];
    for (int s = 0; s < kStages; ++s) {
      const S weight = at.h * extension(s, theta);
      for (int i = 0; i < n; ++i) out[i] += weight * k[s * n + i];
    }
  }

  // Adds to k_bar, for step_pullback, and to the others.
  template <class Law, class S>
  CYCLOID_HD static void sample_pullback(const LawPoint<Law, S>& at, const S*, const S* k,
                                         const S& theta, const S* out_bar, S* k_bar,
                                         LawPointBar<S>& at_bar, S* x_bar, S& theta_bar) {
    const int n = at.shape.tangents;
    for (int s = 0; s < kStages; ++s) {
      const S weight = extension(s, theta);
      S along(0);
      for (int i = 0; i < n; ++i) {
        along += out_bar[i] * k[s * n + i];
        k_bar[s * n + i] += at.h * weight * out_bar[i];
      }
      at_bar.h += weight * along;
      theta_bar += at.h * extension_slope(s, theta) * along;
    }
    for (int i = 0; i < n; ++i) x_bar[i] += out_bar[i];
  }

 private:
  static constexpr double weight_of(int s) { return s < 6 ? kA[6][s] : 0; }

  // B_s of (5), and its derivative.
  template <class S>
  CYCLOID_INLINE static S extension(int s, const S& theta) {
    const double b = weight_of(s), first = s == 0, last = s == 6;
    const S rest = S(1) - theta;
    return theta *
           (S(b) + rest * (S(first - b) + theta * (S(2 * b - first - last) + rest * S(kD[s]))));
  }
  template <class S>
  CYCLOID_INLINE static S extension_slope(int s, const S& theta) {
    const double b = weight_of(s), first = s == 0, last = s == 6;
    const S rest = S(1) - theta, spread = S(1) - S(2) * theta;
    return S(b) + S(first - b) * spread + S(2 * b - first - last) * theta * (rest + spread) +
           S(2 * kD[s]) * theta * rest * spread;
  }

  // (2) and (1) for the stages `last` … 0, whose cotangents are in k_bar.
  template <class Law, class S>
  CYCLOID_HD static void pull_stages(const LawPoint<Law, S>& at, int last, const S* x, const S* k,
                                     S* k_bar, LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> X(scratch, n), X_bar(scratch, n);
    for (int s = last; s >= 0; --s) {
      stage_sum(kA[s], s, at.shape.tangents, at.h, x, k, X.data());
      set_zero(X_bar.data(), n);
      S t_bar(0);
      pull_law_back(at, at.t + S(kC[s]) * at.h, X.data(), k_bar + s * n, t_bar, X_bar.data(),
                    at_bar.u, at_bar.p, scratch);  // (2)
      at_bar.t += t_bar;
      at_bar.h += S(kC[s]) * t_bar;
      stage_sum_pullback(kA[s], s, at.shape.tangents, at.h, k, X_bar.data(), at_bar.h, x_bar,
                         k_bar);
    }
  }
};

using Dopri5 = Adaptive<DormandPrince>;

}  // namespace cycloid::inline system
