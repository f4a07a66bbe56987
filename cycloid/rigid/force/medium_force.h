// Forces of the surrounding medium on a body: the inertia-box model, with its pullback.
//
// The body counts as the box that has its mass and principal moments. Its frame B has its origin at
// the centre of mass c and the axes Q of `inertia_quat`, fixed in the body; i, j, k are distinct:
//   I_k = (Qᵀ I_c Q)_kk                                  (1)  principal moments [kg·m²]
//   s_k = √(6 max(I_i + I_j - I_k, ε)/m)                 (2)  sides of the box [m], ε = 1e-15
//   D   = (s_x + s_y + s_z)/3                            (3)  diameter of the like sphere [m]
//   ω   = Bᵀ v_ω,   u = Bᵀ (v(c) - wind)                 (4)  velocity in the medium
//   n_k = -(π D³ β + |ω_k| ρ s_k (s_i⁴ + s_j⁴)/64) ω_k   (5)  couple [N·m]
//   f_k = -(3 π D β + |u_k| ρ s_i s_j/2) u_k             (6)  force [N]
//   W   = wrench(B f, c, B n)                            (7)  about the tree's origin
//   n'_k = -(π D³ β + 2 |ω_k| ρ s_k (s_i⁴ + s_j⁴)/64),  f'_k = -(3 π D β + |u_k| ρ s_i s_j)     (8)
// β viscosity [Pa·s], ρ density [kg/m³] of the medium. A body without mass (m < ε) feels nothing.
// (8) is the whole derivative by the body's velocity, diagonal in B: the damping matrix of an
// implicit integrator is symmetric and lies in M's sparsity.
//
// Pullback of Φ = W·m with a field m. With the cotangents ω̄, ū of (4),
//   m̄ += W,   v̄ += V = wrench(B ū, c, B ω̄),   wind̄ -= B ū                                   (9)
//   c̄ = (B f) × m_ω + (B ū) × v_ω,   Γ -= (wind × wind̄; 0) + m ×* m̄ + v ×* v̄               (10)
// Where body and fields turn together, nothing changes but the wind. The slope of |x| x at zero is
// 0; the kink of (2) takes the clamped side, slope 0.
#pragma once

#include "cycloid/rigid/force/passive.h"
#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

inline constexpr double kFluidTiny = 1e-15;  // ε

// The coefficients of (5) and (6), zero without mass, and the sides. They are functions of the
// parameters alone, and one number for all lanes where those are.
template <class P>
struct FluidBox {
  P present;  // 1, or 0 without mass
  Vec3<P> side;
  P turning, moving;                  // π D³ β,  3 π D β
  Vec3<P> turning_drag, moving_drag;  // of |ω| ω and |u| u
};

template <class S>
CYCLOID_INLINE Mat3<S> principal_axes(const Body& body) {
  const auto& q = body.inertia_quat;
  return to_matrix(Quat<S>{number<S>(q[0]), number<S>(q[1]), number<S>(q[2]), number<S>(q[3])});
}

// I_i + I_j - I_k for the three axes.
template <class P>
CYCLOID_INLINE Vec3<P> box_moments(const TreeView& tree, const P* p, int b) {
  const P* J = p + tree.bodies[static_cast<std::size_t>(b)].inertia;
  const Mat3<P> Q = principal_axes<P>(tree.model.bodies[static_cast<std::size_t>(b)]);
  const SymMat3<P> I = turn(transpose(Q), SymMat3<P>{J[0], J[1], J[2], J[3], J[4], J[5]});  // (1)
  return {I.yy + I.zz - I.xx, I.zz + I.xx - I.yy, I.xx + I.yy - I.zz};
}

