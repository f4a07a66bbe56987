#include "cycloid/evaluate/worth.h"

#include <doctest/doctest.h>

#include "cycloid/system/systems.h"

using namespace cycloid;

namespace {

System pendulum(double length = 1, double dt = 0.02) {
  return systems::make("pendulum", {{"length", {length}}}, {.dt = dt});
}

Contest contest(const System& model) {
  return hold_contest({"m", model}, pendulum(), std::vector<double>{0, 0, 0.3, 0}, 50, 1, {});
}

}  // namespace

TEST_CASE("plan_regret: none for the truth itself, some for another length") {
  const Cost cost = Cost(Reach{"angle", {1.0}, {100}}) + Effort{{1e-2}};
  const auto none = plan_regret(contest(pendulum()), cost, 2).value();
  CHECK(none.regret == std::vector<double>{0, 0});
  const auto some = plan_regret(contest(pendulum(1.5)), cost, 2).value();
  CHECK(some.regret[0] > 0.01);
  CHECK(some.share[0] > 1e-4);
  CHECK_FALSE(plan_regret(contest(pendulum(1, 0.04)), cost, 2).has_value());
}

TEST_CASE("run_cost: a rough model is held to a truth computed as roughly") {
  const RunCost exact = run_cost(contest(pendulum()), 0);
  CHECK(exact.seconds_per_step > 0);
  CHECK(exact.speedup > 0.2);  // the same work, measured twice
  CHECK(exact.speedup < 5);
  const RunCost rough = run_cost(contest(pendulum()), 0.5);  // sixteen steps in one would do
  CHECK(rough.speedup < exact.speedup);
}
