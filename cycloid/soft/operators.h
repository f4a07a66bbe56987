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
};

}  // namespace cycloid::inline soft