// rho, beta: of the medium.
template <class P>
CYCLOID_HD FluidBox<P> fluid_box(const TreeView& tree, const P* p, int b, const P& rho_,
                                 const P& beta_) {
  const P tiny = number<P>(kFluidTiny), pi = number<P>(kPi);
  const P mass = p[tree.bodies[static_cast<std::size_t>(b)].mass];
  const auto has_mass = mass >= tiny;
  FluidBox<P> box;
  box.present = select(has_mass, P(1), P(0));
  const P rho = rho_ * box.present, beta = beta_ * box.present;
  const P per_mass = P(6) / select(has_mass, mass, P(1));
  const Vec3<P> moment = box_moments(tree, p, b);
  Vec3<P>& s = box.side;
  for (int k = 0; k < 3; ++k) s[k] = sqrt(max(moment[k], tiny) * per_mass);  // (2)
  const P D = (s.x + s.y + s.z) * number<P>(1.0 / 3);                        // (3)
  box.turning = pi * D * D * D * beta;
  box.moving = P(3) * pi * D * beta;
  for (int k = 0; k < 3; ++k) {
    const P &i = s[(k + 1) % 3], &j = s[(k + 2) % 3];
    box.turning_drag[k] = rho * s[k] * (i * i * i * i + j * j * j * j) * P(1.0 / 64);
    box.moving_drag[k] = rho * i * j * P(0.5);
  }
  return box;
}
template <class P>
CYCLOID_INLINE FluidBox<P> fluid_box(const TreeView& tree, const P* p, int b) {
  return fluid_box(tree, p, b, p[tree.options.density], p[tree.options.viscosity]);
}

// Adds the cotangents of mass, inertia, density and viscosity. bar: of all but `side`.
template <class S, class P>
CYCLOID_HD void fluid_box_pullback(const TreeView& tree, const P* p, int b, const FluidBox<P>& box,
                                   const FluidBox<S>& bar, S* p_bar) {
  const BodyPlaces& at = tree.bodies[static_cast<std::size_t>(b)];
  const S pi = number<S>(kPi), third = number<S>(1.0 / 3), present = S(box.present);
  const S rho = S(p[tree.options.density]), beta = S(p[tree.options.viscosity]);
  const Vec3<S> s{S(box.side.x), S(box.side.y), S(box.side.z)};
  const S D = (s.x + s.y + s.z) * third;
  Vec3<S> s_bar{};
  S rho_bar(0);
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const S i3 = s[i] * s[i] * s[i], j3 = s[j] * s[j] * s[j];
    const S fourth = i3 * s[i] + j3 * s[j];
    const S turning = bar.turning_drag[k] * S(1.0 / 64), moving = bar.moving_drag[k] * S(0.5);
    rho_bar += turning * s[k] * fourth + moving * s[i] * s[j];
    s_bar[k] += turning * rho * fourth;
    s_bar[i] += rho * (turning * s[k] * S(4) * i3 + moving * s[j]);
    s_bar[j] += rho * (turning * s[k] * S(4) * j3 + moving * s[i]);
  }
  const S D_bar = S(3) * pi * beta * (bar.turning * D * D + bar.moving);
  const S beta_bar = pi * D * (bar.turning * D * D + S(3) * bar.moving);
  s_bar += Vec3<S>{D_bar, D_bar, D_bar} * third;  // (3)
  s_bar *= present;
  p_bar[tree.options.density] += rho_bar * present;
  p_bar[tree.options.viscosity] += beta_bar * present;
  const P mass = select(p[at.mass] >= number<P>(kFluidTiny), p[at.mass], P(1));
  p_bar[at.mass] -= dot(s_bar, s) * S(P(0.5) / mass);  // (2)
  const Vec3<P> moment = box_moments(tree, p, b);
  Vec3<S> d_bar{};
  for (int k = 0; k < 3; ++k) {
    const P slope = unit_step(moment[k] - number<P>(kFluidTiny)) * P(3) / (mass * box.side[k]);
    d_bar[k] = s_bar[k] * S(slope);
  }
  const S sum = d_bar.x + d_bar.y + d_bar.z;
  const Mat3<S> Q = principal_axes<S>(tree.model.bodies[static_cast<std::size_t>(b)]);
  S* I = p_bar + at.inertia;
  for (int k = 0; k < 3; ++k) {  // (1)
    const S bar_k = sum - S(2) * d_bar[k];
    const S x = Q(0, k), y = Q(1, k), z = Q(2, k);
    I[0] += bar_k * x * x, I[1] += bar_k * y * y, I[2] += bar_k * z * z;
    I[3] += S(2) * bar_k * x * y, I[4] += S(2) * bar_k * x * z, I[5] += S(2) * bar_k * y * z;
  }
}

