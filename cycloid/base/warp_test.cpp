#include "cycloid/base/warp.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace cycloid::warp_test {

TEST_CASE("Warp: sums are those of pairs of lanes, in one order") {
  const Warp forwards{}, backwards{.backwards = true};
  const auto add = [](int i, float* sum) { sum[0] += 1.0f / float(i + 1), sum[1] += 1; };
  const auto a = forwards.sums<float, 2>(75, add), b = backwards.sums<float, 2>(75, add);
  CHECK(a.of[0] == b.of[0]);
  CHECK(a.of[1] == 75);
  CHECK(a.of[0] == doctest::Approx(4.90136).epsilon(1e-5));
  CHECK(forwards.any(40, [](int i) { return i == 33; }));
  CHECK_FALSE(backwards.any(33, [](int i) { return i == 33; }));
}

TEST_CASE("Warp: every item of a phase is done once, from either end") {
  for (const bool backwards : {false, true}) {
    int done[100] = {}, last = -1;
    Warp{.backwards = backwards}.each(100, [&](int i) { ++done[i], last = i; });
    for (const int times : done) CHECK(times == 1);
    CHECK(last == (backwards ? 96 : 95));
  }
}

}  // namespace cycloid::warp_test
