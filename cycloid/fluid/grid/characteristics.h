// Characteristics: velocity carried along the flow, as the semi-Lagrangian scheme has it.
//
// Of component a at its face x_m, u the velocity there (other components by the mean of the four
// faces around it), φ linear between the faces of its component:
//   A_Δt(φ)_m = φ_a(x_m - Δt u(x_m))                                               (1)  Stam1999
// Positions beyond a side that is not periodic are put onto it. Kinks where a position enters
// another cell; the derivative is that of the cell in which it lies. MacCormack's scheme goes there
// and back to find the error of (1), and stays between the values that (1) has used:
//   û = A_Δt(u),  ũ = A_-Δt(û),  u⁺ = û + ½ (u - ũ), clamped                           (2)
// (SelleEtAl2008). Where a value is clamped, u⁺ is a function of that corner alone.
#pragma once

#include "cycloid/fluid/grid/grid_box.h"

namespace cycloid::inline fluid {

template <class T>
using Velocities = std::array<std::vector<T>, 3>;

enum class Advection { central, semi_lagrangian, maccormack };

// (1) for one face: corners of φ with their weights, and by which each changes with the position.
template <class T>
struct FollowedFace {
  int corners = 0;
  std::ptrdiff_t corner[8];
  T weight[8], slope[8][3];  // by the position in cells along each axis
  std::ptrdiff_t m = 0;      // the face

  T value(const std::vector<T>& phi) const;
  // The corner with the smallest (sign -1) or largest (1) value.
  std::ptrdiff_t extreme(const std::vector<T>& phi, int sign) const;
};

// u with its ghosts filled, dt of either sign.
template <class T>
FollowedFace<T> follow(const GridBox& box, const Velocities<T>& u, double dt, int a,
                       const int* place);
// Adds the cotangents of φ's component and of u, given that of (1).
template <class T>
void follow_pullback(const GridBox& box, const FollowedFace<T>& face, const std::vector<T>& phi,
                     double dt, int a, T bar, std::vector<T>& phi_bar, Velocities<T>& u_bar);

}  // namespace cycloid::inline fluid
