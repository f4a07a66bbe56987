// GridSides: the sides of a flow's box, velocities given on them and ghosts beyond them.
//
// W are the velocities given on the sides; ghosts beyond a side hold
//   wall, inflow   2 W - u (tangential), W on the side's own faces     (1)
//   slip           u (tangential), 0 on the side's own faces           (2)
//   outflow        u (both); its own faces move freely                 (3)
//   periodic       the other end                                       (4)
// Pullbacks empty the ghosts' cotangents: what they held goes to u and to W.
#pragma once

#include "cycloid/fluid/grid/grid_model.h"

namespace cycloid::inline fluid {

constexpr bool velocity_is_given(SideKind kind) {
  return kind == SideKind::wall || kind == SideKind::slip || kind == SideKind::inflow;
}

// Velocities given on the sides: of axis, side and component, planes of numbers.
template <class T>
using SideVelocities = std::array<std::array<std::array<std::vector<T>, 3>, 2>, 3>;

template <class T>
class GridSides {
 public:
  explicit GridSides(const GridModel& model);

  // W of parameters and inputs; clears W̄.
  void set(const T* p, const T* u);
  void give_back(double* p_bar, T* u_bar) const;
  // The same of tangents, into arrays that `make` gave.
  SideVelocities<T> make() const { return made<T>(); }
  void set(const T* p, const T* u, SideVelocities<T>& W) const;

  void set_sides(Velocities<T>& u) const { set_sides(u, W_); }
  void set_sides(Velocities<T>& u, const SideVelocities<T>& W) const;
  void set_sides_pullback(Velocities<T>& u_bar);
  void fill_ghosts(Velocities<T>& u) const { fill_ghosts(u, W_); }
  void fill_ghosts(Velocities<T>& u, const SideVelocities<T>& W) const;
  void fill_ghosts_pullback(Velocities<T>& u_bar);

 private:
  template <class Number>
  SideVelocities<Number> made() const;
  std::ptrdiff_t plane_index(int axis, int i, int j, int k) const;

  const GridModel& model_;
  const GridBox& box_;
  SideVelocities<T> W_;
  SideVelocities<double> W_bar_;
};

extern template class GridSides<float>;
extern template class GridSides<double>;

}  // namespace cycloid::inline fluid
