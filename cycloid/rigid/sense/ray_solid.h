// Where a ray first meets a mesh or a height field.
//
// A mesh is its faces (all of them, not those of its hull), met from either side. A height field is
// the surface over its cells, the sides below the surface, and the box below it, which has a lid at
// height zero. Each is a facet, a triangle (a, b, c) or a plane that three points span:
//   n = (b - a) × (c - a),   t = n·(a - p)/(n·d)                                             (1)
// The least t ≥ 0 counts. Which facet that is is a decision; lanes are visited one by one.
//
// Pullback, with the share (α, β, γ) of the corners in the point that is met:
//   λ = -t̄/(n·d),   p̄ += λ n,   d̄ += λ t n,   (ā, b̄, c̄) -= λ (α, β, γ) n                   (2)
#pragma once

#include "cycloid/geometry/convex/mesh_pair.h"
#include "cycloid/rigid/sense/seen_solids.h"

namespace cycloid::inline rigid {

template <class T>
struct RayFacet {
  Vec3<T> a, b, c;
};

// t of (1), and -1 where the ray runs along the facet.
template <class T>
T facet_distance(const RayFacet<T>& f, const Vec3<T>& p, const Vec3<T>& d) {
  const Vec3<T> n = cross(f.b - f.a, f.c - f.a);
  const T along = dot(n, d);
  if (abs(primal(along)) < kMinLength * primal(dot(n, n))) return T(-1);
  return dot(n, f.a - p) / along;
}

// Shares of the corners in a point of the facet's plane.
template <class T>
Vec3<T> facet_shares(const RayFacet<T>& f, const Vec3<T>& x) {
  const Vec3<T> n = cross(f.b - f.a, f.c - f.a);
  const T inverse = T(1) / dot(n, n);
  return {dot(n, cross(f.b - x, f.c - x)) * inverse, dot(n, cross(f.c - x, f.a - x)) * inverse,
          dot(n, cross(f.a - x, f.b - x)) * inverse};
}

// (2): adds to p_bar, d_bar and facet_bar.
template <class T>
void facet_distance_bar(const RayFacet<T>& f, const Vec3<T>& p, const Vec3<T>& d, const T& t_bar,
                        Vec3<T>& p_bar, Vec3<T>& d_bar, RayFacet<T>& facet_bar) {
  const Vec3<T> n = cross(f.b - f.a, f.c - f.a);
  const T t = dot(n, f.a - p) / dot(n, d), lambda = -t_bar / dot(n, d);
  const Vec3<T> share = facet_shares(f, p + d * t);
  p_bar += n * lambda;
  d_bar += n * (lambda * t);
  facet_bar.a -= n * (lambda * share.x);
  facet_bar.b -= n * (lambda * share.y);
  facet_bar.c -= n * (lambda * share.z);
}

// What is met: a face of a mesh, a prism's surface, or below -1 a plane of a height field's box.
struct MetFacet {
  double t = -1;
  int facet = -1;

