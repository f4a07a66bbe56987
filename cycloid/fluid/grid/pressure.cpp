#include "cycloid/fluid/grid/pressure.h"

#include <algorithm>
#include <numeric>

#include "cycloid/base/check.h"

namespace cycloid::inline fluid {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The first of its group, with the way there made shorter.
int root(std::vector<int>& group, int i) {
  while (group[at(i)] != i) i = group[at(i)] = group[at(group[at(i)])];
  return i;
}

}  // namespace

PressurePattern::PressurePattern(const GridBox& of) : box(of) {
  const int cell_stride[3] = {box.n[1] * box.n[2], box.n[2], 1};
  std::vector<double> points;
  entries.resize(at(box.cells));
  for (int i = 0, cell = 0; i < box.n[0]; ++i) {
    for (int j = 0; j < box.n[1]; ++j) {
      for (int k = 0; k < box.n[2]; ++k, ++cell) {
        const int place[3] = {i, j, k};
        std::vector<int> row = {cell};
        int other[6];
        std::fill_n(other, 6, -1);
        for (int a = box.first; a < 3; ++a) {
          const int last = box.n[at(a)] - 1;
          points.push_back(place[a]);
          for (int high = 0; high < 2; ++high) {
            const bool end = place[a] == (high ? last : 0);
            if (end && !box.periodic(a)) continue;
            const int step = end ? (high ? -last : last) : (high ? 1 : -1);
            other[2 * a + high] = cell + step * cell_stride[a];
            row.push_back(other[2 * a + high]);
          }
        }
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        const int begin = static_cast<int>(sparse.column.size());
        sparse.column.insert(sparse.column.end(), row.begin(), row.end());
        sparse.first.push_back(sparse.entries());
        const auto find = [&](int column) {
          return begin +
                 static_cast<int>(std::lower_bound(row.begin(), row.end(), column) - row.begin());
        };
        diagonal.push_back(find(cell));
        for (int a = box.first; a < 3; ++a) {
          for (int high = 0; high < 2; ++high) {
            std::ptrdiff_t face = box.index(i, j, k);
            if (high) face += box.stride[at(a)];
            // The upper face of a periodic axis is the lower one of the first cell.
            if (high && box.periodic(a) && place[a] == box.n[at(a)] - 1) {
              face -= box.n[at(a)] * box.stride[at(a)];
            }
            const int to = other[2 * a + high];
            entries[at(cell)][at(2 * a + high)] = {face, a, to < 0 ? -1 : find(to)};
          }
        }
      }
    }
  }
  dissection = std::make_shared<const Dissection>(sparse, points, box.dimensions);
}

PressureSolver::PressureSolver(std::shared_ptr<const PressurePattern> pattern)
    : pattern_(std::move(pattern)),
      factor_(pattern_->dissection),
      values_(pattern_->sparse.column.size()),
      open_(at(pattern_->box.cells)),
      group_(at(pattern_->box.cells)) {}

void PressureSolver::set(const double* const* k, int threads) {
  const PressurePattern& p = *pattern_;
  const GridBox& box = p.box;
  std::fill(values_.begin(), values_.end(), 0.0);
  std::iota(group_.begin(), group_.end(), 0);
  std::vector<char> held(at(box.cells), 0);  // by an outflow
  open_cells_ = 0, reaches_outflow_ = false;
  for (int cell = 0; cell < box.cells; ++cell) {
    double sum = 0;
    for (int a = box.first; a < 3; ++a) {
      for (int high = 0; high < 2; ++high) {
        const auto& e = p.entries[at(cell)][at(2 * a + high)];
        double of_face = (k ? k[a][e.face] : 1) / (box.h[at(a)] * box.h[at(a)]);
        if (e.place < 0) {
          if (box.side[at(a)][at(high)] != SideKind::outflow || of_face == 0) continue;
          sum += 2 * of_face, held[at(cell)] = 1, reaches_outflow_ = true;
          continue;
        }
        if (of_face == 0) continue;
        values_[at(e.place)] -= of_face, sum += of_face;  // (1)
        const int x = root(group_, cell), y = root(group_, p.sparse.column[at(e.place)]);
        group_[at(std::max(x, y))] = std::min(x, y);
      }
    }
    open_[at(cell)] = sum > 0;
    open_cells_ += sum > 0;
    values_[at(p.diagonal[at(cell)])] += sum > 0 ? sum : 1.0;
  }
  for (int cell = 0; cell < box.cells; ++cell) {
    if (held[at(cell)]) held[at(root(group_, cell))] = 1;
  }
  // One cell of each part without an outflow.
  for (int cell = 0; cell < box.cells; ++cell) {
    if (!open_[at(cell)] || root(group_, cell) != cell || held[at(cell)]) continue;
    values_[at(p.diagonal[at(cell)])] *= 2;
  }
  CYCLOID_CHECK(factor_.factor(values_, threads) < 0);
}

void PressureSolver::solve(double* b, int threads) const {
  for (int i = 0; i < pattern_->box.cells; ++i) b[i] = open_[at(i)] ? -b[i] : 0;
  factor_.solve(b, threads);
}

}  // namespace cycloid::inline fluid
