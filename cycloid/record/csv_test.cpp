#include "cycloid/record/csv.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid {

TEST_CASE("csv: comments, quotes, blanks, line ends and missing fields") {
  const Table t =
      parse_csv("\xEF\xBB\xBF# by hand\r\n\"a\", b ,\"c,d\"\r\n1, +2e-3,\r\n\r\nNaN,4,5");
  CHECK(t.names == std::vector<std::string>{"a", "b", "c,d"});
  REQUIRE(t.columns[0].size() == 2);
  CHECK(t.columns[1][0] == 2e-3);
  CHECK(std::isnan(t.columns[2][0]));
  CHECK(std::isnan(t.columns[0][1]));
  CHECK(t.columns[2][1] == 5);
}

TEST_CASE("csv: what is no table is refused with the line") {
  CHECK_THROWS_WITH_AS(parse_csv("a,b\n1,2\n1\n"), doctest::Contains("line 3"), Error);
  CHECK_THROWS_WITH_AS(parse_csv("a,b\n1,x\n"), doctest::Contains("\"x\""), Error);
  CHECK_THROWS_AS(parse_csv("a,a\n1,2\n"), Error);
  CHECK_THROWS_AS(parse_csv("a,b\n"), Error);
  CHECK_THROWS_AS(parse_csv(""), Error);
  CHECK_THROWS_AS(read_csv("/nowhere/at/all.csv"), FileNotFound);
}

TEST_CASE("csv: numbers come back as they are") {
  const Table t{{"x", "y"}, {{0.1, 1e-300, NAN}, {1.0 / 3, -0.0, 5}}};
  const Table again = parse_csv(csv_text(t));
  CHECK(again.names == t.names);
  CHECK(again.columns[0][1] == 1e-300);
  CHECK(again.columns[1][0] == 1.0 / 3);
  CHECK(std::isnan(again.columns[0][2]));
}

}  // namespace cycloid
