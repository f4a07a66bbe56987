#include "cycloid/optimise/fit/stretch_run.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/rigid/robot_variant.h"
#include "cycloid/system/systems.h"

namespace cycloid::stretch_run_test {

using Numbers = std::vector<double>;

// Tangents of two stretches against central differences.
void check_tangents(const System& system, const std::vector<Stretch>& stretches,
                    const Numbers& starts, const std::vector<int>& parameters) {
  const std::size_t np = static_cast<std::size_t>(system.parameters().size()),
                    nx = static_cast<std::size_t>(system.states().size()), q = parameters.size();
  const Numbers p = system.parameters().default_values();
  Numbers directions(q * np, 0.0);
  for (std::size_t j = 0; j < q; ++j)
    directions[j * np + static_cast<std::size_t>(parameters[j])] = 1;
  const StretchStates run = run_stretches_with_tangents(system, stretches, starts, p, directions);
  const StretchStates plain = run_stretches(system, stretches, starts, p);
  const double h = 1e-6;
  double largest = 0;
  for (std::size_t e = 0; e < stretches.size(); ++e) {
    for (std::size_t i = 0; i < plain.states[e].size(); ++i) {
      CHECK(run.states[e][i] == doctest::Approx(plain.states[e][i]).epsilon(1e-11));
    }
    for (std::size_t j = 0; j < q + nx; ++j) {
      const auto moved = [&](double by) {
        Numbers x = starts, own = p;
        if (j < q) {
          own[static_cast<std::size_t>(parameters[j])] += by;
        } else {
          x[e * nx + j - q] += by;
        }
        return run_stretches(system, stretches, x, own);
      };
      const StretchStates up = moved(h), down = moved(-h);
      for (std::size_t i = 0; i < plain.states[e].size(); ++i) {
        const double slope = (up.states[e][i] - down.states[e][i]) / (2 * h);
        CHECK(run.states_tan[e][i * (q + nx) + j] == doctest::Approx(slope).epsilon(1e-6).scale(1));
        largest = std::max(largest, std::abs(slope));
      }
      for (std::size_t i = 0; i < nx; ++i) {
        const double slope = (up.ends[e][i] - down.ends[e][i]) / (2 * h);
        CHECK(run.ends_tan[e][i * (q + nx) + j] == doctest::Approx(slope).epsilon(1e-6).scale(1));
      }
    }
  }
  CHECK(largest > 0.1);
}

// The largest difference, relative to the largest number, at least 1e-3.
double apart(const Numbers& a, const Numbers& b) {
  double most = 0, size = 1e-3;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return most / size;
}

TEST_CASE("stretches: states are those of rollouts, on steps and between them") {
  const System system = systems::pendulum({.damping = 0.1});
  const Numbers offsets{0, 0.02, 0.033, 0.1, 0.1, 0.247};
  Stretch s{0, 30, Numbers(30, 0.5), offsets}, shorter{1.5, 25, Numbers(25, -0.5), {0.01, 0.25}};
  const Numbers starts{1, 0, 0.3, -1};
  const StretchStates run =
      run_stretches(system, {s, shorter}, starts, system.parameters().default_values());
  REQUIRE(run.ok);
  RolloutOptions options;
  options.times = {0, 0.02, 0.033, 0.1, 0.247, 0.3};
  const Trajectory<double> wanted =
      rollout(system, std::span(starts).first(2), Controls<double>(s.controls, 30), {}, options);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i > 3 ? i - 1 : i);
    CHECK(run.states[0][2 * i] == doctest::Approx(wanted.state(0, at)[0]).epsilon(1e-13));
  }
  CHECK(run.ends[0][1] == doctest::Approx(wanted.state(0, 5)[1]).epsilon(1e-13));
  options.times = {0.01, 0.25};
  const Trajectory<double> other = rollout(system, std::span(starts).last(2),
                                           Controls<double>(shorter.controls, 25), {}, options);
  CHECK(run.states[1][2] == doctest::Approx(other.state(0, 1)[0]).epsilon(1e-13));
  CHECK(run.ends[1][0] == doctest::Approx(other.state(0, 1)[0]).epsilon(1e-13));
}

