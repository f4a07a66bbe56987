// Momentum on the staggered grid: the rate of change of velocity without pressure, row by row, with
// its pullback and its tangent.
//
// Of component a at face m; s_b is the step to the next cell along axis b, h_b the spacing:
//   f_aa[m] = ¼ (u_a[m] + u_a[m + s_a])²                                     (1)  in the middle
//   f_ab[m] = ½ (u_a[m - s_b] + u_a[m]) ½ (u_b[m - s_a] + u_b[m]), b ≠ a     (2)  below
//   r_a[m]  = - (f_aa[m] - f_aa[m - s_a]) / h_a - Σ_b (f_ab[m + s_b] - f_ab[m]) / h_b
//             + ν Σ_b (u_a[m + s_b] - 2 u_a[m] + u_a[m - s_b]) / h_b²        (3)  [m/s²]
// Momentum is conserved, and kinetic energy too where the divergence is zero (HarlowWelch1965;
// MorinishiEtAl1998). f_ab = f_ba: one product at each edge serves both components, so with g = r̄,
// zero where there is no face:
//   f̄_aa[m] = (g_a[m + s_a] - g_a[m]) / h_a                                  (4)
//   f̄_ab[m] = (g_a[m] - g_a[m - s_b]) / h_b + (g_b[m] - g_b[m - s_a]) / h_a  (5)
//   ū_a[m] += f̄_aa[m] ½ (u_a[m] + u_a[m + s_a]) + f̄_aa[m - s_a] ½ (u_a[m - s_a] + u_a[m])
//           + Σ_b ½ (f̄_ab[m] β[m] + f̄_ab[m + s_b] β[m + s_b]),  β[m] = ½ (u_b[m - s_a] + u_b[m])
//           + ν Σ_b (g_a[m + s_b] - 2 g_a[m] + g_a[m - s_b]) / h_b²          (6)
//   ν̄ += Σ g_a[m] Σ_b (u_a[m + s_b] - 2 u_a[m] + u_a[m - s_b]) / h_b²        (7)
#pragma once

#include <cstddef>

namespace cycloid::inline fluid {

// A flow, flat: arrays of the components (grid_box.h).
template <class T>
struct GridView {
  int first;  // axes first … 2
  std::ptrdiff_t stride[3];
  T over_h[3];  // 1/h
  T viscosity;  // ν [m²/s]
  const T* u[3];
};

// A stage of the time scheme (grid_stepper.h).
template <class T>
struct StageRule {
  T alpha, beta, dt;
};

// Each works on `count` faces of component a from index m on.
template <class T>
struct GridKernels {
  // out[0 …] = r                                                            (3)
  void (*rate)(const GridView<T>& v, int a, std::ptrdiff_t m, int count, T* out);
  // Adds to u_bar[m …].                                                     (6)
  void (*rate_pullback)(const GridView<T>& v, const T* const* g, int a, std::ptrdiff_t m, int count,
                        T* u_bar);
  // Returns the sum over the row of                                         (7)
  double (*rate_viscosity_pullback)(const GridView<T>& v, const T* g, int a, std::ptrdiff_t m,
                                    int count);
  // out[0 …] = the derivative of r along u_tan and the viscosity's tangent
  void (*rate_pushforward)(const GridView<T>& v, const T* const* u_tan, T viscosity_tan, int a,
                           std::ptrdiff_t m, int count, T* out);
  // to[i] = α u0[i] + β y[i], y = u[i] + dt (r[i] + force); with an immersed wall
  // (immersed.h), D and w not null: to[i] = α u0[i] + β (D[i] y[i] + (1 - D[i]) w[i])
  void (*combine)(const StageRule<T>& rule, T force, const T* u0, const T* u, const T* r,
                  const T* D, const T* w, int count, T* to);
  // out[0 …] = Σ_a (u_a[m + s_a] - u_a[m]) / h_a, of cells
  void (*divergence)(const GridView<T>& v, std::ptrdiff_t m, int count, T* out);
  // to[m …] -= D[m] (q[m] - q[m - s_a]) / h_a; D null: 1
  void (*subtract_gradient)(const GridView<T>& v, const T* q, const T* D, int a, std::ptrdiff_t m,
                            int count, T* to);
};

// Of the instruction set in use.
template <class T>
const GridKernels<T>& grid_kernels();
template <>
const GridKernels<float>& grid_kernels();
template <>
const GridKernels<double>& grid_kernels();

}  // namespace cycloid::inline fluid

namespace cycloid::isa::portable {
const GridKernels<float>& grid_kernels_float();
const GridKernels<double>& grid_kernels_double();
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
const GridKernels<float>& grid_kernels_float();
const GridKernels<double>& grid_kernels_double();
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
const GridKernels<float>& grid_kernels_float();
const GridKernels<double>& grid_kernels_double();
}  // namespace cycloid::isa::v4
