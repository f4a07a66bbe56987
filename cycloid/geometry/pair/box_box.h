// box_box: up to eight contacts of two boxes, and the pullback.
//
// The direction of contact is the one of largest separation among the fifteen that can separate two
// boxes: the six face normals and the nine cross products of edges (Gottschalk, Lin & Manocha
// 1996). A face that wins is the reference; the face of the other box that looks at it most
// directly is clipped to it, and every corner of the clipped polygon within the margin is a
// contact. An edge pair that wins gives one contact. box_contact.h has the laws of both.
//
// Set and order are MuJoCo's, which prefers faces: a pair of edges must be better than the best
// face by kEdgeBias of its depth, and by kEdgeGain of the face's when its direction is within 8
// degrees of the face's normal. Corners of the polygon closer than kSameCorner times the face's
// diagonal are one contact. Edges of the two faces that coincide to rounding do not cut each other.
//
// The direction is found in all lanes at once, in double; faces are clipped lane by lane
// (by_lane.h). Given which features meet, contacts of faces and their cotangents are computed in
// all lanes at once, in double too.
#pragma once

#include "cycloid/geometry/pair/box_contact.h"
#include "cycloid/geometry/pair/box_separation.h"

namespace cycloid::inline geometry {

inline constexpr int kBoxBoxTouches = 8;

// The contacts of one lane; returns their number.
CYCLOID_HD int find_box_box(const GeomPair<double>& g, double margin, FoundContact* found);
// The same, where the direction of contact is known.
CYCLOID_HD int clip_boxes(const GeomPair<double>& g, const BoxRelative<double>& r, int which,
                          double margin, FoundContact* found);

// Codes of faces, lane by lane; one of another kind counts as the first.
template <class S>
CYCLOID_HD BoxFaceChoice<DoubleLanes<S>> decode_box_faces(const S& feature) {
  constexpr int N = kLanes<S>;
  Scalar<S> code[N];
  double number[7][N];
  store(code, feature);
  for (int l = 0; l < N; ++l) {
    const int c = static_cast<int>(code[l]);
    const BoxFaceFeature f = decode_box_face(c >= 0 && c < kBoxFaceCodes ? c : 0);
    number[0][l] = f.reference, number[1][l] = f.a, number[2][l] = f.a_sign;
    number[3][l] = f.b, number[4][l] = f.b_sign;
    number[5][l] = f.line[0], number[6][l] = f.line[1];
  }
  using X = DoubleLanes<S>;
  const auto at = [&](int i) { return load<X>(static_cast<const double*>(number[i])); };
  return {at(0), at(1), at(2), at(3), at(4), {at(5), at(6)}};
}

// The faces of each lane: all its contacts have the same.
template <class S>
CYCLOID_HD BoxFaceChoice<DoubleLanes<S>> chosen_box_faces(const S* feature) {
  S first = feature[kBoxBoxTouches - 1];
  for (int k = kBoxBoxTouches - 2; k >= 0; --k) {
    first = select(feature[k] >= S(0), feature[k], first);
  }
  return decode_box_faces(first);
}

// The touches of these features, in lanes; those of edges one by one.
template <class S>
[[gnu::noinline]] CYCLOID_HD void box_box_touches(const GeomPair<DoubleLanes<S>>& g,
                                                  const S* feature, Touch<S>* out) {
  using X = DoubleLanes<S>;
  const BoxFaces<X> F = box_faces(g, chosen_box_faces(feature));
  for (int k = 0; k < kBoxBoxTouches; ++k) {
    S unused;
    clear_touch(out[k], unused);
    const Mask<S> used = feature[k] >= S(0);
    if (!any(used)) continue;
    const Touch<X> t = box_face_touch(F, decode_box_faces(feature[k]).line);
    write_touch(used, Touch<S>{narrow<S>(t.dist), narrow<S>(t.pos), narrow<S>(t.normal), {}},
                feature[k], out[k], unused);
    if (!any(feature[k] >= S(kBoxFaceCodes))) continue;
    for (int l = 0; l < kLanes<S>; ++l) {
      const int code = static_cast<int>(take_lane(feature[k], l));
      if (code < kBoxFaceCodes) continue;
      const Touch<double> edges = box_contact_touch(take_lane(g, l), code);
      put_lane(out[k].dist, l, edges.dist);
      put_lane(out[k].pos, l, edges.pos);
      put_lane(out[k].normal, l, edges.normal);
    }
  }
}

// Adds the cotangents of these touches, in lanes; those of edges one by one.
template <class S>
CYCLOID_HD void box_box_bars(const GeomPair<DoubleLanes<S>>& g, const S* feature,
                             const TouchBar<S>* out_bar, GeomPairBar<DoubleLanes<S>>& g_bar) {
  using X = DoubleLanes<S>;
  const BoxFaceChoice<X> f = chosen_box_faces(feature);
  const BoxFaces<X> F = box_faces(g, f);
  BoxFacesBar<X> sum;
  for (int k = 0; k < kBoxBoxTouches; ++k) {
    const Mask<S> edges = feature[k] >= S(kBoxFaceCodes), used = feature[k] >= S(0);
    if (!any(used)) continue;
    const TouchBar<S> own = used_bar(select(edges, S(kNoFeature), feature[k]), out_bar[k]);
    box_face_touch_bar(
        F, decode_box_faces(feature[k]).line, f.b_sign,
        TouchBar<X>{widen(own.dist), widen_vector(own.pos), widen_vector(own.normal), {}}, sum);
    if (!any(edges)) continue;
    for (int l = 0; l < kLanes<S>; ++l) {
      const int code = static_cast<int>(take_lane(feature[k], l));
      if (code < kBoxFaceCodes) continue;
      GeomPairBar<double> one;
      box_contact_touch_bar(take_lane(g, l), code,
                            TouchBar<double>{take_lane(out_bar[k].dist, l),
                                             take_lane(out_bar[k].pos, l),
                                             take_lane(out_bar[k].normal, l),
                                             {}},
                            one);
      add_lane(g_bar.x1.force, l, one.x1.force);
      add_lane(g_bar.x1.torque, l, one.x1.torque);
      add_lane(g_bar.x2.force, l, one.x2.force);
      add_lane(g_bar.x2.torque, l, one.x2.torque);
      add_lane(g_bar.size1, l, one.size1);
      add_lane(g_bar.size2, l, one.size2);
    }
  }
  add_box_faces_bar(f, sum, g_bar);
}

// Writes the features of the lanes that are near; returns whether there are any.
template <class S>
CYCLOID_HD bool search_boxes(const GeomPair<DoubleLanes<S>>& g, const DoubleLanes<S>& margin,
                             const Mask<S>& near, S* feature) {
  using X = DoubleLanes<S>;
  const BoxRelative<X> r = relative_boxes(g);
  const X found_which = box_separation(g, r, separation_limit(r, margin));
  const S which = select(near, narrow<S>(found_which), S(-1));
  if (!any(which >= S(0))) return false;
  bool some = false;
  for (int l = 0; l < kLanes<S>; ++l) {
    const int direction = static_cast<int>(elements_of(which)[l]);
    if (direction < 0) continue;
    BoxRelative<double> own_r;
    const GeomPair<double> own = take_lane(g, l);
    take_lane_of<X>(r, l, own_r);
    FoundContact found[kBoxBoxTouches];
    const int n = clip_boxes(own, own_r, direction, elements_of(margin)[l], found);
    for (int k = 0; k < n; ++k) set_lane(feature[k], l, static_cast<Scalar<S>>(found[k].code));
    some = some || n > 0;
  }
  return some;
}

template <class S>
CYCLOID_HD void collide_box_box(const S* size1, const Pose<S>& x1, const S* size2,
                                const Pose<S>& x2, const std::type_identity_t<S>& margin,
                                Touch<S>* out, S* feature) {
  if constexpr (!RealScalar<S>) {
    touches_by_lane<GeomKind::box, GeomKind::box, kBoxBoxTouches>(
        size1, x1, size2, x2, margin, out, feature, find_box_box,
        [](const auto& g, int code, const auto&) { return box_contact_touch(g, code); });
  } else {
    for (int k = 0; k < kBoxBoxTouches; ++k) clear_touch(out[k], feature[k]);
    const auto radius = [](const S* size) { return bounding_radius(GeomKind::box, size); };
    const Mask<S> near = spheres_near(false, x1, radius(size1), x2, radius(size2), margin);
    if (!any(near)) return;
    const auto g = widen_pair<GeomKind::box, GeomKind::box>(size1, x1, size2, x2);
    if (search_boxes(g, widen(margin), near, feature)) {
      box_box_touches(g, static_cast<const S*>(feature), out);
    }
  }
}

template <class S>
CYCLOID_HD void collide_box_box_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                         const Pose<S>& x2, const S* feature,
                                         const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                         PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar) {
  if constexpr (!RealScalar<S>) {
    bars_by_lane<GeomKind::box, GeomKind::box, kBoxBoxTouches>(
        size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar,
        [](const auto& g, int code, int, int, const auto& bar, auto& g_bar) {
          box_contact_touch_bar(g, code, bar, g_bar);
        });
  } else {
    using X = DoubleLanes<S>;
    const auto g = widen_pair<GeomKind::box, GeomKind::box>(size1, x1, size2, x2);
    GeomPairBar<X> sum;
    const X zero = X(0);
    for (Vec3<X>* v :
         {&sum.x1.force, &sum.x1.torque, &sum.x2.force, &sum.x2.torque, &sum.size1, &sum.size2}) {
      *v = {zero, zero, zero};
    }
    box_box_bars(g, feature, out_bar, sum);
    const auto add = [](Vec3<S>& to, const Vec3<X>& more) {
      to = narrow<S>(widen_vector(to) + more);
    };
    add(x1_bar.force, sum.x1.force);
    add(x1_bar.torque, sum.x1.torque);
    add(x2_bar.force, sum.x2.force);
    add(x2_bar.torque, sum.x2.torque);
    for (int i = 0; i < 3; ++i) {
      size1_bar[i] = narrow<S>(widen(size1_bar[i]) + sum.size1[i]);
      size2_bar[i] = narrow<S>(widen(size2_bar[i]) + sum.size2[i]);
    }
  }
}

}  // namespace cycloid::inline geometry
