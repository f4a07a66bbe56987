// The operators of room couple; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline couple {

inline constexpr Operator kOperators[] = {
    differentiable("linear_feedback"),  // linear_feedback.h
    not_differentiable("close_loop", "makes a System, whose step is differentiable"),
};

}  // namespace cycloid::inline couple
