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
    // grid/grid_work.h
    differentiable("GridWork::carried_rate"),
    differentiable("GridWork::load"),
    differentiable("GridWork::fill_ghosts"),
    differentiable("GridWork::set_sides"),
    differentiable("GridWork::rate"),
    differentiable("GridWork::stage"),
    differentiable("GridWork::fill_heat"),
    differentiable("GridWork::heat_stage"),
    differentiable("GridWork::buoyancy"),
    // grid/immersed.h
    differentiable("signed_distance"),
    differentiable("Immersed::friction"),
    // lattice/collide.h
    differentiable("collide"),
    // lattice/lattice_links.h
    differentiable("LatticeLinks::theta"),
    // lattice/lattice_work.h
    differentiable("LatticeWork::push"),
    differentiable("LatticeWork::link"),
    differentiable("LatticeWork::step"),
    differentiable("LatticeWork::velocity"),
    // spectral/terms.h
    differentiable("Incompressible::products"),
    differentiable("Transport::products"),
    differentiable("Reaction::products"),
    differentiable("ShallowWater::products"),
};

}  // namespace cycloid::inline fluid
