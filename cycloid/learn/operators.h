// The operators of room learn; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline learn {

inline constexpr Operator kOperators[] = {
    differentiable("Field::rate"),       // field.h
    differentiable("Field::energy"),     // field.h
    differentiable("Field::violation"),  // field.h
    not_differentiable("make_learned", "makes a System, whose step is differentiable"),
    not_differentiable("laplace_posterior", "describes parameters; nothing goes back through it"),
    not_differentiable("propagate_moments", "describes runs; nothing goes back through it"),
    not_differentiable("sample_runs", "draws runs; each is a rollout, which is differentiable"),
    not_differentiable("train", "follows gradients; nothing goes back through it"),
};

}  // namespace cycloid::inline learn
