#include "cycloid/soft/term/contact_surface.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/soft/term/pair_distance.h"

namespace cycloid::inline soft {
namespace {

constexpr int kLeaf = 4, kBlock = 256, kMostAdvances = 100000;
constexpr double kKept = 0.1;  // of a distance, by any step

std::size_t at_index(int i) { return static_cast<std::size_t>(i); }
Vec3<double> point(const double* y, int v) { return {y[3 * v], y[3 * v + 1], y[3 * v + 2]}; }

using Four = ContactPairs::Pair;

int size_of(PairKind kind) { return kind == PairKind::point_edge ? 3 : 4; }

double distance(PairKind kind, const Vec3<double>* x) {
  return kind == PairKind::edge_edge    ? edge_edge_distance(x).d
         : kind == PairKind::point_edge ? point_edge_distance(x).d
                                        : point_triangle_distance(x).d;
}
double distance(PairKind kind, const Four& pair, const double* y) {
  Vec3<double> x[4];
  for (int a = 0; a < size_of(kind); ++a) x[a] = point(y, pair[at_index(a)]);
  return distance(kind, x);
}

// How much of the step a pair admits, up to `most`.
double free_part_of(PairKind kind, const Four& pair, const double* y, const double* d,
                    double thickness, double most) {
  const int n = size_of(kind);
  Vec3<double> x[4], way[4], mean = {0, 0, 0};
  for (int a = 0; a < n; ++a) {
    x[a] = point(y, pair[at_index(a)]), way[a] = point(d, pair[at_index(a)]);
    mean += way[a] * (1.0 / n);
  }
  double length[4] = {};
  for (int a = 0; a < n; ++a) way[a] -= mean, length[a] = norm(way[a]);
  const double l = kind == PairKind::edge_edge
                       ? std::max(length[0], length[1]) + std::max(length[2], length[3])
                       : length[0] + std::max({length[1], length[2], length[3]});
  const double start = distance(kind, x) - thickness, kept = kKept * start;
  if (!(l > 0) || start - kept >= most * l) return most;
  double t = 0, now = start;
  for (int k = 0; k < kMostAdvances; ++k) {
    const double next = t + 0.9 * (now - kept) / l;
    if (next >= most) return most;
    Vec3<double> moved[4];
    for (int a = 0; a < n; ++a) moved[a] = x[a] + way[a] * next;
    now = distance(kind, moved) - thickness;
    t = next;
    if (now <= 1.1 * kept) return t;
  }
  return t;
}

bool share(const int* a, int n, const int* b, int m) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      if (a[i] == b[j]) return true;
    }
  }
  return false;
}

std::vector<double> centres_of(const std::vector<int>& nodes, int each, const double* y) {
  std::vector<double> out(3 * nodes.size() / at_index(each), 0.0);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    for (std::size_t i = 0; i < 3; ++i) {
      out[3 * (k / at_index(each)) + i] += y[3 * at_index(nodes[k]) + i] / each;
    }
  }
  return out;
}

}  // namespace

bool ContactPairs::includes(const ContactPairs& other) const {
  const auto has = [](const std::vector<Pair>& all, const std::vector<Pair>& some) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  };
  bool all = true;
  for (std::size_t k = 0; k < of.size(); ++k) all = all && has(of[k], other.of[k]);
  return all;
}

void ContactPairs::add(const ContactPairs& other) {
  const auto join = [](std::vector<Pair>& all, const std::vector<Pair>& more) {
    std::vector<Pair> both;
    std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(both));
    all.swap(both);
  };
  for (std::size_t k = 0; k < of.size(); ++k) join(of[k], other.of[k]);
}

void BoxTree::Box::add(const Box& other) {
  for (int i = 0; i < 3; ++i) {
    low[i] = std::min(low[i], other.low[i]), high[i] = std::max(high[i], other.high[i]);
  }
}

BoxTree::BoxTree(const std::vector<double>& centres) : order_(centres.size() / 3) {
  std::iota(order_.begin(), order_.end(), 0);
  if (!order_.empty()) split(0, static_cast<int>(order_.size()), centres);
}

void BoxTree::split(int begin, int end, const std::vector<double>& centres) {
  const std::size_t own = nodes_.size();
  nodes_.push_back({begin, end, -1});
  if (end - begin <= kLeaf) return;
  double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (int k = begin; k < end; ++k) {
    for (int i = 0; i < 3; ++i) {
      const double c = centres[at_index(3 * order_[at_index(k)] + i)];
      low[i] = std::min(low[i], c), high[i] = std::max(high[i], c);
    }
  }
  int axis = 0;
  for (int i = 1; i < 3; ++i) {
    if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
  }
  const int middle = (begin + end) / 2;
  const auto less = [&](int a, int b) {
    const double x = centres[at_index(3 * a + axis)], y = centres[at_index(3 * b + axis)];
    return x != y ? x < y : a < b;
  };
  std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end, less);
  split(begin, middle, centres);
  nodes_[own].right = static_cast<int>(nodes_.size());
  split(middle, end, centres);
}

