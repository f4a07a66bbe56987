// A singly diagonally implicit pair of orders 4 and 3 for stiff laws, and its adjoint.
//
//   b_i = x + h Σ_{j<i} A_ij k_j                        (1)
//   k_i = x_dot(t + c_i h, b_i + γ h k_i, u, p)          (2)  solved by Newton's method (newton.h)
//   x⁺  = b_5 + γ h k_5                                 (3)  i = 1 … 5, γ = ¼
//   e   = h Σ E_i k_i                                   (4)  the pairs' difference, of order 4 in h
// It is L-stable and ends in its last stage, so k_5 = x_dot(x⁺), and stiff components decay in one
// substep however long. Within the substep, with θ in [0, 1] and f = x_dot(t, x),
//   x(θ) = Hermite's cubic through x, h f and x⁺, h k_5   (5)  of order 3
// A stage that Newton's method cannot solve makes the substep fail, and it is tried with a shorter
// one; an accepted substep is solved to rounding, so (2) has its implicit derivative and nothing is
// unrolled. Source: HairerWanner1996, IV.6. Stages: k_1 … k_5, then f.
// For laws without quaternions. In Adaptive (adaptive.h) this is the integrator sdirk4.
#pragma once

#include "cycloid/system/integrator/adaptive.h"
#include "cycloid/system/integrator/newton.h"
#include "cycloid/system/integrator/stage_sum.h"

namespace cycloid::inline system {

struct SdirkPair {
  static constexpr const char* kName = "sdirk4";
  static constexpr int kErrorOrder = 3, kStages = 5;
  static constexpr double kGamma = 0.25;
  static constexpr double kC[5] = {0.25, 0.75, 11.0 / 20, 0.5, 1};
  static constexpr double kA[5][4] = {{},
                                      {0.5},
                                      {17.0 / 50, -1.0 / 25},
                                      {371.0 / 1360, -137.0 / 2720, 15.0 / 544},
                                      {25.0 / 24, -49.0 / 48, 125.0 / 16, -85.0 / 12}};
  static constexpr double kE[5] = {-3.0 / 16, -27.0 / 32, 25.0 / 32, 0, 0.25};

  template <class Law>
  static int stage_numbers(const LawShape<Law>& shape) {
    return (kStages + 1) * shape.tangents;
  }
  template <class Law>
  static std::size_t scratch_numbers(const LawShape<Law>& shape) {
    return newton_scratch(shape);
  }
  // x_dot at x⁺.
  template <class S>
  CYCLOID_INLINE static const S* end_derivative(int n, const S* k) {
    return k + 4 * n;
  }

  // Returns the lanes in which every stage is solved.
  template <class Law, class S>
  CYCLOID_HD static Mask<S> step(const LawPoint<Law, S>& at, const S* x, const S* f, S* k,
                                 S* x_next, S* e) {
    const int n = at.shape.tangents;
    const S a = S(kGamma) * at.h;
    Mask<S> solved = Mask<S>(true);
    for (int i = 0; i < n; ++i) k[kStages * n + i] = f[i];
    for (int s = 0; s < kStages; ++s) {
      const S* guess = s == 0 ? f : k + (s - 1) * n;
      for (int i = 0; i < n; ++i) k[s * n + i] = guess[i];
      stage_sum(kA[s], s, at.shape.tangents, at.h, x, k, x_next);  // (1)
      const S t = at.t + S(kC[s]) * at.h;
      solved = solved & (solve_stage(at, t, x_next, a, k + s * n) == S(0));  // (2)
    }
    for (int i = 0; i < n; ++i) {
      x_next[i] += a * k[4 * n + i];  // (3)
      S sum(0);
      for (int s = 0; s < kStages; ++s) sum += S(kE[s]) * k[s * n + i];
      e[i] = at.h * sum;  // (4)
    }
    return solved;
  }

  // k_bar: the stages' cotangents from samples of the substep, zero without; it is used up.
  template <class Law, class S>
  CYCLOID_HD static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* k, S* k_bar,
                                       bool sampled, const S* x_next_bar, LawPointBar<S>& at_bar,
                                       S* x_bar) {
    pull_end(at, k, x_next_bar, k_bar, at_bar, x_bar);
    pull_stages(at, x, k, k_bar, at_bar, x_bar);
    if (!sampled) return;
    pull_law_back(at, at.t, x, k_bar + kStages * at.shape.tangents, at_bar.t, x_bar, at_bar.u,
                  at_bar.p, at.scratch);
  }

