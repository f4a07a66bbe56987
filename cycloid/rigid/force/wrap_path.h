// The way of a tendon from one point past a sphere or an endless cylinder to another, in the frame
// of that geom: its length l and the unit vectors d_k = ∂l/∂p_k along which it pulls its ends.
//
// It lies in the plane of p₀, p₁ and the centre, or for a cylinder (axis z) on p₀, p₁ without z. In
// the plane, with n_k = |p_k|, p̂_k, γ in [0, π] the angle between them, and e_k the direction in
// which p̂_k turns towards the other:
//   D_k = c_k p̂_k - s_k e_k                                          (1)
//   around   P = t₀ + t₁ + r (φ - α₀ - α₁)                            (2)
//            t_k² = n_k² - r²,  cos α_k = r/n_k,  c_k = t_k/n_k,  s_k = ± r/n_k                (3)
//            φ = γ, or 2π - γ (the minus of (3)) where the way through the side site turns so  (4)
//            where the bracket of (2) is positive, else straight
//   inside   P = L₀ + L₁ by a point on the circle, ψ_k from p̂_k (side site inside the geom):  (5)
//            L_k² = n_k² + r² - 2 n_k r cos ψ_k,  c_k = (n_k - r cos ψ_k)/L_k,  s_k = r sin ψ_k/L_k
//            asin z - asin(r z/n_k) = ψ_k,  ψ₀ + ψ₁ = γ               (6)  equal angles
//   straight l = |p₁ - p₀|, also where an end is inside the geom      (7)
//   cylinder l² = P² + Δz²,  d_k = D_k P/l ± ẑ Δz/l                   (8)
// (6) is solved by MuJoCo's own iteration and differentiated as a root. Where
// (2) begins the directions have a kink; the straight side is taken. l jumps where an end crosses
// the ray opposite of the side site. Ends opposite of each other leave the plane open: the
// derivative leaves it where it is. Source: MuJoCo's manual, spatial tendons (sidesite).
#pragma once

#include "cycloid/math/norm.h"
#include "cycloid/rigid/force/passive.h"

