// The operators of room fluid; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline fluid {

inline constexpr Operator kOperators[] = {
    // transform/fft.h
    differentiable("real_transform"),
    differentiable("real_inverse"),
    // grid/characteristics.h
    differentiable("follow"),
    // grid/carried_rate.h
    differentiable("CarriedRate::carried_rate"),
    // grid/flow_model.h
    differentiable("number_at"),
    // grid/grid_sides.h
    differentiable("GridSides::fill_ghosts"),
    differentiable("GridSides::set_sides"),
    // grid/body_frame.h, signed_distance.h, wall_points.h
    differentiable("seen_from"),
    differentiable("signed_distance"),
    differentiable("WallPoints::friction"),
    // grid/grid_obstacles.h
    differentiable("GridObstacles::place"),
    // grid/projection.h
    differentiable("Projection::project"),
    differentiable("Projection::flux"),
    // grid/grid_scalar.h
    differentiable("GridScalar::place"),
    differentiable("GridScalar::load"),
    differentiable("GridScalar::fill"),
    differentiable("GridScalar::advance"),
    differentiable("GridScalar::buoyancy"),
    // grid/viscous_solve.h
    differentiable("ViscousSolve::diffuse"),
    // grid/grid_work.h
    differentiable("GridWork::carry"),
    differentiable("GridWork::implicit_stage"),
    differentiable("GridWork::load"),
    differentiable("GridWork::rate"),
    differentiable("GridWork::stage"),
    // grid/grid_instant.h, grid_integrals.h, grid_forces.h, grid_probes.h
    differentiable("GridInstant::press"),
    differentiable("kinetic_energy"),
    differentiable("enstrophy"),
    differentiable("vorticity"),
    differentiable("divergence"),
    differentiable("pressure"),
    differentiable("force_on"),
    differentiable("probe"),
    differentiable("probe_pressure"),
    differentiable("flux"),
    // lattice/collide.h
    differentiable("collide"),
    // lattice/lattice_links.h
    differentiable("LatticeLinks::theta"),
    // lattice/lattice_work.h
    differentiable("LatticeWork::push"),
    differentiable("LatticeWork::link"),
    differentiable("LatticeWork::step"),
    differentiable("LatticeWork::velocity"),
    // spectral/node_terms.h
    differentiable("Incompressible::products"),
    differentiable("Transport::products"),
    differentiable("Reaction::products"),
    differentiable("ShallowWater::products"),
};

}  // namespace cycloid::inline fluid
