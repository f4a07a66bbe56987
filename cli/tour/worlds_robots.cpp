#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/tour/stop.h"
#include "cli/tour/worlds.h"
#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/base/error.h"
#include "cycloid/optimise/plan.h"
#include "cycloid/rigid/robot.h"

#ifdef CYCLOID_HAS_IO
#include "cycloid/io/load.h"
#include "cycloid/io/mujoco_clock.h"
#endif

namespace cycloid::tour {

#ifdef CYCLOID_HAS_IO
namespace {

using Row = std::vector<double>;
using Clock = std::chrono::steady_clock;

constexpr const char* kHumanoid = R"(<mujoco> <option timestep="0.005" cone="elliptic"/>
<default> <joint damping="1" armature="0.01"/> <geom type="capsule" density="1000"/> </default>
<worldbody> <geom type="plane" size="3 3 0.1"/>
<body name="torso" pos="0 0 1.35"> <freejoint/>
  <geom fromto="0 -0.09 0 0 0.09 0" size="0.08"/>
    <geom fromto="0 -0.07 -0.16 0 0.07 -0.16" size="0.07"/>
  <geom type="sphere" pos="0 0 0.22" size="0.1"/>
  <body name="pelvis" pos="0 0 -0.26"> <joint axis="0 0 1" range="-40 40"/>
    <joint axis="0 1 0" range="-60 30"/>
    <geom fromto="0 -0.07 -0.05 0 0.07 -0.05" size="0.09"/>
    <body name="left_thigh" pos="0 0.1 -0.08"> <joint axis="1 0 0" range="-25 25"/>
      <joint axis="0 1 0" range="-100 30"/> <geom fromto="0 0 0 0 0.01 -0.34" size="0.06"/>
      <body name="left_shin" pos="0 0.01 -0.38"> <joint axis="0 -1 0" range="-150 2"/>
        <geom fromto="0 0 0 0 0 -0.3" size="0.05"/>
        <body name="left_foot" pos="0 0 -0.36"> <joint axis="0 1 0" range="-40 40"/>
          <geom fromto="-0.06 0 0 0.13 0.01 0" size="0.035"/> </body> </body> </body>
    <body name="right_thigh" pos="0 -0.1 -0.08"> <joint axis="1 0 0" range="-25 25"/>
      <joint axis="0 1 0" range="-100 30"/> <geom fromto="0 0 0 0 -0.01 -0.34" size="0.06"/>
      <body name="right_shin" pos="0 -0.01 -0.38"> <joint axis="0 -1 0" range="-150 2"/>
        <geom fromto="0 0 0 0 0 -0.3" size="0.05"/>
        <body name="right_foot" pos="0 0 -0.36"> <joint axis="0 1 0" range="-40 40"/>
          <geom fromto="-0.06 0 0 0.13 -0.01 0" size="0.035"/> </body> </body> </body> </body>
  <body name="left_arm" pos="0 0.2 0.05"> <joint axis="1 0 0" range="-20 90"/>
    <joint axis="0 1 0" range="-90 60"/>
    <geom fromto="0 0 0 0.02 0.08 -0.24" size="0.04"/>
    <body name="left_forearm" pos="0.02 0.09 -0.27"> <joint axis="0 1 0" range="-120 5"/>
      <geom fromto="0 0 0 0.15 0 -0.15" size="0.034"/> </body> </body>
  <body name="right_arm" pos="0 -0.2 0.05"> <joint axis="1 0 0" range="-90 20"/>
    <joint axis="0 1 0" range="-90 60"/>
    <geom fromto="0 0 0 0.02 -0.08 -0.24" size="0.04"/>
    <body name="right_forearm" pos="0.02 -0.09 -0.27"> <joint axis="0 1 0" range="-120 5"/>
      <geom fromto="0 0 0 0.15 0 -0.15" size="0.034"/> </body> </body>
</body> </worldbody> </mujoco>)";

constexpr const char* kTable = R"(<mujoco> <option timestep="0.01"/> <worldbody>
  <geom type="plane" size="2 2 1" friction="0.5 0.005 0.0001"/>
  <body name="block" pos="0.3 0 0.08"> <joint type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 0 1"/>
    <geom type="box" size="0.1 0.1 0.08" mass="0.3"/> </body>
  <body name="finger" pos="0 0 0.08"> <joint name="reach" type="slide" axis="1 0 0" damping="5"/>
    <geom size="0.05" mass="0.3"/> </body> </worldbody>
  <actuator> <motor joint="reach" ctrlrange="-20 20" ctrllimited="true"/> </actuator> </mujoco>)";

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Microseconds of a step in a batch on one thread, alone and with the way back: the best of three.
void time_batch(const Model& model, const Row& start, HumanoidResult& out) {
  constexpr int kBatch = 256, kSteps = 50;
  const System lanes = make_robot(model, {.precision = Precision::float32});
  std::vector<float> x0;
  for (int i = 0; i < kBatch; ++i) {
    for (const double x : start) x0.push_back(static_cast<float>(x));
    x0[x0.size() - start.size() + 2] += 1e-4F * static_cast<float>(i);  // heights differ a little
  }
  RolloutOptions options;
  options.threads = 1;
  options.save = Save::last();
  options.memory = Memory::all();
  out.step_us = out.gradient_us = 1e9;
  for (int turn = 0; turn < 3; ++turn) {
    const Clock::time_point begin = Clock::now();
    const auto run = rollout(lanes, x0, Controls<float>(kSteps), {}, options);
    const double forward = since(begin);
    const std::vector<float> bar(run.states().size(), 1.0F);
    PullbackOptions back;
    back.failed = PullbackOptions::Failed::skip;
    run.pullback(bar, back);
    constexpr double kPerStep = 1e6 / (kBatch * kSteps);
    out.step_us = std::min(out.step_us, kPerStep * forward);
    out.gradient_us = std::min(out.gradient_us, kPerStep * since(begin));
  }
}

