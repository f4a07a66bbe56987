#include "cycloid/optimise/planning/free_time.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::free_time_test {

TEST_CASE("minimise_in: finds the minimum of a smooth and of a kinked function") {
  const LineMinimum smooth = minimise_in(0.1, 2, 9, 1e-8, 60, [](double t) { return t + 4 / t; });
  CHECK(smooth.at == doctest::Approx(2).epsilon(1e-6));
  const LineMinimum kink =
      minimise_in(0, 0.5, 3, 1e-8, 80, [](double t) { return std::abs(t - 1.2); });
  CHECK(kink.at == doctest::Approx(1.2).epsilon(1e-6));
  const LineMinimum end = minimise_in(1, 2, 3, 1e-8, 80, [](double t) { return t; });
  CHECK(end.at == doctest::Approx(1).epsilon(1e-5));
}

TEST_CASE("plan with free time: a mass between two points takes the time of the closed form") {
  // A unit mass without force, from rest at 0 to rest at 1 in a time t, effort c Σ u² over T steps.
  // Of continuous inputs ∫u² dt = 12/t³, so Σ u² ≈ 12 T/t⁴; with w t the best is (48 c T/w)^(1/5).
  const System mass = systems::spring_chain(1, {.stiffness = 1e-12}, {.dt = 0.02});
  const std::int64_t T = 100;
  const double c = 1e-3, w = 0.3;
  const Cost cost = Cost(Reach{"state", {1, 0}, {1e4}}) + Effort{{c}};
  const std::vector<double> rest{0, 0};
  const TimedPlan found =
      plan_with_free_time(mass, rest, cost, T, {.low = 0.5, .high = 6, .weight = w});
  CHECK(found.end_time == doctest::Approx(std::pow(48 * c * T / w, 0.2)).epsilon(0.02));
  CHECK(found.plan.converged);
  CHECK(found.params[static_cast<std::size_t>(mass.parameters().find("option.timestep").offset)] ==
        doctest::Approx(found.end_time / T));
  CHECK_THROWS_AS(plan_with_free_time(mass, rest, cost, T, {.low = 2, .high = 1}), Error);
}

}  // namespace cycloid::free_time_test
