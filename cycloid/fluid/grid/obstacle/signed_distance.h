// Signed distances of obstacles: φ(x) [m], positive in the fluid.
//
//   circle   |x - c| - r, in three dimensions a ball                                 (1)
//   box      with q = |x - c| - size / 2:  max q inside, |max(q, 0)| outside         (2)
//   array    linear between numbers at the corners of cells                          (3)
// Along periodic axes the nearest image counts. Kinks at the centre of (1), where two sides of (2)
// are as near, at the faces of cells of (3): the derivative is that of one side.
#pragma once

#include <vector>

#include "cycloid/fluid/grid/grid_box.h"

namespace cycloid::inline fluid {

enum class ObstacleKind { circle, box, array };

// An obstacle and its numbers: circle (in 3-D a sphere) center (d), radius; box center (d), size
// (d); array: signed distances at the corners of cells, (n + 1) along each axis, C order [m], and
// where it turns the pivot (d).
struct FluidObstacle {
  ObstacleKind kind = ObstacleKind::circle;
  std::vector<double> numbers;
  bool moves = false;  // through the grid, with its velocity
  bool turns = false;  // in the plane, with its angular velocity

  // Of its centre among the numbers; an array has one where it turns.
  int centre(int dimensions) const {
    return kind == ObstacleKind::array ? static_cast<int>(numbers.size()) - dimensions : 0;
  }
};

// φ of one obstacle at x (3) [m], axes as in grid_box.h.
double signed_distance(const GridBox& box, ObstacleKind kind, const double* p, const double* x);
// Adds to p_bar, and to x_bar (3) unless it is null.
void signed_distance_pullback(const GridBox& box, ObstacleKind kind, const double* p,
                              const double* x, double phi_bar, double* p_bar,
                              double* x_bar = nullptr);
// x_tan: null for zero.
double signed_distance_pushforward(const GridBox& box, ObstacleKind kind, const double* p,
                                   const double* x, const double* p_tan,
                                   const double* x_tan = nullptr);

// d: the way from a centre (dimensions) to x (3), from its nearest image along periodic axes [m].
void way_from(const GridBox& box, const double* centre, const double* x, double* d);

}  // namespace cycloid::inline fluid
