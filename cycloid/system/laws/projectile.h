// Projectile in wind with quadratic drag, and its pullback.
//
// Position [m] with z up, velocity v [m/s]; w = v - wind, s = |w|.
//   ṗ = v                               (1)
//   v̇ = (0, 0, -g) - (drag/m) s w       (2)
//   E = m (½ |v|² + g z)               (3)  energy [J], conserved without drag
// (2) is once differentiable at w = 0: the derivative there is 0, which norm's guarded gradient
// gives.
#pragma once

#include <array>

#include "cycloid/math/norm.h"
#include "cycloid/system/law.h"

namespace cycloid::inline system {

struct Projectile {
  static constexpr const char* kName = "projectile";
  static constexpr std::array kState = {BlockSpec{"position", 3, "m"},
                                        BlockSpec{"velocity", 3, "m/s"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"mass", 1.0, "kg", Constraint::positive},
      ParameterSpec{"drag", 0.0, "kg/m", Constraint::non_negative},
      ParameterSpec{"wind", 0.0, "m/s", Constraint::none, 3},
      ParameterSpec{"gravity", 9.81, "m/s²"}};
  enum { kMass, kDrag, kWind, kGravity = kWind + 3 };
  static constexpr bool kSecondOrder = true;

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    const S* v = x + 3;
    const Vec3<S> w{v[0] - p[kWind], v[1] - p[kWind + 1], v[2] - p[kWind + 2]};
    const S c = p[kDrag] / p[kMass] * norm(w);
    for (int i = 0; i < 3; ++i) dx[i] = v[i];  // (1)
    dx[3] = -c * w.x;                          // (2)
    dx[4] = -c * w.y;
    dx[5] = -c * w.z - p[kGravity];
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S*, const S* p, const S* dx_bar,
                                     S&, S* x_bar, S*, S* p_bar) const {
    const S* v = x + 3;
    const Vec3<S> w{v[0] - p[kWind], v[1] - p[kWind + 1], v[2] - p[kWind + 2]};
    const Vec3<S> a_bar{dx_bar[3], dx_bar[4], dx_bar[5]};
    const S inv_m = S(1) / p[kMass], s = norm(w), k = p[kDrag] * inv_m;
    const S along = dot(a_bar, w);
    const S k_bar = -along * s;  // (2)
    p_bar[kDrag] += k_bar * inv_m;
    p_bar[kMass] -= k_bar * k * inv_m;
    p_bar[kGravity] -= a_bar.z;
    Vec3<S> w_bar = a_bar * (-k * s);
    norm_pullback(w, -k * along, w_bar);
    const S w_bars[3] = {w_bar.x, w_bar.y, w_bar.z};
    for (int i = 0; i < 3; ++i) {
      x_bar[3 + i] += dx_bar[i] + w_bars[i];  // (1)
      p_bar[kWind + i] -= w_bars[i];
    }
  }

  template <class S>
  CYCLOID_INLINE S energy(const S* x, const S* p) const {
    return p[kMass] * energy_of_unit_mass(x, p);  // (3)
  }

  template <class S>
  CYCLOID_INLINE void energy_pullback(const S* x, const S* p, const S& energy_bar, S* x_bar,
                                      S* p_bar) const {
    const S e_bar = energy_bar * p[kMass];  // (3)
    p_bar[kMass] += energy_bar * energy_of_unit_mass(x, p);
    p_bar[kGravity] += e_bar * x[2];
    x_bar[2] += e_bar * p[kGravity];
    for (int i = 3; i < 6; ++i) x_bar[i] += e_bar * x[i];
  }

 private:
  template <class S>
  CYCLOID_INLINE static S energy_of_unit_mass(const S* x, const S* p) {
    return S(0.5) * (x[3] * x[3] + x[4] * x[4] + x[5] * x[5]) + p[kGravity] * x[2];
  }
};

}  // namespace cycloid::inline system
