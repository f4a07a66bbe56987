// Forces of the medium on geoms that count as ellipsoids (fluidshape), and their slope.
//
// A geom at pos, quat on its body (R, r), with the body's velocity field v:
//   B = R R(quat),   c = r + R pos                                                          (1)
//   ω = Bᵀ v_ω,      u = Bᵀ (v(c) - wind)                                                   (2)
//   W = wrench(B f, c, B n)          n, f of ellipsoid_law.h, about the tree's origin       (3)
//   D = -∂W/∂v = D_s + D_a           symmetric and antisymmetric part                       (4)
// Half-axes: a ball's radius; radius and half length of a cylinder; these and a cap of a capsule;
// the size of what has three. A body whose geoms count so has no inertia box (medium_force.h), and
// without mass feels nothing. The integrator `implicit` and lone free bodies take D into their
// matrix, implicitfast D_s.
//
// Pullback, with a local pair a = Bᵀ y of a field y and its cotangent ā:
//   ȳ += wrench(B ā_u, c, B ā_ω),   c̄ += (B ā_u) × y_ω,   θ̄ += ā_ω × a_ω + ā_u × a_u        (5)
// θ turns B about its own axes. Body and fields turn together, and but for the wind nothing changes
// then (medium_force.h (9), (10)). The pullback of mᵀ(∂W/∂v) y is that of W·m, differentiated
// along y by dual numbers.                                                                   (6)
#pragma once

#include "cycloid/math/dual.h"
#include "cycloid/rigid/force/ellipsoid_law.h"
#include "cycloid/rigid/force/medium_damping.h"

namespace cycloid::inline rigid {

// (1), (2).
template <class S>
struct EllipsoidPoint {
  int geom, body;
  std::size_t link;
  Mat3<S> B;
  Vec3<S> c;
  S present;  // 1, or 0 without mass
  Ellipsoid<S> g;
  LocalPair<S> v;

  CYCLOID_HD LocalPair<S> local(const Motion<S>& y) const {
    return {transpose_vector_product(B, y.angular), transpose_vector_product(B, field_at(y, c))};
  }
  CYCLOID_HD Force<S> world(const LocalPair<S>& a) const {
    return wrench(B * a.moving, c, B * a.turning);
  }
};

// The size of a geom: parameters, or constants of a mesh.
template <class S, class P>
CYCLOID_INLINE Vec3<S> geom_size(const TreeView& tree, const P* p, int geom) {
  const std::size_t i = static_cast<std::size_t>(geom);
  if (tree.geoms[i].size >= 0) return vec3_of<S>(p + tree.geoms[i].size);
  const auto& size = tree.model.geoms[i].size;
  return {number<S>(size[0]), number<S>(size[1]), number<S>(size[2])};
}

template <class S>
CYCLOID_INLINE Vec3<S> half_axes(Shape shape, const Vec3<S>& size) {
  switch (shape) {
    case Shape::sphere: return {size.x, size.x, size.x};
    case Shape::capsule: return {size.x, size.x, size.x + size.y};
    case Shape::cylinder: return {size.x, size.x, size.y};
    default: return size;
  }
}
template <class S>
CYCLOID_INLINE void half_axes_pullback(Shape shape, const Vec3<S>& r_bar, Vec3<S>& size_bar) {
  switch (shape) {
    case Shape::sphere: size_bar.x += r_bar.x + r_bar.y + r_bar.z; break;
    case Shape::capsule:
      size_bar.x += r_bar.x + r_bar.y + r_bar.z;
      size_bar.y += r_bar.z;
      break;
    case Shape::cylinder:
      size_bar.x += r_bar.x + r_bar.y;
      size_bar.y += r_bar.z;
      break;
    default: size_bar += r_bar;
  }
}

template <class S, class P>
CYCLOID_HD EllipsoidPoint<S> ellipsoid_point(const TreeView& tree, const P* p, int geom,
                                             const Frames<S>& f, const Motion<S>* v) {
  const std::size_t i = static_cast<std::size_t>(geom);
  const GeomPlaces& at = tree.geoms[i];
  const P* fluid = p + at.fluid;
  EllipsoidPoint<S> x;
  x.geom = geom;
  x.body = tree.model.geoms[i].body;
  x.link = last_link(tree, x.body);
  x.B = f.R[x.body] * to_matrix(quat_of<S>(p + at.quat));  // (1)
  x.c = f.pos[x.body] + f.R[x.body] * vec3_of<S>(p + at.pos);
  const P mass = p[tree.bodies[static_cast<std::size_t>(x.body)].mass];
  x.present = S(select(mass >= number<P>(kFluidTiny), P(1), P(0)));
  x.g = {half_axes(tree.model.geoms[i].shape, geom_size<S>(tree, p, geom)),
         S(fluid[0]) * x.present,
         S(fluid[1]),
         S(fluid[2]),
         S(fluid[3]),
         S(fluid[4]),
         S(fluid[5]),
         vec3_of<S>(fluid + 6),
         vec3_of<S>(fluid + 9),
         S(p[tree.options.density]),
         S(p[tree.options.viscosity])};
  x.v = x.local(v[x.link]);  // (2)
  x.v.moving -= transpose_vector_product(x.B, vec3_of<S>(p + tree.options.wind));
  return x;
}

// (3), on the geom's body. v: velocity field per link.
template <class S, class P>
CYCLOID_HD Force<S> ellipsoid_wrench(const TreeView& tree, const P* p, int geom, const Frames<S>& f,
                                     const Motion<S>* v) {
  const EllipsoidPoint<S> at = ellipsoid_point(tree, p, geom, f, v);
  return at.world(ellipsoid_law(at.g, at.v));
}

// What (5) leaves for the geom's own place, and the cotangent of u in the world.
template <class S>
struct EllipsoidPlaceBars {
  Vec3<S> c{}, turn{}, u{};

