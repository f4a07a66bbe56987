// ViscousSolve: what makes an explicit step of viscosity one of Crank and Nicolson.
//
// At faces that move freely, y the change that an explicit step wants (D its mobility at obstacles,
// wall_points.h; in the open 1), lap of grid_kernels.h with sides at rest:
//   M v = y / D,   M = 1/D - ½ Δt ν lap                                (1)
// and v = 0 on sides of given velocity and inside obstacles. M is symmetric and positive definite:
// conjugate gradients with its diagonal solve it, to a tolerance, and the pullback is the same
// solve. Given v̄,
//   M λ = v̄                                                            (2)
//   ȳ = λ / D,  D̄ += λ (v - y) / D²,  ν̄ += ½ Δt Σ λ lap v              (3)
#pragma once

#include "cycloid/fluid/grid/pressure/projection.h"

namespace cycloid::inline fluid {

template <class T>
class ViscousSolve {
 public:
  // obstacles: null where there are none.
  ViscousSolve(const GridModel& model, GridSides<T>& sides, GridObstacles<T>* obstacles,
               int threads);

  // (1), in place. viscosity: ν [m²/s].
  void diffuse(T viscosity, Velocities<T>& y);
  // (2) (3), in place: bar holds v̄, then ȳ. Adds to viscosity_bar.
  void diffuse_pullback(T viscosity, const Velocities<T>& y, const Velocities<T>& v,
                        Velocities<T>& bar, double& viscosity_bar);

  static constexpr double kTolerance = sizeof(T) == 4 ? 1e-6 : 1e-12;
  static constexpr int kMostIterations = 2000;
  // Of the solves since who counts them has cleared them. residual: of those that stopped short.
  int iterations = 0;
  double residual = 0;

 private:
  void mark_free();
  bool free(int a, std::size_t m) const { return free_[GridBox::u(a)][m] != 0; }
  T over_D(int a, std::size_t m) const {
    return obstacles_ ? 1 / obstacles_->D[GridBox::u(a)][m] : T(1);
  }
  // to = M of, on free faces; the ghosts of `of` are filled.
  void apply(T half, const Velocities<T>& of, Velocities<T>& to) const;
  // r_ holds the right-hand side; x_ the solution, zero elsewhere.
  void solve(T half);
  double dot(const Velocities<T>& x, const Velocities<T>& y) const;

  const GridModel& model_;
  const GridBox& box_;
  GridSides<T>& sides_;
  GridObstacles<T>* obstacles_;
  int threads_, seen_ = -1;
  const GridKernels<T>* kernels_;
  SideVelocities<T> none_;
  Velocities<T> free_, zero_, r_, x_, p_, z_;
  mutable std::vector<double> row_sums_;
};

extern template class ViscousSolve<float>;
extern template class ViscousSolve<double>;

}  // namespace cycloid::inline fluid
