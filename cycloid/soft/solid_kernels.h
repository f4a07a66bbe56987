// Kernels of a solid body: what cells (element/cell.h) give to arrays over vertices and cells, some
// cells at a time in lanes. Compiled once per instruction set (solid_kernels_isa.cpp).
//
// Each kernel takes cells [begin, end) and adds to numbers of their vertices. Cells that share a
// vertex are never in two calls at once (solid_plan.h), so nothing is locked, and sums have one
// order.
#pragma once

#include "cycloid/soft/element/cell.h"

namespace cycloid::inline soft {

// A body as arrays. Of the tangents of one, null pointers are zeros.
struct SolidView {
  const int* cells = nullptr;  // (cells, nodes)
  CellLaw law;
  const double *rest = nullptr, *now = nullptr;  // (vertices, 3)
  const double* before[2] = {nullptr, nullptr};  // likewise, as many as the law has
  const double *mu = nullptr, *lam = nullptr;    // (cells)
  double mooney = 0, z = 0;
};

// Cotangents of a view, added to; those of mooney and z come cell by cell.
struct SolidBars {
  double *rest, *now;
  double* before[2];
  double *mu, *lam, *mooney, *z;  // (cells)
};

// Where blocks of a matrix over vertices are: row 3 i + r of it begins at 9 first[i] + 3 r degree,
// and has three numbers for each neighbour of vertex i.
struct BlockRows {
  const std::int64_t* first;  // (vertices + 1)
  const int* slot;            // (cells, nodes, nodes): which neighbour of node a node b is
};

struct SolidKernels {
  using Cells = void (*)(const SolidView&, int begin, int end, double* of_cells);
  using Nodes = void (*)(const SolidView&, int begin, int end, double* of_vertices);
  using Back = void (*)(const SolidView&, int begin, int end, const double* bar, const SolidBars&);

  Cells energy, volume, stress, least_stretch;  // (cells), (cells), (cells, 9), least det F (cells)
  Nodes force, rate_force;                      // (vertices, 3)
  Back energy_pullback, volume_pullback, stress_pullback, force_pullback, rate_force_pullback;
  void (*stiffness)(const SolidView&, int begin, int end, bool positive, const BlockRows& rows,
                    double* values);
  // Forces along a direction.
  void (*force_tangent)(const SolidView&, const SolidView& tangent, int begin, int end,
                        double* out);
  // The tangents of force_pullback and of mass_pullback along a direction, bar held.
  void (*force_pullback_tangent)(const SolidView&, const SolidView& tangent, int begin, int end,
                                 const double* bar, const SolidBars&);
  void (*mass_pullback_tangent)(const SolidView&, const double* rest_tan, int begin, int end,
                                const double* density, const double* density_tan,
                                const double* mass_bar, double* rest_bar, double* density_bar);
  // density (cells), mass (vertices)
  void (*mass)(const SolidView&, int begin, int end, const double* density, double* mass);
  void (*mass_pullback)(const SolidView&, int begin, int end, const double* density,
                        const double* mass_bar, double* rest_bar, double* density_bar);
  void (*mass_tangent)(const SolidView&, const double* rest_tan, int begin, int end,
                       const double* density, const double* density_tan, double* mass_tan);
};

// Those of the instruction set in use. Only hexahedra have a formulation that is free of locking.
const SolidKernels& solid_kernels(ElementKind element, Formulation formulation);

}  // namespace cycloid::inline soft

namespace cycloid::isa::portable {
const SolidKernels& solid_kernels(ElementKind element, Formulation formulation);
}
namespace cycloid::isa::v3 {
const SolidKernels& solid_kernels(ElementKind element, Formulation formulation);
}
namespace cycloid::isa::v4 {
const SolidKernels& solid_kernels(ElementKind element, Formulation formulation);
}
