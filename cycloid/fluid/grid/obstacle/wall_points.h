// WallPoints: where values live that feel the walls of obstacles: the faces of a component, or the
// centres of cells.
//
//   φ(x) = the least over obstacles of their signed distance where they see x      (1)  [m]
// (body_frame.h). The value at point P, φ_P > 0, feels the wall that lies between it and a
// neighbour N behind it, φ_N = -n < 0, at the distance θ h, θ = φ_P / (φ_P + n), where the value
// is w. With O the neighbour on the other side, its second derivative
// (ShortleyWeller1938)
//   2 / h² ((u_O - u_P) / (1 + θ) + (w - u_P) / (θ (1 + θ)))
//     = (u_O - 2 u_P + w) / h² + E (u_O - u_P) + c (w - u_P),
//   E = n / (2 φ_P + n) / h²,   c = n (3 φ_P + 2 n) / (φ_P (2 φ_P + n)) / h²       (2)
// is the stencil of the open fluid with w at N and two terms more; with walls on both sides, n and
// n', E = 0 and c = 2 (φ_P (n + n') + n n') / φ_P² / h². The term of c is taken implicitly, point
// by point, so that a wall near a point needs no small step: with ν viscosity or diffusivity
//   D_P = 1 / (1 + Δt ν Σ c) = φ_P / (φ_P + S),  S = Δt ν Σ φ_P c                  (3)  mobility
// and D_P = 0 where φ_P ≤ 0. D is continuous where the wall passes a point; its derivative jumps
// there, and the one of the side on which the wall lies is taken.
#pragma once

#include <vector>

#include "cycloid/fluid/grid/obstacle/body_frame.h"

namespace cycloid::inline fluid {

// Of each obstacle its numbers, and the way that it has gone (dimensions) [m] and by which it has
// turned [rad]; and their cotangents or tangents.
template <class Number>
struct OfObstacles {
  std::vector<Number*> numbers, ways;
};
using ObstacleNumbers = OfObstacles<const double>;
using ObstacleBars = OfObstacles<double>;

// E (u_O - u_P) of (2).
struct WallTerm {
  std::ptrdiff_t m, other;
  double E;  // [1/m²]
};

// A mobility or share below this counts as none: what hangs on the rest of the flow by less is lost
// in the rounding of the pressure.
inline constexpr double kLeastShare = 1e-7;

class WallPoints {
 public:
  enum : int { kCorners = -1, kCells = 3 };
  // kind: a component, or corners (φ alone), or cells; counted: the obstacles that are felt.
  WallPoints(const GridBox& box, int kind, std::vector<FluidObstacle> obstacles,
             std::vector<int> counted);

  void set(const ObstacleNumbers& numbers, double spread);  // spread: ν Δt [m²]
  // Adds, given the cotangents of D, E and φ (each null for none).
  void pullback(const ObstacleNumbers& numbers, const double* D_bar, const double* E_bar,
                const double* phi_bar, const ObstacleBars& bars, double& spread_bar);
  // Tangents of D and E; of corners that of φ, in place of D's.
  void pushforward(const ObstacleNumbers& numbers, const ObstacleNumbers& tangents,
                   double spread_tan, std::vector<double>& D_tan, std::vector<double>& E_tan);

  // Arrays of grid_box.h.
  const double* D() const { return D_.data(); }
  const double* phi() const { return phi_.data(); }
  const int* owner() const { return owner_.data(); }  // the nearest obstacle of each point
  const std::vector<WallTerm>& terms() const { return terms_; }
  // Of the point (i, j, k) [m].
  void position(int i, int j, int k, double* x) const;

 private:
  void place_of(std::ptrdiff_t m, double* x) const;
  // Σ φ_P c of (2), and its pullback onto φ of the point and its neighbours.
  double friction(std::ptrdiff_t m) const;
  void friction_pullback(std::ptrdiff_t m, double bar, double* phi_bar) const;
  template <class Visit>
  void for_each_point(Visit&& visit) const;
  int end(int b) const;

  GridBox box_;
  int kind_;
  std::vector<FluidObstacle> obstacles_;
  std::vector<int> counted_;
  double spread_ = 0;
  std::vector<double> D_, phi_, room_, slopes_;
  std::vector<int> owner_;
  std::vector<WallTerm> terms_;
};

}  // namespace cycloid::inline fluid
