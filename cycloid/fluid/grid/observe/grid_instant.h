// GridInstant: a flow at one instant with the pressure that a step from there would make, equation
// (5) of grid_observables.h, and cotangents of its parts.
#pragma once

#include <memory>

#include "cycloid/fluid/grid/grid_work.h"

namespace cycloid::inline fluid {

// Faces with their share of the box: visit(m, κ).
template <class Visit>
void for_each_weighted(const GridBox& box, int a, Visit&& visit) {
  for (int i = 0; i < box.count(a, 0); ++i) {
    for (int j = 0; j < box.count(a, 1); ++j) {
      for (int k = 0; k < box.count(a, 2); ++k) {
        const int place = a == 0 ? i : a == 1 ? j : k;
        const bool end = !box.periodic(a) && (place == 0 || place == box.n[at(a)]);
        visit(box.index(i, j, k), end ? 0.5 : 1.0);
      }
    }
  }
}

// A flow at one instant, and cotangents of its parts.
class GridInstant {
 public:
  GridInstant(const std::shared_ptr<const GridModel>& model, int threads);

  GridWork<double> work;
  const GridBox& box;
  Velocities<double> u, r, z, u_bar, r_bar, grad_bar;
  std::vector<double> q, q_bar, spread, div, edges;
  Scalars<double> C, C_bar;
  Velocities<double> lift, lift_bar;  // buoyancy at the faces
  double mean = 0;                    // of q, over open cells

  // What presses is what a step from here would make of it, obstacles that move included.
  void set(const double* x, const double* inputs, bool with_pressure);
  void clear_bars();
  void give_back(double* x_bar, double* inputs_bar, bool with_pressure);

  // Faces whose velocity is not given by a side: visit(m, κ), κ = 2 on outflow.
  template <class Visit>
  void for_each_free(int a, Visit&& visit) const {
    for (int i = 0; i < box.count(a, 0); ++i) {
      for (int j = 0; j < box.count(a, 1); ++j) {
        for (int k = 0; k < box.count(a, 2); ++k) {
          const int place = a == 0 ? i : a == 1 ? j : k;
          double kappa = 1;
          if (!box.periodic(a) && (place == 0 || place == box.n[at(a)])) {
            if (box.side[at(a)][place == 0 ? 0 : 1] != SideKind::outflow) continue;
            kappa = 2;
          }
          visit(box.index(i, j, k), kappa);
        }
      }
    }
  }
  double D(int a, std::ptrdiff_t m) const {
    return work.obstacles ? work.obstacles->D[at(a)][at(m)] : 1;
  }
  double A(int a, std::ptrdiff_t m) const {
    return work.obstacles ? work.obstacles->A[at(a)][at(m)] : 1;
  }
  double w(int a, std::ptrdiff_t m) const {
    return work.obstacles ? work.obstacles->w[at(a)][at(m)] : 0;
  }
  double slope(const std::vector<double>& of, int a, std::ptrdiff_t m) const {
    return (of[at(m)] - of[at(m - box.stride[at(a)])]) / box.h[at(a)];
  }

 private:
  void wrap(Velocities<double>& flux) const;
  bool moves() const { return work.model.motions > 0; }
  void press();
  void press_pullback();
};

}  // namespace cycloid::inline fluid
