// The pullback of sense.h, through its numbers in reverse.
#pragma once

#include "cycloid/rigid/sense/sense.h"

namespace cycloid::inline rigid {

// (14) of a ball.
template <class S, class P>
void gather_ball_limit(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
                       const LimitPoint<S>& at, const S& y_bar, const InstantBars<S>& bar) {
  const std::size_t k = static_cast<std::size_t>(s.object);
  const Joint& j = r.tree.model.joints[k];
  S x_bar(0), rate_bar(0), range_bar[2] = {S(0), S(0)};
  limit_sensor_pullback(is_limit_rate(kind_of(s)), at.x, at.low, at.high, at.margin, y_bar, x_bar,
                        rate_bar, range_bar);
  ball_turn_pullback(BallTurn<S>(x.qpos + j.qpos), load_vec3(x.qvel + j.dof), x_bar, rate_bar,
                     bar.q + j.dof, bar.v + j.dof);
  const int place = r.tree.joints[k].range;
  if (!bar.p || place < 0) return;
  const Mask<S> second = S(r.p[place + 1]) > S(r.p[place]);  // as limit_rows.h has it
  bar.p[place] += select(second, S(0), range_bar[1]);
  bar.p[place + 1] += select(second, range_bar[1], S(0));
}

// One sensor: y_bar is that of its numbers before the cutoff. Adds to space, its work.bars and bar;
// the cotangent of T is added to kinetic_bar.
template <class S, class P>
void sense_one_pullback(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
                        SenseSpace<S>& space, const S* y_bar, S& kinetic_bar,
                        const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  const int i = s.object;
  const std::size_t k = static_cast<std::size_t>(i);
  const Motion<S>*const v = w.v, *const a = w.a;
  const SensorKind kind = kind_of(s);
  if (sees_frame(kind)) {  // (5)
    const FrameMount on = frame_mount(tree, s.object_type, i);
    const SensedFrame<S> o = sensed_frame(tree, r.p, on, w.frames, v, a);
    SensedFrameBars<S> o_bar, ref_bar;
    if (s.reference < 0) {
      frame_sensor_pullback<S>(kind, o, nullptr, y_bar, o_bar, ref_bar);
    } else {
      const FrameMount at = frame_mount(tree, s.reference_type, s.reference);
      const SensedFrame<S> ref = sensed_frame(tree, r.p, at, w.frames, v, a);
      frame_sensor_pullback(kind, o, &ref, y_bar, o_bar, ref_bar);
      sensed_frame_pullback(at, w.frames, ref, ref_bar, w.bars, bar.p);
    }
    sensed_frame_pullback(on, w.frames, o, o_bar, w.bars, bar.p);
    return;
  }
  if (kind == SensorKind::inside_site) return;                                      // (15)
  if (kind == SensorKind::magnetometer || kind == SensorKind::camera_projection) {  // (13)
    const FrameMount on = frame_mount(tree, s.object_type, i);
    const SensedFrame<S> o = sensed_frame(tree, r.p, on, w.frames, v, a);
    SensedFrameBars<S> o_bar, camera_bar;
    if (kind == SensorKind::magnetometer) {
      flux_sensor_pullback(s, o, y_bar, o_bar);
    } else {
      const FrameMount at = frame_mount(tree, s.reference_type, s.reference);
      const SensedFrame<S> camera = sensed_frame(tree, r.p, at, w.frames, v, a);
      pixel_sensor_pullback(s, o, camera, y_bar, o_bar, camera_bar);
      sensed_frame_pullback(at, w.frames, camera, camera_bar, w.bars, bar.p);
    }
    sensed_frame_pullback(on, w.frames, o, o_bar, w.bars, bar.p);
    return;
  }
  if (kind == SensorKind::rangefinder) {  // (16)
    const FrameMount on = frame_mount(tree, s.object_type, i);
    const SensedFrame<S> o = sensed_frame(tree, r.p, on, w.frames, v, a);
    SensedFrameBars<S> o_bar;
    ray_picture_pullback(tree, r.p, s, o, w.frames, v, a, space.solids, y_bar, o_bar, w.bars,
                         bar.p);
    sensed_frame_pullback(on, w.frames, o, o_bar, w.bars, bar.p);
    return;
  }
  if (sees_distance(kind)) {  // (17)
    return seen_distance_pullback(tree, r.p, space.solids.seen, s, w.frames, v, a, y_bar, w.bars,
                                  bar.p);
  }
  if (sees_limit(kind)) {  // (14)
    if (!limit_acts(tree, s)) return;
    const LimitPoint<S> at = limit_point(r, s, x, w);
    const bool on_joint =
        kind == SensorKind::joint_limit_position || kind == SensorKind::joint_limit_velocity;
    const int place = on_joint ? tree.joints[k].range : tree.tendons[k].range;
    if (on_joint && tree.model.joints[k].kind == JointKind::ball) {
      return gather_ball_limit(r, s, x, at, y_bar[0], bar);
    }
    S& x_bar = on_joint ? bar.q[tree.model.joints[k].dof] : space.tendon_length_bar[k];
    S& rate_bar = on_joint ? bar.v[tree.model.joints[k].dof] : space.tendon_rate_bar[k];
    limit_sensor_pullback(is_limit_rate(kind), at.x, at.low, at.high, at.margin, y_bar[0], x_bar,
                          rate_bar, bar.p && place >= 0 ? bar.p + place : nullptr);
    return;
  }
  if (sees_orientation(tree, s)) {
    S* const to = kind == SensorKind::actuator_position   ? space.turn_bar
                  : kind == SensorKind::actuator_velocity ? space.turn_rate_bar
                                                          : space.turn_force_bar;
    return add_to(to + 3 * i, load_vec3(y_bar));
  }
  if (sees_limit_force(kind)) return limit_force_pullback(tree, s, space, y_bar[0]);
  if (sees_interaction(kind)) {  // (10)
    const FrameMount on = frame_mount(tree, s.object_type, i);
    const SensedFrame<S> site = sensed_frame(tree, r.p, on, w.frames, v, a);
    SensedFrameBars<S> site_bar;
    gather_site_interaction(kind == SensorKind::torque, site, space.interaction.total[site.body],
                            load_vec3(y_bar), space.interaction.bar[site.body], site_bar);
    sensed_frame_pullback(on, w.frames, site, site_bar, w.bars, bar.p);
    return;
  }
  if (sees_contacts(kind)) {  // (11)
    return gather_contact_sensor(interaction_point(r, x, space), s, space.contact_sign, y_bar);
  }
  if (is_field(kind)) return gather_field(r, s, x, space, y_bar, bar);  // (12)
  if (is_subtree(kind)) {                                               // (6)
    const SubtreeMotion<S> m = subtree_motion(tree, r.p, i, w.frames, w.inertia, v);
    SubtreeBars<S> m_bar;
    (kind == SensorKind::subtree_com               ? m_bar.com
     : kind == SensorKind::subtree_linear_velocity ? m_bar.velocity
                                                   : m_bar.angular) = load_vec3(y_bar);
    subtree_motion_pullback(tree, r.p, i, w.frames, w.inertia, v, m, m_bar, w.bars, bar.p);
    return;
  }
  switch (kind) {
    case SensorKind::joint_position: bar.q[tree.model.joints[k].dof] += y_bar[0]; break;  // (1)
    case SensorKind::joint_velocity: bar.v[tree.model.joints[k].dof] += y_bar[0]; break;
    case SensorKind::ball_quaternion: {
      const Joint& j = tree.model.joints[k];
      add_to(bar.q + j.dof,
             tangent_from_ambient_cotangent(load_quat(x.qpos + j.qpos), load_quat(y_bar)));
      break;
    }
    case SensorKind::ball_angular_velocity:
      add_to(bar.v + tree.model.joints[k].dof, load_vec3(y_bar));
      break;
    case SensorKind::tendon_position: space.tendon_length_bar[k] += y_bar[0]; break;  // (2)
    case SensorKind::tendon_velocity: space.tendon_rate_bar[k] += y_bar[0]; break;
    case SensorKind::actuator_position: space.length_bar[k] += y_bar[0]; break;  // (3)
    case SensorKind::actuator_velocity: space.rate_bar[k] += y_bar[0]; break;
    case SensorKind::actuator_force: space.force_bar[k] += y_bar[0]; break;
    case SensorKind::tendon_actuator_force:  // (4): the sum of what its actuators show
      for (std::size_t n = 0; n < tree.model.actuators.size(); ++n) {
        const Actuator& on = tree.model.actuators[n];
        if (on.transmission == TransmissionKind::tendon && on.target == i) {
          space.force_bar[n] += y_bar[0];
        }
      }
      break;
    case SensorKind::joint_actuator_force: {
      const Joint& j = tree.model.joints[k];
      space.joint_force_bar[j.dof] += y_bar[0] * limit_open(tree, j, j.dof, w);
      break;
    }
    case SensorKind::potential_energy:  // (7)
      potential_energy_pullback(r, x, w, y_bar[0], space.tendon_length_bar, bar);
      break;
    case SensorKind::kinetic_energy: kinetic_bar += y_bar[0]; break;
    default: break;  // (8)
  }
}

// (4): c of the joints' forces Jᵀ p goes to the forces p in space.force_bar, and to J by a sweep of
// its own.
template <class S, class P>
void gather_joint_forces(const Robot<S, P>& r, const Instant<S>& x, SenseSpace<S>& space,
                         const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  const RowFormSpace<S>& form = w.rows.form;
  const S* const c = space.joint_force_bar;
  form.sweep.clear(tree);
  velocity_field(tree, w.frames.column, c, form.field);
  const RowPoint<S> at{w.frames, form.field, form.sweep.rest, x.qpos, c, form.sweep.zeros};
  const RowSinks<S> to{form.sweep.bars, bar.q, form.sweep.zeros, bar.p};
  const Motion<S>* const field = form.field;
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (!acts(tree, a)) continue;
    const int id = static_cast<int>(i), place = tree.actuators[i].gear;
    const S shown = left_force(tree, i, w);
    switch (a.transmission) {
      case TransmissionKind::tendon: {
        const S J_c = tendon_rate(tree, r.p, a.target, w.frames, field, c), gear = S(r.p[place]);
        space.force_bar[i] += gear * J_c;
        if (bar.p) bar.p[place] += J_c * shown;
        tendon_pullback(tree, r.p, a.target, at, RowBars<S>{S(0), gear * shown, S(0)}, to);
        break;
      }
      case TransmissionKind::slider_crank:
      case TransmissionKind::site:
        space.force_bar[i] += site_transmission_rate(tree, r.p, id, w.frames, field);
        site_transmission_pullback(tree, r.p, id, at, RowBars<S>{S(0), shown, S(0)}, to);
        break;
      case TransmissionKind::orientation: {
        const Vec3<S> none{};
        add_to(space.turn_force_bar + 3 * i, orientation_rate(tree, r.p, id, w.frames, field, c));
        orientation_pullback(tree, r.p, id, at, load_vec3(w.orientation_force + 3 * i), none, none,
                             to);
        break;
      }
      case TransmissionKind::body: break;  // below
      default:
        space.force_bar[i] += joint_transmission_rate(tree, r.p, id, x.qpos, c);
        joint_transmission_pullback(tree, r.p, id, at, RowBars<S>{S(0), shown, S(0)}, to);
        break;
    }
  }
  if (holds_contacts(tree, space)) {
    const BodyBars<S>& sinks = form.sweep.bars;
    measure_adhesion_rates(r, x, c, space);
    for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
      if (adheres(tree.model.actuators[i])) space.force_bar[i] += w.adhesion_rate[i];
    }
    gather_adhesion_form(r, x, space, static_cast<const S*>(w.actuator_force), field,
                         {sinks.m, sinks.a, sinks.a, sinks.v, sinks.pose}, bar);
  }
  field_sweep_pullback(tree, r.p, w.frames, x.qpos, c, field, form.sweep, bar.q, bar.p,
                       w.row_mocap_bar);
  if (!counts_compensation(tree)) return;
  for (const Joint& j : tree.model.joints) {
    for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
      w.mu_limited[k] = j.compensation_by_actuator ? c[k] : S(0);
    }
  }
  Vec3<S> gravity_bar{};
  gather_limited_compensation(r, x, w, gravity_bar, bar);
  if (bar.p && tree.model.options.acting.gravity) {
    add_to(bar.p + tree.options.gravity, gravity_bar);
  }
}

