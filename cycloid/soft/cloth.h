// Cloth and shells: a body of triangles that stretch (term/membrane.h) and bend
// (term/shell_bending.h), alike in all directions or woven (term/woven.h).
//
// The triangles of a mesh must be turned alike, and an edge belongs to two at most. A triangle that
// is held as a whole does not bend, and its neighbours are clamped at the edge they share.
#pragma once

#include "cycloid/soft/body.h"

namespace cycloid::inline soft {

struct ClothOptions : BodyOptions {
  std::vector<double> young = {1e6};  // one; or of warp and weft (term/woven.h) [Pa]
  double poisson = 0.3;               // of a woven cloth: of the weft, under tension along the warp
  double shear = 0;                   // of a woven cloth [Pa]
  std::array<double, 3> warp = {1, 0, 0};  // its direction in the rest shape
  double thickness = 1e-3;                 // [m]
  double density = 200;                    // [kg/m³]
};

// vertices (n, 3) [m], triangles (m, 3). Throws ModelError, with the triangle or the edge, on what
// makes no sense.
System cloth(std::vector<double> vertices, std::vector<int> triangles, const ClothOptions& options,
             bool allow_parts = false);

}  // namespace cycloid::inline soft
