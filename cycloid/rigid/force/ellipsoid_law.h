// Forces of a medium on an ellipsoid, in its own frame: MuJoCo's ellipsoid model, with pullback.
//
// r half-axes [m], u the centre's velocity in the medium and ω the turning rate, in its own axes;
// i, j, k distinct; ρ density, β viscosity of the medium; coefficients C of blunt, slender and
// angular drag, of Kutta and Magnus lift; virtual masses m_A [m³] and moments I_A [m⁵] of ρ = 1.
//   V = 4π/3 r_x r_y r_z,   D = ⅔ Σ r,   b_i = (r_j r_k)²                                      (1)
//   A_max = π r_max r_mid,   I_i = 8π/15 r_i max(r_j, r_k)⁴,   I_max = 8π/15 r_mid r_max⁴       (2)
//   N = b∘u,   a = N·u,   d = N·N,   A = π √(d/a),   c = a/(|u| d)                              (3)
//   P = m_A∘u,   L = I_A∘ω,   κ_i = C_ang I_i + C_slender (I_max - I_i)                         (4)
//   f = k [ρ P×ω + C_M ρ V ω×u + C_K ρ c A (N×u)×u - T u]                                       (5)
//   T = 3π D β + ρ |u| (C_blunt A + C_slender (A_max - A))                                      (6)
//   n = k [ρ P×u + ρ L×ω - (π D³ β + ρ |κ∘ω|) ω]                                               (7)
// A is the area that the flow sees, N the normal of the cut that it sees; k is 1, or 0 for none.
// At rest A and c count as zero, and |u| and |κ∘ω| have the derivative 0; equal half-axes take one
// of the two derivatives, which is the whole one where they change together.
// Source: MuJoCo's manual, Fluid forces, ellipsoid model.
#pragma once

#include <limits>

#include "cycloid/rigid/force/passive.h"

