#include "cli/tour/swing.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::tour {

TEST_CASE("swing: the pole ends upright and at rest, with a force within its limit") {
  const SwingResult result = swing_up();
  CHECK(result.up());
  CHECK(result.angle.front() == 0);
  CHECK(result.angle.back() == doctest::Approx(std::numbers::pi).epsilon(0.01));
  double most = 0, least_angle = 0;
  for (const double u : result.force) most = std::max(most, std::abs(u));
  for (const double a : result.angle) least_angle = std::min(least_angle, a);
  CHECK(most <= result.problem.limit);
  CHECK(most > 1);
  CHECK(least_angle < -0.1);  // it swings back first
  CHECK(result.verdict.find("trustworthy") == 0);
  CHECK_THROWS_AS(swing_up({}, [] { return false; }), Interrupted);
}

TEST_CASE("swing: a recording gives back the pendulum that made it, and what was held out") {
  const System truth = systems::pendulum({.damping = 0.02, .gravity = 1.5}, {.dt = 0.02});
  const std::vector<double> x0{0.9, 0};
  const Trajectory<double> run = rollout(truth, x0, 3000);
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("cycloid_swing_test_" + std::to_string(::getpid()) + ".csv");
  std::ofstream file(path);
  file << "t,theta,omega,alpha\n";
  for (std::size_t i = 0; i <= 3000; i += 10) {
    const double noise = 0.01 * std::sin(9.7 * static_cast<double>(i * i));
    file << run.times()[i] << ',' << run.states()[2 * i] + noise << ','
         << run.states()[2 * i + 1] - noise << ",0\n";
  }
  file.close();
  const RecordingResult found = fit_recording_of_pendulum(path);
  CHECK(found.samples == 301);
  CHECK(found.rate == doctest::Approx(1.5).epsilon(0.002));
  CHECK(found.damping == doctest::Approx(0.02).epsilon(0.05));
  CHECK(found.held_out < 0.015);
  CHECK(found.held_out > 0.003);
  CHECK(found.measured.size() == found.fitted.size());
  std::filesystem::remove(path);
  CHECK_THROWS_AS(fit_recording_of_pendulum(path), FileNotFound);
}

}  // namespace cycloid::tour
