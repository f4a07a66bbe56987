// An actuator at its place: what its law looks at (control, activation, length and rate of its
// transmission), with the pullback, and the row J along which it pulls.
#pragma once

#include "cycloid/rigid/force/actuator.h"
#include "cycloid/rigid/force/joint_transmission.h"
#include "cycloid/rigid/force/site_transmission.h"
#include "cycloid/rigid/robot_view.h"
#include "cycloid/rigid/tree/workspace.h"
#include "cycloid/system/law.h"

namespace cycloid::inline rigid {

CYCLOID_HD inline bool on_one_dof(const TreeView& tree, const Actuator& a) {
  return (a.transmission == TransmissionKind::joint ||
          a.transmission == TransmissionKind::joint_in_parent) &&
         dof_numbers(tree.model.joints[static_cast<std::size_t>(a.target)].kind) == 1;
}

// The place of the three gears that turn.
CYCLOID_HD inline int turning_gear(const TreeView& tree, std::size_t i) {
  const bool site = tree.model.actuators[i].transmission == TransmissionKind::site;
  return tree.actuators[i].gear + (site ? 3 : 0);
}

// Length, rate and period of an actuator's transmission; zero where its law does not look at them.
template <class S>
struct TransmissionPoint {
  S length{}, rate{}, period{};
};
template <class S, class P>
CYCLOID_INLINE TransmissionPoint<S> transmission_point(const Robot<S, P>& r, std::size_t i,
                                                       const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  const int id = static_cast<int>(i);
  TransmissionPoint<S> point;
  if (!looks_at_length(a)) return point;  // (5) of actuator.h does not look at them
  switch (a.transmission) {
    case TransmissionKind::joint:
    case TransmissionKind::joint_in_parent:
      point.length = joint_transmission_length(tree, r.p, id, x.qpos);
      point.rate = joint_transmission_rate(tree, r.p, id, x.qpos, x.qvel);
      break;
    case TransmissionKind::tendon: {
      const S gear = S(r.p[tree.actuators[i].gear]);
      point.length = gear * w.tendon_length[a.target];
      point.rate = gear * w.tendon_rate[a.target];
      break;
    }
    case TransmissionKind::slider_crank:
    case TransmissionKind::site:
      point.length = site_transmission_length(tree, r.p, id, w.frames);
      point.rate =
          site_transmission_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.v));
      break;
    case TransmissionKind::body:
    case TransmissionKind::orientation: break;
  }
  if (setpoint_turns(tree, a)) {
    point.period = number<S>(2 * kPi) * norm(vec3_of<S>(r.p + turning_gear(tree, i)));
  }
  return point;
}
// The period's cotangent goes to the gears.
template <class S, class P>
CYCLOID_INLINE void add_period_bar(const Robot<S, P>& r, std::size_t i, const S& period_bar,
                                   S* p_bar) {
  if (!p_bar || !setpoint_turns(r.tree, r.tree.model.actuators[i])) return;
  const int turning = turning_gear(r.tree, i);
  add_to(p_bar + turning,
         unit_and_norm(vec3_of<S>(r.p + turning)).unit * (number<S>(2 * kPi) * period_bar));
}

// The actuator's place in its own law: control, activation, length and rate of its transmission.
template <class S, class P>
CYCLOID_INLINE ActuatorPoint<S> actuator_point(const Robot<S, P>& r, std::size_t i,
                                               const Instant<S>& x, const Workspace<S>& w) {
  const Actuator& a = r.tree.model.actuators[i];
  const TransmissionPoint<S> at = transmission_point(r, i, x, w);
  return {r.inputs.ctrl < 0 ? S(0) : x.u[r.inputs.ctrl + a.control],
          a.act < 0 ? S(0) : x.act[a.act], at.length, at.rate, at.period};
}

// The pullback of one actuator's law: hands on the cotangents of control, activation, period and
// parameters, and returns those of length and rate.
template <class S, class P>
CYCLOID_INLINE ActuatorPoint<S> gather_actuator(const Robot<S, P>& r, std::size_t i,
                                                const ActuatorPoint<S>& point,
                                                const ActuatorForce<S>& out,
                                                const ActuatorBars<S>& out_bar,
                                                const InstantBars<S>& bar) {
  const Actuator& a = r.tree.model.actuators[i];
  ActuatorPoint<S> point_bar{};
  actuator_force_pullback(r.tree, r.p, i, r.timestep(), point, out, out_bar, point_bar, bar.h,
                          bar.p);
  add_period_bar(r, i, point_bar.period, bar.p);
  if (a.act >= 0) bar.act[a.act] += point_bar.act;
  if (r.inputs.ctrl >= 0) bar.u[r.inputs.ctrl + a.control] += point_bar.ctrl;
  return point_bar;
}

// The actuator's row, as row_form.h takes it: (nv), with memory.
template <class S, class P>
CYCLOID_HD void actuator_row(const Robot<S, P>& r, int i, const Instant<S>& x,
                             const Workspace<S>& w, S* J) {
  const TreeView& tree = r.tree;
  set_zero(J, tree.model.nv);
  if (!pulls_at_sites(tree.model.actuators[static_cast<std::size_t>(i)])) {
    apply_joint_transmission(tree, r.p, i, x.qpos, S(1), J);
    return;
  }
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.rows.wrenches[b] = Force<S>{};
  apply_site_transmission(tree, r.p, i, w.frames, S(1), w.rows.wrenches);
  complete_row(tree, w.frames.column, static_cast<const Force<S>*>(w.rows.wrenches), w.rows.links,
               J);
}

template <class S>
CYCLOID_INLINE S row_times(const TreeView& tree, const S* J, const S* x) {
  S sum(0);
  for (int k = 0; k < tree.model.nv; ++k) sum += J[k] * x[k];
  return sum;
}

}  // namespace cycloid::inline rigid
