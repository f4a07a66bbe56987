// GJK and EPA: the direction in which two convex shapes are closest, or overlap least.
//
// Both work on the Minkowski difference of the cores (support.h), of which only support points are
// known. Apart: GJK (Gilbert, Johnson & Keerthi 1988) walks a simplex of at most four points of it
// towards the origin. Overlapping: EPA (van den Bergen 2001) grows a polytope inside it until its
// nearest face lies on its surface; this finds the least of all local minima of the overlap.
// Both stop at a tolerance, for contact features are chosen and polished afterwards
// (convex_contact.h), and at a number of rounds: they end whatever the numbers, NaN included.
#pragma once

#include "cycloid/geometry/support.h"

namespace cycloid::inline geometry {

enum class Closeness { far, apart, overlapping };

struct ClosestDirection {
  Closeness closeness;  // far: more than `limit` apart; n is not set
  Vec3<double> n;       // unit, from a towards b
};

// How the cores of a and b lie: GJK, and EPA where they overlap.
ClosestDirection closest_direction(const ConvexShape& a, const ConvexShape& b, double limit);

// The direction of least overlap of cores that overlap, EPA alone.
Vec3<double> least_overlap(const ConvexShape& a, const ConvexShape& b);

}  // namespace cycloid::inline geometry
