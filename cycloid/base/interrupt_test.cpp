#include "cycloid/base/interrupt.h"

#include <doctest/doctest.h>

using cycloid::StopToken;

TEST_CASE("StopToken: one made from nothing never stops") {
  CHECK_FALSE(StopToken().stop_requested());
}

TEST_CASE("StopToken: asks anew at each look") {
  int looks = 0;
  const StopToken stop([](void* n) { return ++*static_cast<int*>(n) == 3; }, &looks);
  CHECK_FALSE(stop.stop_requested());
  CHECK_FALSE(stop.stop_requested());
  CHECK(stop.stop_requested());
}
