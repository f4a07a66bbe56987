// Plane and box: a touch at each of up to four corners, and their pullback.
//
// Corner i = 0…7 of a box with half-lengths a (componentwise ∘), pose (R, c):
//   s_i = (±1, ±1, ±1), bits 0, 1, 2 of i stand for + in x, y, z                           (1)
//   y_i = c + R (a ∘ s_i)                                                                 (2)
//   dist, pos: a ball of radius 0 at y_i (plane_sphere.h)                                  (3)
// A corner counts if dist ≤ margin and it does not lie above the centre, n·(y_i - c) ≤ 0; the first
// four that count are the touches, in the order of i. `feature` is i. Each touch is smooth; which
// corners count changes where an edge or face is parallel to the plane's normal.
#pragma once

#include "cycloid/geometry/pair/plane_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kPlaneBoxTouches = 4;

// s_i of (1), lane by lane.
template <class S>
CYCLOID_INLINE Vec3<S> corner_signs(const S& i) {
  const Mask<S> z = i >= S(4);
  const S below_four = select(z, i - S(4), i);
  const Mask<S> y = below_four >= S(2);
  const Mask<S> x = select(y, below_four - S(2), below_four) >= S(1);
  return {select(x, S(1), S(-1)), select(y, S(1), S(-1)), select(z, S(1), S(-1))};
}

// The first four corners that count, kNoFeature for those that are missing.
template <class S>
CYCLOID_INLINE void choose_corners(const Vec3<S>& heights, const S& centre_height, const S& margin,
                                   S* feature) {
  S count = S(0);
  for (int k = 0; k < kPlaneBoxTouches; ++k) feature[k] = S(kNoFeature);
  for (int i = 0; i < 8; ++i) {
    const S height = ((i & 1) ? heights.x : -heights.x) + ((i & 2) ? heights.y : -heights.y) +
                     ((i & 4) ? heights.z : -heights.z);
    const Mask<S> counts = (centre_height + height <= margin) & (height <= S(0));
    for (int k = 0; k < kPlaneBoxTouches && k <= i; ++k) {
      feature[k] = select(counts & (count == S(k)), S(i), feature[k]);
    }
    count = count + select(counts, S(1), S(0));
  }
}

template <class S>
CYCLOID_HD void collide_plane_box(const S*, const Pose<S>& plane, const S* size2,
                                  const Pose<S>& box, const std::type_identity_t<S>& margin,
                                  Touch<S>* out, S* feature) {
  const Vec3<S> n = axis(plane, 2), a = load_vec3(size2);
  const Vec3<S> heights = componentwise(a, transpose_vector_product(box.R, n));
  choose_corners(heights, dot(n, box.p - plane.p), margin, feature);
  for (int k = 0; k < kPlaneBoxTouches; ++k) {
    const Mask<S> used = feature[k] >= S(0);
    if (!any(used)) {
      clear_touch(out[k], feature[k]);
      continue;
    }
    const Vec3<S> y = box.p + box.R * componentwise(a, corner_signs(feature[k]));           // (2)
    write_touch(used, ball_on_plane(n, plane.p, y, S(0)), feature[k], out[k], feature[k]);  // (3)
  }
}

template <class S>
CYCLOID_HD void collide_plane_box_pullback(const S*, const Pose<S>& plane, const S* size2,
                                           const Pose<S>& box, const S* feature,
                                           const TouchBar<S>* out_bar, PoseBar<S>& plane_bar,
                                           PoseBar<S>& box_bar, S*, S* size2_bar) {
  const Vec3<S> n = axis(plane, 2), a = load_vec3(size2);
  Vec3<S> n_bar{};
  S unused = S(0);
  for (int k = 0; k < kPlaneBoxTouches; ++k) {
    if (!any(feature[k] >= S(0))) continue;
    const Vec3<S> signs = corner_signs(feature[k]), arm = box.R * componentwise(a, signs);
    Vec3<S> y_bar{};
    ball_on_plane_pullback(n, plane.p, box.p + arm, S(0), used_bar(feature[k], out_bar[k]), n_bar,
                           plane_bar.force, y_bar, unused);  // (3)
    add_point(box_bar, arm, y_bar);                          // (2)
    add_to(size2_bar, componentwise(signs, transpose_vector_product(box.R, y_bar)));
  }
  add_direction(plane_bar, n, n_bar);
}

}  // namespace cycloid::inline geometry
