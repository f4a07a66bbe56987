#include "cycloid/evaluate/consistency.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "cycloid/system/systems.h"

using namespace cycloid;

namespace {

using Values = std::map<std::string, std::vector<double>>;

System law(const char* name, const Values& values = {}, const char* integrator = "rk4",
           double dt = 0.01) {
  return systems::make(name, values, {.dt = dt, .integrator = integrator});
}

Contest contest(const System& model, const System& truth, const std::vector<double>& x0,
                std::int64_t steps = 100) {
  return hold_contest({"m", model}, truth, x0, steps, 1, {});
}

double mean(const RunNumbers& values) {
  REQUIRE(values.has_value());
  return std::accumulate(values->begin(), values->end(), 0.0) / static_cast<double>(values->size());
}

const std::vector<double> kStarts = {0.8, 0, -0.5, 1};

}  // namespace

TEST_CASE("velocity_numbers: by name, or the second of two like blocks") {
  CHECK(velocity_numbers(law("pendulum").states()) == std::vector<int>{1});
  CHECK(velocity_numbers(law("kepler").states()) == std::vector<int>{2, 3});
  CHECK(velocity_numbers(law("lorenz").states()).empty());
  const Space halves(std::vector<BlockSpec>{{"a", 2, ""}, {"b", 2, ""}});
  CHECK(velocity_numbers(halves) == std::vector<int>{2, 3});
}

TEST_CASE("energy_drift: what a damped copy loses, by its closed form; nothing for the truth") {
  const System truth = law("pendulum");
  CHECK(mean(energy_drift(contest(truth, truth, kStarts))) == 0);
  CHECK(mean(energy_drift(contest(law("pendulum", {{"damping", {0.3}}}), truth, kStarts))) > 0.1);
  CHECK_FALSE(energy_drift(contest(law("lorenz"), law("lorenz"), {1, 1, 1})));
  // A free particle under drag-free flight, faster by a tenth in v: E is off by ½ (1.21 - 1) v².
  const System flight = law("projectile");
  Contest c = contest(flight, flight, {0, 0, 0, 1, 0, 0}, 1);
  for (std::int64_t s = 0; s < 2; ++s) {
    std::copy_n(c.states.at(0, 0), 6, c.states.at(0, s));
    std::copy_n(c.states.at(0, 0), 6, c.forecast.at(0, s));
    c.forecast.at(0, s)[3] *= 1.1;
  }
  CHECK(mean(energy_drift(c)) == doctest::Approx(0.21).epsilon(1e-12));
}

TEST_CASE("jacobian_scores: damping shrinks volume at its rate, Euler is not symplectic") {
  const System truth = law("pendulum");
  const JacobianScores good =
      jacobian_scores(contest(law("pendulum", {}, "verlet"), truth, kStarts));
  CHECK(mean(good.volume) < 1e-9);
  CHECK(mean(good.symplecticity) < 1e-9);
  // log det of a step is -d h / (m l²).
  const JacobianScores damped =
      jacobian_scores(contest(law("pendulum", {{"damping", {0.3}}}), truth, kStarts));
  CHECK(mean(damped.volume) == doctest::Approx(0.3 * 0.01).epsilon(1e-6));
  CHECK(mean(damped.symplecticity) == doctest::Approx(0.3 * 0.01).epsilon(1e-2));
  const JacobianScores euler =
      jacobian_scores(contest(law("pendulum", {}, "euler"), truth, kStarts));
  CHECK(mean(euler.volume) > 1e-4);
  // A damped truth is not symplectic: nothing to keep.
  const System lossy = law("pendulum", {{"damping", {0.3}}});
  CHECK_FALSE(jacobian_scores(contest(lossy, lossy, kStarts)).symplecticity);
}

TEST_CASE("time_reversal: the pendulum comes back, a damped one does not, Lorenz has no way back") {
  const System truth = law("pendulum");
  CHECK(mean(time_reversal(contest(law("pendulum", {}, "verlet"), truth, kStarts))) < 1e-9);
  CHECK(mean(time_reversal(contest(law("pendulum", {{"damping", {0.3}}}), truth, kStarts))) > 0.1);
  CHECK_FALSE(time_reversal(contest(law("lorenz"), law("lorenz"), {1, 1, 1})));
  const System lossy = law("pendulum", {{"damping", {0.3}}});
  CHECK_FALSE(time_reversal(contest(truth, lossy, kStarts)));
}

TEST_CASE("equivariance: rotation of Kepler's orbit; gravity sideways breaks the mirror") {
  const System kepler = law("kepler");
  const std::vector<double> x0 = {1, 0, 0, 1.1, 0, 1.2, -0.9, 0};
  CHECK(mean(equivariance(contest(law("kepler", {}, "verlet"), kepler, x0, 40))) < 1e-12);
  // The pendulum has the mirror and the full turn; a projectile, which moves alike, has neither.
  const System truth = law("pendulum");
  CHECK(mean(equivariance(contest(truth, truth, kStarts))) < 1e-10);
  CHECK_FALSE(equivariance(contest(law("lorenz"), law("lorenz"), {1, 2, 1})));
}

TEST_CASE("momentum, divergence, contacts: absent where the truth shows none") {
  const System truth = law("pendulum");
  const Contest c = contest(truth, truth, kStarts);
  CHECK_FALSE(momentum_drift(c));
  CHECK_FALSE(divergence(c));
  CHECK_FALSE(penetration(c));
  CHECK_FALSE(limit_violation(c));
}
