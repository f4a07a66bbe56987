// Sparse Cholesky: A = L Lᵀ of a symmetric positive definite matrix over points in space, by nested
// dissection and dense fronts, and solves with it.
//
// The unknowns are cut in two by a separator, those that lie left of the middle and touch the right
// (George1973), and each half again, down to leaves. The tree of separators is the order of
// elimination: halves know nothing of each other. A node with p unknowns of its own and m - p
// unknowns of its ancestors that it touches is a dense front (DuffReid1983):
//   F = Σ entries of A + Σ updates of its children                                            (1)
//   F = [F11 F21ᵀ; F21 F22],  F11 = L11 L11ᵀ,  L21 = F21 L11⁻ᵀ                                 (2)
//   update = F22 - L21 L21ᵀ, for its parent                                                   (3)
// A solve takes right-hand sides up the tree and solutions down:
//   y1 = L11⁻¹ (b1 + what children leave),   x1 = L11⁻ᵀ (y1 - L21ᵀ x2)                         (4)
// Nodes of one height are independent and are spread over threads. Each is computed in one fixed
// order, so that no number depends on how many threads there are. The dense work is that of
// front_kernels.h.
//
// The pattern is analysed once (Dissection); numbers come and go (CholeskyFactor).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cycloid/base/large_block.h"

namespace cycloid::inline math {

// A symmetric matrix by rows, both halves: row i has the columns [first[i], first[i+1]).
struct SparsePattern {
  std::vector<std::int64_t> first = {0};
  std::vector<int> column;

  int rows() const { return static_cast<int>(first.size()) - 1; }
  std::int64_t entries() const { return static_cast<std::int64_t>(column.size()); }
};

// The tree of fronts of a pattern.
class Dissection {
 public:
  // points: (rows, dimensions), where the unknowns lie. Throws Error unless the pattern is
  // symmetric and has its diagonal.
  Dissection(const SparsePattern& pattern, std::span<const double> points, int dimensions);

  struct Node {
    int begin = 0, pivots = 0;  // its unknowns are begin … begin + pivots - 1 of the order
    std::vector<int> rows;      // places of ancestors' unknowns that it touches, rising
    std::vector<int> children;  // nodes
    int parent = -1;
    std::vector<int> in_parent;  // of each row, its row in the parent's front
    std::int64_t numbers = 0;    // where its L begins: (pivots + rows) by pivots, column by column
    int level = 0;
    std::int64_t update = 0;  // where its update begins among those of its level: (rows, rows)
    // Entries of A that it assembles: number in the pattern, place in the front's first columns.
    std::vector<std::int64_t> from;
    std::vector<std::int64_t> to;

    int front() const { return pivots + static_cast<int>(rows.size()); }
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  // Nodes of one height, the leaves' first; a node's children come before it.
  struct Level {
    std::vector<int> nodes;
    std::int64_t updates = 0;   // numbers of all their updates
    std::vector<int> finished;  // lower levels whose updates have been taken up after this one
  };
  const std::vector<Level>& levels() const { return levels_; }
  // The unknown at each place of the order.
  const std::vector<int>& order() const { return order_; }
  int rows() const { return static_cast<int>(order_.size()); }
  std::int64_t factor_numbers() const { return factor_numbers_; }

 private:
  struct Builder;
  std::vector<Node> nodes_;
  std::vector<Level> levels_;
  std::vector<int> order_;
  std::int64_t factor_numbers_ = 0;
};

// The numbers of a factor. Made for a Dissection, which it keeps alive.
class CholeskyFactor {
 public:
  explicit CholeskyFactor(std::shared_ptr<const Dissection> dissection);

  // values: one for each entry of the pattern, of which one half is read. Returns -1, or an unknown
  // at which the matrix is found not to be positive definite. keeps_room: for the next one, which
  // then allocates nothing.
  int factor(std::span<const double> values, int threads, bool keeps_room = false);
  // Of a solve: the unknowns in their order, and what each front leaves for its ancestors.
  struct Room {
    std::vector<double> x, left;
  };
  Room make_room() const;
  // Solves A x = b in place, in the order of the unknowns.
  void solve(double* b, int threads) const;
  void solve(double* b, Room& room, int threads) const;  // allocates nothing
  std::size_t bytes() const { return numbers_.bytes(); }

 private:
  std::shared_ptr<const Dissection> dissection_;
  Buffer<double> numbers_;
  std::vector<std::size_t> left_;        // where a front's part of Room::left begins
  std::vector<Buffer<double>> updates_;  // of each level, what fronts leave for their parents
  std::vector<int> failed_;
};

}  // namespace cycloid::inline math
