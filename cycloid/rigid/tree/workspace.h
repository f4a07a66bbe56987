// The memory of one chunk's step: every array that a stage of the step writes, carved out of one
// block once, so that a step allocates nothing.
#pragma once

#include <cstddef>

#include "cycloid/base/arena.h"
#include "cycloid/rigid/force/ellipsoid_force.h"
#include "cycloid/rigid/force/tendon_armature.h"
#include "cycloid/rigid/tree/bias_slope.h"

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
  S* loose_force;                      // (actuators) of these, what limits of tendons do not hold
  S* orientation_force;                // (actuators, 3) of those that turn a frame
  S* adhesion_rate;                    // (actuators) J μ of those that act on contacts
  S* adhesion_tau;                     // (nv) their share of τ, where joints limit it
  S *tendon_length, *tendon_rate, *tendon_total, *tendon_force, *tendon_slope;  // (tendons)
  S *tendon_length_bar, *tendon_rate_bar, *tendon_slope_bar, *tendon_mu, *tendon_spread;
  // Rows with inertia or implicit slopes, and the medium's implicit slope.
  TendonArmatureSpace<S> rows;
  S* row_mocap_bar;            // (nmocap, 6)
  SpatialDamping<S>* damping;  // (bodies)
  SpatialSpin<S>* spin;        // (bodies) where there are geoms that the medium sees
  S* free_blocks;              // (free bodies, 36) their factors
  BiasSlopeSpace<S> bias;      // of the integrator `implicit`
  // Runge–Kutta: the stage's state, and cotangents of stage rates
  S *stage_state, *stage_rate, *q_bar, *v_bar, *act_bar;

  void carve(const TreeView& tree, Arena& arena) {
    const ModelView& model = tree.model;
    const std::size_t links = tree.links.size(), bodies = model.bodies.size(),
                      nv = static_cast<std::size_t>(model.nv),
                      na = static_cast<std::size_t>(model.na),
                      state = static_cast<std::size_t>(model.nq) + nv + na;
    arena.take(frames.link_quat, links);
    arena.take(frames.link_anchor, links);
    arena.take(frames.turn_sin, links);
    arena.take(frames.turn_cos, links);
    arena.take(frames.before_quat, bodies);
    arena.take(frames.before_pos, bodies);
    arena.take(frames.R, bodies);
    arena.take(frames.pos, bodies);
    arena.take(frames.origin, bodies);
    arena.take(frames.column, nv);
    arena.take(inertia, bodies);
    arena.take(composite, bodies);
    arena.take(v, links);
    arena.take(a, links);
    arena.take(m, links);
    arena.take(force, links);
    arena.take(bars.m, bodies);
    arena.take(bars.a, bodies);
    arena.take(bars.v, bodies);
    arena.take(bars.pose, bodies);
    arena.take(tau, nv);
    arena.take(slope, nv);
    arena.take(armature, nv);
    arena.take(LD, static_cast<std::size_t>(tree.entries()));
    arena.take(qacc, nv);
    arena.take(mu, nv);
    arena.take(slope_bar, nv);
    arena.take(mocap, 7 * static_cast<std::size_t>(model.nmocap));
    arena.take(mocap_bar, 6 * static_cast<std::size_t>(model.nmocap));
    arena.take(act_dot, na);
    arena.take(act_next, na);
    arena.take(wrench, bodies);
    arena.take(tau_act, nv);
    arena.take(mu_act, nv);
    arena.take(compensation, nv);
    arena.take(mu_limited, nv);
    arena.take(actuator_force, model.actuators.size());
    arena.take(actuator_slope, model.actuators.size());
    arena.take(orientation_force, 3 * model.actuators.size());
    arena.take(loose_force, model.actuators.size());
    arena.take(adhesion_rate, model.actuators.size());
    arena.take(adhesion_tau, nv);
    const std::size_t tendons = model.tendons.size();
    for (S** array :
         {&tendon_length, &tendon_rate, &tendon_total, &tendon_force, &tendon_slope,
          &tendon_length_bar, &tendon_rate_bar, &tendon_slope_bar, &tendon_mu, &tendon_spread}) {
      arena.take(*array, tendons);
    }
    arena.take(rows.wrenches, bodies);
    arena.take(rows.links, links);
    arena.take(rows.row, nv);
    arena.take(rows.form.w, nv);
    arena.take(rows.form.field, links);
    arena.take(rows.form.sweep.zeros, nv);
    arena.take(rows.form.sweep.rest, links);
    arena.take(rows.form.sweep.massless, bodies);
    arena.take(rows.form.sweep.bars.m, bodies);
    arena.take(rows.form.sweep.bars.a, bodies);
    arena.take(rows.form.sweep.bars.v, bodies);
    arena.take(rows.form.sweep.bars.pose, bodies);
    arena.take(rows.form.sweep.mocap_bar, 6 * static_cast<std::size_t>(model.nmocap));
    arena.take(row_mocap_bar, 6 * static_cast<std::size_t>(model.nmocap));
    arena.take(damping, bodies);
    arena.take(spin, tree.fluid_geoms.empty() ? 0 : bodies);
    arena.take(free_blocks, 36 * tree.free_bodies.size());
    if (model.options.integrator == RigidIntegrator::implicit) {
      arena.take(bias.upper, static_cast<std::size_t>(tree.entries()));
      arena.take(bias.rnea.form, bodies);
      arena.take(bias.rnea.phi_dot, nv);
      for (Motion<S>** field : {&bias.m, &bias.v, &bias.a}) arena.take(*field, links);
      for (S** vector : {&bias.lambda, &bias.rate, &bias.rate_bar, &bias.zeros}) {
        arena.take(*vector, nv);
      }
    }
    arena.take(stage_state, 2 * state);
    arena.take(stage_rate, 8 * (2 * nv + na));
    arena.take(q_bar, nv);
    arena.take(v_bar, nv);
    arena.take(act_bar, na);
  }
};

}  // namespace cycloid::inline rigid
