// The distance from a site to the nearest geom along the site's z axis (rangefinder).
//
// In the axes of a geom at x_g, R_g, with the site at x_o and its z axis e:
//   p = R_gᵀ (x_o - x_g),   d = R_gᵀ e                                                        (1)
//   t: the first t ≥ 0 at which p + t d is on the geom's surface, from inside as well          (2)
// The sensor shows the least t of all geoms that are drawn and not on the site's own body, and -1
// where there is none. Which geom that is, and where its surface is met, is a decision: t jumps
// where the ray grazes a shape. A plane is met from above alone, and within its size; meshes and
// height fields are ray_solid.h.
//
// Pullback: the surface is φ(x; size) = 0 (ray_surface), so that with the normal n = ∇φ at the hit
//   λ = -t̄/(n·d),   p̄ = λ n,   d̄ = λ t n,   the size's cotangent λ ∂φ/∂size              (3)
// In the world x̄_o = R_g p̄ = -x̄_g, ē = R_g d̄, and R_g turns by -(x_o - x_g) × x̄_o - e × ē. (4)
// Source: MuJoCo's manual, sensor rangefinder.
#pragma once

#include "cycloid/rigid/force/ellipsoid_force.h"
#include "cycloid/rigid/sense/ray_solid.h"
#include "cycloid/rigid/sense/sensed_frame.h"
#include "cycloid/rigid/sense/site_zone.h"

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

// ∇φ and ∂φ/∂size at a point x of the surface.
template <class S>
struct RaySurface {
  Vec3<S> n{}, size{};
};