std::vector<BoxTree::Box> BoxTree::fit(const std::vector<Box>& items) const {
  std::vector<Box> out(nodes_.size());
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    const Node& node = nodes_[k];
    if (node.right < 0) {
      out[k] = items[at_index(order_[at_index(node.begin)])];
      for (int i = node.begin + 1; i < node.end; ++i) {
        out[k].add(items[at_index(order_[at_index(i)])]);
      }
    } else {
      out[k] = out[k + 1];
      out[k].add(out[at_index(node.right)]);
    }
  }
  return out;
}

ContactSurface::ContactSurface(const std::vector<double>& vertices, std::vector<int> faces)
    : triangles(std::move(faces)) {
  std::vector<std::array<int, 2>> all;
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    for (std::size_t a = 0; a < 3; ++a) {
      all.push_back({triangles[t + a], triangles[t + (a + 1) % 3]});
    }
  }
  for (auto& e : all) std::sort(e.begin(), e.end());
  take_edges(std::move(all));
  points = triangles;
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  triangle_tree_ = BoxTree(centres_of(triangles, 3, vertices.data()));
  edge_tree_ = BoxTree(centres_of(edges, 2, vertices.data()));
}

ContactSurface::ContactSurface(const std::vector<double>& vertices, double apart) : apart_(apart) {
  const int n = static_cast<int>(vertices.size() / 3);
  std::vector<std::array<int, 2>> all;
  along_ = {0.0};
  for (int k = 0; k + 1 < n; ++k) {
    all.push_back({k, k + 1});
    along_.push_back(along_.back() +
                     norm(point(vertices.data(), k + 1) - point(vertices.data(), k)));
  }
  take_edges(std::move(all));
  points.resize(at_index(n));
  std::iota(points.begin(), points.end(), 0);
  edge_tree_ = BoxTree(centres_of(edges, 2, vertices.data()));
}

void ContactSurface::take_edges(std::vector<std::array<int, 2>> all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const auto& e : all) edges.insert(edges.end(), e.begin(), e.end());
}

bool ContactSurface::is_apart(int last, int first) const {
  return along_[at_index(first)] - along_[at_index(last)] >= apart_;
}

std::vector<BoxTree::Box> ContactSurface::boxes(const std::vector<int>& nodes, int each,
                                                const double* y, const double* d,
                                                double reach) const {
  std::vector<BoxTree::Box> out(nodes.size() / at_index(each));
  for (std::size_t k = 0; k < out.size(); ++k) {
    for (int i = 0; i < 3; ++i) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (std::size_t a = 0; a < at_index(each); ++a) {
        const std::size_t at = at_index(3 * nodes[k * at_index(each) + a] + i);
        const double end = d ? y[at] + d[at] : y[at];
        low = std::min({low, y[at], end}), high = std::max({high, y[at], end});
      }
      out[k].low[i] = low - 0.5 * reach, out[k].high[i] = high + 0.5 * reach;
    }
  }
  return out;
}

// work(block, kind, pair), for pairs whose boxes come as near as `reach` on the way d (or null).
template <class Work>
void ContactSurface::visit_pairs(const double* y, const double* d, double reach, int threads,
                                 Work&& work) const {
  const auto of_points = boxes(points, 1, y, d, reach), of_faces = boxes(triangles, 3, y, d, reach),
             of_edges = boxes(edges, 2, y, d, reach);
  const auto faces = triangle_tree_.fit(of_faces), sides = edge_tree_.fit(of_edges);
  const std::size_t point_blocks = (points.size() + kBlock - 1) / kBlock,
                    edge_blocks = (edges.size() / 2 + kBlock - 1) / kBlock;
  parallel_for(point_blocks + edge_blocks, threads, [&](std::size_t block) {
    const bool pairs_of_edges = block >= point_blocks;
    const std::size_t begin = (pairs_of_edges ? block - point_blocks : block) * kBlock;
    const std::size_t end =
        std::min(begin + kBlock, pairs_of_edges ? edges.size() / 2 : points.size());
    for (std::size_t k = begin; k < end; ++k) {
      if (pairs_of_edges) {
        edge_tree_.visit(sides, of_edges, of_edges[k], [&](int other) {
          const int *const a = edges.data() + 2 * k, *const b = edges.data() + 2 * other;
          if (at_index(other) <= k || share(a, 2, b, 2)) return;
          if (is_rod() && !is_apart(a[1], b[0])) return;
          work(block, PairKind::edge_edge, Four{a[0], a[1], b[0], b[1]});
        });
      } else if (is_rod()) {
        edge_tree_.visit(sides, of_edges, of_points[k], [&](int other) {
          const int p = points[k], *const e = edges.data() + 2 * other;
          if (!is_apart(p, e[0]) && !is_apart(e[1], p)) return;
          work(block, PairKind::point_edge, Four{p, e[0], e[1], -1});
        });
      } else {
        triangle_tree_.visit(faces, of_faces, of_points[k], [&](int face) {
          const int* const t = triangles.data() + 3 * face;
          if (!share(&points[k], 1, t, 3)) {
            work(block, PairKind::point_triangle, Four{points[k], t[0], t[1], t[2]});
          }
        });
      }
    }
  });
}

