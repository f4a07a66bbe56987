// GridWork: a flow on a staggered grid at given parameters and inputs, and the parts of its step.
//
// A stage of the time scheme, from u (ghosts filled) and the step's start u⁰, with w, D at
// obstacles (grid_obstacles.h):
//   y = u + Δt (r(u) + force + buoyancy)                               (1)   grid_kernels.h
//                                                                            and wall_points.h
//   v = α u⁰ + β (D y + (1 - D) w)                                     (2)
//   u⁺ = v, projected                                                  (3)   projection.h
// Given v̄ by the projection,
//   ū⁰ += α v̄,  ȳ = β D v̄                                              (4)
//   D̄ += β v̄ (y - w),  w̄ += β v̄ (1 - D);  ū += ȳ + (∂r/∂u)ᵀ Δt ȳ,  force̅ += Δt Σ ȳ       (5)
// Along characteristics (carried_rate.h) r has no products, and the rate of what is carried. With
// dots for tangents (of flows without scalars, and central differences):
//   v̇ = α u̇⁰ + β (Ḋ (y - w) + D ẏ + (1 - D) ẇ)                         (6)
// Scalars (grid_scalar.h) go through the same stages with the velocities at their beginning.
//
// Where viscosity is implicit: P the projection, H the solve of viscous_solve.h, b buoyancy. Two
// stages, of second order in time (Heun, Crank and Nicolson), each from u* = u⁰, then u¹:
//   y¹ = u⁰ + Δt (r(u⁰) + b⁰ + force)                                  (7)
//   y² = u⁰ + ½ Δt (r(u⁰) + b⁰ + r(u¹) + b¹) + Δt force                (8)
//   u = P (u* + H (P (D y + (1 - D) w) - u*))                          (9)
// H is asked for a change alone, so that a flow at rest is that of the explicit step, and what P
// adds along a wall after it is of second order.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cycloid/fluid/grid/carried_rate.h"
#include "cycloid/fluid/grid/grid_scalar.h"
#include "cycloid/fluid/grid/pressure/projection.h"
#include "cycloid/fluid/grid/pressure/viscous_solve.h"

namespace cycloid::inline fluid {

// A direction in what a step is a function of.
template <class T>
struct GridTangents {
  T viscosity = 0, force[3] = {};
  SideVelocities<T> W;
  std::optional<ObstacleTangents<T>> obstacles;
};

// All scalars of a flow: arrays of cells with ghosts.
template <class T>
using Scalars = std::vector<std::vector<T>>;

template <class T>
class GridWork {
 public:
  GridWork(std::shared_ptr<const GridModel> model, int threads);

  const GridModel& model;
  const GridBox& box;
  int threads;

  // Reads the parameters, clears their cotangents.
  void read(const T* p);
  // Those since `read`, however often it is called.
  void give_back(double* p_bar);
  // Takes the inputs of a step from x (null where nothing moves); clears the cotangents of W, w and
  // the force.
  using Moment = typename GridObstacles<T>::Moment;
  void set_inputs(const T* u, const T* x = nullptr, Moment moment = Moment::now);
  // Adds those to the parameters' cotangents, to u_bar and to what x has of motion, given the
  // cotangent of the state after the step (null for Moment::now).
  void give_back_inputs(T* u_bar, const T* x_next_bar = nullptr, T* x_bar = nullptr);

  Velocities<T> make() const;
  Scalars<T> make_scalars() const;
  // A row of states with the given velocities in their places, and its pullback. Ghosts are left.
  void load(const T* x, Velocities<T>& u) const;
  void load_pullback(Velocities<T>& u_bar, T* x_bar);
  void store(const Velocities<T>& u, T* x) const;
  // Adds a row's numbers to arrays.
  void add_row(const T* x, Velocities<T>& u) const;
  void add_row(const T* x, Scalars<T>& C) const;
  void load(const T* x, Scalars<T>& C) const;  // ghosts filled
  void store(const Scalars<T>& C, T* x) const;