// What the loss -x_block(T) wants of block and finger, from each of the shown states on.
std::vector<Row> wants(const System& table, const Plan& plan, const GradientMode& mode, int every,
                       const KeepGoing& keep_going) {
  const std::size_t n = table.initial_state().size();
  const int steps = static_cast<int>(plan.controls.size());
  std::vector<Row> out;
  for (int k = 0; k <= steps; k += every) {
    stop_if_asked(keep_going);
    Row arrows(9, 0.0);  // world, block, finger
    if (k < steps) {
      const Row x(plan.states.begin() + static_cast<std::ptrdiff_t>(n) * k,
                  plan.states.begin() + static_cast<std::ptrdiff_t>(n) * (k + 1));
      const Row u(plan.controls.begin() + k, plan.controls.end());
      RolloutOptions options;
      options.save = Save::last();
      options.gradient = mode;
      const auto run = rollout(table, x, Controls<double>(u, steps - k), {}, options);
      Row bar(n, 0.0);
      bar[0] = -1;
      const Row g = run.pullback(bar).x0;
      arrows[3] = -0.15 * g[0], arrows[6] = -0.15 * g[2];
    }
    out.push_back(std::move(arrows));
  }
  return out;
}

}  // namespace

HumanoidResult drop_humanoid(const KeepGoing& keep_going) {
  HumanoidResult out;
  Model model;
  MujocoTimes mujoco;
  try {
    model = load_model(kHumanoid);
    mujoco = time_mujoco(kHumanoid, 200);
  } catch (const ModelError& error) {
    out.reason = error.what();
    return out;
  }
  const System robot = make_robot(model);
  const Row start = initial_state(model);
  out.dofs = model.nv;
  out.parameters = robot.parameters().size();
  out.mujoco_step_us = 1e6 * mujoco.step, out.mujoco_differences_us = 1e6 * mujoco.differences;
  RolloutOptions options;
  options.save = Save::every(4);
  options.keep_going = keep_going;
  const auto fall = rollout(robot, start, 400, {}, options);
  out.scene = robot_scene(model, robot, fall.states());
  out.scene.frame_seconds = 0.02;
  stop_if_asked(keep_going);
  // From a state in which the feet press on the floor.
  const auto touching = fall.state(0, static_cast<std::int64_t>(fall.saved_steps().size()) / 3);
  CheckOptions check;
  check.numbers_per_block = 2;
  check.keep_going = keep_going;
  const GradientCheck held =
      check_gradient(robot, Row(touching.begin(), touching.end()), 2, {}, check);
  out.gradient_error = held.max_relative_error, out.gradient_ok = held.ok;
  time_batch(model, Row(touching.begin(), touching.end()), out);
  return out;
}

PushResult push_block(const KeepGoing& keep_going) {
  PushResult out;
  Model model;
  try {
    model = load_model(kTable);
  } catch (const ModelError& error) {
    out.reason = error.what();
    return out;
  }
  const System table = make_robot(model);
  const Row start = initial_state(model);
  const GradientMode near = FromDistance{0.15};
  Row bar(start.size(), 0.0);
  bar[0] = -1;
  RolloutOptions last;
  last.save = Save::last();
  for (const double g : rollout(table, start, 60, {}, last).pullback(bar).controls) {
    out.silent = std::max(out.silent, std::abs(g));
  }
  const Cost cost = Cost(Reach{"qpos[0]", {out.goal}, {2000}}) +
                    Cost(Reach{"qvel", {0, 0, 0}, {1}}) + Effort{{1e-4}};
  PlanOptions options;
  options.low = {-20}, options.high = {20};
  options.gradient = near;
  options.keep_going = keep_going;
  options.start = Row(120, 2.0);
  const Plan found = plan(table, start, cost, 120, options);
  out.iterations = found.iterations, out.seconds = found.seconds;
  out.end = found.states[found.states.size() - start.size()];
  Row shown;
  for (std::size_t k = 0; k <= 120; k += 2) {
    const auto at = found.states.begin() + static_cast<std::ptrdiff_t>(k * start.size());
    shown.insert(shown.end(), at, at + static_cast<std::ptrdiff_t>(start.size()));
  }
  out.scene = robot_scene(model, table, shown);
  out.scene.arrows = wants(table, found, near, 2, keep_going);
  out.scene.frame_seconds = 0.02;
  return out;
}

#else

HumanoidResult drop_humanoid(const KeepGoing&) {
  HumanoidResult out;
  out.reason = "this program was built without MuJoCo's compiler";
  return out;
}

PushResult push_block(const KeepGoing&) {
  PushResult out;
  out.reason = "this program was built without MuJoCo's compiler";
  return out;
}

#endif

}  // namespace cycloid::tour
