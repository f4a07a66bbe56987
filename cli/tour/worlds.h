// Further stories, in which something moves in three dimensions: a humanoid, a block that is
// pushed, a soft finger, a flow and a pendulum that a network has learned.
//
// Each computes its own check: a gradient against central differences, a goal that is reached, a
// verdict. The first two need MuJoCo's compiler, which reads their models; where there is none they
// are left out, and `reason` says why.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "cli/tour/moving_scene.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

// A humanoid falls on its feet. Its gradient by start, inputs and all masses, lengths, frictions is
// held to differences, and what it costs stands beside what MuJoCo's step costs here.
struct HumanoidResult {
  std::string reason;  // why there is none; empty: it was told
  int dofs = 0;
  std::int64_t parameters = 0;
  double gradient_error = 0;
  bool gradient_ok = false;
  double step_us = 0, gradient_us = 0;  // of one environment of 256, a step; with its way back
  double mujoco_step_us = 0, mujoco_differences_us = 0;
  MovingScene scene;

  bool ok() const { return !reason.empty() || gradient_ok; }
};
HumanoidResult drop_humanoid(const KeepGoing& keep_going = {});

// A finger pushes a block to its goal; arrows show what the loss wants of both at every time.
struct PushResult {
  std::string reason;
  double goal = 0.25, end = 0;  // of the block along x [m]
  int iterations = 0;
  double seconds = 0;
  double silent = 0;  // largest derivative by a force while nothing touches, exact mode
  MovingScene scene;

  bool ok() const { return !reason.empty() || std::abs(end - goal) < 0.01; }
};
PushResult push_block(const KeepGoing& keep_going = {});

// The stiffness with which a soft finger sinks to a wanted height, found by its gradient.
struct FingerResult {
  int unknowns = 0;
  double wanted = -0.12, reached = 0;  // lowest height of the tip's edge at the end [m]
  double young = 0;                    // found [Pa]
  int runs = 0;
  double gradient_error = 0;  // of the first slope, against differences, relative
  MovingScene scene;

  bool ok() const { return std::abs(reached - wanted) < 1e-3 && gradient_error < 1e-5; }
};
FingerResult bend_finger(const KeepGoing& keep_going = {});

// A flow around a disc, and the derivative of the drag by the radius.
struct StreamResult {
  int cells = 0;
  double drag = 0, slope = 0, difference = 0;  // [N/m], [N/m²]
  MovingScene scene;

  bool ok() const { return std::abs(slope - difference) < 1e-4 * std::abs(difference); }
};
StreamResult follow_stream(const KeepGoing& keep_going = {});

// A Hamiltonian network learns a pendulum with friction from its motion; the scorecard says how far
// to believe it. The scene has the truth, and the learned one beside it.
struct PupilResult {
  int weights = 0;
  double seconds = 0;  // of training
  double first_loss = 0, last_loss = 0;
  std::string verdict;
  double one_step = 0, error = 0;  // in standard deviations of the truth
  MovingScene scene;

  bool ok() const { return last_loss < 0.05 * first_loss && error < 0.5; }
};
PupilResult teach_pendulum(const KeepGoing& keep_going = {});

struct WorldsResult {
  HumanoidResult humanoid;
  PushResult push;
  FingerResult finger;
  StreamResult stream;
  PupilResult pupil;

  bool ok() const { return humanoid.ok() && push.ok() && finger.ok() && stream.ok() && pupil.ok(); }
};

}  // namespace cycloid::tour
