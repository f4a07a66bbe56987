#include "cycloid/evaluate/contest.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

using namespace cycloid;

namespace {

System pendulum(double dt = 0.01) { return systems::make("pendulum", {}, {.dt = dt}); }

}  // namespace

TEST_CASE("step_ratio: multiples and fractions, anything else is an error") {
  CHECK(step_ratio(0.04, 0.01).coarser == 4);
  CHECK(step_ratio(0.01, 0.04).finer == 4);
  CHECK(step_ratio(0.01, 0.01).coarser == 1);
  CHECK_THROWS_AS(step_ratio(0.015, 0.01), Error);
}

TEST_CASE("seen_controls: means for a longer step, held for a shorter one") {
  const std::vector<double> u = {1, 3, 5, 7};
  CHECK(seen_controls(u, 1, 4, 1, {2, 1}) == std::vector<double>{2, 6});
  CHECK(seen_controls(u, 2, 2, 1, {1, 2}) == std::vector<double>{1, 1, 3, 3, 5, 5, 7, 7});
}

TEST_CASE("hold_contest: a model with another step is compared at common times") {
  const std::vector<double> x0 = {0.5, 0, 1, 0.2};
  const Contest same = hold_contest({"m", pendulum()}, pendulum(), x0, 20, 1, {});
  CHECK(same.forecast.values == same.states.values);
  const Contest coarse = hold_contest({"m", pendulum(0.04)}, pendulum(), x0, 21, 1, {});
  CHECK(coarse.steps == 20);
  CHECK(coarse.states.samples == 6);
  const RunRows e =
      scaled_errors(coarse.truth.states(), coarse.states, coarse.forecast, coarse.scale);
  CHECK(rms(e.values) > 0);
  CHECK(rms(e.values) < 1e-4);
  const Contest fine = hold_contest({"m", pendulum(0.005)}, pendulum(), x0, 20, 1, {});
  CHECK(fine.states.samples == 21);
  CHECK(rms(scaled_errors(fine.truth.states(), fine.states, fine.forecast, fine.scale).values) <
        1e-6);
}

TEST_CASE("hold_contest: sizes that do not fit are refused with what was expected") {
  const std::vector<double> x0 = {0.5, 0, 1};
  CHECK_THROWS_AS(hold_contest({"m", pendulum()}, pendulum(), x0, 20, 1, {}), Error);
  const System lorenz = systems::make("lorenz", {}, {});
  CHECK_THROWS_AS(hold_contest({"m", pendulum()}, lorenz, std::vector<double>{1, 1, 1}, 20, 1, {}),
                  Error);
  const Forecaster wrong = [](auto, auto, auto, auto) { return Forecast{{1, 2}, {}}; };
  CHECK_THROWS_AS(hold_contest({"m", {}, wrong}, pendulum(), std::vector<double>{1, 0}, 20, 1, {}),
                  Error);
}

TEST_CASE("survivors, scaled_errors: what is lost is counted, and far away") {
  const Space space(std::vector<BlockSpec>{{"x", 1, ""}});
  const RunRows truth{2, 2, 1, {0, 1, 0, 1}};
  const RunRows lost{2, 2, 1, {0, NAN, 0, 1.5}};
  CHECK(survivors(truth, lost) == std::vector<double>{0, 1});
  CHECK(survivors(truth, {2, 2, 1, {0, 12, 0, 10}}) == std::vector<double>{0, 1});
  const std::vector<double> scale = standard_deviations(space, truth);
  CHECK(scale[0] == doctest::Approx(0.5));
  CHECK(scaled_errors(space, truth, lost, scale).values == std::vector<double>{0, 20, 0, 1});
}
