// Sensors at one instant, all together, and their pullback: the table of contents.
//
//   joints       q, q̇; a ball's quaternion and angular velocity                        (1)
//   tendons      length l and rate J q̇ (tendon.h)                                      (2)
//   actuators    length and rate of the transmission, force p scaled by its tendon's   (3)
//                limit (actuation.h); three numbers each of an orientation servo; those of adhesion
//                adhesion_sensor.h
//   forces       a tendon's Σ p, a joint's actuator force after its limit, gravity     (4)
//                compensation included where the joint counts it
//   frames       frame_sensor.h, accelerations of instant_dynamics.h                   (5)
//   subtrees     subtree.h                                                             (6)
//   energies     energy.h                                                              (7)
//   clock        the time it is told                                                   (8)
//   bodies       the force between a body and its parent, interaction.h                (10)
//   contacts     contact_sensor.h                                                      (11)
//   fields       of mjData, field_sensor.h                                             (12)
//   flux, pixels camera_sensor.h                                                       (13)
//   limits       distance and rate, limit_sensor.h; force, limit_force.h               (14)
//   rays         of sites and of a camera's pixels, to the nearest geom, ray_picture.h (16)
//   distances    of two geoms, geom_distance.h                                         (17)
//   inside       1 where a frame's origin is in the volume of a site, else 0           (15)
// A sensor with a cutoff s shows min(max(y, -s), s); outside, its derivative is zero. Noise is left
// out. Forces that a joint's limit holds have a derivative of zero, as in a step.
//
// Pullback: frames, subtrees and V put wrenches on fields and poses, rows (tendon.h, the
// transmissions) too; one sweep brings them home. Accelerations have a cotangent of q̈ besides,
//   q̈̄_k = S_k · Σ ā of the bodies that dof k moves                                       (9)
// which the pullback of q̈ (instant_dynamics.h) takes, together with the cotangents of the rows'
// forces: one solve. The share of actuators in a joint's force is Jᵀp, whose cotangent c is a field
// of its own (field_sweep.h).
#pragma once

#include "cycloid/rigid/sense/adhesion_sensor.h"
#include "cycloid/rigid/sense/camera_sensor.h"
#include "cycloid/rigid/sense/contact_sensor.h"
#include "cycloid/rigid/sense/field_sensor.h"
#include "cycloid/rigid/sense/geom_distance.h"
#include "cycloid/rigid/sense/limit_force.h"
#include "cycloid/rigid/sense/limit_sensor.h"
#include "cycloid/rigid/tree/energy.h"

namespace cycloid::inline rigid {

// Poses, fields, lengths, rates and forces, and where asked for q̈ (w.qacc) with what follows.
template <class S, class P>
void measure(const Robot<S, P>& r, const SensorList& list, const Instant<S>& x,
             SenseSpace<S>& space) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  if (list.accelerations) {
    InstantDynamics<S>{space.plan, space.constraints, space.notes}.accelerate(r, x, w, w.qacc);
    acceleration_field(tree, w.frames.column, x.qvel, static_cast<const S*>(w.qacc), w.v,
                       r.gravity(), w.a);
    const InteractionPoint<S, P> at = interaction_point(r, x, space);
    if (space.plan) {
      view_contacts(at.scene(), space.constraints.contacts, space.constraints.solver.problem,
                    at.row_forces(), space.views);
    }
    if (list.sees_forces()) external_forces(at, space.interaction.external);
    if (list.interactions) interaction_forces(at, space.interaction);
    if (list.constraint_forces) constraint_forces(space);
  } else {
    place_bodies(r, x, w);
    measure_actuators(r, x, w);
    set_zero(w.adhesion_tau, tree.model.nv);
    set_zero(w.qacc, tree.model.nv);
    for (std::size_t l = 0; l < tree.links.size(); ++l) w.a[l] = Motion<S>{};
  }
  if (list.joint_forces) {
    limited_actuator_forces(r, x, w);
    const bool held = presses_limits(tree);  // then it is among them
    if (list.adhesion && space.plan && !held) add_adhesion_share(r, x, space, w.tau_act);
    if (counts_compensation(tree)) compensation_on_dofs(r, w);
  }
  if (list.roots) {
    place_roots(tree, r.p, w.frames, w.inertia, static_cast<const Motion<S>*>(w.v), space.roots);
  }
}