namespace cycloid::inline rigid {

template <class S>
struct WrapPath {
  S length;
  Vec3<S> d[2];
};

// The geom and what is beside it.
template <class S>
struct WrapShape {
  bool sphere;  // else a cylinder
  S radius;
  bool has_side;
  Vec3<S> side;  // the side site, in the geom's frame
};

// p̂, n, γ and e.
template <class S>
struct WrapPlane {
  UnitAndNorm<S, 3> p[2];
  Vec3<S> normal, e[2];
  S sine, cosine, inverse_sine, angle;
};

// A direction across p̂ for ends that leave the plane open, as MuJoCo chooses it.
template <class S>
CYCLOID_HD Vec3<S> wrap_open_normal(bool sphere, const Vec3<S>& p) {
  if (!sphere) return {S(0), S(0), S(1)};
  const S x = abs(p.x), y = abs(p.y), z = abs(p.z);
  const Mask<S> most_y = (y > x) & (y > z), most_z = (z > x) & (z > y);
  const Vec3<S> other{select(most_y | most_z, S(1), S(0)), select(most_y, S(0), S(1)),
                      select(most_z, S(0), S(1))};
  return unit_and_norm(cross(p, other)).unit;
}

template <class S>
CYCLOID_HD WrapPlane<S> wrap_plane(bool sphere, const Vec3<S>& p0, const Vec3<S>& p1) {
  WrapPlane<S> plane;
  plane.p[0] = unit_and_norm(p0), plane.p[1] = unit_and_norm(p1);
  const Vec3<S>&first = plane.p[0].unit, &second = plane.p[1].unit;
  const UnitAndNorm<S, 3> across = unit_and_norm(cross(first, second));
  const Mask<S> open = across.norm < S(1e-15);
  const Vec3<S> own = wrap_open_normal(sphere, first);
  for (int i = 0; i < 3; ++i) plane.normal[i] = select(open, own[i], across.unit[i]);
  plane.sine = across.norm, plane.cosine = dot(first, second);
  plane.inverse_sine = select(open, S(0), across.inverse);
  plane.angle = atan2(plane.sine, plane.cosine);
  plane.e[0] = cross(plane.normal, first), plane.e[1] = cross(second, plane.normal);
  return plane;
}

// Cotangents of p̂ in p[k].unit, of n in p[k].norm, of γ and e; returns those of the points.
template <class S>
CYCLOID_HD void wrap_plane_pullback(const WrapPlane<S>& plane, WrapPlane<S> bar, Vec3<S>* p_bar) {
  const Vec3<S>&first = plane.p[0].unit, &second = plane.p[1].unit, &n = plane.normal;
  bar.p[0].unit += cross(bar.e[0], n);  // e₀ = n × p̂₀
  bar.p[1].unit += cross(n, bar.e[1]);  // e₁ = p̂₁ × n
  const Vec3<S> n_bar = cross(first, bar.e[0]) + cross(bar.e[1], second);
  const Vec3<S> c_bar = (n_bar - n * dot(n, n_bar)) * plane.inverse_sine +
                        n * (bar.angle * plane.cosine);  // n = c/|c|, γ = atan2(|c|, cosine)
  const S cosine_bar = -bar.angle * plane.sine;
  bar.p[0].unit += cross(second, c_bar) + second * cosine_bar;
  bar.p[1].unit += cross(c_bar, first) + first * cosine_bar;
  for (int k = 0; k < 2; ++k) {
    const Vec3<S>& unit = plane.p[k].unit;
    p_bar[k] = (bar.p[k].unit - unit * dot(unit, bar.p[k].unit)) * plane.p[k].inverse +
               unit * bar.p[k].norm;
  }
}

// P, c and s of (2) or (5), or their cotangents.
template <class S>
struct WrapBend {
  S P, c[2], s[2];
};
// Cotangents of n, γ and r.
template <class S>
struct WrapBendBars {
  S n[2], angle, radius;
};

// (2), (3): sigma is 1, or -1 for the long way round. arc: the bracket of (2).
template <class S>
CYCLOID_HD WrapBend<S> bend_around(const WrapPlane<S>& plane, const S& r, const S& sigma, S& arc) {
  WrapBend<S> out;
  out.P = S(0);
  arc = select(sigma > S(0), plane.angle, number<S>(2 * kPi) - plane.angle);  // (4)
  for (int k = 0; k < 2; ++k) {
    const S n = plane.p[k].norm, t = sqrt(max((n - r) * (n + r), S(0)));
    arc -= atan2(t, r);
    out.P += t;
    out.c[k] = t * plane.p[k].inverse, out.s[k] = sigma * r * plane.p[k].inverse;  // (3)
  }
  out.P += r * arc;  // (2)
  return out;
}

// Where both ends lie on the surface (c = 0) there is no derivative of c; 0 is taken.
template <class S>
CYCLOID_HD WrapBendBars<S> bend_around_pullback(const WrapPlane<S>& plane, const S& sigma,
                                                const S& arc, const WrapBend<S>& out, const S& r,
                                                const WrapBend<S>& bar) {
  WrapBendBars<S> to;
  to.angle = bar.P * r * sigma;  // (2)
  to.radius = bar.P * arc;
  for (int k = 0; k < 2; ++k) {
    const S inverse = plane.p[k].inverse, ratio = r * inverse, c = out.c[k];
    const S inverse_c = select(c > S(0), S(1) / c, S(0));
    const S ratio_bar = sigma * bar.s[k] - bar.c[k] * ratio * inverse_c;  // (3)
    to.n[k] = bar.P * c - ratio_bar * ratio * inverse;
    to.radius += ratio_bar * inverse;
  }
  return to;
}

// The root of (6). Lanes whose iteration fails take the direction of the ends' mean.
template <class S>
struct WrapRoot {
  Mask<S> found, first;  // ψ₀ comes from z and ψ₁ is the rest, or the other way round
  S z, slope, ratio[2], psi[2];
};

template <class S>
CYCLOID_HD S wrap_root_value(const S& a, const S& b, const S& z, const S& angle) {
  return asin(a * z) + asin(b * z) - S(2) * asin(z) + angle;  // (6)
}
template <class S>
CYCLOID_HD S wrap_cosine(const S& sine) {  // of an arcsine
  return max(sqrt(max(S(1) - sine * sine, S(0))), S(1e-15));
}
template <class S>
CYCLOID_HD S wrap_root_slope(const S& a, const S& b, const S& z) {
  return a / wrap_cosine(a * z) + b / wrap_cosine(b * z) - S(2) / wrap_cosine(z);
}

template <class S>
CYCLOID_HD WrapRoot<S> wrap_root(bool sphere, const WrapPlane<S>& plane, const S& r) {
  using Q = std::remove_cvref_t<decltype(primal(r))>;  // iterates are not differentiated
  constexpr int kMost = 20;
  constexpr bool kFloat = sizeof(Scalar<S>) == 4;
  const Q tolerance = Q(kFloat ? 1e-5 : 1e-12), enough = Q(kFloat ? 1e-3 : 1e-6);
  const Q start = Q(1 - 1e-7);
  WrapRoot<S> root;
  for (int k = 0; k < 2; ++k) root.ratio[k] = min(r * plane.p[k].inverse, S(1));
  const Q a = primal(root.ratio[0]), b = primal(root.ratio[1]), angle = primal(plane.angle);
  Q z = start, f = wrap_root_value(a, b, z, angle);
  Mask<S> good = f <= Q(0), moving = good & (abs(f) > tolerance);
  for (int i = 0; i < kMost && any(moving); ++i) {
    const Q slope = wrap_root_slope(a, b, z), next = z - f / slope;
    good = good & ((!moving) | ((slope <= Q(-1e-15)) & (next <= z)));
    z = select(moving & good, next, z);
    f = wrap_root_value(a, b, z, angle);
    good = good & ((!moving) | (f <= enough));
    moving = good & (abs(f) > tolerance);
  }
  root.found = good & (abs(f) <= enough);
  const S value = wrap_root_value(root.ratio[0], root.ratio[1], S(z), plane.angle);
  root.slope = wrap_root_slope(root.ratio[0], root.ratio[1], S(z));
  root.z = S(z) - (value - S(primal(value))) / root.slope;  // the root's tangent
  const S y = plane.p[1].norm * plane.sine, x = plane.p[0].norm + plane.p[1].norm * plane.cosine;
  const S mean = atan2(y, x);
  root.first = (!root.found) | Mask<S>(sphere) | (plane.normal.z > S(0));
  const S own = select(root.first, root.ratio[0], root.ratio[1]);
  const S turned = asin(root.z) - asin(own * root.z);
  const S psi = select(root.found, turned, mean);
  root.psi[0] = select(root.first, psi, plane.angle - psi);
  root.psi[1] = select(root.first, plane.angle - psi, psi);
  return root;
}

// Given the cotangents of ψ₀ and ψ₁; adds.
template <class S>
CYCLOID_HD void wrap_root_pullback(const WrapPlane<S>& plane, const WrapRoot<S>& root,
                                   const S* psi_bar, WrapBendBars<S>& to) {
  const S rest = select(root.first, psi_bar[1], psi_bar[0]);
  const S own = select(root.first, psi_bar[0], psi_bar[1]) - rest;
  to.angle += rest;
  const S z = root.z, own_ratio = select(root.first, root.ratio[0], root.ratio[1]);
  const S own_cosine = wrap_cosine(own_ratio * z);
  const S z_bar = own * (S(1) / wrap_cosine(z) - own_ratio / own_cosine);
  const S lambda = -z_bar / root.slope;
  const S n1 = plane.p[1].norm;
  const S y = n1 * plane.sine, x = plane.p[0].norm + n1 * plane.cosine;
  const S mean_bar = own / max(x * x + y * y, S(1e-30));
  to.angle += select(root.found, lambda, mean_bar * n1 * (x * plane.cosine + y * plane.sine));
  for (int k = 0; k < 2; ++k) {
    const S mine = select(k == 0 ? root.first : !root.first, own, S(0));
    const S ratio_bar = z * (lambda / wrap_cosine(root.ratio[k] * z) - mine / own_cosine);
    const S inverse = plane.p[k].inverse;
    const S by_mean = k == 0 ? -y : x * plane.sine - y * plane.cosine;
    to.radius += select(root.found, ratio_bar * inverse, S(0));
    to.n[k] += select(root.found, -ratio_bar * root.ratio[k] * inverse, mean_bar * by_mean);
  }
}

// (5), with the root.
template <class S>
CYCLOID_HD WrapBend<S> bend_inside(const WrapPlane<S>& plane, const S& r, const WrapRoot<S>& root) {
  WrapBend<S> out;
  out.P = S(0);
  for (int k = 0; k < 2; ++k) {
    const S x = plane.p[k].norm - r * cos(root.psi[k]), y = r * sin(root.psi[k]);
    const S L = sqrt(max(x * x + y * y, S(1e-30)));
    out.P += L;
    out.c[k] = x / L, out.s[k] = y / L;
  }
  return out;
}

template <class S>
CYCLOID_HD WrapBendBars<S> bend_inside_pullback(const WrapPlane<S>& plane, const S& r,
                                                const WrapRoot<S>& root, const WrapBend<S>& out,
                                                const WrapBend<S>& bar) {
  WrapBendBars<S> to{};
  S psi_bar[2];
  for (int k = 0; k < 2; ++k) {
    const S n = plane.p[k].norm, cosine = cos(root.psi[k]), sine = sin(root.psi[k]);
    const S x = n - r * cosine, y = r * sine, inverse = S(1) / sqrt(max(x * x + y * y, S(1e-30)));
    const S turn = (out.c[k] * bar.s[k] - out.s[k] * bar.c[k]) * inverse;  // of (c, s), over L
    to.n[k] = bar.P * out.c[k] - turn * out.s[k];
    psi_bar[k] = bar.P * n * out.s[k] + turn * inverse * r * (n * cosine - r);
    to.radius += bar.P * (r - n * cosine) * inverse + turn * inverse * n * sine;
  }
  wrap_root_pullback(plane, root, psi_bar, to);
  return to;
}

// What forward decides.
template <class S>
struct WrapChoice {
  Mask<S> bent, inside;
  S sigma, arc;
  WrapPlane<S> plane;
  WrapRoot<S> root;
  WrapBend<S> bend;
};

// Whether the straight piece between the points meets the circle between its ends.
template <class S>
CYCLOID_HD Mask<S> meets_circle(const Vec3<S>& p0, const Vec3<S>& p1, const S& r) {
  const Vec3<S> between = p1 - p0;
  const S square = dot(between, between);
  const Mask<S> apart = square > S(1e-15);
  const S at = -dot(between, p0) / select(apart, square, S(1));
  const Vec3<S> nearest = p0 + between * at;
  return apart & (at > S(0)) & (at < S(1)) & (dot(nearest, nearest) <= r * r);
}

template <class S>
CYCLOID_HD WrapChoice<S> wrap_choice(const WrapShape<S>& shape, const Vec3<S>& p0,
                                     const Vec3<S>& p1) {
  const S z(shape.sphere ? 1 : 0), r = shape.radius;
  const Vec3<S> q0{p0.x, p0.y, p0.z * z}, q1{p1.x, p1.y, p1.z * z};
  WrapChoice<S> out;
  out.plane = wrap_plane(shape.sphere, q0, q1);
  const S n0 = out.plane.p[0].norm, n1 = out.plane.p[1].norm, angle = out.plane.angle;
  out.sigma = S(1);
  if (shape.has_side) {
    const S from_first =
        atan2(dot(shape.side, out.plane.e[0]), dot(shape.side, out.plane.p[0].unit));
    out.sigma = select(angle - from_first > number<S>(kPi), S(-1), S(1));  // (4)
  }
  out.bend = bend_around(out.plane, r, out.sigma, out.arc);
  out.bent = (n0 >= r) & (n1 >= r) & (r >= S(1e-15)) & (out.arc > S(0));
  out.inside = Mask<S>(false);
  if (!shape.has_side) return out;
  out.inside = dot(shape.side, shape.side) < r * r;
  if (!any(out.inside)) return out;
  out.root = wrap_root(shape.sphere, out.plane, r);
  const WrapBend<S> within = bend_inside(out.plane, r, out.root);
  const Mask<S> passes = (n0 > r) & (n1 > r) & (r >= S(1e-15)) & (!meets_circle(q0, q1, r)) &
                         (out.plane.cosine >= S(-1 + 1e-15));
  out.bent = (out.inside & passes) | ((!out.inside) & out.bent);
  out.bend.P = select(out.inside, within.P, out.bend.P);
  for (int k = 0; k < 2; ++k) {
    out.bend.c[k] = select(out.inside, within.c[k], out.bend.c[k]);
    out.bend.s[k] = select(out.inside, within.s[k], out.bend.s[k]);
  }
  return out;
}

template <class S>
CYCLOID_HD Vec3<S> bend_direction(const WrapChoice<S>& way, int k) {
  return way.plane.p[k].unit * way.bend.c[k] - way.plane.e[k] * way.bend.s[k];  // (1)
}

template <class S>
CYCLOID_HD WrapPath<S> wrap_path(const WrapShape<S>& shape, const Vec3<S>& p0, const Vec3<S>& p1) {
  const WrapChoice<S> way = wrap_choice(shape, p0, p1);
  const UnitAndNorm<S, 3> straight = unit_and_norm(p1 - p0);  // (7)
  const S P = way.bend.P, rise = shape.sphere ? S(0) : p1.z - p0.z;
  const S length = shape.sphere ? P : sqrt(select(way.bent, P * P + rise * rise, S(1)));
  WrapPath<S> out;
  out.length = select(way.bent, length, straight.norm);
  for (int k = 0; k < 2; ++k) {
    const S sign(k == 0 ? -1 : 1);
    Vec3<S> d = bend_direction(way, k);
    if (!shape.sphere) {
      d = d * (P / length);  // (8)
      d.z += sign * rise / length;
    }
    for (int i = 0; i < 3; ++i) out.d[k][i] = select(way.bent, d[i], sign * straight.unit[i]);
  }
  return out;
}

// Adds to p_bar[0], p_bar[1] and radius_bar.
template <class S>
CYCLOID_HD void wrap_path_pullback(const WrapShape<S>& shape, const Vec3<S>& p0, const Vec3<S>& p1,
                                   const WrapPath<S>& bar, Vec3<S>* p_bar, S& radius_bar) {
  const WrapChoice<S> way = wrap_choice(shape, p0, p1);
  const UnitAndNorm<S, 3> straight = unit_and_norm(p1 - p0);
  const Vec3<S>&u = straight.unit, u_bar = bar.d[1] - bar.d[0];
  const Vec3<S> r_bar = u * bar.length + (u_bar - u * dot(u, u_bar)) * straight.inverse;  // (7)

  WrapBend<S> bend_bar;
  bend_bar.P = bar.length;
  S scale(1), rise_bar(0);
  if (!shape.sphere) {  // (8)
    const S P = way.bend.P, rise = p1.z - p0.z;
    const S length = sqrt(select(way.bent, P * P + rise * rise, S(1)));
    scale = P / length;
    const S slant = rise / length, slant_bar = u_bar.z;
    S scale_bar(0);
    for (int k = 0; k < 2; ++k) scale_bar += dot(bar.d[k], bend_direction(way, k));
    const S turn = (scale * slant_bar - slant * scale_bar) / length;
    bend_bar.P = bar.length * scale - slant * turn;
    rise_bar = bar.length * slant + scale * turn;
  }
  WrapPlane<S> plane_bar{};
  for (int k = 0; k < 2; ++k) {
    const Vec3<S> D_bar = bar.d[k] * scale;
    bend_bar.c[k] = dot(D_bar, way.plane.p[k].unit);  // (1)
    bend_bar.s[k] = -dot(D_bar, way.plane.e[k]);
    plane_bar.p[k].unit = D_bar * way.bend.c[k];
    plane_bar.e[k] = D_bar * -way.bend.s[k];
  }
  WrapBendBars<S> to =
      bend_around_pullback(way.plane, way.sigma, way.arc, way.bend, shape.radius, bend_bar);
  if (any(way.inside)) {
    const WrapBendBars<S> within =
        bend_inside_pullback(way.plane, shape.radius, way.root, way.bend, bend_bar);
    for (int k = 0; k < 2; ++k) to.n[k] = select(way.inside, within.n[k], to.n[k]);
    to.angle = select(way.inside, within.angle, to.angle);
    to.radius = select(way.inside, within.radius, to.radius);
  }
  for (int k = 0; k < 2; ++k) plane_bar.p[k].norm = to.n[k];
  plane_bar.angle = to.angle;
  Vec3<S> bent_bar[2];
  wrap_plane_pullback(way.plane, plane_bar, bent_bar);
  radius_bar += select(way.bent, to.radius, S(0));
  for (int k = 0; k < 2; ++k) {
    const S sign(k == 0 ? -1 : 1);
    if (!shape.sphere) bent_bar[k].z = sign * rise_bar;
    for (int i = 0; i < 3; ++i) {
      p_bar[k][i] += select(way.bent, bent_bar[k][i], sign * r_bar[i]);
    }
  }
}

}  // namespace cycloid::inline rigid
