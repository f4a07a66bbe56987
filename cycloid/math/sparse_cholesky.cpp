#include "cycloid/math/sparse_cholesky.h"

#include <algorithm>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/math/front_kernels.h"

namespace cycloid::inline math {
namespace {

// Fewer unknowns than this are one front.
constexpr int kLeaf = 48;

}  // namespace

struct Dissection::Builder {
  Dissection& out;
  const SparsePattern& pattern;
  std::span<const double> points;
  int dimensions;
  std::vector<int> place;  // of an unknown in the order
  std::vector<int> side;   // scratch: the part an unknown is in

  Builder(Dissection& d, const SparsePattern& p, std::span<const double> x, int n)
      : out(d),
        pattern(p),
        points(x),
        dimensions(n),
        place(static_cast<std::size_t>(p.rows()), -1),
        side(place) {}

  double at(int unknown, int axis) const {
    return points[static_cast<std::size_t>(unknown * dimensions + axis)];
  }

  std::span<const int> neighbours(int unknown) const {
    const auto begin = static_cast<std::size_t>(pattern.first[static_cast<std::size_t>(unknown)]),
               end = static_cast<std::size_t>(pattern.first[static_cast<std::size_t>(unknown) + 1]);
    return std::span(pattern.column).subspan(begin, end - begin);
  }

  int longest_axis(std::span<const int> part) const {
    int axis = 0;
    double most = -1;
    for (int a = 0; a < dimensions; ++a) {
      double low = at(part[0], a), high = low;
      for (const int i : part) {
        low = std::min(low, at(i, a));
        high = std::max(high, at(i, a));
      }
      if (high - low > most) most = high - low, axis = a;
    }
    return axis;
  }

  // Makes the nodes of a part, children first, and returns its root.
  int dissect(std::vector<int> part) {
    Node node;
    std::vector<int> own;
    if (static_cast<int>(part.size()) <= kLeaf) {
      own = std::move(part);
    } else {
      const int axis = longest_axis(part);
      const auto before = [&](int i, int j) {
        return at(i, axis) != at(j, axis) ? at(i, axis) < at(j, axis) : i < j;
      };
      const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
      std::nth_element(part.begin(), middle, part.end(), before);
      // Points level with the middle stay together: a straight cut is a short separator.
      const double cut = at(*middle, axis);
      std::vector<int> left, right;
      for (const int i : part) (at(i, axis) < cut ? left : right).push_back(i);
      if (left.empty()) {
        left.assign(part.begin(), middle);
        right.assign(middle, part.end());
      }
      for (const int i : right) side[static_cast<std::size_t>(i)] = static_cast<int>(right[0]);
      std::vector<int> inner;
      for (const int i : left) {
        const auto crosses = [&](int j) {
          return side[static_cast<std::size_t>(j)] == right[0] &&
                 place[static_cast<std::size_t>(j)] < 0;
        };
        const auto next = neighbours(i);
        (std::any_of(next.begin(), next.end(), crosses) ? own : inner).push_back(i);
      }
      for (const int i : right) side[static_cast<std::size_t>(i)] = -1;
      part.clear();
      part.shrink_to_fit();
      if (!inner.empty()) node.children.push_back(dissect(std::move(inner)));
      node.children.push_back(dissect(std::move(right)));
    }
    std::sort(own.begin(), own.end());
    node.begin = static_cast<int>(out.order_.size());
    node.pivots = static_cast<int>(own.size());
    for (const int i : own) {
      place[static_cast<std::size_t>(i)] = static_cast<int>(out.order_.size());
      out.order_.push_back(i);
    }
    const int number = static_cast<int>(out.nodes_.size());
    for (const int c : node.children) out.nodes_[static_cast<std::size_t>(c)].parent = number;
    out.nodes_.push_back(std::move(node));
    return number;
  }

  // The rows of every front, from the leaves up.
  void find_rows() {
    for (Node& node : out.nodes_) {
      const int end = node.begin + node.pivots;
      std::vector<int> rows;
      for (int k = node.begin; k < end; ++k) {
        for (const int j : neighbours(out.order_[static_cast<std::size_t>(k)])) {
          if (place[static_cast<std::size_t>(j)] >= end)
            rows.push_back(place[static_cast<std::size_t>(j)]);
        }
      }
      for (const int c : node.children) {
        for (const int row : out.nodes_[static_cast<std::size_t>(c)].rows) {
          if (row >= end) rows.push_back(row);
        }
      }
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      node.rows = std::move(rows);
      node.numbers = out.factor_numbers_;
      out.factor_numbers_ += static_cast<std::int64_t>(node.front()) * node.pivots;
    }
  }

