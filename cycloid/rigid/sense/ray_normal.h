// The outward normal of the surface that a ray meets, in the axes of the geom.
//
//   shapes    n = g/|g|,   g = ∇φ at the point x that is met (ray_surface)                   (1)
//   facets    n = ±g/|g|,  g = (b - a) × (c - a): of a mesh by the order of its corners, of a
//             height field upwards and out of its box                                        (2)
// Which face or facet that is is a decision.
//
// Pullback: ḡ = (n̄ - n (n·n̄))/|g|, and then
//   x̄ += H ḡ,   size¯ += (∂g/∂size)ᵀ ḡ       H: the second derivatives of φ                    (3)
//   b̄ += (c - a) × ḡ,   c̄ += ḡ × (b - a),   ā -= both                                        (4)
#pragma once

#include "cycloid/rigid/sense/ray_solid.h"
#include "cycloid/rigid/sense/ray_surface.h"

namespace cycloid::inline rigid {

// (1)
template <class S>
Vec3<S> ray_normal(Shape shape, const Vec3<S>& size, const Vec3<S>& x) {
  return normalise(ray_surface(shape, size, x).n);
}

// (3): adds to size_bar and x_bar.
template <class S>
void ray_normal_pullback(Shape shape, const Vec3<S>& size, const Vec3<S>& x, const Vec3<S>& n_bar,
                         Vec3<S>& size_bar, Vec3<S>& x_bar) {
  const S zero(0);
  const Vec3<S> g = ray_surface(shape, size, x).n;
  Vec3<S> bar{};
  normalise_pullback(g, n_bar, bar);
  switch (shape) {
    case Shape::sphere: x_bar += bar; return;
    case Shape::ellipsoid:
      for (int k = 0; k < 3; ++k) {
        const S own = bar[k] / (size[k] * size[k]);
        x_bar[k] += own;
        size_bar[k] -= S(2) * x[k] * own / size[k];
      }
      return;
    case Shape::capsule: {
      const S beyond = select(abs(x.z) > size.y, bar.z, zero);
      x_bar += Vec3<S>{bar.x, bar.y, beyond};
      size_bar.y -= select(x.z < zero, -beyond, beyond);
      return;
    }
    case Shape::cylinder: {  // of the side
      const Mask<S> side = g.z == zero;
      x_bar += Vec3<S>{select(side, bar.x, zero), select(side, bar.y, zero), zero};
      return;
    }
    default: return;  // planes and boxes: constant
  }
}

// The sign of (2).
template <class T>
double facet_side(const Mesh* mesh, const MetFacet& met, const RayFacet<T>& f) {
  if (mesh) return 1;
  if (met.facet > kFirstPlane) return primal(cross(f.b - f.a, f.c - f.a).z) < 0 ? -1 : 1;
  return (kFirstPlane - met.facet) % 2 == 0 ? -1 : 1;
}

// (2) in each lane; zero where the ray passes by.
template <class S>
Vec3<S> ray_solid_normal(const Mesh* mesh, const SolidShape& s, const Vec3<S>& p,
                         const Vec3<S>& d) {
  using T = LaneScalar<S>;
  Vec3<S> out{};
  for (int l = 0; l < kLanes<S>; ++l) {
    const MetFacet met = met_in_lane(mesh, s, p, d, l);
    if (met.t < 0) continue;
    const RayFacet<T> f = met_facet<T>(mesh, s, met);
    add_lane(out, l, normalise(cross(f.b - f.a, f.c - f.a)) * T(facet_side(mesh, met, f)));
  }
  return out;
}

// (4), where `gives`. n_bar: zero in lanes that do not count.
template <class S>
void ray_solid_normal_bar(const Mesh* mesh, const SolidShape& s, const Vec3<S>& p, const Vec3<S>& d,
                          const Vec3<S>& n_bar, bool gives) {
  using T = LaneScalar<S>;
  for (int l = 0; gives && l < kLanes<S>; ++l) {
    const Vec3<T> bar = take_lane(n_bar, l);
    if (primal(dot(bar, bar)) == 0 || (s.left_out && s.left_out[l])) continue;
    const MetFacet met = met_in_lane(mesh, s, p, d, l);
    if (met.t < 0) continue;
    const RayFacet<T> f = met_facet<T>(mesh, s, met);
    const Vec3<T> one = f.b - f.a, two = f.c - f.a;
    Vec3<T> g_bar{};
    normalise_pullback(cross(one, two), bar * T(facet_side(mesh, met, f)), g_bar);
    const Vec3<T> b_bar = cross(two, g_bar), c_bar = cross(g_bar, one);
    give_facet(mesh, s, met, RayFacet<T>{-b_bar - c_bar, b_bar, c_bar});
  }
}

}  // namespace cycloid::inline rigid
