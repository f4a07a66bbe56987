// Obstacles in a staggered grid: mobilities of the faces (wall_points.h) and open shares.
//
// The flux through a face counts the share that is open (NgEtAl2009), w the velocity of the wall:
//   A = the share of the face where φ, linear between its corners, is positive     (1)
//   flux = A u + (1 - A) w                                                         (2)
// A and the flow are continuous where the wall passes a corner; their derivatives jump there, and
// the one of the side on which the wall lies is taken.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cycloid/fluid/grid/obstacle/wall_points.h"

namespace cycloid::inline fluid {

// The share of a segment or square where φ is positive, given at its 2 or 4 corners (in 3-D in the
// order 00 01 10 11), and its derivatives.
double open_share(int corners, const double* phi, double* dshare_dphi);

// All obstacles of a grid at given numbers.
class Immersed {
 public:
  Immersed(const GridBox& box, const std::vector<FluidObstacle>& obstacles);

  void set(const ObstacleNumbers& numbers, double viscosity_dt);
  // Adds to the cotangents of the obstacles and of ν Δt, given those of D, A and E (of each
  // component).
  void pullback(const ObstacleNumbers& numbers, const double* const* D_bar,
                const double* const* A_bar, const std::array<std::vector<double>, 3>& E_bar,
                const ObstacleBars& bars, double& viscosity_dt_bar);
  // Tangents of D, A (arrays of grid_box.h) and E.
  void pushforward(const ObstacleNumbers& numbers, const ObstacleNumbers& tangents,
                   double viscosity_dt_tan, std::array<std::vector<double>, 3>& D_tan,
                   std::array<std::vector<double>, 3>& A_tan,
                   std::array<std::vector<double>, 3>& E_tan);

  // Of component a, arrays of grid_box.h.
  const double* D(int a) const { return points(a).D(); }
  const double* A(int a) const { return A_[GridBox::u(a)].data(); }
  const std::vector<WallTerm>& wall_terms(int a) const { return points(a).terms(); }
  // The nearest obstacle of each face.
  const int* owner(int a) const { return points(a).owner(); }
  // Of the face (i, j, k) of component a [m].
  void position(int a, int i, int j, int k, double* x) const { points(a).position(i, j, k, x); }

 private:
  const WallPoints& points(int a) const { return faces_[GridBox::u(a - box_.first)]; }
  WallPoints& points(int a) { return faces_[GridBox::u(a - box_.first)]; }
  // The corners of a face, and φ there.
  int corners_of(int a, std::ptrdiff_t m, std::ptrdiff_t* corner, double* phi) const;
  template <class Visit>
  void for_each_face(int a, Visit&& visit) const;

  GridBox box_;
  std::vector<WallPoints> faces_;
  WallPoints corners_;
  std::array<std::vector<double>, 3> A_;
  std::vector<double> corner_bar_;
};

}  // namespace cycloid::inline fluid
