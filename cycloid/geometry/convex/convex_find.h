// Which features of two convex shapes meet: from the direction that GJK or EPA found to a contact.
//
// That direction is near the best one, but not exactly it, so each shape has several features that
// may be meant: those whose directions come within kNearby of it. Every pair of them is polished
// (convex_contact.h), and the one with the largest separation of the whole shapes wins: the
// separation along any direction is at most the distance, and only the true features reach it.
// Among equals the pair with more extended features wins.
//
// Where both shapes have corners only, GJK and EPA end at the corners that carry the closest
// points; what these span are the features, and nothing need be tried.
#pragma once

#include "cycloid/geometry/convex/convex_touch.h"
#include "cycloid/geometry/convex/gjk.h"

namespace cycloid::inline geometry {

// The closest features of two shapes.
struct ConvexMeeting {
  bool found;  // within the limit
  int code;    // convex_contact.h; not set where a shape is a mesh
  Vec3<double> n;
  double dist;
  MeetingFeatures at{};
  int span1 = 0, span2 = 0;  // what the closest corners of each span, which may be more than `at`
};

// What is remembered of two shapes that were apart: a direction along which they may still be, and
// the corners of hulls that were furthest. It spares a search where it proves them apart by more
// than the margin, and more than any search could be off by; then there is no contact to be found.
// So nothing depends on it but time.
struct ApartHint {
  float n[3] = {};
  int last1 = -1, last2 = -1;
};

ConvexMeeting find_meeting(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                           ApartHint* hint = nullptr);

}  // namespace cycloid::inline geometry
