// The operators of mlp.h for many columns at once, compiled once per instruction set.
//
// A block has `columns` environments or samples side by side, (width, columns), as the lanes of a
// stepper lie: a whole number of registers (block_columns), or one column, which goes by products
// of matrix and vector. Weights are shared; their cotangents are sums over the columns. Numbers are
// float, double, or double with a tangent, Tangent1: whatever a call gives is then given with its
// derivative in the direction of its arguments' tangents, those of the weights included, so that
// the pullbacks' are second derivatives.
#pragma once

#include "cycloid/network/mlp_pass.h"

namespace cycloid::inline network {

using Tangent1 = Dual<double, 1>;

enum class MlpCall {
  value,                     // x -> y
  tangent,                   // x, v -> y, y_tan
  pullback,                  // x, y_bar -> x_bar, w_bar
  pullback_tangent,          // x, v, y_bar, y_bar_tan -> x_bar, x_bar_tan, w_bar_tan
  gradient,                  // x -> x_bar, quickest without y
  gradient_pullback,         // x, v (ḡ) -> x_bar (H ḡ), w_bar
  fit,                       // x -> x_bar (g); `between` makes v (ḡ); -> H ḡ, w_bar
  hessian_product_pullback,  // x, v, u (h̄) -> x_bar, v_bar, w_bar
};
MlpOrder order_of(MlpCall call);

// Cotangents are added to, the others written. Null where nobody asks: w_bar, x_bar, y, and
// x_bar_tan (H ḡ) of `fit`.
template <class T>
struct MlpBlock {
  const MlpPlan<Scalar<T>>* plan;
  const T* const* w;
  int columns;
  T* memory;  // block_numbers(plan, columns, order_of(call)), aligned for registers
  const T* x = nullptr;
  T* y = nullptr;
  T* v = nullptr;
  const T* u = nullptr;
  T* y_tan = nullptr;
  const T* y_bar = nullptr;
  const T* y_bar_tan = nullptr;
  T* x_bar = nullptr;
  T* x_bar_tan = nullptr;
  T* v_bar = nullptr;
  T* const* w_bar = nullptr;
  // Makes a cotangent of what was computed: g_bar (inputs, columns) of g for `fit`; for `pullback`,
  // unless null, y_bar (outputs, columns) of y, at v.
  void (*between)(void* user, const T* g, T* g_bar) = nullptr;
  void* user = nullptr;
};

template <class T>
struct MlpKernels {
  int lanes;  // of a register
  std::size_t (*numbers)(const MlpPlan<Scalar<T>>& plan, int columns, MlpOrder order);
  void (*run)(MlpCall call, const MlpBlock<T>& block);
  // w -= rate m̂ / (sqrt(v̂) + epsilon), see adam.h. Null for Tangent1.
  void (*adam)(std::size_t n, const T* bar, T* w, T* m, T* v, const double* constants);
};

// Of the instruction set in use.
template <class T>
const MlpKernels<T>& mlp_kernels();
template <>
const MlpKernels<float>& mlp_kernels();
template <>
const MlpKernels<double>& mlp_kernels();
template <>
const MlpKernels<Tangent1>& mlp_kernels();

// Columns that hold n: 1, or whole registers.
template <class T>
int block_columns(int n) {
  const int W = mlp_kernels<T>().lanes;
  return n == 1 ? 1 : (n + W - 1) / W * W;
}

}  // namespace cycloid::inline network

namespace cycloid::isa::portable {
const MlpKernels<float>& mlp_kernels_float();
const MlpKernels<double>& mlp_kernels_double();
const MlpKernels<Tangent1>& mlp_kernels_tangent();
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
const MlpKernels<float>& mlp_kernels_float();
const MlpKernels<double>& mlp_kernels_double();
const MlpKernels<Tangent1>& mlp_kernels_tangent();
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
const MlpKernels<float>& mlp_kernels_float();
const MlpKernels<double>& mlp_kernels_double();
const MlpKernels<Tangent1>& mlp_kernels_tangent();
}  // namespace cycloid::isa::v4
