#include "cli/tour/swing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cycloid/base/error.h"
#include "cycloid/optimise/identify.h"
#include "cycloid/optimise/verify.h"
#include "cycloid/record/csv.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/system/systems.h"

namespace cycloid::tour {
namespace {

using Row = std::vector<double>;

// A cart on a rail along x and a thin pole that hangs from it, turning about y.
System cart_pole(const SwingProblem& p) {
  Model m;
  m.name = "cart-pole";
  m.options.timestep = p.dt;
  m.options.integrator = RigidIntegrator::rk4;
  m.bodies.resize(3);
  m.bodies[0].name = "world", m.bodies[1].name = "cart", m.bodies[2].name = "pole";
  m.trees = 1;
  const double I = p.pole * p.length * p.length / 12;
  const std::array<double, 6> inertias[] = {{0.01, 0.01, 0.01, 0, 0, 0}, {I, I, 1e-4, 0, 0, 0}};
  for (int b = 1; b <= 2; ++b) {
    Named<Body>& body = m.bodies[static_cast<std::size_t>(b)];
    body.parent = b - 1, body.tree = 0, body.welded = b;
    body.first_joint = body.first_dof = b - 1, body.joints = body.dofs = 1;
    body.mass = b == 1 ? p.cart : p.pole;
    body.inertia = inertias[b - 1];
    Named<Joint> j;
    j.name = b == 1 ? "rail" : "hinge";
    j.kind = b == 1 ? JointKind::slide : JointKind::hinge;
    j.body = b, j.qpos = j.dof = b - 1;
    j.axis = b == 1 ? std::array<double, 3>{1, 0, 0} : std::array<double, 3>{0, 1, 0};
    m.joints.push_back(j);
    Dof d;
    d.joint = b - 1, d.body = b, d.parent = b - 2;
    m.dofs.push_back(d);
  }
  m.bodies[2].com = {0, 0, -p.length / 2};
  m.nq = m.nv = 2, m.qpos0 = {0, 0};
  Named<Actuator> motor;
  motor.name = "motor", motor.target = 0, motor.control = 0, motor.gain[0] = 1;
  motor.control_range = {true, -p.limit, p.limit};
  m.actuators.push_back(motor);
  m.nu = 1;
  return make_robot(m);
}

MovingScene swing_scene(const SwingResult& r) {
  const double length = r.problem.length, s = std::sqrt(0.5);
  const auto [left, right] = std::minmax_element(r.position.begin(), r.position.end());
  const double middle = (*left + *right) / 2, half_rail = (*right - *left) / 2 + 0.2;
  MovingScene scene;
  scene.frame_seconds = r.problem.dt;
  scene.shapes = {
      {"capsule", 0, {}, {s, 0, s, 0}, {0.012, half_rail, 0}, {140, 145, 155}},
      {"box", 1, {}, {1, 0, 0, 0}, {0.12, 0.07, 0.05}, {70, 110, 190}},
      {"capsule", 2, {0, 0, -length / 2}, {1, 0, 0, 0}, {0.025, length / 2, 0}, {205, 133, 63}}};
  for (std::size_t k = 0; k < r.times.size(); ++k) {
    const double x = r.position[k], half = r.angle[k] / 2;
    std::vector<double> poses{middle, 0, 0, 1, 0, 0, 0};
    poses.insert(poses.end(), {x, 0, 0, 1, 0, 0, 0});
    poses.insert(poses.end(), {x, 0, 0, std::cos(half), 0, std::sin(half), 0});
    scene.poses.push_back(std::move(poses));
    const double force = k < r.force.size() ? r.force[k] : 0;
    scene.arrows.push_back({0, 0, 0, 0.04 * force, 0, 0, 0, 0, 0});
  }
  return scene;
}

}  // namespace

SwingResult swing_up(const SwingProblem& problem, const KeepGoing& keep_going) {
  const System robot = cart_pole(problem);
  const Row start(4, 0.0), upright{0, std::numbers::pi, 0, 0};
  const Cost cost = Cost(Reach{"state", upright, {1000}}) + Effort{{1e-3}};
  PlanOptions options;
  options.low = {-problem.limit}, options.high = {problem.limit};
  options.keep_going = keep_going;
  const Plan found = plan(robot, start, cost, problem.steps, options);
  if (keep_going && !keep_going()) throw Interrupted("the tour was stopped");
  const Trust trust =
      verify(robot, start, cost, found, options, VerifyOptions{.keep_going = keep_going});
  SwingResult out;
  out.problem = problem;
  for (int t = 0; t <= problem.steps; ++t) {
    const std::size_t row = static_cast<std::size_t>(t) * 4;
    out.times.push_back(t * problem.dt);
    out.position.push_back(found.states[row]);
    out.angle.push_back(found.states[row + 1]);
  }
  out.force = found.controls;
  out.iterations = found.iterations;
  out.seconds = found.seconds;
  for (std::size_t i = 0; i < 4; ++i) {
    const double end = found.states[found.states.size() - 4 + i];
    out.miss = std::max(out.miss, std::abs(end - upright[i]));
  }
  out.verdict = trust.verdict;
  out.trusted = trust.ok;
  out.scene = swing_scene(out);
  return out;
}

RecordingResult fit_recording_of_pendulum(const std::filesystem::path& given,
                                          const KeepGoing& keep_going) {
  RecordingResult out;
  out.path =
      std::filesystem::is_directory(given) ? given / "schmidt_lipson" / "pendulum.csv" : given;
  Table table = read_csv(out.path);
  for (std::string& name : table.names) {
    if (name == "theta") name = "angle";
    if (name == "omega") name = "angular_velocity";
  }
  const Row times = recording_from_table(systems::pendulum(), table).times;
  if (times.size() < 10) throw Error(message("\"", out.path.string(), "\" has too few samples"));
  // Steps as the samples come, the median of what lies between them, in ten.
  Row between;
  for (std::size_t i = 1; i < times.size(); ++i) between.push_back(times[i] - times[i - 1]);
  std::nth_element(between.begin(),
                   between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2),
                   between.end());
  const double dt = between[between.size() / 2] / 10;
  const System pendulum = systems::pendulum({.damping = 0.01, .gravity = 1.3}, {.dt = dt});
  const Recording all = recording_from_table(pendulum, table);
  const std::size_t n = all.samples() * 4 / 5, m = all.columns();
  const auto part = [&](std::size_t from, std::size_t to) {
    Recording r = all;
    const auto cut = [&](Row& row, std::size_t width) {
      row = Row(row.begin() + static_cast<std::ptrdiff_t>(from * width),
                row.begin() + static_cast<std::ptrdiff_t>(to * width));
    };
    cut(r.times, 1), cut(r.values, m);
    r.controls.clear();
    return r;
  };
  const Recording first = part(0, n), rest = part(n, all.samples());
  IdentifyOptions options;
  options.keep_going = keep_going;
  const Fit fit = identify(pendulum, {first}, {{{"gravity"}}, {{"damping"}}}, options);
  IdentifyOptions again;
  again.keep_going = keep_going;
  const Fit held = fit_start(pendulum, rest, fit.flat, again);
  out.samples = all.samples();
  out.rate = fit.values[0], out.rate_error = fit.std[0];
  out.damping = fit.values[1], out.damping_error = fit.std[1];
  out.rms = fit.outputs.front().rms;
  out.held_out = held.outputs.front().rms;
  out.times = rest.times;
  for (std::size_t i = 0; i < rest.samples(); ++i) {
    out.measured.push_back(rest.values[i * m]);
    out.fitted.push_back(held.shown[0][i * m]);
  }
  return out;
}

}  // namespace cycloid::tour