TEST_CASE("stretches: tangents are those of differences, by dual numbers and by Jacobians") {
  const std::vector<Stretch> even{{0, 20, {}, {0, 0.1, 0.2}}, {0, 17, {}, {0.05, 0.17}}},
      uneven{{0, 20, {}, {0, 0.013, 0.111, 0.2}}, {0, 20, {}, {0.05, 0.1234}}};
  const Numbers starts{1, 0, 0.3, -1};
  check_tangents(systems::pendulum({.damping = 0.1}), even, starts, {0, 2});
  check_tangents(systems::pendulum({.damping = 0.1}), uneven, starts, {0, 2});
  // A law with events has no dual numbers. Its stretches bounce.
  const std::vector<Stretch> falls{{0, 60, {}, {0, 0.113, 0.511, 0.6}}, {0, 60, {}, {0.05, 0.56}}};
  check_tangents(systems::bouncing_ball(), falls, {1, 0, 1.2, -1}, {0});
}

TEST_CASE("stretches: a run that fails says so") {
  const System system = systems::lorenz({}, {.dt = 1.0, .integrator = "euler"});
  const StretchStates run = run_stretches(system, {{0, 60, {}, {1}}}, Numbers{1e3, 1e3, 1e3},
                                          system.parameters().default_values());
  CHECK_FALSE(run.ok);
  CHECK(run.reason.find("finite") != std::string::npos);
}

TEST_CASE("stretches: the Jacobian of a robot's step by parameters is that of pullbacks") {
  for (const auto integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast,
                                RigidIntegrator::implicit, RigidIntegrator::rk4}) {
    for (const bool held : {false, true}) {
      Model m = held ? test::held_robot(integrator) : test::two_trees(integrator);
      for (const bool activations : {false, true}) {
        if (!activations) m.actuators.clear(), m.na = 0;
        if (activations) m = held ? test::held_robot(integrator) : test::two_trees(integrator);
        const System system = make_robot(m);
        const Parameters& registry = system.parameters();
        const std::size_t np = static_cast<std::size_t>(registry.size());
        std::vector<std::size_t> places;
        for (const Parameter& p : registry.all()) {
          if (p.name.ends_with(".quat") || p.name == "option.timestep") continue;
          for (int i = 0; i < p.size; ++i) places.push_back(static_cast<std::size_t>(p.offset + i));
        }
        Numbers directions(places.size() * np, 0.0), x;
        for (std::size_t j = 0; j < places.size(); ++j) directions[j * np + places[j]] = 2;
        for (const int rows : {1, 3}) {
          x.clear();
          for (int r = 0; r < rows; ++r) {
            Numbers own = system.initial_state();
            for (std::size_t i = 0; i < own.size(); ++i) {
              own[i] += 0.1 * std::sin(1.7 * static_cast<double>(i) + r);
            }
            x.insert(x.end(), own.begin(), own.end());
          }
          const Linearisation<double> all = linearise(system, x, {}, {},
                                                      {.params = true, .unsolved = true}),
                                      along =
                                          linearise(system, x, {}, {},
                                                    {.directions = directions, .unsolved = true});
          Numbers expected;
          for (std::size_t row = 0; row < all.P.size() / np; ++row) {
            for (const std::size_t i : places) expected.push_back(2 * all.P[row * np + i]);
          }
          CAPTURE(name(integrator));
          CAPTURE(held);
          CAPTURE(rows);
          CHECK(apart(along.P, expected) < 1e-10);
          CHECK(apart(along.A, all.A) < 1e-10);
          CHECK(apart(along.P, Numbers(along.P.size(), 0.0)) > 1e-3);
        }
      }
    }
  }
}

}  // namespace cycloid::stretch_run_test
