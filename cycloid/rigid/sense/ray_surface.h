// The surface of a shape that a ray meets, as φ(x; size) = 0 with φ > 0 outside.
//
//   plane z;   sphere ½(x² - r²);   ellipsoid ½(Σ x_k²/s_k² - 1);   capsule, cylinder, box: of the
//   part that is met, by its distance or half the difference of squares                      (1)
#pragma once

#include "cycloid/math/spatial.h"
#include "cycloid/model/model.h"
#include "cycloid/rigid/sense/site_zone.h"

namespace cycloid::inline rigid {

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

}  // namespace cycloid::inline rigid
