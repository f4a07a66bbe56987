#include "cycloid/rigid/sense/robot_observables.h"

#include <algorithm>

#include "cycloid/base/check.h"
#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/rigid/sense/observed_field.h"

namespace cycloid::inline rigid {
namespace {

RobotObservers choose_observers(const ObserverKey& key) {
  RobotObservers out;
  const auto fill = [&](auto single, auto twice) { single(key, out), twice(key, out); };
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: fill(isa::v4::robot_observers32, isa::v4::robot_observers64); break;
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: fill(isa::v3::robot_observers32, isa::v3::robot_observers64); break;
#endif
    default: fill(isa::narrowest::robot_observers32, isa::narrowest::robot_observers64); break;
  }
  return out;
}

// What a sensor's numbers are measured in; empty where they are of several kinds, or unknown.
const char* unit_of(const Model& m, const Sensor& s) {
  const auto slides = [&] {
    return m.joints[static_cast<std::size_t>(s.object)].kind == JointKind::slide;
  };
  switch (kind_of(s)) {
    case SensorKind::touch:
    case SensorKind::force: return "N";
    case SensorKind::torque: return "N·m";
    case SensorKind::accelerometer:
    case SensorKind::frame_linear_acceleration: return "m/s²";
    case SensorKind::velocimeter:
    case SensorKind::frame_linear_velocity:
    case SensorKind::subtree_linear_velocity: return "m/s";
    case SensorKind::gyro:
    case SensorKind::ball_angular_velocity:
    case SensorKind::frame_angular_velocity: return "rad/s";
    case SensorKind::frame_angular_acceleration: return "rad/s²";
    case SensorKind::magnetometer: return "T";
    case SensorKind::camera_projection: return "pixel";
    case SensorKind::geom_normal:
    case SensorKind::inside_site: return "1";
    case SensorKind::joint_limit_position:
    case SensorKind::joint_position: return slides() ? "m" : "rad";
    case SensorKind::joint_limit_velocity:
    case SensorKind::joint_velocity: return slides() ? "m/s" : "rad/s";
    case SensorKind::joint_limit_force:
    case SensorKind::joint_actuator_force: return slides() ? "N" : "N·m";
    case SensorKind::ball_quaternion:
    case SensorKind::frame_quaternion:
    case SensorKind::frame_x_axis:
    case SensorKind::frame_y_axis:
    case SensorKind::frame_z_axis: return "1";
    case SensorKind::geom_distance:
    case SensorKind::geom_fromto:
    case SensorKind::rangefinder:
    case SensorKind::frame_position:
    case SensorKind::subtree_com: return "m";
    case SensorKind::subtree_angular_momentum: return "kg·m²/s";
    case SensorKind::potential_energy:
    case SensorKind::kinetic_energy: return "J";
    case SensorKind::clock: return "s";
    default: return "";
  }
}

int sensor_count(const Model& m) { return static_cast<int>(m.sensors.size()); }
bool is_supported(const Model& m, int i) {
  return m.sensors[static_cast<std::size_t>(i)].unsupported.empty();
}

// A name and what it stands for.
struct Chosen {
  Observable what;
  std::vector<Sensor> parts;
  bool field;
};

Chosen chosen_sensor(const Model& m, int i) {
  const Sensor& s = m.sensors[static_cast<std::size_t>(i)];
  return {{Model::label(m.sensors, i), unit_of(m, s), {s.dimension}}, {s}, false};
}

// Where the numbers of a part are in the state, if they are qpos, qvel or act.
std::optional<StateNumbers> state_numbers(const Model& m, const Sensor& s) {
  const std::size_t i = static_cast<std::size_t>(s.object);
  switch (kind_of(s)) {
    case SensorKind::joint_qpos: return StateNumbers{m.joints[i].qpos, s.dimension};
    case SensorKind::joint_qvel: return StateNumbers{m.nq + m.joints[i].dof, s.dimension};
    case SensorKind::actuator_activation:
      return StateNumbers{m.nq + m.nv + m.actuators[i].act, s.dimension};
    default: return std::nullopt;
  }
}

Chosen chosen_field(const Model& m, const std::string& name, ObservedField field) {
  Chosen out{{name, field.unit, std::move(field.shape)}, std::move(field.parts), true};
  for (const Sensor& part : out.parts) {
    const std::optional<StateNumbers> at = state_numbers(m, part);
    if (at) out.what.of_state.push_back(*at);
  }
  return out;
}

std::optional<Chosen> choose(const Model& m, const std::string& name) {
  for (int i = 0; i < sensor_count(m); ++i) {
    if (Model::label(m.sensors, i) != name) continue;
    const std::string& reason = m.sensors[static_cast<std::size_t>(i)].unsupported;
    if (reason.empty()) return chosen_sensor(m, i);
    throw ModelError(message("sensor \"", name, "\" cannot be observed: ", reason));
  }
  if (std::optional<ObservedField> field = find_field(m, name)) {
    return chosen_field(m, name, *std::move(field));
  }
  return std::nullopt;
}

}  // namespace