  // (5) of one field; returns ȳ.
  CYCLOID_HD Force<S> share(const EllipsoidPoint<S>& at, const Motion<S>& y, const LocalPair<S>& a,
                            const LocalPair<S>& a_bar) {
    c += cross(at.B * a_bar.moving, y.angular);
    turn += cross(a_bar.turning, a.turning) + cross(a_bar.moving, a.moving);
    return at.world(a_bar);
  }
  // The same of the velocity, with the wind.
  CYCLOID_HD Force<S> share_velocity(const EllipsoidPoint<S>& at, const Motion<S>& v,
                                     const LocalPair<S>& v_bar) {
    u += at.B * v_bar.moving;
    return share(at, v, at.v, v_bar);
  }
};

// Brings the cotangents of the numbers and of the place home.
template <class S, class P>
CYCLOID_HD void gather_ellipsoid(const TreeView& tree, const P* p, const Frames<S>& f,
                                 const EllipsoidPoint<S>& at, const Ellipsoid<S>& g_bar,
                                 const EllipsoidPlaceBars<S>& place, const BodyBars<S>& bars,
                                 S* p_bar) {
  const std::size_t i = static_cast<std::size_t>(at.geom);
  const GeomPlaces& to = tree.geoms[i];
  const Vec3<S> wind = vec3_of<S>(p + tree.options.wind);
  bars.pose[at.body].torque += cross(wind, place.u);
  if (!p_bar) return;
  const S of[] = {g_bar.k * at.present, g_bar.blunt, g_bar.slender,
                  g_bar.angular,        g_bar.kutta, g_bar.magnus};
  for (int k = 0; k < 6; ++k) p_bar[to.fluid + k] += of[k];
  add_to(p_bar + to.fluid + 6, g_bar.mass);
  add_to(p_bar + to.fluid + 9, g_bar.inertia);
  p_bar[tree.options.density] += g_bar.density;
  p_bar[tree.options.viscosity] += g_bar.viscosity;
  add_to(p_bar + tree.options.wind, -place.u);
  add_to(p_bar + to.pos, transpose_vector_product(f.R[at.body], place.c));
  add_to(p_bar + to.quat, place.turn);
  if (to.size < 0) return;
  Vec3<S> size_bar{};
  half_axes_pullback(tree.model.geoms[i].shape, g_bar.r, size_bar);
  add_to(p_bar + to.size, size_bar);
}

// Adds the cotangents of Φ = W·m, m a field per link.
template <class S, class P>
CYCLOID_HD void ellipsoid_wrench_pullback(const TreeView& tree, const P* p, int geom,
                                          const Frames<S>& f, const Motion<S>* v,
                                          const Motion<S>* m, const BodyBars<S>& bars, S* p_bar) {
  const EllipsoidPoint<S> at = ellipsoid_point(tree, p, geom, f, v);
  const LocalPair<S> m_local = at.local(m[at.link]);
  Ellipsoid<S> g_bar{};
  LocalPair<S> v_bar{};
  ellipsoid_law_pullback(at.g, at.v, m_local, g_bar, v_bar);
  EllipsoidPlaceBars<S> place;
  const Motion<S>&m_l = m[at.link], &v_l = v[at.link];
  add_turning_wrench(m_l, place.share(at, m_l, m_local, ellipsoid_law(at.g, at.v)), bars.m[at.body],
                     bars.pose[at.body]);
  add_turning_wrench(v_l, place.share_velocity(at, v_l, v_bar), bars.v[at.body],
                     bars.pose[at.body]);
  gather_ellipsoid(tree, p, f, at, g_bar, place, bars, p_bar);
}

// The cotangents of density and viscosity where both are zero: nothing else has one.
template <class S, class P>
CYCLOID_HD void absent_ellipsoid_pullback(const TreeView& tree, const P* p, int geom,
                                          const Frames<S>& f, const Motion<S>* v,
                                          const Motion<S>* m, S* p_bar) {
  const EllipsoidPoint<S> at = ellipsoid_point(tree, p, geom, f, v);
  Ellipsoid<S> g_bar{};
  LocalPair<S> v_bar{};
  ellipsoid_law_pullback(at.g, at.v, at.local(m[at.link]), g_bar, v_bar);
  p_bar[tree.options.density] += g_bar.density;
  p_bar[tree.options.viscosity] += g_bar.viscosity;
}

// ---- the slope ----------------------------------------------------------------------------------

template <class S>
CYCLOID_INLINE Vec3<Dual<S, 1>> moved(const Vec3<S>& x, const Vec3<S>& along) {
  Vec3<Dual<S, 1>> out{};
  for (int k = 0; k < 3; ++k) {
    out[k] = Dual<S, 1>(x[k]);
    out[k].tangent[0] = along[k];
  }
  return out;
}
template <class S>
CYCLOID_INLINE LocalPair<Dual<S, 1>> moved(const LocalPair<S>& x, const LocalPair<S>& along) {
  return {moved(x.turning, along.turning), moved(x.moving, along.moving)};
}
template <class S>
CYCLOID_INLINE Ellipsoid<Dual<S, 1>> held(const Ellipsoid<S>& g) {
  using T = Dual<S, 1>;
  const Vec3<S> still{};
  return {moved(g.r, still),
          T(g.k),
          T(g.blunt),
          T(g.slender),
          T(g.angular),
          T(g.kutta),
          T(g.magnus),
          moved(g.mass, still),
          moved(g.inertia, still),
          T(g.density),
          T(g.viscosity)};
}
template <class S>
CYCLOID_INLINE Vec3<S> tangent_of(const Vec3<Dual<S, 1>>& x) {
  return {x.x.tangent[0], x.y.tangent[0], x.z.tangent[0]};
}
template <class S>
CYCLOID_INLINE LocalPair<S> tangent_of(const LocalPair<Dual<S, 1>>& x) {
  return {tangent_of(x.turning), tangent_of(x.moving)};
}
template <class S>
CYCLOID_INLINE LocalPair<S> value_of(const LocalPair<Dual<S, 1>>& x) {
  const auto value = [](const Vec3<Dual<S, 1>>& y) {
    return Vec3<S>{y.x.value, y.y.value, y.z.value};
  };
  return {value(x.turning), value(x.moving)};
}
template <class S>
CYCLOID_INLINE LocalPair<S> operator*(const LocalPair<S>& x, const S& k) {
  return {x.turning * k, x.moving * k};
}

// The change of couple and force with a change of the velocity.
template <class S>
CYCLOID_HD LocalPair<S> ellipsoid_law_change(const Ellipsoid<S>& g, const LocalPair<S>& v,
                                             const LocalPair<S>& along) {
  return tangent_of(ellipsoid_law(held(g), moved(v, along)));
}

// An antisymmetric map from motions to forces.
template <class S>
struct SpatialSpin {
  Vec3<S> turning, moving;
  Mat3<S> coupling;  // torque of a linear motion
};
template <class S>
CYCLOID_INLINE SpatialSpin<S>& operator+=(SpatialSpin<S>& a, const SpatialSpin<S>& b) {
  a.turning += b.turning;
  a.moving += b.moving;
  a.coupling += b.coupling;
  return a;
}
template <class S>
CYCLOID_INLINE Force<S> operator*(const SpatialSpin<S>& d, const Motion<S>& y) {
  return {cross(d.turning, y.angular) + d.coupling * y.linear,
          cross(d.moving, y.linear) - transpose_vector_product(d.coupling, y.angular)};
}

// Adds (4) of a geom to its body's parts.
template <class S, class P>
CYCLOID_HD void add_ellipsoid_damping(const TreeView& tree, const P* p, int geom,
                                      const Frames<S>& f, const Motion<S>* v,
                                      SpatialDamping<S>& even, SpatialSpin<S>& odd) {
  const EllipsoidPoint<S> at = ellipsoid_point(tree, p, geom, f, v);
  S D[6][6];
  for (int k = 0; k < 6; ++k) {
    Motion<S> y{};
    (k < 3 ? y.angular : y.linear)[k % 3] = S(1);
    const Force<S> column = at.world(ellipsoid_law_change(at.g, at.v, at.local(y)));
    for (int i = 0; i < 3; ++i) D[i][k] = -column.torque[i], D[3 + i][k] = -column.force[i];
  }
  const S half(0.5);
  const auto mean = [&](int i, int j) { return half * (D[i][j] + D[j][i]); };
  const auto skew = [&](int i, int j) { return half * (D[i][j] - D[j][i]); };
  SpatialDamping<S> s;
  SpatialSpin<S> a;
  s.turning = {D[0][0], D[1][1], D[2][2], mean(0, 1), mean(0, 2), mean(1, 2)};
  s.moving = {D[3][3], D[4][4], D[5][5], mean(3, 4), mean(3, 5), mean(4, 5)};
  a.turning = {skew(2, 1), skew(0, 2), skew(1, 0)};
  a.moving = {skew(5, 4), skew(3, 5), skew(4, 3)};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      s.coupling(i, j) = mean(i, 3 + j);
      a.coupling(i, j) = skew(i, 3 + j);
    }
  }
  even += s;
  odd += a;
}

