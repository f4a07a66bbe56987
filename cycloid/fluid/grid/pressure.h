// The pressure's equation on a staggered grid: one symmetric operator, solved directly.
//
//   (L q)_m = Σ over faces f of cell m, outward, of k_f (q_other - q_m) / h_f²           (1)
// k_f is 1 in the open, share times mobility at an immersed wall (immersed.h), 0 on sides whose
// normal velocity is given; beyond an outflow side lies -q_m, so that q is zero on it. L = Lᵀ: the
// pullback of a solve is the same solve. Where no outflow is reached q is free by a constant, and
// one cell of each such part of the box is held at zero; cells without open faces are left at zero.
//
// -L is factored once (math/sparse_cholesky.h) for as long as k stays the same: rounding is all
// that remains of the divergence.
#pragma once

#include <memory>
#include <vector>

#include "cycloid/fluid/grid/grid_box.h"
#include "cycloid/math/sparse_cholesky.h"

namespace cycloid::inline fluid {

// Who is whose neighbour, for all k.
class PressurePattern {
 public:
  explicit PressurePattern(const GridBox& box);

  struct Entry {
    std::ptrdiff_t face;  // index in the component's array
    int component;
    int place;  // of the entry in the row, or -1 beyond a side
  };
  const GridBox box;
  SparsePattern sparse;
  std::vector<int> diagonal;                  // place of each cell's own entry
  std::vector<std::array<Entry, 6>> entries;  // of each cell: its faces, axis by axis, low and high
  std::shared_ptr<const Dissection> dissection;
};

class PressureSolver {
 public:
  explicit PressureSolver(std::shared_ptr<const PressurePattern> pattern);

  // k: of the faces of each component (arrays of grid_box.h); null: 1 everywhere.
  void set(const double* const* k, int threads);
  // Solves L q = b in place, over cells in C order.
  void solve(double* b, int threads) const;
  // Whether a cell has open faces.
  bool open(int cell) const { return open_[GridBox::u(cell)]; }
  int open_cells() const { return open_cells_; }
  bool reaches_outflow() const { return reaches_outflow_; }

 private:
  std::shared_ptr<const PressurePattern> pattern_;
  CholeskyFactor factor_;
  std::vector<double> values_;
  std::vector<char> open_;
  std::vector<int> group_;  // of cells that are connected
  int open_cells_ = 0;
  bool reaches_outflow_ = false;
};

}  // namespace cycloid::inline fluid
