// GridWork: a flow on a staggered grid at given parameters and inputs, and the parts of its step.
//
// W are the velocities given on the sides, w those of immersed walls; ghosts beyond a side hold
//   wall, inflow   2 W - u (tangential), W on the side's own faces     (1)
//   slip           u (tangential), 0 on the side's own faces           (2)
//   outflow        u (both); its own faces move freely                 (3)
//   periodic       the other end                                       (4)
// A stage of the time scheme, from u (ghosts filled) and the step's start u⁰:
//   y = u + Δt (r(u) + force)                                          (5)   grid_kernels.h
//                                                                            and immersed.h
//   v = α u⁰ + β (D y + (1 - D) w), W on the sides                     (6)   D, A: immersed.h
//   L q = div(A v + (1 - A) w),  L = div A D grad                      (7)   pressure.h
//   u⁺ = v - D grad q                                                  (8)
// so that div(A u⁺ + (1 - A) w) = 0 whatever u was. Given ū⁺, with κ = 0 on sides with given
// velocity, 2 on outflow, 1 elsewhere, and grad₀ the gradient with zeros beyond the sides:
//   L λ = div(κ D ū⁺)                                                  (9)
//   v̄ = ū⁺ - A grad₀ λ,  D̄ -= v̄ grad q,  Ā -= grad₀ λ (u⁺ - w),  w̄ -= grad₀ λ (1 - A)   (10)
//   W̄ += v̄ on the sides (v̄ = 0 there);  ū⁰ += α v̄,  ȳ = β D v̄                            (11)
//   D̄ += β v̄ (y - w),  w̄ += β v̄ (1 - D);  ū += ȳ + (∂r/∂u)ᵀ Δt ȳ,  force̅ += Δt Σ ȳ       (12)
// Where there is temperature T at cell centres [K], κ its diffusivity, β the expansion, g gravity:
//   y += Δt b_a ½ (T[m - s_a] + T[m]),  b = -β g: buoyancy, at the faces            (B1) [m/s²]
//   f_a[m] = u_a[m] ½ (T[m - s_a] + T[m])                                           (B2)
//   T⁺ = α T⁰ + β_stage (T + Δt Σ_a (f_a[m] - f_a[m + s_a]) / h_a + Δt κ lap T)      (B3)
// with ghosts 2 T_side - T at sides of given temperature, T elsewhere (insulated). Given T̄⁺ and ȳ,
// σ = Δt β_stage T̄⁺:
//   f̄_a[m] = (σ[m] - σ[m - s_a]) / h_a,  ū_a[m] += f̄_a[m] ½ (T[m - s_a] + T[m])     (B4)
//   T̄[m] += ½ Σ_a (f̄_a[m] u_a[m] + f̄_a[m + s_a] u_a[m + s_a]) + κ lap σ
//           + Δt b_a ½ (ȳ_a[m] + ȳ_a[m + s_a])                                      (B5)
// Along characteristics (characteristics.h) r = (u⁺ - u) / Δt + ν lap u with u⁺ of its (1) or (2).
// And, with dots for tangents (of flows without temperature, and central differences):
//   v̇ = α u̇⁰ + β (Ḋ (y - w) + D ẏ + (1 - D) ẇ), Ẇ on the sides                            (13)
//   L q̇ = div(A v̇ + Ȧ (u⁺ - w) + (1 - A) ẇ - A Ḋ grad q),  u̇⁺ = v̇ - Ḋ grad q - D grad q̇ (14)
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "cycloid/fluid/grid/characteristics.h"
#include "cycloid/fluid/grid/flow_model.h"
#include "cycloid/fluid/grid/grid_kernels.h"
#include "cycloid/fluid/grid/immersed.h"
#include "cycloid/fluid/grid/pressure.h"

namespace cycloid::inline fluid {

// A flow, as its steppers and observers share it.
struct GridModel : FlowModel {
  std::shared_ptr<const PressurePattern> pattern;
  std::shared_ptr<const PressureSolver> open_box;  // without obstacles: for all runs

  // Temperature, where there is one: places among the parameters; of sides -1: insulated.
  bool heated = false;
  int diffusivity = -1, expansion = -1, gravity = -1;
  std::array<std::array<int, 2>, 3> side_temperature = {{{-1, -1}, {-1, -1}, {-1, -1}}};

  int states() const { return box.states() + (heated ? box.cells : 0); }