// (2) of medium_damping.h for the antisymmetric parts, in place. composite: (bodies).
template <class S>
CYCLOID_HD void composite_spins(const TreeView& tree, SpatialSpin<S>* composite) {
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const Body& body = tree.model.bodies[b];
    if (body.tree >= 0 && !tree.root[b]) composite[body.parent] += composite[b];
  }
}

// Adds h S_k·(D_a S_j) below the diagonal to L, and above, with the other sign, to U.
template <class S>
CYCLOID_HD void add_spin_matrix(const TreeView& tree, const S& h, const Motion<S>* column,
                                const SpatialSpin<S>* composite, S* L, S* U) {
  for (int k = 0; k < tree.model.nv; ++k) {
    const Force<S> F = composite[tree.dof_body[static_cast<std::size_t>(k)]] * column[k] * h;
    int at = tree.row[static_cast<std::size_t>(k)];
    for (int j = k; j >= 0; j = tree.parent_dof[static_cast<std::size_t>(j)], ++at) {
      if (j == k) continue;
      const S entry = power(F, column[j]);  // of row j and column k
      U[at] += entry;
      L[at] -= entry;
    }
  }
}
// The same for the six dofs from `first` on, into a block, row by row.
template <class S>
CYCLOID_HD void add_spin_block(const S& h, const Motion<S>* column, int first,
                               const SpatialSpin<S>& spin, S* block) {
  for (int k = 0; k < 6; ++k) {
    const Force<S> F = spin * column[first + k] * h;
    for (int i = 0; i < 6; ++i) block[6 * i + k] += power(F, column[first + i]);
  }
}

