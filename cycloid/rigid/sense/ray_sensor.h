// The distance along a ray to the nearest geom, and its normal there (rangefinder).
//
// In the axes of a geom at x_g, R_g, with the ray's begin x_o and its direction e:
//   p = R_gᵀ (x_o - x_g),   d = R_gᵀ e                                                        (1)
//   t: the first t ≥ 0 at which p + t d is on the geom's surface, from inside as well          (2)
// The least t counts, of all geoms that are drawn and not on the ray's own body, and -1 where there
// is none. Which geom that is, and where its surface is met, is a decision: t jumps
// where the ray grazes a shape. A plane is met from above alone, and within its size; meshes and
// height fields are ray_solid.h.
//
// Pullback: the surface is φ(x; size) = 0 (ray_surface), so that with the normal n = ∇φ at the hit
//   λ = -t̄/(n·d),   p̄ = λ n,   d̄ = λ t n,   the size's cotangent λ ∂φ/∂size              (3)
// In the world x̄_o = R_g p̄ = -x̄_g, ē = R_g d̄, and R_g turns by -(x_o - x_g) × x̄_o - e × ē. (4)
// The normal R_g n (ray_normal.h) turns with R_g; its n depends on x = p + t d, so that
//   p̄ += x̄,   d̄ += t x̄,   t̄ += x̄·d                                                    (5)
// Source: MuJoCo's manual, sensor rangefinder.
#pragma once

#include "cycloid/rigid/force/ellipsoid_force.h"
#include "cycloid/rigid/sense/ray_normal.h"
#include "cycloid/rigid/sense/sensed_frame.h"

namespace cycloid::inline rigid {

// The solids that rays may meet.
struct RaySolids {
  SeenShapes seen;
  const std::vector<Mesh>* meshes = nullptr;

