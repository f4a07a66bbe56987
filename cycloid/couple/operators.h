// The operators of room couple; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline couple {

inline constexpr Operator kOperators[] = {
    differentiable("linear_feedback"),  // linear_feedback.h
    differentiable("add_in_tangents"),  // add_network.h
    not_differentiable("close_loop", "makes a System, whose step is differentiable"),
    not_differentiable("add_network_to_next", "makes a System, whose step is differentiable"),
    not_differentiable("add_network_to_robot", "makes a System, whose step is differentiable"),
    not_differentiable("hold", "makes a System, whose step is differentiable"),
    not_differentiable("guarded", "makes a System, whose step is differentiable"),
    not_differentiable("add_network_to_law", "makes a System, whose step is differentiable"),
};

}  // namespace cycloid::inline couple
