// Obstacles in a staggered grid, by their signed distance.
//
//   φ(x) = the least over obstacles of their signed distance            (1)  [m], > 0 in the fluid
// The velocity at face P, φ_P > 0, feels the wall that lies between it and a neighbour N behind it,
// φ_N = -n < 0, at the distance θ h, θ = φ_P / (φ_P + n), where the velocity is w. With O the
// neighbour on the other side, its second derivative (ShortleyWeller1938)
//   2 / h² ((u_O - u_P) / (1 + θ) + (w - u_P) / (θ (1 + θ)))
//     = (u_O - 2 u_P + w) / h² + E (u_O - u_P) + c (w - u_P),
//   E = n / (2 φ_P + n) / h²,   c = n (3 φ_P + 2 n) / (φ_P (2 φ_P + n)) / h²       (2)
// is the stencil of the open fluid with w at N and two terms more; with walls on both sides, n and
// n', E = 0 and c = 2 (φ_P (n + n') + n n') / φ_P² / h². The term of c is taken implicitly, face by
// face, so that a wall near a face needs no small step:
//   D_P = 1 / (1 + Δt ν Σ c) = φ_P / (φ_P + S)                                     (3)  mobility
// and D_P = 0 where φ_P ≤ 0. The flux through a face counts the share that is open (NgEtAl2009):
//   A = the share of the face where φ, linear between its corners, is positive     (4)
//   flux = A u + (1 - A) w                                                         (5)
// D, A and the flow are continuous where the wall passes a face or a corner; their derivatives jump
// there, and the one of the side on which the wall lies is taken.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cycloid/fluid/grid/grid_box.h"

namespace cycloid::inline fluid {

enum class ObstacleKind { circle, box, array };

// An obstacle and its numbers: circle (in 3-D a sphere) center (d), radius; box center (d), size
// (d); array: signed distances at the corners of cells, (n + 1) along each axis, C order [m].
struct FluidObstacle {
  ObstacleKind kind = ObstacleKind::circle;
  std::vector<double> numbers;
};

// φ of one obstacle at x [m], axes as in grid_box.h. Along periodic axes the nearest image counts.
double signed_distance(const GridBox& box, ObstacleKind kind, const double* p, const double* x);
// Adds to p_bar.
void signed_distance_pullback(const GridBox& box, ObstacleKind kind, const double* p,
                              const double* x, double phi_bar, double* p_bar);

double signed_distance_pushforward(const GridBox& box, ObstacleKind kind, const double* p,
                                   const double* x, const double* p_tan);

// The share of a segment or square where φ is positive, given at its 2 or 4 corners (in 3-D in the
// order 00 01 10 11), and its derivatives.
double open_share(int corners, const double* phi, double* dshare_dphi);

// E (u_O - u_P) of (2), at face m of a component.
struct WallTerm {
  int component;
  std::ptrdiff_t m, other;
  double E;  // [1/m²]
};

// d: the way from a centre (dimensions) to x (3), from its nearest image along periodic axes [m].
void way_from(const GridBox& box, const double* centre, const double* x, double* d);

// All obstacles of a grid at given numbers.
class Immersed {
 public:
  Immersed(const GridBox& box, std::vector<FluidObstacle> obstacles);

  const std::vector<FluidObstacle>& obstacles() const { return obstacles_; }
  // numbers: of each obstacle.
  void set(const std::vector<const double*>& numbers, double viscosity_dt);
  // Adds to the cotangents of each obstacle's numbers and of ν Δt, given those of D, A and E.
  void pullback(const std::vector<const double*>& numbers, const double* const* D_bar,
                const double* const* A_bar, const std::vector<double>& E_bar,
                const std::vector<double*>& numbers_bar, double& viscosity_dt_bar) const;

  // Tangents of D, A (arrays of grid_box.h) and E, along those of the numbers and of ν Δt.
  void pushforward(const std::vector<const double*>& numbers,
                   const std::vector<const double*>& numbers_tan, double viscosity_dt_tan,
                   std::array<std::vector<double>, 3>& D_tan,
                   std::array<std::vector<double>, 3>& A_tan, std::vector<double>& E_tan) const;

  // Of component a, arrays of grid_box.h.
  const double* D(int a) const { return D_[GridBox::u(a)].data(); }
  const double* A(int a) const { return A_[GridBox::u(a)].data(); }
  const std::vector<WallTerm>& wall_terms() const { return terms_; }
  // The nearest obstacle of each face.
  const int* owner(int a) const { return owner_[GridBox::u(a)].data(); }
  // Of the face (i, j, k) of component a [m]; a = -1: of a corner.
  void position(int a, int i, int j, int k, double* x) const;

 private:
  struct Nearest {
    double phi;
    int owner;
  };
  Nearest nearest(const std::vector<const double*>& numbers, const double* x) const;
  // Σ φ_P c of (2) at a face, and its pullback onto φ of the face and its neighbours.
  double friction(int a, std::ptrdiff_t m) const;
  void friction_pullback(int a, std::ptrdiff_t m, double bar, double* phi_bar) const;
  int corners_of(int a, std::ptrdiff_t m, std::ptrdiff_t* corner) const;
  template <class Visit>
  void for_each_face(int a, Visit&& visit) const;

  GridBox box_;
  std::vector<FluidObstacle> obstacles_;
  double viscosity_dt_ = 0;
  std::array<std::vector<double>, 3> D_, A_, phi_;  // φ at faces
  std::array<std::vector<int>, 3> owner_;
  std::vector<double> corner_phi_;
  std::vector<int> corner_owner_;
  std::vector<WallTerm> terms_;
};

}  // namespace cycloid::inline fluid
