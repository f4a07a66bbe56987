#include "cycloid/rigid/sense/observed_field.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/rigid/sense/sensor_kind.h"

namespace cycloid::inline rigid {
namespace {

enum class Element { joint, tendon, actuator, body, site };

struct FieldEntry {
  const char *name, *unit;
  Element element;
  SensorKind kind;
  int width;  // numbers of an element; 0: those of a joint
  ObjectKind object = ObjectKind::xbody;
};

constexpr FieldEntry kFields[] = {
    {"qpos", "m, rad", Element::joint, SensorKind::joint_qpos, 0},
    {"qvel", "m/s, rad/s", Element::joint, SensorKind::joint_qvel, 0},
    {"qacc", "m/s², rad/s²", Element::joint, SensorKind::joint_qacc, 0},
    {"qfrc_actuator", "N, N·m", Element::joint, SensorKind::joint_actuation, 0},
    {"qfrc_constraint", "N, N·m", Element::joint, SensorKind::joint_constraint, 0},
    {"ten_length", "m, rad", Element::tendon, SensorKind::tendon_position, 1},
    {"ten_velocity", "m/s, rad/s", Element::tendon, SensorKind::tendon_velocity, 1},
    {"act", "1", Element::actuator, SensorKind::actuator_activation, 1},
    {"ctrl", "1", Element::actuator, SensorKind::actuator_control, 1},
    {"actuator_force", "N, N·m", Element::actuator, SensorKind::actuator_force, 1},
    {"xpos", "m", Element::body, SensorKind::frame_position, 3, ObjectKind::xbody},
    {"xipos", "m", Element::body, SensorKind::frame_position, 3, ObjectKind::body},
    {"xquat", "1", Element::body, SensorKind::frame_quaternion, 4, ObjectKind::xbody},
    {"subtree_com", "m", Element::body, SensorKind::subtree_com, 3},
    {"cinert", "kg, kg·m, kg·m²", Element::body, SensorKind::root_inertia, 10},
    {"cvel", "rad/s, m/s", Element::body, SensorKind::root_velocity, 6},
    {"cfrc_ext", "N·m, N", Element::body, SensorKind::external_force, 6},
    {"site_xpos", "m", Element::site, SensorKind::frame_position, 3, ObjectKind::site},
};

const FieldEntry* entry_of(const std::string& name) {
  const auto found = std::find_if(std::begin(kFields), std::end(kFields),
                                  [&](const FieldEntry& f) { return f.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

const char* word_of(Element e) {
  switch (e) {
    case Element::joint: return "joint";
    case Element::tendon: return "tendon";
    case Element::actuator: return "actuator";
    case Element::body: return "body";
    default: return "site";
  }
}

// Calls function(elements of this kind in the model).
template <class Function>
auto with_elements(const Model& m, Element e, Function&& function) {
  switch (e) {
    case Element::joint: return function(m.joints);
    case Element::tendon: return function(m.tendons);
    case Element::actuator: return function(m.actuators);
    case Element::body: return function(m.bodies);
    default: return function(m.sites);
  }
}

int numbers_of(const Model& m, const FieldEntry& f, int i) {
  const std::size_t k = static_cast<std::size_t>(i);
  if (f.kind == SensorKind::actuator_activation) return activations(m.actuators[k]);
  if (f.kind == SensorKind::actuator_control)
    return m.actuators[k].control >= 0 ? m.actuators[k].controls : 0;
  if (f.kind == SensorKind::actuator_force) {
    return m.actuators[k].law == ActuatorLaw::orientation ? 3 : 1;
  }
  if (f.width > 0) return f.width;
  const JointKind kind = m.joints[k].kind;
  return f.kind == SensorKind::joint_qpos ? qpos_numbers(kind) : dof_numbers(kind);
}

void add_part(const Model& m, const FieldEntry& f, int i, ObservedField& out) {
  Sensor s;
  s.type = static_cast<int>(f.kind);
  s.object_type = static_cast<int>(f.object);
  s.object = i;
  s.dimension = numbers_of(m, f, i);
  if (s.dimension > 0) out.parts.push_back(s);
}

// The element that a name such as "xpos:torso" ends with.
int element_of(const Model& m, const FieldEntry& f, const std::string& element) {
  const std::vector<std::string> known = with_elements(m, f.element, [](const auto& all) {
    std::vector<std::string> names;
    for (int i = 0; i < static_cast<int>(all.size()); ++i) names.push_back(Model::label(all, i));
    return names;
  });
  const auto found = std::find(known.begin(), known.end(), element);
  if (found != known.end()) return static_cast<int>(found - known.begin());
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (element == message("#", i)) return static_cast<int>(i);
  }
  throw ModelError(message("field \"", f.name, "\": no ", word_of(f.element), " is called \"",
                           element, "\"",
                           known.empty() ? "; the model has none" : did_you_mean(element, known)));
}

}  // namespace

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const FieldEntry& f : kFields) names.emplace_back(f.name);
  return names;
}

std::optional<ObservedField> find_field(const Model& m, const std::string& name) {
  const std::size_t colon = name.find(':');
  const FieldEntry* const f = entry_of(name.substr(0, colon));
  if (!f) return std::nullopt;
  ObservedField out;
  const bool all = colon == std::string::npos;
  const int count =
      with_elements(m, f->element, [](const auto& e) { return static_cast<int>(e.size()); });
  if (all) {
    for (int i = 0; i < count; ++i) add_part(m, *f, i, out);
  } else {
    add_part(m, *f, element_of(m, *f, name.substr(colon + 1)), out);
    if (out.parts.empty()) {
      throw ModelError(message("field \"", name, "\": this ", word_of(f->element), " has none"));
    }
  }
  int size = 0;
  for (const Sensor& s : out.parts) size += s.dimension;
  const bool rows = all && (f->element == Element::body || f->element == Element::site);
  out.shape = rows ? std::vector<int>{count, f->width} : std::vector<int>{size};
  out.unit = f->unit;
  return out;
}

}  // namespace cycloid::inline rigid
