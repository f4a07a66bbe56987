// GridObstacles: the obstacles of a flow where a step finds them, and the velocities w of their
// surfaces.
//
// An obstacle that moves has gone s and turned by θ (body_frame.h), with the velocity v and the
// spin Ω about its centre c + s:
//   s⁺ = s + Δt v,   θ⁺ = θ + Δt Ω                                     (1)  [m], [rad]
//   w  = v + Ω × (x - c - s⁺)                                          (2)  [m/s]
// A step sees it at s⁺, θ⁺: mobilities, shares and the pressure's operator (immersed.h, pressure.h)
// are those of the place where it arrives, so that the flow leaves the step with no flux through
// its surface there. Faces that it has left behind begin with its own velocity. One that does not
// move has s = 0, θ = 0 and a surface that may turn or slide all the same.
#pragma once

#include "cycloid/fluid/grid/grid_model.h"
#include "cycloid/fluid/grid/obstacle/immersed.h"

namespace cycloid::inline fluid {

// What a step is a function of, moved along a direction (grid_work.h).
template <class T>
struct ObstacleTangents {
  Velocities<T> w;
  Velocities<double> D, A, E;
  std::vector<double> ways;  // (obstacles, dimensions + 1)
};

template <class T>
class GridObstacles {
 public:
  GridObstacles(const GridModel& model, int threads);

  // Reads the parameters, and clears all cotangents.
  void read(const T* p);
  // now: as the state has them; next: where a step brings them (1).
  enum class Moment { now, next };
  // motion: the state's block, null where nothing moves; u: inputs, or null. Clears w̄.
  void place(Moment moment, const T* motion, const T* u);
  // Writes the block after a step.
  void store(T* motion) const;
  // Adds to p̄, ū and the cotangent of motion, given that of the block after the step (null for
  // Moment::now). Where nothing moves D̄, Ā and Ē grow until `give_back`.
  void place_pullback(const T* motion_next_bar, double* p_bar, T* u_bar, T* motion_bar);
  void give_back(double* p_bar);

  ObstacleTangents<T> make_tangents() const;
  void place_pushforward(const T* p_tan, const T* u_tan, const T* motion_tan,
                         ObstacleTangents<T>& t);
  void store_tangents(const ObstacleTangents<T>& t, T* motion_tan) const;

  // An obstacle whose motion cannot be followed, and why; -1: there is none.
  struct Astray {
    int obstacle = -1;
    const char* why = "";
  };
  Astray astray() const;

  const Immersed& immersed() const { return immersed_; }
  const PressureSolver& solver() const { return solver_; }
  const ObstacleNumbers& numbers() const { return numbers_; }
  // Of numbers and ways, for who adds to them before `place_pullback` or `give_back`.
  const ObstacleBars& bars() const { return bars_; }
  // How often obstacles were put somewhere else.
  int moved() const { return moved_; }
  Velocities<T> D, A, w;
  Velocities<double> D_bar, A_bar, w_bar, E_bar;

 private:
  bool moves(std::size_t o) const { return model_.obstacle[o].motion >= 0; }
  bool turns(std::size_t o) const { return model_.obstacle[o].angle >= 0; }
  std::size_t number(std::size_t o, int i) const {
    return o * GridBox::u(box_.dimensions + 1) + GridBox::u(i);
  }
  // Calls visit(its number in the state's block, in ways, place of its rate, component of that) for
  // each number of the motion.
  template <class Visit>
  void for_each_motion(Visit&& visit) const;
  bool outside(std::size_t o) const;
  double cells_in_a_step(std::size_t o) const;
  int through_a_side() const;
  void set_geometry();
  void set_surfaces();
  void pull_geometry(double* p_bar);
  void pull_surfaces(double* p_bar, T* u_bar);
  // Of face m of component a: the way from the axis of rotation (3) [m].
  void arm(std::size_t o, int a, int i, int j, int k, double* r) const;
  T surface(const T* p, const T* u, int a, int i, int j, int k) const;

  const GridModel& model_;
  const GridBox& box_;
  int threads_, first_, moved_ = 0;
  Immersed immersed_;
  PressureSolver solver_;
  std::vector<T> p_;
  const T* inputs_ = nullptr;
  Moment moment_ = Moment::now;
  std::vector<double> wide_p_, wide_p_bar_;
  std::vector<double> ways_, ways_bar_;  // (obstacles, dimensions + 1)
  std::vector<double> seen_ways_;        // those of the geometry at hand; empty: there is none
  std::vector<T> speeds_, seen_speeds_;  // of surfaces, and those that w is made of
  ObstacleNumbers numbers_;
  ObstacleBars bars_;
  Velocities<double> k_;
};

extern template class GridObstacles<float>;
extern template class GridObstacles<double>;

}  // namespace cycloid::inline fluid
