// The operators of room math (base/operator_register.h). Scalar functions: see dual.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline math {

inline constexpr Operator kOperators[] = {
    // vector.h, norm.h, matrix.h
    differentiable("dot"),
    differentiable("cross"),
    differentiable("norm"),
    differentiable("normalise"),
    differentiable("matrix_vector_product"),
    differentiable("matrix_product"),
    // quaternion.h, rotation.h
    differentiable("hamilton_product"),
    differentiable("rotate"),
    differentiable("rotate_tangent"),
    differentiable("rotate_inverse"),
    differentiable("rotate_inverse_tangent"),
    differentiable("to_matrix"),
    not_differentiable("from_matrix",
                       "the entries of a rotation matrix are not independent: for loading models, "
                       "while states and parameters hold quaternions"),
    differentiable("quaternion_exp"),
    differentiable("quaternion_log"),
    differentiable("retract_tangent"),
    differentiable("difference_tangent"),
    differentiable("right_jacobian_apply"),
    differentiable("right_jacobian_inverse_apply"),
    // spatial.h
    differentiable("field_at"),
    differentiable("wrench"),
    differentiable("cross_motion"),
    differentiable("cross_force"),
    differentiable("power"),
    differentiable("inertia_apply"),
    // cholesky.h
    not_differentiable("llt_factor", "llt_solve is differentiated by the implicit rule"),
    not_differentiable("ldlt_factor", "ldlt_solve is differentiated by the implicit rule"),
    differentiable("llt_solve"),
    differentiable("ldlt_solve"),
    // lu.h
    not_differentiable("lu_factor", "lu_solve is differentiated by the implicit rule"),
    differentiable("lu_solve"),
};

}  // namespace cycloid::inline math
