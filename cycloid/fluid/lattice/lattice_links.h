// LatticeLinks: what a push leaves to mend: at sides and obstacles. The ends of periodic axes need
// nothing.
//
// z is a node, j a direction along which nothing reached it, i = j̄ the one that leads to the wall,
// X'_i(m) what node m pushed along i, W the wall's velocity, u the node's:
//   periodic         X_j[z] = X'_j(the node at the other end): pushed there already    (1)
//   slip             X_j[z] = X'_m(z - what c_j has along the side), m mirrors j        (2)
//   wall, inflow     X_j[z] = X'_i(z) + 6 w_j c_j·W: the wall is half a cell away       (3)
//   outflow          X_j[z] = -X'_i(z) + w_j (9 (c_j·u)² - 3 u²): no pressure there     (4)
//   obstacle         X_j[z] = a X'_i(z) + b B + s 6 w_j c_j·W                           (5)
// With θ the part of the link that is open, θ = φ(z) / (φ(z) - φ(z + c_i)) (BouzidiEtAl2001):
//   θ < ½   a = 2 θ, b = 1 - 2 θ, s = 1, B = X'_i(z - c_i)                              (6)
//   θ ≥ ½   a = 1 / (2 θ), b = 1 - a, s = a, B = X'_j(z)                                (7)
// and a = s = 1, b = 0 where z - c_i is no node of the fluid. (2) at corners is (3) with W = 0. A
// corner of two sides is of the first of wall, inflow, outflow, slip. X is zero inside obstacles.
// Which nodes are inside is decided for the numbers of the obstacles as they are: the flow jumps
// where a wall passes a node, and its derivative is that of the links as they are. It has a kink at
// θ = ½, where that of (7) is taken.
#pragma once

#include <vector>

#include "cycloid/fluid/grid/flow_model.h"
#include "cycloid/fluid/lattice/lattice_kernels.h"

namespace cycloid::inline fluid {

// One rate of relaxation; one for even and one for odd parts; several (lattice_work.h).
enum class Relaxation { one, two, several };

struct LatticeModel : FlowModel {
  Relaxation relaxation = Relaxation::one;
  LatticeSet set() const { return lattice_set(box.dimensions); }
  double h() const { return box.h[2]; }      // [m]
  double speed() const { return h() / dt; }  // of the lattice [m/s]
  int states() const { return set().directions * box.cells; }
};

enum class LinkKind { copy, wall, inflow, outflow, obstacle };

struct LatticeLink {
  LinkKind kind = LinkKind::copy;
  std::ptrdiff_t to = 0, from = 0, second = -1;  // places in X; -1: none
  double a = 1, b = 0, s = 1;
  int node = 0, direction = 0;       // z, j
  int axis = 0, high = 0, face = 0;  // of the side
  int obstacle = 0, inside = 0;      // the obstacle's node
  double theta = 0.5;
  int owner = 0;     // the obstacle nearest to z
  bool cut = false;  // a, b and s are functions of θ
};

class LatticeLinks {
 public:
  explicit LatticeLinks(const LatticeModel& model);
  // numbers: of each obstacle.
  void set(const std::vector<const double*>& numbers);

  const std::vector<LatticeLink>& all() const { return links_; }
  const std::vector<int>& solids() const { return solids_; }
  bool solid(int node) const { return solid_[GridBox::u(node)]; }
  // Of a node [m], axes of grid_box.h.
  void position(int node, double* x) const;
  // The place in X to which node m pushes along i, and the node that pushes to a place.
  std::ptrdiff_t pushed(int i, int m) const;
  int pusher(std::ptrdiff_t place) const;

  // Adds to the cotangents of the obstacles' numbers.
  void theta_pullback(const LatticeLink& l, const std::vector<const double*>& numbers,
                      double theta_bar, const std::vector<double*>& numbers_bar) const;
  double theta_pushforward(const LatticeLink& l, const std::vector<const double*>& numbers,
                           const std::vector<const double*>& numbers_tan) const;
  // da/dθ = ds/dθ or 0, and db/dθ.
  static void slopes(const LatticeLink& l, double& a, double& b, double& s);

 private:
  struct Beyond {
    int node = 0;  // wrapped, or clamped at sides
    int axis = -1, high = 0, crossed = 0;
  };
  Beyond neighbour(const int* place, const int* way) const;
  int number(const int* place) const { return (place[0] * n_[1] + place[1]) * n_[2] + place[2]; }
  // The node one step along way, as if every axis were periodic.
  int wrapped(int node, const int* way, int times) const;
  bool is_inner(const int* place) const;
  void add_link(int node, const int* place, int j);
  void cut_link(LatticeLink& l, const int* place) const;

  const LatticeModel& model_;
  LatticeSet set_;
  int n_[3];
  std::ptrdiff_t nodes_;
  std::vector<LatticeLink> links_;
  std::vector<int> solids_, owner_;
  std::vector<char> solid_;
  std::vector<double> phi_;
};

}  // namespace cycloid::inline fluid
