#include "cli/tour/aim.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::tour {

TEST_CASE("aim: the target is hit, from a first guess that misses by metres") {
  int seen = 0;
  const AimResult result = aim_at_target({}, {}, [&](int iteration, const AimIterate& iterate) {
    CHECK(iteration == seen++);
    CHECK(iterate.path.size() > 50);
  });
  CHECK(result.hit());
  CHECK(result.miss() < 1e-5);
  CHECK(result.iterates.front().miss > 5);
  CHECK(result.iterations() == seen - 1);
  CHECK(result.iterations() < 20);
  CHECK(result.status == "converged_gradient");
  const AimProblem& p = result.problem;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(std::abs(result.iterates.back().path.back()[i] - p.target[i]) < 1e-5);
    CHECK(result.iterates.back().path.front()[i] == 0);
  }
  // Each step of L-BFGS lowers the loss, so the ball comes nearer every time.
  for (std::size_t k = 1; k < result.iterates.size(); ++k) {
    CHECK(result.iterates[k].miss < result.iterates[k - 1].miss);
  }
}

TEST_CASE("aim: the gradient it follows agrees with differences") {
  const AimResult result = aim_at_target();
  CHECK(result.gradient_ok);
  CHECK(result.gradient_error < 1e-8);
}

TEST_CASE("aim: without air the first guess is the answer") {
  AimProblem vacuum;
  vacuum.drag = 0;
  const AimResult result = aim_at_target(vacuum);
  // RK4 is exact for a path of second degree.
  CHECK(result.iterates.front().miss < 1e-12);
  CHECK(result.iterations() == 0);
}

TEST_CASE("aim: stops when asked") {
  CHECK_THROWS_AS(aim_at_target({}, [] { return false; }), Interrupted);
}

}  // namespace cycloid::tour
