// What can be observed: sensors by MuJoCo's numbers (mjtSensor, mjtObj), as model.h keeps them, and
// fields of mjData.
#pragma once

#include "cycloid/model/model.h"

namespace cycloid::inline rigid {

enum class SensorKind : int {
  touch = 0,
  accelerometer = 1,
  velocimeter = 2,
  gyro = 3,
  force = 4,
  torque = 5,
  magnetometer = 6,
  rangefinder = 7,
  camera_projection = 8,
  joint_position = 9,
  joint_velocity = 10,
  tendon_position = 11,
  tendon_velocity = 12,
  actuator_position = 13,
  actuator_velocity = 14,
  actuator_force = 15,
  joint_actuator_force = 16,
  tendon_actuator_force = 17,
  ball_quaternion = 18,
  ball_angular_velocity = 19,
  joint_limit_position = 20,
  joint_limit_velocity = 21,
  joint_limit_force = 22,
  tendon_limit_position = 23,
  tendon_limit_velocity = 24,
  tendon_limit_force = 25,
  frame_position = 26,
  frame_quaternion = 27,
  frame_x_axis = 28,
  frame_y_axis = 29,
  frame_z_axis = 30,
  frame_linear_velocity = 31,
  frame_angular_velocity = 32,
  frame_linear_acceleration = 33,
  frame_angular_acceleration = 34,
  subtree_com = 35,
  subtree_linear_velocity = 36,
  subtree_angular_momentum = 37,
  inside_site = 38,
  geom_distance = 39,
  geom_normal = 40,
  geom_fromto = 41,
  contact = 42,
  potential_energy = 43,
  kinetic_energy = 44,
  clock = 45,
  // Fields of mjData, element by element (observed_field.h): MuJoCo has no sensors of these.
  joint_qpos = 1000,
  joint_qvel,
  joint_qacc,
  joint_actuation,   // qfrc_actuator
  joint_constraint,  // qfrc_constraint
  actuator_activation,
  actuator_control,
  root_inertia,    // cinert
  root_velocity,   // cvel
  external_force,  // cfrc_ext
};

// What carries a frame. `body` is the body's inertial frame, `xbody` its own.
enum class ObjectKind : int { body = 1, xbody = 2, geom = 5, site = 6, camera = 7 };

CYCLOID_HD inline SensorKind kind_of(const Sensor& s) { return static_cast<SensorKind>(s.type); }

// A sensor that looks at a frame: (object, reference) of frame_sensor.h.
CYCLOID_HD inline bool sees_frame(SensorKind k) {
  return (k >= SensorKind::accelerometer && k <= SensorKind::gyro) ||
         (k >= SensorKind::frame_position && k <= SensorKind::frame_angular_acceleration);
}
// A sensor of a limit: limit_sensor.h.
CYCLOID_HD inline bool sees_limit(SensorKind k) {
  return k == SensorKind::joint_limit_position || k == SensorKind::joint_limit_velocity ||
         k == SensorKind::tendon_limit_position || k == SensorKind::tendon_limit_velocity;
}
// The force of a limit: limit_force.h.
CYCLOID_HD inline bool sees_limit_force(SensorKind k) {
  return k == SensorKind::joint_limit_force || k == SensorKind::tendon_limit_force;
}
// A sensor of contacts: contact_sensor.h.
CYCLOID_HD inline bool sees_contacts(SensorKind k) {
  return k == SensorKind::touch || k == SensorKind::contact;
}
// The distance of two geoms: geom_distance.h.
CYCLOID_HD inline bool sees_distance(SensorKind k) {
  return k >= SensorKind::geom_distance && k <= SensorKind::geom_fromto;
}
// Whether it may look at meshes and height fields.
CYCLOID_HD inline bool sees_solids(SensorKind k) {
  return sees_distance(k) || k == SensorKind::rangefinder;
}
// A sensor of the force between bodies: interaction.h.
CYCLOID_HD inline bool sees_interaction(SensorKind k) {
  return k == SensorKind::force || k == SensorKind::torque;
}
// A field of mjData that field_sensor.h reads.
CYCLOID_HD inline bool is_field(SensorKind k) { return k >= SensorKind::joint_qpos; }
// A field about the centre of mass of a whole tree: root_field.h.
CYCLOID_HD inline bool is_root_field(SensorKind k) {
  return k >= SensorKind::root_inertia && k <= SensorKind::external_force;
}
CYCLOID_HD inline bool needs_acceleration(SensorKind k) {
  return k == SensorKind::accelerometer || k == SensorKind::frame_linear_acceleration ||
         k == SensorKind::frame_angular_acceleration || sees_contacts(k) || sees_interaction(k) ||
         sees_limit_force(k) || k == SensorKind::joint_qacc || k == SensorKind::joint_constraint ||
         k == SensorKind::external_force;
}
CYCLOID_HD inline bool is_subtree(SensorKind k) {
  return k >= SensorKind::subtree_com && k <= SensorKind::subtree_angular_momentum;
}

}  // namespace cycloid::inline rigid
