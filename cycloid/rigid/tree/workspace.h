// The memory of one chunk's step: every array that a stage of the step writes, carved out of one
// block once, so that a step allocates nothing.
#pragma once

#include <cstddef>

#include "cycloid/rigid/force/medium_damping.h"
#include "cycloid/rigid/force/tendon_armature.h"

namespace cycloid::inline rigid {

template <class S>
struct Workspace {
  Frames<S> frames;
  SpatialInertia<S>*inertia, *composite;  // (bodies)
  Motion<S>*v, *a, *m;                    // (links) fields
  Force<S>* force;                        // (links)
  BodyBars<S> bars;
  S *tau, *slope, *armature;           // (nv)
  S* LD;                               // (entries)
  S *qacc, *mu, *slope_bar;            // (nv)
  S *mocap, *mocap_bar;                // (nmocap, 7), (nmocap, 6)
  S *act_dot, *act_next;               // (na)
  Force<S>* wrench;                    // (bodies) applied to bodies
  S *tau_act, *mu_act;                 // (nv) the actuators' share, and μ as they feel it
  S *compensation, *mu_limited;        // (nv) gravity compensation under a limit, μ's change by it
  S *actuator_force, *actuator_slope;  // (actuators)
  S *tendon_length, *tendon_rate, *tendon_total, *tendon_force, *tendon_slope;  // (tendons)
  S *tendon_length_bar, *tendon_rate_bar, *tendon_slope_bar, *tendon_mu, *tendon_spread;
  // Rows with inertia or implicit slopes, and the medium's implicit slope.
  TendonArmatureSpace<S> rows;
  S* row_mocap_bar;            // (nmocap, 6)
  SpatialDamping<S>* damping;  // (bodies)
  S* free_blocks;              // (free bodies, 36) their factors
  // Runge–Kutta: the stage's state, and cotangents of stage rates
  S *stage_state, *stage_rate, *q_bar, *v_bar, *act_bar;

  // Carves the arrays out of `memory`, or, with null, only counts. Returns the bytes.
  std::size_t carve(const Tree& tree, std::byte* memory) {
    std::size_t used = 0;
    const auto take = [&]<class A>(A*& array, std::size_t n) {
      array = memory ? reinterpret_cast<A*>(memory + used) : nullptr;
      used += n * sizeof(A);
    };
    const Model& model = tree.model;
    const std::size_t links = tree.links.size(), bodies = model.bodies.size(),
                      nv = static_cast<std::size_t>(model.nv),
                      na = static_cast<std::size_t>(model.na),
                      state = static_cast<std::size_t>(model.nq) + nv + na;
    take(frames.link_quat, links);
    take(frames.link_anchor, links);
    take(frames.turn_sin, links);
    take(frames.turn_cos, links);
    take(frames.before_quat, bodies);
    take(frames.before_pos, bodies);
    take(frames.R, bodies);
    take(frames.pos, bodies);
    take(frames.origin, bodies);
    take(frames.column, nv);
    take(inertia, bodies);
    take(composite, bodies);
    take(v, links);
    take(a, links);
    take(m, links);
    take(force, links);
    take(bars.m, bodies);
    take(bars.a, bodies);
    take(bars.v, bodies);
    take(bars.pose, bodies);
    take(tau, nv);
    take(slope, nv);
    take(armature, nv);
    take(LD, static_cast<std::size_t>(tree.entries()));
    take(qacc, nv);
    take(mu, nv);
    take(slope_bar, nv);
    take(mocap, 7 * static_cast<std::size_t>(model.nmocap));
    take(mocap_bar, 6 * static_cast<std::size_t>(model.nmocap));
    take(act_dot, na);
    take(act_next, na);
    take(wrench, bodies);
    take(tau_act, nv);
    take(mu_act, nv);
    take(compensation, nv);
    take(mu_limited, nv);
    take(actuator_force, model.actuators.size());
    take(actuator_slope, model.actuators.size());
    const std::size_t tendons = model.tendons.size();
    for (S** array :
         {&tendon_length, &tendon_rate, &tendon_total, &tendon_force, &tendon_slope,
          &tendon_length_bar, &tendon_rate_bar, &tendon_slope_bar, &tendon_mu, &tendon_spread}) {
      take(*array, tendons);
    }
    take(rows.wrenches, bodies);
    take(rows.links, links);
    take(rows.row, nv);
    take(rows.form.w, nv);
    take(rows.form.field, links);
    take(rows.form.sweep.zeros, nv);
    take(rows.form.sweep.rest, links);
    take(rows.form.sweep.massless, bodies);
    take(rows.form.sweep.bars.m, bodies);
    take(rows.form.sweep.bars.a, bodies);
    take(rows.form.sweep.bars.v, bodies);
    take(rows.form.sweep.bars.pose, bodies);
    take(rows.form.sweep.mocap_bar, 6 * static_cast<std::size_t>(model.nmocap));
    take(row_mocap_bar, 6 * static_cast<std::size_t>(model.nmocap));
    take(damping, bodies);
    take(free_blocks, 36 * tree.free_bodies.size());
    take(stage_state, 2 * state);
    take(stage_rate, 8 * (2 * nv + na));
    take(q_bar, nv);
    take(v_bar, nv);
    take(act_bar, na);
    return used;
  }
};

}  // namespace cycloid::inline rigid
