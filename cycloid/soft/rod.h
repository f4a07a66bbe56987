// Rods: a chain of points that stretches and bends (term/rod_laws.h), round and of one radius.
//
// Pinning two neighbouring points clamps the rod at the second one. There is no twist: a rod whose
// ends are turned against each other about its own line does not feel it. One that is built bent
// is right in its own plane alone.
#pragma once

#include "cycloid/soft/body.h"

namespace cycloid::inline soft {

struct RodOptions : BodyOptions {
  double young = 1e7;     // [Pa]
  double radius = 1e-2;   // [m]
  double density = 1000;  // [kg/m³]
};

// points (n, 3) [m], one after the other. Throws ModelError on what makes no sense.
System rod(std::vector<double> points, const RodOptions& options);

}  // namespace cycloid::inline soft
