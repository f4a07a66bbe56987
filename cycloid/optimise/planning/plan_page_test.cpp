#include "cycloid/optimise/planning/plan_page.h"

#include <doctest/doctest.h>

#include "cycloid/system/systems.h"

namespace cycloid::plan_page_test {

TEST_CASE("plan page: message, verdict, inputs with their bounds, states and cost are on it") {
  const System pendulum = systems::pendulum({.damping = 0.1}, {.dt = 0.02});
  PlanOptions options;
  options.low = {-3}, options.high = {3};
  const std::vector<double> x0{0, 0};
  const Plan found =
      plan(pendulum, x0, Cost(Reach{"angle", {1}, {100}}) + Effort{{1e-2}}, 40, options);
  const std::string html =
      plan_page(pendulum, found, 0.02, options.low, options.high, "It holds.").html();
  for (const char* part :
       {"Plan of pendulum", "40 steps, 0.8", "It holds.", "torque", "angular_velocity", "<svg"}) {
    CHECK_MESSAGE(html.find(part) != std::string::npos, part);
  }
}

}  // namespace cycloid::plan_page_test
