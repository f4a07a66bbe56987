#include "cycloid/device/device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/adjoint/engine/device_rollout.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/rigid/sense/sense_case_test.h"
#include "cycloid/system/heat.h"
#include "cycloid/system/systems.h"

namespace cycloid::device_test {
namespace {

// Kernels and lanes add in the same order and differ by contraction alone.
constexpr double kSame = 1e-11;
// Conjugate gradients, to 1e-10 of the right side in every step, and a sparse factor.
constexpr double kSolved = 1e-8;

std::vector<double> numbers(std::size_t n, double size, unsigned seed) {
  std::vector<double> out(n);
  for (double& x : out) {
    seed = seed * 1664525u + 1013904223u;
    x = size * (2 * static_cast<double>(seed) / 4294967296.0 - 1);
  }
  return out;
}

// Of the largest number of b; infinite where only a is not finite.
double worst(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0, size = 1e-9;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) continue;  // not differentiable
    if (!std::isfinite(a[i]) && std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return difference / size;
}

// States near the initial one.
std::vector<double> starts(const System& cpu, std::size_t rows) {
  std::vector<double> x0, x(static_cast<std::size_t>(cpu.states().size()));
  for (std::size_t e = 0; e < rows; ++e) {
    const auto d = numbers(static_cast<std::size_t>(cpu.states().tangent_size()), 0.05,
                           static_cast<unsigned>(e + 1));
    cpu.states().retract(cpu.initial_state().data(), d.data(), x.data());
    x0.insert(x0.end(), x.begin(), x.end());
  }
  return x0;
}

// A run of both and its gradient, which must be the same.
void check_run(const System& cpu, std::int64_t batch, std::int64_t steps, const Memory& memory,
               const std::vector<double>& params = {}, double tolerance = kSame) {
  const System device = on_device(cpu, "host");
  const std::size_t rows = static_cast<std::size_t>(batch);
  const std::size_t nu = static_cast<std::size_t>(cpu.inputs().size());
  const std::vector<double> x0 = starts(cpu, rows);
  const auto u = numbers(rows * static_cast<std::size_t>(steps) * nu, 0.3, 5);
  const Controls<double> controls = nu > 0 ? Controls<double>(u, steps) : Controls<double>(steps);
  RolloutOptions options;
  options.save = Save::every(3);
  options.memory = memory;
  const auto here = rollout(cpu, x0, controls, params, options);
  const auto there = rollout(device, x0, controls, params, options);
  const auto all = [](std::span<const double> s) {
    return std::vector<double>(s.begin(), s.end());
  };
  CHECK(worst(all(there.states()), all(here.states())) < tolerance);
  CHECK(there.report().counters.size() == here.report().counters.size());
  for (std::size_t i = 0; i < here.report().counters.size(); ++i) {
    CHECK(there.report().counters[i].total == here.report().counters[i].total);
  }
  CHECK(there.report().switch_fraction == here.report().switch_fraction);
  const auto bar = numbers(here.states().size(), 1, 77);
  const auto g = here.pullback(bar), h = there.pullback(bar);
  CHECK(worst(g.x0, std::vector<double>(g.x0.size())) > 0);
  CHECK(worst(h.x0, g.x0) < tolerance);
  CHECK(worst(h.controls, g.controls) < tolerance);
  CHECK(worst(h.params, g.params) < tolerance);
  CHECK(there.pullback(bar).params == h.params);  // and bit for bit again
}

TEST_CASE("on_device: the kernels of laws equal the CPU engine, with shared and own parameters") {
  for (const char* law :
       {"pendulum", "double_pendulum", "projectile", "kepler", "lorenz", "spring_chain"}) {
    CAPTURE(law);
    check_run(systems::make(law, {}, {}, 5), 6, 20, Memory::automatic());
  }
  systems::Settings settings;
  settings.vary = {"length"};
  const System varied = systems::make("pendulum", {}, settings);
  std::vector<double> params;
  for (int e = 0; e < 4; ++e) {
    for (const double p : varied.parameters().default_values()) params.push_back(p);
    params[params.size() - static_cast<std::size_t>(varied.parameters().size())] = 1 + 0.1 * e;
  }
  check_run(varied, 4, 12, Memory::automatic(), params);
}

TEST_CASE("on_device: a robot in contact equals the CPU engine, parameters included") {
  for (const RigidIntegrator integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast}) {
    check_run(make_robot(test::held_robot(integrator)), 3, 7, Memory::automatic());
  }
}

TEST_CASE("on_device: a robot with more rows than a warp has for most equals the CPU engine") {
  Model m = test::held_robot(RigidIntegrator::euler);
  for (int i = 0; i < 9; ++i) {
    Named<Geom> foot = m.geoms.back();
    foot.name = "foot" + std::to_string(i);
    foot.body = 1;
    foot.shape = Shape::sphere;
    foot.size = {0.3, 0.0, 0.0};
    foot.pos = {0.4 * (i % 3), 0.4 * (i / 3), -1.25};
    foot.condim = 3 + i % 2;
    m.geoms.push_back(foot);
  }
  const System cpu = make_robot(m);
  const auto run = rollout(cpu, starts(cpu, 3), 2);
  CHECK(run.report().mean("contacts") > 9);  // of three rows or four: more than solve_sizes' few
  check_run(cpu, 3, 4, Memory::automatic());
}

TEST_CASE("on_device: a run in segments has the gradient of one that is kept") {
  check_run(systems::make("double_pendulum"), 5, 50, Memory::sqrt());
  check_run(make_robot(test::held_robot(RigidIntegrator::euler)), 2, 6, Memory::sqrt());
}

// Arrays that lie on the device, here this machine's, and those that are copied.
void check_resident(const System& cpu, std::int64_t control_rows, const Memory& memory,
                    double tolerance = kSame) {
  constexpr std::size_t kRows = 5;
  constexpr std::int64_t kSteps = 8;
  const System device = on_device(cpu, "host");
  const std::size_t nx = static_cast<std::size_t>(cpu.states().size()),
                    nu = static_cast<std::size_t>(cpu.inputs().size());
  std::vector<double> x0;
  for (std::size_t e = 0; e < kRows; ++e) {
    const auto shift = numbers(nx, 0.03, static_cast<unsigned>(e + 2));  // quaternions, too
    for (std::size_t i = 0; i < nx; ++i) x0.push_back(cpu.initial_state()[i] + shift[i]);
  }
  const std::size_t given = static_cast<std::size_t>(control_rows);
  const auto u = numbers(given * nu * static_cast<std::size_t>(kSteps), 0.3, 5);
  RolloutOptions options;
  options.save = Save::every(3);
  options.memory = memory;
  const auto copied =
      rollout(device, x0, control_rows > 0 ? Controls<double>(u, kSteps) : Controls<double>(kSteps),
              {}, options);
  const std::vector<double> truth(copied.states().begin(), copied.states().end());
  std::vector<double> states(truth.size());
  DeviceRollout<double> run(device, kRows, kSteps, {x0.data(), u.data(), states.data()},
                            control_rows, {}, options);
  CHECK(worst(states, truth) < kSame);
  const auto bar = numbers(states.size(), 1, 77);
  PullbackOptions pull;
  pull.each = true;
  const auto g = copied.pullback(bar, pull), all = copied.pullback(bar);
  std::vector<double> x0_bar(x0.size()),
      u_bar(control_rows > 0 ? kRows * nu * static_cast<std::size_t>(kSteps) : 0);
  const auto p_bar =
      run.pullback({bar.data(), x0_bar.data(), u_bar.empty() ? nullptr : u_bar.data()}, {});
  CHECK(worst(x0_bar, g.x0) < tolerance);
  CHECK(worst(p_bar, all.params) < tolerance);
  if (!u_bar.empty()) CHECK(worst(u_bar, g.controls) < kSame);
}

TEST_CASE("DeviceRollout: arrays on the device have the gradient of those that are copied") {
  const System robot = make_robot(test::held_robot(RigidIntegrator::euler));
  check_resident(robot, 5, Memory::automatic());
  check_resident(robot, 1, Memory::sqrt());
  check_resident(systems::make("double_pendulum"), 0, Memory::budget(4000));
}

// Conductivities that differ from cell to cell, by two orders of magnitude.
std::vector<double> conductivities(std::size_t cells, unsigned seed) {
  std::vector<double> k = numbers(cells, 2.3, seed);
  for (double& v : k) v = std::exp(v);
  return k;
}

TEST_CASE("on_device: conjugate gradients of heat equal the CPU's factor, forward and back") {
  for (const double slope : {0.0, 0.5}) {
    CAPTURE(slope);
    for (const std::vector<int>& shape : {std::vector<int>{300}, {23, 17}, {9, 8, 7}}) {
      CAPTURE(shape.size());
      std::size_t cells = 1;
      for (const int n : shape) cells *= static_cast<std::size_t>(n);
      const System box = systems::heat(shape, conductivities(cells, 3), 2.0, slope);
      check_run(box, 1, 7, Memory::automatic(), {}, kSolved);
      // Environments with conductivities of their own, in segments and made again.
      std::vector<double> params = conductivities(cells, 4);
      const auto more = conductivities(cells, 5);
      params.insert(params.end(), more.begin(), more.end());
      check_run(box, 2, 6, Memory::sqrt(), params, kSolved);
      check_run(box, 2, 6, Memory::budget(60000), params, kSolved);
      check_resident(box, 0, Memory::automatic(), kSolved);
    }
  }
}

TEST_CASE("on_device: heat that fails, or does not come to an end, is named") {
  const System cpu = systems::heat({3, 4}, {1.0}, 0.1, 0.5), device = on_device(cpu, "host");
  std::vector<double> x0(12, 0.0);
  x0[6] = -2.5;
  const auto here = rollout(cpu, x0, 4), there = rollout(device, x0, 4);
  REQUIRE(there.report().failed.size() == 1);
  CHECK(describe(there.report().failed[0]) == describe(here.report().failed[0]));

  // A chain that conducts better than rounding can tell from perfectly.
  const System hard = on_device(systems::heat({400}, conductivities(400, 7), 1e15), "host");
  const auto run = rollout(hard, numbers(400, 1, 9), 1);
  REQUIRE(run.report().unsolved.size() == 1);
  CHECK(run.report().unsolved[0].residual > 1e-10);
  CHECK_THROWS_AS(run.pullback(std::vector<double>(800, 1.0)), GradientError);
}

TEST_CASE("on_device: heat that is solved on its way there and not back is named or left out") {
  // Equal temperatures stay, whatever conducts between them; a cotangent of them need not be equal.
  constexpr std::size_t kCells = 400;
  const System hard = on_device(systems::heat({kCells}, conductivities(kCells, 7), 1e15), "host");
  RolloutOptions last;
  last.save = Save::last();
  const auto run =
      rollout(hard, std::vector<double>(2 * kCells, 1.0), Controls<double>(1), {}, last);
  REQUIRE(run.report().unsolved.empty());
  std::vector<double> bar = numbers(kCells, 1, 9);
  bar.insert(bar.begin(), kCells, 1.0);
  CHECK_THROWS_WITH_AS(run.pullback(bar),
                       doctest::Contains("environment 1: the solve for the cotangent of step 0"),
                       GradientError);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  const auto g = run.pullback(bar, skip);
  const auto second = g.x0.begin() + kCells;
  CHECK(std::all_of(g.x0.begin(), second, [](double v) { return v == 1; }));
  CHECK(std::all_of(second, g.x0.end(), [](double v) { return v == 0; }));
}

TEST_CASE("on_device: a card has no Jacobians of heat for arrays that lie there") {
  const System device = on_device(systems::heat({3, 4}, {1.0}, 0.1), "host");
  const std::vector<double> x(12, 1.0);
  CHECK(linearise(device, x).A.size() == 144);  // the CPU's
  std::vector<double> next(12), A(144);
  CHECK_THROWS_WITH_AS(device_linearise<double>(device, 1, {x.data(), nullptr, next.data()},
                                                A.data(), nullptr, 0, {}, {}),
                       doctest::Contains("Jacobians of heat"), Error);
}

TEST_CASE("DeviceRollout: an environment that failed has the gradient zero, or is named") {
  const System device = on_device(systems::make("lorenz", {}, {.dt = 10}), "host");
  const std::vector<double> x0 = {1, 1, 1, 0, 0, 0};
  std::vector<double> states(6), x0_bar(6, 7.0);
  const std::vector<double> bar(6, 1.0);
  RolloutOptions options;
  options.save = Save::last();
  DeviceRollout<double> run(device, 2, 50, {x0.data(), nullptr, states.data()}, 0, {}, options);
  REQUIRE(run.report().failed.size() == 1);
  CHECK_THROWS_AS(run.pullback({bar.data(), x0_bar.data(), nullptr}, {}), GradientError);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  run.pullback({bar.data(), x0_bar.data(), nullptr}, skip);
  CHECK((x0_bar[0] == 0 && x0_bar[1] == 0 && x0_bar[2] == 0));
  CHECK_THROWS_WITH_AS(DeviceRollout<double>(systems::make("lorenz"), 2, 5,
                                             {x0.data(), nullptr, states.data()}, 0, {}, options),
                       doctest::Contains("runs on the CPU"), Error);
}

// Jacobians of both, from arrays that are copied and from arrays that lie there.
void check_jacobians(const System& cpu, std::int64_t batch) {
  const System device = on_device(cpu, "host");
  const std::size_t rows = static_cast<std::size_t>(batch);
  const std::vector<double> x = starts(cpu, rows),
                            u = numbers(rows * static_cast<std::size_t>(cpu.inputs().size()), 0.3,
                                        5);
  LineariseOptions options;
  options.t = 0.7;
  const auto here = linearise(cpu, x, u, {}, options), there = linearise(device, x, u, {}, options);
  CHECK(worst(here.A, std::vector<double>(here.A.size())) > 0);
  CHECK(worst(there.next, here.next) < kSame);
  CHECK(worst(there.A, here.A) < kSame);
  CHECK(worst(there.B, here.B) < kSame);
  std::vector<double> next(x.size()), A(here.A.size()), B(here.B.size());
  const Report report =
      device_linearise<double>(device, batch, {x.data(), u.data(), next.data()}, A.data(), B.data(),
                               u.empty() ? 0 : batch, {}, options);
  CHECK(report.failed.empty());
  CHECK(worst(next, here.next) < kSame);
  CHECK(worst(A, here.A) < kSame);
  CHECK(worst(B, here.B) < kSame);
}

TEST_CASE("linearise: a device finds the Jacobians of the CPU, of laws and of robots") {
  for (const char* law : {"pendulum", "double_pendulum", "kepler", "lorenz", "spring_chain"}) {
    CAPTURE(law);
    check_jacobians(systems::make(law, {}, {}, 5), 6);
  }
  for (const RigidIntegrator integrator : {RigidIntegrator::euler, RigidIntegrator::implicit,
                                           RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    CAPTURE(static_cast<int>(integrator));
    check_jacobians(make_robot(test::held_robot(integrator)), 3);
    Model free = test::held_robot(integrator);
    free.options.acting.constraints = false;
    check_jacobians(make_robot(free), 3);
  }
}

TEST_CASE("linearise: rows do not depend on how many threads share an environment") {
  Model model = test::held_robot(RigidIntegrator::euler);
  model.options.acting.constraints = false;
  const System device = on_device(make_robot(model), "host");
  const std::vector<double> x = starts(device, 1);
  std::vector<double> many;
  constexpr std::size_t kMany = 16400;  // a thread has all rows, and of one environment a piece
  for (std::size_t e = 0; e < kMany; ++e) many.insert(many.end(), x.begin(), x.end());
  const auto one = linearise(device, x), all = linearise(device, many);
  const std::size_t last = (kMany - 1) * one.A.size();
  CHECK(std::vector<double>(all.A.begin() + static_cast<std::ptrdiff_t>(last), all.A.end()) ==
        one.A);
}

TEST_CASE("linearise: a step that is not finite on a device is named") {
  const System device = on_device(systems::make("lorenz", {}, {.dt = 1e200}), "host");
  const std::vector<double> x = {0, 0, 0, 1, 1, 1};
  CHECK_THROWS_WITH_AS(linearise(device, x), doctest::Contains("environment 1"), GradientError);
  std::vector<double> next(6), A(18);
  CHECK_THROWS_WITH_AS(device_linearise<double>(device, 2, {x.data(), nullptr, next.data()},
                                                A.data(), nullptr, 0, {}, {}),
                       doctest::Contains("environment 1"), GradientError);
}

// What both show of these names, on the device from arrays that lie there.
void check_eyes(const System& cpu, const std::vector<std::string>& names) {
  constexpr std::size_t kRows = 3;
  const System device = on_device(cpu, "host");
  const std::vector<double> x = starts(cpu, kRows),
                            u = numbers(kRows * static_cast<std::size_t>(cpu.inputs().size()), 0.3,
                                        5);
  const Observer here(cpu, names), there(device, names);
  const Observation seen = observe(here, {.states = x, .inputs = u, .time = 0.7, .rows = kRows});
  std::vector<double> values(seen.values().size());
  device_observe<double>(there, kRows, {x.data(), u.data(), values.data()}, kRows, {}, 0.7);
  CHECK(worst(values, std::vector<double>(values.size())) > 0);
  for (const Observed& o : here.observed()) {
    CAPTURE(o.what.name);
    const auto of = [&](const std::vector<double>& all) {
      std::vector<double> own;
      for (std::size_t r = 0; r < kRows; ++r) {
        const double* const row = all.data() + r * static_cast<std::size_t>(here.size()) + o.place;
        own.insert(own.end(), row, row + o.what.size());
      }
      return own;
    };
    CHECK(worst(of(values), of(seen.values())) < kSame);
  }
}

TEST_CASE("observe: a device shows sensors and fields of the CPU, of arrays that lie there") {
  test::SensorModel m;
  m.add_position_frames(), m.add_velocity_frames(), m.add_rows(), m.add_subtrees();
  for (const SensorKind k :
       {SensorKind::potential_energy, SensorKind::kinetic_energy, SensorKind::clock}) {
    m.add(k, 0);
  }
  m.model.sensors[0].cutoff = 0.01;
  const System robot = make_robot(m.model);
  std::vector<std::string> names = {"qvel", "qpos", "xpos", "qfrc_actuator", "ctrl", "subtree_com"};
  for (const ListedSensor& s : m.model.sensors) names.push_back(s.name);
  check_eyes(robot, names);
  check_eyes(make_robot(test::held_robot(RigidIntegrator::euler)), {"qvel", "xquat", "qpos"});
  check_eyes(systems::make("double_pendulum"), {"angular_velocities"});

  m.add_accelerations();
  const System more = on_device(make_robot(m.model), "host");
  const std::string last = m.model.sensors.back().name;
  const std::vector<double> x = more.initial_state();
  std::vector<double> values(3);
  CHECK_THROWS_WITH_AS(device_observe<double>(Observer(more, {{last}}), 1,
                                              {x.data(), nullptr, values.data()}, 0, {}, 0),
                       doctest::Contains(last.c_str()), ModelError);
  const System law = on_device(systems::make("pendulum"), "host");
  CHECK_THROWS_WITH_AS(device_observe<double>(Observer(law, {{"energy"}}), 1,
                                              {x.data(), nullptr, values.data()}, 0, {}, 0),
                       doctest::Contains("\"energy\" of pendulum has no device form"), ModelError);
}

TEST_CASE("on_device: a batch that does not fit runs in parts, with the same sums") {
  check_run(systems::make("pendulum"), 600, 9, Memory::budget(100000));
}

TEST_CASE("on_device: a run that fails is named as on the CPU") {
  const System cpu = systems::make("lorenz", {}, {.dt = 10});
  const System device = on_device(cpu, "host");
  const std::vector<double> x0 = {1, 1, 1, 0, 0, 0};
  const auto here = rollout(cpu, x0, 50), there = rollout(device, x0, 50);
  REQUIRE(here.report().failed.size() == 1);
  REQUIRE(there.report().failed.size() == 1);
  CHECK(describe(there.report().failed[0]) == describe(here.report().failed[0]));
  CHECK_THROWS_AS(there.pullback(std::vector<double>(there.states().size(), 1.0)), GradientError);
}

TEST_CASE("on_device: what has no device form is refused by name, and unknown devices are too") {
  CHECK_THROWS_WITH_AS(on_device(systems::make("bouncing_ball"), "host"),
                       doctest::Contains("bouncing_ball has no device form"), ModelError);
  CHECK_THROWS_WITH_AS(on_device(systems::make("pendulum"), "cudda"),
                       doctest::Contains("did you mean \"cuda\""), Error);
  CHECK(on_device(on_device(systems::make("pendulum"), "host"), "cpu").parts().on_device ==
        nullptr);
}

}  // namespace
}  // namespace cycloid::device_test
