// Room rigid: articulated bodies. A Model (room model) becomes a System (room system).
//
// Where to start reading: step.h, one time step and its pullback (rk4_step.h the Runge–Kutta one);
// dynamics.h, M q̈ + c = τ at one instant; constrained_dynamics.h, the same under constraints;
// robot_stepper.h, the step in lanes; step_jacobian.h, parameter_jacobian.h. Then, room by room:
//   tree/        the model unrolled into links, kinematics, inertia, rnea.h, crba.h, and
//                motion_pullback.h, the pullback of the equations of motion in one sweep
//   force/       springs, dampers, actuators, tendons, the surrounding medium: actuation.h
//   contact/     which shapes touch, and what a contact asks for: contact_slots.h, contact_rows.h
//   constraint/  rows of limits, friction and equalities: static_rows.h; their laws: row_law.h
//   solver/      the constrained acceleration and its pullback: constraint_newton.h
//   sense/       sensors and fields of mjData, with pullbacks: sense.h, robot_observables.h
// forward.h has derived quantities at an instant.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cycloid/model/model.h"
#include "cycloid/rigid/contact_choice.h"
#include "cycloid/system/system.h"

namespace cycloid::inline rigid {

struct RobotOptions {
  Precision precision = Precision::float64;
  // Any of ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat; the input row is their
  // concatenation. Blocks without numbers are left out.
  std::vector<std::string> inputs = {"ctrl"};
  std::vector<std::string> vary = {};  // parameters that may differ between environments
  std::map<std::string, std::vector<double>> values = {};  // parameters in place of the model's
  ContactChoice contact = {};                              // the law of contacts
  // Relative local error up to which steps are divided, at contacts and limits that come and go to
  // rounding (refined_stepper.h); none: steps are as long as the timestep.
  std::optional<double> refine = {};
};

// The state is [qpos, qvel, act]. Throws ModelError on an unknown input, ParameterError on an
// unknown name in `vary` and on numbers of a contact law, or a tolerance, that make no sense.
System make_robot(const Model& model, const RobotOptions& options = {});

// The state of a keyframe, or of the model's reference configuration.
std::vector<double> initial_state(const Model& model, const Keyframe* keyframe = nullptr);

}  // namespace cycloid::inline rigid