  // (1) … (3); q, if not null, takes the cells' q.
  void stage(const StageRule<T>& rule, const Velocities<T>& u0, const Velocities<T>& u,
             const Scalars<T>& C, Velocities<T>& out, T* q);
  // (4) (5). out_bar is used up. q and out are read where there are obstacles.
  void stage_pullback(const StageRule<T>& rule, const Velocities<T>& u, const Scalars<T>& C,
                      const T* q, const Velocities<T>& out, Velocities<T>& out_bar,
                      Velocities<T>& u0_bar, Velocities<T>& u_bar, Scalars<T>& C_bar,
                      bool wants_parameters);
  // (7) … (9), and their pullbacks, which make the stage again.
  void implicit_stage(int stage, const Velocities<T>& u0, const Velocities<T>& u,
                      const Scalars<T>& C0, const Scalars<T>& C, Velocities<T>& out);
  void implicit_stage_pullback(int stage, const Velocities<T>& u0, const Velocities<T>& u,
                               const Scalars<T>& C0, const Scalars<T>& C, Velocities<T>& out_bar,
                               Velocities<T>& u0_bar, Velocities<T>& u_bar, Scalars<T>& C0_bar,
                               Scalars<T>& C_bar, bool wants_parameters);
  // A stage of all scalars, with the velocity at its beginning.
  void carry(const StageRule<T>& rule, const Velocities<T>& u, const Scalars<T>& C0,
             const Scalars<T>& C, Scalars<T>& out);
  void carry_pullback(const StageRule<T>& rule, const Velocities<T>& u, const Scalars<T>& C,
                      const Scalars<T>& out_bar, Scalars<T>& C0_bar, Scalars<T>& C_bar,
                      Velocities<T>& u_bar);

  // Tangents of parameters p_tan, inputs u_tan and the state (null: zero), at those at hand.
  GridTangents<T> make_tangents() const;
  void set_tangents(const T* p_tan, const T* u_tan, const T* x_tan, GridTangents<T>& t);
  void load_pushforward(const T* x_tan, const GridTangents<T>& t, Velocities<T>& u_tan) const;
  // (6), with u_tan's ghosts filled.
  void stage_pushforward(const StageRule<T>& rule, const Velocities<T>& u, const T* q,
                         const Velocities<T>& out, const GridTangents<T>& t,
                         const Velocities<T>& u0_tan, const Velocities<T>& u_tan,
                         Velocities<T>& out_tan);

  // Δt Σ |u_a| / h_a, the largest of all cells, and where.
  double courant(const Velocities<T>& u, int* cell) const;
  // The largest of diffusivities and, where it is explicit, viscosity [m²/s].
  double spreading() const;

  // r without force and buoyancy.
  void rate(const Velocities<T>& u, Velocities<T>& r);
  void rate_pullback(const Velocities<T>& u, const Velocities<T>& g, Velocities<T>& u_bar,
                     bool wants_parameters);

  GridSides<T> sides;
  std::unique_ptr<GridObstacles<T>> obstacles;  // null: there are none
  Projection<T> projection;
  std::vector<GridScalar<T>> scalars;
  std::optional<ViscousSolve<T>> viscous;  // where viscosity is implicit

  T viscosity = 0, density = 1, force[3] = {};
  double viscosity_bar = 0, density_bar = 0, force_bar[3] = {};

 private:
  const T* motion(const T* x) const { return x ? x + model.scalar(model.scalars.size()) : nullptr; }
  T* motion(T* x) const { return x ? x + model.scalar(model.scalars.size()) : nullptr; }
  // y of (1), of r_.
  T pushed(const StageRule<T>& rule, const Velocities<T>& u, int a, std::size_t m) const {
    return u[GridBox::u(a)][m] + rule.dt * (r_[GridBox::u(a)][m] + force[a]);
  }

  std::shared_ptr<const GridModel> keep_;
  const GridKernels<T>* kernels_;
  std::optional<CarriedRate<T>> carried_;
  std::vector<T> p_;
  std::vector<double> p_bar_;
  // Room of a stage.
  Velocities<T> r_, g_, flux_, flux_bar_;
  Velocities<T> none_;  // zeros
  // Of an implicit stage: y, after the first projection, the change asked for and made, the end.
  Velocities<T> y_, star_, asked_, made_, end_;
  std::vector<T> q_star_, q_end_;
  mutable std::vector<double> row_sums_;
};

extern template class GridWork<float>;
extern template class GridWork<double>;

}  // namespace cycloid::inline fluid
