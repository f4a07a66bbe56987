// CarriedRate: the rate of change of velocity that is carried along characteristics, as the
// semi-Lagrangian and MacCormack's scheme (characteristics.h) have it.
//
//   r = (u⁺ - u) / Δt,  u⁺ of (1) or (2) there                                      (1)
// Faces inside obstacles keep their velocity. What û takes from beyond a side it takes as u does.
#pragma once

#include "cycloid/fluid/grid/grid_sides.h"

namespace cycloid::inline fluid {

template <class T>
class CarriedRate {
 public:
  CarriedRate(const GridModel& model, GridSides<T>& sides, int threads);

  // Adds to r. D: mobilities, or null where there are no obstacles.
  void carried_rate(const Velocities<T>& u, const Velocities<T>* D, Velocities<T>& r);
  // Adds to u_bar, given the cotangent g of r.
  void carried_rate_pullback(const Velocities<T>& u, const Velocities<T>* D, const Velocities<T>& g,
                             Velocities<T>& u_bar);

 private:
  void make_hat(const Velocities<T>& u, const Velocities<T>* D);

  const GridModel& model_;
  const GridBox& box_;
  GridSides<T>& sides_;
  int threads_;
  Velocities<T> hat_, hat_bar_;  // û
};

extern template class CarriedRate<float>;
extern template class CarriedRate<double>;

}  // namespace cycloid::inline fluid