  // Where a place of the order stands in a node's front.
  static int in_front(const Node& node, int k) {
    if (k < node.begin + node.pivots) return k - node.begin;
    const auto found = std::lower_bound(node.rows.begin(), node.rows.end(), k);
    return node.pivots + static_cast<int>(found - node.rows.begin());
  }

  void find_places() {
    for (Node& node : out.nodes_) {
      if (node.parent >= 0) {
        const Node& parent = out.nodes_[static_cast<std::size_t>(node.parent)];
        for (const int row : node.rows) node.in_parent.push_back(in_front(parent, row));
      }
      for (int k = node.begin; k < node.begin + node.pivots; ++k) {
        const int i = out.order_[static_cast<std::size_t>(k)];
        for (std::int64_t e = pattern.first[static_cast<std::size_t>(i)];
             e < pattern.first[static_cast<std::size_t>(i) + 1]; ++e) {
          const int other =
              place[static_cast<std::size_t>(pattern.column[static_cast<std::size_t>(e)])];
          if (other < k) continue;
          node.from.push_back(e);
          node.to.push_back(static_cast<std::int64_t>(k - node.begin) * node.front() +
                            in_front(node, other));
        }
      }
    }
  }

  void find_levels() {
    for (Node& node : out.nodes_) {
      for (const int c : node.children) {
        node.level = std::max(node.level, out.nodes_[static_cast<std::size_t>(c)].level + 1);
      }
      const auto level = static_cast<std::size_t>(node.level);
      if (level >= out.levels_.size()) out.levels_.resize(level + 1);
      out.levels_[level].nodes.push_back(static_cast<int>(&node - out.nodes_.data()));
      node.update = out.levels_[level].updates;
      const auto rows = static_cast<std::int64_t>(node.rows.size());
      out.levels_[level].updates += rows * rows;
    }
    for (std::size_t level = 0; level < out.levels_.size(); ++level) {
      int last = static_cast<int>(level);
      for (const int n : out.levels_[level].nodes) {
        const int parent = out.nodes_[static_cast<std::size_t>(n)].parent;
        if (parent >= 0) last = std::max(last, out.nodes_[static_cast<std::size_t>(parent)].level);
      }
      out.levels_[static_cast<std::size_t>(last)].finished.push_back(static_cast<int>(level));
    }
  }

  void check_pattern() const {
    for (int i = 0; i < pattern.rows(); ++i) {
      bool diagonal = false;
      for (const int j : neighbours(i)) {
        diagonal = diagonal || j == i;
        const auto back = neighbours(j);
        if (std::find(back.begin(), back.end(), i) == back.end()) {
          throw Error(message("sparse Cholesky: the pattern has entry (", i, ", ", j, ") but not (",
                              j, ", ", i, ")"));
        }
      }
      if (!diagonal) throw Error(message("sparse Cholesky: row ", i, " has no diagonal entry"));
    }
  }
};

Dissection::Dissection(const SparsePattern& pattern, std::span<const double> points,
                       int dimensions) {
  if (dimensions < 1 || points.size() != static_cast<std::size_t>(pattern.rows()) *
                                             static_cast<std::size_t>(dimensions)) {
    throw Error(message("sparse Cholesky: ", pattern.rows(), " unknowns need as many points of ",
                        dimensions, " numbers each; got ", points.size(), " numbers"));
  }
  Builder builder(*this, pattern, points, dimensions);
  builder.check_pattern();
  std::vector<int> all(static_cast<std::size_t>(pattern.rows()));
  std::iota(all.begin(), all.end(), 0);
  if (!all.empty()) builder.dissect(std::move(all));
  builder.find_rows();
  builder.find_places();
  builder.find_levels();
}

CholeskyFactor::CholeskyFactor(std::shared_ptr<const Dissection> dissection)
    : dissection_(std::move(dissection)),
      numbers_(static_cast<std::size_t>(dissection_->factor_numbers())),
      left_(1, 0) {
  for (const auto& node : dissection_->nodes()) left_.push_back(left_.back() + node.rows.size());
}

int CholeskyFactor::factor(std::span<const double> values, int threads, bool keeps_room) {
  const auto& nodes = dissection_->nodes();
  const auto& levels = dissection_->levels();
  const FrontKernels& kernels = front_kernels();
  std::vector<Buffer<double>>& updates = updates_;
  std::vector<int>& failed = failed_;
  updates.resize(levels.size()), failed.assign(nodes.size(), -1);
  const auto update_of = [&](const Dissection::Node& node) {
    return updates[static_cast<std::size_t>(node.level)].data() + node.update;
  };
  const auto eliminate = [&](int number) {
    const Dissection::Node& node = nodes[static_cast<std::size_t>(number)];
    const int p = node.pivots, m = node.front(), r = m - p;
    double* const columns = numbers_.data() + node.numbers;  // the first p columns of F
    double* const update = update_of(node);
    std::fill_n(update, static_cast<std::size_t>(r) * static_cast<std::size_t>(r), 0.0);
    std::fill_n(columns, static_cast<std::size_t>(m) * static_cast<std::size_t>(p), 0.0);
    for (std::size_t e = 0; e < node.from.size(); ++e) {  // (1)
      columns[node.to[e]] += values[static_cast<std::size_t>(node.from[e])];
    }
    for (const int c : node.children) {
      const Dissection::Node& child = nodes[static_cast<std::size_t>(c)];
      const double* const from = update_of(child);
      const int n = static_cast<int>(child.rows.size());
      for (int j = 0; j < n; ++j) {
        const int to = child.in_parent[static_cast<std::size_t>(j)];
        double* const column = to < p ? columns + static_cast<std::ptrdiff_t>(to) * m
                                      : update + static_cast<std::ptrdiff_t>(to - p) * r - p;
        const double* const own = from + static_cast<std::ptrdiff_t>(j) * n;
        for (int i = j; i < n; ++i) column[child.in_parent[static_cast<std::size_t>(i)]] += own[i];
      }
    }
    if (!kernels.factor(columns, p, m, update)) {  // (2) (3)
      failed[static_cast<std::size_t>(number)] =
          dissection_->order()[static_cast<std::size_t>(node.begin)];
    }
  };
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const Dissection::Level& level = levels[l];
    const auto numbers = static_cast<std::size_t>(level.updates);
    if (updates[l].bytes() != numbers * sizeof(double)) updates[l] = Buffer<double>(numbers);
    parallel_for(level.nodes.size(), threads, [&](std::size_t i) { eliminate(level.nodes[i]); });
    for (const int n : level.nodes) {
      if (failed[static_cast<std::size_t>(n)] < 0) continue;
      if (!keeps_room) updates.clear();
      return failed[static_cast<std::size_t>(n)];
    }
    if (keeps_room) continue;
    for (const int done : level.finished) updates[static_cast<std::size_t>(done)] = {};
  }
  return -1;
}