// Length or rate of an actuator's transmission.
template <class S, class P>
S transmission_length(const Robot<S, P>& r, int i, const Instant<S>& x, const Workspace<S>& w) {
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
S transmission_rate(const Robot<S, P>& r, int i, const Instant<S>& x, const Workspace<S>& w) {
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
inline bool sees_orientation(const TreeView& tree, const Sensor& s) {
  const SensorKind k = kind_of(s);
  return k >= SensorKind::actuator_position && k <= SensorKind::actuator_force &&
         turns_frame(tree.model.actuators[static_cast<std::size_t>(s.object)]);
}

// (3) of an orientation servo: log q_rel, ω and p of orientation.h.
template <class S, class P>
Vec3<S> orientation_sensor(const Robot<S, P>& r, SensorKind kind, int i, const Instant<S>& x,
                           const Workspace<S>& w) {
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
LimitPoint<S> limit_point(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
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
inline bool is_limit_rate(SensorKind k) {
  return k == SensorKind::joint_limit_velocity || k == SensorKind::tendon_limit_velocity;
}
// Whether the limit that a sensor looks at acts at all.
inline bool limit_acts(const TreeView& tree, const Sensor& s) {
  const Acting& acting = tree.model.options.acting;
  const std::size_t k = static_cast<std::size_t>(s.object);
  const bool on_joint = kind_of(s) == SensorKind::joint_limit_position ||
                        kind_of(s) == SensorKind::joint_limit_velocity;
  return acting.constraints && acting.limits &&
         (on_joint ? tree.model.joints[k].range.on : tree.model.tendons[k].range.on);
}

// One sensor, before its cutoff. `measure` has run.
template <class S, class P>
void sense_one(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x, const S& t,
               SenseSpace<S>& space, S* out) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  const int i = s.object;
  const std::size_t k = static_cast<std::size_t>(i);
  const Motion<S>*const v = w.v, *const a = w.a;
  if (sees_frame(kind_of(s))) {  // (5)
    const auto frame = [&](int type, int object) {
      return sensed_frame(tree, r.p, frame_mount(tree, type, object), w.frames, v, a);
    };
    const SensedFrame<S> o = frame(s.object_type, i);
    if (s.reference < 0) return frame_sensor<S>(kind_of(s), o, nullptr, out);
    const SensedFrame<S> ref = frame(s.reference_type, s.reference);
    return frame_sensor(kind_of(s), o, &ref, out);
  }
  if (kind_of(s) == SensorKind::magnetometer || kind_of(s) == SensorKind::camera_projection ||
      kind_of(s) == SensorKind::inside_site) {
    const auto frame = [&](int type, int object) {
      return sensed_frame(tree, r.p, frame_mount(tree, type, object), w.frames, v, a);
    };
    const SensedFrame<S> o = frame(s.object_type, i);
    if (kind_of(s) == SensorKind::magnetometer) return flux_sensor(s, o, out);  // (13)
    const SensedFrame<S> from = frame(s.reference_type, s.reference);
    if (kind_of(s) == SensorKind::camera_projection) return pixel_sensor(s, o, from, out);
    const Vec3<S> p = rotate_inverse(from.q, frame_distance(o, from));
    out[0] = select(inside_zone(s, p), S(1), S(0));  // (15)
    return;
  }
  if (kind_of(s) == SensorKind::rangefinder) {  // (16)
    const SensedFrame<S> o =
        sensed_frame(tree, r.p, frame_mount(tree, s.object_type, i), w.frames, v, a);
    return ray_picture(tree, r.p, s, o, w.frames, v, a, space.solids, out);
  }
  if (sees_distance(kind_of(s))) {  // (17)
    return distance_sensor(s, seen_distance(tree, r.p, space.solids.seen, s, w.frames, v, a), out);
  }
  if (sees_limit(kind_of(s))) {  // (14)
    const LimitPoint<S> at = limit_point(r, s, x, w);
    out[0] = limit_acts(tree, s) ? limit_sensor(is_limit_rate(kind_of(s)), at.x, at.rate, at.low,
                                                at.high, at.margin)
                                 : S(0);
    return;
  }
  if (kind_of(s) == SensorKind::actuator_velocity && adheres(tree.model.actuators[k])) {
    if (space.plan) measure_adhesion_rates(r, x, x.qvel, space);  // (3)
    out[0] = space.plan ? w.adhesion_rate[k] : S(0);
    return;
  }
  if (sees_orientation(tree, s)) return store(out, orientation_sensor(r, kind_of(s), i, x, w));
  if (sees_limit_force(kind_of(s))) {
    out[0] = limit_force(tree, s, space);
    return;
  }
  if (sees_interaction(kind_of(s))) {  // (10)
    const SensedFrame<S> site =
        sensed_frame(tree, r.p, frame_mount(tree, s.object_type, i), w.frames, v, a);
    const Vec3<S> y = site_interaction(kind_of(s) == SensorKind::torque, site,
                                       space.interaction.total[site.body]);
    store(out, rotate_inverse(site.q, y));
    return;
  }
  if (sees_contacts(kind_of(s))) {  // (11)
    return contact_sensor(interaction_point(r, x, space), s, space.contact_sign, out);
  }
  if (is_field(kind_of(s))) return sense_field(r, s, x, space, out);  // (12)
  if (is_subtree(kind_of(s))) {                                       // (6)
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

// All of the list: (list.size) numbers. t: the time [s].
template <class S, class P>
void sense(const Robot<S, P>& r, const SensorList& list, const Instant<S>& x, const S& t,
           SenseSpace<S>& space, S* out) {
  measure(r, list, x, space);
  for (std::size_t n = 0; n < list.sensors.size(); ++n) {
    const Sensor& s = list.sensors[n];
    S* const y = out + list.places[n];
    sense_one(r, s, x, t, space, y);
    const Range shown{s.cutoff > 0, -s.cutoff, s.cutoff};
    for (int i = 0; i < s.dimension; ++i) y[i] = clamp(shown, y[i]);
  }
}

}  // namespace cycloid::inline rigid
