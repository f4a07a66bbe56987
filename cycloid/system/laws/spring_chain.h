// Spring chain: n equal masses in a row, joined by n + 1 springs between two walls, and its
// pullback.
//
// q_i displacement of mass i from rest [m], q₀ = q_{n+1} = 0 the walls.
//   q̇_i = v_i                                                        (1)
//   v̇_i = (k (q_{i-1} - 2 q_i + q_{i+1}) - d v_i + u_i) / m           (2)
//   E = Σ ½ m v_i² + Σ ½ k (q_{i+1} - q_i)², i = 0…n in the springs   (3)  energy [J]
// Its frequencies are known: 2 √(k/m) sin(j π / (2(n+1))), j = 1…n.
#pragma once

#include <vector>

#include "cycloid/system/law.h"

namespace cycloid::inline system {

struct SpringChain {
  static constexpr const char* kName = "spring_chain";
  static constexpr bool kSecondOrder = true;
  int n = 1;

  std::vector<BlockSpec> state() const { return {{"positions", n, "m"}, {"velocities", n, "m/s"}}; }
  std::vector<BlockSpec> input() const { return {{"forces", n, "N"}}; }
  std::vector<ParameterSpec> parameters() const {
    return {{"mass", 1.0, "kg", Constraint::positive},
            {"stiffness", 1.0, "N/m", Constraint::non_negative},
            {"damping", 0.0, "N·s/m", Constraint::non_negative}};
  }
  enum { kMass, kStiffness, kDamping };

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S* u, const S* p, S* dx) const {
    const S inv_m = S(1) / p[kMass];
    const S *q = x, *v = x + n;
    for (int i = 0; i < n; ++i) {
      dx[i] = v[i];                                                                     // (1)
      dx[n + i] = inv_m * (p[kStiffness] * stretch(q, i) - p[kDamping] * v[i] + u[i]);  // (2)
    }
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S* u, const S* p, const S* dx_bar,
                                     S&, S* x_bar, S* u_bar, S* p_bar) const {
    const S inv_m = S(1) / p[kMass];
    const S *q = x, *v = x + n, *a_bar = dx_bar + n;
    for (int i = 0; i < n; ++i) {
      const S f_bar = inv_m * a_bar[i];  // (2)
      const S s = stretch(q, i);
      p_bar[kMass] -= inv_m * f_bar * (p[kStiffness] * s - p[kDamping] * v[i] + u[i]);
      p_bar[kStiffness] += f_bar * s;
      p_bar[kDamping] -= f_bar * v[i];
      u_bar[i] += f_bar;
      x_bar[n + i] += dx_bar[i] - f_bar * p[kDamping];        // (1)
      x_bar[i] += p[kStiffness] * inv_m * stretch(a_bar, i);  // the stretch is self-adjoint
    }
  }

  template <class S>
  CYCLOID_INLINE S energy(const S* x, const S* p) const {
    S speeds(0), springs(0);
    for (int i = 0; i < n; ++i) speeds += x[n + i] * x[n + i];
    for (int i = 0; i <= n; ++i) {
      const S s = spring(x, i);
      springs += s * s;
    }
    return S(0.5) * (p[kMass] * speeds + p[kStiffness] * springs);  // (3)
  }

  template <class S>
  CYCLOID_INLINE void energy_pullback(const S* x, const S* p, const S& energy_bar, S* x_bar,
                                      S* p_bar) const {
    const S half = S(0.5) * energy_bar;  // (3)
    for (int i = 0; i < n; ++i) {
      p_bar[kMass] += half * x[n + i] * x[n + i];
      x_bar[n + i] += energy_bar * p[kMass] * x[n + i];
      x_bar[i] -= energy_bar * p[kStiffness] * stretch(x, i);
    }
    for (int i = 0; i <= n; ++i) p_bar[kStiffness] += half * spring(x, i) * spring(x, i);
  }

 private:
  // How far spring i, between masses i - 1 and i, is longer than at rest.
  template <class S>
  CYCLOID_INLINE S spring(const S* q, int i) const {
    const S left = i > 0 ? q[i - 1] : S(0), right = i < n ? q[i] : S(0);
    return right - left;
  }
  template <class S>
  CYCLOID_INLINE S stretch(const S* q, int i) const {
    S s = S(-2) * q[i];
    if (i > 0) s += q[i - 1];
    if (i + 1 < n) s += q[i + 1];
    return s;
  }
};

}  // namespace cycloid::inline system