// B, c and (4), with the velocity field at the body's last link.
template <class S>
struct FluidPoint {
  Mat3<S> B;
  Vec3<S> c, omega, u;
};

template <class S, class P>
CYCLOID_HD FluidPoint<S> fluid_point(const TreeView& tree, const P* p, int b, const Frames<S>& f,
                                     const Motion<S>* v) {
  const std::size_t i = static_cast<std::size_t>(b);
  FluidPoint<S> at;
  at.B = f.R[b] * principal_axes<S>(tree.model.bodies[i]);
  at.c = f.pos[b] + f.R[b] * vec3_of<S>(p + tree.bodies[i].com);
  const Motion<S>& y = v[last_link(tree, b)];
  at.omega = transpose_vector_product(at.B, y.angular);  // (4)
  at.u = transpose_vector_product(at.B, field_at(y, at.c) - vec3_of<S>(p + tree.options.wind));
  return at;
}

template <class S, class P>
CYCLOID_INLINE Vec3<S> drag(const P& linear, const Vec3<P>& quadratic, const Vec3<S>& x) {
  Vec3<S> out{};
  for (int k = 0; k < 3; ++k) {
    out[k] = -(S(linear) + S(quadratic[k]) * abs(x[k])) * x[k];  // (5), (6)
  }
  return out;
}
template <class S, class P>
CYCLOID_INLINE Vec3<S> drag_slope(const P& linear, const Vec3<P>& quadratic, const Vec3<S>& x) {
  Vec3<S> out{};
  for (int k = 0; k < 3; ++k) {
    out[k] = -(S(linear) + S(2) * S(quadratic[k]) * abs(x[k]));  // (8)
  }
  return out;
}

// The wrench on a moving body. v: velocity field per link.
template <class S, class P>
CYCLOID_HD Force<S> fluid_wrench(const TreeView& tree, const P* p, int b, const Frames<S>& f,
                                 const Motion<S>* v) {
  const FluidBox<P> box = fluid_box(tree, p, b);
  const FluidPoint<S> at = fluid_point(tree, p, b, f, v);
  const Vec3<S> n = drag(box.turning, box.turning_drag, at.omega);
  const Vec3<S> force = drag(box.moving, box.moving_drag, at.u);
  return wrench(at.B * force, at.c, at.B * n);  // (7)
}

// The derivative of the wrench by the velocity field: B, c and (8).
template <class S>
struct FluidSlope {
  Mat3<S> B;
  Vec3<S> c, turning, moving;
};

template <class S, class P>
CYCLOID_HD FluidSlope<S> fluid_wrench_velocity_jacobian(const TreeView& tree, const P* p, int b,
                                                        const Frames<S>& f, const Motion<S>* v) {
  const FluidBox<P> box = fluid_box(tree, p, b);
  const FluidPoint<S> at = fluid_point(tree, p, b, f, v);
  return {at.B, at.c, drag_slope(box.turning, box.turning_drag, at.omega),
          drag_slope(box.moving, box.moving_drag, at.u)};
}

// The change of the wrench with a change y of the body's velocity field.
template <class S>
CYCLOID_INLINE Force<S> operator*(const FluidSlope<S>& slope, const Motion<S>& y) {
  Vec3<S> n = transpose_vector_product(slope.B, y.angular);
  Vec3<S> force = transpose_vector_product(slope.B, field_at(y, slope.c));
  for (int k = 0; k < 3; ++k) {
    n[k] *= slope.turning[k];
    force[k] *= slope.moving[k];
  }
  return wrench(slope.B * force, slope.c, slope.B * n);
}

