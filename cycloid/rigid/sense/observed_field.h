// Fields of mjData by MuJoCo's names, as a list of sensors, one for each element.
//
//   by joint      qpos qvel qacc qfrc_actuator qfrc_constraint
//   by tendon     ten_length ten_velocity
//   by actuator   act ctrl actuator_force
//   by body       xpos xipos xquat subtree_com cinert cvel cfrc_ext
//   by site       site_xpos
// "xpos" is the field of all elements, with the world as body 0, and "xpos:torso" that of one; an
// element without a name goes by its index, "xpos:#3".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cycloid/model/model.h"

namespace cycloid::inline rigid {

struct ObservedField {
  std::vector<Sensor> parts;  // one per element, in order
  std::vector<int> shape;     // (elements, numbers) of bodies and sites, else (numbers)
  const char* unit;
};

// All fields, whether a model has such elements or not.
std::vector<std::string> field_names();

// Nothing when the name, or what stands before its first ":", is none of a field. Throws ModelError
// on an element that there is not, and, with the reason, on one whose field is not supported.
std::optional<ObservedField> find_field(const Model& model, const std::string& name);

}  // namespace cycloid::inline rigid
