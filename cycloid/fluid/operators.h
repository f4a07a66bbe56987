// The operators of room fluid; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline fluid {

inline constexpr Operator kOperators[] = {
    // transform/fft.h
    differentiable("real_transform"),
    differentiable("real_inverse"),
};

}  // namespace cycloid::inline fluid
