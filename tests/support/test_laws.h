// Laws for the tests of integrators: one for each thing that an integrator has to get right.
#pragma once

#include <array>
#include <cmath>
#include <complex>

#include "cycloid/math/rotation.h"
#include "cycloid/system/law.h"

namespace cycloid::test {

// A damped oscillator driven by a periodic force: flat, time-dependent, with a known solution; its
// pullback comes from dual numbers.
//   q̈ = -k q - c q̇ + a cos(ν t) + u
struct DrivenOscillator {
  static constexpr const char* kName = "driven_oscillator";
  static constexpr std::array kState = {BlockSpec{"q", 1, "m"}, BlockSpec{"v", 1, "m/s"}};
  static constexpr std::array kInput = {BlockSpec{"force", 1, "N/kg"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"stiffness", 1.0, "1/s²", Constraint::positive},
      ParameterSpec{"damping", 0.0, "1/s", Constraint::non_negative},
      ParameterSpec{"amplitude", 1.0, "m/s²"}, ParameterSpec{"frequency", 1.0, "rad/s"}};
  static constexpr bool kSecondOrder = true;

  template <class S>
  CYCLOID_HD void x_dot(const S& t, const S* x, const S* u, const S* p, S* dx) const {
    dx[0] = x[1];
    dx[1] = u[0] - p[0] * x[0] - p[1] * x[1] + p[2] * cos(p[3] * t);
  }

  // q and v at time t from q = q0, v = v0 at time 0, without input and less than critically damped.
  static std::array<double, 2> solution(double t, double q0, double v0,
                                        const std::array<double, 4>& p) {
    using namespace std::complex_literals;
    const auto [k, c, a, nu] = p;
    const std::complex<double> P = a / (k - nu * nu + 1i * c * nu);
    const std::complex<double> lambda = -0.5 * c + 1i * std::sqrt(k - 0.25 * c * c);
    // Re(A e^{λt}) + Re(P e^{iνt}); A from the start.
    const double A_re = q0 - P.real();
    const double rest = v0 - (1i * nu * P).real();
    const double A_im = (lambda.real() * A_re - rest) / lambda.imag();
    const std::complex<double> A(A_re, A_im);
    const std::complex<double> free = A * std::exp(lambda * t), forced = P * std::exp(1i * nu * t);
    return {(free + forced).real(), (lambda * free + 1i * nu * forced).real()};
  }
};

// A spinning dipole in an oscillating field: a state with a quaternion, time-dependent. Without a
// field it is Euler's free rigid body.
//   q̇ = ½ q ⊗ (0, ω),   J ω̇ = J ω × ω + e_z × R(q)ᵀ (b cos t) E_z + u
// J diagonal, ω, u in the body's axes; e_z the body's, E_z the world's third axis.
struct DipoleByDuals {
  static constexpr const char* kName = "dipole_by_duals";
  static constexpr std::array kState = {BlockSpec{"orientation", 4, "1", BlockKind::quaternion},
                                        BlockSpec{"spin", 3, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"torque", 3, "N·m"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"moments", 1.0, "kg·m²", Constraint::positive, 3},
      ParameterSpec{"field", 0.0, "N·m"}};
  static constexpr bool kSecondOrder = true;

  template <class S>
  CYCLOID_HD void x_dot(const S& t, const S* x, const S* u, const S* p, S* dx) const {
    const Vec3<S> w = load_vec3(x + 4);
    const Vec3<S> L{p[0] * w.x, p[1] * w.y, p[2] * w.z};
    const Vec3<S> field_B = rotate_inverse(load_quat(x), Vec3<S>{S(0), S(0), p[3] * cos(t)});
    const Vec3<S> torque = cross(L, w) + cross(Vec3<S>{S(0), S(0), S(1)}, field_B) + load_vec3(u);
    store(dx, w);
    dx[3] = torque.x / p[0];
    dx[4] = torque.y / p[1];
    dx[5] = torque.z / p[2];
  }
};

// The same with its own pullback.
struct Dipole : DipoleByDuals {
  static constexpr const char* kName = "dipole";

  template <class S>
  CYCLOID_HD void x_dot_pullback(const S& t, const S* x, const S* u, const S* p, const S* dx_bar,
                                 S& t_bar, S* x_bar, S* u_bar, S* p_bar) const {
    const Quat<S> q = load_quat(x);
    const Vec3<S> w = load_vec3(x + 4), L{p[0] * w.x, p[1] * w.y, p[2] * w.z};
    const Vec3<S> axis_B{S(0), S(0), S(1)}, field_W{S(0), S(0), p[3] * cos(t)};
    S dx[6];
    x_dot(t, x, u, p, dx);
    const Vec3<S> torque_bar{dx_bar[3] / p[0], dx_bar[4] / p[1], dx_bar[5] / p[2]};
    Vec3<S> L_bar{}, w_bar = load_vec3(dx_bar), q_bar{}, axis_bar{}, field_B_bar{}, field_W_bar{};
    cross_pullback(L, w, torque_bar, L_bar, w_bar);
    cross_pullback(axis_B, rotate_inverse(q, field_W), torque_bar, axis_bar, field_B_bar);
    rotate_inverse_tangent_pullback(q, field_W, field_B_bar, q_bar, field_W_bar);
    add_to(u_bar, torque_bar);
    p_bar[0] += L_bar.x * w.x - torque_bar.x * dx[3];
    p_bar[1] += L_bar.y * w.y - torque_bar.y * dx[4];
    p_bar[2] += L_bar.z * w.z - torque_bar.z * dx[5];
    p_bar[3] += field_W_bar.z * cos(t);
    t_bar -= field_W_bar.z * p[3] * sin(t);
    add_to(x_bar, q_bar);
    add_to(x_bar + 3, w_bar + Vec3<S>{L_bar.x * p[0], L_bar.y * p[1], L_bar.z * p[2]});
  }
};

}  // namespace cycloid::test
