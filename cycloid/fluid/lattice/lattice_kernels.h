// Collisions of all nodes, pushed to their neighbours in lanes, with pullback and tangent.
//
// x holds the populations direction by direction, each over the nodes in C order, N in all. As if
// nodes were one ring in that order,
//   X_i[(m + o_i) mod N] = g*_i[m],   o_i the step from a node to its neighbour along c_i  (1)
// which is right in the middle of the box; its sides are mended afterwards (lattice_links.h). Every
// number is read once and written once. In place (the AA pattern, BaileyEtAl2009) it would be no
// less traffic, and a step here is a function from one row of states to another, both of which the
// way back may keep; so there are two rows.
//   x̄[m] += (∂g*/∂g)ᵀ X̄_i[(m + o_i) mod N]                                                  (2)
#pragma once

#include <cstddef>
#include <cstdint>

#include "cycloid/fluid/lattice/collide.h"

namespace cycloid::inline fluid {

// Nodes that are taken together; what changes X̄ on its way is kept for each such block.
inline constexpr int kLatticeBlock = 16;

template <class T>
struct LatticeView {
  std::ptrdiff_t nodes;                    // N
  std::ptrdiff_t offset[kMostDirections];  // o
  LatticeRates<T> rates;
  bool one_rate;
  T force[3];  // of the lattice, axes of grid_box.h
};

// X̄_i of a node in its block: set to zero, or `coefficient` times X̄[from] added.
template <class T>
struct LatticePatch {
  std::uint8_t node, direction;
  bool clears;
  T coefficient;
  std::ptrdiff_t from;
};

template <class T>
struct LatticePatches {
  const LatticePatch<T>* all = nullptr;
  const int* first = nullptr;  // (blocks + 1); null: there are none
};

// Each works on the nodes begin … end, begin a multiple of kLatticeBlock.
template <class T>
struct LatticeKernels {
  // (1); returns whether every node is slower than sound, and no number is NaN.
  bool (*push)(const LatticeView<T>& v, const T* x, std::ptrdiff_t begin, std::ptrdiff_t end, T* X);
  // (2), patched; adds the cotangents of the rates and of the force to sums (7).
  void (*push_pullback)(const LatticeView<T>& v, const T* x, const T* X_bar,
                        const LatticePatches<T>& patches, std::ptrdiff_t begin, std::ptrdiff_t end,
                        T* x_bar, double* sums);
  // X and X_tan; tangents (7): of the rates and of the force.
  void (*push_pushforward)(const LatticeView<T>& v, const T* x, const T* x_tan, const T* tangents,
                           std::ptrdiff_t begin, std::ptrdiff_t end, T* X, T* X_tan);
  // g* (directions) of one node.
  void (*collide_node)(const LatticeView<T>& v, const T* x, std::ptrdiff_t node, T* out);
};

// Of the instruction set in use, in two or three dimensions.
template <class T>
const LatticeKernels<T>& lattice_kernels(int dimensions);
template <>
const LatticeKernels<float>& lattice_kernels(int dimensions);
template <>
const LatticeKernels<double>& lattice_kernels(int dimensions);

}  // namespace cycloid::inline fluid

namespace cycloid::isa::portable {
const LatticeKernels<float>& lattice_kernels_float(int dimensions);
const LatticeKernels<double>& lattice_kernels_double(int dimensions);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
const LatticeKernels<float>& lattice_kernels_float(int dimensions);
const LatticeKernels<double>& lattice_kernels_double(int dimensions);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
const LatticeKernels<float>& lattice_kernels_float(int dimensions);
const LatticeKernels<double>& lattice_kernels_double(int dimensions);
}  // namespace cycloid::isa::v4
