#include "cycloid/fluid/grid/pressure/pressure.h"

#include <algorithm>
#include <cmath>
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

PressurePattern::PressurePattern(const GridBox& of, bool factored) : box(of) {
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
  if (factored) dissection = std::make_shared<const Dissection>(sparse, points, box.dimensions);
}

bool solved_by_multigrid(const GridBox& box) {
  constexpr int kMost = 32 * 32 * 32;
  return box.dimensions == 3 && box.cells > kMost;
}

bool solved_by_series(const GridBox& box) {
  int factor = 1;
  for (int a = box.first; a < 3; ++a) {
    const bool low = box.side[at(a)][0] == SideKind::outflow,
               high = box.side[at(a)][1] == SideKind::outflow;
    factor *= box.periodic(a) ? 1 : low == high ? 2 : 4;
  }
  return box.dimensions == 3 || factor <= 4;  // beyond, a factor is quicker
}

namespace {

// An axis that goes on until it is periodic: at each node, the cell that it mirrors and its sign.
void continue_axis(const GridBox& box, int axis, std::vector<int>& from, std::vector<int>& sign) {
  const int n = box.n[at(axis)];
  const auto& side = box.side[at(axis)];
  const int low = side[0] == SideKind::outflow ? -1 : 1,
            high = side[1] == SideKind::outflow ? -1 : 1;
  const int length = box.periodic(axis) || axis < box.first ? n : low == high ? 2 * n : 4 * n;
  for (int i = 0; i < length; ++i) {
    const int turn = i / n, place = i % n;  // an odd turn runs backwards
    from.push_back(turn % 2 ? n - 1 - place : place);
    // Mirrored at the high side after each odd turn, at the low one after each even.
    int s = 1;
    for (int t = 1; t <= turn; ++t) s *= t % 2 ? high : low;
    sign.push_back(s);
  }
}

std::vector<int> lengths(const GridBox& box, const std::array<std::vector<int>, 3>& from) {
  std::vector<int> all;
  for (int a = box.first; a < 3; ++a) all.push_back(static_cast<int>(from[at(a)].size()));
  return all;
}

}  // namespace

SeriesSolver::SeriesSolver(const GridBox& box)
    : box_(box), transform_([&] {
        for (int a = 0; a < 3; ++a) continue_axis(box, a, from_[at(a)], sign_[at(a)]);
        return RealTransform<double>(lengths(box, from_));
      }()) {
  constexpr double kTurn = 6.283185307179586;
  over_eigenvalue_.assign(at(transform_.slabs()) * at(transform_.pitch()), 0.0);
  for (int slab = 0; slab < transform_.slabs(); ++slab) {
    for (int row = 0; row < transform_.rows(); ++row) {
      double sum = 0;
      for (int a = box.first; a < 3; ++a) {
        const double angle = kTurn * transform_.wave_number(a - box.first, slab, row) /
                             static_cast<double>(from_[at(a)].size());
        sum -= (2 - 2 * std::cos(angle)) / (box.h[at(a)] * box.h[at(a)]);
      }
      over_eigenvalue_[at(slab) * at(transform_.pitch()) + at(row)] = sum < 0 ? 1 / sum : 0;
    }
  }
}

SeriesSolver::Room::Room(const SeriesSolver& solver, int threads)
    : passes(solver.transform_, threads),
      nodes(aligned_numbers<double>(static_cast<std::size_t>(solver.transform_.nodes()))),
      coefficients(
          aligned_numbers<double>(static_cast<std::size_t>(solver.transform_.coefficients()))) {}

void SeriesSolver::solve(double* b, Room& room) const {
  double* node = room.nodes.get();
  for (std::size_t i = 0; i < from_[0].size(); ++i) {
    for (std::size_t j = 0; j < from_[1].size(); ++j) {
      const double* const row = b + (from_[0][i] * box_.n[1] + from_[1][j]) * box_.n[2];
      const int sign = sign_[0][i] * sign_[1][j];
      for (std::size_t k = 0; k < from_[2].size(); ++k) {
        *node++ = sign * sign_[2][k] * row[from_[2][k]];
      }
    }
  }
  transform_.forward(room.nodes.get(), room.coefficients.get(), room.passes);
  const std::size_t pitch = at(transform_.pitch());
  for (int slab = 0; slab < transform_.slabs(); ++slab) {
    double* const X = room.coefficients.get() + 2 * at(slab) * pitch;
    const double* const over = over_eigenvalue_.data() + at(slab) * pitch;
    for (std::size_t i = 0; i < pitch; ++i) X[i] *= over[i], X[pitch + i] *= over[i];
  }
  transform_.inverse(room.coefficients.get(), room.nodes.get(), room.passes);
  for (int i = 0; i < box_.n[0]; ++i) {
    for (int j = 0; j < box_.n[1]; ++j) {
      const double* const from =
          room.nodes.get() + (at(i) * from_[1].size() + at(j)) * from_[2].size();
      std::copy_n(from, box_.n[2], b + (i * box_.n[1] + j) * box_.n[2]);
    }
  }
}

