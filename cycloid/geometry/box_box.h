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
#pragma once

#include "cycloid/geometry/box_contact.h"

namespace cycloid::inline geometry {

inline constexpr int kBoxBoxTouches = 8;

// The contacts of one lane; returns their number.
int find_box_box(const GeomPair<double>& g, double margin, FoundContact* found);

template <class S>
void collide_box_box(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                     const std::type_identity_t<S>& margin, Touch<S>* out, S* feature) {
  touches_by_lane<GeomKind::box, GeomKind::box, kBoxBoxTouches>(
      size1, x1, size2, x2, margin, out, feature, find_box_box,
      [](const auto& g, int code, const auto&) { return box_contact_touch(g, code); });
}

template <class S>
void collide_box_box_pullback(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                              const S* feature, const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                              PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar) {
  bars_by_lane<GeomKind::box, GeomKind::box, kBoxBoxTouches>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar,
      [](const auto& g, int code, int, int, const auto& bar, auto& g_bar) {
        box_contact_touch_bar(g, code, bar, g_bar);
      });
}

}  // namespace cycloid::inline geometry
