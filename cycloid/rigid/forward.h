// Quantities that follow from (x, u): what MuJoCo has after mj_forward, without constraints.
//
//   M q̈ = τ - c                                                        (1)  dynamics.h
// in double precision, row by row, without a gradient (observe.h has one for sensors).
#pragma once

#include "cycloid/rigid/observe.h"

namespace cycloid::inline rigid {

// Rows, one environment after another.
struct Forward {
  std::int64_t rows = 0;
  std::vector<double> qacc;         // (nv) [m/s², rad/s²]
  std::vector<double> mass_matrix;  // (nv, nv)
  std::vector<double> bias;         // (nv) c: Coriolis, centrifugal, gravity [N, N·m]
  std::vector<double> body_pos;     // (bodies, 3) in the world [m]
  std::vector<double> body_quat;    // (bodies, 4)
  std::vector<double> site_pos;     // (sites, 3) [m]
  std::vector<double> energy;       // (2) potential, kinetic [J]
  std::vector<double> sensors;      // the observer's numbers
};

// Of the observer's robot. Throws as `observe`.
Forward forward(const Observer& observer, const ObservedRows& at);

}  // namespace cycloid::inline rigid
