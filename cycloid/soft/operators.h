// The operators of room soft; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline soft {

inline constexpr Operator kOperators[] = {
    // material/
    differentiable("lame"),
    differentiable("energy_density"),
    differentiable("piola_stress"),
    differentiable("viscous_stress"),
    differentiable("rate_stress"),
    differentiable("fibre_traction"),
    // element/
    differentiable("rest_point"),
    differentiable("gradient_at"),
    differentiable("cell_energy"),
    differentiable("cell_force"),
    differentiable("cell_rate_force"),
    differentiable("cell_mass"),
    differentiable("cell_volume"),
    differentiable("mean_stress"),
    differentiable("mean_strain"),
    differentiable("enhanced_force"),
    differentiable("enhanced_stress"),
    // solid_state.h
    differentiable("read_state"),
    differentiable("write_state"),
    differentiable("held_turn"),
    // solid_stage.h
    differentiable("stage"),
    differentiable("stage_memory"),
    differentiable("elastic_force"),
    // term/stencil_lanes.h, each through the function of terms.h that calls it
    differentiable("StencilLanes::force"),
    differentiable("StencilLanes::energy"),
    differentiable("StencilLanes::mass"),
    differentiable("StencilLanes::flow"),
    differentiable("StencilLanes::stress"),
    // term/terms.h
    differentiable("term_numbers"),
    differentiable("terms_energy"),
    differentiable("terms_force"),
    differentiable("terms_mass"),
    differentiable("terms_flow"),
    differentiable("terms_stress"),
    not_differentiable("solid", "makes a System, whose step is differentiable"),
};

}  // namespace cycloid::inline soft
