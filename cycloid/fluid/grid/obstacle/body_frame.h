// The frame of an obstacle: where it sees a point of the box, after it has gone s and turned by θ.
//
//   r = x - c - s,   y = c + Rᵀ(θ) r                                        (1)  [m]
// c its centre, or an array's pivot; R turns about the normal of the plane, from x to y. Along
// periodic axes r is the way from the nearest image. One that does not turn sees y = x - s. With
// q = Rᵀ r,
//   c̄ += ȳ - R ȳ,   s̄ -= R ȳ,   θ̄ += q₂ ȳ₁ - q₁ ȳ₂                          (2)
#pragma once

#include "cycloid/fluid/grid/obstacle/signed_distance.h"

namespace cycloid::inline fluid {

// way: s (dimensions) [m], then θ [rad]; x, y (3), axes as in grid_box.h.
void seen_from(const GridBox& box, const FluidObstacle& obstacle, const double* numbers,
               const double* way, const double* x, double* y);
// Adds to the cotangents of numbers and way.
void seen_from_pullback(const GridBox& box, const FluidObstacle& obstacle, const double* numbers,
                        const double* way, const double* x, const double* y_bar,
                        double* numbers_bar, double* way_bar);
void seen_from_pushforward(const GridBox& box, const FluidObstacle& obstacle, const double* numbers,
                           const double* way, const double* x, const double* numbers_tan,
                           const double* way_tan, double* y_tan);

}  // namespace cycloid::inline fluid
