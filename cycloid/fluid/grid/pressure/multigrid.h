// Multigrid: conjugate gradients with a multigrid cycle before them, for pressures in large boxes.
//
// On cells in C order, c the couplings to upper neighbours, e what a cell loses beyond the box:
//   (A q)_m = (e_m + Σ c) q_m - Σ c q_other                                            (1)
// A cycle on each level: smooth, go to cells of twice the size along each axis that can be halved,
// come back, smooth. Residuals are summed over the cells that make a large one, corrections are
// taken over as they are, and
//   C = ½ Σ c over the faces between two large cells, along halved axes; E = ½ Σ e     (2)
// is A on cells of that size. Smoothing is three terms of Chebyshev's series in D⁻¹ A over the
// upper three quarters of its spectrum, which lies within [0, 2]: symmetric, and so is the cycle.
// The coarsest level is factored (math/sparse_cholesky.h). Conjugate gradients end when
//   |b - A q| ≤ tolerance |b|                                                          (3)
// in the Euclidean norm. Sums run over blocks of fixed size: no bit depends on threads.
#pragma once

#include <optional>
#include <vector>

#include "cycloid/fluid/grid/grid_box.h"
#include "cycloid/math/sparse_cholesky.h"

namespace cycloid::inline fluid {

struct SolveOutcome {
  int iterations = 0;
  double residual = 0;  // |b - A q| / |b|
  bool converged = true;
};

// (1) on one level, with room for neighbours of the first and last cells.
struct MultigridLevel {
  std::array<int, 3> n = {1, 1, 1};
  std::array<bool, 3> halved = {};  // on the way to the next level
  std::ptrdiff_t cells = 1, pad = 0;
  std::array<std::ptrdiff_t, 3> stride = {};
  std::array<std::vector<double>, 3> c;  // padded
  std::vector<double> diagonal, extra;   // e
  struct Wrap {
    std::ptrdiff_t last, first;
    double c;
  };
  std::vector<Wrap> wraps;  // of periodic axes
  std::vector<int> parent;  // the large cell of each

  // Room of a cycle, padded: the right-hand side, the solution, a residual, a direction.
  struct Room {
    std::vector<double> b, x, r, d;
  };
};

class Multigrid {
 public:
  explicit Multigrid(const GridBox& box);

  // coupling: (axes, cells) to the upper neighbour, the first one where the axis is periodic and
  // ends; extra: (cells). Positive definite together. often: it is set again and again, so that it
  // keeps its room.
  void set(const std::array<std::vector<double>, 3>& coupling, const std::vector<double>& extra,
           int threads, bool often = false);

  struct Room {
    std::vector<MultigridLevel::Room> level;
    CholeskyFactor::Room coarsest;
    std::vector<double> q, p, Ap, sums;
  };
  Room make_room() const;
  // Solves A q = b in place.
  SolveOutcome solve(double* b, double tolerance, Room& room, int threads) const;

 private:
  void lay_out_coarsest();
  // Of the coarsest matrix, where its pattern has it.
  double& entry(std::ptrdiff_t row, std::ptrdiff_t column);
  void make_coarser(const MultigridLevel& fine, MultigridLevel& coarse) const;
  void apply(const MultigridLevel& l, const std::vector<double>& x, std::vector<double>& y,
             int threads) const;
  void smooth(const MultigridLevel& l, MultigridLevel::Room& room, bool from_zero,
              int threads) const;
  void cycle(std::size_t level, Room& room, int threads) const;
  double dot(const std::vector<double>& x, const std::vector<double>& y, Room& room,
             int threads) const;

  GridBox box_;
  std::vector<MultigridLevel> levels_;
  SparsePattern pattern_;  // of the coarsest: all that may be coupled
  std::vector<double> values_;
  std::optional<CholeskyFactor> factor_;
};

}  // namespace cycloid::inline fluid
