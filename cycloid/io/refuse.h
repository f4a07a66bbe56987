// io/refuse.h: what the dynamics here do not contain, refused by the name of the element.
//
// Never ignored, because a simulation that leaves something out is wrong without saying so; and
// never more than needed. Sensors, cameras, drawing and the energy flag are no reason; nor, without
// constraints, is anything that acts through constraints only. Refused are:
//   the integrator discrete; sleeping; flexes; plugins that exert forces; plastic springs
//   actuators by callback or with a history of controls; parts of DC motors, PID and orientation
//   actuators together with those of others
//   adhesion actuators with a bias or a gain that varies
//   tendons with armature that wrap around geoms
//   with constraints: noslip unless it is ignored on request, equalities of flexes, and what
//   contacts.h lists
// What only leads to the constrained optimum and does not change it (solver, iterations,
// tolerances, warm start, islands, sparse or dense matrices) is never looked at.
#pragma once

#include <mujoco/mjmodel.h>

#include <string>

#include "cycloid/io/fields.h"
#include "cycloid/io/load.h"

namespace cycloid::inline io {

// Throws ModelError with the element and what to try.
void refuse_unsupported(const mjModel& model, bool constraints, Noslip noslip = Noslip::refuse);

// The options ask for constraints and the model does not disable them.
bool constraints_act(const mjModel& model, const LoadOptions& options);

}  // namespace cycloid::inline io