template <class S>
RaySurface<S> ray_surface(Shape shape, const Vec3<S>& size, const Vec3<S>& x) {
  const S zero(0), one(1);
  const auto sign = [&](const S& a) { return select(a < zero, -one, one); };
  RaySurface<S> out;
  switch (shape) {
    case Shape::plane: out.n.z = one; return out;
    case Shape::sphere: return {x, {-size.x, zero, zero}};
    case Shape::ellipsoid: {
      const Vec3<S> q = divided(x, size), n = divided(q, size);
      return {n, {-q.x * n.x, -q.y * n.y, -q.z * n.z}};
    }
    case Shape::capsule: {
      const S over = x.z - min(max(x.z, -size.y), size.y);
      return {{x.x, x.y, over}, {-size.x, -sign(x.z) * over, zero}};
    }
    case Shape::cylinder: {  // the end that is met, or the side
      const S at_end = size.y - abs(x.z), at_side = size.x - sqrt(x.x * x.x + x.y * x.y);
      const Mask<S> end = abs(at_end) < abs(at_side);
      out.n = select(end, Vec3<S>{zero, zero, sign(x.z)}, Vec3<S>{x.x, x.y, zero});
      out.size = select(end, Vec3<S>{zero, -one, zero}, Vec3<S>{-size.x, zero, zero});
      return out;
    }
    default: {  // the face that is met
      const Vec3<S> gap{abs(size.x - abs(x.x)), abs(size.y - abs(x.y)), abs(size.z - abs(x.z))};
      const Mask<S> on_x = (gap.x <= gap.y) & (gap.x <= gap.z), on_y = (!on_x) & (gap.y <= gap.z);
      out.n.x = select(on_x, sign(x.x), zero), out.size.x = select(on_x, -one, zero);
      out.n.y = select(on_y, sign(x.y), zero), out.size.y = select(on_y, -one, zero);
      out.n.z = select(on_x | on_y, zero, sign(x.z));
      out.size.z = select(on_x | on_y, zero, -one);
      return out;
    }
  }
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

// The nearest geom of each lane, and its distance; -1 without one.
template <class S>
struct RayHit {
  S t, geom;
};

template <class S, class P>
SensedFrame<S> ray_target(const TreeView& tree, const P* p, int geom, const Frames<S>& f,
                          const Motion<S>* v, const Motion<S>* a) {
  return sensed_frame(tree, p, frame_mount(tree, static_cast<int>(ObjectKind::geom), geom), f, v,
                      a);
}

// o: the site's frame, on its body.
template <class S, class P>
RayHit<S> cast_ray(const TreeView& tree, const P* p, const SensedFrame<S>& o, const Frames<S>& f,
                   const Motion<S>* v, const Motion<S>* a, const RaySolids& solids = {}) {
  const Vec3<S> e = rotate(o.q, Vec3<S>{S(0), S(0), S(1)});
  RayHit<S> hit{S(-1), S(-1)};
  for (std::size_t i = 0; i < tree.model.geoms.size(); ++i) {
    const Geom& g = tree.model.geoms[i];
    const int id = static_cast<int>(i);
    if (!g.drawn || g.body == o.body || !solids.has_surface(g, id)) continue;
    const SensedFrame<S> at = ray_target(tree, p, id, f, v, a);
    const Vec3<S> from = (o.origin - at.origin) + (o.x - at.x);
    const Vec3<S> begin = rotate_inverse(at.q, from), along = rotate_inverse(at.q, e);
    const S t = is_ray_solid(g.shape)
                    ? ray_solid_distance(solids.mesh(g), *solids.seen.at(id), begin, along)
                    : ray_distance(g.shape, geom_size<S>(tree, p, id), begin, along);
    const Mask<S> nearer = (t >= S(0)) & ((hit.t < S(0)) | (t < hit.t));
    hit.t = select(nearer, t, hit.t);
    hit.geom = select(nearer, S(id), hit.geom);
  }
  return hit;
}

// Adds to o_bar, to the bodies of the geoms that are hit, and to p_bar unless it is null.
template <class S, class P>
void cast_ray_pullback(const TreeView& tree, const P* p, const SensedFrame<S>& o,
                       const Frames<S>& f, const Motion<S>* v, const Motion<S>* a,
                       const RayHit<S>& hit, const S& t_bar, SensedFrameBars<S>& o_bar,
                       const BodyBars<S>& bars, S* p_bar, const RaySolids& solids = {}) {
  const Vec3<S> e = rotate(o.q, Vec3<S>{S(0), S(0), S(1)});
  for (std::size_t i = 0; i < tree.model.geoms.size(); ++i) {
    const Geom& g = tree.model.geoms[i];
    const int id = static_cast<int>(i);
    const Mask<S> own = hit.geom == S(id);
    if (!any(own)) continue;
    const FrameMount on = frame_mount(tree, static_cast<int>(ObjectKind::geom), id);
    const SensedFrame<S> at = sensed_frame(tree, p, on, f, v, a);
    const Vec3<S> from = (o.origin - at.origin) + (o.x - at.x);
    Vec3<S> size{}, x_bar{}, e_bar{};
    const Vec3<S> begin = rotate_inverse(at.q, from), along = rotate_inverse(at.q, e);
    const S own_bar = select(own, t_bar, S(0));
    if (is_ray_solid(g.shape)) {
      ray_solid_distance_pullback(solids.mesh(g), *solids.seen.at(id), begin, along, own_bar,
                                  p_bar != nullptr, x_bar, e_bar);
    } else {
      ray_distance_pullback(g.shape, geom_size<S>(tree, p, id), begin, along, hit.t, own_bar, size,
                            x_bar, e_bar);
    }
    x_bar = rotate(at.q, x_bar), e_bar = rotate(at.q, e_bar);  // (4)
    SensedFrameBars<S> at_bar;
    o_bar.x += x_bar;
    at_bar.x -= x_bar;
    o_bar.turn += cross(e, e_bar);
    at_bar.turn -= cross(from, x_bar) + cross(e, e_bar);
    sensed_frame_pullback(tree, on, f, v, a, at, at_bar, bars, p_bar);
    if (p_bar && tree.geoms[i].size >= 0) add_to(p_bar + tree.geoms[i].size, size);
  }
}

}  // namespace cycloid::inline rigid