// Shares (9) and (10) between the fields, given ω̄, ū; F: the force B f or what stands for it.
template <class S>
CYCLOID_INLINE void fluid_point_pullback(const TreeView& tree, int b, const Frames<S>& f,
                                         const FluidPoint<S>& at, const Motion<S>& v,
                                         const Vec3<S>& omega_bar, const Vec3<S>& u_bar,
                                         const Vec3<S>& wind, const Vec3<S>& c_bar,
                                         const BodyBars<S>& bars, S* p_bar) {
  const Vec3<S> u_world = at.B * u_bar;
  const Force<S> V = wrench(u_world, at.c, at.B * omega_bar);
  add_turning_wrench(v, V, bars.v[b], bars.pose[b]);  // (9)
  bars.pose[b].torque += cross(wind, u_world);        // (10)
  if (p_bar) {
    add_to(p_bar + tree.options.wind, -u_world);
    add_to(p_bar + tree.bodies[static_cast<std::size_t>(b)].com,
           transpose_vector_product(f.R[b], c_bar + cross(u_world, v.angular)));
  }
}

// Adds the cotangents of Φ = W·m, m a field per link.
template <class S, class P>
CYCLOID_HD void fluid_wrench_pullback(const TreeView& tree, const P* p, int b, const Frames<S>& f,
                                      const Motion<S>* v, const Motion<S>* m,
                                      const BodyBars<S>& bars, S* p_bar) {
  const FluidBox<P> box = fluid_box(tree, p, b);
  const FluidPoint<S> at = fluid_point(tree, p, b, f, v);
  const std::size_t l = last_link(tree, b);
  const Vec3<S> n_bar = transpose_vector_product(at.B, m[l].angular);
  const Vec3<S> f_bar = transpose_vector_product(at.B, field_at(m[l], at.c));
  const Vec3<S> n = drag(box.turning, box.turning_drag, at.omega);
  const Vec3<S> force = at.B * drag(box.moving, box.moving_drag, at.u);
  add_turning_wrench(m[l], wrench(force, at.c, at.B * n), bars.m[b], bars.pose[b]);  // (9)
  const Vec3<S> n_slope = drag_slope(box.turning, box.turning_drag, at.omega);
  const Vec3<S> f_slope = drag_slope(box.moving, box.moving_drag, at.u);
  Vec3<S> omega_bar{}, u_bar{};
  FluidBox<S> box_bar{};
  for (int k = 0; k < 3; ++k) {
    omega_bar[k] = n_slope[k] * n_bar[k];  // (8)
    u_bar[k] = f_slope[k] * f_bar[k];
    box_bar.turning -= at.omega[k] * n_bar[k];  // (5)
    box_bar.moving -= at.u[k] * f_bar[k];       // (6)
    box_bar.turning_drag[k] = -abs(at.omega[k]) * at.omega[k] * n_bar[k];
    box_bar.moving_drag[k] = -abs(at.u[k]) * at.u[k] * f_bar[k];
  }
  fluid_point_pullback(tree, b, f, at, v[l], omega_bar, u_bar, vec3_of<S>(p + tree.options.wind),
                       cross(force, m[l].angular), bars, p_bar);
  if (p_bar) fluid_box_pullback(tree, p, b, box, box_bar, p_bar);
}

// The cotangents of density and viscosity where both are zero. Φ is linear in them, and nothing
// else has one.
template <class S, class P>
CYCLOID_HD void absent_medium_pullback(const TreeView& tree, const P* p, int b, const Frames<S>& f,
                                       const Motion<S>* v, const Motion<S>* m, S* p_bar) {
  const FluidPoint<S> at = fluid_point(tree, p, b, f, v);
  const std::size_t l = last_link(tree, b);
  const Vec3<S> n_bar = transpose_vector_product(at.B, m[l].angular);
  const Vec3<S> f_bar = transpose_vector_product(at.B, field_at(m[l], at.c));
  const FluidBox<P> unit = fluid_box(tree, p, b, P(1), P(1));
  const Vec3<S> n = drag(P(0), unit.turning_drag, at.omega);
  const Vec3<S> force = drag(P(0), unit.moving_drag, at.u);
  p_bar[tree.options.density] += dot(n, n_bar) + dot(force, f_bar);
  p_bar[tree.options.viscosity] -=
      S(unit.turning) * dot(at.omega, n_bar) + S(unit.moving) * dot(at.u, f_bar);
}

}  // namespace cycloid::inline rigid
