#include "cycloid/fluid/grid/pressure/multigrid.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/check.h"
#include "cycloid/base/thread_pool.h"

namespace cycloid::inline fluid {
namespace {

constexpr std::ptrdiff_t kSome = 8192;     // cells that a thread takes at once
constexpr std::ptrdiff_t kCoarsest = 600;  // cells that are factored
constexpr int kMostIterations = 200;

template <class Work>
void for_cells(std::ptrdiff_t cells, int threads, Work&& work) {
  const std::size_t blocks = at((cells + kSome - 1) / kSome);
  parallel_for(blocks, blocks > 1 ? threads : 1, [&](std::size_t block) {
    const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(block) * kSome;
    work(begin, std::min(begin + kSome, cells), block);
  });
}

// Strides, pads and couplings of a level of n cells.
void lay_out(MultigridLevel& l) {
  l.stride = {static_cast<std::ptrdiff_t>(l.n[1]) * l.n[2], l.n[2], 1};
  l.cells = l.stride[0] * l.n[0];
  l.pad = std::max<std::ptrdiff_t>(l.stride[0], std::max(l.stride[1], l.stride[2]));
  for (auto& c : l.c) c.assign(at(l.cells + 2 * l.pad), 0.0);
  l.extra.assign(at(l.cells), 0.0);
  l.wraps.clear();
}

void add_diagonal(MultigridLevel& l) {
  l.diagonal = l.extra;
  for (int a = 0; a < 3; ++a) {
    for (std::ptrdiff_t m = 0; m < l.cells; ++m) {
      l.diagonal[at(m)] += l.c[at(a)][at(l.pad + m)] + l.c[at(a)][at(l.pad + m - l.stride[at(a)])];
    }
  }
  for (const auto& w : l.wraps) l.diagonal[at(w.last)] += w.c, l.diagonal[at(w.first)] += w.c;
  // A cell without neighbours keeps what it is given.
  for (double& d : l.diagonal) d = d > 0 ? d : 1;
}

}  // namespace

Multigrid::Multigrid(const GridBox& box) : box_(box) {
  MultigridLevel fine;
  fine.n = box.n;
  lay_out(fine);
  levels_.push_back(std::move(fine));
  while (levels_.back().cells > kCoarsest) {
    MultigridLevel& last = levels_.back();
    MultigridLevel next;
    bool any = false;
    for (int a = 0; a < 3; ++a) {
      last.halved[at(a)] = last.n[at(a)] >= 4;
      next.n[at(a)] = last.halved[at(a)] ? (last.n[at(a)] + 1) / 2 : last.n[at(a)];
      any = any || last.halved[at(a)];
    }
    if (!any) break;
    lay_out(next);
    last.parent.resize(at(last.cells));
    std::size_t m = 0;
    for (int i = 0; i < last.n[0]; ++i) {
      for (int j = 0; j < last.n[1]; ++j) {
        for (int k = 0; k < last.n[2]; ++k, ++m) {
          const int p[3] = {last.halved[0] ? i / 2 : i, last.halved[1] ? j / 2 : j,
                            last.halved[2] ? k / 2 : k};
          last.parent[m] = (p[0] * next.n[1] + p[1]) * next.n[2] + p[2];
        }
      }
    }
    levels_.push_back(std::move(next));
  }
  lay_out_coarsest();
}

void Multigrid::lay_out_coarsest() {
  const MultigridLevel& last = levels_.back();
  std::vector<double> points;
  std::vector<int> row;
  for (std::ptrdiff_t m = 0; m < last.cells; ++m) {
    row = {static_cast<int>(m)};
    for (int a = box_.first; a < 3; ++a) {
      const std::ptrdiff_t n = last.n[at(a)], s = last.stride[at(a)], place = m / s % n;
      points.push_back(static_cast<double>(place));
      for (const int step : {-1, 1}) {
        const std::ptrdiff_t next = (place + step + n) % n;
        if (next != place + step && !box_.periodic(a)) continue;
        row.push_back(static_cast<int>(m + (next - place) * s));
      }
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    pattern_.column.insert(pattern_.column.end(), row.begin(), row.end());
    pattern_.first.push_back(pattern_.entries());
  }
  values_.resize(pattern_.column.size());
  factor_.emplace(std::make_shared<const Dissection>(pattern_, points, box_.dimensions));
}

double& Multigrid::entry(std::ptrdiff_t row, std::ptrdiff_t column) {
  const auto first = pattern_.column.begin() + static_cast<std::ptrdiff_t>(pattern_.first[at(row)]);
  const auto last =
      pattern_.column.begin() + static_cast<std::ptrdiff_t>(pattern_.first[at(row + 1)]);
  const auto found = std::lower_bound(first, last, static_cast<int>(column));
  CYCLOID_CHECK(found != last && *found == column);
  return values_[static_cast<std::size_t>(found - pattern_.column.begin())];
}

void Multigrid::set(const std::array<std::vector<double>, 3>& coupling,
                    const std::vector<double>& extra, int threads, bool often) {
  MultigridLevel& fine = levels_.front();
  lay_out(fine);
  fine.extra = extra;
  for (int a = box_.first; a < 3; ++a) {
    const std::ptrdiff_t s = fine.stride[at(a)], n = fine.n[at(a)];
    for (std::ptrdiff_t m = 0; m < fine.cells; ++m) {
      const double c = coupling[at(a)][at(m)];
      if (m / s % n < n - 1) fine.c[at(a)][at(fine.pad + m)] = c;
      else if (c != 0) fine.wraps.push_back({m, m - (n - 1) * s, c});
    }
  }
  add_diagonal(fine);
  for (std::size_t l = 1; l < levels_.size(); ++l) make_coarser(levels_[l - 1], levels_[l]);

  const MultigridLevel& last = levels_.back();
  std::fill(values_.begin(), values_.end(), 0.0);
  const auto join = [&](std::ptrdiff_t x, std::ptrdiff_t y, double c) {
    if (c == 0 || x == y) return;
    entry(x, y) -= c, entry(y, x) -= c;
  };
  for (std::ptrdiff_t m = 0; m < last.cells; ++m) {
    entry(m, m) += last.diagonal[at(m)];
    for (int a = 0; a < 3; ++a) join(m, m + last.stride[at(a)], last.c[at(a)][at(last.pad + m)]);
  }
  for (const auto& w : last.wraps) join(w.last, w.first, w.c);
  CYCLOID_CHECK(factor_->factor(values_, threads, often) < 0);
}

void Multigrid::make_coarser(const MultigridLevel& fine, MultigridLevel& coarse) const {
  lay_out(coarse);
  const double share = 0.5;  // (2)
  const auto join = [&](std::ptrdiff_t x, std::ptrdiff_t y, int a, double c) {
    const std::ptrdiff_t X = fine.parent[at(x)], Y = fine.parent[at(y)];
    if (X == Y) return;
    const double C = c * (fine.halved[at(a)] ? share : 1);
    if (Y - X == coarse.stride[at(a)]) coarse.c[at(a)][at(coarse.pad + X)] += C;
    else coarse.wraps.push_back({X, Y, C});
  };
  for (int a = 0; a < 3; ++a) {
    for (std::ptrdiff_t m = 0; m < fine.cells; ++m) {
      const double c = fine.c[at(a)][at(fine.pad + m)];
      if (c != 0) join(m, m + fine.stride[at(a)], a, c);
    }
  }
  for (const auto& w : fine.wraps) {
    const std::ptrdiff_t gap = w.last - w.first;
    int a = 2;
    for (int b = 0; b < 3; ++b) {
      if (gap == (fine.n[at(b)] - 1) * fine.stride[at(b)] && fine.n[at(b)] > 1) a = b;
    }
    join(w.last, w.first, a, w.c);
  }
  for (std::ptrdiff_t m = 0; m < fine.cells; ++m) {
    coarse.extra[at(fine.parent[at(m)])] += share * fine.extra[at(m)];
  }
  add_diagonal(coarse);
}

Multigrid::Room Multigrid::make_room() const {
  Room room;
  for (const MultigridLevel& l : levels_) {
    const std::vector<double> none(at(l.cells + 2 * l.pad), 0.0);
    room.level.push_back({none, none, none, none});
  }
  room.q = room.p = room.Ap = room.level.front().b;
  room.sums.resize(at((levels_.front().cells + kSome - 1) / kSome));
  return room;
}

void Multigrid::apply(const MultigridLevel& l, const std::vector<double>& x_of,
                      std::vector<double>& y_of, int threads) const {
  const double* const x = x_of.data() + l.pad;
  double* const y = y_of.data() + l.pad;
  for_cells(l.cells, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t) {
    for (std::ptrdiff_t m = begin; m < end; ++m) y[m] = l.diagonal[at(m)] * x[m];
    for (int a = 0; a < 3; ++a) {
      if (l.n[at(a)] == 1) continue;
      const std::ptrdiff_t s = l.stride[at(a)];
      const double* const c = l.c[at(a)].data() + l.pad;
      for (std::ptrdiff_t m = begin; m < end; ++m) y[m] -= c[m] * x[m + s] + c[m - s] * x[m - s];
    }
  });
  for (const auto& w : l.wraps) y[w.last] -= w.c * x[w.first], y[w.first] -= w.c * x[w.last];
}

// Chebyshev's series over [½, 2] for x in A x = b; r keeps the residual of its beginning.
void Multigrid::smooth(const MultigridLevel& l, MultigridLevel::Room& room, bool from_zero,
                       int threads) const {
  constexpr double kMiddle = 1.25, kHalf = 0.75;
  double rho = kHalf / kMiddle;
  for (int term = 0; term < 3; ++term) {
    const bool first = term == 0;
    if (!first || !from_zero) apply(l, room.x, room.r, threads);
    const double next = first ? rho : 1 / (2 * kMiddle / kHalf - rho);
    const double keep = first ? 0 : next * rho, take = first ? 1 / kMiddle : 2 * next / kHalf;
    for_cells(l.cells, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t) {
      for (std::ptrdiff_t m = begin; m < end; ++m) {
        const std::size_t i = at(l.pad + m);
        const double r = first && from_zero ? room.b[i] : room.b[i] - room.r[i];
        const double d = (first ? 0 : keep * room.d[i]) + take * r / l.diagonal[at(m)];
        room.d[i] = d;
        room.x[i] = (first && from_zero ? 0 : room.x[i]) + d;
      }
    });
    rho = next;
  }
}