ContactPairs ContactSurface::near(const double* y, double reach, int threads) const {
  const std::size_t blocks = points.size() / kBlock + edges.size() / 2 / kBlock + 2;
  std::array<std::vector<std::vector<Four>>, 3> found;
  for (auto& own : found) own.resize(blocks);
  visit_pairs(y, nullptr, reach, threads, [&](std::size_t block, PairKind kind, const Four& pair) {
    if (distance(kind, pair, y) < reach) {
      found[static_cast<std::size_t>(kind)][block].push_back(pair);
    }
  });
  ContactPairs out;
  for (std::size_t k = 0; k < found.size(); ++k) {
    for (auto& own : found[k]) {
      std::sort(own.begin(), own.end());
      out.of[k].insert(out.of[k].end(), own.begin(), own.end());
    }
  }
  return out;
}

double ContactSurface::free_part(const double* y, const double* d, double thickness,
                                 int threads) const {
  const std::size_t blocks = points.size() / kBlock + edges.size() / 2 / kBlock + 2;
  std::vector<double> part(blocks, 1.0);
  visit_pairs(y, d, thickness, threads, [&](std::size_t block, PairKind kind, const Four& pair) {
    part[block] = free_part_of(kind, pair, y, d, thickness, part[block]);
  });
  return *std::min_element(part.begin(), part.end());
}

ContactSurface::Nearest ContactSurface::nearest(const double* y, double reach) const {
  Nearest out;
  out.distance = reach;
  visit_pairs(y, nullptr, reach, 1, [&](std::size_t, PairKind kind, const Four& pair) {
    const double d = distance(kind, pair, y);
    if (d < out.distance) out = {pair, kind, true, d};
  });
  return out;
}

std::string ContactSurface::Nearest::name() const {
  switch (kind) {
    case PairKind::edge_edge:
      return message("edges ", pair[0], "-", pair[1], " and ", pair[2], "-", pair[3]);
    case PairKind::point_edge:
      return message("point ", pair[0], " and segment ", pair[1], "-", pair[2]);
    default:
      return message("vertex ", pair[0], " and triangle ", pair[1], "-", pair[2], "-", pair[3]);
  }
}

ContactSurface::Crossing ContactSurface::first_crossing(const double* y) const {
  const auto of_faces = boxes(triangles, 3, y, nullptr, 0),
             of_edges = boxes(edges, 2, y, nullptr, 0);
  const auto faces = triangle_tree_.fit(of_faces);
  Crossing out;
  for (int e = 0; e < static_cast<int>(edges.size()) / 2 && out.edge < 0; ++e) {
    const int* const ends = edges.data() + 2 * e;
    const Vec3<double> p = point(y, ends[0]), q = point(y, ends[1]);
    triangle_tree_.visit(faces, of_faces, of_edges[at_index(e)], [&](int face) {
      const int* const t = triangles.data() + 3 * face;
      if (share(ends, 2, t, 3) || (out.triangle >= 0 && out.triangle < face)) return;
      const Vec3<double> a = point(y, t[0]), b = point(y, t[1]), c = point(y, t[2]);
      const Vec3<double> n = cross(b - a, c - a), w = q - p;
      const double u = dot(w, cross(a - p, b - p)), v = dot(w, cross(b - p, c - p)),
                   z = dot(w, cross(c - p, a - p));
      const bool through = (u > 0 && v > 0 && z > 0) || (u < 0 && v < 0 && z < 0);
      if (through && dot(p - a, n) * dot(q - a, n) <= 0) out = {e, face};
    });
  }
  return out;
}

std::string ContactSurface::name_of(const Crossing& c) const {
  const int* const e = edges.data() + 2 * c.edge;
  const int* const t = triangles.data() + 3 * c.triangle;
  return message("edge ", e[0], "-", e[1], " and triangle ", t[0], "-", t[1], "-", t[2]);
}

}  // namespace cycloid::inline soft
