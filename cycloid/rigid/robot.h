// Room rigid: articulated bodies. A Model (room model) becomes a System (room system).
//
// Where to start reading:
//   step.h         one time step and its pullback; rk4_step.h the Runge–Kutta one
//   dynamics.h     M q̈ + c = τ at one instant
//   tree.h         the model unrolled into links; places of parameters
//   kinematics.h   poses and columns of motion      inertia.h  inertias about the centre of mass
//   rnea.h         fields and bias forces           crba.h     mass matrix, factor, solve
//   aba.h          the articulated-body algorithm   inverse_dynamics.h  forces of a given motion
//   sweep.h        the pullback of the equations of motion: one sweep from the tips to the base
//   step_jacobian.h, rnea_jacobian.h   the step's Jacobians, without a pullback for each row
//   passive.h actuator.h direct_actuator.h actuation.h tendon.h fluid.h free_body.h     forces
//   observe.h      sensors with their pullbacks    forward.h  derived quantities at an instant
//   sense.h        every kind of sensor; interaction.h, contact_view.h, contact_sensor.h those of
//                  forces and contacts            instant_dynamics.h  the acceleration they see
//   observed_field.h   fields of mjData by name; field_sensor.h, root_field.h, external_force.h
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cycloid/model/model.h"
#include "cycloid/system/system.h"

namespace cycloid::inline rigid {

struct RobotOptions {
  Precision precision = Precision::float64;
  // Any of ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat; the input row is their
  // concatenation. Blocks without numbers are left out.
  std::vector<std::string> inputs = {"ctrl"};
  std::vector<std::string> vary = {};  // parameters that may differ between environments
  std::map<std::string, std::vector<double>> values = {};  // parameters in place of the model's
};

// The state is [qpos, qvel, act]. Throws ModelError on an unknown input, ParameterError on an
// unknown name in `vary`.
System make_robot(const Model& model, const RobotOptions& options = {});

// The state of a keyframe, or of the model's reference configuration.
std::vector<double> initial_state(const Model& model, const Keyframe* keyframe = nullptr);

}  // namespace cycloid::inline rigid