PressureSolver::PressureSolver(const GridBox& box, std::shared_ptr<const PressurePattern> pattern)
    : cells_(box.cells), pattern_(std::move(pattern)), open_(at(box.cells)) {
  if (!pattern_) {
    series_ = std::make_unique<SeriesSolver>(box);
    std::fill(open_.begin(), open_.end(), 1);
    open_cells_ = box.cells, reaches_outflow_ = box.has(SideKind::outflow);
    return;
  }
  if (pattern_->dissection) factor_.emplace(pattern_->dissection);
  else multigrid_.emplace(box);
  values_.resize(pattern_->sparse.column.size());
  group_.resize(at(box.cells)), held_.resize(at(box.cells));
}

void PressureSolver::set(const double* const* k, int threads, bool often) {
  if (series_) return;
  const PressurePattern& p = *pattern_;
  const GridBox& box = p.box;
  std::fill(values_.begin(), values_.end(), 0.0);
  std::iota(group_.begin(), group_.end(), 0);
  std::vector<char>& held = held_;
  std::fill(held.begin(), held.end(), 0);
  open_cells_ = 0, reaches_outflow_ = blocked_ = false;
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
  for (int cell = 0; cell < box.cells; ++cell) {
    for (int f = 2 * box.first; f < 6 && open_[at(cell)]; ++f) {
      const bool flows_in = p.entries[at(cell)][at(f)].place < 0 &&
                            box.side[at(f / 2)][at(f % 2)] == SideKind::inflow;
      blocked_ = blocked_ || (flows_in && !held[at(root(group_, cell))]);
    }
  }
  // One cell of each part without an outflow.
  for (int cell = 0; cell < box.cells; ++cell) {
    if (!open_[at(cell)] || root(group_, cell) != cell || held[at(cell)]) continue;
    values_[at(p.diagonal[at(cell)])] *= 2;
  }
  if (multigrid_) return set_multigrid(threads, often);
  CYCLOID_CHECK(factor_->factor(values_, threads, often) < 0);
}

// Couplings to upper neighbours, and what is left of each cell's own entry.
void PressureSolver::set_multigrid(int threads, bool often) {
  const PressurePattern& p = *pattern_;
  std::array<std::vector<double>, 3>& coupling = coupling_;
  std::vector<double>& extra = extra_;
  for (auto& c : coupling) c.assign(at(cells_), 0.0);
  extra.resize(at(cells_));
  for (int cell = 0; cell < cells_; ++cell) {
    double rest = values_[at(p.diagonal[at(cell)])];
    const auto first = p.sparse.first[at(cell)], last = p.sparse.first[at(cell + 1)];
    for (auto e = first; e < last; ++e) {
      if (p.sparse.column[static_cast<std::size_t>(e)] == cell) continue;
      rest += values_[static_cast<std::size_t>(e)];
    }
    extra[at(cell)] = std::abs(rest) < 1e-12 * values_[at(p.diagonal[at(cell)])] ? 0 : rest;
    for (int a = p.box.first; a < 3; ++a) {
      const auto& e = p.entries[at(cell)][at(2 * a + 1)];
      // Two cells of a periodic axis touch twice, in one entry.
      const double share = p.box.periodic(a) && p.box.n[at(a)] == 2 ? 0.5 : 1;
      if (e.place >= 0) coupling[at(a)][at(cell)] = -share * values_[at(e.place)];
    }
  }
  multigrid_->set(coupling, extra, threads, often);
}

SolveOutcome PressureSolver::solve(double* b, double tolerance, const Room& room,
                                   int threads) const {
  if (series_) {
    series_->solve(b, *room.series);
    return {};
  }
  for (int i = 0; i < cells_; ++i) b[i] = open_[at(i)] ? -b[i] : 0;
  if (multigrid_) return multigrid_->solve(b, tolerance, *room.multigrid, threads);
  factor_->solve(b, *room.factor, threads);
  return {};
}

}  // namespace cycloid::inline fluid
