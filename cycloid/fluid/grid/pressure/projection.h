// Projection: what takes the divergence out of a velocity.
//
// W are the velocities given on sides (grid_sides.h), A, D, w shares, mobilities and velocities at
// obstacles (grid_obstacles.h; in the open 1, 1, 0):
//   v = W on the sides                                                 (1)
//   L q = div(A v + (1 - A) w),  L = div A D grad                      (2)   pressure.h
//   u⁺ = v - D grad q                                                  (3)
// so that div(A u⁺ + (1 - A) w) = 0 whatever v was. Given ū⁺, with κ = 0 on sides with given
// velocity, 2 on outflow, 1 elsewhere, and grad₀ the gradient with zeros beyond the sides:
//   L λ = div(κ D ū⁺)                                                  (4)
//   v̄ = ū⁺ - A grad₀ λ,  D̄ -= v̄ grad q,  Ā -= grad₀ λ (u⁺ - w),  w̄ -= grad₀ λ (1 - A)   (5)
//   W̄ += v̄ on the sides (v̄ = 0 there)                                                    (6)
// and, with dots for tangents,
//   L q̇ = div(A v̇ + Ȧ (u⁺ - w) + (1 - A) ẇ - A Ḋ grad q),  u̇⁺ = v̇ - Ḋ grad q - D grad q̇  (7)
#pragma once

#include <algorithm>

#include "cycloid/fluid/grid/grid_kernels.h"
#include "cycloid/fluid/grid/grid_sides.h"
#include "cycloid/fluid/grid/obstacle/grid_obstacles.h"

namespace cycloid::inline fluid {

template <class T>
GridView<T> view_of(const GridBox& box, const Velocities<T>& u, T viscosity);

template <class T>
class Projection {
 public:
  // obstacles: null where there are none.
  Projection(const GridModel& model, GridSides<T>& sides, GridObstacles<T>* obstacles, int threads);

  // (1) … (3), in place; q, if not null, takes the cells' q.
  void project(Velocities<T>& v, T* q);
  // (4) … (6), in place. q and u⁺ are read where there are obstacles.
  void project_pullback(const T* q, const Velocities<T>& u_next, Velocities<T>& bar);
  // (7), in place.
  void project_pushforward(const T* q, const Velocities<T>& u_next, const SideVelocities<T>& W_tan,
                           const ObstacleTangents<T>* t, Velocities<T>& tan);

  // Parts that observers use too.
  void flux(const Velocities<T>& v, Velocities<T>& out) const;  // A v + (1 - A) w, wrapped
  void flux_pullback(const Velocities<T>& v, const Velocities<T>& bar, Velocities<T>& v_bar);
  void divergence(const Velocities<T>& flux, double* cells) const;
  const PressureSolver& solver() const {
    return obstacles_ ? obstacles_->solver() : *model_.open_box;
  }
  void solve(double* cells) const;
  // Of solves by conjugate gradients; who counts them clears them. residual: of those that stopped
  // short, 0 where none did.
  static constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-10;
  mutable int iterations = 0;
  mutable double residual = 0;
  // Cells into an array with ghosts: of q (grad) or of λ (grad₀).
  enum class Beyond { mirrored, zero };
  void spread(const double* cells, Beyond beyond, std::vector<T>& q) const;

 private:
  void wrap(int a, Velocities<T>& flux) const;
  void subtract_gradient(const Velocities<T>& weight, Velocities<T>& to) const;
  void spread_kept(const T* q);

  const GridModel& model_;
  const GridBox& box_;
  GridSides<T>& sides_;
  GridObstacles<T>* obstacles_;
  int threads_;
  const GridKernels<T>* kernels_;
  PressureSolver::Room room_;
  Velocities<T> flux_, none_;
  mutable std::vector<T> row_;
  std::vector<T> q_, q_kept_;
  std::vector<double> cells_;
};

extern template class Projection<float>;
extern template class Projection<double>;

}  // namespace cycloid::inline fluid
