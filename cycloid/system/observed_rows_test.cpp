#include "cycloid/system/observed_rows.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::observed_rows_test {

using Numbers = std::vector<double>;

TEST_CASE("CheckedRows: what is not given is zero inputs and the defaults of parameters") {
  const System system = systems::pendulum();
  const Numbers x = {1, 2, 3, 4, 5, 6};
  const CheckedRows rows(system, {.states = x, .time = 0.5});
  CHECK(rows.rows == 3);
  CHECK(rows.x == x);
  CHECK(rows.u == Numbers(3, 0.0));
  CHECK(rows.p == system.parameters().default_values());
  CHECK(rows.parameter_place(2) == 0);
  CHECK(rows.time == 0.5);
  const ObservationGradient g = rows.zero_gradient(system);
  CHECK(g.states == Numbers(6, 0.0));
  CHECK(g.parameters == Numbers(5, 0.0));
}

TEST_CASE("CheckedRows: parameters come once, or a row for each") {
  const System system = systems::kepler();
  const Numbers x(8, 1.0), once = {2, 0.1}, each = {2, 0.1, 3, 0.1}, three = {1, 1, 1, 1, 1, 1};
  CHECK(CheckedRows(system, {.states = x, .parameters = once}).parameter_place(1) == 0);
  CHECK(CheckedRows(system, {.states = x, .parameters = each}).parameter_place(1) == 2);
  CHECK_THROWS_AS(CheckedRows(system, {.states = x, .parameters = three}), ParameterError);
  const Numbers negative = {-1, 0.1};
  CHECK_THROWS_AS(CheckedRows(system, {.states = x, .parameters = negative}), ParameterError);
}

TEST_CASE("CheckedRows: wrong sizes and numbers that are not finite are refused") {
  const System system = systems::pendulum();
  const Numbers x = {1, 2}, odd = {1, 2, 3}, bad = {1, NAN};
  CHECK_THROWS_AS(CheckedRows(system, {.states = odd}), Error);
  CHECK_THROWS_AS(CheckedRows(system, {.states = {}}), Error);
  CHECK_THROWS_AS(CheckedRows(system, {.states = bad}), Error);
  CHECK_THROWS_AS(CheckedRows(system, {.states = x, .inputs = odd}), Error);
  CHECK_THROWS_AS(CheckedRows(system, {.states = x, .time = INFINITY}), Error);
  CHECK_THROWS_AS(CheckedRows(system, {.states = x, .rows = 2}), Error);
}

}  // namespace cycloid::observed_rows_test