  // (5).
  template <class Law, class S>
  CYCLOID_HD static void sample(const LawPoint<Law, S>& at, const S* x, const S* k, const S& theta,
                                S* out) {
    const int n = at.shape.tangents;
    const Hermite<S> w(theta);
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> end(scratch, n);
    stage_sum(kA[4], 4, at.shape.tangents, at.h, x, k, end.data());
    for (int i = 0; i < n; ++i) {
      const S move = end[i] + S(kGamma) * at.h * k[4 * n + i] - x[i];
      out[i] = x[i] + w.end * move + at.h * (w.first * k[5 * n + i] + w.last * k[4 * n + i]);
    }
  }

  // Adds to k_bar, for step_pullback, and to the others.
  template <class Law, class S>
  CYCLOID_HD static void sample_pullback(const LawPoint<Law, S>& at, const S* x, const S* k,
                                         const S& theta, const S* out_bar, S* k_bar,
                                         LawPointBar<S>& at_bar, S* x_bar, S& theta_bar) {
    const int n = at.shape.tangents;
    const Hermite<S> w(theta);
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> end(scratch, n), end_bar(scratch, n);
    stage_sum(kA[4], 4, at.shape.tangents, at.h, x, k, end.data());
    for (int i = 0; i < n; ++i) {
      const S k_first = k[5 * n + i], k_last = k[4 * n + i];
      const S move = end[i] + S(kGamma) * at.h * k_last - x[i];
      x_bar[i] += (S(1) - w.end) * out_bar[i];
      end_bar[i] = w.end * out_bar[i];
      k_bar[5 * n + i] += at.h * w.first * out_bar[i];
      k_bar[4 * n + i] += at.h * w.last * out_bar[i];
      at_bar.h += (w.first * k_first + w.last * k_last) * out_bar[i];
      theta_bar += out_bar[i] *
                   (w.end_slope * move + at.h * (w.first_slope * k_first + w.last_slope * k_last));
    }
    pull_end(at, k, end_bar.data(), k_bar, at_bar, x_bar);
  }

 private:
  // Weights of Hermite's cubic, for the way to x⁺ and for h x_dot at both ends, and their slopes.
  template <class S>
  struct Hermite {
    CYCLOID_INLINE explicit Hermite(const S& q)
        : end(q * q * (S(3) - S(2) * q)),
          first(q * (S(1) - q) * (S(1) - q)),
          last(q * q * (q - S(1))),
          end_slope(S(6) * q * (S(1) - q)),
          first_slope((S(1) - q) * (S(1) - S(3) * q)),
          last_slope(q * (S(3) * q - S(2))) {}
    S end, first, last, end_slope, first_slope, last_slope;
  };

  // (3), with (1) of the last stage.
  template <class Law, class S>
  CYCLOID_INLINE static void pull_end(const LawPoint<Law, S>& at, const S* k, const S* end_bar,
                                      S* k_bar, LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents;
    for (int i = 0; i < n; ++i) {
      at_bar.h += S(kGamma) * end_bar[i] * k[4 * n + i];
      k_bar[4 * n + i] += S(kGamma) * at.h * end_bar[i];
    }
    stage_sum_pullback(kA[4], 4, at.shape.tangents, at.h, k, end_bar, at_bar.h, x_bar, k_bar);
  }

  // (2) and (1) of every stage, whose cotangents are in k_bar.
  template <class Law, class S>
  CYCLOID_HD static void pull_stages(const LawPoint<Law, S>& at, const S* x, const S* k, S* k_bar,
                                     LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents;
    LawPoint<Law, S> within = at;
    LocalArray<S, LawShape<Law>::kTangents> b(within.scratch, n), b_bar(within.scratch, n);
    for (int s = kStages - 1; s >= 0; --s) {
      stage_sum(kA[s], s, at.shape.tangents, at.h, x, k, b.data());
      set_zero(b_bar.data(), n);
      S t_bar(0), a_bar(0);
      solve_stage_pullback(within, at.t + S(kC[s]) * at.h, b.data(), S(kGamma) * at.h, k + s * n,
                           k_bar + s * n, t_bar, b_bar.data(), a_bar, at_bar);  // (2)
      at_bar.t += t_bar;
      at_bar.h += S(kC[s]) * t_bar + S(kGamma) * a_bar;
      stage_sum_pullback(kA[s], s, at.shape.tangents, at.h, k, b_bar.data(), at_bar.h, x_bar,
                         k_bar);
    }
  }
};

using Sdirk4 = Adaptive<SdirkPair>;

}  // namespace cycloid::inline system
