// The register of a room that forgets to test one of its operators (tests/CMakeLists.txt).
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid {

inline constexpr Operator kOperators[] = {
    differentiable("remembered"),
    differentiable("forgotten"),
    not_differentiable("constant", "it does not depend on anything"),
};

}  // namespace cycloid
