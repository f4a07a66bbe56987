// The operators of room rigid (base/operator_register.h).
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline rigid {

inline constexpr Operator kOperators[] = {
    // inertia.h, motion_pullback.h, bias_slope.h, dynamics.h, step.h, rk4_step.h
    differentiable("body_inertia"),
    differentiable("sweep"),
    differentiable("smooth_acceleration"),
    differentiable("free_body"),
    differentiable("bias_slope"),
    differentiable("retract_qpos"),
    differentiable("euler_step"),
    differentiable("chart_velocity"),
    differentiable("rk4_step"),
    not_differentiable("factor",
                       "a solve is differentiated by the implicit rule: smooth_acceleration"),
    // inverse_dynamics.h
    differentiable("inverse_dynamics"),
    differentiable("inertia_matrix"),
    // impedance.h, reference.h, hunt_crossley.h, row_law.h, pyramid_law.h, elliptic_law.h,
    // constraint_newton_pullback.h
    differentiable("impedance"),
    differentiable("reference_gains"),
    differentiable("block_reference"),
    differentiable("contact_reference"),
    differentiable("compliant_force"),
    differentiable("row_force"),
    differentiable("pyramid_force"),
    differentiable("elliptic_force"),
    differentiable("solve_newton"),
    differentiable("constrained_acceleration"),
    // contact_numbers.h, geom_pose.h, narrow_phase.h, contact_rows_pullback.h
    differentiable("pair_numbers"),
    differentiable("geom_pose"),
    differentiable("collide"),
    differentiable("collide_solids"),
    differentiable("contact_rows"),
    // limit_rows.h, friction_rows.h, row_block.h, joint_equality.h, tendon_rows.h,
    // tendon_equality.h, connect.h, weld.h, static_rows.h
    differentiable("limit_gap"),
    differentiable("joint_limit"),
    differentiable("ball_limit"),
    differentiable("dof_friction"),
    differentiable("row_block"),
    differentiable("coupling"),
    differentiable("joint_equality"),
    differentiable("tendon_row"),
    differentiable("tendon_limit"),
    differentiable("tendon_friction"),
    differentiable("tendon_equality"),
    differentiable("anchor_point"),
    differentiable("anchor_pair"),
    differentiable("connect"),
    differentiable("turn_field"),
    differentiable("weld_frames"),
    differentiable("weld_turn"),
    differentiable("weld"),
    differentiable("static_rows"),
    // muscle.h, passive.h, actuator.h, direct_actuator.h
    differentiable("muscle_units"),
    differentiable("muscle_gain"),
    differentiable("muscle_bias"),
    differentiable("muscle_dynamics"),
    differentiable("add_springs"),
    differentiable("add_dampers"),
    differentiable("actuator_force"),
    differentiable("add_direct_actuators"),
    differentiable("activation_step"),
    // wrap_path.h, wrapped_piece.h
    differentiable("wrap_plane"),
    differentiable("bend_around"),
    differentiable("wrap_root"),
    differentiable("bend_inside"),
    differentiable("wrap_path"),
    differentiable("wrapped_place"),
    differentiable("wrapped_piece"),
    // row.h, tendon.h, tendon_force.h
    differentiable("site_point"),
    differentiable("tendon_piece"),
    differentiable("tendon"),
    differentiable("tendon_passive_force"),
    differentiable("tendon_damping_slope"),
    differentiable("tendon_energy"),
    // field_sweep.h, row_form.h, tendon_armature.h
    differentiable("field_sweep"),
    differentiable("row_form"),
    differentiable("tendon_acceleration"),
    differentiable("tendon_armature"),
    // joint_transmission.h, slider_crank.h, site_transmission.h
    differentiable("joint_transmission"),
    differentiable("slider_crank"),
    differentiable("site_turn"),
    differentiable("site_field"),
    differentiable("site_transmission"),
    // medium_force.h, medium_damping.h
    differentiable("fluid_box"),
    differentiable("fluid_point"),
    differentiable("fluid_wrench"),
    differentiable("absent_medium"),
    differentiable("fluid_damping"),
    // sensed_frame.h, frame_sensor.h, subtree.h, energy.h, root_field.h, sense.h
    differentiable("sensed_frame"),
    differentiable("frame_sensor"),
    differentiable("subtree_motion"),
    differentiable("joint_energy"),
    differentiable("potential_energy"),
    differentiable("kinetic_energy"),
    differentiable("root_inertia"),
    differentiable("root_velocity"),
    differentiable("root_force"),
    differentiable("sense_one"),
    differentiable("sense"),
};

}  // namespace cycloid::inline rigid
