#include "cycloid/evaluate/gradient_scores.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/evaluate/bootstrap.h"
#include "cycloid/system/systems.h"

using namespace cycloid;

namespace {

System pendulum(double length = 1, double dt = 0.01) {
  return systems::make("pendulum", {{"length", {length}}}, {.dt = dt});
}

GradientScores scores(const System& model, const System& truth, std::int64_t steps) {
  const std::vector<double> x0 = {0.8, 0, -0.5, 1, 0.1, 0.4};
  return gradient_scores(hold_contest({"m", model}, truth, x0, steps, 1, {}), 3).value();
}

}  // namespace

TEST_CASE("gradient_scores: exact for the truth, near for a coarse step, off for another length") {
  const GradientScores same = scores(pendulum(), pendulum(), 200);
  CHECK(quantile(same.cosine.back(), 0.5) == doctest::Approx(1).epsilon(1e-12));
  CHECK(quantile(same.error, 0.5) == 0);
  CHECK(quantile(same.horizon, 0.5) == doctest::Approx(2));
  CHECK(same.finite == std::vector<double>{1, 1, 1});
  for (const double share : same.finite_at) CHECK(share == 1);
  CHECK(quantile(same.moved_cosine, 0.5) == doctest::Approx(1).epsilon(1e-12));
  CHECK(quantile(same.difference, 0.5) < 1e-8);
  const GradientScores coarse = scores(pendulum(1, 0.04), pendulum(), 200);
  CHECK(quantile(coarse.error, 0.5) < 1e-3);
  CHECK(quantile(coarse.error, 0.5) > 0);
  const GradientScores fine = scores(pendulum(1, 0.005), pendulum(), 200);
  CHECK(quantile(fine.error, 0.5) < 1e-4);
  const GradientScores other = scores(pendulum(0.6), pendulum(), 200);
  CHECK(quantile(other.error, 0.5) > 0.5);
  CHECK(quantile(other.horizon, 0.5) < 2);
  CHECK(quantile(other.moved_cosine, 0.5) < 0.98);
  CHECK(quantile(other.difference, 0.5) < 1e-8);  // wrong, but the gradient of what it does
}

TEST_CASE("gradient_scores: of chaos a gradient is not worth following to the end") {
  const System lorenz = systems::make("lorenz", {}, {.dt = 0.01});
  const std::vector<double> x0 = {1, 1, 20, 2, 3, 15};
  const GradientScores s =
      gradient_scores(hold_contest({"m", lorenz}, lorenz, x0, 2000, 1, {}), 0).value();
  CHECK(quantile(s.cosine.back(), 0.5) == doctest::Approx(1));
  CHECK(s.horizon[0] < 15);
  CHECK(s.horizon[0] > 1);
}

TEST_CASE("gradient_scores: a model without the truth's inputs has none to compare") {
  const Contest c =
      hold_contest({"m", systems::make("kepler", {}, {})}, systems::make("kepler", {}, {}),
                   std::vector<double>{1, 0, 0, 1}, 10, 1, {});
  CHECK(gradient_scores(c, 0).has_value());
  Contest forecast = c;
  forecast.model.system.reset();
  CHECK_FALSE(gradient_scores(forecast, 0).has_value());
}
