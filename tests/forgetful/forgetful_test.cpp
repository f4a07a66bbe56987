// A room's test that leaves out an operator of its register, and skips a test case on its own: the
// executable has to fail and to say which operator.
#include <doctest/doctest.h>

#include "tests/support/operator_coverage.h"

TEST_CASE("forgetful: one operator is tested") {
  cycloid::test::mark_operator_tested("remembered");
  CHECK(true);
}

TEST_CASE("forgetful: a test case that skips itself narrows nothing" * doctest::skip(true)) {
  cycloid::test::mark_operator_tested("forgotten");
}