// (3) of an orientation servo: of its force through its law, then of what it turns.
template <class S, class P>
void gather_turn(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                 const SenseSpace<S>& space, const RowPoint<S>& at, const RowSinks<S>& to,
                 const InstantBars<S>& bar) {
  const Vec3<S> none{}, phi_bar = load_vec3(space.turn_bar + 3 * i);
  OrientationForce<S> out_bar;
  if (acts(r.tree, r.tree.model.actuators[i])) {
    out_bar.force = load_vec3(space.turn_force_bar + 3 * i);
  }
  OrientationBars<S> law = gather_orientation_law(r, i, x, space.work, out_bar, bar);
  law.turn += right_jacobian_inverse_apply(-quaternion_log(law.at.q), phi_bar);
  orientation_pullback(r.tree, r.p, static_cast<int>(i), at, none,
                       law.rate + load_vec3(space.turn_rate_bar + 3 * i), law.turn, to);
}

// (3), (2): forces first, through the limits of tendons; then lengths and rates, along the rows.
template <class S, class P>
void gather_rows(const Robot<S, P>& r, const Instant<S>& x, const SenseSpace<S>& space,
                 const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  const FieldSweepSpace<S>& still = w.rows.form.sweep;
  still.clear(tree);
  const RowPoint<S> at{w.frames, still.rest, w.v, x.qpos, still.zeros, x.qvel};
  const RowSinks<S> to{w.bars, bar.q, bar.v, bar.p};
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) w.tendon_spread[t] = S(0);
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (a.transmission == TransmissionKind::tendon) {
      w.tendon_spread[a.target] += space.force_bar[i] * (w.actuator_force[i] - w.loose_force[i]);
    }
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (turns_frame(a)) {
      gather_turn(r, i, x, space, at, to, bar);
      continue;
    }
    const int id = static_cast<int>(i), place = tree.actuators[i].gear;
    const bool on_tendon = a.transmission == TransmissionKind::tendon;
    S length_bar = space.length_bar[i], rate_bar = space.rate_bar[i];
    if (acts(tree, a)) {
      const S scale = force_scale(tree, a, w);
      MotorForce<S> of_law;
      S force(0);
      of_law.force = space.force_bar[i] * scale;
      if (on_tendon) {  // (2) of actuation.h
        of_law.force -= select(scale == S(1), S(0),
                               scale / w.tendon_total[a.target] * w.tendon_spread[a.target]);
        of_law.loose = space.force_bar[i] - of_law.force;
      }
      const S* const none = nullptr;
      const ActuatorPoint<S> point_bar =
          gather_law(r, i, x, w, none, none, bar, force,
                     [&](const MotorForce<S>&, MotorForce<S>& p_bar) { p_bar = of_law; });
      length_bar += point_bar.length;
      rate_bar += point_bar.rate;
    }
    const RowBars<S> row{length_bar, S(0), rate_bar};
    if (on_tendon) {
      const S gear = S(r.p[place]);
      space.tendon_length_bar[a.target] += gear * length_bar;
      space.tendon_rate_bar[a.target] += gear * rate_bar;
      if (bar.p) {
        bar.p[place] += length_bar * w.tendon_length[a.target] + rate_bar * w.tendon_rate[a.target];
      }
    } else if (pulls_at_sites(a)) {
      site_transmission_pullback(tree, r.p, id, at, row, to);
    } else if (a.transmission != TransmissionKind::body) {
      joint_transmission_pullback(tree, r.p, id, at, row, to);
    }
  }
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    tendon_pullback(tree, r.p, static_cast<int>(t), at,
                    RowBars<S>{space.tendon_length_bar[t], S(0), space.tendon_rate_bar[t]}, to);
  }
}

