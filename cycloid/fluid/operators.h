// The operators of room fluid; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline fluid {

inline constexpr Operator kOperators[] = {
    // transform/fft.h
    differentiable("real_transform"),
    differentiable("real_inverse"),
    // spectral/terms.h
    differentiable("Incompressible::products"),
    differentiable("Transport::products"),
    differentiable("Reaction::products"),
    differentiable("ShallowWater::products"),
};

}  // namespace cycloid::inline fluid