  std::vector<double> lines;  // ends (m, 2, 2) [m]
  Advection advection = Advection::central;
  // Along characteristics a step is one stage: it needs no more to be stable.
  int stages() const { return advection == Advection::central ? 3 : 1; }
};

// Velocities given on the sides: of axis, side and component, planes of numbers.
template <class T>
using SideVelocities = std::array<std::array<std::array<std::vector<T>, 3>, 2>, 3>;

// A direction in what a step is a function of.
template <class T>
struct GridTangents {
  T viscosity = 0, force[3] = {};
  SideVelocities<T> W;
  Velocities<T> w;
  Velocities<double> D, A;
  std::vector<double> E;
};

template <class T>
class GridWork {
 public:
  GridWork(std::shared_ptr<const GridModel> model, int threads);

  const GridModel& model;
  const GridBox& box;
  int threads;

  // Reads the parameters, clears their cotangents.
  void read(const T* p);
  void give_back(double* p_bar);
  // Takes the inputs of a step; clears the cotangents of W, w and the force.
  void set_inputs(const T* u);
  // Adds those to the parameters' cotangents and to u_bar.
  void give_back_inputs(T* u_bar);

  Velocities<T> make() const;
  // A row of states with the given velocities in their places, and its pullback.
  void load(const T* x, Velocities<T>& u) const;
  void load_pullback(Velocities<T>& u_bar, T* x_bar);
  void store(const Velocities<T>& u, T* x) const;
  void fill_ghosts(Velocities<T>& u) const { fill_ghosts(u, W_); }  // (1) … (4)
  void fill_ghosts_pullback(Velocities<T>& u_bar);

  // (5) … (8); q, if not null, takes the cells' q.
  void stage(const StageRule<T>& rule, const Velocities<T>& u0, const Velocities<T>& u,
             Velocities<T>& out, T* q, const std::vector<T>* heat = nullptr);
  // (9) … (12). out_bar is used up. q and out are read where there are obstacles.
  void stage_pullback(const StageRule<T>& rule, const Velocities<T>& u, const T* q,
                      const Velocities<T>& out, Velocities<T>& out_bar, Velocities<T>& u0_bar,
                      Velocities<T>& u_bar, bool wants_parameters,
                      const std::vector<T>* heat = nullptr, std::vector<T>* heat_bar = nullptr);

  // Temperature: arrays of cells with ghosts. x: the block of a state.
  void load_heat(const T* x, std::vector<T>& heat) const;  // ghosts filled
  void store_heat(const std::vector<T>& heat, T* x) const;
  void fill_heat(std::vector<T>& heat) const;
  void fill_heat_pullback(std::vector<T>& heat_bar);
  void heat_stage(const StageRule<T>& rule, const Velocities<T>& u, const std::vector<T>& heat0,
                  const std::vector<T>& heat, std::vector<T>& out) const;  // (B2) (B3)
  // (B4) (B5)
  void heat_stage_pullback(const StageRule<T>& rule, const Velocities<T>& u,
                           const std::vector<T>& heat, const std::vector<T>& out_bar,
                           std::vector<T>& heat0_bar, std::vector<T>& heat_bar,
                           Velocities<T>& u_bar);
  void buoyancy(const std::vector<T>& heat, Velocities<T>& r) const;  // (B1)
  void buoyancy_pullback(const std::vector<T>& heat, const Velocities<T>& g,
                         std::vector<T>& heat_bar);

  // Tangents of parameters p_tan and inputs u_tan (null: zero), at those at hand.
  GridTangents<T> make_tangents() const;
  void set_tangents(const T* p_tan, const T* u_tan, GridTangents<T>& t) const;
  void load_pushforward(const T* x_tan, const GridTangents<T>& t, Velocities<T>& u_tan) const;
  void fill_ghosts_pushforward(const GridTangents<T>& t, Velocities<T>& u_tan) const {
    fill_ghosts(u_tan, t.W);
  }
  // (13) (14), with u_tan's ghosts filled.
  void stage_pushforward(const StageRule<T>& rule, const Velocities<T>& u, const T* q,
                         const Velocities<T>& out, const GridTangents<T>& t,
                         const Velocities<T>& u0_tan, const Velocities<T>& u_tan,
                         Velocities<T>& out_tan);

  // Δt Σ |u_a| / h_a, the largest of all cells, and where.
  double courant(const Velocities<T>& u, int* cell) const;

