// GridScalar: what a flow carries along and spreads (temperature, concentration), with buoyancy.
//
// C lives at cell centres [its unit], κ is its diffusivity, β its expansion, g gravity; F = A u +
// (1 - A) w the flux through a face (immersed.h; in the open u), s_a the step along axis a:
//   y += Δt b_a ½ (C[m - s_a] + C[m]),  b = -β g: buoyancy, at the faces            (1) [m/s²]
//   ∂_a C[m] = (C[m] - C[m - s_a]) / h_a                                            (2)
//   R[m] = Σ_a -½ (F_a ∂_a C [m] + F_a ∂_a C [m + s_a])
//              + κ (B_a ∂_a C [m + s_a] - B_a ∂_a C [m]) / h_a + κ Σ E (C_O - C_P)  (3)
//   C⁺ = α C⁰ + β_stage (D (C + Δt R) + (1 - D) C_w)                                (4)
// which is the form of fluxes where F has no divergence, and keeps a constant in any case. Ghosts
// are 2 C_side - C at sides of given value, C elsewhere (closed). At obstacles of given value C_w,
// D and E are those of wall_points.h and B = 1; at others B = A, D = 1, E = 0: nothing passes, and
// a cell that is cut counts as a whole one. Given C̄⁺ and ȳ, σ = Δt β_stage D C̄⁺, pullbacks go
// through (4) … (1) in reverse.
#pragma once

#include <optional>

#include "cycloid/fluid/grid/grid_kernels.h"
#include "cycloid/fluid/grid/obstacle/grid_obstacles.h"

namespace cycloid::inline fluid {

template <class T>
class GridScalar {
 public:
  // obstacles: null where there are none.
  GridScalar(const GridModel& model, std::size_t which, GridObstacles<T>* obstacles, int threads);

  // Reads the parameters, clears their cotangents.
  void read(const T* p);
  // Where obstacles are now; its pullback comes before theirs.
  void place();
  void place_pullback();
  void give_back(double* p_bar);

  // x: the block of a state. C: arrays of cells with ghosts.
  void load(const T* x, std::vector<T>& C) const;  // ghosts filled
  void load_pullback(std::vector<T>& C_bar, T* x_bar);
  void store(const std::vector<T>& C, T* x) const;
  void fill(std::vector<T>& C) const;
  void fill_pullback(std::vector<T>& C_bar);
  // (3) (4)
  void advance(const StageRule<T>& rule, const Velocities<T>& F, const std::vector<T>& C0,
               const std::vector<T>& C, std::vector<T>& out);
  void advance_pullback(const StageRule<T>& rule, const Velocities<T>& F, const std::vector<T>& C,
                        const std::vector<T>& out_bar, std::vector<T>& C0_bar,
                        std::vector<T>& C_bar, Velocities<T>& F_bar);
  // (1), added to r.
  void buoyancy(const std::vector<T>& C, Velocities<T>& r) const;
  void buoyancy_pullback(const std::vector<T>& C, const Velocities<T>& g, std::vector<T>& C_bar);

  double diffusivity() const { return static_cast<double>(kappa_); }

 private:
  const T* walled() const { return D_.empty() ? nullptr : D_.data(); }
  T held(std::ptrdiff_t m) const;  // C_w at a cell that an obstacle of given value is nearest to
  void hold_back(std::ptrdiff_t m, double bar);
  T conduct(int a, std::ptrdiff_t m) const;                                   // B
  void explicit_step(T dt, const Velocities<T>& F, const std::vector<T>& C);  // y_

  const GridModel& model_;
  const GridBox& box_;
  const ScalarPlaces& places_;
  GridObstacles<T>* obstacles_;
  int threads_;
  std::optional<WallPoints> walls_;  // of obstacles of given value
  std::vector<T> p_, D_, y_;
  std::vector<double> p_bar_, D_bar_, E_bar_;
  T kappa_ = 0, lift_[3] = {};
  double kappa_bar_ = 0, lift_bar_[3] = {};
  int seen_ = -1;  // GridObstacles::moved
};

extern template class GridScalar<float>;
extern template class GridScalar<double>;

}  // namespace cycloid::inline fluid