  void take(double other, int which) {
    if (other >= 0 && (t < 0 || other < t)) t = other, facet = which;
  }
};

// The planes of a height field's box: x, y below and above, the bottom, the lid.
inline constexpr int kFirstPlane = -2, kBoxPlanes = 6;

template <class T>
RayFacet<T> box_plane(const HeightField& field, int plane) {
  const int axis = plane / 2;
  const double end[kBoxPlanes] = {-field.size[0], field.size[0],  -field.size[1],
                                  field.size[1],  -field.size[3], 0};
  RayFacet<T> f{};
  f.a[axis] = f.b[axis] = f.c[axis] = T(end[plane]);
  f.b[(axis + 1) % 3] = T(1), f.c[(axis + 2) % 3] = T(1);
  return f;
}

template <class T>
RayFacet<T> mesh_facet(const Hull& hull, const int* face) {
  return {hull.vertex<T>(face[0]), hull.vertex<T>(face[1]), hull.vertex<T>(face[2])};
}
// The surface over half a cell: corners 3, 4, 5 of its prism.
template <class T>
RayFacet<T> prism_facet(const Prism& prism) {
  return {prism.hull.vertex<T>(3), prism.hull.vertex<T>(4), prism.hull.vertex<T>(5)};
}

// By so much, of its size, a triangle reaches over its edges: no ray passes between two of them.
inline constexpr double kSeam = 1e-12;

inline bool meets_triangle(const RayFacet<double>& f, const Vec3<double>& p, const Vec3<double>& d,
                           double t) {
  if (t < 0) return false;
  const Vec3<double> share = facet_shares(f, p + d * t);
  return share.x >= -kSeam && share.y >= -kSeam && share.z >= -kSeam;
}

inline MetFacet ray_mesh(const Mesh& mesh, const SolidShape& s, const Vec3<double>& p,
                         const Vec3<double>& d) {
  MetFacet met;
  const double along = dot(p, d), gap = dot(p, p) - along * along / dot(d, d);
  if (gap > s.radius * s.radius * (1 + 1e-9)) return met;
  for (std::size_t i = 0; i + 3 <= mesh.faces.size(); i += 3) {
    const RayFacet<double> f = mesh_facet<double>(s.hull, mesh.faces.data() + i);
    const double t = facet_distance(f, p, d);
    if (meets_triangle(f, p, d, t)) met.take(t, static_cast<int>(i / 3));
  }
  return met;
}

// The height of the surface over the rim at x, along side `axis` (0: x varies), row or column 0 or
// last.
inline double rim_height(const HeightField& field, int axis, bool last, double x) {
  const int n = axis == 0 ? field.columns : field.rows;
  const double at = std::clamp((x / field.size[axis] + 1) * 0.5 * (n - 1), 0.0, n - 1.0);
  const int low = std::min(static_cast<int>(at), n - 2);
  const int other = last ? (axis == 0 ? field.rows : field.columns) - 1 : 0;
  const auto height = [&](int i) {
    return field.height(axis == 0 ? other * field.columns + i : i * field.columns + other);
  };
  return height(low) + (at - low) * (height(low + 1) - height(low));
}

inline MetFacet ray_field(const SolidShape& s, const Vec3<double>& p, const Vec3<double>& d) {
  const HeightField& field = s.field;
  MetFacet met;
  double begin = 0, end = 1e300;  // where the ray is over the field
  for (int plane = 0; plane < kBoxPlanes; ++plane) {
    const int axis = plane / 2;
    const double t = facet_distance(box_plane<double>(field, plane), p, d);
    if (t < 0) continue;
    const Vec3<double> x = p + d * t;
    const auto within = [&](int k) { return std::abs(x[k]) <= field.size[k]; };
    if (axis == 2) {
      if (within(0) && within(1)) met.take(t, kFirstPlane - plane);
      continue;
    }
    const int side = 1 - axis;
    if (!within(side) || x.z < -field.size[3]) continue;
    if (x.z <= rim_height(field, side, plane % 2 == 1, x[side])) met.take(t, kFirstPlane - plane);
  }
  for (int k = 0; k < 2; ++k) {
    if (d[k] == 0) {
      if (std::abs(p[k]) > field.size[k]) return met;
      continue;
    }
    const double one = (-field.size[k] - p[k]) / d[k], two = (field.size[k] - p[k]) / d[k];
    begin = std::max(begin, std::min(one, two)), end = std::min(end, std::max(one, two));
  }
  if (d.z != 0) {  // between the lid and the top of the highest prism
    const double top = s.middle.z + s.half.z, one = -p.z / d.z, two = (top - p.z) / d.z;
    begin = std::max(begin, std::min(one, two)), end = std::min(end, std::max(one, two));
  }
  if (!(begin <= end * (1 + 1e-9) + 1e-9)) return met;
  const auto cells = [&](int k, int count, int& low, int& high) {
    const double a = (p[k] + begin * d[k]) / field.size[k], b = (p[k] + end * d[k]) / field.size[k];
    const auto cell = [&](double x) { return (std::clamp(x, -1.0, 1.0) + 1) * 0.5 * count; };
    low = std::max(0, static_cast<int>(cell(std::min(a, b))) - 1);
    high = std::min(count, static_cast<int>(cell(std::max(a, b))) + 2);
  };
  int left, right, lower, upper;
  cells(0, field.columns - 1, left, right);
  cells(1, field.rows - 1, lower, upper);
  for (int r = lower; r < upper; ++r) {
    for (int i = 2 * (r * (field.columns - 1) + left); i < 2 * (r * (field.columns - 1) + right);
         ++i) {
      const Prism prism(field, i);
      const RayFacet<double> f = prism_facet<double>(prism);
      const double t = facet_distance(f, p, d);
      if (meets_triangle(f, p, d, t)) met.take(t, i);
    }
  }
  return met;
}

inline MetFacet ray_solid(const Mesh* mesh, const SolidShape& s, const Vec3<double>& p,
                          const Vec3<double>& d) {
  return mesh ? ray_mesh(*mesh, s, p, d) : ray_field(s, p, d);
}

// The same for lane l of a ray.
template <class S>
MetFacet met_in_lane(const Mesh* mesh, const SolidShape& s, const Vec3<S>& p, const Vec3<S>& d,
                     int l) {
  const auto plain = [&](const Vec3<S>& v) {
    const auto own = take_lane(v, l);
    return Vec3<double>{primal(own.x), primal(own.y), primal(own.z)};
  };
  return ray_solid(mesh, s, plain(p), plain(d));
}

template <class T>
RayFacet<T> met_facet(const Mesh* mesh, const SolidShape& s, const MetFacet& met) {
  if (met.facet <= kFirstPlane) return box_plane<T>(s.field, kFirstPlane - met.facet);
  if (mesh) return mesh_facet<T>(s.hull, mesh->faces.data() + 3 * met.facet);
  return prism_facet<T>(Prism(s.field, met.facet));
}

// Adds to the cotangents of points and heights; the planes of a box have none.
template <class T>
void give_facet(const Mesh* mesh, const SolidShape& s, const MetFacet& met,
                const RayFacet<T>& bar) {
  if (met.facet <= kFirstPlane) return;
  const Vec3<T>* const corner[3] = {&bar.a, &bar.b, &bar.c};
  if (mesh) {
    const int* const face = mesh->faces.data() + 3 * met.facet;
    for (int k = 0; k < 3; ++k) s.hull_bar.add_vertex(face[k], *corner[k]);
    return;
  }
  Prism prism(s.field, met.facet);
  const HullBar to = prism.bar();
  for (int k = 0; k < 3; ++k) to.add_vertex(3 + k, *corner[k]);
  prism.give(s.field, s.field_bar);
}

// mesh: null for a height field. -1 in lanes whose ray passes by.
template <class S>
S ray_solid_distance(const Mesh* mesh, const SolidShape& s, const Vec3<S>& p, const Vec3<S>& d) {
  using T = LaneScalar<S>;
  S out(-1);
  for (int l = 0; l < kLanes<S>; ++l) {
    const MetFacet met = met_in_lane(mesh, s, p, d, l);
    if (met.t < 0) continue;
    put_lane(out, l, facet_distance(met_facet<T>(mesh, s, met), take_lane(p, l), take_lane(d, l)));
  }
  return out;
}

// Adds to p_bar, d_bar and, where `gives`, to the cotangents of points and heights. t_bar: zero in
// lanes that do not count.
template <class S>
void ray_solid_distance_pullback(const Mesh* mesh, const SolidShape& s, const Vec3<S>& p,
                                 const Vec3<S>& d, const S& t_bar, bool gives, Vec3<S>& p_bar,
                                 Vec3<S>& d_bar) {
  using T = LaneScalar<S>;
  for (int l = 0; l < kLanes<S>; ++l) {
    const T bar = take_lane(t_bar, l);
    if (primal(bar) == 0) continue;
    const MetFacet met = met_in_lane(mesh, s, p, d, l);
    if (met.t < 0) continue;
    Vec3<T> own_p{}, own_d{};
    RayFacet<T> facet_bar{};
    facet_distance_bar(met_facet<T>(mesh, s, met), take_lane(p, l), take_lane(d, l), bar, own_p,
                       own_d, facet_bar);
    if (gives && !(s.left_out && s.left_out[l])) give_facet(mesh, s, met, facet_bar);
    add_lane(p_bar, l, own_p);
    add_lane(d_bar, l, own_d);
  }
}

}  // namespace cycloid::inline rigid