  // Parts that observers use too.
  void rate(const Velocities<T>& u, Velocities<T>& r) const;
  void rate_pullback(const Velocities<T>& u, const Velocities<T>& g, Velocities<T>& u_bar,
                     bool wants_parameters);
  void flux(const Velocities<T>& v, Velocities<T>& out) const;  // A v + (1 - A) w, wrapped
  void divergence(const Velocities<T>& flux, double* cells) const;
  const PressureSolver& solver() const { return own_solver_ ? *own_solver_ : *model.open_box; }
  void solve(double* cells) const {
    const SolveOutcome found = solver().solve(cells, kTolerance, room_, threads);
    iterations += found.iterations;
    if (!found.converged) residual = std::max(residual, found.residual);
  }
  // Of solves by conjugate gradients; who counts them clears them. residual: of those that stopped
  // short, 0 where none did.
  static constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-10;
  mutable int iterations = 0;
  mutable double residual = 0;
  // Cells into an array with ghosts: of q (grad) or of λ (grad₀).
  enum class Beyond { mirrored, zero };
  void spread(const double* cells, Beyond beyond, std::vector<T>& q) const;
  // The gradient at each face, times D.
  const T* D(int a) const { return immersed_ ? D_[GridBox::u(a)].data() : nullptr; }
  const T* A(int a) const { return immersed_ ? A_[GridBox::u(a)].data() : nullptr; }
  const T* w(int a) const { return immersed_ ? w_[GridBox::u(a)].data() : nullptr; }
  double* D_bar(int a) { return D_bar_[GridBox::u(a)].data(); }
  double* A_bar(int a) { return A_bar_[GridBox::u(a)].data(); }
  const std::vector<WallTerm>& wall_terms() const { return immersed_->wall_terms(); }
  std::vector<double> E_bar;  // of the wall terms
  double* w_bar(int a) { return w_bar_[GridBox::u(a)].data(); }
  const int* owner(int a) const { return immersed_->owner(a); }
  bool has_obstacles() const { return immersed_.has_value(); }
  void set_sides(Velocities<T>& u) const { set_sides(u, W_); }
  void set_sides_pullback(Velocities<T>& u_bar);
  GridView<T> view(const Velocities<T>& u) const;

  // Calls work(i, j, row) for every row of a component's faces (a = -1: of cells), on several
  // threads.
  template <class Work>
  void for_each_row(int a, Work&& work) const;

  T viscosity = 0, density = 1, force[3] = {};
  T diffusivity = 0, lift[3] = {};  // κ, b
  double viscosity_bar = 0, density_bar = 0, force_bar[3] = {};
  double diffusivity_bar = 0, lift_bar[3] = {};

 private:
  using Plane = std::vector<T>;
  // Whether a face lies inside an obstacle: nothing is carried there.
  bool still(int a, std::size_t m) const { return immersed_ && D_[GridBox::u(a)][m] == 0; }
  // r along characteristics, and its pullback.
  void carried_rate(const Velocities<T>& u, Velocities<T>& r) const;
  void carried_rate_pullback(const Velocities<T>& u, const Velocities<T>& g, Velocities<T>& u_bar);
  template <class Visit>
  void for_each_face(int a, Visit&& visit) const;
  std::ptrdiff_t plane_index(int axis, int i, int j, int k) const;
  template <class Visit>
  void for_each_on_side(int axis, Visit&& visit) const;
  void fill_ghosts(Velocities<T>& u, const SideVelocities<T>& W) const;
  void set_sides(Velocities<T>& u, const SideVelocities<T>& W) const;
  void set_walls(const T* p, const T* u, SideVelocities<T>& W) const;
  void set_obstacles(const T* u);
  static T number(const T* p, const GridModel::Place& place, int i, const T* u);
  T number(const GridModel::Place& place, int i, const T* u) const {
    return number(p_.data(), place, i, u);
  }
  void make_sides(SideVelocities<T>& W) const;
  // The velocity of an obstacle's surface at a face, linear in (p, u) but for the centre.
  T surface(const T* p, const T* u, int a, int i, int j, int k) const;
  void give(const GridModel::Place& place, int i, double bar, T* u_bar);
  std::vector<const double*> obstacle_numbers() const;

  std::shared_ptr<const GridModel> keep_;
  const GridKernels<T>* kernels_;
  std::vector<T> p_;
  std::vector<double> p_bar_, obstacle_numbers_;
  SideVelocities<T> W_;
  std::array<std::array<std::array<std::vector<double>, 3>, 2>, 3> W_bar_;
  std::optional<Immersed> immersed_;
  std::unique_ptr<PressureSolver> own_solver_;
  PressureSolver::Room room_;
  Velocities<T> D_, A_, w_;
  Velocities<double> D_bar_, A_bar_, w_bar_;
  bool started_ = false;  // the factor below is of the numbers at hand
  // Room of a stage.
  Velocities<T> r_, flux_, g_;
  Velocities<T> none_;         // zeros
  mutable Velocities<T> hat_;  // û
  Velocities<T> hat_bar_;
  mutable std::vector<T> q_, q_next_, row_;
  mutable std::vector<double> cells_, cells_of_q_, row_sums_;
  const T* inputs_ = nullptr;  // of the step at hand
};

extern template class GridWork<float>;
extern template class GridWork<double>;

}  // namespace cycloid::inline fluid
