// heat: heat in a box of cells, the example of a large world.
//
// Cells of one metre, in C order, insulated at the border; T the temperature, k the conductivity of
// each cell (an array of parameters), s the slope, at the start of the step:
//   κ_i  = k_i (1 + s T_i)                                        (1)
//   g_ij = 2 κ_i κ_j / (κ_i + κ_j), of neighbours i, j            (2)
//   T⁺_i + h Σ_j g_ij (T⁺_i - T⁺_j) = T_i,  or  A(κ) T⁺ = T       (3)   implicit Euler
// A is symmetric and positive definite; it is factored (math/sparse_cholesky.h) once for all steps
// where s = 0, and once for each step where it is not. Given the cotangent of T⁺:
//   A λ = T̄⁺,   T̄ += λ                                            (4)   one solve, same factor
//   ḡ_ij = -h (λ_i - λ_j)(T⁺_i - T⁺_j)                            (5)
//   κ̄_i += Σ_j ḡ_ij 2 κ_j² / (κ_i + κ_j)²                         (6)
//   k̄_i += κ̄_i (1 + s T_i),   T̄_i += κ̄_i k_i s                    (7)
// and the tangent, with dκ from (1) and dg from (2):
//   A dT⁺ = dT - h Σ_j dg_ij (T⁺_i - T⁺_j)                        (8)
//
// It shows what a world needs that lives in arrays: a workspace that owns things (Plan: the tree of
// fronts; the factor), a record with a size of its own (T⁺ in numbers, the factor of the step as an
// object where there is one), parameters by pointer, and threads inside the step. Sums over
// neighbours run cell by cell in a fixed order.
#pragma once

#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::systems {

// shape: one to three numbers of cells; conductivity: one number, or one per cell [1/s for unit
// cells and heat capacity]; dt [s]; slope [1/K]. State: temperatures [K]. Throws ModelError on
// shapes without cells, ParameterError on conductivities that are not positive.
System heat(const std::vector<int>& shape, const std::vector<double>& conductivity, double dt,
            double slope = 0);

}  // namespace cycloid::systems
