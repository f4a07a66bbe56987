#include "cycloid/evaluate/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/system/systems.h"

using namespace cycloid;

namespace {

System pendulum(double length = 1, double damping = 0) {
  return systems::make("pendulum", {{"length", {length}}, {"damping", {damping}}}, {.dt = 0.02});
}

std::vector<double> starts(int runs) {
  RandomStream random(5);
  std::vector<double> x;
  for (int i = 0; i < 2 * runs; ++i) x.push_back(random.uniform(-1.0, 1.0));
  return x;
}

double value(const Scorecard& card, const char* name) {
  const Score* s = card.find(name);
  REQUIRE_MESSAGE(s != nullptr, name);
  CHECK(s->interval.low <= s->value);
  CHECK(s->value <= s->interval.high);
  return s->value;
}

// The truth with noise of a known size, and what it says about it.
Candidate noisy(double noise, double stated) {
  return {
      "noisy", {}, [=](std::span<const double> x0, auto, std::int64_t rows, std::int64_t steps) {
        const RunRows run = simulate(pendulum(), x0, {}, rows, steps, 2, 1, {});
        Forecast f{run.values, std::vector<double>(run.values.size(), stated)};
        RandomStream random(11);
        for (double& v : f.mean) v += noise * random.normal();
        return f;
      }};
}

}  // namespace

TEST_CASE("evaluate_model: the truth is trustworthy, a damped copy is not") {
  const EvaluateOptions options{.timing = false, .draws = 50, .threads = 1};
  const Scorecard same = evaluate_model({"same", pendulum()}, pendulum(), starts(8), 100, options);
  CHECK(value(same, "error") == 0);
  CHECK(value(same, "valid_time") == doctest::Approx(2));
  CHECK(value(same, "survival") == 1);
  CHECK(same.verdict().starts_with("trustworthy"));
  const Scorecard damped =
      evaluate_model({"damped", pendulum(1, 0.5)}, pendulum(), starts(8), 100, options);
  CHECK(value(damped, "error") > 0.1);
  CHECK(value(damped, "one_step_error") > 1e-4);
  CHECK(damped.verdict().find("energy_drift") != std::string::npos);
  CHECK_FALSE(damped.find("coverage_90"));
  CHECK_FALSE(damped.find("seconds_per_step"));
}

TEST_CASE("evaluate_model: stated noise is covered, understated noise is not") {
  const EvaluateOptions options{.timing = false, .draws = 50, .threads = 1};
  const Scorecard right = evaluate_model(noisy(0.1, 0.1), pendulum(), starts(16), 100, options);
  CHECK(value(right, "coverage_90") == doctest::Approx(0.9).epsilon(0.02));
  CHECK(value(right, "coverage_50") == doctest::Approx(0.5).epsilon(0.06));
  CHECK(value(right, "spread_skill") == doctest::Approx(1).epsilon(0.05));
  CHECK(value(right, "crps") < value(right, "error"));
  const Scorecard bold = evaluate_model(noisy(0.1, 0.02), pendulum(), starts(16), 100, options);
  CHECK(value(bold, "coverage_90") < 0.4);
  CHECK(bold.verdict().find("coverage_90") != std::string::npos);
}

TEST_CASE("evaluate_model: a model that has the shifted parameter is told, another one is not") {
  EvaluateOptions options{.timing = false, .draws = 20, .threads = 1};
  options.shifts = {{"long", pendulum(1.3)}};
  const Scorecard told = evaluate_model({"m", pendulum()}, pendulum(), starts(4), 50, options);
  CHECK(value(told, "gap_parameters") == doctest::Approx(0));
  const Scorecard blind = evaluate_model(noisy(0, 0.1), pendulum(), starts(4), 50, options);
  CHECK(value(blind, "gap_parameters") > 0.1);
  options.shifts = {{"other", systems::make("lorenz", {}, {})}};
  CHECK_THROWS_AS(evaluate_model({"m", pendulum()}, pendulum(), starts(4), 50, options), Error);
}

TEST_CASE("evaluate_model: recordings are a truth, with holes, and need a start") {
  const RunRows run = simulate(pendulum(), std::vector<double>{0.5, 0}, {}, 1, 40, 2, 1, {});
  Recording r;
  for (int s = 0; s <= 40; ++s) r.times.push_back(0.02 * s);
  r.values = run.values;
  r.values[21] = NAN;
  const EvaluateOptions options{.draws = 20, .threads = 1};
  const Scorecard good = evaluate_model({"m", pendulum()}, {r}, options);
  CHECK(value(good, "error") < 1e-12);
  CHECK(value(evaluate_model({"m", pendulum(1.5)}, {r}, options), "error") > 0.1);
  Recording angle = r;
  angle.names = {"angle"};
  angle.values.clear();
  for (int s = 0; s <= 40; ++s) angle.values.push_back(run.at(0, s)[0]);
  CHECK_THROWS_AS(evaluate_model({"m", pendulum()}, {angle}, options), Error);
  angle.x0 = {0.5, 0};
  CHECK(value(evaluate_model({"m", pendulum()}, {angle}, options), "error") < 1e-12);
}
