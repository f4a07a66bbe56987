// Cloth and shells: a body of triangles that stretch (term/membrane.h) and bend
// (term/shell_bending.h).
//
// The triangles of a mesh must be turned alike, and an edge belongs to two at most. A triangle that
// is held as a whole does not bend, and its neighbours are clamped at the edge they share.
#pragma once

#include "cycloid/soft/body.h"

namespace cycloid::inline soft {

struct ClothOptions : BodyOptions {
  double young = 1e6;  // [Pa]
  double poisson = 0.3;
  double thickness = 1e-3;  // [m]
  double density = 200;     // [kg/m³]
};

// vertices (n, 3) [m], triangles (m, 3). Throws ModelError, with the triangle or the edge, on what
// makes no sense.
System cloth(std::vector<double> vertices, std::vector<int> triangles, const ClothOptions& options,
             bool allow_parts = false);

}  // namespace cycloid::inline soft
