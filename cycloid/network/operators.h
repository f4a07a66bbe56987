// The operators of room network; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline network {

inline constexpr Operator kOperators[] = {
    // mlp.h
    differentiable("mlp"),
    differentiable("mlp_gradient"),
    differentiable("mlp_hessian_product"),
    not_differentiable("initial_weights", "numbers drawn by a seed"),
    not_differentiable("fold_normalisation", "changes how a network is written, not what it is"),
    not_differentiable("Adam", "a step of training; nothing goes back through it"),
};

}  // namespace cycloid::inline network
