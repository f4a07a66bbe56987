// Fifth story: a robot. A pole that hangs from a cart is swung up and held, by a motor that is too
// weak to lift it straight; and, where somebody brings one, a real recording of a pendulum is
// fitted.
//
// The plan minimises 1000 |x_T - upright|² + 10⁻³ Σ u² over the forces of all steps (plan.h), from
// forces of zero; then verify.h runs it again in worlds that ought to give the same answer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/tour/moving_scene.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

struct SwingProblem {
  double cart = 1, pole = 0.5;  // masses [kg]
  double length = 0.5;          // of the pole [m]
  double limit = 10;            // of the motor's force [N]
  double dt = 0.02;             // [s]
  int steps = 150;
};

struct SwingResult {
  SwingProblem problem;
  std::vector<double> times, position, angle;  // of the states [s], [m], [rad]; angle 0: hanging
  std::vector<double> force;                   // of the steps [N]
  int iterations = 0;
  double seconds = 0;  // of planning
  double miss = 0;     // how far from upright and at rest it ends, the largest number
  std::string verdict;
  bool trusted = false;
  MovingScene scene;  // arrows: the motor's force, 4 cm per newton

  bool up() const { return miss < 0.05 && trusted; }
};

SwingResult swing_up(const SwingProblem& problem = {}, const KeepGoing& keep_going = {});

// A pendulum's recording, the first four fifths fitted: what it finds and how well it foretells the
// rest.
struct RecordingResult {
  std::filesystem::path path;
  std::size_t samples = 0;
  double rate = 0, rate_error = 0;        // gravity over length [1/s² of the file's time]
  double damping = 0, damping_error = 0;  // over mass times length²
  double rms = 0, held_out = 0;           // [rad]
  std::vector<double> times, measured, fitted;
};

// `path`: a table with columns t, angle (or theta) [rad] and, where there is, angular_velocity (or
// omega); or a folder that has schmidt_lipson/pendulum.csv. Throws Error and FileNotFound.
RecordingResult fit_recording_of_pendulum(const std::filesystem::path& path,
                                          const KeepGoing& keep_going = {});

}  // namespace cycloid::tour