std::vector<Observable> RobotObservables::listed() const {
  std::vector<Observable> all;
  for (int i = 0; i < sensor_count(model()); ++i) {
    if (is_supported(model(), i)) all.push_back(chosen_sensor(model(), i).what);
  }
  const std::size_t sensors = all.size();
  for (const std::string& name : field_names()) {
    bool hidden = false;
    for (std::size_t i = 0; i < sensors; ++i) hidden = hidden || all[i].name == name;
    if (hidden) continue;
    try {
      Observable field = chosen_field(model(), name, *find_field(model(), name)).what;
      if (field.size() > 0) all.push_back(std::move(field));
    } catch (const ModelError&) {  // not supported
    }
  }
  return all;
}

std::optional<Observable> RobotObservables::find(const std::string& name) const {
  std::optional<Chosen> chosen = choose(model(), name);
  if (!chosen) return std::nullopt;
  return std::move(chosen->what);
}

std::optional<std::vector<std::string>> RobotObservables::usual() const {
  std::vector<std::string> names;
  for (int i = 0; i < sensor_count(model()); ++i) {
    if (is_supported(model(), i)) names.push_back(Model::label(model().sensors, i));
  }
  return names;
}

std::vector<std::string> RobotObservables::known() const {
  std::vector<std::string> names;
  for (int i = 0; i < sensor_count(model()); ++i) {
    names.push_back(Model::label(model().sensors, i));
  }
  for (std::string& field : field_names()) names.push_back(std::move(field));
  return names;
}

SensorList RobotObservables::list_of(const std::vector<std::string>& names) const {
  SensorList list;
  for (const std::string& name : names) {
    const std::optional<Chosen> chosen = choose(model(), name);
    CYCLOID_CHECK(chosen.has_value(), name);
    for (const Sensor& part : chosen->parts) list.add(part, chosen->field);
  }
  list.look_at(*key_.tree);
  return list;
}

RobotObservers RobotObservables::observers(const std::vector<std::string>& names) const {
  ObserverKey key = key_;
  key.list = list_of(names);
  const bool looks = std::any_of(key.list.sensors.begin(), key.list.sensors.end(),
                                 [](const Sensor& s) { return sees_solids(kind_of(s)); });
  if (looks) key.list.solids = std::make_shared<const SeenSolids>(*key_.tree);
  return choose_observers(key);
}

std::shared_ptr<const ChunkObserver<float>> RobotObservables::float32(
    const std::vector<std::string>& names, int lanes) const {
  const RobotObservers all = observers(names);
  return lanes == 1 ? all.one32 : all.packed32;
}

std::shared_ptr<const ChunkObserver<double>> RobotObservables::float64(
    const std::vector<std::string>& names, int lanes) const {
  const RobotObservers all = observers(names);
  if (lanes == 1) return all.one64;
  return all.packed64;
}

std::shared_ptr<const DifferentiableObserver> RobotObservables::differentiable(
    const std::vector<std::string>& names) const {
  return observers(names).packed64;
}

}  // namespace cycloid::inline rigid
