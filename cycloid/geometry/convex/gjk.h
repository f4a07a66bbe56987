// GJK and EPA: the direction in which two convex shapes are closest, or overlap least.
//
// Both work on the Minkowski difference of the cores (support.h), of which only support points are
// known. Apart: GJK (Gilbert, Johnson & Keerthi 1988) walks a simplex of at most four points of it
// towards the origin. Overlapping: EPA (van den Bergen 2001) grows a polytope inside it until its
// nearest face lies on its surface; this finds the least of all local minima of the overlap.
// Both stop at a tolerance, for contact features are chosen and polished afterwards
// (convex_contact.h), and at a number of rounds: they end whatever the numbers, NaN included.
// Between cores that have corners only, the tolerance is rounding: they end at the very features.
#pragma once

#include "cycloid/geometry/convex/support.h"

namespace cycloid::inline geometry {

enum class Closeness { far, apart, overlapping };

// The corners of both cores (support.h) that carry the nearest point of b - a to the origin.
struct ClosestCorners {
  int a[4], b[4], size = 0;
};

struct ClosestDirection {
  Closeness closeness;  // far: more than `limit` apart along n
  Vec3<double> n;       // unit, from a towards b
  ClosestCorners at{};  // of polytopes; none where they are not known
};

// How the cores of a and b lie: GJK, and EPA where they overlap.
ClosestDirection closest_direction(const ConvexShape& a, const ConvexShape& b, double limit);

// The direction of least overlap of cores that overlap, EPA alone.
Vec3<double> least_overlap(const ConvexShape& a, const ConvexShape& b,
                           ClosestCorners* at = nullptr);

}  // namespace cycloid::inline geometry
