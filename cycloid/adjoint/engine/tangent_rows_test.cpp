#include "cycloid/adjoint/engine/tangent_rows.h"

#include <doctest/doctest.h>

#include "cycloid/system/systems.h"

namespace cycloid::tangent_rows_test {

TEST_CASE("Rows: one row is shared by all environments, several are theirs in order") {
  const std::vector<double> numbers = {1, 2, 3, 4};
  const Rows shared{numbers, 4}, own{numbers, 2}, none{{}, 2};
  CHECK(shared.stride() == 0);
  CHECK(shared.of(7) == numbers.data());
  CHECK(own.stride() == 2);
  CHECK(own.of(1)[0] == 3);
  CHECK(none.none());
  CHECK_FALSE(own.none());
}

TEST_CASE("SavedTangents: takes saved steps alone, each to its environment's row") {
  Run<double> run(systems::pendulum());
  run.batch = 2, run.steps = 5;
  run.saved = {0, 5};
  std::vector<double> states, states_tan;
  const SavedTangents saved(run, states, states_tan);
  const double x[] = {0.1, 0.2}, d[] = {3, 4};
  saved.take(3, 1, x, d);
  CHECK(states == std::vector<double>(8, 0.0));
  saved.take(5, 1, x, d);
  CHECK(states == std::vector<double>{0, 0, 0, 0, 0, 0, 0.1, 0.2});
  CHECK(states_tan == std::vector<double>{0, 0, 0, 0, 0, 0, 3, 4});
}

}  // namespace cycloid::tangent_rows_test
