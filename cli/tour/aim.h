// First story: a ball in wind and drag is aimed at a target by gradient steps through its flight.
//
// The ball is launched at the origin with velocity v and flies for T seconds (systems::projectile).
// Sought is the v that brings it to the target at that moment:
//   L(v) = ½ |p(T; v) - target|²                        (1)
// minimised by L-BFGS. ∇L comes from one pullback through all steps of the flight. The first guess
// is the textbook's, for a world without air:
//   v_0 = target / T + ½ g T ẑ                          (2)
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

using Vector3 = std::array<double, 3>;

struct AimProblem {
  Vector3 target = {45, 0, 8};        // [m], z up
  Vector3 wind = {-6, 9, 0};          // [m/s]
  double mass = 0.43, drag = 0.0057;  // of a football [kg] [kg/m]
  double gravity = 9.81;              // [m/s²]
  double flight_time = 3, dt = 0.01;  // [s]
};

struct AimIterate {
  Vector3 velocity = {};      // at launch [m/s]
  double miss = 0;            // distance from the target at the end of the flight [m]
  std::vector<Vector3> path;  // positions [m], from launch to end
};

struct AimResult {
  AimProblem problem;
  std::vector<AimIterate> iterates;  // the first guess, then every accepted step
  std::string status;                // of the optimiser
  int simulations = 0;               // flights with gradient
  double gradient_error = 0;         // largest relative error against differences (check_gradient)
  bool gradient_ok = false;

  double miss() const { return iterates.back().miss; }
  int iterations() const { return static_cast<int>(iterates.size()) - 1; }
  bool hit() const { return miss() < 1e-3; }  // within a millimetre
};

// `watch` sees every iterate as it is found.
AimResult aim_at_target(const AimProblem& problem = {}, const KeepGoing& keep_going = {},
                        const std::function<void(int, const AimIterate&)>& watch = {});

}  // namespace cycloid::tour