CholeskyFactor::Room CholeskyFactor::make_room() const {
  return {std::vector<double>(dissection_->order().size()), std::vector<double>(left_.back())};
}

void CholeskyFactor::solve(double* b, int threads) const {
  Room room = make_room();
  solve(b, room, threads);
}

void CholeskyFactor::solve(double* b, Room& room, int threads) const {
  const auto& nodes = dissection_->nodes();
  const auto& order = dissection_->order();
  const auto& levels = dissection_->levels();
  const FrontKernels& kernels = front_kernels();
  const std::vector<std::size_t>& first = left_;
  std::vector<double>&x = room.x, &left = room.left;
  x.resize(order.size()), left.resize(first.back());
  for (std::size_t k = 0; k < order.size(); ++k) x[k] = b[order[k]];
  const auto up = [&](int number) {
    const Dissection::Node& node = nodes[static_cast<std::size_t>(number)];
    const int p = node.pivots, m = node.front(), r = m - p;
    double *const own = x.data() + node.begin, *const rest =
                                                   left.data() +
                                                   first[static_cast<std::size_t>(number)];
    std::fill_n(rest, r, 0.0);
    for (const int c : node.children) {
      const Dissection::Node& child = nodes[static_cast<std::size_t>(c)];
      const double* const from = left.data() + first[static_cast<std::size_t>(c)];
      for (std::size_t i = 0; i < child.rows.size(); ++i) {
        const int to = child.in_parent[i];
        (to < p ? own[to] : rest[to - p]) += from[i];
      }
    }
    kernels.up(numbers_.data() + node.numbers, p, m, own, rest);  // (4)
  };
  const auto down = [&](int number) {
    const Dissection::Node& node = nodes[static_cast<std::size_t>(number)];
    double* const rest = left.data() + first[static_cast<std::size_t>(number)];
    for (std::size_t i = 0; i < node.rows.size(); ++i)
      rest[i] = x[static_cast<std::size_t>(node.rows[i])];
    kernels.down(numbers_.data() + node.numbers, node.pivots, node.front(), x.data() + node.begin,
                 rest);
  };
  for (const auto& level : levels) {
    parallel_for(level.nodes.size(), threads, [&](std::size_t i) { up(level.nodes[i]); });
  }
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    parallel_for(level->nodes.size(), threads, [&](std::size_t i) { down(level->nodes[i]); });
  }
  for (std::size_t k = 0; k < order.size(); ++k) b[order[k]] = x[k];
}

}  // namespace cycloid::inline math
