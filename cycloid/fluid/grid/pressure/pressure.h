// The pressure's equation on a staggered grid: one symmetric operator, three ways to solve it.
//
//   (L q)_m = Σ over faces f of cell m, outward, of k_f (q_other - q_m) / h_f²           (1)
// k_f is 1 in the open, share times mobility at an immersed wall (immersed.h), 0 on sides whose
// normal velocity is given; beyond an outflow side lies -q_m, so that q is zero on it. L = Lᵀ: the
// pullback of a solve is the same solve. Where no outflow is reached q is free by a constant, and
// one cell of each such part of the box is held at zero; cells without open faces are left at zero.
//
// An open box (k = 1) is solved by Fourier series, in the plane where that is quicker: the box is
// continued beyond its walls as an even function, beyond outflow as an odd one, until it is
// periodic. Elsewhere -L is factored once for as long as k stays the same (math/sparse_cholesky.h),
// and rounding is all that remains of the divergence either way. Where a factor gets too large, in
// space beyond 32³ cells, conjugate gradients take its place (multigrid.h), to a tolerance that
// the divergence and the gradient inherit.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cycloid/fluid/grid/grid_box.h"
#include "cycloid/fluid/grid/pressure/multigrid.h"
#include "cycloid/fluid/transform/fft.h"

namespace cycloid::inline fluid {

// Who is whose neighbour, for all k.
class PressurePattern {
 public:
  // factored: -L is to be factored, and not solved by multigrid.
  explicit PressurePattern(const GridBox& box, bool factored = true);

  struct Entry {
    std::ptrdiff_t face;  // index in the component's array
    int component;
    int place;  // of the entry in the row, or -1 beyond a side
  };
  const GridBox box;
  SparsePattern sparse;
  std::vector<int> diagonal;                  // place of each cell's own entry
  std::vector<std::array<Entry, 6>> entries;  // of each cell: its faces, axis by axis, low and high
  std::shared_ptr<const Dissection> dissection;  // null: by multigrid
};

// Whether a factor of a box that no series solves is too large.
bool solved_by_multigrid(const GridBox& box);

// Whether an open box is solved by Fourier series.
bool solved_by_series(const GridBox& box);

// Solves L q = b of an open box by Fourier series.
class SeriesSolver {
 public:
  explicit SeriesSolver(const GridBox& box);
  // Room of one caller.
  struct Room {
    Room(const SeriesSolver& solver, int threads);
    FftWorkspace<double> passes;
    AlignedNumbers<double> nodes, coefficients;
  };
  void solve(double* b, Room& room) const;

 private:
  GridBox box_;
  std::array<std::vector<int>, 3> from_;  // of each node along an axis, the cell
  std::array<std::vector<int>, 3> sign_;  // and the sign
  RealTransform<double> transform_;
  std::vector<double> over_eigenvalue_;  // (slabs, pitch); 0 for the mean
};

class PressureSolver {
 public:
  // pattern: null where the box is open and solved by series.
  PressureSolver(const GridBox& box, std::shared_ptr<const PressurePattern> pattern);

  struct Room {
    std::unique_ptr<SeriesSolver::Room> series;
    std::unique_ptr<Multigrid::Room> multigrid;
    std::unique_ptr<CholeskyFactor::Room> factor;
  };
  Room make_room(int threads) const {
    Room room;
    if (series_) room.series = std::make_unique<SeriesSolver::Room>(*series_, threads);
    if (multigrid_) room.multigrid = std::make_unique<Multigrid::Room>(multigrid_->make_room());
    if (factor_) room.factor = std::make_unique<CholeskyFactor::Room>(factor_->make_room());
    return room;
  }

  // k: of the faces of each component (arrays of grid_box.h); null: 1 everywhere. often: memory is
  // kept for the next time.
  void set(const double* const* k, int threads, bool often = false);
  // Solves L q = b in place, over cells in C order. tolerance: of conjugate gradients.
  SolveOutcome solve(double* b, double tolerance, const Room& room, int threads) const;
  // Whether a cell has open faces.
  bool open(int cell) const { return open_[GridBox::u(cell)]; }
  int open_cells() const { return open_cells_; }
  bool reaches_outflow() const { return reaches_outflow_; }
  // Whether obstacles part an inflow from every outflow, so that there is no such flow.
  bool blocked() const { return blocked_; }

 private:
  void set_multigrid(int threads, bool often);
  int cells_;
  std::shared_ptr<const PressurePattern> pattern_;
  std::unique_ptr<SeriesSolver> series_;
  std::optional<CholeskyFactor> factor_;
  std::optional<Multigrid> multigrid_;
  std::vector<double> values_;
  std::vector<char> open_;
  std::vector<int> group_;  // of cells that are connected
  std::vector<char> held_;  // of groups, by an outflow
  std::array<std::vector<double>, 3> coupling_;
  std::vector<double> extra_;
  int open_cells_ = 0;
  bool reaches_outflow_ = false, blocked_ = false;
};

}  // namespace cycloid::inline fluid
