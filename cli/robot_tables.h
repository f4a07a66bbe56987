// A robot in its own words: joints, bodies, actuators and sensors by name, as short tables and as
// JSON.
#pragma once

#include <span>
#include <string>

#include "cli/cli.h"
#include "cycloid/model/model.h"

namespace cycloid::cli {

// joints with their place at the state, bodies, actuators, sensors; `full`: all of them.
std::string robot_tables(const Model& model, std::span<const double> state, bool full);

// Position and velocity of every joint at a state.
std::string joint_table(const Model& model, std::span<const double> state, bool full);

// joints, bodies, actuators and sensors, to be added to an object.
void put_elements(const Model& model, Json& json);

}  // namespace cycloid::cli