// (6): weight mᵀ(∂W/∂v) y of a geom. Returns mᵀ(∂W/∂v) y.
template <class S>
struct EllipsoidSlopeBars {
  Ellipsoid<S> g{};
  EllipsoidPlaceBars<S> place;
  Force<S> m{}, y{}, v{};

  CYCLOID_HD S add(const EllipsoidPoint<S>& at, const Motion<S>& v_field, const Motion<S>& m_field,
                   const Motion<S>& y_field, const S& weight, Force<S>& m_bar, Force<S>& y_bar) {
    const LocalPair<S> m_local = at.local(m_field), y_local = at.local(y_field);
    Ellipsoid<Dual<S, 1>> g_bar = held(Ellipsoid<S>{});
    LocalPair<Dual<S, 1>> v_bar = moved(LocalPair<S>{}, LocalPair<S>{});
    ellipsoid_law_pullback(held(at.g), moved(at.v, y_local), moved(m_local, LocalPair<S>{}), g_bar,
                           v_bar);
    const LocalPair<S> change = ellipsoid_law_change(at.g, at.v, y_local);
    m_bar += place.share(at, m_field, m_local, change * weight);
    y_bar += place.share(at, y_field, y_local, value_of(v_bar) * weight);
    v += place.share_velocity(at, v_field, tangent_of(v_bar) * weight);
    const auto tangent = [&](const Dual<S, 1>& x) { return x.tangent[0] * weight; };
    g.r += tangent_of(g_bar.r) * weight;
    g.k += tangent(g_bar.k);
    g.blunt += tangent(g_bar.blunt);
    g.slender += tangent(g_bar.slender);
    g.angular += tangent(g_bar.angular);
    g.kutta += tangent(g_bar.kutta);
    g.magnus += tangent(g_bar.magnus);
    g.mass += tangent_of(g_bar.mass) * weight;
    g.inertia += tangent_of(g_bar.inertia) * weight;
    g.density += tangent(g_bar.density);
    g.viscosity += tangent(g_bar.viscosity);
    return dot(m_local.turning, change.turning) + dot(m_local.moving, change.moving);
  }
};

