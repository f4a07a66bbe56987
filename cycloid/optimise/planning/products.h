// products.h: products of dense matrices, row by row, for the backward pass of a plan.
//
//   add_product             C += A B            A (m, k), B (k, n), C (m, n)          (1)
//   add_transposed_product  C += Aᵀ B           A (k, m), B (k, n), C (m, n)          (2)
//   add_symmetric_product   C += Aᵀ B           A, B (k, n), C (n, n) and Aᵀ B symmetric  (3)
// Compiled once per instruction set (products_isa.cpp): tiles of C stay in registers while k runs.
// The order of the sums depends on the set alone.
#pragma once

#include "cycloid/base/instruction_set.h"

namespace cycloid::inline optimise {

// The products of one instruction set. (3) makes the upper triangle and mirrors it.
struct Products {
  void (*add)(int m, int n, int k, const double* A, const double* B, double* C);             // (1)
  void (*add_transposed)(int m, int n, int k, const double* A, const double* B, double* C);  // (2)
  void (*add_symmetric)(int n, int k, const double* A, const double* B, double* C);          // (3)
};

// Those of the set in use.
Products products();

}  // namespace cycloid::inline optimise

namespace cycloid::isa::portable {
Products products();
}
namespace cycloid::isa::v3 {
Products products();
}
namespace cycloid::isa::v4 {
Products products();
}
