// Symplectic Euler and Störmer–Verlet for x = [q, p] whose halves move in turn, and their discrete
// adjoints.
//
// For any ẋ = (q̇, ṗ)(t, q, p), which for a separable Hamiltonian is (∂T/∂p (p), -∂V/∂q (q)):
//   kick   p += c h ṗ(t + a h, q, p)        (1)
//   drift  q += c h q̇(t + a h, q, p)        (2)
//   semi_implicit   kick h, drift h                            order 1
//   verlet          kick ½ h, drift h, kick ½ h                 order 2 where separable
// Both are symplectic for separable Hamiltonians [HairerLubichWanner2006]; otherwise they are
// explicit methods of order 1. semi_implicit.h and verlet.h are for q̇ = v. Flat spaces.
// Record: ẋ of each stage, each followed by what the law saves.
#pragma once

#include <array>

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

struct PartitionedStage {
  bool kick;
  double c, a;
};

inline constexpr std::array<PartitionedStage, 2> kSymplecticEuler = {
    {{true, 1.0, 0.0}, {false, 1.0, 0.0}}};
inline constexpr std::array<PartitionedStage, 3> kStoermerVerlet = {
    {{true, 0.5, 0.0}, {false, 1.0, 0.5}, {true, 0.5, 1.0}}};

template <const auto& kPlan>
struct Partitioned {
  static constexpr int kStages = static_cast<int>(kPlan.size());
  static constexpr const char* kName = kStages == 2 ? "semi_implicit" : "verlet";

  template <class Law, class S>
  CYCLOID_INLINE static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record) {
    const int n = at.shape.tangents;
    for (int i = 0; i < n; ++i) x_next[i] = x[i];
    for (int s = 0; s < kStages; ++s) {
      law_x_dot(at, at.t + S(kPlan[s].a) * at.h, x_next, record, record + n);
      move(at, s, record, x_next);
      record += n + at.shape.saved;
    }
  }

  template <class Law, class S>
  CYCLOID_INLINE static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* record,
                                           const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    constexpr int N = LawShape<Law>::kTangents;
    const int n = at.shape.tangents, m = n / 2, stride = n + at.shape.saved;
    Scratch scratch = at.scratch;
    LocalArray<S, N> X1(scratch, n), X2(scratch, n), X_bar(scratch, n), f_bar(scratch, n);
    // The stages' states again.
    const S* X[3] = {x, X1.data(), X2.data()};
    S* const storage[3] = {nullptr, X1.data(), X2.data()};
    for (int s = 1; s < kStages; ++s) {
      for (int i = 0; i < n; ++i) storage[s][i] = X[s - 1][i];
      move(at, s - 1, record + (s - 1) * stride, storage[s]);
    }
    for (int i = 0; i < n; ++i) X_bar[i] = x_next_bar[i];
    for (int s = kStages - 1; s >= 0; --s) {
      const S* const f = record + s * stride;
      const int first = kPlan[s].kick ? m : 0;
      const S c(kPlan[s].c), a(kPlan[s].a);
      set_zero(f_bar.data(), n);
      for (int i = first; i < first + m; ++i) {  // (1), (2)
        f_bar[i] = c * at.h * X_bar[i];
        at_bar.h += c * X_bar[i] * f[i];
      }
      S t_bar(0);
      law_x_dot_pullback(at, at.t + a * at.h, X[s], f + n, f_bar.data(), t_bar, X_bar.data(),
                         at_bar.u, at_bar.p);
      at_bar.t += t_bar;
      at_bar.h += a * t_bar;
    }
    for (int i = 0; i < n; ++i) x_bar[i] += X_bar[i];
  }

 private:
  template <class Law, class S>
  CYCLOID_INLINE static void move(const LawPoint<Law, S>& at, int s, const S* f, S* x) {
    const int m = at.shape.tangents / 2, first = kPlan[s].kick ? m : 0;
    const S length = S(kPlan[s].c) * at.h;
    for (int i = first; i < first + m; ++i) x[i] += length * f[i];  // (1), (2)
  }
};

using PartitionedEuler = Partitioned<kSymplecticEuler>;
using PartitionedVerlet = Partitioned<kStoermerVerlet>;

}  // namespace cycloid::inline system