// Adds the cotangents of a geom's part of Φ = -h m·(D y), or with D_s where `whole` is false;
// returns that of h.
template <class S, class P>
CYCLOID_HD S ellipsoid_damping_pullback(const TreeView& tree, const P* p, int geom, bool whole,
                                        const Frames<S>& f, const Motion<S>* v, const Motion<S>* m,
                                        const Motion<S>* y, const S& h, const BodyBars<S>& bars,
                                        Force<S>* y_bar, S* p_bar) {
  const EllipsoidPoint<S> at = ellipsoid_point(tree, p, geom, f, v);
  const Motion<S>&v_l = v[at.link], &m_l = m[at.link], &y_l = y[at.link];
  EllipsoidSlopeBars<S> own;
  S rate;
  if (whole) {
    rate = own.add(at, v_l, m_l, y_l, h, own.m, own.y);
  } else {
    const S half(0.5);
    rate = half * (own.add(at, v_l, m_l, y_l, half * h, own.m, own.y) +
                   own.add(at, v_l, y_l, m_l, half * h, own.y, own.m));
  }
  Force<S>& pose = bars.pose[at.body];
  add_turning_wrench(m_l, own.m, bars.m[at.body], pose);
  add_turning_wrench(v_l, own.v, bars.v[at.body], pose);
  add_turning_wrench(y_l, own.y, y_bar[at.body], pose);
  gather_ellipsoid(tree, p, f, at, own.g, own.place, bars, p_bar);
  return rate;
}

}  // namespace cycloid::inline rigid
