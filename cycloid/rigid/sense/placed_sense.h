// Sensors that follow from places, velocities and actuators alone: no force between bodies is
// looked for, no ray and no distance of shapes. A device shows these (device/robot_eyes.h), and
// sense.h takes them from here; the numbers of laws are those of sense.h.
#pragma once

#include "cycloid/base/array_items.h"
#include "cycloid/rigid/sense/camera_sensor.h"
#include "cycloid/rigid/sense/limit_sensor.h"
#include "cycloid/rigid/sense/site_zone.h"
#include "cycloid/rigid/tree/energy.h"

namespace cycloid::inline rigid {

// Whether a sensor is one of these. adhesion: the tree has actuators of adhesion, whose rates and
// shares of forces follow from contacts.
CYCLOID_HD inline bool is_placed(const TreeView& tree, const Sensor& s) {
  const SensorKind k = kind_of(s);
  if (needs_acceleration(k) || sees_solids(k) || is_root_field(k)) return false;
  const bool of_actuators = k == SensorKind::actuator_velocity ||
                            k == SensorKind::joint_actuation ||
                            k == SensorKind::joint_actuator_force;
  return !(tree.has_adhesion && of_actuators);
}

// Poses, velocities, lengths, rates and forces of actuators; accelerations are zero.
template <class S, class P>
CYCLOID_HD void measure_places(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  place_bodies(r, x, w);
  measure_actuators(r, x, w);
  set_zero(w.adhesion_tau, tree.model.nv);
  set_zero(w.qacc, tree.model.nv);
  for (std::size_t l = 0; l < tree.links.size(); ++l) w.a[l] = Motion<S>{};
}
// Then, forces of actuators on joints.
template <class S, class P>
CYCLOID_HD void measure_joint_forces(const Robot<S, P>& r, const Instant<S>& x,
                                     const Workspace<S>& w) {
  limited_actuator_forces(r, x, w);
  if (counts_compensation(r.tree)) compensation_on_dofs(r, w);
}

// Length or rate of an actuator's transmission.
template <class S, class P>
CYCLOID_HD S transmission_length(const Robot<S, P>& r, int i, const Instant<S>& x,
                                 const Workspace<S>& w) {
  const std::size_t k = static_cast<std::size_t>(i);
  const Actuator& a = r.tree.model.actuators[k];
  switch (a.transmission) {
    case TransmissionKind::tendon:
      return S(r.p[r.tree.actuators[k].gear]) * w.tendon_length[a.target];
    case TransmissionKind::slider_crank:
    case TransmissionKind::site: return site_transmission_length(r.tree, r.p, i, w.frames);
    case TransmissionKind::body:
    case TransmissionKind::orientation: return S(0);  // zero; three numbers, below
    default: return joint_transmission_length(r.tree, r.p, i, x.qpos);
  }
}
template <class S, class P>
CYCLOID_HD S transmission_rate(const Robot<S, P>& r, int i, const Instant<S>& x,
                               const Workspace<S>& w) {
  const std::size_t k = static_cast<std::size_t>(i);
  const Actuator& a = r.tree.model.actuators[k];
  switch (a.transmission) {
    case TransmissionKind::tendon:
      return S(r.p[r.tree.actuators[k].gear]) * w.tendon_rate[a.target];
    case TransmissionKind::slider_crank:
    case TransmissionKind::site:
      return site_transmission_rate(r.tree, r.p, i, w.frames, static_cast<const Motion<S>*>(w.v));
    case TransmissionKind::body:
    case TransmissionKind::orientation: return S(0);  // adhesion_sensor.h; three numbers, below
    default: return joint_transmission_rate(r.tree, r.p, i, x.qpos, x.qvel);
  }
}

// A sensor of an orientation servo, with three numbers.
CYCLOID_HD inline bool sees_orientation(const TreeView& tree, const Sensor& s) {
  const SensorKind k = kind_of(s);
  return k >= SensorKind::actuator_position && k <= SensorKind::actuator_force &&
         turns_frame(tree.model.actuators[static_cast<std::size_t>(s.object)]);
}

// (3) of an orientation servo: log q_rel, ω and p of orientation.h.
template <class S, class P>
CYCLOID_HD Vec3<S> orientation_sensor(const Robot<S, P>& r, SensorKind kind, int i,
                                      const Instant<S>& x, const Workspace<S>& w) {
  const std::size_t k = static_cast<std::size_t>(i);
  if (kind == SensorKind::actuator_force) {
    return acts(r.tree, r.tree.model.actuators[k]) ? load_vec3(w.orientation_force + 3 * i)
                                                   : Vec3<S>{};
  }
  const OrientationPoint<S> at = orientation_point(r, k, x, w);
  return kind == SensorKind::actuator_position ? quaternion_log(at.q) : at.rate;
}

// What (14) looks at: position or length and its rate, the limit's range and margin.
template <class S>
struct LimitPoint {
  S x, rate, low, high, margin;
};
template <class S, class P>
CYCLOID_HD LimitPoint<S> limit_point(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
                                     const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const std::size_t k = static_cast<std::size_t>(s.object);
  const bool on_joint = kind_of(s) == SensorKind::joint_limit_position ||
                        kind_of(s) == SensorKind::joint_limit_velocity;
  const Range& range = on_joint ? tree.model.joints[k].range : tree.model.tendons[k].range;
  const int place = on_joint ? tree.joints[k].range : tree.tendons[k].range;
  LimitPoint<S> at;
  at.x = on_joint ? x.qpos[tree.model.joints[k].qpos] : w.tendon_length[k];
  at.rate = on_joint ? x.qvel[tree.model.joints[k].dof] : w.tendon_rate[k];
  at.low = place >= 0 ? S(r.p[place]) : number<S>(range.low);
  at.high = place >= 0 ? S(r.p[place + 1]) : number<S>(range.high);
  at.margin = number<S>(on_joint ? tree.model.joints[k].margin : tree.model.tendons[k].margin);
  if (on_joint && tree.model.joints[k].kind == JointKind::ball) {  // limit_sensor.h (4)
    const BallTurn<S> turn(x.qpos + tree.model.joints[k].qpos);
    at.x = turn.angle;
    at.rate = dot(turn.u, load_vec3(x.qvel + tree.model.joints[k].dof));
    at.high = max(at.low, at.high);
    at.low = S(-1e30f);
  }
  return at;
}
CYCLOID_HD inline bool is_limit_rate(SensorKind k) {
  return k == SensorKind::joint_limit_velocity || k == SensorKind::tendon_limit_velocity;
}
// Whether the limit that a sensor looks at acts at all.
CYCLOID_HD inline bool limit_acts(const TreeView& tree, const Sensor& s) {
  const Acting& acting = tree.model.options.acting;
  const std::size_t k = static_cast<std::size_t>(s.object);
  const bool on_joint = kind_of(s) == SensorKind::joint_limit_position ||
                        kind_of(s) == SensorKind::joint_limit_velocity;
  return acting.constraints && acting.limits &&
         (on_joint ? tree.model.joints[k].range.on : tree.model.tendons[k].range.on);
}

// Fields of mjData among them, by the numbers of field_sensor.h.
CYCLOID_HD inline bool is_placed_field(SensorKind k) {
  return k == SensorKind::joint_qpos || k == SensorKind::joint_qvel ||
         k == SensorKind::joint_actuation || k == SensorKind::actuator_activation ||
         k == SensorKind::actuator_control;
}
template <class S, class P>
CYCLOID_HD void placed_field(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
                             const Workspace<S>& w, S* out) {
  const TreeView& tree = r.tree;
  const std::size_t i = static_cast<std::size_t>(s.object);
  const auto copy = [&](const S* from) { copy_items(from, s.dimension, out); };
  switch (kind_of(s)) {
    case SensorKind::joint_qpos: return copy(x.qpos + tree.model.joints[i].qpos);  // (1)
    case SensorKind::joint_qvel: return copy(x.qvel + tree.model.joints[i].dof);
    case SensorKind::joint_actuation: {  // (2)
      const Joint& j = tree.model.joints[i];
      for (int k = 0; k < s.dimension; ++k) out[k] = joint_actuation(tree, j, j.dof + k, w);
      return;
    }
    case SensorKind::actuator_activation: return copy(x.act + tree.model.actuators[i].act);  // (4)
    default:
      if (r.inputs.ctrl < 0) return set_zero(out, s.dimension);
      return copy(x.u + r.inputs.ctrl + tree.model.actuators[i].control);
  }
}

// One of these sensors, before its cutoff. `measure` of sense.h or measure_places has run.
template <class S, class P>
CYCLOID_HD void placed_sensor(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
                              const S& t, const Workspace<S>& w, S* out) {
  const TreeView& tree = r.tree;
  const int i = s.object;
  const std::size_t k = static_cast<std::size_t>(i);
  const Motion<S>*const v = w.v, *const a = w.a;
  if (is_placed_field(kind_of(s))) return placed_field(r, s, x, w, out);
  const auto frame = [&](int type, int object) {
    return sensed_frame(tree, r.p, frame_mount(tree, type, object), w.frames, v, a);
  };
  if (sees_frame(kind_of(s))) {  // (5)
    const SensedFrame<S> o = frame(s.object_type, i);
    if (s.reference < 0) {
      return frame_sensor(kind_of(s), o, static_cast<const SensedFrame<S>*>(nullptr), out);
    }
    const SensedFrame<S> ref = frame(s.reference_type, s.reference);
    return frame_sensor(kind_of(s), o, &ref, out);
  }
  if (kind_of(s) == SensorKind::magnetometer || kind_of(s) == SensorKind::camera_projection ||
      kind_of(s) == SensorKind::inside_site) {
    const SensedFrame<S> o = frame(s.object_type, i);
    if (kind_of(s) == SensorKind::magnetometer) return flux_sensor(s, o, out);  // (13)
    const SensedFrame<S> from = frame(s.reference_type, s.reference);
    if (kind_of(s) == SensorKind::camera_projection) return pixel_sensor(s, o, from, out);
    const Vec3<S> p = rotate_inverse(from.q, frame_distance(o, from));
    out[0] = select(inside_zone(s, p), S(1), S(0));  // (15)
    return;
  }
  if (sees_limit(kind_of(s))) {  // (14)
    const LimitPoint<S> at = limit_point(r, s, x, w);
    out[0] = limit_acts(tree, s) ? limit_sensor(is_limit_rate(kind_of(s)), at.x, at.rate, at.low,
                                                at.high, at.margin)
                                 : S(0);
    return;
  }
  if (sees_orientation(tree, s)) return store(out, orientation_sensor(r, kind_of(s), i, x, w));
  if (is_subtree(kind_of(s))) {  // (6)
    const SubtreeMotion<S> m = subtree_motion(tree, r.p, i, w.frames, w.inertia, v);
    store(out, kind_of(s) == SensorKind::subtree_com               ? m.com
               : kind_of(s) == SensorKind::subtree_linear_velocity ? m.velocity
                                                                   : m.angular);
    return;
  }
  switch (kind_of(s)) {
    case SensorKind::joint_position: out[0] = x.qpos[tree.model.joints[k].qpos]; break;  // (1)
    case SensorKind::joint_velocity: out[0] = x.qvel[tree.model.joints[k].dof]; break;
    case SensorKind::ball_quaternion:
      store(out, load_quat(x.qpos + tree.model.joints[k].qpos));
      break;
    case SensorKind::ball_angular_velocity:
      store(out, load_vec3(x.qvel + tree.model.joints[k].dof));
      break;
    case SensorKind::tendon_position: out[0] = w.tendon_length[k]; break;  // (2)
    case SensorKind::tendon_velocity: out[0] = w.tendon_rate[k]; break;
    case SensorKind::actuator_position: out[0] = transmission_length(r, i, x, w); break;  // (3)
    case SensorKind::actuator_velocity: out[0] = transmission_rate(r, i, x, w); break;
    case SensorKind::actuator_force: out[0] = left_force(tree, k, w); break;
    case SensorKind::tendon_actuator_force: {  // (4)
      out[0] = clamp(tree.model.tendons[k].actuator_force, w.tendon_total[k]);
      for (std::size_t n = 0; n < tree.model.actuators.size(); ++n) {
        const Actuator& on = tree.model.actuators[n];
        if (on.transmission == TransmissionKind::tendon && on.target == i) {
          out[0] += w.loose_force[n];
        }
      }
      break;
    }
    case SensorKind::joint_actuator_force: {
      const Joint& j = tree.model.joints[k];
      out[0] = joint_actuation(tree, j, j.dof, w);
      break;
    }
    case SensorKind::potential_energy: out[0] = potential_energy(r, x, w); break;  // (7)
    case SensorKind::kinetic_energy: out[0] = kinetic_energy(r, x, w); break;
    default: out[0] = t; break;  // (8)
  }
}

// What a sensor with a cutoff shows.
template <class S>
CYCLOID_HD void cut_off(const Sensor& s, S* y) {
  const Range shown{s.cutoff > 0, -s.cutoff, s.cutoff};
  for (int i = 0; i < s.dimension; ++i) y[i] = clamp(shown, y[i]);
}

}  // namespace cycloid::inline rigid
