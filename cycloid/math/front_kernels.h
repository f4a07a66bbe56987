// The dense work of a front, equations (2) to (4) of sparse_cholesky.h, by Eigen, once for each
// instruction set.
//
// A front has p pivots and m rows; its first p columns lie column by column, m apart, and hold F11
// over F21, then L11 over L21. What is above the diagonal is neither read nor set.
#pragma once

namespace cycloid::inline math {

struct FrontKernels {
  // L in place of F, and update (m - p, m - p), lower half, less L21 L21ᵀ; false: F11 is not
  // positive definite.
  bool (*factor)(double* columns, int p, int m, double* update);
  // own (p) = L11⁻¹ own,  rest (m - p) -= L21 own
  void (*up)(const double* columns, int p, int m, double* own, double* rest);
  // own = L11⁻ᵀ (own - L21ᵀ rest)
  void (*down)(const double* columns, int p, int m, double* own, const double* rest);
};

// Of the instruction set in use.
const FrontKernels& front_kernels();

}  // namespace cycloid::inline math

namespace cycloid::isa::portable {
extern const FrontKernels kFrontKernels;
}
namespace cycloid::isa::v3 {
extern const FrontKernels kFrontKernels;
}
namespace cycloid::isa::v4 {
extern const FrontKernels kFrontKernels;
}