void Multigrid::cycle(std::size_t level, Room& all, int threads) const {
  const MultigridLevel& l = levels_[level];
  MultigridLevel::Room& room = all.level[level];
  if (level + 1 == levels_.size()) {
    std::copy(room.b.begin(), room.b.end(), room.x.begin());
    factor_->solve(room.x.data() + l.pad, all.coarsest, threads);
    return;
  }
  smooth(l, room, true, threads);
  apply(l, room.x, room.r, threads);
  const MultigridLevel& up = levels_[level + 1];
  MultigridLevel::Room& coarse = all.level[level + 1];
  std::fill(coarse.b.begin(), coarse.b.end(), 0.0);
  for (std::ptrdiff_t m = 0; m < l.cells; ++m) {
    coarse.b[at(up.pad + l.parent[at(m)])] += room.b[at(l.pad + m)] - room.r[at(l.pad + m)];
  }
  cycle(level + 1, all, threads);
  for (std::ptrdiff_t m = 0; m < l.cells; ++m) {
    room.x[at(l.pad + m)] += coarse.x[at(up.pad + l.parent[at(m)])];
  }
  smooth(l, room, false, threads);
}

double Multigrid::dot(const std::vector<double>& x, const std::vector<double>& y, Room& room,
                      int threads) const {
  const MultigridLevel& l = levels_.front();
  for_cells(l.cells, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t block) {
    double sum = 0;
    for (std::ptrdiff_t m = l.pad + begin; m < l.pad + end; ++m) sum += x[at(m)] * y[at(m)];
    room.sums[block] = sum;
  });
  double sum = 0;
  for (const double one : room.sums) sum += one;
  return sum;
}