// What sensors have put on the views of contacts goes to the rows' forces and to the geoms.
template <class S, class P>
void gather_contacts(const Robot<S, P>& r, const Instant<S>& x, SenseSpace<S>& space,
                     const InstantBars<S>& bar) {
  const BodyBars<S>& bars = space.work.bars;
  ReferenceOptions<S> unused{};
  const RowGradient<S> sink{
      {bars.m, bars.a, bars.a, bars.v, bars.pose}, bar.q, bar.v, bar.p, unused};
  gather_contact_views(interaction_point(r, x, space).scene(), space.constraints.contacts,
                       space.constraints.solver.problem, space.views, space.row_force_bar, sink);
}

// Adds to bar, given the cotangent of `sense`'s numbers.
template <class S, class P>
void sense_pullback(const Robot<S, P>& r, const SensorList& list, const Instant<S>& x,
                    SenseSpace<S>& space, const S* out_bar, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  S kinetic_bar(0);
  bool kinetic = false;
  measure(r, list, x, space);
  space.clear(tree);
  w.bars.clear(tree.model.bodies.size());
  set_zero(w.row_mocap_bar, 6 * tree.model.nmocap);
  for (std::size_t n = 0; n < list.sensors.size(); ++n) {
    const Sensor& s = list.sensors[n];
    // Of any size; never cut off, or by their own pullback.
    if (kind_of(s) == SensorKind::contact || kind_of(s) == SensorKind::rangefinder ||
        is_field(kind_of(s))) {
      sense_one_pullback(r, s, x, space, out_bar + list.places[n], kinetic_bar, bar);
      continue;
    }
    S y_bar[6]{};
    for (int i = 0; i < s.dimension; ++i) y_bar[i] = out_bar[list.places[n] + i];
    if (s.cutoff > 0) {
      S y[6]{};
      sense_one(r, s, x, S(0), space, y);
      for (int i = 0; i < s.dimension; ++i) y_bar[i] *= inside({true, -s.cutoff, s.cutoff}, y[i]);
    }
    kinetic = kinetic || kind_of(s) == SensorKind::kinetic_energy;
    sense_one_pullback(r, s, x, space, y_bar, kinetic_bar, bar);
  }
  if (list.interactions) gather_interaction(interaction_point(r, x, space), space.interaction, bar);
  if (list.sees_forces()) {
    gather_external(interaction_point(r, x, space),
                    static_cast<const Motion<S>*>(space.interaction.external_bar),
                    TendonBars<S>{space.tendon_length_bar, space.tendon_rate_bar, space.force_bar,
                                  space.row_force_bar},
                    bar);
  }
  if (space.plan && (list.sees_forces() || list.contacts)) gather_contacts(r, x, space, bar);
  if (list.adhesion && space.plan) {
    w.rows.form.sweep.clear(tree);
    gather_adhesion_form(r, x, space, static_cast<const S*>(space.rate_bar),
                         static_cast<const Motion<S>*>(w.v),
                         {w.bars.v, w.bars.a, w.bars.a, w.bars.v, w.bars.pose}, bar);
  }
  if (list.roots) {
    gather_roots(tree, r.p, w.frames, w.inertia, static_cast<const Motion<S>*>(w.v), space.roots,
                 w.bars, bar.p);
  }
  if (list.joint_forces) gather_joint_forces(r, x, space, bar);
  gather_rows(r, x, space, bar);
  if (list.accelerations) {
    complete_row(tree, w.frames.column, static_cast<const Force<S>*>(w.bars.a), w.rows.links,
                 space.qacc_bar);  // (9)
  }
  const FieldSweepSpace<S>& still = w.rows.form.sweep;
  const SweepPoint<S> at{tree,       w.frames, still.massless, w.v,    w.a,
                         still.rest, x.qpos,   x.qvel,         w.qacc, still.zeros};
  sweep_pullback(at, r.p, w.bars, bar.q, bar.v, bar.p, w.mocap_bar);
  gather_mocap(r, w, bar.u);
  if (bar.p && list.accelerations && tree.model.options.acting.gravity) {
    add_to(bar.p + tree.options.gravity, -w.bars.a[0].force);
  }
  if (kinetic) kinetic_energy_pullback(r, x, w, kinetic_bar, bar);
  if (!list.accelerations) return;
  if (list.constraint_forces) gather_constraint_forces(r, x, space, bar);
  for (int k = 0; k < tree.model.nv; ++k) w.mu[k] = space.qacc_bar[k];
  InstantDynamics<S>{space.plan, space.constraints}.pullback(
      r, x, w, static_cast<const S*>(w.qacc), static_cast<const S*>(space.row_force_bar), bar);
}

}  // namespace cycloid::inline rigid
