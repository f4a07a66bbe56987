// A height field: a grid of heights over a rectangle, as a union of prisms.
//
// Rows run along y, columns along x; in the geom's axes the point of row r, column c is
//   (2 a c / (columns - 1) - a,  2 b r / (rows - 1) - b,  h data[r, c]),  size = a, b, h, base  (1)
// Each cell has two triangles, and each triangle stands as a prism down to z = -base. A prism is a
// hull of six corners (hull.h): 0..2 at the bottom, 3..5 above them, counter-clockwise from above.
// Prisms are numbered cell by cell, row by row, in the order in which MuJoCo looks at them.
#pragma once

#include <algorithm>

#include "cycloid/geometry/convex/hull.h"

namespace cycloid::inline geometry {

struct HeightField {
  int rows = 0, columns = 0;
  double size[4] = {};              // a, b, h, base [m]
  const float* single = nullptr;    // (rows, columns), or
  const double* data = nullptr;     // (rows, columns)
  const double* tangent = nullptr;  // of the data, for Dual numbers; null: they stand still
  double radius = 0;                // of a ball about the origin that holds it [m]

  double height(int i) const { return size[2] * (single ? double(single[i]) : data[i]); }
  int prisms() const { return 2 * (rows - 1) * (columns - 1); }
};

// Where cotangents of the data go; null: nobody asked.
struct HeightBar {
  double *value = nullptr, *tangent = nullptr;
};

// The topology that all prisms share.
const HullTable& prism_table();

// Prism i of a field as a hull. It points into itself.
struct Prism {
  Prism(const HeightField& field, int i);
  Prism(const Prism&) = delete;

  // The cotangents of its points, zero at first, which are added to those of the data by `give`.
  HullBar bar() {
    std::fill_n(point_bar, 18, 0.0);
    std::fill_n(tangent_bar, 18, 0.0);
    return {point_bar, tangent_bar};
  }
  void give(const HeightField& field, const HeightBar& to) const;

  double point[18], tangent[18];
  double point_bar[18], tangent_bar[18];
  int at[3];  // where the heights of corners 3, 4, 5 are in the data
  Hull hull;
};

}  // namespace cycloid::inline geometry
