// Collisions of all nodes, pushed to their neighbours in lanes, with pullback and tangent.
//
// x holds the populations direction by direction, each over the nodes in C order, N in all. As if
// every axis were periodic,
//   X_i[m + c_i, wrapped] = g*_i[m]                                                        (1)
// which is right but for sides and obstacles; they are mended afterwards (lattice_links.h). Every
// number is read once and written once. In place (the AA pattern, BaileyEtAl2009) it would be no
// less traffic, and a step here is a function from one row of states to another, both of which the
// way back may keep; so there are two rows.
//   x̄[m] += (∂g*/∂g)ᵀ X̄_i[m + c_i, wrapped]                                                 (2)
// Nodes are taken in runs of whole lines along the last axis. In a run c_i turns each line by one
// node at most, and moves it to another line; so a run leaves as few contiguous pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cycloid/fluid/lattice/collide.h"

namespace cycloid::inline fluid {

// Runs of nodes: as many whole lines as fit, or, of a longer line, its parts.
template <class T>
struct LatticeRuns {
  static constexpr int kMost = 4096 / sizeof(T);  // nodes
  int n[3];                                       // axes of grid_box.h

  bool whole_lines() const { return n[2] <= kMost; }
  std::ptrdiff_t lines() const { return std::ptrdiff_t(n[0]) * n[1]; }
  int lines_each() const { return whole_lines() ? kMost / n[2] : 1; }
  int parts() const { return (n[2] + kMost - 1) / kMost; }  // of a line
  std::ptrdiff_t count() const {
    return whole_lines() ? (lines() + lines_each() - 1) / lines_each() : lines() * parts();
  }
  std::ptrdiff_t of(std::ptrdiff_t node) const {
    const std::ptrdiff_t line = node / n[2];
    return whole_lines() ? line / lines_each() : line * parts() + node % n[2] / kMost;
  }
  std::ptrdiff_t first(std::ptrdiff_t run) const {
    if (whole_lines()) return run * lines_each() * n[2];
    return run / parts() * n[2] + run % parts() * kMost;
  }
  int length(std::ptrdiff_t run) const {
    const std::ptrdiff_t left =
        whole_lines() ? lines() * n[2] - first(run) : n[2] - run % parts() * kMost;
    const std::ptrdiff_t most = whole_lines() ? lines_each() * n[2] : kMost;
    return static_cast<int>(left < most ? left : most);
  }
};

template <class T>
struct LatticeView {
  std::ptrdiff_t nodes;  // N
  LatticeRuns<T> runs;
  LatticeRates<T> rates;
  bool one_rate;
  T force[3];  // of the lattice, axes of grid_box.h
};

// X̄_i of a node in its run: set to zero, or `coefficient` times X̄[from] added.
template <class T>
struct LatticePatch {
  std::uint16_t node;
  std::uint8_t direction;
  bool clears;
  T coefficient;
  std::ptrdiff_t from;
};

template <class T>
struct LatticePatches {
  const LatticePatch<T>* all = nullptr;
  const int* first = nullptr;  // (runs + 1); null: there are none
};

// Each works on the runs begin … end.
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
