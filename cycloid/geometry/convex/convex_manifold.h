// Several contacts of two convex shapes, where flat or straight features lie along each other.
//
// GJK and EPA give one contact. Where the closest features, or faces and edges that end in them,
// are nearly parallel, that one is replaced by the corners of what they have in common (MuJoCo's
// single-shot multiccd, for capsules, cylinders and boxes):
//   faces within 5.1° of each other      cap_contact.h, at most four corners
//   an edge within 5.1° of a face        edge_contact.h, at most two
// As there, a face counts when it looks towards the other geom at all, so that an edge of a
// cylinder may be taken along a face that is not the closest one.
#pragma once

#include "cycloid/geometry/convex/convex_find.h"
#include "cycloid/geometry/pair/edge_contact.h"

namespace cycloid::inline geometry {

inline constexpr int kManifoldTouches = 4;
inline constexpr int kEdgeBase = kConvexCodes + kCapCodes;  // codes: convex, cap, edge

// Replaces the contact of `closest` by several where there are; returns their number, or 0.
int find_manifold(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                  const ConvexMeeting& closest, FoundContact* found);

}  // namespace cycloid::inline geometry
