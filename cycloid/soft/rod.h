// Rods: a chain of points that stretches, bends and twists (term/rod_laws.h), round and of one
// radius. The points are its rest shape, straight or curved, in which it is not twisted.
//
// Besides positions and velocities the state has the angle of each segment about its tangent and
// its rate (solid_state.h): "twist" [rad] and "twist_rate" [rad/s]. Pinning two neighbouring points
// clamps the segment between them, its angle too, which the input "twist" turns (one angle for each
// clamped segment [rad]). With self_contact the rod keeps its surface, of the parameter `radius`,
// away from itself (term/self_contact.h).
#pragma once

#include "cycloid/soft/body.h"

namespace cycloid::inline soft {

struct RodOptions : BodyOptions {
  double young = 1e7;     // [Pa]
  double radius = 1e-2;   // [m]
  double density = 1000;  // [kg/m³]
  double poisson = 0.3;   // for twist
};

// points (n, 3) [m], one after the other. Throws ModelError or ParameterError on what makes no
// sense.
System rod(std::vector<double> points, const RodOptions& options);

}  // namespace cycloid::inline soft
