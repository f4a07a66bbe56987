// Kernels of terms: what stencils give to arrays over vertices, some stencils at a time in lanes.
// Compiled once per instruction set (stencil_kernels_isa.cpp, and cell_laws_isa.cpp for laws of
// whole cells), as solid_kernels.h's.
//
// All derivatives are those of the law's force by dual numbers of three directions: once for each
// node that is moved, and once for every three numbers. Those of pullbacks along a direction are of
// dual numbers with a tangent of their own.
#pragma once

#include "cycloid/soft/solid_kernels.h"
#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

// A term as arrays. Of the tangents of one, null pointers are zeros.
struct StencilView {
  const int* nodes = nullptr;                    // (stencils, nodes)
  const double* constants = nullptr;             // (stencils, constants)
  const double *rest = nullptr, *now = nullptr;  // (vertices, 3)
  const double* before[2] = {nullptr, nullptr};  // as many as the step has
  const double* numbers = nullptr;               // of the law
  const double* memory = nullptr;                // (stencils, memory), where the law has some
  StencilStep step;
};

// Cotangents of a view, added to.
struct StencilBars {
  double *rest = nullptr, *now = nullptr;
  double* before[2] = {nullptr, nullptr};
  double* numbers = nullptr;  // of this range of stencils
  double* memory = nullptr;   // (stencils, memory)
};

struct StencilKernels {
  int nodes, numbers, constants, memory;
  bool symmetric, has_mass;

  // (stencils)
  void (*energy)(const StencilView&, int begin, int end, double* of_stencils);
  // (vertices, 3)
  void (*force)(const StencilView&, int begin, int end, double* f);
  // Adds the symmetric part to `values`; the skew part to `skew`, where it is not null.
  void (*stiffness)(const StencilView&, int begin, int end, bool positive, const BlockRows& rows,
                    double* values, double* skew);
  void (*force_pullback)(const StencilView&, int begin, int end, const double* f_bar,
                         const StencilBars& bars);
  void (*energy_pullback)(const StencilView&, int begin, int end, double bar,
                          const StencilBars& bars);
  void (*force_tangent)(const StencilView&, const StencilView& tangent, int begin, int end,
                        double* f_tan);
  // The tangent of force_pullback along a direction, f_bar held.
  void (*force_pullback_tangent)(const StencilView&, const StencilView& tangent, int begin, int end,
                                 const double* f_bar, const StencilBars& bars);
  // (vertices); null where the law has no mass.
  void (*mass)(const StencilView&, int begin, int end, double* mass);
  void (*mass_pullback)(const StencilView&, int begin, int end, const double* mass_bar,
                        const StencilBars& bars);
  void (*mass_tangent)(const StencilView&, const StencilView& tangent, int begin, int end,
                       double* mass_tan);
  void (*mass_pullback_tangent)(const StencilView&, const StencilView& tangent, int begin, int end,
                                const double* mass_bar, const StencilBars& bars);
  // What is remembered after a step (stencils, memory), added; null where the law has no memory.
  void (*flow)(const StencilView&, int begin, int end, double* next);
  void (*flow_pullback)(const StencilView&, int begin, int end, const double* next_bar,
                        const StencilBars& bars);
  void (*flow_tangent)(const StencilView&, const StencilView& tangent, int begin, int end,
                       double* next_tan);
  void (*flow_pullback_tangent)(const StencilView&, const StencilView& tangent, int begin, int end,
                                const double* next_bar, const StencilBars& bars);
  // Mean first Piola stress of cells whose material the law is (stencils, 9); likewise.
  void (*stress)(const StencilView&, int begin, int end, double* of_stencils);
  void (*stress_pullback)(const StencilView&, int begin, int end, const double* bar,
                          const StencilBars& bars);
};

// Those of the instruction set in use.
const StencilKernels& stencil_kernels(StencilLaw law);

}  // namespace cycloid::inline soft

namespace cycloid::isa::portable {
const StencilKernels& stencil_kernels(StencilLaw law);
const StencilKernels& cell_law_kernels(StencilLaw law);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
const StencilKernels& stencil_kernels(StencilLaw law);
const StencilKernels& cell_law_kernels(StencilLaw law);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
const StencilKernels& stencil_kernels(StencilLaw law);
const StencilKernels& cell_law_kernels(StencilLaw law);
}  // namespace cycloid::isa::v4