namespace cycloid::inline rigid {

inline constexpr int kFluidNumbers = 12;  // of mjModel.geom_fluid

// The numbers of an ellipsoid and of the medium.
template <class S>
struct Ellipsoid {
  Vec3<S> r;
  S k, blunt, slender, angular, kutta, magnus;
  Vec3<S> mass, inertia;
  S density, viscosity;
};

// Angular and linear parts, in the ellipsoid's axes: a velocity, or a couple and a force.
template <class S>
struct LocalPair {
  Vec3<S> turning, moving;
};

template <class S>
CYCLOID_INLINE Vec3<S> by_element(const Vec3<S>& a, const Vec3<S>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
// Less than any number that counts here: eighth powers of lengths, squares of velocities.
template <class S>
CYCLOID_INLINE S vanishing() {
  return S(std::numeric_limits<Scalar<S>>::min() * 4);
}
// √x, and the half of its inverse, both safe at zero: there the derivative is 0.
template <class S>
CYCLOID_INLINE S safe_root(const S& x) {
  return sqrt(max(x, vanishing<S>()));
}
template <class S>
CYCLOID_INLINE S safe_root_slope(const S& x) {
  const S tiny = vanishing<S>();
  return select(x > tiny, S(0.5) / sqrt(max(x, tiny)), S(0));
}

// (1), (2): what r alone says.
template <class S>
struct EllipsoidShape {
  S volume, diameter, area, moment;  // V, D, A_max, I_max
  Vec3<S> b, moments;                // b_i, I_i
  S longest, middle;
};

template <class S>
CYCLOID_HD EllipsoidShape<S> ellipsoid_shape(const Vec3<S>& r) {
  const S pi = number<S>(kPi), of_moment = number<S>(8 * kPi / 15);
  const auto fourth = [](const S& x) { return x * x * (x * x); };
  EllipsoidShape<S> s;
  s.volume = number<S>(4 * kPi / 3) * r.x * r.y * r.z;  // (1)
  s.diameter = number<S>(2.0 / 3) * (r.x + r.y + r.z);
  s.longest = max(max(r.x, r.y), r.z);
  const S shortest = min(min(r.x, r.y), r.z);
  s.middle = r.x + r.y + r.z - s.longest - shortest;
  s.area = pi * s.longest * s.middle;  // (2)
  s.moment = of_moment * s.middle * fourth(s.longest);
  for (int i = 0; i < 3; ++i) {
    const S &j = r[(i + 1) % 3], &k = r[(i + 2) % 3];
    s.b[i] = j * k * (j * k);
    s.moments[i] = of_moment * r[i] * fourth(max(j, k));
  }
  return s;
}

// Adds to r_bar. bar: of all but `longest` and `middle`.
template <class S>
CYCLOID_HD void ellipsoid_shape_pullback(const Vec3<S>& r, const EllipsoidShape<S>& s,
                                         const EllipsoidShape<S>& bar, Vec3<S>& r_bar) {
  const S pi = number<S>(kPi), of_moment = number<S>(8 * kPi / 15);
  const auto cube = [](const S& x) { return x * x * x; };
  S longest_bar =
      bar.area * pi * s.middle + bar.moment * of_moment * s.middle * S(4) * cube(s.longest);  // (2)
  const S middle_bar =
      bar.area * pi * s.longest + bar.moment * of_moment * cube(s.longest) * s.longest;
  const S same = number<S>(2.0 / 3) * bar.diameter + middle_bar;
  longest_bar -= middle_bar;
  const auto x_first = r.x > r.y, first_z = max(r.x, r.y) > r.z;
  const auto x_least = r.x < r.y, least_z = min(r.x, r.y) < r.z;
  const S zero(0);
  const S of_pair = select(first_z, longest_bar, zero), least = select(least_z, -middle_bar, zero);
  r_bar.x += same + select(x_first, of_pair, zero) + select(x_least, least, zero);
  r_bar.y += same + select(x_first, zero, of_pair) + select(x_least, zero, least);
  r_bar.z += same + (longest_bar - of_pair) + (-middle_bar - least);
  const S V_bar = bar.volume * number<S>(4 * kPi / 3);
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const S m = max(r[j], r[k]), m3 = cube(m), I_bar = bar.moments[i] * of_moment;
    const auto j_first = r[j] > r[k];
    const S m_bar = I_bar * r[i] * S(4) * m3, b_bar = S(2) * bar.b[i] * r[j] * r[k];
    r_bar[i] += I_bar * m3 * m + V_bar * r[j] * r[k];  // (1)
    r_bar[j] += select(j_first, m_bar, zero) + b_bar * r[k];
    r_bar[k] += select(j_first, zero, m_bar) + b_bar * r[j];
  }
}

// (3).
template <class S>
struct EllipsoidFlow {
  Vec3<S> N;
  S a, d, speed, area, cosine;
};

template <class S>
CYCLOID_HD EllipsoidFlow<S> ellipsoid_flow(const Vec3<S>& b, const Vec3<S>& u) {
  const S tiny = vanishing<S>();
  EllipsoidFlow<S> x;
  x.N = by_element(b, u);
  x.a = dot(x.N, u), x.d = dot(x.N, x.N), x.speed = safe_root(dot(u, u));
  x.area = number<S>(kPi) * safe_root(x.d / max(x.a, tiny));
  x.cosine = x.a / max(x.speed * x.d, tiny);
  return x;
}

// Adds to b_bar and u_bar.
template <class S>
CYCLOID_HD void ellipsoid_flow_pullback(const Vec3<S>& b, const Vec3<S>& u,
                                        const EllipsoidFlow<S>& x, const EllipsoidFlow<S>& bar,
                                        Vec3<S>& b_bar, Vec3<S>& u_bar) {
  const S tiny = vanishing<S>(), zero(0);
  const S below = max(x.speed * x.d, tiny), under = max(x.a, tiny), ratio = x.d / under;
  S a_bar = bar.a + bar.cosine / below, d_bar = bar.d, speed_bar = bar.speed;
  const S below_bar = select(x.speed * x.d > tiny, -bar.cosine * x.cosine / below, zero);
  speed_bar += below_bar * x.d;
  d_bar += below_bar * x.speed;
  const S ratio_bar = bar.area * number<S>(kPi) * safe_root_slope(ratio);
  d_bar += ratio_bar / under;
  a_bar -= select(x.a > tiny, ratio_bar * ratio / under, zero);
  const Vec3<S> N_bar = bar.N + x.N * (S(2) * d_bar) + u * a_bar;
  const S square_bar = speed_bar * safe_root_slope(dot(u, u));
  u_bar += x.N * a_bar + by_element(N_bar, b) + u * (S(2) * square_bar);
  b_bar += by_element(N_bar, u);
}

template <class S>
CYCLOID_INLINE Vec3<S> angular_drag(const Ellipsoid<S>& g, const EllipsoidShape<S>& s) {
  const S rest = g.slender * s.moment;  // (4)
  return s.moments * (g.angular - g.slender) + Vec3<S>{rest, rest, rest};
}

// Couple and force of (7) and (5), at velocity v.
template <class S>
CYCLOID_HD LocalPair<S> ellipsoid_law(const Ellipsoid<S>& g, const LocalPair<S>& v) {
  const Vec3<S>&w = v.turning, &u = v.moving;
  const S pi = number<S>(kPi), rho = g.density;
  const EllipsoidShape<S> s = ellipsoid_shape(g.r);
  const EllipsoidFlow<S> x = ellipsoid_flow(s.b, u);
  const Vec3<S> P = by_element(g.mass, u), L = by_element(g.inertia, w);  // (4)
  const Vec3<S> mu = by_element(angular_drag(g, s), w);
  const Vec3<S> lift = u * x.a - x.N * dot(u, u);  // (N×u)×u
  const S resistance =
      S(3) * pi * s.diameter * g.viscosity +
      rho * x.speed * (x.area * (g.blunt - g.slender) + g.slender * s.area);  // (6)
  const S turning =
      pi * s.diameter * s.diameter * s.diameter * g.viscosity + rho * safe_root(dot(mu, mu));
  const Vec3<S> n = (cross(P, u) + cross(L, w)) * rho - w * turning;  // (7)
  const Vec3<S> f =
      (cross(P, w) + cross(w, u) * (g.magnus * s.volume) + lift * (g.kutta * x.cosine * x.area)) *
          rho -
      u * resistance;  // (5)
  return {n * g.k, f * g.k};
}

// Adds to g_bar and v_bar, given the cotangents of couple and force.
template <class S>
CYCLOID_HD void ellipsoid_law_pullback(const Ellipsoid<S>& g, const LocalPair<S>& v,
                                       const LocalPair<S>& bar, Ellipsoid<S>& g_bar,
                                       LocalPair<S>& v_bar) {
  const Vec3<S>&w = v.turning, &u = v.moving;
  const S pi = number<S>(kPi), rho = g.density, beta = g.viscosity;
  const EllipsoidShape<S> s = ellipsoid_shape(g.r);
  const EllipsoidFlow<S> x = ellipsoid_flow(s.b, u);
  const Vec3<S> P = by_element(g.mass, u), L = by_element(g.inertia, w);
  const Vec3<S> kappa = angular_drag(g, s), mu = by_element(kappa, w);
  const S mu_norm = safe_root(dot(mu, mu)), square = dot(u, u);
  const Vec3<S> lift = u * x.a - x.N * square;
  const S area = x.area * (g.blunt - g.slender) + g.slender * s.area;
  const S D2 = s.diameter * s.diameter;
  const S resistance = S(3) * pi * s.diameter * beta + rho * x.speed * area;
  const S turning = pi * D2 * s.diameter * beta + rho * mu_norm;
  const S circulation = g.kutta * x.cosine * x.area, spin = g.magnus * s.volume;
  const Vec3<S> inner_n = cross(P, u) + cross(L, w);
  const Vec3<S> inner_f = cross(P, w) + cross(w, u) * spin + lift * circulation;
  g_bar.k += dot(bar.turning, inner_n * rho - w * turning) +
             dot(bar.moving, inner_f * rho - u * resistance);
  const Vec3<S> n_bar = bar.turning * g.k, f_bar = bar.moving * g.k;
  Vec3<S> w_bar = n_bar * -turning, u_bar = f_bar * -resistance;
  const S turning_bar = -dot(n_bar, w), resistance_bar = -dot(f_bar, u);
  g_bar.density += dot(n_bar, inner_n) + dot(f_bar, inner_f) + turning_bar * mu_norm +
                   resistance_bar * x.speed * area;
  g_bar.viscosity += turning_bar * pi * D2 * s.diameter + resistance_bar * S(3) * pi * s.diameter;
  const Vec3<S> n_in = n_bar * rho, f_in = f_bar * rho;

  const Vec3<S> P_bar = cross(w, f_in) + cross(u, n_in);  // (5), (7): added mass
  const Vec3<S> L_bar = cross(w, n_in);
  w_bar += cross(f_in, P) + cross(n_in, L) + by_element(L_bar, g.inertia);
  u_bar += cross(n_in, P) + by_element(P_bar, g.mass);
  g_bar.mass += by_element(P_bar, u);
  g_bar.inertia += by_element(L_bar, w);

  EllipsoidShape<S> s_bar{};
  EllipsoidFlow<S> x_bar{};
  w_bar += cross(u, f_in) * spin;  // Magnus
  u_bar += cross(f_in, w) * spin;
  const S spin_bar = dot(f_in, cross(w, u));
  g_bar.magnus += spin_bar * s.volume;
  s_bar.volume = spin_bar * g.magnus;

  const S circulation_bar = dot(f_in, lift);  // Kutta
  const Vec3<S> lift_bar = f_in * circulation;
  g_bar.kutta += circulation_bar * x.cosine * x.area;
  x_bar.cosine = circulation_bar * g.kutta * x.area;
  x_bar.a = dot(lift_bar, u);
  x_bar.N = lift_bar * -square;
  u_bar += lift_bar * x.a - u * (S(2) * dot(lift_bar, x.N));

  const S area_bar = resistance_bar * rho * x.speed;  // (6)
  x_bar.speed = resistance_bar * rho * area;
  x_bar.area = circulation_bar * g.kutta * x.cosine + area_bar * (g.blunt - g.slender);
  g_bar.blunt += area_bar * x.area;
  s_bar.area = area_bar * g.slender;
  S slender_bar = area_bar * (s.area - x.area);
  s_bar.diameter = S(3) * pi * beta * (resistance_bar + turning_bar * D2);

  const Vec3<S> mu_bar = mu * (S(2) * turning_bar * rho * safe_root_slope(dot(mu, mu)));  // (7)
  const Vec3<S> kappa_bar = by_element(mu_bar, w);
  w_bar += by_element(mu_bar, kappa);
  const S sum = kappa_bar.x + kappa_bar.y + kappa_bar.z, own = dot(kappa_bar, s.moments);  // (4)
  g_bar.angular += own;
  slender_bar += sum * s.moment - own;
  g_bar.slender += slender_bar;
  s_bar.moments = kappa_bar * (g.angular - g.slender);
  s_bar.moment = sum * g.slender;

  ellipsoid_flow_pullback(s.b, u, x, x_bar, s_bar.b, u_bar);  // (3)
  ellipsoid_shape_pullback(g.r, s, s_bar, g_bar.r);           // (2), (1)
  v_bar.turning += w_bar;
  v_bar.moving += u_bar;
}

}  // namespace cycloid::inline rigid
