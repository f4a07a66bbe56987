#include "cycloid/optimise/fit/fit_page.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/systems.h"

namespace cycloid::fit_page_test {

TEST_CASE("fit page: numbers, weak sentences and plots of a recording are on it") {
  const System truth = systems::pendulum({.length = 0.7});
  const std::vector<double> x0{1, 0};
  const Trajectory<double> run = rollout(truth, x0, 100);
  Recording r{.times = run.times(), .values = {run.states().begin(), run.states().end()}};
  r.values[7] = NAN;
  r.sigma = {0.1};
  const Fit fit = identify(systems::pendulum(), {r}, {{{"length"}}, {{"mass"}}});
  const std::string html =
      fit_page(truth, fit, {{"Recording 0", r, fit.shown[0]}}, "It holds.").html();
  for (const char* part : {"length", "It holds.", "mass does not act", "angular_velocity", "∞",
                           "<svg", "Recording 0", "0.7"}) {
    CHECK_MESSAGE(html.find(part) != std::string::npos, part);
  }
}

}  // namespace cycloid::fit_page_test
