// Quantities that follow from (x, u), and the forces that an acceleration takes, with gradients.
//
//   M q̈ + c = τ                                                        (1)  dynamics.h
//   const Forward f = forward(robot, {.states = x});
//   f.pullback({.qacc = qacc_bar}).states           ∂L/∂x, in the coordinates of x
//   inverse_dynamics(robot, {.states = x}, qacc).tau         M q̈ + c
//
// What MuJoCo has after mj_forward; in double precision, row by row. q̈ is that of
// instant_dynamics.h: with constraints, τ contains their forces. Poses, energy and contacts have
// their gradients as sensors (adjoint/observe.h).
#pragma once

#include "cycloid/system/observed_rows.h"

namespace cycloid::inline rigid {

// ∂L/∂ of a Forward's numbers, shaped like them; what is empty counts as zero.
struct ForwardBars {
  std::span<const double> qacc = {}, mass_matrix = {}, bias = {};
};

// The contacts of each row, in MuJoCo's order and as in its mjContact, those within their gap
// included. `most` is the largest count of a row; others are filled up with zeros and geoms of -1.
struct ForwardContacts {
  std::int64_t most = 0;
  std::vector<std::int64_t> count = {};  // (rows)
  std::vector<std::int64_t> geoms = {};  // (rows, most, 2) indices in the model
  std::vector<double> pos = {};          // (rows, most, 3) in the world [m]
  std::vector<double> frame = {};        // (rows, most, 3, 3) by rows: normal, two tangents
  std::vector<double> dist = {};         // (rows, most) [m]
  std::vector<double> force = {};        // (rows, most, 6) in the frame, on the second [N, N·m]
};

// Rows, one environment after another.
struct Forward {
  System robot;
  CheckedRows checked;                   // what it was made from
  std::vector<double> qacc = {};         // (nv) [m/s², rad/s²]
  std::vector<double> mass_matrix = {};  // (nv, nv)
  std::vector<double> bias = {};         // (nv) c: Coriolis, centrifugal, gravity [N, N·m]
  std::vector<double> body_pos = {};     // (bodies, 3) in the world [m]
  std::vector<double> body_quat = {};    // (bodies, 4)
  std::vector<double> site_pos = {};     // (sites, 3) [m]
  std::vector<double> energy = {};       // (2) potential, kinetic [J]
  ForwardContacts contacts = {};
  std::vector<RowNote> notes = {};  // of rows whose qacc and contacts fell short

  // The two places of an entry of M share its cotangent: that is the sum of both. Throws Error on a
  // wrong size or a number that is not finite.
  ObservationGradient pullback(const ForwardBars& bars) const;
};

// Throws as CheckedRows (system/observed_rows.h), and ModelError for a System that is no robot.
Forward forward(const System& robot, const ObservedRows& at);

// Of each geom of the model the least half width [m]: how deep something may be in it at most. Of
// planes and height fields, which have no other side, it is infinite. Throws ModelError for a
// System that is no robot.
std::vector<double> half_widths(const System& robot);

struct InverseDynamicsGradient {
  ObservationGradient at;    // states, inputs and parameters
  std::vector<double> qacc;  // (rows, nv)
};

struct InverseDynamics {
  System robot;
  CheckedRows checked;
  std::vector<double> qacc;  // (rows, nv) as given
  std::vector<double> tau;   // (rows, nv) [N, N·m]

  // tau_bar: ∂L/∂tau. Throws as Forward::pullback.
  InverseDynamicsGradient pullback(std::span<const double> tau_bar) const;
};

// τ = M q̈ + c at the states: what all other forces (springs, dampers, the medium, gravity
// compensation, actuators, applied forces) together must be for the acceleration qacc (rows, nv).
// Of the inputs, only the poses of mocap bodies count. Throws as `forward`.
InverseDynamics inverse_dynamics(const System& robot, const ObservedRows& at,
                                 std::span<const double> qacc);

}  // namespace cycloid::inline rigid