  // Whether a ray finds a geom.
  bool has_surface(const Geom& g, int id) const {
    if (g.shape == Shape::mesh) return seen.at(id) && !mesh(g)->faces.empty();
    return g.shape == Shape::hfield ? seen.at(id) != nullptr : g.shape != Shape::other;
  }
  // Of a mesh its faces, of a height field null.
  const Mesh* mesh(const Geom& g) const {
    return g.shape == Shape::mesh ? meshes->data() + g.data : nullptr;
  }
};
inline bool is_ray_solid(Shape s) { return s == Shape::mesh || s == Shape::hfield; }

// Where a line is inside a solid.
template <class S>
Stretch<S> line_in_solid(Shape shape, const Vec3<S>& size, const Vec3<S>& p, const Vec3<S>& d) {
  const S square = size.x * size.x;
  switch (shape) {
    case Shape::sphere: return line_in_ball(p, d, square);
    case Shape::ellipsoid: return line_in_ball(divided(p, size), divided(d, size), S(1));
    case Shape::box:
      return common(common(line_in_slab(p.x, d.x, size.x), line_in_slab(p.y, d.y, size.y)),
                    line_in_slab(p.z, d.z, size.z));
    default: break;
  }
  const Stretch<S> tube = common(line_in_tube(p, d, square), line_in_slab(p.z, d.z, size.y));
  if (shape == Shape::cylinder) return tube;
  // A capsule is convex: what is inside of its parts is one stretch.
  Stretch<S> all{S(1e30), S(-1e30)};
  const Vec3<S> end{S(0), S(0), size.y};
  for (const Stretch<S>& part :
       {tube, line_in_ball(p - end, d, square), line_in_ball(p + end, d, square)}) {
    const Mask<S> meets = part.low <= part.high;
    all.low = select(meets, min(all.low, part.low), all.low);
    all.high = select(meets, max(all.high, part.high), all.high);
  }
  return all;
}

// (2), or -1.
template <class S>
S ray_distance(Shape shape, const Vec3<S>& size, const Vec3<S>& p, const Vec3<S>& d) {
  const S none(-1), zero(0);
  if (shape == Shape::plane) {
    const Mask<S> down = d.z < -number<S>(1e-15);
    const S t = -p.z / select(down, d.z, S(-1));
    Mask<S> meets = down & (t >= zero);
    meets = meets & ((size.x <= zero) | (abs(p.x + t * d.x) <= size.x));
    meets = meets & ((size.y <= zero) | (abs(p.y + t * d.y) <= size.y));
    return select(meets, t, none);
  }
  const Stretch<S> in = line_in_solid(shape, size, p, d);
  return select((in.low <= in.high) & (in.high >= zero), select(in.low >= zero, in.low, in.high),
                none);
}

// (3): adds to size_bar, p_bar and d_bar.
template <class S>
void ray_distance_pullback(Shape shape, const Vec3<S>& size, const Vec3<S>& p, const Vec3<S>& d,
                           const S& t, const S& t_bar, Vec3<S>& size_bar, Vec3<S>& p_bar,
                           Vec3<S>& d_bar) {
  const RaySurface<S> at = ray_surface(shape, size, p + d * t);
  const S along = dot(at.n, d), zero(0);
  const Mask<S> meets = (t >= zero) & (along != zero);
  const S lambda = select(meets, -t_bar / select(meets, along, S(1)), zero);
  p_bar += at.n * lambda;
  d_bar += at.n * (lambda * t);
  size_bar += at.size * lambda;
}

// A ray in the world: from x, which is seen from the origin of a tree, along e. body: its own.
template <class S>
struct Ray {
  int body;
  Vec3<S> origin, x, e;
};
template <class S>
struct RayBars {
  Vec3<S> x{}, e{};
};

// The nearest geom of each lane, and its distance; -1 without one.
template <class S>
struct RayHit {
  S t, geom;
};
// Cotangents of t and of the normal.
template <class S>
struct HitBars {
  S t{};
  Vec3<S> n{};
};

// A geom and a ray in its axes.
template <class S>
struct RayTarget {
  FrameMount on;
  SensedFrame<S> at;
  Vec3<S> from, p, d;  // x_o - x_g in the world, and (1)

