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
// What follows from places, velocities and actuators alone is in placed_sense.h.
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
#include "cycloid/rigid/sense/contact_sensor.h"
#include "cycloid/rigid/sense/field_sensor.h"
#include "cycloid/rigid/sense/geom_distance.h"
#include "cycloid/rigid/sense/limit_force.h"
#include "cycloid/rigid/sense/placed_sense.h"

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
    measure_places(r, x, w);
  }
  if (list.joint_forces) {
    measure_joint_forces(r, x, w);
    const bool held = presses_limits(tree);  // then it is among them
    if (list.adhesion && space.plan && !held) add_adhesion_share(r, x, space, w.tau_act);
  }
  if (list.roots) {
    place_roots(tree, r.p, w.frames, w.inertia, static_cast<const Motion<S>*>(w.v), space.roots);
  }
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
  if (kind_of(s) == SensorKind::rangefinder) {  // (16)
    const SensedFrame<S> o =
        sensed_frame(tree, r.p, frame_mount(tree, s.object_type, i), w.frames, v, a);
    return ray_picture(tree, r.p, s, o, w.frames, v, a, space.solids, out);
  }
  if (sees_distance(kind_of(s))) {  // (17)
    return distance_sensor(s, seen_distance(tree, r.p, space.solids.seen, s, w.frames, v, a), out);
  }
  if (kind_of(s) == SensorKind::actuator_velocity && adheres(tree.model.actuators[k])) {
    if (space.plan) measure_adhesion_rates(r, x, x.qvel, space);  // (3)
    out[0] = space.plan ? w.adhesion_rate[k] : S(0);
    return;
  }
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
  placed_sensor(r, s, x, t, w, out);
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
    cut_off(s, y);
  }
}

}  // namespace cycloid::inline rigid
