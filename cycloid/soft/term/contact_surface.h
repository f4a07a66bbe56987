// ContactSurface: the vertices, edges and triangles by which a body touches itself, and which of
// them are near each other.
//
// Boxes around edges and triangles lie in a tree, made once from the rest shape and fitted to the
// positions at each question. A pair is a vertex and a triangle that it is no corner of, or two
// edges that share no vertex: four vertices, in the order of pair_distance.h. Pairs come in the
// order of their first element, then of the tree's, whatever the number of threads. A rod has its
// segments, in pairs, and its points, with segments: but not with those that are near along it,
// which it cannot reach by bending.
//
// No step along d may bring a pair to touch. With x and d of its vertices, d less their mean, l the
// longest way that two points of the pair can approach each other in it, and g a tenth of the
// first distance (of rods, between their surfaces), a step is lengthened by (distance - g)/l as
// long as the distance stays above g (additive continuous collision detection, LiKaufmanJiang2021):
// no root is missed, whatever the rounding.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cycloid/soft/term/pair_distance.h"

namespace cycloid::inline soft {

// Boxes in a binary tree.
class BoxTree {
 public:
  BoxTree() = default;
  // centres (items, 3).
  explicit BoxTree(const std::vector<double>& centres);

  struct Box {
    double low[3], high[3];
    bool meets(const Box& other) const {
      for (int i = 0; i < 3; ++i) {
        if (low[i] > other.high[i] || high[i] < other.low[i]) return false;
      }
      return true;
    }
    void add(const Box& other);
  };
  // Boxes of all nodes, from those of the items.
  std::vector<Box> fit(const std::vector<Box>& items) const;
  // Calls visit(item) for each item whose box meets one.
  template <class Visit>
  void visit(const std::vector<Box>& fitted, const std::vector<Box>& items, const Box& box,
             Visit&& each) const {
    if (nodes_.empty()) return;
    int stack[64], top = 0;
    stack[top++] = 0;
    while (top > 0) {
      const int k = stack[--top];
      const Node& node = nodes_[static_cast<std::size_t>(k)];
      if (!fitted[static_cast<std::size_t>(k)].meets(box)) continue;
      if (node.right < 0) {
        for (int i = node.begin; i < node.end; ++i) {
          const int item = order_[static_cast<std::size_t>(i)];
          if (items[static_cast<std::size_t>(item)].meets(box)) each(item);
        }
      } else {
        stack[top++] = node.right, stack[top++] = k + 1;
      }
    }
  }

 private:
  struct Node {
    int begin, end, right;  // the left child is the next node; right < 0: a leaf
  };
  void split(int begin, int end, const std::vector<double>& centres);
  std::vector<Node> nodes_;
  std::vector<int> order_;
};

// Four vertices each, sorted; of a point and an edge three, and -1.
struct ContactPairs {
  using Pair = std::array<int, 4>;
  std::array<std::vector<Pair>, 3> of;  // each PairKind

  bool operator==(const ContactPairs&) const = default;
  const std::vector<Pair>& operator[](PairKind kind) const {
    return of[static_cast<std::size_t>(kind)];
  }
  bool includes(const ContactPairs& other) const;
  void add(const ContactPairs& other);
};

struct ContactSurface {
  // vertices: where the tree is made. triangles (m, 3).
  ContactSurface(const std::vector<double>& vertices, std::vector<int> triangles);
  // A rod of these points, one after the other. Pairs count that are apart along it, by this much.
  ContactSurface(const std::vector<double>& vertices, double apart);

  // Pairs that are nearer than `reach` at y, sorted.
  ContactPairs near(const double* y, double reach, int threads) const;
  // How much of the step d from y can be gone, in 0 … 1, so that each pair keeps about a tenth of
  // its distance, less the thickness.
  double free_part(const double* y, const double* d, double thickness, int threads) const;
  // The pair of least distance, of those nearer than `reach`; there may be none.
  struct Nearest {
    ContactPairs::Pair pair = {};
    PairKind kind = {};
    bool found = false;
    double distance = 0;
    std::string name() const;  // "edges 3-7 and 4-5": its elements
  };
  Nearest nearest(const double* y, double reach) const;
  // An edge that goes through a triangle at y, and that triangle; -1 where there is none.
  struct Crossing {
    int edge = -1, triangle = -1;
  };
  Crossing first_crossing(const double* y) const;
  std::string name_of(const Crossing& c) const;  // "edge 3-7 and triangle 4-5-9": their vertices

  // points: of triangles, and of a rod.
  std::vector<int> triangles, edges, points;

 private:
  void take_edges(std::vector<std::array<int, 2>> all);
  bool is_apart(int last, int first) const;  // along a rod, of points in its order
  bool is_rod() const { return !along_.empty(); }
  template <class Work>
  void visit_pairs(const double* y, const double* d, double reach, int threads, Work&& work) const;
  std::vector<BoxTree::Box> boxes(const std::vector<int>& nodes, int each, const double* y,
                                  const double* d, double reach) const;
  BoxTree triangle_tree_, edge_tree_;
  std::vector<double> along_;  // of a rod's points: the length up to them at rest [m]
  double apart_ = 0;           // [m]
};

}  // namespace cycloid::inline soft