  template <class P>
  RayTarget(const TreeView& tree, const P* parameters, int geom, const Ray<S>& ray,
            const Frames<S>& f, const Motion<S>* v, const Motion<S>* a)
      : on(frame_mount(tree, static_cast<int>(ObjectKind::geom), geom)),
        at(sensed_frame(tree, parameters, on, f, v, a)),
        from((ray.origin - at.origin) + (ray.x - at.x)),
        p(rotate_inverse(at.q, from)),
        d(rotate_inverse(at.q, ray.e)) {}
};

template <class S, class P>
RayHit<S> cast_ray(const TreeView& tree, const P* p, const Ray<S>& ray, const Frames<S>& f,
                   const Motion<S>* v, const Motion<S>* a, const RaySolids& solids = {}) {
  RayHit<S> hit{S(-1), S(-1)};
  for (std::size_t i = 0; i < tree.model.geoms.size(); ++i) {
    const Geom& g = tree.model.geoms[i];
    const int id = static_cast<int>(i);
    if (!g.drawn || g.body == ray.body || !solids.has_surface(g, id)) continue;
    const RayTarget<S> to(tree, p, id, ray, f, v, a);
    const S t = is_ray_solid(g.shape)
                    ? ray_solid_distance(solids.mesh(g), *solids.seen.at(id), to.p, to.d)
                    : ray_distance(g.shape, geom_size<S>(tree, p, id), to.p, to.d);
    const Mask<S> nearer = (t >= S(0)) & ((hit.t < S(0)) | (t < hit.t));
    hit.t = select(nearer, t, hit.t);
    hit.geom = select(nearer, S(id), hit.geom);
  }
  return hit;
}

// visit(geom, its index, lanes) for the geoms that some lane hits.
template <class S, class Visit>
void for_each_hit(const TreeView& tree, const RayHit<S>& hit, Visit visit) {
  for (std::size_t i = 0; i < tree.model.geoms.size(); ++i) {
    const Mask<S> own = hit.geom == S(static_cast<int>(i));
    if (any(own)) visit(tree.model.geoms[i], static_cast<int>(i), own);
  }
}

// The normal where it hits, in the world.
template <class S, class P>
Vec3<S> hit_normal(const TreeView& tree, const P* p, const Ray<S>& ray, const Frames<S>& f,
                   const Motion<S>* v, const Motion<S>* a, const RayHit<S>& hit,
                   const RaySolids& solids = {}) {
  Vec3<S> out{};
  for_each_hit(tree, hit, [&](const Geom& g, int id, const Mask<S>& own) {
    const RayTarget<S> to(tree, p, id, ray, f, v, a);
    const Vec3<S> n = is_ray_solid(g.shape)
                          ? ray_solid_normal(solids.mesh(g), *solids.seen.at(id), to.p, to.d)
                          : ray_normal(g.shape, geom_size<S>(tree, p, id), to.p + to.d * hit.t);
    out = select(own, rotate(to.at.q, n), out);
  });
  return out;
}

// Adds to ray_bar, to the bodies of the geoms that are hit, and to p_bar unless it is null.
template <class S, class P>
void cast_ray_pullback(const TreeView& tree, const P* p, const Ray<S>& ray, const Frames<S>& f,
                       const Motion<S>* v, const Motion<S>* a, const RayHit<S>& hit,
                       const HitBars<S>& hit_bar, RayBars<S>& ray_bar, const BodyBars<S>& bars,
                       S* p_bar, const RaySolids& solids = {}) {
  for_each_hit(tree, hit, [&](const Geom& g, int id, const Mask<S>& own) {
    const RayTarget<S> to(tree, p, id, ray, f, v, a);
    const Vec3<S> n_bar = rotate_inverse(to.at.q, select(own, hit_bar.n, Vec3<S>{}));
    S t_bar = select(own, hit_bar.t, S(0));
    Vec3<S> size_bar{}, x_bar{}, e_bar{}, n{};
    if (is_ray_solid(g.shape)) {
      const SolidShape& solid = *solids.seen.at(id);
      n = ray_solid_normal(solids.mesh(g), solid, to.p, to.d);
      ray_solid_normal_bar(solids.mesh(g), solid, to.p, to.d, n_bar, p_bar != nullptr);
      ray_solid_distance_pullback(solids.mesh(g), solid, to.p, to.d, t_bar, p_bar != nullptr, x_bar,
                                  e_bar);
    } else {
      const Vec3<S> size = geom_size<S>(tree, p, id), x = to.p + to.d * hit.t;
      n = ray_normal(g.shape, size, x);
      ray_normal_pullback(g.shape, size, x, n_bar, size_bar, x_bar);
      t_bar += dot(x_bar, to.d);  // (5)
      e_bar += x_bar * hit.t;
      ray_distance_pullback(g.shape, size, to.p, to.d, hit.t, t_bar, size_bar, x_bar, e_bar);
    }
    x_bar = rotate(to.at.q, x_bar), e_bar = rotate(to.at.q, e_bar);  // (4)
    SensedFrameBars<S> at_bar;
    ray_bar.x += x_bar;
    at_bar.x -= x_bar;
    ray_bar.e += e_bar;
    at_bar.turn += rotate(to.at.q, cross(n, n_bar)) - cross(to.from, x_bar) - cross(ray.e, e_bar);
    sensed_frame_pullback(to.on, f, to.at, at_bar, bars, p_bar);
    const int size = tree.geoms[static_cast<std::size_t>(id)].size;
    if (p_bar && size >= 0) add_to(p_bar + size, size_bar);
  });
}

}  // namespace cycloid::inline rigid