SolveOutcome Multigrid::solve(double* b, double tolerance, Room& room, int threads) const {
  const MultigridLevel& l = levels_.front();
  MultigridLevel::Room& fine = room.level.front();
  // The residual lies where a cycle looks for its right-hand side; x is what the cycle gives.
  std::vector<double>& r = fine.b;
  std::copy_n(b, l.cells, r.begin() + l.pad);
  std::fill(room.q.begin(), room.q.end(), 0.0);
  const double aim = dot(r, r, room, threads);
  SolveOutcome found;
  if (aim == 0) return found;
  double rz = 0, rr = aim;
  const auto update = [&](std::vector<double>& y, double scale, const std::vector<double>& x) {
    for_cells(l.cells, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t) {
      for (std::ptrdiff_t m = l.pad + begin; m < l.pad + end; ++m) y[at(m)] += scale * x[at(m)];
    });
  };
  while (rr > tolerance * tolerance * aim && found.iterations < kMostIterations) {
    cycle(0, room, threads);
    const double next = dot(r, fine.x, room, threads);
    if (found.iterations == 0) {
      room.p = fine.x;
    } else {
      const double beta = next / rz;
      for_cells(l.cells, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t) {
        for (std::ptrdiff_t m = l.pad + begin; m < l.pad + end; ++m) {
          room.p[at(m)] = fine.x[at(m)] + beta * room.p[at(m)];
        }
      });
    }
    rz = next;
    apply(l, room.p, room.Ap, threads);
    const double alpha = rz / dot(room.p, room.Ap, room, threads);
    update(room.q, alpha, room.p);
    update(r, -alpha, room.Ap);
    rr = dot(r, r, room, threads);
    ++found.iterations;
    if (!std::isfinite(rr)) break;
  }
  found.residual = std::sqrt(rr / aim);
  found.converged = found.residual <= tolerance;
  std::copy_n(room.q.begin() + l.pad, l.cells, b);
  return found;
}

}  // namespace cycloid::inline fluid
